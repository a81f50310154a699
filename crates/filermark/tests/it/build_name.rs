//! The name of a build, by which prime and agents are compared.

use crate::sweep::PROGRAM;
use std::path::Path;
use std::process::Command;

/// The build script itself; Cargo runs its `main`.
#[allow(dead_code)] // Only the name is tested.
#[path = "../../build.rs"]
mod build_script;

fn name(profile: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    build_script::name_of_sources(&root, profile).expect("the sources")
}

#[test]
fn the_name_depends_on_the_profile() {
    let (debug, release) = (name("debug"), name("release"));
    assert_ne!(debug, release);
    assert_eq!(debug, name("debug"));
    let output = Command::new(PROGRAM).arg("--version").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let line = |start| text.lines().find_map(|line| line.strip_prefix(start));
    let profile = line("profile ").expect("a line with the profile");
    assert_eq!(line("build "), Some(name(profile).as_str()));
}

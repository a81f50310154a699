use super::*;
use crate::testing::wine;
use std::os::windows::fs::MetadataExt;
use std::os::windows::process::CommandExt;

#[test]
fn programs_below_wine_can_be_started() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("l");
    eprintln!(
        "wine {} link {}",
        wine::is_here(),
        wine::link(dir.path(), &at)
    );
    for p in [r"\\?\unix\bin\ln", r"Z:\bin\ln", "/bin/ln", r"Z:\bin\ln."] {
        eprintln!(
            "{p}: {:?}",
            std::process::Command::new(p).arg("--version").output()
        );
    }
    let _ = std::process::Command::new("x").raw_arg("y");
    eprintln!("{:?}", at.symlink_metadata().map(|m| m.file_attributes()));
}

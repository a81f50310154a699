//! The program as a user starts it.

mod null_server;
mod validate_alone;

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program to its end, without what the environment might add.
fn filermark(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_filermark"))
        .args(args)
        .current_dir(dir)
        .env_remove("RUST_LOG")
        .output()
        .expect("the program starts")
}

/// What it said on stderr.
fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

//! The fixtures start, serve, and leave nothing running.

mod capture;
mod faulty;
mod ganesha;
mod hosts;
mod kernel;
mod leftovers;
mod mounts;
mod samba;
mod slurm;
mod smb_proxy;
mod strace;
mod switch;

use filermark_testbed::{Export, Sandbox};
use std::process::Output;

/// Runs one of libnfs's tools, which must succeed, and returns its output.
fn libnfs(sandbox: &Sandbox, tool: &str, args: &[&str]) -> Vec<u8> {
    let output = try_libnfs(sandbox, tool, args);
    assert!(
        output.status.success(),
        "{tool} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Runs one of libnfs's tools.
fn try_libnfs(sandbox: &Sandbox, tool: &str, args: &[&str]) -> Output {
    sandbox
        .command("timeout")
        .arg("20")
        .arg(tool)
        .args(args)
        .output()
        .expect("start a libnfs tool")
}

/// Data that does not repeat within a transfer.
fn data(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(step).take(length).collect()
}

/// Writes a file through the server, lists it, reads it back.
fn round_trip(sandbox: &Sandbox, export: &Export, length: usize) {
    let sent = data(length);
    let source = sandbox.dir().join("sent");
    std::fs::write(&source, &sent).expect("write the source");
    let url = export.libnfs_url("/file");
    libnfs(sandbox, "nfs-cp", &[&source.display().to_string(), &url]);
    let listing = libnfs(sandbox, "nfs-ls", &[&export.libnfs_url("/")]);
    let listing = String::from_utf8_lossy(&listing).into_owned();
    let size = length.to_string();
    assert!(
        listing
            .lines()
            .any(|line| line.ends_with(" file") && line.contains(&size)),
        "no file of {size} bytes in:\n{listing}"
    );
    assert!(
        libnfs(sandbox, "nfs-cat", &[&url]) == sent,
        "the data that was read differs"
    );
}

//! File systems that are visible only to the test.

use filermark_testbed::{Mounts, Scratch, available};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// Runs a script in the namespace with a scratch directory as `$1`; returns whether it
/// succeeded, and its output.
fn sh(mounts: &Mounts, place: &Scratch, script: &str) -> (bool, String) {
    let output = mounts
        .command("sh")
        .args(["-c", script, "sh"])
        .arg(place.path())
        .output()
        .expect("start sh");
    let bytes = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&bytes).into_owned(),
    )
}

#[test]
fn commands_see_the_mounts_and_the_host_does_not() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let small = mounts.tmpfs(2).expect("a tmpfs");
    let (ok, text) = sh(
        &mounts,
        &small,
        "stat -f -c %T \"$1\" && echo hello >\"$1/f\"",
    );
    assert!(ok && text.starts_with("tmpfs"), "{text}");
    let seen = std::fs::read_to_string(small.host().join("f")).expect("the test can read it");
    assert_eq!(seen, "hello\n");
    assert!(!small.path().join("f").exists());
    // It has less than 3 MiB of space.
    let (ok, text) = sh(&mounts, &small, "head -c 3M /dev/zero >\"$1/full\"");
    assert!(!ok && text.contains("No space left"), "{text}");
    let host = std::fs::read_to_string("/proc/mounts").expect("the host's mounts");
    assert!(!host.contains(&small.path().display().to_string()));
}

#[test]
fn a_command_is_the_child_itself_in_the_caller_s_directory() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let child = mounts
        .command("sh")
        .args(["-c", "echo $$; pwd; readlink /proc/self/ns/net"])
        .current_dir(dir.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("start sh");
    let pid = child.id();
    let text = String::from_utf8(child.wait_with_output().expect("wait").stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let network = std::fs::metadata("/proc/self/ns/net")
        .expect("the network")
        .ino();
    assert_eq!(
        lines,
        [
            pid.to_string(),
            dir.path().display().to_string(),
            format!("net:[{network}]")
        ]
    );
}

#[test]
fn a_read_only_view_refuses_writes() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let original = mounts.plain().expect("a directory");
    let view = mounts.read_only(&original).expect("a view");
    std::fs::write(original.host().join("f"), "f").expect("the original can be written to");
    let (ok, text) = sh(&mounts, &view, "cat \"$1/f\" && touch \"$1/g\"");
    assert!(!ok && text.contains("Read-only file system"), "{text}");
    assert!(text.starts_with('f'), "{text}");
}

#[test]
fn an_ext4_in_a_file_is_an_ext4() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let Some(disk) = available(mounts.ext4(16)) else {
        return;
    };
    let script = "stat -f -c %T \"$1\"; dd if=/dev/zero of=\"$1/f\" bs=4096 count=4 oflag=direct";
    let (ok, text) = sh(&mounts, &disk, script);
    assert!(ok && text.starts_with("ext2/ext3"), "{text}");
}

#[test]
fn a_mount_can_be_detached() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let place = mounts.tmpfs(2).expect("a tmpfs");
    std::fs::write(place.host().join("f"), "f").expect("a file");
    mounts.detach(&place).expect("it is detached");
    let (ok, text) = sh(&mounts, &place, "ls -A \"$1\"");
    assert!(ok && text.is_empty(), "{text}");
    let again = mounts.detach(&place).expect_err("it is detached already");
    assert!(again.to_string().contains("umount"), "{again}");
}

#[test]
fn all_mounts_are_removed_with_the_namespace() {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let place = mounts.tmpfs(2).expect("a tmpfs");
    let mut user = mounts
        .command("sleep")
        .arg("1000")
        .current_dir("/")
        .spawn()
        .expect("start sleep");
    let dir = place.path().parent().expect("a parent").to_owned();
    assert!(dir.exists());
    let before = std::time::Instant::now();
    drop(mounts);
    assert!(before.elapsed() < Duration::from_secs(5));
    assert!(!dir.exists());
    user.kill().expect("end sleep");
    user.wait().expect("wait for sleep");
}

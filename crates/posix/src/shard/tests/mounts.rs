//! With mounts of our own: full, read-only, in the middle of a tree. Each test runs
//! once more in a mount namespace; where none can be made it has nothing to say.

use super::*;
use crate::sys::Errno;
use filermark_driver_kit::driver::ReleaseScope;
use std::process::Command;

const PLACE: &str = "FILERMARK_TEST_MOUNT";

/// In the namespace: the directory that was prepared. Outside: runs the test `name`
/// in one, after `script`, in which `$1` is that directory; gives `None`.
fn prepared(name: &str, script: &str) -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(PLACE) {
        return Some(place.into());
    }
    let possible = Command::new("unshare").args(["-m", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("no mount namespace can be made here");
        return None;
    }
    let dir = disk();
    let name = format!("shard::tests::mounts::{name}");
    let script = format!("set -e; {script}; exec \"$0\" --exact {name}");
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("exe"))
        .arg(dir.path())
        .env(PLACE, dir.path())
        .output()
        .expect("run");
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("1 passed"), "{stdout}");
    None
}

fn bench_at(place: &Path) -> Bench {
    let dir = tempfile::tempdir_in(place).expect("dir");
    Bench::on(dir, PosixPlan::default(), VerifyLevel::All, &["CL0_TEST"])
}

#[test]
fn a_full_file_system_is_fatal() {
    let script = "mount -t tmpfs -o size=4m none \"$1\"";
    let Some(place) = prepared("a_full_file_system_is_fatal", script) else {
        return;
    };
    let mut bench = bench_at(&place);
    let file = file_in(0, 0);
    let fill = FileAction::Fill {
        file,
        content: 0,
        size: 8 << 20,
        reuse: false,
    };
    assert_eq!(bench.bad(fill), "ENOSPC");
    let advice = bench.driver.fatal_advice(Errno::NOSPC.0);
    assert!(advice.is_some_and(|a| a.contains("free some space")));
    // Mapped pages that cannot be had are an error, too.
    let size = 8 << 20;
    bench.good(FileAction::Truncate { file, size });
    let outcome = bench.act(FileAction::MmapWrite {
        file,
        content: 0,
        offset: 0,
        length: 8 << 20,
        commit: false,
    });
    assert!(matches!(outcome.status, Status::Refused(_)), "{outcome:?}");
    // And what is there can be removed.
    bench.good(FileAction::RemoveDirs { dir: 0 });
}

#[test]
fn a_read_only_mount_is_an_error() {
    let script = "mount -t tmpfs none \"$1\"; mount -o remount,ro \"$1\"";
    let Some(place) = prepared("a_read_only_mount_is_an_error", script) else {
        return;
    };
    let driver = PosixDriver::new(PosixPlan::default());
    let error = driver
        .claim(&mount_of(&place), &claim())
        .expect_err("refused");
    let error = error.to_string();
    assert!(
        error.contains("EROFS") && error.contains("mounted read-only"),
        "{error}"
    );
}

/// Another file system and a bind mount of the same one.
#[test]
#[cfg_attr(
    feature = "portable",
    ignore = "a bind mount of Linux has the same device number"
)]
fn mounts_in_a_tree_are_not_entered() {
    let script = "mkdir \"$1/theirs\" \"$1/work\"; echo x > \"$1/theirs/f0000000\"";
    let Some(place) = prepared("mounts_in_a_tree_are_not_entered", script) else {
        return;
    };
    let dir = tempfile::tempdir_in(place.join("work")).expect("dir");
    let mut bench = Bench::on(dir, PosixPlan::default(), VerifyLevel::All, &["CL0_TEST"]);
    let theirs = place.join("theirs");
    let mount = |args: &[&str], at: PathBuf| {
        let status = Command::new("mount").args(args).arg(at).status();
        assert!(status.expect("mount").success());
    };
    let bind = ["--bind", theirs.to_str().expect("path")];
    mount(&bind, bench.bucket_path(Bucket::UNLINK));
    mount(&["-t", "tmpfs", "none"], bench.bucket_path(Bucket::RENAME));
    for bucket in [Bucket::UNLINK, Bucket::RENAME] {
        let file = FileRef {
            bucket,
            ..file_in(0, 0)
        };
        assert_eq!(bench.bad(FileAction::Unlink { file }), "EXDEV");
        assert_eq!(bench.bad(FileAction::Readdir { dir: 0, bucket }), "EXDEV");
    }
    bench.good(FileAction::RemoveDirs { dir: 0 });
    let mount = mount_of(bench.dir.path());
    let report = bench
        .driver
        .release(&mount, &claim(), ReleaseScope::All)
        .expect("released");
    assert_eq!(report.not_ours.len(), 2, "{:?}", report.not_ours);
    assert!(theirs.join("f0000000").exists());
}

#[test]
fn a_file_system_that_is_unmounted_is_an_error() {
    let script = "mkdir \"$1/m\"; mount -t tmpfs none \"$1/m\"";
    let Some(place) = prepared("a_file_system_that_is_unmounted_is_an_error", script) else {
        return;
    };
    let mut bench = bench_at(&place.join("m"));
    let file = file_in(0, 0);
    bench.fill(file, 10);
    let gone = Command::new("umount")
        .arg("-l")
        .arg(place.join("m"))
        .status();
    assert!(gone.expect("umount").success());
    let missing = FileAction::Stat {
        file: file_in(0, 1),
    };
    assert_eq!(bench.bad(missing), "the run's directory is gone");
    let again = bench.driver.claim(&mount_of(bench.dir.path()), &claim());
    let error = again.expect_err("refused").to_string();
    assert!(
        error.contains("ENOENT") && error.contains("mounted"),
        "{error}"
    );
}

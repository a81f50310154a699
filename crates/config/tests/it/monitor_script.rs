//! The shipped monitor script, called as the prime calls it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

fn call(dir: &Path, phase: &str, event: &str, suffix: &str) -> ExitStatus {
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sfs_ext_mon");
    Command::new(script)
        .args(["-d", &dir.display().to_string(), "-c", "sleep 60"])
        .args(["--phase", phase, "--event", event])
        .args(["--load", "192", "--run", "1", "--suffix", suffix])
        .status()
        .unwrap()
}

fn alive(pid: &str) -> bool {
    // A process that was ended may stay as a zombie where no init process reaps orphans.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|s| !s.is_empty() && !s.trim().starts_with('Z'))
}

#[test]
fn it_watches_run_only_and_ends_what_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("sfsmon.mine.1.pid");
    assert!(
        call(dir.path(), "RUN", "end", "mine").success(),
        "an end without a begin"
    );
    for event in ["begin", "end"] {
        assert!(call(dir.path(), "INIT", event, "mine").success());
    }
    assert!(!pid_file.exists());

    assert!(call(dir.path(), "RUN", "begin", "mine").success());
    let first = std::fs::read_to_string(&pid_file).unwrap();
    assert!(alive(first.trim()));
    assert!(call(dir.path(), "RUN", "begin", "mine").success());
    let second = std::fs::read_to_string(&pid_file).unwrap();
    assert_ne!(first, second);
    assert!(call(dir.path(), "RUN", "end", "mine").success());
    let begun = Instant::now();
    while alive(first.trim()) || alive(second.trim()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "still running");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!pid_file.exists());
    let log = std::fs::read_to_string(dir.path().join("sfsmon.mine.1")).unwrap();
    assert!(log.starts_with("# load 192, run 1,"), "{log}");
}

#[test]
fn names_cannot_leave_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!call(dir.path(), "RUN", "begin", "../x").success());
}

//! Commands; no process of theirs may stay behind.

use crate::{LIMIT, failure, figure, meter, read};
use filermark_energy_data::Quantity;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_command_prints_a_figure() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("watts");
    std::fs::write(&file, "535.2 W\n").expect("written");
    let mut power = meter(&format!("cmd:cat '{}'", file.display()), LIMIT);
    assert_eq!(figure(&read(&mut *power), Quantity::Power), Some(535.2));
    std::fs::write(&file, "0.5 kW\n").expect("written");
    assert_eq!(figure(&read(&mut *power), Quantity::Power), Some(500.0));
    std::fs::remove_file(&file).expect("removed");
    let message = failure(&mut *power, LIMIT);
    assert!(
        message.contains("exit status: 1") && message.contains("No such file"),
        "{message}"
    );
    let mut inlet = meter("cmd+temperature_c:echo inlet 23.5 C", LIMIT);
    assert_eq!(
        figure(&read(&mut *inlet), Quantity::Temperature),
        Some(23.5)
    );
}

#[test]
fn output_without_a_figure_is_reported() {
    for (command, wanted) in [
        ("true", "one line"),
        ("echo on", "no number"),
        ("echo 1 2", "more than one"),
        ("echo 5 C", "not a unit"),
        ("yes 1", "more than 4096 bytes"),
        ("exit 3", "exit status: 3"),
        ("no-such-command-at-all", "127"),
        ("kill -9 $$", "signal: 9"),
    ] {
        let message = failure(&mut *meter(&format!("cmd:{command}"), LIMIT), LIMIT);
        assert!(message.contains(wanted), "{command}: {message}");
    }
    // Any amount of output on stderr is allowed.
    let mut loud = meter("cmd:yes hush | head -c 300000 >&2; echo 7", LIMIT);
    assert_eq!(figure(&read(&mut *loud), Quantity::Power), Some(7.0));
}

/// Time for a shell to start its commands, also on a busy machine.
const STARTED: Duration = Duration::from_secs(2);

/// Waits until a process has ended, or is a zombie.
fn is_gone(pid: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        if !stat.is_ok_and(|stat| !stat.contains(") Z ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let dir = tempfile::tempdir().expect("a directory");
    let pids = dir.path().join("pids");
    for ending in ["wait", "exec >&- 2>&-; wait", "trap '' TERM INT; wait"] {
        let command = format!("sleep 1000 & echo $$ $! > '{}'; {ending}", pids.display());
        let message = failure(&mut *meter(&format!("cmd:{command}"), STARTED), STARTED);
        assert!(message.contains("no answer within 2 s"), "{message}");
        let text = std::fs::read_to_string(&pids).expect("numbers of processes");
        let mut pids = text.split_whitespace();
        assert_eq!(pids.clone().count(), 2);
        assert!(pids.all(is_gone), "{text}");
    }
}

#[test]
fn background_processes_of_a_command_are_killed() {
    let dir = tempfile::tempdir().expect("a directory");
    let pid = dir.path().join("pid");
    let command = format!(
        "sleep 1000 >/dev/null 2>&1 & echo $! > '{}'; echo 5",
        pid.display()
    );
    let mut power = meter(&format!("cmd:{command}"), LIMIT);
    assert_eq!(figure(&read(&mut *power), Quantity::Power), Some(5.0));
    let pid = std::fs::read_to_string(&pid).expect("the number of a process");
    assert!(is_gone(pid.trim()));
}

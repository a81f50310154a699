//! Scripts that behave, and scripts that do not.

use super::{Call, Script, Scripts};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::ScriptsPlan;
use filermark_model::{Nanos, Rule, Severity};
use filermark_results::heartbeat::SCRIPT_OUTPUT_LEN_MAX;
use filermark_results::{ScriptRecord, ScriptStatus};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn write(dir: &Path, script: Script, text: &str) {
    let path = dir.join(script.file_name());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn scripts(dir: &TempDir, limit: Nanos) -> Scripts {
    Scripts::new(Some(&ScriptsPlan {
        dir: dir.path().display().to_string(),
        limit,
    }))
}

fn call(scripts: &mut Scripts, script: Script, argument: &'static str) {
    scripts.call(Call {
        script,
        argument,
        point: 1,
        phase: None,
    });
}

fn wait(scripts: &mut Scripts) -> Vec<ScriptRecord> {
    scripts.wait(&StopFlag::new(), &mut || {})
}

fn messages(scripts: &Scripts, severity: Severity) -> Vec<String> {
    let found = scripts.findings().into_iter();
    found
        .inspect(|f| assert_eq!(f.rule, Rule::Script))
        .filter(|f| f.severity == severity)
        .map(|f| f.message)
        .collect()
}

#[test]
fn what_a_script_prints_is_kept_in_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\necho out $1\necho err >&2\necho again\n";
    write(dir.path(), Script::Stat, text);
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Stat, "ZERO");
    call(&mut all, Script::Power, "Load");
    let ended = wait(&mut all);
    assert_eq!(ended.len(), 1, "a script that is not there is not called");
    assert_eq!(ended[0].script, "netmist_stat.sh");
    assert_eq!(ended[0].argument, "ZERO");
    assert_eq!(ended[0].output, "out ZERO\nerr\nagain\n");
    assert!(ended[0].status.is_ok());
    assert!(all.findings().is_empty());
}

#[test]
fn a_failing_script_is_told_once_with_its_load_points() {
    let dir = tempfile::tempdir().unwrap();
    // Without a first line: a shell is meant.
    write(dir.path(), Script::Stat, "echo no counters; exit 3\n");
    let mut all = scripts(&dir, Nanos::from_secs(30));
    for point in [1, 2] {
        all.call(Call {
            script: Script::Stat,
            argument: "ZERO",
            point,
            phase: None,
        });
        let ended = wait(&mut all);
        assert_eq!(ended[0].status, ScriptStatus::Exited { code: 3 });
        assert_eq!(ended[0].output, "no counters\n");
    }
    let told = messages(&all, Severity::Warning);
    assert_eq!(
        told,
        ["netmist_stat.sh ZERO: exit code 3 (load points 1, 2)"]
    );
}

/// What went wrong in an earlier piece of a run is told at its end, as if it were in this one.
#[test]
fn troubles_of_the_pieces_before_are_told() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Script::Stat, "#!/bin/sh\nexit 4\n");
    let mut first = scripts(&dir, Nanos::from_secs(30));
    call(&mut first, Script::Stat, "ZERO");
    let mut calls = wait(&mut first);
    let told = messages(&first, Severity::Warning);
    assert_eq!(told.len(), 1, "{told:?}");
    let of_monitor = ScriptRecord {
        script: "watch.sh".into(),
        call: Some(1),
        point: 3,
        ..calls[0].clone()
    };
    calls.push(of_monitor);
    let good = ScriptRecord {
        status: ScriptStatus::Exited { code: 0 },
        ..calls[0].clone()
    };
    calls.push(good);
    let mut second = scripts(&dir, Nanos::from_secs(30));
    second.take_earlier(&calls);
    let again = messages(&second, Severity::Warning);
    assert_eq!(again.len(), 2, "{again:?}");
    assert_eq!(again[0], told[0]);
    let monitor = &again[1];
    assert!(
        monitor.starts_with("PRIME_MON_SCRIPT watch.sh: "),
        "{monitor}"
    );
    assert!(monitor.ends_with("(load point 3)"), "{monitor}");
}

#[test]
fn a_sleeping_script_is_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let text = format!(
        "#!/bin/sh\ntrap '' TERM\necho before\nsleep 600 &\necho $! > {}\nwait; wait\nsleep 600\n",
        pid_file.display()
    );
    write(dir.path(), Script::Mon, &text);
    let mut all = scripts(&dir, Nanos::from_millis(700));
    let began = Instant::now();
    call(&mut all, Script::Mon, "INIT");
    let ended = wait(&mut all);
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(ended[0].output, "before\n");
    let told = messages(&all, Severity::Warning);
    assert_eq!(
        told,
        ["netmist_mon.sh INIT: took longer than 0.7 s and was ended (load point 1)"]
    );
    assert_gone(&pid_file);
}

fn assert_gone(pid_file: &Path) {
    let pid = std::fs::read_to_string(pid_file).unwrap();
    let alive = Path::new("/proc").join(pid.trim());
    let deadline = Instant::now() + Duration::from_secs(5);
    while alive.join("status").exists() && !is_zombie(&alive) {
        assert!(Instant::now() < deadline, "its child lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_zombie(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    status.contains("State:\tZ")
}

#[test]
fn what_a_script_leaves_running_goes_on_till_the_run_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (sign, pid_file) = (dir.path().join("sign"), dir.path().join("pid"));
    // The monitor still holds the pipe, and writes to it.
    let text = format!(
        "#!/bin/sh\necho begun\n(sleep 1; echo more; echo alive > {}; sleep 600) &\necho $! > {}\n",
        sign.display(),
        pid_file.display()
    );
    write(dir.path(), Script::Mon, &text);
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Mon, "INIT");
    let ended = wait(&mut all);
    assert_eq!(ended[0].output, "begun\n");
    assert!(ended[0].seconds < 0.9, "{}", ended[0].seconds);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !sign.exists() {
        assert!(Instant::now() < deadline, "the monitor was ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(all.finish(&StopFlag::new()).is_empty());
    assert_gone(&pid_file);
}

#[test]
fn output_without_end_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n";
    write(dir.path(), Script::Power, text);
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Power, "Baseline");
    let ended = wait(&mut all);
    assert!(ended[0].status.is_ok());
    assert_eq!(ended[0].output.len(), SCRIPT_OUTPUT_LEN_MAX);
}

#[test]
fn what_cannot_be_called_is_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("netmist_mon.sh"), "#!/bin/sh\n").unwrap();
    std::fs::create_dir(dir.path().join("netmist_power.sh")).unwrap();
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Mon, "INIT");
    assert!(wait(&mut all).is_empty());
    let told = messages(&all, Severity::Warning);
    assert_eq!(
        told,
        [
            "netmist_mon.sh: is not executable and is not called (chmod +x)",
            "netmist_power.sh: is no file and is not called",
        ]
    );
    let notes = messages(&all, Severity::Note);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("netmist_stat.sh is missing"), "{notes:?}");
    // Without a plan nothing is looked for and nothing is said.
    assert!(Scripts::new(None).findings().is_empty());
}

#[test]
fn only_scripts_that_were_begun_are_told_to_stop() {
    let dir = tempfile::tempdir().unwrap();
    for script in [Script::Mon, Script::Stat] {
        write(dir.path(), script, "#!/bin/sh\n");
    }
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Mon, "INIT");
    wait(&mut all);
    all.call_stops(1);
    let ended = wait(&mut all);
    let told: Vec<_> = ended.iter().map(|e| (&*e.script, &*e.argument)).collect();
    assert_eq!(told, [("netmist_mon.sh", "STOP")]);
    all.call_stops(1);
    assert!(wait(&mut all).is_empty());
}

#[test]
fn the_wish_to_stop_shortens_the_wait() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Script::Stat, "#!/bin/sh\nexec sleep 600\n");
    let mut all = scripts(&dir, Nanos::from_secs(3_600));
    call(&mut all, Script::Stat, "STOP");
    let stop = StopFlag::new();
    stop.raise();
    let began = Instant::now();
    let ended = all.wait(&stop, &mut || {});
    assert!(
        began.elapsed() < Duration::from_secs(12),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(ended[0].status.to_string(), "was ended, as the run was");
}

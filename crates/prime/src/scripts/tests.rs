//! Scripts that work, and scripts that fail.
#![cfg(unix)] // The programs are shell scripts.

use super::{MonitorFiles, PhaseEvent, Script, ScriptCall, Scripts};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{MonitorMode, MonitorPlan, ScriptsPlan};
use filermark_model::{Nanos, Rule, Severity};
use filermark_results::heartbeat::SCRIPT_OUTPUT_LEN_MAX;
use filermark_results::{Phase, ScriptRecord, ScriptStatus};
use filermark_testbed::write_program;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn write(dir: &Path, script: Script, text: &str) {
    let path = dir.join(script.file_name());
    write_program(&path, text).unwrap();
}

fn scripts(dir: &TempDir, limit: Nanos) -> Scripts {
    Scripts::new(Some(&ScriptsPlan {
        dir: dir.path().display().to_string(),
        limit,
    }))
}

fn call(scripts: &mut Scripts, script: Script, argument: &'static str) {
    scripts.call(ScriptCall {
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
    assert_eq!(ended[0].status, ScriptStatus::Exited { code: 0 });
    assert_eq!(ended[0].output, "out ZERO\nerr\nagain\n");
    assert!(all.findings().is_empty());
}

#[test]
fn a_script_that_is_still_being_written_is_started_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Script::Stat, "#!/bin/sh\necho whole\n");
    let path = dir.path().join(Script::Stat.file_name());
    let writer = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Stat, "ZERO");
    std::thread::sleep(Duration::from_millis(300));
    drop(writer);
    let ended = wait(&mut all);
    assert_eq!(ended[0].status, ScriptStatus::Exited { code: 0 });
    assert_eq!(ended[0].output, "whole\n");
}

#[test]
fn a_failing_script_is_one_finding_with_its_load_points() {
    let dir = tempfile::tempdir().unwrap();
    // Without a line that names the interpreter: a shell runs it.
    write(dir.path(), Script::Stat, "echo no counters; exit 3\n");
    let mut all = scripts(&dir, Nanos::from_secs(30));
    for point in [1, 2] {
        all.call(ScriptCall {
            script: Script::Stat,
            argument: "ZERO",
            point,
            phase: None,
        });
        let ended = wait(&mut all);
        assert_eq!(ended[0].status, ScriptStatus::Exited { code: 3 });
        assert_eq!(ended[0].output, "no counters\n");
    }
    let found = messages(&all, Severity::Warning);
    assert_eq!(
        found,
        ["netmist_stat.sh ZERO: exit code 3 (load points 1, 2)"]
    );
}

#[test]
fn errors_of_earlier_pieces_of_a_run_are_findings_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Script::Stat, "#!/bin/sh\nexit 4\n");
    let mut first = scripts(&dir, Nanos::from_secs(30));
    call(&mut first, Script::Stat, "ZERO");
    let mut calls = wait(&mut first);
    let found = messages(&first, Severity::Warning);
    assert_eq!(found.len(), 1, "{found:?}");
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
    let later = messages(&second, Severity::Warning);
    assert_eq!(later.len(), 2, "{later:?}");
    assert_eq!(later[0], found[0]);
    let monitor = &later[1];
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
    let found = messages(&all, Severity::Warning);
    assert_eq!(
        found,
        ["netmist_mon.sh INIT: took longer than 0.7 s and was ended (load point 1)"]
    );
    assert_gone(&pid_file);
}

fn assert_gone(pid_file: &Path) {
    let pid = std::fs::read_to_string(pid_file).unwrap();
    let alive = Path::new("/proc").join(pid.trim());
    let deadline = Instant::now() + Duration::from_secs(5);
    while alive.join("status").exists() && !is_zombie(&alive) {
        assert!(Instant::now() < deadline, "its child still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_zombie(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    status.contains("State:\tZ")
}

#[test]
fn processes_that_a_script_leaves_running_go_on_until_the_run_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (sign, pid_file) = (dir.path().join("sign"), dir.path().join("pid"));
    // The monitor still has the pipe open, and writes to it.
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
fn kept_output_is_limited() {
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
fn scripts_that_cannot_be_called_are_findings() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("netmist_mon.sh"), "#!/bin/sh\n").unwrap();
    std::fs::create_dir(dir.path().join("netmist_power.sh")).unwrap();
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Mon, "INIT");
    assert!(wait(&mut all).is_empty());
    let found = messages(&all, Severity::Warning);
    assert_eq!(
        found,
        [
            "netmist_mon.sh: is not executable and is not called (chmod +x)",
            "netmist_power.sh: is no file and is not called",
        ]
    );
    let notes = messages(&all, Severity::Note);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("netmist_stat.sh is missing"), "{notes:?}");
    // Without a plan no script is looked for, and there are no findings.
    assert!(Scripts::new(None).findings().is_empty());
}

#[test]
fn only_scripts_that_were_begun_are_stopped() {
    let dir = tempfile::tempdir().unwrap();
    for script in [Script::Mon, Script::Stat] {
        write(dir.path(), script, "#!/bin/sh\n");
    }
    let mut all = scripts(&dir, Nanos::from_secs(30));
    call(&mut all, Script::Mon, "INIT");
    wait(&mut all);
    all.call_stops(1);
    let ended = wait(&mut all);
    let calls: Vec<_> = ended.iter().map(|e| (&*e.script, &*e.argument)).collect();
    assert_eq!(calls, [("netmist_mon.sh", "STOP")]);
    all.call_stops(1);
    assert!(wait(&mut all).is_empty());
}

#[test]
fn a_request_to_stop_shortens_the_wait() {
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
    assert_eq!(
        ended[0].status.to_string(),
        "was ended, because the run had ended"
    );
}

/// Begins with `mon.sh` in `dir` as the monitor; `earlier_calls`: the run is a resumed one.
fn begin_monitor(
    scripts: &mut Scripts,
    dir: &TempDir,
    text: &str,
    mode: MonitorMode,
    earlier_calls: Option<u32>,
) {
    let path = dir.path().join("mon.sh");
    write_program(
        &path,
        format!("#!/bin/sh\ncd '{}'\n{text}\n", dir.path().display()),
    )
    .unwrap();
    let plan = MonitorPlan {
        script: path.display().to_string(),
        args: Vec::new(),
        mode,
        limit: None,
    };
    let files = MonitorFiles {
        suffix: "s",
        dir: dir.path(),
        earlier_calls,
    };
    scripts.begin_monitor(Some(&plan), files);
}

fn notify(scripts: &mut Scripts, phase: Phase, begins: bool, point: u32) {
    scripts.notify_monitor(PhaseEvent {
        phase,
        begins,
        load: 100.0,
        point,
    });
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn finish(scripts: &mut Scripts) -> Vec<ScriptRecord> {
    let mut ended = scripts.finish(&StopFlag::new());
    ended.sort_by_key(|call| call.call);
    ended
}

#[test]
fn a_program_that_ends_before_run_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Scripts::new(None);
    let text = "echo usage; echo $$ >pid";
    begin_monitor(&mut all, &dir, text, MonitorMode::Program, None);
    let began = Instant::now();
    notify(&mut all, Phase::Run, true, 1);
    let process = || {
        let pid = std::fs::read_to_string(dir.path().join("pid")).ok()?;
        Some(Path::new("/proc").join(pid.strip_suffix('\n')?))
    };
    wait_for("its end", || process().is_some_and(|p| is_zombie(&p)));
    // RUN is much longer than the program.
    std::thread::sleep(4 * began.elapsed() + Duration::from_millis(500));
    notify(&mut all, Phase::Run, false, 1);
    let ended = finish(&mut all);
    assert!(!ended[0].status.is_ok(), "{ended:?}");
    assert_eq!(ended[0].output, "usage\n");
    let found = messages(&all, Severity::Warning);
    let wanted = "PRIME_MON_SCRIPT mon.sh: ended before RUN did, with exit code 0, and left \
                  nothing running (load point 1)";
    assert_eq!(found, [wanted]);
}

#[test]
fn a_program_that_waits_until_run_has_ended_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Scripts::new(None);
    // The first one has to be killed.
    let text = "trap '' TERM; echo >>marks; while :; do sleep 0.1; done";
    begin_monitor(&mut all, &dir, text, MonitorMode::Program, None);
    let marks = || std::fs::read_to_string(dir.path().join("marks")).unwrap_or_default();
    notify(&mut all, Phase::Run, true, 1);
    wait_for("the first one", || !marks().is_empty());
    notify(&mut all, Phase::Run, false, 1);
    notify(&mut all, Phase::Run, true, 2);
    notify(&mut all, Phase::Run, false, 2);
    let ended = finish(&mut all);
    assert_eq!(ended.len(), 2, "{ended:?}");
    assert_eq!(ended[1].seconds, 0.0);
    assert_eq!(marks(), "\n", "the second one was started");
    let found = messages(&all, Severity::Warning).join("\n");
    assert!(found.contains("was not started: RUN had ended"), "{found}");
}

#[test]
fn a_call_that_starts_late_is_a_finding_with_the_time_of_its_event() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Scripts::new(None);
    let text = "[ $2$4 = INITend ] || exit 0; while [ ! -e go ]; do sleep 0.01; done";
    begin_monitor(&mut all, &dir, text, MonitorMode::Phases, None);
    notify(&mut all, Phase::Init, false, 1);
    notify(&mut all, Phase::Run, true, 1);
    std::thread::sleep(Duration::from_millis(1_100));
    std::fs::write(dir.path().join("go"), "").unwrap();
    let ended = finish(&mut all);
    let (wanted, late) = ("RUN begin", &ended[1]);
    assert_eq!((&*late.argument, late.call), (wanted, Some(2)));
    let event_at = late.event_at.expect("the time of the event");
    assert!(late.at.seconds_since(event_at) >= 1.1, "{late:?}");
    let found = messages(&all, Severity::Warning);
    let wanted = "PRIME_MON_SCRIPT mon.sh RUN begin: was started more than 1 s after its event, \
                  since the call before it had not ended (load point 1)";
    assert!(found.iter().any(|m| m == wanted), "{found:?}");
}

#[test]
fn a_monitor_does_not_change_the_limit_of_netmists_scripts() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Script::Mon, "#!/bin/sh\nexec sleep 600\n");
    for mode in [MonitorMode::Program, MonitorMode::Phases] {
        let mut all = scripts(&dir, Nanos::from_millis(200));
        begin_monitor(&mut all, &dir, "exec sleep 600", mode, None);
        call(&mut all, Script::Mon, "INIT");
        let ended = wait(&mut all);
        let status = ended[0].status.to_string();
        assert_eq!(status, "took longer than 0.2 s and was ended", "{mode:?}");
    }
}

#[test]
fn a_resumed_run_keeps_the_output_of_earlier_calls() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("sfsmon.s");
    let text = "echo new output; echo to stderr >&2; exit 4";
    for (earlier_calls, number) in [(Some(4), 5), (None, 1)] {
        std::fs::write(&copy, "old output\n").unwrap();
        let mut all = Scripts::new(None);
        begin_monitor(&mut all, &dir, text, MonitorMode::Phases, earlier_calls);
        notify(&mut all, Phase::Run, true, 1);
        assert_eq!(finish(&mut all)[0].call, Some(number));
        let output = std::fs::read_to_string(&copy).unwrap();
        assert_eq!(
            output.contains("old output"),
            earlier_calls.is_some(),
            "{output}"
        );
        assert_eq!(
            output.contains("# the run continues"),
            earlier_calls.is_some()
        );
        assert!(output.contains(&format!("# call {number}, ")), "{output}");
        assert!(output.contains("new output"), "{output}");
    }
    // If the file cannot be written, that is a finding, and stderr is still quoted.
    std::fs::remove_file(&copy).unwrap();
    std::fs::create_dir(&copy).unwrap();
    let mut all = Scripts::new(None);
    begin_monitor(&mut all, &dir, text, MonitorMode::Phases, None);
    notify(&mut all, Phase::Run, true, 1);
    finish(&mut all);
    let found = messages(&all, Severity::Warning);
    assert!(
        found[0].contains("sfsmon.s: cannot be written"),
        "{found:?}"
    );
    let wanted = "exit code 4: to stderr (load point 1)";
    assert!(found.iter().any(|m| m.contains(wanted)), "{found:?}");
}

//! PRIME_MON_SCRIPT: a program that runs during RUN, and a script that is called at every phase.

use crate::filermark;
use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::{Ended, Sweep};
use filermark_model::{Rule, Severity};
use filermark_results::{Phase, ScriptRecord, ScriptStatus};
use filermark_server::ServerOptions;
use rustix::process::Signal;
use std::path::Path;

/// A short run without a server, with a script `mon.sh` as its monitor.
fn with_script(text: &str) -> Sweep {
    let sweep = null_sweep().set("PRIME_MON_SCRIPT", "./mon.sh");
    sweep.write_script("mon.sh", text);
    sweep
}

fn null_sweep() -> Sweep {
    Sweep::bare()
        .set("DRIVER", "null")
        .set("LOAD", "40 80")
        .set("PROCS", 2)
        .set("RUNTIME", 1)
        .set("WARMUP_TIME", 0.5)
        .set("FILESET_MB_PER_OP", 0.01)
}

/// Its calls, by number.
fn calls(ended: &Ended) -> Vec<ScriptRecord> {
    let mut calls = ended.record().scripts;
    calls.sort_by_key(|call| call.call);
    calls
}

fn warnings(ended: &Ended) -> Vec<String> {
    let record = ended.record();
    let findings = record.run_findings().filter(|f| f.rule == Rule::Script);
    // On a busy host a call may start late.
    findings
        .filter(|f| !f.message.contains("after its event"))
        .map(|f| {
            assert_eq!(f.severity, Severity::Warning);
            f.message.clone()
        })
        .collect()
}

/// Whether a process is running; one that has ended and was not waited for is not.
fn is_there(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim();
    !state.is_empty() && !state.starts_with('Z')
}

fn pids(sweep: &Sweep) -> Vec<String> {
    let text = std::fs::read_to_string(sweep.dir().join("pids")).expect("the program ran");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn any_program_runs_while_run_does() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 80")
        .set("PRIME_MON_SCRIPT", "sleep")
        .set("PRIME_MON_ARGS", "1000");
    let ended = sweep.succeed();
    let calls = calls(&ended);
    let actual: Vec<_> = calls.iter().map(|c| (&*c.script, &*c.argument)).collect();
    assert_eq!(actual, [("sleep", "RUN"), ("sleep", "RUN")]);
    let record = ended.record();
    let runs = record.phases.iter().filter(|p| p.phase == Phase::Run);
    for ((number, call), run) in (1..).zip(&calls).zip(runs) {
        assert_eq!(call.status, ScriptStatus::Stopped { code: None });
        assert_eq!((call.call, call.point), (Some(number), number));
        assert!(call.at >= run.began, "{call:?} before {run:?}");
    }
    assert!(warnings(&ended).is_empty(), "{:?}", warnings(&ended));
    let output = filermark(sweep.dir(), &["verify", "result"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A run whose RUN is ended as soon as the program has reached a condition.
fn interrupted_when(sweep: &Sweep, what: &str, so: impl Fn() -> bool) -> Ended {
    let sweep = sweep.clone().set("RUNTIME", 300).set("LOAD", 40);
    let mut started = sweep.start();
    started.wait_until(what, |_| so());
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    ended
}

/// Whether the program has written this number of lines to a file of the run's directory.
fn has_lines(sweep: &Sweep, name: &str, count: usize) -> bool {
    let text = std::fs::read_to_string(sweep.dir().join(name)).unwrap_or_default();
    text.matches('\n').count() >= count
}

#[test]
fn a_program_keeps_its_arguments_and_ends_with_its_children() {
    let _turn = beside_others();
    let text = "trap 'echo bye; exit 3' TERM\n\
                echo \"with $*, run $FILERMARK_RUN of $FILERMARK_SUFFIX\"\n\
                sleep 1000 & echo $! >>pids; echo $$ >>pids; wait";
    let sweep = with_script(text).set("PRIME_MON_ARGS", "1 fast");
    let ended = interrupted_when(&sweep, "the program", || has_lines(&sweep, "pids", 2));
    let calls = calls(&ended);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0].output, "with 1 fast, run 1 of s\nbye\n");
    assert_eq!(calls[0].status, ScriptStatus::Stopped { code: Some(3) });
    assert!(warnings(&ended).is_empty());
    let pids = pids(&sweep);
    assert!(!pids.iter().any(|pid| is_there(pid)), "{pids:?}");
    let output_text = ended.file("sfsmon");
    assert!(
        output_text.contains("# call 1, ") && output_text.contains("bye"),
        "{output_text}"
    );
}

#[test]
fn what_a_program_has_left_in_the_background_is_the_monitor() {
    let _turn = beside_others();
    let text = "(while :; do sleep 0.05; done) &\necho $! >>pids; echo $$ >>pids";
    let sweep = with_script(text);
    let ended = interrupted_when(&sweep, "the program's end", || {
        has_lines(&sweep, "pids", 2) && !is_there(&pids(&sweep)[1])
    });
    assert_eq!(calls(&ended)[0].status, ScriptStatus::Exited { code: 0 });
    assert!(warnings(&ended).is_empty(), "{:?}", warnings(&ended));
    let pids = pids(&sweep);
    assert!(!pids.iter().any(|pid| is_there(pid)), "{pids:?}");
}

#[test]
fn monitors_that_fail_are_reported_with_exit_code_and_first_words() {
    let _turn = beside_others();
    let text = "echo $$ >>pids; echo started; echo; echo 'no such counter: x' >&2; exit 4";
    let sweep = with_script(text);
    let failed = interrupted_when(&sweep, "the program's end", || {
        has_lines(&sweep, "pids", 1) && !is_there(&pids(&sweep)[0])
    });
    let wanted = "PRIME_MON_SCRIPT mon.sh: exit code 4: no such counter: x (load point 1)";
    assert_eq!(warnings(&failed), [wanted]);
    // Killed.
    let sweep = with_script("trap '' TERM; echo $$ >>pids; while :; do sleep 0.1; done");
    let stubborn = interrupted_when(&sweep, "the program", || has_lines(&sweep, "pids", 1));
    let wanted = "PRIME_MON_SCRIPT mon.sh: did not end within 3 s of SIGTERM at the end of RUN \
                  and was killed (load point 1)";
    assert_eq!(warnings(&stubborn), [wanted]);
    // Cannot be started.
    let absent = null_sweep().set("PRIME_MON_SCRIPT", "no-such-program-here");
    let findings = warnings(&absent.succeed());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("cannot be started"), "{findings:?}");
}

#[test]
fn no_monitor_outlives_an_interrupted_run() {
    let _turn = beside_others();
    // The program ignores the first request to end, so that it is still running at the second signal.
    let text = "trap 'echo asked >>asked' TERM\n\
                sleep 1000 & echo $! >>pids; echo $$ >>pids; while :; do sleep 0.05; done";
    let sweep = with_script(text).set("RUNTIME", 300).set("LOAD", 40);
    for signals in [1, 2] {
        let mut started = sweep.start();
        started.wait_until("the monitor", |_| has_lines(&sweep, "pids", 2));
        let pids = pids(&sweep);
        started.signal(Signal::INT);
        if signals == 2 {
            started.wait_until("SIGTERM", |_| has_lines(&sweep, "asked", 1));
            started.signal(Signal::INT);
        }
        let ended = started.wait();
        assert_eq!(ended.code, 130, "{}", ended.stderr);
        assert!(!pids.iter().any(|pid| is_there(pid)), "{signals}: {pids:?}");
        for mark in ["pids", "asked"] {
            std::fs::remove_file(sweep.dir().join(mark)).expect("written");
        }
        std::fs::remove_dir_all(sweep.dir().join("result")).expect("made");
    }
}

#[test]
fn the_phase_mode_gets_every_phase_in_order() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 80")
        .set("WARMUP_TIME", 0.5)
        .set("PRIME_MON_MODE", "phases")
        .set("PRIME_MON_SCRIPT", "./calls.sh")
        .set("PRIME_MON_ARGS", "array-7 fast");
    // The call at the end of WARMUP is slow: that at the begin of RUN still follows it.
    let text = "[ $4$6 = WARMUPend ] && sleep 0.4\n\
                echo \"$FILERMARK_CALL $*\" >>calls\necho \"received $4 $6\"\n\
                [ -n \"$FILERMARK_TIME\" ]";
    sweep.write_script("calls.sh", text);
    let ended = sweep.succeed();
    let mut wanted = Vec::new();
    for (run, load, phases) in [
        (1, 40, &["INIT", "WARMUP", "RUN"][..]),
        (2, 80, &["INIT", "WARMUP", "RUN"]),
        (0, 0, &["CLEANUP"]),
    ] {
        for phase in phases {
            for event in ["begin", "end"] {
                let number = wanted.len() + 1;
                wanted.push(format!("{number} array-7 fast --phase {phase} --event {event} --load {load} --run {run} --suffix s"));
            }
        }
    }
    let printed =
        std::fs::read_to_string(sweep.dir().join("calls")).expect("the script was called");
    assert_eq!(printed.lines().collect::<Vec<_>>(), wanted);
    let output_text = ended.file("sfsmon");
    assert_eq!(
        output_text.matches("received").count(),
        wanted.len(),
        "{output_text}"
    );
    let calls = calls(&ended);
    assert_eq!(calls.len(), wanted.len());
    for (call, next) in calls.iter().zip(calls.iter().skip(1)) {
        assert!(call.at <= next.at, "{call:?} after {next:?}");
    }
    assert_eq!(calls[4].argument, "RUN begin");
    assert_eq!(calls[4].output, "received RUN begin\n");
    assert!(warnings(&ended).is_empty());
    let actual = filermark(sweep.dir(), &["verify", "result"]);
    assert_eq!(actual.status.code(), Some(0), "{actual:?}");
}

#[test]
fn a_call_of_a_phase_that_does_not_end_is_ended() {
    let _turn = beside_others();
    let sweep = with_script("echo $$ >>pids; sleep 1000 & echo $! >>pids; wait")
        .set("LOAD", 40)
        .set("PRIME_MON_MODE", "phases")
        .set("SCRIPT_LIMIT_S", 1);
    let ended = sweep.succeed();
    let findings = warnings(&ended);
    let wanted = "PRIME_MON_SCRIPT mon.sh: took longer than 1 s and was ended (load point 1)";
    assert_eq!(findings, [wanted]);
    let pids = pids(&sweep);
    // For every call, the script and the program that it started, if they got that far in that
    // second.
    let most = 2 * calls(&ended).len();
    assert!((1..=most).contains(&pids.len()), "{pids:?}");
    assert!(!pids.iter().any(|pid| is_there(pid)), "{pids:?}");
}

#[test]
fn the_shipped_monitor_script_runs_in_both_modes() {
    let _turn = beside_others();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sfs_ext_mon");
    for mode in ["program", "phases"] {
        let sweep = null_sweep()
            .set("LOAD", 40)
            .set("PRIME_MON_SCRIPT", script.display())
            .set("PRIME_MON_ARGS", "-d result -i 1")
            .set("PRIME_MON_MODE", mode);
        let ended = sweep.succeed();
        assert!(
            warnings(&ended).is_empty(),
            "{mode}: {:?}",
            warnings(&ended)
        );
        assert_eq!(sweep.result("sfsmon.s.1").exists(), mode == "phases");
    }
}

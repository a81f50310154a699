//! What runs together with the load of a composite: the user's scripts, heartbeats, the time
//! service, the console and its copies.

use crate::load_guard::beside_others;
use crate::sweep::{Ended, Sweep};
use filermark_model::{Rule, Severity};
use filermark_results::{Phase, ScriptRecord};
use filermark_testbed::{Mounts, Scratch, available};
use rustix::process::Signal;
use std::time::Duration;

/// A run of one load point in a separate directory; `None`: not possible here.
fn sweep() -> Option<(Sweep, Scratch)> {
    let mounts = available(Mounts::new())?;
    let dir = mounts.plain().expect("a directory");
    let sweep = Sweep::composite("SWBUILD", &mounts, dir.path());
    Some((sweep, dir))
}

/// Script and argument of every call, in the order in which they were made.
fn calls(ended: &Ended) -> Vec<(String, String)> {
    let mut scripts: Vec<ScriptRecord> = ended.record().scripts;
    scripts.sort_by_key(|s| s.at);
    let call = |s: ScriptRecord| (s.script, s.argument);
    scripts.into_iter().map(call).collect()
}

fn warnings(ended: &Ended, rule: Rule) -> Vec<String> {
    let record = ended.record();
    let points = record.points.iter().flat_map(|p| &p.findings);
    let all = record.run_findings().chain(points);
    all.filter(|f| f.rule == rule && f.severity == Severity::Warning)
        .map(|f| f.message.clone())
        .collect()
}

#[test]
fn scripts_are_called_at_their_points_and_reported_in_the_record() {
    let _turn = beside_others();
    let Some((sweep, _dir)) = sweep() else {
        return;
    };
    sweep.write_script("netmist_mon.sh", "echo mon $1");
    sweep.write_script("netmist_power.sh", "echo power $1; exit 7");
    // Hangs beyond the end of RUN; a run that waited for it would call "Load" too late.
    let text = "echo stat $1; if [ $1 = ZERO ]; then sleep 600; fi";
    sweep.write_script("netmist_stat.sh", text);
    let ended = sweep.set("SCRIPT_LIMIT_S", 6).set("RUNTIME", 3).succeed();
    let call = |script: &str, argument: &str| (format!("netmist_{script}.sh"), argument.to_owned());
    let mut made = calls(&ended);
    // The two of each pair are started together.
    made[2..4].sort();
    made[5..7].sort();
    assert_eq!(
        made,
        [
            call("power", "Baseline"),
            call("mon", "INIT"),
            call("mon", "RUNNING"),
            call("stat", "ZERO"),
            call("power", "Load"),
            call("mon", "STOP"),
            call("stat", "STOP"),
        ]
    );
    let record = ended.record();
    for script in &record.scripts {
        let stem = script
            .script
            .trim_start_matches("netmist_")
            .trim_end_matches(".sh");
        assert_eq!(script.output, format!("{stem} {}\n", script.argument));
    }
    let findings = warnings(&ended, Rule::Script);
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings
            .iter()
            .any(|m| m.starts_with("netmist_power.sh Load: exit code 7"))
    );
    assert!(
        findings
            .iter()
            .any(|m| m.contains("ZERO: took longer than 6 s and was ended"))
    );
    let run = record
        .phases
        .iter()
        .find(|p| p.phase == Phase::Run)
        .expect("RUN");
    let load = record
        .scripts
        .iter()
        .find(|s| s.argument == "Load")
        .expect("Load");
    let after = load.at.seconds_since(run.began);
    assert!((2.0..4.5).contains(&after), "70 % of RUN: {after}");
}

#[test]
fn an_interrupted_run_reports_its_scripts_and_waits_for_none() {
    let _turn = beside_others();
    let Some((sweep, _dir)) = sweep() else {
        return;
    };
    sweep.write_script("netmist_mon.sh", "if [ $1 = STOP ]; then sleep 600; fi");
    let mut started = sweep.set("RUNTIME", 300).start();
    started.wait_for(" RUN\n");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(
        ended.elapsed < Duration::from_secs(60),
        "{:?}",
        ended.elapsed
    );
    let made = calls(&ended);
    assert!(
        made.iter().any(|(_, argument)| argument == "STOP"),
        "{made:?}"
    );
}

#[test]
fn heartbeats_and_the_console_are_kept() {
    let _turn = beside_others();
    let Some((sweep, _dir)) = sweep() else {
        return;
    };
    let logs = sweep.dir().join("logs");
    let ended = sweep
        .set("HEARTBEAT_NOTIFICATIONS", "on")
        .set("HEARTBEAT_S", 1)
        .set("WARMUP_TIME", 1)
        .set("NETMIST_LOGS", logs.display())
        .args("--console 2014")
        .succeed();
    let record = ended.record();
    let beats = |phase| {
        record
            .heartbeats
            .iter()
            .filter(|b| b.phase == phase)
            .count()
    };
    assert!(
        beats(Phase::Warmup) >= 1 && beats(Phase::Run) == 2,
        "{:?}",
        record.heartbeats
    );
    for beat in &record.heartbeats {
        assert_eq!(beat.ops_per_sec.len(), 5);
        // 500 op/s are requested; the achieved rate is not tested here.
        assert!(beat.total_ops_per_sec() > 50.0, "{beat:?}");
    }
    for words in [
        "Starting SWBUILD run 1 of 1: BUILDs=1 >>>",
        "Total max file space",
        "Starting test client:    4 Host: localhost",
        "Warm-up 100 percent complete",
        "Run 10 percent complete",
        "Run Heartbeat Client 4:",
        "Overall average latency",
        "Band 9:",
    ] {
        assert!(
            ended.stderr.contains(words),
            "no {words:?}:\n{}",
            ended.stderr
        );
    }
    assert_eq!(ended.stderr.matches("Run 50 percent complete").count(), 1);
    assert!(logs.join("client-logs.s").join("client_4.s").exists());
}

#[test]
fn the_clock_is_held_against_a_service() {
    let _turn = beside_others();
    let Some((sweep, _dir)) = sweep() else {
        return;
    };
    let mut service = Sweep::bare()
        .command("clock")
        .arg("--listen")
        .arg("127.0.0.1:0")
        .start();
    service.wait_for("PIT_PORT=");
    let output_text = service.stderr();
    let port = output_text
        .trim()
        .rsplit('=')
        .next()
        .expect("a port")
        .to_owned();
    let sweep = sweep.set("PIT_SERVER", "127.0.0.1").set("PIT_PORT", port);
    let ended = sweep.clone().suffix("one").succeed();
    let events = ended.record().events;
    let actual = |e: &filermark_results::Event| e.message.contains("ms passed here");
    assert_eq!(events.iter().filter(|e| actual(e)).count(), 1, "{events:?}");
    assert!(warnings(&ended, Rule::ExternalClock).is_empty());
    service.signal(Signal::INT);
    let service = service.wait();
    assert_eq!(service.code, 0, "{}", service.stderr);
    assert!(
        service.stdout.contains("answered     10"),
        "{}",
        service.stdout
    );
    // The service has ended: the next run reports that and does not take longer.
    let ended = sweep.suffix("two").succeed();
    let findings = warnings(&ended, Rule::ExternalClock);
    assert!(
        findings.len() == 1 && findings[0].contains("'filermark clock'"),
        "{findings:?}"
    );
}

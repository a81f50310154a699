//! `run --energy`: a sweep through a switch with a simulated meter, up to the report; and suites
//! of several runs.

use crate::energy_collect::{Going, lines, now, samples, serve_on, switch, wait_for};
use crate::load_guard::beside_others;
use crate::stopped::children;
use crate::sweep::{PROGRAM, Sweep};
use crate::{assert_complete, filermark, stderr_text};
use filermark_energy_data::log::{EnergyPhase, LogLine};
use filermark_energy_data::reduce::{ReduceOptions, TrafficFrom, reduce_files};
use filermark_testbed::{SflowOptions, Switch};
use rustix::process::{Pid, Signal};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The sources: a meter whose value follows the traffic, and the inlet temperature.
fn setup(ports: &str) -> String {
    format!(
        "drives = 24\nraw_capacity_gb = 48000\nidle = \"3s\"\ninterval = \"250ms\"\n\
         [sflow]\nlisten = \"127.0.0.1:6343\"\nports = [\"{ports}\"]\n\
         [[meter]]\nname = \"made-up\"\nat = \"sim:idle=200,per-mib=2,noise=0.5,seed=7\"\n\
         [[sensor]]\nname = \"inlet\"\nat = \"sim:idle=22,noise=0.1,seed=8,quantity=temperature_c\"\n"
    )
}

/// A reading of the kernel's count.
struct KernelCount {
    /// Before and after it, in seconds since 1970.
    between: (f64, f64),
    bytes: f64,
}

/// Bytes of the server's port as the kernel counts them.
fn watch(switch: &Switch, stop: &AtomicBool) -> Vec<KernelCount> {
    let mut seen = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let before = now();
        let (received, sent) = switch.bytes(Switch::SERVER).expect("counts");
        seen.push(KernelCount {
            between: (before, now()),
            bytes: (received + sent) as f64,
        });
        std::thread::sleep(Duration::from_millis(50));
    }
    seen
}

/// The kernel's count was at least this at a moment.
fn at_least(seen: &[KernelCount], at: f64) -> f64 {
    let before = seen.partition_point(|count| count.between.1 <= at).max(1);
    seen[before - 1].bytes
}

/// The kernel's count was at most this at a moment.
fn at_most(seen: &[KernelCount], at: f64) -> f64 {
    let after = seen.partition_point(|count| count.between.0 < at);
    seen[after.min(seen.len() - 1)].bytes
}

#[test]
fn a_sweep_through_a_switch_leaves_an_efficiency_report() {
    let _turn = beside_others();
    let Some(switch) = switch() else { return };
    let (_server, address) = serve_on(&switch);
    let sweep = Sweep::at(address)
        .set("LOAD", "400 800")
        .set("PROCS", 8)
        .set("WARMUP_TIME", 2)
        .set("RUNTIME", 14);
    let index = switch.if_index(Switch::SERVER).expect("its number");
    let file = sweep.dir().join("energy.toml");
    std::fs::write(&file, setup(&index.to_string())).expect("written");
    let mut run = switch.sandbox().command(PROGRAM);
    run.args(sweep.to_command().get_args())
        .arg("--energy")
        .arg(&file)
        .current_dir(sweep.dir());
    let mut run = Going::start(run);
    // Datagrams of the switch are lost while there is no receiver.
    run.wait_for_text("energy: measuring the idle server");
    let options = SflowOptions {
        polling_s: 1,
        sampling: 64,
    };
    let actual: SocketAddr = "127.0.0.1:6343".parse().expect("an address");
    switch.send_sflow_to(actual, options).expect("sFlow is on");
    let stop = AtomicBool::new(false);
    let (seen, ended) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&switch, &stop));
        let ended = run.end();
        stop.store(true, Ordering::Relaxed);
        (watching.join().expect("it watched"), ended)
    });
    let (code, product) = ended;
    assert_eq!(code, Some(0), "{product}");
    assert!(product.contains("MiB/sec/Watt"), "{product}");
    assert!(product.contains("simulated figures"), "{product}");
    let result = sweep.result("s.merged.jsonl");
    agrees(&result, index, &seen);
    reduced(&result);
    for ending in ["html", "csv", "xlsx"] {
        let path = result.with_file_name(format!("s.energy.{ending}"));
        assert!(path.metadata().expect("a report").len() > 500, "{ending}");
    }
    let page = std::fs::read_to_string(result.with_file_name("s.energy.html")).expect("a page");
    assert!(page.contains("SIMULATED FIGURES") || page.contains("simulated figures"));
}

/// How long a reading of the switch may take to arrive on a busy machine, in seconds.
const LATE_MAX_S: f64 = 4.0;

/// Compares sFlow's bytes, from the first RUN to the end of the second, with the kernel's. A reading arrives late
/// on a busy machine, so that the kernel has counted more by then, and had counted less before.
/// (`energy_collect` compares between idle times, where lateness does not matter.)
fn agrees(merged: &Path, index: u32, seen: &[KernelCount]) {
    let lines = lines(merged);
    let runs: Vec<(f64, f64)> = lines
        .iter()
        .filter_map(|line| match line {
            LogLine::Run(run) => Some(run.points.iter().filter_map(|p| p.measured())),
            _ => None,
        })
        .flatten()
        .map(|(from, to)| (from.unix_seconds(), to.unix_seconds()))
        .collect();
    let [(begin, _), (_, end)] = runs[..] else {
        panic!("not two RUNs: {runs:?}");
    };
    // What sFlow has reported by the end of each interval, from the first one on, plus what had
    // been counted before, is between the kernel's counts then and `LATE_MAX_S` earlier.
    let mut reported = 0.0;
    let (mut least, mut most, mut count) = (f64::NEG_INFINITY, f64::INFINITY, 0);
    for (at, sample) in samples(&lines, index) {
        if at < begin || at > end {
            continue;
        }
        reported += sample.bytes().expect("bytes") as f64;
        count += 1;
        least = f64::max(least, at_least(seen, at - LATE_MAX_S) - reported);
        most = f64::min(most, at_most(seen, at) - reported);
    }
    let kernel = at_least(seen, end) - at_most(seen, begin);
    eprintln!(
        "{count} intervals, sFlow {reported} bytes, kernel {kernel}; before: {least} to {most}"
    );
    assert!(count >= 14, "{count} intervals");
    assert!(
        least <= most,
        "sFlow's bytes are not the kernel's: {least} > {most}"
    );
    assert!(
        (reported / kernel - 1.0).abs() < 0.2,
        "{reported}, {kernel}"
    );
}

/// Asserts that the figures of the reduction are consistent.
fn reduced(merged: &Path) {
    let paths = [merged.to_owned()];
    let reduction = reduce_files(&paths, &ReduceOptions::default()).expect("a reduction");
    let run = &reduction.workloads[0];
    assert!(run.simulated && reduction.simulated);
    assert_eq!(run.traffic_from, TrafficFrom::Sflow);
    assert_eq!(run.drives, Some(24));
    // The best is the second one, unless it missed its rate on a busy machine.
    let second_counts = run.points[1].valid != Some(false);
    if let Some(best) = run.best {
        assert_eq!(best, usize::from(second_counts));
    }
    let idle = run.idle.expect("it was at rest");
    assert!((idle.mean - 200.0).abs() < 2.0, "{idle:?}");
    for point in &run.points {
        let traffic = point.traffic_mib_per_s.expect("traffic").mean;
        let power = point.power_w.expect("power").mean;
        // The value of the meter follows the traffic with a delay.
        assert!(
            (power - 200.0 - 2.0 * traffic).abs() < 0.1 * traffic + 2.0,
            "{point:?}"
        );
        let clients = point.client_mib_per_s.expect("the clients' count");
        assert!(
            traffic > clients && traffic < clients * 1.5,
            "{traffic}, {clients}"
        );
        let temperature = point.temperature_c.expect("the inlet's");
        assert!((temperature.mean - 22.0).abs() < 0.5);
    }
    let phases: Vec<EnergyPhase> = run.phases.iter().map(|span| span.phase).collect();
    assert!(phases.contains(&EnergyPhase::Init) && phases.contains(&EnergyPhase::RunTail));
}

#[test]
fn a_suite_goes_on_where_it_was_cut() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let write =
        |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    let rc = "DRIVER=null\nLOAD=2000\nPROCS=4\nWARMUP_TIME=1\nRUNTIME=3\nFILESET_MB_PER_OP=0.1\nSTALL_PCNT_MAX=100\n";
    write("sfs_rc_one", rc);
    write("sfs_rc_two", &rc.replace("2000", "3000"));
    write(
        "energy.toml",
        "idle = 0\ninterval = \"100ms\"\n[[meter]]\nat = \"sim:idle=100,seed=1\"\n",
    );
    let suite = |more: &[&str]| {
        let args = ["energy", "suite", "sfs_rc_one", "sfs_rc_two"];
        let energy = ["--energy", "energy.toml"];
        filermark(dir.path(), &[&args[..], &energy, more].concat())
    };
    let dry = suite(&["--dry-run"]);
    let text = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert_eq!(text.matches("to be run").count(), 2, "{text}");
    let first = suite(&[]);
    assert!(first.status.success(), "{}", stderr_text(&first));
    let result = dir.path().join("result");
    for name in ["one.merged.jsonl", "two.merged.jsonl", "suite.energy.html"] {
        assert!(result.join(name).exists(), "{name}");
    }
    // The second is interrupted before its load point was measured.
    let record = result.join("two.run.jsonl");
    let text = std::fs::read_to_string(&record).expect("a record");
    let cut: Vec<&str> = text.lines().collect();
    std::fs::write(&record, cut[0].to_owned() + "\n").expect("written");
    let again = suite(&[]);
    assert!(again.status.success(), "{}", stderr_text(&again));
    let output_text = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(output_text.contains("one: done already"), "{output_text}");
    assert!(result.join("two.cut1/two.run.jsonl").exists());
    assert!(result.join("two.cut1/two.energy.jsonl").exists());
    // Later changes of the file are reported; nothing is merged again by itself.
    let merged = std::fs::read(result.join("one.merged.jsonl")).expect("there");
    let setup = "drives = 24\nidle = 0\n[[meter]]\nat = \"sim:idle=100,seed=1\"\n";
    write("energy.toml", setup);
    let later = stderr_text(&suite(&["--dry-run"]));
    assert!(
        later.contains("one: drives is 24 (was not given)"),
        "{later}"
    );
    let command = later
        .split_once("to merge again: filermark ")
        .expect("a command")
        .1;
    let command = command.lines().next().expect("a line").replace('\'', "");
    let again = filermark(dir.path(), &command.split_whitespace().collect::<Vec<_>>());
    assert!(again.status.success(), "{command}: {}", stderr_text(&again));
    assert_ne!(
        merged,
        std::fs::read(result.join("one.merged.jsonl")).expect("there")
    );
    let later = stderr_text(&suite(&["--dry-run"]));
    assert!(!later.contains("one: drives"), "{later}");
    assert!(later.contains("two: drives"), "{later}");
    // A missing file is reported before anything runs.
    std::fs::remove_file(dir.path().join("energy.toml")).expect("there");
    let none = suite(&["--dry-run"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr_text(&none));
    assert!(
        stderr_text(&none).contains("energy.toml"),
        "{}",
        stderr_text(&none)
    );
    write("energy.toml", setup);
    // Our own log of the classical kind cannot be merged; a zone without a foreign log is idle.
    write(
        "result/sfslog.one",
        "Filermark Aggregate Results for 2 Client(s)\n",
    );
    let own = filermark(
        dir.path(),
        &[
            "energy",
            "merge",
            "result/sfslog.one",
            "result/one.energy.jsonl",
        ],
    );
    assert_eq!(own.status.code(), Some(2));
    assert!(
        stderr_text(&own).contains("give one.run.jsonl"),
        "{}",
        stderr_text(&own)
    );
    let args = [
        "energy",
        "merge",
        "result/one.run.jsonl",
        "result/one.energy.jsonl",
    ];
    let zone = filermark(
        dir.path(),
        &[&args[..], &["--zone", "UTC", "-o", "z.jsonl"]].concat(),
    );
    assert!(zone.status.success(), "{}", stderr_text(&zone));
    assert!(
        stderr_text(&zone).contains("--zone has no effect"),
        "{}",
        stderr_text(&zone)
    );
    // Missing files of a completed run are made again, and reported if that is not possible.
    std::fs::remove_file(result.join("one.merged.jsonl")).expect("removed");
    let again = suite(&[]);
    assert!(again.status.success(), "{}", stderr_text(&again));
    assert!(result.join("one.merged.jsonl").exists());
    std::fs::remove_file(result.join("one.merged.jsonl")).expect("removed");
    std::fs::remove_file(result.join("one.energy.jsonl")).expect("removed");
    let without = suite(&["--keep-going"]);
    assert_eq!(without.status.code(), Some(1), "{}", stderr_text(&without));
    assert!(stderr_text(&without).contains("one was measured without --energy"));
    // A log without a record is what a suite leaves that is killed while the server rests.
    std::fs::remove_file(result.join("one.run.jsonl")).expect("removed");
    std::fs::write(result.join("one.energy.jsonl"), "").expect("written");
    let again = suite(&[]);
    assert!(again.status.success(), "{}", stderr_text(&again));
    assert!(result.join("one.cut1/one.energy.jsonl").exists());
    // Another plan under the same name is refused before anything runs.
    write("sfs_rc_two", &rc.replace("2000", "4000"));
    let other = suite(&[]);
    assert_eq!(other.status.code(), Some(2), "{}", stderr_text(&other));
    assert!(String::from_utf8_lossy(&other.stderr).contains("another plan"));
    // Unless it never reached a load point.
    std::fs::write(&record, cut[0].to_owned() + "\n").expect("written");
    let failed = suite(&["--dry-run"]);
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(
        text.contains("cut; to be run again"),
        "{text}{}",
        stderr_text(&failed)
    );
    // An energy log alone blocks a run; the sentence names the option that helps.
    write("sfs_rc_three", &(rc.to_owned() + "SUFFIX=three\n"));
    write("result/three.energy.jsonl", "older");
    let args = [
        "run",
        "-r",
        "sfs_rc_three",
        "-s",
        "three",
        "--energy",
        "energy.toml",
    ];
    let blocked = filermark(dir.path(), &args);
    assert_eq!(blocked.status.code(), Some(2), "{}", stderr_text(&blocked));
    assert!(
        stderr_text(&blocked).contains("another suffix (-s)"),
        "{}",
        stderr_text(&blocked)
    );
}

/// The load points that a record has.
pub fn points_of(record: &Path) -> usize {
    let text = std::fs::read_to_string(record).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter(|line| line.starts_with("{\"type\":\"point\""))
        .count()
}

/// A suite of one workload in this directory, with these options too, which a signal ends as soon
/// as its record has this number of load points.
pub fn cut_suite(dir: &Path, options: &[&str], points: usize, signal: Signal) {
    let mut suite = Command::new(PROGRAM);
    let args = ["energy", "suite", "sfs_rc_one"];
    suite.args(args).args(options);
    suite.current_dir(dir).env_remove("RUST_LOG");
    let mut suite = Going::start(suite);
    let record = dir.join("result/one.run.jsonl");
    wait_for("load points", || {
        let ended = !suite.is_running();
        let there = points_of(&record) >= points;
        assert!(there || !ended, "it ended before {points} load points");
        there.then_some(())
    });
    let agents = children(suite.pid()).into_iter();
    let agents: Vec<Pid> = agents.filter(|pid| is_agent(*pid)).collect();
    suite.signal(signal);
    suite.end();
    // What an agent has claimed is in use until it has ended.
    for agent in agents {
        wait_for("the end of an agent", || (!is_agent(agent)).then_some(()));
    }
}

/// Whether a process that has not ended is an agent.
fn is_agent(pid: Pid) -> bool {
    let words = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    words.is_ok_and(|words| words.split(|byte| *byte == 0).any(|word| word == b"agent"))
}

#[test]
fn a_suite_that_was_cut_goes_on_with_the_next_load_point() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let write =
        |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    let rc = "DRIVER=null\nLOAD=1000\nINCR_LOAD=1000\nNUM_RUNS=6\nPROCS=4\nWARMUP_TIME=1\nRUNTIME=3\nFILESET_MB_PER_OP=0.1\nSTALL_PCNT_MAX=100\nPRIME_MON_SCRIPT=sleep\nPRIME_MON_ARGS=5\n";
    let setup = "idle = 0\ninterval = \"100ms\"\n[[meter]]\nname = \"made-up\"\nat = \"sim:idle=100,seed=1\"\n";
    write("sfs_rc_one", rc);
    write("energy.toml", setup);
    let suite = |more: &[&str]| {
        let args = ["energy", "suite", "sfs_rc_one", "--energy", "energy.toml"];
        filermark(dir.path(), &[&args[..], more].concat())
    };
    let result = dir.path().join("result");
    let record = result.join("one.run.jsonl");
    cut_suite(dir.path(), &["--energy", "energy.toml"], 1, Signal::KILL);
    let first = std::fs::read_to_string(&record).expect("a record");
    let whole = first.rfind('\n').map_or("", |at| &first[..=at]).to_owned();
    // On a busy host it may be more than the one that was waited for.
    let measured_first = points_of(&record);
    assert!((1..5).contains(&measured_first), "{measured_first}");

    // It is not resumed if anything has changed, and then no file is changed.
    let refused = |what: &str| {
        let output = suite(&[]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
        assert!(
            stderr_text(&output).contains(what),
            "{what}: {}",
            stderr_text(&output)
        );
        let now = std::fs::read_to_string(&record).expect("a record");
        assert_eq!(now, first);
    };
    write("sfs_rc_one", &format!("# a remark\n{rc}"));
    refused("sfs_rc_one (-r) has changed");
    write("sfs_rc_one", &rc.replace("RUNTIME=3", "RUNTIME=4"));
    refused("another plan");
    write("sfs_rc_one", rc);
    write("energy.toml", &format!("drives = 3\n{setup}"));
    refused("energy.toml (--energy) has changed");
    write("energy.toml", setup);
    let other = first.replacen(env!("CARGO_PKG_VERSION"), "0.0.1", 1);
    std::fs::write(&record, &other).expect("written");
    let output = suite(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(
        stderr_text(&output).contains("started by version 0.0.1"),
        "{}",
        stderr_text(&output)
    );
    // Hosts are compared when they are connected; the record is unchanged.
    let host = first
        .split_once("\"cpu_model\":\"")
        .expect("an environment")
        .1;
    let model = host.split_once('"').expect("a model").0;
    let other = first.replacen(
        &format!("\"cpu_model\":\"{model}\""),
        "\"cpu_model\":\"another one\"",
        1,
    );
    std::fs::write(&record, &other).expect("written");
    let output = suite(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    assert!(
        stderr_text(&output).contains("its hosts have changed"),
        "{}",
        stderr_text(&output)
    );
    assert_eq!(std::fs::read_to_string(&record).expect("a record"), other);
    std::fs::write(&record, &first).expect("written");
    // Data that was collected for a piece that did not begin is not used.
    assert!(!result.join("one.energy.2.jsonl").exists());
    assert!(!result.join("one.merged.jsonl").exists());

    let dry = suite(&["--dry-run"]);
    let text = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(
        text.contains(&format!(
            "cut; continues after load point {measured_first} of 6"
        )),
        "{text}"
    );
    cut_suite(
        dir.path(),
        &["--energy", "energy.toml"],
        measured_first + 1,
        Signal::INT,
    );
    let end = suite(&[]);
    assert_complete(&end);

    // Earlier measurements are unchanged; the record lists its parts.
    let text = std::fs::read_to_string(&record).expect("a record");
    assert!(text.starts_with(&whole), "the first piece was changed");
    let read = filermark_results::read_record(&record).expect("a record");
    let numbers: Vec<u32> = read.points.iter().map(|p| p.load.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let measured = read.points.iter().all(|p| p.measured().is_some());
    assert!(measured && read.restarts.len() == 2);
    let pieces: Vec<usize> = read.restarts.iter().map(|r| r.point_count).collect();
    assert!(
        pieces[0] == measured_first && pieces[1] > pieces[0],
        "{pieces:?}"
    );
    // The numbers of the monitor's calls continue, and its earlier output is kept.
    let calls: Vec<u32> = read.scripts.iter().filter_map(|s| s.call).collect();
    assert!(calls.len() >= 5, "{calls:?}");
    assert!(calls.is_sorted_by(|a, b| a < b), "{calls:?}");
    let output_text = std::fs::read_to_string(result.join("sfsmon.one")).expect("sfsmon");
    assert!(output_text.contains("# call 1, "), "{output_text}");
    assert_eq!(
        output_text.matches("# the run continues, ").count(),
        2,
        "{output_text}"
    );
    let actual = read.pieces().expect("pieces");
    assert!(actual.contains("measured in 3 pieces"), "{actual}");
    let report = filermark(dir.path(), &["report", "result/one.run.jsonl"]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("measured in 3 pieces"), "{report}");
    let checked = filermark(dir.path(), &["verify", "result/one.run.jsonl"]);
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    // The finding cannot be removed.
    let hidden = text.replace("measured in 3 pieces", "measured in 1 pieces");
    write("other.run.jsonl", &hidden);
    let checked = filermark(dir.path(), &["verify", "other.run.jsonl"]);
    assert_eq!(checked.status.code(), Some(1));

    // Power was measured during every piece.
    assert!(result.join("one.energy.3.jsonl").exists());
    assert!(!result.join("one.energy.4.jsonl").exists());
    let merged = [result.join("one.merged.jsonl")];
    let reduction = reduce_files(&merged, &ReduceOptions::default()).expect("a reduction");
    let run = &reduction.workloads[0];
    assert_eq!(run.points.len(), 6);
    for point in &run.points {
        let power = point.power_w.expect("power");
        assert!(power.coverage > 0.5, "{power:?}");
    }
    assert!(suite(&[]).status.success());
    assert!(stderr_text(&suite(&[])).contains("one: done already"));
}

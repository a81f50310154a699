//! Composite benchmarks on file systems of this host.

use crate::load_guard::beside_others;
use crate::posix_tree::{left_behind, plant_foreign, tree};
use crate::sweep::{Ended, PROGRAM, Sweep};
use filermark_model::{Op, Rule};
use filermark_testbed::{Mounts, available};
use std::collections::BTreeSet;
use std::path::Path;

/// A short run with VERIFY of one benchmark in a directory with foreign files: nothing fails, and
/// no files are left.
#[track_caller]
fn runs_clean(sweep: &Sweep, at: &Path) -> Ended {
    let before = plant_foreign(at);
    let ended = sweep.clone().set("VERIFY", "on").succeed();
    ended.assert_sanitized();
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert!(stats.success_count() > 0);
    assert_eq!(left_behind(at, &before), [""; 0]);
    ended
}

/// The benchmark runs, with every operation of its mixes that is frequent enough for such a short
/// run.
fn shipped(benchmark: &str, load: u32) {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let sweep = Sweep::composite(benchmark, &mounts, dir.path())
        .set("LOAD", load)
        .set("FILE_SIZE", "256k")
        .set("DIR_COUNT", 1)
        .set("FILES_PER_DIR", 2)
        .set("RUNTIME", 1);
    let ended = runs_clean(&sweep, dir.host());
    let record = ended.record();
    let composite = record.run.plan.benchmark.composite().expect("a composite");
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    for (component, done) in composite.components.iter().zip(&stats.components) {
        let total = done.success_count() as f64;
        let met: BTreeSet<Op> = done.ops.iter().map(|o| o.op).collect();
        for &(op, percent) in component.workload.mix.shares() {
            let expected = total * percent / 100.0;
            assert!(
                met.contains(&op) || expected < 10.0,
                "{benchmark}: no {op} of {expected:.0}"
            );
        }
    }
}

macro_rules! shipped {
    ($($name:ident: $benchmark:literal, $load:literal;)*) => {
        $(#[test] fn $name() { shipped($benchmark, $load); })*
    };
}

shipped! {
    swbuild_runs: "SWBUILD", 1;
    vda_runs: "VDA", 4;
    vda_draft_runs: "VDA_DRAFT", 4;
    vdi_runs: "VDI", 1;
    database_runs: "DATABASE", 1;
    metadata_runs: "METADATA", 2;
    backup_runs: "BACKUP", 2;
    homedir_runs: "HOMEDIR", 2;
    vds_runs: "VDS", 2;
    userdef_runs: "USERDEF", 2;
    eda_blended_runs: "EDA_BLENDED", 1;
    genomics_runs: "GENOMICS", 1;
    ai_image_runs: "AI_IMAGE", 1;
}

#[test]
fn the_issue_s_rc_file_makes_a_sweep_of_two_points() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let before = plant_foreign(dir.host());
    let rc = format!(
        "BENCHMARK=SWBUILD\nCLIENT_MOUNTPOINTS=\"localhost:{}\"\nFILE_SIZE=4k\nDIR_COUNT=2\n\
         FILES_PER_DIR=4\nRUNTIME=3\nWARMUP_TIME=1\nLOAD=1\nINCR_LOAD=1\nNUM_RUNS=2\n",
        dir.path().display()
    );
    let ended = Sweep::bare()
        .seeing(&mounts)
        .suffix("swbuild")
        .rc(&rc)
        .succeed();
    let record = ended.record();
    assert_eq!(record.points.len(), 2);
    for (point, (procs, rate)) in record.points.iter().zip([(5, 500.0), (10, 1000.0)]) {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.procs.len(), procs);
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        assert_eq!(point.load.requested.0, rate);
    }
    assert_eq!(left_behind(dir.host(), &before), [""; 0]);
}

#[test]
fn kept_files_are_found_again_and_others_stay() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let before = plant_foreign(dir.host());
    let sweep = Sweep::composite("SWBUILD", &mounts, dir.path()).set("RUNTIME", 1);
    sweep.clone().set("KEEP", "on").succeed();
    let kept = left_behind(dir.host(), &before);
    assert!(kept.len() > 500, "{}", kept.len());
    assert!(
        kept.iter().all(|name| name.starts_with("filermark.s")),
        "{kept:?}"
    );
    // Another run has its own directory and does not change this one.
    let there = tree(&dir.host().join("filermark.s"));
    sweep.elsewhere().suffix("other").succeed();
    assert!(tree(&dir.host().join("filermark.s")) == there);
    sweep.elsewhere().succeed();
    assert_eq!(left_behind(dir.host(), &before), [""; 0]);
}

#[test]
fn a_kept_file_set_serves_run_after_run() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let before = plant_foreign(dir.host());
    let sweep = Sweep::composite("METADATA", &mounts, dir.path())
        .set("FILE_SIZE", "8k")
        .set("DIR_COUNT", 2)
        .set("FILES_PER_DIR", 20)
        .set("RUNTIME", 2)
        .set("KEEP", "on");
    for turn in 0..3 {
        let ended = sweep.elsewhere().succeed();
        let stats = ended.point(1).stats.expect("figures");
        assert_eq!(stats.error_count(), 0, "run {turn}: {:?}", stats.errors);
    }
    sweep.elsewhere().set("KEEP", "off").succeed();
    assert_eq!(left_behind(dir.host(), &before), [""; 0]);
}

/// Procs that share a tree use different names, also those that are added with a higher load, and
/// every mount point has a complete tree.
#[test]
fn shared_trees_are_whole_on_every_mount_point_and_at_every_load() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dirs = [(); 2].map(|()| mounts.plain().expect("a directory"));
    let both = dirs
        .each_ref()
        .map(|d| format!("localhost:{}", d.path().display()))
        .join(" ");
    let ended = Sweep::composite("SWBUILD", &mounts, dirs[0].path())
        .set("CLIENT_MOUNTPOINTS", both)
        .set("SHARING_MODE", "on")
        .set("LOAD", 1)
        .set("INCR_LOAD", 1)
        .set("NUM_RUNS", 2)
        .set("RUNTIME", 2)
        .succeed();
    for number in [1, 2] {
        let stats = ended.point(number).stats.expect("figures");
        assert_eq!(stats.error_count(), 0, "{number}: {:?}", stats.errors);
    }
}

/// The seed's command line (manual N, section 10, as the issue has it), but with our
/// `--exact-time`: two and a half minutes would pass until the data set is touched.
#[test]
fn netmist_s_command_line_works() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let before = plant_foreign(dir.host());
    let work = Sweep::bare().seeing(&mounts).command("netmist");
    let line = format!(
        "Clientname=localhost Username=root Workdir={} Execpath={PROGRAM} Workload=METADATA\n",
        dir.path().display()
    );
    work.write("clients", &line.repeat(2));
    let args = "-d 2 -b 16m -B 16m -O 200 -T 2 -Q 4 -t 2 -w 1 -N -G -g clients --exact-time";
    let ended = work.args(args).succeed();
    ended.assert_sanitized();
    assert_eq!(left_behind(dir.host(), &before), [""; 0]);
}

/// A run of netmist's command line has read and written its data set in the planned time, also with
/// files that are smaller than the transfers of the workload.
#[test]
fn a_run_as_long_as_the_plan_states_touches_its_data_set() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.tmpfs(64).expect("a tmpfs");
    let work = Sweep::bare().suffix("netmist");
    let work = work.seeing(&mounts).command("netmist");
    let line = format!(
        "Clientname=localhost Workdir={} Workload=METADATA\n",
        dir.path().display()
    );
    work.write("clients", &line);
    let args = "-b 128k -B 128k -T 2 -Q 8 -O 500 -t 1 -w 0 -g clients";
    let ended = work.args(args).run();
    ended.assert_sanitized();
    let (plan, point) = (ended.record().run.plan, ended.point(1));
    let seconds = plan.phases.runtime.as_secs_f64();
    let stats = point.stats.as_ref().expect("figures");
    let moved: u64 = stats
        .ops
        .iter()
        .map(|o| o.read_bytes + o.written_bytes)
        .sum();
    let set = plan.data_set(point.load).start_bytes;
    assert_eq!(set, 5 * 16 * 8192);
    // On a busy machine fewer operations are made: the bytes of each operation count.
    let planned = point.load.requested.0 * seconds;
    let per_op = moved as f64 / stats.success_count() as f64;
    assert!(
        per_op * planned >= set as f64,
        "{planned} operations of {per_op:.0} bytes in {seconds} s, {set} bytes"
    );
    let touched = !point.findings.iter().any(|f| f.rule == Rule::DataTouched);
    assert_eq!(touched, moved >= set);
    let made = stats.success_count() as f64 / planned;
    assert!(touched || made < 0.95, "{made} of the operations");
}

/// Without a rate RUN goes on until the data set has been read and written once; for a mix with
/// random reads INIT makes two buckets with data.
#[test]
fn a_run_without_a_rate_goes_on_until_its_data_set_is_touched() {
    const MINE: &str = "\
Workload name MINE
Percent rand read 1
Percent create 50
Percent unlink 49
Read elem 0 xfer min size 64
Read elem 0 xfer max size 64
Read elem 0 xfer percent 100
Write elem 0 xfer min size 64
Write elem 0 xfer max size 64
Write elem 0 xfer percent 100
Uniform size dist 1
";
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.tmpfs(64).expect("a tmpfs");
    let work = Sweep::bare().suffix("netmist");
    let work = work.seeing(&mounts).command("netmist");
    work.write("mine", MINE);
    let line = format!(
        "Clientname=localhost Workdir={} Workload=MINE\n",
        dir.path().display()
    );
    work.write("clients", &line);
    let args = "-I mine -T 1 -Q 4 -t 1 -w 0 -g clients -o FILE_SIZE=16k";
    let ended = work.args(args).succeed();
    ended.assert_sanitized();
    let (plan, point) = (ended.record().run.plan, ended.point(1));
    let set = plan.data_set(point.load);
    assert_eq!(
        (set.start_bytes, set.file_count),
        (2 * 4 * 16384, 2 * 4 + 2)
    );
    let stats = point.stats.as_ref().expect("figures");
    let moved: u64 = stats
        .ops
        .iter()
        .map(|o| o.read_bytes + o.written_bytes)
        .sum();
    assert!(moved >= set.start_bytes, "{moved} of {}", set.start_bytes);
    assert!(!point.findings.iter().any(|f| f.rule == Rule::DataTouched));
    // 131,072 bytes take 204,800 operations.
    let second = 1_000_000_000;
    assert_eq!(stats.window_ns % second, 0);
    assert!(stats.window_ns > second, "{}", stats.window_ns);
    let output_text = &ended.stderr;
    assert!(
        output_text.contains("the data set has been read and written once"),
        "{output_text}"
    );
}

/// With many operations the shares of a mix are within 1 percentage point of its
/// definition.
#[test]
fn a_mix_is_kept() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.tmpfs(64).expect("a tmpfs");
    let ended = Sweep::composite("METADATA", &mounts, dir.path())
        .set("LOAD", 2)
        .succeed();
    let record = ended.record();
    let composite = record.run.plan.benchmark.composite().expect("a composite");
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    let total = stats.success_count() as f64;
    assert!(total > 20_000.0, "only {total} operations");
    for &(op, wanted) in composite.components[0].workload.mix.shares() {
        let count = stats.op(op).map_or(0, |o| o.success_count);
        let share = count as f64 / total * 100.0;
        assert!(
            (share - wanted).abs() <= 1.0,
            "{op}: {share:.2} % of {total}, wanted {wanted}"
        );
    }
}

/// The logs can be followed with `tail -f` during a run, an interrupted run keeps them, and those
/// of an earlier run are replaced.
#[test]
fn logs_grow_while_a_run_goes_on() {
    let _turn = beside_others();
    let work = Sweep::bare().suffix("netmist").command("netmist");
    let at = work.dir().join("work");
    std::fs::create_dir(&at).expect("a directory");
    let line = format!(
        "Clientname=localhost Workdir={} Workload=METADATA\n",
        at.display()
    );
    work.write("clients", &line);
    work.write("beats", "old\n");
    let args = "-d 1 -O 50 -t 3000 -w 0 -T 1 -Q 2 -G -q beats -g clients --exact-time \
                -o FILE_SIZE=8k -o HEARTBEAT_S=0.5 -o SPACE_CHECK=off";
    let work = args
        .split_whitespace()
        .fold(work, |sweep, arg| sweep.arg(arg));
    let mut started = work.start();
    let logs = [
        (work.result("sfslog.netmist.txt"), "Starting RUN phase"),
        (
            work.result("client-logs.netmist/netmist_C0.netmist.log"),
            "Starting run phase",
        ),
        (work.result("heartbeats_netmist.log"), "Ops/sec"),
        (work.dir().join("beats"), "Ops/sec"),
    ];
    let has = |path: &Path, words: &str| {
        std::fs::read_to_string(path).is_ok_and(|text| text.contains(words))
    };
    for (path, words) in &logs {
        started.wait_until(&format!("{words:?} in {}", path.display()), |_| {
            has(path, words)
        });
    }
    started.signal(rustix::process::Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    for (path, words) in &logs {
        assert!(has(path, words), "{}", path.display());
    }
    assert!(has(&logs[0].0, "The run was interrupted"));
    assert!(!has(&logs[3].0, "old"));
    // A run that is refused does not change them.
    let texts = || logs.each_ref().map(|(path, _)| std::fs::read(path).ok());
    let before = texts();
    assert_eq!(work.run().code, 2);
    assert_eq!(texts(), before);
}

/// A file of `-q` that cannot be written is an error, and reported.
#[test]
fn a_heartbeat_log_that_cannot_be_written_is_an_error() {
    let _turn = beside_others();
    let work = Sweep::bare().suffix("netmist").command("netmist");
    let at = work.dir().join("work");
    std::fs::create_dir(&at).expect("a directory");
    let line = format!(
        "Clientname=localhost Workdir={} Workload=METADATA\n",
        at.display()
    );
    work.write("clients", &line);
    let args = "-d 1 -O 50 -t 1 -w 0 -T 1 -Q 2 -q /dev/full -g clients --exact-time \
                -o FILE_SIZE=8k -o SPACE_CHECK=off";
    let work = args
        .split_whitespace()
        .fold(work, |sweep, arg| sweep.arg(arg));
    let ended = work.fail(1);
    assert!(ended.stderr.contains("/dev/full"), "{}", ended.stderr);
}

/// A pipe of `-q` without a reader does not stop the run, and is reported.
#[test]
fn a_pipe_that_no_one_reads_does_not_stop_the_run() {
    let _turn = beside_others();
    let work = Sweep::bare().suffix("netmist").command("netmist");
    let at = work.dir().join("work");
    std::fs::create_dir(&at).expect("a directory");
    let line = format!(
        "Clientname=localhost Workdir={} Workload=METADATA\n",
        at.display()
    );
    work.write("clients", &line);
    let (fifo, mode) = (
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
    );
    let pipe = work.dir().join("q");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).expect("a pipe");
    let args = "-d 1 -O 50 -t 1 -w 0 -T 1 -Q 2 -q q -g clients --exact-time \
                -o FILE_SIZE=8k -o SPACE_CHECK=off -o HEARTBEAT_S=0.5";
    let work = args
        .split_whitespace()
        .fold(work, |sweep, arg| sweep.arg(arg));
    let ended = work.fail(1);
    assert!(
        ended.stderr.contains(" bytes were not read "),
        "{}",
        ended.stderr
    );
    assert!(ended.record().end.is_some());
    let beside = work.result("heartbeats_netmist.log");
    let beats = std::fs::read_to_string(beside).expect("the log beside the results");
    assert!(beats.contains("Ops/sec"), "{beats}");
}

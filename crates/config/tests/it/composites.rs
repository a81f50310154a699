//! The rc dialect of 2014: what its texts resolve into.

use crate::{bad, good};
use filermark_config::{Resolved, explain};
use filermark_model::composite::DataSet;
use filermark_model::plan::DriverPlan;
use filermark_model::{Nanos, RunPlan, Severity};
use std::path::Path;

/// The least that a composite run needs.
const LEAST: &str =
    "BENCHMARK=SWBUILD\nLOAD=2\nINCR_LOAD=2\nNUM_RUNS=10\nCLIENT_MOUNTPOINTS=localhost:/mnt/test\n";

/// Everything that an rc file of 2014 has, with its shipped values (sources.md 3.1).
const RC_2014: &str = "\
BENCHMARK=SWBUILD
LOAD=2
INCR_LOAD=2
NUM_RUNS=10
CLIENT_MOUNTPOINTS=\"localhost:/mnt/a localhost:/mnt/b\"
EXEC_PATH=/usr/local/bin/netmist
USER=root
WARMUP_TIME=300
IPV6_ENABLE=0
PRIME_MON_SCRIPT=
PRIME_MON_ARGS=
NETMIST_LOGS=
PASSWORD=
INIT_RATE=0
RUNTIME=300
WORKLOAD_FILE=
OPRATE_MULTIPLIER=
CLIENT_MEM=1g
AGGR_CAP=1g
FILE_SIZE=
DIR_COUNT=10
FILES_PER_DIR=100
UNLINK_FILES=0
LATENCY_GRAPH=1
HEARTBEAT_NOTIFICATIONS=1
DISABLE_FSYNCS=0
USE_RSHRCP=0
BYTE_OFFSET=0
MAX_FD=
PIT_SERVER=
PIT_PORT=
LOCAL_ONLY=0
FILE_ACCESS_LIST=0
SHARING_MODE=0
SOCK_DEBUG=0
TRACEDEBUG=0
";

fn texts_of(plan: &RunPlan, severity: Severity) -> Vec<&str> {
    let of = plan.findings.iter().filter(|f| f.severity == severity);
    of.map(|f| f.message.as_str()).collect()
}

/// Data set of the point with this number (from 0), on so many clients.
fn data_set(plan: &RunPlan, point: usize) -> DataSet {
    let procs = plan.points[point].proc_count as usize;
    let work = plan.benchmark.composite().unwrap();
    work.data_set(
        &plan.procs[..procs],
        plan.clients.len() as u32,
        plan.fileset.sharing,
    )
}

#[test]
fn swbuild_has_the_procs_rates_and_data_of_the_published_row() {
    let resolved = good(LEAST, &[]);
    let plan = &resolved.plan;
    let points: Vec<_> = plan
        .points
        .iter()
        .map(|p| (p.number, p.units, p.requested.0, p.proc_count))
        .collect();
    assert_eq!(points[0], (1, 2.0, 1000.0, 10));
    assert_eq!(points[9], (10, 20.0, 10_000.0, 100));
    assert_eq!(plan.points[0].entered, plan.points[0].requested);
    assert_eq!((plan.procs.len(), plan.procs_per_client), (100, 100));
    // sources.md 3.7: LOAD 2 -> 8593 / 9375 MiB.
    let set = data_set(plan, 0);
    assert_eq!(DataSet::mib(set.start_bytes), 8593);
    assert_eq!(DataSet::mib(set.max_bytes), 9375);
    assert!(matches!(&plan.driver, DriverPlan::Posix(p) if p.reuse_kept && !p.no_fsync));
    assert_eq!(plan.limits.response_ms, 0.0);
    assert_eq!(plan.limits.component_variance_pcnt_max, 5.0);
    assert_eq!(plan.heartbeat, Some(Nanos::from_secs(60)));
    assert_eq!(plan.scripts.as_ref().unwrap().limit, Nanos::from_secs(60));
    assert!(plan.fileset.reuse && !plan.fileset.keep && !plan.fileset.touch_all);
    assert_eq!(plan.phases.runtime, Nanos::from_secs(300));
    assert_eq!(texts_of(plan, Severity::Warning), [""; 0]);
    assert_eq!(texts_of(plan, Severity::Note), [""; 0]);
}

#[test]
fn the_published_rows_of_the_other_benchmarks() {
    let vda = good(LEAST, &["BENCHMARK=VDA", "LOAD=9", "INCR_LOAD=9"]).plan;
    // Slides E: 9 streams = 90 op/s, 18 procs; sources.md 3.7: 202752 / 221184 MiB.
    assert_eq!(
        (vda.points[0].requested.0, vda.points[0].proc_count),
        (90.0, 18)
    );
    let set = data_set(&vda, 0);
    assert_eq!(DataSet::mib(set.start_bytes), 202_752);
    assert_eq!(DataSet::mib(set.max_bytes), 221_184);
    let vdi = good(LEAST, &["BENCHMARK=vdi"]).plan;
    assert_eq!(vdi.points[0].requested.0, 400.0);
    let database = good(LEAST, &["BENCHMARK=DATABASE"]).plan;
    assert_eq!(database.benchmark.composite().unwrap().components.len(), 2);
    assert!(texts_of(&database, Severity::Note)[0].contains("experimental"));
}

#[test]
fn an_rc_file_of_2014_is_a_standard_run() {
    let plan = good(RC_2014, &[]).plan;
    assert_eq!(texts_of(&plan, Severity::Warning), [""; 0]);
    let notes = texts_of(&plan, Severity::Note);
    assert_eq!(notes.len(), 4, "{notes:#?}");
    assert!(
        notes
            .iter()
            .any(|n| n.contains("DIR_COUNT=10 and FILES_PER_DIR=100"))
    );
    assert!(
        notes
            .iter()
            .any(|n| n.starts_with("USER=root has no effect here"))
    );
    let component = &plan.benchmark.composite().unwrap().components[0];
    assert_eq!(component.files_per_bucket(), 5000);
    assert_eq!(plan.clients.len(), 1);
    assert_eq!(plan.clients[0].mounts.len(), 2);
}

#[test]
fn components_are_dealt_over_the_mounts_so_that_no_client_has_one_only() {
    let mounts = "CLIENT_MOUNTPOINTS=localhost:/a,[::1]:/b localhost:/a";
    let plan = good(LEAST, &["BENCHMARK=VDA", "LOAD=3", "INCR_LOAD=", mounts]).plan;
    let names: Vec<_> = plan.clients.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["localhost", "::1"]);
    assert_eq!(plan.clients[0].mounts.len(), 1, "each once");
    assert_eq!(plan.clients[0].mounts[0].to_string(), "localhost:/a");
    let dealt: Vec<_> = plan
        .procs
        .iter()
        .map(|p| (p.component, p.instance, p.client, p.mount.path.as_str()))
        .collect();
    // Unit by unit; the k-th proc of a component goes to mount k + its offset.
    let want = [
        (0, 0, 0, "/a"),
        (1, 0, 1, "/b"),
        (0, 1, 1, "/b"),
        (1, 1, 0, "/a"),
        (0, 2, 0, "/a"),
        (1, 2, 0, "/a"),
    ];
    assert_eq!(dealt, want);
    assert_eq!(plan.procs_per_client, 4);
}

/// sources.md 3.7 with 2 to 4 clients: the data set stays, each client's share shrinks.
#[test]
fn the_data_set_does_not_depend_on_the_number_of_clients() {
    for clients in 1..=4u32 {
        let mounts = format!("CLIENT_MOUNTPOINTS=c[1-{clients}]:/mnt");
        let plan = good(LEAST, &[&mounts]).plan;
        assert_eq!(plan.clients.len(), clients as usize);
        let set = data_set(&plan, 0);
        assert_eq!(DataSet::mib(set.start_bytes), 8593, "{clients}");
        assert_eq!(DataSet::mib(set.max_bytes), 9375, "{clients}");
        assert_eq!(set.client_bytes, set.start_bytes / u64::from(clients));
        assert_eq!(plan.points[0].proc_count, 10);
        assert_eq!(plan.procs.len(), 100);
        assert_eq!(plan.procs_per_client, 100u32.div_ceil(clients));
        // At every load point no client has more than one proc more than another.
        for point in &plan.points {
            let mut counts = vec![0u32; clients as usize];
            for proc in &plan.procs[..point.proc_count as usize] {
                counts[proc.client as usize] += 1;
            }
            let (most, least) = (counts.iter().max(), counts.iter().min());
            assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
        }
        let mut vda = LEAST.replace("SWBUILD", "VDA");
        vda = vda.replace("LOAD=2", "LOAD=9");
        let plan = good(&vda, &[&mounts]).plan;
        let set = data_set(&plan, 0);
        assert_eq!(DataSet::mib(set.start_bytes), 202_752, "{clients}");
        assert_eq!(DataSet::mib(set.max_bytes), 221_184, "{clients}");
        // Both components are on every client.
        for component in 0..2 {
            let of: std::collections::BTreeSet<u32> = plan
                .procs
                .iter()
                .filter(|p| p.component == component)
                .map(|p| p.client)
                .collect();
            assert_eq!(of.len(), clients as usize, "{component}");
        }
    }
}

/// Shared trees are one per component and directory of a client: with the mounts of
/// three clients three times as much as with one.
#[test]
fn shared_trees_are_counted_per_mount() {
    let of = |mounts: &str| {
        let mounts = format!("CLIENT_MOUNTPOINTS={mounts}");
        let plan = good(LEAST, &[&mounts, "SHARING_MODE=1"]).plan;
        data_set(&plan, 9).start_bytes
    };
    let one = of("a:/mnt");
    assert_eq!(of("a:/mnt b:/mnt c:/mnt"), 3 * one);
    assert_eq!(of("a:/mnt a:/mnt"), one);
}

#[test]
fn file_sizes_follow_from_the_procs_of_a_client() {
    let rc = "BENCHMARK=METADATA\nLOAD=10\nCLIENT_MEM=1g\n";
    for (clients, kib) in [(1, 112), (2, 216), (5, 528), (10, 1056)] {
        let mounts = format!("CLIENT_MOUNTPOINTS=c[1-{clients}]:/mnt");
        let plan = good(rc, &[&mounts]).plan;
        let c = &plan.benchmark.composite().unwrap().components[0];
        assert_eq!(c.files_per_bucket(), 1000);
        assert_eq!(c.file_bytes, kib << 10, "{clients}");
    }
}

#[test]
fn clients_without_procs_have_a_note() {
    let mounts = "CLIENT_MOUNTPOINTS=c[1-12]:/mnt";
    let plan = good(LEAST, &["LOAD=2", "INCR_LOAD=", mounts]).plan;
    let notes = texts_of(&plan, Severity::Note).join("\n");
    assert!(
        notes.contains("2 of 12 clients have nothing to do: the largest load has 10 procs"),
        "{notes}"
    );
}

#[test]
fn every_change_of_the_definition_is_a_warning() {
    let options = [
        "FILE_SIZE=8k",
        "DIR_COUNT=5",
        "FILES_PER_DIR=20",
        "OPRATE_MULTIPLIER=0.5",
        "RUNTIME=5",
        "SHARING_MODE=1",
        "DISABLE_FSYNCS=on",
        "VERIFY=on",
        "COMPONENT_VARIANCE_MAX=9",
    ];
    let plan = good(LEAST, &options).plan;
    let warned = texts_of(&plan, Severity::Warning).join("\n");
    for option in options {
        assert!(
            warned.contains(&format!("not standard: {option}")),
            "{option}: {warned}"
        );
    }
    assert!(
        warned.contains("FILE_SIZE=8k (standard: 16.0 KiB)"),
        "{warned}"
    );
    assert!(warned.contains("DIR_COUNT=5 (standard: 50)"), "{warned}");
    let c = &plan.benchmark.composite().unwrap().components[0];
    assert_eq!(
        (c.file_bytes, c.dir_count, c.files_per_dir),
        (8 << 10, 5, 20)
    );
    assert_eq!(plan.points[0].requested.0, 500.0);
    assert_eq!(plan.procs[0].ops_per_sec.unwrap().0, 50.0);
    assert!(plan.fileset.sharing && plan.limits.component_variance_pcnt_max == 9.0);
    // The value of the definition is not a change.
    let same = good(
        LEAST,
        &["FILE_SIZE=16k", "DIR_COUNT=50", "OPRATE_MULTIPLIER=1"],
    )
    .plan;
    assert_eq!(texts_of(&same, Severity::Warning), [""; 0]);
    let vda = good(LEAST, &["BENCHMARK=VDA", "FILE_SIZE=1m", "LOAD=1 2"]).plan;
    assert!(texts_of(&vda, Severity::Warning)[0].contains("(standard: 1.0 GiB)"));
}

#[test]
fn files_are_scaled_by_memory_where_the_benchmark_lets_them() {
    let of = |options: &[&str]| -> (RunPlan, u64) {
        let plan = good(LEAST, options).plan;
        let bytes = plan.benchmark.composite().unwrap().components[0].file_bytes;
        (plan, bytes)
    };
    let metadata = ["BENCHMARK=METADATA", "LOAD=2", "INCR_LOAD="];
    assert_eq!(of(&metadata).1, 24 << 10, "not requested");
    // Two procs share 1 GiB: section 13's 528 KiB.
    let (plan, bytes) = of(&[&metadata[..], &["CLIENT_MEM=1g"]].concat());
    assert_eq!(bytes, 528 << 10);
    assert!(texts_of(&plan, Severity::Warning)[0].contains("file size 528.0 KiB from CLIENT_MEM"));
    assert_eq!(plan.points[0].requested.0, 0.0, "as fast as it goes");
    assert_eq!(plan.procs[0].ops_per_sec, None);
    let both = [&metadata[..], &["AGGR_CAP=1g", "FILE_SIZE=4k"]].concat();
    assert_eq!(of(&both).1, 4 << 10);
    let (fixed, bytes) = of(&["CLIENT_MEM=8g"]);
    assert_eq!(bytes, 16 << 10);
    assert!(texts_of(&fixed, Severity::Note)[0].contains("file sizes are fixed"));
}

#[test]
fn parameters_of_the_other_dialect_have_a_note_and_no_effect() {
    let others = ["PROCS=4", "MNT_POINTS=srv:/x", "BIOD_MAX_READS=3", "TCP=on"];
    let plan = good(LEAST, &others).plan;
    let notes = texts_of(&plan, Severity::Note).join("\n");
    for option in others {
        let want = format!("{option} has no effect with BENCHMARK=SWBUILD");
        assert!(notes.contains(&want), "{notes}");
    }
    let classic = format!("{}CLIENT_MEM=2g\nUNLINK_FILES=0\n", crate::LEAST);
    let plan = good(&classic, &[]).plan;
    let notes = texts_of(&plan, Severity::Note).join("\n");
    assert!(notes.contains("CLIENT_MEM=2g has no effect with BENCHMARK=general-nfs3"));
    assert!(!notes.contains("UNLINK_FILES"), "{notes}");
}

#[test]
fn a_password_is_shown_nowhere() {
    let resolved = good(&format!("{LEAST}PASSWORD=geheim\n"), &["USER=me"]);
    assert!(!format!("{resolved:?}").contains("geheim"));
    assert!(!explain(&resolved, None).contains("geheim"));
    let notes = texts_of(&resolved.plan, Severity::Note);
    assert!(
        notes.contains(&"PASSWORD=(given) has no effect here"),
        "{notes:?}"
    );
}

#[test]
fn every_field_has_a_parameter() {
    let options = [
        "UNLINK_FILES=1",
        "KEEP=on",
        "MAX_FD=100",
        "SPACE_CHECK=off",
        "CUSTOM1_CMD=/bin/true -x",
        "HEARTBEAT_S=5",
        "SCRIPTS=off",
        "PIT_SERVER=clock",
        "PIT_PORT=77",
        "FILE_ACCESS_LIST=1",
        "NETMIST_LOGS=/logs",
        "PACING=open",
        "SEED=9",
        "INIT_TIMEOUT=7",
        "RESPONSE_LIMIT_MS=3",
        "DEBUG=4",
        "SUFFIX=sw",
        "WORK_DIR=out",
    ];
    let resolved: Resolved = good(LEAST, &options);
    let plan = &resolved.plan;
    let DriverPlan::Posix(posix) = &plan.driver else {
        panic!("{:?}", plan.driver);
    };
    assert_eq!(posix.open_files_max, Some(100));
    assert!(!plan.space.check && !posix.reuse_kept);
    assert_eq!(posix.custom[0], ["/bin/true", "-x"]);
    assert!(!plan.fileset.reuse && plan.fileset.keep && plan.fileset.access_list);
    assert_eq!(plan.heartbeat, Some(Nanos::from_secs(5)));
    assert_eq!(plan.scripts, None);
    let clock = plan.clock_service.as_ref().unwrap();
    assert_eq!((clock.host.as_str(), clock.port), ("clock", 77));
    let logs = resolved.netmist.unwrap().client_log_dir.unwrap();
    assert_eq!(logs.to_str(), Some("/logs"));
    assert_eq!((plan.seed, plan.limits.response_ms), (9, 3.0));
    assert_eq!(resolved.suffix, "sw");
    let null = good(LEAST, &["DRIVER=null", "HEARTBEAT_NOTIFICATIONS=0"]).plan;
    assert_eq!((null.driver, null.heartbeat), (DriverPlan::NULL, None));
}

#[test]
fn the_memory_of_the_host_is_compared_with_the_load() {
    // The tests' host has 8 GiB; a BUILD needs 400 MiB.
    assert_eq!(texts_of(&good(LEAST, &[]).plan, Severity::Warning), [""; 0]);
    let plan = good(LEAST, &["LOAD=100", "INCR_LOAD="]).plan;
    let warned = texts_of(&plan, Severity::Warning);
    assert!(
        warned[0].contains("39.1 GiB of client memory (400 MiB per BUILD)"),
        "{warned:?}"
    );
    // Only this host's share of the procs is compared with its memory.
    let mounts = "CLIENT_MOUNTPOINTS=localhost:/mnt a:/mnt b:/mnt c:/mnt";
    let plan = good(LEAST, &["LOAD=100", "INCR_LOAD=", mounts]).plan;
    let warned = texts_of(&plan, Severity::Warning);
    assert!(
        warned[0].contains("(400 MiB per BUILD), 9.8 GiB of it on this host, which has 8.0 GiB"),
        "{warned:?}"
    );
    let mounts = "CLIENT_MOUNTPOINTS=a:/mnt b:/mnt c:/mnt";
    let plan = good(LEAST, &["LOAD=100", "INCR_LOAD=", mounts]).plan;
    assert_eq!(texts_of(&plan, Severity::Warning), [""; 0]);
}

#[test]
fn one_wrong_option_gives_one_message() {
    let cases = [
        (
            "BENCHMARK=SWBIULD",
            "-o BENCHMARK: there is no benchmark 'SWBIULD'; known: general-nfs3, general-nfs40, general-nfs41, general-nfs42, general-smb1, general-smb2, nfs2-1993, nfs2-1997, nfs3-1997, nfs3-2001, nfs42-offload, SWBUILD",
        ),
        (
            "LOAD=1.5",
            "-o LOAD: load '1.5' in LOAD is not valid; give whole numbers from 1 to 1000000000 BUILDs",
        ),
        ("LOAD=0", "-o LOAD: load '0' in LOAD is not valid"),
        (
            "LOAD=30000",
            "-o LOAD: 30018 BUILDs take 150090 procs, 5 each; 100000 procs are the most",
        ),
        (
            "CLIENT_MOUNTPOINTS=-nv3:/mnt",
            "-o CLIENT_MOUNTPOINTS: '-nv3' has a client name that begins with '-'",
        ),
        (
            "CLIENT_MOUNTPOINTS=nv[3-1]:/a,nv3:/b",
            "-o CLIENT_MOUNTPOINTS: 'nv[3-1]' has '3-1' in its brackets, which is descending",
        ),
        (
            "CLIENT_MOUNTPOINTS=a[1-9999]:/a,b[1-2]:/b",
            "-o CLIENT_MOUNTPOINTS: there are too many client mount points; 10000 clients and",
        ),
        (
            "CLIENT_MOUNTPOINTS=localhost:/a,b",
            "-o CLIENT_MOUNTPOINTS: client mount point 'b' is not client:/path",
        ),
        (
            "CLIENT_MOUNTPOINTS=nofile",
            "-o CLIENT_MOUNTPOINTS: CLIENT_MOUNTPOINTS=nofile is not client:/path, and a file of that name does not exist",
        ),
        (
            "CLIENT_MOUNTPOINTS=box:\\\\srv",
            "-o CLIENT_MOUNTPOINTS: 'box:\\\\srv' names no share",
        ),
        (
            "CLIENT_MOUNTPOINTS=",
            "parameters: CLIENT_MOUNTPOINTS is not set; name the mounted directory",
        ),
        (
            "FILE_SIZE=16",
            "-o FILE_SIZE: FILE_SIZE=16 is not an amount of data; write a number and k, m, g or t",
        ),
        (
            "FILES_PER_DIR=0",
            "-o FILES_PER_DIR: FILES_PER_DIR=0 is out of bounds",
        ),
        (
            "OPRATE_MULTIPLIER=0",
            "-o OPRATE_MULTIPLIER: OPRATE_MULTIPLIER=0 is out of bounds",
        ),
        (
            "WORKLOAD_FILE=none",
            "-o WORKLOAD_FILE: WORKLOAD_FILE=none does not exist (looked for result/none",
        ),
        (
            "DRIVER=nfs3",
            "-o DRIVER: DRIVER=nfs3 cannot do what SWBUILD asks for",
        ),
        (
            "RUNTIM=5",
            "-o RUNTIM: there is no parameter RUNTIM; did you mean RUNTIME?",
        ),
        (
            "CLIENT_MOUNTPOINT=x",
            "-o CLIENT_MOUNTPOINT: there is no parameter CLIENT_MOUNTPOINT; did you mean CLIENT_MOUNTPOINTS?",
        ),
        ("SUFFIX=a/b", "-o SUFFIX: SUFFIX=a/b cannot be the end"),
        (
            "CUSTOM1_CMD=-x",
            "-o CUSTOM1_CMD: CUSTOM1_CMD begins with an option",
        ),
    ];
    for (option, want) in cases {
        let got = bad(Path::new("/nowhere"), LEAST, &[option]);
        assert_eq!(got.len(), 1, "{option}: {got:#?}");
        assert!(got[0].starts_with(want), "{option}: {}", got[0]);
    }
    let pit = ["PIT_SERVER=clock", "PIT_PORT=nosuchservice"];
    let got = bad(Path::new("/nowhere"), LEAST, &pit);
    assert!(
        got[0].starts_with("-o PIT_PORT: PIT_PORT=nosuchservice is not a TCP service"),
        "{got:?}"
    );
}

/// Own composites and workload objects, in both forms.
#[test]
fn own_definitions() {
    let dir = tempfile::tempdir().unwrap();
    let own = "\
[[benchmark]]
name = \"MINE\"
unit = \"JOB\"
[[benchmark.component]]
workload = \"SWBUILD\"
instances = 3
ops_per_proc = 7
dir_count = 1
files_per_dir = 2
file_kib = 4
";
    std::fs::write(dir.path().join("own.toml"), own).unwrap();
    let shipped = filermark_model::Registry::shipped();
    let mut object = shipped.workload("SWBUILD").unwrap().clone();
    object.attributes.osync_pcnt = 50.0;
    let text = filermark_config::netmist_text::export([&object]);
    std::fs::write(dir.path().join("objects"), text).unwrap();
    let of = |options: &[&str]| {
        let sources = crate::sources(dir.path(), LEAST, options);
        filermark_config::resolve(&sources).unwrap().plan
    };
    let mine = ["BENCHMARK_FILE=own.toml", "BENCHMARK=mine"];
    let plan = of(&mine);
    assert_eq!(
        (plan.benchmark.name.as_str(), plan.points[0].requested.0),
        ("MINE", 42.0)
    );
    assert!(texts_of(&plan, Severity::Warning)[0].contains("BENCHMARK_FILE"));
    // The only one of the file needs no name.
    let plan = of(&["BENCHMARK_FILE=own.toml", "BENCHMARK="]);
    assert_eq!(plan.benchmark.name, "MINE");
    let plan = of(&["WORKLOAD_FILE=objects"]);
    let c = &plan.benchmark.composite().unwrap().components[0];
    assert_eq!(c.workload.attributes.osync_pcnt, 50.0);
    assert!(texts_of(&plan, Severity::Warning)[0].contains("not standard: WORKLOAD_FILE=objects"));
    let plan = of(&["WORKLOAD_FILE=objects", "BENCHMARK=VDI"]);
    assert!(texts_of(&plan, Severity::Note)[0].contains("has no workload of VDI: SWBUILD"));

    std::fs::write(
        dir.path().join("own.toml"),
        own.replace("SWBUILD", "SWBIULD"),
    )
    .unwrap();
    let got = bad(dir.path(), LEAST, &mine);
    assert!(
        got[0].contains("own.toml:1:1") && got[0].contains("SWBUILD?"),
        "{got:?}"
    );
    std::fs::write(
        dir.path().join("objects"),
        "Workload name X\nPercent red 5\n",
    )
    .unwrap();
    let got = bad(dir.path(), LEAST, &["WORKLOAD_FILE=objects"]);
    assert!(got.iter().any(|t| t.contains("objects:2:")), "{got:?}");
}

/// A workload on one line takes the place of BENCHMARK; only what it reaches has data.
#[test]
fn a_workload_on_one_line() {
    let rc = "LOAD=2\nCLIENT_MOUNTPOINTS=localhost:/mnt/test\nWORKLOAD='read_random=70, \
              write_random=30,size=4k,direct,files=2,file_size=32m,procs=3'\n";
    let plan = good(rc, &[]).plan;
    assert_eq!(plan.benchmark.name, "INLINE");
    assert_eq!(plan.procs.len(), 6);
    assert!(plan.procs.iter().all(|proc| proc.ops_per_sec.is_none()));
    // Two buckets of two files.
    assert_eq!(data_set(&plan, 0).max_bytes, 6 * 4 * (32 << 20));
    assert!(texts_of(&plan, Severity::Warning)[0].contains("not standard: WORKLOAD=read_random"));

    let refused = |rc: &str, options: &[&str]| bad(Path::new("/nowhere"), rc, options);
    let got = refused(rc, &["WORKLOAD=read=50,wirte=50,bs=4k"]);
    assert_eq!(got.len(), 2, "{got:?}");
    let first = "-o WORKLOAD: character 9 of the workload: there is no operation or setting \
                 'wirte'; did you mean write?";
    assert_eq!(got[0], first);
    let got = refused(rc, &["BENCHMARK=SWBUILD"]);
    let other = "-o BENCHMARK: WORKLOAD describes the benchmark, so BENCHMARK does not; leave one \
                 of the two out";
    assert_eq!(got, [other]);
    let got = refused("LOAD=1\nWORKLOAD=read\n", &[]);
    assert!(got[0].contains("CLIENT_MOUNTPOINTS is not set"), "{got:?}");
    let got = refused(rc, &["WORKLOAD=read=50"]);
    assert!(
        got[0].contains("the operations total 50 percent, not 100"),
        "{got:?}"
    );
}

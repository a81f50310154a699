//! Composite benchmarks on a kernel's NFS mount, in User Mode Linux.

use crate::sweep::PROGRAM;
use crate::turns::beside_others;
use filermark_model::Op;
use filermark_results::{PointRecord, RunRecord, read_record};
use filermark_testbed::{
    ClientOptions, Export, Fsal, Ganesha, KernelClient, KernelServer, NfsVersion, Sandbox,
    ServerOptions, available,
};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

const NFS4: ServerOptions = ServerOptions {
    read_only: false,
    space_mib: None,
    root_squash: false,
    nfs4: true,
};

/// A client with an export mounted in the way that an application would.
fn client(
    sandbox: &Arc<Sandbox>,
    export: &Export,
    version: NfsVersion,
    extra: &str,
) -> Option<KernelClient> {
    let options = ClientOptions {
        version,
        extra: extra.to_owned(),
        memory_mib: 768,
    };
    available(KernelClient::start_with(sandbox, export, &options))
}

/// Runs the program there; gives its record.
#[track_caller]
fn run(client: &mut KernelClient, name: &str, options: &str) -> RunRecord {
    let script = format!(
        "mkdir -p /tmp/{name} && cd /tmp/{name} && {PROGRAM} run -s {name} \
         -o CLIENT_MOUNTPOINTS=localhost:/mnt -o WARMUP_TIME=1 -o HEARTBEAT_NOTIFICATIONS=off {}\n\
         status=$?\ncp result/{name}.run.jsonl /run/testbed/\nls -A /mnt\nexit $status\n",
        options
            .split_whitespace()
            .map(|option| format!("-o {option} "))
            .collect::<String>()
    );
    let done = client.run(&script, LIMIT).expect("the script runs");
    assert_eq!(done.status, 0, "{}", done.output);
    println!("{}", done.output);
    read_record(&client.shared_file(&format!("{name}.run.jsonl"))).expect("the run record")
}

/// No operation failed, and every share of the mix is within 1 percentage point, or
/// within what chance gives with so few operations: 3.5 standard deviations of a share.
/// That the mix is drawn right is shown with many operations in `posix_local`.
#[track_caller]
fn assert_mix(record: &RunRecord, point: &PointRecord) {
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let composite = record.run.plan.benchmark.composite().expect("a composite");
    for (component, done) in composite.components.iter().zip(&stats.components) {
        let total = done.success_count() as f64;
        assert!(total > 0.0, "{}", component.workload.name);
        for &(op, wanted) in component.workload.mix.shares() {
            let count = done.ops.iter().find(|o| o.op == op);
            let share = count.map_or(0, |o| o.success_count) as f64 / total * 100.0;
            println!(
                "{} {op}: {share:.2} % of {total}, wanted {wanted}",
                component.workload.name
            );
            let deviation = 100.0 * (wanted / 100.0 * (1.0 - wanted / 100.0) / total).sqrt();
            assert!(
                (share - wanted).abs() <= f64::max(1.0, 3.5 * deviation),
                "{} {op}: {share:.2} % of {total}, wanted {wanted}",
                component.workload.name
            );
        }
    }
}

/// What all points of a sweep did of one operation in RUN.
fn done(record: &RunRecord, op: Op) -> u64 {
    let stats = record
        .points
        .iter()
        .filter_map(|point| point.stats.as_ref());
    stats
        .map(|stats| stats.op(op).map_or(0, |o| o.success_count))
        .sum()
}

/// Names are not cached by the client: every mkdir, create, unlink and rename of ours
/// is one call at the server; INIT, WARMUP and CLEANUP make more of them. A stat is a
/// GETATTR or LOOKUP at least, since the mount caches no attributes.
#[test]
fn swbuild_and_metadata_on_the_kernel_s_server_over_version_3() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let Some(mut client) = client(&sandbox, &export, NfsVersion::V3, "noac") else {
        return;
    };
    for (name, options) in [
        (
            "SWBUILD",
            "BENCHMARK=SWBUILD FILE_SIZE=4k DIR_COUNT=2 FILES_PER_DIR=4 RUNTIME=4 LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
        ),
        (
            "METADATA",
            "BENCHMARK=METADATA FILE_SIZE=16k DIR_COUNT=2 FILES_PER_DIR=4 RUNTIME=4 LOAD=2",
        ),
    ] {
        let before = server.counts().expect("counters");
        let record = run(&mut client, name, options);
        let counts = server.counts().expect("counters").since(&before);
        println!("{name}: {:?}", counts.iter().collect::<Vec<_>>());
        for point in &record.points {
            assert_mix(&record, point);
        }
        for (op, procedure) in [
            (Op::Mkdir, "MKDIR"),
            (Op::Create, "CREATE"),
            (Op::Unlink, "REMOVE"),
            (Op::Chmod, "SETATTR"),
        ] {
            let (ours, theirs) = (done(&record, op), counts.get(procedure));
            assert!(
                ours > 0 && theirs >= ours,
                "{op}: {ours}, {procedure}: {theirs}"
            );
        }
        let looks = counts.get("GETATTR") + counts.get("LOOKUP");
        assert!(looks >= done(&record, Op::Stat), "{looks}");
        assert!(counts.get("READ") + counts.get("WRITE") > 0);
    }
}

#[test]
fn vda_and_vdi_on_the_kernel_s_server_over_version_4_2() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let Some(mut client) = client(&sandbox, &export, NfsVersion::V42, "") else {
        return;
    };
    for (name, options) in [
        (
            "VDA",
            "BENCHMARK=VDA FILE_SIZE=2m RUNTIME=4 LOAD=4 INCR_LOAD=4 NUM_RUNS=2",
        ),
        ("VDI", "BENCHMARK=VDI FILE_SIZE=4m RUNTIME=4 LOAD=1"),
    ] {
        let before = server.counts().expect("counters");
        let record = run(&mut client, name, options);
        let counts = server.counts().expect("counters").since(&before);
        println!("{name}: {:?}", counts.iter().collect::<Vec<_>>());
        for point in &record.points {
            assert_mix(&record, point);
        }
        assert!(
            counts.get("OPEN") > 0 && counts.get("WRITE") > 0,
            "{counts:?}"
        );
    }
}

#[test]
fn database_on_ganesha_over_version_3_and_swbuild_over_4_1() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, NFS4)) else {
        return;
    };
    let files = ganesha.files().expect("a vfs export has files");
    for (version, name, options) in [
        (
            NfsVersion::V3,
            "DATABASE",
            "BENCHMARK=DATABASE FILE_SIZE=1m RUNTIME=4 LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
        ),
        (
            NfsVersion::V41,
            "SWBUILD",
            "BENCHMARK=SWBUILD FILE_SIZE=4k DIR_COUNT=2 FILES_PER_DIR=4 RUNTIME=4 LOAD=1",
        ),
    ] {
        let Some(mut client) = client(&sandbox, ganesha.export(), version, "") else {
            return;
        };
        let record = run(&mut client, name, options);
        for point in &record.points {
            assert_mix(&record, point);
        }
        assert_eq!(std::fs::read_dir(&files).expect("list").count(), 0);
    }
}

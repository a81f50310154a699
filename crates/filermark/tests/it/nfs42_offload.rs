//! The operations that only NFSv4 has, in sweeps: against the embedded server and the kernel's.

use crate::load_guard::{alone, beside_others};
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_model::{Op, OpSet};
use filermark_server::{Operation4, RunningServer, ServerOptions};
use filermark_testbed::{Capture, Export, KernelServer, Pcap, Sandbox, available};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The operations that version 3 does not have, and what each is on the wire.
const ON_THE_WIRE: [(Op, Operation4); 14] = [
    (Op::Open, Operation4::Open),
    (Op::Open, Operation4::Close),
    (Op::Lock, Operation4::Lock),
    (Op::Lock, Operation4::Locku),
    (Op::Allocate, Operation4::Allocate),
    (Op::Deallocate, Operation4::Deallocate),
    (Op::Seek, Operation4::Seek),
    (Op::ReadPlus, Operation4::ReadPlus),
    (Op::Copy, Operation4::Copy),
    (Op::Clone, Operation4::Clone),
    (Op::Getxattr, Operation4::Getxattr),
    (Op::Setxattr, Operation4::Setxattr),
    (Op::Listxattrs, Operation4::Listxattrs),
    (Op::Removexattr, Operation4::Removexattr),
];

fn offload(sweep: Sweep) -> Sweep {
    sweep
        .unset("MOUNT_PORT")
        .set("BENCHMARK", "nfs42-offload")
        .set("FILESET_MB_PER_OP", 0.05)
        .set("LOAD", "100 200")
        .set("VERIFY", "on")
}

/// Every operation of the mix that is not rare was done, and none failed.
#[track_caller]
fn assert_all_done(ended: &Ended) {
    let record = ended.record();
    let mix = &record.run.plan.benchmark.mix;
    let mut done = BTreeSet::new();
    for point in &record.points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        let succeeded = stats.ops.iter().filter(|o| o.success_count > 0);
        done.extend(succeeded.map(|o| o.op));
    }
    // In a short run one of a hundred may be missing.
    let often = mix.shares().iter().filter(|(_, share)| *share >= 2.0);
    let missing: Vec<&Op> = often
        .map(|(op, _)| op)
        .filter(|op| !done.contains(op))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(ended.counter("verify_errors"), 0);
    assert!(ended.counter("checked_bytes") > 0);
}

/// How many calls in a capture have this operation, which is in no COMPOUND twice.
fn calls_with(pcap: &Pcap, operation: Operation4) -> u64 {
    let filter = format!("rpc.msgtyp == 0 && nfs.opcode == {}", operation.to_u32());
    let found = pcap.tshark(&["-Y", &filter, "-T", "fields", "-e", "rpc.xid"]);
    let found = found.expect("tshark");
    let xids = found.lines().flat_map(|line| line.split(','));
    // Records that share a packet have a line together.
    xids.filter(|xid| !xid.is_empty()).count() as u64
}

#[test]
fn all_operations_succeed_and_client_server_and_capture_agree() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| serve(ServerOptions::default()));
    let port = server.addrs()[0].port();
    let Some(capture) = available(Capture::start(&sandbox, "lo", &[port])) else {
        return;
    };
    let ended = offload(Sweep::on(&server))
        .in_network_of(&sandbox)
        .set("LOAD", 600)
        .set("RUNTIME", 4)
        .set("KEEP", "on")
        .succeed();
    assert_all_done(&ended);
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let stats = server.stop();
    let figures = ended.point(1).stats.expect("figures");
    for (op, operation) in ON_THE_WIRE {
        let (name, served) = (operation.name(), stats.of4(operation));
        // RUN is a part of the run.
        let done = figures.op(op).expect("in the mix").success_count;
        let counted = figures.counters[name];
        assert!(done > 0 && counted >= done, "{name}: {counted} of {done}");
        assert!(served >= counted, "{name}: {served} of {counted}");
        // Packets with several records make the capture count less exactly than the server.
        assert!(calls_with(&pcap, operation) > 0, "{name}");
    }
    // What was locked was unlocked, and what an operation has opened was closed.
    let of = |operation| stats.of4(operation);
    assert_eq!(of(Operation4::Lock), of(Operation4::Locku));
    assert_eq!(of(Operation4::Lock), of(Operation4::FreeStateid));
    assert_eq!(
        of(Operation4::CreateSession),
        of(Operation4::DestroySession)
    );
}

#[test]
fn nothing_is_left_after_a_sweep_with_lost_replies() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        drop: "reply@1%".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let ended = offload(Sweep::on(&server))
        .set("LOAD", 200)
        .set("RUNTIME", 2)
        .set("RPC_TIMEOUT_MS", 150)
        .set("RPC_RETRIES", 1000)
        .succeed();
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    }
    assert!(ended.counter("retransmits") > 0);
    assert_eq!(ended.counter("verify_errors"), 0);
    assert_empty(&server);
}

fn mix_file(sweep: &Sweep, without: OpSet) {
    let benchmark = filermark_model::Benchmark::shipped("nfs42-offload").expect("shipped");
    let left_out: f64 = benchmark
        .mix
        .shares()
        .iter()
        .filter(|(op, _)| without.contains(*op))
        .map(|(_, share)| share)
        .sum();
    let mut text = String::from("SFS MIXFILE VERSION 2\n");
    for (op, share) in benchmark.mix.shares() {
        let share = match op {
            op if without.contains(*op) => continue,
            Op::Copy => share + left_out,
            _ => *share,
        };
        text.push_str(&format!("{op} {share}%\n"));
    }
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("rest.mix"), text).expect("the mix file");
}

/// What a server does not offer is named before RUN; a mix without it is measured.
#[test]
fn what_a_server_does_not_offer_is_named_and_can_be_left_out() {
    let _turn = beside_others();
    let server: RunningServer = serve(ServerOptions {
        not_offered: vec![Operation4::Clone],
        ..ServerOptions::default()
    });
    let sweep = offload(Sweep::on(&server)).set("LOAD", 100);
    let ended = sweep.clone().run();
    assert_ne!(ended.code, 0);
    let sentence = "the server does not offer clone here (NFS4ERR_NOTSUPP)";
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
    assert_empty(&server);
    let sweep = offload(Sweep::on(&server))
        .set("LOAD", 300)
        .set("RUNTIME", 3)
        .set("MIXFILE", "rest.mix");
    mix_file(&sweep, [Op::Clone].into_iter().collect());
    assert_all_done(&sweep.succeed());
    assert_empty(&server);
}

fn on_kernel(sandbox: &Arc<Sandbox>, export: &Export) -> Sweep {
    let export = Export {
        path: export.path_v4.clone().expect("it serves version 4"),
        ..export.clone()
    };
    offload(Sweep::inside(sandbox, &export))
        .set("PROCS", 4)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 3)
}

/// Its file system, tmpfs, has neither shared blocks nor extended attributes.
#[test]
fn alone_the_kernels_server_is_measured_without_what_its_file_system_lacks() {
    const NFS4: filermark_testbed::ServerOptions = filermark_testbed::ServerOptions {
        nfs4: true,
        udp: false,
        read_only: false,
        root_squash: false,
        space_mib: None,
    };
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let ended = on_kernel(&sandbox, &export).run();
    assert_ne!(ended.code, 0);
    println!("{}", ended.stderr);
    assert!(
        ended.stderr.contains("does not offer clone"),
        "{}",
        ended.stderr
    );
    let lacking = [
        Op::Clone,
        Op::Getxattr,
        Op::Setxattr,
        Op::Listxattrs,
        Op::Removexattr,
    ];
    let sweep = on_kernel(&sandbox, &export).set("MIXFILE", "rest.mix");
    mix_file(&sweep, lacking.into_iter().collect());
    assert_all_done(&sweep.succeed());
    crate::real::assert_empty(&sandbox, &export);
}

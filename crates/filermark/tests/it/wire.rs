//! What goes over the wire, as Wireshark's dissectors see it: every message well
//! formed, as many as the record counts, and as long as it says.

use crate::peek::serve;
use crate::sweep::{Ended, Sweep};
use crate::turns::alone;
use filermark_model::Op;
use filermark_server::{Procedure, ServerOptions};
use filermark_testbed::{Capture, Fsal, Ganesha, Pcap, Sandbox, available};
use std::collections::BTreeMap;

/// Calls by procedure that the record counts at its one point.
fn counted(ended: &Ended) -> BTreeMap<u32, u64> {
    let stats = ended.point(1).stats.expect("figures");
    let counts = Procedure::ALL.iter().map(|p| {
        let count = stats.counters.get(p.name()).copied().unwrap_or(0);
        (*p as u32, count)
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Calls of a capture from a point in time on (seconds since its first packet).
fn calls_since(pcap: &Pcap, port: u16, since: f64) -> BTreeMap<u32, u64> {
    let filter = format!("rpc.msgtyp==0 && tcp.dstport=={port} && frame.time_relative>={since}");
    let args = ["-Y", &filter, "-T", "fields", "-e", "rpc.procedure"];
    let mut calls = BTreeMap::new();
    for number in pcap
        .tshark(&args)
        .expect("tshark")
        .lines()
        .flat_map(|l| l.split(','))
    {
        *calls.entry(number.parse().expect("a number")).or_insert(0) += 1;
    }
    calls
}

/// The middle of the longest pause of a capture, in seconds since its first
/// packet: between INIT and RUN the server is left alone for a tenth of a second.
fn longest_pause(pcap: &Pcap) -> f64 {
    let text = pcap
        .tshark(&["-T", "fields", "-e", "frame.time_relative"])
        .expect("tshark");
    let times: Vec<f64> = text.lines().filter_map(|l| l.parse().ok()).collect();
    let pauses = times.windows(2).map(|w| (w[1] - w[0], (w[0] + w[1]) / 2.0));
    pauses
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("packets")
        .1
}

#[test]
fn tshark_finds_every_call_of_a_run_well_formed_and_counted() {
    let _turn = alone();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let ports = [export.nfs_port, export.mount_port];
    let Some(capture) = available(Capture::start(sandbox, ganesha.interface(), &ports)) else {
        return;
    };
    // KEEP: RUN is then the last thing that is asked of the NFS program.
    let sweep = Sweep::inside(sandbox, export)
        .set("LOAD", 300)
        .set("PROCS", 6)
        .set("RUNTIME", 4)
        .set("FILESET_MB_PER_OP", 0.02)
        .set("KEEP", "on");
    let ended = sweep.succeed();
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let ours = counted(&ended);
    assert_eq!(
        calls_since(&pcap, export.nfs_port, longest_pause(&pcap)),
        ours
    );
    assert!(ours.len() >= 11, "{ours:?}");
}

/// Every operation of the mix, so that tshark sees each procedure once at least.
#[test]
fn tshark_finds_all_procedures_well_formed() {
    let _turn = alone();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let Some(capture) = available(Capture::start(
        sandbox,
        ganesha.interface(),
        &[export.nfs_port],
    )) else {
        return;
    };
    let mut mix = String::from("SFS MIXFILE VERSION 2\n");
    for op in Op::ALL {
        let share = if *op == Op::Null {
            100 - 4 * (Op::ALL.len() - 1)
        } else {
            4
        };
        mix.push_str(&format!("{op} {share}%\n"));
    }
    let sweep = Sweep::inside(sandbox, export)
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("MIXFILE", "all.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("all.mix"), mix).expect("the mix file");
    let ended = sweep.succeed();
    let point = ended.point(1);
    let stats = point.measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let calls = pcap.calls().expect("tshark");
    assert_eq!(calls.len(), 22, "{calls:?}");
}

/// The record's mean service times against those between the packets. The record's
/// are longer by the way from a packet on the loopback to the program's look at its
/// clock: the wake-up of a thread that sleeps. On an idle machine that is 20 to 60
/// microseconds, and never negative.
#[test]
fn tshark_measures_the_same_service_times() {
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let delay = "GETATTR=5ms,READ=8ms,2ms".parse().expect("a delay");
    let server = sandbox.run(|| {
        serve(ServerOptions {
            delay,
            ..ServerOptions::default()
        })
    });
    let port = server.addrs()[0].port();
    let Some(capture) = available(Capture::start(&sandbox, "lo", &[port])) else {
        return;
    };
    let sweep = Sweep::on(&server)
        .in_network_of(&sandbox)
        .set("LOAD", 300)
        .set("PROCS", 6)
        .set("RUNTIME", 4)
        .set("FILESET_MB_PER_OP", 0.01)
        .set("KEEP", "on");
    let ended = sweep.succeed();
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let times = pcap.times().expect("tshark");
    let stats = ended.point(1).stats.expect("figures");
    // Procedures that RUN alone uses in numbers; the few calls before do not matter.
    for (op, name) in [
        (Op::Getattr, "GETATTR"),
        (Op::Access, "ACCESS"),
        (Op::Lookup, "LOOKUP"),
        (Op::Read, "READ"),
    ] {
        let ours_us = stats.op(op).expect("in the mix").service.mean_ns() / 1e3;
        let theirs = times
            .iter()
            .find(|t| t.name == name)
            .expect("tshark has it");
        let off = ours_us - theirs.mean_us;
        println!(
            "{name}: {ours_us:.1} us, tshark {:.1} us, {off:+.1} us, {:+.2} %",
            theirs.mean_us,
            100.0 * off / theirs.mean_us
        );
        assert!(
            off > -20.0,
            "{name}: {ours_us} us is shorter than on the wire, {}",
            theirs.mean_us
        );
        assert!(
            off < 5.0 + 0.02 * theirs.mean_us + WAKE_UP_US,
            "{name}: {ours_us} us against {}",
            theirs.mean_us
        );
    }
}

/// What a busy machine may take longer to wake a thread up, in microseconds.
const WAKE_UP_US: f64 = 100.0;

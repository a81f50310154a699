//! The messages on the wire, from Wireshark's dissectors: every message is well-formed, and their
//! number and times are those of the record.

use crate::counts::HEARTBEAT_CALLS;
use crate::load_guard::{alone, beside_others, when_quiet};
use crate::second_client::serve;
use crate::sweep::{Ended, Sweep};
use filermark_model::Op;
use filermark_server::{Procedure, ServerOptions};
use filermark_testbed::{Capture, Fsal, Ganesha, Pcap, Sandbox, available};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The record's counts of calls at its one point, by procedure.
fn counted(ended: &Ended) -> BTreeMap<u32, u64> {
    let stats = ended.point(1).stats.expect("figures");
    let counts = Procedure::ALL.iter().map(|p| {
        let count = stats.counters.get(p.name()).copied().unwrap_or(0);
        (*p as u32, count)
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The NFS calls of a capture: when, in seconds since its first packet, and the
/// numbers of their procedures.
fn calls(pcap: &Pcap, port: u16) -> Vec<(f64, Vec<u32>)> {
    let filter = format!("rpc.msgtyp==0 && tcp.dstport=={port}");
    let fields = ["-e", "frame.time_relative", "-e", "rpc.procedure"];
    let args = ["-Y", &filter, "-T", "fields"];
    let text = pcap.tshark(&[&args[..], &fields].concat()).expect("tshark");
    let call = |line: &str| {
        let (time, procedures) = line.split_once('\t')?;
        let numbers: Result<_, _> = procedures.split(',').map(str::parse).collect();
        Some((time.parse().ok()?, numbers.ok()?))
    };
    text.lines().map(|l| call(l).expect("a call")).collect()
}

/// The calls between two of the longer pauses, or after one: the number of each kind. A call that
/// opens a connection separates them like a pause.
pub fn between_pauses<K: Ord + Clone>(
    calls: &[(f64, Vec<K>)],
    opens: impl Fn(&K) -> bool,
) -> Vec<BTreeMap<K, u64>> {
    let pauses = calls
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[1].0 - pair[0].0 > 0.05 || pair[1].1.iter().any(&opens));
    let borders: Vec<usize> = pauses.map(|(at, _)| at + 1).chain([calls.len()]).collect();
    let mut found = Vec::new();
    for (at, from) in borders.iter().enumerate() {
        for to in &borders[at + 1..] {
            let mut counts = BTreeMap::new();
            for kind in calls[*from..*to].iter().flat_map(|(_, kinds)| kinds) {
                *counts.entry(kind.clone()).or_insert(0) += 1;
            }
            found.push(counts);
        }
    }
    found
}

#[test]
fn tshark_finds_every_call_of_a_run_well_formed_and_counted() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let ports = [export.nfs_port, export.mount_port];
    let Some(capture) = available(Capture::start(sandbox, ganesha.interface(), &ports)) else {
        return;
    };
    // KEEP: no files are removed after RUN.
    let sweep = Sweep::inside(sandbox, export)
        .set("LOAD", 300)
        .set("PROCS", 6)
        .set("RUNTIME", 4)
        // dumpcap must not miss a packet while INIT is at full speed.
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
        .set("KEEP", "on");
    let ended = sweep.succeed();
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let ours = counted(&ended);
    // The server gets no calls for a tenth of a second between INIT and RUN. After RUN the marker
    // is written a last time, with a pause before it or not.
    let mut with_marker = ours.clone();
    for (procedure, calls) in HEARTBEAT_CALLS {
        *with_marker.entry(procedure as u32).or_default() += calls;
    }
    let theirs = between_pauses(&calls(&pcap, export.nfs_port), |_| false);
    assert!(
        theirs.contains(&ours) || theirs.contains(&with_marker),
        "{ours:?}\nnot in {theirs:?}"
    );
    assert!(ours.len() >= 11, "{ours:?}");
}

/// Every operation of the mix, so that tshark sees each procedure once at least.
#[test]
fn tshark_finds_all_procedures_well_formed() {
    let _turn = beside_others();
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
    for op in Op::NFS3 {
        let share = if *op == Op::Null {
            100 - 4 * (Op::NFS3.len() - 1)
        } else {
            4
        };
        mix.push_str(&format!("{op} {share}%\n"));
    }
    let sweep = Sweep::inside(sandbox, export)
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
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

/// The record's mean service times compared with those between the packets: within 5 us or 5 %.
/// Those of the record are longer by the time from a packet on the loopback to the program's
/// reading of its clock, the wake-up of a sleeping thread (20 to 60 us), so the delays are chosen
/// so that 5 % are more than that.
#[test]
fn alone_tshark_measures_the_same_service_times() {
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    when_quiet(|| {
        let Some(times) = service_times(&sandbox) else {
            return Ok(());
        };
        let near = |(ours, theirs): &(f64, f64)| (ours - theirs).abs() <= (0.05 * theirs).max(5.0);
        match times.iter().all(near) {
            true => Ok(()),
            false => Err(format!("record and capture in us: {times:?}")),
        }
    });
}

/// Mean service times in us, of the record and of the capture of the same run.
fn service_times(sandbox: &Arc<Sandbox>) -> Option<Vec<(f64, f64)>> {
    let delay = "READ=8ms,6ms".parse().expect("a delay");
    let server = sandbox.run(|| {
        serve(ServerOptions {
            delay,
            ..ServerOptions::default()
        })
    });
    let port = server.addrs()[0].port();
    let capture = available(Capture::start(sandbox, "lo", &[port]))?;
    let sweep = Sweep::on(&server)
        .in_network_of(sandbox)
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
    // Calls that are frequent in RUN; the few earlier calls do not matter.
    let ops = [Op::Getattr, Op::Access, Op::Lookup, Op::Read];
    let both = ops.iter().map(|op| {
        let ours = stats.op(*op).expect("in the mix").service.mean_ns() / 1e3;
        let name = op.name().to_uppercase();
        let theirs = times
            .iter()
            .find(|t| t.name == name)
            .expect("tshark has it");
        println!("{op}: {ours:.1} us, tshark {:.1} us", theirs.mean_us);
        (ours, theirs.mean_us)
    });
    Some(both.collect())
}

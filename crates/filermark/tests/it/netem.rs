//! NFS over UDP against the Linux kernel's server, whose replies `tc netem` loses.

use crate::load_guard::alone;
use crate::sweep::{Ended, Sweep};
use filermark_model::PointStats;
use filermark_server::Procedure;
use filermark_testbed::{
    Capture, Export, KernelServer, NetemCounts, Pcap, Sandbox, ServerOptions, available,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// First reply timeout, in milliseconds.
const WAIT_MS: f64 = 250.0;

/// Replies lost of a thousand, at the second load point.
const LOST: u32 = 30;

/// Operations per second at the two load points, for each of the procs.
const LOADS: (u32, u32) = (128, 144);

/// A load point without losses and one with them: making the file set with losses would take
/// minutes.
fn sweep(sandbox: &Arc<Sandbox>, export: &Export) -> Sweep {
    let (sound, lossy) = LOADS;
    Sweep::inside(sandbox, export)
        .set("TCP", "off")
        .set("VERIFY", "on")
        .set("LOAD", format!("{sound} {lossy}"))
        .set("PROCS", 16)
        // Time for netem to be set up before RUN.
        .set("WARMUP_TIME", 3)
        .set("RUNTIME", 5)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("UDP_TIMEOUT_MS", WAIT_MS)
        .set("RPC_TIMEOUT_MS", 2000)
        // No datagram is cut into fragments: one packet is one call or one reply.
        .set("BLOCK_SIZE", 1)
        // One call after the other: the timeouts of an operation add up.
        .set("BIOD_MAX_READS", 1)
        .set("BIOD_MAX_WRITES", 1)
        .set("KEEP", "on")
}

fn of(stats: &PointStats, name: &str) -> u64 {
    stats.counters.get(name).copied().unwrap_or(0)
}

/// Calls of all procedures, each once.
fn calls(stats: &PointStats) -> u64 {
    Procedure::ALL.iter().map(|p| of(stats, p.name())).sum()
}

/// The figures of a point without failed operations and wrong data.
#[track_caller]
fn right(ended: &Ended, point: usize) -> PointStats {
    let point = ended.point(point);
    let stats = point.measured().expect("measured").clone();
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    for name in ["bad_replies", "verify_errors", "port_unreachable"] {
        assert_eq!(of(&stats, name), 0, "{:?}", stats.counters);
    }
    stats
}

/// The packets at the client: calls that the server got, and replies that netem did not drop.
#[derive(Debug)]
struct Wire {
    /// Calls, each as often as it was sent.
    sent: u64,
    /// Calls that differ.
    different: u64,
    /// Replies that were not dropped.
    replies: u64,
}

impl Wire {
    fn of(pcap: &Pcap) -> Self {
        let text = pcap
            .tshark(&[
                "-Y",
                "udp && rpc",
                "-T",
                "fields",
                "-e",
                "rpc.msgtyp",
                "-e",
                "rpc.xid",
                "-e",
                "udp.port",
            ])
            .expect("tshark");
        let calls: Vec<&str> = text.lines().filter(|l| l.starts_with('0')).collect();
        let different: BTreeSet<&&str> = calls.iter().collect();
        Self {
            sent: calls.len() as u64,
            different: different.len() as u64,
            replies: text.lines().filter(|l| l.starts_with('1')).count() as u64,
        }
    }

    /// How many calls were sent again although their reply was not lost: it took longer than the
    /// timeout. Every call was answered once, or its reply was dropped by netem, except those whose
    /// first reply was late.
    #[track_caller]
    fn agrees_with(&self, netem: NetemCounts) -> u64 {
        let few = 5 + self.sent / 100;
        assert_eq!(self.replies, netem.sent, "{self:?}, {netem:?}");
        let (answered, dropped) = (self.replies + netem.dropped, netem.dropped);
        assert!(answered <= self.sent, "{self:?}, {netem:?}");
        assert!(self.sent - answered <= few, "{self:?}, {netem:?}");
        let again = self.sent - self.different;
        assert!(again >= dropped, "{again} again: {self:?}, {netem:?}");
        let early = again - dropped;
        assert!(early <= few, "{early} too early: {self:?}, {netem:?}");
        early
    }
}

#[test]
fn alone_replies_that_netem_loses_are_waited_for_as_often_as_chance_states_and_no_figure_is_wrong()
{
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions {
        udp: true,
        ..ServerOptions::default()
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, options)) else {
        return;
    };
    let export = server.export().clone();
    let port = export.nfs_port;
    // Checks that netem is available. No reply is lost yet.
    let Some(()) = available(server.lose_replies(port, 0)) else {
        return;
    };
    let Some(capture) = available(Capture::start(&sandbox, server.interface(), &[port])) else {
        return;
    };
    let mut started = sweep(&sandbox, &export).start();
    started.wait_for(&format!("] {} op/s WARMUP", LOADS.1));
    server.lose_replies(port, LOST).expect("netem");
    let run = format!("] {} op/s RUN", LOADS.1);
    let too_late = started.stderr().contains(&run);
    let ended = started.wait();
    if too_late {
        // A guest on a busy machine: no figure could be compared with the losses.
        eprintln!("netem was set up too late to say anything");
        return;
    }
    assert!(ended.is_complete(), "{}", ended.stderr);
    let netem = server.netem_counts().expect("tc");
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));

    let wire = Wire::of(&pcap);
    println!("{wire:?}, {netem:?}");
    let early = wire.agrees_with(netem);
    let (sound, lossy) = (right(&ended, 1), right(&ended, 2));
    assert!(of(&sound, "retransmits") <= early);

    // As often as expected: every attempt fails with the same probability.
    let (p, again) = (f64::from(LOST) / 1000.0, of(&lossy, "retransmits") as f64);
    let attempts = calls(&lossy) as f64 + again;
    let (mean, deviation) = (attempts * p, (attempts * p * (1.0 - p)).sqrt());
    println!("{again} of {attempts} went again, {mean:.1} +- {deviation:.1} expected");
    assert!(again >= mean - 5.0 * deviation, "{:?}", lossy.counters);
    assert!(
        again <= mean + 5.0 * deviation + early as f64,
        "{:?}",
        lossy.counters
    );

    // Each was a timeout, which is contained in the mean.
    let ms = |ns: f64| ns / 1e6;
    let means = [&sound, &lossy].map(|stats| ms(stats.service().mean_ns()));
    let medians = [&sound, &lossy].map(|s| ms(s.service().percentile_ns(50.0) as f64));
    let waits = again * WAIT_MS / lossy.success_count() as f64;
    let more = means[1] - means[0];
    println!("means {means:?} ms, medians {medians:?} ms, {waits:.2} ms of waits");
    let slack = means[0] + 3.0;
    assert!(more >= 0.7 * waits - slack, "{more} ms of {waits}");
    assert!(more <= 1.4 * waits + slack, "{more} ms of {waits}");
    assert!(medians[1] <= medians[0] + 0.1 * WAIT_MS, "{medians:?}");
    let last = ms(lossy.service().percentile_ns(99.0) as f64);
    assert!(last >= WAIT_MS, "{last}");
}

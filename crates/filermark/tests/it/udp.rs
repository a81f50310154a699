//! NFS over UDP: against ganesha and the embedded server, with packet loss.

use crate::load_guard::{alone, beside_others, valid, when_quiet, whole};
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_model::Rule;
use filermark_server::{Procedure, ServerOptions};
use filermark_testbed::{
    Capture, Fsal, Ganesha, Loss, Lost, Sandbox, ServerOptions as Wanted, available,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// First reply timeout of the sweeps with losses, in milliseconds.
const WAIT_MS: f64 = 60.0;

fn ganesha(sandbox: &Arc<Sandbox>) -> Option<Ganesha> {
    let options = Wanted {
        udp: true,
        ..Wanted::default()
    };
    available(Ganesha::start_in(sandbox, Fsal::Vfs, options))
}

/// A short sweep over UDP with VERIFY.
fn over_udp(sandbox: &Arc<Sandbox>, ganesha: &Ganesha) -> Sweep {
    Sweep::inside(sandbox, ganesha.export())
        .set("TCP", "off")
        .set("VERIFY", "on")
        .set("PROCS", 6)
}

/// A short sweep with short timeouts, for networks that lose packets.
fn with_losses(sweep: Sweep) -> Sweep {
    sweep
        .set("TCP", "off")
        .set("VERIFY", "on")
        .set("LOAD", 200)
        .set("PROCS", 40)
        .set("RUNTIME", 5)
        .set("FILESET_MB_PER_OP", 0.01)
        .set("UDP_TIMEOUT_MS", WAIT_MS)
        .set("RPC_TIMEOUT_MS", 1000)
        .set("RPC_RETRIES", 12)
        .set("KEEP", "on")
}

/// The record's counts at its one point, by name.
fn counters(ended: &Ended) -> BTreeMap<String, u64> {
    ended.point(1).stats.expect("figures").counters
}

/// Calls of all procedures in the record's one point.
fn calls(counters: &BTreeMap<String, u64>) -> u64 {
    let known = Procedure::ALL.iter().filter_map(|p| counters.get(p.name()));
    known.sum()
}

fn of(counters: &BTreeMap<String, u64>, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// Asserts that no operation failed and that no wrong data was read.
#[track_caller]
fn assert_right(ended: &Ended) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        for name in ["bad_replies", "verify_errors", "port_unreachable"] {
            assert_eq!(of(&stats.counters, name), 0, "{:?}", stats.counters);
        }
    }
}

#[test]
fn alone_ganesha_is_measured_over_udp_and_tshark_sees_every_call() {
    let _turn = alone();
    when_quiet(|| {
        let Some(sandbox) = available(Sandbox::new()) else {
            return Ok(());
        };
        ganesha_is_measured(&sandbox)
    });
}

/// One sweep of two points; `Err`: the capture is incomplete.
fn ganesha_is_measured(sandbox: &Arc<Sandbox>) -> Result<(), String> {
    let Some(ganesha) = ganesha(sandbox) else {
        return Ok(());
    };
    let export = ganesha.export();
    let ports = [export.nfs_port, export.mount_port];
    let Some(capture) = available(Capture::start(sandbox, "lo", &ports)) else {
        return Ok(());
    };
    // Ports from its portmapper, which is called over UDP and for UDP.
    let sweep = over_udp(sandbox, &ganesha)
        .unset("NFS_PORT")
        .unset("MOUNT_PORT")
        .set("LOAD", "100 200")
        .set("RUNTIME", 2)
        // dumpcap must not miss a packet while INIT is at full speed.
        .set("FILESET_MB_PER_OP", 0.01)
        .set("INIT_WINDOW", 2);
    let ended = sweep.succeed();
    assert_right(&ended);
    let mut off = Ok(());
    for point in &ended.record().points {
        off = off.and(valid(&point.findings));
        let stats = point.measured().expect("measured");
        if of(&stats.counters, "retransmits") > 0 {
            off = off.and(Err(format!("{:?}", stats.counters)));
        }
        let (read, write) = stats.transfer_bytes;
        assert!(
            read <= 32_768 && write <= 32_768,
            "{:?}",
            stats.transfer_bytes
        );
    }
    let summary = ended.file("sfssum");
    let columns = summary
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>())
        .find(|c| c.get(5) == Some(&"NFS3"));
    let columns = columns.unwrap_or_else(|| panic!("a line of figures: {summary}"));
    assert_eq!(columns.get(6), Some(&"U"), "{summary}");
    assert!(ended.file("sfslog").contains("UDP PROTOCOL"));

    let pcap = capture.stop().expect("the capture ends");
    // A datagram is in the capture completely or not at all.
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    // No connection was made, and nothing was sent over one. The server may end one of the test bed,
    // which has looked whether the server is there.
    let over_tcp = "tcp.flags.syn == 1 || tcp.len > 0";
    let streams = pcap.tshark(&["-Y", over_tcp]).expect("tshark");
    assert_eq!(streams.trim(), "", "over TCP");
    whole(&pcap)?;
    let seen: u64 = pcap.calls().expect("tshark").values().sum();
    let counted: u64 = (1..=2)
        .map(|n| calls(&ended.point(n).stats.expect("figures").counters))
        .sum();
    assert!(seen > counted, "{seen} on the wire, {counted} in RUN");
    off
}

/// The record's calls of RUN and those on the wire are the same, by procedure, with
/// retransmissions.
#[test]
fn alone_what_went_over_the_wire_is_what_the_record_counts_whatever_is_lost() {
    let _turn = alone();
    when_quiet(|| {
        let Some(sandbox) = available(Sandbox::new()) else {
            return Ok(());
        };
        wire_and_record_agree(&sandbox)
    });
}

/// One sweep with losses; `Err`: the capture is incomplete, or the machine was too busy.
fn wire_and_record_agree(sandbox: &Arc<Sandbox>) -> Result<(), String> {
    let Some(ganesha) = ganesha(sandbox) else {
        return Ok(());
    };
    let port = ganesha.export().nfs_port;
    let Some(loss) = available(Loss::start(sandbox, port, 30, Lost::Datagrams)) else {
        return Ok(());
    };
    let Some(capture) = available(Capture::start(sandbox, "lo", &[port])) else {
        return Ok(());
    };
    let ended = with_losses(over_udp(sandbox, &ganesha)).succeed();
    let dropped = loss.dropped().expect("nft");
    let pcap = capture.stop().expect("the capture ends");
    assert_right(&ended);
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    whole(&pcap)?;
    // The capture is before the filter: it contains packets that the filter drops.
    let xids = |kind: u8| {
        let filter = format!("rpc.msgtyp=={kind}");
        let args = [
            "-Y", &filter, "-T", "fields", "-e", "rpc.xid", "-e", "udp.port",
        ];
        let text = pcap.tshark(&args).expect("tshark");
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_insert(0u64) += 1;
        }
        counts
    };
    let sent = xids(0);
    let (calls_sent, different): (u64, u64) = (sent.values().sum(), sent.len() as u64);
    let replies: u64 = xids(1).values().sum();
    println!("{calls_sent} calls of {different} xids, {replies} replies, {dropped:?}");
    let again = calls_sent - different;
    let lost = dropped.calls + dropped.replies;
    // Calls that reached the server and have no reply: the server does not answer a call again
    // that it has just answered.
    let silent = (calls_sent - dropped.calls) - replies;
    assert!(
        silent <= dropped.replies + calls_sent / 50,
        "{silent} without a reply"
    );
    assert!(replies >= different);
    // Each call was sent again for every lost packet. It may also have been sent again because the
    // reply took longer than the timeout.
    assert!(
        again >= lost + silent,
        "{again} again, {lost} lost, {silent} silent"
    );
    let early = again - lost - silent;
    if early > 20 + calls_sent / 50 {
        return Err(format!("{early} of {again} too early"));
    }
    Ok(())
}

#[test]
fn alone_lost_packets_go_again_as_often_as_chance_states_and_no_figure_is_wrong() {
    let _turn = alone();
    when_quiet(|| {
        let Some(sandbox) = available(Sandbox::new()) else {
            return Ok(());
        };
        lost_as_often_as_chance_states(&sandbox)
    });
}

/// One sweep with losses; `Err`: its figures do not agree with the probabilities.
fn lost_as_often_as_chance_states(sandbox: &Arc<Sandbox>) -> Result<(), String> {
    const LOST: u32 = 50;
    let server = sandbox.run(|| {
        serve(ServerOptions {
            udp: true,
            ..ServerOptions::default()
        })
    });
    let port = server.addrs()[0].port();
    let Some(loss) = available(Loss::start(sandbox, port, LOST, Lost::Datagrams)) else {
        return Ok(());
    };
    let sweep = Sweep::on(&server).in_network_of(sandbox);
    let ended = with_losses(sweep).succeed();
    assert!(loss.dropped().expect("nft").calls > 0);
    drop(loss);
    assert_right(&ended);
    // Retransmissions are reported, as a warning.
    let findings = ended.point(1).findings;
    assert!(
        findings.iter().any(|f| f.message.contains("retransmits")),
        "{findings:?}"
    );
    let counters = counters(&ended);
    let p = f64::from(LOST) / 1000.0;
    // The call or the reply may be lost.
    let fails = 1.0 - (1.0 - p) * (1.0 - p);
    let again = of(&counters, "retransmits") as f64;
    let sent = calls(&counters) as f64 + again;
    let (mean, deviation) = (sent * fails, (sent * fails * (1.0 - fails)).sqrt());
    println!("{again} of {sent} went again, {mean:.1} +- {deviation:.1} expected; {counters:?}");
    if (again - mean).abs() > 4.0 * deviation + 5.0 {
        return Err(format!("{again} went again, {mean:.1}: {counters:?}"));
    }
    let stats = ended.point(1).stats.expect("figures");
    let achieved = stats.achieved_ops_per_sec();
    if (achieved / 200.0 - 1.0).abs() >= 0.05 {
        return Err(format!("{achieved} achieved"));
    }
    // Timeouts are part of the service time, and of the mean.
    let service_ms = stats.service().mean_ns() / 1e6;
    println!("mean service time {service_ms:.2} ms");
    if service_ms < 0.7 * fails * WAIT_MS {
        return Err(format!("mean service time {service_ms} ms"));
    }
    Ok(())
}

/// With the MTU of Ethernet, transfers are fragmented; the record states the consequences, and a
/// lost fragment loses the whole call.
#[test]
fn fragments_are_warned_of_and_one_that_is_lost_loses_its_call() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = ganesha(&sandbox) else {
        return;
    };
    // Incomplete datagrams wait for their lost fragments: for 30 s, and up to 4 MiB, after which
    // the kernel does not reassemble datagrams any more.
    let script = "ip link set lo mtu 1500 && cd /proc/sys/net/ipv4 && \
                  echo 67108864 > ipfrag_high_thresh && echo 2 > ipfrag_time";
    let set = sandbox.command("sh").args(["-c", script]).status();
    assert!(set.expect("start sh").success());
    let Some(loss) = available(Loss::start(&sandbox, 0, 4, Lost::Fragments)) else {
        return;
    };
    let ended = with_losses(over_udp(&sandbox, &ganesha)).succeed();
    drop(loss);
    assert_right(&ended);
    let warned = |ended: &Ended| {
        let findings = ended.record().end.expect("an end").findings;
        let lacking = findings.into_iter().find(|f| f.rule == Rule::Lacking);
        lacking.map(|f| f.message).unwrap_or_default()
    };
    let message = warned(&ended);
    for part in [
        "32768 bytes",
        "23 fragments",
        "MTU of 1500",
        "BLOCK_SIZE=8 makes it 6",
    ] {
        assert!(message.contains(part), "{part}: {message:?}");
    }
    let counters = counters(&ended);
    println!("{counters:?}");
    assert!(of(&counters, "retransmits") > 0);
    // Blocks that fit into a packet are not fragmented, and there is no warning.
    let small = over_udp(&sandbox, &ganesha).set("BLOCK_SIZE", 1).succeed();
    assert_right(&small);
    assert_eq!(warned(&small), "");
}

#[test]
fn a_validation_over_udp_passes_but_for_what_streams_alone_have() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = ganesha(&sandbox) else {
        return;
    };
    let validate = |sweep: Sweep| sweep.command("validate").arg("--json").run().json();
    let verdicts = |json: &serde_json::Value| {
        let checks = json["mounts"][0]["checks"]
            .as_array()
            .expect("checks")
            .clone();
        let pair = |c: &serde_json::Value| {
            let text = |name: &str| c[name].as_str().unwrap_or_default().to_owned();
            (text("id"), (text("verdict"), c["detail"].to_string()))
        };
        checks.iter().map(pair).collect::<BTreeMap<_, _>>()
    };
    let streams = verdicts(&validate(Sweep::inside(&sandbox, ganesha.export())));
    let datagrams = verdicts(&validate(over_udp(&sandbox, &ganesha)));
    assert_eq!(streams.len(), datagrams.len());
    for (id, (verdict, detail)) in &datagrams {
        if id == "rpc.fragments" {
            assert_eq!(verdict, "skipped");
            assert!(detail.contains("no fragments over UDP"), "{detail}");
        } else if id == "rpc.garbage_args" && verdict == "fail" {
            // ganesha 4.3 decodes beyond the end of a datagram, what an earlier one
            // has left in its buffer; over TCP it does not.
            assert!(detail.contains("SUCCESS"), "{detail}");
        } else {
            assert_eq!(*verdict, streams[id].0, "{id}: {detail}");
        }
    }
}

#[test]
fn a_server_without_udp_is_reported_with_the_advice_to_use_tcp() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        udp: false,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).set("TCP", "off").run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("TCP=on"), "{}", ended.stderr);
    assert!(ended.stderr.contains("UDP"), "{}", ended.stderr);
    assert_empty(&server);
}

#[test]
fn the_embedded_server_is_measured_over_udp_from_preflight_to_cleanup() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        udp: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server).set("TCP", "off").set("VERIFY", "on");
    let looked = sweep.clone().command("preflight").run();
    assert!(
        looked.stdout.contains("answers over UDP"),
        "{}{}",
        looked.stdout,
        looked.stderr
    );
    let ended = sweep.succeed();
    assert_right(&ended);
    let planned = sweep.command("plan").run();
    assert!(
        planned.stdout.contains("NFSv3 over UDP"),
        "{}",
        planned.stdout
    );
    let report = ended.file("html");
    assert!(report.contains("NFSv3 over UDP"));
    assert_empty(&server);
}

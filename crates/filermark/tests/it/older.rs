//! The older generations: NFSv2, and the benchmarks that follow them.

use crate::load_guard::{alone, beside_others, when_quiet, whole};
use crate::second_client::{assert_empty, serve};
use crate::sweep::Sweep;
use filermark_model::Op;
use filermark_model::plan::Transport;
use filermark_onc::nfs2::Procedure;
use filermark_server::ServerOptions;
use filermark_testbed::{Capture, Fsal, Ganesha, Sandbox, available};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A sweep of three load points of a benchmark, over a transport.
fn sweep_of(sweep: Sweep, benchmark: &str, transport: Transport) -> Sweep {
    let on = match transport {
        Transport::Tcp => "on",
        Transport::Udp => "off",
    };
    sweep
        .set("BENCHMARK", benchmark)
        .set("TCP", on)
        .set("LOAD", "40 80 120")
        .set("VERIFY", "on")
}

/// Asserts that the sweep is complete, and that its files name generation, limits and caveats.
#[track_caller]
fn assert_swept(sweep: &Sweep, benchmark: &str, transport: Transport) {
    let ended = sweep.succeed();
    let record = ended.record();
    let heritage = record.run.plan.benchmark.heritage.clone();
    let heritage = heritage.expect("it is after an older one");
    assert_eq!(record.points.len(), 3);
    for point in &record.points {
        let stats = point.stats.as_ref().expect("measured");
        assert_eq!(stats.error_count(), 0, "{benchmark}: {:?}", stats.errors);
        assert!(stats.success_count() >= 30, "{benchmark}");
        assert!(!stats.counters.contains_key("verify_errors"));
        println!(
            "{benchmark} {transport:?} {:?} {:?}",
            ended.elapsed, stats.counters
        );
    }
    let sfssum = std::fs::read_to_string(ended.path("sfssum.s")).expect("sfssum");
    let protocol = record.run.plan.benchmark.protocol.sfssum_name();
    let letter = transport.sfssum_letter().to_string();
    let rows = sfssum.lines().filter(|l| !l.starts_with('#'));
    for row in rows {
        let columns: Vec<_> = row.split_whitespace().collect();
        assert_eq!(columns[5..8], [protocol, &letter, "4"], "{row}");
    }
    let html = std::fs::read_to_string(ended.path("s.html")).expect("the report");
    let html = html.replace("&#x27;", "'").replace("&#39;", "'");
    let output_text = |text: &str| html.contains(text);
    assert!(output_text(&heritage.generation), "{benchmark}");
    for caveat in &heritage.caveats {
        assert!(output_text(caveat), "{benchmark}: {caveat}");
    }
    let limit = record.run.plan.benchmark.standard.response_limit_ms;
    assert!(
        output_text(&format!("{limit} ms")),
        "{benchmark}: {limit} ms"
    );
    assert!(output_text("not comparable"), "{benchmark}");
}

#[test]
fn the_benchmarks_of_version_2_sweep() {
    let _turn = beside_others();
    for benchmark in ["nfs2-1993", "nfs2-1997"] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let server = serve(ServerOptions::default());
            let sweep = sweep_of(Sweep::on(&server), benchmark, transport);
            assert_swept(&sweep, benchmark, transport);
            assert_empty(&server);
        }
    }
}

#[test]
fn the_benchmarks_of_version_3_sweep() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = filermark_testbed::ServerOptions {
        udp: true,
        ..Default::default()
    };
    let started = Ganesha::start_in(&sandbox, Fsal::Vfs, options);
    let Some(ganesha) = available(started) else {
        return;
    };
    for benchmark in ["nfs3-1997", "nfs3-2001"] {
        for transport in [Transport::Udp, Transport::Tcp] {
            let sweep = Sweep::inside(ganesha.sandbox(), ganesha.export());
            let sweep = sweep_of(sweep, benchmark, transport);
            assert_swept(&sweep, benchmark, transport);
        }
    }
}

/// A mix file with every operation of version 2, and its two operations that are never sent.
fn all_of_version_2() -> String {
    let mut mix = String::from("SFS MIXFILE VERSION 2\nroot 0%\nwrcache 0%\n");
    for op in Op::NFS2 {
        let share = match op {
            Op::Null => 100 - 6 * (Op::NFS2.len() - 1),
            _ => 6,
        };
        mix.push_str(&format!("{op} {share}%\n"));
    }
    mix
}

/// Every operation of the mix is done, has the server's count, and is found by Wireshark's
/// dissectors, for which every message is well-formed.
#[test]
fn alone_version_2_is_whole() {
    let _turn = alone();
    when_quiet(|| {
        let Some(sandbox) = available(Sandbox::new()) else {
            return Ok(());
        };
        version_2_is_measured(&sandbox)
    });
}

/// One sweep of all operations; `Err`: the capture is incomplete.
fn version_2_is_measured(sandbox: &Arc<Sandbox>) -> Result<(), String> {
    let server = sandbox.run(|| serve(ServerOptions::default()));
    let port = server.addrs()[0].port();
    let Some(capture) = available(Capture::start(sandbox, "lo", &[port])) else {
        return Ok(());
    };
    let sweep = Sweep::on(&server)
        .in_network_of(sandbox)
        .set("NFS_VERSION", 2)
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
        .set("VERIFY", "on")
        .set("MIXFILE", "all.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("all.mix"), all_of_version_2()).expect("the mix file");
    let ended = sweep.succeed();
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let done: BTreeSet<Op> = stats
        .ops
        .iter()
        .filter(|o| o.success_count > 0)
        .map(|o| o.op)
        .collect();
    assert_eq!(done, Op::NFS2.iter().copied().collect());
    assert_eq!(server.stats().nfs, [0; 22], "nothing of version 3");
    let pcap = capture.stop().expect("the capture ends");
    whole(&pcap)?;
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let seen = pcap.calls_of(2).expect("tshark");
    let served = Procedure::ALL
        .iter()
        .map(|p| (p.to_u32(), server.stats().of2(*p)));
    let served: BTreeMap<u32, u64> = served.filter(|(_, count)| *count > 0).collect();
    assert_eq!(seen, served);
    // All but ROOT and WRITECACHE, which no client sends.
    assert_eq!(seen.len(), Procedure::COUNT - 2, "{seen:?}");
    sandbox.run(|| assert_empty(&server));
    Ok(())
}

#[test]
fn what_version_2_lacks_is_refused_before_anything_is_made() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let refused = [
        ("access 100%\n", "access"),
        ("root 1%\nnull 99%\n", "root"),
        ("wrcache 1%\nnull 99%\n", "wrcache"),
    ];
    for (shares, named) in refused {
        let sweep = Sweep::on(&server)
            .set("BENCHMARK", "nfs2-1993")
            .set("MIXFILE", "bad.mix");
        std::fs::create_dir_all(sweep.result("")).expect("the result directory");
        let mix = format!("SFS MIXFILE VERSION 2\n{shares}");
        std::fs::write(sweep.result("bad.mix"), mix).expect("the mix file");
        let ended = sweep.run();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
    assert_eq!(server.stats().nfs2, [0; 18]);
}

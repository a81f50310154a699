//! The parameters that change how load is made and where it goes.

use crate::load_guard::{Machine, alone, beside_others, when_quiet};
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::Sweep;
use filermark_model::Rule;
use filermark_model::plan::PacingMode;
use filermark_server::{Server, ServerOptions};
use filermark_testbed::{Sandbox, available};

fn without_errors(ended: &crate::sweep::Ended) {
    let point = ended.point(1);
    let stats = point.measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert!(stats.success_count() > 0);
}

#[test]
fn a_classical_rc_file_is_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let port = server.addrs()[0].port();
    let rc = format!(
        "# a classical rc file\nLOAD=\"40 80\"   # two points\nPROCS=2\nCLIENTS=\"localhost\"\n\
         MNT_POINTS=\"127.0.0.1:/export 127.0.0.1:/export\"\nBIOD_MAX_READS=4\nBIOD_MAX_WRITES=4\n\
         WARMUP_TIME=0\nRUNTIME=60\nFILESET_MB_PER_OP=0.02\nNFS_PORT={port}\nMOUNT_PORT={port}\n\
         TCP=on\nSUFFIX=fromrc\nIPV6_ENABLE=\"off\"\n"
    );
    // The command line overrides the file.
    let ended = Sweep::bare()
        .rc(&rc)
        .set("RUNTIME", 1)
        .suffix("mine")
        .succeed();
    let record = ended.record();
    assert_eq!(record.points.len(), 2);
    let stats = record.points[1].measured().expect("measured");
    assert!((stats.window_ns as f64 / 1e9 - 1.0).abs() < 0.01);
    let findings: Vec<&str> = record.run_findings().map(|f| f.message.as_str()).collect();
    assert!(
        findings
            .iter()
            .any(|m| m.contains("not standard: RUNTIME=1")),
        "{findings:?}"
    );
    assert!(
        ended.stderr.contains("not standard: RUNTIME=1"),
        "{}",
        ended.stderr
    );
    assert!(ended.file("html").contains("not standard: RUNTIME=1"));
    assert_empty(&server);
}

#[test]
fn alone_open_pacing_keeps_the_rate_against_a_slow_server() {
    let _turn = alone();
    let delay = "10ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 400)
        .set("PROCS", 2)
        .set("RUNTIME", 3)
        .set("WARMUP_TIME", 1);
    // One operation at a time and proc: 2 procs cannot do more than 200 a second.
    let closed = sweep.elsewhere().succeed();
    let achieved = closed
        .point(1)
        .measured()
        .expect("measured")
        .achieved_ops_per_sec();
    assert!(achieved < 200.0, "{achieved}");
    assert!(!closed.point(1).is_valid());
    let machine = Machine::watch();
    let open = sweep.elsewhere().set("PACING", "open").succeed();
    assert_eq!(open.record().run.plan.pacing.mode, PacingMode::Open);
    let achieved = open
        .point(1)
        .measured()
        .expect("measured")
        .achieved_ops_per_sec();
    let near = (achieved / 400.0 - 1.0).abs() < 0.04;
    machine.judge(near.then_some(()).ok_or(format!("{achieved} op/s of 400")));
    without_errors(&open);
    assert_empty(&server);
}

#[test]
fn an_overloaded_server_makes_an_open_point_invalid() {
    let _turn = beside_others();
    // One disk that takes 10 ms for each: 100 a second and no more.
    let delay = "GETATTR=10ms,LOOKUP=10ms,READ=10ms,WRITE=10ms,ACCESS=10ms"
        .parse()
        .expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 300)
        .set("RUNTIME", 3)
        .set("PACING", "open")
        .set("BACKLOG_MAX", 16)
        .set("FILESET_MB_PER_OP", 0.001);
    let ended = sweep.succeed();
    let point = ended.point(1);
    assert!(!point.is_valid());
    let stats = point.measured().expect("measured");
    assert!(stats.backlog_end > 100, "{}", stats.backlog_end);
    let rules: Vec<Rule> = point.findings.iter().map(|f| f.rule).collect();
    assert!(rules.contains(&Rule::Saturated), "{:?}", point.findings);
    // The backlog of the server is in the response time, from the intended start.
    let (service, response) = (stats.service().mean_ns(), stats.response().mean_ns());
    assert!(response > service, "{response} {service}");
    assert_empty(&server);
}

#[test]
fn procs_share_connections_when_configured() {
    let _turn = beside_others();
    for (connections, sockets) in [("proc", 16), ("2", 2)] {
        let server = serve(ServerOptions::default());
        let sweep = Sweep::on(&server)
            .set("PROCS", 16)
            .set("CONNECTIONS", connections);
        // The connections that do not belong to the load.
        let ended = sweep.succeed();
        without_errors(&ended);
        let taken = server.stats().connections;
        assert!(
            (sockets..sockets + 24).contains(&taken),
            "CONNECTIONS={connections}: {taken}"
        );
        assert_empty(&server);
    }
}

#[test]
fn shards_are_as_many_as_wanted_and_one_proc_is_enough() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let many = Sweep::on(&server)
        .set("SHARDS", 3)
        .set("PROCS", 7)
        .succeed();
    without_errors(&many);
    assert_eq!(many.point(1).stats.expect("figures").shard_count, 3);
    let one = Sweep::on(&server)
        .set("SHARDS", 3)
        .set("PROCS", 1)
        .succeed();
    without_errors(&one);
    assert_eq!(one.point(1).stats.expect("figures").shard_count, 1);
    assert_empty(&server);
}

#[test]
fn an_export_is_reached_over_ipv6() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions {
        listen: vec!["[::1]:0".parse().expect("an address")],
        ..ServerOptions::default()
    });
    let Ok(server) = server else {
        eprintln!("SKIPPED: no IPv6 on this machine");
        return;
    };
    let ended = Sweep::on(&server).succeed();
    without_errors(&ended);
    assert_eq!(
        ended.record().run.plan.clients[0].mounts[0].to_string(),
        "[::1]:/export"
    );
    assert!(
        ended.file("sfsres").contains("[::1]"),
        "{}",
        ended.file("sfsres")
    );
    assert_empty(&server);
}

#[test]
fn ports_are_asked_of_the_portmapper() {
    let _turn = beside_others();
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        let server = Server::start(ServerOptions {
            listen: vec![listen.parse().expect("an address")],
            portmap: true,
            ..ServerOptions::default()
        });
        let Ok(server) = server else {
            eprintln!("SKIPPED: cannot listen on {listen}");
            continue;
        };
        let port = server.addrs()[0].port();
        let sweep = Sweep::on(&server)
            .unset("NFS_PORT")
            .unset("MOUNT_PORT")
            .set("PORTMAP_PORT", port);
        without_errors(&sweep.succeed());
        assert!(
            server.stats().portmap >= 2,
            "{listen}: {}",
            server.stats().portmap
        );
        assert_empty(&server);
    }
}

/// Source ports of the TCP connections to a port that this network has, over IPv4.
fn source_ports(to: u16) -> Vec<u16> {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
    let port = |column: &str| u16::from_str_radix(column.rsplit_once(':')?.1, 16).ok();
    let rows = table.lines().skip(1).filter_map(|row| {
        let mut columns = row.split_whitespace().skip(1);
        Some((port(columns.next()?)?, port(columns.next()?)?))
    });
    rows.filter(|(_, there)| *there == to)
        .map(|(here, _)| here)
        .collect()
}

#[test]
fn reserved_source_ports_are_used_when_wanted() {
    let _turn = beside_others();
    // In a separate network: the host's reserved ports are not used.
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    for (wish, reserved) in [("on", true), ("off", false)] {
        let server = sandbox.run(|| serve(ServerOptions::default()));
        let sweep = Sweep::on(&server)
            .in_network_of(&sandbox)
            .set("RESVPORT", wish);
        let port = server.addrs()[0].port();
        let mut started = sweep.start();
        let mut seen = Vec::new();
        started.wait_until("connections", |_| {
            seen = sandbox.run(|| source_ports(port));
            server.stats().nfs[1] > 20
        });
        let ended = started.wait();
        assert!(ended.is_complete(), "{}", ended.stderr);
        without_errors(&ended);
        assert!(seen.len() >= 4, "{seen:?}");
        assert!(
            seen.iter().all(|p| (*p < 1024) == reserved),
            "RESVPORT={wish}: {seen:?}"
        );
        let left = sandbox.run(|| Peek::into(&server).tree(""));
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn the_null_driver_needs_no_server() {
    let _turn = beside_others();
    let sweep = Sweep::bare()
        .set("DRIVER", "null")
        .set("LOAD", "1000 20000")
        .set("PROCS", 20)
        .set("RUNTIME", 1)
        .set("WARMUP_TIME", 0)
        .set("FILESET_MB_PER_OP", 0.01);
    when_quiet(|| {
        let ended = sweep.succeed();
        let both = ended.stdout.contains("20000") || ended.stdout.contains("20,000");
        assert!(both, "{}", ended.stdout);
        let rates = [1, 2].map(|number| {
            let point = ended.point(number);
            let stats = point.measured().expect("measured");
            assert_eq!(stats.error_count(), 0);
            stats.achieved_ops_per_sec() / point.load.requested.0
        });
        let kept = rates.iter().all(|rate| (0.9..1.02).contains(rate));
        kept.then_some(()).ok_or(format!("{rates:?} of the rates"))
    });
}

/// The values of a field in the lines of one target.
fn debug_field(stderr: &str, target: &str, field: &str) -> Vec<String> {
    let lines = stderr.lines().filter(|line| line.contains(target));
    let value = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {field}="))?;
        rest.split(' ').next().map(str::to_owned)
    };
    lines.filter_map(value).collect()
}

#[test]
fn debug_flag_6_holds_progress_against_the_wanted_rate() {
    let _turn = beside_others();
    let sweep = Sweep::bare()
        .set("DRIVER", "null")
        .set("LOAD", 60)
        .set("PROCS", 3)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 11)
        .set("FILESET_MB_PER_OP", 0.01)
        .set("DEBUG", 6);
    let ended = sweep.succeed();
    let of = |field: &str| debug_field(&ended.stderr, "filermark_engine::checkpoint", field);
    // Of the first proc only, once in 11 s.
    assert_eq!(of("proc"), ["0"], "{}", ended.stderr);
    assert_eq!(of("wanted_ops_per_sec"), ["20.0"]);
    let number = |field: &str| of(field)[0].parse::<f64>().expect("a number");
    let (done, achieved) = (number("done"), number("achieved_ops_per_sec"));
    assert!(done > 0.0 && achieved > 0.0 && achieved <= done / 10.0 + 0.1);
    // What is not done is missing, except the start that is due at the moment.
    let owed = number("owed");
    assert!((done + owed - 200.0).abs() <= 20.0, "{done} {owed}");
    assert!(owed > 0.0 || number("lag_ms") == 0.0);
}

#[test]
fn debug_flags_show_what_they_name() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let quiet = Sweep::on(&server).succeed();
    let loud = Sweep::on(&server).set("DEBUG", "1-13").succeed();
    let stderr_text = |ended: &crate::sweep::Ended| {
        ended
            .stderr
            .lines()
            .filter(|l| l.contains("filermark_"))
            .count()
    };
    assert_eq!(stderr_text(&quiet), 0, "{}", quiet.stderr);
    assert!(stderr_text(&loud) > 100, "{}", loud.stderr);
    without_errors(&loud);
    assert_empty(&server);
}

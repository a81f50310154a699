//! The Windows program under Wine, against real servers and a drive. `ci/windows` builds the
//! program and runs these tests; `./test` leaves them out.

use crate::load_guard::{alone, beside_others, when_quiet};
use crate::mixed_agents::{AGENTS, Agent, assert_same_rate, keys, two_agents};
use crate::real;
use crate::smb::{self, ProtocolCase};
use crate::sweep::{Ended, PROGRAM, Sweep};
use filermark_model::Op;
use filermark_server::{RunningServer, Server, ServerOptions};
use filermark_testbed::{Fsal, Ganesha, Samba, SambaOptions, Sandbox, Wine, available};
use std::path::Path;
use std::sync::Arc;

/// Wine in a sandbox of its own; `None`: the test is skipped.
fn wine() -> Option<Arc<Wine>> {
    available(Sandbox::new().and_then(|sandbox| Wine::start_in(&sandbox)))
}

/// The embedded server of this system in Wine's network.
fn serve(wine: &Wine, options: ServerOptions) -> RunningServer {
    let start = || Server::start(options).expect("the embedded server starts");
    wine.sandbox().run(start)
}

/// The names of all that is in a directory.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.flatten().map(name).collect()
}

#[test]
#[ignore = "needs Wine: ci/windows"]
fn the_demo_runs_to_its_report() {
    let _turn = beside_others();
    let Some(wine) = wine() else { return };
    let demo = Sweep::bare().command("demo").under_wine(&wine);
    let ended = demo.args("--seconds 0.5 --events -").run();
    assert!(ended.is_complete(), "{}", ended.stderr);
    let measured = ended.stdout.matches(r#""type":"point_ended""#).count();
    assert_eq!(measured, 10, "{}", ended.stderr);
    assert!(ended.stderr.contains("peak "), "{}", ended.stderr);
    for programs in ["those of Wine", "none"] {
        wine.end_programs()
            .unwrap_or_else(|e| panic!("{programs}: {e}"));
    }
}

#[test]
#[ignore = "needs Wine: ci/windows"]
fn a_sweep_of_ganesha_over_tcp_and_udp() {
    let _turn = beside_others();
    let Some(wine) = wine() else { return };
    let options = filermark_testbed::ServerOptions {
        udp: true,
        ..filermark_testbed::ServerOptions::default()
    };
    let ganesha = Ganesha::start_in(wine.sandbox(), Fsal::Vfs, options);
    let Some(ganesha) = available(ganesha) else {
        return;
    };
    for tcp in ["on", "off"] {
        let sweep = Sweep::inside(wine.sandbox(), ganesha.export())
            .under_wine(&wine)
            .set("LOAD", "50 100")
            .set("PROCS", 8)
            .set("RUNTIME", 2)
            .set("VERIFY", "on")
            // Windows has no numbers of users: they would be 65534.
            .set("SFS_NFS_USER_ID", 0)
            .set("SFS_NFS_GROUP_ID", 0)
            .set("TCP", tcp);
        smb::assert_sound(&sweep.run());
        real::assert_empty(wine.sandbox(), ganesha.export());
    }
}

#[test]
#[ignore = "needs Wine: ci/windows"]
fn a_sweep_of_samba_on_old_and_new_dialects() {
    let _turn = beside_others();
    let Some(wine) = wine() else { return };
    let samba = Samba::start_in(wine.sandbox(), SambaOptions::default());
    let Some(samba) = available(samba) else {
        return;
    };
    for case in ProtocolCase::ALL {
        let sweep = smb::sweep(&samba, Samba::DATA, case)
            .under_wine(&wine)
            .set("LOAD", "50 100")
            .set("PROCS", 8)
            .set("RUNTIME", 2);
        let ended = sweep.run();
        smb::assert_sound(&ended);
        smb::assert_secret(&ended);
        smb::assert_empty(&samba, Samba::DATA);
    }
}

/// A composite benchmark on drive C; files of others stay as they are.
#[test]
#[ignore = "needs Wine: ci/windows"]
fn a_composite_on_a_drive() {
    let _turn = beside_others();
    let Some(wine) = wine() else { return };
    let dir = wine.drive().join("bench");
    std::fs::create_dir_all(&dir).expect("a directory on the drive");
    std::fs::write(dir.join("another's"), "stays").expect("a file");
    for benchmark in ["SWBUILD", "VDI"] {
        let ended = Sweep::small_composite(benchmark)
            .under_wine(&wine)
            .set("CLIENT_MOUNTPOINTS", r"localhost:C:\bench")
            .succeed();
        let record = ended.record();
        let here = &record.environments[0];
        assert!(here.os.starts_with("Windows"), "{here:?}");
        assert!(
            here.memory_bytes > 0 && !here.cpu_model.is_empty(),
            "{here:?}"
        );
        for point in &record.points {
            let stats = point.measured().expect("measured");
            assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
            assert!(stats.success_count() > 0);
        }
        assert_eq!(names_in(&dir), ["another's"]);
    }
    std::fs::remove_dir_all(&dir).expect("removed");
}

/// The mean service times of GETATTR and READ in ms, and the rate.
fn figures(ended: &Ended) -> ([f64; 2], f64) {
    let point = ended.point(1);
    let stats = point.measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let mean_ms = |op| stats.op(op).expect("in the mix").service.mean_ns() / 1e6;
    let means = [mean_ms(Op::Getattr), mean_ms(Op::Read)];
    (means, stats.achieved_ops_per_sec())
}

/// A Windows client and a Linux client against the same server, whose delays are known: the same
/// rate, and no service time below the delay.
#[test]
#[ignore = "needs Wine: ci/windows"]
fn alone_rates_agree_with_those_of_linux_and_latencies_with_the_delay() {
    let _turn = alone();
    let Some(wine) = wine() else { return };
    let delay = "READ=8ms,5ms".parse().expect("a delay");
    let options = ServerOptions {
        delay,
        ..ServerOptions::default()
    };
    let server = serve(&wine, options);
    let sweep = Sweep::on(&server)
        .set("LOAD", 200)
        .set("PROCS", 8)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 5);
    when_quiet(|| {
        let linux = figures(&sweep.elsewhere().in_network_of(wine.sandbox()).succeed());
        let windows = figures(&sweep.elsewhere().under_wine(&wine).succeed());
        println!("Linux: {linux:?}; Windows: {windows:?}");
        for (mean, delay_ms) in windows.0.iter().zip([5.0, 8.0]) {
            assert!(*mean >= delay_ms, "{mean} ms is faster than possible");
        }
        let off = |what: &str| Err(format!("{what}: Linux {linux:?}, Windows {windows:?}"));
        if (windows.1 / linux.1 - 1.0).abs() > 0.05 {
            return off("rates");
        }
        // Wine's server has a part in each wake-up.
        if windows.0.iter().zip(linux.0).any(|(w, l)| w - l > 3.0) {
            return off("service times");
        }
        Ok(())
    });
}

/// A Linux agent and a Windows agent in one run, of a Linux prime and of a Windows prime: the
/// figures add up, and both agents have the same rate.
#[test]
#[ignore = "needs Wine: ci/windows"]
fn agents_of_two_systems_work_in_one_run() {
    let _turn = beside_others();
    let Some(wine) = wine() else { return };
    let server = serve(&wine, ServerOptions::default());
    let keys = keys();
    for is_windows in [false, true] {
        let linux = Agent::listen(
            wine.sandbox().command(PROGRAM),
            AGENTS[0],
            &keys.of(AGENTS[0]).display().to_string(),
            &keys.log("linux"),
        );
        let mut command = wine.command("wine");
        command.arg(wine.program());
        let windows = Agent::listen(
            command,
            AGENTS[1],
            &Wine::windows_path(&keys.of(AGENTS[1])),
            &keys.log("windows"),
        );
        let sweep = two_agents(&server);
        let sweep = match is_windows {
            false => sweep
                .in_network_of(wine.sandbox())
                .set("SECRET_FILE", keys.of_prime().display()),
            true => sweep
                .under_wine(&wine)
                .set("SECRET_FILE", Wine::windows_path(&keys.of_prime())),
        };
        let ended = assert_same_rate(sweep);
        let systems = ended.record().environments;
        let windows_hosts = systems.iter().filter(|e| e.os.starts_with("Windows"));
        assert_eq!(windows_hosts.count(), 1, "{systems:?}");
        drop((linux, windows));
        wine.end_programs().expect("Wine ends");
    }
}

//! Failures in the middle of a run.

use super::{ProtocolCase, assert_empty, files_below, samba, sweep};
use crate::load_guard::{Machine, beside_others};
use crate::sweep::{Started, Sweep};
use filermark_testbed::{Samba, SambaOptions};
use std::time::Duration;

/// Reply timeout if a server falls silent. Samba answers late on a busy machine, which is no time-out.
const SILENT_MS: u64 = 10_000;
/// RUN in which a server falls silent: several times as long as a time-out.
const SILENT_SECS: u64 = 40;

/// A sweep long enough to be disturbed in its RUN, also on a busy machine. Tests that wait for a
/// timeout set it themselves.
fn long(samba: &Samba, case: ProtocolCase) -> Sweep {
    sweep(samba, Samba::DATA, case)
        .set("LOAD", 200)
        .set("RUNTIME", 15)
        .set("RPC_TIMEOUT_MS", 60_000)
        .set("CONNECT_TIMEOUT_MS", 60_000)
}

/// Waits for RUN, and a little longer.
fn in_run(started: &mut Started) {
    started.wait_for("op/s RUN");
    std::thread::sleep(Duration::from_millis(700));
}

/// Whether the client (`ipv4:127.0.0.1:40000`) keeps its end of a connection. A new process of the server says
/// nothing about that: the claim's heartbeat has connections of its own.
fn is_kept(samba: &Samba, client: &str) -> bool {
    let (_, port) = client.rsplit_once(':').expect("an address and a port");
    let local = format!(":{:04X}", port.parse::<u16>().expect("a port"));
    let read = || std::fs::read_to_string("/proc/thread-self/net/tcp");
    let table = samba.sandbox().run(read).expect("its connections");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_local = fields
            .next()
            .is_some_and(|address| address.ends_with(&local));
        // The state after the peer's address: established.
        is_local && fields.nth(1) == Some("01")
    })
}

/// The server process of one connection is killed: the calls under way on it are errors, the others
/// use a new connection, and the record states that.
#[test]
fn a_connection_that_breaks_in_run_is_made_again() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        let machine = Machine::watch();
        let mut started = long(&samba, case).start();
        in_run(&mut started);
        let pid = samba.status().expect("smbstatus").sessions[0].pid;
        samba.kill_connection(pid).expect("kill a connection");
        let ended = started.wait();
        assert!(ended.is_complete(), "{}", ended.stderr);
        assert_eq!(ended.counter("reconnects"), 1, "{}", ended.stderr);
        let point = ended.point(1);
        let stats = point.stats.as_ref().expect("figures");
        assert!(stats.error_count() <= 4, "{:?}", stats.errors);
        let is_slow = stats.achieved_ops_per_sec() < 150.0;
        machine.judge(match is_slow {
            true => Err(format!("{:?}", point.findings)),
            false => Ok(()),
        });
        assert_empty(&samba, Samba::DATA);
    }
}

/// The server process of one connection is stopped: its calls time out, and a new connection is
/// used.
#[test]
fn a_connection_that_falls_silent_is_given_up() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    // No other process may wait for files that the stopped one has open.
    let mut started = long(&samba, ProtocolCase::Smb311)
        .set("RPC_TIMEOUT_MS", SILENT_MS)
        .set("RUNTIME", SILENT_SECS)
        .start();
    in_run(&mut started);
    let sessions = samba.status().expect("smbstatus").sessions;
    // The claim's have ended, or are the last ones.
    let kept = sessions
        .iter()
        .filter(|session| is_kept(&samba, &session.client));
    let session = kept.min_by_key(|session| session.pid);
    let session = session.unwrap_or_else(|| panic!("no connection is kept: {sessions:?}"));
    samba
        .freeze_connection(session.pid)
        .expect("stop a connection");
    started.wait_until("the end of the connection", |_| {
        !is_kept(&samba, &session.client)
    });
    samba.thaw_connection(session.pid).expect("let it go on");
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert!(ended.counter("timeouts") >= 1, "{}", ended.stderr);
    assert_empty(&samba, Samba::DATA);
}

#[test]
fn a_server_that_goes_away_ends_the_sweep() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    // Its network is kept.
    let sandbox = std::sync::Arc::clone(samba.sandbox());
    // New connections are tried until the timeout. The loss of the server ends RUN, not its length.
    let mut started = long(&samba, ProtocolCase::Smb311)
        .set("CONNECT_TIMEOUT_MS", SILENT_MS)
        .set("RUNTIME", 600)
        .start();
    in_run(&mut started);
    drop(samba);
    let ended = started.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sentence(&[r"\\127.0.0.1\data", "RUN", "does not answer any more"]);
    drop(sandbox);
}

#[test]
fn a_disk_that_fills_up_ends_the_sweep() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        let ended = sweep(&samba, Samba::SMALL, case)
            .set("LOAD", 400)
            .set("SPACE_CHECK", "off")
            .set("FILESET_MB_PER_OP", 0.1)
            .fail(1);
        ended.assert_sentence(&["INIT", "STATUS_DISK_FULL", " on the share, or lower LOAD"]);
        assert_empty(&samba, Samba::SMALL);
    }
}

/// Foreign files are not changed.
#[test]
fn what_is_not_ours_stays() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let files = samba.files(Samba::DATA);
    std::fs::write(files.join("precious"), b"mine").expect("a foreign file");
    sweep(&samba, Samba::DATA, ProtocolCase::Smb311).succeed();
    assert_eq!(files_below(&files), [files.join("precious")]);
}

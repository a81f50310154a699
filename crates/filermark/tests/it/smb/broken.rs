//! Failures in the middle of a run.

use super::{ProtocolCase, assert_empty, files_below, samba, sweep};
use crate::load_guard::{Machine, beside_others};
use crate::sweep::{Started, Sweep};
use filermark_testbed::{Samba, SambaOptions};
use std::collections::HashSet;
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

/// The server processes of all sessions.
fn server_pids(samba: &Samba) -> HashSet<u32> {
    let status = samba.status().expect("smbstatus");
    status.sessions.iter().map(|session| session.pid).collect()
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
    let before = server_pids(&samba);
    let pid = *before.iter().next().expect("a session");
    samba.freeze_connection(pid).expect("stop a connection");
    // After a time-out there is a new connection, with a process of its own.
    started.wait_until("a new connection", |_| {
        !server_pids(&samba).is_subset(&before)
    });
    samba.thaw_connection(pid).expect("let it go on");
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

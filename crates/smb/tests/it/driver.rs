//! Every action on every dialect, and what goes wrong.

use super::rig::{DIR, ShardFixture, file, plan, samba};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{
    AttributeChange, HandleId, OpenFor, ProcPath, SessionAction,
};
use filermark_model::smb::Dialect;
use filermark_testbed::{Samba, SambaOptions};

/// A file of several transfers.
const SIZE: u64 = 3 << 20;

fn everything(samba: &Samba, dialect: Dialect) {
    let mut rig = ShardFixture::ready(plan(samba, dialect));
    rig.fill(1, SIZE);
    rig.fill(2, 0);
    let handle = HandleId(0);
    rig.good(SessionAction::Echo);
    rig.good(SessionAction::QueryFs);
    rig.good(SessionAction::QueryPath { place: file(1) });
    rig.good(SessionAction::QueryPath {
        place: ProcPath {
            dir: PROC_DIR,
            name: Some(Name::new(NameKind::Dir, 0)),
        },
    });
    rig.good(SessionAction::Find { dir: DIR });
    rig.good(SessionAction::Find { dir: PROC_DIR });
    rig.open_file(1, 0, OpenFor::Attributes);
    rig.good(SessionAction::QueryFile { handle });
    rig.good(SessionAction::QuerySecurity { handle });
    rig.good(SessionAction::Close { handle });
    rig.open_file(1, 0, OpenFor::Read);
    let read = rig.good(SessionAction::Read {
        handle,
        file: 1,
        offset: 4096,
        length: 256 << 10,
    });
    assert_eq!(read.read_bytes, 256 << 10);
    rig.good(SessionAction::Close { handle });
    updates(&mut rig);
    made_and_gone(&mut rig, samba);
    let left = rig.counters();
    for bad in [
        "bad_replies",
        "bad_signatures",
        "stale_replies",
        "verify_errors",
    ] {
        assert_eq!(left.get(bad), None, "{left:?}");
    }
}

fn updates(rig: &mut ShardFixture) {
    let handle = HandleId(3);
    rig.open_file(1, 3, OpenFor::Update);
    let range = |unlock| SessionAction::Lock {
        handle,
        offset: 8192,
        length: 4096,
        unlock,
    };
    rig.good(range(false));
    let wrote = rig.good(SessionAction::Write {
        handle,
        file: 1,
        offset: SIZE,
        length: 100_000,
    });
    assert_eq!(wrote.written_bytes, 100_000);
    rig.good(range(true));
    let again = rig.good(SessionAction::Read {
        handle,
        file: 1,
        offset: SIZE - 10,
        length: 50_000,
    });
    assert_eq!(again.read_bytes, 50_000);
    rig.good(SessionAction::Flush { handle });
    for setting in [
        AttributeChange::Times,
        AttributeChange::Size(SIZE + 100_000),
    ] {
        rig.good(SessionAction::SetFile { handle, setting });
    }
    rig.good(SessionAction::Close { handle });
    // Closed is closed.
    let gone = rig.session(SessionAction::Flush { handle });
    assert!(matches!(gone.status, Status::Refused(_)), "{gone:?}");
    rig.good(SessionAction::Truncate {
        place: file(1),
        size: SIZE,
    });
}

fn made_and_gone(rig: &mut ShardFixture, samba: &Samba) {
    let dir = samba
        .files(Samba::DATA)
        .join("filermark.test/p000000/d0000");
    assert_eq!(dir.join("f0000000001").metadata().unwrap().len(), SIZE);
    let handle = HandleId(1);
    rig.open_file(2, 1, OpenFor::Replace);
    rig.good(SessionAction::Write {
        handle,
        file: 2,
        offset: 0,
        length: 5000,
    });
    rig.good(SessionAction::Close { handle });
    assert_eq!(dir.join("f0000000002").metadata().unwrap().len(), 5000);
    rig.open_file(9, 1, OpenFor::Temporary);
    assert!(dir.join("f0000000009").exists());
    rig.good(SessionAction::SetFile {
        handle,
        setting: AttributeChange::Delete,
    });
    rig.good(SessionAction::Close { handle });
    assert!(!dir.join("f0000000009").exists());
    for number in [1, 2] {
        let name = Name::new(NameKind::File, number);
        assert_eq!(rig.status(Action::Remove { dir: DIR, name }), Status::Ok);
    }
    let missing = rig.session(SessionAction::QueryPath { place: file(1) });
    assert!(
        matches!(missing.status, Status::Refused(0xC000_0034)),
        "{missing:?}"
    );
    let name = Name::new(NameKind::Dir, 0);
    let removed = rig.status(Action::Rmdir {
        dir: PROC_DIR,
        name,
    });
    assert_eq!(removed, Status::Ok);
    let name = Name::new(NameKind::ProcDir, 0);
    assert_eq!(rig.status(Action::RemoveProcDir { name }), Status::Ok);
    assert!(!dir.exists());
}

#[test]
fn everything_over_smb1() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| everything(&samba, Dialect::Nt1));
}

#[test]
fn everything_over_every_dialect_of_smb2() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in &Dialect::ALL[1..] {
        samba.sandbox().run(|| everything(&samba, *dialect));
    }
}

/// One connection keeps 64 requests in flight, whatever order they end in.
#[test]
fn many_requests_go_at_once_on_one_connection() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut rig = ShardFixture::ready(plan(&samba, Dialect::V311));
        rig.fill(1, SIZE);
        rig.open_file(1, 0, OpenFor::Read);
        for at in 0..64 {
            let read = SessionAction::Read {
                handle: HandleId(0),
                file: 1,
                offset: at * 4096,
                length: 4096,
            };
            rig.submit(0, Action::Session(read)).expect("queued");
        }
        let done = rig.wait(64);
        assert!(done.iter().all(|c| c.outcome.status == Status::Ok));
        let first_done = done.iter().map(|c| c.outcome.done).min();
        let sent = done.iter().map(|c| c.outcome.sent).max();
        assert!(
            sent < first_done,
            "all were sent before the first was answered"
        );
        assert_eq!(rig.counters().get("credit_waits"), None);
    });
}

//! What waits, or comes unasked, against smbd: locks, notifications, oplocks and leases.

use crate::samba::{create, only, open};
use crate::samba_files::{directory, made, output, samba};
use crate::wire::Client;
use filermark_model::smb::Dialect;
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb2::create::lease;
use filermark_smbwire::smb2::file::{action, disposition};
use filermark_smbwire::smb2::notify::{Changes, filter};
use filermark_smbwire::smb2::*;

#[test]
fn locks_conflict_and_waits_are_cancelled() {
    let Some(samba) = samba() else { return };
    let mut first = open(&samba, only(Dialect::V311)).expect("a session");
    let mut second = open(&samba, only(Dialect::V311)).expect("a session");
    let mine = made(&mut first, &create("locked"));
    let theirs = CreateRequest {
        disposition: disposition::OPEN,
        options: 0,
        ..create("locked")
    };
    let theirs = made(&mut second, &theirs);
    let range = |kind, fail_immediately| LockRange {
        offset: 5 << 32,
        length: 100,
        kind,
        fail_immediately,
    };
    fn lock(file: FileId, ranges: &[LockRange]) -> LockRequest<'_> {
        LockRequest { file, ranges }
    }
    let exclusive = [range(LockKind::Exclusive, true)];
    first.must(&lock(mine, &exclusive));
    assert_eq!(
        second.status(&lock(theirs, &exclusive)),
        "STATUS_LOCK_NOT_GRANTED"
    );
    let read = ReadRequest {
        file: theirs,
        offset: 5 << 32,
        length: 10,
        minimum: 0,
    };
    assert_eq!(second.status(&read), "STATUS_FILE_LOCK_CONFLICT");

    // One that waits, until it is cancelled.
    let id = second.ask(&lock(theirs, &[range(LockKind::Shared, false)]));
    let (interim, _) = second.answers().remove(0);
    assert!(interim.is_interim() && interim.message_id == id);
    second.cancel(id, Some(interim.async_id));
    let (header, _) = second.answer(id);
    assert_eq!(
        filermark_smbwire::status::text(header.status),
        "STATUS_CANCELLED"
    );

    // And one that is granted when the other lets go.
    let id = second.ask(&lock(theirs, &[range(LockKind::Shared, false)]));
    assert!(second.answers()[0].0.is_interim());
    first.must(&lock(mine, &[range(LockKind::Unlock, true)]));
    let (header, message) = second.answer(id);
    assert_eq!(header.status, 0);
    EmptyResponse::decode(&message).expect("granted");
    let unlock = [range(LockKind::Unlock, false)];
    second.must(&lock(theirs, &unlock));
    assert_eq!(
        second.status(&lock(theirs, &unlock)),
        "STATUS_RANGE_NOT_LOCKED"
    );
    samba.judge("LOCK", 7);
}

#[test]
fn changes_are_reported_and_waits_for_them_cancelled() {
    let Some(samba) = samba() else { return };
    let mut client = open(&samba, only(Dialect::V311)).expect("a session");
    let dir = made(&mut client, &directory("watched"));
    let notify = ChangeNotifyRequest {
        file: dir,
        watch_tree: false,
        filter: filter::FILE_NAME,
        max_output: 4096,
    };
    let id = client.ask(&notify);
    let (interim, _) = client.answers().remove(0);
    assert!(interim.is_interim());
    client.cancel(id, Some(interim.async_id));
    let (header, _) = client.answer(id);
    assert_eq!(
        filermark_smbwire::status::text(header.status),
        "STATUS_CANCELLED"
    );

    let id = client.ask(&notify);
    assert!(client.answers()[0].0.is_interim());
    // smbd answers STATUS_PENDING before its notify daemon watches the directory. A name that is
    // made in between is not reported, so names are made until one is.
    let mut number = 0;
    let changes = 'found: loop {
        number += 1;
        let made_id = client.ask(&create(&format!("watched\\new {number}")));
        let mut answered = false;
        while !answered {
            for (header, message) in client.answers() {
                if header.message_id == id {
                    break 'found changes_of(&message);
                }
                answered |= header.message_id == made_id;
            }
        }
    };
    assert!(!changes.is_empty());
    for (action, name) in changes {
        let made: u32 = name
            .strip_prefix("new ")
            .and_then(|n| n.parse().ok())
            .expect("a name that the test made");
        assert_eq!((action, (1..=number).contains(&made)), (1, true), "{name}");
    }
    samba.judge("CHANGE_NOTIFY", 2);
}

/// Action and name of each change in a response.
fn changes_of(message: &[u8]) -> Vec<(u32, String)> {
    Changes::new(output(message))
        .map(|c| c.map(|c| (c.action, text_of_utf16(c.name))))
        .collect::<Result<_, _>>()
        .expect("valid changes")
}

#[test]
fn oplocks_and_leases_are_granted_and_broken() {
    let Some(samba) = samba() else { return };
    let requests = [
        RequestedOplock::Oplock(OplockLevel::Batch),
        RequestedOplock::Lease {
            key: [1; 16],
            state: lease::READ | lease::HANDLE | lease::WRITE,
        },
        RequestedOplock::LeaseV2 {
            key: [2; 16],
            state: lease::READ | lease::HANDLE | lease::WRITE,
            parent: Some([3; 16]),
            epoch: 1,
        },
    ];
    for (number, oplock) in requests.into_iter().enumerate() {
        let mut first = open(&samba, only(Dialect::V311)).expect("a session");
        let guid = [9; 16]; // leases belong to clients: this is another one
        let settings = filermark_smbwire::settings::Settings {
            client_guid: guid,
            ..only(Dialect::V311)
        };
        let mut second = open(&samba, settings).expect("a session");
        let path = format!("kept {number}");
        let request = CreateRequest {
            oplock,
            options: 0,
            ..create(&path)
        };
        let message = first.must(&request);
        let opened = CreateResponse::decode(&message).expect("an open");
        assert_eq!(opened.action, action::CREATED);
        is_granted(oplock, &opened);
        let other = CreateRequest {
            disposition: disposition::OPEN,
            ..request
        };
        let other = CreateRequest {
            oplock: RequestedOplock::None,
            ..other
        };
        let waiting = second.ask(&other);
        let (header, message) = first.answers().remove(0);
        assert!(header.is_break());
        acknowledge(&mut first, &opened, &message);
        let (header, _) = second.answer(waiting);
        assert_eq!(header.status, 0);
    }
    samba.judge("OPLOCK_BREAK", 3);
}

/// What was asked for is granted.
fn is_granted(asked: RequestedOplock, opened: &CreateResponse<'_>) {
    let granted = opened.lease().expect("a context");
    match asked {
        RequestedOplock::Oplock(level) => assert_eq!(opened.oplock, level),
        RequestedOplock::Lease { key, state } => {
            assert_eq!(opened.oplock, OplockLevel::Lease);
            let granted = granted.expect("a lease");
            assert_eq!((granted.key, granted.state), (key, state));
            assert_eq!(granted.epoch, None);
        }
        RequestedOplock::LeaseV2 { key, state, .. } => {
            let granted = granted.expect("a lease");
            assert_eq!((granted.key, granted.state), (key, state));
            assert!(granted.epoch.is_some());
        }
        RequestedOplock::None => unreachable!(),
    }
}

/// Looks at the break, acknowledges it, and looks at what the server says to that.
fn acknowledge(client: &mut Client, opened: &CreateResponse<'_>, message: &[u8]) {
    match OplockBreak::decode(message).expect("a break") {
        OplockBreak::Oplock { file, level } => {
            assert_eq!((file, level), (opened.file, OplockLevel::Two));
            let message = client.must(&OplockAcknowledgment { file, level });
            let answer = OplockBreak::decode(&message);
            assert_eq!(answer, Ok(OplockBreak::Oplock { file, level }));
        }
        OplockBreak::Lease {
            key,
            current,
            new,
            must_acknowledge,
            ..
        } => {
            assert!(must_acknowledge);
            assert_eq!(current, lease::READ | lease::HANDLE | lease::WRITE);
            assert_eq!(new & lease::WRITE, 0);
            let message = client.must(&LeaseAcknowledgment { key, state: new });
            let answer = oplock::LeaseBreakResponse::decode(&message).expect("an answer");
            assert_eq!((answer.key, answer.state), (key, new));
        }
    }
}

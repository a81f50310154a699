//! Copies whose end is reported after the reply to COPY.

use super::delegations::Called;
use super::files::{read, write};
use super::*;
use filermark_onc::nfs4::callback::CbOffloadArgs;

type File = (Fh4, Stateid4);

/// Copies three bytes; what COPY returns.
fn copy(client: &mut Client, (from, to): (File, File), synchronous: bool) -> Option<Stateid4> {
    let copied = client.call(|compound| {
        compound.op(&putfh(&from.0)).op(&SavefhArgs {});
        compound.op(&putfh(&to.0)).op(&CopyArgs {
            src_stateid: from.1,
            dst_stateid: to.1,
            src_offset: 2,
            dst_offset: 0,
            count: 3,
            consecutive: true,
            synchronous,
            source_server: Default::default(),
        });
    });
    let ok = copied.of::<CopyArgs<'_>>(4).expect("a copy");
    let count = ok.response.count;
    assert_eq!(
        count,
        if ok.response.callback_id.is_some() {
            0
        } else {
            3
        }
    );
    assert_eq!(
        ok.requirements.synchronous,
        ok.response.callback_id.is_none()
    );
    ok.response.callback_id
}

fn status(client: &mut Client, stateid: Stateid4) -> Result<(u64, Option<Nfsstat4>), Nfsstat4> {
    let answer = client.call(|compound| {
        compound.op(&OffloadStatusArgs { stateid });
    });
    let status = answer.of::<OffloadStatusArgs>(1);
    status.map(|status| (status.count, status.complete))
}

fn cancel(client: &mut Client, stateid: Stateid4) -> Nfsstat4 {
    let answer = client.call(|compound| {
        compound.op(&OffloadCancelArgs { stateid });
    });
    answer.status()
}

/// A client of version 4.2 with its files: one has bytes.
fn with_files(server: &Server, name: &[u8]) -> (Called, (File, File)) {
    let mut called = Called::new(server, name);
    called.client.minor = 2;
    let files = (called.client.opened(b"from"), called.client.opened(b"to"));
    write(&mut called.client, files.0, 0, b"0123456789");
    (called, files)
}

const ENDED: Result<(u64, Option<Nfsstat4>), Nfsstat4> = Ok((3, Some(Nfsstat4::Ok)));
const UNKNOWN: Result<(u64, Option<Nfsstat4>), Nfsstat4> = Err(Nfsstat4::BadStateid);

#[test]
fn the_end_of_a_copy_is_reported_until_it_is_taken() {
    let server = server(|_| ());
    let (mut one, files) = with_files(&server, b"one");
    let copying = copy(&mut one.client, files, false).expect("it goes on");
    let (xid, number, reported) = one.recalled();
    assert_eq!((number, reported), (1, copying));
    assert_eq!(read(&mut one.client, files.1), b"234");
    assert_eq!(status(&mut one.client, copying), ENDED);
    // It is faster than the reply to COPY: it is sent again.
    one.answers_with::<CbOffloadArgs<'_>>(xid, number, Nfsstat4::Delay);
    let (xid, number, reported) = one.recalled();
    assert_eq!((number, reported), (2, copying));
    one.answers_with::<CbOffloadArgs<'_>>(xid, number, Nfsstat4::Ok);
    assert!(one.is_silent());
    assert_eq!(status(&mut one.client, copying), UNKNOWN);
    // A client that does not know it can ask.
    let copying = copy(&mut one.client, files, false).expect("it goes on");
    let (xid, number, _) = one.recalled();
    one.answers_with::<CbOffloadArgs<'_>>(xid, number, Nfsstat4::BadStateid);
    assert!(one.is_silent());
    assert_eq!(status(&mut one.client, copying), ENDED);
}

#[test]
fn a_client_that_is_never_ready_is_not_called_all_the_time() {
    let server = server(|_| ());
    let (mut one, files) = with_files(&server, b"one");
    let copying = copy(&mut one.client, files, false).expect("it goes on");
    for call in 1..=16 {
        let (xid, number, _) = one.recalled();
        assert_eq!(number, call);
        one.answers_with::<CbOffloadArgs<'_>>(xid, number, Nfsstat4::Delay);
    }
    assert!(one.is_silent());
    assert_eq!(status(&mut one.client, copying), ENDED);
}

#[test]
fn a_copy_belongs_to_its_client_and_is_forgotten_when_it_is_cancelled() {
    let server = server(|_| ());
    let (mut one, files) = with_files(&server, b"one");
    let mut two = Called::new(&server, b"two");
    two.client.minor = 2;
    let copying = copy(&mut one.client, files, false).expect("it goes on");
    assert_eq!(status(&mut two.client, copying), UNKNOWN);
    assert_eq!(cancel(&mut two.client, copying), Nfsstat4::BadStateid);
    assert_eq!(cancel(&mut one.client, copying), Nfsstat4::Ok);
    assert_eq!(cancel(&mut one.client, copying), Nfsstat4::BadStateid);
    assert_eq!(status(&mut one.client, copying), UNKNOWN);
}

/// The reply waits for the copy if the client wants that, cannot be called, or has many copies that it does not know.
#[test]
fn other_copies_end_with_their_replies() {
    let server = server(|_| ());
    let (mut one, files) = with_files(&server, b"one");
    assert_eq!(copy(&mut one.client, files, true), None);
    for _ in 0..1024 {
        assert!(copy(&mut one.client, files, false).is_some());
    }
    assert_eq!(copy(&mut one.client, files, false), None);
    let mut silent = Client::new(&server, b"two");
    silent.minor = 2;
    let from = silent.opened(b"from");
    let to = silent.opened(b"another");
    assert_eq!(copy(&mut silent, (from, to), false), None);
}

//! What is injected is what the client meets, and what the figures say.

use crate::client::{Client, results, server};
use filermark_onc::nfs3::*;
use filermark_onc::xdr::Decode;
use std::time::{Duration, Instant};

#[test]
fn errors_in_exact_numbers() {
    let server = server(|o| {
        o.errors = "CREATE=NFS3ERR_JUKEBOX@3,READ=NFS3ERR_IO@50%"
            .parse()
            .expect("spec")
    });
    let (mut client, root) = Client::mounted(&server);
    let how = Createhow3::Guarded(Sattr3::default());
    for _ in 0..3 {
        assert_eq!(client.make(root, "f", how), Err(Nfsstat3::Jukebox));
    }
    let file = client.make(root, "f", how).expect("the fourth");
    let failed = (0..1000)
        .filter(|_| client.read(file, 0, 1) == Err(Nfsstat3::Io))
        .count() as u64;
    assert!((400..600).contains(&failed), "{failed}");
    let stats = server.stop();
    assert_eq!(stats.errors_injected, failed + 3);
    assert_eq!(
        (stats.of(Procedure::Read), stats.of(Procedure::Create)),
        (1000, 4)
    );
}

#[test]
fn delays_hold_replies_back_but_not_each_other() {
    // One after the other they would take 4 s.
    const READS: u32 = 20;
    let server = server(|o| o.delay = "READ=200ms,GETATTR=1ms".parse().expect("spec"));
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let mut bytes = Vec::new();
    let first_xid = client.xid + 1;
    for _ in 0..READS {
        bytes.extend(client.bytes_of(&ReadArgs {
            file: file.handle(),
            offset: 0,
            count: 1,
        }));
    }
    bytes.extend(client.bytes_of(&GetattrArgs {
        object: file.handle(),
    }));
    let started = Instant::now();
    client.send(&bytes);
    let mut arrivals = Vec::new();
    for _ in 0..=READS {
        let record = client.receive().expect("reply");
        let xid = filermark_onc::rpc::peek_xid(&record).expect("xid");
        arrivals.push((xid - first_xid, started.elapsed()));
    }
    let order: Vec<u32> = arrivals.iter().map(|(xid, _)| *xid).collect();
    let expected: Vec<u32> = [READS].into_iter().chain(0..READS).collect();
    assert_eq!(order, expected);
    assert!(arrivals[0].1 >= Duration::from_millis(1));
    assert!(arrivals[1].1 >= Duration::from_millis(200));
    let (_, last) = arrivals[READS as usize];
    assert!(
        last < Duration::from_secs(4),
        "one after the other: {last:?}"
    );
    assert_eq!(server.stats().replies_delayed, u64::from(READS) + 1);
}

#[test]
fn a_closed_connection_leaves_exactly_one_request_open() {
    let server = server(|o| o.drop = "conn@5".parse().expect("spec"));
    let (mut client, root) = Client::mounted(&server); // the first request
    for _ in 0..3 {
        assert!(client.getattr(root).is_ok());
    }
    let bytes = client.bytes_of(&MkdirArgs {
        location: Diropargs3 {
            dir: root.handle(),
            name: b"d",
        },
        attributes: Sattr3::default(),
    });
    client.send(&bytes);
    assert_eq!(client.receive(), None);
    // Sent again on a new connection, it gets its reply and is not done twice.
    let mut again = Client::connect(server.addrs()[0]);
    again.send(&bytes);
    let record = again.receive().expect("reply");
    let res: CreateRes<'_> = results(&record, client.xid).expect("accepted");
    let dir = res
        .expect("made, and not EXIST")
        .obj
        .expect("handle")
        .to_fh();
    assert_eq!(again.lookup(root, "d"), Ok(dir));
    let stats = server.stats();
    assert_eq!(
        (stats.connections_dropped, stats.duplicates_answered),
        (1, 1)
    );
    assert_eq!(stats.of(Procedure::Mkdir), 2);
}

#[test]
fn repeated_changes_get_the_first_reply() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    client.create(root, "old");
    let name = |name: &'static str| Diropargs3 {
        dir: root.handle(),
        name: name.as_bytes(),
    };
    let rename = client.bytes_of(&RenameArgs {
        from: name("old"),
        to: name("new"),
    });
    let rename_xid = client.xid;
    let remove = client.bytes_of(&RemoveArgs {
        object: name("new"),
    });
    let remove_xid = client.xid;
    let ok = |client: &mut Client, bytes: &[u8], xid| {
        client.send(bytes);
        let record = client.receive().expect("reply");
        let mut d = filermark_onc::xdr::Decoder::new(&record);
        let header = filermark_onc::rpc::ReplyHeader::decode(&mut d).expect("header");
        assert_eq!(header.xid, xid);
        (Nfsstat3::decode(&mut d).expect("status"), record)
    };
    let mut second = Client::connect(server.addrs()[0]);
    let first = ok(&mut client, &rename, rename_xid);
    assert_eq!(first.0, Nfsstat3::Ok);
    assert_eq!(ok(&mut second, &rename, rename_xid), first);
    assert_eq!(ok(&mut client, &remove, remove_xid).0, Nfsstat3::Ok);
    assert_eq!(ok(&mut second, &remove, remove_xid).0, Nfsstat3::Ok);
    assert_eq!(server.stats().duplicates_answered, 2);
    // A client that read all its replies and closed the connection does not send the call
    // again: equal bytes later come from another client.
    drop(client);
    let deadline = Instant::now() + Duration::from_secs(10);
    while ok(&mut second, &remove, remove_xid).0 == Nfsstat3::Ok {
        assert!(Instant::now() < deadline, "never forgotten");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn lost_replies_stay_lost_and_are_counted() {
    let server = server(|o| o.drop = "reply@2".parse().expect("spec"));
    let (mut client, root) = Client::mounted(&server);
    let mut bytes = Vec::new();
    for _ in 0..4 {
        bytes.extend(client.bytes_of(&GetattrArgs {
            object: root.handle(),
        }));
    }
    client.send(&bytes);
    for xid in [client.xid - 1, client.xid] {
        let record = client.receive().expect("reply");
        assert!(results::<GetattrRes>(&record, xid).is_ok());
    }
    let stats = server.stats();
    assert_eq!(
        (stats.replies_dropped, stats.of(Procedure::Getattr)),
        (2, 4)
    );
}

#[test]
fn unstable_writes_and_a_changing_verifier() {
    let server = server(|o| o.unstable = "verf@4".parse().expect("spec"));
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let mut verifiers = Vec::new();
    for at in 0..8u64 {
        let wrote = client
            .write(file, at, b"x", StableHow::Unstable)
            .expect("write");
        assert_eq!(wrote.committed, StableHow::Unstable);
        verifiers.push(wrote.verf);
    }
    assert!(verifiers[..4].iter().all(|v| *v == verifiers[0]));
    assert!(verifiers[4..].iter().all(|v| *v == verifiers[4]));
    assert_ne!(verifiers[0], verifiers[4]);
    let commit = CommitArgs {
        file: file.handle(),
        offset: 0,
        count: 0,
    };
    let verf = client.call(&commit, |res| res.expect("commit").verf);
    assert!(verf != verifiers[4], "changed after the eighth");
    let stable = client
        .write(file, 9, b"x", StableHow::DataSync)
        .expect("write");
    assert_eq!(stable.committed, StableHow::FileSync);
    assert_eq!(server.stats().verifier_changes, 2);
}

#[test]
fn what_was_not_committed_is_lost() {
    let server = server(|o| o.unstable = "lose@5".parse().expect("spec"));
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let write = |client: &mut Client, at: u64, data: &[u8], how| {
        client.write(file, at, data, how).expect("write").verf
    };
    let verf = write(&mut client, 0, b"abcd", StableHow::Unstable);
    let commit = CommitArgs {
        file: file.handle(),
        offset: 0,
        count: 0,
    };
    let committed = client.call(&commit, |res| res.expect("commit").verf);
    assert_eq!(committed, verf);
    for (at, data) in [(2, b"xyz"), (4, b"uvw"), (1, b"123")] {
        write(&mut client, at, data, StableHow::Unstable);
    }
    assert_eq!(client.read(file, 0, 9), Ok((b"a123uvw".to_vec(), true)));
    // The fifth WRITE: all since the COMMIT is gone, and it too.
    assert_eq!(write(&mut client, 8, b"9", StableHow::Unstable), verf);
    assert_eq!(client.read(file, 0, 9), Ok((b"abcd".to_vec(), true)));
    assert_ne!(client.call(&commit, |res| res.expect("commit").verf), verf);
    assert_eq!(server.stats().writes_lost, 4);
    // What is written stable stays, and what was there before it.
    for (at, how) in [
        (4, StableHow::Unstable),
        (5, StableHow::FileSync),
        (6, StableHow::Unstable),
        (7, StableHow::Unstable),
        (8, StableHow::Unstable),
    ] {
        write(&mut client, at, b"e", how);
    }
    assert_eq!(client.read(file, 0, 9), Ok((b"abcdee".to_vec(), true)));
    assert_eq!(server.stats().writes_lost, 7);
}

#[test]
fn short_transfers() {
    let server = server(|o| o.short = Some(3));
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let wrote = client
        .write(file, 0, b"abcdef", StableHow::FileSync)
        .expect("write");
    assert_eq!(wrote.count, 3);
    assert_eq!(
        client
            .write(file, 3, b"def", StableHow::FileSync)
            .expect("write")
            .count,
        3
    );
    assert_eq!(client.read(file, 0, 6), Ok((b"abc".to_vec(), false)));
    assert_eq!(client.read(file, 3, 6), Ok((b"def".to_vec(), true)));
    let stats = server.stats();
    assert_eq!(
        (stats.transfers_cut, stats.bytes_read, stats.bytes_written),
        (2, 6, 6)
    );
}

#[test]
fn a_stop_holds_back_all_replies_and_what_was_held_back_has_a_lateness() {
    // Ten stops a second: some calls of half a second meet one.
    let server = server(|o| o.stop = Some("50ms/100ms".parse().expect("spec")));
    let (mut client, root) = Client::mounted(&server);
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.lateness().is_none() {
        assert!(client.getattr(root).is_ok());
        assert!(Instant::now() < deadline, "never stopped");
    }
    // A reply is with the client before its lateness is recorded.
    let count = || server.lateness().map_or(0, |lateness| lateness.count);
    while count() < server.stats().replies_delayed {
        assert!(Instant::now() < deadline, "a reply without a lateness");
    }
    let lateness = server.lateness().expect("held back");
    assert_eq!(lateness.count, server.stats().replies_delayed);
    assert!(lateness.mean_ns <= lateness.max_ns as f64);
}

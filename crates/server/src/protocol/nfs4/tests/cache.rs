//! Exactly-once semantics, client IDs and leases.

use super::*;

fn mkdir(compound: &mut Writer<'_>, name: &[u8]) {
    export(compound);
    compound.op(&CreateArgs {
        objtype: Createtype4::Dir,
        objname: name,
        createattrs: Fattr4::new(&Attributes::default()),
    });
}

#[test]
fn a_call_that_is_sent_again_on_another_connection_gets_the_kept_reply() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (first, args) = client.call_and_bytes(true, |compound| mkdir(compound, b"dir"));
    assert_eq!(first.status(), Nfsstat4::Ok);
    // Another connection: another thread's service and another peer.
    let mut other = Client::connect(&server);
    for again in [other.send(&args), client.send(&args)] {
        assert_eq!(again.results, first.results);
    }
    assert_eq!(server.stats().duplicates_answered, 2);
    // Executed again, it would have failed.
    let (second, _) = client.call_and_bytes(true, |compound| mkdir(compound, b"dir"));
    assert_eq!(second.status(), Nfsstat4::Exist);
}

#[test]
fn a_call_whose_reply_is_lost_is_executed_once() {
    let server = server(|o| o.drop = "reply@1/9".parse().expect("a fault"));
    let mut client = Client::new(&server, b"one");
    let mut lost = 0;
    for number in 0..30u8 {
        let name = [b'd', number + b'0'];
        let (mut answer, args) = client.call_and_bytes(true, |compound| mkdir(compound, &name));
        while answer.action == ReplyAction::Lose {
            lost += 1;
            answer = Client::connect(&server).send(&args);
        }
        assert_eq!(answer.status(), Nfsstat4::Ok, "{number}");
    }
    assert!(lost >= 3);
    assert_eq!(server.stats().replies_dropped, server.stats().compounds / 9);
}

#[test]
fn a_reply_that_was_not_to_be_kept_is_not_made_again() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (first, args) = client.call_and_bytes(false, |compound| mkdir(compound, b"dir"));
    assert_eq!(first.status(), Nfsstat4::Ok);
    let again = client.send(&args);
    assert_eq!(again.status(), Nfsstat4::RetryUncachedRep);
    assert!(again.of::<SequenceArgs>(0).is_ok());
    // The highest slot in use may have changed, but not the operations.
    let sequence = SequenceArgs {
        sequenceid: client.sequenceid,
        highest_slotid: 3,
        ..client.sequence(false)
    };
    let same = client.written(|compound| {
        compound.op(&sequence);
        mkdir(compound, b"dir");
    });
    assert_eq!(client.send(&same).status(), Nfsstat4::RetryUncachedRep);
    let other = client.written(|compound| {
        compound.op(&sequence);
        mkdir(compound, b"Dir");
    });
    assert_eq!(client.send(&other).status(), Nfsstat4::SeqFalseRetry);
}

#[test]
fn a_silent_client_loses_its_state_when_its_lease_expires() {
    let server = server(|_| ());
    let mut silent = Client::new(&server, b"silent");
    let mut active = Client::new(&server, b"active");
    let denying = silent.open(b"file", share::BOTH, share::BOTH);
    assert_eq!(denying.status(), Nfsstat4::Ok);
    for _ in 0..2 {
        server.wait_s(45);
        let refused = active.open(b"file", share::READ, 0);
        assert_eq!(refused.status(), Nfsstat4::ShareDenied);
    }
    server.wait_s(1);
    let opened = active.open(b"file", share::READ, 0);
    assert_eq!(opened.status(), Nfsstat4::Ok);
    let gone = silent.call(|_| ());
    assert_eq!(gone.status(), Nfsstat4::Badsession);
}

#[test]
fn calls_renew_the_lease() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (file, stateid) = client.opened(b"file");
    for _ in 0..10 {
        server.wait_s(80);
        assert_eq!(client.call(|_| ()).status(), Nfsstat4::Ok);
    }
    let closed = client.call(|compound| {
        let args = CloseArgs {
            seqid: 0,
            open_stateid: stateid,
        };
        compound.op(&putfh(&file)).op(&args);
    });
    assert_eq!(closed.status(), Nfsstat4::Ok);
}

#[test]
fn an_open_file_without_a_name_ends_with_its_lease() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    client.opened(b"file");
    let id = exists(&server, b"file").expect("a file");
    let removed = client.in_export(|compound| {
        compound.op(&RemoveArgs { target: b"file" });
    });
    assert_eq!(removed.status(), Nfsstat4::Ok);
    assert!(server.shared.fs.getattr(id).is_ok() && exists(&server, b"file").is_none());
    server.wait_s(91);
    assert_eq!(client.call(|_| ()).status(), Nfsstat4::Badsession);
    assert!(server.shared.fs.getattr(id).is_err());
}

#[test]
fn a_client_that_restarted_loses_its_opens_with_its_next_session() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    client.opened(b"file");
    let mut other = Client::new(&server, b"other");
    let denying = |other: &mut Client| other.open(b"file", share::READ, share::BOTH).status();
    assert_eq!(denying(&mut other), Nfsstat4::ShareDenied);
    let mut restarted = Client::connect(&server);
    let sequence = restarted.exchange(b"one", 2);
    assert_eq!(denying(&mut other), Nfsstat4::ShareDenied);
    restarted.create_session(sequence, ASKED);
    assert_eq!(denying(&mut other), Nfsstat4::Ok);
    assert_eq!(client.call(|_| ()).status(), Nfsstat4::Badsession);
    // No open before RECLAIM_COMPLETE.
    let early = restarted.open(b"other", share::READ, 0);
    assert_eq!(early.status(), Nfsstat4::Grace);
}

#[test]
fn a_client_without_sessions_and_state_can_be_destroyed() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (file, stateid) = client.opened(b"file");
    let destroy = |client: &mut Client| {
        let clientid = client.clientid;
        let answer = client.alone(|compound| {
            compound.op(&DestroyClientidArgs { clientid });
        });
        answer.status()
    };
    assert_eq!(destroy(&mut client), Nfsstat4::ClientidBusy);
    client.call(|compound| {
        let args = CloseArgs {
            seqid: 0,
            open_stateid: stateid,
        };
        compound.op(&putfh(&file)).op(&args);
    });
    assert_eq!(destroy(&mut client), Nfsstat4::ClientidBusy);
    let sessionid = client.session;
    // Its own session only as the last operation.
    let refused = client.call(|compound| {
        compound.op(&DestroySessionArgs { sessionid });
        compound.op(&PutrootfhArgs {});
    });
    assert_eq!(refused.status(), Nfsstat4::NotOnlyOp);
    let ended = client.call(|compound| {
        compound.op(&DestroySessionArgs { sessionid });
    });
    assert_eq!(ended.status(), Nfsstat4::Ok);
    assert_eq!(destroy(&mut client), Nfsstat4::Ok);
    assert_eq!(destroy(&mut client), Nfsstat4::StaleClientid);
}

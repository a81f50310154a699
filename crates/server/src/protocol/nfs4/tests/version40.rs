//! Minor version 0: client IDs, numbers of owners and the replies that are kept for them, locks.

use super::*;

/// A client ID that is not confirmed, and what confirms it.
fn set_clientid(client: &mut Client, name: &[u8], verifier: u8) -> Res<(Clientid4, Verf)> {
    let answer = client.alone(|compound| {
        compound.op(&SetclientidArgs {
            client: ClientOwner4 {
                verifier: [verifier; 8],
                ownerid: name,
            },
            callback: CbClient4 {
                cb_program: 0,
                cb_location: Netaddr4 {
                    netid: b"tcp",
                    addr: b"0.0.0.0.0.0",
                },
            },
            callback_ident: 0,
        });
    });
    let result = answer.of::<SetclientidArgs<'_>>(0);
    result
        .map(|ok| (ok.clientid, ok.setclientid_confirm))
        .map_err(|failed| failed.status())
}

fn confirm(client: &mut Client, (clientid, setclientid_confirm): (Clientid4, Verf)) -> Nfsstat4 {
    let args = SetclientidConfirmArgs {
        clientid,
        setclientid_confirm,
    };
    let done = client.alone(|compound| {
        compound.op(&args);
    });
    done.status()
}

fn renew(client: &mut Client, clientid: Clientid4) -> Nfsstat4 {
    let done = client.alone(|compound| {
        compound.op(&RenewArgs { clientid });
    });
    done.status()
}

/// A client with a confirmed client ID.
fn client(server: &Server, name: &[u8]) -> Client {
    let mut client = Client::connect(server);
    client.minor = 0;
    let made = set_clientid(&mut client, name, 1).expect("a client ID");
    assert_eq!(confirm(&mut client, made), Nfsstat4::Ok);
    client.clientid = made.0;
    client
}

/// OPEN of a name in the export, with OPEN at 2 and GETFH at 3.
fn open(client: &mut Client, name: &[u8], seqid: u32) -> Answer {
    let args = opening(name, share::BOTH, 0);
    let owner = StateOwner4 {
        clientid: client.clientid,
        owner: b"owner",
    };
    client.alone(|compound| {
        export(compound);
        compound.op(&OpenArgs {
            seqid,
            owner,
            ..args
        });
        compound.op(&GetfhArgs {});
    })
}

fn opened(client: &mut Client, name: &[u8], seqid: u32) -> (Fh4, Stateid4) {
    let answer = open(client, name, seqid);
    let stateid = answer.of::<OpenArgs<'_>>(2).expect("an open").stateid;
    let file = answer.of::<GetfhArgs>(3).expect("a handle").object.to_fh();
    (file, stateid)
}

fn close(client: &mut Client, (file, stateid): (Fh4, Stateid4), seqid: u32) -> Nfsstat4 {
    let done = client.alone(|compound| {
        compound.op(&putfh(&file)).op(&CloseArgs {
            seqid,
            open_stateid: stateid,
        });
    });
    done.status()
}

fn write(client: &mut Client, file: &Fh4, stateid: Stateid4) -> Nfsstat4 {
    let done = client.alone(|compound| {
        compound.op(&putfh(file)).op(&WriteArgs {
            stateid,
            offset: 0,
            stable: filermark_onc::nfs3::StableHow::FileSync,
            data: b"data",
        });
    });
    done.status()
}

#[test]
fn a_client_id_is_confirmed_renewed_and_expires() {
    let server = server(|_| ());
    let mut one = Client::connect(&server);
    one.minor = 0;
    let made = set_clientid(&mut one, b"one", 1).expect("a client ID");
    assert_eq!(
        renew(&mut one, made.0),
        Nfsstat4::StaleClientid,
        "unconfirmed"
    );
    assert_eq!(confirm(&mut one, (made.0, [0; 8])), Nfsstat4::StaleClientid);
    assert_eq!(confirm(&mut one, made), Nfsstat4::Ok);
    assert_eq!(confirm(&mut one, made), Nfsstat4::Ok, "sent again");
    assert_eq!(renew(&mut one, made.0), Nfsstat4::Ok);
    assert_eq!(renew(&mut one, !made.0), Nfsstat4::StaleClientid);
    one.clientid = made.0;
    let kept = opened(&mut one, b"file", 0);
    for _ in 0..3 {
        server.wait_s(60);
        assert_eq!(write(&mut one, &kept.0, kept.1), Nfsstat4::Ok, "renews");
    }
    server.wait_s(u64::from(crate::nfs4::LEASE_S) + 2);
    assert_eq!(renew(&mut one, made.0), Nfsstat4::Expired);
    assert_eq!(open(&mut one, b"file", 1).status(), Nfsstat4::Expired);
    assert_eq!(close(&mut one, kept, 1), Nfsstat4::BadStateid);
}

#[test]
fn a_restarted_client_loses_its_opens_and_another_user_does_not_get_the_name() {
    let server = server(|_| ());
    let mut one = client(&server, b"one");
    let kept = opened(&mut one, b"file", 0);
    let same = set_clientid(&mut one, b"one", 1).expect("the same");
    assert_eq!(same.0, one.clientid);
    let mut other = Client::connect(&server);
    (other.minor, other.uid) = (0, 7);
    let refused = set_clientid(&mut other, b"one", 1);
    assert_eq!(refused, Err(Nfsstat4::ClidInuse));
    let restarted = set_clientid(&mut one, b"one", 2).expect("another");
    assert_ne!(restarted.0, one.clientid);
    assert_eq!(write(&mut one, &kept.0, kept.1), Nfsstat4::Ok, "not yet");
    assert_eq!(confirm(&mut one, restarted), Nfsstat4::Ok);
    assert_eq!(write(&mut one, &kept.0, kept.1), Nfsstat4::BadStateid);
}

/// The last operation of an owner is answered as before, any other number but the next one is refused.
#[test]
fn owners_number_their_operations() {
    let server = server(|_| ());
    let mut one = client(&server, b"one");
    let first = opened(&mut one, b"file", 7);
    assert_eq!(opened(&mut one, b"file", 7), first, "sent again");
    assert_eq!(server.stats().duplicates_answered, 1);
    for wrong in [5, 6, 9] {
        assert_eq!(open(&mut one, b"other", wrong).status(), Nfsstat4::BadSeqid);
    }
    assert!(exists(&server, b"other").is_none());
    let missing = open(&mut one, b"", 8).status();
    assert_ne!(missing, Nfsstat4::Ok, "uses a number");
    assert_eq!(open(&mut one, b"", 8).status(), missing, "sent again");
    let again = opened(&mut one, b"file", 9);
    assert_eq!(again.1.other, first.1.other);
    assert_eq!(again.1.seqid, first.1.seqid + 1);
    assert_eq!(write(&mut one, &first.0, first.1), Nfsstat4::OldStateid);
    assert_eq!(close(&mut one, again, 11), Nfsstat4::BadSeqid);
    assert_eq!(close(&mut one, again, 10), Nfsstat4::Ok);
    assert_eq!(close(&mut one, again, 10), Nfsstat4::Ok, "sent again");
    assert_eq!(
        close(&mut one, again, 11),
        Nfsstat4::BadStateid,
        "that is closed"
    );
    opened(&mut one, b"file", 11);
    assert_eq!(close(&mut one, again, 10), Nfsstat4::BadStateid, "too old");
}

#[test]
fn stateids_are_of_this_server_and_their_latest() {
    let server = server(|_| ());
    let mut one = client(&server, b"one");
    let (file, stateid) = opened(&mut one, b"file", 0);
    assert_eq!(write(&mut one, &file, stateid), Nfsstat4::Ok);
    assert_eq!(write(&mut one, &file, Stateid4::ANONYMOUS), Nfsstat4::Ok);
    let mut other = stateid;
    other.other[0] ^= 1;
    assert_eq!(write(&mut one, &file, other), Nfsstat4::StaleStateid);
    let latest = Stateid4 {
        seqid: 0,
        ..stateid
    };
    assert_eq!(write(&mut one, &file, latest), Nfsstat4::BadStateid);
    let confirmed = one.alone(|compound| {
        compound.op(&putfh(&file)).op(&OpenConfirmArgs {
            open_stateid: stateid,
            seqid: 1,
        });
    });
    assert_eq!(confirmed.status(), Nfsstat4::BadStateid, "not asked for");
    assert_eq!(close(&mut one, (file, stateid), 1), Nfsstat4::Ok);
}

#[test]
fn locks_are_numbered_and_their_owners_released() {
    let server = server(|_| ());
    let mut one = client(&server, b"one");
    let (file, open_stateid) = opened(&mut one, b"file", 0);
    let lock_owner = StateOwner4 {
        clientid: one.clientid,
        owner: b"locker",
    };
    let lock = |client: &mut Client, locker, offset| {
        let answer = client.alone(|compound| {
            compound.op(&putfh(&file)).op(&LockArgs {
                locktype: NfsLockType4::Write,
                reclaim: false,
                offset,
                length: 10,
                locker,
            });
        });
        let result = answer.of::<LockArgs<'_>>(1);
        result
            .map(|ok| ok.lock_stateid)
            .map_err(|failed| failed.status())
    };
    let new = Locker4::New(OpenToLockOwner4 {
        open_seqid: 1,
        open_stateid,
        lock_seqid: 40,
        lock_owner,
    });
    let first = lock(&mut one, new, 0).expect("a lock");
    assert_eq!(lock(&mut one, new, 0), Ok(first), "sent again");
    // The state of the locks in place of that of the open: both owners would be one.
    let confused = one.alone(|compound| {
        compound.op(&putfh(&file)).op(&LockArgs {
            locktype: NfsLockType4::Write,
            reclaim: false,
            offset: 0,
            length: 0,
            locker: Locker4::New(OpenToLockOwner4 {
                open_seqid: 41,
                open_stateid: first,
                lock_seqid: 50,
                lock_owner,
            }),
        });
    });
    assert_eq!(confused.status(), Nfsstat4::Inval);
    let existing = |lock_stateid, lock_seqid| {
        Locker4::Existing(ExistLockOwner4 {
            lock_stateid,
            lock_seqid,
        })
    };
    assert_eq!(
        lock(&mut one, existing(first, 43), 20),
        Err(Nfsstat4::BadSeqid)
    );
    let second = lock(&mut one, existing(first, 41), 20).expect("a lock");
    assert_eq!(
        lock(&mut one, existing(first, 41), 20),
        Ok(second),
        "sent again"
    );
    let release = |client: &mut Client| {
        let done = client.alone(|compound| {
            compound.op(&ReleaseLockownerArgs { lock_owner });
        });
        done.status()
    };
    assert_eq!(release(&mut one), Nfsstat4::LocksHeld);
    let unlocked = one.alone(|compound| {
        compound.op(&putfh(&file)).op(&LockuArgs {
            locktype: NfsLockType4::Write,
            seqid: 42,
            lock_stateid: second,
            offset: 0,
            length: u64::MAX,
        });
    });
    assert_eq!(unlocked.status(), Nfsstat4::Ok);
    assert_eq!(release(&mut one), Nfsstat4::Ok);
    assert_eq!(
        lock(&mut one, existing(second, 43), 0),
        Err(Nfsstat4::BadStateid)
    );
    assert_eq!(close(&mut one, (file, open_stateid), 2), Nfsstat4::Ok);
}

#[test]
fn each_minor_version_has_its_own_operations() {
    let server = server(|_| ());
    let mut one = client(&server, b"one");
    let sequence = one.sequence(false);
    let done = one.alone(|compound| {
        compound.op(&sequence);
    });
    assert_eq!(done.status(), Nfsstat4::OpIllegal);
    for (wrong, expected) in [
        (
            OpenArgs {
                share_access: share::BOTH | share::WANT_NO_DELEG,
                ..opening(b"x", 0, 0)
            },
            Nfsstat4::Inval,
        ),
        (
            OpenArgs {
                openhow: Openflag4::NoCreate,
                claim: OpenClaim4::Fh,
                seqid: 1,
                ..opening(b"x", share::READ, 0)
            },
            Nfsstat4::Badxdr,
        ),
    ] {
        let owner = StateOwner4 {
            clientid: one.clientid,
            owner: b"owner",
        };
        let done = one.alone(|compound| {
            export(compound);
            compound.op(&OpenArgs { owner, ..wrong });
        });
        assert_eq!(done.status(), expected);
    }
    let supported = one.alone(|compound| {
        export(compound);
        compound.op(&GetattrArgs {
            attr_request: Bitmap4::of(&[Attribute::SupportedAttrs]),
        });
    });
    let supported = supported.of::<GetattrArgs>(2).expect("attributes");
    let supported = supported.obj_attributes.attributes().expect("values");
    let supported = supported.supported_attrs.expect("asked for");
    assert!(supported.has(Attribute::LeaseTime));
    assert!(!supported.has(Attribute::SuppattrExclcreat), "of 4.1");
    one.minor = 1;
    assert_eq!(set_clientid(&mut one, b"two", 1), Err(Nfsstat4::Notsupp));
}

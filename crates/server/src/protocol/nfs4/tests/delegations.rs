//! Delegations: who gets them, what recalls them, and how they end.

use super::*;
use crate::nfs4::Outlet;
use crate::options::Delegations;
use filermark_onc::nfs4::callback::{
    self, Args as CbArgs, CbRecallArgs, CbSequenceArgs, CbSequenceOk,
};
use filermark_onc::rpc::CallHeader;
use std::sync::Mutex;

type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// A client that can be called back, and what was sent to it.
pub(super) struct Called {
    pub(super) client: Client,
    sent: Sent,
}

fn delegating(kinds: Delegations) -> Server {
    server(|options| options.delegations = kinds)
}

/// Another connection of a client.
fn outlet() -> (Arc<Outlet>, Sent) {
    let sent = Sent::default();
    let keep = sent.clone();
    let send = move |message| keep.lock().expect("a list").push(message);
    (Arc::new(Outlet::new(Box::new(send))), sent)
}

impl Called {
    pub(super) fn new(server: &Server, name: &[u8]) -> Called {
        let (outlet, sent) = outlet();
        let mut client = Client::connect(server);
        client.peer.outlet = Some(outlet);
        client.flags = create_session::CONN_BACK_CHAN;
        let client = client.set_up(name, ASKED);
        Called { client, sent }
    }

    /// OPEN of a name; its delegation, and the handle.
    fn opens(&mut self, name: &[u8], access: u32) -> Result<(Fh4, Option<Stateid4>), Nfsstat4> {
        let answer = self.client.open(name, access, 0);
        let open = answer.of::<OpenArgs<'_>>(3)?;
        let file = answer.of::<GetfhArgs>(4).expect("a handle").object.to_fh();
        Ok((
            file,
            match open.delegation {
                OpenDelegation4::Read(given) => Some(given.stateid),
                OpenDelegation4::Write(given) => Some(given.stateid),
                OpenDelegation4::None | OpenDelegation4::NoneExt(_) => None,
            },
        ))
    }

    #[track_caller]
    fn delegated(&mut self, name: &[u8], access: u32) -> (Fh4, Stateid4) {
        let (file, stateid) = self.opens(name, access).expect("an open");
        (file, stateid.expect("a delegation"))
    }

    fn returns(&mut self, file: &Fh4, stateid: Stateid4) -> Nfsstat4 {
        let done = self.client.call(|compound| {
            compound.op(&putfh(file)).op(&DelegreturnArgs {
                deleg_stateid: stateid,
            });
        });
        done.status()
    }

    /// The only callback that was sent since the last look: its xid, number, and the stateid that it is about.
    #[track_caller]
    pub(super) fn recalled(&self) -> (u32, u32, Stateid4) {
        let sent = std::mem::take(&mut *self.sent.lock().expect("a list"));
        assert_eq!(sent.len(), 1, "callbacks");
        self.read(&sent[0])
    }

    fn read(&self, message: &[u8]) -> (u32, u32, Stateid4) {
        let mut d = Decoder::new(&message[4..]);
        let header = CallHeader::decode(&mut d).expect("a call");
        assert_eq!((header.prog, header.proc), (0x4000_0000, 1));
        let mut args = CompoundArgs::<callback::Operation>::decode_callback(&mut d).expect("args");
        assert_eq!(args.minorversion, self.client.minor);
        let Some(Ok(CbArgs::Sequence(sequence))) = args.next() else {
            panic!("no CB_SEQUENCE");
        };
        assert_eq!(sequence.sessionid, self.client.session);
        assert_eq!(sequence.referring_call_lists.iter().count(), 1);
        let stateid = match args.next() {
            Some(Ok(CbArgs::Recall(recall))) => recall.stateid,
            Some(Ok(CbArgs::Offload(offload))) => offload.stateid,
            other => panic!("{other:?}"),
        };
        (header.xid, sequence.sequenceid, stateid)
    }

    pub(super) fn is_silent(&self) -> bool {
        self.sent.lock().expect("a list").is_empty()
    }

    /// Sends a record that is a reply to a callback.
    fn reply(&mut self, xid: u32, results: &[u8]) -> ReplyAction {
        let mut record = Vec::new();
        ReplyHeader::encode_success(&mut record, xid);
        record.extend_from_slice(results);
        let mut out = Vec::new();
        let action = self
            .client
            .service
            .serve(&record, &self.client.peer, &mut out);
        if action == ReplyAction::Nothing {
            assert!(out.is_empty());
        }
        action
    }

    /// Answers a recall.
    fn answers(&mut self, xid: u32, sequenceid: u32, recall: Nfsstat4) -> ReplyAction {
        self.answers_with::<CbRecallArgs<'_>>(xid, sequenceid, recall)
    }

    /// Answers a callback of this kind.
    pub(super) fn answers_with<A>(
        &mut self,
        xid: u32,
        sequenceid: u32,
        status: Nfsstat4,
    ) -> ReplyAction
    where
        for<'r> A: Arguments<Operation = callback::Operation, Res<'r> = Res<()>>,
    {
        let session = self.client.session;
        let mut results = Vec::new();
        let mut writer = CompoundResWriter::<callback::Operation>::begin(&mut results, b"");
        writer.result::<CbSequenceArgs<'_>>(&Ok(CbSequenceOk {
            sessionid: session,
            sequenceid,
            slotid: 0,
            highest_slotid: 0,
            target_highest_slotid: 0,
        }));
        let result = match status {
            Nfsstat4::Ok => Ok(()),
            status => Err(status),
        };
        writer.result::<A>(&result);
        writer.finish();
        self.reply(xid, &results)
    }

    fn flags(&mut self) -> u32 {
        let answer = self.client.call(|_| {});
        answer.of::<SequenceArgs>(0).expect("SEQUENCE").status_flags
    }
}

fn both(server: &Server) -> (Called, Called) {
    (Called::new(server, b"one"), Called::new(server, b"two"))
}

fn counts(server: &Server) -> [u64; 5] {
    let counts = server.shared.delegation_counts();
    [
        &counts.read,
        &counts.write,
        &counts.recalled,
        &counts.returned,
        &counts.revoked,
    ]
    .map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn readers_share_a_file_and_a_writer_waits_until_they_have_returned_it() {
    let server = delegating(Delegations::Read);
    let (mut one, mut two) = both(&server);
    // The writer makes the file and closes it; it gets nothing, since only readers do.
    let (file, none) = two.opens(b"f", share::WRITE).expect("made");
    assert_eq!(none, None);
    let contended = one.opens(b"f", share::READ).expect("open").1;
    assert_eq!(contended, None, "another client has it open for writing");
    let mut three = Called::new(&server, b"three");
    one.client.opened(b"g");
    let (_, first) = two.opens(b"g", share::READ).expect("open");
    assert_eq!(first, None);
    let (file_h, first) = one.delegated(b"h", share::READ);
    let (_, second) = two.delegated(b"h", share::READ);
    assert_ne!(first.other, second.other);
    assert_eq!(three.opens(b"h", share::BOTH).err(), Some(Nfsstat4::Delay));
    let (xid, number, recalled) = one.recalled();
    assert_eq!((number, recalled), (1, first));
    let theirs = two.recalled();
    assert_eq!((theirs.1, theirs.2), (1, second));
    assert_eq!(one.answers(xid, 1, Nfsstat4::Ok), ReplyAction::Nothing);
    two.answers(theirs.0, 1, Nfsstat4::Ok);
    // No client is called twice for one delegation.
    server.wait_s(1);
    assert_eq!(three.opens(b"h", share::BOTH).err(), Some(Nfsstat4::Delay));
    assert!(one.is_silent() && two.is_silent());
    assert_eq!(one.returns(&file_h, first), Nfsstat4::Ok);
    assert_eq!(three.opens(b"h", share::BOTH).err(), Some(Nfsstat4::Delay));
    assert_eq!(two.returns(&file_h, second), Nfsstat4::Ok);
    assert!(three.opens(b"h", share::BOTH).is_ok());
    assert_eq!(one.returns(&file_h, first), Nfsstat4::BadStateid);
    assert_eq!(one.returns(&file, first), Nfsstat4::BadStateid);
    assert_eq!(counts(&server), [2, 0, 2, 2, 0]);
}

#[test]
fn what_a_client_wants_is_respected_and_refusals_have_reasons() {
    let server = delegating(Delegations::Write);
    let (mut one, mut two) = both(&server);
    let mut plain = Client::new(&server, b"plain");
    let reason = |client: &mut Client, name: &[u8], access: u32| {
        let answer = client.open(name, access, 0);
        match answer.of::<OpenArgs<'_>>(3).expect("an open").delegation {
            OpenDelegation4::NoneExt(reason) => Some(reason),
            OpenDelegation4::None => None,
            given => panic!("{given:?}"),
        }
    };
    use OpenNoneDelegation4 as None4;
    let read = share::READ;
    let not_wanted = reason(&mut one.client, b"a", read | share::WANT_NO_DELEG);
    assert_eq!(not_wanted, Some(None4::NotWanted));
    let cancelled = reason(&mut one.client, b"a", read | share::WANT_CANCEL);
    assert_eq!(cancelled, Some(None4::Cancelled));
    // Who cannot be called back gets none.
    let wants = read | share::WANT_ANY_DELEG;
    assert_eq!(
        reason(&mut plain, b"a", wants),
        Some(None4::Resource(false))
    );
    assert_eq!(reason(&mut plain, b"a", read), None);
    let other_kind = reason(&mut one.client, b"b", read | share::WANT_WRITE_DELEG);
    assert_eq!(other_kind, Some(None4::Resource(false)));
    one.delegated(b"c", read);
    let again = reason(&mut one.client, b"c", wants);
    assert_eq!(again, Some(None4::Contention(false)));
    let upgrade = reason(&mut one.client, b"c", share::BOTH | share::WANT_WRITE_DELEG);
    assert_eq!(upgrade, Some(None4::NotSuppUpgrade));
    two.client.open(b"d", share::BOTH | share::WANT_NO_DELEG, 0);
    let used = reason(&mut one.client, b"d", share::BOTH | share::WANT_WRITE_DELEG);
    assert_eq!(used, Some(None4::Contention(false)));
    one.delegated(b"e", share::BOTH);
    assert_eq!(counts(&server), [1, 1, 0, 0, 0]);
    let off = delegating(Delegations::Off);
    let mut client = Called::new(&off, b"one");
    assert_eq!(client.opens(b"f", read).expect("open").1, None);
    assert_eq!(client.flags(), 0);
}

#[test]
fn a_delegation_allows_what_its_kind_is_for() {
    let server = delegating(Delegations::Write);
    let mut one = Called::new(&server, b"one");
    let (file, read) = one.delegated(b"r", share::READ);
    let mut used = |file: &Fh4, stateid: Stateid4| {
        let write = one.client.call(|compound| {
            compound.op(&putfh(file)).op(&WriteArgs {
                stateid,
                offset: 0,
                stable: StableHow::FileSync,
                data: b"data",
            });
        });
        let read = one.client.call(|compound| {
            compound.op(&putfh(file)).op(&ReadArgs {
                stateid,
                offset: 0,
                count: 10,
            });
        });
        (write.status(), read.status())
    };
    assert_eq!(used(&file, read), (Nfsstat4::Openmode, Nfsstat4::Ok));
    let latest = Stateid4 { seqid: 0, ..read };
    assert_eq!(used(&file, latest).1, Nfsstat4::Ok);
    let (file, write) = one.delegated(b"w", share::BOTH);
    let mut used = |stateid: Stateid4| {
        let write = one.client.call(|compound| {
            compound.op(&putfh(&file)).op(&WriteArgs {
                stateid,
                offset: 0,
                stable: StableHow::FileSync,
                data: b"data",
            });
        });
        write.status()
    };
    assert_eq!(used(write), Nfsstat4::Ok);
    // An open by the right of the delegation gets no other one.
    let opened = one.client.call(|compound| {
        compound.op(&putfh(&file)).op(&OpenArgs {
            openhow: Openflag4::NoCreate,
            claim: OpenClaim4::DelegCurFh(write),
            ..opening(b"w", share::BOTH, 0)
        });
    });
    let open = opened.of::<OpenArgs<'_>>(2).expect("an open");
    assert_eq!(open.delegation, OpenDelegation4::None);
    let wrong = one.client.call(|compound| {
        compound.op(&putfh(&file)).op(&OpenArgs {
            openhow: Openflag4::NoCreate,
            claim: OpenClaim4::DelegCurFh(open.stateid),
            ..opening(b"w", share::BOTH, 0)
        });
    });
    assert_eq!(wrong.status(), Nfsstat4::BadStateid);
}

/// One after the other: each needs the delegation back that the first client has got again.
#[test]
fn changes_and_questions_of_others_recall_and_those_of_the_holder_do_not() {
    let server = delegating(Delegations::Write);
    let (mut one, mut two) = both(&server);
    let dir = one.client.in_export(|compound| {
        compound.op(&GetfhArgs {});
    });
    let dir = dir.of::<GetfhArgs>(3).expect("a handle").object.to_fh();
    type Use = fn(&mut Writer<'_>, &Fh4, &Fh4, &'static [u8]);
    let uses: [(Use, bool); 7] = [
        (
            |compound, _, dir, name| {
                compound.op(&putfh(dir)).op(&RemoveArgs { target: name });
            },
            true,
        ),
        (
            |compound, _, dir, name| {
                compound.op(&putfh(dir)).op(&SavefhArgs {}).op(&RenameArgs {
                    oldname: name,
                    newname: b"renamed",
                });
            },
            true,
        ),
        (
            |compound, file, dir, _| {
                compound.op(&putfh(file)).op(&SavefhArgs {});
                compound
                    .op(&putfh(dir))
                    .op(&LinkArgs { newname: b"linked" });
            },
            true,
        ),
        (
            |compound, file, _, _| {
                let values = Attributes {
                    mode: Some(0o600),
                    ..Attributes::default()
                };
                compound.op(&putfh(file)).op(&SetattrArgs {
                    stateid: Stateid4::ANONYMOUS,
                    obj_attributes: Fattr4::new(&values),
                });
            },
            true,
        ),
        (
            |compound, file, _, _| {
                compound.op(&putfh(file)).op(&WriteArgs {
                    stateid: Stateid4::ANONYMOUS,
                    offset: 0,
                    stable: StableHow::FileSync,
                    data: b"data",
                });
            },
            true,
        ),
        (
            |compound, file, _, _| {
                compound.op(&putfh(file)).op(&ReadArgs {
                    stateid: Stateid4::ANONYMOUS,
                    offset: 0,
                    count: 1,
                });
            },
            false,
        ),
        (
            |compound, file, _, _| {
                compound.op(&putfh(file)).op(&GetattrArgs {
                    attr_request: Bitmap4::of(&[Attribute::Size]),
                });
            },
            false,
        ),
    ];
    let names: [&'static [u8]; 14] = [
        b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l", b"m", b"n",
    ];
    let mut number = 0;
    for (at, (make, changes)) in uses.iter().enumerate() {
        for (access, name) in [(share::READ, names[at]), (share::BOTH, names[at + 7])] {
            let recalls = *changes || access == share::BOTH;
            let (file, stateid) = one.delegated(name, access);
            let tried = two
                .client
                .call(|compound| make(compound, &file, &dir, name));
            if !recalls {
                assert_eq!(tried.status(), Nfsstat4::Ok, "{at} {access}");
                assert!(one.is_silent());
                assert_eq!(one.returns(&file, stateid), Nfsstat4::Ok);
                continue;
            }
            assert_eq!(tried.status(), Nfsstat4::Delay, "{at} {access}");
            number += 1;
            let (xid, sent, recalled) = one.recalled();
            assert_eq!((sent, recalled), (number, stateid), "{at} {access}");
            one.answers(xid, sent, Nfsstat4::Ok);
            assert_eq!(one.returns(&file, stateid), Nfsstat4::Ok);
            let done = two
                .client
                .call(|compound| make(compound, &file, &dir, name));
            assert_eq!(done.status(), Nfsstat4::Ok, "{at} {access}");
            // The names are free for the next round.
            two.client.in_export(|compound| {
                compound.op(&RemoveArgs { target: b"renamed" });
            });
            two.client.in_export(|compound| {
                compound.op(&RemoveArgs { target: b"linked" });
            });
        }
    }
    let (_, own) = one.delegated(b"own", share::BOTH);
    let removed = one.client.in_export(|compound| {
        compound.op(&RemoveArgs { target: b"own" });
    });
    assert_eq!(removed.status(), Nfsstat4::Ok, "{own:?}");
    assert!(one.is_silent());
}

#[test]
fn a_file_that_was_recalled_is_left_alone_for_a_while() {
    let server = delegating(Delegations::Write);
    let (mut one, mut two) = both(&server);
    let (file, stateid) = one.delegated(b"f", share::READ);
    assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
    assert_eq!(one.returns(&file, stateid), Nfsstat4::Ok);
    assert_eq!(one.opens(b"f", share::READ).expect("open").1, None);
    server.wait_s(11);
    one.delegated(b"f", share::READ);
}

#[test]
fn who_does_not_return_a_delegation_has_it_revoked_and_learns_that() {
    let server = delegating(Delegations::Write);
    let (mut one, mut two) = both(&server);
    let (file, stateid) = one.delegated(b"f", share::BOTH);
    assert_eq!(two.opens(b"f", share::READ).err(), Some(Nfsstat4::Delay));
    // It renews its lease all the time, and returns nothing.
    for _ in 0..3 {
        server.wait_s(30);
        assert_eq!(one.flags(), 0);
        assert_eq!(two.opens(b"f", share::READ).err(), Some(Nfsstat4::Delay));
    }
    server.wait_s(1);
    assert_eq!(one.flags(), seq4_status::RECALLABLE_STATE_REVOKED);
    assert!(two.opens(b"f", share::READ).is_ok());
    let mut test = || {
        let tested = one.client.call(|compound| {
            compound.op(&TestStateidArgs {
                stateids: filermark_onc::xdr::Array::new(&[stateid]).expect("one"),
            });
        });
        let codes = tested.of::<TestStateidArgs<'_>>(1).expect("codes");
        codes.status_codes.iter().next()
    };
    assert_eq!(test(), Some(Nfsstat4::DelegRevoked));
    assert_eq!(one.returns(&file, stateid), Nfsstat4::DelegRevoked);
    let read = one.client.call(|compound| {
        compound.op(&putfh(&file)).op(&ReadArgs {
            stateid,
            offset: 0,
            count: 1,
        });
    });
    assert_eq!(read.status(), Nfsstat4::DelegRevoked);
    let mut free = || {
        let freed = one.client.call(|compound| {
            compound.op(&FreeStateidArgs { stateid });
        });
        freed.status()
    };
    assert_eq!((free(), free()), (Nfsstat4::Ok, Nfsstat4::BadStateid));
    assert_eq!(one.flags(), 0);
    let [_, write, recalled, returned, revoked] = counts(&server);
    assert_eq!((write, recalled, returned, revoked), (1, 1, 0, 1));
}

#[test]
fn delegations_end_with_their_client_and_hold_it_until_then() {
    let server = delegating(Delegations::Write);
    let (mut one, mut two) = both(&server);
    let (file, stateid) = one.delegated(b"f", share::BOTH);
    let held = one.client.call(|compound| {
        compound.op(&FreeStateidArgs { stateid });
    });
    assert_eq!(held.status(), Nfsstat4::LocksHeld);
    assert_eq!(one.returns(&file, stateid), Nfsstat4::Ok);
    one.delegated(b"g", share::BOTH);
    // The lease of the first client expires, and with it what it has.
    server.wait_s(60);
    assert_eq!(two.flags(), 0);
    server.wait_s(60);
    assert!(two.opens(b"g", share::READ).is_ok());
    assert_eq!(counts(&server)[4], 0);
}

#[test]
fn a_recall_goes_on_over_the_next_connection_with_the_same_number() {
    let server = delegating(Delegations::Read);
    let (mut one, mut two) = both(&server);
    let (_, stateid) = one.delegated(b"f", share::READ);
    assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
    let first = one.recalled();
    // The connection is cut, and the client is informed that it has no path.
    one.client.peer.outlet.as_ref().expect("a way").close();
    let (way, sent) = outlet();
    (one.client.peer.outlet, one.sent) = (Some(way), sent);
    let down = seq4_status::CB_PATH_DOWN | seq4_status::CB_PATH_DOWN_SESSION;
    assert_eq!(one.flags(), down);
    let sessid = one.client.session;
    let mut bind = |dir: u32| {
        let bound = one.client.alone(|compound| {
            compound.op(&BindConnToSessionArgs {
                sessid,
                dir,
                use_conn_in_rdma_mode: false,
            });
        });
        bound.of::<BindConnToSessionArgs>(0).map(|ok| ok.dir)
    };
    assert_eq!(bind(channel_dir::FORE), Ok(channel_dir::FORE));
    assert_eq!(bind(channel_dir::BOTH), Ok(channel_dir::BOTH));
    assert_eq!(one.recalled(), first);
    assert_eq!(first.2, stateid);
    assert_eq!(one.flags(), 0);
    assert_eq!(one.answers(first.0, 1, Nfsstat4::Ok), ReplyAction::Nothing);
}

#[test]
fn a_client_that_does_not_know_the_delegation_yet_is_asked_again() {
    let server = delegating(Delegations::Read);
    let (mut one, mut two) = both(&server);
    one.delegated(b"f", share::READ);
    for number in 1..4 {
        assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
        let (xid, sent, _) = one.recalled();
        assert_eq!(sent, number);
        let status = [Nfsstat4::Delay, Nfsstat4::BadStateid, Nfsstat4::Badhandle];
        one.answers(xid, sent, status[number as usize - 1]);
        assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
        assert!(one.is_silent(), "at once");
        server.wait_s(1);
    }
}

#[test]
fn replies_that_are_none_close_the_channel_and_harm_nothing() {
    for results in [
        &b""[..],
        &[0; 4],
        &[0; 12],
        &[0, 0, 0x27, 0x17, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0xff; 64],
    ] {
        let server = delegating(Delegations::Read);
        let (mut one, mut two) = both(&server);
        one.delegated(b"f", share::READ);
        // No callback is under way: such a message is garbage, as on any connection.
        assert_eq!(one.reply(1, results), ReplyAction::Close);
        assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
        let (xid, _, _) = one.recalled();
        // A call that was never made, and the reply of another client.
        assert_eq!(one.reply(xid ^ 1, results), ReplyAction::Nothing);
        assert_eq!(two.reply(xid, results), ReplyAction::Close);
        assert_eq!(one.flags(), 0);
        assert_eq!(one.reply(xid, results), ReplyAction::Nothing);
        assert_eq!(one.flags(), seq4_status::BACKCHANNEL_FAULT, "{results:?}");
        // Without a channel there are no delegations, and the recall ends with the lease.
        assert_eq!(one.opens(b"g", share::READ).expect("open").1, None);
        server.wait_s(1);
        assert_eq!(two.opens(b"f", share::BOTH).err(), Some(Nfsstat4::Delay));
        assert!(one.is_silent());
    }
}

#[test]
fn recalls_of_many_files_go_one_after_the_other() {
    let server = delegating(Delegations::Read);
    let (mut one, mut two) = both(&server);
    for name in [b"a", b"b", b"c"] {
        one.delegated(name, share::READ);
    }
    for name in [b"a", b"b", b"c"] {
        assert_eq!(two.opens(name, share::BOTH).err(), Some(Nfsstat4::Delay));
    }
    for number in 1..=3 {
        let (xid, sent, _) = one.recalled();
        assert_eq!(sent, number);
        one.answers(xid, sent, Nfsstat4::Ok);
    }
    assert!(one.is_silent());
}

//! Delegations over real connections: callbacks in the clear and with TLS, from one thread to another.

use crate::client::{Client, auth, server};
use filermark_onc::nfs3;
use filermark_onc::nfs4::callback::{self, CbRecallArgs, CbSequenceArgs, CbSequenceOk};
use filermark_onc::nfs4::*;
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{CallHeader, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Decode, Decoder};
use filermark_server::{Delegations, RunningServer};
use std::time::Duration;

const ASKED: ChannelAttrs4 = ChannelAttrs4 {
    headerpadsize: 0,
    maxrequestsize: 1 << 16,
    maxresponsesize: 1 << 16,
    maxresponsesize_cached: 4096,
    maxoperations: 16,
    maxrequests: 4,
    rdma_ird: None,
};

/// A client with a session on one connection.
struct User {
    client: Client,
    session: Sessionid4,
    sequenceid: u32,
    /// Callbacks that came in front of a reply.
    callbacks: Vec<Vec<u8>>,
}

impl User {
    fn new(server: &RunningServer, name: &[u8]) -> User {
        let mut user = User {
            client: Client::connect(server.addrs()[0]),
            session: [0; 16],
            sequenceid: 0,
            callbacks: Vec::new(),
        };
        let reply = user.compound(|compound| {
            compound.op(&ExchangeIdArgs {
                clientowner: ClientOwner4 {
                    verifier: [1; 8],
                    ownerid: name,
                },
                flags: 0,
                state_protect: StateProtect4A::None,
                client_impl_id: None,
            });
        });
        let clientid = of::<ExchangeIdArgs<'_>, _>(&reply, 0, |res| res.expect("an ID").clientid);
        let reply = user.compound(|compound| {
            compound.op(&CreateSessionArgs {
                clientid,
                sequence: 1,
                flags: create_session::CONN_BACK_CHAN,
                fore_chan_attrs: ASKED,
                back_chan_attrs: ASKED,
                cb_program: 0x4000_0001,
                sec_parms: SecParms::new(&[CallbackSecParms4::None]).expect("one"),
            });
        });
        user.session = of::<CreateSessionArgs<'_>, _>(&reply, 0, |res| {
            let ok = res.expect("a session");
            assert_eq!(ok.flags, create_session::CONN_BACK_CHAN);
            ok.sessionid
        });
        user.call(|compound| {
            compound.op(&ReclaimCompleteArgs { one_fs: false });
        });
        user
    }

    /// Sends a COMPOUND; the results of its reply.
    fn compound(&mut self, write: impl FnOnce(&mut CompoundWriter<'_, Operation>)) -> Vec<u8> {
        self.client.xid += 1;
        let (xid, cred) = (self.client.xid, auth(0, 0, &[]));
        let mut bytes = Vec::new();
        let template = CallTemplate::new(PROGRAM, VERSION, cred.as_auth());
        let record = template.begin(&mut bytes, xid, PROC_COMPOUND);
        let mut compound = CompoundWriter::begin(&mut bytes, b"", 1);
        write(&mut compound);
        compound.finish();
        record.finish(&mut bytes);
        self.client.send(&bytes);
        loop {
            let record = self.client.receive().expect("a reply");
            if record[4..8] == [0; 4] {
                self.callbacks.push(record);
                continue;
            }
            let mut d = Decoder::new(&record);
            let header = ReplyHeader::decode(&mut d).expect("a reply");
            assert_eq!(header.xid, xid);
            header.check().expect("accepted");
            return d.rest().to_vec();
        }
    }

    fn call(&mut self, write: impl FnOnce(&mut CompoundWriter<'_, Operation>)) -> Vec<u8> {
        self.sequenceid += 1;
        let sequence = SequenceArgs {
            sessionid: self.session,
            sequenceid: self.sequenceid,
            slotid: 0,
            highest_slotid: 0,
            cachethis: false,
        };
        self.compound(|compound| {
            compound.op(&sequence);
            write(compound);
        })
    }

    /// OPEN: the status, and the delegation with the handle.
    fn opens(&mut self, name: &[u8], access: u32) -> Result<Option<(Fh4, Stateid4)>, Nfsstat4> {
        let none = Attributes::default();
        let reply = self.call(|compound| {
            compound.op(&PutrootfhArgs {});
            compound.op(&LookupArgs { objname: b"export" });
            compound.op(&OpenArgs {
                seqid: 0,
                share_access: access,
                share_deny: 0,
                owner: StateOwner4 {
                    clientid: 0,
                    owner: b"owner",
                },
                openhow: Openflag4::Create(Createhow4::Unchecked(Fattr4::new(&none))),
                claim: OpenClaim4::Null(name),
            });
            compound.op(&GetfhArgs {});
        });
        let opened = of::<OpenArgs<'_>, _>(&reply, 3, |res| {
            res.map(|ok| match ok.delegation {
                OpenDelegation4::Read(given) => Some(given.stateid),
                OpenDelegation4::Write(given) => Some(given.stateid),
                _ => None,
            })
        })?;
        let file = of::<GetfhArgs, _>(&reply, 4, |res| res.expect("a handle").object.to_fh());
        Ok(opened.map(|stateid| (file, stateid)))
    }

    /// The next callback: waits for it, answers it, and returns the stateid recalled.
    fn recalled(&mut self) -> Stateid4 {
        let record = match self.callbacks.pop() {
            Some(record) => record,
            None => self.client.receive().expect("a callback"),
        };
        let mut d = Decoder::new(&record);
        let header = CallHeader::decode(&mut d).expect("a call");
        let mut args = CompoundArgs::<callback::Operation>::decode_callback(&mut d).expect("args");
        let Some(Ok(callback::Args::Sequence(sequence))) = args.next() else {
            panic!("no CB_SEQUENCE");
        };
        let Some(Ok(callback::Args::Recall(recall))) = args.next() else {
            panic!("no CB_RECALL");
        };
        let mut bytes = Vec::new();
        let open = OpenRecord::begin(&mut bytes);
        ReplyHeader::encode_success(&mut bytes, header.xid);
        let mut results = CompoundResWriter::<callback::Operation>::begin(&mut bytes, b"");
        results.result::<CbSequenceArgs<'_>>(&Ok(CbSequenceOk {
            sessionid: sequence.sessionid,
            sequenceid: sequence.sequenceid,
            slotid: 0,
            highest_slotid: 0,
            target_highest_slotid: 0,
        }));
        results.result::<CbRecallArgs<'_>>(&Ok(()));
        results.finish();
        open.finish(&mut bytes);
        self.client.send(&bytes);
        recall.stateid
    }

    fn returns(&mut self, file: &Fh4, stateid: Stateid4) {
        let reply = self.call(|compound| {
            compound.op(&PutfhArgs {
                object: file.handle(),
            });
            compound.op(&DelegreturnArgs {
                deleg_stateid: stateid,
            });
        });
        of::<DelegreturnArgs, _>(&reply, 2, |res| res.expect("returned"));
    }
}

fn of<A: Arguments<Operation = Operation>, R>(
    reply: &[u8],
    at: usize,
    look: impl FnOnce(A::Res<'_>) -> R,
) -> R {
    let mut res = CompoundRes::<Operation>::decode(&mut Decoder::new(reply)).expect("a COMPOUND");
    for _ in 0..at {
        res.next().expect("results").expect("decoded");
    }
    look(res.read::<A>().expect("results"))
}

fn delegating() -> RunningServer {
    server(|options| options.delegations = Delegations::Write)
}

#[test]
fn two_clients_recall_the_delegations_of_each_other() {
    let server = delegating();
    // The connections are served by both threads in turn.
    let (mut one, mut two) = (User::new(&server, b"one"), User::new(&server, b"two"));
    let mine = one
        .opens(b"a", share::BOTH)
        .expect("open")
        .expect("a delegation");
    let theirs = two
        .opens(b"b", share::READ)
        .expect("open")
        .expect("a delegation");
    assert_eq!(two.opens(b"a", share::READ), Err(Nfsstat4::Delay));
    assert_eq!(one.opens(b"b", share::BOTH), Err(Nfsstat4::Delay));
    assert_eq!(one.recalled(), mine.1);
    assert_eq!(two.recalled(), theirs.1);
    one.returns(&mine.0, mine.1);
    two.returns(&theirs.0, theirs.1);
    assert_eq!(two.opens(b"a", share::READ), Ok(None));
    assert_eq!(one.opens(b"b", share::BOTH), Ok(None));
    let stats = server.stop();
    assert_eq!((stats.delegations_read, stats.delegations_write), (1, 1));
    assert_eq!(
        (stats.delegations_recalled, stats.delegations_returned),
        (2, 2)
    );
    assert_eq!(stats.delegations_revoked, 0);
}

/// A client of version 3 changes a file while one of version 4 has a delegation of it.
#[test]
fn calls_of_version_3_recall_delegations() {
    let server = delegating();
    let mut one = User::new(&server, b"one");
    let (file, stateid) = one
        .opens(b"a", share::BOTH)
        .expect("open")
        .expect("a delegation");
    let (mut old, root) = Client::mounted(&server);
    let object = old.lookup(root, "a").expect("a handle");
    let stable = nfs3::StableHow::FileSync;
    let early = old.write(object, 0, b"data", stable);
    let status = early.map(drop).map_err(|failed| failed.status);
    assert_eq!(status, Err(nfs3::Nfsstat3::Jukebox));
    assert_eq!(old.getattr(object).err(), Some(nfs3::Nfsstat3::Jukebox));
    assert_eq!(one.recalled(), stateid);
    one.returns(&file, stateid);
    assert!(old.write(object, 0, b"data", stable).is_ok());
    assert_eq!(old.getattr(object).expect("attributes").size, 4);
    assert_eq!(server.stop().delegations_recalled, 1);
}

#[test]
fn a_connection_that_is_cut_in_a_recall_leaves_the_server_at_work() {
    let server = delegating();
    let (mut one, mut two) = (User::new(&server, b"one"), User::new(&server, b"two"));
    let (file, stateid) = one
        .opens(b"a", share::READ)
        .expect("open")
        .expect("a delegation");
    assert_eq!(two.opens(b"a", share::BOTH), Err(Nfsstat4::Delay));
    // It has the callback, does not answer it, and comes back on another connection.
    one.client = Client::connect(server.addrs()[0]);
    while server.stats().connections < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let session = one.session;
    let reply = one.compound(|compound| {
        compound.op(&BindConnToSessionArgs {
            sessid: session,
            dir: channel_dir::BOTH,
            use_conn_in_rdma_mode: false,
        });
    });
    of::<BindConnToSessionArgs, _>(&reply, 0, |res| {
        assert_eq!(res.expect("bound").dir, channel_dir::BOTH);
    });
    // Whether the server has noticed the end of the first one yet is a matter of time.
    let mut asked = 0;
    while one.callbacks.is_empty() && asked < 2000 {
        assert_eq!(two.opens(b"a", share::BOTH), Err(Nfsstat4::Delay));
        one.call(|_| {});
        asked += 1;
    }
    assert_eq!(one.recalled(), stateid);
    one.returns(&file, stateid);
    assert_eq!(two.opens(b"a", share::BOTH), Ok(None));
}

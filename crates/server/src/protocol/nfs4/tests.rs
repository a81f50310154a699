//! Version 4 without sockets and without a real clock: records in, replies out.

mod cache;
mod delegations;
mod files;
mod hostile;
mod limits;
mod offloads;
mod version40;

use super::super::context::{Peer, ReplyAction, Service, Shared};
use crate::memfs::FileId;
use crate::nfs4::Clock;
use crate::options::ServerOptions;
use crate::stats::{Counters, ServerStats};
use filermark_onc::nfs4::*;
use filermark_onc::rpc::{AuthSys, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Decode, Decoder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SECOND_NS: u64 = 1_000_000_000;

/// A server whose clock tests set.
struct Server {
    shared: Arc<Shared>,
    counters: Arc<Counters>,
}

fn server(edit: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::default();
    edit(&mut options);
    let mut shared = Shared::new(options, 0);
    shared.nfs4.clock = Clock::Manual(AtomicU64::new(1000 * SECOND_NS));
    Server {
        shared: Arc::new(shared),
        counters: Arc::default(),
    }
}

impl Server {
    /// Time passes.
    fn wait_s(&self, seconds: u64) {
        let Clock::Manual(now_ns) = &self.shared.nfs4.clock else {
            panic!("a real clock");
        };
        now_ns.fetch_add(seconds * SECOND_NS, Ordering::Relaxed);
    }

    fn stats(&self) -> ServerStats {
        let mut stats = ServerStats::default();
        stats.add(&self.counters);
        stats
    }
}

/// A reply: what becomes of it, and the results of its COMPOUND.
#[derive(Debug)]
struct Answer {
    action: ReplyAction,
    results: Vec<u8>,
}

impl Answer {
    fn status(&self) -> Nfsstat4 {
        let res = CompoundRes::<Operation>::decode(&mut Decoder::new(&self.results));
        res.expect("a COMPOUND").status
    }

    /// The results of the operation at this place; SEQUENCE is at 0.
    fn of<A: Arguments<Operation = Operation>>(&self, at: usize) -> A::Res<'_> {
        let res = CompoundRes::<Operation>::decode(&mut Decoder::new(&self.results));
        let mut res = res.expect("a COMPOUND");
        for _ in 0..at {
            res.next().expect("results").expect("decoded");
        }
        res.read::<A>().expect("results")
    }
}

/// A client with one session. It uses slot 0.
struct Client {
    service: Service,
    peer: Peer,
    uid: u32,
    minor: u32,
    xid: u32,
    clientid: Clientid4,
    session: Sessionid4,
    /// Of the last request.
    sequenceid: u32,
    /// Whether sessions have a channel for callbacks.
    flags: u32,
}

/// What is asked for of a session.
const ASKED: ChannelAttrs4 = ChannelAttrs4 {
    headerpadsize: 0,
    maxrequestsize: 1 << 20,
    maxresponsesize: 1 << 20,
    maxresponsesize_cached: 4096,
    maxoperations: 16,
    maxrequests: 4,
    rdma_ird: None,
};

type Writer<'o> = CompoundWriter<'o, Operation>;

impl Client {
    /// Without a session.
    fn connect(server: &Server) -> Client {
        Client {
            service: Service::new(server.shared.clone(), server.counters.clone()),
            peer: Peer {
                client: [127, 0, 0, 1].into(),
                udp_port: None,
                local: ([127, 0, 0, 1], 2049).into(),
                session: Arc::default(),
                is_secured: false,
                outlet: None,
            },
            uid: 0,
            minor: 2,
            xid: 0,
            clientid: 0,
            session: [0; 16],
            sequenceid: 0,
            flags: 0,
        }
    }

    fn new(server: &Server, name: &[u8]) -> Client {
        Client::asking(server, name, ASKED)
    }

    fn asking(server: &Server, name: &[u8], asked: ChannelAttrs4) -> Client {
        Client::connect(server).set_up(name, asked)
    }

    fn set_up(self, name: &[u8], asked: ChannelAttrs4) -> Client {
        let mut client = self;
        let sequence = client.exchange(name, 1);
        client.create_session(sequence, asked);
        let done = client.call(|compound| {
            compound.op(&ReclaimCompleteArgs { one_fs: false });
        });
        assert_eq!(done.status(), Nfsstat4::Ok);
        client
    }

    /// EXCHANGE_ID; returns the number for CREATE_SESSION.
    fn exchange(&mut self, name: &[u8], verifier: u8) -> u32 {
        let answer = self.alone(|compound| {
            compound.op(&ExchangeIdArgs {
                clientowner: ClientOwner4 {
                    verifier: [verifier; 8],
                    ownerid: name,
                },
                flags: 0,
                state_protect: StateProtect4A::None,
                client_impl_id: None,
            });
        });
        let ok = answer.of::<ExchangeIdArgs<'_>>(0).expect("a client ID");
        self.clientid = ok.clientid;
        ok.sequenceid
    }

    fn create_session(&mut self, sequence: u32, asked: ChannelAttrs4) -> ChannelAttrs4 {
        let (clientid, flags) = (self.clientid, self.flags);
        let answer = self.alone(|compound| {
            compound.op(&CreateSessionArgs {
                clientid,
                sequence,
                flags,
                fore_chan_attrs: asked,
                back_chan_attrs: asked,
                cb_program: 0x4000_0000,
                sec_parms: SecParms::new(&[CallbackSecParms4::None]).expect("one"),
            });
        });
        let ok = answer.of::<CreateSessionArgs<'_>>(0).expect("a session");
        self.session = ok.sessionid;
        self.sequenceid = 0;
        ok.fore_chan_attrs
    }

    /// The arguments of a COMPOUND.
    fn written(&self, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut args = Vec::new();
        let mut compound = Writer::begin(&mut args, b"tag", self.minor);
        write(&mut compound);
        compound.finish();
        args
    }

    /// Sends the arguments of a COMPOUND.
    fn send(&mut self, args: &[u8]) -> Answer {
        self.xid += 1;
        let cred = AuthSys::new(0, b"test", self.uid, 0, &[]).to_body();
        let template = CallTemplate::new(PROGRAM, VERSION, cred.as_auth());
        let mut record = Vec::new();
        let open = template.begin(&mut record, self.xid, PROC_COMPOUND);
        record.extend_from_slice(args);
        open.finish(&mut record);
        let mut out = Vec::new();
        let action = self.service.serve(&record[4..], &self.peer, &mut out);
        let mut d = Decoder::new(&out[4..]);
        let header = ReplyHeader::decode(&mut d).expect("a reply");
        header.check().expect("accepted");
        let results = d.rest().to_vec();
        Answer { action, results }
    }

    /// A COMPOUND without SEQUENCE.
    fn alone(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Answer {
        let args = self.written(write);
        self.send(&args)
    }

    fn sequence(&self, cachethis: bool) -> SequenceArgs {
        SequenceArgs {
            sessionid: self.session,
            sequenceid: self.sequenceid + 1,
            slotid: 0,
            highest_slotid: 0,
            cachethis,
        }
    }

    /// A COMPOUND whose reply is kept, and its bytes.
    fn call_and_bytes(
        &mut self,
        cachethis: bool,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> (Answer, Vec<u8>) {
        let sequence = self.sequence(cachethis);
        let args = self.written(|compound| {
            compound.op(&sequence);
            write(compound);
        });
        self.sequenceid += 1;
        (self.send(&args), args)
    }

    fn call(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Answer {
        self.call_and_bytes(true, write).0
    }

    /// A COMPOUND in the exported directory, which must succeed up to there.
    fn in_export(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Answer {
        self.call(|compound| {
            export(compound);
            write(compound);
        })
    }

    /// OPEN of a name in the export, created if need be: the answer, with OPEN at 3 and GETFH at 4.
    fn open(&mut self, name: &[u8], access: u32, deny: u32) -> Answer {
        self.in_export(|compound| {
            compound.op(&opening(name, access, deny));
            compound.op(&GetfhArgs {});
        })
    }

    /// A file that is open for reading and writing.
    fn opened(&mut self, name: &[u8]) -> (Fh4, Stateid4) {
        let answer = self.open(name, share::BOTH, 0);
        let stateid = answer.of::<OpenArgs<'_>>(3).expect("an open").stateid;
        let file = answer.of::<GetfhArgs>(4).expect("a handle").object.to_fh();
        (file, stateid)
    }
}

/// To the exported directory: two operations.
fn export(compound: &mut Writer<'_>) {
    compound.op(&PutrootfhArgs {});
    compound.op(&LookupArgs { objname: b"export" });
}

fn putfh(file: &Fh4) -> PutfhArgs<'_> {
    PutfhArgs {
        object: file.handle(),
    }
}

fn opening(name: &[u8], access: u32, deny: u32) -> OpenArgs<'_> {
    static NONE: std::sync::LazyLock<Attributes<'static>> =
        std::sync::LazyLock::new(Attributes::default);
    OpenArgs {
        seqid: 0,
        share_access: access,
        share_deny: deny,
        owner: StateOwner4 {
            clientid: 0,
            owner: b"owner",
        },
        openhow: Openflag4::Create(Createhow4::Unchecked(Fattr4::new(&NONE))),
        claim: OpenClaim4::Null(name),
    }
}

/// The object with this name in the export.
fn exists(server: &Server, name: &[u8]) -> Option<FileId> {
    let fs = &server.shared.fs;
    let found = fs.lookup(fs.root(), name, &crate::memfs::Cred::ROOT).1;
    found.ok().map(|found| found.id)
}

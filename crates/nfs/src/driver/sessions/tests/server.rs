//! A server of NFSv4 for tests (`server40`: what version 4.0 has): sessions with slots and kept replies, opens, files without
//! contents of their own. A script changes what it does with each COMPOUND of a session.

use super::server_layouts::LayoutServer;
use super::server40::State40;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;
use filermark_onc::record::{RecordReader, append_fragments};
use filermark_onc::rpc::{CallHeader, ReplyHeader};
use filermark_onc::xdr::{Decoder, Encoder};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// What the server does with a COMPOUND.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// What a correct server does.
    Good,
    /// SEQUENCE is answered with this.
    Sequence(Nfsstat4),
    /// The same, although the server has counted the call.
    Used(Nfsstat4),
    /// The operation at this place is answered with this, and those before it are executed.
    Fail(usize, Nfsstat4),
    /// It is executed, and the connection ends without a reply.
    CloseAfter,
    /// The connection ends before it is executed.
    CloseBefore,
    /// The COMPOUND fails before SEQUENCE.
    Bare(Nfsstat4),
    /// The reply has no results.
    Garbage,
    /// No reply.
    Silent,
    /// This record is sent before the reply.
    Call(Vec<u8>),
    /// `sr_target_highest_slotid` and `sr_status_flags` of the reply.
    Target(u32, u32),
    /// All sessions, and with `true` all clients and opens, are lost before it.
    Forget(bool),
}

/// A COMPOUND of a session as a script sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Number of the COMPOUND, from 0.
    pub(super) nth: usize,
    /// The number of its connection, from 0.
    pub(super) conn: usize,
    /// Its operations behind SEQUENCE.
    pub(super) ops: Vec<Operation>,
}

impl Seen {
    pub(super) fn has(&self, operation: Operation) -> bool {
        self.ops.contains(&operation)
    }
}

/// The state of every copy that goes on after the reply.
pub(super) const COPYING: Stateid4 = Stateid4 {
    seqid: 1,
    other: [5; 12],
};

type Script = dyn FnMut(&Seen) -> Deed + Send;

struct Slot {
    sequenceid: u32,
    /// The last reply, if it was to be kept.
    kept: Option<Vec<u8>>,
}

struct SessionState {
    clientid: u64,
    slots: Vec<Slot>,
}

/// What the server has and has seen.
pub(super) struct State {
    pub(super) script: Box<Script>,
    /// The minor version of all calls.
    pub(super) minor: MinorVersion,
    /// Slots that are granted.
    pub(super) slots: u32,
    pub(super) next: u64,
    pub(super) clients: BTreeSet<u64>,
    sessions: BTreeMap<Sessionid4, SessionState>,
    /// What is open: state and owner.
    pub(super) opens: BTreeMap<[u8; 12], Vec<u8>>,
    /// What only version 4.0 has.
    pub(super) v40: State40,
    /// COMPOUNDs that were executed, with the operations behind SEQUENCE.
    pub(super) executed: Vec<Vec<Operation>>,
    /// Operations outside of sessions.
    pub(super) single: Vec<Operation>,
    /// Retries that were answered from what was kept.
    pub(super) replays: usize,
    /// Messages of the client that are answers to callbacks.
    pub(super) answers: Vec<Vec<u8>>,
    /// Replies are kept, if the client wants it.
    pub(super) keeps: bool,
    /// A reply that was not kept is reported by the operation behind SEQUENCE.
    pub(super) reports_behind: bool,
    /// How safe WRITEs are answered.
    pub(super) stable: StableHow,
    pub(super) most_open: usize,
    /// Of each COPY, whether its reply had to wait for the copy.
    pub(super) copies: Vec<bool>,
    /// What OFFLOAD_STATUS says next: the bytes, and how the copy has ended.
    pub(super) progress: VecDeque<Result<(u64, Option<Nfsstat4>), Nfsstat4>>,
    /// The write verifier.
    pub(super) verf: [u8; 8],
    /// The handle that each state was opened with.
    pub(super) files: BTreeMap<[u8; 12], Vec<u8>>,
    /// What it has of pNFS.
    pub(super) layouts: LayoutServer,
    /// Delegations that OPEN grants, as far as they are wanted: for reading, or with `true` for writing.
    pub(super) grants: Option<bool>,
    /// Delegations that are held, with the handles of their files.
    pub(super) delegations: BTreeMap<[u8; 12], Vec<u8>>,
    /// The stateids of READs, also of those without an answer.
    pub(super) read_with: Vec<[u8; 12]>,
    /// Delegations whose revocation was confirmed.
    pub(super) freed: usize,
    /// CLOSEs with a state of another file.
    pub(super) wrong_handles: usize,
    pub(super) seen: usize,
    /// The connection whose message is being answered.
    pub(super) present: usize,
    /// The connections that the COMPOUNDs of `executed` came over.
    pub(super) executed_on: Vec<usize>,
    /// Which connections are bound to which sessions.
    bound: BTreeSet<(usize, Sessionid4)>,
    /// BIND_CONN_TO_SESSION is refused with this.
    pub(super) bind_refusal: Option<Nfsstat4>,
    streams: Vec<TcpStream>,
    is_over: bool,
}

/// The server. Dropping it stops it.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(slots: u32, script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(Mutex::new(State {
            script: Box::new(script),
            minor: MinorVersion::V1,
            slots,
            next: 1,
            clients: BTreeSet::new(),
            sessions: BTreeMap::new(),
            opens: BTreeMap::new(),
            v40: State40::default(),
            executed: Vec::new(),
            single: Vec::new(),
            replays: 0,
            answers: Vec::new(),
            keeps: true,
            reports_behind: false,
            stable: StableHow::FileSync,
            most_open: 0,
            verf: [1; 8],
            copies: Vec::new(),
            progress: VecDeque::new(),
            files: BTreeMap::new(),
            layouts: LayoutServer::default(),
            grants: None,
            delegations: BTreeMap::new(),
            read_with: Vec::new(),
            freed: 0,
            wrong_handles: 0,
            seen: 0,
            present: 0,
            executed_on: Vec::new(),
            bound: BTreeSet::new(),
            bind_refusal: None,
            streams: Vec::new(),
            is_over: false,
        }));
        let of_thread = state.clone();
        let acceptor = thread::spawn(move || accept(&listener, &of_thread));
        Self {
            address,
            state,
            acceptor: Some(acceptor),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic before")
    }

    /// The state, also after the end of the server.
    pub(super) fn state_of(&self) -> Arc<Mutex<State>> {
        self.state.clone()
    }

    /// How many executed COMPOUNDs had this operation.
    pub(super) fn count(&self, operation: Operation) -> usize {
        let state = self.state();
        let compounds = state.executed.iter();
        compounds
            .filter(|compound| compound.contains(&operation))
            .count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            state.is_over = true;
            for stream in state.streams.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<Mutex<State>>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { return };
        let _ = stream.set_nodelay(true);
        let Ok(mut locked) = state.lock() else { return };
        if locked.is_over {
            return;
        }
        let number = locked.streams.len();
        let copy = stream.try_clone().expect("files are left");
        locked.streams.push(copy);
        drop(locked);
        let state = state.clone();
        thread::spawn(move || serve(stream, number, &state));
    }
}

fn serve(mut stream: TcpStream, number: usize, state: &Mutex<State>) {
    let mut reader = RecordReader::new(64 << 20);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let Ok(n @ 1..) = stream.read(&mut buffer) else {
            return;
        };
        let mut input = &buffer[..n];
        while let Some(record) = reader.next_record(&mut input).expect("records") {
            let Ok(mut state) = state.lock() else { return };
            state.present = number;
            let Some(messages) = state.message(record) else {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            };
            drop(state);
            let mut out = Vec::new();
            for message in messages {
                append_fragments(&mut out, &message, usize::MAX);
            }
            if stream.write_all(&out).is_err() {
                return;
            }
        }
    }
}

impl State {
    /// The answers to a message; `None`: the connection ends.
    fn message(&mut self, record: &[u8]) -> Option<Vec<Vec<u8>>> {
        if record[4..8] == [0, 0, 0, 1] {
            self.answers.push(record.to_vec());
            return Some(Vec::new());
        }
        let mut d = Decoder::new(record);
        let header = CallHeader::decode(&mut d).expect("a call");
        assert_eq!((header.prog, header.vers), (PROGRAM, VERSION));
        let mut reply = Vec::new();
        ReplyHeader::encode_success(&mut reply, header.xid);
        if header.proc == PROC_NULL {
            return Some(vec![reply]);
        }
        let args = CompoundArgs::decode(&mut d).expect("a COMPOUND");
        assert_eq!(args.minorversion, self.minor.number());
        let ops: Vec<Args<'_>> = args.map(|op| op.expect("sound arguments")).collect();
        if !self.minor.has_sessions() {
            return self.without_session(&ops, reply);
        }
        let Some((Args::Sequence(sequence), rest)) = ops.split_first() else {
            assert_eq!(ops.len(), 1, "alone: {ops:?}");
            self.outside(&ops[0], &mut reply);
            return Some(vec![reply]);
        };
        self.in_session(sequence, rest, reply)
    }

    fn outside(&mut self, op: &Args<'_>, out: &mut Vec<u8>) {
        self.single.push(op.operation());
        let mut compound = CompoundResWriter::begin(out, b"");
        match op {
            Args::ExchangeId(args) => {
                let clientid = self.next;
                self.next += 1;
                self.clients.insert(clientid);
                compound.result::<ExchangeIdArgs<'_>>(&Ok(ExchangeIdOk {
                    clientid,
                    sequenceid: 1,
                    flags: self.layouts.roles(args.flags),
                    state_protect: StateProtect4R::None,
                    server_owner: ServerOwner4 {
                        minor_id: 0,
                        major_id: b"fake",
                    },
                    server_scope: b"fake",
                    server_impl_id: None,
                }));
            }
            Args::CreateSession(args) => {
                if !self.clients.contains(&args.clientid) {
                    compound.fail(Operation::CreateSession, Nfsstat4::StaleClientid);
                } else {
                    let session = self.create_session(args);
                    compound.result::<CreateSessionArgs<'_>>(&Ok(session));
                }
            }
            Args::BindConnToSession(args) => {
                if let Some(status) = self.bind_refusal {
                    compound.fail(Operation::BindConnToSession, status);
                } else if self.sessions.contains_key(&args.sessid) {
                    self.bound.insert((self.present, args.sessid));
                    compound.result::<BindConnToSessionArgs>(&Ok(BindConnToSessionOk {
                        sessid: args.sessid,
                        dir: args.dir,
                        use_conn_in_rdma_mode: false,
                    }));
                } else {
                    compound.fail(Operation::BindConnToSession, Nfsstat4::Badsession);
                }
            }
            Args::DestroySession(args) => {
                match self.sessions.remove(&args.sessionid) {
                    Some(_) => compound.result::<DestroySessionArgs>(&Ok(())),
                    None => compound.fail(Operation::DestroySession, Nfsstat4::Badsession),
                };
            }
            Args::DestroyClientid(args) => {
                let is_busy = self.sessions.values().any(|s| s.clientid == args.clientid)
                    || !self.opens.is_empty() && self.clients.len() == 1;
                match is_busy {
                    true => compound.fail(Operation::DestroyClientid, Nfsstat4::ClientidBusy),
                    false => {
                        self.clients.remove(&args.clientid);
                        compound.result::<DestroyClientidArgs>(&Ok(()))
                    }
                };
            }
            other => panic!("{other:?} without SEQUENCE"),
        }
        compound.finish();
    }

    fn create_session(&mut self, args: &CreateSessionArgs<'_>) -> CreateSessionOk {
        let mut sessionid = [0; 16];
        sessionid[..8].copy_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        let slots = self.slots.min(args.fore_chan_attrs.maxrequests);
        let slot = |_| Slot {
            sequenceid: 0,
            kept: None,
        };
        let session = SessionState {
            clientid: args.clientid,
            slots: (0..slots).map(slot).collect(),
        };
        self.sessions.insert(sessionid, session);
        self.bound.insert((self.present, sessionid));
        CreateSessionOk {
            sessionid,
            sequence: args.sequence,
            flags: 0,
            fore_chan_attrs: ChannelAttrs4 {
                maxrequests: slots,
                ..args.fore_chan_attrs
            },
            back_chan_attrs: args.back_chan_attrs,
        }
    }

    /// A COMPOUND of a session; `None`: the connection ends.
    fn in_session(
        &mut self,
        sequence: &SequenceArgs,
        rest: &[Args<'_>],
        mut reply: Vec<u8>,
    ) -> Option<Vec<Vec<u8>>> {
        let header = reply.clone();
        let ops: Vec<Operation> = rest.iter().map(Args::operation).collect();
        let reads = rest.iter().filter_map(|args| match args {
            Args::Read(args) => Some(args.stateid.other),
            _ => None,
        });
        self.read_with.extend(reads);
        // RECLAIM_COMPLETE belongs to the set-up.
        let is_set_up = ops.first() == Some(&Operation::ReclaimComplete);
        let seen = Seen {
            nth: self.seen,
            conn: self.present,
            ops: ops.clone(),
        };
        let deed = match is_set_up {
            true => Deed::Good,
            false => {
                self.seen += 1;
                (self.script)(&seen)
            }
        };
        match deed {
            Deed::CloseBefore => return None,
            Deed::Silent => return Some(Vec::new()),
            Deed::Garbage => return Some(vec![reply]),
            Deed::Forget(all) => {
                self.sessions.clear();
                if all {
                    self.clients.clear();
                    self.opens.clear();
                }
            }
            _ => {}
        }
        let slots = self.slots;
        let mut compound = CompoundResWriter::<Operation>::begin(&mut reply, b"");
        if let Deed::Bare(status) = deed {
            compound.finish_as(status);
            return Some(vec![reply]);
        }
        if let Deed::Sequence(status) = deed {
            compound.fail(Operation::Sequence, status);
            compound.finish();
            return Some(vec![reply]);
        }
        let checked = self.check_sequence(sequence);
        if let Deed::Used(status) = deed {
            compound.fail(Operation::Sequence, status);
            compound.finish();
            return Some(vec![reply]);
        }
        match checked {
            Checked::New => {}
            Checked::Failed(status) => {
                match rest.first().filter(|_| self.reports_behind) {
                    Some(next) if status == Nfsstat4::RetryUncachedRep => {
                        compound.result::<SequenceArgs>(&Ok(SequenceOk {
                            sessionid: sequence.sessionid,
                            sequenceid: sequence.sequenceid,
                            slotid: sequence.slotid,
                            highest_slotid: slots - 1,
                            target_highest_slotid: slots - 1,
                            status_flags: 0,
                        }));
                        compound.fail(next.operation(), status);
                    }
                    _ => {
                        compound.fail(Operation::Sequence, status);
                    }
                }
                compound.finish();
                return Some(vec![reply]);
            }
            Checked::Kept(kept) => {
                self.replays += 1;
                let whole = [&header[..], &kept[..]].concat();
                return Some(vec![whole]);
            }
        }
        let (target, flags) = match deed {
            Deed::Target(target, flags) => (target, flags),
            _ => (slots - 1, 0),
        };
        compound.result::<SequenceArgs>(&Ok(SequenceOk {
            sessionid: sequence.sessionid,
            sequenceid: sequence.sequenceid,
            slotid: sequence.slotid,
            highest_slotid: slots - 1,
            target_highest_slotid: target,
            status_flags: flags,
        }));
        self.executed.push(ops);
        self.executed_on.push(self.present);
        let mut current: Vec<u8> = Vec::new();
        for (at, op) in rest.iter().enumerate() {
            let status = match deed {
                Deed::Fail(place, status) if place == at => compound.fail(op.operation(), status),
                _ => self.execute(op, &mut current, &mut compound),
            };
            if status != Nfsstat4::Ok {
                break;
            }
        }
        compound.finish();
        let session = self.sessions.get_mut(&sequence.sessionid)?;
        let slot = &mut session.slots[sequence.slotid as usize];
        slot.kept = (sequence.cachethis && self.keeps).then(|| reply[header.len()..].to_vec());
        match deed {
            Deed::CloseAfter => None,
            Deed::Call(call) => Some(vec![call, reply]),
            _ => Some(vec![reply]),
        }
    }

    fn check_sequence(&mut self, args: &SequenceArgs) -> Checked {
        let Some(session) = self.sessions.get_mut(&args.sessionid) else {
            return Checked::Failed(Nfsstat4::Badsession);
        };
        if !self.bound.contains(&(self.present, args.sessionid)) {
            return Checked::Failed(Nfsstat4::ConnNotBoundToSession);
        }
        let Some(slot) = session.slots.get_mut(args.slotid as usize) else {
            return Checked::Failed(Nfsstat4::Badslot);
        };
        if args.sequenceid == slot.sequenceid {
            return match &slot.kept {
                Some(kept) => Checked::Kept(kept.clone()),
                None => Checked::Failed(Nfsstat4::RetryUncachedRep),
            };
        }
        if args.sequenceid != slot.sequenceid.wrapping_add(1) {
            return Checked::Failed(Nfsstat4::SeqMisordered);
        }
        slot.sequenceid = args.sequenceid;
        slot.kept = None;
        Checked::New
    }

    /// Whether this is the latest state of an open file.
    fn knows(&self, stateid: &Stateid4) -> bool {
        let latest = match self.minor.has_sessions() {
            true => 0,
            false => self.v40.latest(&stateid.other),
        };
        let is_known = self.opens.contains_key(&stateid.other)
            || self.delegations.contains_key(&stateid.other);
        stateid.seqid == latest && is_known
    }

    /// Whether this is the state of an open file, or of a layout.
    fn is_open(&self, stateid: &Stateid4) -> bool {
        self.opens.contains_key(&stateid.other) || self.layouts.held.contains_key(&stateid.other)
    }

    pub(super) fn open(&mut self, owner: &[u8]) -> Stateid4 {
        let mut other = [7; 12];
        other[..8].copy_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        self.opens.insert(other, owner.to_vec());
        self.most_open = self.most_open.max(self.opens.len());
        Stateid4 { seqid: 1, other }
    }

    /// What OPEN returns of delegations.
    fn grant(&mut self, access: u32, file: &[u8]) -> OpenDelegation4<'static> {
        let (Some(writes), 0) = (self.grants, access & share::WANT_NO_DELEG) else {
            return OpenDelegation4::None;
        };
        let mut other = [9; 12];
        other[..8].copy_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        self.delegations.insert(other, file.to_vec());
        let stateid = Stateid4 { seqid: 1, other };
        let permissions = Nfsace4 {
            acetype: 0,
            flag: 0,
            access_mask: 0,
            who: b"OWNER@",
        };
        match writes {
            false => OpenDelegation4::Read(OpenReadDelegation4 {
                stateid,
                recall: false,
                permissions,
            }),
            true => OpenDelegation4::Write(OpenWriteDelegation4 {
                stateid,
                recall: false,
                space_limit: NfsSpaceLimit4::Size(0),
                permissions,
            }),
        }
    }

    /// Executes an operation; the handle of a name is the name.
    pub(super) fn execute(
        &mut self,
        op: &Args<'_>,
        current: &mut Vec<u8>,
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        let values = Attributes {
            ftype: Some(Ftype4::Reg),
            change: Some(40),
            size: Some(100),
            ..Attributes::default()
        };
        let attrset = Bitmap4::EMPTY;
        let cinfo = ChangeInfo4::default();
        match op {
            Args::ReclaimComplete(_) => compound.result::<ReclaimCompleteArgs>(&Ok(())),
            Args::Putrootfh(_) => compound.result::<PutrootfhArgs>(&Ok(())),
            Args::Putfh(args) => {
                *current = args.object.as_bytes().to_vec();
                compound.result::<PutfhArgs<'_>>(&Ok(()))
            }
            Args::Getattr(_) => compound.result::<GetattrArgs>(&Ok(GetattrOk {
                obj_attributes: Fattr4::new(&values),
            })),
            Args::Getfh(_) => compound.result::<GetfhArgs>(&Ok(GetfhOk {
                object: FileHandle4::new(current).expect("short"),
            })),
            Args::Lookup(args) => {
                *current = args.objname.to_vec();
                compound.result::<LookupArgs<'_>>(&Ok(()))
            }
            Args::Access(args) => compound.result::<AccessArgs>(&Ok(AccessOk {
                supported: args.access,
                access: args.access,
            })),
            Args::Open(args) => {
                if let OpenClaim4::Null(name) = args.claim {
                    *current = name.to_vec();
                }
                let is_refused = args.share_access & share::WANT_NO_DELEG != 0;
                assert!((is_refused || self.grants.is_some()) && !current.is_empty());
                let stateid = self.open(args.owner.owner);
                self.files.insert(stateid.other, current.clone());
                let delegation = self.grant(args.share_access, current);
                compound.result::<OpenArgs<'_>>(&Ok(OpenOk {
                    stateid,
                    cinfo,
                    rflags: 0,
                    attrset,
                    delegation,
                }))
            }
            Args::Delegreturn(args) => {
                let returned = self.delegations.remove(&args.deleg_stateid.other);
                let result = match returned {
                    Some(file) if file == *current => Ok(()),
                    _ => Err(Nfsstat4::BadStateid),
                };
                compound.result::<DelegreturnArgs>(&result)
            }
            Args::FreeStateid(_) => {
                self.freed += 1;
                compound.result::<FreeStateidArgs>(&Ok(()))
            }
            Args::Close(args) if self.files.get(&args.open_stateid.other) != Some(current) => {
                self.wrong_handles += 1;
                compound.fail(Operation::Close, Nfsstat4::BadStateid)
            }
            Args::Close(args) => match self.opens.remove(&args.open_stateid.other) {
                Some(_) => compound.result::<CloseArgs>(&Ok(CloseOk {
                    open_stateid: Stateid4::INVALID,
                })),
                None => compound.fail(Operation::Close, Nfsstat4::BadStateid),
            },
            Args::Read(args) if !self.knows(&args.stateid) => {
                compound.fail(Operation::Read, Nfsstat4::BadStateid)
            }
            Args::Read(args) => compound.with(Operation::Read, |out| {
                let mut data = Vec::new();
                let source = DataSource::new(1, VerifyLevel::All);
                source.append(7, args.offset, 0, args.count as usize, &mut data);
                let read: ReadRes<'_> = Ok(ReadOk {
                    eof: false,
                    data: &data,
                });
                Encoder::new(out).put(&read);
            }),
            Args::Write(args) if !self.knows(&args.stateid) => {
                compound.fail(Operation::Write, Nfsstat4::BadStateid)
            }
            Args::Write(args) => compound.result::<WriteArgs<'_>>(&Ok(WriteOk {
                count: args.data.len() as u32,
                committed: self.stable,
                writeverf: self.verf,
            })),
            Args::Commit(_) => compound.result::<CommitArgs>(&Ok(CommitOk {
                writeverf: self.verf,
            })),
            Args::Setattr(_) => compound.result::<SetattrArgs<'_>>(&SetattrRes {
                status: Nfsstat4::Ok,
                attrsset: attrset,
            }),
            Args::Create(args) => {
                *current = args.objname.to_vec();
                compound.result::<CreateArgs<'_>>(&Ok(CreateOk { cinfo, attrset }))
            }
            Args::Remove(_) => compound.result::<RemoveArgs<'_>>(&Ok(RemoveOk { cinfo })),
            Args::Rename(_) => compound.result::<RenameArgs<'_>>(&Ok(RenameOk {
                source_cinfo: cinfo,
                target_cinfo: cinfo,
            })),
            Args::Link(_) => compound.result::<LinkArgs<'_>>(&Ok(LinkOk { cinfo })),
            Args::Savefh(_) => compound.result::<SavefhArgs>(&Ok(())),
            Args::Restorefh(_) => compound.result::<RestorefhArgs>(&Ok(())),
            Args::Readlink(_) => compound.result::<ReadlinkArgs>(&Ok(ReadlinkOk { link: b"text" })),
            // No entry, and the end.
            Args::Readdir(_) => compound.with(Operation::Readdir, |out| {
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&[5; 8]);
                out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1]);
            }),
            Args::Copy(args) => {
                self.copies.push(args.synchronous);
                compound.result::<CopyArgs<'_>>(&Ok(CopyOk {
                    response: WriteResponse4 {
                        callback_id: (!args.synchronous).then_some(COPYING),
                        count: if args.synchronous { args.count } else { 0 },
                        committed: StableHow::FileSync,
                        writeverf: self.verf,
                    },
                    requirements: CopyRequirements4 {
                        consecutive: true,
                        synchronous: args.synchronous,
                    },
                }))
            }
            Args::OffloadStatus(args) => {
                assert_eq!(args.stateid, COPYING);
                match self.progress.pop_front() {
                    Some(Ok((count, complete))) => {
                        let status = OffloadStatusOk { count, complete };
                        compound.result::<OffloadStatusArgs>(&Ok(status))
                    }
                    Some(Err(status)) => compound.fail(Operation::OffloadStatus, status),
                    None => {
                        let status = OffloadStatusOk {
                            count: 0,
                            complete: None,
                        };
                        compound.result::<OffloadStatusArgs>(&Ok(status))
                    }
                }
            }
            // A busy server refuses it when the file is open again.
            Args::Layoutget(args)
                if !self.is_open(&args.stateid)
                    && (!self.layouts.is_busy || !self.opens.is_empty()) =>
            {
                self.layouts.is_busy = false;
                compound.fail(Operation::Layoutget, Nfsstat4::BadStateid)
            }
            other => match self.layouts.execute(other, current, compound) {
                Some(status) => status,
                None => panic!("{other:?} is not expected"),
            },
        }
    }
}

enum Checked {
    New,
    Kept(Vec<u8>),
    Failed(Nfsstat4),
}

impl State {
    /// Ends all connections.
    pub(super) fn cut_all(&mut self) {
        for stream in &self.streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The binding of a connection is lost.
    pub(super) fn unbind(&mut self, conn: usize) {
        self.bound.retain(|(of, _)| *of != conn);
    }

    /// Drops all sessions but the last one: those that scripts have declared lost.
    pub(super) fn forget_sessions_of_losers(&mut self) {
        while self.sessions.len() > 1 {
            self.sessions.pop_first();
        }
    }
}

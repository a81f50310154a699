//! A server of NFSv4.1 that answers as a test wants it.

use filermark_onc::nfs3::DirListWriter;
use filermark_onc::nfs4::*;
use filermark_onc::record::{RecordReader, append_fragments};
use filermark_onc::rpc::{AcceptStat, CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decoder};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What becomes of the next COMPOUND that begins with SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All succeeds.
    Success,
    /// SEQUENCE fails.
    Sequence(Nfsstat4),
    /// The operation behind SEQUENCE and PUTFH fails.
    Operation(Nfsstat4),
    /// The connection is closed before the answer.
    Close,
}

/// Changes the bytes of a reply behind its RPC header: the number of the reply, and the bytes.
pub type Edit = Box<dyn FnMut(usize, &mut Vec<u8>) + Send>;

#[derive(Default)]
pub struct State {
    /// To be used up in this order; afterwards all succeeds.
    pub answers: VecDeque<Answer>,
    /// What was called, an entry per COMPOUND: its first operation, or the first behind SEQUENCE and PUTFH.
    pub calls: Vec<Operation>,
    /// Slot and sequence number of each SEQUENCE.
    pub sequences: Vec<(u32, u32)>,
    pub sessions: u8,
    pub edit: Option<Edit>,
    pub replies: usize,
    /// The minor version; others answer NFS4ERR_MINOR_VERS_MISMATCH.
    pub minor_version: u32,
}

pub type Shared = Arc<Mutex<State>>;

/// Starts a server; it lives as long as the test's process.
pub fn start(state: State) -> (u16, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    let shared = Arc::new(Mutex::new(state));
    let state = Arc::clone(&shared);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            std::thread::spawn(move || serve(stream, &state));
        }
    });
    (port, shared)
}

fn serve(mut stream: TcpStream, state: &Shared) {
    let mut reader = RecordReader::new(1 << 20);
    let mut input = vec![0; 64 << 10];
    while let Ok(got @ 1..) = stream.read(&mut input) {
        let mut rest = &input[..got];
        while let Ok(Some(record)) = reader.next_record(&mut rest) {
            let Some(reply) = state.lock().expect("state").reply(record) else {
                return;
            };
            let mut wire = Vec::new();
            append_fragments(&mut wire, &reply, usize::MAX);
            if stream.write_all(&wire).is_err() {
                return;
            }
        }
    }
}

impl State {
    /// A server of minor version 1 that succeeds in all.
    pub fn new() -> Self {
        Self {
            minor_version: 1,
            ..Self::default()
        }
    }

    fn session(&self) -> Sessionid4 {
        [self.sessions; 16]
    }

    fn reply(&mut self, record: &[u8]) -> Option<Vec<u8>> {
        let mut d = Decoder::new(record);
        let call = CallHeader::decode(&mut d).ok()?;
        let mut out = Vec::new();
        if call.vers != VERSION && call.vers != 3 {
            let stat = AcceptStat::ProgMismatch { low: 3, high: 4 };
            xdr::append(&mut out, &ReplyHeader::accepted(call.xid, stat));
            return Some(out);
        }
        ReplyHeader::encode_success(&mut out, call.xid);
        if call.proc == PROC_NULL {
            return Some(out);
        }
        let mut body = Vec::new();
        let args = CompoundArgs::<Operation>::decode(&mut d).ok()?;
        if args.minorversion != self.minor_version {
            CompoundResWriter::<Operation>::begin(&mut body, b"")
                .finish_as(Nfsstat4::MinorVersMismatch);
        } else {
            let mut compound = CompoundResWriter::begin(&mut body, args.tag);
            if !self.compound(args, &mut compound) {
                return None;
            }
            compound.finish();
        }
        if let Some(edit) = &mut self.edit {
            edit(self.replies, &mut body);
        }
        self.replies += 1;
        out.extend_from_slice(&body);
        Some(out)
    }

    /// `false`: the connection is to be closed.
    fn compound(
        &mut self,
        args: CompoundArgs<'_, Operation>,
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> bool {
        let mut answer = None;
        let mut is_first = true;
        for args in args {
            let args = args.expect("arguments");
            let operation = Operation::of_args(&args);
            if let Args::Sequence(sequence) = &args {
                answer = self.answers.pop_front();
                self.sequences.push((sequence.slotid, sequence.sequenceid));
                match answer {
                    Some(Answer::Close) => return false,
                    Some(Answer::Sequence(status)) => {
                        compound.fail(operation, status);
                        return true;
                    }
                    _ => {}
                }
            } else if is_first && operation != Operation::Putfh {
                is_first = false;
                self.calls.push(operation);
                if let Some(Answer::Operation(status)) = answer {
                    compound.fail(operation, status);
                    return true;
                }
            }
            if self.operation(&args, compound) != Nfsstat4::Ok {
                break;
            }
        }
        true
    }

    fn operation(
        &mut self,
        args: &Args<'_>,
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        let root = FileHandle4::new(b"root").expect("short");
        let stateid = Stateid4 {
            seqid: 1,
            other: [7; 12],
        };
        let values = Attributes {
            ftype: Some(Ftype4::Dir),
            lease_time: Some(60),
            supported_attrs: Some(Bitmap4::of(&[Attribute::Type, Attribute::LeaseTime])),
            ..Attributes::default()
        };
        match args {
            Args::ExchangeId(_) => compound.result::<ExchangeIdArgs<'_>>(&Ok(ExchangeIdOk {
                clientid: 9,
                sequenceid: 1,
                flags: 0,
                state_protect: StateProtect4R::None,
                server_owner: ServerOwner4 {
                    minor_id: 0,
                    major_id: b"fake",
                },
                server_scope: b"fake",
                server_impl_id: None,
            })),
            Args::CreateSession(args) => {
                self.sessions += 1;
                compound.result::<CreateSessionArgs<'_>>(&Ok(CreateSessionOk {
                    sessionid: self.session(),
                    sequence: args.sequence,
                    flags: 0,
                    fore_chan_attrs: args.fore_chan_attrs,
                    back_chan_attrs: args.back_chan_attrs,
                }))
            }
            Args::Sequence(args) => compound.result::<SequenceArgs>(&Ok(SequenceOk {
                sessionid: args.sessionid,
                sequenceid: args.sequenceid,
                slotid: args.slotid,
                highest_slotid: 7,
                target_highest_slotid: 7,
                status_flags: 0,
            })),
            Args::Setclientid(_) => compound.result::<SetclientidArgs<'_>>(&Ok(SetclientidOk {
                clientid: 9,
                setclientid_confirm: [3; 8],
            })),
            Args::SetclientidConfirm(_) => compound.result::<SetclientidConfirmArgs>(&Ok(())),
            Args::Renew(_) => compound.result::<RenewArgs>(&Ok(())),
            Args::Lock(_) if self.minor_version == 0 => {
                compound.result::<LockArgs<'_>>(&Ok(LockOk {
                    lock_stateid: stateid,
                }))
            }
            Args::Locku(_) => compound.result::<LockuArgs>(&Ok(LockuOk {
                lock_stateid: stateid,
            })),
            Args::ReleaseLockowner(_) => compound.result::<ReleaseLockownerArgs<'_>>(&Ok(())),
            Args::ReclaimComplete(_) => compound.result::<ReclaimCompleteArgs>(&Ok(())),
            Args::DestroySession(_) => compound.result::<DestroySessionArgs>(&Ok(())),
            Args::DestroyClientid(_) => compound.result::<DestroyClientidArgs>(&Ok(())),
            Args::Putrootfh(_) => compound.result::<PutrootfhArgs>(&Ok(())),
            Args::Putfh(_) => compound.result::<PutfhArgs<'_>>(&Ok(())),
            Args::Getfh(_) => compound.result::<GetfhArgs>(&Ok(GetfhOk { object: root })),
            Args::Lookup(_) => compound.result::<LookupArgs<'_>>(&Ok(())),
            Args::Close(_) => compound.result::<CloseArgs>(&Ok(CloseOk {
                open_stateid: stateid,
            })),
            Args::Open(_) => compound.result::<OpenArgs<'_>>(&Ok(OpenOk {
                stateid,
                cinfo: ChangeInfo4::default(),
                rflags: 0,
                attrset: Bitmap4::EMPTY,
                delegation: OpenDelegation4::None,
            })),
            Args::Read(_) => compound.result::<ReadArgs>(&Ok(ReadOk {
                eof: true,
                data: b"data",
            })),
            Args::Write(args) => compound.result::<WriteArgs<'_>>(&Ok(WriteOk {
                count: args.data.len() as u32,
                committed: StableHow::FileSync,
                writeverf: [1; 8],
            })),
            // A list of many "." that has no end.
            Args::Readdir(_) => compound.with(Operation::Readdir, |out| {
                let mut list = DirListWriter::begin_v4(out, [1; 8], u32::MAX);
                let none = Attributes::default();
                for cookie in 3..1003 {
                    list.push(&Entry4 {
                        cookie,
                        name: b".",
                        attrs: Fattr4::new(&none),
                    });
                }
                list.finish(false);
            }),
            Args::Getattr(asked) => {
                let values = Attributes {
                    ftype: values
                        .ftype
                        .filter(|_| asked.attr_request.has(Attribute::Type)),
                    lease_time: values
                        .lease_time
                        .filter(|_| asked.attr_request.has(Attribute::LeaseTime)),
                    supported_attrs: values
                        .supported_attrs
                        .filter(|_| asked.attr_request.has(Attribute::SupportedAttrs)),
                    ..values
                };
                compound.result::<GetattrArgs>(&Ok(GetattrOk {
                    obj_attributes: Fattr4::new(&values),
                }))
            }
            other => compound.fail(Operation::of_args(other), Nfsstat4::Notsupp),
        }
    }
}

//! A server of NFSv4.1 and NFSv4.2 with canned replies: every operation succeeds at once, and nothing is
//! stored, neither clients nor sessions nor states. SEQUENCE is answered with the slot and the sequence
//! number that were sent. Each connection has a thread.

mod prepared;

use filermark_onc::nfs4::*;
use filermark_onc::record::{OpenRecord, RecordReader};
use filermark_onc::rpc::{CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decoder};
use prepared::Prepared;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Slots that a session is granted.
const SLOTS: u32 = 64;
/// The largest READ and WRITE, in bytes.
const TRANSFER_BYTES: u32 = 1 << 20;
const RECORD_MAX: usize = 2 << 20;
const INPUT_BYTES: usize = 256 << 10;
/// The stack of a connection's thread, in bytes: there may be thousands.
const STACK: usize = 256 << 10;
const SESSION: Sessionid4 = [4; 16];
const STATE: Stateid4 = Stateid4 {
    seqid: 1,
    other: [5; 12],
};
/// Handles: a common length, filled with the kind of the object.
const DIR: [u8; 32] = [2; 32];
const FILE: [u8; 32] = [1; 32];

/// Listens on a free port of the loopback, as long as the process lives.
///
/// # Errors
/// There is no port.
pub fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let canned = Arc::new(Canned::new());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let canned = Arc::clone(&canned);
            // A connection that ends with an error ends alone.
            let serve = move || canned.serve(stream);
            if thread::Builder::new()
                .stack_size(STACK)
                .spawn(serve)
                .is_err()
            {
                return;
            }
        }
    });
    Ok(address)
}

/// Prepared results.
struct Canned {
    /// GETATTR of a directory and of a file.
    dir: Vec<u8>,
    file: Vec<u8>,
    /// GETATTR for the limits of the server.
    limits: Vec<u8>,
    data: Vec<u8>,
    prepared: Prepared,
}

/// GETATTR's results with these values.
fn getattr(values: &Attributes<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let results: <GetattrArgs as Arguments>::Res<'_> = Ok(GetattrOk {
        obj_attributes: Fattr4::new(values),
    });
    xdr::append(&mut out, &results);
    out
}

fn stat(ftype: Ftype4) -> Attributes<'static> {
    let time = Nfstime4::default();
    Attributes {
        ftype: Some(ftype),
        change: Some(1),
        size: Some(1 << 20),
        fsid: Some(Fsid4 { major: 1, minor: 1 }),
        fileid: Some(7),
        mode: Some(0o755),
        numlinks: Some(1),
        owner: Some(b"1000"),
        owner_group: Some(b"1000"),
        rawdev: Some(Specdata4::default()),
        space_used: Some(1 << 20),
        time_access: Some(time),
        time_metadata: Some(time),
        time_modify: Some(time),
        ..Attributes::default()
    }
}

impl Canned {
    fn new() -> Self {
        let mut canned = Self::unprepared();
        // Without them it answers all the same.
        canned.prepared = Prepared::new(&canned).unwrap_or_default();
        canned
    }

    fn unprepared() -> Self {
        let limits = Attributes {
            supported_attrs: Some(Attributes::KNOWN),
            link_support: Some(true),
            symlink_support: Some(true),
            cansettime: Some(true),
            files_avail: Some(1 << 30),
            files_free: Some(1 << 30),
            files_total: Some(1 << 30),
            homogeneous: Some(true),
            lease_time: Some(90),
            maxfilesize: Some(1 << 50),
            maxlink: Some(255),
            maxname: Some(255),
            maxread: Some(TRANSFER_BYTES.into()),
            maxwrite: Some(TRANSFER_BYTES.into()),
            space_avail: Some(1 << 40),
            space_free: Some(1 << 40),
            space_total: Some(1 << 40),
            ..stat(Ftype4::Dir)
        };
        Self {
            dir: getattr(&stat(Ftype4::Dir)),
            file: getattr(&stat(Ftype4::Reg)),
            limits: getattr(&limits),
            data: vec![0; TRANSFER_BYTES as usize],
            prepared: Prepared::default(),
        }
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = RecordReader::new(RECORD_MAX);
        let (mut input, mut out) = (vec![0; INPUT_BYTES], Vec::new());
        loop {
            let got = stream.read(&mut input)?;
            if got == 0 {
                return Ok(());
            }
            let mut rest = &input[..got];
            while let Some(record) = reader.next_record(&mut rest).map_err(io::Error::other)? {
                self.answer(record, &mut out).map_err(io::Error::other)?;
            }
            stream.write_all(&out)?;
            out.clear();
        }
    }

    /// Appends the reply to a call as a record.
    fn answer(&self, record: &[u8], out: &mut Vec<u8>) -> Result<(), xdr::DecodeError> {
        let mut d = Decoder::new(record);
        let Ok(call) = CallHeader::decode(&mut d) else {
            return Ok(());
        };
        if call.proc == PROC_COMPOUND && self.prepared.append(call.xid, d.rest(), out) {
            return Ok(());
        }
        let open = OpenRecord::begin(out);
        ReplyHeader::encode_success(out, call.xid);
        if call.proc == PROC_COMPOUND {
            let args = CompoundArgs::<Operation>::decode(&mut d)?;
            let mut compound = CompoundResWriter::begin(out, args.tag);
            let mut current = DIR;
            for op in args {
                let status = match op {
                    Ok(op) => self.execute(&op, &mut current, &mut compound),
                    Err(error) => compound.fail(error.resop(), error.status()),
                };
                if status != Nfsstat4::Ok {
                    break;
                }
            }
            compound.finish();
        }
        open.finish(out);
        Ok(())
    }

    /// Appends the results of an operation. `current` is the current file handle.
    fn execute(
        &self,
        op: &Args<'_>,
        current: &mut [u8; 32],
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        match op {
            Args::Sequence(args) => compound.result::<SequenceArgs>(&Ok(SequenceOk {
                sessionid: args.sessionid,
                sequenceid: args.sequenceid,
                slotid: args.slotid,
                highest_slotid: SLOTS - 1,
                target_highest_slotid: SLOTS - 1,
                status_flags: 0,
            })),
            Args::Putfh(args) => {
                let handle = args.object.as_bytes();
                *current = *handle.first_chunk().unwrap_or(&FILE);
                compound.result::<PutfhArgs<'_>>(&Ok(()))
            }
            Args::Getattr(args) => {
                let asks = |attribute| args.attr_request.has(attribute);
                let results = match *current {
                    _ if asks(Attribute::LeaseTime) || asks(Attribute::Maxread) => &self.limits,
                    FILE => &self.file,
                    _ => &self.dir,
                };
                compound.with(Operation::Getattr, |out| out.extend_from_slice(results))
            }
            Args::Read(args) => {
                let count = args.count.min(TRANSFER_BYTES) as usize;
                compound.result::<ReadArgs>(&Ok(ReadOk {
                    eof: false,
                    data: &self.data[..count],
                }))
            }
            Args::Write(args) => compound.result::<WriteArgs<'_>>(&Ok(WriteOk {
                count: args.data.len() as u32,
                committed: args.stable,
                writeverf: [6; 8],
            })),
            other => rare(other, current, compound),
        }
    }
}

/// The operations of the set-up, and of names and opens.
fn rare(
    op: &Args<'_>,
    current: &mut [u8; 32],
    compound: &mut CompoundResWriter<'_, Operation>,
) -> Nfsstat4 {
    let attrset = Bitmap4::EMPTY;
    let cinfo = ChangeInfo4::default();
    match op {
        Args::ExchangeId(_) => compound.result::<ExchangeIdArgs<'_>>(&Ok(ExchangeIdOk {
            clientid: 1,
            sequenceid: 1,
            flags: 0,
            state_protect: StateProtect4R::None,
            server_owner: ServerOwner4 {
                minor_id: 0,
                major_id: b"null",
            },
            server_scope: b"null",
            server_impl_id: None,
        })),
        Args::CreateSession(args) => {
            compound.result::<CreateSessionArgs<'_>>(&Ok(CreateSessionOk {
                sessionid: SESSION,
                sequence: args.sequence,
                flags: 0,
                fore_chan_attrs: ChannelAttrs4 {
                    maxrequests: SLOTS.min(args.fore_chan_attrs.maxrequests),
                    ..args.fore_chan_attrs
                },
                back_chan_attrs: args.back_chan_attrs,
            }))
        }
        Args::ReclaimComplete(_) => compound.result::<ReclaimCompleteArgs>(&Ok(())),
        Args::DestroySession(_) => compound.result::<DestroySessionArgs>(&Ok(())),
        Args::DestroyClientid(_) => compound.result::<DestroyClientidArgs>(&Ok(())),
        Args::Putrootfh(_) => {
            *current = DIR;
            compound.result::<PutrootfhArgs>(&Ok(()))
        }
        Args::Lookup(_) => {
            *current = DIR;
            compound.result::<LookupArgs<'_>>(&Ok(()))
        }
        Args::Create(_) => {
            *current = DIR;
            compound.result::<CreateArgs<'_>>(&Ok(CreateOk { cinfo, attrset }))
        }
        Args::Getfh(_) => match FileHandle4::new(current) {
            Some(object) => compound.result::<GetfhArgs>(&Ok(GetfhOk { object })),
            None => compound.fail(Operation::Getfh, Nfsstat4::Serverfault),
        },
        Args::Access(args) => compound.result::<AccessArgs>(&Ok(AccessOk {
            supported: args.access,
            access: args.access,
        })),
        Args::Open(_) => {
            *current = FILE;
            compound.result::<OpenArgs<'_>>(&Ok(OpenOk {
                stateid: STATE,
                cinfo,
                rflags: 0,
                attrset,
                delegation: OpenDelegation4::None,
            }))
        }
        Args::Close(_) => compound.result::<CloseArgs>(&Ok(CloseOk {
            open_stateid: Stateid4::INVALID,
        })),
        Args::Commit(_) => compound.result::<CommitArgs>(&Ok(CommitOk { writeverf: [6; 8] })),
        other => compound.fail(Operation::of_args(other), Nfsstat4::Notsupp),
    }
}

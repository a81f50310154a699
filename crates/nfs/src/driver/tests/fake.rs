//! A server whose replies a test scripts, call by call.

use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_onc::nfs3::*;
use filermark_onc::record::{RecordReader, append_fragments};
use filermark_onc::rpc::{CallHeader, ReplyHeader};
use filermark_onc::xdr::{self, Decoder, Encode};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A call as the server received it.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct ReceivedCall<'a> {
    /// Number of the connection, from 0 in the order of accept.
    pub(in crate::driver) conn: usize,
    /// Number of the call, from 0, over all connections.
    pub(in crate::driver) nth: usize,
    pub(in crate::driver) xid: u32,
    /// User and group of AUTH_SYS.
    pub(in crate::driver) user: Option<(u32, u32)>,
    pub(in crate::driver) args: Args<'a>,
}

/// What the server does in answer to a call.
#[derive(Clone, Debug)]
pub(in crate::driver) enum ServerAction {
    /// Sends this record.
    Send(Vec<u8>),
    /// Sends it in fragments of this size.
    SendFragments(Vec<u8>, usize),
    /// Sends bytes as they are.
    Raw(Vec<u8>),
    /// Waits, together with all other calls.
    Sleep(Duration),
    /// Closes the connection.
    Close,
}

type Script = dyn FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send;

struct Shared {
    script: Mutex<(usize, Box<Script>)>,
    open: Mutex<Vec<TcpStream>>,
}

/// The server. Dropping it stops it.
pub(in crate::driver) struct Fake {
    pub(in crate::driver) address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl Fake {
    pub(in crate::driver) fn start(
        script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            script: Mutex::new((0, Box::new(script))),
            open: Mutex::new(Vec::new()),
        });
        let for_thread = shared.clone();
        let acceptor = thread::spawn(move || accept(&listener, &for_thread));
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }
}

impl Fake {
    /// A server over UDP. NULL calls are answered without the script; `Close` has no effect.
    pub(in crate::driver) fn start_udp(
        script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
    ) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            script: Mutex::new((0, Box::new(script))),
            open: Mutex::new(Vec::new()),
        });
        let for_thread = shared.clone();
        Self {
            address,
            shared,
            acceptor: Some(thread::spawn(move || serve_udp(&socket, &for_thread))),
        }
    }
}

fn serve_udp(socket: &UdpSocket, shared: &Shared) {
    let soon = Some(Duration::from_millis(20));
    socket.set_read_timeout(soon).expect("an option");
    let mut peers = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while shared.script.lock().is_ok_and(|s| s.0 != usize::MAX) {
        let Ok((len, peer)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let conn = match peers.iter().position(|known| *known == peer) {
            Some(conn) => conn,
            None => {
                peers.push(peer);
                peers.len() - 1
            }
        };
        let record = &buffer[..len];
        let mut d = Decoder::new(record);
        let header = CallHeader::decode(&mut d).expect("a call");
        if header.proc == 0 {
            let _ = socket.send_to(&reply(header.xid, &()), peer);
            continue;
        }
        for act in scripted_actions(conn, record, shared).unwrap_or_default() {
            match act {
                ServerAction::Send(bytes) | ServerAction::Raw(bytes) => {
                    drop(socket.send_to(&bytes, peer))
                }
                ServerAction::Sleep(time) => thread::sleep(time),
                ServerAction::SendFragments(..) | ServerAction::Close => {}
            }
        }
    }
}

impl Drop for Fake {
    /// Stops listening and closes all connections.
    fn drop(&mut self) {
        let mut open = self.shared.open.lock().expect("no panic before");
        for stream in open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(open);
        // The acceptor checks for the end when it gets a connection.
        let (script, _) = (&self.shared.script, ());
        if let Ok(mut script) = script.lock() {
            script.0 = usize::MAX;
        }
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (conn, stream) in listener.incoming().enumerate() {
        let Ok(stream) = stream else { return };
        // Replies to calls that came together do not wait for each other.
        let _ = stream.set_nodelay(true);
        if shared.script.lock().map_or(true, |s| s.0 == usize::MAX) {
            return;
        }
        let shared = shared.clone();
        if let (Ok(mut open), Ok(copy)) = (shared.open.lock(), stream.try_clone()) {
            open.push(copy);
        }
        thread::spawn(move || serve(conn, stream, &shared));
    }
}

fn serve(conn: usize, mut stream: TcpStream, shared: &Shared) {
    let mut reader = RecordReader::new(64 << 20);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let Ok(n @ 1..) = stream.read(&mut buffer) else {
            return;
        };
        let mut input = &buffer[..n];
        while let Some(record) = reader.next_record(&mut input).expect("records") {
            let Some(acts) = scripted_actions(conn, record, shared) else {
                return;
            };
            if !acts.into_iter().all(|act| perform(act, &mut stream)) {
                return;
            }
        }
    }
}

/// What the script does for a call; `None`: the server is to stop.
fn scripted_actions(conn: usize, record: &[u8], shared: &Shared) -> Option<Vec<ServerAction>> {
    let mut d = Decoder::new(record);
    let header = CallHeader::decode(&mut d).expect("a call");
    assert_eq!((header.prog, header.vers), (PROGRAM, VERSION));
    let procedure = Procedure::from_u32(header.proc).expect("known");
    let args = Args::decode(procedure, &mut d).expect("sound arguments");
    let mut script = shared.script.lock().expect("no panic before");
    if script.0 == usize::MAX {
        return None;
    }
    let nth = script.0;
    script.0 += 1;
    let call = ReceivedCall {
        conn,
        nth,
        xid: header.xid,
        user: header.cred.auth_sys().ok().map(|sys| (sys.uid, sys.gid)),
        args,
    };
    Some((script.1)(&call))
}

/// Performs one action; whether the connection stays open.
fn perform(act: ServerAction, stream: &mut TcpStream) -> bool {
    let mut out = Vec::new();
    match act {
        ServerAction::Send(record) => append_fragments(&mut out, &record, usize::MAX),
        ServerAction::SendFragments(record, size) => append_fragments(&mut out, &record, size),
        ServerAction::Raw(bytes) => out = bytes,
        ServerAction::Sleep(time) => thread::sleep(time),
        ServerAction::Close => {
            let _ = stream.shutdown(Shutdown::Both);
            return false;
        }
    }
    stream.write_all(&out).is_ok()
}

/// A successful reply with these results.
pub(in crate::driver) fn reply(xid: u32, results: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    ReplyHeader::encode_success(&mut out, xid);
    xdr::append(&mut out, results);
    out
}

/// A reply with only a status, without attributes.
pub(in crate::driver) fn refusal(call: &ReceivedCall<'_>, status: Nfsstat3) -> Vec<ServerAction> {
    let mut out = Vec::new();
    ReplyHeader::encode_success(&mut out, call.xid);
    xdr::append(&mut out, &status);
    let words = match call.args.procedure() {
        Procedure::Getattr => 0,
        Procedure::Rename => 4,
        Procedure::Link => 3,
        Procedure::Setattr
        | Procedure::Write
        | Procedure::Commit
        | Procedure::Create
        | Procedure::Mkdir
        | Procedure::Symlink
        | Procedure::Mknod
        | Procedure::Remove
        | Procedure::Rmdir => 2,
        _ => 1,
    };
    (0..words).for_each(|_| xdr::append(&mut out, &0u32));
    vec![ServerAction::Send(out)]
}

/// A correct reply: the handle of a name is the name, READ returns the data of file 7,
/// WRITE is stable, a listing has one part.
pub(in crate::driver) fn good(call: &ReceivedCall<'_>) -> Vec<ServerAction> {
    vec![ServerAction::Send(good_reply(call))]
}

pub(in crate::driver) fn good_reply(call: &ReceivedCall<'_>) -> Vec<u8> {
    match call.args {
        Args::Read(args) => read_reply(call.xid, args.offset, args.count, false),
        Args::Write(args) => write_reply(call.xid, args.count, StableHow::FileSync, 1),
        Args::Commit(_) => commit_reply(call.xid, 1),
        Args::Create(CreateArgs { location, .. })
        | Args::Mkdir(MkdirArgs { location, .. })
        | Args::Symlink(SymlinkArgs { location, .. })
        | Args::Mknod(MknodArgs { location, .. }) => {
            created_reply(call.xid, FileHandle::new(location.name))
        }
        Args::Readdir(_) => listing_reply(call.xid, &[], true),
        args => {
            let body = canned(args);
            reply(call.xid, &body)
        }
    }
}

pub(in crate::driver) fn created_reply(xid: u32, obj: Option<FileHandle<'_>>) -> Vec<u8> {
    let created: CreateRes<'_> = Ok(CreateOk {
        obj,
        obj_attributes: None,
        dir_wcc: WccData::default(),
    });
    reply(xid, &created)
}

pub(in crate::driver) fn read_reply(xid: u32, offset: u64, count: u32, eof: bool) -> Vec<u8> {
    let mut data = Vec::new();
    DataSource::new(1, VerifyLevel::All).append(7, offset, 0, count as usize, &mut data);
    let read: ReadRes<'_> = Ok(ReadOk {
        file_attributes: None,
        count,
        eof,
        data: &data,
    });
    reply(xid, &read)
}

pub(in crate::driver) fn write_reply(
    xid: u32,
    count: u32,
    committed: StableHow,
    verf: u8,
) -> Vec<u8> {
    let written: WriteRes = Ok(WriteOk {
        file_wcc: WccData::default(),
        count,
        committed,
        verf: [verf; 8],
    });
    reply(xid, &written)
}

pub(in crate::driver) fn commit_reply(xid: u32, verf: u8) -> Vec<u8> {
    let committed: CommitRes = Ok(CommitOk {
        file_wcc: WccData::default(),
        verf: [verf; 8],
    });
    reply(xid, &committed)
}

/// A READDIR reply with entries of these cookies.
pub(in crate::driver) fn listing_reply(xid: u32, cookies: &[u64], eof: bool) -> Vec<u8> {
    let mut out = Vec::new();
    ReplyHeader::encode_success(&mut out, xid);
    let mut list = DirListWriter::begin(&mut out, None, [5; 8], 1 << 20);
    for cookie in cookies {
        let cookie = *cookie;
        assert!(list.push(&Entry3 {
            fileid: cookie,
            name: b"entry",
            cookie,
        }));
    }
    list.finish(eof);
    out
}

/// Results of the procedures that always get the same reply.
fn canned(args: Args<'_>) -> Results<'static> {
    let handle = FileHandle::new(b"found").expect("short");
    match args {
        Args::Null(_) => Results::Null(()),
        Args::Getattr(_) => Results::Getattr(Ok(GetattrOk {
            obj_attributes: attributes(),
        })),
        Args::Setattr(_) => Results::Setattr(Ok(ObjWcc::default())),
        Args::Lookup(_) => Results::Lookup(Ok(LookupOk {
            object: handle,
            obj_attributes: Some(attributes()),
            dir_attributes: None,
        })),
        Args::Access(args) => Results::Access(Ok(AccessOk {
            obj_attributes: None,
            access: args.access,
        })),
        Args::Readlink(_) => Results::Readlink(Ok(ReadlinkOk {
            symlink_attributes: None,
            data: b"text",
        })),
        Args::Remove(_) => Results::Remove(Ok(DirWcc::default())),
        Args::Rmdir(_) => Results::Rmdir(Ok(DirWcc::default())),
        Args::Rename(_) => Results::Rename(Ok(RenameWcc::default())),
        Args::Link(_) => Results::Link(Ok(LinkWcc::default())),
        Args::Readdirplus(_) => Results::Readdirplus(Ok(ReaddirplusOk {
            dir_attributes: None,
            cookieverf: [0; 8],
            // No entry, and the end.
            reply: DirList::from_bytes(&[0, 0, 0, 0, 0, 0, 0, 1]),
        })),
        Args::Fsstat(_) => Results::Fsstat(Ok(FsstatOk {
            obj_attributes: None,
            tbytes: 1,
            fbytes: 1,
            abytes: 1,
            tfiles: 1,
            ffiles: 1,
            afiles: 1,
            invarsec: 0,
        })),
        Args::Fsinfo(_) => Results::Fsinfo(Err(Failed {
            status: Nfsstat3::Notsupp,
            info: ObjAttr::default(),
        })),
        _ => Results::Pathconf(Ok(PathconfOk {
            obj_attributes: None,
            linkmax: 1,
            name_max: 255,
            no_trunc: true,
            chown_restricted: true,
            case_insensitive: false,
            case_preserving: true,
        })),
    }
}

fn attributes() -> Fattr3 {
    Fattr3 {
        ftype: Ftype3::Reg,
        mode: 0o644,
        nlink: 1,
        uid: 0,
        gid: 0,
        size: 0,
        used: 0,
        rdev: Specdata3::default(),
        fsid: 1,
        fileid: 1,
        atime: Nfstime3::default(),
        mtime: Nfstime3::default(),
        ctime: Nfstime3::default(),
    }
}

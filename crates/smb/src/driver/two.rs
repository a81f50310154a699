//! Calls as messages of SMB2 and 3, and what the replies mean (MS-SMB2).

use super::begin::Verdict;
use super::calls::{Call, Kind};
use super::core::{Core, FileId, SessionState};
use super::counters::Tally;
use super::status::{BUFFER_OVERFLOW, END_OF_FILE, NO_MORE_FILES, ends_session};
use super::talk::{QUERY_BYTES, SECURITY_BYTES, part_answered, reply_bytes};
use super::window::Window;
use filermark_engine::driver::Status;
use filermark_engine::session_action::OpenFor;
use filermark_model::Nanos;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::header::{self, flags};
use filermark_smbwire::smb2::query::BasicInfo;
use filermark_smbwire::smb2::set::Change;
use filermark_smbwire::smb2::{
    self, CloseRequest, Command, CreateRequest, CreateResponse, DirectoryClass, EchoRequest,
    FileClass, FlushRequest, FsClass, Header, LockKind, LockRange, LockRequest, Messages,
    OutputResponse, Query, QueryInfoRequest, ReadRequest, ReadResponse, Request, RequestedOplock,
    Response, Scan, Session, SetInfoRequest, WriteRequest, WriteResponse, chain,
};

/// Rights for reading a file's attributes and its security descriptor.
const ATTRIBUTES: u32 = access::READ_ATTRIBUTES | access::READ_CONTROL | access::SYNCHRONIZE;
/// Rights for reading.
const READ: u32 = ATTRIBUTES | access::READ_DATA | access::READ_EA;
/// Rights for changing.
const UPDATE: u32 =
    READ | access::WRITE_DATA | access::APPEND_DATA | access::WRITE_EA | access::WRITE_ATTRIBUTES;

/// How many messages a call is, and how many credits they take.
pub(crate) fn cost(session: &Session, kind: Kind, length: u32) -> (u32, u32) {
    let charge = |bytes: u32| u32::from(session.charge(bytes));
    match kind {
        Kind::QueryPath | Kind::Find | Kind::QueryFs => (3, 2 + charge(reply_bytes(kind, length))),
        Kind::MakeDir | Kind::RemoveFile | Kind::RemoveDir => (2, 2),
        Kind::Read | Kind::Write => (1, charge(length)),
        _ => (1, charge(reply_bytes(kind, length))),
    }
}

/// Encodes a call, as one frame.
pub(crate) fn encode(
    session: &mut Session,
    window: &mut Window,
    core: &mut Core,
    slot: u32,
    out: &mut Vec<u8>,
) {
    let Some(call) = core.calls.get(slot).copied() else {
        return;
    };
    let frame = session.begin(out);
    let mut put = Put {
        session,
        window,
        slot,
        out,
        last: None,
    };
    match call.kind {
        Kind::Echo => put.request(&EchoRequest),
        Kind::Open
        | Kind::MakeDir
        | Kind::RemoveFile
        | Kind::RemoveDir
        | Kind::QueryPath
        | Kind::Find
        | Kind::QueryFs => on_path(&mut put, core, &call),
        _ => on_file(&mut put, core, &call),
    }
    session.protect(out, frame);
}

const FILE_ALL: Query = Query::File(FileClass::All);
const FS_SIZE: Query = Query::FileSystem(FsClass::FullSize);
/// Owner, group and access list (MS-DTYP 2.4.7).
const SECURITY: Query = Query::Security(0x7);

fn query(file: smb2::FileId, query: Query) -> QueryInfoRequest {
    QueryInfoRequest {
        file,
        query,
        max_output: match query {
            Query::Security(_) => SECURITY_BYTES,
            _ => QUERY_BYTES,
        },
    }
}

/// Puts the messages of one frame one behind the other.
struct Put<'a> {
    session: &'a Session,
    window: &'a mut Window,
    slot: u32,
    out: &'a mut Vec<u8>,
    /// Where the last message begins.
    last: Option<usize>,
}

impl Put<'_> {
    fn request<R: Request>(&mut self, request: &R) {
        let header = self.header(R::COMMAND, request.charged_bytes());
        self.last = Some(header::append(self.out, &header, request));
    }

    /// The next header; of what works on the file that the first message has opened,
    /// if it is not the first.
    fn header(&mut self, command: Command, charged_bytes: u32) -> Header {
        let charge = self.session.charge(charged_bytes);
        // There is room, as `cost` has said before.
        let id = self
            .window
            .take(self.slot, charge.into())
            .unwrap_or_default();
        let mut header = self.session.header(command, id, charge);
        header.credits = self.window.request(charge.into());
        if let Some(last) = self.last {
            chain::next(self.out, last);
            header.flags |= flags::RELATED;
        }
        header
    }
}

/// Calls on a path: an open, or a compound that begins with one and ends with a close.
fn on_path(put: &mut Put<'_>, core: &mut Core, call: &Call) {
    let op = call.op;
    let mut path = std::mem::take(&mut core.path);
    match call.kind {
        // The share's root, whatever directory the proc has.
        Kind::QueryFs => path.clear(),
        _ => core.procs[core.ops.get(op).proc as usize].path(core.place_of(op), &mut path),
    }
    put.request(&create(core, call, &path));
    core.path = path;
    match call.kind {
        Kind::QueryPath => put.request(&query(smb2::FileId::RELATED, FILE_ALL)),
        Kind::QueryFs => put.request(&query(smb2::FileId::RELATED, FS_SIZE)),
        Kind::Find => put.request(&smb2::QueryDirectoryRequest {
            file: smb2::FileId::RELATED,
            class: DirectoryClass::IdBoth,
            scan: Scan::Restart,
            single: false,
            pattern: "*",
            max_output: reply_bytes(Kind::Find, 0),
        }),
        _ => {}
    }
    if call.kind != Kind::Open {
        put.request(&CloseRequest {
            file: smb2::FileId::RELATED,
            facts: false,
        });
    }
}

/// How a path is opened for a call.
fn create<'a>(core: &Core, call: &Call, path: &'a str) -> CreateRequest<'a> {
    let (access, disposition, options) = match call.kind {
        Kind::MakeDir => (ATTRIBUTES, disposition::OPEN_IF, options::DIRECTORY_FILE),
        Kind::RemoveFile => (
            access::DELETE,
            disposition::OPEN,
            options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE,
        ),
        Kind::RemoveDir => (
            access::DELETE,
            disposition::OPEN,
            options::DIRECTORY_FILE | options::DELETE_ON_CLOSE,
        ),
        Kind::QueryPath | Kind::QueryFs => (ATTRIBUTES, disposition::OPEN, 0),
        Kind::Find => (READ, disposition::OPEN, options::DIRECTORY_FILE),
        _ => match core.open_for(call.op) {
            Some(OpenFor::Attributes) => (ATTRIBUTES, disposition::OPEN, 0),
            Some(OpenFor::Read) => (READ, disposition::OPEN, options::NON_DIRECTORY_FILE),
            Some(OpenFor::Update) => (UPDATE, disposition::OPEN, options::NON_DIRECTORY_FILE),
            Some(OpenFor::Replace) => (
                UPDATE,
                disposition::OVERWRITE_IF,
                options::NON_DIRECTORY_FILE,
            ),
            Some(OpenFor::Temporary) => (
                UPDATE | access::DELETE,
                disposition::OVERWRITE_IF,
                options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE,
            ),
            None if core.fills(call.op) => (
                UPDATE,
                disposition::OVERWRITE_IF,
                options::NON_DIRECTORY_FILE,
            ),
            None => (UPDATE, disposition::OPEN, options::NON_DIRECTORY_FILE),
        },
    };
    CreateRequest {
        path,
        access,
        attributes: match call.kind {
            Kind::MakeDir => attributes::DIRECTORY,
            _ => attributes::NORMAL,
        },
        share: share::ALL,
        disposition,
        options,
        oplock: RequestedOplock::None,
        maximal_access: false,
    }
}

/// Calls on what is open.
fn on_file(put: &mut Put<'_>, core: &mut Core, call: &Call) {
    let op = call.op;
    let FileId(persistent, volatile) = core.ops.get(op).file;
    let file = smb2::FileId {
        persistent,
        volatile,
    };
    match call.kind {
        Kind::Close => put.request(&CloseRequest { file, facts: false }),
        Kind::Flush => put.request(&FlushRequest { file }),
        Kind::Read => put.request(&ReadRequest {
            file,
            offset: call.offset,
            length: call.length,
            minimum: 0,
        }),
        Kind::Write => {
            let header = put.header(Command::Write, call.length);
            header.encode(put.out);
            let write = WriteRequest {
                file,
                offset: call.offset,
                write_through: false,
            };
            let open = write.begin(put.out);
            core.append_contents(call, put.out);
            open.finish(put.out);
        }
        Kind::Lock => put.request(&LockRequest {
            file,
            ranges: &[LockRange {
                offset: call.offset,
                length: call.length.into(),
                kind: match core.unlocks(op) {
                    true => LockKind::Unlock,
                    false => LockKind::Exclusive,
                },
                fail_immediately: !core.unlocks(op),
            }],
        }),
        Kind::QueryFile => put.request(&query(file, FILE_ALL)),
        Kind::QuerySecurity => put.request(&query(file, SECURITY)),
        Kind::SetTimes => put.request(&SetInfoRequest {
            file,
            change: Change::Basic(BasicInfo {
                last_write_time: core.filetime(),
                attributes: attributes::NORMAL,
                ..BasicInfo::default()
            }),
        }),
        Kind::SetSize => put.request(&SetInfoRequest {
            file,
            change: Change::EndOfFile(call.offset),
        }),
        _ => put.request(&SetInfoRequest {
            file,
            change: Change::Disposition { delete: true },
        }),
    }
}

/// Takes a whole message of the server, which may be a compound.
///
/// # Errors
/// It is not what this session's server can have sent.
pub(crate) fn receive(
    session: &mut Session,
    window: &mut Window,
    core: &mut Core,
    message: &mut [u8],
    now: Nanos,
) -> Result<(), DecodeError> {
    let messages = session.unprotect(message)?;
    for message in Messages::new(messages) {
        let (header, message) = message?;
        if header.is_break() {
            core.counters.add(Tally::OplockBreaks);
            continue;
        }
        window.grant(header.credits);
        let call = window.find(header.message_id);
        let Some((slot, call)) = call.and_then(|s| Some((s, *core.calls.get(s)?))) else {
            core.counters.add(Tally::StaleReplies);
            continue;
        };
        if !call.is_sent {
            return Err(DecodeError::Bad("an answer that comes before its question"));
        }
        if header.is_interim() {
            core.counters.add(Tally::PendingReplies);
            continue;
        }
        window.answered(header.message_id);
        let good = judge(core, slot, &call, &header, message);
        part_answered(core, slot, good, now);
    }
    Ok(())
}

/// What a reply says; what is wrong with it goes into the call.
fn judge(core: &mut Core, slot: u32, call: &Call, header: &Header, message: &[u8]) -> Verdict {
    let verdict = match header.status {
        _ if !answers(call.kind, header.command) => Verdict::Ends(Status::Garbage),
        0 => sound(core, call, header.command, message),
        BUFFER_OVERFLOW if header.command == Command::QueryInfo => Verdict::Good,
        NO_MORE_FILES if header.command == Command::QueryDirectory => Verdict::Good,
        END_OF_FILE if call.kind == Kind::Read => Verdict::End,
        status if ends_session(status) => {
            core.session = SessionState::Gone;
            Verdict::Ends(Status::Disconnected)
        }
        // Not an error, and not an answer to what was asked.
        status if status >> 30 != 3 => Verdict::Ends(Status::Garbage),
        status => Verdict::Failed(status),
    };
    if let Some(call) = core.calls.get_mut(slot) {
        match verdict {
            Verdict::Failed(status) if call.status == 0 => call.status = status,
            Verdict::Ends(Status::Garbage) => call.is_garbage = true,
            Verdict::Ends(Status::Disconnected) => call.is_lost = true,
            _ => {}
        }
    }
    verdict
}

/// Whether a command is one that the call asked for.
const fn answers(kind: Kind, command: Command) -> bool {
    match kind {
        Kind::Echo => matches!(command, Command::Echo),
        Kind::Open => matches!(command, Command::Create),
        Kind::Close => matches!(command, Command::Close),
        Kind::Read => matches!(command, Command::Read),
        Kind::Write => matches!(command, Command::Write),
        Kind::Flush => matches!(command, Command::Flush),
        Kind::Lock => matches!(command, Command::Lock),
        Kind::QueryFile | Kind::QuerySecurity => matches!(command, Command::QueryInfo),
        Kind::SetTimes | Kind::SetSize | Kind::SetDelete => matches!(command, Command::SetInfo),
        Kind::QueryPath | Kind::QueryFs => matches!(
            command,
            Command::Create | Command::QueryInfo | Command::Close
        ),
        Kind::Find => matches!(
            command,
            Command::Create | Command::QueryDirectory | Command::Close
        ),
        Kind::MakeDir | Kind::RemoveFile | Kind::RemoveDir => {
            matches!(command, Command::Create | Command::Close)
        }
    }
}

fn sound(core: &mut Core, call: &Call, command: Command, message: &[u8]) -> Verdict {
    let garbage = Verdict::Ends(Status::Garbage);
    match (call.kind, command) {
        (Kind::Open, Command::Create) => match CreateResponse::decode(message) {
            Ok(created) => Verdict::Opened(FileId(created.file.persistent, created.file.volatile)),
            Err(_) => garbage,
        },
        (Kind::Read, Command::Read) => match ReadResponse::decode(message) {
            Ok(read) if read.data.len() <= call.length as usize => {
                core.check(call.op, call.offset, read.data)
            }
            _ => garbage,
        },
        (Kind::Write, Command::Write) => match WriteResponse::decode(message) {
            Ok(written) => Verdict::Moved(written.count),
            Err(_) => garbage,
        },
        (_, Command::QueryInfo | Command::QueryDirectory) => {
            match OutputResponse::decode(message) {
                Ok(_) => Verdict::Good,
                Err(_) => garbage,
            }
        }
        (Kind::Open | Kind::Read | Kind::Write, _) => garbage,
        _ => Verdict::Good,
    }
}

//! Calls as messages of SMB1, and what the replies mean (MS-CIFS, MS-SMB). Every call is
//! one message; the answer to a transaction may come in several.

use super::begin::Verdict;
use super::calls::{Call, Kind};
use super::core::{Core, FileId, SessionState};
use super::counters::Tally;
use super::status::{
    BUFFER_OVERFLOW, END_OF_FILE, NETWORK_SESSION_EXPIRED, NO_MORE_FILES, ends_session,
};
use super::talk::{QUERY_BYTES, SECURITY_BYTES, part_answered};
use super::window::Window;
use filermark_engine::driver::Status;
use filermark_engine::session_action::OpenFor;
use filermark_model::Nanos;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::info::{BasicInfo, level};
use filermark_smbwire::smb1::{
    Close, Command, CreateDirectory, Created, Delete, DeleteDirectory, Echo, FindFirst, Flush,
    Head, Header, Locking, NtCreate, Part, Path, QueryFile, QueryFs, QueryPath, QuerySecurity,
    Range, ReadAndx, ReadData, Reply, Session, SetFile, SetInfo, WriteAndx, Written,
};
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};

/// What an echo carries.
const ECHO: &[u8] = b"filermark";
/// Entries of a listing that are asked for at once: as many as kernel clients ask for.
const FIND_COUNT: u16 = 1366;
/// Room for them, in bytes: one message.
const FIND_BYTES: u16 = 56 << 10;
/// Ends a search with its first answer (MS-CIFS 2.2.6.2.1, SMB_FIND_CLOSE_AFTER_REQUEST).
const CLOSE_AFTER_REQUEST: u16 = 0x0001;
/// Owner, group and access list (MS-DTYP 2.4.7).
const SECURITY_PARTS: u32 = 0x7;

const ATTRIBUTES: u32 = access::READ_ATTRIBUTES | access::READ_CONTROL | access::SYNCHRONIZE;
const READ: u32 = ATTRIBUTES | access::READ_DATA | access::READ_EA;
const UPDATE: u32 =
    READ | access::WRITE_DATA | access::APPEND_DATA | access::WRITE_EA | access::WRITE_ATTRIBUTES;

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
    // There is room, as was asked before.
    let mid = window.take(slot, 0).unwrap_or_default() as u16;
    let frame = session.begin(out);
    let head = session.head(mid);
    match call.kind {
        Kind::Echo => head.put(out, &Echo { data: ECHO }),
        Kind::QueryFs => {
            let request = QueryFs {
                level: level::FS_SIZE,
                max_data: QUERY_BYTES as u16,
            };
            head.put(out, &request);
        }
        Kind::Open
        | Kind::MakeDir
        | Kind::RemoveFile
        | Kind::RemoveDir
        | Kind::QueryPath
        | Kind::Find => on_path(&head, core, &call, out),
        Kind::Write => write(&head, core, &call, out),
        _ => on_file(&head, core, &call, out),
    }
    let reply_sequence = session.protect(out, frame);
    if let Some(call) = core.calls.get_mut(slot) {
        call.reply_sequence = reply_sequence;
    }
}

fn on_path(head: &Head, core: &mut Core, call: &Call, out: &mut Vec<u8>) {
    let mut path = std::mem::take(&mut core.path);
    core.procs[core.ops.get(call.op).proc as usize].path(core.place_of(call.op), &mut path);
    let place = Path::of(&path);
    match call.kind {
        Kind::MakeDir => head.put(out, &CreateDirectory { path: place }),
        Kind::RemoveDir => head.put(out, &DeleteDirectory { path: place }),
        Kind::RemoveFile => head.put(out, &Delete { path: place }),
        Kind::QueryPath => head.put(
            out,
            &QueryPath {
                path: place,
                level: level::FILE_ALL,
                max_data: QUERY_BYTES as u16,
            },
        ),
        Kind::Find => head.put(
            out,
            &FindFirst {
                pattern: Path {
                    dir: &path,
                    name: "*",
                },
                count: FIND_COUNT,
                flags: CLOSE_AFTER_REQUEST,
                max_data: FIND_BYTES,
            },
        ),
        _ => head.put(out, &create(core, call, place)),
    }
    core.path = path;
}

/// How a path is opened.
fn create<'a>(core: &Core, call: &Call, path: Path<'a>) -> NtCreate<'a> {
    let (access, disposition, options) = match core.open_for(call.op) {
        Some(OpenFor::Attributes) => (ATTRIBUTES, disposition::OPEN, 0),
        Some(OpenFor::Read) => (READ, disposition::OPEN, options::NON_DIRECTORY_FILE),
        Some(OpenFor::Update) => (UPDATE, disposition::OPEN, options::NON_DIRECTORY_FILE),
        Some(OpenFor::Temporary) => (
            UPDATE | access::DELETE,
            disposition::OVERWRITE_IF,
            options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE,
        ),
        None if !core.fills(call.op) => (UPDATE, disposition::OPEN, options::NON_DIRECTORY_FILE),
        Some(OpenFor::Replace) | None => (
            UPDATE,
            disposition::OVERWRITE_IF,
            options::NON_DIRECTORY_FILE,
        ),
    };
    NtCreate {
        flags: 0,
        access,
        attributes: attributes::NORMAL,
        allocation: 0,
        share: share::ALL,
        disposition,
        options,
        path,
    }
}

/// WRITE_ANDX, with the data put where it goes without a copy in between.
fn write(head: &Head, core: &Core, call: &Call, out: &mut Vec<u8>) {
    let request = WriteAndx {
        fid: fid(core, call),
        offset: call.offset,
        write_through: false,
    };
    let mark = request.begin(head, out);
    core.append_contents(call, out);
    mark.finish(out);
}

fn fid(core: &Core, call: &Call) -> u16 {
    core.ops.get(call.op).file.1 as u16
}

fn on_file(head: &Head, core: &Core, call: &Call, out: &mut Vec<u8>) {
    let fid = fid(core, call);
    let set = |info| SetFile { fid, info };
    match call.kind {
        Kind::Close => head.put(out, &Close { fid }),
        Kind::Flush => head.put(out, &Flush { fid }),
        Kind::Read => head.put(
            out,
            &ReadAndx {
                fid,
                offset: call.offset,
                count: call.length,
            },
        ),
        Kind::Lock => lock(head, core, call, out),
        Kind::QueryFile => head.put(
            out,
            &QueryFile {
                fid,
                level: level::FILE_ALL,
                max_data: QUERY_BYTES as u16,
            },
        ),
        Kind::QuerySecurity => head.put(
            out,
            &QuerySecurity {
                fid,
                fields: SECURITY_PARTS,
                max_data: SECURITY_BYTES,
            },
        ),
        Kind::SetTimes => head.put(
            out,
            &set(SetInfo::Basic(BasicInfo {
                written: core.filetime(),
                attributes: attributes::NORMAL,
                ..BasicInfo::default()
            })),
        ),
        Kind::SetSize => head.put(out, &set(SetInfo::EndOfFile(call.offset))),
        _ => head.put(out, &set(SetInfo::Disposition(true))),
    }
}

fn lock(head: &Head, core: &Core, call: &Call, out: &mut Vec<u8>) {
    let range = [Range {
        offset: call.offset,
        length: call.length.into(),
    }];
    let (unlocks, locks) = match core.unlocks(call.op) {
        true => (&range[..], &[][..]),
        false => (&[][..], &range[..]),
    };
    head.put(
        out,
        &Locking {
            fid: fid(core, call),
            shared: false,
            timeout_ms: 0,
            pid: head.pid as u16,
            unlocks,
            locks,
        },
    );
}

/// Takes a whole message of the server.
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
    let header = Header::read(message)?;
    if header.is_oplock_break() {
        core.counters.add(Tally::OplockBreaks);
        return Ok(());
    }
    let id = u64::from(header.mid);
    let call = window.find(id);
    let Some((slot, call)) = call.and_then(|s| Some((s, *core.calls.get(s)?))) else {
        core.counters.add(Tally::StaleReplies);
        return Ok(());
    };
    if !call.is_sent {
        return Err(DecodeError::Bad("an answer that comes before its question"));
    }
    let message = session.unprotect(message, call.reply_sequence)?;
    let verdict = judge(core, slot, &call, &header, message);
    let Some(good) = verdict else {
        return Ok(());
    };
    window.answered(id);
    part_answered(core, slot, good, now);
    Ok(())
}

/// What a reply says; what is wrong with it goes into the call. `None`: more of it is to
/// come.
fn judge(
    core: &mut Core,
    slot: u32,
    call: &Call,
    header: &Header,
    message: &[u8],
) -> Option<Verdict> {
    let queries = matches!(
        call.kind,
        Kind::QueryFile | Kind::QueryPath | Kind::QueryFs | Kind::QuerySecurity
    );
    let verdict = match header.status {
        _ if !answers(call.kind, header.command) => Verdict::Ends(Status::Garbage),
        status if status == 0 || status == BUFFER_OVERFLOW && queries => {
            let sound = Reply::read(message).and_then(|reply| sound(core, slot, call, &reply));
            sound.unwrap_or(Some(Verdict::Ends(Status::Garbage)))?
        }
        NO_MORE_FILES if call.kind == Kind::Find => Verdict::Good,
        END_OF_FILE if call.kind == Kind::Read => Verdict::End,
        // Without renewal: the connection is made anew with everything on it.
        status if status == NETWORK_SESSION_EXPIRED || ends_session(status) => {
            core.session = SessionState::Gone;
            Verdict::Ends(Status::Disconnected)
        }
        // Neither an error of NT's nor one of DOS's: not an answer to what was asked.
        status if status >> 30 == 2 || status >> 30 == 1 => Verdict::Ends(Status::Garbage),
        status => Verdict::Failed(status),
    };
    if let Some(call) = core.calls.get_mut(slot) {
        match verdict {
            Verdict::Failed(status) => call.status = status,
            Verdict::Ends(Status::Garbage) => call.is_garbage = true,
            Verdict::Ends(Status::Disconnected) => call.is_lost = true,
            _ => {}
        }
    }
    Some(verdict)
}

/// Whether a command is the one that the call sent.
const fn answers(kind: Kind, command: u8) -> bool {
    command
        == match kind {
            Kind::Echo => Command::Echo,
            Kind::Open => Command::NtCreateAndx,
            Kind::Close => Command::Close,
            Kind::Read => Command::ReadAndx,
            Kind::Write => Command::WriteAndx,
            Kind::Flush => Command::Flush,
            Kind::Lock => Command::LockingAndx,
            Kind::QuerySecurity => Command::NtTransact,
            Kind::QueryFile
            | Kind::QueryPath
            | Kind::QueryFs
            | Kind::Find
            | Kind::SetTimes
            | Kind::SetSize
            | Kind::SetDelete => Command::Transaction2,
            Kind::MakeDir => Command::CreateDirectory,
            Kind::RemoveFile => Command::Delete,
            Kind::RemoveDir => Command::DeleteDirectory,
        }
        .code()
}

fn sound(
    core: &mut Core,
    slot: u32,
    call: &Call,
    reply: &Reply<'_>,
) -> Result<Option<Verdict>, DecodeError> {
    Ok(Some(match call.kind {
        Kind::Open => Verdict::Opened(FileId(0, Created::read(reply)?.fid.into())),
        Kind::Read => {
            let data = ReadData::read(reply)?.data;
            match data.len() {
                0 if call.length > 0 => Verdict::End,
                len if len > call.length as usize => Verdict::Ends(Status::Garbage),
                _ => core.check(call.op, call.offset, data),
            }
        }
        Kind::Write => Verdict::Moved(Written::read(reply)?.count),
        Kind::QueryFile
        | Kind::QueryPath
        | Kind::QueryFs
        | Kind::QuerySecurity
        | Kind::Find
        | Kind::SetTimes
        | Kind::SetSize
        | Kind::SetDelete => return transaction(core, slot, reply),
        _ => Verdict::Good,
    }))
}

/// Counts the pieces of an answer: complete with the last byte.
fn transaction(
    core: &mut Core,
    slot: u32,
    reply: &Reply<'_>,
) -> Result<Option<Verdict>, DecodeError> {
    let (came, total) = Part::read(reply)?.counts();
    let Some(call) = core.calls.get_mut(slot) else {
        return Ok(None);
    };
    call.received = call.received.saturating_add(came as u32);
    Ok((call.received as usize >= total).then_some(Verdict::Good))
}

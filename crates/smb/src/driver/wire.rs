//! Converts calls to requests that SMB1 and SMB2 share, and judges the replies (MS-CIFS,
//! MS-SMB, MS-SMB2). With SMB1 a call is one message, and its answer may have several; with
//! SMB2 it is one frame, which may be a compound.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::{Call, CallOutcome, FileId, Kind};
use super::core::{Core, SessionState};
use super::counters::Tally;
use super::session::part_answered;
use super::status::{NETWORK_SESSION_EXPIRED, ends_session};
use super::window::Window;
use filermark_engine::driver::Status;
use filermark_engine::session_action::OpenFor;
use filermark_model::Nanos;
use filermark_smbwire::codec::{Codec, MESSAGES_MAX, MessageId, Reply};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::request::{Change, Data, FileInfo, FsInfo, Open, Request, Target};
use filermark_smbwire::smb1;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::query::BasicInfo;
use filermark_smbwire::smb2::{self, LockKind, LockRange, Messages, RequestedOplock};

/// Entries of a listing that are requested at once (SMB1): as many as kernel clients request.
const FIND_COUNT: u16 = 1366;
/// Largest answer with attributes, which include a name, in bytes.
const QUERY_BYTES: u32 = 4096;
/// Largest security descriptor, in bytes.
const SECURITY_BYTES: u32 = 16 << 10;
/// Owner, group and access list (MS-DTYP 2.4.7).
const SECURITY_PARTS: u32 = 0x7;

/// Rights for reading a file's attributes and its security descriptor.
const ATTRIBUTES: u32 = access::READ_ATTRIBUTES | access::READ_CONTROL | access::SYNCHRONIZE;
/// Rights for reading.
const READ: u32 = ATTRIBUTES | access::READ_DATA | access::READ_EA;
/// Rights for changing.
const UPDATE: u32 =
    READ | access::WRITE_DATA | access::APPEND_DATA | access::WRITE_EA | access::WRITE_ATTRIBUTES;

/// The data of a write.
#[derive(Debug)]
struct Contents<'a> {
    core: &'a Core,
    call: &'a Call,
}

impl Data for Contents<'_> {
    fn length(&self) -> u32 {
        self.call.length
    }

    fn append(&self, out: &mut Vec<u8>) {
        self.core.append_contents(self.call, out);
    }
}

/// The parts of a call's request.
struct Parts<'a> {
    core: &'a Core,
    call: &'a Call,
    contents: Contents<'a>,
    ranges: [LockRange; 1],
}

impl<'a> Parts<'a> {
    #[inline]
    fn of(core: &'a Core, call: &'a Call) -> Self {
        let unlocks = core.unlocks(call.op);
        Self {
            core,
            call,
            contents: Contents { core, call },
            ranges: [LockRange {
                offset: call.offset,
                length: call.length.into(),
                kind: match unlocks {
                    true => LockKind::Unlock,
                    false => LockKind::Exclusive,
                },
                fail_immediately: !unlocks,
            }],
        }
    }

    /// The request; `path` is used by calls with a path.
    #[inline]
    fn request<'r, C: Codec>(&'r self, path: &'r str) -> Request<'r> {
        let call = self.call;
        let FileId(persistent, volatile) = self.core.ops.get(call.op).file;
        let file = smb2::FileId {
            persistent,
            volatile,
        };
        let query = |target| Request::Query {
            target,
            infos: &[FileInfo::All],
            most: QUERY_BYTES,
        };
        let set = |change| Request::Set { file, change };
        match call.kind {
            Kind::Echo => Request::Echo,
            Kind::Open => Request::Open(self.open_file(path)),
            Kind::Close => Request::Close { file, facts: false },
            Kind::Read => Request::Read {
                file,
                offset: call.offset,
                length: call.length,
            },
            Kind::Write => Request::Write {
                file,
                offset: call.offset,
                data: &self.contents,
            },
            Kind::Flush => Request::Flush { file },
            Kind::Lock => Request::Lock {
                file,
                ranges: &self.ranges,
            },
            Kind::QueryFile => query(Target::File(file)),
            Kind::QueryPath => query(Target::Path(open(path, ATTRIBUTES, disposition::OPEN, 0))),
            // The root of the share, not the proc's directory.
            Kind::QueryFs => Request::QueryFs {
                target: Target::Path(open("", ATTRIBUTES, disposition::OPEN, 0)),
                info: FsInfo::PlainSpace,
                most: QUERY_BYTES,
            },
            Kind::QuerySecurity => Request::QuerySecurity {
                file,
                parts: SECURITY_PARTS,
                most: SECURITY_BYTES,
            },
            Kind::SetTimes => set(Change::Basic(BasicInfo {
                last_write_time: self.core.filetime(),
                attributes: attributes::NORMAL,
                ..BasicInfo::default()
            })),
            Kind::SetSize => set(Change::EndOfFile(call.offset)),
            Kind::SetDelete => set(Change::Delete(true)),
            Kind::Find => Request::List {
                open: open(path, READ, disposition::OPEN, options::DIRECTORY_FILE),
                count: FIND_COUNT,
                most: C::LIST_BYTES,
            },
            Kind::MakeDir => Request::MakeDir(Open {
                attributes: attributes::DIRECTORY,
                ..open(
                    path,
                    ATTRIBUTES,
                    disposition::OPEN_IF,
                    options::DIRECTORY_FILE,
                )
            }),
            Kind::RemoveFile => Request::RemoveFile(removal(path, options::NON_DIRECTORY_FILE)),
            Kind::RemoveDir => Request::RemoveDir(removal(path, options::DIRECTORY_FILE)),
        }
    }

    /// How a file is opened.
    fn open_file<'r>(&self, path: &'r str) -> Open<'r> {
        let file = options::NON_DIRECTORY_FILE;
        let overwrite = disposition::OVERWRITE_IF;
        match self.core.open_for(self.call.op) {
            Some(OpenFor::Attributes) => open(path, ATTRIBUTES, disposition::OPEN, 0),
            Some(OpenFor::Read) => open(path, READ, disposition::OPEN, file),
            Some(OpenFor::Update) => open(path, UPDATE, disposition::OPEN, file),
            Some(OpenFor::Replace) => open(path, UPDATE, overwrite, file),
            Some(OpenFor::Temporary) => {
                let options = file | options::DELETE_ON_CLOSE;
                open(path, UPDATE | access::DELETE, overwrite, options)
            }
            None if self.core.fills(self.call.op) => open(path, UPDATE, overwrite, file),
            None => open(path, UPDATE, disposition::OPEN, file),
        }
    }
}

const fn open(path: &str, access: u32, disposition: u32, options: u32) -> Open<'_> {
    Open {
        path,
        access,
        attributes: attributes::NORMAL,
        share: share::ALL,
        disposition,
        options,
        oplock: RequestedOplock::None,
    }
}

const fn removal(path: &str, options: u32) -> Open<'_> {
    let options = options | options::DELETE_ON_CLOSE;
    open(path, access::DELETE, disposition::OPEN, options)
}

/// How many messages a call has, and how many credits they cost.
pub(crate) fn cost<C: Codec>(session: &C, core: &Core, call: &Call) -> (u32, u32) {
    let parts = Parts::of(core, call);
    let charges = session.charges(&parts.request::<C>(""));
    (charges.all().len() as u32, charges.total())
}

/// Encodes a call, as one frame.
pub(crate) fn encode<C: Codec>(
    session: &mut C,
    window: &mut Window,
    core: &mut Core,
    slot: u32,
    out: &mut Vec<u8>,
) {
    let call = *core.calls.get(slot);
    let mut path = std::mem::take(&mut core.path);
    if call.kind.is_on_path() {
        let proc = core.ops.get(call.op).proc as usize;
        core.procs[proc].path(core.place_of(call.op), &mut path);
    }
    let frame = session.begin_frame(out);
    let parts = Parts::of(core, &call);
    let request = parts.request::<C>(&path);
    let charges = session.charges(&request);
    let mut ids = [MessageId::default(); MESSAGES_MAX];
    for (id, charge) in ids.iter_mut().zip(charges.all()) {
        // `Window::can_send` was checked before.
        id.id = window.take(slot, u32::from(*charge)).unwrap_or_default();
        id.credits = window.request(u32::from(*charge));
    }
    session.put(&ids, &request, out);
    let reply_sequence = session.end_frame(out, frame);
    core.path = path;
    core.calls.get_mut(slot).reply_sequence = reply_sequence;
}

/// The call that a message of the server answers, with its slot. `None`: no call waits for it.
fn answered(window: &Window, core: &mut Core, id: u64) -> Result<Option<(u32, Call)>, DecodeError> {
    let slot = window.find(id).filter(|slot| core.calls.is_used(*slot));
    let Some(slot) = slot else {
        core.counters.add(Tally::StaleReplies);
        return Ok(None);
    };
    let call = *core.calls.get(slot);
    match call.on_wire {
        true => Ok(Some((slot, call))),
        false => Err(DecodeError::Bad("an answer to a call that was not sent")),
    }
}

/// Processes a whole message of an SMB1 server.
///
/// # Errors
/// The message is not valid in this session.
pub(crate) fn receive_smb1(
    session: &mut smb1::Session,
    window: &mut Window,
    core: &mut Core,
    message: &mut [u8],
    now: Nanos,
) -> Result<(), DecodeError> {
    let header = smb1::Header::read(message)?;
    if header.is_oplock_break() {
        core.counters.add(Tally::OplockBreaks);
        return Ok(());
    }
    let id = u64::from(header.mid);
    let Some((slot, call)) = answered(window, core, id)? else {
        return Ok(());
    };
    let message = session.unprotect(message, call.reply_sequence)?;
    let came = (u16::from(header.command), header.status);
    // The answer may have more messages.
    if let Some(verdict) = judge::<smb1::Session>(core, slot, &call, came, message) {
        window.answered(id);
        part_answered(core, slot, verdict, now);
    }
    Ok(())
}

/// Processes a whole message of an SMB2 or SMB3 server, which may be a compound.
///
/// # Errors
/// The message is not valid in this session.
pub(crate) fn receive_smb2(
    session: &mut smb2::Session,
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
        let Some((slot, call)) = answered(window, core, header.message_id)? else {
            continue;
        };
        if header.is_interim() {
            core.counters.add(Tally::PendingReplies);
            continue;
        }
        window.answered(header.message_id);
        let came = (header.command as u16, header.status);
        if let Some(verdict) = judge::<smb2::Session>(core, slot, &call, came, message) {
            part_answered(core, slot, verdict, now);
        }
    }
    Ok(())
}

/// How a message answers its call.
enum Answer<'m> {
    /// With the requested results.
    Good(Reply<'m>),
    /// With a status of failure.
    Refused,
    /// It is not a valid answer.
    Garbage,
}

fn read<'m, C: Codec>(
    core: &Core,
    call: &Call,
    (command, status): (u16, u32),
    message: &'m [u8],
) -> Answer<'m> {
    let parts = Parts::of(core, call);
    let request = parts.request::<C>("");
    if !C::is_answer(&request, command) {
        return Answer::Garbage;
    }
    if !C::is_good(&request, command, status) {
        return Answer::Refused;
    }
    C::take(&request, command, status, message).map_or(Answer::Garbage, Answer::Good)
}

/// The outcome of a reply; errors are noted in the call. `None`: it has more messages.
fn judge<C: Codec>(
    core: &mut Core,
    slot: u32,
    call: &Call,
    came: (u16, u32),
    message: &[u8],
) -> Option<CallOutcome> {
    let status = came.1;
    let verdict = match read::<C>(core, call, came, message) {
        Answer::Garbage => CallOutcome::Ends(Status::Garbage),
        Answer::Good(reply) => good(core, slot, call, reply)?,
        // Without renewal a new connection is made, and its session is set up again.
        Answer::Refused
            if ends_session(status) || !C::RENEWS && status == NETWORK_SESSION_EXPIRED =>
        {
            core.session = SessionState::Deleted;
            CallOutcome::Ends(Status::Disconnected)
        }
        // Neither an error nor a valid answer.
        Answer::Refused if !C::is_refusal(status) => CallOutcome::Ends(Status::Garbage),
        Answer::Refused => CallOutcome::Failed(status),
    };
    let call = core.calls.get_mut(slot);
    if let CallOutcome::Failed(status) = verdict
        && call.status == 0
    {
        call.status = status;
    }
    call.is_garbage |= verdict == CallOutcome::Ends(Status::Garbage);
    call.is_lost |= verdict == CallOutcome::Ends(Status::Disconnected);
    Some(verdict)
}

/// The outcome of a reply with results.
fn good(core: &mut Core, slot: u32, call: &Call, reply: Reply<'_>) -> Option<CallOutcome> {
    Some(match reply {
        Reply::Done => CallOutcome::Ok,
        Reply::Opened(file) => CallOutcome::Opened(FileId(file.persistent, file.volatile)),
        Reply::Data(data) if data.len() > call.length as usize => {
            CallOutcome::Ends(Status::Garbage)
        }
        Reply::Data(data) => core.check(call.op, call.offset, data),
        Reply::End => CallOutcome::End,
        Reply::Written(count) => CallOutcome::Transferred(count),
        // Complete with the last byte.
        Reply::Part { came, total } => {
            let call = core.calls.get_mut(slot);
            call.received = call.received.saturating_add(came as u32);
            return (call.received as usize >= total).then_some(CallOutcome::Ok);
        }
    })
}

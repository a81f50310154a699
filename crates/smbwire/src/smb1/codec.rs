//! The requests that both protocols share, as messages of SMB1: one message each; the
//! answer to a transaction may come in several.
#![deny(clippy::wildcard_enum_match_arm)]

use super::header::Command;
use super::info::{self, FsSize, level};
use super::pieces::Part;
use super::reply::{Created, FindFirstReply, FindNextReply, ReadData, Reply, Written};
use super::request::{
    Close, CreateDirectory, Delete, DeleteDirectory, Echo, FindClose, Flush, Logoff, NtCreate,
    TreeDisconnect,
};
use super::session::Session;
use super::setup::caps;
use super::trans::{
    FindFirst, FindNext, NotifyChange, QueryFile, QueryFs, QueryPath, QuerySecurity, SetFile,
    SetInfo,
};
use super::transfer::{OplockAck, Range, ReadAndx, WriteAndx, put_locks};
use super::writer::{Head, Path, Request as Message, Writer};
use crate::codec::{self, Answer, Charges, Codec, Entries, Listed, MessageId, Opened, Seen, Space};
use crate::error::DecodeError;
use crate::request::{Change, FileInfo, FsInfo, Open, Request, Target};
use crate::settings::TransferLimits;
use crate::smb2::notify::Changes;
use crate::smb2::query::{BasicInfo, StandardInfo};
use crate::smb2::{
    FileFacts, FileId, GrantedLease, LockKind, LockRange, OplockLevel, RequestedOplock,
};
use crate::status;

/// What an echo carries.
const ECHO: &[u8] = b"filermark";
/// Flags of NT_CREATE_ANDX: an oplock, a batch one.
const WANT_OPLOCK: u32 = 0x02;
const WANT_BATCH: u32 = 0x04;
/// Flag of a search: the server ends it with its first answer (MS-CIFS 2.2.6.2.1).
const CLOSE_AT_ONCE: u16 = 0x0001;
/// Flag of a search: the server ends it with the last entry.
const CLOSE_AT_END: u16 = 0x0002;
/// Flag of a search: go on where the last answer ended.
const CONTINUE: u16 = 0x0008;
/// Room for facts about the share's root, in bytes.
const ROOT_BYTES: u16 = 1024;
/// How long a lock that may wait does so, in milliseconds.
const LOCK_WAIT_MS: u32 = 30_000;

const fn fid(file: FileId) -> u16 {
    file.volatile as u16
}

const fn file(fid: u16) -> FileId {
    FileId {
        persistent: 0,
        volatile: fid as u64,
    }
}

/// A length that has 16 bits here.
fn short(bytes: u32) -> u16 {
    bytes.min(u16::MAX.into()) as u16
}

const fn create<'a>(open: &Open<'a>) -> NtCreate<'a> {
    NtCreate {
        flags: match open.oplock {
            RequestedOplock::Oplock(OplockLevel::Exclusive) => WANT_OPLOCK,
            RequestedOplock::Oplock(OplockLevel::Batch) => WANT_OPLOCK | WANT_BATCH,
            RequestedOplock::Oplock(OplockLevel::None | OplockLevel::Two | OplockLevel::Lease)
            | RequestedOplock::None
            | RequestedOplock::Lease { .. }
            | RequestedOplock::LeaseV2 { .. } => 0,
        },
        access: open.access,
        attributes: open.attributes,
        allocation: 0,
        share: open.share,
        disposition: open.disposition,
        options: open.options,
        path: Path::of(open.path),
    }
}

/// LOCKING_ANDX of the process that the header names.
#[derive(Debug)]
struct Locks<'a> {
    fid: u16,
    pid: u16,
    ranges: &'a [LockRange],
}

impl Message for Locks<'_> {
    const COMMAND: Command = Command::LockingAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        let of = |unlocks: bool| {
            let wanted = move |r: &&LockRange| (r.kind == LockKind::Unlock) == unlocks;
            self.ranges.iter().filter(wanted)
        };
        let shared = of(false).any(|r| r.kind == LockKind::Shared);
        let waits = of(false).any(|r| !r.fail_immediately);
        let how = (shared, if waits { LOCK_WAIT_MS } else { 0 });
        let range = |r: &LockRange| Range {
            offset: r.offset,
            length: r.length,
        };
        put_locks(
            w,
            self.fid,
            how,
            self.pid,
            of(true).map(range),
            of(false).map(range),
        );
    }
}

const fn info_level(info: FileInfo) -> u16 {
    match info {
        FileInfo::Basic => level::FILE_BASIC,
        FileInfo::Standard => level::FILE_STANDARD,
        FileInfo::All => level::FILE_ALL,
    }
}

const fn set_info<'a>(change: &Change<'a>) -> SetInfo<'a> {
    match *change {
        Change::Basic(basic) => SetInfo::Basic(info::BasicInfo {
            created: basic.creation_time,
            accessed: basic.last_access_time,
            written: basic.last_write_time,
            changed: basic.change_time,
            attributes: basic.attributes,
        }),
        Change::EndOfFile(size) => SetInfo::EndOfFile(size),
        Change::Delete(delete) => SetInfo::Disposition(delete),
        Change::Rename { name, replace, .. } => SetInfo::Rename { replace, name },
    }
}

fn query(head: &Head, target: &Target<'_>, level: u16, max_data: u16, out: &mut Vec<u8>) {
    match target {
        Target::File(file) => head.put(
            out,
            &QueryFile {
                fid: fid(*file),
                level,
                max_data,
            },
        ),
        Target::Path(open) => head.put(
            out,
            &QueryPath {
                path: Path::of(open.path),
                level,
                max_data,
            },
        ),
    }
}

/// A search shows what has a path itself. TRANS2_QUERY_PATH_INFORMATION may follow it, and
/// its level for sizes has no attributes; but the share's root is in no directory.
fn look(head: &Head, path: &str, most: u32, out: &mut Vec<u8>) {
    if path.is_empty() {
        let request = QueryPath {
            path: Path::of(path),
            level: level::FILE_STANDARD,
            max_data: ROOT_BYTES,
        };
        return head.put(out, &request);
    }
    let request = FindFirst {
        pattern: Path::of(path),
        count: 1,
        flags: CLOSE_AT_ONCE,
        max_data: short(most),
    };
    head.put(out, &request);
}

/// The first message of a search.
fn find<'a>(dir: &'a str, name: &'a str, count: u16, flags: u16, most: u32) -> FindFirst<'a> {
    FindFirst {
        pattern: Path { dir, name },
        count,
        flags,
        max_data: short(most),
    }
}

impl Session {
    const fn has_passthru(&self) -> bool {
        self.capabilities & caps::PASSTHRU != 0
    }

    /// A request on a file system: the share's, whatever it is asked of.
    fn query_fs(&self, info: FsInfo, most: u32) -> QueryFs {
        QueryFs {
            level: match info {
                FsInfo::Space if self.has_passthru() => level::FS_FULL_SIZE,
                FsInfo::Space | FsInfo::PlainSpace => level::FS_SIZE,
            },
            max_data: short(most),
        }
    }
}

/// What an entry of SMB1 says, in the terms of both protocols.
pub(crate) const fn facts(entry: &info::Entry<'_>) -> FileFacts {
    FileFacts {
        creation_time: entry.basic.created,
        last_access_time: entry.basic.accessed,
        last_write_time: entry.basic.written,
        change_time: entry.basic.changed,
        allocation_size: entry.allocation,
        end_of_file: entry.size,
        attributes: entry.basic.attributes,
    }
}

impl Codec for Session {
    const INFOS_MAX: usize = 1;
    const LIST_BYTES: u32 = 56 << 10;
    const OPEN_ITSELF: u32 = 0;
    const STATUS_CLOSES_LIST: bool = true;
    const RENEWS: bool = false;

    fn limits(&self) -> TransferLimits {
        self.limits
    }

    fn charges(&self, _request: &Request<'_>) -> Charges {
        Charges::SMB1
    }

    fn begin_frame(&self, out: &mut Vec<u8>) -> usize {
        self.begin(out)
    }

    #[inline]
    fn put(&self, ids: &[MessageId], request: &Request<'_>, out: &mut Vec<u8>) {
        let head = self.head(ids.first().copied().unwrap_or_default().id as u16);
        match *request {
            Request::Echo => head.put(out, &Echo { data: ECHO }),
            Request::Open(open) => head.put(out, &create(&open)),
            Request::Close { file, .. } => head.put(out, &Close { fid: fid(file) }),
            Request::Read {
                file,
                offset,
                length,
            } => {
                let (fid, count) = (fid(file), length);
                head.put(out, &ReadAndx { fid, offset, count });
            }
            Request::Write { file, offset, data } => {
                let write = WriteAndx {
                    fid: fid(file),
                    offset,
                    write_through: false,
                };
                let mark = write.begin(&head, out);
                data.append(out);
                mark.finish(out);
            }
            Request::Flush { file } => head.put(out, &Flush { fid: fid(file) }),
            Request::Lock { file, ranges } => {
                let (fid, pid) = (fid(file), head.pid as u16);
                head.put(out, &Locks { fid, pid, ranges });
            }
            Request::Query {
                target,
                infos,
                most,
            } => {
                let info = infos.first().copied().unwrap_or(FileInfo::Basic);
                query(&head, &target, info_level(info), short(most), out);
            }
            Request::QueryFs { info, most, .. } => head.put(out, &self.query_fs(info, most)),
            Request::QuerySecurity { file, parts, most } => {
                let (fid, fields, max_data) = (fid(file), parts, most);
                let request = QuerySecurity {
                    fid,
                    fields,
                    max_data,
                };
                head.put(out, &request);
            }
            Request::Set { file, change } => {
                let (fid, info) = (fid(file), set_info(&change));
                head.put(out, &SetFile { fid, info });
            }
            Request::Look { open, most } => look(&head, open.path, most, out),
            Request::List { open, count, most } => {
                head.put(out, &find(open.path, "*", count, CLOSE_AT_ONCE, most));
            }
            Request::ListBegin {
                open,
                pattern,
                count,
                most,
            } => head.put(out, &find(open.path, pattern, count, CLOSE_AT_END, most)),
            Request::ListNext {
                list,
                after,
                count,
                most,
                ..
            } => {
                let next = FindNext {
                    sid: fid(list),
                    count,
                    resume_key: after.index,
                    flags: CLOSE_AT_END | CONTINUE,
                    name: after.name,
                    max_data: short(most),
                };
                head.put(out, &next);
            }
            Request::ListEnd { list } => head.put(out, &FindClose { sid: fid(list) }),
            Request::MakeDir(open) => {
                let path = Path::of(open.path);
                head.put(out, &CreateDirectory { path });
            }
            Request::RemoveFile(open) => {
                let path = Path::of(open.path);
                head.put(out, &Delete { path });
            }
            Request::RemoveDir(open) => {
                let path = Path::of(open.path);
                head.put(out, &DeleteDirectory { path });
            }
            Request::Watch {
                dir,
                filter,
                tree,
                most,
            } => {
                let watch = NotifyChange {
                    fid: fid(dir),
                    filter,
                    tree,
                    max_parameters: most,
                };
                head.put(out, &watch);
            }
            Request::Acknowledge { file, level } => {
                let level = u8::from(level == OplockLevel::Two);
                head.put(
                    out,
                    &OplockAck {
                        fid: fid(file),
                        level,
                    },
                );
            }
            Request::TreeDisconnect => head.put(out, &TreeDisconnect),
            Request::Logoff => head.put(out, &Logoff),
        }
    }

    fn end_frame(&mut self, out: &mut [u8], start: usize) -> u32 {
        self.protect(out, start)
    }

    fn step(request: &Request<'_>) -> &'static str {
        match request {
            Request::Query { target, .. } => match target {
                Target::File(_) => "TRANS2_QUERY_FILE_INFORMATION",
                Target::Path(_) => "TRANS2_QUERY_PATH_INFORMATION",
            },
            Request::Look { open, .. } if open.path.is_empty() => "TRANS2_QUERY_PATH_INFORMATION",
            Request::QueryFs { .. } => "TRANS2_QUERY_FS_INFORMATION",
            Request::QuerySecurity { .. } => "NT_TRANSACT_QUERY_SECURITY_DESC",
            Request::Set { .. } => "TRANS2_SET_FILE_INFORMATION",
            Request::Look { .. } | Request::List { .. } | Request::ListBegin { .. } => {
                "TRANS2_FIND_FIRST2"
            }
            Request::ListNext { .. } => "TRANS2_FIND_NEXT2",
            Request::Watch { .. } => "NT_TRANSACT_NOTIFY_CHANGE",
            Request::Echo
            | Request::Open(_)
            | Request::Close { .. }
            | Request::Read { .. }
            | Request::Write { .. }
            | Request::Flush { .. }
            | Request::Lock { .. }
            | Request::ListEnd { .. }
            | Request::MakeDir(_)
            | Request::RemoveFile(_)
            | Request::RemoveDir(_)
            | Request::Acknowledge { .. }
            | Request::TreeDisconnect
            | Request::Logoff => command(request).name(),
        }
    }

    #[inline]
    fn is_answer(request: &Request<'_>, answered: u16) -> bool {
        u16::from(command(request).code()) == answered
    }

    #[inline]
    fn is_good(request: &Request<'_>, _command: u16, status: u32) -> bool {
        match status {
            status::SUCCESS => true,
            status::BUFFER_OVERFLOW => matches!(
                request,
                Request::Query { .. } | Request::QueryFs { .. } | Request::QuerySecurity { .. }
            ),
            status::NO_MORE_FILES => matches!(request, Request::List { .. }),
            status::END_OF_FILE => matches!(request, Request::Read { .. }),
            _ => false,
        }
    }

    fn is_refusal(status: u32) -> bool {
        // An error of NT's, or one of DOS's.
        matches!(status >> 30, 0 | 3)
    }

    #[inline]
    fn take<'m>(
        request: &Request<'_>,
        _command: u16,
        status: u32,
        message: &'m [u8],
    ) -> Result<codec::Reply<'m>, DecodeError> {
        if status == status::NO_MORE_FILES {
            return Ok(codec::Reply::Done);
        }
        if status == status::END_OF_FILE {
            return Ok(codec::Reply::End);
        }
        let reply = Reply::read(message)?;
        Ok(match request {
            Request::Open(_) => codec::Reply::Opened(file(Created::read(&reply)?.fid)),
            Request::Read { length, .. } => match ReadData::read(&reply)?.data {
                [] if *length > 0 => codec::Reply::End,
                data => codec::Reply::Data(data),
            },
            Request::Write { .. } => codec::Reply::Written(Written::read(&reply)?.count),
            Request::Query { .. }
            | Request::QueryFs { .. }
            | Request::QuerySecurity { .. }
            | Request::Set { .. }
            | Request::Look { .. }
            | Request::List { .. }
            | Request::ListBegin { .. }
            | Request::ListNext { .. }
            | Request::Watch { .. } => {
                let (came, total) = Part::read(&reply)?.counts();
                codec::Reply::Part { came, total }
            }
            Request::Echo
            | Request::Close { .. }
            | Request::Flush { .. }
            | Request::Lock { .. }
            | Request::ListEnd { .. }
            | Request::MakeDir(_)
            | Request::RemoveFile(_)
            | Request::RemoveDir(_)
            | Request::Acknowledge { .. }
            | Request::TreeDisconnect
            | Request::Logoff => codec::Reply::Done,
        })
    }

    fn output_at(_request: &Request<'_>) -> usize {
        0
    }

    fn opened(answer: &Answer<'_>) -> Result<Opened, DecodeError> {
        let created = Created::read(&Reply::read(answer.message)?)?;
        Ok(Opened {
            file: file(created.fid),
            action: created.action,
            oplock: match created.oplock {
                1 => OplockLevel::Exclusive,
                2 => OplockLevel::Batch,
                3 => OplockLevel::Two,
                _ => OplockLevel::None,
            },
            size: created.size,
            attributes: created.basic.attributes,
        })
    }

    fn lease(_answer: &Answer<'_>) -> Result<Option<GrantedLease>, DecodeError> {
        Ok(None)
    }

    fn closed(_answer: &Answer<'_>) -> Result<Option<FileFacts>, DecodeError> {
        Ok(None)
    }

    fn data<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError> {
        Ok(ReadData::read(&Reply::read(answer.message)?)?.data)
    }

    fn written(answer: &Answer<'_>) -> Result<u32, DecodeError> {
        Ok(Written::read(&Reply::read(answer.message)?)?.count)
    }

    fn output<'m>(answer: &Answer<'m>) -> Result<&'m [u8], DecodeError> {
        Ok(answer.transaction.data)
    }

    fn basic(answer: &Answer<'_>) -> Result<BasicInfo, DecodeError> {
        let basic = info::BasicInfo::read(answer.transaction.data)?;
        Ok(BasicInfo {
            creation_time: basic.created,
            last_access_time: basic.accessed,
            last_write_time: basic.written,
            change_time: basic.changed,
            attributes: basic.attributes,
        })
    }

    fn standard(answer: &Answer<'_>) -> Result<StandardInfo, DecodeError> {
        let standard = info::StandardInfo::read(answer.transaction.data)?;
        Ok(StandardInfo {
            allocation_size: standard.allocation,
            end_of_file: standard.size,
            links: standard.links,
            delete_pending: standard.delete_pending,
            directory: standard.directory,
        })
    }

    fn space(&self, answer: &Answer<'_>) -> Result<Space, DecodeError> {
        let size = match self.has_passthru() {
            true => FsSize::read_full(answer.transaction.data)?,
            false => FsSize::read(answer.transaction.data)?,
        };
        Ok(Space {
            total: size.total,
            available: size.available,
            free: size.free,
        })
    }

    fn seen(path: &str, answer: &Answer<'_>) -> Result<Option<Seen>, DecodeError> {
        if path.is_empty() {
            let standard = Self::standard(answer)?;
            return Ok(Some(Seen {
                is_dir: standard.directory,
                is_link: false,
                size: standard.end_of_file,
            }));
        }
        let first = FindFirstReply::read(&answer.transaction)?;
        for entry in entries(answer, first.count) {
            let entry = entry?;
            if !entry.is_dot() {
                return Ok(Some(entry.seen()));
            }
        }
        Ok(None)
    }

    fn list_begun<'m>(answer: &Answer<'m>) -> Result<Listed<'m>, DecodeError> {
        let first = FindFirstReply::read(&answer.transaction)?;
        Ok(Listed {
            list: Some(file(first.sid)),
            entries: Some(entries(answer, first.count)),
            is_over: first.end || first.count == 0,
            is_closed: first.end,
        })
    }

    fn list_part<'m>(answer: &Answer<'m>) -> Result<Listed<'m>, DecodeError> {
        let next = FindNextReply::read(&answer.transaction)?;
        Ok(Listed {
            list: None,
            entries: Some(entries(answer, next.count)),
            is_over: next.end || next.count == 0,
            is_closed: next.end,
        })
    }

    fn is_empty_list(status: u32) -> bool {
        matches!(status, status::NO_SUCH_FILE | status::NO_MORE_FILES)
    }

    fn is_list_end(status: u32) -> bool {
        status == status::NO_MORE_FILES
    }

    fn changes<'m>(answer: &Answer<'m>) -> Result<Changes<'m>, DecodeError> {
        Ok(Changes::new(answer.transaction.parameters))
    }
}

const fn entries<'m>(answer: &Answer<'m>, count: u16) -> Entries<'m> {
    Entries::Smb1(info::Entries::new(answer.transaction.data, count))
}

/// The command of a request, and of its answer.
const fn command(request: &Request<'_>) -> Command {
    match request {
        Request::Echo => Command::Echo,
        Request::Open(_) => Command::NtCreateAndx,
        Request::Close { .. } => Command::Close,
        Request::Read { .. } => Command::ReadAndx,
        Request::Write { .. } => Command::WriteAndx,
        Request::Flush { .. } => Command::Flush,
        Request::Lock { .. } | Request::Acknowledge { .. } => Command::LockingAndx,
        Request::QuerySecurity { .. } | Request::Watch { .. } => Command::NtTransact,
        Request::Query { .. }
        | Request::QueryFs { .. }
        | Request::Set { .. }
        | Request::Look { .. }
        | Request::List { .. }
        | Request::ListBegin { .. }
        | Request::ListNext { .. } => Command::Transaction2,
        Request::ListEnd { .. } => Command::FindClose2,
        Request::MakeDir(_) => Command::CreateDirectory,
        Request::RemoveFile(_) => Command::Delete,
        Request::RemoveDir(_) => Command::DeleteDirectory,
        Request::TreeDisconnect => Command::TreeDisconnect,
        Request::Logoff => Command::LogoffAndx,
    }
}

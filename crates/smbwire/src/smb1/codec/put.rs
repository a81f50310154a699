//! Requests as messages of SMB1.
#![deny(clippy::wildcard_enum_match_arm)]

use super::super::header::Command;
use super::super::info::{self, level};
use super::super::request::{
    Close, CreateDirectory, Delete, DeleteDirectory, Echo, FindClose, Flush, Logoff, NtCreate,
    TreeDisconnect,
};
use super::super::session::Session;
use super::super::trans::{
    FindFirst, FindNext, NotifyChange, QueryFile, QueryFs, QueryPath, QuerySecurity, SetFile,
    SetInfo,
};
use super::super::transfer::{OplockAck, Range, ReadAndx, WriteAndx, put_locks};
use super::super::writer::{Head, Path, Request as Message, Writer};
use crate::request::{Change, FileInfo, FsInfo, Open, Request, Target};
use crate::smb2::{FileId, LockKind, LockRange, OplockLevel, RequestedOplock};

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
/// Space for facts about the share's root, in bytes.
const ROOT_BYTES: u16 = 1024;
/// How long a lock that may wait does so, in milliseconds.
const LOCK_WAIT_MS: u32 = 30_000;

const fn fid(file: FileId) -> u16 {
    file.volatile as u16
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

/// A request on a file system: the share's, whatever it is asked of.
fn query_fs(session: &Session, info: FsInfo, most: u32) -> QueryFs {
    QueryFs {
        level: match info {
            FsInfo::Space if session.has_passthru() => level::FS_FULL_SIZE,
            FsInfo::Space | FsInfo::PlainSpace => level::FS_SIZE,
        },
        max_data: short(most),
    }
}

/// Appends the message of a request.
#[inline]
pub(super) fn request(session: &Session, mid: u16, request: &Request<'_>, out: &mut Vec<u8>) {
    let head = session.head(mid);
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
        Request::QueryFs { info, most, .. } => head.put(out, &query_fs(session, info, most)),
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

//! The same by SMB1.

use super::{Broken, Calls, Facts, Found, FsFacts, Open, Opened, Set, Ticket, Told};
use crate::client::one::good;
use crate::client::raw::{RawOne, ReplyOne};
use crate::client::{ClientError, Failure};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb1::info::{BasicInfo, FsSize, StandardInfo, level};
use filermark_smbwire::smb1::{
    Close, Created, Echo, Flush, Locking, NotifyChange, NtCreate, OplockAck, OplockBreak, Path,
    QueryFile, QueryFs, QueryPath, QuerySecurity, Range, ReadAndx, ReadData, Request, SetFile,
    SetInfo, WriteAndx, Written, caps,
};
use filermark_smbwire::smb2::create::OplockLevel;
use filermark_smbwire::smb2::notify::{Changes, filter};
use filermark_smbwire::smb2::{FileId, LockKind, LockRange, RequestedOplock};
use std::time::Duration;

/// Flags of NT_CREATE_ANDX: an oplock, a batch one.
const WANT_OPLOCK: u32 = 0x02;
const WANT_BATCH: u32 = 0x04;
/// Room for facts, in bytes.
const INFO_BYTES: u16 = 1024;
/// Room for changes in a directory, in bytes.
const CHANGES_BYTES: u32 = 4096;
/// How long a lock that may wait does so, in milliseconds.
const LOCK_WAIT_MS: u32 = 30_000;
/// A level that there is not (MS-CIFS 2.2.2.3.3).
const NO_LEVEL: u16 = 0x01F7;
/// What an echo says.
const ECHO: &[u8] = b"filermark";

const fn fid(file: FileId) -> u16 {
    file.volatile as u16
}

const fn id(fid: u16) -> FileId {
    FileId {
        persistent: 0,
        volatile: fid as u64,
    }
}

const fn lost(step: &'static str) -> impl Fn(ClientError) -> Failure {
    move |error| Failure::Lost { step, error }
}

fn level_of(oplock: u8) -> OplockLevel {
    match oplock {
        1 => OplockLevel::Exclusive,
        2 => OplockLevel::Batch,
        3 => OplockLevel::Two,
        _ => OplockLevel::None,
    }
}

impl RawOne {
    fn start<R: Request>(&mut self, request: &R) -> Result<Ticket, Failure> {
        let sent = self.send(request).map(|mid| Ticket(mid.into()));
        sent.map_err(lost(R::COMMAND.name()))
    }

    fn await_reply(
        &mut self,
        step: &'static str,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<ReplyOne>, Failure> {
        let came = self.wait_within(ticket.0 as u16, limit);
        let came = came.map_err(lost(step))?;
        came.map(|reply| good(step, reply)).transpose()
    }

    fn reply_to(&mut self, step: &'static str, ticket: Ticket) -> Result<ReplyOne, Failure> {
        let reply = self.wait(ticket.0 as u16).map_err(lost(step))?;
        good(step, reply)
    }

    fn data<T>(
        &self,
        step: &'static str,
        reply: &ReplyOne,
        read: impl FnOnce(&[u8]) -> Result<T, filermark_smbwire::error::DecodeError>,
    ) -> Result<T, Failure> {
        read(reply.answer().data).map_err(|source| self.senseless(step, source))
    }

    fn query(&mut self, file: FileId, level: u16) -> Result<ReplyOne, Failure> {
        let request = QueryFile {
            fid: fid(file),
            level,
            max_data: INFO_BYTES,
        };
        self.ask("TRANS2_QUERY_FILE_INFORMATION", &request)
    }
}

const fn facts(basic: &BasicInfo, standard: &StandardInfo) -> Facts {
    Facts {
        times: basic.times(),
        attributes: basic.attributes,
        allocation: standard.allocation,
        size: standard.size,
        links: standard.links,
        delete_pending: standard.delete_pending,
        directory: standard.directory,
    }
}

impl Calls for RawOne {
    fn send_open(&mut self, open: &Open<'_>) -> Result<Ticket, Failure> {
        let flags = match open.oplock {
            RequestedOplock::Oplock(OplockLevel::Exclusive) => WANT_OPLOCK,
            RequestedOplock::Oplock(OplockLevel::Batch) => WANT_OPLOCK | WANT_BATCH,
            _ => 0,
        };
        self.start(&NtCreate {
            flags,
            access: open.access,
            attributes: open.attributes,
            allocation: 0,
            share: open.share,
            disposition: open.disposition,
            options: open.options,
            path: Path::of(open.path),
        })
    }

    fn wait_open(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<Opened>, Failure> {
        let step = "NT_CREATE_ANDX";
        let Some(reply) = self.await_reply(step, ticket, limit)? else {
            return Ok(None);
        };
        let told = self.read_as(step, &reply, |parts| Created::read(parts))?;
        Ok(Some(Opened {
            file: id(told.fid),
            action: told.action,
            oplock: level_of(told.oplock),
            lease: None,
            size: told.size,
            attributes: told.basic.attributes,
        }))
    }

    fn close(&mut self, file: FileId, _told: bool) -> Result<Option<Facts>, Failure> {
        self.ask("CLOSE", &Close { fid: fid(file) }).map(|_| None)
    }

    fn send_read(&mut self, file: FileId, offset: u64, length: u32) -> Result<Ticket, Failure> {
        self.start(&ReadAndx {
            fid: fid(file),
            offset,
            count: length,
        })
    }

    fn wait_read(&mut self, ticket: Ticket) -> Result<Vec<u8>, Failure> {
        let step = "READ_ANDX";
        let reply = self.reply_to(step, ticket)?;
        self.read_as(step, &reply, |parts| {
            Ok(ReadData::read(parts)?.data.to_vec())
        })
    }

    fn send_write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<Ticket, Failure> {
        let request = WriteAndx {
            fid: fid(file),
            offset,
            write_through: false,
        };
        let sent = RawOne::send_write(self, &request, data);
        sent.map(|mid| Ticket(mid.into()))
            .map_err(lost("WRITE_ANDX"))
    }

    fn wait_write(&mut self, ticket: Ticket) -> Result<u32, Failure> {
        let step = "WRITE_ANDX";
        let reply = self.reply_to(step, ticket)?;
        self.read_as(step, &reply, |parts| Ok(Written::read(parts)?.count))
    }

    fn flush(&mut self, file: FileId) -> Result<(), Failure> {
        self.ask("FLUSH", &Flush { fid: fid(file) }).map(drop)
    }

    fn send_lock(&mut self, file: FileId, ranges: &[LockRange]) -> Result<Ticket, Failure> {
        let range = |range: &LockRange| Range {
            offset: range.offset,
            length: range.length,
        };
        let (unlocks, locks): (Vec<&LockRange>, Vec<_>) =
            ranges.iter().partition(|r| r.kind == LockKind::Unlock);
        let shared = locks.iter().any(|r| r.kind == LockKind::Shared);
        let waits = locks.iter().any(|r| !r.fail_immediately);
        let pid = self.session().head(0).pid as u16;
        self.start(&Locking {
            fid: fid(file),
            shared,
            timeout_ms: if waits { LOCK_WAIT_MS } else { 0 },
            pid,
            unlocks: &unlocks.into_iter().map(range).collect::<Vec<_>>(),
            locks: &locks.into_iter().map(range).collect::<Vec<_>>(),
        })
    }

    fn wait_status(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<u32>, Failure> {
        let came = self.wait_within(ticket.0 as u16, limit);
        Ok(came.map_err(lost("wait"))?.map(|reply| reply.status()))
    }

    fn wait_promise(&mut self, _ticket: Ticket) -> Result<Option<bool>, Failure> {
        Ok(None)
    }

    fn cancel(&mut self, ticket: Ticket) -> Result<(), Failure> {
        RawOne::cancel(self, ticket.0 as u16).map_err(lost("NT_CANCEL"))
    }

    fn query_file(&mut self, file: FileId) -> Result<Facts, Failure> {
        let step = "TRANS2_QUERY_FILE_INFORMATION";
        let basic = self.query(file, level::FILE_BASIC)?;
        let basic = self.data(step, &basic, BasicInfo::read)?;
        let standard = self.query(file, level::FILE_STANDARD)?;
        let standard = self.data(step, &standard, StandardInfo::read)?;
        Ok(facts(&basic, &standard))
    }

    fn query_path(&mut self, path: &str) -> Result<Facts, Failure> {
        let step = "TRANS2_QUERY_PATH_INFORMATION";
        let ask = |level| QueryPath {
            path: Path::of(path),
            level,
            max_data: INFO_BYTES,
        };
        let basic = self.ask(step, &ask(level::FILE_BASIC))?;
        let basic = self.data(step, &basic, BasicInfo::read)?;
        let standard = self.ask(step, &ask(level::FILE_STANDARD))?;
        let standard = self.data(step, &standard, StandardInfo::read)?;
        Ok(facts(&basic, &standard))
    }

    fn query_fs(&mut self, _file: FileId) -> Result<FsFacts, Failure> {
        let step = "TRANS2_QUERY_FS_INFORMATION";
        let is_full = self.session().capabilities & caps::PASSTHRU != 0;
        let (level, read): (u16, fn(&[u8]) -> _) = match is_full {
            true => (level::FS_FULL_SIZE, FsSize::read_full),
            false => (level::FS_SIZE, FsSize::read),
        };
        let request = QueryFs {
            level,
            max_data: INFO_BYTES,
        };
        let reply = self.ask(step, &request)?;
        let size = self.data(step, &reply, read)?;
        Ok(FsFacts {
            total: size.total,
            available: size.available,
            free: size.free,
            name_max: None,
        })
    }

    fn query_security(&mut self, file: FileId, parts: u32, most: u32) -> Result<Vec<u8>, Failure> {
        let request = QuerySecurity {
            fid: fid(file),
            fields: parts,
            max_data: most,
        };
        let reply = self.ask("NT_TRANSACT_QUERY_SECURITY_DESC", &request)?;
        Ok(reply.answer().data.to_vec())
    }

    fn query_nonsense(&mut self, file: FileId) -> Result<(), Failure> {
        self.query(file, NO_LEVEL).map(drop)
    }

    fn set(&mut self, file: FileId, set: &Set<'_>) -> Result<(), Failure> {
        let info = match *set {
            Set::Basic([created, accessed, written, changed], attributes) => {
                SetInfo::Basic(BasicInfo {
                    created,
                    accessed,
                    written,
                    changed,
                    attributes,
                })
            }
            Set::Size(size) => SetInfo::EndOfFile(size),
            Set::Delete(delete) => SetInfo::Disposition(delete),
            Set::Rename { name, replace, .. } => SetInfo::Rename { replace, name },
        };
        let fid = fid(file);
        let set = SetFile { fid, info };
        self.ask("TRANS2_SET_FILE_INFORMATION", &set).map(drop)
    }

    fn find(&mut self, dir: &str, pattern: &str, most: u32) -> Result<(Vec<Found>, u32), Failure> {
        self.find_all(dir, pattern, most)
    }

    fn send_echo(&mut self) -> Result<Ticket, Failure> {
        self.start(&Echo { data: ECHO })
    }

    fn next_break(&mut self, limit: Duration) -> Result<Option<Broken>, Failure> {
        let step = "oplock break";
        let Some(reply) = RawOne::next_break(self, limit).map_err(lost(step))? else {
            return Ok(None);
        };
        let told = self.read_as(step, &reply, |parts| OplockBreak::read(parts))?;
        let level = match told.level {
            0 => OplockLevel::None,
            _ => OplockLevel::Two,
        };
        let file = id(told.fid);
        Ok(Some(Broken::Oplock { file, level }))
    }

    fn acknowledge(&mut self, broken: &Broken) -> Result<(), Failure> {
        let Broken::Oplock { file, level } = *broken else {
            return Ok(());
        };
        let acknowledgment = OplockAck {
            fid: fid(file),
            level: u8::from(level == OplockLevel::Two),
        };
        self.tell(&acknowledgment).map_err(lost("LOCKING_ANDX"))
    }

    fn send_watch(&mut self, dir: FileId) -> Result<Ticket, Failure> {
        self.start(&NotifyChange {
            fid: fid(dir),
            filter: filter::FILE_NAME,
            tree: false,
            max_parameters: CHANGES_BYTES,
        })
    }

    fn wait_watch(
        &mut self,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<Vec<Told>>, Failure> {
        let step = "NT_TRANSACT_NOTIFY_CHANGE";
        let Some(reply) = self.await_reply(step, ticket, limit)? else {
            return Ok(None);
        };
        let changes = Changes::new(reply.answer().parameters).map(|change| {
            change.map(|change| Told {
                action: change.action,
                name: text_of_utf16(change.name),
            })
        });
        let told = changes.collect::<Result<Vec<_>, _>>();
        told.map(Some)
            .map_err(|source| self.senseless(step, source))
    }

    fn strays(&self) -> u64 {
        RawOne::strays(self)
    }

    fn limit(&self) -> Duration {
        RawOne::limit(self)
    }
}

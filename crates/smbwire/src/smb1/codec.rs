//! The requests that both protocols share, as messages of SMB1: one message each; the
//! answer to a transaction may come in several.
#![deny(clippy::wildcard_enum_match_arm)]

mod names;
mod put;

use super::info::{self, FsSize};
use super::pieces::Part;
use super::reply::{Created, FindFirstReply, FindNextReply, ReadData, Reply, Written};
use super::session::Session;
use super::setup::caps;
use crate::codec::{
    self, Answer, Charges, Codec, Entries, ListPart, MessageId, Opened, PathInfo, Space,
};
use crate::error::DecodeError;
use crate::request::Request;
use crate::settings::TransferLimits;
use crate::smb2::notify::Changes;
use crate::smb2::query::{BasicInfo, StandardInfo};
use crate::smb2::{FileFacts, FileId, GrantedLease, OplockLevel};
use crate::status;

const fn file(fid: u16) -> FileId {
    FileId {
        persistent: 0,
        volatile: fid as u64,
    }
}

impl Session {
    const fn has_passthru(&self) -> bool {
        self.capabilities & caps::PASSTHRU != 0
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
    const OPEN_REPARSE_POINT: u32 = 0;
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
        let id = ids.first().copied().unwrap_or_default();
        put::request(self, id.id as u16, request, out);
    }

    fn end_frame(&mut self, out: &mut [u8], start: usize) -> u32 {
        self.protect(out, start)
    }

    fn step(request: &Request<'_>) -> &'static str {
        names::step(request)
    }

    #[inline]
    fn is_answer(request: &Request<'_>, answered: u16) -> bool {
        u16::from(names::command(request).code()) == answered
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

    fn path_info(path: &str, answer: &Answer<'_>) -> Result<Option<PathInfo>, DecodeError> {
        if path.is_empty() {
            let standard = Self::standard(answer)?;
            return Ok(Some(PathInfo {
                is_dir: standard.directory,
                is_link: false,
                size: standard.end_of_file,
            }));
        }
        let first = FindFirstReply::read(&answer.transaction)?;
        for entry in entries(answer, first.count) {
            let entry = entry?;
            if !entry.is_dot() {
                return Ok(Some(entry.path_info()));
            }
        }
        Ok(None)
    }

    fn list_begun<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError> {
        let first = FindFirstReply::read(&answer.transaction)?;
        Ok(ListPart {
            list: Some(file(first.sid)),
            entries: Some(entries(answer, first.count)),
            is_over: first.end || first.count == 0,
            is_closed: first.end,
        })
    }

    fn list_part<'m>(answer: &Answer<'m>) -> Result<ListPart<'m>, DecodeError> {
        let next = FindNextReply::read(&answer.transaction)?;
        Ok(ListPart {
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

//! The calls of the checks as requests that both protocols have.
#![deny(clippy::wildcard_enum_match_arm)]

use super::protocol::{INFO_BYTES, ProtocolCalls};
use super::{
    AttributeSet, Calls, ChangeNotification, DirEntry, Facts, FsFacts, Open, Opened,
    OplockBreakInfo, Ticket,
};
use crate::client::raw::{Protocol, RawSession, Reply, good};
use crate::client::{ClientError, Failure};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::codec::Answer;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::request::{Change, FileInfo, FsInfo, Request, Target};
use filermark_smbwire::smb2::file::access;
use filermark_smbwire::smb2::notify::filter;
use filermark_smbwire::smb2::query::{BasicInfo, StandardInfo};
use filermark_smbwire::smb2::{FileFacts, FileId, LockRange};
use filermark_smbwire::status;
use std::time::Duration;

/// Buffer for changes in a directory, in bytes.
const CHANGES_BYTES: u32 = 4096;
/// The facts of a file that are requested.
const FACTS: [FileInfo; 2] = [FileInfo::Basic, FileInfo::Standard];

const fn lost(step: &'static str) -> impl Fn(ClientError) -> Failure {
    move |error| Failure::ConnectionLost { step, error }
}

/// A placeholder where only the name of a request is needed.
const NO_FILE: FileId = FileId::RELATED;

impl<P: Protocol> RawSession<P> {
    /// Sends a request of one message.
    fn start(&mut self, request: &Request<'_>) -> Result<Ticket, Failure> {
        let step = P::step(request);
        let ids = self.send_request(request).map_err(lost(step))?;
        let id = ids.first().copied();
        id.map(|id| Ticket(id.into())).ok_or(Failure::Refused {
            step,
            status: status::INVALID_NETWORK_RESPONSE,
        })
    }

    /// What the reply to it says, if it comes within the limit.
    fn await_reply<T>(
        &mut self,
        step: &'static str,
        ticket: Ticket,
        limit: Duration,
        read: impl FnOnce(&Answer<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, Failure> {
        let came = self.wait_within(P::id(ticket.0), limit);
        let Some(reply) = came.map_err(lost(step))? else {
            return Ok(None);
        };
        self.read_reply(step, reply, read).map(Some)
    }

    /// What the reply to it says.
    fn reply_to<T>(
        &mut self,
        step: &'static str,
        ticket: Ticket,
        read: impl FnOnce(&Answer<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let reply = self.wait(P::id(ticket.0)).map_err(lost(step))?;
        self.read_reply(step, reply, read)
    }

    fn read_reply<T>(
        &self,
        step: &'static str,
        reply: P::Reply,
        read: impl FnOnce(&Answer<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let reply = good(step, reply)?;
        read(&reply.answer()).map_err(|source| self.garbage(step, &reply, source))
    }

    /// Facts about a file, by as many frames as the protocol takes.
    fn query(&mut self, target: Target<'_>, at_once: usize) -> Result<Facts, Failure> {
        let (mut basic, mut standard) = (None, None);
        for infos in FACTS.chunks(at_once) {
            let most = INFO_BYTES;
            let request = Request::Query {
                target,
                infos,
                most,
            };
            let step = P::step(&request);
            let replies = self.replies_to(&request)?;
            let outputs = replies.iter().skip(P::output_at(&request));
            for (info, reply) in infos.iter().zip(outputs) {
                let answer = reply.answer();
                let read = match info {
                    FileInfo::Basic => P::basic(&answer).map(|info| basic = Some(info)),
                    FileInfo::Standard => P::standard(&answer).map(|info| standard = Some(info)),
                    FileInfo::All => Ok(()),
                };
                read.map_err(|source| self.garbage(step, reply, source))?;
            }
        }
        match (basic, standard) {
            (Some(basic), Some(standard)) => Ok(both(&basic, &standard)),
            _ => Err(Failure::Refused {
                step: "CREATE",
                status: status::INVALID_NETWORK_RESPONSE,
            }),
        }
    }
}

fn facts(from: &FileFacts) -> Facts {
    Facts {
        times: [
            from.creation_time,
            from.last_access_time,
            from.last_write_time,
            from.change_time,
        ],
        attributes: from.attributes,
        allocation: from.allocation_size,
        size: from.end_of_file,
        links: 0,
        delete_pending: false,
        directory: from.is_directory(),
    }
}

const fn both(basic: &BasicInfo, standard: &StandardInfo) -> Facts {
    Facts {
        times: [
            basic.creation_time,
            basic.last_access_time,
            basic.last_write_time,
            basic.change_time,
        ],
        attributes: basic.attributes,
        allocation: standard.allocation_size,
        size: standard.end_of_file,
        links: standard.links,
        delete_pending: standard.delete_pending,
        directory: standard.directory,
    }
}

impl<P: ProtocolCalls> Calls for RawSession<P> {
    fn send_open(&mut self, open: &Open<'_>) -> Result<Ticket, Failure> {
        self.start(&Request::Open(open.request()))
    }

    fn wait_open(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<Opened>, Failure> {
        let step = P::step(&Request::Open(Open::file("").request()));
        self.await_reply(step, ticket, limit, |answer| {
            let opened = P::opened(answer)?;
            Ok(Opened {
                file: opened.file,
                action: opened.action,
                oplock: opened.oplock,
                lease: P::lease(answer)?,
                size: opened.size,
                attributes: opened.attributes,
            })
        })
    }

    fn close(&mut self, file: FileId, with_facts: bool) -> Result<Option<Facts>, Failure> {
        let request = Request::Close {
            file,
            facts: with_facts,
        };
        let closed = self.answer_to(&request, |_, answer| P::closed(answer))?;
        Ok(closed.as_ref().map(facts))
    }

    fn send_read(&mut self, file: FileId, offset: u64, length: u32) -> Result<Ticket, Failure> {
        self.start(&Request::Read {
            file,
            offset,
            length,
        })
    }

    fn wait_read(&mut self, ticket: Ticket) -> Result<Vec<u8>, Failure> {
        let read = Request::Read {
            file: NO_FILE,
            offset: 0,
            length: 0,
        };
        self.reply_to(P::step(&read), ticket, |answer| {
            P::data(answer).map(<[u8]>::to_vec)
        })
    }

    fn send_write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<Ticket, Failure> {
        self.start(&Request::Write {
            file,
            offset,
            data: &data,
        })
    }

    fn wait_write(&mut self, ticket: Ticket) -> Result<u32, Failure> {
        let write = Request::Write {
            file: NO_FILE,
            offset: 0,
            data: &[].as_slice(),
        };
        self.reply_to(P::step(&write), ticket, P::written)
    }

    fn flush(&mut self, file: FileId) -> Result<(), Failure> {
        self.replies_to(&Request::Flush { file }).map(drop)
    }

    fn send_lock(&mut self, file: FileId, ranges: &[LockRange]) -> Result<Ticket, Failure> {
        self.start(&Request::Lock { file, ranges })
    }

    fn wait_status(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<u32>, Failure> {
        let came = self.wait_within(P::id(ticket.0), limit);
        Ok(came.map_err(lost("wait"))?.map(|reply| reply.status()))
    }

    fn wait_promise(&mut self, ticket: Ticket) -> Result<Option<bool>, Failure> {
        P::wait_promise(self, ticket)
    }

    fn cancel(&mut self, ticket: Ticket) -> Result<(), Failure> {
        let cancelled = RawSession::cancel(self, P::id(ticket.0));
        cancelled.map_err(lost(P::CANCEL))
    }

    fn query_file(&mut self, file: FileId) -> Result<Facts, Failure> {
        self.query(Target::File(file), 1)
    }

    fn query_path(&mut self, path: &str) -> Result<Facts, Failure> {
        let rights = access::READ_ATTRIBUTES | access::SYNCHRONIZE;
        let open = Open::file(path).rights(rights).with(0);
        self.query(Target::Path(open.request()), P::INFOS_MAX)
    }

    fn query_fs(&mut self, file: FileId) -> Result<FsFacts, Failure> {
        let request = Request::QueryFs {
            target: Target::File(file),
            info: FsInfo::Space,
            most: INFO_BYTES,
        };
        let space = self.answer_to(&request, |raw, answer| raw.session().space(answer))?;
        Ok(FsFacts {
            total: space.total,
            available: space.available,
            free: space.free,
            name_max: P::name_max(self, file)?,
        })
    }

    fn query_security(&mut self, file: FileId, parts: u32, most: u32) -> Result<Vec<u8>, Failure> {
        let request = Request::QuerySecurity { file, parts, most };
        self.answer_to(&request, |_, answer| P::output(answer).map(<[u8]>::to_vec))
    }

    fn query_nonsense(&mut self, file: FileId) -> Result<(), Failure> {
        P::query_nonsense(self, file)
    }

    fn set(&mut self, file: FileId, set: &AttributeSet<'_>) -> Result<(), Failure> {
        let change = match *set {
            AttributeSet::Basic(times, attributes) => Change::Basic(BasicInfo {
                creation_time: times[0],
                last_access_time: times[1],
                last_write_time: times[2],
                change_time: times[3],
                attributes,
            }),
            AttributeSet::Size(size) => Change::EndOfFile(size),
            AttributeSet::Delete(delete) => Change::Delete(delete),
            AttributeSet::Rename { dir, name, replace } => Change::Rename { dir, name, replace },
        };
        self.replies_to(&Request::Set { file, change }).map(drop)
    }

    fn find(
        &mut self,
        dir: &str,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<DirEntry>, u32), Failure> {
        self.find_all(dir, pattern, most)
    }

    fn send_echo(&mut self) -> Result<Ticket, Failure> {
        self.start(&Request::Echo)
    }

    fn next_break(&mut self, limit: Duration) -> Result<Option<OplockBreakInfo>, Failure> {
        P::next_break(self, limit)
    }

    fn acknowledge(&mut self, broken: &OplockBreakInfo) -> Result<(), Failure> {
        P::acknowledge(self, broken)
    }

    fn send_watch(&mut self, dir: FileId) -> Result<Ticket, Failure> {
        self.start(&watch(dir))
    }

    fn wait_watch(
        &mut self,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<Vec<ChangeNotification>>, Failure> {
        let step = P::step(&watch(NO_FILE));
        self.await_reply(step, ticket, limit, |answer| {
            let changes = P::changes(answer)?.map(|change| {
                change.map(|change| ChangeNotification {
                    action: change.action,
                    name: text_of_utf16(change.name),
                })
            });
            changes.collect()
        })
    }

    fn unexpected_replies(&self) -> u64 {
        RawSession::strays(self)
    }

    fn limit(&self) -> Duration {
        RawSession::limit(self)
    }
}

const fn watch<'a>(dir: FileId) -> Request<'a> {
    Request::Watch {
        dir,
        filter: filter::FILE_NAME,
        tree: false,
        most: CHANGES_BYTES,
    }
}

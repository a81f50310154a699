//! The same by SMB2 and 3.

use super::{Broken, Calls, Facts, Found, FsFacts, Open, Opened, Set, Ticket, Told};
use crate::client::raw::{RawTwo, ReplyTwo};
use crate::client::two::good;
use crate::client::{ClientError, Failure};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb2::file::access;
use filermark_smbwire::smb2::notify::{Changes, filter};
use filermark_smbwire::smb2::query::{AttributeInfo, BasicInfo, FsSizeInfo, StandardInfo};
use filermark_smbwire::smb2::set::Change;
use filermark_smbwire::smb2::{
    ChangeNotifyRequest, CloseRequest, CloseResponse, CreateRequest, CreateResponse, EchoRequest,
    FileClass, FileFacts, FileId, FlushRequest, FsClass, LeaseAcknowledgment, LockRange,
    LockRequest, OplockAcknowledgment, OplockBreak, OutputResponse, Query, QueryInfoRequest,
    ReadRequest, ReadResponse, Request, SetInfoRequest, WriteRequest, WriteResponse, header,
};
use filermark_smbwire::status;
use std::time::Duration;

/// Room for facts about a file, in bytes.
const INFO_BYTES: u32 = 1024;
/// Room for changes in a directory, in bytes.
const CHANGES_BYTES: u32 = 4096;
/// A class that there is not (MS-FSCC 2.4).
const NO_CLASS: u8 = 0xF7;

fn lost<R: Request>(error: ClientError) -> Failure {
    let step = R::COMMAND.name();
    Failure::Lost { step, error }
}

impl RawTwo {
    fn start<R: Request>(&mut self, request: &R) -> Result<Ticket, Failure> {
        self.send(request).map(Ticket).map_err(lost::<R>)
    }

    fn await_reply(
        &mut self,
        step: &'static str,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<ReplyTwo>, Failure> {
        let came = self.wait_within(ticket.0, limit);
        let came = came.map_err(|error| Failure::Lost { step, error })?;
        came.map(good).transpose()
    }

    fn reply_to(&mut self, step: &'static str, ticket: Ticket) -> Result<ReplyTwo, Failure> {
        let reply = self.wait(ticket.0);
        good(reply.map_err(|error| Failure::Lost { step, error })?)
    }

    /// Output of QUERY_INFO.
    fn query(&mut self, file: FileId, query: Query, most: u32) -> Result<ReplyTwo, Failure> {
        self.ask(&QueryInfoRequest {
            file,
            query,
            max_output: most,
        })
    }

    fn output<T>(
        &self,
        reply: &ReplyTwo,
        read: impl FnOnce(&[u8]) -> Result<T, filermark_smbwire::error::DecodeError>,
    ) -> Result<T, Failure> {
        let output = self.body::<OutputResponse<'_>>(reply)?.output;
        read(output).map_err(|source| self.senseless(reply, source))
    }
}

pub(super) const fn create<'a>(open: &Open<'a>) -> CreateRequest<'a> {
    CreateRequest {
        path: open.path,
        access: open.access,
        attributes: open.attributes,
        share: open.share,
        disposition: open.disposition,
        options: open.options,
        oplock: open.oplock,
        maximal_access: false,
    }
}

fn facts(told: &FileFacts) -> Facts {
    Facts {
        times: [
            told.creation_time,
            told.last_access_time,
            told.last_write_time,
            told.change_time,
        ],
        attributes: told.attributes,
        allocation: told.allocation_size,
        size: told.end_of_file,
        links: 0,
        delete_pending: false,
        directory: told.is_directory(),
    }
}

fn both(basic: &BasicInfo, standard: &StandardInfo) -> Facts {
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

impl Calls for RawTwo {
    fn send_open(&mut self, open: &Open<'_>) -> Result<Ticket, Failure> {
        self.start(&create(open))
    }

    fn wait_open(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<Opened>, Failure> {
        let Some(reply) = self.await_reply("CREATE", ticket, limit)? else {
            return Ok(None);
        };
        let told = self.body::<CreateResponse<'_>>(&reply)?;
        let lease = told.lease();
        Ok(Some(Opened {
            file: told.file,
            action: told.action,
            oplock: told.oplock,
            lease: lease.map_err(|source| self.senseless(&reply, source))?,
            size: told.facts.end_of_file,
            attributes: told.facts.attributes,
        }))
    }

    fn close(&mut self, file: FileId, told: bool) -> Result<Option<Facts>, Failure> {
        let reply = self.ask(&CloseRequest { file, facts: told })?;
        let closed = self.body::<CloseResponse>(&reply)?;
        Ok(closed.facts.as_ref().map(facts))
    }

    fn send_read(&mut self, file: FileId, offset: u64, length: u32) -> Result<Ticket, Failure> {
        self.start(&ReadRequest {
            file,
            offset,
            length,
            minimum: 0,
        })
    }

    fn wait_read(&mut self, ticket: Ticket) -> Result<Vec<u8>, Failure> {
        let reply = self.reply_to("READ", ticket)?;
        Ok(self.body::<ReadResponse<'_>>(&reply)?.data.to_vec())
    }

    fn send_write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<Ticket, Failure> {
        let request = WriteRequest {
            file,
            offset,
            write_through: false,
        };
        let sent = RawTwo::send_write(self, &request, data);
        let step = "WRITE";
        sent.map(Ticket)
            .map_err(|error| Failure::Lost { step, error })
    }

    fn wait_write(&mut self, ticket: Ticket) -> Result<u32, Failure> {
        let reply = self.reply_to("WRITE", ticket)?;
        Ok(self.body::<WriteResponse>(&reply)?.count)
    }

    fn flush(&mut self, file: FileId) -> Result<(), Failure> {
        self.ask(&FlushRequest { file }).map(drop)
    }

    fn send_lock(&mut self, file: FileId, ranges: &[LockRange]) -> Result<Ticket, Failure> {
        self.start(&LockRequest { file, ranges })
    }

    fn wait_status(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<u32>, Failure> {
        let came = self.wait_within(ticket.0, limit);
        let came = came.map_err(|error| Failure::Lost {
            step: "wait",
            error,
        })?;
        Ok(came.map(|reply| reply.status()))
    }

    fn wait_promise(&mut self, ticket: Ticket) -> Result<Option<bool>, Failure> {
        let step = "wait";
        let promised = RawTwo::wait_promise(self, ticket.0);
        promised
            .map(Some)
            .map_err(|error| Failure::Lost { step, error })
    }

    fn cancel(&mut self, ticket: Ticket) -> Result<(), Failure> {
        let step = "CANCEL";
        RawTwo::cancel(self, ticket.0).map_err(|error| Failure::Lost { step, error })
    }

    fn query_file(&mut self, file: FileId) -> Result<Facts, Failure> {
        let basic = self.query(file, Query::File(FileClass::Basic), INFO_BYTES)?;
        let basic = self.output(&basic, BasicInfo::decode)?;
        let standard = self.query(file, Query::File(FileClass::Standard), INFO_BYTES)?;
        let standard = self.output(&standard, StandardInfo::decode)?;
        Ok(both(&basic, &standard))
    }

    fn query_path(&mut self, path: &str) -> Result<Facts, Failure> {
        let rights = access::READ_ATTRIBUTES | access::SYNCHRONIZE;
        let open = create(&Open::file(path).rights(rights).with(0));
        let file = FileId::RELATED;
        let ask = |class| QueryInfoRequest {
            file,
            query: Query::File(class),
            max_output: INFO_BYTES,
        };
        let compound = self.compound().add(&open);
        let compound = compound
            .related(&ask(FileClass::Basic))
            .related(&ask(FileClass::Standard))
            .related(&CloseRequest { file, facts: false });
        let replies = compound.call().map_err(lost::<CreateRequest<'_>>)?;
        let replies: Vec<ReplyTwo> = replies.into_iter().map(good).collect::<Result<_, _>>()?;
        let [_, basic, standard, _] = &replies[..] else {
            return Err(Failure::Refused {
                step: "CREATE",
                status: status::INVALID_NETWORK_RESPONSE,
            });
        };
        let basic = self.output(basic, BasicInfo::decode)?;
        let standard = self.output(standard, StandardInfo::decode)?;
        Ok(both(&basic, &standard))
    }

    fn query_fs(&mut self, file: FileId) -> Result<FsFacts, Failure> {
        let class = FsClass::FullSize;
        let size = self.query(file, Query::FileSystem(class), INFO_BYTES)?;
        let size = self.output(&size, |output| FsSizeInfo::decode(output, class))?;
        let names = self.query(file, Query::FileSystem(FsClass::Attribute), INFO_BYTES)?;
        let name_max = self.output(&names, |o| AttributeInfo::decode(o).map(|i| i.name_max))?;
        let bytes = |units: u64| units.saturating_mul(size.unit);
        Ok(FsFacts {
            total: bytes(size.total),
            available: bytes(size.available),
            free: bytes(size.free),
            name_max: Some(name_max),
        })
    }

    fn query_security(&mut self, file: FileId, parts: u32, most: u32) -> Result<Vec<u8>, Failure> {
        let reply = self.query(file, Query::Security(parts), most)?;
        self.output(&reply, |output| Ok(output.to_vec()))
    }

    fn query_nonsense(&mut self, file: FileId) -> Result<(), Failure> {
        let request = QueryInfoRequest {
            file,
            query: Query::File(FileClass::Basic),
            max_output: INFO_BYTES,
        };
        let sent = self.send_built(1, |session, id, out| {
            let message = session.request(out, id, &request);
            if let Some(class) = out.get_mut(message + header::LEN + 3) {
                *class = NO_CLASS;
            }
        });
        let ticket = Ticket(sent.map_err(lost::<QueryInfoRequest>)?);
        self.reply_to("QUERY_INFO", ticket).map(drop)
    }

    fn set(&mut self, file: FileId, set: &Set<'_>) -> Result<(), Failure> {
        let path;
        let change = match *set {
            Set::Basic(times, attributes) => Change::Basic(BasicInfo {
                creation_time: times[0],
                last_access_time: times[1],
                last_write_time: times[2],
                change_time: times[3],
                attributes,
            }),
            Set::Size(size) => Change::EndOfFile(size),
            Set::Delete(delete) => Change::Disposition { delete },
            Set::Rename { dir, name, replace } => {
                path = format!(r"{dir}\{name}");
                Change::Rename {
                    path: &path,
                    replace,
                }
            }
        };
        self.ask(&SetInfoRequest { file, change }).map(drop)
    }

    fn find(&mut self, dir: &str, pattern: &str, most: u32) -> Result<(Vec<Found>, u32), Failure> {
        self.find_all(dir, pattern, most)
    }

    fn send_echo(&mut self) -> Result<Ticket, Failure> {
        self.start(&EchoRequest)
    }

    fn next_break(&mut self, limit: Duration) -> Result<Option<Broken>, Failure> {
        let step = "OPLOCK_BREAK";
        let heard = RawTwo::next_break(self, limit);
        let Some(reply) = heard.map_err(|error| Failure::Lost { step, error })? else {
            return Ok(None);
        };
        Ok(Some(match self.body::<OplockBreak>(&reply)? {
            OplockBreak::Oplock { file, level } => Broken::Oplock { file, level },
            OplockBreak::Lease {
                key,
                current,
                new,
                must_acknowledge,
                ..
            } => Broken::Lease {
                key,
                current,
                new,
                must_acknowledge,
            },
        }))
    }

    fn acknowledge(&mut self, broken: &Broken) -> Result<(), Failure> {
        match *broken {
            Broken::Oplock { file, level } => self.ask(&OplockAcknowledgment { file, level }),
            Broken::Lease { key, new, .. } => self.ask(&LeaseAcknowledgment { key, state: new }),
        }
        .map(drop)
    }

    fn send_watch(&mut self, dir: FileId) -> Result<Ticket, Failure> {
        self.start(&ChangeNotifyRequest {
            file: dir,
            watch_tree: false,
            filter: filter::FILE_NAME,
            max_output: CHANGES_BYTES,
        })
    }

    fn wait_watch(
        &mut self,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<Vec<Told>>, Failure> {
        let Some(reply) = self.await_reply("CHANGE_NOTIFY", ticket, limit)? else {
            return Ok(None);
        };
        let told = |output: &[u8]| {
            let changes = Changes::new(output).map(|change| {
                change.map(|change| Told {
                    action: change.action,
                    name: text_of_utf16(change.name),
                })
            });
            changes.collect::<Result<Vec<_>, _>>()
        };
        self.output(&reply, told).map(Some)
    }

    fn strays(&self) -> u64 {
        RawTwo::strays(self)
    }

    fn limit(&self) -> Duration {
        RawTwo::limit(self)
    }
}

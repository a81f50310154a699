//! Files by SMB2 and 3.

use super::error::{ClientError, Failure};
use super::facts;
use super::files::{Entry, File, Files, Gone, Listing, OpenFor, Space, or_nothing};
use super::purpose::{self, ATTRIBUTES, READ, UPDATE};
use super::raw::{Compound, RawTwo, ReplyTwo};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::query::FsSizeInfo;
use filermark_smbwire::smb2::set::Change;
use filermark_smbwire::smb2::{
    CloseRequest, CreateRequest, CreateResponse, DirectoryClass, Entries, FileId, FlushRequest,
    FsClass, LogoffRequest, OutputResponse, Query, QueryDirectoryRequest, QueryInfoRequest,
    ReadRequest, ReadResponse, Request, RequestedOplock, Response, Scan, SetInfoRequest,
    TreeDisconnectRequest, WriteRequest, WriteResponse,
};
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Duration;

/// Bytes of a part of a listing: what one credit pays for.
const LIST_BYTES: u32 = 64 << 10;
/// Room for what QUERY_INFO tells, in bytes.
const INFO_BYTES: u32 = 1024;
/// Longest wait for a farewell.
const FAREWELL: Duration = Duration::from_secs(1);
/// What is told of entries.
const CLASS: DirectoryClass = DirectoryClass::Full;
/// Removals in one frame's window: each is a frame, so many are under way.
const REMOVALS: usize = 64;

/// A request that opens a path.
const fn create(path: &str, access: u32, disposition: u32, options: u32) -> CreateRequest<'_> {
    CreateRequest {
        path,
        access,
        attributes: attributes::NORMAL,
        share: share::ALL,
        disposition,
        options,
        oplock: RequestedOplock::None,
        maximal_access: false,
    }
}

const CLOSE_RELATED: CloseRequest = CloseRequest {
    file: FileId::RELATED,
    facts: false,
};

const fn id(file: File) -> FileId {
    FileId {
        persistent: file.0,
        volatile: file.1,
    }
}

const fn of(id: FileId) -> File {
    File(id.persistent, id.volatile)
}

impl RawTwo {
    /// Sends a request; a refusal is a failure.
    pub(crate) fn ask<R: Request>(&mut self, request: &R) -> Result<ReplyTwo, Failure> {
        let step = R::COMMAND.name();
        let reply = self.call(request);
        good(reply.map_err(|error| Failure::Lost { step, error })?)
    }

    /// What a reply says.
    pub(crate) fn body<'a, R: Response<'a>>(&self, reply: &'a ReplyTwo) -> Result<R, Failure> {
        reply
            .decode()
            .map_err(|source| self.senseless(reply, source))
    }

    pub(crate) fn senseless(
        &self,
        reply: &ReplyTwo,
        source: filermark_smbwire::error::DecodeError,
    ) -> Failure {
        Failure::Lost {
            step: reply.header.command.name(),
            error: ClientError::Garbage {
                address: self.peer(),
                source,
            },
        }
    }

    fn create(&mut self, request: &CreateRequest<'_>) -> Result<(File, u32), Failure> {
        let reply = self.ask(request)?;
        let created = self.body::<CreateResponse<'_>>(&reply)?;
        Ok((of(created.file), created.facts.attributes))
    }

    /// A compound that opens something and closes it; the replies, if all are good.
    fn visit(compound: Compound<'_>) -> Result<Vec<ReplyTwo>, Failure> {
        let step = "CREATE";
        let replies = compound
            .call()
            .map_err(|error| Failure::Lost { step, error })?;
        replies.into_iter().map(good).collect()
    }
}

/// A reply that brings what was asked for.
pub(crate) fn good(reply: ReplyTwo) -> Result<ReplyTwo, Failure> {
    match reply.status() {
        status::SUCCESS | status::BUFFER_OVERFLOW => Ok(reply),
        status => Err(Failure::Refused {
            step: reply.header.command.name(),
            status,
        }),
    }
}

impl Files for RawTwo {
    fn make_dir(&mut self, path: &str) -> Result<(), Failure> {
        let request = CreateRequest {
            attributes: attributes::DIRECTORY,
            ..create(
                path,
                ATTRIBUTES,
                disposition::CREATE,
                options::DIRECTORY_FILE,
            )
        };
        Self::visit(self.compound().add(&request).related(&CLOSE_RELATED)).map(drop)
    }

    fn create_new(&mut self, path: &str) -> Result<File, Failure> {
        let file = options::NON_DIRECTORY_FILE;
        let request = create(path, UPDATE, disposition::CREATE, file);
        RawTwo::create(self, &request).map(|(file, _)| file)
    }

    fn open(&mut self, path: &str, purpose: OpenFor) -> Result<File, Failure> {
        let (access, disposition, options) = purpose::of(purpose);
        let itself = match purpose::is_of_what_is_there(purpose) {
            true => options::OPEN_REPARSE_POINT,
            false => 0,
        };
        let request = create(path, access, disposition, options | itself);
        let (file, attributes) = RawTwo::create(self, &request)?;
        match purpose::is_refused(purpose, attributes) {
            false => Ok(file),
            true => {
                self.close(file)?;
                Err(purpose::reparse_point("CREATE"))
            }
        }
    }

    fn read(&mut self, file: File, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        while all.len() < length as usize {
            let request = ReadRequest {
                file: id(file),
                offset: offset.saturating_add(all.len() as u64),
                length: (length - all.len() as u32).min(self.session().limits.read_max),
                minimum: 0,
            };
            let reply = match self.ask(&request) {
                Err(failure) if failure.is(&[status::END_OF_FILE]) => break,
                reply => reply?,
            };
            let data = self.body::<ReadResponse<'_>>(&reply)?.data;
            let data = data.get(..request.length as usize).unwrap_or(data);
            all.extend_from_slice(data);
            if data.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<(), Failure> {
        let step = "WRITE";
        let most = self.session().limits.write_max as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let request = WriteRequest {
                file: id(file),
                offset: offset.saturating_add(done as u64),
                write_through: false,
            };
            let part = rest.get(..most).unwrap_or(rest);
            let reply = self
                .send_write(&request, part)
                .and_then(|id| self.wait(id))
                .map_err(|error| Failure::Lost { step, error })?;
            let reply = good(reply)?;
            let count = self.body::<WriteResponse>(&reply)?.count as usize;
            if count == 0 || count > part.len() {
                let source =
                    filermark_smbwire::error::DecodeError::Bad("the count of bytes written");
                return Err(self.senseless(&reply, source));
            }
            done += count;
        }
        Ok(())
    }

    fn flush(&mut self, file: File) -> Result<(), Failure> {
        self.ask(&FlushRequest { file: id(file) }).map(drop)
    }

    fn close(&mut self, file: File) -> Result<(), Failure> {
        let request = CloseRequest {
            file: id(file),
            facts: false,
        };
        self.ask(&request).map(drop)
    }

    fn look(&mut self, path: &str) -> Result<Option<Entry>, Failure> {
        let request = create(
            path,
            ATTRIBUTES,
            disposition::OPEN,
            options::OPEN_REPARSE_POINT,
        );
        let found = Self::visit(self.compound().add(&request).related(&CLOSE_RELATED));
        let Some(replies) = or_nothing(found)? else {
            return Ok(None);
        };
        let Some(first) = replies.first() else {
            return Ok(None);
        };
        let facts = self.body::<CreateResponse<'_>>(first)?.facts;
        Ok(Some(Entry {
            name: String::new(),
            is_dir: facts.is_directory(),
            is_link: facts.attributes & attributes::REPARSE_POINT != 0,
            size: facts.end_of_file,
        }))
    }

    fn begin_list(&mut self, path: &str) -> Result<Listing, Failure> {
        // One that has become a reparse point since it was looked at is not followed.
        let options = options::DIRECTORY_FILE | options::OPEN_REPARSE_POINT;
        let request = create(path, READ, disposition::OPEN, options);
        let (file, _) = RawTwo::create(self, &request)?;
        Ok(Listing {
            file,
            ready: None,
            last: (String::new(), 0),
            is_over: false,
            is_closed: false,
        })
    }

    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, Failure> {
        let request = QueryDirectoryRequest {
            file: id(listing.file),
            class: CLASS,
            scan: Scan::Resume,
            single: false,
            pattern: "*",
            max_output: LIST_BYTES.min(self.session().limits.transact_max),
        };
        let over = [status::NO_MORE_FILES, status::NO_SUCH_FILE];
        let reply = match self.ask(&request) {
            Err(failure) if failure.is(&over) => return Ok(None),
            reply => reply?,
        };
        let output = self.body::<OutputResponse<'_>>(&reply)?.output;
        let mut entries = Vec::new();
        for entry in Entries::new(output, CLASS) {
            let entry = entry.map_err(|source| self.senseless(&reply, source))?;
            if !entry.is_dot() {
                entries.push(Entry {
                    name: text_of_utf16(entry.name),
                    is_dir: entry.facts.is_directory(),
                    is_link: entry.facts.attributes & attributes::REPARSE_POINT != 0,
                    size: entry.facts.end_of_file,
                });
            }
        }
        match output.is_empty() {
            true => Ok(None),
            false => Ok(Some(entries)),
        }
    }

    fn end_list(&mut self, listing: Listing) -> Result<(), Failure> {
        self.close(listing.file)
    }

    fn remove_each(&mut self, what: Gone, paths: &[String]) -> Result<Vec<u32>, Failure> {
        let step = "CREATE";
        let lost = |error| Failure::Lost { step, error };
        let mut statuses = Vec::with_capacity(paths.len());
        for row in paths.chunks(REMOVALS) {
            let mut sent = Vec::with_capacity(row.len());
            for path in row {
                sent.push(self.send_removal(what, path).map_err(lost)?);
            }
            for ids in sent {
                let mut became = status::SUCCESS;
                for id in ids {
                    let status = self.wait(id).map_err(lost)?.status();
                    if became == status::SUCCESS {
                        became = status;
                    }
                }
                statuses.push(became);
            }
        }
        Ok(statuses)
    }

    fn set_end_of_file(&mut self, file: File, size: u64) -> Result<(), Failure> {
        let request = SetInfoRequest {
            file: id(file),
            change: Change::EndOfFile(size),
        };
        self.ask(&request).map(drop)
    }

    fn space(&mut self, path: &str) -> Result<Space, Failure> {
        let class = FsClass::FullSize;
        let ask = QueryInfoRequest {
            file: FileId::RELATED,
            query: Query::FileSystem(class),
            max_output: INFO_BYTES,
        };
        let open = create(path, ATTRIBUTES, disposition::OPEN, 0);
        let compound = self.compound().add(&open).related(&ask);
        let replies = Self::visit(compound.related(&CLOSE_RELATED))?;
        let Some(reply) = replies.get(1) else {
            return Ok(Space { total: 0, free: 0 });
        };
        let output = self.body::<OutputResponse<'_>>(reply)?.output;
        let info = FsSizeInfo::decode(output, class);
        let info = info.map_err(|source| self.senseless(reply, source))?;
        Ok(Space {
            total: info.total.saturating_mul(info.unit),
            free: info.available.saturating_mul(info.unit),
        })
    }

    fn server_facts(&self) -> Vec<(String, String)> {
        facts::of_two(self.session())
    }

    fn peer(&self) -> SocketAddr {
        RawTwo::peer(self)
    }

    fn log_off(&mut self) {
        for sent in [self.send(&TreeDisconnectRequest), self.send(&LogoffRequest)] {
            let _ = sent.and_then(|id| self.wait_within(id, FAREWELL));
        }
    }
}

impl RawTwo {
    /// Sends what removes a path, as one frame. A directory that is not empty would be
    /// left without a word if it were to go on closing; asked like this the server says so.
    fn send_removal(&mut self, what: Gone, path: &str) -> Result<Vec<u64>, ClientError> {
        let link = options::OPEN_REPARSE_POINT;
        match what {
            Gone::File => {
                let options = options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE | link;
                let open = create(path, access::DELETE, disposition::OPEN, options);
                self.compound().add(&open).related(&CLOSE_RELATED).send()
            }
            Gone::Dir => {
                let options = options::DIRECTORY_FILE | link;
                let open = create(path, access::DELETE, disposition::OPEN, options);
                let remove = SetInfoRequest {
                    file: FileId::RELATED,
                    change: Change::Disposition { delete: true },
                };
                let compound = self.compound().add(&open).related(&remove);
                compound.related(&CLOSE_RELATED).send()
            }
        }
    }
}

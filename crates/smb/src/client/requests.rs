//! Files by requests that both protocols have ([`Request`]).
#![deny(clippy::wildcard_enum_match_arm)]

use super::error::{ClientError, Failure};
use super::files::{Entry, File, Files, Listing, OpenFor, RemoveTarget, Space, or_nothing};
use super::purpose::{self, ATTRIBUTES, READ, UPDATE};
use super::raw::{Protocol, RawSession, Reply, good};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::codec::{Answer, ListPart, PathInfo};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::request::{After, Change, FsInfo, Open, Request, Target};
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::{FileId, RequestedOplock};
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Duration;

/// Entries of one part of a listing (SMB1).
const LIST_COUNT: u16 = 512;
/// Largest answer about a file system, in bytes.
const INFO_BYTES: u32 = 1024;
/// Longest wait for the reply to a disconnect or logoff.
const LOGOFF_LIMIT: Duration = Duration::from_secs(1);
/// Removals under way at once.
const REMOVALS: usize = 64;

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

const fn id(file: File) -> FileId {
    FileId {
        persistent: file.0,
        volatile: file.1,
    }
}

const fn of(id: FileId) -> File {
    File(id.persistent, id.volatile)
}

const fn entry(name: String, info: &PathInfo) -> Entry {
    Entry {
        name,
        is_dir: info.is_dir,
        is_link: info.is_link,
        size: info.size,
    }
}

impl<P: Protocol> RawSession<P> {
    /// Sends a request and waits for its replies, one for each message; a refusal of any
    /// is a failure.
    pub(crate) fn replies_to(&mut self, request: &Request<'_>) -> Result<Vec<P::Reply>, Failure> {
        let step = P::step(request);
        let lost = |error| Failure::ConnectionLost { step, error };
        let ids = self.send_request(request).map_err(lost)?;
        let replies: Result<Vec<_>, _> = ids.into_iter().map(|id| self.wait(id)).collect();
        let replies = replies.map_err(lost)?;
        replies.into_iter().map(|reply| good(step, reply)).collect()
    }

    /// The same; what the reply that brings the output says.
    pub(crate) fn answer_to<T>(
        &mut self,
        request: &Request<'_>,
        read: impl FnOnce(&Self, &Answer<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let step = P::step(request);
        let replies = self.replies_to(request)?;
        let Some(reply) = replies.get(P::output_at(request)) else {
            let status = status::INVALID_NETWORK_RESPONSE;
            return Err(Failure::Refused { step, status });
        };
        read(self, &reply.answer()).map_err(|source| self.garbage(step, reply, source))
    }

    /// A reply that is not valid.
    pub(crate) fn garbage(
        &self,
        asked: &'static str,
        reply: &P::Reply,
        source: DecodeError,
    ) -> Failure {
        let (step, address) = (reply.step(asked), self.peer());
        let error = ClientError::Garbage { address, source };
        Failure::ConnectionLost { step, error }
    }

    fn open_file(&mut self, open: Open<'_>) -> Result<(File, u32), Failure> {
        let opened = self.answer_to(&Request::Open(open), |_, answer| P::opened(answer))?;
        Ok((of(opened.file), opened.attributes))
    }

    fn list_bytes(&self) -> u32 {
        P::LIST_BYTES.min(self.session().limits().transact_max)
    }

    fn removal<'a>(what: RemoveTarget, path: &'a str) -> Request<'a> {
        let link = options::OPEN_REPARSE_POINT;
        let open = |options| open(path, access::DELETE, disposition::OPEN, options | link);
        match what {
            RemoveTarget::File => {
                Request::RemoveFile(open(options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE))
            }
            // A directory that is not empty would be left without a word if it were to go
            // on closing; asked like this the server says so.
            RemoveTarget::Dir => Request::RemoveDir(open(options::DIRECTORY_FILE)),
        }
    }
}

/// The entries of a part of a listing; where a search would go on is kept.
fn entries(listed: ListPart<'_>, listing: &mut Listing) -> Result<Option<Vec<Entry>>, DecodeError> {
    if let Some(list) = listed.list {
        listing.file = of(list);
    }
    listing.is_over = listed.is_over;
    listing.is_closed = listed.is_closed;
    let Some(found) = listed.entries else {
        return Ok(None);
    };
    let mut entries = Vec::new();
    for found in found {
        let found = found?;
        let name = text_of_utf16(found.name);
        listing.last = (name.clone(), found.index);
        if !found.is_dot() {
            entries.push(entry(name, &found.path_info()));
        }
    }
    Ok(Some(entries))
}

impl<P: Protocol> Files for RawSession<P> {
    fn make_dir(&mut self, path: &str) -> Result<(), Failure> {
        let open = Open {
            attributes: attributes::DIRECTORY,
            ..open(
                path,
                ATTRIBUTES,
                disposition::CREATE,
                options::DIRECTORY_FILE,
            )
        };
        self.replies_to(&Request::MakeDir(open)).map(drop)
    }

    fn create_new(&mut self, path: &str) -> Result<File, Failure> {
        let file = options::NON_DIRECTORY_FILE;
        let open = open(path, UPDATE, disposition::CREATE, file);
        self.open_file(open).map(|(file, _)| file)
    }

    fn open(&mut self, path: &str, purpose: OpenFor) -> Result<File, Failure> {
        let (access, disposition, options) = purpose::of(purpose);
        let itself = match purpose::is_of_what_is_there(purpose) {
            true => P::OPEN_REPARSE_POINT,
            false => 0,
        };
        let open = open(path, access, disposition, options | itself);
        let (file, attributes) = self.open_file(open)?;
        match purpose::is_refused(purpose, attributes) {
            false => Ok(file),
            true => {
                self.close(file)?;
                Err(purpose::reparse_point(P::step(&Request::Open(open))))
            }
        }
    }

    fn read(&mut self, file: File, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        while all.len() < length as usize {
            let most = (length - all.len() as u32).min(self.session().limits().read_max);
            let request = Request::Read {
                file: id(file),
                offset: offset.saturating_add(all.len() as u64),
                length: most,
            };
            let before = all.len();
            let read = self.answer_to(&request, |_, answer| {
                let data = P::data(answer)?;
                all.extend_from_slice(data.get(..most as usize).unwrap_or(data));
                Ok(())
            });
            match read {
                Err(failure) if failure.is(&[status::END_OF_FILE]) => break,
                read => read?,
            }
            if all.len() == before {
                break;
            }
        }
        Ok(all)
    }

    fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<(), Failure> {
        let most = self.session().limits().write_max as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let part = rest.get(..most).unwrap_or(rest);
            let request = Request::Write {
                file: id(file),
                offset: offset.saturating_add(done as u64),
                data: &part,
            };
            done += self.answer_to(&request, |_, answer| match P::written(answer)? as usize {
                count if count == 0 || count > part.len() => {
                    Err(DecodeError::Bad("the count of bytes written"))
                }
                count => Ok(count),
            })?;
        }
        Ok(())
    }

    fn flush(&mut self, file: File) -> Result<(), Failure> {
        let file = id(file);
        self.replies_to(&Request::Flush { file }).map(drop)
    }

    fn close(&mut self, file: File) -> Result<(), Failure> {
        let (file, facts) = (id(file), false);
        self.replies_to(&Request::Close { file, facts }).map(drop)
    }

    fn look(&mut self, path: &str) -> Result<Option<Entry>, Failure> {
        let itself = options::OPEN_REPARSE_POINT;
        let request = Request::Look {
            open: open(path, ATTRIBUTES, disposition::OPEN, itself),
            most: self.list_bytes(),
        };
        let info = match self.answer_to(&request, |_, answer| P::path_info(path, answer)) {
            Err(failure) if failure.status().is_some_and(P::is_empty_list) => return Ok(None),
            info => or_nothing(info)?.flatten(),
        };
        Ok(info.map(|info| entry(String::new(), &info)))
    }

    fn begin_list(&mut self, path: &str) -> Result<Listing, Failure> {
        // One that has become a reparse point since it was looked at is not followed.
        let options = options::DIRECTORY_FILE | options::OPEN_REPARSE_POINT;
        let request = Request::ListBegin {
            open: open(path, READ, disposition::OPEN, options),
            pattern: "*",
            count: LIST_COUNT,
            most: self.list_bytes(),
        };
        let mut listing = Listing {
            file: File(0, 0),
            ready: None,
            last: (String::new(), 0),
            is_over: true,
            is_closed: true,
        };
        let begun = self.answer_to(&request, |_, answer| {
            entries(P::list_begun(answer)?, &mut listing)
        });
        match begun {
            Err(failure) if failure.status().is_some_and(P::is_empty_list) => {}
            begun => listing.ready = begun?,
        }
        Ok(listing)
    }

    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, Failure> {
        if let Some(entries) = listing.ready.take() {
            return Ok(Some(entries));
        }
        if listing.is_over {
            return Ok(None);
        }
        let (name, index) = listing.last.clone();
        let request = Request::ListNext {
            list: id(listing.file),
            pattern: "*",
            after: After { name: &name, index },
            count: LIST_COUNT,
            most: self.list_bytes(),
        };
        let found = self.answer_to(&request, |_, answer| {
            entries(P::list_part(answer)?, listing)
        });
        match found {
            Err(failure) if failure.status().is_some_and(P::is_list_end) => {
                listing.is_over = true;
                Ok(None)
            }
            found => found,
        }
    }

    fn end_list(&mut self, listing: Listing) -> Result<(), Failure> {
        let list = id(listing.file);
        match listing.is_closed {
            true => Ok(()),
            false => self.replies_to(&Request::ListEnd { list }).map(drop),
        }
    }

    fn remove_each(&mut self, what: RemoveTarget, paths: &[String]) -> Result<Vec<u32>, Failure> {
        let step = P::step(&Self::removal(what, ""));
        let lost = |error| Failure::ConnectionLost { step, error };
        let mut statuses = Vec::with_capacity(paths.len());
        for row in paths.chunks(REMOVALS) {
            let mut sent = Vec::with_capacity(row.len());
            for path in row {
                let ids = self.send_request(&Self::removal(what, path));
                sent.push(ids.map_err(lost)?);
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
        let request = Request::Set {
            file: id(file),
            change: Change::EndOfFile(size),
        };
        self.replies_to(&request).map(drop)
    }

    fn space(&mut self, path: &str) -> Result<Space, Failure> {
        let request = Request::QueryFs {
            target: Target::Path(open(path, ATTRIBUTES, disposition::OPEN, 0)),
            info: FsInfo::Space,
            most: INFO_BYTES,
        };
        let space = self.answer_to(&request, |raw, answer| raw.session().space(answer))?;
        Ok(Space {
            total: space.total,
            free: space.available,
        })
    }

    fn server_facts(&self) -> Vec<(String, String)> {
        self.session().facts()
    }

    fn peer(&self) -> SocketAddr {
        RawSession::peer(self)
    }

    fn log_off(&mut self) {
        let sent = [Request::TreeDisconnect, Request::Logoff].map(|r| self.send_request(&r));
        for id in sent.into_iter().flatten().flatten() {
            let _ = self.wait_within(id, LOGOFF_LIMIT);
        }
    }
}

//! Files by SMB1.

use super::error::{ClientError, Failure};
use super::facts;
use super::files::{Entry, File, Files, Gone, Listing, OpenFor, Space, or_nothing};
use super::purpose::{self, UPDATE};
use super::raw::{RawOne, ReplyOne};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::info::{Entries, FsSize, StandardInfo, level};
use filermark_smbwire::smb1::{
    Close, CreateDirectory, Created, Delete, DeleteDirectory, FindClose, FindFirst, FindFirstReply,
    FindNext, FindNextReply, Flush, Logoff, NtCreate, Path, QueryFs, QueryPath, ReadAndx, ReadData,
    Request, SetFile, SetInfo, TreeDisconnect, WriteAndx, Written, caps,
};
use filermark_smbwire::smb2::file::{attributes, disposition, options, share};
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Duration;

/// Entries of one part of a listing, and the room for them in bytes.
const LIST_COUNT: u16 = 512;
const LIST_BYTES: u32 = 56 << 10;
/// Flag of a search: the server ends it with its first answer (MS-CIFS 2.2.6.2.1).
const CLOSE_AT_ONCE: u16 = 0x0001;
/// Flag of a search: the server ends it with the last entry (MS-CIFS 2.2.6.2.1).
const CLOSE_AT_END: u16 = 0x0002;
/// Flag of a search: go on where the last answer ended.
const CONTINUE: u16 = 0x0008;
/// Room for what is told of a file or a file system, in bytes.
const INFO_BYTES: u16 = 1024;
/// Longest wait for a farewell.
const FAREWELL: Duration = Duration::from_secs(1);
/// Removals under way at once.
const REMOVALS: usize = 64;
/// A listing without an entry.
const NOTHING: Listing = Listing {
    file: File(0, 0),
    ready: None,
    last: (String::new(), 0),
    is_over: true,
    is_closed: true,
};

const fn create(path: &str, access: u32, disposition: u32, options: u32) -> NtCreate<'_> {
    NtCreate {
        flags: 0,
        access,
        attributes: attributes::NORMAL,
        allocation: 0,
        share: share::ALL,
        disposition,
        options,
        path: Path::of(path),
    }
}

const fn fid(file: File) -> u16 {
    file.1 as u16
}

/// A reply that brings what was asked for.
pub(crate) fn good(step: &'static str, reply: ReplyOne) -> Result<ReplyOne, Failure> {
    match reply.status() {
        status::SUCCESS | status::BUFFER_OVERFLOW => Ok(reply),
        status => Err(Failure::Refused { step, status }),
    }
}

impl RawOne {
    /// Sends a request; a refusal is a failure.
    pub(crate) fn ask<R: Request>(
        &mut self,
        step: &'static str,
        request: &R,
    ) -> Result<ReplyOne, Failure> {
        let reply = self.call(request);
        good(step, reply.map_err(|error| Failure::Lost { step, error })?)
    }

    /// What a reply says.
    pub(crate) fn read_as<'a, T>(
        &self,
        step: &'static str,
        reply: &'a ReplyOne,
        read: impl FnOnce(&filermark_smbwire::smb1::Reply<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let parts = reply.parts();
        parts
            .and_then(|parts| read(&parts))
            .map_err(|source| self.senseless(step, source))
    }

    pub(crate) const fn senseless(&self, step: &'static str, source: DecodeError) -> Failure {
        let address = self.peer();
        let error = ClientError::Garbage { address, source };
        Failure::Lost { step, error }
    }

    fn create(&mut self, request: &NtCreate<'_>) -> Result<(File, u32), Failure> {
        let step = "NT_CREATE_ANDX";
        let reply = self.ask(step, request)?;
        let created = self.read_as(step, &reply, |parts| Created::read(parts))?;
        Ok((File(0, created.fid.into()), created.basic.attributes))
    }

    /// Begins a search, with the entries of its first answer.
    fn search(&mut self, request: &FindFirst<'_>) -> Result<Listing, Failure> {
        let step = "TRANS2_FIND_FIRST2";
        let reply = self.ask(step, request)?;
        let answer = reply.answer();
        let first = FindFirstReply::read(&answer);
        let first = first.map_err(|source| self.senseless(step, source))?;
        let mut listing = Listing {
            file: File(0, first.sid.into()),
            is_over: first.end || first.count == 0,
            is_closed: first.end,
            ..NOTHING
        };
        listing.ready = Some(self.entries(step, &reply, first.count, &mut listing)?);
        Ok(listing)
    }

    /// The entries in an answer to a search; where it would go on is kept.
    fn entries(
        &self,
        step: &'static str,
        reply: &ReplyOne,
        count: u16,
        listing: &mut Listing,
    ) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        for entry in Entries::new(reply.answer().data, count) {
            let entry = entry.map_err(|source| self.senseless(step, source))?;
            let name = text_of_utf16(entry.name);
            listing.last = (name.clone(), entry.index);
            if !entry.is_dot() {
                entries.push(Entry {
                    name,
                    is_dir: entry.basic.is_directory(),
                    is_link: entry.basic.attributes & attributes::REPARSE_POINT != 0,
                    size: entry.size,
                });
            }
        }
        Ok(entries)
    }

    /// The share's root, which is in no directory.
    fn look_at_root(&mut self) -> Result<Entry, Failure> {
        let step = "TRANS2_QUERY_PATH_INFORMATION";
        let request = QueryPath {
            path: Path::of(""),
            level: level::FILE_STANDARD,
            max_data: INFO_BYTES,
        };
        let reply = self.ask(step, &request)?;
        let info = StandardInfo::read(reply.answer().data);
        let info = info.map_err(|source| self.senseless(step, source))?;
        Ok(Entry {
            name: String::new(),
            is_dir: info.directory,
            is_link: false,
            size: info.size,
        })
    }

    fn list_bytes(&self) -> u16 {
        LIST_BYTES.min(self.session().limits.transact_max) as u16
    }

    fn send_removal(&mut self, what: Gone, path: &str) -> Result<u16, ClientError> {
        let path = Path::of(path);
        match what {
            Gone::File => self.send(&Delete { path }),
            Gone::Dir => self.send(&DeleteDirectory { path }),
        }
    }
}

impl Files for RawOne {
    fn make_dir(&mut self, path: &str) -> Result<(), Failure> {
        let path = Path::of(path);
        self.ask("CREATE_DIRECTORY", &CreateDirectory { path })
            .map(drop)
    }

    fn create_new(&mut self, path: &str) -> Result<File, Failure> {
        let file = options::NON_DIRECTORY_FILE;
        let request = create(path, UPDATE, disposition::CREATE, file);
        RawOne::create(self, &request).map(|(file, _)| file)
    }

    fn open(&mut self, path: &str, purpose: OpenFor) -> Result<File, Failure> {
        let (access, disposition, options) = purpose::of(purpose);
        let request = create(path, access, disposition, options);
        let (file, attributes) = RawOne::create(self, &request)?;
        match purpose::is_refused(purpose, attributes) {
            false => Ok(file),
            true => {
                self.close(file)?;
                Err(purpose::reparse_point("NT_CREATE_ANDX"))
            }
        }
    }

    fn read(&mut self, file: File, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        let step = "READ_ANDX";
        let mut all = Vec::new();
        while all.len() < length as usize {
            let request = ReadAndx {
                fid: fid(file),
                offset: offset.saturating_add(all.len() as u64),
                count: (length - all.len() as u32).min(self.session().limits.read_max),
            };
            let reply = match self.ask(step, &request) {
                Err(failure) if failure.is(&[status::END_OF_FILE]) => break,
                reply => reply?,
            };
            let data = self.read_as(step, &reply, |parts| Ok(ReadData::read(parts)?.data))?;
            let data = data.get(..request.count as usize).unwrap_or(data);
            all.extend_from_slice(data);
            if data.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    fn write(&mut self, file: File, offset: u64, data: &[u8]) -> Result<(), Failure> {
        let step = "WRITE_ANDX";
        let most = self.session().limits.write_max as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let request = WriteAndx {
                fid: fid(file),
                offset: offset.saturating_add(done as u64),
                write_through: false,
            };
            let part = rest.get(..most).unwrap_or(rest);
            let reply = self
                .send_write(&request, part)
                .and_then(|mid| self.wait(mid))
                .map_err(|error| Failure::Lost { step, error })?;
            let reply = good(step, reply)?;
            let count = self.read_as(step, &reply, |parts| Ok(Written::read(parts)?.count))?;
            if count == 0 || count as usize > part.len() {
                let source = DecodeError::Bad("the count of bytes written");
                return Err(self.senseless(step, source));
            }
            done += count as usize;
        }
        Ok(())
    }

    fn flush(&mut self, file: File) -> Result<(), Failure> {
        self.ask("FLUSH", &Flush { fid: fid(file) }).map(drop)
    }

    fn close(&mut self, file: File) -> Result<(), Failure> {
        self.ask("CLOSE", &Close { fid: fid(file) }).map(drop)
    }

    fn look(&mut self, path: &str) -> Result<Option<Entry>, Failure> {
        if path.is_empty() {
            return self.look_at_root().map(Some);
        }
        // A search shows the entry itself. TRANS2_QUERY_PATH_INFORMATION may follow it,
        // and its level for sizes has no attributes.
        let request = FindFirst {
            pattern: Path::of(path),
            count: 1,
            flags: CLOSE_AT_ONCE,
            max_data: self.list_bytes(),
        };
        let listing = match self.search(&request) {
            Err(failure) if failure.is(&[status::NO_MORE_FILES]) => return Ok(None),
            found => or_nothing(found)?,
        };
        let entries = listing.and_then(|listing| listing.ready);
        Ok(entries.and_then(|entries| entries.into_iter().next()))
    }

    fn begin_list(&mut self, path: &str) -> Result<Listing, Failure> {
        let request = FindFirst {
            pattern: Path {
                dir: path,
                name: "*",
            },
            count: LIST_COUNT,
            flags: CLOSE_AT_END,
            max_data: self.list_bytes(),
        };
        let empty = [status::NO_SUCH_FILE, status::NO_MORE_FILES];
        match self.search(&request) {
            Err(failure) if failure.is(&empty) => Ok(NOTHING),
            listing => listing,
        }
    }

    fn next_entries(&mut self, listing: &mut Listing) -> Result<Option<Vec<Entry>>, Failure> {
        if let Some(entries) = listing.ready.take() {
            return Ok(Some(entries));
        }
        if listing.is_over {
            return Ok(None);
        }
        let step = "TRANS2_FIND_NEXT2";
        let name = listing.last.0.clone();
        let request = FindNext {
            sid: fid(listing.file),
            count: LIST_COUNT,
            resume_key: listing.last.1,
            flags: CLOSE_AT_END | CONTINUE,
            name: &name,
            max_data: self.list_bytes(),
        };
        let reply = match self.ask(step, &request) {
            Err(failure) if failure.is(&[status::NO_MORE_FILES]) => {
                listing.is_over = true;
                return Ok(None);
            }
            reply => reply?,
        };
        let next = FindNextReply::read(&reply.answer());
        let next = next.map_err(|source| self.senseless(step, source))?;
        listing.is_over = next.end || next.count == 0;
        listing.is_closed = next.end;
        self.entries(step, &reply, next.count, listing).map(Some)
    }

    fn end_list(&mut self, listing: Listing) -> Result<(), Failure> {
        match listing.is_closed {
            true => Ok(()),
            false => {
                let sid = fid(listing.file);
                self.ask("FIND_CLOSE2", &FindClose { sid }).map(drop)
            }
        }
    }

    fn remove_each(&mut self, what: Gone, paths: &[String]) -> Result<Vec<u32>, Failure> {
        let step = match what {
            Gone::File => "DELETE",
            Gone::Dir => "DELETE_DIRECTORY",
        };
        let lost = |error| Failure::Lost { step, error };
        let mut statuses = Vec::with_capacity(paths.len());
        for row in paths.chunks(REMOVALS) {
            let mut sent = Vec::with_capacity(row.len());
            for path in row {
                sent.push(self.send_removal(what, path).map_err(lost)?);
            }
            for mid in sent {
                statuses.push(self.wait(mid).map_err(lost)?.status());
            }
        }
        Ok(statuses)
    }

    fn set_end_of_file(&mut self, file: File, size: u64) -> Result<(), Failure> {
        let request = SetFile {
            fid: fid(file),
            info: SetInfo::EndOfFile(size),
        };
        self.ask("TRANS2_SET_FILE_INFORMATION", &request).map(drop)
    }

    fn space(&mut self, _path: &str) -> Result<Space, Failure> {
        let step = "TRANS2_QUERY_FS_INFORMATION";
        let is_full = self.session().capabilities & caps::PASSTHRU != 0;
        let request = QueryFs {
            level: match is_full {
                true => level::FS_FULL_SIZE,
                false => level::FS_SIZE,
            },
            max_data: INFO_BYTES,
        };
        let reply = self.ask(step, &request)?;
        let size = match is_full {
            true => FsSize::read_full(reply.answer().data),
            false => FsSize::read(reply.answer().data),
        };
        let size = size.map_err(|source| self.senseless(step, source))?;
        Ok(Space {
            total: size.total,
            free: size.available,
        })
    }

    fn server_facts(&self) -> Vec<(String, String)> {
        facts::of_one(self.session())
    }

    fn peer(&self) -> SocketAddr {
        RawOne::peer(self)
    }

    fn log_off(&mut self) {
        for sent in [self.send(&TreeDisconnect), self.send(&Logoff)] {
            let _ = sent.and_then(|mid| self.wait_within(mid, FAREWELL));
        }
    }
}

//! FIND: a search of SMB1 or an open directory of SMB2, answer by answer.

use super::{DirEntry, Open};
use crate::client::Failure;
use crate::client::raw::{Protocol, RawSession};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::codec::{Entries, ListPart};
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::request::{After, Request};
use filermark_smbwire::smb2::FileId;
use filermark_smbwire::smb2::file::access;
use filermark_smbwire::status;

/// Entries of one answer at most (SMB1).
const FIND_COUNT: u16 = 1000;
/// More entries are a server's mistake.
const ENTRIES_MAX: usize = 100_000;

/// A listing that is under way.
struct Listing {
    list: FileId,
    is_over: bool,
    is_closed: bool,
    /// Where a search goes on.
    index: u32,
    found: Vec<DirEntry>,
    answers: u32,
}

impl Listing {
    /// Takes an answer.
    fn add(&mut self, listed: ListPart<'_>) -> Result<(), DecodeError> {
        self.list = listed.list.unwrap_or(self.list);
        self.is_over = listed.is_closed;
        self.is_closed = listed.is_closed;
        let Some(entries) = listed.entries else {
            return Ok(());
        };
        self.answers += 1;
        self.add_entries(entries)
    }

    fn add_entries(&mut self, entries: Entries<'_>) -> Result<(), DecodeError> {
        for entry in entries {
            let entry = entry?;
            self.index = entry.index;
            self.found.push(DirEntry {
                name: text_of_utf16(entry.name),
                size: entry.facts.end_of_file,
                attributes: entry.facts.attributes,
                written: entry.facts.last_write_time,
            });
        }
        Ok(())
    }
}

impl<P: Protocol> RawSession<P> {
    /// All entries, and how many answers they came in.
    pub(super) fn find_all(
        &mut self,
        dir: &str,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<DirEntry>, u32), Failure> {
        let rights = access::READ_DATA | access::READ_ATTRIBUTES | access::SYNCHRONIZE;
        let begin = Request::ListBegin {
            open: Open::dir(dir).rights(rights).request(),
            pattern,
            count: FIND_COUNT,
            most,
        };
        let mut listing = Listing {
            list: FileId::RELATED,
            is_over: false,
            is_closed: false,
            index: 0,
            found: Vec::new(),
            answers: 0,
        };
        self.answer_to(&begin, |_, answer| listing.add(P::list_begun(answer)?))?;
        let listed = self.find_rest(pattern, most, &mut listing);
        let closed = match listing.is_closed {
            true => Ok(()),
            false => {
                let list = listing.list;
                self.replies_to(&Request::ListEnd { list }).map(drop)
            }
        };
        listed?;
        closed.map(|()| (listing.found, listing.answers))
    }

    fn find_rest(
        &mut self,
        pattern: &str,
        most: u32,
        listing: &mut Listing,
    ) -> Result<(), Failure> {
        while !listing.is_over {
            let (index, before) = (listing.index, listing.found.len());
            let last = listing.found.last();
            let name = last.map_or("", |found| &found.name).to_owned();
            let next = Request::ListNext {
                list: listing.list,
                pattern,
                after: After { name: &name, index },
                count: FIND_COUNT,
                most,
            };
            let added = self.answer_to(&next, |_, answer| {
                listing.add(P::list_part(answer)?)?;
                let found = listing.found.len();
                match !listing.is_over && (found == before || found > ENTRIES_MAX) {
                    true => Err(DecodeError::Bad("the count of entries")),
                    false => Ok(()),
                }
            });
            match added {
                // The server has not reported the end, and has no further entries.
                Err(failure) if listing.answers > 0 && failure.is(&[status::NO_MORE_FILES]) => {
                    listing.is_closed = P::STATUS_CLOSES_LIST;
                    break;
                }
                added => added?,
            }
        }
        Ok(())
    }
}

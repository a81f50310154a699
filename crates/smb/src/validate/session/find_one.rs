//! FIND by SMB1: a search, answer by answer.

use super::Found;
use crate::client::Failure;
use crate::client::raw::{RawOne, ReplyOne};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::info::Entries;
use filermark_smbwire::smb1::{
    FindClose, FindFirst, FindFirstReply, FindNext, FindNextReply, Path,
};
use filermark_smbwire::status;

/// Entries of one answer at most.
const FIND_COUNT: u16 = 1000;
/// Flags of a search: it ends with its last entry; it goes on where it was.
const CLOSE_AT_END: u16 = 0x0002;
const CONTINUE: u16 = 0x0008;
/// More entries are a server's mistake.
const ENTRIES_MAX: usize = 100_000;

impl RawOne {
    /// Adds the entries of an answer; the key of the last one comes back.
    fn found_in(
        &self,
        step: &'static str,
        reply: &ReplyOne,
        count: u16,
        all: &mut Vec<Found>,
    ) -> Result<u32, Failure> {
        let mut last = 0;
        for entry in Entries::new(reply.answer().data, count) {
            let entry = entry.map_err(|source| self.senseless(step, source))?;
            last = entry.index;
            all.push(Found {
                name: text_of_utf16(entry.name),
                size: entry.size,
                attributes: entry.basic.attributes,
                written: entry.basic.written,
            });
        }
        Ok(last)
    }

    pub(super) fn find_all(
        &mut self,
        dir: &str,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<Found>, u32), Failure> {
        let step = "TRANS2_FIND_FIRST2";
        let max_data = most.min(u16::MAX.into()) as u16;
        let reply = self.ask(
            step,
            &FindFirst {
                pattern: Path { dir, name: pattern },
                count: FIND_COUNT,
                flags: CLOSE_AT_END,
                max_data,
            },
        )?;
        let first = FindFirstReply::read(&reply.answer());
        let first = first.map_err(|source| self.senseless(step, source))?;
        let (mut all, mut answers) = (Vec::new(), 1);
        let mut resume = self.found_in(step, &reply, first.count, &mut all)?;
        let mut is_over = first.end;
        while !is_over {
            let step = "TRANS2_FIND_NEXT2";
            let name = all
                .last()
                .map_or("", |found: &Found| &found.name)
                .to_owned();
            let request = FindNext {
                sid: first.sid,
                count: FIND_COUNT,
                resume_key: resume,
                flags: CLOSE_AT_END | CONTINUE,
                name: &name,
                max_data,
            };
            let reply = match self.ask(step, &request) {
                // It has been told nothing of the end, and has nothing more.
                Err(failure) if failure.is(&[status::NO_MORE_FILES]) => break,
                reply => reply?,
            };
            let next = FindNextReply::read(&reply.answer());
            let next = next.map_err(|source| self.senseless(step, source))?;
            answers += 1;
            let before = all.len();
            resume = self.found_in(step, &reply, next.count, &mut all)?;
            is_over = next.end;
            if !is_over && (all.len() == before || all.len() > ENTRIES_MAX) {
                let _ = self.ask("FIND_CLOSE2", &FindClose { sid: first.sid });
                let source = DecodeError::Bad("the count of entries");
                return Err(self.senseless(step, source));
            }
        }
        Ok((all, answers))
    }
}

//! FIND by SMB2 and 3: an open directory, answer by answer.

use super::two::create;
use super::{Calls, Found, Open};
use crate::client::Failure;
use crate::client::raw::RawTwo;
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb2::file::{access, disposition, options, share};
use filermark_smbwire::smb2::{
    CreateRequest, CreateResponse, DirectoryClass, Entries, FileId, OutputResponse,
    QueryDirectoryRequest, Scan,
};
use filermark_smbwire::status;

/// What is told of entries.
const CLASS: DirectoryClass = DirectoryClass::Full;
/// More entries are a server's mistake.
const ENTRIES_MAX: usize = 100_000;

impl RawTwo {
    fn entries(
        &mut self,
        file: FileId,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<Found>, u32), Failure> {
        let (mut all, mut answers) = (Vec::new(), 0);
        loop {
            let request = QueryDirectoryRequest {
                file,
                class: CLASS,
                scan: Scan::Resume,
                single: false,
                pattern,
                max_output: most,
            };
            let reply = match self.ask(&request) {
                Err(failure) if answers > 0 && failure.is(&[status::NO_MORE_FILES]) => {
                    return Ok((all, answers));
                }
                reply => reply?,
            };
            answers += 1;
            let before = all.len();
            let output = self.body::<OutputResponse<'_>>(&reply)?.output;
            for entry in Entries::new(output, CLASS) {
                let entry = entry.map_err(|source| self.senseless(&reply, source))?;
                all.push(Found {
                    name: text_of_utf16(entry.name),
                    size: entry.facts.end_of_file,
                    attributes: entry.facts.attributes,
                    written: entry.facts.last_write_time,
                });
            }
            if all.len() == before || all.len() > ENTRIES_MAX {
                let source = DecodeError::Bad("the count of entries");
                return Err(self.senseless(&reply, source));
            }
        }
    }

    pub(super) fn find_all(
        &mut self,
        dir: &str,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<Found>, u32), Failure> {
        let open = CreateRequest {
            access: access::READ_DATA | access::READ_ATTRIBUTES | access::SYNCHRONIZE,
            share: share::ALL,
            disposition: disposition::OPEN,
            options: options::DIRECTORY_FILE,
            ..create(&Open::dir(dir))
        };
        let opened = self.ask(&open)?;
        let file = self.body::<CreateResponse<'_>>(&opened)?.file;
        let found = self.entries(file, pattern, most);
        let closed = Calls::close(self, file, false);
        let found = found?;
        closed.map(|_| found)
    }
}

//! What the fuzz targets of both protocols and the tests have in common: a message in
//! every way that a codec can read it.

use super::{Answer, Codec, ListPart};
use crate::error::DecodeError;
use crate::request::{FileInfo, Request, Target};
use crate::smb2::FileId;
use crate::status;

/// Decodes a message, and the answer to a transaction, in every way. No slice is longer than
/// its source, and there are no more entries than fit into it.
pub(crate) fn read_all<C: Codec>(command: u16, answer: &Answer<'_>) {
    let (file, length) = (FileId::RELATED, 1 << 20);
    let requests = [
        Request::Echo,
        Request::Read {
            file,
            offset: 0,
            length,
        },
        Request::Write {
            file,
            offset: 0,
            data: &[].as_slice(),
        },
        Request::Query {
            target: Target::File(file),
            infos: &[FileInfo::All],
            most: length,
        },
    ];
    for request in &requests {
        for status in [
            status::SUCCESS,
            status::BUFFER_OVERFLOW,
            status::NO_MORE_FILES,
        ] {
            let _ = C::take(request, command, status, answer.message);
        }
    }
    let _ = (C::opened(answer), C::lease(answer), C::closed(answer));
    let _ = (C::written(answer), C::basic(answer), C::standard(answer));
    let _ = (C::path_info("", answer), C::path_info("name", answer));
    let most = answer.message.len() + answer.transaction.data.len();
    let within = |part: &[u8]| assert!(part.len() <= most, "a part that is not within");
    let _ = (C::data(answer).map(within), C::output(answer).map(within));
    for listed in [C::list_begun(answer), C::list_part(answer)] {
        count(listed, most);
    }
    let _ = C::changes(answer).map(|changes| assert!(changes.count() <= most));
}

fn count(listed: Result<ListPart<'_>, DecodeError>, most: usize) {
    let entries = listed.ok().and_then(|listed| listed.entries);
    assert!(
        entries.into_iter().flatten().count() <= most,
        "entries overlap"
    );
}

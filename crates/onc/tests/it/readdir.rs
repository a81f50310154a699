//! Directory lists: written within a size, read until something is wrong.

use filermark_onc::nfs3::{DirList, DirListWriter, Entry3};
use filermark_onc::xdr::Problem;

use crate::hex;

const ENTRY: Entry3<'static> = Entry3 {
    fileid: 1,
    name: b"name",
    cookie: 1,
};
/// Follows, fileid, length, name, cookie.
const ENTRY_BYTES: usize = 4 + 8 + 4 + 4 + 8;
/// No attributes, verifier; end of list, eof.
const EMPTY_BYTES: usize = 4 + 8 + 8;

#[test]
fn a_writer_stops_at_the_size_that_was_asked_for() {
    for maxcount in 0..200u32 {
        let mut out = b"header".to_vec();
        let mut writer = DirListWriter::begin(&mut out, None, [0; 8], maxcount);
        while writer.push(&ENTRY) {}
        let fitting = (maxcount as usize).saturating_sub(EMPTY_BYTES) / ENTRY_BYTES;
        assert_eq!(writer.len(), fitting, "{maxcount}");
        assert_eq!(writer.is_empty(), fitting == 0);
        if writer.is_empty() {
            writer.cancel();
            assert_eq!(out, b"header", "TOOSMALL is written in its place");
            continue;
        }
        writer.finish(false);
        // "header", status, then what the client limited.
        assert_eq!(out.len() - 6 - 4, EMPTY_BYTES + fitting * ENTRY_BYTES);
        assert!(out.len() - 6 - 4 <= maxcount as usize);
        let list = DirList::<Entry3<'_>>::from_bytes(&out[6 + 4 + 12..]);
        assert_eq!(
            list.iter().map(Result::unwrap).collect::<Vec<_>>(),
            vec![ENTRY; fitting]
        );
    }
}

#[test]
fn an_iterator_ends_at_the_first_error() {
    let bytes = hex(
        "00000001 0000000000000001 00000001 61000000 0000000000000001
         00000001 0000000000000002 ffffffff 62000000 0000000000000002 00000000 00000001",
    );
    let list = DirList::<Entry3<'_>>::from_bytes(&bytes);
    let mut entries = list.iter();
    assert_eq!(entries.next().unwrap().unwrap().name, b"a");
    let error = entries.next().unwrap().unwrap_err();
    assert_eq!((error.offset, error.what), (40, "Entry3.name"));
    assert!(matches!(error.problem, Problem::TooLong { .. }));
    assert_eq!((entries.next(), entries.eof()), (None, None));
}

#[test]
fn offsets_count_from_the_start_of_the_message() {
    let bytes = hex("00000000 00000000 0000000000000000 00000007");
    let ok = filermark_onc::xdr::decode::<filermark_onc::nfs3::ReaddirRes<'_>>(&bytes);
    let reply = ok.unwrap().unwrap().reply;
    let error = reply.iter().next().unwrap().unwrap_err();
    assert_eq!(
        (error.offset, error.problem),
        (16, Problem::Unexpected { value: 7 })
    );
}

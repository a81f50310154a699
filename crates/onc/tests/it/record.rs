//! Record marking: any stream, cut anywhere.

use filermark_onc::record::{
    OpenRecord, RecordReader, RecordTooLong, append_fragments, whole_record,
};
use proptest::prelude::*;

use crate::hex;

const MAX: usize = 1000;

/// The records of a stream that arrives in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, RecordTooLong> {
    let mut reader = RecordReader::new(MAX);
    let mut records = Vec::new();
    for mut piece in pieces {
        while let Some(record) = reader.next_record(&mut piece)? {
            records.push(record.to_vec());
        }
        assert!(piece.is_empty());
    }
    assert!(!reader.is_mid_record());
    Ok(records)
}

#[test]
fn marks_are_as_in_the_rfc() {
    let mut out = b"before".to_vec();
    let open = OpenRecord::begin(&mut out);
    out.extend_from_slice(b"hello");
    assert_eq!(open.finish(&mut out), 5);
    assert_eq!(out, [&b"before"[..], &hex("80000005"), b"hello"].concat());

    let mut out = Vec::new();
    append_fragments(&mut out, b"hello", 2);
    assert_eq!(
        out,
        [
            &hex("00000002")[..],
            b"he",
            &hex("00000002"),
            b"ll",
            &hex("80000001"),
            b"o"
        ]
        .concat()
    );

    let mut out = b"before".to_vec();
    let open = OpenRecord::begin(&mut out);
    out.extend_from_slice(b"hello");
    open.cancel(&mut out);
    assert_eq!(out, b"before");
}

fn stream() -> (Vec<u8>, Vec<Vec<u8>>) {
    let records = [&b"one"[..], b"", b"a record of some length", b"4"].map(<[u8]>::to_vec);
    let mut stream = Vec::new();
    append_fragments(&mut stream, &records[0], 100);
    append_fragments(&mut stream, &records[1], 100);
    append_fragments(&mut stream, &records[2], 5);
    append_fragments(&mut stream, &records[3], 100);
    (stream, records.to_vec())
}

#[test]
fn a_stream_may_be_cut_at_every_byte() {
    let (stream, records) = stream();
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(
                read(pieces),
                Ok(records.clone()),
                "cut at {first} and {second}"
            );
        }
    }
    assert_eq!(read(stream.chunks(1)), Ok(records));
}

#[test]
fn a_whole_record_is_handed_out_in_place() {
    let mut stream = Vec::new();
    append_fragments(&mut stream, b"first", 100);
    append_fragments(&mut stream, b"second", 100);
    let mut reader = RecordReader::new(MAX);
    let mut input = &stream[..];
    let record = reader.next_record(&mut input).unwrap().unwrap();
    assert_eq!(
        (record, record.as_ptr()),
        (&b"first"[..], stream[4..].as_ptr())
    );
    let record = reader.next_record(&mut input).unwrap().unwrap();
    assert_eq!(
        (record, record.as_ptr()),
        (&b"second"[..], stream[13..].as_ptr())
    );
}

#[test]
fn whole_records_for_callers_with_their_own_buffer() {
    let bytes = [&hex("80000002")[..], b"hi", b"rest"].concat();
    let whole = whole_record(&bytes, MAX).unwrap().unwrap();
    assert_eq!((whole.record, whole.rest), (&b"hi"[..], &b"rest"[..]));
    for cut in 0..6 {
        assert_eq!(whole_record(&bytes[..cut], MAX), Ok(None));
    }
    assert_eq!(
        whole_record(&hex("00000000 80000000"), MAX),
        Ok(None),
        "more fragments follow"
    );
    assert!(whole_record(&hex("800003e9"), MAX).is_err());
}

#[test]
fn records_above_the_limit_are_refused_before_they_arrive() {
    let error = RecordTooLong {
        announced: MAX + 1,
        max: MAX,
    };
    assert_eq!(read([&hex("800003e9")[..]]), Err(error));
    assert_eq!(read(hex("800003e9").chunks(1)), Err(error));
    assert_eq!(
        read([&[hex("800003e8"), vec![0; MAX]].concat()[..]])
            .unwrap()
            .len(),
        1
    );
    // Two fragments that are too long together.
    let both = [hex("00000001 ff"), hex("800003e8")].concat();
    assert_eq!(read([&both[..]]), Err(error));
    // An HTTP server's answer, read as a mark.
    assert!(read([&b"HTTP/1.1 400 Bad Request"[..]]).is_err());
}

#[test]
fn empty_fragments_are_legal_and_cost_nothing() {
    let stream = [hex("00000000").repeat(1000), hex("00000001 41 80000000")].concat();
    assert_eq!(read([&stream[..]]), Ok(vec![b"A".to_vec()]));
}

#[test]
fn state_between_and_inside_records_is_reported() {
    let mut reader = RecordReader::new(MAX);
    assert!(!reader.is_mid_record());
    assert_eq!(reader.next_record(&mut &hex("8000")[..]), Ok(None));
    assert!(reader.is_mid_record(), "half a mark");
    assert_eq!(reader.next_record(&mut &hex("0005 01 02")[..]), Ok(None));
    assert_eq!((reader.is_mid_record(), reader.wanted()), (true, 3));
    reader.trim(0);
    assert!(
        reader.is_mid_record(),
        "trim leaves a record under way alone"
    );
    assert_eq!(
        reader.next_record(&mut &hex("03 04 05")[..]),
        Ok(Some(&[1, 2, 3, 4, 5][..]))
    );
    assert_eq!((reader.is_mid_record(), reader.wanted()), (false, 0));
    reader.trim(0);
    assert_eq!(reader.next_record(&mut &hex("00000001 41")[..]), Ok(None));
    assert!(reader.is_mid_record(), "a fragment that was not the last");
    reader.reset();
    assert_eq!(
        reader.next_record(&mut &hex("80000001 42")[..]),
        Ok(Some(&b"B"[..]))
    );
}

proptest! {
    #[test]
    fn any_records_in_any_fragments_and_pieces(
        records in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..100), 1..40usize), 0..8),
        piece in 1..60usize,
    ) {
        let mut stream = Vec::new();
        for (record, fragment) in &records {
            append_fragments(&mut stream, record, *fragment);
        }
        let expected: Vec<_> = records.into_iter().map(|(record, _)| record).collect();
        prop_assert_eq!(read(stream.chunks(piece)), Ok(expected));
    }
}

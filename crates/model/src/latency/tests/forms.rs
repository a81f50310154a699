//! The two forms of the counts have equal figures, merges and texts, and these are those of
//! the library.

use crate::latency::buckets::{
    BUCKET_COUNT, bucket_of, highest_ns, lowest_equivalent_ns, lowest_ns,
};
use crate::latency::counts::Counts;
use crate::latency::encoding::{decode, encode};
use crate::latency::sparse::Sparse;
use crate::latency::{LATENCY_NS_MAX, Latency};
use crate::units::Nanos;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use proptest::collection::vec;
use proptest::prelude::*;

/// Percentiles at which forms are compared.
const PERCENTILES: [f64; 12] = [
    -1.0,
    0.0,
    0.001,
    10.0,
    50.0,
    90.0,
    99.0,
    99.9,
    99.99,
    100.0,
    101.0,
    f64::NAN,
];

fn is_sparse(latency: &Latency) -> bool {
    matches!(latency.histogram, Counts::Sparse(_))
}

/// Recorded, so dense; those below 0 are lower bounds.
fn recorded(values: &[i64]) -> Latency {
    let mut latency = Latency::new();
    for ns in values {
        match ns {
            0.. => latency.record(Nanos(ns.unsigned_abs())),
            _ => latency.record_at_least(Nanos(ns.unsigned_abs())),
        }
    }
    latency
}

/// Written and read, so sparse.
fn read(latency: &Latency) -> Latency {
    let read = Latency::from_wire(&latency.to_wire()).expect("it is read back");
    assert!(is_sparse(&read));
    read
}

fn library() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("bounds")
}

fn written_by_library(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = V2Serializer::new().serialize(histogram, &mut bytes);
    written.expect("it is written");
    bytes
}

/// All that can be seen of a latency.
fn assert_equal(a: &Latency, b: &Latency) {
    let texts = [a, b].map(|latency| serde_json::to_string(latency).expect("JSON"));
    assert_eq!(texts[0], texts[1]);
    assert_eq!((a.count(), a.sum_ns()), (b.count(), b.sum_ns()));
    assert_eq!((a.min_ns(), a.max_ns()), (b.min_ns(), b.max_ns()));
    assert_eq!(a.figures(), b.figures());
    for percentile in PERCENTILES {
        assert_eq!(
            a.percentile(percentile),
            b.percentile(percentile),
            "{percentile}"
        );
    }
    for bound in (0..63).map(|bits| 3u64 << bits) {
        let counts = [a, b].map(|latency| latency.count_at_most(Nanos(bound)));
        assert_eq!(counts[0], counts[1], "{bound}");
    }
    assert_eq!(a.buckets(1_000, 2.0), b.buckets(1_000, 2.0));
    assert_eq!(a.at_least_names(), b.at_least_names());
}

/// Latencies of all sizes, some of them lower bounds; few different ones, so that counts differ.
fn values() -> impl Strategy<Value = Vec<i64>> {
    let size = (0u32..50, 0i64..4).prop_map(|(bits, more)| (1i64 << bits) + more - 2);
    let one = (size, 0u8..20).prop_map(|(ns, kind)| match kind {
        0 => -ns.max(1),
        _ => ns.max(0),
    });
    vec(one, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn both_forms_have_equal_figures_and_texts(values in values()) {
        let dense = recorded(&values);
        prop_assert!(!is_sparse(&dense));
        let sparse = read(&dense);
        assert_equal(&dense, &sparse);
        let mut library = library();
        values.iter().for_each(|ns| library.saturating_record(ns.unsigned_abs().max(1)));
        let bytes = written_by_library(&library);
        prop_assert_eq!(encode(&dense.histogram.to_sparse()), bytes.clone());
        prop_assert_eq!(encode(&decode(&bytes).expect("it is read")), bytes);
        prop_assert_eq!(dense.histogram.to_dense().into_owned(), library.clone());
        prop_assert_eq!(sparse.histogram.to_dense().into_owned(), library);
    }

    #[test]
    fn merges_and_differences_do_not_depend_on_the_form(a in values(), b in values()) {
        let together = recorded(&[&a[..], &b].concat());
        let forms = |values: &[i64]| [recorded(values), read(&recorded(values))];
        for first in forms(&a) {
            for second in forms(&b) {
                let mut merged = first.clone();
                merged.merge(&second);
                prop_assert_eq!(merged.histogram.total(), together.histogram.total());
                let close = (merged.sum_sq_us - together.sum_sq_us).abs();
                prop_assert!(close <= 1e-9 * together.sum_sq_us);
                // The order of additions shows in the last digits of this sum only.
                merged.sum_sq_us = together.sum_sq_us;
                assert_equal(&merged, &together);
                let sum: Latency = [&first, &second].into_iter().sum();
                prop_assert_eq!(is_sparse(&sum), !(has_dense(&first) || has_dense(&second)));
                prop_assert_eq!(sum.to_wire().hdr, together.to_wire().hdr);
            }
        }
        let known: Vec<Nanos> = b.iter().map(|ns| Nanos(ns.unsigned_abs())).collect();
        let mut rest = forms(&[&a[..], &b].concat());
        rest.iter_mut().for_each(|latency| latency.subtract(&known));
        prop_assert_eq!(rest[0].to_wire().hdr, rest[1].to_wire().hdr);
        let mut more = forms(&a);
        more.iter_mut().for_each(|latency| latency.record(Nanos(77)));
        assert_equal(&more[0], &more[1]);
        more.iter_mut().for_each(Latency::clear);
        assert_equal(&more[0], &more[1]);
    }

    #[test]
    fn bytes_are_decoded_as_the_library_decodes_them(
        payload in vec(prop_oneof![Just(0u8), Just(1), Just(2), Just(0x7f), any::<u8>()], 0..40)
    ) {
        let mut bytes = encode(&Sparse::default());
        bytes.truncate(40);
        bytes.extend_from_slice(&payload);
        bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        // The library overflows on the least number.
        let least = |bytes: &[u8]| bytes.windows(9).any(|w| w.iter().all(|byte| *byte == 0xff));
        prop_assume!(!least(&payload));
        let theirs = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice());
        match (decode(&bytes), theirs) {
            (Ok(ours), Ok(theirs)) => {
                let ours = Counts::Sparse(ours).to_dense().into_owned();
                prop_assert_eq!(ours, theirs);
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => prop_assert!(false, "{:?} {:?}", ours, theirs.map(|_| ())),
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let mut framed = encode(&Sparse::default());
        framed.truncate(40);
        framed.extend_from_slice(&bytes);
        framed[4..8].copy_from_slice(&(bytes.len() as u32).to_be_bytes());
        if let Ok(sparse) = decode(&framed) {
            let mut twice = sparse.clone();
            twice.add(&sparse);
            let _ = (encode(&twice), twice.percentile_ns(99.0), twice.max_ns());
        }
    }
}

/// Whether it makes a sum dense.
fn has_dense(latency: &Latency) -> bool {
    !is_sparse(latency) && latency.count() > 0
}

#[test]
fn the_buckets_are_those_of_the_library() {
    let library = library();
    assert_eq!(library.distinct_values(), BUCKET_COUNT as usize);
    for (bucket, theirs) in library.iter_all().enumerate() {
        let bucket = bucket as u32;
        assert_eq!(highest_ns(bucket), theirs.value_iterated_to());
        for ns in [lowest_ns(bucket), highest_ns(bucket)] {
            assert_eq!(bucket_of(ns), bucket);
            assert_eq!(lowest_equivalent_ns(ns), library.lowest_equivalent(ns));
            assert_eq!(lowest_ns(bucket), library.lowest_equivalent(ns));
        }
    }
    for ns in [LATENCY_NS_MAX, 1 << 41, u64::MAX] {
        assert_eq!(lowest_equivalent_ns(ns), library.lowest_equivalent(ns));
    }
    assert_eq!(bucket_of(u64::MAX), BUCKET_COUNT - 1);
}

#[test]
fn encodings_that_cannot_be_are_refused() {
    let good = read(&recorded(&[5, 5, 9_000, 1 << 40])).histogram;
    let good = encode(&good.to_sparse());
    let error_of = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        decode(&bytes).unwrap_err()
    };
    assert!(error_of(&|b| b.truncate(39)).contains("less than its header"));
    assert!(error_of(&|b| b.truncate(b.len() - 1)).contains("bytes of counts"));
    // Compressed, other digits, other bounds.
    for at in [3, 15, 23, 31, 39] {
        assert!(error_of(&|b| b[at] ^= 1).contains("V2 encoding"), "{at}");
    }
    let with = |payload: &[u8]| {
        let mut bytes = good[..40].to_vec();
        bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
        decode(&bytes)
    };
    assert!(with(&[0x80]).unwrap_err().contains("within a number"));
    // The least number: as many empty buckets, and a count behind them.
    let beyond = [&[0xff; 9][..], &[2]].concat();
    assert!(
        with(&beyond)
            .unwrap_err()
            .contains("more than 31744 buckets")
    );
    assert_eq!(with(&[0xff; 9]).expect("empty buckets only").total(), 0);
    // The largest count, twice: neither the sum nor its text overflows.
    let largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let mut sum = with(&largest).expect("a count");
    assert_eq!(sum.total(), i64::MAX as u64);
    let one = sum.clone();
    (0..3).for_each(|_| sum.add(&one));
    assert_eq!(sum.total(), u64::MAX);
    assert_eq!(
        decode(&encode(&sum)).expect("it is read").total(),
        i64::MAX as u64
    );
}

/// What is read takes the memory of its latencies only, alone and in a sum.
#[test]
fn what_is_read_stays_small_until_something_is_recorded() {
    let dense = recorded(&[100, 200, 300]);
    let mut small = read(&dense);
    let mut sum: Latency = [&small, &read(&dense)].into_iter().sum();
    sum.merge(&small);
    sum.merge(&Latency::new());
    assert!(is_sparse(&sum));
    assert_eq!(sum.count(), 9);
    small.record(Nanos(1));
    assert!(!is_sparse(&small));
    assert_eq!((small.count(), small.min_ns()), (4, 1));
}

/// A lower bound beyond all buckets is one of the last that is counted, and is read back.
#[test]
fn lower_bounds_of_any_length_are_read_back() {
    for ns in [
        1,
        LATENCY_NS_MAX,
        LATENCY_NS_MAX + 1,
        (1 << 41) - 1,
        1 << 41,
        u64::MAX,
    ] {
        let mut latency = Latency::new();
        latency.record_at_least(Nanos(ns));
        assert_equal(&latency, &read(&latency));
        assert!(latency.max().at_least, "{ns}");
        // Earlier versions wrote the latency itself, also beyond the last bucket.
        let mut wire = latency.to_wire();
        wire.at_least_ns_min = ns;
        assert_equal(&latency, &Latency::from_wire(&wire).expect("it is read"));
    }
}

//! Transient and permanent failures.

use super::map::{FakeWatch, Map};
use super::*;
use crate::claim::retry::TRIES;

/// A run directory with two directories of a proc and a file in each.
fn made() -> Map {
    let mut map = left_by("20260101-this");
    for dir in ["p000000", "p000000/d0000", "p000001"] {
        map.own(&format!("filermark.t/{dir}"), &this_run());
    }
    map.put("filermark.t/p000000/d0000/f0000000001", "x");
    map.put("filermark.t/p000000/d0000/f0000000002", "x");
    map
}

fn release_all(map: &mut Map, watch: &FakeWatch) -> Result<Emptied, DriverError> {
    super::super::release(map, &this_run(), ReleaseScope::All, watch)
}

#[test]
fn transient_failures_are_retried() {
    let whole = release_all(&mut made(), &FakeWatch::of("here", None)).unwrap();
    for (reads, calls) in [(1, 0), (TRIES - 1, 0), (0, 1), (0, TRIES - 1)] {
        let (mut map, watch) = (made(), FakeWatch::of("here", None));
        (map.failing_reads, map.failing_calls, map.passing) = (reads, calls, true);
        let emptied =
            release_all(&mut map, &watch).unwrap_or_else(|e| panic!("{reads} {calls}: {e}"));
        assert_eq!(emptied, whole, "{reads} {calls}");
        assert!(map.nodes.is_empty(), "{:?}", map.nodes);
        assert!(watch.waited.get() > Duration::ZERO);
        assert_eq!(map.listings, 0, "every listing is ended");
    }
    // A claim and a renewal are retried, too.
    let mut map = left_by("20250101-old");
    (map.failing_reads, map.passing) = (1, true);
    assert!(claim(&mut map, &this_run()).is_ok());
    map.failing_reads = TRIES - 1;
    let renewed = renew(&mut map, &this_run(), ClaimRole::Own, &lease::SystemWatch);
    assert_eq!(renewed, Ok(RenewResult::Done));
}

/// Each failed call has removed a part: names that are missing at the next try are counted.
#[test]
fn names_that_an_earlier_try_removed_are_counted() {
    let mut map = made();
    let all = release_all(&mut made(), &FakeWatch::of("here", None)).unwrap();
    (map.failing_calls, map.passing) = (3, true);
    let emptied = release_all(&mut map, &FakeWatch::of("here", None)).unwrap();
    assert_eq!(emptied.removed_count, all.removed_count);
}

#[test]
fn a_permanent_failure_names_its_file_and_the_number_of_tries() {
    let (mut map, watch) = (made(), FakeWatch::of("here", None));
    (map.failing_reads, map.passing) = (u32::MAX, true);
    let error = release_all(&mut map, &watch).unwrap_err();
    assert_eq!(u32::MAX - map.failing_reads, TRIES);
    assert_eq!(error.place, "map/filermark.t/.filermark-owner");
    assert_eq!(error.reason, format!("broken, {TRIES} times in a row"));
    assert!(map.has("filermark.t/p000000/d0000/f0000000001"));

    // The owner file of a directory below is named with its path.
    let mut map = made();
    map.failing_reads_of = Some("p000000/d0000");
    let error = release_all(&mut map, &watch).unwrap_err();
    assert_eq!(
        error.place,
        "map/filermark.t/p000000/d0000/.filermark-owner"
    );
    assert!(map.has("filermark.t/p000000/d0000/f0000000001"));
}

#[test]
fn failures_that_are_not_transient_are_not_retried() {
    let (mut map, watch) = (made(), FakeWatch::of("here", None));
    map.failing_reads = 1;
    let error = release_all(&mut map, &watch).unwrap_err();
    assert_eq!(error.reason, "broken");
    assert_eq!(watch.waited.get(), Duration::ZERO);
}

/// A listing that has failed may be at its end: that must not look like an empty
/// directory.
#[test]
fn a_listing_that_fails_is_not_the_end_of_the_directory() {
    let mut map = Map::with(&[("filermark.t/", ""), ("filermark.t/theirs", "x")]);
    (map.failing_parts, map.passing) = (1, true);
    let error = claim(&mut map, &this_run()).unwrap_err();
    assert_eq!(error.reason, "broken");
    assert_eq!(owner(&map), None, "it is not marked");
    assert!(map.has("filermark.t/theirs"));
    assert_eq!(map.listings, 0, "every listing is ended");
    // In a directory that is being emptied.
    let mut map = made();
    (map.failing_parts, map.passing) = (1, true);
    assert!(release_all(&mut map, &FakeWatch::of("here", None)).is_err());
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
}

#[test]
fn a_marker_is_not_written_over_that_of_a_faster_run() {
    for paths in [&[][..], &[("filermark.t/", "")][..]] {
        let mut map = Map::with(paths);
        (map.failing_writes, map.passing) = (1, true);
        map.faster = Some(marker_text(&run("20260101-next")));
        let error = claim(&mut map, &this_run()).unwrap_err();
        assert_eq!(error.reason, "broken");
        assert_eq!(owner(&map).as_deref(), Some("20260101-next"));
    }
}

#[test]
fn a_claim_whose_marker_cannot_be_read_back_reports_what_may_remain() {
    let mut map = Map::with(&[]);
    map.failing_reads_then = u32::MAX;
    let error = claim(&mut map, &this_run()).unwrap_err().to_string();
    for part in ["map/filermark.t, with this run's", "`filermark stop`"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
    // If it can be read again, it is removed.
    for (paths, left) in [(&[][..], 0), (&[("filermark.t/", "")][..], 1)] {
        let mut map = Map::with(paths);
        map.failing_reads_then = 1;
        let error = claim(&mut map, &this_run()).unwrap_err();
        assert_eq!(error.reason, "broken");
        assert_eq!(map.nodes.len(), left, "{:?}", map.nodes);
    }
}

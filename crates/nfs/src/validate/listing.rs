//! Shared parts of the checks of listings: names of different lengths, and a comparison that
//! requires each of them once.

use super::text::{is_dot, shown};
use filermark_driver_kit::checks::Stop;
use std::collections::BTreeMap;

/// A name for an entry of this number.
pub(super) fn name(number: usize) -> Vec<u8> {
    // Lengths differ, so that entries end at any offset of an answer.
    format!("entry-{number:04}-{}", "x".repeat(number % 23)).into_bytes()
}

/// Requires every name of `wanted` exactly once, no other name, and "." and ".." at most once.
pub(super) fn each_once<'a>(
    wanted: impl Iterator<Item = Vec<u8>>,
    listed: impl Iterator<Item = &'a [u8]>,
) -> Result<(), Stop> {
    let mut counts: BTreeMap<Vec<u8>, u32> = wanted.map(|name| (name, 0)).collect();
    let mut dots = BTreeMap::new();
    for name in listed {
        if is_dot(name) {
            *dots.entry(name.to_vec()).or_insert(0) += 1;
            continue;
        }
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => return Err(Stop::fail("only names that were created", shown(name))),
        }
    }
    let odd = counts
        .iter()
        .chain(&dots)
        .find(|(name, count)| match is_dot(name) {
            true => **count > 1,
            false => **count != 1,
        });
    match odd {
        None => Ok(()),
        Some((name, times)) => Err(Stop::fail(
            "every entry exactly once",
            format!("{} {times} times", shown(name)),
        )),
    }
}

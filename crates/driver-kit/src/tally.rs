//! What drivers count beside the operations themselves, by the declarations of their
//! counters.

use std::collections::BTreeMap;

/// Adds what is not zero to `into` under its name, and begins anew.
pub fn take_counts<'a>(
    names: impl IntoIterator<Item = &'a str>,
    counts: &mut [u64],
    into: &mut BTreeMap<String, u64>,
) {
    for (name, count) in names.into_iter().zip(counts).filter(|(_, c)| **c > 0) {
        *into.entry(name.to_owned()).or_default() += std::mem::take(count);
    }
}

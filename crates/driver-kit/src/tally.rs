//! The drivers' counters of other things than operations.

use std::collections::BTreeMap;

/// Adds the counts that are not zero to `into` under their names, and resets them.
pub fn take_counts<'a>(
    names: impl IntoIterator<Item = &'a str>,
    counts: &mut [u64],
    into: &mut BTreeMap<String, u64>,
) {
    for (name, count) in names.into_iter().zip(counts).filter(|(_, c)| **c > 0) {
        *into.entry(name.to_owned()).or_default() += std::mem::take(count);
    }
}

//! What drivers count beside the operations themselves: declared once, with names
//! for the record.

use std::collections::BTreeMap;

/// Declares `Tally`, an enum of things to count, and `NAMES`, what each is called in
/// the record.
#[macro_export]
macro_rules! tallies {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Tally { $(#[doc = $doc] $variant,)* }

        const NAMES: &[&str] = &[$($name),*];
    };
}

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

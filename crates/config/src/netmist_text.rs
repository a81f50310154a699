//! Workload objects in the text form of netmist's `-E` and `-I` (manual N,
//! section 11): one attribute per line, a workload after the other.
//!
//! ```text
//! Workload name METADATA
//! Percent read 10
//! Percent read file 0
//! Read elem 0 xfer min size 1
//! Read elem 0 xfer max size 511
//! Read elem 0 xfer percent 3
//! Percent write commit 33
//! FS Type POSIX
//! ```
//!
//! Attributes that the form does not have are lines of our own, which are written only
//! where they differ from the default: docs/src/reference/workloads.md.

mod draft;
mod export;
mod keys;
mod parse;
#[cfg(test)]
mod tests;

pub use export::export;
pub use parse::parse;

use filermark_model::Registry;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The title that a workload of this name ships with; empty for others. The form has
/// no place for titles, and a shipped one need not be written.
fn shipped_title(name: &str) -> &'static str {
    static TITLES: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let titles = TITLES.get_or_init(|| {
        let shipped = Registry::shipped();
        let of =
            |w: &filermark_model::WorkloadObject| (w.name.to_ascii_uppercase(), w.title.clone());
        shipped.workloads().map(of).collect()
    });
    titles
        .get(&name.to_ascii_uppercase())
        .map_or("", String::as_str)
}

//! Tags every sample of energy logs with the load point and the phase of a run, by time.
//!
//! A stream: one line in, its tagged lines out; nothing is kept but the declarations. All
//! times that come out are the prime's: each source's offset has been added.

mod declared;
mod runs;
mod tagger;
mod timeline;

pub use runs::merged_run;
pub use tagger::{MergeError, MergeOptions, Merged, merge};
pub use timeline::Timeline;
pub(crate) use timeline::{end_of, overlap, spans_of};

#[cfg(test)]
mod tests;

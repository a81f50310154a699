//! Tags every sample of energy logs with the load point and the phase of a run, by time.
//!
//! It streams: it reads a line and writes its tagged lines; only the declarations are kept. All
//! written times are the prime's: each source's offset has been added.

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

//! `watch`: shows a run from its events, in another terminal or in a log.
//!
//! `tail` reads the file as it grows or the answer of a running program, `show` gives its events to the live view or the plain lines
//! of the run itself ([`crate::progress`]), `page` to a browser.

mod page;
mod show;
mod tail;
#[cfg(test)]
mod tests;

pub use page::Page;
pub use show::Shown;
pub use tail::{Next, Tail, WAIT};

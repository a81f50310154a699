//! The live view of a run: a small block at the bottom of the terminal.
//!
//! [`ViewState`] is a pure model that gets the progress and returns lines of text for a width and
//! a time; [`filermark_cli_kit::view`] draws them. It does not use agents, files or exit codes.

mod content;
mod draw;
mod estimate;
mod facts;
mod state;
#[cfg(test)]
mod tests;

pub use content::RunContent;
pub use draw::{open_operations, silence_left};
pub use facts::{Facts, PointFacts};
pub use state::{IDLE_MIN, PointState, ViewState};

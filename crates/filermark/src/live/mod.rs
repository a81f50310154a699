//! The live view: how a run goes, in a small block at the bottom of the terminal.
//!
//! [`ViewState`] is a pure model that is fed with what goes on and gives lines of text
//! for a width and a time. [`LiveView`] is the thin part that draws them, from a thread
//! of its own: a stopped terminal (Ctrl-S) must not delay a run.
//! [`view::print_stderr`] prints everything else on stderr meanwhile.
//!
//! This module knows no agent, no file and no exit code.

mod block;
mod draw;
pub mod energy;
mod estimate;
mod facts;
mod state;
#[cfg(test)]
mod state_tests;
mod text;
mod view;

pub use draw::{open_operations, silence_left};
pub use facts::{Facts, PointFacts};
pub use state::ViewState;
pub use view::{LiveView, LogWriter, leave, print_stderr, print_stderr_line, stopping, wanted};

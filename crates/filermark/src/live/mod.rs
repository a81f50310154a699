//! The live view: how a run goes, in a small block at the bottom of the terminal.
//!
//! [`State`] is a pure model that is fed with what goes on and gives lines of text
//! for a width and a time. [`View`] is the thin part that draws them, from a thread
//! of its own: a terminal that stands still (Ctrl-S) must not hold up a run.
//! [`say`] is for whatever else is told on stderr meanwhile.
//!
//! This room knows no agent, no file and no exit code.

mod block;
mod draw;
pub mod energy;
mod facts;
mod guess;
mod state;
#[cfg(test)]
mod state_tests;
mod text;
mod view;

pub use draw::{open_operations, silence_left};
pub use facts::{Facts, PointFacts};
pub use state::State;
pub use view::{LogWriter, View, leave, say, say_line, stopping, wanted};

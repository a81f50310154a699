//! The agents of a run, as the prime sees them: who is there, what was asked, who
//! is missing.
//!
//! Every wait has a limit, and every agent that dies, hangs, loses its link or
//! answers nonsense is noticed here and told by its host's name. What orders mean is
//! not known here, nor how bytes travel (see [`crate::links`]).

mod clock_round;
mod orders;
mod round;
mod seats;
mod types;

pub use seats::Agents;
pub use types::{AbortRequest, ExtraOrders, Heard, LostAgent, OrderError, STOP_MAX, TIDY_MAX};

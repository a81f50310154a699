//! The agents of a run, as the prime sees them: which are connected, their pending orders,
//! which are lost.
//!
//! Every wait has a limit. An agent that dies, hangs, loses its link or sends invalid data is
//! detected here and reported by its host's name. The meaning of orders is not known here, nor
//! the transport (see [`crate::links`]).

mod clock_round;
mod orders;
mod pending_order;
mod slots;
mod types;

pub use slots::Agents;
pub use types::{
    AbortRequest, AgentEvent, ExtraOrders, LostAgent, OrderError, REMOVE_MAX, STOP_MAX,
};

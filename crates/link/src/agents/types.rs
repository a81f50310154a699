//! Types of agents and orders: errors, losses, events.

use crate::message::{Leftover, Order, Report};
use filermark_model::Nanos;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How long agents may take to stop a phase after a stop order.
pub const STOP_MAX: Nanos = Nanos::from_secs(10);
/// How long the removal at the end may take after a stop request; with [`STOP_MAX`], a minute.
/// The last part is for the removal of the run's directory.
pub const REMOVE_MAX: Nanos = Nanos::from_secs(50);
/// Lost agents that an error names.
pub(super) const NAMED_MAX: usize = 5;

/// Why an order was not carried out by all agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// An agent reported an error.
    #[error("{reason}")]
    Failed {
        /// Its message.
        reason: String,
    },
    /// The user requested a stop.
    #[error("{}", filermark_results::record::INTERRUPTED)]
    Stopped,
    /// Agents are lost.
    #[error("{}", losses_text(.0))]
    Lost(Vec<LostAgent>),
    /// A condition of STOP_IF holds.
    #[error("{reason}")]
    Emergency {
        /// The condition, with its figure.
        reason: String,
    },
    /// The server does not answer while objects are removed.
    #[error(
        "no object was removed for {seconds} s; see whether the server is still up and reachable"
    )]
    Silent {
        /// How long.
        seconds: u32,
    },
}

/// Where the event handler requests the end of the order, with the reason.
pub type AbortRequest = Rc<RefCell<Option<OrderError>>>;

/// Where the event handler adds orders that are sent immediately to all agents that have not
/// answered yet. Each order comes with the time limit of the pending order from now on, counted
/// from its beginning.
pub type ExtraOrders = Rc<RefCell<VecDeque<(Order, Nanos)>>>;

/// An agent that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostAgent {
    /// Its number in the plan, from 0.
    pub agent: usize,
    /// Its host.
    pub client: String,
    /// How the loss was detected.
    pub reason: String,
    /// It reported that itself, and removes what it created.
    pub cleans_up: bool,
    /// It has done so: what is left. `None` until it has reported it.
    pub cleaned: Option<Vec<Leftover>>,
}

impl std::fmt::Display for LostAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "client {}: the agent is lost: {}",
            self.client, self.reason
        )
    }
}

fn losses_text(losses: &[LostAgent]) -> String {
    let mut text: Vec<String> = losses
        .iter()
        .take(NAMED_MAX)
        .map(LostAgent::to_string)
        .collect();
    if losses.len() > NAMED_MAX {
        text.push(format!("and {} more", losses.len() - NAMED_MAX));
    }
    text.join("; ")
}

/// An event while an order is carried out.
pub enum AgentEvent<'a> {
    /// Time has passed.
    Tick,
    /// A notification.
    Report(usize, &'a Report),
    /// An answer. Failures are not among them.
    Answer(usize, Report),
    /// An agent is lost.
    Lost(&'a LostAgent),
}

/// Called with the prime's time and the event.
pub(crate) type EventHandler<'a> = &'a mut dyn FnMut(Nanos, AgentEvent<'_>);

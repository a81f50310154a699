//! What is said of agents and orders: errors, losses, what comes meanwhile.

use crate::message::{Leftover, Order, Report};
use filermark_model::Nanos;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How long agents may take to stop a phase when asked.
pub const STOP_MAX: Nanos = Nanos::from_secs(10);
/// What is removed at the end may take so long once the user has wished to stop; with
/// [`STOP_MAX`], a minute. The last part is for giving the run's directory back.
pub const TIDY_MAX: Nanos = Nanos::from_secs(50);
/// Lost agents that an error names.
pub(super) const NAMED_MAX: usize = 5;

/// Why an order was not carried out by all agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// An agent says why.
    #[error("{reason}")]
    Failed {
        /// Its sentence.
        reason: String,
    },
    /// The user wished to stop.
    #[error("{}", filermark_results::record::STOPPED)]
    Stopped,
    /// Agents are lost.
    #[error("{}", told(.0))]
    Lost(Vec<LostAgent>),
    /// A condition of STOP_IF holds.
    #[error("{reason}")]
    Emergency {
        /// Which, with its figure.
        reason: String,
    },
}

/// Where the receiver of reports says that the run is to end, and why.
pub type AbortRequest = Rc<RefCell<Option<String>>>;

/// Where the receiver of reports says what else is to be sent at once to all that have
/// not answered yet. With each order comes the time that the whole may take from now on,
/// counted from its beginning.
pub type ExtraOrders = Rc<RefCell<VecDeque<(Order, Nanos)>>>;

/// An agent that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostAgent {
    /// Its number in the plan, from 0.
    pub agent: usize,
    /// Its host.
    pub client: String,
    /// How that was noticed.
    pub reason: String,
    /// It said so itself, and removes what it made.
    pub tidies_up: bool,
    /// It has done so: what stays. `None` until it has said it.
    pub tidied: Option<Vec<Leftover>>,
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

fn told(losses: &[LostAgent]) -> String {
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

/// What comes while an order is carried out.
pub enum Heard<'a> {
    /// Time has passed.
    Tick,
    /// A word in between.
    Report(usize, &'a Report),
    /// An answer. Failures are not among them.
    Answer(usize, Report),
    /// An agent is lost.
    Lost(&'a LostAgent),
}

/// Listens to what comes: the prime's time, and what it is.
pub(crate) type EventHandler<'a> = &'a mut dyn FnMut(Nanos, Heard<'_>);

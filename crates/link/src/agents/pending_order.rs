//! One pending order: which agents have still to answer, what counts as an answer, and the
//! first error.

use super::types::OrderError;
use crate::message::{Hello, PROTOCOL, Report};
use filermark_model::Nanos;
use filermark_model::launch::OnLost;

/// One pending order.
pub(super) struct PendingOrder {
    pub waiting: Vec<bool>,
    pub waiting_count: usize,
    /// The order's name.
    pub kind: &'static str,
    /// The number of losses that were reported already.
    pub reported_losses: usize,
    pub error: Option<OrderError>,
    pub stopping: Option<Nanos>,
    pub on_lost: OnLost,
}

impl PendingOrder {
    pub fn new(agents: usize, losses_seen: usize, on_lost: OnLost) -> Self {
        Self {
            waiting: vec![false; agents],
            waiting_count: 0,
            kind: "",
            reported_losses: losses_seen,
            error: None,
            stopping: None,
            on_lost,
        }
    }

    pub fn wait_for(&mut self, at: usize) {
        self.waiting[at] = true;
        self.waiting_count += 1;
    }

    pub fn is_waiting(&self, at: usize) -> bool {
        self.waiting.get(at).copied().unwrap_or(false)
    }

    pub fn answered(&mut self, at: usize) {
        if std::mem::take(&mut self.waiting[at]) {
            self.waiting_count -= 1;
        }
    }

    /// A specific reason replaces "stopped"; several losses are all reported.
    pub fn fail(&mut self, why: OrderError) {
        match (&mut self.error, why) {
            (Some(OrderError::Lost(all)), OrderError::Lost(more)) => all.extend(more),
            (error @ (None | Some(OrderError::Stopped)), why) => *error = Some(why),
            _ => {}
        }
    }
}

/// Whether an agent's program is made from other sources than this one; the difference, and the
/// command that fixes it.
pub(super) fn differs(own: &Hello, other: &Hello) -> Option<String> {
    let shown = |h: &Hello| match (h.build.is_empty(), h.commit.is_empty()) {
        (true, _) => format!("{} (build unknown)", h.version),
        (false, true) => format!("{} (build {})", h.version, h.build),
        (false, false) => format!("{} (build {}, commit {})", h.version, h.build, h.commit),
    };
    if other.protocol == PROTOCOL && other.version == own.version && other.build == own.build {
        return None;
    }
    Some(format!(
        "it runs filermark {}, protocol {}; this is {}, protocol {PROTOCOL}: install the same version there with `filermark install`",
        shown(other),
        other.protocol,
        shown(own),
    ))
}

/// Whether a report is an answer to the order with this name.
pub(super) fn answers(order: &str, report: &Report) -> bool {
    match report {
        Report::Failed { .. } => true,
        Report::Ready { .. } => order == "prepare",
        Report::Populated { .. } => order == "init",
        Report::Measured { .. } => order == "run",
        Report::Cleaned { .. } => matches!(order, "cleanup" | "release" | "sweep"),
        Report::Inspected(_) => order == "inspect",
        _ => false,
    }
}

/// Notifications that arrive while an order is carried out, as opposed to its answer.
pub(super) fn is_event(report: &Report) -> bool {
    matches!(
        report,
        Report::Alive
            | Report::Progress { .. }
            | Report::Second { .. }
            | Report::Space { .. }
            | Report::Heartbeat(_)
            | Report::Waiting { .. }
    )
}

//! One pending order: which agents have still to answer, what counts as an answer, and the
//! first error.

use super::types::OrderError;
use crate::build_mark::profile_advice;
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

/// Whether an agent's program is another build than this one; the difference, and what to do.
pub(super) fn differs(own: &Hello, other: &Hello) -> Option<String> {
    let shown = |h: &Hello| {
        let mut text = match h.build.is_empty() {
            true => return format!("{} (build unknown)", h.version),
            false => format!("{} (build {}", h.version, h.build),
        };
        for (name, value) in [("commit", &h.commit), ("profile", &h.profile)] {
            if !value.is_empty() {
                text.push_str(&format!(", {name} {value}"));
            }
        }
        text + ")"
    };
    if other.protocol == PROTOCOL && other.version == own.version && other.build == own.build {
        return None;
    }
    fn of(h: &Hello) -> [&str; 3] {
        [&h.version, &h.commit, &h.profile]
    }
    let advice = profile_advice(of(own), of(other))
        .unwrap_or("install the same version there with `filermark install`");
    Some(format!(
        "it runs filermark {}, protocol {}; this is {}, protocol {PROTOCOL}: {advice}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::own_hello;

    fn hello(build: &str, commit: &str, profile: &str) -> Hello {
        Hello {
            build: build.into(),
            commit: commit.into(),
            profile: profile.into(),
            ..own_hello()
        }
    }

    #[test]
    fn builds_that_differ_by_the_profile_alone_get_that_advice() {
        let own = hello("0123", "34ae", "release");
        assert_eq!(differs(&own, &own), None);
        let why = differs(&own, &hello("4567", "34ae", "debug")).unwrap();
        for part in [
            "(build 4567, commit 34ae, profile debug)",
            "(build 0123, commit 34ae, profile release)",
            "use programs of one profile (--release) for all",
        ] {
            assert!(why.contains(part), "{part}: {why}");
        }
        for other in [
            hello("4567", "ffff", "debug"),
            hello("4567", "34ae", "release"),
            hello("4567", "34ae", ""),
            hello("", "", ""),
        ] {
            let why = differs(&own, &other).unwrap();
            assert!(why.contains("`filermark install`"), "{why}");
        }
    }

    #[test]
    fn a_hello_without_a_profile_is_read() {
        let mut json = serde_json::to_value(hello("0123", "34ae", "release")).unwrap();
        json.as_object_mut().unwrap().remove("profile");
        let read: Hello = serde_json::from_value(json).unwrap();
        assert_eq!(read, hello("0123", "34ae", ""));
    }
}

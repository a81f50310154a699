//! Judges the comparison of an agent's clock with a time service.

use filermark_link::message::ClockCheck;
use filermark_model::plan::ClockServicePlan;
use filermark_model::{Finding, Rule, Severity};

/// Share of RUN that two good clocks may differ by, in addition to the bound.
const DRIFT_MAX: f64 = 0.001;

/// The message for the record, and the finding about the load point.
pub(crate) fn judge(check: &ClockCheck, plan: &ClockServicePlan) -> (String, Option<Finding>) {
    let service = format!("the time service {}:{}", plan.host, plan.port);
    let warning = |message: &str| Finding::new(Rule::ExternalClock, Severity::Warning, message);
    match check {
        ClockCheck::Failed { reason } => {
            let message = format!(
                "RUN was not compared with {service}: {reason}; is 'filermark clock' running there?"
            );
            let finding = warning(&message);
            (message, Some(finding))
        }
        ClockCheck::Compared {
            ours_ns,
            service_ns,
            bound_ns,
        } => {
            let (ours, theirs) = (*ours_ns as f64 / 1e6, *service_ns as f64 / 1e6);
            let bound = *bound_ns as f64 / 1e6;
            let message = format!(
                "from the beginning to the end of RUN {ours:.3} ms passed here and {theirs:.3} ms at {service} (uncertain by {bound:.3} ms)"
            );
            let apart = (ours - theirs).abs();
            let limit = bound + DRIFT_MAX * theirs;
            let finding = (apart > limit).then(|| {
                let which = if ours < theirs { "slow" } else { "fast" };
                warning(&format!(
                    "the clock here is {which}: {message}; all times of this load point are off by as much"
                ))
                .with_limit(apart, limit, "0.1 % of RUN and the time on the way, in ms")
            });
            (message, finding)
        }
    }
}

//! Whether the processes of a run were stalled.

use super::case::{OWN, percent_of};
use filermark_model::plan::{Limits, STALL_PCNT_STANDARD};
use filermark_model::stall::{ProcessRole, ProcessStalls, Stalls};
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// Processes that a finding names.
const NAMED_MAX: usize = 3;

/// Findings on the stalls of a load point's processes, over a window of this length.
pub fn judge_stalls(processes: &[ProcessStalls], window_ns: u64, limits: &Limits) -> Vec<Finding> {
    let limit = limits.stall_pcnt_max;
    let mut over = Vec::new();
    let mut below = Vec::new();
    for process in processes.iter().filter(|p| p.stalls.gap_count > 0) {
        let share = StallShare::of(process.stalls.gap_sum_ns, window_ns);
        match share.0 > limit {
            true => over.push((share, process)),
            false => below.push((share, process)),
        }
    }
    let still = |severity, mut found: Vec<(StallShare, &ProcessStalls)>| {
        found.sort_by(|a, b| b.0.0.total_cmp(&a.0.0));
        let worst = found.first()?.0;
        let message = format!("{}; limit {limit} %", describe(&found, gaps));
        Some(finding(severity, message, worst, limits))
    };
    let findings = [
        still(Severity::Invalid, over),
        still(Severity::Warning, below),
    ];
    let stolen = stolen_time(processes, window_ns, limits);
    findings.into_iter().flatten().chain(stolen).collect()
}

/// The stolen time, where it is known.
type StolenTime = fn(&Stalls) -> Option<u64>;

/// Time that others took from the processors, in pieces that may be too short for a gap.
fn stolen_time(processes: &[ProcessStalls], window_ns: u64, limits: &Limits) -> Vec<Finding> {
    let kinds: [(StolenTime, &str); 2] = [
        (|s| s.stolen_ns, "by the hypervisor (stolen processor time)"),
        (
            |s| s.throttled_ns,
            "by its cgroup's limit of processor time",
        ),
    ];
    let findings = kinds.into_iter().filter_map(|(of, what)| {
        let mut found: Vec<_> = processes
            .iter()
            .filter_map(|p| Some((StallShare::of(of(&p.stalls)?, window_ns), p)))
            .filter(|(share, _)| share.0 > limits.stall_pcnt_max)
            .collect();
        found.sort_by(|a, b| b.0.0.total_cmp(&a.0.0));
        let worst = found.first()?.0;
        let text = describe(&found, |p| {
            format!(
                "held back for {} {what}",
                seconds(of(&p.stalls).unwrap_or(0))
            )
        });
        let message = format!("{text}; latencies may include this time");
        Some(finding(Severity::Warning, message, worst, limits))
    });
    findings.collect()
}

/// A share of RUN, in percent; the observed time may be a little longer than RUN.
#[derive(Clone, Copy)]
struct StallShare(f64);

impl StallShare {
    fn of(ns: u64, window_ns: u64) -> Self {
        Self(percent_of(ns as f64, window_ns as f64).min(100.0))
    }
}

fn finding(severity: Severity, message: String, share: StallShare, limits: &Limits) -> Finding {
    let limit = limits.stall_pcnt_max;
    let source = match limit == STALL_PCNT_STANDARD {
        true => OWN,
        false => "STALL_PCNT_MAX of this run",
    };
    Finding::new(Rule::GeneratorStalled, severity, message).with_limit(share.0, limit, source)
}

/// The worst processes, each with its description and its share.
fn describe(
    found: &[(StallShare, &ProcessStalls)],
    text_of: impl Fn(&ProcessStalls) -> String,
) -> String {
    let named = found.iter().take(NAMED_MAX).map(|(share, process)| {
        let who = match process.role {
            ProcessRole::Prime => "the prime on",
            ProcessRole::Agent => "client",
        };
        let (host, text) = (&process.host, text_of(process));
        format!("{who} {host}: {text}, {:.2} % of RUN", share.0)
    });
    let named = named.collect::<Vec<_>>().join("; ");
    match found.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named}; and {}", processes(more)),
    }
}

fn processes(more: usize) -> String {
    match more {
        1 => "1 more process".to_owned(),
        n => format!("{n} more processes"),
    }
}

fn gaps(process: &ProcessStalls) -> String {
    let s = &process.stalls;
    let mut text = format!("stalled for {}", seconds(s.gap_sum_ns));
    if s.gap_count > 1 {
        text.push_str(&format!(
            " in {} (the longest {})",
            counted(s.gap_count, "gap"),
            seconds(s.gap_max_ns)
        ));
    }
    if s.suspended_ns > 0 {
        text.push_str(&format!(
            " (its host was suspended for {})",
            seconds(s.suspended_ns)
        ));
    }
    text
}

fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    const SECOND: u64 = 1_000_000_000;

    fn process(role: ProcessRole, host: &str, stalls: Stalls) -> ProcessStalls {
        ProcessStalls {
            role,
            host: host.into(),
            stalls,
        }
    }

    fn stood(ns: u64) -> Stalls {
        Stalls {
            gap_count: 1,
            gap_sum_ns: ns,
            gap_max_ns: ns,
            ..Stalls::default()
        }
    }

    /// The messages over 10 s.
    fn messages(processes: &[ProcessStalls]) -> Vec<(Severity, String)> {
        let found = judge_stalls(processes, 10 * SECOND, &plan().limits);
        assert!(found.iter().all(|f| f.rule == Rule::GeneratorStalled));
        found.into_iter().map(|f| (f.severity, f.message)).collect()
    }

    #[test]
    fn above_half_a_percent_the_point_does_not_count() {
        let quiet = process(ProcessRole::Agent, "a", Stalls::default());
        assert_eq!(messages(std::slice::from_ref(&quiet)), []);
        let below = process(ProcessRole::Agent, "b", stood(SECOND / 20));
        let [(severity, message)] = &messages(&[quiet, below.clone()])[..] else {
            panic!("one finding");
        };
        assert_eq!(*severity, Severity::Warning);
        assert_eq!(
            message,
            "client b: stalled for 0.050 s, 0.50 % of RUN; limit 0.5 %"
        );
        let above = process(
            ProcessRole::Prime,
            "p",
            Stalls {
                gap_count: 2,
                gap_max_ns: SECOND,
                suspended_ns: SECOND,
                ..stood(2 * SECOND)
            },
        );
        let found = messages(&[below, above]);
        assert_eq!(
            (found.len(), found[0].0, found[1].0),
            (2, Severity::Invalid, Severity::Warning)
        );
        assert_eq!(
            found[0].1,
            "the prime on p: stalled for 2.000 s in 2 gaps (the longest 1.000 s) \
             (its host was suspended for 1.000 s), 20.00 % of RUN; limit 0.5 %"
        );
    }

    #[test]
    fn of_many_the_worst_are_named() {
        let agent = |at: u64| process(ProcessRole::Agent, &format!("h{at}"), stood(at * SECOND));
        let found = messages(&(1..=5).map(agent).collect::<Vec<_>>());
        assert_eq!(found.len(), 1);
        let message = &found[0].1;
        assert!(message.starts_with("client h5: "), "{message}");
        assert!(message.contains("client h3: ") && !message.contains("client h2: "));
        assert!(message.contains("; and 2 more processes"), "{message}");
    }

    #[test]
    fn stolen_time_in_small_pieces_is_a_warning() {
        let stalls = Stalls {
            stolen_ns: Some(SECOND),
            throttled_ns: Some(2 * SECOND),
            throttled_count: Some(9),
            major_fault_count: Some(1),
            ..Stalls::default()
        };
        let found = messages(&[process(ProcessRole::Agent, "a", stalls)]);
        assert!(found.iter().all(|(s, _)| *s == Severity::Warning));
        assert!(
            found[0]
                .1
                .contains("held back for 1.000 s by the hypervisor")
        );
        assert!(
            found[1]
                .1
                .contains("held back for 2.000 s by its cgroup's limit")
        );
    }

    #[test]
    fn a_limit_of_a_hundred_percent_accepts_all_stalls() {
        let mut limits = plan().limits;
        limits.stall_pcnt_max = 100.0;
        let found = judge_stalls(
            &[process(ProcessRole::Agent, "a", stood(u64::MAX))],
            1,
            &limits,
        );
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(
            found[0].source.as_deref(),
            Some("STALL_PCNT_MAX of this run")
        );
        let no_window = judge_stalls(&[process(ProcessRole::Agent, "a", stood(1))], 0, &limits);
        assert_eq!(no_window.len(), 1);
    }
}

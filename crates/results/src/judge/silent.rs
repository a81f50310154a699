//! How long no reply arrived while operations were in flight.

use super::case::OWN;
use crate::record::ClientSummary;
use filermark_model::silence::{SILENCE_MIN, Silence};
use filermark_model::stall::{ProcessRole, ProcessStalls};
use filermark_model::stats::PointStats;
use filermark_model::{Finding, Rule, Severity};

/// Clients that a finding names.
const NAMED_MAX: usize = 3;
/// A gap shorter than this multiple of the median service time is not reported: operations
/// of the workload may take that long.
const MEDIANS: f64 = 10.0;

/// A finding on the longest time without a reply on each client of a load point.
pub fn judge_silences(
    clients: &[ClientSummary],
    stalls: &[ProcessStalls],
    stats: &PointStats,
) -> Option<Finding> {
    let median_ns = stats.service().percentile_ns(50.0) as f64;
    let limit_ns = (SILENCE_MIN.0 as f64).max(MEDIANS * median_ns);
    let silence = |c: &ClientSummary| Some((c.name.clone(), c.silence?));
    let mut found: Vec<(String, Silence)> = clients.iter().filter_map(silence).collect();
    found.retain(|(_, silence)| silence.length_ns as f64 > limit_ns);
    found.sort_by_key(|f| std::cmp::Reverse(f.1.length_ns));
    let longest = found.first()?.1;
    let named = found.iter().take(NAMED_MAX);
    let named: Vec<String> = named.map(|found| describe(found, stalls)).collect();
    let more = match found.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        1 => "; and 1 more client".to_owned(),
        more => format!("; and {more} more clients"),
    };
    let message = format!("{}{more}; limit {:.1} s", named.join("; "), limit_ns / 1e9);
    Some(
        Finding::new(Rule::NoReply, Severity::Warning, message).with_limit(
            longest.length_ns as f64 / 1e9,
            limit_ns / 1e9,
            OWN,
        ),
    )
}

fn describe((client, silence): &(String, Silence), stalls: &[ProcessStalls]) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let is_its = |p: &&ProcessStalls| p.role == ProcessRole::Agent && p.host == *client;
    let gap_ns = stalls
        .iter()
        .find(is_its)
        .map_or(0, |p| p.stalls.gap_max_ns);
    // A reply that arrived during a stall has the time of the end of the stall.
    let own = match gap_ns > silence.length_ns / 2 {
        true => format!(
            " (its process was stalled for {:.3} s, so the server may have replied)",
            seconds(gap_ns)
        ),
        false => String::new(),
    };
    format!(
        "client {client}: no reply for {:.1} s while operations were in flight, from {:.1} s after the start of RUN{own}",
        seconds(silence.length_ns),
        seconds(silence.start_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::stall::Stalls;
    use filermark_model::{Nanos, Op};

    const MS: u64 = 1_000_000;

    fn client(name: &str, silence: Option<(u64, u64)>) -> ClientSummary {
        let stats = PointStats {
            silence: silence.map(|(start, length)| Silence {
                start_ns: start * MS,
                length_ns: length * MS,
            }),
            ..PointStats::default()
        };
        ClientSummary::of(1, name, &stats)
    }

    /// Figures with this median service time.
    fn median(ms: u64) -> PointStats {
        let mut stats = PointStats::default();
        stats.op_mut(Op::Read).service.record(Nanos(ms * MS));
        stats
    }

    #[test]
    fn a_silence_is_reported_with_client_start_and_length() {
        let clients = [
            client("a", Some((500, 1_000))),
            client("b", Some((12_340, 3_500))),
        ];
        let finding = judge_silences(&clients, &[], &median(1)).expect("b");
        assert_eq!(
            finding.message,
            "client b: no reply for 3.5 s while operations were in flight, from 12.3 s after \
             the start of RUN; limit 1.0 s"
        );
        assert_eq!(
            (finding.rule, finding.severity),
            (Rule::NoReply, Severity::Warning)
        );
        assert_eq!((finding.value, finding.limit), (Some(3.5), Some(1.0)));
        assert_eq!(finding.source.as_deref(), Some(OWN));
        assert!(
            judge_silences(&clients[..1], &[], &median(1)).is_none(),
            "a second"
        );
        assert!(judge_silences(&[client("c", None)], &[], &median(1)).is_none());
    }

    #[test]
    fn operations_that_always_take_long_are_no_silence() {
        let clients = [client("a", Some((0, 3_500)))];
        assert!(judge_silences(&clients, &[], &median(360)).is_none());
        let finding = judge_silences(&clients, &[], &median(300)).expect("3 s");
        assert!(
            (finding.limit.expect("a limit") - 3.0).abs() < 0.01,
            "{finding:?}"
        );
    }

    #[test]
    fn a_stall_of_the_client_is_reported_with_the_silence() {
        let own = ProcessStalls {
            role: ProcessRole::Agent,
            host: "a".into(),
            stalls: Stalls {
                gap_max_ns: 2_000 * MS,
                ..Stalls::default()
            },
        };
        let clients = ["a", "b", "c", "d", "e"].map(|name| client(name, Some((0, 2_100))));
        let message = judge_silences(&clients, &[own], &median(1))
            .expect("all")
            .message;
        let text = "client a: no reply for 2.1 s while operations were in flight, from 0.0 s after the start of RUN (its process was stalled for 2.000 s, so the server may have replied); client b";
        assert!(message.starts_with(text), "{message}");
        assert!(message.contains("; and 2 more clients; limit"), "{message}");
    }
}

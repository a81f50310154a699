//! The findings of all runs and load points, the most severe first.

use super::group_similar::group_similar;
use super::labels;
use super::names::{self, RunNames};
use filermark_energy_data::reduce::{EnergyFinding, EnergyRule, Reduction};
use filermark_model::Severity;
use filermark_report::parts;
use filermark_results::text::{one_line, severity_label};
use serde::Serialize;

/// A longer list of runs and load points is split.
const PLACES_LENGTH_MAX: usize = 2_000;

/// A finding and where it belongs.
pub struct LocatedFinding<'a> {
    /// Place of the run in the reduction; `None`: all of it.
    pub run: Option<usize>,
    /// Load point, from 1; 0 for the run as a whole.
    pub point: u32,
    pub finding: &'a EnergyFinding,
}

/// The findings of one rule and severity, in words.
#[derive(Debug, Serialize)]
pub struct FindingView {
    pub severity: &'static str,
    pub rule: &'static str,
    /// Place and message.
    #[serde(rename = "said")]
    pub messages: Vec<(String, String)>,
}

/// All findings one by one: by severity, rule, run and load point.
pub fn placed(reduction: &Reduction) -> Vec<LocatedFinding<'_>> {
    let of = |run, point, findings| placed_in(run, point, findings);
    let mut all: Vec<LocatedFinding<'_>> = of(None, 0, &reduction.findings).collect();
    for (place, run) in reduction.workloads.iter().enumerate() {
        all.extend(of(Some(place), 0, &run.findings));
        for point in &run.points {
            all.extend(of(Some(place), point.number, &point.findings));
        }
    }
    all.sort_by_key(|p| {
        (
            std::cmp::Reverse(p.finding.severity),
            p.finding.rule,
            p.run,
            p.point,
        )
    });
    all
}

fn placed_in(
    run: Option<usize>,
    point: u32,
    findings: &[EnergyFinding],
) -> impl Iterator<Item = LocatedFinding<'_>> {
    findings.iter().map(move |finding| LocatedFinding {
        run,
        point,
        finding,
    })
}

/// The findings by rule; the same words once, with the runs and load points.
pub fn views(reduction: &Reduction) -> Vec<FindingView> {
    let all = placed(reduction);
    let called = names::of_runs(&reduction.workloads);
    let key =
        |p: &LocatedFinding<'_>| -> (Severity, EnergyRule) { (p.finding.severity, p.finding.rule) };
    let groups = all.chunk_by(|a, b| key(a) == key(b));
    let view = |group: &[LocatedFinding<'_>]| FindingView {
        severity: severity_label(group[0].finding.severity),
        rule: labels::rule(group[0].finding.rule),
        messages: of_all_runs(
            group
                .chunk_by(|a, b| a.run == b.run)
                .flat_map(|of_run| messages_of_run(&called, of_run)),
        ),
    };
    groups.map(view).collect()
}

/// The same message of several runs once, with all places.
fn of_all_runs(all: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (place, words) in all {
        let known = joined.iter_mut().find(|(known, message)| {
            *message == words && !known.is_empty() && known.len() < PLACES_LENGTH_MAX
        });
        match known {
            Some((known, _)) => *known = format!("{known}; {place}"),
            None => joined.push((place, words)),
        }
    }
    joined
}

fn messages_of_run(called: &[RunNames], group: &[LocatedFinding<'_>]) -> Vec<(String, String)> {
    let messages: Vec<(u32, &str)> = group
        .iter()
        .map(|p| (p.point, p.finding.message.as_str()))
        .collect();
    let run = group.first().and_then(|p| run_name(called, p));
    let messages = group_similar(&messages);
    let messages: Vec<(u32, &str)> = messages.iter().map(|(n, m)| (*n, m.as_str())).collect();
    let with_run = |(place, words): (String, String)| {
        let places = run.iter().map(|r| format!("run {r}"));
        let places: Vec<String> = places.chain((!place.is_empty()).then_some(place)).collect();
        (places.join(", "), words)
    };
    parts::messages(&messages, None)
        .into_iter()
        .map(with_run)
        .collect()
}

/// The run's name that a finding belongs to.
pub fn run_name(called: &[RunNames], placed: &LocatedFinding<'_>) -> Option<String> {
    Some(called.get(placed.run?)?.run.clone())
}

/// The sentence of a finding, on one line.
pub fn message(placed: &LocatedFinding<'_>) -> String {
    one_line(&placed.finding.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_energy_data::reduce::testing::reduction;

    #[test]
    fn the_most_severe_finding_comes_first_and_once() {
        let reduction = reduction();
        let views = views(&reduction);
        let severities: Vec<&str> = views.iter().map(|v| v.severity).collect();
        assert_eq!(severities[..3], ["invalid"; 3]);
        assert_eq!(severities[3..], ["warning", "warning", "warning", "note"]);
        let gap = views.iter().find(|v| v.rule == "gap").expect("it is there");
        assert_eq!(gap.messages.len(), 1);
        assert_eq!(gap.messages[0].0, "run vdi, load points 3, 5");
    }

    #[test]
    fn one_message_of_many_load_points_and_runs_is_shown_once() {
        let mut reduction = reduction();
        for run in &mut reduction.workloads[..2] {
            for point in &mut run.points {
                let n = point.number;
                point.findings = vec![EnergyFinding {
                    rule: EnergyRule::Gap,
                    severity: Severity::Warning,
                    message: format!("power: samples cover {} % of RUN", 10 * n - 10),
                }];
            }
        }
        let views = views(&reduction);
        let gap = views.iter().find(|v| v.rule == "gap").expect("it is there");
        let place = "run swbuild, load points 1–10; run vdi, load points 1–10";
        let words = "power: samples cover 0 to 90 % of RUN";
        assert_eq!(gap.messages, [(place.to_owned(), words.to_owned())]);
    }
}

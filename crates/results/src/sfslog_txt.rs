//! `sfslog.<suffix>.txt`: the whole console output of a composite's run,
//! in the order of the events, with the lines that tag2014 looks for
//! (sources.md 3.10).

use crate::console;
use crate::heartbeat::{Heartbeat, ScriptRecord};
use crate::record::{Event, Phase, PointRecord, RunRecord};
use crate::text::{finding_line, severity_label};
use crate::time::Timestamp;
use crate::timeline::{TimelineEntry, marks};
use filermark_model::plan::LoadPoint;
use filermark_model::text::one_line;
use filermark_model::{Finding, NOT_A_SPEC_RESULT, RunPlan};
use std::fmt::Write as _;

/// The order of entries with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryRank {
    PointHead,
    Script,
    Mark(TimelineEntry),
    Event,
    PointResult,
}

/// The whole file.
pub fn sfslog_txt(record: &RunRecord) -> String {
    let mut out = sfslog_so_far(record);
    tail(&mut out, record);
    out
}

/// The file of a run in progress.
pub(crate) fn sfslog_so_far(record: &RunRecord) -> String {
    banner(record) + &entries(record)
}

/// The head of the file.
pub(crate) fn banner(record: &RunRecord) -> String {
    console::banner(&record.run.version, &record.run.plan.benchmark)
}

/// An event with the keys of its order.
pub(crate) type Entry = (Timestamp, EntryRank, String);

/// All events, in order.
fn entries(record: &RunRecord) -> String {
    let mut entries: Vec<Entry> = Vec::new();
    for load in &record.run.plan.points {
        point_entries(record, *load, &mut entries);
    }
    entries.extend(record.heartbeats.iter().map(heartbeat_entry));
    entries.extend(record.scripts.iter().map(script_entry));
    entries.extend(record.events.iter().map(event_entry));
    entries.sort_by_key(|entry| (entry.0, entry.1));
    entries.into_iter().map(|(.., text)| text).collect()
}

fn point_entries(record: &RunRecord, load: LoadPoint, entries: &mut Vec<Entry>) {
    let marks = marks(record, load.number);
    let ended = record.points.iter().find(|p| p.load.number == load.number);
    let first = marks.first().map(|(at, _)| *at);
    let Some(began) = ended.map(|p| p.began).or(first) else {
        return;
    };
    let head = point_head(record, load, began);
    entries.push((began, EntryRank::PointHead, head));
    let plan = &record.run.plan;
    entries.extend(
        marks
            .into_iter()
            .map(|(at, mark)| (at, EntryRank::Mark(mark), mark_text(plan, load, at, mark))),
    );
    if let Some(point) = ended {
        entries.push((
            point.ended,
            EntryRank::PointResult,
            point_result(record, point),
        ));
    }
}

/// The text at the start of a load point.
pub(crate) fn point_head(record: &RunRecord, load: LoadPoint, began: Timestamp) -> String {
    let plan = &record.run.plan;
    console::new_load_point(began, plan, load)
        + &console::plan_block(plan, load, &record.environments, None)
        + &console::starting_tests(began)
        + &console::launching(plan, load)
}

/// The progress of a load point.
pub(crate) fn mark_text(
    plan: &RunPlan,
    load: LoadPoint,
    at: Timestamp,
    mark: TimelineEntry,
) -> String {
    let last = plan.proc_count_at(load).saturating_sub(1);
    match mark {
        TimelineEntry::InitBegins => console::waiting_for_init(at),
        TimelineEntry::InitEnds => console::init_finished(at),
        TimelineEntry::TestingBegins => console::testing_begins(at),
        TimelineEntry::WarmBegins => console::phase_begins(at, Phase::Warmup),
        TimelineEntry::RunBegins => console::phase_begins(at, Phase::Run),
        TimelineEntry::WarmPercent(n) => console::percent_complete(at, Phase::Warmup, n, last),
        TimelineEntry::RunPercent(n) => console::percent_complete(at, Phase::Run, n, last),
        TimelineEntry::Finished => console::tests_finished(at),
    }
}

pub(crate) fn event_entry(event: &Event) -> Entry {
    let message = format!("{}: {}", one_line(&event.host), one_line(&event.message));
    let text = format!("        {} {message}\n", event.at.classical());
    (event.at, EntryRank::Event, text)
}

pub(crate) fn heartbeat_entry(beat: &Heartbeat) -> Entry {
    // After the progress of the phase, before the next entry.
    let mark = match beat.phase {
        Phase::Warmup => TimelineEntry::WarmPercent(u32::MAX),
        _ => TimelineEntry::RunPercent(u32::MAX),
    };
    (
        beat.at,
        EntryRank::Mark(mark),
        console::last_heartbeat(beat),
    )
}

fn point_result(record: &RunRecord, point: &PointRecord) -> String {
    let mut out = String::new();
    match point.measured() {
        Some(stats) => {
            out.push_str(&console::overall_block(&record.run.plan.benchmark, stats));
            let word = if point.is_valid() {
                "VALID"
            } else {
                "INVALID_RUN"
            };
            let _ = writeln!(out, "    Run is {word}");
            out.extend(point.findings.iter().map(finding_text));
            for (kind, n) in &stats.errors {
                let _ = writeln!(out, "    Errors: {n} x {}", one_line(kind));
            }
        }
        None => {
            let reason = one_line(point.failure().unwrap_or_default());
            let _ = writeln!(out, "    Run FAILED: {reason}");
        }
    }
    out.push('\n');
    out
}

fn finding_text(finding: &Finding) -> String {
    let severity = severity_label(finding.severity);
    format!("    {severity}: {}\n", finding_line(finding))
}

pub(crate) fn script_entry(script: &ScriptRecord) -> Entry {
    let mut text = format!(
        "        {} {} {}: {} ({:.1} s)\n",
        script.at.classical(),
        one_line(&script.script),
        one_line(&script.argument),
        one_line(&script.status.to_string()),
        script.seconds,
    );
    for line in script.output.lines() {
        let _ = writeln!(text, "            | {}", one_line(line));
    }
    (script.at, EntryRank::Script, text)
}

fn tail(out: &mut String, record: &RunRecord) {
    match &record.end {
        Some(end) => {
            let sentence = end.outcome.to_string();
            let sentence = sentence.strip_prefix('t').unwrap_or(&sentence);
            let _ = writeln!(out, "    {} T{sentence}.", end.at.classical());
        }
        None => out.push_str("    The run is still in progress, or its record was cut.\n"),
    }
    out.extend(record.run_findings().map(finding_text));
    let _ = writeln!(out, "    {NOT_A_SPEC_RESULT}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::composite::{composite_record, stream_record};

    /// The lines of sources.md 3.10, in their order, with a readable date.
    #[test]
    fn merging_tools_find_their_lines() {
        let text = sfslog_txt(&stream_record());
        let mut rest = text.lines();
        for run in 1..=2 {
            let date = "Sat Nov 21 ";
            for (start, end) in [
                (
                    format!("<<< {date}"),
                    format!(": Starting VDA run {run} of 2: "),
                ),
                (
                    format!("Waiting to finish initialization. {date}"),
                    String::new(),
                ),
                (date.into(), "Starting WARM phase".into()),
                (date.into(), "Starting RUN phase".into()),
                (date.into(), "Run 90 percent complete".into()),
                (format!("Tests finished: {date}"), String::new()),
            ] {
                let found = |l: &&str| l.trim_start().starts_with(&start) && l.contains(&end);
                let found = rest.by_ref().find(found);
                assert!(found.is_some(), "{start}...{end} of run {run}");
            }
        }
        assert!(text.ends_with(&format!("{NOT_A_SPEC_RESULT}\n")));
    }

    #[test]
    fn failures_scripts_and_findings_are_in_it() {
        let text = sfslog_txt(&composite_record());
        for part in [
            "netmist_power.sh Baseline: there is no such file (0.1 s)",
            "            | counters",
            "Run is INVALID_RUN\n    invalid: ",
            "Run FAILED: INIT on node2: ",
            "note: the transfer sizes of this definition",
            "Run Heartbeat Client 9: ",
            "The run is complete.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_run_in_progress_has_the_results_so_far() {
        let mut record = composite_record();
        record.end = None;
        record.points.truncate(1);
        record.phases.truncate(4);
        let text = sfslog_txt(&record);
        assert_eq!(text.matches("<<< ").count(), 2);
        assert_eq!(text.matches("Overall Ops/sec").count(), 1);
        assert!(text.contains("still in progress"));
    }
}

//! Files of sFlow: output of sflowtool, and captures of datagrams.

use super::batch::SampleBatcher;
use super::report::{Events, event};
use super::{Ids, ImportError, ImportReport, Options, Sink};
use crate::log::{EventKind, LogLine, SourceKind};
use crate::sflow::capture::{self, Packets};
use crate::sflow::sflowtool::{Lines, Row, SflowtoolReader};
use crate::sflow::{
    Admission, Collector, DatagramProblems, PORT, PortCounts, PortOptions, TrafficSample,
};
use filermark_results::Timestamp;
use std::io::{BufRead, Read};
use std::path::Path;

/// Reads the output of sflowtool, as CSV with times or as JSON: a source, its interfaces,
/// their traffic, and the problems.
///
/// # Errors
/// It cannot be read; its rows have no times, or local ones and no zone was given; it has
/// no two readings of an interface; or the log cannot be written. `sink` has got an
/// incomplete source then.
pub fn sflowtool(
    path: &Path,
    reader: impl BufRead,
    options: &Options,
    ids: &mut Ids,
    sink: &mut Sink<'_>,
) -> Result<ImportReport, ImportError> {
    let source = begin(path, options, ids, sink)?;
    let mut collector = Collector::new(PortOptions::default());
    let mut batches = SampleBatcher::new(path, source, ids, sink);
    let mut text = SflowtoolReader::new(options.zone.clone());
    let mut head: Option<Timestamp> = None;
    let (mut counters, mut without_time) = (0_u64, 0_u64);
    let mut take = |row: Row| {
        let at = match &row {
            Row::Head { at, .. } => {
                head = Some(*at);
                *at
            }
            Row::Counters { at, .. } => {
                counters += 1;
                match at.or(head) {
                    Some(at) => at,
                    None => {
                        without_time += 1;
                        return;
                    }
                }
            }
            Row::Packet => return,
        };
        collector.row(at, &row, &mut |sample| batches.take(sample));
    };
    text.text(reader, &mut take)
        .map_err(|e| ImportError::io(path, e))?;
    let lines = text.lines();
    refuse_times(path, lines, counters, without_time)?;
    let bad = lines.bad;
    let first_bad = lines
        .first_bad
        .clone()
        .map(|(line, begin)| (line, format!("not a row of sflowtool: {}", clean(&begin))));
    let what = FileRead {
        form: "sflowtool",
        unit: "rows",
        good: lines.rows,
        bad,
        first_bad,
        notes: Vec::new(),
    };
    end(path, source, batches, &collector, what)
}

/// Rows without a known time end the import: their times would be made up.
fn refuse_times(
    path: &Path,
    lines: &Lines,
    counters: u64,
    without_time: u64,
) -> Result<(), ImportError> {
    if without_time > 0 {
        return Err(ImportError::file(
            path,
            format!(
                "{without_time} of {counters} rows of counters have no time; print them with sflowtool -J, or with times (sflowtool -L of the training), or import the capture (--pcap)"
            ),
        ));
    }
    if lines.no_zone > 0 {
        return Err(ImportError::file(
            path,
            format!(
                "the times of {} rows have no offset; give their time zone: --zone Europe/Berlin, --zone UTC",
                lines.no_zone
            ),
        ));
    }
    Ok(())
}

/// Reads a capture of sFlow's datagrams, pcap or pcapng: a source, its interfaces, their
/// traffic, and the problems.
///
/// # Errors
/// It is not a capture or damaged; it has no two readings of an interface; or the log cannot
/// be written. `sink` has got an incomplete source then.
pub fn pcap(
    path: &Path,
    reader: impl Read + Send,
    options: &Options,
    ids: &mut Ids,
    sink: &mut Sink<'_>,
) -> Result<ImportReport, ImportError> {
    let source = begin(path, options, ids, sink)?;
    let mut collector = Collector::new(PortOptions::default());
    let mut batches = SampleBatcher::new(path, source, ids, sink);
    let mut packets = Packets::default();
    let mut good = 0;
    let read = capture::read(reader, PORT, &mut packets, &mut |at, from, bytes| {
        let mut take = |sample: TrafficSample| batches.take(sample);
        let admitted = collector.datagram(at, from, bytes, &mut take);
        good += u64::from(admitted.is_ok_and(|a| a != Admission::No));
    });
    let mut notes = Vec::new();
    if let Err(error) = read {
        if packets.datagrams == 0 {
            return Err(ImportError::file(path, error.to_string()));
        }
        notes.push(format!("{error}; what came before was read"));
    }
    if packets.ends_early {
        notes.push("the capture was not closed: its last packet is cut".into());
    }
    for (count, what) in [
        (
            packets.cut,
            "packets captured in part only (snapshot length)",
        ),
        (
            packets.fragments,
            "packets that are fragments, which are not put together",
        ),
        (
            packets.unknown,
            "packets without a time, or with a link layer that is not known",
        ),
    ] {
        if count > 0 {
            notes.push(format!("{what}: {count}"));
        }
    }
    let problems = collector.problems();
    let what = FileRead {
        form: "capture",
        unit: "datagrams",
        good,
        bad: problems.unreadable,
        first_bad: problems
            .first
            .filter(|_| problems.unreadable > 0)
            .map(|error| (0, error.to_string())),
        notes,
    };
    end(path, source, batches, &collector, what)
}

/// The contents of a file of any form.
struct FileRead {
    form: &'static str,
    unit: &'static str,
    good: u64,
    bad: u64,
    first_bad: Option<(u64, String)>,
    notes: Vec<String>,
}

fn begin(
    path: &Path,
    options: &Options,
    ids: &mut Ids,
    sink: &mut Sink<'_>,
) -> Result<u32, ImportError> {
    let source = super::file_source(path, SourceKind::Sflow, options, ids);
    let id = source.id;
    sink(LogLine::Source(source))?;
    Ok(id)
}

fn end(
    path: &Path,
    source: u32,
    mut batches: SampleBatcher<'_, '_>,
    collector: &Collector,
    what: FileRead,
) -> Result<ImportReport, ImportError> {
    batches.finish();
    let shown = path.display();
    let (first, last, back) = (batches.first, batches.last, batches.back);
    let mut notes = what.notes;
    let counts = collector.ports.counts();
    let mut events = Vec::new();
    if let Some(last) = last {
        let mut at_end = Events::new(source, last);
        if let Some((line, reason)) = &what.first_bad {
            let place = match line {
                0 => shown.to_string(),
                line => format!("{shown}:{line}"),
            };
            let message = format!(
                "{} that could not be read: {}; the first at {place}: {reason}",
                what.unit, what.bad
            );
            at_end.add(EventKind::Invalid, message);
        }
        report_counts(&mut at_end, counts, collector.problems());
        at_end.count(
            EventKind::ClockJump,
            back,
            "samples dropped since they are earlier than those already taken",
        );
        events = at_end.lines;
        let sentence = |line: &LogLine| match line {
            LogLine::Event(event) => Some(event.message.clone()),
            _ => None,
        };
        // The first is in the report's own fields.
        let skipped = usize::from(what.first_bad.is_some());
        let file_notes = notes.clone();
        notes.extend(events.iter().skip(skipped).filter_map(sentence));
        for note in file_notes {
            let message = format!("{shown}: {note}");
            events.push(event(source, last, EventKind::Note, message));
        }
    }
    if !batches.has_failed() {
        events.into_iter().for_each(|line| batches.other(line));
    }
    let ports = batches.end()?;
    if first.is_none() {
        return Err(nothing(path, what.form, what.good, counts, what.first_bad));
    }
    Ok(ImportReport {
        path: path.into(),
        form: what.form.into(),
        source,
        columns: Vec::new(),
        good: what.good,
        bad: what.bad,
        first_bad: what.first_bad,
        back,
        same_time: 0,
        first,
        last,
        ports,
        notes,
    })
}

/// Why there is no sample, and what to check.
fn nothing(
    path: &Path,
    form: &str,
    good: u64,
    counts: PortCounts,
    first_bad: Option<(u64, String)>,
) -> ImportError {
    let mut reason = format!(
        "no traffic in this {form} file: traffic lies between two readings of an interface's counters, and there are {} readings in {good} rows or datagrams",
        counts.readings
    );
    if let Some((line, bad)) = first_bad {
        reason.push_str(&format!(
            "; the first that could not be read, line {line}: {bad}"
        ));
    }
    ImportError::file(path, reason)
}

/// The counts of datagrams and counters, as events.
fn report_counts(events: &mut Events, counts: PortCounts, problems: DatagramProblems) {
    use EventKind::{ClockJump, Gap, Invalid, Note, Restart};
    for (what, count, sentence) in [
        (Gap, counts.lost, "datagrams lost on the way"),
        (Note, counts.late, "datagrams that came late"),
        (
            Note,
            counts.duplicates,
            "datagrams received twice, or too late to be used",
        ),
        (Restart, counts.restarts, "restarts of agents"),
        (
            Restart,
            counts.resets,
            "intervals without traffic since counters were reset",
        ),
        (
            Gap,
            counts.too_long,
            "intervals without traffic since they are longer than 10 minutes",
        ),
        (
            Note,
            counts.stale,
            "readings of counters older than one already taken",
        ),
        (
            Note,
            counts.no_time,
            "readings of counters with the time of the one before (their traffic is in the next)",
        ),
        (
            ClockJump,
            counts.clock_back,
            "intervals without traffic since the time went back",
        ),
        (
            ClockJump,
            counts.clocks_differ,
            "intervals of another length by the agent's clock",
        ),
        (
            Invalid,
            counts.agents_dropped,
            "agents dropped since there were too many",
        ),
        (
            Invalid,
            counts.interfaces_dropped,
            "interfaces dropped since there were too many",
        ),
        (
            Invalid,
            problems.broken,
            "samples or records in datagrams that could not be read",
        ),
        (Note, problems.skipped, "samples of kinds that are not used"),
    ] {
        events.count(what, count, sentence);
    }
}

fn clean(text: &str) -> String {
    filermark_results::text::one_line(text)
}

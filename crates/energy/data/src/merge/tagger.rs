//! Reads logs, tags their samples, writes one log.

use super::declared::{DeclaredIds, NextIds};
use super::timeline::{Timeline, end_of};
use crate::log::{
    EventKind, Head, Instrument, Lab, Log, LogEvent, LogLine, LogWriter, MergedRun, PortSample,
    ReadError, Readings, Source, Tag, Traffic, WriteError,
};
use filermark_results::Timestamp;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

/// Samples up to this many seconds before the first run are kept: the programme's ready idle
/// interval is two hours (sources.md 4.2).
const KEPT_BEFORE_S: f64 = 2.25 * 3600.0;
/// Samples up to this many seconds after the last run are kept.
const KEPT_AFTER_S: f64 = 600.0;

/// The user's options.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// Takes precedence over the lab of the logs, field by field.
    pub lab: Lab,
    /// Instruments of sources by name; they take precedence over those of the logs.
    pub instruments: BTreeMap<String, Instrument>,
    /// Seconds to add to the times of all logs, in addition to their own offsets.
    pub shift_s: f64,
    /// Hosts whose clock is the prime's, or was compared with it. A log of another host whose
    /// clock was not measured has no known bound. `None`: all hosts.
    pub prime_hosts: Option<Vec<String>>,
}

/// The result of merging.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// Lines of readings, and samples of traffic, that were tagged.
    pub tagged: u64,
    /// Those of them in RUN or its tail.
    pub in_run: u64,
    /// Samples long before the first run or after the last: left out.
    pub outside: u64,
    /// Samples after an interruption of a run, up to its next load point: left out.
    pub cut_off: u64,
    /// First and last time of all samples that were read.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Numbers of runs at the same time.
    pub overlaps: Vec<(u32, u32)>,
    /// Logs whose last line was cut, in words.
    pub cut: Vec<String>,
}

/// Why nothing was merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The merged log cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Logs have different values for the lab.
    #[error("{0}")]
    Lab(String),
}

/// Merges logs with runs into `out`, whose last line is written too.
///
/// # Errors
/// A log cannot be read, or the merged one not be written.
pub fn merge<R: BufRead, W: Write>(
    head: Head,
    runs: &[MergedRun],
    logs: Vec<Log<R>>,
    options: &MergeOptions,
    out: LogWriter<W>,
) -> Result<(Merged, W), MergeError> {
    let mut tagger = Tagger {
        timeline: Timeline::new(runs),
        kept: kept(runs),
        shift_s: options.shift_s,
        instruments: options.instruments.clone(),
        numbers: NextIds::default(),
        merged: Merged::default(),
        out,
    };
    let mut logs = logs;
    let hosts = tagger.begin(head, runs, &mut logs, &options.lab)?;
    for (log, host) in logs.into_iter().zip(hosts) {
        let known = options.prime_hosts.as_ref();
        let is_other = known.is_some_and(|known| !known.contains(&host));
        tagger.log(log, is_other.then_some(host.as_str()))?;
    }
    tagger.merged.overlaps = tagger.timeline.overlaps().to_vec();
    let output = tagger.out.end(Timestamp::now())?;
    Ok((tagger.merged, output))
}

struct Tagger<W: Write> {
    timeline: Timeline,
    kept: Option<(Timestamp, Timestamp)>,
    shift_s: f64,
    instruments: BTreeMap<String, Instrument>,
    numbers: NextIds,
    merged: Merged,
    out: LogWriter<W>,
}

fn kept(runs: &[MergedRun]) -> Option<(Timestamp, Timestamp)> {
    let first = runs.iter().map(|run| run.began).min()?;
    let last = runs.iter().map(end_of).max()?;
    Some((
        first.plus_seconds(-KEPT_BEFORE_S),
        last.plus_seconds(KEPT_AFTER_S),
    ))
}

impl<W: Write> Tagger<W> {
    /// Writes the first lines, with the lab of the heads of all logs. Returns the hosts on
    /// which the logs were written.
    fn begin<R: BufRead>(
        &mut self,
        mut head: Head,
        runs: &[MergedRun],
        logs: &mut [Log<R>],
        lab: &Lab,
    ) -> Result<Vec<String>, MergeError> {
        let mut labs = Vec::new();
        let mut hosts = Vec::new();
        for log in logs {
            if let Some(LogLine::Energy(its)) = log.next_line()? {
                labs.push(its.lab);
                hosts.push(its.host);
            }
        }
        head.lab = one_lab(lab, &labs)?;
        self.out.line(&LogLine::Energy(Box::new(head)))?;
        for run in runs {
            self.out.line(&LogLine::Run(Box::new(run.clone())))?;
        }
        Ok(hosts)
    }

    /// `other_host`: the host on which the log was written, if its clock is not the prime's.
    fn log<R: BufRead>(
        &mut self,
        mut log: Log<R>,
        other_host: Option<&str>,
    ) -> Result<(), MergeError> {
        let mut declared = DeclaredIds::default();
        let mut whole = false;
        while let Some(line) = log.next_line()? {
            whole = matches!(line, LogLine::End(_));
            self.line(line, &mut declared, other_host)?;
        }
        let path = log.path().display();
        let sentence = match (log.cut(), whole) {
            (Some(line), _) => format!("{path}:{line}: the last line was cut and is left out"),
            (None, false) => format!(
                "{path}: it has no last line: the collection was interrupted, or still runs"
            ),
            (None, true) => return Ok(()),
        };
        let at = self.merged.span.map_or_else(Timestamp::now, |span| span.1);
        self.out.line(&LogLine::Event(LogEvent {
            at,
            source: None,
            what: EventKind::Invalid,
            message: sentence.clone(),
        }))?;
        self.merged.cut.push(sentence);
        Ok(())
    }

    fn line(
        &mut self,
        line: LogLine,
        declared: &mut DeclaredIds,
        other_host: Option<&str>,
    ) -> Result<(), MergeError> {
        match line {
            LogLine::Source(source) => {
                let mut source = declared.source(source, self.shift_s, &mut self.numbers);
                reset_clock_offset(&mut source, other_host);
                if let Some(given) = self.instruments.get(&source.name) {
                    source.instrument = Box::new(given.clone().or(*source.instrument));
                }
                self.out.line(&LogLine::Source(source))?;
            }
            LogLine::Port(port) => {
                let port = declared.port(port, &mut self.numbers);
                self.out.line(&LogLine::Port(port))?;
            }
            LogLine::Event(mut event) => {
                if let Some(id) = event.source {
                    let (source, seconds) = declared.source_of(id);
                    event.source = Some(source);
                    event.at = event.at.plus_seconds(seconds);
                } else {
                    event.at = event.at.plus_seconds(self.shift_s);
                }
                self.out.line(&LogLine::Event(event))?;
            }
            LogLine::Readings(readings) => self.readings(readings, declared)?,
            LogLine::Traffic(traffic) => self.traffic(traffic, declared)?,
            // A merged log is tagged again.
            LogLine::Energy(_) | LogLine::Run(_) | LogLine::End(_) => {}
        }
        Ok(())
    }

    fn readings(
        &mut self,
        mut readings: Readings,
        declared: &DeclaredIds,
    ) -> Result<(), MergeError> {
        let (source, seconds) = declared.source_of(readings.source);
        readings.source = source;
        readings.at = readings.at.plus_seconds(seconds);
        self.extend_span(readings.at);
        readings.tag = self.tag(readings.at, 1);
        if readings.tag.is_some() {
            self.out.line(&LogLine::Readings(readings))?;
        }
        Ok(())
    }

    /// A line for every stretch of samples with one tag. The interval of a sample excludes its
    /// end: a sample that ends with RUN belongs to RUN.
    fn traffic(&mut self, mut traffic: Traffic, declared: &DeclaredIds) -> Result<(), MergeError> {
        let (source, seconds) = declared.source_of(traffic.source);
        let base = traffic.at.plus_seconds(seconds);
        let end = |sample: &PortSample| base.plus_seconds(sample.after_us as f64 / 1e6);
        let last = |sample: &PortSample| end(sample).plus_seconds(-1e-6);
        for sample in &mut traffic.samples {
            sample.port = declared.port_of(sample.port);
        }
        let mut rest = &traffic.samples[..];
        while let Some(first) = rest.first() {
            let begin = last(first);
            let until = self.timeline.next_change(begin);
            let same = |sample: &PortSample| {
                let at = last(sample);
                at >= begin && until.is_none_or(|until| at < until)
            };
            let len = rest.iter().take_while(|sample| same(sample)).count();
            // A sample that goes back in time begins a stretch of its own.
            let (stretch, after) = rest.split_at(len.max(1));
            rest = after;
            let tag = self.tag(begin, stretch.len() as u64);
            for sample in stretch.first().into_iter().chain(stretch.last()) {
                self.extend_span(end(sample));
            }
            if tag.is_some() {
                self.out.line(&LogLine::Traffic(Traffic {
                    source,
                    at: base,
                    tag,
                    samples: stretch.to_vec(),
                }))?;
            }
        }
        Ok(())
    }

    /// The tag of `count` samples from `at` on, which are counted; `None`: they are left out.
    fn tag(&mut self, at: Timestamp, count: u64) -> Option<Tag> {
        let kept = self.kept.is_some_and(|(from, to)| at >= from && at <= to);
        let tag = self.timeline.at(at).filter(|_| kept);
        match tag {
            None if kept && self.timeline.is_cut(at) => self.merged.cut_off += count,
            None => self.merged.outside += count,
            Some(tag) => {
                use crate::log::EnergyPhase::{Run, RunTail};
                self.merged.tagged += count;
                if matches!(tag.phase, Run | RunTail) {
                    self.merged.in_run += count;
                }
            }
        }
        tag
    }

    fn extend_span(&mut self, at: Timestamp) {
        let (first, last) = self.merged.span.unwrap_or((at, at));
        self.merged.span = Some((first.min(at), last.max(at)));
    }
}

/// Removes the bound of another host's clock unless an offset from the prime's was measured.
fn reset_clock_offset(source: &mut Source, host: Option<&str>) {
    let Some(host) = host else { return };
    let measured = source.clock.added_s.is_some_and(|seconds| seconds != 0.0);
    if source.clock.bound_s.is_some() && !measured {
        source.clock.bound_s = None;
        source.clock.how = format!(
            "read on {host}, whose clock was not compared with the prime's ({})",
            source.clock.how
        );
    }
}

/// The user's values take precedence; those of the logs are joined, and must not differ.
fn one_lab(given: &Lab, logs: &[Lab]) -> Result<Lab, MergeError> {
    let mut lab = given.clone();
    for its in logs {
        lab.fill(its);
    }
    for its in logs {
        let differ =
            |name: &str, option: &str, one: Option<f64>, other: Option<f64>| match one.zip(other) {
                Some((one, other)) if one != other => Err(MergeError::Lab(format!(
                    "the logs do not agree on {name}: {one} and {other}; choose with {option}"
                ))),
                _ => Ok(()),
            };
        if given.drives.is_none() {
            let (one, other) = (lab.drives.map(f64::from), its.drives.map(f64::from));
            differ("drives", "--drives", one, other)?;
        }
        if given.raw_capacity_gb.is_none() {
            let (one, other) = (lab.raw_capacity_gb, its.raw_capacity_gb);
            differ("the raw capacity", "--raw-capacity", one, other)?;
        }
        if given.nominal_voltage_v.is_none() {
            let (one, other) = (lab.nominal_voltage_v, its.nominal_voltage_v);
            differ("the nominal voltage", "--nominal-voltage", one, other)?;
        }
        let texts = its.texts().into_iter().zip(lab.texts());
        for ((name, _, own), ((_, _, its), (_, _, one))) in given.texts().into_iter().zip(texts) {
            if let (None, Some(its), Some(one)) = (own, its, one)
                && its != one
            {
                return Err(MergeError::Lab(format!(
                    "the logs do not agree on {name}: \"{one}\" and \"{its}\"; choose in a setup (--energy FILE)"
                )));
            }
        }
        if given.ports.is_empty() {
            let missing = its.ports.iter().filter(|port| !lab.ports.contains(port));
            let missing: Vec<String> = missing.cloned().collect();
            lab.ports.extend(missing);
        }
    }
    Ok(lab)
}

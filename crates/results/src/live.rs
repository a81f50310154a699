//! Logs that grow during a run, for `tail -f`: `sfslog`, the progress of every
//! proc (`netmist_C`), and the heartbeats (`-q`).
//!
//! Each event becomes an entry of the files that show it, in the text that the files of a
//! whole record have; only new entries are rendered and written. When a load point has
//! ended, the files are written from the record ([`crate::final_logs`]).

use crate::files::{FilesError, proc_log_dir, remove_grown_logs, suffix_is_plain};
use crate::live_file::LiveFile;
use crate::outputs::{HEARTBEATS, PROC_PROGRESS, SFSLOG_TXT};
use crate::proc_logs::ProcTexts;
use crate::record::{Line, Phase, PhaseRecord, RunRecord};
use crate::sfslog_txt::{self, EntryRank};
use crate::time::Timestamp;
use crate::timeline::{TimelineEntry, marks};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::plan::LoadPoint;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Entries of `sfslog` that may still change their order.
const KEEP_LOG: usize = 256;
/// The same for the log of a proc.
const KEEP_PROC: usize = 16;

/// What happens in a run.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// A load point begins.
    Point(u32, Timestamp),
    /// A phase begins, or another tenth of it is over.
    Phase(OpenPhase),
    /// A line of the record, of any kind but a load point's.
    Line(Box<Line>),
}

/// A phase in progress.
#[derive(Clone, Debug)]
pub struct OpenPhase {
    /// The load point it belongs to, from 1; 0: to the run as a whole.
    pub point: u32,
    /// Which phase.
    pub phase: Phase,
    /// When it began.
    pub began: Timestamp,
    /// The same instant on the monotonic clock.
    pub since: Instant,
    /// As in [`PhaseRecord::percents`].
    pub percents: Vec<Timestamp>,
}

/// The paths of the logs of a run.
#[derive(Clone, Debug)]
pub struct LogPaths {
    /// Directory of the results.
    pub dir: PathBuf,
    /// Directory of the procs' logs (`-U`, NETMIST_LOGS).
    pub log_dir: PathBuf,
    /// A further log of the heartbeats (`-q`).
    pub heartbeat_log: Option<PathBuf>,
}

impl LogPaths {
    /// The logs of all heartbeats.
    pub(crate) fn heartbeat_logs(&self, suffix: &str) -> impl Iterator<Item = PathBuf> {
        let standard = self.dir.join(HEARTBEATS.name(suffix));
        std::iter::once(standard).chain(self.heartbeat_log.clone())
    }
}

/// The key that orders the entries of a proc's log.
type ProcEntryPosition = (Timestamp, Option<TimelineEntry>);

/// The logs of one run.
#[derive(Debug)]
pub struct LiveLogs {
    /// The plan, the hosts, and the phases of the load point in progress.
    record: RunRecord,
    point: Option<LoadPoint>,
    open: Option<OpenPhase>,
    /// The marks of the current load point that the logs have.
    marks: BTreeMap<TimelineEntry, Timestamp>,
    /// The load point of the last heartbeat.
    heartbeats_of_point: u32,
    /// Between two load points, and before the first one: nothing is written.
    is_paused: bool,
    texts: ProcTexts,
    log: LiveFile<Option<(Timestamp, EntryRank)>>,
    heartbeats: Vec<LiveFile<()>>,
    procs: Vec<LiveFile<Option<ProcEntryPosition>>>,
}

impl LiveLogs {
    /// The logs of a run whose record has these first lines. If it has load points, the
    /// files are rendered from it; otherwise files of an earlier run are removed.
    ///
    /// # Errors
    /// The suffix cannot be part of a file name, or a file cannot be written.
    pub fn new(mut record: RunRecord, places: &LogPaths) -> Result<Self, FilesError> {
        let suffix = record.run.suffix.clone();
        if !suffix_is_plain(&suffix) {
            return Err(FilesError::Suffix(suffix));
        }
        let procs = places.log_dir.join(proc_log_dir(&suffix));
        std::fs::create_dir_all(&procs).map_err(|source| FilesError::Io {
            path: procs.clone(),
            source,
        })?;
        let count = record.run.plan.procs.len() as u32;
        let of_proc = |n| procs.join(PROC_PROGRESS.base_numbered(&suffix, n, ""));
        let has_beats = record.run.plan.heartbeat.is_some();
        let heartbeats = places.heartbeat_logs(&suffix).filter(|_| has_beats);
        let mut logs = Self {
            point: None,
            open: None,
            marks: BTreeMap::new(),
            heartbeats_of_point: record.heartbeats.last().map_or(0, |beat| beat.point),
            is_paused: true,
            texts: ProcTexts::of(&record.run.plan),
            log: LiveFile::new(places.dir.join(SFSLOG_TXT.name(&suffix)), KEEP_LOG),
            heartbeats: heartbeats.map(|path| LiveFile::new(path, 0)).collect(),
            procs: (0..count)
                .map(|n| LiveFile::new(of_proc(n), KEEP_PROC))
                .collect(),
            record: RunRecord::new(record.run.clone()),
        };
        logs.record.environments = std::mem::take(&mut record.environments);
        if record.points.is_empty() {
            remove_grown_logs(&places.dir, &procs, &suffix)?;
            logs.begin(record)?;
        }
        Ok(logs)
    }

    /// For a record without load points.
    fn begin(&mut self, record: RunRecord) -> Result<(), FilesError> {
        self.log.empty()?;
        self.heartbeats.iter_mut().try_for_each(LiveFile::empty)?;
        self.procs.iter_mut().try_for_each(LiveFile::empty)?;
        self.log.add(None, sfslog_txt::banner(&self.record));
        let events = record.events.into_iter().map(Line::Event);
        let scripts = record.scripts.into_iter().map(Line::Script);
        events.chain(scripts).for_each(|line| self.line(line));
        Ok(())
    }

    /// Adds an event; [`write`](Self::write) writes it.
    pub fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Point(number, began) => self.begin_point(number, began),
            RunEvent::Phase(open) => {
                self.open = Some(open);
                self.write_marks();
            }
            RunEvent::Line(line) => self.line(*line),
        }
    }

    fn begin_point(&mut self, number: u32, began: Timestamp) {
        self.log.go_on();
        self.heartbeats.iter_mut().for_each(LiveFile::go_on);
        self.procs.iter_mut().for_each(LiveFile::go_on);
        self.record.phases.clear();
        self.marks.clear();
        self.is_paused = false;
        let mut points = self.record.run.plan.points.iter();
        self.point = points.find(|load| load.number == number).copied();
        if let Some(load) = self.point {
            let head = sfslog_txt::point_head(&self.record, load, began);
            self.log.add(Some((began, EntryRank::PointHead)), head);
        }
    }

    fn line(&mut self, line: Line) {
        match line {
            Line::Environment(host) => self.record.environments.push(host),
            Line::Phase(phase) => {
                self.open = None;
                self.record.phases.push(phase);
                self.write_marks();
            }
            Line::Event(event) => {
                let (at, rank, text) = sfslog_txt::event_entry(&event);
                self.log.add(Some((at, rank)), text);
            }
            Line::Script(script) => {
                let (at, rank, text) = sfslog_txt::script_entry(&script);
                self.log.add(Some((at, rank)), text);
            }
            Line::Heartbeat(beat) => self.write_heartbeat(&beat),
            Line::Run(_) | Line::Search(_) | Line::Found(_) | Line::Point(_) | Line::End(_) => {}
        }
    }

    fn write_heartbeat(&mut self, beat: &crate::Heartbeat) {
        let (at, rank, text) = sfslog_txt::heartbeat_entry(beat);
        self.log.add(Some((at, rank)), text);
        let mut text = String::new();
        crate::proc_logs::add_heartbeat(&mut text, beat, &mut self.heartbeats_of_point);
        for file in &mut self.heartbeats {
            file.add((), text.clone());
        }
        if self.point.is_some_and(|load| load.number == beat.point) {
            let front = ProcTexts::heartbeat_prefix(beat);
            for (file, ops) in self.procs.iter_mut().zip(&beat.ops_per_sec) {
                file.add(
                    Some((beat.at, None)),
                    ProcTexts::heartbeat_line(&front, *ops),
                );
            }
        }
    }

    /// The marks of the phases that the logs do not have yet.
    fn write_marks(&mut self) {
        let Some(load) = self.point.filter(|_| !self.is_paused) else {
            return;
        };
        let phases = &self.record.run.plan.phases;
        let until_steady = phases.warmup_until_steady;
        let closed = self.record.phases.len();
        self.record.phases.extend(self.open.as_ref().map(unended));
        let mut found = marks(&self.record, load.number);
        self.record.phases.truncate(closed);
        let is_open = |phase| self.open.as_ref().is_some_and(|open| open.phase == phase);
        // Tenths are not known while the length is unknown.
        if until_steady && is_open(Phase::Warmup) {
            found.retain(|(_, mark)| !matches!(mark, TimelineEntry::WarmPercent(_)));
        }
        let procs = self.record.run.plan.proc_count_at(load) as usize;
        if self.marks.is_empty() && !found.is_empty() {
            for (number, file) in (0..).zip(&mut self.procs[..procs]) {
                file.add(None, self.texts.head(&self.record.run.plan, number));
            }
        }
        for (at, mark) in found {
            let before = self.marks.insert(mark, at);
            if before != Some(at) {
                self.write_mark(load, procs, (at, mark), before);
            }
        }
    }

    fn write_mark(
        &mut self,
        load: LoadPoint,
        procs: usize,
        (at, mark): (Timestamp, TimelineEntry),
        before: Option<Timestamp>,
    ) {
        if let Some(before) = before {
            self.log.remove(&Some((before, EntryRank::Mark(mark))));
        }
        let text = sfslog_txt::mark_text(&self.record.run.plan, load, at, mark);
        self.log.add(Some((at, EntryRank::Mark(mark))), text);
        for (number, file) in (0..).zip(&mut self.procs[..procs]) {
            if let Some(before) = before {
                file.remove(&Some((before, Some(mark))));
            }
            let plan = &self.record.run.plan;
            if let Some(text) = self.texts.mark(plan, number, at, mark) {
                file.add(Some((at, Some(mark))), text);
            }
        }
    }

    /// A load point has ended, and its files are rendered from the record. Events until the
    /// next load point are written with that one.
    pub fn pause(&mut self) {
        if self.point.is_none() {
            return;
        }
        self.is_paused = true;
        self.log.pass_on();
        self.heartbeats.iter_mut().for_each(LiveFile::pass_on);
        self.procs.iter_mut().for_each(LiveFile::pass_on);
    }

    /// Writes the new entries.
    ///
    /// # Errors
    /// A file cannot be written; the other files are written nevertheless.
    pub fn write(&mut self) -> Result<(), FilesError> {
        if self.is_paused {
            return Ok(());
        }
        let mut result = self.log.write();
        for file in &mut self.heartbeats {
            result = result.and(file.write());
        }
        for file in &mut self.procs {
            result = result.and(file.write());
        }
        result
    }

    /// The run has ended.
    ///
    /// # Errors
    /// The reader of a pipe (`-q`) has not read all of it.
    pub fn finish(&mut self) -> Result<(), FilesError> {
        let mut heartbeats = self.heartbeats.iter_mut();
        let last = format!("{NOT_A_SPEC_RESULT}\n");
        heartbeats.try_for_each(|file| file.finish(&last))
    }
}

/// A phase in progress as a record of a phase, as far as it is known.
fn unended(open: &OpenPhase) -> PhaseRecord {
    PhaseRecord {
        point: open.point,
        phase: open.phase,
        began: open.began,
        ended: Timestamp::now(),
        seconds: open.since.elapsed().as_secs_f64(),
        detail: String::new(),
        failure: Some("it has not ended".into()),
        space: None,
        percents: open.percents.clone(),
    }
}

#[cfg(test)]
mod tests;

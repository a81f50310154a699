//! Tables of power meters, thermometers and hygrometers.

use super::dates::{DateOrder, PossibleOrders};
use super::layout::{self, Layout};
use super::report::{Events, event};
use super::row::{Row, Rows};
use super::text::{LINE_LEN_MAX, Lines, cells};
use super::{Ids, ImportError, ImportReport, Options, Sink, Table};
use crate::digits::Digits;
use crate::log::{EventKind, LogLine, Readings, Source};
use crate::reading::Quantity;
use csv::StringRecord;
use filermark_results::Timestamp;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Lines within which the header must be.
const HEADER_LINES_MAX: usize = 60;
/// Readings from which the interval between samples is computed.
const INTERVAL_READINGS: usize = 64;
/// Events of one kind in the middle of a file; what follows is only counted.
const EVENTS_MAX: u64 = 100;

/// Reads a table to its end: a source, its readings, and what was wrong.
///
/// `path` is only used in messages and as the source's name. The file is read twice if its
/// dates do not begin with the year.
///
/// # Errors
/// It cannot be read; its header is not found or several columns could be the power; its
/// times have no zone, or the order of day and month is ambiguous; no row can be used; or the
/// log cannot be written. `sink` has got an incomplete source then.
pub fn power_csv<R: Read + Seek>(
    path: &Path,
    table: Table,
    mut reader: R,
    options: &Options,
    ids: &mut Ids,
    sink: &mut Sink<'_>,
) -> Result<ImportReport, ImportError> {
    let io = |e| ImportError::io(path, e);
    let layout = {
        let first = first_lines(&mut reader).map_err(io)?;
        layout::find(&first, table, &options.columns)
            .map_err(|(line, reason)| ImportError::line(path, line, reason))?
    };
    let mut notes = layout.notes.clone();
    reader.seek(SeekFrom::Start(0)).map_err(io)?;
    let order = order(path, &mut reader, &layout, options, &mut notes)?;
    reader.seek(SeekFrom::Start(0)).map_err(io)?;
    let source = super::file_source(path, table.source(), options, ids);
    let report = ImportReport {
        path: path.into(),
        form: layout.form.name().into(),
        source: source.id,
        columns: layout.columns(),
        notes,
        ..ImportReport::default()
    };
    let import = TableImport {
        path,
        layout: &layout,
        out: DelayedOutput::new(source, sink),
        report,
        going_back: false,
        offs: 0,
        missing: BTreeMap::new(),
    };
    import.all(&mut reader, order, options)
}

fn first_lines(reader: impl Read) -> std::io::Result<Vec<(u64, String)>> {
    let mut lines = Lines::new(reader);
    let mut first = Vec::new();
    while first.len() < HEADER_LINES_MAX && lines.next()? {
        first.push((lines.number, lines.line.clone()));
    }
    Ok(first)
}

/// The order of the parts of dates: that of the user, that of the first unambiguous date, or
/// that of the known form.
fn order(
    path: &Path,
    reader: impl Read,
    layout: &Layout,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<DateOrder, ImportError> {
    if let Some(order) = options.columns.order {
        return Ok(order);
    }
    let mut lines = Lines::new(reader);
    let mut row = StringRecord::new();
    let mut ambiguous = None;
    while lines.next().map_err(|e| ImportError::io(path, e))? {
        if lines.number <= layout.header_line {
            continue;
        }
        cells(&lines.line, layout.separator, &mut row);
        match layout.fit(&row) {
            PossibleOrders::Only(order) => return Ok(order),
            PossibleOrders::Ambiguous => {
                ambiguous.get_or_insert((lines.number, row.clone()));
            }
            PossibleOrders::Same | PossibleOrders::None => {}
        }
    }
    match (ambiguous, layout.form.order()) {
        (None, order) => Ok(order.unwrap_or(DateOrder::Mdy)),
        (Some((line, _)), Some(order)) => {
            notes.push(format!(
                "line {line}: dates were read as {}, the usual order of such tables; if that is wrong: --columns order=dmy",
                order.word()
            ));
            Ok(order)
        }
        (Some((line, _)), None) => Err(ImportError::line(
            path,
            line,
            "day and month are ambiguous in every date of the file; give their order: --columns order=dmy, order=mdy, or order=ymd",
        )),
    }
}

/// Holds lines back until the interval between samples is known: the source line has it.
struct DelayedOutput<'a, 'b> {
    source: Option<Source>,
    held: Vec<LogLine>,
    /// How fine the figures are, of the rows read so far.
    digits: BTreeMap<Quantity, Digits>,
    sink: &'a mut Sink<'b>,
}

impl<'a, 'b> DelayedOutput<'a, 'b> {
    fn new(source: Source, sink: &'a mut Sink<'b>) -> Self {
        Self {
            source: Some(source),
            held: Vec::new(),
            digits: BTreeMap::new(),
            sink,
        }
    }

    fn line(&mut self, line: LogLine) -> Result<(), ImportError> {
        if self.source.is_none() {
            return Ok((self.sink)(line)?);
        }
        self.held.push(line);
        match self.held.len() < INTERVAL_READINGS {
            true => Ok(()),
            false => self.release(),
        }
    }

    fn release(&mut self) -> Result<(), ImportError> {
        if let Some(mut source) = self.source.take() {
            source.interval_s = interval_s(&self.held);
            source.digits = std::mem::take(&mut self.digits);
            (self.sink)(LogLine::Source(source))?;
        }
        for line in self.held.drain(..) {
            (self.sink)(line)?;
        }
        Ok(())
    }
}

/// The median of the seconds between readings, to the millisecond.
fn interval_s(lines: &[LogLine]) -> Option<f64> {
    let times: Vec<Timestamp> = lines
        .iter()
        .filter_map(|line| match line {
            LogLine::Readings(readings) => Some(readings.at),
            _ => None,
        })
        .collect();
    let mut seconds: Vec<f64> = times
        .windows(2)
        .map(|pair| pair[1].seconds_since(pair[0]))
        .collect();
    seconds.sort_by(f64::total_cmp);
    let median = *seconds.get(seconds.len() / 2)?;
    Some((median * 1000.0).round() / 1000.0).filter(|s| *s > 0.0)
}

/// The import of a table.
struct TableImport<'a, 'b> {
    path: &'a Path,
    layout: &'a Layout,
    out: DelayedOutput<'a, 'b>,
    report: ImportReport,
    going_back: bool,
    offs: u64,
    missing: BTreeMap<Quantity, u64>,
}

impl TableImport<'_, '_> {
    fn all(
        mut self,
        reader: impl Read,
        order: DateOrder,
        options: &Options,
    ) -> Result<ImportReport, ImportError> {
        let mut lines = Lines::new(reader);
        let mut rows = Rows::new(self.layout, order, options.zone.clone());
        let mut row = StringRecord::new();
        while lines.next().map_err(|e| ImportError::io(self.path, e))? {
            if lines.number <= self.layout.header_line || lines.line.trim().is_empty() {
                continue;
            }
            if lines.too_long {
                self.bad(lines.number, format!("longer than {LINE_LEN_MAX} bytes"));
                continue;
            }
            cells(&lines.line, self.layout.separator, &mut row);
            let is_header = self.layout.header_line > 0 && row == self.layout.header;
            if is_header || row.iter().all(str::is_empty) {
                continue;
            }
            let read = rows.read(&row);
            match read {
                Row::Valid(at, values) => {
                    if self.out.source.is_some() {
                        self.out.digits = rows.digits();
                    }
                    self.good(lines.number, at, values)?;
                }
                Row::PowerOff(at) => self.power_off(lines.number, at)?,
                Row::Invalid(reason) => self.bad(lines.number, reason),
                Row::NoZone => {
                    return Err(ImportError::line(
                        self.path,
                        lines.number,
                        "the times have no offset; give their time zone: --zone Europe/Berlin, --zone UTC",
                    ));
                }
            }
        }
        self.end()
    }

    fn good(
        &mut self,
        line: u64,
        at: Timestamp,
        values: BTreeMap<Quantity, f64>,
    ) -> Result<(), ImportError> {
        if let Some(last) = self.report.last {
            if at == last {
                self.report.same_time += 1;
                return Ok(());
            }
            if at < last {
                self.report.back += 1;
                let first = !std::mem::replace(&mut self.going_back, true);
                if first && self.report.back <= EVENTS_MAX {
                    let message = format!(
                        "{}:{line}: the time goes back from {last} to {at}; rows are dropped until it advances",
                        self.path.display()
                    );
                    let source = self.report.source;
                    self.out
                        .line(event(source, last, EventKind::ClockJump, message))?;
                }
                return Ok(());
            }
        }
        self.going_back = false;
        for pick in &self.layout.picks {
            if !values.contains_key(&pick.quantity) {
                *self.missing.entry(pick.quantity).or_default() += 1;
            }
        }
        self.report.good += 1;
        self.report.first.get_or_insert(at);
        self.report.last = Some(at);
        self.out.line(LogLine::Readings(Readings {
            source: self.report.source,
            at,
            values,
            tag: None,
        }))
    }

    fn power_off(&mut self, line: u64, at: Option<Timestamp>) -> Result<(), ImportError> {
        self.offs += 1;
        let Some(event_at) = self.report.last.or(at) else {
            return Ok(());
        };
        if self.offs > EVENTS_MAX {
            return Ok(());
        }
        let when = at.map_or(String::new(), |at| format!(" at {at}"));
        let message = format!(
            "{}:{line}: the meter was without power{when}",
            self.path.display()
        );
        let source = self.report.source;
        self.out
            .line(event(source, event_at, EventKind::Lost, message))
    }

    fn bad(&mut self, line: u64, reason: String) {
        self.report.bad += 1;
        self.report.first_bad.get_or_insert((line, reason));
    }

    fn end(mut self) -> Result<ImportReport, ImportError> {
        let Some(last) = self.report.last else {
            return Err(self.no_row());
        };
        let path = self.path.display();
        let mut events = Events::new(self.report.source, last);
        if let Some((line, reason)) = &self.report.first_bad {
            let message = format!(
                "rows that could not be used: {}; the first at {path}:{line}: {reason}",
                self.report.bad
            );
            events.add(EventKind::Invalid, message);
        }
        events.count(
            EventKind::ClockJump,
            self.report.back,
            "rows dropped since their time is before one already taken",
        );
        events.count(
            EventKind::Invalid,
            self.report.same_time,
            "rows dropped since they have the time of the row before (if the file has milliseconds: --columns ms=NAME)",
        );
        if self.offs > 0 {
            let note = format!("times that the meter was without power: {}", self.offs);
            self.report.notes.push(note);
        }
        for (quantity, count) in &self.missing {
            let note = format!("rows without {quantity}: {count}");
            self.report.notes.push(note);
        }
        for note in &self.report.notes {
            events.add(EventKind::Note, format!("{path}: {note}"));
        }
        for line in events.lines {
            self.out.line(line)?;
        }
        self.out.release()?;
        Ok(self.report)
    }

    fn no_row(&self) -> ImportError {
        let first = match &self.report.first_bad {
            Some((line, reason)) => format!(
                "none of {} rows can be used; the first, line {line}: {reason}",
                self.report.bad
            ),
            None => "there is no row below the header".into(),
        };
        let header: Vec<_> = self.layout.header.iter().take(40).collect();
        let header: String = header.join(" | ").chars().take(800).collect();
        let columns = self.report.columns.join(", ");
        ImportError::line(
            self.path,
            self.layout.header_line.max(1),
            format!(
                "{first}. It was read as {columns}, and its header is: {header}. Name the columns that were misread: --columns date=NAME,time=NAME,power_w=NAME (or their numbers from 1)"
            ),
        )
    }
}

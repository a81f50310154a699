//! The samples of a merged log as CSV, with run and phase first, for spreadsheets
//! (sources.md 4.3).

use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::PendingFile;
use filermark_energy_data::MIB;
use filermark_energy_data::log::{EnergyPhase, Log, LogLine, PortSample, Tag};
use filermark_results::Timestamp;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// The columns.
const HEADER: [&str; 8] = [
    "run",
    "load_point",
    "phase",
    "time",
    "source",
    "quantity",
    "value",
    "interval_s",
];

/// Writes every sample of the log at `merged` as a row of `csv`.
///
/// # Errors
/// The log cannot be read, or the table is there or cannot be written.
pub fn write(merged: &Path, csv: &Path, force: bool) -> Result<(), CommandError> {
    let draft = PendingFile::new(csv, force)?;
    let failed =
        |e: io::Error| CommandError::of(format!("{}: cannot be written: {e}", csv.display()));
    let other = |e: csv::Error| failed(e.into());
    let file = File::create_new(draft.path()).map_err(failed)?;
    let mut table = Table {
        out: csv::Writer::from_writer(file),
        names: BTreeMap::new(),
        ports: BTreeMap::new(),
        runs: BTreeMap::new(),
    };
    table.out.write_record(HEADER).map_err(other)?;
    let mut log = Log::open(merged).map_err(CommandError::of)?;
    while let Some(line) = log.next_line().map_err(CommandError::of)? {
        table.line(line).map_err(other)?;
    }
    table.out.flush().map_err(failed)?;
    draft.keep()
}

struct Table {
    out: csv::Writer<File>,
    names: BTreeMap<u32, String>,
    ports: BTreeMap<u32, String>,
    runs: BTreeMap<u32, String>,
}

impl Table {
    fn line(&mut self, line: LogLine) -> csv::Result<()> {
        match line {
            LogLine::Run(run) => {
                self.runs.insert(run.run, run.name);
            }
            LogLine::Source(source) => {
                let mark = if source.simulated { " (simulated)" } else { "" };
                let name = format!("{}{mark}", source.name);
                self.names.insert(source.id, name);
            }
            LogLine::Port(port) => {
                self.ports.insert(port.port, port.label());
            }
            LogLine::Readings(readings) => {
                let name = self
                    .names
                    .get(&readings.source)
                    .cloned()
                    .unwrap_or_default();
                for (quantity, value) in readings.values {
                    self.row(
                        readings.tag,
                        readings.at,
                        &name,
                        quantity.name(),
                        value,
                        None,
                    )?;
                }
            }
            LogLine::Traffic(traffic) => {
                for sample in &traffic.samples {
                    let at = traffic.at.plus_seconds(sample.after_us as f64 / 1e6);
                    self.traffic(traffic.tag, at, sample)?;
                }
            }
            LogLine::Energy(_) | LogLine::Event(_) | LogLine::End(_) => {}
        }
        Ok(())
    }

    fn traffic(&mut self, tag: Option<Tag>, at: Timestamp, sample: &PortSample) -> csv::Result<()> {
        let name = self.ports.get(&sample.port).cloned().unwrap_or_default();
        let seconds = sample.interval_us as f64 / 1e6;
        let rate = |bytes: u64| bytes as f64 / MIB / seconds;
        let figures = [
            ("in_mib_per_s", sample.in_bytes),
            ("out_mib_per_s", sample.out_bytes),
            ("total_mib_per_s", sample.bytes()),
        ];
        for (what, bytes) in figures {
            if let Some(bytes) = bytes {
                self.row(tag, at, &name, what, rate(bytes), Some(seconds))?;
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        tag: Option<Tag>,
        at: Timestamp,
        source: &str,
        what: &str,
        value: f64,
        seconds: Option<f64>,
    ) -> csv::Result<()> {
        let no_run = String::new();
        let run = tag
            .and_then(|tag| self.runs.get(&tag.run))
            .unwrap_or(&no_run);
        let point = tag.map_or(0, |tag| tag.point);
        let phase = tag.map_or("", |tag| EnergyPhase::name(tag.phase));
        let seconds = seconds.map(|s| s.to_string()).unwrap_or_default();
        let (point, at, value) = (point.to_string(), at.to_string(), value.to_string());
        self.out
            .write_record([run, &point, phase, &at, source, what, &value, &seconds])
    }
}

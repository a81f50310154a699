//! The logs of the procs and of the heartbeats of a run in progress, load point by load
//! point: each adds its part to the files.

use crate::files::{FilesError, make_dir, plain_suffix, proc_log_dir, proc_log_names};
use crate::live::LogPaths;
use crate::live_file::write_at;
use crate::proc_logs::{PointLogs, heartbeats_of};
use crate::record::RunRecord;
use std::path::{Path, PathBuf};

/// How much of the logs of a run has been written.
#[derive(Debug)]
pub struct SettledLogs {
    places: LogPaths,
    /// The load points in them, by number.
    points: Vec<u32>,
    /// Bytes of the three logs of each proc.
    procs: Vec<[u64; 3]>,
    /// Bytes of the logs of the heartbeats.
    heartbeats: u64,
}

impl SettledLogs {
    /// For a run whose logs exist; nothing has been written yet.
    pub const fn new(places: LogPaths) -> Self {
        Self {
            places,
            points: Vec::new(),
            procs: Vec::new(),
            heartbeats: 0,
        }
    }

    /// Adds the parts of the load points that have ended since the last call. The first time,
    /// and if a load point was measured after a later one, all parts are written.
    ///
    /// # Errors
    /// The suffix cannot be part of a file name, or a file cannot be written. All parts are
    /// written the next time.
    pub fn add(&mut self, record: &RunRecord) -> Result<(), FilesError> {
        let ended: Vec<u32> = record.points.iter().map(|p| p.load.number).collect();
        let known = std::mem::take(&mut self.points);
        let fresh = match ended.strip_prefix(&known[..]) {
            Some(fresh) if !known.is_empty() => fresh,
            _ => {
                self.begin(record)?;
                &ended[..]
            }
        };
        for number in fresh {
            self.add_point(record, *number)?;
        }
        self.points = ended;
        Ok(())
    }

    /// Empties the files: an earlier run may have left longer ones.
    fn begin(&mut self, record: &RunRecord) -> Result<(), FilesError> {
        let dir = self.dir(record)?;
        make_dir(&dir)?;
        let plan = &record.run.plan;
        let count = (plan.busy_proc_count() as usize).min(plan.procs.len());
        self.procs = vec![[0; 3]; count];
        self.heartbeats = 0;
        for number in 0..self.procs.len() as u32 {
            for name in proc_log_names(record, number).into_iter().flatten() {
                empty(&dir.join(name))?;
            }
        }
        Ok(())
    }

    fn add_point(&mut self, record: &RunRecord, number: u32) -> Result<(), FilesError> {
        let plan = &record.run.plan;
        let Some(load) = plan.points.iter().find(|load| load.number == number) else {
            return Ok(());
        };
        let dir = self.dir(record)?;
        let logs = PointLogs::of(record, *load);
        for (number, lengths) in (0u32..).zip(&mut self.procs) {
            let (Some(names), Some(logs)) = (proc_log_names(record, number), logs.of_proc(number))
            else {
                continue;
            };
            let texts = [logs.results, logs.operations, logs.progress];
            for ((name, text), length) in names.iter().zip(&texts).zip(lengths) {
                if !text.is_empty() {
                    add(&dir.join(name), length, text)?;
                }
            }
        }
        self.add_heartbeats(record, number)
    }

    fn add_heartbeats(&mut self, record: &RunRecord, number: u32) -> Result<(), FilesError> {
        let text = heartbeats_of(record, number);
        if text.is_empty() {
            return Ok(());
        }
        let before = self.heartbeats;
        for path in self.places.heartbeat_logs(plain_suffix(record)?) {
            // A pipe or a device got the lines during the run.
            if std::fs::metadata(&path).map_or(true, |m| m.is_file()) {
                self.heartbeats = before;
                add(&path, &mut self.heartbeats, &text)?;
            }
        }
        Ok(())
    }

    fn dir(&self, record: &RunRecord) -> Result<PathBuf, FilesError> {
        let name = proc_log_dir(plain_suffix(record)?);
        Ok(self.places.log_dir.join(name))
    }
}

fn empty(path: &Path) -> Result<(), FilesError> {
    write(path, 0, "")
}

/// Writes a part of a file after `length` bytes, over what was there, and truncates the file after it.
fn add(path: &Path, length: &mut u64, text: &str) -> Result<(), FilesError> {
    write(path, *length, text)?;
    *length += text.len() as u64;
    Ok(())
}

fn write(path: &Path, start: u64, text: &str) -> Result<(), FilesError> {
    write_at(path, start, text, true).map_err(|source| FilesError::Io {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;

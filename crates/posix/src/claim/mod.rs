//! Claiming a run's directory on a mounted file system, and giving it back.
//!
//! The safety of other people's data is decided here: a directory is ours only if
//! our marker file is in it, and in it only names of the layout are ever removed
//! (see `clear`). Everything blocks; nothing here is measured.

pub(crate) mod clear;
mod probe;
#[cfg(test)]
mod tests;

use crate::place;
use crate::status;
use crate::sys::{Dir, Errno};
use clear::{Cleared, Failed, printable};
use filermark_engine::driver::{Claim, ClaimReport, DriverError, Reach};
use filermark_engine::marker::{MARKER_BYTES_MAX, marker_run, marker_text};
use filermark_engine::name::{MARKER, RUN_DIR_PREFIX};
use filermark_model::plan::{MountPoint, PosixPlan};
use std::ffi::CString;
use std::time::Duration;

/// Makes the run's directory below `mount` and marks it as ours: what
/// [`Driver::claim`](filermark_engine::driver::Driver::claim) promises. With
/// `plan.reuse_kept`, what an earlier run left stays.
///
/// # Errors
/// Missing, read-only, full, no permission, not ours: one sentence each.
pub(crate) fn claim(
    plan: &PosixPlan,
    mount: &MountPoint,
    claim: &Claim,
) -> Result<ClaimReport, DriverError> {
    let claimant = Claimant::new(mount, claim)?;
    let (dir, fresh) = claimant.find_or_make()?;
    let found = match fresh {
        true => Found::Free(Cleared::default()),
        false => claimant.take_over(&dir, plan.reuse_kept)?,
    };
    let (cleared, marked) = match found {
        Found::Free(cleared) => (cleared, claimant.write_marker(&dir)),
        Found::Joined => (Cleared::default(), Ok(())),
    };
    let lacking = marked
        .and_then(|()| claimant.probe(&dir))
        .inspect_err(|_| {
            if fresh {
                claimant.undo(&dir);
            }
        })?;
    let mut found = report(&dir, cleared);
    found.lacking = lacking;
    Ok(found)
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](filermark_engine::driver::Driver::release) promises.
///
/// # Errors
/// The directory cannot be reached or emptied, or belongs to another run by now;
/// names what stays.
pub(crate) fn release(
    mount: &MountPoint,
    claim: &Claim,
    reach: Reach,
) -> Result<ClaimReport, DriverError> {
    let claimant = Claimant::new(mount, claim).map_err(|mut error| {
        error.advice = format!("{}/{} stays; {}", mount.path, claim.dir_name, error.advice);
        error
    })?;
    match claimant.find()? {
        None => Ok(report(&claimant.top, Cleared::default())),
        Some(dir) => {
            let cleared = claimant.give_back(&dir, reach)?;
            Ok(report(&claimant.top, cleared))
        }
    }
}

/// What a mount point leads to and how much is free there; touches nothing. May take
/// half a minute where a file system does not answer.
///
/// # Errors
/// Missing, no directory, no permission, hanging: one sentence.
pub fn survey(mount: &MountPoint) -> Result<ClaimReport, DriverError> {
    place::reach(mount).map(|top| report(&top, Cleared::default()))
}

/// One claim being made or given back.
struct Claimant<'a> {
    mount: &'a MountPoint,
    claim: &'a Claim,
    /// The mount's directory.
    top: Dir,
    name: CString,
    marker: CString,
}

/// What the marker file of a directory says.
enum Marker {
    /// There is none.
    Missing,
    /// Somebody's own file of that name.
    NotOurs,
    /// The run that it names.
    Run(String),
}

/// What a directory that was there before has become.
enum Found {
    /// Ours, without a marker of this run.
    Free(Cleared),
    /// This run's already: another client was faster.
    Joined,
}

/// Looks for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Between two of them.
const MARKER_PAUSE: Duration = Duration::from_millis(50);

impl<'a> Claimant<'a> {
    fn new(mount: &'a MountPoint, claim: &'a Claim) -> Result<Self, DriverError> {
        let name = &claim.dir_name;
        let c_name = CString::new(name.as_str()).ok();
        // A name that led elsewhere would make us clear the wrong place.
        let sound = name.starts_with(RUN_DIR_PREFIX) && !name.contains('/') && name.len() <= 255;
        let Some(c_name) = c_name.filter(|_| sound) else {
            return Err(DriverError {
                place: mount.to_string(),
                step: "claim the run's directory".to_owned(),
                reason: format!("{name:?} is no name for it"),
                advice: "use letters, digits, '.', '_' and '-' in the suffix".to_owned(),
            });
        };
        Ok(Self {
            mount,
            claim,
            top: place::reach(mount)?,
            name: c_name,
            marker: CString::new(MARKER).unwrap_or_default(),
        })
    }

    fn place(&self) -> String {
        format!("{}/{}", self.mount, self.claim.dir_name)
    }

    fn failed(&self, step: &str, e: Errno) -> DriverError {
        let advice = match e {
            Errno::ROFS => "the file system is mounted read-only; mount it to write (rw)",
            Errno::ACCES | Errno::PERM => {
                "this user may not write there: change its permissions, or see whether the \
                 export squashes root"
            }
            other => status::fatal_advice(other.0).unwrap_or(""),
        };
        DriverError {
            place: self.place(),
            step: step.to_owned(),
            reason: e.to_string(),
            advice: advice.to_owned(),
        }
    }

    fn not_ours(&self, step: &str, reason: String) -> DriverError {
        DriverError {
            place: self.place(),
            step: step.to_owned(),
            reason,
            advice: "Filermark leaves it alone: choose another suffix (-s), or move it away"
                .to_owned(),
        }
    }

    fn find(&self) -> Result<Option<Dir>, DriverError> {
        let step = "look for the run's directory";
        match self.top.open_dir(&self.name) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                Err(self.not_ours(step, "it is not a directory".to_owned()))
            }
            Err(Errno::XDEV) => {
                Err(self.not_ours(step, "another file system is mounted on it".to_owned()))
            }
            Err(e) => Err(self.failed(step, e)),
        }
    }

    /// The directory, and whether it was made just now.
    fn find_or_make(&self) -> Result<(Dir, bool), DriverError> {
        if let Some(dir) = self.find()? {
            return Ok((dir, false));
        }
        let step = "make the run's directory";
        let made = match self.top.make_dir(&self.name) {
            Ok(()) => true,
            // Another client was faster.
            Err(Errno::EXIST) => false,
            Err(e) => return Err(self.failed(step, e)),
        };
        match self.find()? {
            Some(dir) => Ok((dir, made)),
            None => Err(self.not_ours(step, "it was made and is gone again".to_owned())),
        }
    }

    /// Takes back a directory that was made just now. Best effort.
    fn undo(&self, dir: &Dir) {
        let _ = dir.unlink(&self.marker);
        let _ = self.top.remove_dir(&self.name);
    }

    /// Checks that a directory that was there before is ours, and empties it.
    fn take_over(&self, dir: &Dir, keep: bool) -> Result<Found, DriverError> {
        let step = "claim the run's directory";
        match self.marker_in_time(dir)? {
            Marker::Run(run) if run == self.claim.run_id => Ok(Found::Joined),
            Marker::Run(_) if keep => {
                clear::passing_names(dir, &self.claim.dir_name).map_err(|e| self.uncleared(e))?;
                clear::foreign_names(dir, &self.claim.dir_name)
                    .map(Found::Free)
                    .map_err(|e| self.uncleared(e))
            }
            Marker::Run(_) => self.clear(dir).map(Found::Free),
            Marker::NotOurs => Err(self.not_ours(
                step,
                format!("the {MARKER} in it was not written by Filermark"),
            )),
            Marker::Missing => match self.some_names(dir)? {
                names if names.is_empty() => Ok(Found::Free(Cleared::default())),
                names => Err(self.not_ours(
                    step,
                    format!("it has no {MARKER} and is not empty ({})", names.join(", ")),
                )),
            },
        }
    }

    /// The marker; one that another client is writing at this moment is waited for a
    /// little.
    fn marker_in_time(&self, dir: &Dir) -> Result<Marker, DriverError> {
        for _ in 0..MARKER_LOOKS {
            let marker = self.read_marker(dir)?;
            let unwritten = match &marker {
                Marker::Run(_) => false,
                Marker::NotOurs => dir.meta(&self.marker).is_ok_and(|m| m.size == 0),
                Marker::Missing => !self.some_names(dir)?.is_empty(),
            };
            if !unwritten {
                return Ok(marker);
            }
            std::thread::sleep(MARKER_PAUSE);
        }
        self.read_marker(dir)
    }

    fn clear(&self, dir: &Dir) -> Result<Cleared, DriverError> {
        clear::run_dir(dir, &self.claim.dir_name).map_err(|e| self.uncleared(e))
    }

    fn uncleared(&self, failed: Failed) -> DriverError {
        let mut error = self.failed("remove leftovers", failed.errno);
        error.place = format!("{}/{}", self.mount, failed.place);
        if failed.errno == Errno::NOTEMPTY {
            error.reason = "it does not become empty".to_owned();
            error.advice = "is another run at work in it? Choose another suffix (-s)".to_owned();
        }
        error
    }

    fn read_marker(&self, dir: &Dir) -> Result<Marker, DriverError> {
        let step = "read the marker file";
        let file = match dir.open_to_read(&self.marker) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Marker::Missing),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Marker::NotOurs),
            Err(e) => return Err(self.failed(step, e)),
        };
        let mut text = [0; MARKER_BYTES_MAX as usize];
        let mut len = 0;
        while len < text.len() {
            match file.read_at(&mut text[len..], len as u64) {
                Ok(0) => break,
                Ok(count) => len += count,
                // A directory, a FIFO: nothing that can be read at an offset.
                Err(_) => return Ok(Marker::NotOurs),
            }
        }
        Ok(marker_run(&text[..len]).map_or(Marker::NotOurs, Marker::Run))
    }

    fn write_marker(&self, dir: &Dir) -> Result<(), DriverError> {
        let write = || {
            let file = dir.open_fresh(&self.marker)?;
            let text = marker_text(self.claim);
            let mut put = 0;
            while put < text.len() {
                match file.write_at(&text.as_bytes()[put..], put as u64)? {
                    0 => return Err(Errno::IO),
                    count => put += count,
                }
            }
            // A file system without fsync is told by the probe.
            let _ = file.sync();
            let _ = dir.sync();
            Ok(())
        };
        write().map_err(|e| self.failed("write the marker file", e))
    }

    fn probe(&self, dir: &Dir) -> Result<Vec<String>, DriverError> {
        let step = "see what the file system can do";
        probe::lacking(dir).map_err(|e| self.failed(step, e))
    }

    /// Empties and removes the directory if it is this run's.
    fn give_back(&self, dir: &Dir, reach: Reach) -> Result<Cleared, DriverError> {
        let step = "remove the run's directory";
        match self.read_marker(dir)? {
            Marker::Run(run) if run == self.claim.run_id => {}
            Marker::Run(run)
                if reach == Reach::Leftovers && run.starts_with(&self.claim.run_id) => {}
            Marker::Run(run) => {
                return Err(self.not_ours(step, format!("it belongs to run {run}")));
            }
            // A release that was cut between its two last steps.
            Marker::Missing if self.some_names(dir)?.is_empty() => {}
            Marker::NotOurs | Marker::Missing => {
                return Err(self.not_ours(step, format!("our {MARKER} in it is gone")));
            }
        }
        let others = |name: &String| name != MARKER;
        if reach == Reach::Rest && self.some_names(dir)?.iter().any(others) {
            return Ok(Cleared::default());
        }
        let cleared = self.clear(dir)?;
        // While something foreign stays, the marker stays too: the next run may
        // come back to the same directory.
        if !cleared.foreign.is_empty() {
            return Ok(cleared);
        }
        for removed in [dir.unlink(&self.marker), self.top.remove_dir(&self.name)] {
            match removed {
                Ok(()) | Err(Errno::NOENT | Errno::STALE) => {}
                Err(e) => return Err(self.failed(step, e)),
            }
        }
        Ok(cleared)
    }

    /// A few of the names in a directory, for a message.
    fn some_names(&self, dir: &Dir) -> Result<Vec<String>, DriverError> {
        const SHOWN: usize = 4;
        let mut names = Vec::new();
        let listed = dir.each_name(|name| {
            names.push(printable(name));
            names.len() < SHOWN
        });
        listed.map_err(|e| self.failed("list the run's directory", e))?;
        Ok(names)
    }
}

fn report(dir: &Dir, cleared: Cleared) -> ClaimReport {
    let mut facts = dir.mount_facts();
    let space = dir.space().ok();
    if let Some(space) = space {
        let figures = [
            ("block bytes", space.block_bytes),
            ("total bytes", space.total_bytes),
            ("free bytes", space.free_bytes),
            ("free files", space.free_files),
        ];
        facts.extend(figures.map(|(name, value)| (name.to_owned(), value.to_string())));
    }
    ClaimReport {
        removed_count: cleared.removed_count,
        foreign: cleared.foreign,
        transfer_bytes: (1 << 20, 1 << 20),
        space: space.map(Into::into),
        lacking: Vec::new(),
        server_facts: facts,
    }
}

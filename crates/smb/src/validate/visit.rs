//! A check's directory: made for it, and removed with all that is in it.

use super::bench::{Bench, Judge, session, text_of};
use super::session::{AttributeSet, Open};
use crate::client::{ConnectError, Entry, Failure, RemoveTarget};
use filermark_driver_kit::checks::{self, Outcome, Stop};
use filermark_driver_kit::validation::CheckResult;
use filermark_engine::name::{Name, NameKind};
use filermark_smbwire::smb2::file::access::{READ_ATTRIBUTES, WRITE_ATTRIBUTES};
use filermark_smbwire::smb2::file::attributes;
use filermark_smbwire::status;
use std::time::{Duration, Instant};

/// How long to wait for files that a connection that has just ended may still have open.
const REMOVE_LIMIT: Duration = Duration::from_secs(3);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

impl checks::Bench for Bench<'_> {
    /// Makes the directory for the check of this number. Takes another one where a
    /// validation that was killed has left its own.
    fn enter(&mut self, number: u32) -> Outcome {
        const NAMES: u32 = 50;
        let what = "OPEN to make the check's own directory";
        for attempt in 0..NAMES {
            let name = Name::new(NameKind::MadeDir, number + attempt * 1000).text();
            let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
            let path = format!(r"{}\{name}", self.run_dir);
            match self.smb.client().files().make_dir(&path).either(what)? {
                Ok(()) => {
                    self.dir = path;
                    return Ok(());
                }
                Err(status::OBJECT_NAME_COLLISION) => {}
                Err(status) => {
                    return Err(Stop::fail(
                        format!("{what}: STATUS_SUCCESS"),
                        status::text(status),
                    ));
                }
            }
        }
        Err(Stop::fail(
            "a free name for the check's own directory",
            "none",
        ))
    }

    fn leave(&mut self, is_done: bool) {
        self.lost = self.clean_up(is_done).err();
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn lost(&mut self, result: &CheckResult, _goes_on: bool) -> Option<String> {
        let (dialect, why) = (self.dialect, text_of(self.lost.as_ref()?));
        Some(format!(
            "no further session by {dialect} after {}: {why}",
            result.id
        ))
    }
}

impl Bench<'_> {
    /// Removes the check's directory with all that is in it. After a check that did not
    /// come out well there are new sessions, which know nothing of what was under way.
    /// What cannot be removed becomes a note; the claim's release reports it again.
    fn clean_up(&mut self, is_done: bool) -> Result<(), ConnectError> {
        if is_done {
            self.smb.close_all();
            if let Some(other) = &mut self.other {
                other.close_all();
            }
        } else {
            if let Some(mut other) = self.other.take() {
                other.client().files().log_off();
            }
            self.smb.client().files().log_off();
            self.smb = session(self.address, self.target, &self.plan, &self.refusals)?;
        }
        let dir = std::mem::replace(&mut self.dir, self.run_dir.clone());
        if dir != self.run_dir
            && let Err(failure) = self.clear(&dir, 0)
        {
            self.note(format!("cleaning up: {failure}"));
        }
        Ok(())
    }

    /// Removes a directory and all that is in it.
    fn clear(&mut self, dir: &str, depth: usize) -> Result<(), Failure> {
        const DEPTH_MAX: usize = 8;
        let entries = self.smb.client().files().list(dir)?;
        let (dirs, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.is_dir);
        let paths = |entries: &[Entry]| -> Vec<String> {
            let path = |e: &Entry| format!(r"{dir}\{}", e.name);
            entries.iter().map(path).collect()
        };
        for below in paths(&dirs) {
            if depth < DEPTH_MAX {
                self.clear(&below, depth + 1)?;
            }
        }
        self.remove(RemoveTarget::File, paths(&files))?;
        self.remove(RemoveTarget::Dir, vec![dir.to_owned()])
    }

    fn remove(&mut self, what: RemoveTarget, mut paths: Vec<String>) -> Result<(), Failure> {
        let until = Instant::now() + REMOVE_LIMIT;
        while !paths.is_empty() {
            let became = self.smb.client().files().remove_each(what, &paths)?;
            let mut left = Vec::new();
            let mut last = status::SUCCESS;
            for (path, status) in paths.into_iter().zip(became) {
                match status {
                    status::SUCCESS | status::OBJECT_NAME_NOT_FOUND | status::NO_SUCH_FILE => {}
                    status => {
                        self.make_removable(&path, status);
                        left.push(path);
                        last = status;
                    }
                }
            }
            paths = left;
            if !paths.is_empty() && Instant::now() > until {
                let step = "the removal";
                return Err(Failure::Refused { step, status: last });
            }
            if !paths.is_empty() {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// A file with the read-only attribute is not removed before it has lost that.
    fn make_removable(&mut self, path: &str, status: u32) {
        if !matches!(status, status::CANNOT_DELETE | status::ACCESS_DENIED) {
            return;
        }
        let open = Open::file(path).rights(READ_ATTRIBUTES | WRITE_ATTRIBUTES);
        if let Ok(opened) = self.smb.open(&open) {
            let normal = AttributeSet::Basic([0; 4], attributes::NORMAL);
            let _ = self.smb.calls().set(opened.file, &normal);
            let _ = self.smb.close(opened.file);
        }
    }

    /// Ends the sessions.
    pub(super) fn log_off(mut self) {
        if let Some(mut other) = self.other.take() {
            other.client().files().log_off();
        }
        self.smb.client().files().log_off();
    }
}

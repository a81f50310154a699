//! Retries after transient failures of a server: one I/O error must not end the clean-up
//! of a whole run.

use super::backend::{DirLookup, Entry, FilePrefix, Patch, Removal, Removed, RunDirBackend};
use super::lease::LeaseWatch;
use filermark_engine::driver::DriverError;
use std::cell::Cell;
use std::time::Duration;

/// How often an operation is tried before its failure counts.
pub const TRIES: u32 = 6;
/// Pause before the second try; each later pause is twice as long. Together about 3 s.
const PAUSE: Duration = Duration::from_millis(100);

/// A backend whose operations are tried [`TRIES`] times at most, if
/// [`RunDirBackend::may_pass`] and no stop is requested. Writes, and listings that have
/// begun, are not retried.
pub(super) struct RetryingBackend<'a, B> {
    inner: &'a mut B,
    watch: &'a dyn LeaseWatch,
}

impl<'a, B: RunDirBackend> RetryingBackend<'a, B> {
    pub fn new(inner: &'a mut B, watch: &'a dyn LeaseWatch) -> Self {
        Self { inner, watch }
    }

    /// Tries until it succeeds, or a retry cannot help. `call` gets the number of failures
    /// until now.
    fn tried<T>(
        &mut self,
        call: impl FnMut(&mut B, u32) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        self.tried_while(|| true, call)
    }

    /// [`tried`](Self::tried) as long as `is_open`.
    fn tried_while<T>(
        &mut self,
        is_open: impl Fn() -> bool,
        mut call: impl FnMut(&mut B, u32) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let (mut failures, mut pause) = (0, PAUSE);
        loop {
            let mut error = match call(self.inner, failures) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failures += 1;
            let may_help = self.inner.may_pass() && is_open() && !self.inner.is_stopped();
            if !may_help || failures == TRIES || !self.watch.pause(pause) {
                if failures > 1 {
                    error
                        .reason
                        .push_str(&format!(", {failures} times in a row"));
                }
                return Err(error);
            }
            pause *= 2;
        }
    }
}

impl<B: RunDirBackend> RunDirBackend for RetryingBackend<'_, B> {
    type Dir = B::Dir;
    type Listing = B::Listing;

    fn place(&self) -> String {
        self.inner.place()
    }

    fn separator(&self) -> char {
        self.inner.separator()
    }

    fn find_run_dir(&mut self) -> Result<DirLookup<Self::Dir>, DriverError> {
        self.tried(|inner, _| inner.find_run_dir())
    }

    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        self.tried(|inner, _| inner.make_run_dir())
    }

    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        self.tried(|inner, _| inner.remove_run_dir())
    }

    fn find_dir(
        &mut self,
        parent: &Self::Dir,
        name: &str,
    ) -> Result<DirLookup<Self::Dir>, DriverError> {
        self.tried(|inner, _| inner.find_dir(parent, name))
    }

    fn read_file(&mut self, dir: &Self::Dir, name: &str) -> Result<FilePrefix, DriverError> {
        self.tried(|inner, _| inner.read_file(dir, name))
    }

    /// No retries: another run may have written its marker meanwhile, and a later try would
    /// overwrite it.
    fn write_file(&mut self, dir: &Self::Dir, name: &str, text: &str) -> Result<(), DriverError> {
        self.inner.write_file(dir, name, text)
    }

    /// Only the read is retried. A write that failed may have written a part of its text, and
    /// what another run writes meanwhile must not be overwritten.
    fn change_file(
        &mut self,
        dir: &Self::Dir,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        let is_decided = Cell::new(false);
        self.tried_while(
            || !is_decided.get(),
            |inner, _| {
                inner.change_file(dir, name, &mut |front| {
                    is_decided.set(true);
                    change(front)
                })
            },
        )
    }

    fn list(&mut self, dir: &Self::Dir) -> Result<Option<Self::Listing>, DriverError> {
        self.tried(|inner, _| inner.list(dir))
    }

    /// No retries: a listing that has failed may report its end at the next call, and a
    /// directory with entries would count as empty.
    fn next_entries(
        &mut self,
        listing: &mut Self::Listing,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        self.inner.next_entries(listing)
    }

    fn end_list(&mut self, listing: Self::Listing) {
        self.inner.end_list(listing);
    }

    /// A name that is missing at a later try may have been removed by an earlier one.
    fn remove(
        &mut self,
        what: Removal,
        dir: &Self::Dir,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        self.tried(|inner, failures| {
            let mut became = inner.remove(what, dir, names)?;
            if failures > 0 {
                for removed in became.iter_mut().filter(|r| **r == Removed::NotFound) {
                    *removed = Removed::Done;
                }
            }
            Ok(became)
        })
    }

    fn may_pass(&self) -> bool {
        self.inner.may_pass()
    }

    fn is_stopped(&self) -> bool {
        self.inner.is_stopped()
    }
}

//! In place of `uring` on systems without io_uring: a ring cannot be made.

use super::{Dir, Errno, File, Result};
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

/// As in `uring`.
pub(crate) const FILES_MAX: usize = 1 << 15;

/// What the kernel is to do with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Reads into its buffer.
    Read,
    /// Writes what is in its buffer.
    Write,
    /// Makes a file stable.
    Sync,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its slot.
    pub slot: u32,
    /// Bytes that were moved, or why not.
    pub result: Result<usize>,
}

/// There is none.
#[derive(Debug)]
pub(crate) struct Ring(Infallible);

impl Ring {
    /// Fails.
    ///
    /// # Errors
    /// ENOSYS.
    pub(crate) fn new(_slots: u32, _slot_bytes: usize, _file_count: usize) -> Result<Self> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn begin_aside(&mut self) {
        match self.0 {}
    }

    pub(crate) fn has_registered_buffers(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn busy_count(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn queued_count(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn buffer(&mut self, _slot: u32) -> Option<&mut [u8]> {
        match self.0 {}
    }

    pub(crate) fn set_file(&mut self, _at: u32, _file: Option<&File>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn start(
        &mut self,
        _slot: u32,
        _call: Call,
        _file: u32,
        _part: Range<usize>,
        _offset: u64,
    ) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn wait(&mut self, _limit: Option<Duration>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn ended_count(&mut self) -> usize {
        match self.0 {}
    }

    pub(crate) fn next_ended(&mut self) -> Option<Ended> {
        match self.0 {}
    }

    pub(crate) fn cancel(&mut self) {
        match self.0 {}
    }
}

/// There are no submissions.
pub(crate) fn waits_in_submission(_: &Dir) -> bool {
    false
}

//! In place of `uring` on systems without io_uring: a ring cannot be made.

use super::async_call::{Call, Ended};
use super::{Dir, Errno, File, Result};
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

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

    pub(crate) fn set_always_async(&mut self) {
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

    pub(crate) fn has_undelivered(&mut self) -> bool {
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

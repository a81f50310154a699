//! What a ring of `uring` is asked for and answers, with and without io_uring.

use super::Result;

/// The largest table of files that all kernels accept.
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

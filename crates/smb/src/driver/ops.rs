//! Logical operations.

use super::calls::FileId;
use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::OpBase;

/// The current step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its only calls, or the first of them.
    First,
    /// Reads or writes of an open file.
    Data,
    /// Its own file: the size is set.
    Size,
    /// Its own file: the written data is made stable.
    Flush,
    /// Its own file is closed.
    Close,
}

/// A logical operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogicalOp {
    base: OpBase,
    pub(crate) step: Step,
    /// Its file: one of the proc, or its own.
    pub(crate) file: FileId,
    /// The epoch of the file's connection (see `Core::epochs`).
    pub(crate) epoch: u32,
    /// It has its own file open, which it must close.
    pub(crate) owns_file: bool,
}

extends!(LogicalOp, OpBase);

impl From<OpBase> for LogicalOp {
    fn from(base: OpBase) -> Self {
        Self {
            base,
            step: Step::First,
            file: FileId::NONE,
            epoch: 0,
            owns_file: false,
        }
    }
}

//! What is kept of a logical operation.

use super::calls::FileId;
use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::OpBase;

/// Where an operation is that takes several calls one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its only calls, or the first of them.
    First,
    /// Data goes to or comes from an open file.
    Data,
    /// Its own file: the size is set.
    Size,
    /// Its own file: what was written is made stable.
    Flush,
    /// Its own file is closed.
    Close,
}

/// A logical operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogicalOp {
    base: OpBase,
    pub(crate) step: Step,
    /// The file that it works on: the proc's, or its own.
    pub(crate) file: FileId,
    /// Of which connection the file is (see `Core::epochs`).
    pub(crate) epoch: u32,
    /// It has a file of its own open, to be closed whatever happens.
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

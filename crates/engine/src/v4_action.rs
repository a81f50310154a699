//! The operations of NFS version 4 that version 3 does not have.

use crate::action::ObjectId;
use crate::name::Name;
use filermark_model::NfsOp;

/// An operation of NFS version 4 that version 3 does not have. Those that change data work on scratch files:
/// files whose contents are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V4Action {
    /// Opens a file that exists by its name, and closes it.
    Open {
        /// The directory.
        dir: ObjectId,
        /// The name in it.
        name: Name,
        /// The file that has this name.
        object: ObjectId,
    },
    /// Locks a range of a file, and unlocks it.
    Lock {
        /// The file.
        object: ObjectId,
    },
    /// Reserves space for a range of a scratch file.
    Allocate {
        /// The file.
        object: ObjectId,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u32,
    },
    /// Makes a hole in a scratch file.
    Deallocate {
        /// The file.
        object: ObjectId,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u32,
    },
    /// Finds the next data or the next hole.
    Seek {
        /// The file, which has no holes.
        object: ObjectId,
        /// Its number for the contents.
        file: u64,
        /// From this byte, which is within the file.
        offset: u64,
        /// Bytes that the file certainly has.
        bytes: u32,
        /// A hole is looked for, not data.
        is_hole: bool,
    },
    /// Reads a range of what has been written, as [`Action::Read`](crate::action::Action::Read) does.
    ReadPlus {
        /// The file.
        object: ObjectId,
        /// Its number for the contents.
        file: u64,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u32,
    },
    /// Copies a range to the beginning of a scratch file.
    Copy {
        /// The file that is read.
        object: ObjectId,
        /// The scratch file.
        target: ObjectId,
        /// The number of the file that is read, for the contents.
        file: u64,
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u32,
    },
    /// The same with shared blocks.
    Clone {
        /// The file that is read.
        object: ObjectId,
        /// The scratch file.
        target: ObjectId,
        /// The number of the file that is read, for the contents.
        file: u64,
        /// From this byte.
        offset: u64,
        /// This many bytes; 0: to the end of the file.
        length: u32,
        /// Bytes that the file that is read certainly has.
        bytes: u32,
    },
    /// Reads an attribute that was set.
    Getxattr {
        /// A scratch file.
        object: ObjectId,
        /// The number of the attribute, for its name.
        attribute: u16,
    },
    /// Sets an attribute, which may exist.
    Setxattr {
        /// A scratch file.
        object: ObjectId,
        /// The number of the attribute, for its name.
        attribute: u16,
    },
    /// Lists the names of attributes.
    Listxattrs {
        /// A scratch file.
        object: ObjectId,
    },
    /// Removes an attribute that was set.
    Removexattr {
        /// A scratch file.
        object: ObjectId,
        /// The number of the attribute, for its name.
        attribute: u16,
    },
}

impl V4Action {
    /// The operation.
    #[inline]
    pub const fn op(&self) -> NfsOp {
        match self {
            Self::Open { .. } => NfsOp::Open,
            Self::Lock { .. } => NfsOp::Lock,
            Self::Allocate { .. } => NfsOp::Allocate,
            Self::Deallocate { .. } => NfsOp::Deallocate,
            Self::Seek { .. } => NfsOp::Seek,
            Self::ReadPlus { .. } => NfsOp::ReadPlus,
            Self::Copy { .. } => NfsOp::Copy,
            Self::Clone { .. } => NfsOp::Clone,
            Self::Getxattr { .. } => NfsOp::Getxattr,
            Self::Setxattr { .. } => NfsOp::Setxattr,
            Self::Listxattrs { .. } => NfsOp::Listxattrs,
            Self::Removexattr { .. } => NfsOp::Removexattr,
        }
    }

    /// The file that it works on; of a copy the one that is read.
    #[inline]
    pub const fn object(&self) -> ObjectId {
        match *self {
            Self::Open { object, .. }
            | Self::Lock { object }
            | Self::Allocate { object, .. }
            | Self::Deallocate { object, .. }
            | Self::Seek { object, .. }
            | Self::ReadPlus { object, .. }
            | Self::Copy { object, .. }
            | Self::Clone { object, .. }
            | Self::Getxattr { object, .. }
            | Self::Setxattr { object, .. }
            | Self::Listxattrs { object }
            | Self::Removexattr { object, .. } => object,
        }
    }

    /// The file that is copied to.
    #[inline]
    pub const fn target(&self) -> Option<ObjectId> {
        if let Self::Copy { target, .. } | Self::Clone { target, .. } = *self {
            return Some(target);
        }
        None
    }
}

//! The current and the saved file handle, and the root above the export.
//!
//! The root (PUTROOTFH) is a directory with one entry, the export, and a file system of its own.

use super::super::convert::{self, HANDLE};
use super::compound::Compound;
use crate::memfs::{Attr, FileId, FileKind};
use crate::options::EXPORT;
use filermark_onc::nfs4::*;

/// The handle of the root above the export: no file has the number 0.
const ROOT: FileId = FileId {
    number: 0,
    generation: 0,
};
/// `fileid` of the root, and of the directory in it on which the export is mounted.
const ROOT_FILEID: u64 = 1;
pub(super) const EXPORT_FILEID: u64 = 2;

/// What a handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// The root above the export.
    Root,
    File(FileId),
}

impl Object {
    pub(super) fn handle(self) -> [u8; HANDLE] {
        convert::handle(match self {
            Object::Root => ROOT,
            Object::File(id) => id,
        })
    }

    /// Its number in the file system of the export. The root has none: it cannot be changed.
    ///
    /// # Errors
    /// ROFS.
    pub(super) fn file(self) -> Res<FileId> {
        self.file_or(Nfsstat4::Rofs)
    }

    /// The same with another status for the root.
    pub(super) fn file_or(self, root: Nfsstat4) -> Res<FileId> {
        match self {
            Object::Root => Err(root),
            Object::File(id) => Ok(id),
        }
    }
}

/// A current or saved file handle with its stateid (RFC 8881 section 16.2.3.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) object: Object,
    pub(super) stateid: Option<Stateid4>,
}

/// The name of the export in the root.
pub(super) fn export_name() -> &'static [u8] {
    EXPORT.trim_matches('/').as_bytes()
}

impl Compound<'_> {
    /// The current file handle.
    pub(super) fn current(&self) -> Res<Object> {
        let place = self.current.ok_or(Nfsstat4::Nofilehandle)?;
        Ok(place.object)
    }

    /// The saved file handle.
    pub(super) fn saved(&self) -> Res<Object> {
        let place = self.saved.ok_or(Nfsstat4::Nofilehandle)?;
        Ok(place.object)
    }

    pub(super) fn set_current(&mut self, object: Object) {
        self.current = Some(Place {
            object,
            stateid: None,
        });
    }

    /// What operations in the same COMPOUND may refer to as the current stateid.
    pub(super) fn set_stateid(&mut self, stateid: Stateid4) {
        if let Some(place) = &mut self.current {
            place.stateid = Some(stateid);
        }
    }

    pub(super) fn putrootfh(&mut self) -> Res<()> {
        self.set_current(Object::Root);
        Ok(())
    }

    /// What does not exist any more is found by the operation that needs it: CLOSE does not.
    pub(super) fn putfh(&mut self, args: &PutfhArgs<'_>) -> PutfhRes {
        let id = convert::file_id_of(args.object.as_bytes()).ok_or(Nfsstat4::Badhandle)?;
        self.set_current(if id == ROOT {
            Object::Root
        } else {
            Object::File(id)
        });
        Ok(())
    }

    pub(super) fn savefh(&mut self) -> Res<()> {
        self.current()?;
        self.saved = self.current;
        Ok(())
    }

    pub(super) fn restorefh(&mut self) -> Res<()> {
        match self.saved() {
            // RFC 7530 section 16.29.
            Err(Nfsstat4::Nofilehandle) if self.minor == 0 => return Err(Nfsstat4::Restorefh),
            saved => saved?,
        };
        self.current = self.saved;
        Ok(())
    }

    /// The attributes of an object.
    pub(super) fn attr(&self, object: Object) -> Res<Attr> {
        match object {
            Object::Root => Ok(self.root_attr()),
            Object::File(id) => Self::of_fs(self.cx.shared.fs.getattr(id)),
        }
    }

    /// Those of the root, which does not change while the server runs.
    fn root_attr(&self) -> Attr {
        let since_ns = self.cx.shared.fsid;
        Attr {
            kind: FileKind::Directory,
            mode: 0o555,
            nlink: 3,
            uid: 0,
            gid: 0,
            size: 0,
            used: 0,
            rdev: (0, 0),
            fileid: ROOT_FILEID,
            atime_ns: since_ns,
            mtime_ns: since_ns,
            ctime_ns: since_ns,
        }
    }

    /// Checks that an object is a directory.
    ///
    /// # Errors
    /// SYMLINK, NOTDIR.
    pub(super) fn must_be_dir(&self, object: Object) -> Res<()> {
        match self.attr(object)?.kind {
            FileKind::Directory => Ok(()),
            FileKind::Symlink => Err(Nfsstat4::Symlink),
            _ => Err(Nfsstat4::Notdir),
        }
    }

    /// Checks that an object is a regular file, which can be opened.
    ///
    /// # Errors
    /// ISDIR, SYMLINK, WRONG_TYPE.
    pub(super) fn must_be_file(&self, object: Object) -> Res<()> {
        match self.attr(object)?.kind {
            FileKind::Regular => Ok(()),
            FileKind::Directory => Err(Nfsstat4::Isdir),
            FileKind::Symlink => Err(Nfsstat4::Symlink),
            _ => Err(Nfsstat4::WrongType),
        }
    }
}

//! LOOKUP, LOOKUPP, CREATE, REMOVE, RENAME, LINK, SECINFO and SECINFO_NO_NAME.

use super::compound::Compound;
use super::handles::{Object, export_name};
use super::objects::flavors;
use super::{set_attributes, status};
use crate::memfs::{
    Changed, DirEntryName, FileId, FsError, NAME_MAX, ObjectAttr, SpecialKind, Wcc,
};
use crate::nfs4::FileUse;
use filermark_onc::nfs4::*;

/// Checks a component of a path (RFC 8881 section 14.5).
///
/// # Errors
/// INVAL, NAMETOOLONG, BADNAME, BADCHAR.
pub(super) fn check_name(name: &[u8]) -> Res<()> {
    match name {
        b"" => Err(Nfsstat4::Inval),
        b"." | b".." => Err(Nfsstat4::Badname),
        _ if name.len() > NAME_MAX => Err(Nfsstat4::Nametoolong),
        _ if name.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Nfsstat4::Badchar),
        _ => Ok(()),
    }
}

/// A directory's attribute `change` around an operation.
pub(super) fn change_info(wcc: &Wcc) -> ChangeInfo4 {
    let before = wcc.before.map_or(0, |attr| attr.ctime_ns);
    ChangeInfo4 {
        atomic: wcc.before.is_some() && wcc.after.is_some(),
        before,
        after: wcc.after.map_or(before, |attr| attr.ctime_ns),
    }
}

impl Compound<'_> {
    /// What a name in a directory leads to.
    pub(super) fn find(&self, dir: Object, name: &[u8]) -> Res<Object> {
        self.must_be_dir(dir)?;
        check_name(name)?;
        let shared = self.cx.shared;
        match dir {
            Object::Root if name != export_name() => Err(Nfsstat4::Noent),
            Object::Root if shared.options.refuse_mount => Err(Nfsstat4::Access),
            Object::Root => Ok(Object::File(shared.fs.root())),
            Object::File(id) => {
                let found = shared.fs.lookup(id, name, &self.cx.caller.cred()).1;
                Self::of_fs(found).map(|found| Object::File(found.id))
            }
        }
    }

    pub(super) fn lookup(&mut self, args: &LookupArgs<'_>) -> LookupRes {
        let found = self.find(self.current()?, args.objname)?;
        self.set_current(found);
        Ok(())
    }

    fn parent(&self, dir: Object) -> Res<Object> {
        self.must_be_dir(dir)?;
        let fs = &self.cx.shared.fs;
        match dir {
            Object::Root => Err(Nfsstat4::Noent),
            Object::File(id) if id == fs.root() => Ok(Object::Root),
            Object::File(id) => {
                let found = fs.lookup(id, b"..", &self.cx.caller.cred()).1;
                Self::of_fs(found).map(|found| Object::File(found.id))
            }
        }
    }

    pub(super) fn lookupp(&mut self) -> LookuppRes {
        let parent = self.parent(self.current()?)?;
        self.set_current(parent);
        Ok(())
    }

    /// The directory in which a name is to be made or removed.
    fn changed_dir(&self, dir: Object, name: &[u8]) -> Res<FileId> {
        self.must_be_dir(dir).map_err(|status| match status {
            // These operations do not have it.
            Nfsstat4::Symlink => Nfsstat4::Notdir,
            status => status,
        })?;
        check_name(name)?;
        dir.file()
    }

    pub(super) fn create(&mut self, args: &CreateArgs<'_>) -> CreateRes {
        let dir = self.changed_dir(self.current()?, args.objname)?;
        let set = set_attributes::of_new(&args.createattrs, self.minor)?;
        let (fs, cred, name) = (&self.cx.shared.fs, self.cx.caller.cred(), args.objname);
        let special = |kind| fs.mknod(dir, name, kind, &set, &cred);
        let made: Changed<ObjectAttr> = match args.objtype {
            Createtype4::Dir => fs.mkdir(dir, name, &set, &cred),
            Createtype4::Lnk(target) => fs.symlink(dir, name, target, &set, &cred),
            Createtype4::Blk(data) => {
                special(SpecialKind::BlockDevice(data.specdata1, data.specdata2))
            }
            Createtype4::Chr(data) => {
                special(SpecialKind::CharDevice(data.specdata1, data.specdata2))
            }
            Createtype4::Sock => special(SpecialKind::Socket),
            Createtype4::Fifo => special(SpecialKind::Fifo),
            Createtype4::Reg | Createtype4::Attrdir | Createtype4::Namedattr => {
                return Err(Nfsstat4::Badtype);
            }
        };
        let found = Self::of_fs(made.result)?;
        self.set_current(Object::File(found.id));
        Ok(CreateOk {
            cinfo: change_info(&made.wcc),
            attrset: args.createattrs.attrmask(),
        })
    }

    /// The file that a name leads to, as far as delegations are concerned.
    fn named(&self, dir: FileId, name: &[u8]) -> Option<FileId> {
        if !self.delegates() {
            return None;
        }
        let found = self.find(Object::File(dir), name).ok()?;
        found.file().ok()
    }

    pub(super) fn remove(&self, args: &RemoveArgs<'_>) -> RemoveRes {
        let dir = self.changed_dir(self.current()?, args.target)?;
        let file = self.named(dir, args.target);
        let _undelegated = self.undelegated([file, None], FileUse::Change)?;
        let cred = self.cx.caller.cred();
        let done = self.cx.shared.fs.remove_any(dir, args.target, &cred);
        Self::of_fs(done.result)?;
        Ok(RemoveOk {
            cinfo: change_info(&done.wcc),
        })
    }

    pub(super) fn rename(&self, args: &RenameArgs<'_>) -> RenameRes {
        let from = DirEntryName {
            dir: self.changed_dir(self.saved()?, args.oldname)?,
            name: args.oldname,
        };
        let to = DirEntryName {
            dir: self.changed_dir(self.current()?, args.newname)?,
            name: args.newname,
        };
        let files = [self.named(from.dir, from.name), self.named(to.dir, to.name)];
        let _undelegated = self.undelegated(files, FileUse::Change)?;
        let (source, target, result) = self.cx.shared.fs.rename(from, to, &self.cx.caller.cred());
        result.map_err(|error| match error {
            // Both directories are directories: the types of the objects do not fit.
            FsError::IsDir | FsError::NotDir => Nfsstat4::Exist,
            error => status(error),
        })?;
        Ok(RenameOk {
            source_cinfo: change_info(&source),
            target_cinfo: change_info(&target),
        })
    }

    pub(super) fn link(&self, args: &LinkArgs<'_>) -> LinkRes {
        let object = self.saved()?;
        let dir = self.changed_dir(self.current()?, args.newname)?;
        let id = object.file_or(Nfsstat4::Isdir)?;
        let _undelegated = self.undelegated([Some(id), None], FileUse::Change)?;
        let cred = self.cx.caller.cred();
        let (_, done) = self.cx.shared.fs.link(id, dir, args.newname, &cred);
        Self::of_fs(done.result)?;
        Ok(LinkOk {
            cinfo: change_info(&done.wcc),
        })
    }

    /// The current file handle is gone afterwards (RFC 8881 section 2.6.3.1.1.8).
    pub(super) fn secinfo(&mut self, args: &SecinfoArgs<'_>) -> SecinfoRes<'static> {
        self.find(self.current()?, args.name)?;
        self.current = None;
        flavors()
    }

    pub(super) fn secinfo_no_name(
        &mut self,
        args: &SecinfoNoNameArgs,
    ) -> SecinfoNoNameRes<'static> {
        let object = self.current()?;
        if args.style == SecinfoStyle4::Parent {
            self.parent(object)?;
        }
        self.current = None;
        flavors()
    }
}

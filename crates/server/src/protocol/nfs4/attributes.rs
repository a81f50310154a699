//! Values of attributes, as GETATTR, READDIR and VERIFY see them (RFC 8881 section 5).

use super::super::convert::NS;
use super::compound::Compound;
use super::handles::{EXPORT_FILEID, Object};
use crate::memfs::{Attr, FileKind, FsStat, LINK_MAX, MAX_FILE_SIZE, NAME_MAX};
use crate::nfs4::LEASE_S;
use crate::options::ServerOptions;
use filermark_onc::nfs4::*;

/// The attributes that are supported in all minor versions.
const SUPPORTED: Bitmap4 = Bitmap4::of(&[
    Attribute::SupportedAttrs,
    Attribute::Type,
    Attribute::FhExpireType,
    Attribute::Change,
    Attribute::Size,
    Attribute::LinkSupport,
    Attribute::SymlinkSupport,
    Attribute::NamedAttr,
    Attribute::Fsid,
    Attribute::UniqueHandles,
    Attribute::LeaseTime,
    Attribute::RdattrError,
    Attribute::Cansettime,
    Attribute::CaseInsensitive,
    Attribute::CasePreserving,
    Attribute::ChownRestricted,
    Attribute::Filehandle,
    Attribute::Fileid,
    Attribute::FilesAvail,
    Attribute::FilesFree,
    Attribute::FilesTotal,
    Attribute::Homogeneous,
    Attribute::Maxfilesize,
    Attribute::Maxlink,
    Attribute::Maxname,
    Attribute::Maxread,
    Attribute::Maxwrite,
    Attribute::Mode,
    Attribute::NoTrunc,
    Attribute::Numlinks,
    Attribute::Owner,
    Attribute::OwnerGroup,
    Attribute::Rawdev,
    Attribute::SpaceAvail,
    Attribute::SpaceFree,
    Attribute::SpaceTotal,
    Attribute::SpaceUsed,
    Attribute::TimeAccess,
    Attribute::TimeAccessSet,
    Attribute::TimeDelta,
    Attribute::TimeMetadata,
    Attribute::TimeModify,
    Attribute::TimeModifySet,
    Attribute::MountedOnFileid,
    Attribute::SuppattrExclcreat,
]);

/// Those that need the figures of the file system.
const OF_SPACE: Bitmap4 = Bitmap4::of(&[
    Attribute::FilesAvail,
    Attribute::FilesFree,
    Attribute::FilesTotal,
    Attribute::SpaceAvail,
    Attribute::SpaceFree,
    Attribute::SpaceTotal,
]);

/// Those that can be set when an object is made, and later.
pub(super) const SETTABLE: Bitmap4 = Bitmap4::of(&[
    Attribute::Size,
    Attribute::Mode,
    Attribute::Owner,
    Attribute::OwnerGroup,
    Attribute::TimeAccessSet,
    Attribute::TimeModifySet,
]);

/// The supported attributes of a minor version.
pub(super) const fn supported(minor: u32) -> Bitmap4 {
    match minor {
        0 | 1 => SUPPORTED,
        _ => SUPPORTED
            .with(Attribute::CloneBlksize)
            .with(Attribute::ChangeAttrType)
            .with(Attribute::ModeUmask)
            .with(Attribute::XattrSupport),
    }
}

/// Those that can be set when an object is made.
pub(super) const fn settable_new(minor: u32) -> Bitmap4 {
    match minor {
        0 | 1 => SETTABLE,
        _ => SETTABLE.with(Attribute::ModeUmask),
    }
}

pub(super) const fn type_of(kind: FileKind) -> Ftype4 {
    match kind {
        FileKind::Regular => Ftype4::Reg,
        FileKind::Directory => Ftype4::Dir,
        FileKind::BlockDevice => Ftype4::Blk,
        FileKind::CharDevice => Ftype4::Chr,
        FileKind::Symlink => Ftype4::Lnk,
        FileKind::Socket => Ftype4::Sock,
        FileKind::Fifo => Ftype4::Fifo,
    }
}

fn time(ns: u64) -> Nfstime4 {
    Nfstime4 {
        seconds: (ns / NS) as i64,
        nseconds: (ns % NS) as u32,
    }
}

/// What the values of attributes are made of.
pub(super) struct Source<'a> {
    options: &'a ServerOptions,
    minor: u32,
    fsid: u64,
    export: u64,
    /// The figures of the file system, if they were asked for.
    space: Option<FsStat>,
}

/// Sets those values that are wanted.
macro_rules! fill {
    ($want:ident, $to:ident; $($variant:ident $field:ident = $value:expr;)*) => {
        $(if $want.has(Attribute::$variant) {
            $to.$field = Some($value);
        })*
    };
}

impl Source<'_> {
    /// Hands the wanted attributes of an object to `body`.
    pub(super) fn with<T>(
        &self,
        want: Bitmap4,
        (object, attr): (Object, &Attr),
        body: impl FnOnce(&Attributes<'_>) -> T,
    ) -> T {
        let (owner, group) = (attr.uid.to_string(), attr.gid.to_string());
        let handle = object.handle();
        let mut all = Attributes::default();
        self.limits(want, &mut all);
        self.object(want, (object, attr), &mut all);
        fill! { want, all;
            Owner owner = owner.as_bytes();
            OwnerGroup owner_group = group.as_bytes();
        }
        if want.has(Attribute::Filehandle) {
            all.filehandle = FileHandle4::new(&handle);
        }
        body(&all)
    }

    /// Those that are the same for all objects.
    fn limits(&self, want: Bitmap4, all: &mut Attributes<'_>) {
        fill! { want, all;
            SupportedAttrs supported_attrs = supported(self.minor);
            FhExpireType fh_expire_type = 0;
            LinkSupport link_support = true;
            SymlinkSupport symlink_support = true;
            NamedAttr named_attr = false;
            UniqueHandles unique_handles = true;
            LeaseTime lease_time = LEASE_S;
            RdattrError rdattr_error = Nfsstat4::Ok;
            Cansettime cansettime = true;
            CaseInsensitive case_insensitive = false;
            CasePreserving case_preserving = true;
            ChownRestricted chown_restricted = true;
            Homogeneous homogeneous = true;
            Maxfilesize maxfilesize = MAX_FILE_SIZE;
            Maxlink maxlink = LINK_MAX;
            Maxname maxname = NAME_MAX as u32;
            Maxread maxread = self.options.rtmax.into();
            Maxwrite maxwrite = self.options.wtmax.into();
            NoTrunc no_trunc = true;
            TimeDelta time_delta = time(1);
            SuppattrExclcreat suppattr_exclcreat = settable_new(self.minor);
        }
        if let Some(space) = self.space {
            fill! { want, all;
                FilesAvail files_avail = space.free_files;
                FilesFree files_free = space.free_files;
                FilesTotal files_total = space.total_files;
                SpaceAvail space_avail = space.free_bytes;
                SpaceFree space_free = space.free_bytes;
                SpaceTotal space_total = space.total_bytes;
            }
        }
        if self.minor >= 2 {
            fill! { want, all;
                CloneBlksize clone_blksize = 1;
                ChangeAttrType change_attr_type = ChangeAttrType4::MonotonicIncr;
                XattrSupport xattr_support = true;
            }
        }
    }

    fn object(&self, want: Bitmap4, (object, attr): (Object, &Attr), all: &mut Attributes<'_>) {
        let is_export = matches!(object, Object::File(id) if id.number == self.export);
        let fsid = match object {
            Object::Root => 0,
            Object::File(_) => self.fsid,
        };
        fill! { want, all;
            Type ftype = type_of(attr.kind);
            // It grows with every change, and never stays: the file system sees to that.
            Change change = attr.ctime_ns;
            Size size = attr.size;
            Fsid fsid = Fsid4 { major: fsid, minor: 0 };
            Fileid fileid = attr.fileid;
            Mode mode = attr.mode;
            Numlinks numlinks = attr.nlink;
            Rawdev rawdev = Specdata4 { specdata1: attr.rdev.0, specdata2: attr.rdev.1 };
            SpaceUsed space_used = attr.used;
            TimeAccess time_access = time(attr.atime_ns);
            TimeMetadata time_metadata = time(attr.ctime_ns);
            TimeModify time_modify = time(attr.mtime_ns);
            MountedOnFileid mounted_on_fileid = if is_export { EXPORT_FILEID } else { attr.fileid };
        }
    }
}

impl Compound<'_> {
    /// Where the values come from.
    ///
    /// # Errors
    /// INVAL: attributes are wanted that can only be set (RFC 8881 section 5.5).
    pub(super) fn source(&self, want: Bitmap4) -> Res<Source<'_>> {
        let only_set = Bitmap4::of(&[
            Attribute::TimeAccessSet,
            Attribute::TimeModifySet,
            Attribute::ModeSetMasked,
            Attribute::ModeUmask,
        ]);
        if !want.and(only_set).is_empty() {
            return Err(Nfsstat4::Inval);
        }
        let (shared, root) = (self.cx.shared, self.cx.shared.fs.root());
        let space = match want.and(OF_SPACE).is_empty() {
            true => None,
            false => shared.fs.fsstat(root).1.ok(),
        };
        Ok(Source {
            options: self.cx.options,
            minor: self.minor,
            fsid: shared.fsid,
            export: root.number,
            space,
        })
    }
}

//! GETATTR, SETATTR, VERIFY, NVERIFY, ACCESS, READLINK and the flavors of SECINFO.

use super::super::read_attributes::access_bits;
use super::attributes::supported;
use super::compound::{Compound, Results};
use super::handles::Object;
use super::set_attributes;
use crate::memfs::{FileKind, Rights};
use crate::nfs4::FileUse;
use filermark_onc::nfs4::access as bits;
use filermark_onc::nfs4::*;
use filermark_onc::xdr;

/// AUTH_SYS and AUTH_NONE (RFC 5531 section 8.2).
const FLAVORS: [Secinfo4<'_>; 2] = [Secinfo4::Flavor(1), Secinfo4::Flavor(0)];
/// The rights that ACCESS knows.
const RIGHTS: u32 =
    bits::READ | bits::LOOKUP | bits::MODIFY | bits::EXTEND | bits::DELETE | bits::EXECUTE;

/// ACCESS4_XAREAD, ACCESS4_XAWRITE and ACCESS4_XALIST (RFC 8276 section 8.5).
const XATTR_READ: u32 = 0x40;
const XATTR_WRITE: u32 = 0x80;
const XATTR_LIST: u32 = 0x100;
const XATTR_RIGHTS: u32 = XATTR_READ | XATTR_WRITE | XATTR_LIST;

const fn xattr_bits(rights: Rights) -> u32 {
    let read = if rights.read {
        XATTR_READ | XATTR_LIST
    } else {
        0
    };
    let write = if rights.write { XATTR_WRITE } else { 0 };
    read | write
}
/// What a client with a delegation for writing may have changed.
const UNDELEGATED: Bitmap4 = Bitmap4::of(&[
    Attribute::Change,
    Attribute::Size,
    Attribute::SpaceUsed,
    Attribute::TimeModify,
    Attribute::TimeMetadata,
]);

pub(super) fn flavors() -> SecinfoRes<'static> {
    Ok(SecinfoOk::new(&FLAVORS).unwrap_or_default())
}

impl Compound<'_> {
    pub(super) fn getattr(&self, args: &GetattrArgs, results: &mut Results<'_>) -> Nfsstat4 {
        let want = args.attr_request;
        let found = self.current().and_then(|object| {
            self.may_be_asked(object, want)?;
            let attr = self.attr(object)?;
            Ok((object, attr, self.source(want)?))
        });
        match found {
            Ok((object, attr, source)) => source.with(want, (object, &attr), |values| {
                results.result::<GetattrArgs>(&Ok(GetattrOk {
                    obj_attributes: Fattr4::new(values),
                }))
            }),
            Err(status) => results.fail(Operation::Getattr, status),
        }
    }

    /// Attributes that a client with a delegation for writing may have changed are asked for after its
    /// return (RFC 8881 section 10.4.3).
    ///
    /// # Errors
    /// DELAY.
    fn may_be_asked(&self, object: Object, want: Bitmap4) -> Res<()> {
        match object {
            Object::File(id) if !want.without(UNDELEGATED).eq(&want) => {
                self.undelegated([Some(id), None], FileUse::Read).map(drop)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn setattr(&self, args: &SetattrArgs<'_>) -> SetattrRes {
        let (status, attrsset) = match self.set(args) {
            Ok(()) => (Nfsstat4::Ok, args.obj_attributes.attrmask()),
            Err(status) => (status, Bitmap4::EMPTY),
        };
        SetattrRes { status, attrsset }
    }

    fn set(&self, args: &SetattrArgs<'_>) -> Res<()> {
        let object = self.current()?;
        let id = object.file()?;
        let set = set_attributes::of_setattr(&args.obj_attributes, self.minor)?;
        if set.size.is_some() {
            self.must_be_file(object)?;
            drop(self.check_stateid(&args.stateid, id, share::WRITE)?);
        }
        let _undelegated = self.undelegated([Some(id), None], FileUse::Change)?;
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        Self::of_fs(fs.setattr(id, &set, None, &cred).result)
    }

    /// Whether the object has these attributes, compared as they are in a message.
    fn has(&self, wanted: &Fattr4<'_>) -> Res<bool> {
        let object = self.current()?;
        let mask = wanted.attrmask();
        if mask.has(Attribute::RdattrError) {
            return Err(Nfsstat4::Inval);
        }
        let source = self.source(mask)?;
        if !mask.without(supported(self.minor)).is_empty() {
            return Err(Nfsstat4::Attrnotsupp);
        }
        wanted.attributes().map_err(|_| Nfsstat4::Badxdr)?;
        let attr = self.attr(object)?;
        let encoded = |fattr: &Fattr4<'_>| {
            let mut bytes = Vec::new();
            xdr::append(&mut bytes, fattr);
            bytes
        };
        Ok(source.with(mask, (object, &attr), |values| {
            encoded(&Fattr4::new(values)) == encoded(wanted)
        }))
    }

    pub(super) fn verify(&self, args: &VerifyArgs<'_>) -> VerifyRes {
        match self.has(&args.obj_attributes)? {
            true => Ok(()),
            false => Err(Nfsstat4::NotSame),
        }
    }

    pub(super) fn nverify(&self, args: &NverifyArgs<'_>) -> NverifyRes {
        match self.has(&args.obj_attributes)? {
            true => Err(Nfsstat4::Same),
            false => Ok(()),
        }
    }

    /// The rights of the caller.
    pub(super) fn rights(&self, object: Object) -> Res<Rights> {
        match object {
            Object::Root => Ok(Rights {
                read: true,
                write: false,
                execute: true,
                directory: true,
            }),
            Object::File(id) => {
                let (_, rights) = self.cx.shared.fs.access(id, &self.cx.caller.cred());
                Self::of_fs(rights)
            }
        }
    }

    pub(super) fn access(&self, args: &AccessArgs) -> AccessRes {
        let rights = self.rights(self.current()?)?;
        let (of_xattrs, of_both) = match self.minor {
            0 | 1 => (0, RIGHTS),
            _ => (xattr_bits(rights), RIGHTS | XATTR_RIGHTS),
        };
        let granted = access_bits(rights) | of_xattrs;
        let supported = args.access & of_both;
        Ok(AccessOk {
            supported,
            access: supported & granted,
        })
    }

    pub(super) fn readlink(&self, results: &mut Results<'_>) -> Nfsstat4 {
        let target = self.current().and_then(|object| {
            let id = object.file_or(Nfsstat4::WrongType)?;
            if self.attr(object)?.kind != FileKind::Symlink {
                return Err(Nfsstat4::WrongType);
            }
            Self::of_fs(self.cx.shared.fs.readlink(id).1)
        });
        match target {
            Ok(link) => results.result::<ReadlinkArgs>(&Ok(ReadlinkOk { link: &link })),
            Err(status) => results.fail(Operation::Readlink, status),
        }
    }
}

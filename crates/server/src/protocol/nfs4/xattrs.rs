//! GETXATTR, SETXATTR, LISTXATTRS and REMOVEXATTR (RFC 8276 section 8.4).

use super::compound::{Compound, Results};
use super::names::change_info;
use crate::memfs::{FileId, XattrSet};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::{Array, Opaque};

/// Cookie, length of the array and end mark of `LISTXATTRS4resok`, in bytes.
const LIST_BYTES: usize = 8 + 4 + 4;

impl Compound<'_> {
    fn with_xattrs(&self) -> Res<FileId> {
        self.current()?.file_or(Nfsstat4::Perm)
    }

    pub(super) fn getxattr(&self, args: &GetxattrArgs<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let found = self.with_xattrs();
        let found = found.and_then(|id| Self::of_fs(fs.xattr(id, args.name, &cred)));
        match found {
            Ok(value) => results.result::<GetxattrArgs<'_>>(&Ok(GetxattrOk { value: &value })),
            Err(status) => results.fail(Operation::Getxattr, status),
        }
    }

    pub(super) fn setxattr(&self, args: &SetxattrArgs<'_>) -> SetxattrRes {
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let id = self.with_xattrs()?;
        let how = match args.option {
            SetxattrOption4::Either => XattrSet::Either,
            SetxattrOption4::Create => XattrSet::Create,
            SetxattrOption4::Replace => XattrSet::Replace,
        };
        let changed = fs.set_xattr(id, (args.name, args.value), how, &cred);
        Self::of_fs(changed.result)?;
        let cinfo = change_info(&changed.wcc);
        Ok(SetxattrOk { cinfo })
    }

    pub(super) fn removexattr(&self, args: &RemovexattrArgs<'_>) -> RemovexattrRes {
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let id = self.with_xattrs()?;
        let changed = fs.remove_xattr(id, args.name, &cred);
        Self::of_fs(changed.result)?;
        let cinfo = change_info(&changed.wcc);
        Ok(RemovexattrOk { cinfo })
    }

    /// A cookie is the number of names before it.
    pub(super) fn listxattrs(&self, args: &ListxattrsArgs, results: &mut Results<'_>) -> Nfsstat4 {
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let found = self.with_xattrs();
        let names = match found.and_then(|id| Self::of_fs(fs.xattr_names(id, &cred))) {
            Ok(names) => names,
            Err(status) => return results.fail(Operation::Listxattrs, status),
        };
        let from = usize::try_from(args.cookie).unwrap_or(usize::MAX);
        let Some(rest) = names.get(from..) else {
            return results.fail(Operation::Listxattrs, Nfsstat4::BadCookie);
        };
        let mut left = (args.maxcount as usize).saturating_sub(LIST_BYTES);
        let mut listed: Vec<Opaque<'_, MAX_NAME>> = Vec::new();
        for name in rest {
            let bytes = 4 + name.len().next_multiple_of(4);
            if bytes > left {
                break;
            }
            left -= bytes;
            listed.push(Opaque(name));
        }
        let is_too_small = (args.maxcount as usize) < LIST_BYTES;
        if is_too_small || (listed.is_empty() && !rest.is_empty()) {
            return results.fail(Operation::Listxattrs, Nfsstat4::Toosmall);
        }
        let cookie = from + listed.len();
        results.result::<ListxattrsArgs>(&Ok(ListxattrsOk {
            cookie: cookie as u64,
            names: Array::new(&listed).unwrap_or_default(),
            eof: cookie == names.len(),
        }))
    }
}

//! Extended attributes of files and directories (RFC 8276).

use super::MemFs;
use super::inode::{Body, Inode, MAY_READ, MAY_WRITE, charge_of_xattr};
use super::table::{NAME_MAX, Table};
use super::types::{Changed, Cred, FileId, FsError};

/// Most bytes that the attributes of one object are charged.
pub const XATTR_BYTES_MAX: usize = 64 << 10;
/// What SETXATTR does with a name that exists, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum XattrSet {
    Either,
    Create,
    Replace,
}

impl Table {
    fn with_xattrs(&self, id: FileId, cred: &Cred<'_>, want: u32) -> Result<&Inode, FsError> {
        let inode = self.get(id)?;
        match inode.body {
            Body::Regular(_) | Body::Directory(_) if inode.permits(cred, want) => Ok(inode),
            Body::Regular(_) | Body::Directory(_) => Err(FsError::Acces),
            _ => Err(FsError::BadType),
        }
    }

    fn set_xattr(
        &mut self,
        id: FileId,
        (name, value): (&[u8], &[u8]),
        how: XattrSet,
    ) -> Result<(), FsError> {
        let inode = self.get(id)?;
        let before = inode.xattrs.get(name).map(|value| value.len());
        match (before, how) {
            (Some(_), XattrSet::Create) => return Err(FsError::Exist),
            (None, XattrSet::Replace) => return Err(FsError::NoXattr),
            _ => {}
        }
        let freed = before.map_or(0, |value| charge_of_xattr(name, value));
        let wanted = charge_of_xattr(name, value.len());
        let total = inode.xattr_bytes() - freed + wanted;
        if total > XATTR_BYTES_MAX as u64 {
            return Err(FsError::NoSpc);
        }
        self.charge(wanted.saturating_sub(freed))?;
        self.used_bytes -= freed.saturating_sub(wanted);
        self.get_mut(id)?.xattrs.insert(name.into(), value.into());
        self.attributes_changed(id)
    }

    fn attributes_changed(&mut self, id: FileId) -> Result<(), FsError> {
        let now = self.now();
        self.get_mut(id)?.ctime_ns = now;
        Ok(())
    }
}

impl MemFs {
    /// The value of an attribute.
    ///
    /// # Errors
    /// `NoXattr`; `BadType`: neither a file nor a directory; else as READ.
    pub fn xattr(&self, id: FileId, name: &[u8], cred: &Cred<'_>) -> Result<Box<[u8]>, FsError> {
        let table = self.read();
        let inode = table.with_xattrs(id, cred, MAY_READ)?;
        inode.xattrs.get(name).cloned().ok_or(FsError::NoXattr)
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `Exist`, `NoXattr`: as `how` demands; `NameTooLong`, `Inval`; else as WRITE.
    pub fn set_xattr(
        &self,
        id: FileId,
        (name, value): (&[u8], &[u8]),
        how: XattrSet,
        cred: &Cred<'_>,
    ) -> Changed<()> {
        self.change(id, |table| {
            table.with_xattrs(id, cred, MAY_WRITE)?;
            match name.len() {
                0 => Err(FsError::Inval),
                1..=NAME_MAX => table.set_xattr(id, (name, value), how),
                _ => Err(FsError::NameTooLong),
            }
        })
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// `NoXattr`; else as WRITE.
    pub fn remove_xattr(&self, id: FileId, name: &[u8], cred: &Cred<'_>) -> Changed<()> {
        self.change(id, |table| {
            table.with_xattrs(id, cred, MAY_WRITE)?;
            let removed = table.get_mut(id)?.xattrs.remove(name);
            let value = removed.ok_or(FsError::NoXattr)?;
            table.used_bytes -= charge_of_xattr(name, value.len());
            table.attributes_changed(id)
        })
    }

    /// The names of all attributes, in order.
    ///
    /// # Errors
    /// As READ.
    pub fn xattr_names(&self, id: FileId, cred: &Cred<'_>) -> Result<Vec<Box<[u8]>>, FsError> {
        let table = self.read();
        let inode = table.with_xattrs(id, cred, MAY_READ)?;
        Ok(inode.xattrs.keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::inode::XATTR_ENTRY_BYTES;
    use super::super::{CreateHow, FsConfig, SetAttr};
    use super::*;

    #[test]
    fn attributes_are_set_replaced_and_removed_and_their_space_is_free_again() {
        let fs = MemFs::new(FsConfig::default());
        let cred = Cred::ROOT;
        let free = || fs.read().free_bytes();
        let before = free();
        let how = CreateHow::Guarded(SetAttr::default());
        let made = fs.create(fs.root(), b"file", &how, &cred).result;
        let id = made.expect("made").id;
        let made = free();
        let set = |name: &[u8], value: &[u8], how| fs.set_xattr(id, (name, value), how, &cred);
        assert_eq!(set(b"a", b"1234", XattrSet::Create).result, Ok(()));
        let entry = XATTR_ENTRY_BYTES as u64;
        assert_eq!(made - free(), entry + 5);
        let again = set(b"a", b"12", XattrSet::Create).result;
        assert_eq!(again, Err(FsError::Exist));
        let none = set(b"b", b"12", XattrSet::Replace).result;
        assert_eq!(none, Err(FsError::NoXattr));
        let changed = set(b"a", b"12", XattrSet::Either);
        let (earlier, later) = (changed.wcc.before, changed.wcc.after);
        assert!(earlier.expect("there").ctime_ns < later.expect("there").ctime_ns);
        assert_eq!(made - free(), entry + 3);
        assert_eq!(fs.xattr(id, b"a", &cred).as_deref(), Ok(&b"12"[..]));
        assert_eq!(fs.xattr_names(id, &cred).expect("names").len(), 1);
        let long = vec![0; XATTR_BYTES_MAX];
        let full = set(b"b", &long, XattrSet::Either).result;
        assert_eq!(full, Err(FsError::NoSpc));
        assert_eq!(fs.remove_xattr(id, b"a", &cred).result, Ok(()));
        assert_eq!(
            fs.remove_xattr(id, b"a", &cred).result,
            Err(FsError::NoXattr)
        );
        assert_eq!(free(), made);
        set(b"a", b"1234", XattrSet::Either);
        fs.remove(fs.root(), b"file", &cred)
            .result
            .expect("removed");
        assert_eq!(free(), before);
    }

    /// Short names with empty values have a limit, too.
    #[test]
    fn many_small_attributes_count_as_what_they_take_in_memory() {
        let fs = MemFs::new(FsConfig::default());
        let how = CreateHow::Guarded(SetAttr::default());
        let made = fs.create(fs.root(), b"file", &how, &Cred::ROOT).result;
        let id = made.expect("made").id;
        let before = fs.read().free_bytes();
        let set = |n: u16| {
            let name = n.to_be_bytes();
            let set = fs.set_xattr(id, (&name, b""), XattrSet::Either, &Cred::ROOT);
            set.result.is_ok()
        };
        let count = (0..u16::MAX).take_while(|n| set(*n)).count();
        assert_eq!(count, XATTR_BYTES_MAX / (XATTR_ENTRY_BYTES + 2));
        let charged = before - fs.read().free_bytes();
        assert_eq!(charged, count as u64 * (XATTR_ENTRY_BYTES as u64 + 2));
    }

    #[test]
    fn only_who_may_read_or_write_the_file_has_them() {
        let fs = MemFs::new(FsConfig::default());
        let how = CreateHow::Guarded(SetAttr {
            mode: Some(0o644),
            ..SetAttr::default()
        });
        let made = fs.create(fs.root(), b"file", &how, &Cred::ROOT).result;
        let id = made.expect("made").id;
        let other = Cred::ANONYMOUS;
        let refused = fs.set_xattr(id, (b"a", b"1"), XattrSet::Either, &other);
        assert_eq!(refused.result, Err(FsError::Acces));
        assert_eq!(fs.xattr(id, b"a", &other), Err(FsError::NoXattr));
    }
}

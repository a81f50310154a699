//! The operations that only look: they share the lock.

use super::MemFs;
use super::dir::{COOKIE_DOT, COOKIE_DOT_DOT};
use super::inode::{Body, MAY_EXEC, MAY_READ};
use super::table::{Table, check_name, clock_ns};
use super::types::{
    Attr, Cred, DirEntry, FileId, FsError, FsStat, Listing, ObjectAttr, ReadEnd, Rights,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl MemFs {
    /// The attributes of an object (GETATTR).
    ///
    /// # Errors
    /// `Stale`.
    pub fn getattr(&self, id: FileId) -> Result<Attr, FsError> {
        self.read().attr(id).ok_or(FsError::Stale)
    }

    /// Finds a name, also `.` and `..`, in a directory (LOOKUP). Returns the attributes of
    /// the directory beside the outcome.
    pub fn lookup(
        &self,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
    ) -> (Option<Attr>, Result<ObjectAttr, FsError>) {
        self.look(dir, |table| {
            let (inode, names) = table.dir(dir)?;
            if !inode.permits(cred, MAY_EXEC) {
                return Err(FsError::Acces);
            }
            let number = match name {
                b"." => dir.number,
                b".." => names.parent,
                _ => {
                    check_name(name)?;
                    names.get(name).ok_or(FsError::NoEnt)?
                }
            };
            let id = table.id_of(number);
            Ok(ObjectAttr {
                id,
                attr: table.attr(id).ok_or(FsError::Stale)?,
            })
        })
    }

    /// What the caller may do with an object (ACCESS).
    pub fn access(&self, id: FileId, cred: &Cred<'_>) -> (Option<Attr>, Result<Rights, FsError>) {
        self.look(id, |table| {
            let mut rights = table.get(id)?.rights(cred);
            rights.write &= !self.read_only;
            Ok(rights)
        })
    }

    /// The target of a symbolic link (READLINK); `Inval` for anything else.
    pub fn readlink(&self, id: FileId) -> (Option<Attr>, Result<Arc<[u8]>, FsError>) {
        self.look(id, |table| {
            let inode = table.get(id)?;
            let Body::Symlink(target) = &inode.body else {
                return Err(FsError::Inval);
            };
            inode.atime_ns.store(clock_ns(), Ordering::Relaxed);
            Ok(target.clone())
        })
    }

    /// Appends up to `count` bytes of the file to `out` (READ).
    pub fn read_file(
        &self,
        id: FileId,
        offset: u64,
        count: u32,
        cred: &Cred<'_>,
        out: &mut Vec<u8>,
    ) -> (Option<Attr>, Result<ReadEnd, FsError>) {
        self.look(id, |table| {
            let inode = table.get(id)?;
            let data = match &inode.body {
                Body::Regular(data) => data,
                Body::Directory(_) => return Err(FsError::IsDir),
                _ => return Err(FsError::Inval),
            };
            // Who may execute a file must be able to fetch it (RFC 1813, 4.4).
            if !inode.permits_io(cred, MAY_READ) && !inode.permits(cred, MAY_EXEC) {
                return Err(FsError::Acces);
            }
            inode.atime_ns.store(clock_ns(), Ordering::Relaxed);
            let count = data.read(offset, count, out);
            let eof = offset.saturating_add(u64::from(count)) >= data.size();
            Ok(ReadEnd { count, eof })
        })
    }

    /// Lists the names behind `cookie` (0: from the start) for as long as `take` agrees;
    /// it is asked with each entry in turn. With `attributes`, entries carry theirs.
    ///
    /// The verifier must be the one that came with the cookie, else `BadCookie`; callers whose protocol
    /// has none pass `None`.
    pub fn readdir(
        &self,
        dir: FileId,
        cookie: u64,
        verifier: Option<u64>,
        cred: &Cred<'_>,
        attributes: bool,
        mut take: impl FnMut(&DirEntry) -> bool,
    ) -> (Option<Attr>, Result<Listing, FsError>) {
        self.look(dir, |table| {
            let (inode, names) = table.dir(dir)?;
            if !inode.permits(cred, MAY_READ) {
                return Err(FsError::Acces);
            }
            if cookie != 0 && verifier.is_some_and(|verifier| verifier != inode.born_ns) {
                return Err(FsError::BadCookie);
            }
            inode.atime_ns.store(clock_ns(), Ordering::Relaxed);
            let mut list = Listing {
                entries: Vec::new(),
                eof: true,
                verifier: inode.born_ns,
            };
            let dots = [
                (COOKIE_DOT, &b"."[..], dir.number),
                (COOKIE_DOT_DOT, b"..", names.parent),
            ];
            let dots = dots.into_iter().filter(|(at, ..)| *at > cookie);
            let all = dots
                .map(|(at, name, number)| (at, Arc::from(name), number))
                .chain(
                    names
                        .after(cookie.max(COOKIE_DOT_DOT))
                        .map(|(at, n, i)| (at, n.clone(), i)),
                );
            for (cookie, name, number) in all {
                let entry = dir_entry(table, name, cookie, number, attributes);
                if !take(&entry) {
                    list.eof = false;
                    break;
                }
                list.entries.push(entry);
            }
            Ok(list)
        })
    }

    /// Space and inodes (FSSTAT); the attributes are those of `id`.
    pub fn fsstat(&self, id: FileId) -> (Option<Attr>, Result<FsStat, FsError>) {
        self.look(id, |table| {
            table.get(id)?;
            Ok(FsStat {
                total_bytes: table.capacity_bytes,
                free_bytes: table.free_bytes(),
                total_files: table.max_files,
                free_files: table
                    .max_files
                    .saturating_sub(table.inodes().max(table.names)),
            })
        })
    }
}

fn dir_entry(table: &Table, name: Arc<[u8]>, cookie: u64, number: u64, attr: bool) -> DirEntry {
    let id = table.id_of(number);
    DirEntry {
        name,
        cookie,
        id,
        attr: if attr { table.attr(id) } else { None },
    }
}

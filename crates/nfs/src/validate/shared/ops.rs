//! The calls that checks of several versions share.

use crate::client::{DirEntry, RpcClient};
use crate::target::Target;
use crate::validate::bench::{Answer, Bench, Refused, Version};
use crate::validate::text::{is_dot, shown};
use filermark_driver_kit::checks::{Outcome, Stop, same_bytes};
use filermark_onc::nfs3::{Fattr3, Verf, fsf};
use std::fmt::Debug;

/// The answer of a procedure, with only the version's status if it fails.
pub(in crate::validate) type Asked<V, O> = Answer<O, <V as Version>::Status>;

/// The attributes that shared checks compare, in types that hold those of all versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::validate) struct Facts {
    pub(in crate::validate) fsid: u64,
    pub(in crate::validate) fileid: u64,
    pub(in crate::validate) size: u64,
    pub(in crate::validate) nlink: u32,
    pub(in crate::validate) mode: u32,
    pub(in crate::validate) uid: u32,
}

impl From<&Fattr3> for Facts {
    fn from(attributes: &Fattr3) -> Self {
        Self {
            fsid: attributes.fsid,
            fileid: attributes.fileid,
            size: attributes.size,
            nlink: attributes.nlink,
            mode: attributes.mode,
            uid: attributes.uid,
        }
    }
}

/// An entry of a listing.
#[derive(Clone, Debug)]
pub(in crate::validate) struct ListedEntry<P> {
    pub(in crate::validate) name: Vec<u8>,
    pub(in crate::validate) fileid: u64,
    /// The position after it.
    pub(in crate::validate) next: P,
}

/// The entries of a directory.
pub(in crate::validate) type Entries<V> = Vec<ListedEntry<<V as Common>::Position>>;

/// An answer to READDIR.
#[derive(Clone, Debug)]
pub(in crate::validate) struct ListingPart<P> {
    pub(in crate::validate) entries: Vec<ListedEntry<P>>,
    pub(in crate::validate) eof: bool,
}

impl ListingPart<(u64, Verf)> {
    /// The entries of an answer with a cookie verifier.
    pub(in crate::validate) fn of(entries: Vec<DirEntry>, cookieverf: Verf, eof: bool) -> Self {
        let listed = |entry: DirEntry| ListedEntry {
            name: entry.name,
            fileid: entry.fileid,
            next: (entry.cookie, cookieverf),
        };
        Self {
            entries: entries.into_iter().map(listed).collect(),
            eof,
        }
    }
}

/// The procedures and statuses that versions 2, 3 and 4.1 share. Answers are not translated.
pub(in crate::validate) trait Common: Version {
    /// Attributes of the version.
    type Attributes;
    /// The type of an object.
    type Kind: Copy + PartialEq + Debug;
    /// An offset in a file.
    type Offset: Copy + From<u32> + Into<u64>;
    /// A position in a listing.
    type Position: Copy;
    /// The position of the first entry.
    const START: Self::Position;
    /// The type of a regular file.
    const REG: Self::Kind;
    /// The type of a directory.
    const DIR: Self::Kind;
    /// No such name.
    const NOENT: Self::Status;
    /// The name exists.
    const EXIST: Self::Status;
    /// Not a directory.
    const NOTDIR: Self::Status;
    /// A directory.
    const ISDIR: Self::Status;
    /// The procedure is not supported, if the version has a status for it.
    const NOTSUPP: Option<Self::Status>;

    /// Whether the server states that it has no links of this kind, a bit of
    /// [`filermark_onc::nfs3::fsf`].
    fn lacks(_target: &Target, _property: u32) -> bool {
        false
    }

    /// The attributes that shared checks compare.
    fn facts(attributes: &Self::Attributes) -> Facts;
    /// The type in attributes.
    fn kind(attributes: &Self::Attributes) -> Self::Kind;
    /// The RPC client below a client.
    fn rpc(nfs: &mut Self::Client) -> &mut RpcClient;
    /// Size of the answers to READDIR in which whole directories are listed, in bytes.
    fn list_bytes(target: &Target) -> u32;
    /// GETATTR.
    fn getattr(nfs: &mut Self::Client, object: &Self::Handle) -> Asked<Self, Self::Attributes>;
    /// LOOKUP.
    fn lookup(nfs: &mut Self::Client, dir: &Self::Handle, name: &[u8])
    -> Asked<Self, Self::Handle>;
    /// CREATE of a name that must be new, mode 644. Returns the handle if the answer has it.
    fn create(
        nfs: &mut Self::Client,
        dir: &Self::Handle,
        name: &[u8],
    ) -> Asked<Self, Option<Self::Handle>>;
    /// MKDIR, mode 755. Returns the handle if the answer has it.
    fn mkdir(
        nfs: &mut Self::Client,
        dir: &Self::Handle,
        name: &[u8],
    ) -> Asked<Self, Option<Self::Handle>>;
    /// REMOVE.
    fn remove(nfs: &mut Self::Client, dir: &Self::Handle, name: &[u8]) -> Asked<Self, ()>;
    /// RMDIR.
    fn rmdir(nfs: &mut Self::Client, dir: &Self::Handle, name: &[u8]) -> Asked<Self, ()>;
    /// RENAME.
    fn rename(
        nfs: &mut Self::Client,
        from: (&Self::Handle, &[u8]),
        to: (&Self::Handle, &[u8]),
    ) -> Asked<Self, ()>;
    /// LINK.
    fn link(
        nfs: &mut Self::Client,
        file: &Self::Handle,
        dir: &Self::Handle,
        name: &[u8],
    ) -> Asked<Self, ()>;

    /// SYMLINK. Returns the handle if the answer has it.
    fn symlink(
        nfs: &mut Self::Client,
        dir: &Self::Handle,
        name: &[u8],
        text: &[u8],
    ) -> Asked<Self, Option<Self::Handle>>;
    /// READLINK.
    fn readlink(nfs: &mut Self::Client, link: &Self::Handle) -> Asked<Self, Vec<u8>>;
    /// READDIR with an answer of `count` bytes at most.
    fn readdir(
        nfs: &mut Self::Client,
        dir: &Self::Handle,
        from: Self::Position,
        count: u32,
    ) -> Asked<Self, ListingPart<Self::Position>>;

    /// Writes all of `data`, in as many calls as necessary.
    fn put(
        b: &mut Bench<'_, Self>,
        file: &Self::Handle,
        offset: Self::Offset,
        data: &[u8],
    ) -> Outcome;
    /// Reads `count` bytes, in as many calls as necessary; fewer only at the end of the file.
    fn get(
        b: &mut Bench<'_, Self>,
        file: &Self::Handle,
        offset: Self::Offset,
        count: u32,
    ) -> Result<Vec<u8>, Stop>;
}

impl<V: Common> Bench<'_, V> {
    /// As [`Bench::done`], but skips the check if the server does not support the procedure.
    pub(in crate::validate) fn done_if_supported<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<O, Stop> {
        match self.either(what, call)? {
            Ok(ok) => Ok(ok),
            Err(status) => Err(self.unsupported_or_wrong(what, status)),
        }
    }

    /// The end of a check of links that the server states not to have.
    pub(in crate::validate) fn stated_to_lack(&self, what: &str) -> Stop {
        Stop::Skip(format!(
            "{what}: the server states that it has no such links"
        ))
    }

    /// The end of a check whose call was answered with this status instead of results.
    pub(in crate::validate) fn unsupported_or_wrong(&self, what: &str, status: V::Status) -> Stop {
        if V::NOTSUPP == Some(status) {
            return Stop::Skip(format!("{what}: the server does not support it"));
        }
        Stop::fail(format!("{what}: {}", V::OK), status)
    }

    /// Attributes by GETATTR.
    pub(in crate::validate) fn attributes(
        &mut self,
        object: &V::Handle,
    ) -> Result<V::Attributes, Stop> {
        self.done("GETATTR", |nfs| V::getattr(nfs, object))
    }

    /// The attributes that shared checks compare, by GETATTR.
    pub(in crate::validate) fn facts(&mut self, object: &V::Handle) -> Result<Facts, Stop> {
        Ok(V::facts(&self.attributes(object)?))
    }

    /// The handle of a name, by LOOKUP.
    pub(in crate::validate) fn find(
        &mut self,
        dir: &V::Handle,
        name: &[u8],
    ) -> Result<V::Handle, Stop> {
        let what = format!("LOOKUP of {}", shown(name));
        self.done(&what, |nfs| V::lookup(nfs, dir, name))
    }

    /// LOOKUP of the name must fail: it does not exist.
    pub(in crate::validate) fn absent(&mut self, dir: &V::Handle, name: &[u8]) -> Outcome {
        let what = format!("LOOKUP of {}", shown(name));
        self.refused(&what, &[V::NOENT], |nfs| V::lookup(nfs, dir, name))
            .map(drop)
    }

    /// A new empty file in the check's directory, mode 644.
    pub(in crate::validate) fn file(&mut self, name: &[u8]) -> Result<V::Handle, Stop> {
        let dir = self.dir;
        self.file_in(&dir, name)
    }

    /// A new empty file, mode 644.
    pub(in crate::validate) fn file_in(
        &mut self,
        dir: &V::Handle,
        name: &[u8],
    ) -> Result<V::Handle, Stop> {
        let what = format!("CREATE of {}", shown(name));
        let made = self.done(&what, |nfs| V::create(nfs, dir, name))?;
        self.handle_of(made, dir, name)
    }

    /// A new file in the check's directory with these contents.
    pub(in crate::validate) fn file_with(
        &mut self,
        name: &[u8],
        data: &[u8],
    ) -> Result<V::Handle, Stop> {
        let file = self.file(name)?;
        self.put(&file, V::Offset::from(0), data)?;
        Ok(file)
    }

    /// A new directory in the check's directory, mode 755.
    pub(in crate::validate) fn mkdir(&mut self, name: &[u8]) -> Result<V::Handle, Stop> {
        let dir = self.dir;
        self.mkdir_in(&dir, name)
    }

    /// A new directory, mode 755.
    pub(in crate::validate) fn mkdir_in(
        &mut self,
        dir: &V::Handle,
        name: &[u8],
    ) -> Result<V::Handle, Stop> {
        let what = format!("MKDIR of {}", shown(name));
        let made = self.done(&what, |nfs| V::mkdir(nfs, dir, name))?;
        self.handle_of(made, dir, name)
    }

    /// A new symbolic link in the check's directory.
    pub(in crate::validate) fn symlink(
        &mut self,
        name: &[u8],
        text: &[u8],
    ) -> Result<V::Handle, Stop> {
        let dir = self.dir;
        let made = match self.either("SYMLINK", |nfs| V::symlink(nfs, &dir, name, text))? {
            Ok(made) => made,
            Err(_) if V::lacks(self.target, fsf::SYMLINK) => {
                return Err(self.stated_to_lack("SYMLINK"));
            }
            Err(status) => return Err(self.unsupported_or_wrong("SYMLINK", status)),
        };
        self.handle_of(made, &dir, name)
    }

    /// The handle of a file that was removed again.
    pub(in crate::validate) fn removed_file(&mut self) -> Result<V::Handle, Stop> {
        let dir = self.dir;
        let file = self.file(b"gone")?;
        self.done("REMOVE", |nfs| V::remove(nfs, &dir, b"gone"))?;
        Ok(file)
    }

    /// The handle of a directory that was removed again.
    pub(in crate::validate) fn removed_dir(&mut self) -> Result<V::Handle, Stop> {
        let dir = self.dir;
        let gone = self.mkdir(b"gone")?;
        self.done("RMDIR", |nfs| V::rmdir(nfs, &dir, b"gone"))?;
        Ok(gone)
    }

    /// All entries of a directory except "." and "..".
    pub(in crate::validate) fn list(&mut self, dir: &V::Handle) -> Result<Entries<V>, Stop> {
        let count = V::list_bytes(self.target);
        let (mut all, mut seen) = (Vec::new(), 0);
        let mut from = V::START;
        loop {
            let part = self.done("READDIR", |nfs| V::readdir(nfs, dir, from, count))?;
            let last = part.entries.last().map(|entry| entry.next);
            seen += part.entries.len();
            all.extend(part.entries.into_iter().filter(|e| !is_dot(&e.name)));
            match last {
                Some(next) if !part.eof => from = next,
                _ => return Ok(all),
            }
            if seen > 10_000 {
                return Err(Stop::fail("READDIR: an end", "more than 10000 entries"));
            }
        }
    }

    /// The handle of a new object: from the answer, or by LOOKUP.
    pub(in crate::validate) fn handle_of(
        &mut self,
        given: Option<V::Handle>,
        dir: &V::Handle,
        name: &[u8],
    ) -> Result<V::Handle, Stop> {
        match given {
            Some(handle) => Ok(handle),
            None => self.find(dir, name),
        }
    }

    /// Writes all of `data`, in as many calls as necessary.
    pub(in crate::validate) fn put(
        &mut self,
        file: &V::Handle,
        offset: V::Offset,
        data: &[u8],
    ) -> Outcome {
        V::put(self, file, offset, data)
    }

    /// Reads `count` bytes; fewer only at the end of the file.
    pub(in crate::validate) fn get(
        &mut self,
        file: &V::Handle,
        offset: V::Offset,
        count: u32,
    ) -> Result<Vec<u8>, Stop> {
        V::get(self, file, offset, count)
    }

    /// The bytes at `offset` must be these.
    pub(in crate::validate) fn contains(
        &mut self,
        file: &V::Handle,
        offset: V::Offset,
        wanted: &[u8],
    ) -> Outcome {
        let got = self.get(file, offset, wanted.len() as u32)?;
        same_bytes(offset.into(), wanted, &got)
    }

    /// The first bytes of a file must be these.
    pub(in crate::validate) fn begins_with(&mut self, file: &V::Handle, wanted: &[u8]) -> Outcome {
        self.contains(file, V::Offset::from(0), wanted)
    }
}

//! What the checks of version 3 say to the server, over and over.

use crate::client::{ClientError, Nfs3Client};
use crate::target::Target;
use crate::validate::bench::{self, Denial, Of, Version};
use crate::validate::text::{is_dot, shown};
pub(super) use filermark_driver_kit::checks::Outcome;
use filermark_driver_kit::checks::{self, Stop, same_bytes};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::*;

/// NFSv3.
pub(in crate::validate) struct V3;

/// What its checks work with.
pub(super) type Bench<'a> = bench::Bench<'a, V3>;
/// One of its checks.
pub(super) type Check = checks::Check<Of<V3>>;

impl Version for V3 {
    type Client = Nfs3Client;
    type Procedure = Procedure;
    type Status = Nfsstat3;
    const NAME: &'static str = "NFSv3";
    const OK: Nfsstat3 = Nfsstat3::Ok;
    const STALE: Nfsstat3 = Nfsstat3::Stale;

    fn is_gone(status: Nfsstat3) -> bool {
        matches!(status, Nfsstat3::Stale | Nfsstat3::Badhandle)
    }

    fn client(target: &Target, plan: &NfsPlan) -> Nfs3Client {
        target.nfs_client(plan)
    }

    fn null(client: &mut Nfs3Client) -> Result<(), ClientError> {
        client.null()
    }

    fn name_of(procedure: Procedure) -> &'static str {
        procedure.name()
    }

    fn section_of(procedure: Procedure) -> String {
        format!("RFC 1813 section 3.3.{}", procedure.to_u32())
    }
}

impl<F> Denial for Failed<F> {
    type Status = Nfsstat3;

    fn status(&self) -> Nfsstat3 {
        self.status
    }

    fn is_for_later(&self) -> bool {
        self.status == Nfsstat3::Jukebox
    }
}

impl Bench<'_> {
    /// As [`Bench::done`]; a server that does not have the procedure is let off.
    pub(super) fn done_if_supported<O, F>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut Nfs3Client) -> crate::client::Reply<O, F>,
    ) -> Result<O, Stop> {
        match self.either(what, call)? {
            Ok(ok) => Ok(ok),
            Err(Nfsstat3::Notsupp) => Err(Stop::Skip(format!(
                "{what}: the server does not support it"
            ))),
            Err(status) => Err(Stop::fail(format!("{what}: NFS3_OK"), status)),
        }
    }

    /// Attributes by GETATTR.
    pub(super) fn attributes(&mut self, object: &Fh) -> Result<Fattr3, Stop> {
        self.done("GETATTR", |nfs| nfs.getattr(object))
    }

    /// The handle behind a name.
    pub(super) fn find(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let what = format!("LOOKUP of {}", shown(name));
        Ok(self.done(&what, |nfs| nfs.lookup(dir, name))?.object)
    }

    /// The name is not there.
    pub(super) fn absent(&mut self, dir: &Fh, name: &[u8]) -> Result<(), Stop> {
        let what = format!("LOOKUP of {}", shown(name));
        self.refused(&what, &[Nfsstat3::Noent], |nfs| nfs.lookup(dir, name))
            .map(drop)
    }

    /// A new empty file in the check's directory, mode 644.
    pub(super) fn file(&mut self, name: &[u8]) -> Result<Fh, Stop> {
        let dir = self.dir;
        self.file_in(&dir, name)
    }

    /// A new empty file, mode 644.
    pub(super) fn file_in(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let how = Createhow3::Guarded(Sattr3::mode(0o644));
        let what = format!("CREATE of {}", shown(name));
        let made = self.done(&what, |nfs| nfs.create(dir, name, how))?;
        self.handle_of(made.obj, dir, name)
    }

    /// A new file in the check's directory with these bytes in it.
    pub(super) fn file_with(&mut self, name: &[u8], data: &[u8]) -> Result<Fh, Stop> {
        let file = self.file(name)?;
        self.put(&file, 0, data)?;
        Ok(file)
    }

    /// A new directory in the check's directory, mode 755.
    pub(super) fn mkdir(&mut self, name: &[u8]) -> Result<Fh, Stop> {
        let dir = self.dir;
        self.mkdir_in(&dir, name)
    }

    /// A new directory, mode 755.
    pub(super) fn mkdir_in(&mut self, dir: &Fh, name: &[u8]) -> Result<Fh, Stop> {
        let what = format!("MKDIR of {}", shown(name));
        let made = self.done(&what, |nfs| nfs.mkdir(dir, name, Sattr3::mode(0o755)))?;
        self.handle_of(made.obj, dir, name)
    }

    /// The handle of what was just made: given with it, or looked up.
    pub(super) fn handle_of(
        &mut self,
        given: Option<Fh>,
        dir: &Fh,
        name: &[u8],
    ) -> Result<Fh, Stop> {
        match given {
            Some(handle) => Ok(handle),
            None => self.find(dir, name),
        }
    }

    /// Writes all of `data` with FILE_SYNC, in as many calls as the server wants.
    pub(super) fn put(&mut self, file: &Fh, offset: u64, data: &[u8]) -> Result<(), Stop> {
        let wsize = self.target.wsize as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let part = rest.get(..wsize).unwrap_or(rest);
            let at = offset + done as u64;
            let what = format!("WRITE of {} bytes at {at}", part.len());
            let wrote = self.done(&what, |nfs| nfs.write(file, at, StableHow::FileSync, part))?;
            let count = wrote.count as usize;
            if count == 0 || count > part.len() {
                let expected = format!("{what}: a count of 1 to {}", part.len());
                return Err(Stop::fail(expected, count));
            }
            done += count;
        }
        Ok(())
    }

    /// Reads `count` bytes, in as many calls as the server wants; fewer only at
    /// the end of the file.
    pub(super) fn get(&mut self, file: &Fh, offset: u64, count: u32) -> Result<Vec<u8>, Stop> {
        let mut data = Vec::new();
        while (data.len() as u64) < u64::from(count) {
            let left = count - data.len() as u32;
            let at = offset + data.len() as u64;
            let part = left.min(self.target.rsize);
            let what = format!("READ of {part} bytes at {at}");
            let read = self.done(&what, |nfs| nfs.read(file, at, part))?;
            self.equal(
                &format!("{what}: count as many as the data"),
                read.data.len(),
                read.count as usize,
            )?;
            let fits = read.count <= part;
            self.holds(fits, &format!("{what}: {part} bytes at most"), read.count)?;
            if read.data.is_empty() && !read.eof {
                return Err(Stop::fail(
                    format!("{what}: data, or eof"),
                    "neither: a client would ask for ever",
                ));
            }
            data.extend_from_slice(&read.data);
            if read.eof {
                break;
            }
        }
        Ok(data)
    }

    /// The bytes at `offset` have to be these.
    pub(super) fn contains(&mut self, file: &Fh, offset: u64, wanted: &[u8]) -> Result<(), Stop> {
        let got = self.get(file, offset, wanted.len() as u32)?;
        same_bytes(offset, wanted, &got)
    }

    /// All entries of a directory but "." and "..", read with ordinary sizes.
    pub(super) fn list(&mut self, dir: &Fh) -> Result<Vec<crate::client::DirEntry>, Stop> {
        let count = self.target.dir_bytes();
        let mut all = Vec::new();
        let mut from = (0, Verf::default());
        loop {
            let part = self.done("READDIR", |nfs| nfs.readdir(dir, from, count))?;
            let last = part.entries.last().map(|entry| entry.cookie);
            all.extend(part.entries.into_iter().filter(|e| !is_dot(&e.name)));
            match last {
                Some(cookie) if !part.eof => from = (cookie, part.cookieverf),
                _ => return Ok(all),
            }
            if all.len() > 10_000 {
                return Err(Stop::fail("READDIR: an end", "more than 10000 entries"));
            }
        }
    }
}

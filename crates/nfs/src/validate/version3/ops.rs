//! The calls that the checks of version 3 share.

use crate::client::{ClientError, Nfs3Client, Reply};
use crate::target::Target;
use crate::validate::bench::{self, Of, Refused, Version};
use crate::validate::both::ops::{Asked, Common, Facts};
use crate::validate::text::is_dot;
pub(super) use filermark_driver_kit::checks::Outcome;
use filermark_driver_kit::checks::{self, Stop};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::*;

/// NFSv3.
pub(in crate::validate) struct V3;

/// The bench of its checks.
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

impl Refused for Nfsstat3 {
    type Status = Self;

    fn status(&self) -> Self {
        *self
    }

    fn is_for_later(&self) -> bool {
        *self == Self::Jukebox
    }
}

impl<F> Refused for Failed<F> {
    type Status = Nfsstat3;

    fn status(&self) -> Nfsstat3 {
        self.status
    }

    fn is_for_later(&self) -> bool {
        self.status.is_for_later()
    }
}

/// An answer reduced to a part of its results, or the status of its failure.
fn only<O, P, F>(reply: Reply<O, F>, part: impl FnOnce(O) -> P) -> Asked<V3, P> {
    reply.map(|answer| answer.map(part).map_err(|failed| failed.status))
}

impl Common for V3 {
    type Attributes = Fattr3;
    type Offset = u64;
    const NOENT: Nfsstat3 = Nfsstat3::Noent;
    const EXIST: Nfsstat3 = Nfsstat3::Exist;
    const NOTDIR: Nfsstat3 = Nfsstat3::Notdir;
    const ISDIR: Nfsstat3 = Nfsstat3::Isdir;
    const NOTSUPP: Option<Nfsstat3> = Some(Nfsstat3::Notsupp);

    fn facts(attributes: &Fattr3) -> Facts {
        Facts {
            fsid: attributes.fsid,
            fileid: attributes.fileid,
            size: attributes.size,
            nlink: attributes.nlink,
        }
    }

    fn getattr(nfs: &mut Nfs3Client, object: &Fh) -> Asked<Self, Fattr3> {
        only(nfs.getattr(object), |attributes| attributes)
    }

    fn lookup(nfs: &mut Nfs3Client, dir: &Fh, name: &[u8]) -> Asked<Self, Fh> {
        only(nfs.lookup(dir, name), |found| found.object)
    }

    fn create(nfs: &mut Nfs3Client, dir: &Fh, name: &[u8]) -> Asked<Self, Option<Fh>> {
        let how = Createhow3::Guarded(Sattr3::mode(0o644));
        only(nfs.create(dir, name, how), |made| made.obj)
    }

    fn mkdir(nfs: &mut Nfs3Client, dir: &Fh, name: &[u8]) -> Asked<Self, Option<Fh>> {
        only(nfs.mkdir(dir, name, Sattr3::mode(0o755)), |made| made.obj)
    }

    fn remove(nfs: &mut Nfs3Client, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        only(nfs.remove(dir, name), drop)
    }

    fn rmdir(nfs: &mut Nfs3Client, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        only(nfs.rmdir(dir, name), drop)
    }

    fn rename(nfs: &mut Nfs3Client, from: (&Fh, &[u8]), to: (&Fh, &[u8])) -> Asked<Self, ()> {
        only(nfs.rename(from, to), drop)
    }

    fn link(nfs: &mut Nfs3Client, file: &Fh, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        only(nfs.link(file, dir, name), drop)
    }

    /// Writes with FILE_SYNC.
    fn put(b: &mut Bench<'_>, file: &Fh, offset: u64, data: &[u8]) -> Outcome {
        let wsize = b.target.wsize as usize;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let part = rest.get(..wsize).unwrap_or(rest);
            let at = offset + done as u64;
            let what = format!("WRITE of {} bytes at {at}", part.len());
            let wrote = b.done(&what, |nfs| nfs.write(file, at, StableHow::FileSync, part))?;
            let count = wrote.count as usize;
            if count == 0 || count > part.len() {
                let expected = format!("{what}: a count of 1 to {}", part.len());
                return Err(Stop::fail(expected, count));
            }
            done += count;
        }
        Ok(())
    }

    fn get(b: &mut Bench<'_>, file: &Fh, offset: u64, count: u32) -> Result<Vec<u8>, Stop> {
        let mut data = Vec::new();
        while (data.len() as u64) < u64::from(count) {
            let left = count - data.len() as u32;
            let at = offset + data.len() as u64;
            let part = left.min(b.target.rsize);
            let what = format!("READ of {part} bytes at {at}");
            let read = b.done(&what, |nfs| nfs.read(file, at, part))?;
            b.equal(
                &format!("{what}: count equal to the length of the data"),
                read.data.len(),
                read.count as usize,
            )?;
            let fits = read.count <= part;
            b.holds(fits, &format!("{what}: {part} bytes at most"), read.count)?;
            if read.data.is_empty() && !read.eof {
                return Err(Stop::fail(
                    format!("{what}: data, or eof"),
                    "neither: a client would repeat the READ without end",
                ));
            }
            data.extend_from_slice(&read.data);
            if read.eof {
                break;
            }
        }
        Ok(data)
    }

    fn names(b: &mut Bench<'_>, dir: &Fh) -> Result<Vec<Vec<u8>>, Stop> {
        let entries = b.list(dir)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }
}

impl Bench<'_> {
    /// All entries of a directory except "." and "..", in answers of the preferred size.
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

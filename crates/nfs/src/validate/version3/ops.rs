//! The calls that the checks of version 3 share.

use crate::client::{AnyFh, ClientError, Nfs3Client, Reply, RpcClient, narrow};
use crate::target::Target;
use crate::validate::bench::{self, Of, Refused, Version};
use crate::validate::shared::ops::{Asked, Common, Facts, ListingPart};
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
    type Handle = Fh;
    type Procedure = Procedure;
    type Dialect = ();
    type Status = Nfsstat3;
    const NAME: &'static str = "NFSv3";
    const OK: Nfsstat3 = Nfsstat3::Ok;
    const STALE: Nfsstat3 = Nfsstat3::Stale;

    fn is_gone(status: Nfsstat3) -> bool {
        matches!(status, Nfsstat3::Stale | Nfsstat3::Badhandle)
    }

    fn handle(handle: &AnyFh) -> Fh {
        narrow(handle)
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
    type Kind = Ftype3;
    type Offset = u64;
    type Position = (u64, Verf);
    const START: (u64, Verf) = (0, [0; VERFSIZE]);
    const REG: Ftype3 = Ftype3::Reg;
    const DIR: Ftype3 = Ftype3::Dir;
    const NOENT: Nfsstat3 = Nfsstat3::Noent;
    const EXIST: Nfsstat3 = Nfsstat3::Exist;
    const NOTDIR: Nfsstat3 = Nfsstat3::Notdir;
    const ISDIR: Nfsstat3 = Nfsstat3::Isdir;
    const NOTSUPP: Option<Nfsstat3> = Some(Nfsstat3::Notsupp);

    fn facts(attributes: &Fattr3) -> Facts {
        attributes.into()
    }

    fn kind(attributes: &Fattr3) -> Ftype3 {
        attributes.ftype
    }

    fn rpc(nfs: &mut Nfs3Client) -> &mut RpcClient {
        nfs.rpc()
    }

    /// Answers of the preferred size.
    fn list_bytes(target: &Target) -> u32 {
        target.dir_bytes()
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

    fn symlink(
        nfs: &mut Nfs3Client,
        dir: &Fh,
        name: &[u8],
        text: &[u8],
    ) -> Asked<Self, Option<Fh>> {
        only(nfs.symlink(dir, name, text), |made| made.obj)
    }

    fn readlink(nfs: &mut Nfs3Client, link: &Fh) -> Asked<Self, Vec<u8>> {
        only(nfs.readlink(link), |read| read.data)
    }

    fn readdir(
        nfs: &mut Nfs3Client,
        dir: &Fh,
        from: (u64, Verf),
        count: u32,
    ) -> Asked<Self, ListingPart<(u64, Verf)>> {
        only(nfs.readdir(dir, from, count), |part| {
            ListingPart::of(part.entries, part.cookieverf, part.eof)
        })
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
}

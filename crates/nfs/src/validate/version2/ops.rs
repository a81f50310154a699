//! The calls that the checks of version 2 share.

use crate::client::{AnyFh, ClientError, Entry2, Nfs2Client, RpcClient, narrow};
use crate::target::{Target, credential};
use crate::validate::bench::{self, Of, Refused, Version};
use crate::validate::shared::ops::{Asked, Common, Facts, ListedEntry, ListingPart};
pub(super) use filermark_driver_kit::checks::Outcome;
use filermark_driver_kit::checks::{self, Stop};
use filermark_model::plan::NfsPlan;
use filermark_onc::mount;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Fh;

/// NFSv2, and MOUNT version 1 with it.
pub(in crate::validate) struct V2;

/// The bench of its checks.
pub(super) type Bench<'a> = bench::Bench<'a, V2>;
/// One of its checks.
pub(super) type Check = checks::Check<Of<V2>>;

/// A procedure of either program.
#[derive(Clone, Copy, Debug)]
pub(in crate::validate) enum About {
    Nfs(Procedure),
    Mount(mount::Procedure),
}

/// A procedure of NFS.
pub(super) const fn nfs(procedure: Procedure) -> About {
    About::Nfs(procedure)
}

/// A procedure of MOUNT.
pub(super) const fn about_mount(procedure: mount::Procedure) -> About {
    About::Mount(procedure)
}

impl Version for V2 {
    type Client = Nfs2Client;
    type Handle = Fh;
    type Procedure = About;
    type Dialect = ();
    type Status = Nfsstat;
    const NAME: &'static str = "NFSv2";
    const OK: Nfsstat = Nfsstat::Ok;
    const STALE: Nfsstat = Nfsstat::Stale;

    fn is_gone(status: Nfsstat) -> bool {
        status == Nfsstat::Stale
    }

    fn handle(handle: &AnyFh) -> Fh {
        narrow(handle)
    }

    fn client(target: &Target, plan: &NfsPlan) -> Nfs2Client {
        Nfs2Client::new(
            target.nfs_address,
            credential(plan),
            target.nfs_options(plan),
        )
    }

    fn null(client: &mut Nfs2Client) -> Result<(), ClientError> {
        client.null()
    }

    fn name_of(procedure: About) -> &'static str {
        match procedure {
            About::Nfs(procedure) => procedure.name(),
            About::Mount(procedure) => procedure.name(),
        }
    }

    /// The sections of NFS count from 1, the procedures from 0.
    fn section_of(procedure: About) -> String {
        match procedure {
            About::Nfs(number) => format!("RFC 1094 section 2.2.{}", number.to_u32() + 1),
            About::Mount(number) => format!("RFC 1094 appendix A, procedure {}", number.to_u32()),
        }
    }
}

impl Refused for Nfsstat {
    type Status = Self;

    fn status(&self) -> Self {
        *self
    }
}

impl Common for V2 {
    type Attributes = Fattr;
    type Kind = Ftype;
    type Offset = u32;
    type Position = u32;
    const START: u32 = 0;
    const REG: Ftype = Ftype::Reg;
    const DIR: Ftype = Ftype::Dir;
    const NOENT: Nfsstat = Nfsstat::Noent;
    const EXIST: Nfsstat = Nfsstat::Exist;
    const NOTDIR: Nfsstat = Nfsstat::Notdir;
    const ISDIR: Nfsstat = Nfsstat::Isdir;
    const NOTSUPP: Option<Nfsstat> = None;

    fn facts(attributes: &Fattr) -> Facts {
        Facts {
            fsid: attributes.fsid.into(),
            fileid: attributes.fileid.into(),
            size: attributes.size.into(),
            nlink: attributes.nlink,
            mode: attributes.mode,
            uid: attributes.uid,
        }
    }

    fn kind(attributes: &Fattr) -> Ftype {
        attributes.ftype
    }

    fn rpc(nfs: &mut Nfs2Client) -> &mut RpcClient {
        nfs.rpc()
    }

    /// The largest answers.
    fn list_bytes(_: &Target) -> u32 {
        MAXDATA as u32
    }

    fn getattr(nfs: &mut Nfs2Client, object: &Fh) -> Asked<Self, Fattr> {
        nfs.getattr(object)
    }

    fn lookup(nfs: &mut Nfs2Client, dir: &Fh, name: &[u8]) -> Asked<Self, Fh> {
        let reply = nfs.lookup(dir, name);
        reply.map(|answer| answer.map(|(handle, _)| handle))
    }

    fn create(nfs: &mut Nfs2Client, dir: &Fh, name: &[u8]) -> Asked<Self, Option<Fh>> {
        let reply = nfs.create(dir, name, Sattr::mode(0o644));
        reply.map(|answer| answer.map(|(handle, _)| Some(handle)))
    }

    fn mkdir(nfs: &mut Nfs2Client, dir: &Fh, name: &[u8]) -> Asked<Self, Option<Fh>> {
        let reply = nfs.mkdir(dir, name, Sattr::mode(0o755));
        reply.map(|answer| answer.map(|(handle, _)| Some(handle)))
    }

    fn remove(nfs: &mut Nfs2Client, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        nfs.remove(dir, name)
    }

    fn rmdir(nfs: &mut Nfs2Client, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        nfs.rmdir(dir, name)
    }

    fn rename(nfs: &mut Nfs2Client, from: (&Fh, &[u8]), to: (&Fh, &[u8])) -> Asked<Self, ()> {
        nfs.rename(from, to)
    }

    fn link(nfs: &mut Nfs2Client, file: &Fh, dir: &Fh, name: &[u8]) -> Asked<Self, ()> {
        nfs.link(file, dir, name)
    }

    fn symlink(
        nfs: &mut Nfs2Client,
        dir: &Fh,
        name: &[u8],
        text: &[u8],
    ) -> Asked<Self, Option<Fh>> {
        let reply = nfs.symlink(dir, name, text);
        reply.map(|answer| answer.map(|()| None))
    }

    fn readlink(nfs: &mut Nfs2Client, link: &Fh) -> Asked<Self, Vec<u8>> {
        nfs.readlink(link)
    }

    fn readdir(
        nfs: &mut Nfs2Client,
        dir: &Fh,
        from: u32,
        count: u32,
    ) -> Asked<Self, ListingPart<u32>> {
        let listed = |entry: Entry2| ListedEntry {
            name: entry.name,
            fileid: entry.fileid.into(),
            next: entry.cookie,
        };
        let reply = nfs.readdir(dir, from, count);
        reply.map(|answer| {
            answer.map(|(entries, eof)| ListingPart {
                entries: entries.into_iter().map(listed).collect(),
                eof,
            })
        })
    }

    /// In calls of 8,192 bytes or what the server prefers.
    fn put(b: &mut Bench<'_>, file: &Fh, offset: u32, data: &[u8]) -> Outcome {
        let wsize = (b.target.wsize as usize).clamp(1, MAXDATA);
        let mut at = offset;
        for part in data.chunks(wsize) {
            let what = format!("WRITE of {} bytes at {at}", part.len());
            b.done(&what, |nfs| nfs.write(file, at, part))?;
            at += part.len() as u32;
        }
        Ok(())
    }

    /// The end of the file follows from its size.
    fn get(b: &mut Bench<'_>, file: &Fh, offset: u32, count: u32) -> Result<Vec<u8>, Stop> {
        let rsize = b.target.rsize.clamp(1, MAXDATA as u32);
        let mut data = Vec::new();
        while (data.len() as u64) < u64::from(count) {
            let at = offset + data.len() as u32;
            let part = (count - data.len() as u32).min(rsize);
            let (attributes, got) = b.read(file, at, part)?;
            if got.is_empty() && at < attributes.size {
                return Err(Stop::fail(
                    format!("READ at {at} of a file of {} bytes: data", attributes.size),
                    "none: a client would repeat the READ without end",
                ));
            }
            if got.is_empty() {
                break;
            }
            data.extend_from_slice(&got);
        }
        Ok(data)
    }
}

impl Bench<'_> {
    /// One READ. Its data must not exceed the requested count or the size of the file.
    pub(super) fn read(
        &mut self,
        file: &Fh,
        offset: u32,
        count: u32,
    ) -> Result<(Fattr, Vec<u8>), Stop> {
        let what = format!("READ of {count} bytes at {offset}");
        let (attributes, data) = self.done(&what, |nfs| nfs.read(file, offset, count))?;
        let most = attributes.size.saturating_sub(offset).min(count) as usize;
        let expected = format!(
            "{what} of a file of {} bytes: {most} bytes at most",
            attributes.size
        );
        self.holds(data.len() <= most, &expected, data.len())?;
        Ok((attributes, data))
    }

    /// The attributes in an answer must agree with those of GETATTR.
    pub(super) fn agrees(&mut self, what: &str, file: &Fh, given: &Fattr) -> Result<(), Stop> {
        let is = self.attributes(file)?;
        let facts = |a: &Fattr| {
            let owner = (a.uid, a.gid);
            (a.fileid, a.fsid, a.ftype, a.mode, a.size, a.nlink, owner)
        };
        self.equal(
            &format!(
                "{what}: fileid, fsid, type, mode, size, links, uid and gid given with the answer"
            ),
            facts(&is),
            facts(given),
        )
    }
}

//! The MOUNT program, versions 1 and 3: from a path under `/export` to its handle. Only what MNT answers
//! differs between them.

use super::answer::{PROC_UNAVAIL, Refusal, put, reply};
use super::context::{Peer, ReplyAction, Service};
use super::convert::{HANDLE, handle};
use super::{nfs2, null};
use crate::memfs::{Cred, FileId, FileKind, FsError, MemFs};
use crate::options::EXPORT;
use filermark_onc::mount::{
    ExportNode, FlavorList, MntArgs, MntOk, MntRes, MountEntry, Mountstat3, Procedure, UmntArgs,
};
use filermark_onc::mount1;
use filermark_onc::nfs2::{Fhandle, Nfsstat};
use filermark_onc::nfs3::FileHandle;
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::{self, Decoder, Encoder, List, encode_list};

/// Follows the path below the export's root, as root: permissions count later.
fn resolve(fs: &MemFs, path: &[u8]) -> Result<FileId, Mountstat3> {
    let mut parts = path
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty());
    let absolute = path.first() == Some(&b'/');
    if !absolute || parts.next() != Some(&EXPORT.as_bytes()[1..]) {
        return Err(Mountstat3::Noent);
    }
    let mut at = fs.root();
    for part in parts {
        let found = fs
            .lookup(at, part, &Cred::ROOT)
            .1
            .map_err(|error| match error {
                FsError::NameTooLong => Mountstat3::Nametoolong,
                FsError::NotDir => Mountstat3::Notdir,
                _ => Mountstat3::Noent,
            })?;
        at = found.id;
    }
    match fs.getattr(at) {
        Ok(found) if found.kind == FileKind::Directory => Ok(at),
        Ok(_) => Err(Mountstat3::Notdir),
        Err(_) => Err(Mountstat3::Noent),
    }
}

/// The handle of the root, in the bytes of version 3.
type Mounted = Result<[u8; HANDLE], Mountstat3>;

fn put_v3(mounted: Mounted, out: &mut Vec<u8>) {
    let res = mounted
        .as_ref()
        .map_err(|status| *status)
        .and_then(|bytes| {
            let fhandle = FileHandle::new(bytes).ok_or(Mountstat3::Serverfault)?;
            Ok(MntOk {
                fhandle,
                auth_flavors: FlavorList::SYS,
            })
        });
    put::<MntRes<'_>>(out, &res);
}

/// Version 1 answers with a Unix errno; those that it can be have the same numbers in both versions.
fn put_v1(mounted: Mounted, out: &mut Vec<u8>) {
    let wide = mounted.map(|bytes| nfs2::widen(&bytes));
    let res = wide
        .as_ref()
        .map_err(|status| match Nfsstat::from_u32(status.to_u32()) {
            Nfsstat::Unknown(_) => Nfsstat::Io,
            same => same,
        });
    let res = res.map(|bytes| mount1::MntOk {
        directory: Fhandle::new(bytes),
    });
    put::<mount1::MntRes<'_>>(out, &res);
}

impl Service {
    pub(super) fn mount(
        &mut self,
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<ReplyAction, Refusal> {
        let procedure = Procedure::from_u32(call.proc).ok_or(PROC_UNAVAIL)?;
        self.counters.mount[procedure as usize].add(1);
        let mounts = &self.shared.mounts;
        match procedure {
            Procedure::Null => reply(out, call.xid, |_| ()),
            Procedure::Mnt => {
                let args: MntArgs<'_> = xdr::finish(d)?;
                let old = call.vers == mount1::VERSION;
                reply(out, call.xid, |out| match (self.mnt(&args, peer), old) {
                    (mounted, true) => put_v1(mounted, out),
                    (mounted, false) => put_v3(mounted, out),
                });
            }
            Procedure::Dump => reply(out, call.xid, |out| {
                let list = mounts.list();
                let named: Vec<_> = list
                    .iter()
                    .map(|(client, path)| (client.to_string(), path))
                    .collect();
                let entries = named.iter().map(|(client, path)| MountEntry {
                    hostname: client.as_bytes(),
                    directory: path,
                });
                encode_list(&mut Encoder::new(out), entries);
            }),
            Procedure::Umnt => {
                let args: UmntArgs<'_> = xdr::finish(d)?;
                mounts
                    .list()
                    .retain(|(c, path)| *c != peer.client || path != args.dirpath);
                reply(out, call.xid, |_| ());
            }
            Procedure::Umntall => {
                mounts.list().retain(|(client, _)| *client != peer.client);
                reply(out, call.xid, |_| ());
            }
            Procedure::Export => {
                // An empty list of groups: any client may mount it.
                let groups = List::from_bytes(&[0; 4])?;
                let node = ExportNode {
                    dir: EXPORT.as_bytes(),
                    groups,
                };
                reply(out, call.xid, |out| {
                    encode_list(&mut Encoder::new(out), [node])
                });
            }
        }
        Ok(ReplyAction::Send)
    }

    fn mnt(&self, args: &MntArgs<'_>, peer: &Peer) -> Mounted {
        let options = &self.shared.options;
        if options.refuse_mount {
            return Err(Mountstat3::Acces);
        }
        if options.null {
            return Ok(null::root());
        }
        let id = resolve(&self.shared.fs, args.dirpath)?;
        self.shared.mounts.add(peer.client, args.dirpath);
        Ok(handle(id))
    }
}

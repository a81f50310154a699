//! The MOUNT program, version 3: from a path under `/export` to its handle.

use super::look::with_handle;
use super::{Peer, Refusal, Service, Verdict, put, reply};
use crate::memfs::{Cred, FileId, FileKind, FsError, MemFs};
use crate::options::EXPORT;
use filermark_onc::mount::{
    ExportNode, FlavorList, MntArgs, MntOk, MntRes, MountEntry, Mountstat3, Procedure, UmntArgs,
};
use filermark_onc::nfs3::FileHandle;
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::{self, Decoder, Encoder, List, encode_list};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Mounts that DUMP lists at most; further ones work but are not listed.
const MAX_LISTED: usize = 1024;

/// Who mounts what, as far as MNT and UMNT told.
#[derive(Debug, Default)]
pub(super) struct Mounts(Mutex<Vec<(IpAddr, Vec<u8>)>>);

impl Mounts {
    fn list(&self) -> MutexGuard<'_, Vec<(IpAddr, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, client: IpAddr, path: &[u8]) {
        let mut list = self.list();
        let known = list.iter().any(|(c, p)| *c == client && p == path);
        if !known && list.len() < MAX_LISTED {
            list.push((client, path.to_vec()));
        }
    }
}

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

fn mounted(fhandle: FileHandle<'_>) -> MntRes<'_> {
    MntRes::Ok(MntOk {
        fhandle,
        auth_flavors: FlavorList::SYS,
    })
}

impl Service {
    pub(super) fn mount(
        &mut self,
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Refusal> {
        let procedure = Procedure::from_u32(call.proc).ok_or(super::PROC_UNAVAIL)?;
        self.counters.mount[procedure as usize].add(1);
        let mounts = &self.shared.mounts;
        match procedure {
            Procedure::Null => reply(out, call.xid, |_| ()),
            Procedure::Mnt => {
                let args: MntArgs<'_> = xdr::finish(d)?;
                reply(out, call.xid, |out| self.mnt(&args, peer, out));
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
                // An empty list of groups: everybody may mount it.
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
        Ok(Verdict::Send)
    }

    fn mnt(&self, args: &MntArgs<'_>, peer: &Peer, out: &mut Vec<u8>) {
        let options = &self.shared.options;
        if options.refuse_mount {
            return put(out, &MntRes::Err(Mountstat3::Acces));
        }
        if options.null {
            let root = super::null::root();
            return match FileHandle::new(&root) {
                Some(fh) => put(out, &mounted(fh)),
                None => put(out, &MntRes::Err(Mountstat3::Serverfault)),
            };
        }
        match resolve(&self.shared.fs, args.dirpath) {
            Ok(id) => {
                self.shared.mounts.add(peer.client, args.dirpath);
                with_handle(id, |fh| put(out, &mounted(fh)));
            }
            Err(status) => put(out, &MntRes::Err(status)),
        }
    }
}

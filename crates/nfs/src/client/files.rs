//! A blocking client of either version, in the types of version 3: for the run's
//! directory, whose rules are the same over both.

use super::{
    ClientError, Created, DirEntry, Listing, LookupResult, Nfs2Client, Nfs3Client, ReadData, Reply,
    RpcClient, RpcOptions,
};
use crate::version2;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs2::{self, FILE_BYTES_MAX, MAXDATA, Nfsstat};
use filermark_onc::nfs3::{
    AccessOk, Createhow3, DirAttr, DirWcc, Diropargs3, Failed, Fattr3, Fh, FileWcc, FsinfoOk,
    FsstatOk, Nfsstat3, ObjAttr, PathconfOk, RemoveArgs, RmdirArgs, Sattr3, StableHow, Verf,
    WccData, WriteOk,
};
use filermark_onc::rpc::AuthBody;
use std::net::SocketAddr;

/// Speaks with one server, one call at a time.
#[derive(Debug)]
pub enum FileClient {
    /// In version 2.
    V2(Nfs2Client),
    /// In version 3.
    V3(Nfs3Client),
}

/// Which procedure removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// REMOVE.
    File,
    /// RMDIR.
    Dir,
}

/// What version 2 answered, in the words of version 3.
fn to_v3_reply<O, T, F: Default>(
    reply: Result<O, Nfsstat>,
    ok: impl FnOnce(O) -> T,
) -> Result<T, Failed<F>> {
    reply
        .map(ok)
        .map_err(|status| Failed::new(version2::status(status)))
}

/// What version 2 has no procedure for.
fn lacking<O, F: Default>() -> Result<O, Failed<F>> {
    Err(Failed::new(Nfsstat3::Notsupp))
}

fn made((obj, attributes): (Fh, nfs2::Fattr)) -> Created {
    Created {
        obj: Some(obj),
        obj_attributes: Some(version2::fattr(&attributes)),
        dir_wcc: WccData::default(),
    }
}

/// Methods are the procedures of their names; their errors are those of the way there
/// ([`ClientError`]), a refusal by the server is within the [`Reply`].
#[allow(clippy::missing_errors_doc, reason = "documented once, above")]
impl FileClient {
    /// A client that connects when it is first used.
    pub fn new(
        version: NfsVersion,
        address: SocketAddr,
        cred: AuthBody,
        options: RpcOptions,
    ) -> Self {
        match version {
            NfsVersion::V2 => Self::V2(Nfs2Client::new(address, cred, options)),
            NfsVersion::V3 => Self::V3(Nfs3Client::new(address, cred, options)),
        }
    }

    /// The connection underneath.
    pub const fn rpc(&mut self) -> &mut RpcClient {
        match self {
            Self::V2(nfs) => nfs.rpc(),
            Self::V3(nfs) => nfs.rpc(),
        }
    }

    /// Attributes.
    pub fn getattr(&mut self, object: &Fh) -> Reply<Fattr3, ()> {
        match self {
            Self::V2(nfs) => Ok(to_v3_reply(nfs.getattr(object)?, |a| version2::fattr(&a))),
            Self::V3(nfs) => nfs.getattr(object),
        }
    }

    /// Finds a name.
    pub fn lookup(&mut self, dir: &Fh, name: &[u8]) -> Reply<LookupResult, DirAttr> {
        match self {
            Self::V2(nfs) => Ok(to_v3_reply(
                nfs.lookup(dir, name)?,
                |(object, attributes)| LookupResult {
                    object,
                    obj_attributes: Some(version2::fattr(&attributes)),
                    dir_attributes: None,
                },
            )),
            Self::V3(nfs) => nfs.lookup(dir, name),
        }
    }

    /// Asks for rights; version 2 cannot be asked (NFS3ERR_NOTSUPP).
    pub fn access(&mut self, object: &Fh, access: u32) -> Reply<AccessOk, ObjAttr> {
        match self {
            Self::V2(_) => Ok(lacking()),
            Self::V3(nfs) => nfs.access(object, access),
        }
    }

    /// Reads data; over version 2, 8,192 bytes at most.
    pub fn read(&mut self, file: &Fh, offset: u64, count: u32) -> Reply<ReadData, ObjAttr> {
        match self {
            Self::V2(nfs) => {
                let Some(from) = offset_of(offset) else {
                    return Ok(Err(Failed::new(Nfsstat3::Fbig)));
                };
                let reply = nfs.read(file, from, count.min(MAXDATA as u32))?;
                Ok(to_v3_reply(reply, |(attributes, data)| ReadData {
                    file_attributes: Some(version2::fattr(&attributes)),
                    count: data.len() as u32,
                    eof: offset + data.len() as u64 >= attributes.size.into(),
                    data,
                }))
            }
            Self::V3(nfs) => nfs.read(file, offset, count),
        }
    }

    /// Writes data, safe when it is answered; over version 2, the first 8,192 bytes.
    pub fn write(&mut self, file: &Fh, offset: u64, data: &[u8]) -> Reply<WriteOk, FileWcc> {
        match self {
            Self::V2(nfs) => {
                let Some(from) = offset_of(offset) else {
                    return Ok(Err(Failed::new(Nfsstat3::Fbig)));
                };
                let data = data.get(..MAXDATA).unwrap_or(data);
                Ok(to_v3_reply(nfs.write(file, from, data)?, |attributes| {
                    WriteOk {
                        file_wcc: WccData {
                            before: None,
                            after: Some(version2::fattr(&attributes)),
                        },
                        count: data.len() as u32,
                        committed: StableHow::FileSync,
                        verf: Verf::default(),
                    }
                }))
            }
            Self::V3(nfs) => nfs.write(file, offset, StableHow::FileSync, data),
        }
    }

    /// Makes a file, or takes one that is there.
    pub fn create(&mut self, dir: &Fh, name: &[u8], attributes: Sattr3) -> Reply<Created, DirWcc> {
        match self {
            Self::V2(nfs) => {
                let attributes = version2::sattr(&attributes);
                Ok(to_v3_reply(nfs.create(dir, name, attributes)?, made))
            }
            Self::V3(nfs) => nfs.create(dir, name, Createhow3::Unchecked(attributes)),
        }
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, dir: &Fh, name: &[u8], attributes: Sattr3) -> Reply<Created, DirWcc> {
        match self {
            Self::V2(nfs) => {
                let attributes = version2::sattr(&attributes);
                Ok(to_v3_reply(nfs.mkdir(dir, name, attributes)?, made))
            }
            Self::V3(nfs) => nfs.mkdir(dir, name, attributes),
        }
    }

    /// Removes a file or a directory.
    pub fn remove(&mut self, kind: Removal, dir: &Fh, name: &[u8]) -> Reply<DirWcc, DirWcc> {
        let done = |()| DirWcc::default();
        match (self, kind) {
            (Self::V2(nfs), Removal::File) => Ok(to_v3_reply(nfs.remove(dir, name)?, done)),
            (Self::V2(nfs), Removal::Dir) => Ok(to_v3_reply(nfs.rmdir(dir, name)?, done)),
            (Self::V3(nfs), Removal::File) => nfs.remove(dir, name),
            (Self::V3(nfs), Removal::Dir) => nfs.rmdir(dir, name),
        }
    }

    /// Removes many, as [`RpcClient::call_many`] does; the status of each goes to `each`.
    pub fn remove_many(
        &mut self,
        kind: Removal,
        dir: &Fh,
        names: &[&[u8]],
        mut each: impl FnMut(usize, Nfsstat3),
    ) -> Result<(), ClientError> {
        let dir = dir.handle();
        let at3 = |name| Diropargs3 { dir, name };
        let at2 = |name| nfs2::Diropargs {
            dir: version2::wire(dir),
            name,
        };
        macro_rules! many {
            ($rpc:expr, $args:expr, $status:expr) => {{
                let args: Vec<_> = names.iter().map(|name| $args(*name)).collect();
                $rpc.call_many(&args, |number, result| {
                    each(number, result.map_or_else($status, |_| Nfsstat3::Ok));
                })
            }};
        }
        match (self, kind) {
            (Self::V2(nfs), Removal::File) => many!(
                nfs.rpc(),
                |name| nfs2::RemoveArgs { what: at2(name) },
                version2::status
            ),
            (Self::V2(nfs), Removal::Dir) => many!(
                nfs.rpc(),
                |name| nfs2::RmdirArgs { what: at2(name) },
                version2::status
            ),
            (Self::V3(nfs), Removal::File) => many!(
                nfs.rpc(),
                |name| RemoveArgs { object: at3(name) },
                |failed| failed.status
            ),
            (Self::V3(nfs), Removal::Dir) => many!(
                nfs.rpc(),
                |name| RmdirArgs { object: at3(name) },
                |failed| failed.status
            ),
        }
    }

    /// A part of a directory's names. `from` is a cookie and its verifier.
    pub fn readdir(
        &mut self,
        dir: &Fh,
        from: (u64, Verf),
        count: u32,
    ) -> Reply<Listing<DirEntry>, DirAttr> {
        let nfs = match self {
            Self::V3(nfs) => return nfs.readdir(dir, from, count),
            Self::V2(nfs) => nfs,
        };
        // Our cookies come from earlier replies and have 32 bits.
        let cookie = from.0 as u32;
        let reply = nfs.readdir(dir, cookie, count.min(MAXDATA as u32))?;
        Ok(to_v3_reply(reply, |(entries, eof)| Listing {
            dir_attributes: None,
            cookieverf: Verf::default(),
            entries: entries
                .into_iter()
                .map(|entry| DirEntry {
                    fileid: entry.fileid.into(),
                    name: entry.name,
                    cookie: entry.cookie.into(),
                })
                .collect(),
            eof,
        }))
    }

    /// Transfer sizes and abilities; over version 2, what follows from STATFS and GETATTR.
    pub fn fsinfo(&mut self, root: &Fh) -> Reply<FsinfoOk, ObjAttr> {
        match self {
            Self::V2(nfs) => {
                let statfs = match nfs.statfs(root)? {
                    Ok(statfs) => statfs,
                    Err(status) => return Ok(Err(Failed::new(version2::status(status)))),
                };
                let attributes = nfs.getattr(root)?.ok();
                let attributes = attributes.map(|a| version2::fattr(&a));
                Ok(Ok(version2::fsinfo(&statfs, attributes)))
            }
            Self::V3(nfs) => nfs.fsinfo(root),
        }
    }

    /// How full the file system is.
    pub fn fsstat(&mut self, root: &Fh) -> Reply<FsstatOk, ObjAttr> {
        match self {
            Self::V2(nfs) => Ok(version2::statfs(nfs.statfs(root)?)),
            Self::V3(nfs) => nfs.fsstat(root),
        }
    }

    /// Limits on names and links; version 2 cannot be asked (NFS3ERR_NOTSUPP).
    pub fn pathconf(&mut self, object: &Fh) -> Reply<PathconfOk, ObjAttr> {
        match self {
            Self::V2(_) => Ok(lacking()),
            Self::V3(nfs) => nfs.pathconf(object),
        }
    }
}

/// An offset that version 2 can represent.
fn offset_of(offset: u64) -> Option<u32> {
    (offset <= FILE_BYTES_MAX).then_some(offset as u32)
}

//! A blocking client of any version, in the types of version 3: for the run's
//! directory, whose rules are the same over all of them.

use super::nfs4::to_v3_status;
use super::{
    ClientError, Created, DirEntry, FileSystemFacts, Listing, LookupResult, Nfs2Client, Nfs3Client,
    Nfs4Client, ReadData, Reply4, RpcClient, RpcOptions,
};
use crate::version2;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs2::{self, FILE_BYTES_MAX, MAXDATA, Nfsstat};
use filermark_onc::nfs3::{
    Createhow3, Diropargs3, Failed, Fattr3, Fh, FsinfoOk, FsstatOk, Nfsstat3, PathconfOk,
    RemoveArgs, RmdirArgs, Sattr3, StableHow, Verf,
};
use filermark_onc::nfs4::Fh4;
use filermark_onc::rpc::AuthBody;
use std::net::SocketAddr;

/// A handle of any version: those of version 4 are the longest.
pub type AnyFh = Fh4;

/// What a procedure answered in any version: its results, or the status with which it failed.
pub type FileReply<T> = Result<Result<T, Failed<()>>, ClientError>;

/// Connects to one server, one call at a time.
#[derive(Debug)]
pub enum FileClient {
    /// In version 2.
    V2(Nfs2Client),
    /// In version 3.
    V3(Nfs3Client),
    /// In version 4, with a session.
    V4(Box<Nfs4Client>),
}

/// Which procedure removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// REMOVE.
    File,
    /// RMDIR.
    Dir,
}

/// What a LOOKUP found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundObject {
    /// Its handle.
    pub object: AnyFh,
    /// Its attributes, if the server returned them.
    pub attributes: Option<Fattr3>,
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeObject {
    /// Its handle, if the server returned it.
    pub object: Option<AnyFh>,
}

/// A handle of version 2 or 3 as one of any version.
pub fn widen(handle: &Fh) -> AnyFh {
    // Never too long.
    AnyFh::new(handle.as_bytes()).unwrap_or_else(no_handle)
}

/// A handle for a call of version 2 or 3. One that is too long for them (which their servers never send)
/// is sent as no bytes, which the server refuses.
pub fn narrow(handle: &AnyFh) -> Fh {
    Fh::new(handle.as_bytes()).unwrap_or_else(no_handle)
}

fn no_handle<const MAX: usize>() -> filermark_onc::handle::HandleBuf<MAX> {
    filermark_onc::handle::Handle::default().to_fh()
}

/// What version 2 answered, in the words of version 3.
fn of_v2<O, T>(reply: Result<O, Nfsstat>, ok: impl FnOnce(O) -> T) -> Result<T, Failed<()>> {
    reply
        .map(ok)
        .map_err(|status| Failed::new(version2::status(status)))
}

/// What version 3 answered, without what it returns in addition.
fn of_v3<O, T, F>(reply: Result<O, Failed<F>>, ok: impl FnOnce(O) -> T) -> Result<T, Failed<()>> {
    reply.map(ok).map_err(|failed| Failed::new(failed.status))
}

/// What version 4 answered, in the words of version 3.
fn of_v4<T>(reply: Reply4<T>) -> FileReply<T> {
    Ok(reply?.map_err(|status| Failed::new(to_v3_status(status))))
}

/// What version 2 has no procedure for.
fn lacking<O>() -> Result<O, Failed<()>> {
    Err(Failed::new(Nfsstat3::Notsupp))
}

fn made2((obj, _): (Fh, nfs2::Fattr)) -> MadeObject {
    MadeObject {
        object: Some(widen(&obj)),
    }
}

fn made3(made: Created) -> MadeObject {
    MadeObject {
        object: made.obj.as_ref().map(widen),
    }
}

/// Methods are the procedures of their names; their errors are those of the way there
/// ([`ClientError`]), a refusal by the server is within the [`FileReply`].
#[allow(clippy::missing_errors_doc, reason = "documented once, above")]
impl FileClient {
    /// A client that connects when it is first used.
    pub fn new(
        version: NfsVersion,
        address: SocketAddr,
        cred: AuthBody,
        options: RpcOptions,
    ) -> Self {
        match (version, version.minor_version()) {
            (_, Some(minor)) => Self::V4(Box::new(Nfs4Client::new(minor, address, cred, options))),
            (NfsVersion::V2, None) => Self::V2(Nfs2Client::new(address, cred, options)),
            (_, None) => Self::V3(Nfs3Client::new(address, cred, options)),
        }
    }

    /// The connection underneath.
    pub fn rpc(&mut self) -> &mut RpcClient {
        match self {
            Self::V2(nfs) => nfs.rpc(),
            Self::V3(nfs) => nfs.rpc(),
            Self::V4(nfs) => nfs.rpc(),
        }
    }

    /// Attributes.
    pub fn getattr(&mut self, object: &AnyFh) -> FileReply<Fattr3> {
        let narrowed = narrow(object);
        match self {
            Self::V2(nfs) => Ok(of_v2(nfs.getattr(&narrowed)?, |a| version2::fattr(&a))),
            Self::V3(nfs) => nfs.getattr(&narrowed),
            Self::V4(nfs) => of_v4(nfs.getattr(object)),
        }
    }

    /// Finds a name.
    pub fn lookup(&mut self, dir: &AnyFh, name: &[u8]) -> FileReply<FoundObject> {
        let narrowed = narrow(dir);
        match self {
            Self::V2(nfs) => Ok(of_v2(
                nfs.lookup(&narrowed, name)?,
                |(object, attributes)| FoundObject {
                    object: widen(&object),
                    attributes: Some(version2::fattr(&attributes)),
                },
            )),
            Self::V3(nfs) => {
                let found = |found: LookupResult| FoundObject {
                    object: widen(&found.object),
                    attributes: found.obj_attributes,
                };
                Ok(of_v3(nfs.lookup(&narrowed, name)?, found))
            }
            Self::V4(nfs) => of_v4(nfs.lookup(dir, name)),
        }
    }

    /// Asks for rights, and returns those that are granted; version 2 cannot be asked
    /// (NFS3ERR_NOTSUPP).
    pub fn access(&mut self, object: &AnyFh, access: u32) -> FileReply<u32> {
        match self {
            Self::V2(_) => Ok(lacking()),
            Self::V3(nfs) => Ok(of_v3(nfs.access(&narrow(object), access)?, |ok| ok.access)),
            Self::V4(nfs) => Ok(of_v4(nfs.access(object, access))?.map(|ok| ok.access)),
        }
    }

    /// Reads data; over version 2, 8,192 bytes at most.
    pub fn read(&mut self, file: &AnyFh, offset: u64, count: u32) -> FileReply<ReadData> {
        match self {
            Self::V2(nfs) => {
                let Some(from) = offset_of(offset) else {
                    return Ok(Err(Failed::new(Nfsstat3::Fbig)));
                };
                let reply = nfs.read(&narrow(file), from, count.min(MAXDATA as u32))?;
                Ok(of_v2(reply, |(attributes, data)| ReadData {
                    file_attributes: Some(version2::fattr(&attributes)),
                    count: data.len() as u32,
                    eof: offset + data.len() as u64 >= attributes.size.into(),
                    data,
                }))
            }
            Self::V3(nfs) => Ok(of_v3(nfs.read(&narrow(file), offset, count)?, |data| data)),
            Self::V4(nfs) => of_v4(nfs.read(file, offset, count)),
        }
    }

    /// Writes data, safe when it is answered; over version 2, the first 8,192 bytes. Returns how many
    /// bytes were written.
    pub fn write(&mut self, file: &AnyFh, offset: u64, data: &[u8]) -> FileReply<u32> {
        let narrowed = narrow(file);
        match self {
            Self::V2(nfs) => {
                let Some(from) = offset_of(offset) else {
                    return Ok(Err(Failed::new(Nfsstat3::Fbig)));
                };
                let data = data.get(..MAXDATA).unwrap_or(data);
                let reply = nfs.write(&narrowed, from, data)?;
                Ok(of_v2(reply, |_| data.len() as u32))
            }
            Self::V3(nfs) => {
                let reply = nfs.write(&narrowed, offset, StableHow::FileSync, data)?;
                Ok(of_v3(reply, |ok| ok.count))
            }
            Self::V4(nfs) => of_v4(nfs.write(file, offset, data)),
        }
    }

    /// Makes a file, or takes one that is there.
    pub fn create(
        &mut self,
        dir: &AnyFh,
        name: &[u8],
        attributes: Sattr3,
    ) -> FileReply<MadeObject> {
        let narrowed = narrow(dir);
        match self {
            Self::V2(nfs) => {
                let attributes = version2::sattr(&attributes);
                Ok(of_v2(nfs.create(&narrowed, name, attributes)?, made2))
            }
            Self::V3(nfs) => {
                let how = Createhow3::Unchecked(attributes);
                Ok(of_v3(nfs.create(&narrowed, name, how)?, made3))
            }
            Self::V4(nfs) => of_v4(nfs.create(dir, name, &attributes)),
        }
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, dir: &AnyFh, name: &[u8], attributes: Sattr3) -> FileReply<MadeObject> {
        let narrowed = narrow(dir);
        match self {
            Self::V2(nfs) => {
                let attributes = version2::sattr(&attributes);
                Ok(of_v2(nfs.mkdir(&narrowed, name, attributes)?, made2))
            }
            Self::V3(nfs) => Ok(of_v3(nfs.mkdir(&narrowed, name, attributes)?, made3)),
            Self::V4(nfs) => of_v4(nfs.mkdir(dir, name, &attributes)),
        }
    }

    /// Removes a file or a directory.
    pub fn remove(&mut self, kind: Removal, dir: &AnyFh, name: &[u8]) -> FileReply<()> {
        let narrowed = narrow(dir);
        match (self, kind) {
            (Self::V2(nfs), Removal::File) => Ok(of_v2(nfs.remove(&narrowed, name)?, drop)),
            (Self::V2(nfs), Removal::Dir) => Ok(of_v2(nfs.rmdir(&narrowed, name)?, drop)),
            (Self::V3(nfs), Removal::File) => Ok(of_v3(nfs.remove(&narrowed, name)?, drop)),
            (Self::V3(nfs), Removal::Dir) => Ok(of_v3(nfs.rmdir(&narrowed, name)?, drop)),
            (Self::V4(nfs), kind) => of_v4(nfs.remove(kind, dir, name)),
        }
    }

    /// Removes many, as [`RpcClient::call_many`] does (version 4: one after the other); the status of each
    /// goes to `each`.
    pub fn remove_many(
        &mut self,
        kind: Removal,
        dir: &AnyFh,
        names: &[&[u8]],
        mut each: impl FnMut(usize, Nfsstat3),
    ) -> Result<(), ClientError> {
        let narrowed = narrow(dir);
        let narrowed = narrowed.handle();
        let at3 = |name| Diropargs3 {
            dir: narrowed,
            name,
        };
        let at2 = |name| nfs2::Diropargs {
            dir: version2::wire(narrowed),
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
            (Self::V4(nfs), kind) => {
                for (number, name) in names.iter().enumerate() {
                    let result = nfs.remove(kind, dir, name)?;
                    each(number, result.map_or_else(to_v3_status, |()| Nfsstat3::Ok));
                }
                Ok(())
            }
        }
    }

    /// A part of a directory's names. `from` is a cookie and its verifier.
    pub fn readdir(
        &mut self,
        dir: &AnyFh,
        from: (u64, Verf),
        count: u32,
    ) -> FileReply<Listing<DirEntry>> {
        let nfs = match self {
            Self::V3(nfs) => return Ok(of_v3(nfs.readdir(&narrow(dir), from, count)?, |l| l)),
            Self::V4(nfs) => return of_v4(nfs.readdir(dir, from, count)),
            Self::V2(nfs) => nfs,
        };
        // Our cookies come from earlier replies and have 32 bits.
        let cookie = from.0 as u32;
        let reply = nfs.readdir(&narrow(dir), cookie, count.min(MAXDATA as u32))?;
        Ok(of_v2(reply, |(entries, eof)| Listing {
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
    pub fn fsinfo(&mut self, root: &AnyFh) -> FileReply<FsinfoOk> {
        let narrowed = narrow(root);
        match self {
            Self::V2(nfs) => {
                let statfs = match nfs.statfs(&narrowed)? {
                    Ok(statfs) => statfs,
                    Err(status) => return Ok(Err(Failed::new(version2::status(status)))),
                };
                let attributes = nfs.getattr(&narrowed)?.ok();
                let attributes = attributes.map(|a| version2::fattr(&a));
                Ok(Ok(version2::fsinfo(&statfs, attributes)))
            }
            Self::V3(nfs) => Ok(of_v3(nfs.fsinfo(&narrowed)?, |info| info)),
            Self::V4(nfs) => of_v4(file_system(nfs, root, |facts| Some(facts.fsinfo))),
        }
    }

    /// How full the file system is.
    pub fn fsstat(&mut self, root: &AnyFh) -> FileReply<FsstatOk> {
        let narrowed = narrow(root);
        match self {
            Self::V2(nfs) => Ok(of_v3(version2::statfs(nfs.statfs(&narrowed)?), |stat| stat)),
            Self::V3(nfs) => Ok(of_v3(nfs.fsstat(&narrowed)?, |stat| stat)),
            Self::V4(nfs) => of_v4(file_system(nfs, root, |facts| Some(facts.fsstat))),
        }
    }

    /// Limits on names and links; version 2 cannot be asked (NFS3ERR_NOTSUPP).
    pub fn pathconf(&mut self, object: &AnyFh) -> FileReply<PathconfOk> {
        match self {
            Self::V2(_) => Ok(lacking()),
            Self::V3(nfs) => Ok(of_v3(nfs.pathconf(&narrow(object))?, |limits| limits)),
            Self::V4(nfs) => of_v4(file_system(nfs, object, |facts| facts.pathconf)),
        }
    }
}

/// A part of what version 4 states about a file system.
fn file_system<T>(
    nfs: &mut Nfs4Client,
    object: &AnyFh,
    part: impl FnOnce(FileSystemFacts) -> Option<T>,
) -> Reply4<T> {
    let facts = nfs.file_system(object)?;
    Ok(facts.and_then(|facts| part(facts).ok_or(filermark_onc::nfs4::Nfsstat4::Notsupp)))
}

/// An offset that version 2 can represent.
fn offset_of(offset: u64) -> Option<u32> {
    (offset <= FILE_BYTES_MAX).then_some(offset as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_versions_2_and_3_are_the_same_after_a_round_trip() {
        let handle = Fh::new(&[7; 64]).unwrap();
        assert_eq!(narrow(&widen(&handle)), handle);
        // Of version 4 alone: no bytes.
        let long = AnyFh::new(&[7; 100]).unwrap();
        assert_eq!(narrow(&long).as_bytes(), b"");
    }
}

//! The 22 procedures of NFSv3, each as one blocking call.

use super::{ClientError, Program, RpcClient, RpcOptions};
use filermark_onc::nfs3::*;
use filermark_onc::rpc::AuthBody;
use std::net::SocketAddr;

/// What a procedure answered: its results, or the status with which it failed and
/// what came with that.
pub type Reply<O, F> = Result<Result<O, Failed<F>>, ClientError>;

/// What LOOKUP found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupResult {
    /// Handle of what was found.
    pub object: Fh,
    /// Its attributes.
    pub obj_attributes: PostOpAttr,
    /// Attributes of the directory.
    pub dir_attributes: PostOpAttr,
}

/// What CREATE, MKDIR, SYMLINK or MKNOD made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Handle of the new object, if the server gave it.
    pub obj: Option<Fh>,
    /// Its attributes.
    pub obj_attributes: PostOpAttr,
    /// The directory's attributes before and after.
    pub dir_wcc: WccData,
}

/// What READ returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadData {
    /// The file's attributes.
    pub file_attributes: PostOpAttr,
    /// How many bytes were read, as the server says.
    pub count: u32,
    /// Whether the end of the file was reached.
    pub eof: bool,
    /// The bytes.
    pub data: Vec<u8>,
}

/// What READLINK returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkText {
    /// The link's attributes.
    pub symlink_attributes: PostOpAttr,
    /// Its contents.
    pub data: Vec<u8>,
}

/// An entry of READDIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The file's number.
    pub fileid: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// Where the next call goes on.
    pub cookie: u64,
}

/// An entry of READDIRPLUS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlusEntry {
    /// What READDIR would give too.
    pub entry: DirEntry,
    /// Attributes, if the server gives them.
    pub attributes: PostOpAttr,
    /// Handle, if the server gives it.
    pub handle: Option<Fh>,
}

/// What READDIR (`E` is [`DirEntry`]) or READDIRPLUS ([`PlusEntry`]) returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<E> {
    /// The directory's attributes.
    pub dir_attributes: PostOpAttr,
    /// To be sent back with a cookie.
    pub cookieverf: Verf,
    /// The entries.
    pub entries: Vec<E>,
    /// Whether the directory ends here.
    pub eof: bool,
}

/// Speaks NFSv3 with one server, one call at a time.
#[derive(Debug)]
pub struct Nfs3Client {
    rpc: RpcClient,
}

/// The NFS program in version 3.
pub const NFS_V3: Program = Program {
    prog: PROGRAM,
    vers: VERSION,
};

fn at<'a>(dir: &'a Fh, name: &'a [u8]) -> Diropargs3<'a> {
    Diropargs3 {
        dir: dir.handle(),
        name,
    }
}

fn owned(ok: CreateOk<'_>) -> Created {
    Created {
        obj: ok.obj.map(FileHandle::to_fh),
        obj_attributes: ok.obj_attributes,
        dir_wcc: ok.dir_wcc,
    }
}

/// Every method is the procedure of its name; its errors are those of the way
/// there ([`ClientError`]), a refusal by the server is within the [`Reply`].
#[allow(clippy::missing_errors_doc, reason = "documented once, above")]
impl Nfs3Client {
    /// A client that connects when it is first used.
    pub fn new(address: SocketAddr, cred: AuthBody, options: RpcOptions) -> Self {
        Self {
            rpc: RpcClient::new(address, NFS_V3, cred, options),
        }
    }

    /// The connection underneath.
    pub const fn rpc(&mut self) -> &mut RpcClient {
        &mut self.rpc
    }

    /// Does nothing.
    pub fn null(&mut self) -> Result<(), ClientError> {
        self.rpc.call(&NullArgs {})
    }

    /// Attributes.
    pub fn getattr(&mut self, object: &Fh) -> Reply<Fattr3, ()> {
        let args = GetattrArgs {
            object: object.handle(),
        };
        Ok(self.rpc.call(&args)?.map(|ok| ok.obj_attributes))
    }

    /// Sets attributes, if `guard` is the ctime.
    pub fn setattr(
        &mut self,
        object: &Fh,
        new_attributes: Sattr3,
        guard: Option<Nfstime3>,
    ) -> Reply<ObjWcc, ObjWcc> {
        let object = object.handle();
        self.rpc.call(&SetattrArgs {
            object,
            new_attributes,
            guard,
        })
    }

    /// Finds a name.
    pub fn lookup(&mut self, dir: &Fh, name: &[u8]) -> Reply<LookupResult, DirAttr> {
        let what = at(dir, name);
        Ok(self.rpc.call(&LookupArgs { what })?.map(|ok| LookupResult {
            object: ok.object.to_fh(),
            obj_attributes: ok.obj_attributes,
            dir_attributes: ok.dir_attributes,
        }))
    }

    /// Asks for rights.
    pub fn access(&mut self, object: &Fh, access: u32) -> Reply<AccessOk, ObjAttr> {
        let object = object.handle();
        self.rpc.call(&AccessArgs { object, access })
    }

    /// Contents of a symbolic link.
    pub fn readlink(&mut self, symlink: &Fh) -> Reply<LinkText, ObjAttr> {
        let symlink = symlink.handle();
        Ok(self
            .rpc
            .call(&ReadlinkArgs { symlink })?
            .map(|ok| LinkText {
                symlink_attributes: ok.symlink_attributes,
                data: ok.data.to_vec(),
            }))
    }

    /// Reads data.
    pub fn read(&mut self, file: &Fh, offset: u64, count: u32) -> Reply<ReadData, ObjAttr> {
        let file = file.handle();
        let args = ReadArgs {
            file,
            offset,
            count,
        };
        Ok(self.rpc.call(&args)?.map(|ok| ReadData {
            file_attributes: ok.file_attributes,
            count: ok.count,
            eof: ok.eof,
            data: ok.data.to_vec(),
        }))
    }

    /// Writes data.
    pub fn write(
        &mut self,
        file: &Fh,
        offset: u64,
        stable: StableHow,
        data: &[u8],
    ) -> Reply<WriteOk, FileWcc> {
        self.rpc.call(&WriteArgs {
            file: file.handle(),
            offset,
            count: data.len() as u32,
            stable,
            data,
        })
    }

    /// Makes a file.
    pub fn create(&mut self, dir: &Fh, name: &[u8], how: Createhow3) -> Reply<Created, DirWcc> {
        let location = at(dir, name);
        Ok(self.rpc.call(&CreateArgs { location, how })?.map(owned))
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, dir: &Fh, name: &[u8], attributes: Sattr3) -> Reply<Created, DirWcc> {
        let args = MkdirArgs {
            location: at(dir, name),
            attributes,
        };
        Ok(self.rpc.call(&args)?.map(owned))
    }

    /// Makes a symbolic link.
    pub fn symlink(&mut self, dir: &Fh, name: &[u8], text: &[u8]) -> Reply<Created, DirWcc> {
        let args = SymlinkArgs {
            location: at(dir, name),
            symlink_attributes: Sattr3::mode(0o777),
            symlink_data: text,
        };
        Ok(self.rpc.call(&args)?.map(owned))
    }

    /// Makes a special file.
    pub fn mknod(&mut self, dir: &Fh, name: &[u8], what: Mknoddata3) -> Reply<Created, DirWcc> {
        let location = at(dir, name);
        Ok(self.rpc.call(&MknodArgs { location, what })?.map(owned))
    }

    /// Removes a file.
    pub fn remove(&mut self, dir: &Fh, name: &[u8]) -> Reply<DirWcc, DirWcc> {
        let object = at(dir, name);
        self.rpc.call(&RemoveArgs { object })
    }

    /// Removes a directory.
    pub fn rmdir(&mut self, dir: &Fh, name: &[u8]) -> Reply<DirWcc, DirWcc> {
        let object = at(dir, name);
        self.rpc.call(&RmdirArgs { object })
    }

    /// Renames `from.1` in the directory `from.0`.
    pub fn rename(&mut self, from: (&Fh, &[u8]), to: (&Fh, &[u8])) -> Reply<RenameWcc, RenameWcc> {
        self.rpc.call(&RenameArgs {
            from: at(from.0, from.1),
            to: at(to.0, to.1),
        })
    }

    /// Gives a file a further name.
    pub fn link(&mut self, file: &Fh, dir: &Fh, name: &[u8]) -> Reply<LinkWcc, LinkWcc> {
        self.rpc.call(&LinkArgs {
            file: file.handle(),
            link: at(dir, name),
        })
    }

    /// A part of a directory's names. `from` is a cookie and its verifier.
    pub fn readdir(
        &mut self,
        dir: &Fh,
        from: (u64, Verf),
        count: u32,
    ) -> Reply<Listing<DirEntry>, DirAttr> {
        let address = self.rpc.address();
        let reply = self.rpc.call(&ReaddirArgs {
            dir: dir.handle(),
            cookie: from.0,
            cookieverf: from.1,
            count,
        })?;
        let ok = match reply {
            Ok(ok) => ok,
            Err(failed) => return Ok(Err(failed)),
        };
        let mut entries = Vec::new();
        let mut list = ok.reply.iter();
        for entry in &mut list {
            let entry = entry.map_err(|source| ClientError::Garbage { address, source })?;
            entries.push(DirEntry {
                fileid: entry.fileid,
                name: entry.name.to_vec(),
                cookie: entry.cookie,
            });
        }
        Ok(Ok(Listing {
            dir_attributes: ok.dir_attributes,
            cookieverf: ok.cookieverf,
            entries,
            eof: list.eof().unwrap_or(false),
        }))
    }

    /// A part of a directory with attributes and handles. `from` is a cookie and
    /// its verifier.
    pub fn readdirplus(
        &mut self,
        dir: &Fh,
        from: (u64, Verf),
        dircount: u32,
        maxcount: u32,
    ) -> Reply<Listing<PlusEntry>, DirAttr> {
        let address = self.rpc.address();
        let reply = self.rpc.call(&ReaddirplusArgs {
            dir: dir.handle(),
            cookie: from.0,
            cookieverf: from.1,
            dircount,
            maxcount,
        })?;
        let ok = match reply {
            Ok(ok) => ok,
            Err(failed) => return Ok(Err(failed)),
        };
        let mut entries = Vec::new();
        let mut list = ok.reply.iter();
        for entry in &mut list {
            let entry = entry.map_err(|source| ClientError::Garbage { address, source })?;
            entries.push(PlusEntry {
                entry: DirEntry {
                    fileid: entry.fileid,
                    name: entry.name.to_vec(),
                    cookie: entry.cookie,
                },
                attributes: entry.name_attributes,
                handle: entry.name_handle.map(FileHandle::to_fh),
            });
        }
        Ok(Ok(Listing {
            dir_attributes: ok.dir_attributes,
            cookieverf: ok.cookieverf,
            entries,
            eof: list.eof().unwrap_or(false),
        }))
    }

    /// How full the file system is.
    pub fn fsstat(&mut self, fsroot: &Fh) -> Reply<FsstatOk, ObjAttr> {
        let fsroot = fsroot.handle();
        self.rpc.call(&FsstatArgs { fsroot })
    }

    /// Transfer sizes and abilities.
    pub fn fsinfo(&mut self, fsroot: &Fh) -> Reply<FsinfoOk, ObjAttr> {
        let fsroot = fsroot.handle();
        self.rpc.call(&FsinfoArgs { fsroot })
    }

    /// Limits on names and links.
    pub fn pathconf(&mut self, object: &Fh) -> Reply<PathconfOk, ObjAttr> {
        let object = object.handle();
        self.rpc.call(&PathconfArgs { object })
    }

    /// Makes unstable writes stable; a count of 0 means "to the end".
    pub fn commit(&mut self, file: &Fh, offset: u64, count: u32) -> Reply<CommitOk, FileWcc> {
        let file = file.handle();
        self.rpc.call(&CommitArgs {
            file,
            offset,
            count,
        })
    }
}

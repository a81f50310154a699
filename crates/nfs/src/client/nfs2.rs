//! The 18 procedures of NFSv2, each as one blocking call.

use super::{ClientError, Program, RpcClient, RpcOptions};
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Fh;
use filermark_onc::rpc::AuthBody;
use std::net::SocketAddr;

use crate::version2::wire;

/// The NFS program in version 2.
pub const NFS_V2: Program = Program {
    prog: PROGRAM,
    vers: VERSION,
};

/// What a procedure answered: its results, or the status with which it failed.
pub type Reply2<O> = Result<Res<O>, ClientError>;

/// An entry of READDIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry2 {
    /// The file's number.
    pub fileid: u32,
    /// Its name.
    pub name: Vec<u8>,
    /// Where the next call goes on.
    pub cookie: u32,
}

/// Speaks NFSv2 with one server, one call at a time. Handles are kept as version 3's are.
#[derive(Debug)]
pub struct Nfs2Client {
    rpc: RpcClient,
}

fn at<'a>(dir: &'a Fh, name: &'a [u8]) -> Diropargs<'a> {
    Diropargs {
        dir: wire(dir.handle()),
        name,
    }
}

fn owned(ok: DiropOk<'_>) -> (Fh, Fattr) {
    let handle = filermark_onc::nfs3::FileHandle::from(ok.file);
    (handle.to_fh(), ok.attributes)
}

/// Every method is the procedure of its name; its errors are those of the way
/// there ([`ClientError`]), a refusal by the server is within the [`Reply2`].
#[allow(clippy::missing_errors_doc, reason = "documented once, above")]
impl Nfs2Client {
    /// A client that connects when it is first used.
    pub fn new(address: SocketAddr, cred: AuthBody, options: RpcOptions) -> Self {
        Self {
            rpc: RpcClient::new(address, NFS_V2, cred, options),
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

    /// Obsolete: nothing in, nothing out.
    pub fn root(&mut self) -> Result<(), ClientError> {
        self.rpc.call(&RootArgs {})
    }

    /// Unused: nothing in, nothing out.
    pub fn writecache(&mut self) -> Result<(), ClientError> {
        self.rpc.call(&WritecacheArgs {})
    }

    /// Attributes.
    pub fn getattr(&mut self, file: &Fh) -> Reply2<Fattr> {
        let file = wire(file.handle());
        let reply = self.rpc.call(&GetattrArgs { file })?;
        Ok(reply.map(|ok| ok.attributes))
    }

    /// Sets attributes.
    pub fn setattr(&mut self, file: &Fh, attributes: Sattr) -> Reply2<Fattr> {
        let file = wire(file.handle());
        let reply = self.rpc.call(&SetattrArgs { file, attributes })?;
        Ok(reply.map(|ok| ok.attributes))
    }

    /// Finds a name.
    pub fn lookup(&mut self, dir: &Fh, name: &[u8]) -> Reply2<(Fh, Fattr)> {
        let what = at(dir, name);
        Ok(self.rpc.call(&LookupArgs { what })?.map(owned))
    }

    /// Contents of a symbolic link.
    pub fn readlink(&mut self, file: &Fh) -> Reply2<Vec<u8>> {
        let file = wire(file.handle());
        let reply = self.rpc.call(&ReadlinkArgs { file })?;
        Ok(reply.map(|ok| ok.data.to_vec()))
    }

    /// Reads data.
    pub fn read(&mut self, file: &Fh, offset: u32, count: u32) -> Reply2<(Fattr, Vec<u8>)> {
        let args = ReadArgs {
            file: wire(file.handle()),
            offset,
            count,
            totalcount: 0,
        };
        let reply = self.rpc.call(&args)?;
        Ok(reply.map(|ok| (ok.attributes, ok.data.to_vec())))
    }

    /// Writes data.
    pub fn write(&mut self, file: &Fh, offset: u32, data: &[u8]) -> Reply2<Fattr> {
        let args = WriteArgs {
            file: wire(file.handle()),
            beginoffset: 0,
            offset,
            totalcount: 0,
            data,
        };
        Ok(self.rpc.call(&args)?.map(|ok| ok.attributes))
    }

    /// Makes a file; one that is there is taken.
    pub fn create(&mut self, dir: &Fh, name: &[u8], attributes: Sattr) -> Reply2<(Fh, Fattr)> {
        let args = CreateArgs {
            location: at(dir, name),
            attributes,
        };
        Ok(self.rpc.call(&args)?.map(owned))
    }

    /// Removes a file.
    pub fn remove(&mut self, dir: &Fh, name: &[u8]) -> Reply2<()> {
        let what = at(dir, name);
        self.rpc.call(&RemoveArgs { what })
    }

    /// Renames `from.1` in the directory `from.0`.
    pub fn rename(&mut self, from: (&Fh, &[u8]), to: (&Fh, &[u8])) -> Reply2<()> {
        self.rpc.call(&RenameArgs {
            from: at(from.0, from.1),
            to: at(to.0, to.1),
        })
    }

    /// Gives a file a further name.
    pub fn link(&mut self, file: &Fh, dir: &Fh, name: &[u8]) -> Reply2<()> {
        self.rpc.call(&LinkArgs {
            from: wire(file.handle()),
            to: at(dir, name),
        })
    }

    /// Makes a symbolic link.
    pub fn symlink(&mut self, dir: &Fh, name: &[u8], text: &[u8]) -> Reply2<()> {
        self.rpc.call(&SymlinkArgs {
            from: at(dir, name),
            to: text,
            attributes: Sattr::mode(0o777),
        })
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, dir: &Fh, name: &[u8], attributes: Sattr) -> Reply2<(Fh, Fattr)> {
        let args = MkdirArgs {
            location: at(dir, name),
            attributes,
        };
        Ok(self.rpc.call(&args)?.map(owned))
    }

    /// Removes a directory.
    pub fn rmdir(&mut self, dir: &Fh, name: &[u8]) -> Reply2<()> {
        let what = at(dir, name);
        self.rpc.call(&RmdirArgs { what })
    }

    /// A part of a directory's names, and whether it ends with them.
    pub fn readdir(&mut self, dir: &Fh, cookie: u32, count: u32) -> Reply2<(Vec<Entry2>, bool)> {
        let address = self.rpc.address();
        let reply = self.rpc.call(&ReaddirArgs {
            dir: wire(dir.handle()),
            cookie,
            count,
        })?;
        let ok = match reply {
            Ok(ok) => ok,
            Err(status) => return Ok(Err(status)),
        };
        let mut entries = Vec::new();
        let mut list = ok.reply.iter();
        for entry in &mut list {
            let entry = entry.map_err(|source| ClientError::Garbage { address, source })?;
            entries.push(Entry2 {
                fileid: entry.fileid,
                name: entry.name.to_vec(),
                cookie: entry.cookie,
            });
        }
        Ok(Ok((entries, list.eof().unwrap_or(false))))
    }

    /// How full the file system is.
    pub fn statfs(&mut self, file: &Fh) -> Reply2<StatfsOk> {
        let file = wire(file.handle());
        self.rpc.call(&StatfsArgs { file })
    }
}

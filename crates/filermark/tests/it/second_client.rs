//! Reads and changes an export, during or after a run.

use filermark_model::plan::NfsVersion;
use filermark_nfs::client::{MountClient, Nfs3Client, RpcOptions};
use filermark_onc::nfs3::{Createhow3, Fh, Ftype3, Nfsstat3, Sattr3, StableHow, Verf};
use filermark_onc::rpc::AuthSys;
use filermark_server::{RunningServer, Server, ServerOptions};
use std::net::SocketAddr;

/// A server with these options on a free port of 127.0.0.1.
pub fn serve(options: ServerOptions) -> RunningServer {
    Server::start(options).expect("the embedded server starts")
}

/// A second client of an export.
pub struct Peek {
    nfs: Nfs3Client,
    root: Fh,
}

impl Peek {
    /// Mounts `/export` of an embedded server.
    pub fn into(server: &RunningServer) -> Self {
        Self::at(server.addrs()[0], server.addrs()[0], "/export")
    }

    /// Mounts an export.
    pub fn at(nfs: SocketAddr, mount: SocketAddr, path: &str) -> Self {
        let cred = AuthSys::new(0, b"peek", 0, 0, &[]).to_body();
        // Servers of some tests lose replies.
        let options = RpcOptions {
            retries: 10,
            ..RpcOptions::default()
        };
        let mut mounts = MountClient::new(NfsVersion::V3, mount, cred.clone(), options.clone());
        let mounted = mounts.mnt(path).expect("MNT").expect("MNT is granted");
        Self {
            nfs: Nfs3Client::new(nfs, cred, options),
            root: mounted.root,
        }
    }

    /// The handle of a path below the export; empty: the export.
    pub fn find(&mut self, path: &str) -> Option<Fh> {
        let mut at = self.root;
        for name in path.split('/').filter(|n| !n.is_empty()) {
            at = self
                .nfs
                .lookup(&at, name.as_bytes())
                .expect("LOOKUP")
                .ok()?
                .object;
        }
        Some(at)
    }

    /// All objects in and below a directory, by path from the export, directories with a slash at the
    /// end; sorted.
    pub fn tree(&mut self, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut dirs = vec![path.to_owned()];
        while let Some(dir) = dirs.pop() {
            let Some(handle) = self.find(&dir) else {
                continue;
            };
            for name in self.names(&handle) {
                let below = match dir.as_str() {
                    "" => name.clone(),
                    dir => format!("{dir}/{name}"),
                };
                let Some(object) = self.find(&below) else {
                    continue;
                };
                let Ok(attributes) = self.nfs.getattr(&object).expect("GETATTR") else {
                    continue;
                };
                if attributes.ftype == Ftype3::Dir {
                    dirs.push(below.clone());
                    found.push(format!("{below}/"));
                } else {
                    found.push(below);
                }
            }
        }
        found.sort();
        found
    }

    fn names(&mut self, dir: &Fh) -> Vec<String> {
        let mut names = Vec::new();
        let mut from = (0, Verf::default());
        loop {
            let Ok(part) = self.nfs.readdir(dir, from, 32 << 10).expect("READDIR") else {
                return names;
            };
            if let Some(last) = part.entries.last() {
                from = (last.cookie, part.cookieverf);
            }
            let text = part
                .entries
                .iter()
                .map(|e| String::from_utf8_lossy(&e.name).into_owned());
            names.extend(text.filter(|n| n != "." && n != ".."));
            if part.eof || part.entries.is_empty() {
                return names;
            }
        }
    }

    /// Makes a directory below an existing one.
    pub fn make_dir(&mut self, path: &str) {
        let (dir, name) = self.split(path);
        let made = self.nfs.mkdir(&dir, name.as_bytes(), Sattr3::mode(0o755));
        made.expect("MKDIR").expect("MKDIR is granted");
    }

    /// Makes a file with this content.
    pub fn make_file(&mut self, path: &str, data: &[u8]) {
        let (dir, name) = self.split(path);
        let how = Createhow3::Guarded(Sattr3::mode(0o644));
        let made = self.nfs.create(&dir, name.as_bytes(), how);
        made.expect("CREATE").expect("CREATE is granted");
        self.overwrite(path, 0, data);
    }

    /// Makes a file with this content; `false`: its directory was removed meanwhile.
    pub fn try_make_file(&mut self, path: &str, data: &[u8]) -> bool {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(dir) = self.find(dir) else {
            return false;
        };
        let how = Createhow3::Guarded(Sattr3::mode(0o644));
        let made = self.nfs.create(&dir, name.as_bytes(), how);
        if made.expect("CREATE").is_err() {
            return false;
        }
        self.overwrite(path, 0, data);
        true
    }

    /// Writes into a file.
    pub fn overwrite(&mut self, path: &str, offset: u64, data: &[u8]) {
        assert!(self.try_overwrite(path, offset, data), "{path} is missing");
    }

    /// Writes into a file; `false`: it has been removed meanwhile.
    pub fn try_overwrite(&mut self, path: &str, offset: u64, data: &[u8]) -> bool {
        let Some(file) = self.find(path) else {
            return false;
        };
        let wrote = self.nfs.write(&file, offset, StableHow::FileSync, data);
        match wrote.expect("WRITE") {
            Ok(_) => true,
            Err(failed) if failed.status == Nfsstat3::Stale => false,
            Err(failed) => panic!("WRITE of {path}: {:?}", failed.status),
        }
    }

    /// The content of a file (its first MiB).
    pub fn read(&mut self, path: &str) -> Vec<u8> {
        let file = self.find(path).expect("the file is there");
        let read = self.nfs.read(&file, 0, 1 << 20).expect("READ");
        read.expect("READ is granted").data
    }

    /// The content of a file (its first MiB), with its size, or the target of a link.
    pub fn content(&mut self, path: &str) -> String {
        let object = self.find(path).expect("it is there");
        match self.nfs.readlink(&object).expect("READLINK") {
            Ok(link) => format!("-> {:?}", link.data),
            Err(_) => format!("{:?} bytes: {:?}", self.size(path), self.read(path)),
        }
    }

    /// The size of a file in bytes.
    pub fn size(&mut self, path: &str) -> Option<u64> {
        let file = self.find(path)?;
        self.nfs
            .getattr(&file)
            .expect("GETATTR")
            .ok()
            .map(|a| a.size)
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        let (dir, name) = self.split(path);
        let removed = self.nfs.remove(&dir, name.as_bytes());
        removed.expect("REMOVE").expect("REMOVE is granted");
    }

    /// Makes a symbolic link; returns whether the server did.
    pub fn symlink(&mut self, path: &str, to: &str) -> bool {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(dir) = self.find(dir) else {
            return false;
        };
        let made = self.nfs.symlink(&dir, name.as_bytes(), to.as_bytes());
        made.expect("SYMLINK").is_ok()
    }

    /// Makes a hard link to a file; returns whether the server did.
    pub fn link(&mut self, of: &str, path: &str) -> bool {
        let file = self.find(of).expect("the file is there");
        let (dir, name) = self.split(path);
        let made = self.nfs.link(&file, &dir, name.as_bytes());
        made.expect("LINK").is_ok()
    }

    fn split<'p>(&mut self, path: &'p str) -> (Fh, &'p str) {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.find(dir).expect("the directory is there"), name)
    }
}

/// Asserts that the export of an embedded server is empty.
#[track_caller]
pub fn assert_empty(server: &RunningServer) {
    let left = Peek::into(server).tree("");
    assert!(left.is_empty(), "left on the server: {left:?}");
}

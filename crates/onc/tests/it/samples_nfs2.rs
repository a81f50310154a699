//! NFSv2 messages of every kind from one set of field values, as [`crate::samples`] does it for version 3.

use filermark_onc::nfs2::*;
use filermark_onc::nfs3::DirList;
use filermark_onc::xdr::{Encoder, encode_list};
use proptest::prelude::*;

/// Field values, owned; messages borrow from it.
#[derive(Debug, Clone)]
pub struct Pool2 {
    pub fh: [[u8; FHSIZE]; 2],
    pub names: Vec<Vec<u8>>,
    pub data: Vec<u8>,
    pub words: [u32; 8],
    pub eof: bool,
    pub attr: Fattr,
    pub sattr: Sattr,
    pub status: Nfsstat,
    /// The list of `names`.
    pub list: Vec<u8>,
}

fn fattr(kind: usize, w: [u32; 16]) -> Fattr {
    let time = |at: usize| Timeval {
        seconds: w[at],
        useconds: w[at + 1],
    };
    Fattr {
        ftype: Ftype::ALL[kind % Ftype::ALL.len()],
        mode: w[0],
        nlink: w[1],
        uid: w[2],
        gid: w[3],
        size: w[4],
        blocksize: w[5],
        rdev: w[6],
        blocks: w[7],
        fsid: w[8],
        fileid: w[9],
        atime: time(10),
        mtime: time(12),
        ctime: time(14),
    }
}

fn sattr(w: [u32; 8]) -> Sattr {
    let time = |at: usize| Timeval {
        seconds: w[at],
        useconds: w[at + 1],
    };
    Sattr {
        mode: w[0],
        uid: w[1],
        gid: w[2],
        size: w[3],
        atime: time(4),
        mtime: time(6),
    }
}

impl Pool2 {
    /// Fixed values, no two fields alike.
    pub fn fixed() -> Self {
        Self {
            fh: [std::array::from_fn(|i| i as u8), [0xfe; FHSIZE]],
            names: [&b"a"[..], b"two", b"", b"a longer name"]
                .map(<[u8]>::to_vec)
                .to_vec(),
            data: (0..=255).chain(0..7).collect(),
            words: std::array::from_fn(|i| 0x0101_0000 + i as u32),
            eof: true,
            attr: fattr(1, std::array::from_fn(|i| 0x0202_0000 + i as u32)),
            sattr: sattr(std::array::from_fn(|i| 0x0303_0000 + i as u32)),
            status: Nfsstat::Stale,
            list: Vec::new(),
        }
        .with_list()
    }

    fn with_list(mut self) -> Self {
        let mut list = Vec::new();
        let mut e = Encoder::new(&mut list);
        encode_list(&mut e, self.entries());
        e.bool(self.eof);
        self.list = list;
        self
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.names.iter().zip(1..).map(|(name, cookie)| Entry {
            fileid: self.words[0] ^ cookie,
            name,
            cookie,
        })
    }

    fn place(&self, i: usize) -> Diropargs<'_> {
        Diropargs {
            dir: Fhandle::new(&self.fh[i]),
            name: self.names.get(i).map_or(b"none", Vec::as_slice),
        }
    }

    /// Arguments of a procedure.
    pub fn args(&self, procedure: Procedure) -> Args<'_> {
        let (file, w, attributes) = (Fhandle::new(&self.fh[0]), &self.words, self.sattr);
        let (location, other) = (self.place(0), self.place(1));
        match procedure {
            Procedure::Null => Args::Null(NullArgs {}),
            Procedure::Getattr => Args::Getattr(GetattrArgs { file }),
            Procedure::Setattr => Args::Setattr(SetattrArgs { file, attributes }),
            Procedure::Root => Args::Root(RootArgs {}),
            Procedure::Lookup => Args::Lookup(LookupArgs { what: location }),
            Procedure::Readlink => Args::Readlink(ReadlinkArgs { file }),
            Procedure::Read => Args::Read(ReadArgs {
                file,
                offset: w[0],
                count: w[1],
                totalcount: w[2],
            }),
            Procedure::Writecache => Args::Writecache(WritecacheArgs {}),
            Procedure::Write => Args::Write(WriteArgs {
                file,
                beginoffset: w[3],
                offset: w[4],
                totalcount: w[5],
                data: &self.data,
            }),
            Procedure::Create => Args::Create(CreateArgs {
                location,
                attributes,
            }),
            Procedure::Remove => Args::Remove(RemoveArgs { what: other }),
            Procedure::Rename => Args::Rename(RenameArgs {
                from: location,
                to: other,
            }),
            Procedure::Link => Args::Link(LinkArgs {
                from: file,
                to: other,
            }),
            Procedure::Symlink => Args::Symlink(SymlinkArgs {
                from: location,
                to: &self.data,
                attributes,
            }),
            Procedure::Mkdir => Args::Mkdir(MkdirArgs {
                location: other,
                attributes,
            }),
            Procedure::Rmdir => Args::Rmdir(RmdirArgs { what: location }),
            Procedure::Readdir => Args::Readdir(ReaddirArgs {
                dir: file,
                cookie: w[6],
                count: w[7],
            }),
            Procedure::Statfs => Args::Statfs(StatfsArgs { file }),
        }
    }

    /// Successful results of a procedure.
    pub fn ok(&self, procedure: Procedure) -> Results<'_> {
        let (attributes, w) = (self.attr, &self.words);
        let (attrstat, data) = (Ok(AttrstatOk { attributes }), &self.data[..]);
        let found = Ok(DiropOk {
            file: Fhandle::new(&self.fh[1]),
            attributes,
        });
        match procedure {
            Procedure::Null => Results::Null(()),
            Procedure::Root => Results::Root(()),
            Procedure::Writecache => Results::Writecache(()),
            Procedure::Getattr => Results::Getattr(attrstat),
            Procedure::Setattr => Results::Setattr(attrstat),
            Procedure::Write => Results::Write(attrstat),
            Procedure::Lookup => Results::Lookup(found),
            Procedure::Create => Results::Create(found),
            Procedure::Mkdir => Results::Mkdir(found),
            Procedure::Readlink => Results::Readlink(Ok(ReadlinkOk { data })),
            Procedure::Read => Results::Read(Ok(ReadOk { attributes, data })),
            Procedure::Remove => Results::Remove(Ok(())),
            Procedure::Rename => Results::Rename(Ok(())),
            Procedure::Link => Results::Link(Ok(())),
            Procedure::Symlink => Results::Symlink(Ok(())),
            Procedure::Rmdir => Results::Rmdir(Ok(())),
            Procedure::Readdir => Results::Readdir(Ok(ReaddirOk {
                reply: DirList::from_bytes(&self.list),
            })),
            Procedure::Statfs => Results::Statfs(Ok(StatfsOk {
                tsize: w[0],
                bsize: w[1],
                blocks: w[2],
                bfree: w[3],
                bavail: w[4],
            })),
        }
    }

    /// Results of a procedure that failed; three can't.
    pub fn failed(&self, procedure: Procedure) -> Option<Results<'_>> {
        let status = self.status;
        Some(match procedure {
            Procedure::Null | Procedure::Root | Procedure::Writecache => return None,
            Procedure::Getattr => Results::Getattr(Err(status)),
            Procedure::Setattr => Results::Setattr(Err(status)),
            Procedure::Write => Results::Write(Err(status)),
            Procedure::Lookup => Results::Lookup(Err(status)),
            Procedure::Create => Results::Create(Err(status)),
            Procedure::Mkdir => Results::Mkdir(Err(status)),
            Procedure::Readlink => Results::Readlink(Err(status)),
            Procedure::Read => Results::Read(Err(status)),
            Procedure::Remove => Results::Remove(Err(status)),
            Procedure::Rename => Results::Rename(Err(status)),
            Procedure::Link => Results::Link(Err(status)),
            Procedure::Symlink => Results::Symlink(Err(status)),
            Procedure::Rmdir => Results::Rmdir(Err(status)),
            Procedure::Readdir => Results::Readdir(Err(status)),
            Procedure::Statfs => Results::Statfs(Err(status)),
        })
    }
}

/// Any field values.
pub fn pools2() -> impl Strategy<Value = Pool2> {
    let bytes = |max: usize| proptest::collection::vec(any::<u8>(), 0..=max);
    let opaque = (
        any::<[[u8; FHSIZE]; 2]>(),
        proptest::collection::vec(bytes(40), 0..6),
        bytes(300),
    );
    let numbers = any::<([u32; 8], [u32; 16], [u32; 8], usize, u32, bool)>();
    (opaque, numbers).prop_map(|((fh, names, data), (words, a, s, kind, status, eof))| {
        Pool2 {
            fh,
            names,
            data,
            words,
            eof,
            attr: fattr(kind, a),
            sattr: sattr(s),
            status: Nfsstat::from_u32(status.max(1)),
            list: Vec::new(),
        }
        .with_list()
    })
}

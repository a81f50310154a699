//! One set of field values, and from it a message of every kind. Property tests draw the values at
//! random; the others use a fixed set.

use filermark_onc::mount::{ExportNode, GroupNode, MountEntry};
use filermark_onc::nfs3::*;
use filermark_onc::portmap::Mapping;
use filermark_onc::rpcbind::Rpcb;
use filermark_onc::xdr::{Encoder, List, encode_list};
use proptest::prelude::*;

/// Field values, owned; messages borrow from it.
#[derive(Debug, Clone)]
pub struct Pool {
    pub fh: [Vec<u8>; 2],
    pub names: Vec<Vec<u8>>,
    pub data: Vec<u8>,
    pub words: [u32; 12],
    pub hypers: [u64; 7],
    pub flags: [bool; 4],
    pub attrs: [PostOpAttr; 2],
    pub wcc: [WccData; 2],
    pub sattr: Sattr3,
    pub verf: Verf,
    pub status: Nfsstat3,
    pub choice: u32,
    /// `dirlist3` and `dirlistplus3` of `names`, made by [`Pool::write_lists`].
    pub lists: [Vec<u8>; 2],
}

impl Pool {
    /// Fixed values, no two fields alike, all options present.
    pub fn fixed() -> Self {
        let attr = |base: u32| Fattr3 {
            ftype: Ftype3::Reg,
            mode: base + 1,
            nlink: base + 2,
            uid: base + 3,
            gid: base + 4,
            size: u64::from(base) << 33 | 5,
            used: u64::from(base) << 33 | 6,
            rdev: Specdata3 {
                specdata1: base + 7,
                specdata2: base + 8,
            },
            fsid: u64::from(base) << 33 | 9,
            fileid: u64::from(base) << 33 | 10,
            atime: Nfstime3 {
                seconds: base + 11,
                nseconds: base + 12,
            },
            mtime: Nfstime3 {
                seconds: base + 13,
                nseconds: base + 14,
            },
            ctime: Nfstime3 {
                seconds: base + 15,
                nseconds: base + 16,
            },
        };
        let wcc = |base: u32| WccData {
            before: Some(WccAttr {
                size: u64::from(base) << 32 | 1,
                mtime: Nfstime3 {
                    seconds: base + 2,
                    nseconds: base + 3,
                },
                ctime: Nfstime3 {
                    seconds: base + 4,
                    nseconds: base + 5,
                },
            }),
            after: Some(attr(base + 100)),
        };
        let mut pool = Self {
            fh: [b"first handle".to_vec(), vec![0xfe; FHSIZE3]],
            names: [&b"a"[..], b"two", b"", b"a longer name"]
                .map(<[u8]>::to_vec)
                .to_vec(),
            data: (0..=255).chain(0..7).collect(),
            words: std::array::from_fn(|i| 0x0101_0000 + i as u32),
            hypers: std::array::from_fn(|i| 0x0202_0000_0000_0000 + i as u64),
            flags: [true, false, true, true],
            attrs: [Some(attr(1000)), Some(attr(2000))],
            wcc: [wcc(3000), wcc(4000)],
            sattr: Sattr3 {
                mode: Some(0o644),
                uid: Some(10),
                gid: Some(20),
                size: Some(1 << 40),
                atime: SetTime::ClientTime(Nfstime3 {
                    seconds: 1,
                    nseconds: 2,
                }),
                mtime: SetTime::ServerTime,
            },
            verf: *b"verifier",
            status: Nfsstat3::Stale,
            choice: 0,
            lists: Default::default(),
        };
        pool.write_lists();
        pool
    }

    fn write_lists(&mut self) {
        let mut plain = Vec::new();
        let mut e = Encoder::new(&mut plain);
        encode_list(&mut e, self.entries());
        e.bool(self.flags[0]);
        let mut plus = Vec::new();
        let mut e = Encoder::new(&mut plus);
        encode_list(&mut e, self.entries_plus());
        e.bool(self.flags[1]);
        self.lists = [plain, plus];
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry3<'_>> {
        self.names.iter().zip(1..).map(|(name, cookie)| Entry3 {
            fileid: self.hypers[0] ^ cookie,
            name,
            cookie,
        })
    }

    pub fn entries_plus(&self) -> impl Iterator<Item = EntryPlus3<'_>> {
        self.entries().map(|entry| EntryPlus3 {
            fileid: entry.fileid,
            name: entry.name,
            cookie: entry.cookie,
            name_attributes: self.attrs[entry.cookie as usize % 2],
            name_handle: (entry.cookie % 2 == 1).then(|| self.handle(0)),
        })
    }

    fn handle(&self, i: usize) -> FileHandle<'_> {
        FileHandle::new(&self.fh[i]).expect("at most 64 bytes")
    }

    fn name(&self, i: usize) -> &[u8] {
        self.names.get(i).map_or(b"none", Vec::as_slice)
    }

    fn dirop(&self, i: usize) -> Diropargs3<'_> {
        Diropargs3 {
            dir: self.handle(i),
            name: self.name(i),
        }
    }

    fn time(&self) -> Nfstime3 {
        Nfstime3 {
            seconds: self.words[0],
            nseconds: self.words[1],
        }
    }

    fn createhow(&self) -> Createhow3 {
        match self.choice % 3 {
            0 => Createhow3::Unchecked(self.sattr),
            1 => Createhow3::Guarded(self.sattr),
            _ => Createhow3::Exclusive(self.verf),
        }
    }

    fn mknoddata(&self) -> Mknoddata3 {
        let spec = Specdata3 {
            specdata1: self.words[0],
            specdata2: self.words[1],
        };
        match self.choice % 5 {
            0 => Mknoddata3::Chr(self.sattr, spec),
            1 => Mknoddata3::Blk(self.sattr, spec),
            2 => Mknoddata3::Sock(self.sattr),
            3 => Mknoddata3::Fifo(self.sattr),
            _ => Mknoddata3::Other(Ftype3::Reg),
        }
    }

    fn stable(&self) -> StableHow {
        StableHow::ALL[self.choice as usize % 3]
    }

    /// Arguments of a procedure.
    pub fn args(&self, procedure: Procedure) -> Args<'_> {
        let (fh, at, count) = (self.handle(0), self.hypers[0], self.words[0]);
        match procedure {
            Procedure::Null => Args::Null(NullArgs {}),
            Procedure::Getattr => Args::Getattr(GetattrArgs { object: fh }),
            Procedure::Setattr => Args::Setattr(SetattrArgs {
                object: fh,
                new_attributes: self.sattr,
                guard: self.flags[0].then(|| self.time()),
            }),
            Procedure::Lookup => Args::Lookup(LookupArgs {
                what: self.dirop(0),
            }),
            Procedure::Access => Args::Access(AccessArgs {
                object: fh,
                access: count,
            }),
            Procedure::Readlink => Args::Readlink(ReadlinkArgs { symlink: fh }),
            Procedure::Read => Args::Read(ReadArgs {
                file: fh,
                offset: at,
                count,
            }),
            Procedure::Write => Args::Write(WriteArgs {
                file: fh,
                offset: at,
                count,
                stable: self.stable(),
                data: &self.data,
            }),
            Procedure::Create => Args::Create(CreateArgs {
                location: self.dirop(1),
                how: self.createhow(),
            }),
            Procedure::Mkdir => Args::Mkdir(MkdirArgs {
                location: self.dirop(1),
                attributes: self.sattr,
            }),
            Procedure::Symlink => Args::Symlink(SymlinkArgs {
                location: self.dirop(0),
                symlink_attributes: self.sattr,
                symlink_data: &self.data,
            }),
            Procedure::Mknod => Args::Mknod(MknodArgs {
                location: self.dirop(0),
                what: self.mknoddata(),
            }),
            Procedure::Remove => Args::Remove(RemoveArgs {
                object: self.dirop(1),
            }),
            Procedure::Rmdir => Args::Rmdir(RmdirArgs {
                object: self.dirop(0),
            }),
            Procedure::Rename => Args::Rename(RenameArgs {
                from: self.dirop(0),
                to: self.dirop(1),
            }),
            Procedure::Link => Args::Link(LinkArgs {
                file: fh,
                link: self.dirop(1),
            }),
            Procedure::Readdir => Args::Readdir(ReaddirArgs {
                dir: fh,
                cookie: at,
                cookieverf: self.verf,
                count,
            }),
            Procedure::Readdirplus => Args::Readdirplus(ReaddirplusArgs {
                dir: fh,
                cookie: at,
                cookieverf: self.verf,
                dircount: count,
                maxcount: self.words[1],
            }),
            Procedure::Fsstat => Args::Fsstat(FsstatArgs { fsroot: fh }),
            Procedure::Fsinfo => Args::Fsinfo(FsinfoArgs { fsroot: fh }),
            Procedure::Pathconf => Args::Pathconf(PathconfArgs { object: fh }),
            Procedure::Commit => Args::Commit(CommitArgs {
                file: fh,
                offset: at,
                count,
            }),
        }
    }

    fn created(&self) -> CreateRes<'_> {
        Ok(CreateOk {
            obj: self.flags[2].then(|| self.handle(1)),
            obj_attributes: self.attrs[0],
            dir_wcc: self.wcc[0],
        })
    }

    /// Successful results of a procedure.
    pub fn ok(&self, procedure: Procedure) -> Results<'_> {
        let [attr, attr2] = self.attrs;
        let [wcc, wcc2] = self.wcc;
        let (w, h, f) = (&self.words, &self.hypers, &self.flags);
        match procedure {
            Procedure::Null => Results::Null(()),
            Procedure::Getattr => Results::Getattr(Ok(GetattrOk {
                obj_attributes: attr
                    .or(attr2)
                    .unwrap_or_else(|| Self::fixed().attrs[0].unwrap()),
            })),
            Procedure::Setattr => Results::Setattr(Ok(ObjWcc { obj_wcc: wcc })),
            Procedure::Lookup => Results::Lookup(Ok(LookupOk {
                object: self.handle(1),
                obj_attributes: attr,
                dir_attributes: attr2,
            })),
            Procedure::Access => Results::Access(Ok(AccessOk {
                obj_attributes: attr,
                access: w[0],
            })),
            Procedure::Readlink => Results::Readlink(Ok(ReadlinkOk {
                symlink_attributes: attr,
                data: &self.data,
            })),
            Procedure::Read => Results::Read(Ok(ReadOk {
                file_attributes: attr,
                count: self.data.len() as u32,
                eof: f[0],
                data: &self.data,
            })),
            Procedure::Write => Results::Write(Ok(WriteOk {
                file_wcc: wcc,
                count: w[0],
                committed: self.stable(),
                verf: self.verf,
            })),
            Procedure::Create => Results::Create(self.created()),
            Procedure::Mkdir => Results::Mkdir(self.created()),
            Procedure::Symlink => Results::Symlink(self.created()),
            Procedure::Mknod => Results::Mknod(self.created()),
            Procedure::Remove => Results::Remove(Ok(DirWcc { dir_wcc: wcc })),
            Procedure::Rmdir => Results::Rmdir(Ok(DirWcc { dir_wcc: wcc2 })),
            Procedure::Rename => Results::Rename(Ok(RenameWcc {
                fromdir_wcc: wcc,
                todir_wcc: wcc2,
            })),
            Procedure::Link => Results::Link(Ok(LinkWcc {
                file_attributes: attr,
                linkdir_wcc: wcc,
            })),
            Procedure::Readdir => Results::Readdir(Ok(ReaddirOk {
                dir_attributes: attr,
                cookieverf: self.verf,
                reply: DirList::from_bytes(&self.lists[0]),
            })),
            Procedure::Readdirplus => Results::Readdirplus(Ok(ReaddirplusOk {
                dir_attributes: attr2,
                cookieverf: self.verf,
                reply: DirList::from_bytes(&self.lists[1]),
            })),
            Procedure::Fsstat => Results::Fsstat(Ok(FsstatOk {
                obj_attributes: attr,
                tbytes: h[0],
                fbytes: h[1],
                abytes: h[2],
                tfiles: h[3],
                ffiles: h[4],
                afiles: h[5],
                invarsec: w[0],
            })),
            Procedure::Fsinfo => Results::Fsinfo(Ok(FsinfoOk {
                obj_attributes: attr,
                rtmax: w[0],
                rtpref: w[1],
                rtmult: w[2],
                wtmax: w[3],
                wtpref: w[4],
                wtmult: w[5],
                dtpref: w[6],
                maxfilesize: h[0],
                time_delta: Nfstime3 {
                    seconds: w[7],
                    nseconds: w[8],
                },
                properties: w[9],
            })),
            Procedure::Pathconf => Results::Pathconf(Ok(PathconfOk {
                obj_attributes: attr,
                linkmax: w[0],
                name_max: w[1],
                no_trunc: f[0],
                chown_restricted: f[1],
                case_insensitive: f[2],
                case_preserving: f[3],
            })),
            Procedure::Commit => Results::Commit(Ok(CommitOk {
                file_wcc: wcc,
                verf: self.verf,
            })),
        }
    }

    /// Results of a procedure that failed; NULL can't.
    pub fn failed(&self, procedure: Procedure) -> Option<Results<'_>> {
        fn err<O, F>(status: Nfsstat3, info: F) -> Res<O, F> {
            Err(Failed { status, info })
        }
        let (status, [attr, _], [wcc, wcc2]) = (self.status, self.attrs, self.wcc);
        let (obj, dir) = (
            ObjAttr {
                obj_attributes: attr,
            },
            DirAttr {
                dir_attributes: attr,
            },
        );
        let (dirw, filew) = (DirWcc { dir_wcc: wcc }, FileWcc { file_wcc: wcc });
        Some(match procedure {
            Procedure::Null => return None,
            Procedure::Getattr => Results::Getattr(err(status, ())),
            Procedure::Setattr => Results::Setattr(err(status, ObjWcc { obj_wcc: wcc })),
            Procedure::Lookup => Results::Lookup(err(status, dir)),
            Procedure::Access => Results::Access(err(status, obj)),
            Procedure::Readlink => Results::Readlink(err(status, obj)),
            Procedure::Read => Results::Read(err(status, obj)),
            Procedure::Write => Results::Write(err(status, filew)),
            Procedure::Create => Results::Create(err(status, dirw)),
            Procedure::Mkdir => Results::Mkdir(err(status, dirw)),
            Procedure::Symlink => Results::Symlink(err(status, dirw)),
            Procedure::Mknod => Results::Mknod(err(status, dirw)),
            Procedure::Remove => Results::Remove(err(status, dirw)),
            Procedure::Rmdir => Results::Rmdir(err(status, dirw)),
            Procedure::Rename => Results::Rename(err(
                status,
                RenameWcc {
                    fromdir_wcc: wcc,
                    todir_wcc: wcc2,
                },
            )),
            Procedure::Link => Results::Link(err(
                status,
                LinkWcc {
                    file_attributes: attr,
                    linkdir_wcc: wcc,
                },
            )),
            Procedure::Readdir => Results::Readdir(err(status, dir)),
            Procedure::Readdirplus => Results::Readdirplus(err(status, dir)),
            Procedure::Fsstat => Results::Fsstat(err(status, obj)),
            Procedure::Fsinfo => Results::Fsinfo(err(status, obj)),
            Procedure::Pathconf => Results::Pathconf(err(status, obj)),
            Procedure::Commit => Results::Commit(err(status, filew)),
        })
    }

    pub fn mapping(&self) -> Mapping {
        let [prog, vers, prot, port, ..] = self.words;
        Mapping {
            prog,
            vers,
            prot,
            port,
        }
    }

    pub fn rpcb(&self) -> Rpcb<'_> {
        let [prog, vers, ..] = self.words;
        Rpcb {
            prog,
            vers,
            netid: self.name(0),
            addr: self.name(1),
            owner: self.name(2),
        }
    }

    pub fn mount_entry(&self) -> MountEntry<'_> {
        MountEntry {
            hostname: self.name(0),
            directory: self.name(1),
        }
    }

    /// The bytes of the group list that [`Pool::export`] borrows.
    pub fn groups(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let groups = self.names.iter().map(|name| GroupNode { name });
        encode_list(&mut Encoder::new(&mut out), groups);
        out
    }

    pub fn export<'a>(&'a self, groups: &'a [u8]) -> ExportNode<'a> {
        ExportNode {
            dir: self.name(0),
            groups: List::from_bytes(groups).expect("own bytes"),
        }
    }
}

fn times() -> impl Strategy<Value = Nfstime3> {
    any::<(u32, u32)>().prop_map(|(seconds, nseconds)| Nfstime3 { seconds, nseconds })
}

fn attrs() -> impl Strategy<Value = PostOpAttr> {
    let numbers = any::<([u32; 6], [u64; 4])>();
    let attr = (0..7usize, numbers, times(), times(), times()).prop_map(
        |(kind, (w, h), atime, mtime, ctime)| Fattr3 {
            ftype: Ftype3::ALL[kind],
            mode: w[0],
            nlink: w[1],
            uid: w[2],
            gid: w[3],
            size: h[0],
            used: h[1],
            rdev: Specdata3 {
                specdata1: w[4],
                specdata2: w[5],
            },
            fsid: h[2],
            fileid: h[3],
            atime,
            mtime,
            ctime,
        },
    );
    proptest::option::of(attr)
}

fn wcc() -> impl Strategy<Value = WccData> {
    let before = (any::<u64>(), times(), times()).prop_map(|(size, mtime, ctime)| WccAttr {
        size,
        mtime,
        ctime,
    });
    (proptest::option::of(before), attrs()).prop_map(|(before, after)| WccData { before, after })
}

fn set_time() -> impl Strategy<Value = SetTime> {
    prop_oneof![
        Just(SetTime::DontChange),
        Just(SetTime::ServerTime),
        times().prop_map(SetTime::ClientTime)
    ]
}

fn sattr() -> impl Strategy<Value = Sattr3> {
    let numbers = any::<(Option<u32>, Option<u32>, Option<u32>, Option<u64>)>();
    (numbers, set_time(), set_time()).prop_map(|((mode, uid, gid, size), atime, mtime)| Sattr3 {
        mode,
        uid,
        gid,
        size,
        atime,
        mtime,
    })
}

/// Any field values.
pub fn pools() -> impl Strategy<Value = Pool> {
    let bytes = |max: usize| proptest::collection::vec(any::<u8>(), 0..=max);
    let opaque = (
        [bytes(FHSIZE3), bytes(FHSIZE3)],
        proptest::collection::vec(bytes(40), 0..6),
        bytes(300),
    );
    let numbers = any::<([u32; 12], [u64; 7], [bool; 4], Verf, u32, u32)>();
    (opaque, numbers, [attrs(), attrs()], [wcc(), wcc()], sattr()).prop_map(
        |((fh, names, data), (words, hypers, flags, verf, status, choice), attrs, wcc, sattr)| {
            let mut pool = Pool {
                fh,
                names,
                data,
                words,
                hypers,
                flags,
                attrs,
                wcc,
                sattr,
                verf,
                status: Nfsstat3::from_u32(status.max(1)),
                choice,
                lists: Default::default(),
            };
            pool.write_lists();
            pool
        },
    )
}

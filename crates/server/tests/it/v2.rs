//! NFSv2 and MOUNT v1, procedure by procedure, and where they meet version 3.

use crate::client::{Client, server};
use filermark_onc::mount::UmntArgs;
use filermark_onc::mount1;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3;
use filermark_onc::rpc::{AcceptStat, Call, RpcRefusal};

const V2: (u32, u32) = (PROGRAM, VERSION);

/// A handle that owns its bytes.
pub type Handle = [u8; FHSIZE];

/// Version 2's calls on one connection.
pub struct Old {
    pub client: Client,
    pub root: Handle,
}

fn mnt(client: &mut Client, path: &str) -> Result<Handle, Nfsstat> {
    let args = mount1::MntArgs {
        dirpath: path.as_bytes(),
    };
    let res = client.call_program((mount1::PROGRAM, mount1::VERSION), &args, |res| {
        res.map(|ok| *ok.directory.as_bytes())
    });
    res.expect("accepted")
}

impl Old {
    pub fn on(server: &filermark_server::RunningServer) -> Old {
        let mut client = Client::connect(server.addrs()[0]);
        let root = mnt(&mut client, "/export").expect("mount");
        Old { client, root }
    }

    pub fn call<A: Call, R>(&mut self, args: &A, look: impl FnOnce(A::Res<'_>) -> R) -> R {
        self.client.call_program(V2, args, look).expect("accepted")
    }

    pub fn create(
        &mut self,
        dir: Handle,
        name: &[u8],
        set: Sattr,
    ) -> Result<(Handle, Fattr), Nfsstat> {
        let args = CreateArgs {
            location: place(&dir, name),
            attributes: set,
        };
        self.call(&args, owned)
    }

    pub fn mkdir(&mut self, dir: Handle, name: &[u8]) -> Result<(Handle, Fattr), Nfsstat> {
        let args = MkdirArgs {
            location: place(&dir, name),
            attributes: Sattr::mode(0o755),
        };
        self.call(&args, owned)
    }

    pub fn lookup(&mut self, dir: Handle, name: &[u8]) -> Result<(Handle, Fattr), Nfsstat> {
        let what = place(&dir, name);
        self.call(&LookupArgs { what }, owned)
    }

    pub fn getattr(&mut self, file: Handle) -> Result<Fattr, Nfsstat> {
        let file = Fhandle::new(&file);
        self.call(&GetattrArgs { file }, |res| res.map(|ok| ok.attributes))
    }

    pub fn setattr(&mut self, file: Handle, attributes: Sattr) -> Result<Fattr, Nfsstat> {
        let file = Fhandle::new(&file);
        self.call(&SetattrArgs { file, attributes }, |res| {
            res.map(|ok| ok.attributes)
        })
    }

    pub fn write(&mut self, file: Handle, offset: u32, data: &[u8]) -> Result<Fattr, Nfsstat> {
        let args = WriteArgs {
            file: Fhandle::new(&file),
            beginoffset: 0,
            offset,
            totalcount: 0,
            data,
        };
        self.call(&args, |res| res.map(|ok| ok.attributes))
    }

    pub fn read(
        &mut self,
        file: Handle,
        offset: u32,
        count: u32,
    ) -> Result<(Vec<u8>, Fattr), Nfsstat> {
        let args = ReadArgs {
            file: Fhandle::new(&file),
            offset,
            count,
            totalcount: 0,
        };
        self.call(&args, |res| res.map(|ok| (ok.data.to_vec(), ok.attributes)))
    }

    /// Names and numbers, by READDIRs of `count` bytes each.
    pub fn names(&mut self, dir: Handle, count: u32) -> Result<Vec<(Vec<u8>, u32)>, Nfsstat> {
        let (mut all, mut cookie) = (Vec::new(), 0);
        loop {
            let dir = Fhandle::new(&dir);
            let args = ReaddirArgs { dir, cookie, count };
            let eof = self.call(&args, |res| {
                let reply = res?.reply;
                let mut entries = reply.iter();
                for entry in &mut entries {
                    let entry = entry.expect("entry");
                    cookie = entry.cookie;
                    all.push((entry.name.to_vec(), entry.fileid));
                }
                Ok(entries.eof().expect("a whole list"))
            })?;
            if eof {
                return Ok(all);
            }
        }
    }
}

pub fn place<'a>(dir: &'a Handle, name: &'a [u8]) -> Diropargs<'a> {
    Diropargs {
        dir: Fhandle::new(dir),
        name,
    }
}

fn owned(res: DiropRes<'_>) -> Result<(Handle, Fattr), Nfsstat> {
    res.map(|ok| (*ok.file.as_bytes(), ok.attributes))
}

#[test]
fn files_are_made_written_read_cut_and_removed() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let (file, made) = old
        .create(old.root, b"file", Sattr::mode(0o640))
        .expect("create");
    assert_eq!((made.ftype, made.mode), (Ftype::Reg, 0o100_640));
    assert_eq!((made.size, made.nlink, made.rdev), (0, 1, u32::MAX));
    let data: Vec<u8> = (0..MAXDATA).map(|i| i as u8).collect();
    assert_eq!(old.write(file, 100, &data).expect("write").size, 8292);
    let (read, found) = old.read(file, 0, u32::MAX).expect("read");
    assert_eq!((read.len(), found.size), (MAXDATA, 8292));
    assert_eq!((&read[..100], &read[100..]), (&[0; 100][..], &data[..8092]));
    assert_eq!(old.read(file, 8292, 10).expect("at the end").0, b"");
    // Size 0 in CREATE cuts what is there; without a size it is left alone.
    let kept = old
        .create(old.root, b"file", Sattr::mode(0o600))
        .expect("open");
    assert_eq!((kept.0, kept.1.size, kept.1.mode), (file, 8292, 0o100_640));
    let cut = Sattr {
        size: 0,
        ..Sattr::mode(0o600)
    };
    assert_eq!(old.create(old.root, b"file", cut).expect("cut").1.size, 0);
    assert_eq!(old.lookup(old.root, b"file").expect("lookup").0, file);
    let root = old.root;
    let what = place(&root, b"file");
    assert_eq!(old.call(&RemoveArgs { what }, |res| res), Ok(()));
    assert_eq!(old.getattr(file), Err(Nfsstat::Stale));
    assert_eq!(old.lookup(old.root, b"file").unwrap_err(), Nfsstat::Noent);
    let stats = server.stop();
    assert_eq!(
        (stats.of2(Procedure::Create), stats.of2(Procedure::Read)),
        (3, 2)
    );
    assert_eq!((stats.bytes_written, stats.bytes_read), (8192, 8192));
    assert_eq!((stats.nfs_total(), stats.refused), (10, 0));
    assert_eq!(stats.mount[1], 1);
}

#[test]
fn setattr_leaves_what_is_minus_one() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let (file, before) = old
        .create(old.root, b"f", Sattr::mode(0o644))
        .expect("create");
    let same = old.setattr(file, Sattr::NONE).expect("setattr");
    assert_eq!(
        (same.mode, same.size, same.mtime),
        (before.mode, before.size, before.mtime)
    );
    let time = Timeval {
        seconds: 5,
        useconds: 6,
    };
    let set = Sattr {
        mode: 0o100_600,
        uid: 7,
        gid: 8,
        size: 9,
        atime: time,
        mtime: time,
    };
    let now = old.setattr(file, set).expect("setattr");
    assert_eq!((now.mode, now.uid, now.gid, now.size), (0o100_600, 7, 8, 9));
    assert_eq!((now.atime, now.mtime), (time, time));
    // 1,000,000 microseconds: both times are the server's now.
    let touch = Sattr {
        atime: time,
        mtime: Timeval {
            seconds: 5,
            useconds: 1_000_000,
        },
        ..Sattr::NONE
    };
    let touched = old.setattr(file, touch).expect("setattr");
    assert!(touched.atime.seconds > 1_000_000 && touched.mtime.seconds > 1_000_000);
}

#[test]
fn what_does_not_fit_32_bits() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let (mut new, new_root) = Client::mounted(&server);
    let (file, _) = old
        .create(old.root, b"big", Sattr::mode(0o644))
        .expect("create");
    let max = FILE_BYTES_MAX as u32;
    assert_eq!(old.write(file, max - 1, b"x").expect("last byte").size, max);
    assert_eq!(old.write(file, max, b"x"), Err(Nfsstat::Fbig));
    assert_eq!(old.write(file, max - 1, b"xy"), Err(Nfsstat::Fbig));
    assert_eq!(old.setattr(file, Sattr::size(max + 1)), Err(Nfsstat::Fbig));
    assert_eq!(
        old.create(old.root, b"too big", Sattr::size(1 << 31)).err(),
        Some(Nfsstat::Fbig)
    );
    // Version 3 makes it larger; version 2 sees as much as it can say.
    let big = new.lookup(new_root, "big").expect("lookup");
    let beyond = new.write(big, 1 << 33, b"far", nfs3::StableHow::FileSync);
    assert!(beyond.is_ok());
    assert_eq!(old.getattr(file).expect("getattr").size, max);
    assert_eq!(old.read(file, max - 1, 100).expect("read").0, b"x");
    assert_eq!(old.read(file, max + 5, 100).expect("read").0, b"");
}

#[test]
fn handles_are_good_in_both_versions() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let (mut new, new_root) = Client::mounted(&server);
    assert_eq!(&old.root[..24], new_root.as_bytes());
    let wide = nfs3::Fh::new(&old.root).expect("handle");
    let by_new = new.mkdir(wide, "dir").expect("mkdir by v3 on v2's handle");
    let (by_old, found) = old.lookup(old.root, b"dir").expect("lookup");
    assert_eq!(&by_old[..24], by_new.as_bytes());
    assert_eq!((found.ftype, found.mode), (Ftype::Dir, 0o040_755));
    let mut strange = old.root;
    strange[31] = 1;
    assert_eq!(old.getattr(strange), Err(Nfsstat::Stale));
    assert_eq!(old.getattr([7; FHSIZE]), Err(Nfsstat::Stale));
}

#[test]
fn names_links_and_errors() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let root = old.root;
    let (dir, _) = old.mkdir(root, b"dir").expect("mkdir");
    assert_eq!(old.mkdir(root, b"dir").err(), Some(Nfsstat::Exist));
    let (file, _) = old.create(dir, b"a", Sattr::mode(0o644)).expect("create");
    let rmdir = RmdirArgs {
        what: place(&root, b"dir"),
    };
    assert_eq!(old.call(&rmdir, |res| res), Err(Nfsstat::Notempty));
    let remove = RemoveArgs {
        what: place(&root, b"dir"),
    };
    assert_eq!(old.call(&remove, |res| res), Err(Nfsstat::Isdir));
    assert_eq!(old.lookup(file, b"x").err(), Some(Nfsstat::Notdir));
    let long = [b'n'; 256];
    assert_eq!(
        old.create(dir, &long, Sattr::NONE).err(),
        Some(Nfsstat::Nametoolong)
    );
    assert!(old.create(dir, &long[..255], Sattr::NONE).is_ok());
    let link = LinkArgs {
        from: Fhandle::new(&file),
        to: place(&root, b"b"),
    };
    assert_eq!(old.call(&link, |res| res), Ok(()));
    assert_eq!(old.call(&link, |res| res), Err(Nfsstat::Exist));
    assert_eq!(old.getattr(file).expect("getattr").nlink, 2);
    let rename = RenameArgs {
        from: place(&root, b"b"),
        to: place(&dir, b"c"),
    };
    assert_eq!(old.call(&rename, |res| res), Ok(()));
    assert_eq!(old.lookup(dir, b"c").expect("lookup").0, file);
    let symlink = SymlinkArgs {
        from: place(&root, b"link"),
        to: b"dir/c",
        attributes: Sattr::NONE,
    };
    assert_eq!(old.call(&symlink, |res| res), Ok(()));
    let (link, found) = old.lookup(root, b"link").expect("lookup");
    assert_eq!((found.ftype, found.mode), (Ftype::Lnk, 0o120_777));
    let readlink = ReadlinkArgs {
        file: Fhandle::new(&link),
    };
    old.call(&readlink, |res| {
        assert_eq!(res.expect("link").data, b"dir/c")
    });
}

#[test]
fn special_files_come_by_create() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let root = old.root;
    let (fifo, _) = old
        .create(root, b"fifo", Sattr::mode(0o020_644))
        .expect("fifo");
    let found = old.getattr(fifo).expect("getattr");
    assert_eq!(
        (found.ftype, found.mode, found.rdev),
        (Ftype::Chr, 0o010_644, u32::MAX)
    );
    let device = Sattr {
        size: 0x0010_0203,
        ..Sattr::mode(0o060_600)
    };
    let (_, found) = old.create(root, b"disk", device).expect("device");
    assert_eq!((found.ftype, found.rdev), (Ftype::Blk, 0x0010_0203));
    let (_, found) = old
        .create(root, b"socket", Sattr::mode(0o140_600))
        .expect("socket");
    assert_eq!((found.ftype, found.mode), (Ftype::Sock, 0o140_600));
}

#[test]
fn listings_go_on_where_they_ended() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let root = old.root;
    let mut expected = vec![b".".to_vec(), b"..".to_vec()];
    for i in 0..500 {
        let name = format!("name-{i}").into_bytes();
        old.create(root, &name, Sattr::mode(0o644)).expect("create");
        expected.push(name);
    }
    for count in [64, 512, 8192, 1 << 20] {
        let names = old.names(root, count).expect("list");
        let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, expected, "{count}");
    }
    assert_eq!(old.names(root, 16), Err(Nfsstat::Inval));
    let (file, _) = old.lookup(root, b"name-7").expect("lookup");
    assert_eq!(old.names(file, 512), Err(Nfsstat::Notdir));
}

#[test]
fn statfs_counts_blocks_and_ends_at_32_bits() {
    for (capacity_bytes, blocks) in [(1 << 30, 1 << 18), (1 << 60, u32::MAX)] {
        let server = server(|o| o.capacity_bytes = capacity_bytes);
        let mut old = Old::on(&server);
        let root = old.root;
        let args = StatfsArgs {
            file: Fhandle::new(&root),
        };
        old.call(&args, |res| {
            let ok = res.expect("statfs");
            assert_eq!((ok.tsize, ok.bsize), (8192, 4096));
            assert_eq!((ok.blocks, ok.bfree, ok.bavail), (blocks, blocks, blocks));
        });
    }
}

/// Whatever `blocksize` says: clients take them for `st_blocks`.
#[test]
fn blocks_of_a_file_are_of_512_bytes() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    let (file, empty) = old
        .create(old.root, b"f", Sattr::mode(0o644))
        .expect("create");
    assert_eq!(empty.blocks, 0);
    let after = old.write(file, 0, &[7; 5000]).expect("write");
    assert_eq!((after.size, after.blocks), (5000, 2 * 4096 / 512));
}

#[test]
fn the_useless_procedures_succeed_and_unknown_ones_do_not() {
    let server = server(|_| ());
    let mut old = Old::on(&server);
    old.call(&NullArgs {}, |()| ());
    old.call(&RootArgs {}, |()| ());
    old.call(&WritecacheArgs {}, |()| ());
    let umnt = UmntArgs {
        dirpath: b"/export",
    };
    let refused = |client: &mut Client, program| {
        client
            .call_program(program, &umnt, |()| ())
            .expect_err("refused")
    };
    let mismatch = |low, high| RpcRefusal::Accepted(AcceptStat::ProgMismatch { low, high });
    let client = &mut old.client;
    assert_eq!(refused(client, (PROGRAM, 9)), mismatch(2, 4));
    assert_eq!(refused(client, (mount1::PROGRAM, 2)), mismatch(1, 3));
    // 3 is UMNT of MOUNT v1.
    let done = client.call_program((mount1::PROGRAM, mount1::VERSION), &umnt, |()| ());
    assert_eq!(done, Ok(()));
}

#[test]
fn mount_v1_answers_with_an_errno() {
    let plain = server(|_| ());
    let client = &mut Client::connect(plain.addrs()[0]);
    assert_eq!(mnt(client, "/nothing"), Err(Nfsstat::Noent));
    assert_eq!(mnt(client, "/export/no"), Err(Nfsstat::Noent));
    let strict = server(|o| o.refuse_mount = true);
    let client = &mut Client::connect(strict.addrs()[0]);
    assert_eq!(mnt(client, "/export"), Err(Nfsstat::Acces));
}

#[test]
fn faults_of_version_3_hold_for_the_same_procedure() {
    let server = server(|o| {
        o.errors = "READ=NFS3ERR_IO@1,GETATTR=NFS3ERR_BADHANDLE@1,FSSTAT=NFS3ERR_NOTSUPP@1,\
                    REMOVE=NFS3ERR_NOENT@1"
            .parse()
            .expect("spec");
        o.short = Some(10);
    });
    let mut old = Old::on(&server);
    let root = old.root;
    let (file, _) = old.create(root, b"f", Sattr::mode(0o644)).expect("create");
    assert_eq!(old.write(file, 0, &[1; 100]).expect("write").size, 100);
    assert_eq!(old.read(file, 0, 100), Err(Nfsstat::Io));
    assert_eq!(old.read(file, 0, 100).expect("short").0, [1; 10]);
    assert_eq!(old.getattr(file), Err(Nfsstat::Stale));
    assert!(old.getattr(file).is_ok());
    let statfs = StatfsArgs {
        file: Fhandle::new(&root),
    };
    assert_eq!(old.call(&statfs, |res| res.err()), Some(Nfsstat::Io));
    let remove = RemoveArgs {
        what: place(&root, b"f"),
    };
    assert_eq!(old.call(&remove, |res| res), Err(Nfsstat::Noent));
    assert_eq!(old.call(&remove, |res| res), Ok(()));
    assert_eq!(server.stats().errors_injected, 4);
}

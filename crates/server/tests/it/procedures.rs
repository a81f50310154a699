//! The 22 procedures, one promise per test.

use crate::client::{Client, auth, server};
use filermark_onc::nfs3::*;

fn at<'a>(dir: &'a Fh, name: &'a str) -> Diropargs3<'a> {
    Diropargs3 {
        dir: dir.handle(),
        name: name.as_bytes(),
    }
}

#[test]
fn data_and_attributes_come_back() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    client.call(&NullArgs {}, |()| ());
    let file = client.create(root, "f");
    let wrote = client
        .write(file, 1 << 33, b"hello", StableHow::Unstable)
        .expect("write");
    assert_eq!((wrote.count, wrote.committed), (5, StableHow::FileSync));
    let (before, after) = (
        wrote.file_wcc.before.expect("before"),
        wrote.file_wcc.after.expect("after"),
    );
    assert_eq!((before.size, after.size), (0, (1 << 33) + 5));
    assert!(after.ctime > before.ctime && after.mtime > before.mtime);
    assert_eq!(
        client.read(file, (1 << 33) - 1, 100),
        Ok((b"\0hello".to_vec(), true))
    );
    assert_eq!(client.read(file, 1 << 33, 2), Ok((b"he".to_vec(), false)));
    let attr = client.getattr(file).expect("attr");
    assert_eq!(
        (attr.ftype, attr.size, attr.mode, attr.nlink),
        (Ftype3::Reg, (1 << 33) + 5, 0o644, 1)
    );
    assert_eq!(client.lookup(root, "f"), Ok(file));
    let commit = CommitArgs {
        file: file.handle(),
        offset: 0,
        count: 0,
    };
    let verf = client.call(&commit, |res| res.expect("commit").verf);
    assert_eq!(verf, wrote.verf);
}

#[test]
fn setattr_with_guard_and_times() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let ctime = client.getattr(file).expect("attr").ctime;
    let time = Nfstime3 {
        seconds: 4_000_000_000,
        nseconds: 7,
    };
    let new = Sattr3 {
        mode: Some(0o600),
        mtime: SetTime::ClientTime(time),
        size: Some(9),
        ..Sattr3::default()
    };
    let mut set = SetattrArgs {
        object: file.handle(),
        new_attributes: new,
        guard: Some(ctime),
    };
    let after = client.call(&set, |res| res.expect("set").obj_wcc.after.expect("after"));
    assert_eq!((after.mode, after.size, after.mtime), (0o600, 9, time));
    let failed = client.call(&set, |res| res.expect_err("the guard holds no more"));
    assert_eq!(failed.status, Nfsstat3::NotSync);
    assert_eq!(failed.info.obj_wcc.after, Some(after));
    set.guard = None;
    assert!(client.call(&set, |res| res.is_ok()));
}

#[test]
fn names_come_and_go() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let dir = client.mkdir(root, "d").expect("mkdir");
    let file = client.create(dir, "f");
    let link = LinkArgs {
        file: file.handle(),
        link: at(&root, "l"),
    };
    let linked = client.call(&link, |res| res.expect("link"));
    assert_eq!(linked.file_attributes.map(|a| a.nlink), Some(2));
    let rename = RenameArgs {
        from: at(&dir, "f"),
        to: at(&root, "g"),
    };
    let renamed = client.call(&rename, |res| res.expect("rename"));
    assert!(renamed.fromdir_wcc.after.is_some() && renamed.todir_wcc.before.is_some());
    assert_eq!(client.lookup(dir, "f"), Err(Nfsstat3::Noent));
    let rmdir = |name: &'static str| RmdirArgs {
        object: at(&root, name),
    };
    assert!(client.call(&rmdir("d"), |res| res.is_ok()));
    assert_eq!(client.getattr(dir), Err(Nfsstat3::Stale));
    assert_eq!(
        client.call(&rmdir("g"), |res| res.unwrap_err().status),
        Nfsstat3::Notdir
    );
    for name in ["g", "l"] {
        assert!(client.call(
            &RemoveArgs {
                object: at(&root, name)
            },
            |res| res.is_ok()
        ));
    }
    assert_eq!(client.getattr(file), Err(Nfsstat3::Stale));
    let gone = client.call(
        &RemoveArgs {
            object: at(&root, "g"),
        },
        |res| res.unwrap_err(),
    );
    assert_eq!(gone.status, Nfsstat3::Noent);
    assert!(gone.info.dir_wcc.after.is_some());
}

#[test]
fn symlinks_and_special_files() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let symlink = SymlinkArgs {
        location: at(&root, "s"),
        symlink_attributes: Sattr3::default(),
        symlink_data: b"to/there",
    };
    let link = client.call(&symlink, |res| {
        res.expect("symlink").obj.expect("handle").to_fh()
    });
    let target = client.call(
        &ReadlinkArgs {
            symlink: link.handle(),
        },
        |res| res.expect("readlink").data.to_vec(),
    );
    assert_eq!(target, b"to/there");
    assert_eq!(client.read(link, 0, 1), Err(Nfsstat3::Inval));
    let spec = Specdata3 {
        specdata1: 8,
        specdata2: 1,
    };
    let mut mknod = MknodArgs {
        location: at(&root, "b"),
        what: Mknoddata3::Blk(Sattr3::mode(0o600), spec),
    };
    let attr = client.call(&mknod, |res| {
        res.expect("mknod").obj_attributes.expect("attributes")
    });
    assert_eq!(
        (attr.ftype, attr.rdev, attr.mode),
        (Ftype3::Blk, spec, 0o600)
    );
    mknod.what = Mknoddata3::Other(Ftype3::Reg);
    assert_eq!(
        client.call(&mknod, |res| res.unwrap_err().status),
        Nfsstat3::Badtype
    );
}

#[test]
fn exclusive_create_knows_its_verifier() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let how = Createhow3::Exclusive(*b"12345678");
    let file = client.make(root, "f", how).expect("create");
    assert_eq!(client.make(root, "f", how), Ok(file));
    let other = Createhow3::Exclusive(*b"other678");
    assert_eq!(client.make(root, "f", other), Err(Nfsstat3::Exist));
    assert_eq!(
        client.make(root, "f", Createhow3::Unchecked(Sattr3::default())),
        Ok(file)
    );
}

#[test]
fn access_is_for_the_caller() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let file = client.create(root, "f");
    let access = |client: &mut Client| {
        client.call(
            &AccessArgs {
                object: file.handle(),
                access: 0x3f,
            },
            |res| res.expect("access").access,
        )
    };
    assert_eq!(
        access(&mut client),
        access::READ | access::MODIFY | access::EXTEND
    );
    client.become_user(&auth(5, 5, &[7]));
    assert_eq!(access(&mut client), access::READ);
    assert_eq!(
        client
            .write(file, 0, b"x", StableHow::FileSync)
            .unwrap_err()
            .status,
        Nfsstat3::Acces
    );
    assert!(client.mkdir(root, "mine").is_ok());
    let mine = client.lookup(root, "mine").expect("lookup");
    assert_eq!(client.getattr(mine).map(|a| (a.uid, a.gid)), Ok((5, 5)));
    client.become_user(&filermark_onc::rpc::AuthBody::NONE);
    let file = client.create(root, "nobodys");
    assert_eq!(client.getattr(file).map(|a| a.uid), Ok(65534));
}

#[test]
fn figures_of_the_file_system() {
    let server = server(|o| (o.capacity_bytes, o.rtmax, o.rtpref) = (1 << 20, 65536, 32768));
    let (mut client, root) = Client::mounted(&server);
    let info = client.call(
        &FsinfoArgs {
            fsroot: root.handle(),
        },
        |res| res.expect("fsinfo"),
    );
    assert_eq!(
        (info.rtmax, info.rtpref, info.wtmax),
        (65536, 32768, 1 << 20)
    );
    let stat = |client: &mut Client| {
        client.call(
            &FsstatArgs {
                fsroot: root.handle(),
            },
            |res| res.expect("fsstat"),
        )
    };
    let empty = stat(&mut client);
    assert_eq!((empty.tbytes, empty.fbytes), (1 << 20, 1 << 20));
    let file = client.create(root, "f");
    client
        .write(file, 0, &[1; 500_000], StableHow::FileSync)
        .expect("fits");
    assert_eq!(stat(&mut client).ffiles, empty.ffiles - 1);
    assert!(stat(&mut client).abytes < 600_000);
    let full = client
        .write(file, 500_000, &[1; 600_000], StableHow::FileSync)
        .unwrap_err();
    assert_eq!(full.status, Nfsstat3::Nospc);
    assert_eq!(
        client.read(file, 0, 1 << 20).expect("read").0.len(),
        65536,
        "rtmax holds"
    );
    let conf = client.call(
        &PathconfArgs {
            object: root.handle(),
        },
        |res| res.expect("pathconf"),
    );
    assert_eq!(
        (conf.name_max, conf.no_trunc, conf.case_preserving),
        (255, true, true)
    );
    assert_eq!(
        client.mkdir(root, &"x".repeat(256)),
        Err(Nfsstat3::Nametoolong)
    );
}

/// Lists everything with READDIRs of `count` bytes.
fn readdir(client: &mut Client, dir: Fh, count: u32) -> Result<Vec<String>, Nfsstat3> {
    let (mut cookie, mut cookieverf, mut names) = (0, [0; 8], Vec::new());
    loop {
        let args = ReaddirArgs {
            dir: dir.handle(),
            cookie,
            cookieverf,
            count,
        };
        let eof = client.call(&args, |res| {
            let ok = res.map_err(|failed| failed.status)?;
            cookieverf = ok.cookieverf;
            let mut entries = ok.reply.iter();
            for entry in entries.by_ref() {
                let entry = entry.expect("entry");
                names.push(String::from_utf8_lossy(entry.name).into_owned());
                cookie = entry.cookie;
            }
            Ok(entries.eof().expect("eof"))
        })?;
        if eof {
            return Ok(names);
        }
    }
}

/// Lists everything with READDIRPLUSes; checks that handles and attributes belong together.
fn readdirplus(client: &mut Client, dir: Fh, dircount: u32, maxcount: u32) -> Vec<(String, Fh)> {
    let (mut cookie, mut cookieverf, mut names) = (0, [0; 8], Vec::new());
    loop {
        let args = ReaddirplusArgs {
            dir: dir.handle(),
            cookie,
            cookieverf,
            dircount,
            maxcount,
        };
        let eof = client.call(&args, |res| {
            let ok = res.expect("readdirplus");
            cookieverf = ok.cookieverf;
            let mut entries = ok.reply.iter();
            for entry in entries.by_ref() {
                let entry = entry.expect("entry");
                assert_eq!(entry.name_attributes.map(|a| a.fileid), Some(entry.fileid));
                let handle = entry.name_handle.expect("handle").to_fh();
                names.push((String::from_utf8_lossy(entry.name).into_owned(), handle));
                cookie = entry.cookie;
            }
            entries.eof().expect("eof")
        });
        if eof {
            return names;
        }
    }
}

#[test]
fn large_directories_in_small_parts() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let dir = client.mkdir(root, "d").expect("mkdir");
    let mut expected = vec![".".to_owned(), "..".to_owned()];
    for i in 0..500 {
        let name = format!("file-{i}-{}", "x".repeat(i % 90));
        client.create(dir, &name);
        expected.push(name);
    }
    assert_eq!(readdir(&mut client, dir, 512), Ok(expected.clone()));
    assert_eq!(readdir(&mut client, dir, 1 << 20), Ok(expected.clone()));
    assert_eq!(readdir(&mut client, dir, 100), Err(Nfsstat3::Toosmall));
    for (dircount, maxcount) in [(512, 4096), (1 << 20, 1 << 20), (1, 8192)] {
        let listed = readdirplus(&mut client, dir, dircount, maxcount);
        let names: Vec<_> = listed.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, expected);
        assert_eq!(client.lookup(dir, &listed[300].0), Ok(listed[300].1));
        assert_eq!((listed[0].1, listed[1].1), (dir, root));
    }
    let args = ReaddirArgs {
        dir: dir.handle(),
        cookie: 3,
        cookieverf: [9; 8],
        count: 512,
    };
    assert_eq!(
        client.call(&args, |res| res.unwrap_err().status),
        Nfsstat3::BadCookie
    );
    let file = client.lookup(dir, &expected[2]).expect("lookup");
    assert_eq!(readdir(&mut client, file, 512), Err(Nfsstat3::Notdir));
}

#[test]
fn handles_that_are_none() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let bad = Fh::new(b"nonsense").expect("short");
    assert_eq!(client.getattr(bad), Err(Nfsstat3::Badhandle));
    assert_eq!(
        client.getattr(Fh::new(&[]).expect("short")),
        Err(Nfsstat3::Badhandle)
    );
    assert_eq!(client.mkdir(bad, "d"), Err(Nfsstat3::Badhandle));
    let mut other = root.as_bytes().to_vec();
    let last = other.len() - 1;
    other[last] ^= 1;
    assert_eq!(
        client.getattr(Fh::new(&other).expect("short")),
        Err(Nfsstat3::Stale)
    );
}

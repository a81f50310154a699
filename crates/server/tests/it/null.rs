//! Canned replies are replies: every procedure's results can be read.

use crate::client::{Client, results, server};
use filermark_onc::nfs3::*;
use filermark_onc::rpc::Call;

fn fine<A: Call>(client: &mut Client, args: &A) {
    let procedure = Procedure::from_u32(A::PROC).expect("procedure");
    let bytes = client.bytes_of(args);
    client.send(&bytes);
    let record = client.receive().expect("reply");
    // Status 0 behind the header of 24 bytes, but for NULL, which has none.
    let status = record.get(24..28);
    assert!(
        procedure == Procedure::Null || status == Some(&[0; 4]),
        "{procedure}"
    );
    let _: A::Res<'_> = results(&record, client.xid).expect("accepted");
}

#[test]
fn every_procedure_succeeds() {
    let server = server(|o| o.null = true);
    let (mut client, root) = Client::mounted(&server);
    let (object, none) = (root.handle(), Sattr3::default());
    let location = Diropargs3 {
        dir: object,
        name: b"x",
    };
    let c = &mut client;
    fine(c, &NullArgs {});
    fine(c, &GetattrArgs { object });
    fine(
        c,
        &SetattrArgs {
            object,
            new_attributes: none,
            guard: None,
        },
    );
    fine(c, &LookupArgs { what: location });
    fine(c, &AccessArgs { object, access: 1 });
    fine(c, &ReadlinkArgs { symlink: object });
    fine(
        c,
        &ReadArgs {
            file: object,
            offset: 0,
            count: 5,
        },
    );
    let data = b"abc";
    fine(
        c,
        &WriteArgs {
            file: object,
            offset: 0,
            count: 3,
            stable: StableHow::Unstable,
            data,
        },
    );
    fine(
        c,
        &CreateArgs {
            location,
            how: Createhow3::Guarded(none),
        },
    );
    fine(
        c,
        &MkdirArgs {
            location,
            attributes: none,
        },
    );
    fine(
        c,
        &SymlinkArgs {
            location,
            symlink_attributes: none,
            symlink_data: b"y",
        },
    );
    fine(
        c,
        &MknodArgs {
            location,
            what: Mknoddata3::Fifo(none),
        },
    );
    fine(c, &RemoveArgs { object: location });
    fine(c, &RmdirArgs { object: location });
    fine(
        c,
        &RenameArgs {
            from: location,
            to: location,
        },
    );
    fine(
        c,
        &LinkArgs {
            file: object,
            link: location,
        },
    );
    fine(
        c,
        &ReaddirArgs {
            dir: object,
            cookie: 0,
            cookieverf: [0; 8],
            count: 4096,
        },
    );
    let (dircount, maxcount) = (4096, 4096);
    fine(
        c,
        &ReaddirplusArgs {
            dir: object,
            cookie: 0,
            cookieverf: [0; 8],
            dircount,
            maxcount,
        },
    );
    fine(c, &FsstatArgs { fsroot: object });
    fine(c, &FsinfoArgs { fsroot: object });
    fine(c, &PathconfArgs { object });
    fine(
        c,
        &CommitArgs {
            file: object,
            offset: 0,
            count: 0,
        },
    );
    assert_eq!(server.stats().nfs, [1; Procedure::COUNT]);
}

#[test]
fn what_depends_on_the_arguments_does() {
    let server = server(|o| (o.null, o.rtmax, o.rtpref) = (true, 8192, 8192));
    let (mut client, root) = Client::mounted(&server);
    assert_eq!(client.getattr(root).map(|a| a.ftype), Ok(Ftype3::Dir));
    let file = client.create(root, "f");
    assert_eq!(client.getattr(file).map(|a| a.ftype), Ok(Ftype3::Reg));
    assert_eq!(client.read(file, 7, 5), Ok((vec![0; 5], false)));
    assert_eq!(client.read(file, 7, 1 << 20).expect("read").0.len(), 8192);
    let wrote = client
        .write(file, 0, &[1; 77], StableHow::Unstable)
        .expect("write");
    assert_eq!((wrote.count, wrote.committed), (77, StableHow::FileSync));
    let access = client.call(
        &AccessArgs {
            object: file.handle(),
            access: 0x12,
        },
        |res| res.expect("access").access,
    );
    assert_eq!(access, 0x12);
    let stats = server.stats();
    assert_eq!((stats.bytes_read, stats.bytes_written), (8197, 77));
}

fn remove(client: &mut Client, dir: Fh, name: &[u8], is_dir: bool) -> Result<(), Nfsstat3> {
    let object = Diropargs3 {
        dir: dir.handle(),
        name,
    };
    let res = match is_dir {
        true => client.call(&RmdirArgs { object }, |res| res),
        false => client.call(&RemoveArgs { object }, |res| res),
    };
    res.map(drop).map_err(|failed| failed.status)
}

fn names(client: &mut Client, dir: Fh, cookie: u64, count: u32) -> Result<Vec<String>, Nfsstat3> {
    let dir = dir.handle();
    let args = ReaddirArgs {
        dir,
        cookie,
        cookieverf: [0; 8],
        count,
    };
    client.call(&args, |res| {
        let list = res.map_err(|failed| failed.status)?.reply;
        let names = list.iter().map(|entry| entry.expect("entry").name);
        Ok(names
            .map(|name| String::from_utf8_lossy(name).into())
            .collect())
    })
}

#[test]
fn a_run_directory_exists_from_mkdir_to_rmdir() {
    let server = server(|o| o.null = true);
    let (mut client, root) = Client::mounted(&server);
    let c = &mut client;
    assert_eq!(c.lookup(root, "filermark.a"), Err(Nfsstat3::Noent));
    assert_eq!(remove(c, root, b"filermark.a", true), Err(Nfsstat3::Noent));
    let dir = c.mkdir(root, "filermark.a").expect("mkdir");
    assert_eq!(c.getattr(dir).map(|a| a.ftype), Ok(Ftype3::Dir));
    assert_eq!(c.mkdir(root, "filermark.a"), Err(Nfsstat3::Exist));
    assert_eq!(c.lookup(root, "filermark.a"), Ok(dir));
    assert_eq!(c.lookup(root, "filermark.b"), Err(Nfsstat3::Noent));
    // Other names are canned, in it as elsewhere.
    assert!(c.lookup(dir, "p000000").is_ok() && c.lookup(root, "x").is_ok());
    assert_eq!(remove(c, root, b"filermark.a", true), Ok(()));
    assert_eq!(c.lookup(root, "filermark.a"), Err(Nfsstat3::Noent));
    assert_eq!(names(c, dir, 0, 4096), Err(Nfsstat3::Stale));
    // The next one is another one.
    assert_ne!(c.mkdir(root, "filermark.a"), Ok(dir));
}

#[test]
fn a_marker_gives_back_what_was_written_to_it() {
    const MARKER: &str = ".filermark-owner";
    let server = server(|o| o.null = true);
    let (mut client, root) = Client::mounted(&server);
    let c = &mut client;
    let dir = c.mkdir(root, "filermark.a").expect("mkdir");
    let other = c.mkdir(root, "filermark.b").expect("mkdir");
    assert_eq!(c.lookup(dir, MARKER), Err(Nfsstat3::Noent));
    let file = c.create(dir, MARKER);
    assert_eq!(c.lookup(dir, MARKER), Ok(file));
    assert_eq!(c.lookup(other, MARKER), Err(Nfsstat3::Noent));
    let guarded = Createhow3::Guarded(Sattr3::default());
    assert_eq!(c.make(dir, MARKER, guarded), Err(Nfsstat3::Exist));
    let stable = StableHow::FileSync;
    let wrote = c.write(file, 0, b"run one", stable).map(|ok| ok.count);
    assert_eq!(wrote.ok(), Some(7));
    assert_eq!(
        c.write(file, 4, b"two", stable).map(|ok| ok.count).ok(),
        Some(3)
    );
    assert_eq!(c.read(file, 0, 4096), Ok((b"run two".to_vec(), true)));
    assert_eq!(c.read(file, 1, 2), Ok((b"un".to_vec(), false)));
    assert_eq!(c.read(file, u64::MAX, 9), Ok((vec![], true)));
    for offset in [4090, u64::MAX] {
        let status = c
            .write(file, offset, b"too far", stable)
            .map_err(|f| f.status);
        assert_eq!(status.err(), Some(Nfsstat3::Fbig));
    }
    assert_eq!(
        names(c, dir, 0, 4096),
        Ok(vec![".".into(), "..".into(), MARKER.into()])
    );
    assert_eq!(names(c, dir, 2, 4096), Ok(vec![MARKER.into()]));
    assert_eq!(names(c, dir, 0, 8), Err(Nfsstat3::Toosmall));
    assert_eq!(names(c, other, 0, 4096), Ok(vec![".".into(), "..".into()]));
    assert_eq!(
        remove(c, root, b"filermark.a", true),
        Err(Nfsstat3::Notempty)
    );
    let truncate = Createhow3::Unchecked(Sattr3 {
        size: Some(0),
        ..Sattr3::default()
    });
    assert_eq!(c.make(dir, MARKER, truncate), Ok(file));
    assert_eq!(c.read(file, 0, 9), Ok((vec![], true)));
    assert_eq!(remove(c, dir, MARKER.as_bytes(), false), Ok(()));
    assert_eq!(c.read(file, 0, 9), Err(Nfsstat3::Stale));
    assert_eq!(
        remove(c, dir, MARKER.as_bytes(), false),
        Err(Nfsstat3::Noent)
    );
    assert_eq!(remove(c, root, b"filermark.a", true), Ok(()));
}

#[test]
fn run_directories_are_bounded() {
    let server = server(|o| o.null = true);
    let (mut client, root) = Client::mounted(&server);
    let made = (0..100).map(|n| client.mkdir(root, &format!("filermark.{n}")));
    let made: Vec<_> = made.collect();
    assert!(made[..64].iter().all(Result::is_ok));
    assert!(made[64..].iter().all(|m| *m == Err(Nfsstat3::Nospc)));
    let long = format!("filermark.{}", "x".repeat(250));
    assert_eq!(client.mkdir(root, &long), Err(Nfsstat3::Nametoolong));
}

#[test]
fn version_2_is_canned_too_and_sees_the_same_runs() {
    use crate::v2::{Old, place};
    use filermark_onc::nfs2::{self, Nfsstat, RemoveArgs, RmdirArgs, Sattr};
    let server = server(|o| o.null = true);
    let mut old = Old::on(&server);
    let root = old.root;
    assert_eq!(old.getattr(root).expect("root").ftype, nfs2::Ftype::Dir);
    let (file, made) = old.create(root, b"any", Sattr::mode(0o644)).expect("made");
    assert_eq!(u64::from(made.size), nfs2::FILE_BYTES_MAX);
    assert_eq!(old.write(file, 7, b"gone").map(|_| ()), Ok(()));
    assert_eq!(old.read(file, 0, 1 << 20).expect("read").0, [0; 8192]);
    assert_eq!(old.names(root, 512).expect("list").len(), 2);
    assert!(old.lookup(root, b"whatever").is_ok());

    // A run's directory and its marker, as a benchmark claims and gives back.
    let run = b"filermark.x";
    assert_eq!(old.lookup(root, run).err(), Some(Nfsstat::Noent));
    let (dir, _) = old.mkdir(root, run).expect("mkdir");
    assert_eq!(old.mkdir(root, run).err(), Some(Nfsstat::Exist));
    let (marker, _) = old
        .create(dir, b".filermark-owner", Sattr::mode(0o644))
        .expect("marker");
    old.write(marker, 0, b"me").expect("write");
    assert_eq!(old.read(marker, 0, 100).expect("read").0, b"me");
    assert_eq!(old.names(dir, 512).expect("list").len(), 3);
    let (mut new, new_root) = Client::mounted(&server);
    assert!(new.lookup(new_root, "filermark.x").is_ok(), "the same runs");
    let what = place(&root, run);
    let rmdir = RmdirArgs { what };
    assert_eq!(old.call(&rmdir, |res| res), Err(Nfsstat::Notempty));
    let what = place(&dir, b".filermark-owner");
    assert_eq!(old.call(&RemoveArgs { what }, |res| res), Ok(()));
    assert_eq!(old.call(&rmdir, |res| res), Ok(()));
    assert_eq!(old.lookup(root, run).err(), Some(Nfsstat::Noent));
    assert_eq!(old.names(dir, 512), Err(Nfsstat::Stale));
}

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

/// So that a whole run can be made against canned replies.
#[test]
fn a_run_finds_its_directory_empty_and_without_a_marker() {
    let server = server(|o| o.null = true);
    let (mut client, root) = Client::mounted(&server);
    let dir = client.lookup(root, "filermark.mine").expect("it is there");
    assert_eq!(client.getattr(dir).map(|a| a.ftype), Ok(Ftype3::Dir));
    let marker = client.lookup(dir, ".filermark-owner");
    assert_eq!(marker, Err(Nfsstat3::Noent));
    let file = client.lookup(dir, "anything").expect("it is there");
    assert_eq!(client.getattr(file).map(|a| a.ftype), Ok(Ftype3::Reg));
}

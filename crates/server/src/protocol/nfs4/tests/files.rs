//! The root, open files, and the operations of version 4.2.

use super::*;

#[test]
fn the_export_is_below_the_root() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let both = Bitmap4::of(&[
        Attribute::Fsid,
        Attribute::Fileid,
        Attribute::MountedOnFileid,
    ]);
    let answer = client.call(|compound| {
        compound.op(&PutrootfhArgs {});
        compound.op(&ReaddirArgs {
            cookie: 0,
            cookieverf: [0; 8],
            dircount: 1000,
            maxcount: 1000,
            attr_request: both,
        });
        compound.op(&GetattrArgs { attr_request: both });
        compound.op(&LookupArgs { objname: b"export" });
        compound.op(&GetattrArgs { attr_request: both });
        compound.op(&LookuppArgs {}).op(&LookuppArgs {});
    });
    assert_eq!(answer.status(), Nfsstat4::Noent, "LOOKUPP of the root");
    let listed = answer.of::<ReaddirArgs>(2).expect("a list");
    let entries: Vec<_> = listed.entries.iter().collect();
    assert_eq!(
        (entries.len(), entries[0].name, listed.eof),
        (1, &b"export"[..], true)
    );
    let of_entry = entries[0].attrs.attributes().expect("values");
    let values = |at| {
        let ok = answer.of::<GetattrArgs>(at).expect("attributes");
        let values = ok.obj_attributes.attributes().expect("values");
        (values.fsid, values.fileid, values.mounted_on_fileid)
    };
    let (root, export) = (values(3), values(5));
    assert_eq!(
        (of_entry.fsid, of_entry.fileid, of_entry.mounted_on_fileid),
        export
    );
    assert_ne!(root.0, export.0);
    assert!(export.2 != export.1 && export.2 != root.1);
}

#[test]
fn the_root_cannot_be_changed() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let answer = client.call(|compound| {
        compound
            .op(&PutrootfhArgs {})
            .op(&opening(b"new", share::BOTH, 0));
    });
    assert_eq!(answer.status(), Nfsstat4::Rofs);
    let answer = client.call(|compound| {
        compound.op(&PutrootfhArgs {});
        compound.op(&RemoveArgs { target: b"export" });
    });
    assert_eq!(answer.status(), Nfsstat4::Rofs);
}

#[test]
fn a_refused_mount_refuses_the_export() {
    let server = server(|o| o.refuse_mount = true);
    let mut client = Client::new(&server, b"one");
    assert_eq!(client.in_export(|_| ()).status(), Nfsstat4::Access);
}

/// Writes to an open file.
pub(super) fn write(
    client: &mut Client,
    (file, stateid): (Fh4, Stateid4),
    offset: u64,
    data: &[u8],
) {
    let answer = client.call(|compound| {
        compound.op(&putfh(&file)).op(&WriteArgs {
            stateid,
            offset,
            stable: StableHow::FileSync,
            data,
        });
    });
    assert_eq!(answer.status(), Nfsstat4::Ok);
}

pub(super) fn read(client: &mut Client, (file, stateid): (Fh4, Stateid4)) -> Vec<u8> {
    let args = ReadArgs {
        stateid,
        offset: 0,
        count: 1 << 20,
    };
    let answer = client
        .call_and_bytes(false, |compound| {
            compound.op(&putfh(&file)).op(&args);
        })
        .0;
    answer.of::<ReadArgs>(2).expect("data").data.to_vec()
}

#[test]
fn an_open_file_can_be_read_after_its_removal_until_it_is_closed() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let opened = client.opened(b"file");
    write(&mut client, opened, 0, b"data");
    client.in_export(|compound| {
        compound.op(&RemoveArgs { target: b"file" });
    });
    assert_eq!(read(&mut client, opened), b"data");
    let (file, stateid) = opened;
    let closed = client.call(|compound| {
        compound.op(&putfh(&file)).op(&CloseArgs {
            seqid: 0,
            open_stateid: stateid,
        });
        compound.op(&AccessArgs { access: 1 });
    });
    assert!(closed.of::<CloseArgs>(2).is_ok());
    assert_eq!(closed.status(), Nfsstat4::Stale);
}

#[test]
fn ranges_are_reserved_punched_and_found() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let opened = client.opened(b"file");
    write(&mut client, opened, 100_000, b"data");
    let (file, stateid) = opened;
    let seek = |client: &mut Client, offset, what| {
        let answer = client.call(|compound| {
            compound.op(&putfh(&file)).op(&SeekArgs {
                stateid,
                offset,
                what,
            });
        });
        answer.of::<SeekArgs>(2).map(|ok| (ok.eof, ok.offset))
    };
    assert_eq!(seek(&mut client, 0, DataContent4::Hole), Ok((false, 0)));
    assert_eq!(
        seek(&mut client, 100_001, DataContent4::Hole),
        Ok((true, 100_004))
    );
    assert_eq!(
        seek(&mut client, 100_004, DataContent4::Data),
        Err(Nfsstat4::Nxio)
    );
    let done = client.call(|compound| {
        compound.op(&putfh(&file));
        compound.op(&AllocateArgs {
            stateid,
            offset: 0,
            length: 200_000,
        });
        compound.op(&DeallocateArgs {
            stateid,
            offset: 100_000,
            length: 100_000,
        });
    });
    assert_eq!(done.status(), Nfsstat4::Ok);
    assert_eq!(read(&mut client, opened), vec![0; 200_000]);
    assert_eq!(seek(&mut client, 0, DataContent4::Data), Ok((false, 0)));
    assert_eq!(
        seek(&mut client, 100_000, DataContent4::Data),
        Ok((true, 200_000))
    );
}

#[test]
fn copies_and_clones_are_made_between_open_files() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (from, to) = (client.opened(b"from"), client.opened(b"to"));
    write(&mut client, from, 0, b"0123456789");
    write(&mut client, to, 0, b"abcdefghij");
    let copied = client.call(|compound| {
        compound.op(&putfh(&from.0)).op(&SavefhArgs {});
        compound.op(&putfh(&to.0)).op(&CopyArgs {
            src_stateid: from.1,
            dst_stateid: to.1,
            src_offset: 2,
            dst_offset: 4,
            count: 3,
            consecutive: true,
            synchronous: true,
            source_server: Default::default(),
        });
    });
    let ok = copied.of::<CopyArgs<'_>>(4).expect("a copy");
    assert_eq!((ok.response.count, ok.response.callback_id), (3, None));
    assert_eq!(read(&mut client, to), b"abcd234hij");
    let clone = |client: &mut Client, count| {
        let answer = client.call(|compound| {
            compound.op(&putfh(&from.0)).op(&SavefhArgs {});
            compound.op(&putfh(&to.0)).op(&CloneArgs {
                src_stateid: from.1,
                dst_stateid: to.1,
                src_offset: 0,
                dst_offset: 0,
                count,
            });
        });
        answer.status()
    };
    assert_eq!(clone(&mut client, 11), Nfsstat4::Inval);
    assert_eq!(clone(&mut client, 0), Nfsstat4::Ok);
    assert_eq!(read(&mut client, to), b"0123456789");
}

#[test]
fn an_open_needs_the_rights_for_its_access() {
    let server = server(|_| ());
    let mut root = Client::new(&server, b"root");
    root.opened(b"file");
    let mut user = Client::connect(&server);
    user.uid = 1000;
    let sequence = user.exchange(b"user", 1);
    user.create_session(sequence, ASKED);
    user.call(|compound| {
        compound.op(&ReclaimCompleteArgs { one_fs: false });
    });
    // The mode is 644.
    assert_eq!(
        user.open(b"file", share::BOTH, 0).status(),
        Nfsstat4::Access
    );
    assert_eq!(user.open(b"file", share::READ, 0).status(), Nfsstat4::Ok);
    let (file, stateid) = (exists(&server, b"file"), Stateid4::ANONYMOUS);
    let file = Fh4::new(&super::super::super::convert::handle(file.expect("a file")));
    let written = user.call(|compound| {
        compound.op(&putfh(&file.expect("short"))).op(&WriteArgs {
            stateid,
            offset: 0,
            stable: StableHow::FileSync,
            data: b"data",
        });
    });
    assert_eq!(written.status(), Nfsstat4::Access);
}

#[test]
fn what_cannot_be_set_is_refused_and_owners_are_numbers() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let (file, _) = client.opened(b"file");
    let set = |client: &mut Client, values: &Attributes<'_>| {
        let obj_attributes = Fattr4::new(values);
        let stateid = Stateid4::ANONYMOUS;
        let answer = client.call(|compound| {
            let args = SetattrArgs {
                stateid,
                obj_attributes,
            };
            compound.op(&putfh(&file)).op(&args);
        });
        answer.status()
    };
    let owner = |owner| Attributes {
        owner: Some(owner),
        ..Attributes::default()
    };
    assert_eq!(set(&mut client, &owner(b"1234")), Nfsstat4::Ok);
    assert_eq!(set(&mut client, &owner(b"root@host")), Nfsstat4::Badowner);
    assert_eq!(set(&mut client, &owner(b"+7")), Nfsstat4::Badowner);
    assert_eq!(set(&mut client, &owner(b"4294967296")), Nfsstat4::Badowner);
    let archive = Attributes {
        archive: Some(true),
        ..Attributes::default()
    };
    assert_eq!(set(&mut client, &archive), Nfsstat4::Attrnotsupp);
    let links = Attributes {
        numlinks: Some(7),
        ..Attributes::default()
    };
    assert_eq!(set(&mut client, &links), Nfsstat4::Inval);
    let id = exists(&server, b"file").expect("a file");
    assert_eq!(server.shared.fs.getattr(id).map(|attr| attr.uid), Ok(1234));
}

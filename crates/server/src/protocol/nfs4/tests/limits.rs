//! Minor versions, limits of a session, and faults.

use super::*;

fn statuses(client: &mut Client, minor: u32, write: impl FnOnce(&mut Writer<'_>)) -> Nfsstat4 {
    client.minor = minor;
    client.call(write).status()
}

#[test]
fn minor_versions_have_their_operations() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    let seek = SeekArgs {
        stateid: Stateid4::ANONYMOUS,
        offset: 0,
        what: DataContent4::Data,
    };
    let in_41 = statuses(&mut client, 1, |compound| {
        compound.op(&PutrootfhArgs {}).op(&seek);
    });
    assert_eq!(in_41, Nfsstat4::OpIllegal);
    let in_42 = statuses(&mut client, 2, |compound| {
        compound.op(&PutrootfhArgs {}).op(&seek);
    });
    assert_eq!(in_42, Nfsstat4::Isdir);
    for minor in [3, 4] {
        client.minor = minor;
        let answer = client.alone(|compound| {
            compound.op(&PutrootfhArgs {});
        });
        assert_eq!(answer.status(), Nfsstat4::MinorVersMismatch);
    }
}

#[test]
fn a_compound_without_operations_succeeds() {
    let server = server(|_| ());
    let answer = Client::connect(&server).alone(|_| ());
    assert_eq!(answer.status(), Nfsstat4::Ok);
}

#[test]
fn requests_beyond_the_limits_leave_the_slot_as_it_was() {
    let server = server(|_| ());
    let asked = ChannelAttrs4 {
        maxrequestsize: 2048,
        maxoperations: 4,
        ..ASKED
    };
    let mut client = Client::asking(&server, b"one", asked);
    let many = client.call(|compound| {
        for _ in 0..4 {
            compound.op(&PutrootfhArgs {});
        }
    });
    assert_eq!(many.status(), Nfsstat4::TooManyOps);
    client.sequenceid -= 1;
    let long = client.call(|compound| {
        let objname = &[b'n'; 2048];
        compound.op(&PutrootfhArgs {}).op(&LookupArgs { objname });
    });
    assert_eq!(long.status(), Nfsstat4::ReqTooBig);
    client.sequenceid -= 1;
    let good = client.call(|compound| {
        for _ in 0..3 {
            compound.op(&PutrootfhArgs {});
        }
    });
    assert_eq!(good.status(), Nfsstat4::Ok);
}

/// READs of a file of 4096 bytes.
fn read_often(client: &mut Client, file: &Fh4, cachethis: bool, times: usize) -> Answer {
    let args = ReadArgs {
        stateid: Stateid4::ANONYMOUS,
        offset: 0,
        count: 4096,
    };
    let read = |compound: &mut Writer<'_>| {
        compound.op(&putfh(file));
        for _ in 0..times {
            compound.op(&args);
        }
        compound.op(&RemoveArgs { target: b"x" });
    };
    client.call_and_bytes(cachethis, read).0
}

#[test]
fn replies_beyond_the_limits_end_with_the_operation_that_does_not_fit() {
    let server = server(|_| ());
    let asked = ChannelAttrs4 {
        maxresponsesize: 10_000,
        maxresponsesize_cached: 5000,
        ..ASKED
    };
    let mut client = Client::asking(&server, b"one", asked);
    let (file, stateid) = client.opened(b"file");
    let data = [7; 4096];
    client.call(|compound| {
        compound.op(&putfh(&file)).op(&WriteArgs {
            stateid,
            offset: 0,
            stable: StableHow::FileSync,
            data: &data,
        });
    });
    let uncached = read_often(&mut client, &file, false, 3);
    assert_eq!(uncached.status(), Nfsstat4::RepTooBig);
    assert_eq!(uncached.of::<ReadArgs>(3).expect("data").data, data);
    let cached = read_often(&mut client, &file, true, 2);
    assert_eq!(cached.status(), Nfsstat4::RepTooBigToCache);
    // What fits is followed by the next operation.
    assert_eq!(
        read_often(&mut client, &file, true, 1).status(),
        Nfsstat4::Notdir
    );
}

#[test]
fn nothing_is_changed_for_a_reply_that_cannot_be_kept() {
    let server = server(|_| ());
    // Enough for LOOKUP, and too little for what OPEN may return behind it.
    let asked = ChannelAttrs4 {
        maxresponsesize_cached: 255,
        ..ASKED
    };
    let mut client = Client::asking(&server, b"one", asked);
    let sequence = client.sequence(true);
    let args = client.written(|compound| {
        compound.op(&sequence);
        export(compound);
        compound.op(&opening(b"file", share::BOTH, 0));
    });
    client.sequenceid += 1;
    assert_eq!(client.send(&args).status(), Nfsstat4::RepTooBigToCache);
    assert_eq!(exists(&server, b"file"), None);
}

#[test]
fn sessions_of_no_use_are_refused() {
    let server = server(|_| ());
    let mut client = Client::connect(&server);
    let sequence = client.exchange(b"one", 1);
    let clientid = client.clientid;
    let small = ChannelAttrs4 {
        maxresponsesize: 100,
        ..ASKED
    };
    let refused = client.alone(|compound| {
        compound.op(&CreateSessionArgs {
            clientid,
            sequence,
            flags: 0,
            fore_chan_attrs: small,
            back_chan_attrs: ASKED,
            cb_program: 0,
            sec_parms: SecParms::EMPTY,
        });
    });
    assert_eq!(refused.status(), Nfsstat4::Toosmall);
    let huge = ChannelAttrs4 {
        maxrequestsize: u32::MAX,
        maxresponsesize: u32::MAX,
        maxresponsesize_cached: u32::MAX,
        maxoperations: u32::MAX,
        maxrequests: u32::MAX,
        ..ASKED
    };
    let granted = client.create_session(sequence, huge);
    assert_eq!((granted.maxoperations, granted.maxrequests), (64, 64));
    assert!(granted.maxrequestsize < 4 << 20 && granted.maxresponsesize_cached <= 8192);
}

/// An operation that version 3 has no name for, wherever it is in a COMPOUND.
#[test]
fn faults_name_operations_of_version_4() {
    let server = server(|o| {
        o.errors = "SEEK=NFS4ERR_NXIO@1,putrootfh=NFS3ERR_IO@1"
            .parse()
            .expect("faults");
        o.delay = "1ms,SEEK=7ms,GETATTR=3ms".parse().expect("delays");
    });
    let mut client = Client::new(&server, b"one");
    client.minor = 2;
    let refused = client.call(|compound| {
        compound.op(&PutrootfhArgs {});
    });
    assert_eq!(refused.status(), Nfsstat4::Io);
    assert_eq!(refused.action, ReplyAction::Later(1_000_000));
    let mut sought = || {
        let answer = client.call(|compound| {
            compound.op(&PutrootfhArgs {});
            compound.op(&GetattrArgs {
                attr_request: Bitmap4::of(&[Attribute::Size]),
            });
            compound.op(&SeekArgs {
                stateid: Stateid4::ANONYMOUS,
                offset: 0,
                what: DataContent4::Data,
            });
        });
        (answer.status(), answer.action)
    };
    let later = ReplyAction::Later(7_000_000);
    assert_eq!(sought(), (Nfsstat4::Nxio, later));
    assert_eq!(sought(), (Nfsstat4::Isdir, later));
    assert_eq!(server.stats().errors_injected, 2);
}

#[test]
fn faults_of_version_3_hold_for_the_operation_that_does_the_same() {
    let server = server(|o| {
        o.errors = "MKDIR=NFS3ERR_JUKEBOX@1,GETATTR=NFS3ERR_IO@1"
            .parse()
            .expect("faults");
        o.delay = "1ms,MKDIR=7ms,ACCESS=3ms".parse().expect("delays");
    });
    let mut client = Client::new(&server, b"one");
    let mkdir = |compound: &mut Writer<'_>| {
        compound.op(&CreateArgs {
            objtype: Createtype4::Dir,
            objname: b"dir",
            createattrs: Fattr4::new(&Attributes::default()),
        });
    };
    // LOOKUP is what the COMPOUND is about, if it comes first.
    let by_lookup = client.in_export(mkdir);
    assert_eq!(by_lookup.status(), Nfsstat4::Ok);
    assert_eq!(by_lookup.action, ReplyAction::Later(1_000_000));
    let found = client.in_export(|compound| {
        compound.op(&GetfhArgs {});
    });
    let dir = found.of::<GetfhArgs>(3).expect("a handle").object.to_fh();
    let answers: Vec<(Nfsstat4, ReplyAction)> = (0..2)
        .map(|_| {
            let answer = client.call(|compound| {
                compound.op(&putfh(&dir));
                mkdir(compound);
            });
            (answer.status(), answer.action)
        })
        .collect();
    let later = ReplyAction::Later(7_000_000);
    assert_eq!(
        answers,
        [(Nfsstat4::Delay, later), (Nfsstat4::Exist, later)]
    );
    // The GETATTR behind another operation is not what it is about.
    let accessed = client.call(|compound| {
        compound.op(&putfh(&dir)).op(&AccessArgs { access: 1 });
        compound.op(&GetattrArgs {
            attr_request: Bitmap4::of(&[Attribute::Size]),
        });
    });
    assert_eq!(
        (accessed.status(), accessed.action),
        (Nfsstat4::Ok, ReplyAction::Later(3_000_000))
    );
    assert_eq!(server.stats().errors_injected, 1);
}

#[test]
fn operations_are_counted() {
    let server = server(|_| ());
    let mut client = Client::new(&server, b"one");
    client.opened(b"file");
    let stats = server.stats();
    let of = |operation| stats.of4(operation);
    assert_eq!((of(Operation::Open), of(Operation::Sequence)), (1, 2));
    assert_eq!((of(Operation::ExchangeId), stats.compounds), (1, 4));
}

#[test]
fn a_clone_is_limited_and_a_copy_goes_on() {
    let server = server(|_| {});
    let mut client = Client::new(&server, b"one");
    let (from, to) = (client.opened(b"a"), client.opened(b"b"));
    let end = (256 << 20) + 1;
    let written = client.call(|compound| {
        compound.op(&putfh(&from.0)).op(&WriteArgs {
            stateid: from.1,
            offset: end - 1,
            stable: StableHow::FileSync,
            data: b"x",
        });
    });
    assert_eq!(written.status(), Nfsstat4::Ok);
    let mut clone = |src_offset, count| {
        let answer = client.call(|compound| {
            compound.op(&putfh(&from.0)).op(&SavefhArgs {});
            compound.op(&putfh(&to.0)).op(&CloneArgs {
                src_stateid: from.1,
                dst_stateid: to.1,
                src_offset,
                dst_offset: 0,
                count,
            });
        });
        answer.status()
    };
    assert_eq!(clone(0, 0), Nfsstat4::Notsupp);
    assert_eq!(clone(0, end), Nfsstat4::Notsupp);
    assert_eq!(clone(end - 10, 0), Nfsstat4::Ok);
}

#[test]
fn an_exclusive_open_of_a_file_of_another_user_checks_the_rights() {
    let server = server(|_| {});
    let mut root = Client::new(&server, b"root");
    // The export is to be open to all.
    let opened = root.in_export(|compound| {
        let values = Attributes {
            mode: Some(0o777),
            ..Attributes::default()
        };
        compound.op(&SetattrArgs {
            stateid: Stateid4::ANONYMOUS,
            obj_attributes: Fattr4::new(&values),
        });
    });
    assert_eq!(opened.status(), Nfsstat4::Ok);
    let by = |uid: u32, name: &[u8]| {
        let mut client = Client::connect(&server);
        client.uid = uid;
        let mut client = client.set_up(name, ASKED);
        let values = Attributes {
            mode: Some(0o400),
            ..Attributes::default()
        };
        let answer = client.in_export(|compound| {
            compound.op(&OpenArgs {
                openhow: Openflag4::Create(Createhow4::Exclusive41(Creatverfattr {
                    verf: [3; 8],
                    attrs: Fattr4::new(&values),
                })),
                ..opening(b"f", share::BOTH, 0)
            });
        });
        answer.status()
    };
    assert_eq!(by(500, b"owner"), Nfsstat4::Ok);
    // The same call again, as after a lost session.
    assert_eq!(by(500, b"owner again"), Nfsstat4::Ok);
    assert_eq!(by(501, b"another"), Nfsstat4::Access);
}

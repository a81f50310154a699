//! NFSv4: every operation in both directions, COMPOUNDs, and what is cut off or damaged.

use filermark_onc::nfs3::DirListWriter;
use filermark_onc::nfs4::*;
use filermark_onc::xdr::{self, Array, DecodeError, Decoder, Problem};
use proptest::prelude::*;

use crate::samples_nfs4::{Pool4, pools4};
use crate::{encoded, hex};

/// The newest minor version that has the operation.
fn minor(operation: impl OperationSet) -> u32 {
    *operation.minor_versions().end()
}

/// A COMPOUND of one operation.
pub fn call(pool: &Pool4, operation: Operation) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compound = CompoundWriter::begin(&mut out, b"tag", minor(operation));
    compound.any(&pool.args(operation));
    assert_eq!(compound.finish(), 1);
    out
}

#[test]
fn a_compound_begins_in_a_session_as_with_its_operation() {
    let sequence = SequenceArgs {
        sessionid: *b"0123456789abcdef",
        sequenceid: 0x0102_0304,
        slotid: 5,
        highest_slotid: 0x0607_0809,
        cachethis: true,
    };
    let (mut plain, mut at_once) = (b"header".to_vec(), b"header".to_vec());
    let mut compound = CompoundWriter::<Operation>::begin(&mut plain, b"", 2);
    compound.op(&sequence).op(&PutrootfhArgs {});
    compound.finish();
    let mut compound = CompoundWriter::begin_in_session(&mut at_once, 2, &sequence);
    compound.op(&PutrootfhArgs {});
    assert_eq!(compound.finish(), 2);
    assert_eq!(plain, at_once);
}

/// A CB_COMPOUND of one operation.
pub fn cb_call(pool: &Pool4, operation: callback::Operation) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compound = CompoundWriter::begin_callback(&mut out, b"tag", minor(operation), 9);
    compound.any(&pool.cb_args(operation));
    compound.finish();
    out
}

/// The reply with these results.
pub fn reply<O: OperationSet>(results: &O::Results<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compound = CompoundResWriter::<O>::begin(&mut out, b"tag");
    let status = compound.any(results);
    assert_eq!(compound.finish(), status);
    out
}

/// All results of an operation that a pool has.
pub fn all_results(pool: &Pool4, operation: Operation) -> Vec<Results<'_>> {
    let more = pool.failed_with();
    let more = more
        .into_iter()
        .filter(|results| results.operation() == operation);
    [pool.ok(operation), pool.failed(operation)]
        .into_iter()
        .chain(more)
        .collect()
}

/// Messages for the fuzz targets, in the form that each takes.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (mut pool, mut seeds) = (Pool4::fixed(), Vec::new());
    for choice in 0..7 {
        pool.choice = choice;
        pool.write_forms();
        for &operation in Operation::ALL {
            seeds.push(("nfs4_args", call(&pool, operation)));
            for results in all_results(&pool, operation) {
                seeds.push(("nfs4_results", reply::<Operation>(&results)));
            }
        }
        for &operation in callback::Operation::ALL {
            let chosen = |which: u8, message: Vec<u8>| [vec![which], message].concat();
            seeds.push(("nfs4_callback", chosen(0, cb_call(&pool, operation))));
            let results = reply::<callback::Operation>(&pool.cb_ok(operation));
            seeds.push(("nfs4_callback", chosen(1, results)));
        }
    }
    seeds
}

fn read_args(bytes: &[u8]) -> Result<Args<'_>, OperationError> {
    let mut compound = CompoundArgs::decode(&mut Decoder::new(bytes)).expect("the front");
    let args = compound.next().expect("one operation");
    assert!(compound.next().is_none(), "and no more");
    args
}

proptest! {
    #[test]
    fn every_operation_comes_back(pool in pools4()) {
        for &operation in Operation::ALL {
            let args = pool.args(operation);
            let bytes = encoded(&args);
            prop_assert_eq!(bytes.len() % 4, 0);
            let mut d = Decoder::new(&bytes);
            prop_assert_eq!(Args::decode(operation, &mut d), Ok(args));
            prop_assert_eq!(d.end(), Ok(()), "{}", operation);
            for results in all_results(&pool, operation) {
                let bytes = encoded(&results);
                let mut d = Decoder::new(&bytes);
                prop_assert_eq!(Results::decode(operation, &mut d), Ok(results));
                prop_assert_eq!(d.end(), Ok(()), "{}", operation);
            }
        }
    }

    #[test]
    fn every_callback_comes_back(pool in pools4()) {
        for &operation in callback::Operation::ALL {
            let args = pool.cb_args(operation);
            let bytes = encoded(&args);
            let mut d = Decoder::new(&bytes);
            prop_assert_eq!(callback::Args::decode(operation, &mut d), Ok(args));
            prop_assert_eq!(d.end(), Ok(()), "{}", operation);
            for results in [pool.cb_ok(operation), pool.cb_failed(operation)] {
                let bytes = encoded(&results);
                let mut d = Decoder::new(&bytes);
                prop_assert_eq!(callback::Results::decode(operation, &mut d), Ok(results));
                prop_assert_eq!(d.end(), Ok(()), "{}", operation);
            }
        }
    }

    #[test]
    fn corruption_of_version_4_never_panics(
        choice in 0..7usize,
        which in any::<proptest::sample::Index>(),
        hits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut pool = Pool4::fixed();
        pool.choice = choice;
        pool.write_forms();
        let operation = *which.get(Operation::ALL);
        let callback = *which.get(callback::Operation::ALL);
        for mut bytes in [
            call(&pool, operation),
            reply::<Operation>(&pool.ok(operation)),
            [vec![0], cb_call(&pool, callback)].concat(),
            [vec![1], reply::<callback::Operation>(&pool.cb_ok(callback))].concat(),
        ] {
            for (place, value) in &hits {
                *place.get_mut(&mut bytes) ^= *value;
            }
            filermark_onc::fuzzing::nfs4_args(&bytes);
            filermark_onc::fuzzing::nfs4_results(&bytes);
            filermark_onc::fuzzing::nfs4_callback(&bytes);
        }
    }
}

#[test]
fn every_cut_of_a_compound_is_noticed() {
    let mut pool = Pool4::fixed();
    for choice in 0..7 {
        pool.choice = choice;
        pool.write_forms();
        for &operation in Operation::ALL {
            let args = encoded(&pool.args(operation));
            for cut in 0..args.len() {
                let error = Args::decode(operation, &mut Decoder::new(&args[..cut])).unwrap_err();
                let truncated = matches!(error.problem, Problem::Truncated { .. });
                assert!(
                    truncated && error.offset <= cut,
                    "{operation} {cut}: {error}"
                );
            }
            for results in all_results(&pool, operation) {
                let bytes = encoded(&results);
                for cut in 0..bytes.len() {
                    let mut d = Decoder::new(&bytes[..cut]);
                    let error = Results::decode(operation, &mut d).unwrap_err();
                    let truncated = matches!(error.problem, Problem::Truncated { .. });
                    assert!(
                        truncated && error.offset <= cut,
                        "{operation} {cut}: {error}"
                    );
                }
            }
        }
        for &operation in callback::Operation::ALL {
            let args = encoded(&pool.cb_args(operation));
            for cut in 0..args.len() {
                let mut d = Decoder::new(&args[..cut]);
                assert!(
                    callback::Args::decode(operation, &mut d).is_err(),
                    "{operation} {cut}"
                );
            }
            let results = encoded(&pool.cb_ok(operation));
            for cut in 0..results.len() {
                let mut d = Decoder::new(&results[..cut]);
                assert!(
                    callback::Results::decode(operation, &mut d).is_err(),
                    "{operation} {cut}"
                );
            }
        }
    }
}

#[test]
fn the_bytes_of_a_compound_are_those_of_a_client_that_servers_answered() {
    // SEQUENCE, PUTFH, GETATTR as the probe of four servers sent it (minor version 1).
    let session = [7; 16];
    let request = Bitmap4::of(&[Attribute::Type, Attribute::Size, Attribute::TimeModify]);
    let mut out = Vec::new();
    let mut compound = CompoundWriter::begin(&mut out, b"", 1);
    compound.op(&SequenceArgs {
        sessionid: session,
        sequenceid: 2,
        slotid: 3,
        highest_slotid: 4,
        cachethis: false,
    });
    compound.op(&PutfhArgs {
        object: FileHandle4::new(b"abcde").expect("short"),
    });
    compound.op(&GetattrArgs {
        attr_request: request,
    });
    assert_eq!(compound.finish(), 3);
    assert_eq!(
        out,
        hex("00000000 00000001 00000003
             00000035 07070707070707070707070707070707 00000002 00000003 00000004 00000000
             00000016 00000005 6162636465000000
             00000009 00000002 00000012 00200000")
    );
    let mut compound = CompoundArgs::decode(&mut Decoder::new(&out)).expect("sound");
    assert_eq!(
        (compound.tag, compound.minorversion, compound.left()),
        (&b""[..], 1, 3)
    );
    let names: Vec<_> = compound
        .by_ref()
        .map(|args| args.expect("sound").operation().name())
        .collect();
    assert_eq!(names, ["SEQUENCE", "PUTFH", "GETATTR"]);
    assert_eq!(compound.end(), Ok(()));
}

#[test]
fn an_open_has_the_bytes_of_the_standard() {
    let attributes = Attributes {
        mode: Some(0o644),
        ..Attributes::default()
    };
    let open = OpenArgs {
        seqid: 0,
        share_access: share::BOTH | share::WANT_NO_DELEG,
        share_deny: 0,
        owner: StateOwner4 {
            clientid: 5,
            owner: b"o1",
        },
        openhow: Openflag4::Create(Createhow4::Unchecked(Fattr4::new(&attributes))),
        claim: OpenClaim4::Null(b"f1"),
    };
    assert_eq!(
        encoded(&open),
        hex(
            "00000000 00000403 00000000 0000000000000005 00000002 6f310000
             00000001 00000000 00000002 00000000 00000002 00000004 000001a4
             00000000 00000002 66310000"
        )
    );
}

#[test]
fn a_reply_is_read_operation_by_operation_until_the_first_failure() {
    let pool = Pool4::fixed();
    let mut out = Vec::new();
    let mut compound = CompoundResWriter::<Operation>::begin(&mut out, b"t");
    let sequence = pool.ok(Operation::Sequence);
    assert_eq!(compound.any(&sequence), Nfsstat4::Ok);
    assert_eq!(compound.result::<PutfhArgs<'_>>(&Ok(())), Nfsstat4::Ok);
    let mark = compound.mark();
    assert_eq!(compound.any(&pool.ok(Operation::Read)), Nfsstat4::Ok);
    compound.reset(mark);
    assert_eq!(
        compound.fail(Operation::Read, Nfsstat4::RepTooBig),
        Nfsstat4::RepTooBig
    );
    assert_eq!(compound.finish(), Nfsstat4::RepTooBig);

    let compound = CompoundRes::<Operation>::decode(&mut Decoder::new(&out)).expect("sound");
    assert_eq!(
        (compound.status, compound.tag, compound.left()),
        (Nfsstat4::RepTooBig, &b"t"[..], 3)
    );
    let mut typed = compound;
    let ok = typed.read::<SequenceArgs>().expect("sound");
    assert_eq!(Results::Sequence(ok), sequence);
    assert_eq!(typed.read::<PutfhArgs<'_>>(), Ok(Ok(())));
    assert_eq!(typed.read::<ReadArgs>(), Ok(Err(Nfsstat4::RepTooBig)));
    assert_eq!((typed.left(), typed.end()), (0, Ok(())));
    let error = typed.read::<GetattrArgs>().unwrap_err();
    assert_eq!(error, DecodeError::truncated(out.len(), "GETATTR", 4, 0));
    let mut other = compound;
    let error = other.read::<PutfhArgs<'_>>().unwrap_err();
    assert_eq!(
        (error.what, error.problem),
        ("PUTFH", Problem::Unexpected { value: 53 })
    );
    assert_eq!(
        compound
            .map(|results| results.expect("sound").operation())
            .last(),
        Some(Operation::Read)
    );
}

#[test]
fn the_front_of_a_read_is_enough() {
    let ok = ReadOk {
        eof: true,
        data: b"hello",
    };
    let bytes = reply::<Operation>(&Results::Read(Ok(ok)));
    let front = &bytes[..bytes.len() - 8];
    let compound = CompoundRes::<Operation>::decode(&mut Decoder::new(front)).expect("sound");
    let (head, rest) = compound.read_head().expect("sound");
    let expected = ReadHead4 {
        eof: true,
        data_len: 5,
    };
    assert_eq!((head, rest.rest().len()), (Ok(expected), 0));
    let bytes = reply::<Operation>(&Results::Read(Err(Nfsstat4::Stale)));
    let compound = CompoundRes::<Operation>::decode(&mut Decoder::new(&bytes)).expect("sound");
    assert_eq!(compound.read_head().expect("sound").0, Err(Nfsstat4::Stale));
}

#[test]
fn a_server_answers_what_it_cannot_decode() {
    let front = |minor: &str| hex(&format!("00000000 {minor} 00000001"));
    for (minor, operation, expected) in [
        ("00000001", "00000002", Nfsstat4::OpIllegal),
        ("00000001", "0000273c", Nfsstat4::OpIllegal),
        ("00000000", "00000035", Nfsstat4::OpIllegal),
        ("00000001", "0000003b", Nfsstat4::OpIllegal),
        ("00000001", "0000001e", Nfsstat4::Notsupp),
        ("00000001", "00000016", Nfsstat4::Badxdr),
        ("00000001", "", Nfsstat4::Badxdr),
    ] {
        let bytes = [front(minor), hex(operation)].concat();
        let error = read_args(&bytes).unwrap_err();
        assert_eq!(error.status(), expected, "{error}");
        let resop = error.resop::<Operation>();
        let its_own = expected != Nfsstat4::OpIllegal && !operation.is_empty();
        assert_eq!(resop != Operation::Illegal, its_own, "{error}");
    }
    let many = hex("00000000 00000001 00000401");
    let error = CompoundArgs::decode(&mut Decoder::new(&many))
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        error.problem,
        Problem::TooLong {
            len: 1025,
            max: MAX_OPERATIONS
        }
    );
}

#[test]
fn a_failed_setattr_has_the_set_that_a_client_expects() {
    let mut out = Vec::new();
    let mut compound = CompoundResWriter::<Operation>::begin(&mut out, b"");
    compound.fail(Operation::Setattr, Nfsstat4::Perm);
    compound.finish();
    assert_eq!(
        out,
        hex("00000001 00000000 00000001 00000022 00000001 00000000")
    );
    let mut compound = CompoundRes::<Operation>::decode(&mut Decoder::new(&out)).expect("sound");
    let expected = SetattrRes {
        status: Nfsstat4::Perm,
        attrsset: Bitmap4::EMPTY,
    };
    assert_eq!(compound.read::<SetattrArgs<'_>>(), Ok(expected));
}

#[test]
fn a_directory_list_is_written_within_the_size_that_was_asked_for() {
    let attributes = Attributes {
        fileid: Some(7),
        ..Attributes::default()
    };
    let entry = Entry4 {
        cookie: 3,
        name: b"name",
        attrs: Fattr4::new(&attributes),
    };
    // Follows, cookie, name, attributes: a set of one word, length, value.
    let entry_bytes = 4 + 8 + 8 + 8 + 4 + 8;
    for maxcount in 0..200 {
        let mut out = Vec::new();
        let mut compound = CompoundResWriter::<Operation>::begin(&mut out, b"");
        compound.with(Operation::Readdir, |out| {
            let mut list = DirListWriter::begin_v4(out, *b"verifier", maxcount);
            while list.push(&entry) {}
            list.finish(true);
        });
        compound.finish();
        let mut compound =
            CompoundRes::<Operation>::decode(&mut Decoder::new(&out)).expect("sound");
        let ok = compound.read::<ReaddirArgs>().expect("sound").expect("OK");
        let fitting = (maxcount as usize).saturating_sub(8 + 8) / entry_bytes;
        assert_eq!((ok.entries.len(), ok.eof), (fitting, true), "{maxcount}");
        assert!(ok.entries.iter().all(|read| read == entry));
    }
}

#[test]
fn attributes_are_in_the_order_of_their_numbers_and_read_as_written() {
    let mut pool = Pool4::fixed();
    for choice in 0..3 {
        pool.choice = choice;
        pool.write_forms();
        let read = pool.attrs();
        let values = read.attributes().expect("sound");
        assert_eq!(values.mask(), read.attrmask());
        assert_eq!(Fattr4::new(&values), read);
    }
    // `size` and `fileid`, and an attribute without a number of its own.
    let bytes = hex("00000001 00100010 00000010 0000000000000009 0000000000000008");
    let values = xdr::decode::<Fattr4<'_>>(&bytes).and_then(|fattr| fattr.attributes());
    let expected = Attributes {
        size: Some(9),
        fileid: Some(8),
        ..Attributes::default()
    };
    assert_eq!(values, Ok(expected));
    let unknown = hex("00000003 00000000 00000000 00100000 00000000");
    let error = xdr::decode::<Fattr4<'_>>(&unknown)
        .expect("sound")
        .attributes()
        .unwrap_err();
    assert_eq!(error.problem, Problem::Unexpected { value: 84 });
    let longer = hex("00000001 00000010 0000000c 0000000000000009 00000000");
    let error = xdr::decode::<Fattr4<'_>>(&longer)
        .expect("sound")
        .attributes()
        .unwrap_err();
    assert_eq!(error, DecodeError::trailing(20, 4));
}

#[test]
fn sets_of_attributes_have_no_zero_words_at_their_end() {
    assert_eq!(encoded(&Bitmap4::EMPTY), hex("00000000"));
    let set = Bitmap4::of(&[Attribute::XattrSupport, Attribute::SupportedAttrs]);
    assert_eq!(encoded(&set), hex("00000003 00000001 00000000 00040000"));
    assert_eq!(set.bits().collect::<Vec<_>>(), [0, 82]);
    assert!(set.has(Attribute::XattrSupport) && !set.has(Attribute::Type));
    assert!(!set.has_bit(128) && set.with_bit(128) == set);
    let only = set.without(Bitmap4::of(&[Attribute::SupportedAttrs]));
    assert_eq!((only, set.and(only)), (Bitmap4::EMPTY.with_bit(82), only));
    let zeros = hex("00000004 00000002 00000000 00000000 00000000");
    assert_eq!(xdr::decode(&zeros), Ok(Bitmap4::of(&[Attribute::Type])));
    let error = xdr::decode::<Bitmap4>(&hex("00000005")).unwrap_err();
    assert_eq!(error.problem, Problem::TooLong { len: 5, max: 4 });
}

#[test]
fn lengths_from_the_wire_have_limits() {
    let handle = [hex("00000081"), vec![0; 132]].concat();
    let error = xdr::decode::<PutfhArgs<'_>>(&handle).unwrap_err();
    assert_eq!(
        error.problem,
        Problem::TooLong {
            len: 129,
            max: FHSIZE4
        }
    );
    let data = hex("00000000 00000001 ffffffff");
    let error = xdr::decode::<ReadRes<'_>>(&data).unwrap_err();
    assert_eq!(
        error.problem,
        Problem::TooLong {
            len: u32::MAX as usize,
            max: MAX_DATA
        }
    );
    let layouts = hex("00000000 00000001 00000001 000000000000000000000000 00000101");
    let error = xdr::decode::<LayoutgetRes<'_>>(&layouts).unwrap_err();
    assert_eq!(
        error.problem,
        Problem::TooLong {
            len: 257,
            max: MAX_ITEMS
        }
    );
}

#[test]
fn special_stateids_are_those_of_the_standard() {
    assert_eq!(encoded(&Stateid4::ANONYMOUS), [0; 16]);
    assert_eq!(encoded(&Stateid4::READ_BYPASS), [0xff; 16]);
    assert_eq!(
        encoded(&Stateid4::CURRENT),
        [&[0, 0, 0, 1][..], &[0; 12]].concat()
    );
    assert_eq!(
        encoded(&Stateid4::INVALID),
        [&[0xff; 4][..], &[0; 12]].concat()
    );
    assert!(Stateid4::CURRENT.is_special() && !Pool4::fixed().stateid(0).is_special());
}

/// The body of a layout of flexible files with two copies.
pub fn flexible_layout(pool: &Pool4) -> Vec<u8> {
    use filermark_onc::nfs4::flexfiles::*;
    let handles = [pool.handle()];
    let servers = [FfDataServer4 {
        deviceid: pool.id16,
        efficiency: 1,
        stateid: pool.stateid(0),
        fh_vers: Array::new(&handles).expect("one"),
        user: b"1000",
        group: b"100",
    }];
    let mirrors = [FfMirror4 {
        data_servers: Array::new(&servers).expect("one"),
    }; 2];
    let layout = FfLayout4 {
        stripe_unit: 1 << 20,
        mirrors: Array::new(&mirrors).expect("two"),
        flags: ff_flags::NO_LAYOUTCOMMIT,
        stats_collect_hint: 60,
    };
    let bytes = encoded(&layout);
    assert_eq!(xdr::decode(&bytes), Ok(layout));
    bytes
}

/// The address of a data server of flexible files.
pub fn flexible_device(pool: &Pool4) -> Vec<u8> {
    use filermark_onc::nfs4::flexfiles::*;
    let addresses = [pool.netaddr()];
    let versions = [FfDeviceVersions4 {
        version: 3,
        minorversion: 0,
        rsize: 1 << 20,
        wsize: 1 << 19,
        tightly_coupled: false,
    }];
    let device = FfDeviceAddr4 {
        netaddrs: Array::new(&addresses).expect("one"),
        versions: Array::new(&versions).expect("one"),
    };
    let bytes = encoded(&device);
    assert_eq!(xdr::decode(&bytes), Ok(device));
    bytes
}

/// What a client reports of a data server, in LAYOUTRETURN.
pub fn flexible_report(pool: &Pool4) -> Vec<u8> {
    use filermark_onc::nfs4::flexfiles::*;
    let latency = FfIoLatency4 {
        ops_requested: 1,
        bytes_requested: 2,
        ops_completed: 3,
        bytes_completed: 4,
        bytes_not_delivered: 5,
        total_busy_time: pool.time(0),
        aggregate_completion_time: pool.time(1),
    };
    let errors = [FfIoerr4 {
        offset: 1,
        length: 2,
        stateid: pool.stateid(0),
        errors: Array::new(&pool.errors).expect("one"),
    }];
    let statistics = [FfIostats4 {
        offset: 1,
        length: 2,
        stateid: pool.stateid(0),
        read: pool.io(0),
        write: pool.io(2),
        deviceid: pool.id16,
        layoutupdate: FfLayoutupdate4 {
            addr: pool.netaddr(),
            fhandle: pool.handle(),
            read: latency,
            write: latency,
            duration: pool.time(2),
            local: false,
        },
    }];
    let report = FfLayoutreturn4 {
        ioerr_report: Array::new(&errors).expect("one"),
        iostats_report: Array::new(&statistics).expect("one"),
    };
    let bytes = encoded(&report);
    assert_eq!(xdr::decode(&bytes), Ok(report));
    bytes
}

#[test]
fn every_cut_of_a_body_of_flexible_files_is_noticed() {
    use filermark_onc::nfs4::flexfiles::*;
    let pool = Pool4::fixed();
    let bytes = flexible_layout(&pool);
    for cut in 0..bytes.len() {
        assert!(
            xdr::decode::<FfLayout4<'_>>(&bytes[..cut]).is_err(),
            "{cut}"
        );
    }
    let bytes = flexible_device(&pool);
    for cut in 0..bytes.len() {
        assert!(
            xdr::decode::<FfDeviceAddr4<'_>>(&bytes[..cut]).is_err(),
            "{cut}"
        );
    }
    let bytes = flexible_report(&pool);
    for cut in 0..bytes.len() {
        assert!(
            xdr::decode::<FfLayoutreturn4<'_>>(&bytes[..cut]).is_err(),
            "{cut}"
        );
    }
}

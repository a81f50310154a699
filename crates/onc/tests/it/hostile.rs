//! Input that is cut, corrupted, or lies about its lengths: refused with the right word, never a panic.

use filermark_onc::mount::{MAX_FLAVORS, MntRes, MountEntry};
use filermark_onc::nfs3::*;
use filermark_onc::portmap::Mapping;
use filermark_onc::record::append_fragments;
use filermark_onc::rpc::{
    AcceptStat, AuthStat, AuthSys, CallError, CallHeader, GSS_VERSION, GssCred, GssInitRes,
    GssIntegData, GssPrivData, GssProc, GssService, OpaqueAuth, RejectStat, ReplyHeader,
};
use filermark_onc::rpcbind::Rpcb;
use filermark_onc::xdr::{self, DecodeError, Decoder, List, MAX_LIST_ITEMS, Problem};
use filermark_onc::{fuzzing, mount1, nfs2};
use proptest::prelude::*;

use crate::samples::Pool;
use crate::samples_nfs2::Pool2;
use crate::{encoded, hex};

/// Decodes, and reads the directory list if there is one: those are checked late.
fn read_results(procedure: Procedure, bytes: &[u8]) -> Result<(), DecodeError> {
    match Results::decode(procedure, &mut Decoder::new(bytes))? {
        Results::Readdir(Ok(ok)) => ok.reply.iter().try_for_each(|entry| entry.map(drop)),
        Results::Readdirplus(Ok(ok)) => ok.reply.iter().try_for_each(|entry| entry.map(drop)),
        _ => Ok(()),
    }
}

#[test]
fn every_cut_is_noticed() {
    let pool = Pool::fixed();
    for &procedure in Procedure::ALL {
        let args = encoded(&pool.args(procedure));
        for cut in 0..args.len() {
            let error = Args::decode(procedure, &mut Decoder::new(&args[..cut])).unwrap_err();
            assert!(
                matches!(error.problem, Problem::Truncated { .. }),
                "{procedure} {cut}: {error}"
            );
            assert!(error.offset <= cut);
        }
        for results in [Some(pool.ok(procedure)), pool.failed(procedure)]
            .into_iter()
            .flatten()
        {
            let bytes = encoded(&results);
            assert_eq!(read_results(procedure, &bytes), Ok(()), "{procedure}");
            for cut in 0..bytes.len() {
                let error = read_results(procedure, &bytes[..cut]).unwrap_err();
                assert!(
                    matches!(error.problem, Problem::Truncated { .. }),
                    "{procedure} {cut}: {error}"
                );
                assert!(error.offset <= cut);
            }
            let mut longer = bytes;
            longer.extend_from_slice(&[0; 4]);
            let error = read_results(procedure, &longer).unwrap_err();
            assert_eq!(error.problem, Problem::Trailing { left: 4 }, "{procedure}");
        }
    }
}

#[test]
fn every_cut_of_headers_and_lists_is_noticed() {
    let pool = Pool::fixed();
    let body = AuthSys::new(1, b"client", 2, 3, &[4, 5]).to_body();
    let verf = OpaqueAuth::NONE;
    let call = CallHeader {
        xid: 9,
        prog: 1,
        vers: 2,
        proc: 3,
        cred: body.as_auth(),
        verf,
    };
    let call = encoded(&call);
    for cut in 0..call.len() {
        let error = CallHeader::decode(&mut Decoder::new(&call[..cut])).unwrap_err();
        assert!(matches!(error, CallError::Malformed { .. }), "{error}");
        let answered = error.reply().is_some_and(|reply| reply.xid == 9);
        assert_eq!(
            answered,
            cut >= 4,
            "a server answers as soon as it knows the xid"
        );
    }
    let mut success = Vec::new();
    ReplyHeader::encode_success(&mut success, 7);
    for cut in 0..success.len() {
        assert!(xdr::decode::<ReplyHeader<'_>>(&success[..cut]).is_err());
    }
    let groups = pool.groups();
    let export = encoded(&pool.export(&groups));
    for cut in 0..export.len() {
        assert!(xdr::decode::<filermark_onc::mount::ExportNode<'_>>(&export[..cut]).is_err());
    }
    let rpcb = encoded(&pool.rpcb());
    for cut in 0..rpcb.len() {
        assert!(xdr::decode::<Rpcb<'_>>(&rpcb[..cut]).is_err());
    }
    let entry = encoded(&pool.mount_entry());
    for cut in 0..entry.len() {
        assert!(xdr::decode::<MountEntry<'_>>(&entry[..cut]).is_err());
    }
}

fn problem<'a, T: xdr::Decode<'a>>(bytes: &'a [u8]) -> Problem {
    match xdr::decode::<T>(bytes) {
        Ok(_) => panic!("should have been refused"),
        Err(error) => error.problem,
    }
}

#[test]
fn lengths_above_their_limits_are_refused() {
    let too_long = |len, max| Problem::TooLong { len, max };
    let handle = [hex("00000041"), vec![1; 68]].concat();
    assert_eq!(problem::<FileHandle<'_>>(&handle), too_long(65, 64));
    assert_eq!(problem::<Fh>(&handle), too_long(65, 64));

    let name = [hex("00000000 00001001"), vec![b'a'; 4100]].concat();
    assert_eq!(problem::<LookupArgs<'_>>(&name), too_long(4097, MAX_NAME));

    // A READ result that announces 4 GiB, with nothing behind it.
    let read = hex("00000000 00000000 00000000 00000001 ffffffff");
    assert_eq!(
        problem::<ReadRes<'_>>(&read),
        too_long(u32::MAX as usize, MAX_DATA)
    );
    let front = ReadHead::decode_front(&mut Decoder::new(&read));
    assert_eq!(
        front.unwrap_err().problem,
        too_long(u32::MAX as usize, MAX_DATA)
    );

    let machinename = [hex("00000000 00000100"), vec![b'm'; 256]].concat();
    assert_eq!(problem::<AuthSys<'_>>(&machinename), too_long(256, 255));
    let gids = [
        hex("00000000 00000000 00000000 00000000 00000011"),
        vec![0; 68],
    ]
    .concat();
    assert_eq!(problem::<AuthSys<'_>>(&gids), too_long(17, 16));
    let body = [hex("00000001 00000191"), vec![0; 404]].concat();
    assert_eq!(problem::<OpaqueAuth<'_>>(&body), too_long(401, 400));

    let flavors = [hex("00000000 00000000 00000041"), vec![0; 260]].concat();
    assert_eq!(problem::<MntRes<'_>>(&flavors), too_long(65, MAX_FLAVORS));
    let netid = [hex("00000000 00000000 00000401"), vec![b'n'; 1028]].concat();
    assert_eq!(problem::<Rpcb<'_>>(&netid), too_long(1025, 1024));
}

#[test]
fn endless_lists_are_refused() {
    let item = hex("00000001 00000001 00000002 00000006 00000801");
    let endless = item.repeat(MAX_LIST_ITEMS + 1);
    let expected = Problem::TooLong {
        len: MAX_LIST_ITEMS + 1,
        max: MAX_LIST_ITEMS,
    };
    assert_eq!(problem::<List<'_, Mapping>>(&endless), expected);
    let mut longest = item.repeat(MAX_LIST_ITEMS);
    longest.extend_from_slice(&[0; 4]);
    assert_eq!(
        List::<Mapping>::from_bytes(&longest).unwrap().len(),
        MAX_LIST_ITEMS
    );
}

#[test]
fn numbers_outside_an_enumeration_are_refused_and_named() {
    let error = xdr::decode::<GetattrRes>(&hex("00000000 00000008")).unwrap_err();
    assert_eq!(error, DecodeError::unexpected(4, "Fattr3.ftype", 8));
    assert_eq!(
        error.to_string(),
        "byte 4: Fattr3.ftype: unexpected value 8"
    );

    let error = xdr::decode::<WccData>(&hex("00000002")).unwrap_err();
    assert_eq!(error, DecodeError::unexpected(0, "WccData.before", 2));

    let write = hex("00000000 0000000000000000 00000000 00000003 00000000");
    let error = xdr::decode::<WriteArgs<'_>>(&write).unwrap_err();
    assert_eq!(error, DecodeError::unexpected(16, "WriteArgs.stable", 3));

    let reply = hex("00000001 00000001 00000002");
    let error = xdr::decode::<ReplyHeader<'_>>(&reply).unwrap_err();
    assert_eq!(
        error,
        DecodeError::unexpected(8, "ReplyHeader.reply_stat", 2)
    );

    let cut = xdr::decode::<GetattrRes>(&hex("00000000 00000001 000001")).unwrap_err();
    assert_eq!(
        cut.to_string(),
        "byte 8: Fattr3.mode: needs 4 bytes, the message has 3 left"
    );
}

#[test]
fn unknown_statuses_are_kept() {
    let failed = xdr::decode::<GetattrRes>(&hex("000027ff"))
        .unwrap()
        .unwrap_err();
    assert_eq!(failed.status, Nfsstat3::Unknown(10_239));
    assert_eq!(failed.status.to_string(), "NFS3ERR_UNKNOWN (10239)");
}

#[test]
fn what_is_not_a_call_gets_the_right_answer() {
    let reply = hex("00000005 00000001 00000000");
    let error = CallHeader::decode(&mut Decoder::new(&reply));
    assert_eq!(error.unwrap_err().reply(), None, "replies are not answered");
    let version3 = hex("00000005 00000000 00000003");
    let error = CallHeader::decode(&mut Decoder::new(&version3));
    let answer = encoded(&error.unwrap_err().reply().unwrap());
    assert_eq!(
        answer,
        hex("00000005 00000001 00000001 00000000 00000002 00000002")
    );
}

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 13] = [
    ("rpc", fuzzing::rpc),
    ("rpcsec_gss", fuzzing::rpcsec_gss),
    ("record", fuzzing::record),
    ("portmap", fuzzing::portmap),
    ("rpcbind", fuzzing::rpcbind),
    ("mount", fuzzing::mount),
    ("nfs2_args", fuzzing::nfs2_args),
    ("nfs2_results", fuzzing::nfs2_results),
    ("nfs3_args", fuzzing::nfs3_args),
    ("nfs3_results", fuzzing::nfs3_results),
    ("nfs4_args", fuzzing::nfs4_args),
    ("nfs4_results", fuzzing::nfs4_results),
    ("nfs4_callback", fuzzing::nfs4_callback),
];

fn run_all(bytes: &[u8]) {
    TARGETS.iter().for_each(|(_, target)| target(bytes));
}

/// Messages of RPCSEC_GSS.
fn gss_seeds() -> [(&'static str, Vec<u8>); 4] {
    let cred = GssCred {
        version: GSS_VERSION,
        gss_proc: GssProc::Data,
        seq_num: 7,
        service: GssService::Integrity,
        handle: b"handle",
    };
    let results = GssInitRes {
        handle: b"handle",
        gss_major: 0,
        gss_minor: 0,
        seq_window: 32,
        gss_token: b"token",
    };
    let signed = GssIntegData {
        databody_integ: b"number and data",
        checksum: b"signature",
    };
    let encrypted = GssPrivData {
        databody_priv: b"number and data",
    };
    [
        encoded(&cred),
        encoded(&results),
        encoded(&signed),
        encoded(&encrypted),
    ]
    .map(|message| ("rpcsec_gss", message))
}

/// Sound messages for each target, in the form the target takes them.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut pool = Pool::fixed();
    let mut seeds = Vec::new();
    for choice in 0..5 {
        pool.choice = choice;
        for &procedure in Procedure::ALL {
            // The first byte chooses the procedure.
            let chosen = |message: Vec<u8>| [vec![procedure.to_u32() as u8], message].concat();
            seeds.push(("nfs3_args", chosen(encoded(&pool.args(procedure)))));
            seeds.push(("nfs3_results", chosen(encoded(&pool.ok(procedure)))));
            if let Some(failed) = pool.failed(procedure) {
                seeds.push(("nfs3_results", chosen(encoded(&failed))));
            }
        }
    }
    seeds.extend(gss_seeds());
    let body = AuthSys::new(1, b"client", 2, 3, &[4, 5]).to_body();
    let verf = OpaqueAuth::NONE;
    let call = CallHeader {
        xid: 9,
        prog: 1,
        vers: 2,
        proc: 3,
        cred: body.as_auth(),
        verf,
    };
    seeds.push(("rpc", encoded(&call)));
    seeds.push(("rpc", body.as_auth().body.to_vec()));
    for stat in [
        AcceptStat::Success,
        AcceptStat::ProgMismatch { low: 1, high: 2 },
    ] {
        seeds.push(("rpc", encoded(&ReplyHeader::accepted(1, stat))));
    }
    let weak = RejectStat::AuthError(AuthStat::TooWeak);
    seeds.push(("rpc", encoded(&ReplyHeader::denied(1, weak))));
    let mut stream = vec![3];
    append_fragments(&mut stream, b"first record", 100);
    append_fragments(&mut stream, b"second record", 5);
    seeds.push(("record", stream));
    seeds.extend(list_seeds(&pool));
    seeds.extend(nfs2_seeds());
    seeds.extend(crate::nfs4::seeds());
    seeds
}

fn list_seeds(pool: &Pool) -> Vec<(&'static str, Vec<u8>)> {
    fn list<T: xdr::Encode>(items: impl IntoIterator<Item = T>) -> Vec<u8> {
        let mut out = Vec::new();
        xdr::encode_list(&mut xdr::Encoder::new(&mut out), items);
        out
    }
    let groups = pool.groups();
    vec![
        ("portmap", list([pool.mapping(), pool.mapping()])),
        ("portmap", encoded(&pool.mapping())),
        ("rpcbind", list([pool.rpcb(), pool.rpcb()])),
        ("rpcbind", encoded(&pool.rpcb())),
        ("rpcbind", b"192.0.2.1.8.1".to_vec()),
        ("rpcbind", b"fe80::1.8.1".to_vec()),
        ("mount", list([pool.mount_entry(), pool.mount_entry()])),
        ("mount", list([pool.export(&groups), pool.export(&groups)])),
        (
            "mount",
            hex("00000000 00000002 61620000 00000002 00000001 00000006"),
        ),
        ("mount", hex("0000000d")),
    ]
}

/// The first byte chooses the procedure.
fn nfs2_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (pool, mut seeds) = (Pool2::fixed(), Vec::new());
    for &procedure in nfs2::Procedure::ALL {
        let chosen = |message: Vec<u8>| [vec![procedure.to_u32() as u8], message].concat();
        seeds.push(("nfs2_args", chosen(encoded(&pool.args(procedure)))));
        seeds.push(("nfs2_results", chosen(encoded(&pool.ok(procedure)))));
        if let Some(failed) = pool.failed(procedure) {
            seeds.push(("nfs2_results", chosen(encoded(&failed))));
        }
    }
    let mounted = mount1::MntOk {
        directory: nfs2::Fhandle::new(&[7; 32]),
    };
    seeds.push(("mount", encoded::<mount1::MntRes<'_>>(&Ok(mounted))));
    seeds
}

/// Also writes them where FILERMARK_FUZZ_SEEDS says (a directory for each target), for ci/fuzz.
#[test]
fn sound_messages_pass_every_target() {
    let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS").map(std::path::PathBuf::from);
    for (number, (name, seed)) in seeds().into_iter().enumerate() {
        run_all(&seed);
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}");
        if let Some(corpus) = &corpus {
            let folder = corpus.join(name);
            std::fs::create_dir_all(&folder).expect("create the corpus folder");
            std::fs::write(folder.join(format!("seed-{number}")), seed).expect("write a seed");
        }
    }
}

proptest! {
    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..600)) {
        run_all(&noise);
    }

    #[test]
    fn corruption_of_version_2_never_panics(
        which in 0..nfs2::Procedure::COUNT,
        hits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let pool = Pool2::fixed();
        let procedure = nfs2::Procedure::ALL[which];
        for sample in [encoded(&pool.args(procedure)), encoded(&pool.ok(procedure))] {
            // The first byte chooses the procedure.
            let mut bytes = [&[which as u8][..], &sample].concat();
            for (place, value) in &hits {
                if bytes.len() > 1 {
                    let at = 1 + place.index(bytes.len() - 1);
                    bytes[at] ^= *value;
                }
            }
            run_all(&bytes);
            run_all(&bytes[1..]);
        }
    }

    #[test]
    fn corruption_never_panics(
        which in 0..Procedure::COUNT,
        hits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let pool = Pool::fixed();
        let procedure = Procedure::ALL[which];
        let groups = pool.groups();
        let samples = [
            encoded(&pool.args(procedure)),
            encoded(&pool.ok(procedure)),
            pool.failed(procedure).map(|failed| encoded(&failed)).unwrap_or_default(),
            encoded(&pool.export(&groups)),
            encoded(&pool.rpcb()),
        ];
        for sample in samples {
            // The first byte chooses the procedure.
            let mut bytes = [&[which as u8][..], &sample].concat();
            for (place, value) in &hits {
                if bytes.len() > 1 {
                    let at = 1 + place.index(bytes.len() - 1);
                    bytes[at] ^= *value;
                }
            }
            run_all(&bytes);
            run_all(&bytes[1..]);
        }
    }
}

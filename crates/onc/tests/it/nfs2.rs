//! NFSv2 and MOUNT v1: round trips, cuts, lies about lengths, and lists within a size.

use filermark_onc::mount1;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::{DirList, DirListWriter};
use filermark_onc::xdr::{self, Decode, DecodeError, Decoder, Problem};
use proptest::prelude::*;

use crate::samples_nfs2::{Pool2, pools2};
use crate::{encoded, hex};

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same(pool in pools2()) {
        for &procedure in Procedure::ALL {
            let args = pool.args(procedure);
            let bytes = encoded(&args);
            prop_assert_eq!(bytes.len() % 4, 0);
            prop_assert_eq!(Args::decode(procedure, &mut Decoder::new(&bytes)), Ok(args));
            prop_assert_eq!(args.procedure(), procedure);
            for results in [Some(pool.ok(procedure)), pool.failed(procedure)].into_iter().flatten() {
                let bytes = encoded(&results);
                prop_assert_eq!(bytes.len() % 4, 0);
                prop_assert_eq!(Results::decode(procedure, &mut Decoder::new(&bytes)), Ok(results));
            }
        }
        let list = DirList::<Entry<'_>>::from_bytes(&pool.list);
        let mut entries = list.iter();
        let read: Result<Vec<_>, _> = entries.by_ref().collect();
        prop_assert_eq!(read, Ok(pool.entries().collect()));
        prop_assert_eq!(entries.eof(), Some(pool.eof));
    }

    #[test]
    fn mount_v1(fh: [u8; FHSIZE], status in 1..=u32::MAX, path in proptest::collection::vec(any::<u8>(), 0..=1024)) {
        let args = mount1::MntArgs { dirpath: &path };
        let bytes = encoded(&args);
        prop_assert_eq!(xdr::decode(&bytes), Ok(args));
        let ok: mount1::MntRes<'_> = Ok(mount1::MntOk { directory: Fhandle::new(&fh) });
        let failed: mount1::MntRes<'_> = Err(Nfsstat::from_u32(status));
        for res in [ok, failed] {
            let bytes = encoded(&res);
            prop_assert_eq!(xdr::decode(&bytes), Ok(res));
        }
    }
}

/// Decodes, and reads the directory list if there is one: that is checked late.
fn read_results(procedure: Procedure, bytes: &[u8]) -> Result<(), DecodeError> {
    match Results::decode(procedure, &mut Decoder::new(bytes))? {
        Results::Readdir(Ok(ok)) => ok.reply.iter().try_for_each(|entry| entry.map(drop)),
        _ => Ok(()),
    }
}

#[test]
fn every_cut_is_noticed() {
    let pool = Pool2::fixed();
    for &procedure in Procedure::ALL {
        let args = encoded(&pool.args(procedure));
        for cut in 0..args.len() {
            let error = Args::decode(procedure, &mut Decoder::new(&args[..cut])).unwrap_err();
            let cut_off = matches!(error.problem, Problem::Truncated { .. });
            assert!(cut_off && error.offset <= cut, "{procedure} {cut}: {error}");
        }
        for results in [Some(pool.ok(procedure)), pool.failed(procedure)]
            .into_iter()
            .flatten()
        {
            let bytes = encoded(&results);
            assert_eq!(read_results(procedure, &bytes), Ok(()), "{procedure}");
            for cut in 0..bytes.len() {
                let error = read_results(procedure, &bytes[..cut]).unwrap_err();
                let cut_off = matches!(error.problem, Problem::Truncated { .. });
                assert!(cut_off && error.offset <= cut, "{procedure} {cut}: {error}");
            }
            let mut longer = bytes;
            longer.extend_from_slice(&[0; 4]);
            let error = read_results(procedure, &longer).unwrap_err();
            assert_eq!(error.problem, Problem::Trailing { left: 4 }, "{procedure}");
        }
    }
}

fn problem<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Problem {
    match xdr::decode::<T>(bytes) {
        Ok(_) => panic!("should have been refused"),
        Err(error) => error.problem,
    }
}

#[test]
fn lengths_above_their_limits_are_refused() {
    let too_long = |len, max| Problem::TooLong { len, max };
    let fh = vec![7; FHSIZE];
    let name = [fh.clone(), hex("00001001"), vec![b'a'; 4100]].concat();
    assert_eq!(problem::<LookupArgs<'_>>(&name), too_long(4097, MAX_NAME));
    let write = [
        fh.clone(),
        vec![0; 12],
        hex("00002001"),
        vec![0; MAXDATA + 4],
    ]
    .concat();
    assert_eq!(problem::<WriteArgs<'_>>(&write), too_long(8193, MAXDATA));
    let read = [vec![0; 4], hex("00000001"), vec![0; 64], hex("ffffffff")].concat();
    assert_eq!(
        problem::<ReadRes<'_>>(&read),
        too_long(u32::MAX as usize, MAXDATA)
    );
    let link = [vec![0; 4], hex("00000401"), vec![b'x'; 1028]].concat();
    assert_eq!(
        problem::<ReadlinkRes<'_>>(&link),
        too_long(1025, MAXPATHLEN)
    );
    let entry = [hex("00000001 00000100"), vec![b'n'; 260]].concat();
    assert_eq!(problem::<Entry<'_>>(&entry), too_long(256, MAXNAMLEN));
    let path = [hex("00000401"), vec![b'p'; 1028]].concat();
    assert_eq!(problem::<mount1::MntArgs<'_>>(&path), too_long(1025, 1024));
}

#[test]
fn numbers_outside_an_enumeration() {
    let error = xdr::decode::<AttrstatRes>(&hex("00000000 00000009")).unwrap_err();
    assert_eq!(error, DecodeError::unexpected(4, "Fattr.ftype", 9));
    // A status that the RFC does not list is kept.
    let status = xdr::decode::<StatRes>(&hex("0000001f")).unwrap();
    assert_eq!(status, Err(Nfsstat::Unknown(31)));
    assert_eq!(status.unwrap_err().to_string(), "NFSERR_UNKNOWN (31)");
}

#[test]
fn handles_have_32_bytes() {
    assert!(Fhandle::from_slice(&[0; 31]).is_none() && Fhandle::from_slice(&[0; 33]).is_none());
    let fh = Fhandle::from_slice(&[9; FHSIZE]).expect("32");
    assert_eq!(encoded(&fh), [9; FHSIZE]);
}

const ENTRY: Entry<'static> = Entry {
    fileid: 1,
    name: b"name",
    cookie: 1,
};
/// Follows, fileid, length, name, cookie.
const ENTRY_BYTES: usize = 4 + 4 + 4 + 4 + 4;
/// Status; end of list, eof.
const EMPTY_BYTES: usize = 4 + 8;

#[test]
fn a_writer_stops_at_the_size_that_was_asked_for() {
    for count in 0..200u32 {
        let mut out = b"header".to_vec();
        let mut writer = DirListWriter::begin_v2(&mut out, count);
        while writer.push(&ENTRY) {}
        let fitting = (count as usize).saturating_sub(EMPTY_BYTES) / ENTRY_BYTES;
        assert_eq!(writer.len(), fitting, "{count}");
        if writer.is_empty() {
            writer.cancel();
            assert_eq!(out, b"header");
            continue;
        }
        writer.finish(true);
        assert_eq!(out.len() - 6, EMPTY_BYTES + fitting * ENTRY_BYTES);
        assert!(out.len() - 6 <= count as usize);
        let res: ReaddirRes<'_> = xdr::decode(&out[6..]).expect("results");
        let reply = res.expect("ok").reply;
        let mut entries = reply.iter();
        assert_eq!(entries.by_ref().map(Result::unwrap).count(), fitting);
        assert_eq!(entries.eof(), Some(true));
    }
}

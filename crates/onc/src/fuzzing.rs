//! Entry points for the fuzzer (`fuzz/`) and for the tests that feed the same functions with cut and
//! corrupted messages. Each takes any bytes, decodes them in every way its family knows, and panics when
//! a promise is broken: what decodes must encode to something that decodes to the same value.

use crate::nfs3::{self, DirList, ReadHead};
use crate::record::{RecordReader, append_fragments, whole_record};
use crate::rpc::{CallHeader, ReplyHeader};
use crate::xdr::{self, Decode, DecodeError, Decoder, List};
use crate::{mount, mount1, nfs2, nfs4, portmap, rpc, rpcbind};

/// Decodes a `T` that fills `data`; if that works, encodes it, decodes that and compares.
macro_rules! round_trip {
    ($ty:ty, $data:expr) => {{
        let decoded = xdr::decode::<$ty>($data);
        if let Ok(value) = &decoded {
            let mut again = Vec::new();
            xdr::append(&mut again, value);
            assert_eq!(again.len(), $data.len(), "encoded length of {value:?}");
            assert_eq!(xdr::decode::<$ty>(&again).as_ref(), Ok(value));
        }
        decoded
    }};
}

/// The same for the arguments or results of one procedure of a program: its list gives the type.
macro_rules! round_trip_of {
    ($messages:ty, $procedure:expr, $data:expr) => {{
        let decoded = <$messages>::decode($procedure, &mut Decoder::new($data)).ok();
        if let Some(value) = &decoded {
            let mut again = Vec::new();
            xdr::append(&mut again, value);
            assert_eq!(again.len(), $data.len(), "encoded length of {value:?}");
            let back = <$messages>::decode($procedure, &mut Decoder::new(&again));
            assert_eq!(back.as_ref(), Ok(value));
            assert_eq!(value.procedure(), $procedure);
        }
        decoded
    }};
}

fn walk<'a, T: Decode<'a>>(list: Result<List<'a, T>, DecodeError>) {
    if let Ok(list) = list {
        assert_eq!(
            list.iter().count(),
            list.len(),
            "a list is read as it was checked"
        );
    }
}

/// RPC headers, credentials and the reply a bad call deserves.
pub fn rpc(data: &[u8]) {
    let mut d = Decoder::new(data);
    match CallHeader::decode(&mut d) {
        Ok(header) => {
            let _ = header.cred.auth_sys();
            let mut again = Vec::new();
            xdr::append(&mut again, &header);
            assert_eq!(CallHeader::decode(&mut Decoder::new(&again)), Ok(header));
        }
        Err(error) => {
            if let Some(reply) = error.reply() {
                let mut bytes = Vec::new();
                xdr::append(&mut bytes, &reply);
                assert_eq!(xdr::decode(&bytes), Ok(reply));
            }
        }
    }
    let mut d = Decoder::new(data);
    if let Ok(header) = ReplyHeader::decode(&mut d) {
        let mut again = Vec::new();
        xdr::append(&mut again, &header);
        assert_eq!(xdr::decode(&again), Ok(header));
        let _ = header.check().map_err(|refusal| refusal.to_string());
    }
    let _ = round_trip!(crate::rpc::AuthSys<'_>, data);
}

/// RPCSEC_GSS: credentials, the results that establish a context, protected bodies.
pub fn rpcsec_gss(data: &[u8]) {
    let _ = round_trip!(rpc::GssCred<'_>, data);
    let _ = round_trip!(rpc::GssInitArgs<'_>, data);
    let _ = round_trip!(rpc::GssInitRes<'_>, data);
    let _ = round_trip!(rpc::GssIntegData<'_>, data);
    let _ = round_trip!(rpc::GssPrivData<'_>, data);
    if let Ok(header) = CallHeader::decode(&mut Decoder::new(data)) {
        let _ = header.cred.gss_cred();
    }
}

/// Record marking: the stream in one piece and in pieces gives the same records, and what was written in
/// fragments comes back. The first byte says how large the pieces are.
pub fn record(data: &[u8]) {
    const MAX: usize = 4096;
    let Some((&piece, stream)) = data.split_first() else {
        return;
    };
    let piece = usize::from(piece).max(1);
    let whole = split(stream, stream.len().max(1), MAX);
    assert_eq!(whole, split(stream, piece, MAX), "pieces of {piece} bytes");
    let _ = whole_record(stream, MAX);

    let mut marked = Vec::new();
    append_fragments(&mut marked, stream, piece);
    let back = split(&marked, 7, stream.len());
    assert_eq!(
        back,
        (vec![stream.to_vec()], true),
        "what was written in fragments"
    );
}

/// The records, and whether the stream was sound to its end.
fn split(stream: &[u8], piece: usize, max: usize) -> (Vec<Vec<u8>>, bool) {
    let mut reader = RecordReader::new(max);
    let mut records = Vec::new();
    for mut input in stream.chunks(piece) {
        loop {
            match reader.next_record(&mut input) {
                Ok(Some(record)) => records.push(record.to_vec()),
                Ok(None) => break,
                Err(_) => return (records, false),
            }
        }
        assert!(input.is_empty(), "a reader takes all it is given");
    }
    (records, true)
}

/// Arguments and results of the portmapper.
pub fn portmap(data: &[u8]) {
    let _ = round_trip!(portmap::Mapping, data);
    let _ = round_trip!(bool, data);
    walk(round_trip!(List<'_, portmap::Mapping>, data));
}

/// Arguments and results of rpcbind, and universal addresses.
pub fn rpcbind(data: &[u8]) {
    let _ = round_trip!(rpcbind::Rpcb<'_>, data);
    let _ = round_trip!(rpcbind::GetaddrRes<'_>, data);
    walk(round_trip!(List<'_, rpcbind::Rpcb<'_>>, data));
    if let Ok(Some(address)) = rpcbind::parse_uaddr(data) {
        let text = rpcbind::format_uaddr(&address);
        assert_eq!(rpcbind::parse_uaddr(text.as_bytes()), Ok(Some(address)));
    }
}

/// Arguments and results of MOUNT, of both versions.
pub fn mount(data: &[u8]) {
    let _ = round_trip!(mount1::MntArgs<'_>, data);
    let _ = round_trip!(mount1::MntRes<'_>, data);
    for procedure in mount::Procedure::ALL {
        round_trip_of!(mount::Args<'_>, *procedure, data);
        match round_trip_of!(mount::Results<'_>, *procedure, data) {
            Some(mount::Results::Mnt(Ok(ok))) => {
                let _ = (ok.auth_flavors.allows_sys(), ok.auth_flavors.iter().count());
            }
            Some(mount::Results::Dump(list)) => walk(Ok(list)),
            Some(mount::Results::Export(list)) => {
                walk(Ok(list));
                for export in &list {
                    assert_eq!(export.groups.iter().count(), export.groups.len());
                }
            }
            _ => {}
        }
    }
}

/// Arguments of NFSv2; the first byte chooses the procedure.
pub fn nfs2_args(data: &[u8]) {
    if let Some((procedure, data)) = choose(nfs2::Procedure::ALL, data) {
        round_trip_of!(nfs2::Args<'_>, procedure, data);
    }
}

/// Results of NFSv2; the first byte chooses the procedure.
pub fn nfs2_results(data: &[u8]) {
    let Some((procedure, data)) = choose(nfs2::Procedure::ALL, data) else {
        return;
    };
    let results = round_trip_of!(nfs2::Results<'_>, procedure, data);
    if let Some(nfs2::Results::Readdir(Ok(ok))) = results {
        walk_dir(ok.reply);
    }
}

/// Arguments of NFSv3; the first byte chooses the procedure.
pub fn nfs3_args(data: &[u8]) {
    if let Some((procedure, data)) = choose(nfs3::Procedure::ALL, data) {
        round_trip_of!(nfs3::Args<'_>, procedure, data);
    }
}

/// Results of NFSv3; the first byte chooses the procedure.
pub fn nfs3_results(data: &[u8]) {
    let Some((procedure, data)) = choose(nfs3::Procedure::ALL, data) else {
        return;
    };
    let front = ReadHead::decode_front(&mut Decoder::new(data));
    match round_trip_of!(nfs3::Results<'_>, procedure, data) {
        Some(nfs3::Results::Readdir(Ok(ok))) => walk_dir(ok.reply),
        Some(nfs3::Results::Readdirplus(Ok(ok))) => walk_dir(ok.reply),
        Some(nfs3::Results::Read(Ok(ok))) => {
            let front = front.ok().and_then(Result::ok);
            assert_eq!(front.map(|front| front.data_len), Some(ok.data.len()));
        }
        _ => {}
    }
}

/// Arguments of NFSv4's COMPOUND. Bitmaps may have zero words at their end, which are not written again,
/// so lengths may differ.
pub fn nfs4_args(data: &[u8]) {
    let Ok(compound) = nfs4::CompoundArgs::decode(&mut Decoder::new(data)) else {
        return;
    };
    let mut again = Vec::new();
    let mut writer = nfs4::CompoundWriter::begin(&mut again, compound.tag, compound.minorversion);
    let sound: Vec<_> = compound.map_while(Result::ok).collect();
    for args in &sound {
        writer.any(args);
        if let nfs4::Args::Setattr(args) = args {
            check_attributes(args.obj_attributes);
        }
    }
    assert_eq!(writer.finish() as usize, sound.len());
    let compound = nfs4::CompoundArgs::decode(&mut Decoder::new(&again));
    let back: Result<Vec<_>, _> = compound.into_iter().flatten().collect();
    assert_eq!(back, Ok(sound), "a list of operations");
}

/// Results of NFSv4's COMPOUND.
pub fn nfs4_results(data: &[u8]) {
    let Ok(compound) = nfs4::CompoundRes::<nfs4::Operation>::decode(&mut Decoder::new(data)) else {
        return;
    };
    let _ = compound.read_head();
    let mut again = Vec::new();
    let mut writer = nfs4::CompoundResWriter::<nfs4::Operation>::begin(&mut again, compound.tag);
    let mut sound = Vec::new();
    for results in compound.map_while(Result::ok) {
        match results {
            nfs4::Results::Getattr(Ok(ok)) => check_attributes(ok.obj_attributes),
            nfs4::Results::Readdir(Ok(ok)) => {
                assert_eq!(ok.entries.iter().count(), ok.entries.len());
                ok.entries
                    .iter()
                    .for_each(|entry| check_attributes(entry.attrs));
            }
            nfs4::Results::Layoutget(Ok(ok)) => ok.layout.iter().for_each(|part| {
                let _ = xdr::decode::<nfs4::flexfiles::FfLayout4<'_>>(part.content.body);
            }),
            nfs4::Results::Getdeviceinfo(Ok(ok)) => {
                let _ = xdr::decode::<nfs4::flexfiles::FfDeviceAddr4<'_>>(ok.device_addr.body);
            }
            _ => {}
        }
        sound.push(results);
        // A peer may send results behind a failure; our writer may not.
        if writer.any(&results) != nfs4::Nfsstat4::Ok {
            break;
        }
    }
    let status = writer.finish();
    let compound = nfs4::CompoundRes::<nfs4::Operation>::decode(&mut Decoder::new(&again));
    assert_eq!(compound.map(|compound| compound.status), Ok(status));
    let back: Result<Vec<_>, _> = compound.into_iter().flatten().collect();
    assert_eq!(back, Ok(sound), "a list of results");
}

/// What can be read of attributes is written again and read as the same values.
fn check_attributes(fattr: nfs4::Fattr4<'_>) {
    let Ok(values) = fattr.attributes() else {
        return;
    };
    let mut again = Vec::new();
    xdr::append(&mut again, &nfs4::Fattr4::new(&values));
    let back = xdr::decode::<nfs4::Fattr4<'_>>(&again).and_then(|fattr| fattr.attributes());
    assert_eq!(back, Ok(values));
}

/// Arguments and results of NFSv4's callbacks; the first byte chooses which.
pub fn nfs4_callback(data: &[u8]) {
    let Some((results, data)) = choose(&[false, true], data) else {
        return;
    };
    let mut again = Vec::new();
    if results {
        let compound =
            nfs4::CompoundRes::<nfs4::callback::Operation>::decode(&mut Decoder::new(data));
        let sound: Vec<_> = compound
            .into_iter()
            .flatten()
            .map_while(Result::ok)
            .collect();
        for results in sound {
            again.clear();
            xdr::append(&mut again, &results);
            let operation = results.operation();
            let back = nfs4::callback::Results::decode(operation, &mut Decoder::new(&again));
            assert_eq!(back, Ok(results));
        }
        return;
    }
    let Ok(compound) = nfs4::CompoundArgs::decode_callback(&mut Decoder::new(data)) else {
        return;
    };
    let (tag, minor, ident) = (compound.tag, compound.minorversion, compound.callback_ident);
    let mut writer = nfs4::CompoundWriter::begin_callback(&mut again, tag, minor, ident);
    let sound: Vec<_> = compound.map_while(Result::ok).collect();
    for args in &sound {
        writer.any(args);
    }
    writer.finish();
    let compound = nfs4::CompoundArgs::decode_callback(&mut Decoder::new(&again));
    let back: Result<Vec<_>, _> = compound.into_iter().flatten().collect();
    assert_eq!(back, Ok(sound), "a list of callbacks");
}

fn walk_dir<'a, E: Decode<'a>>(list: DirList<'a, E>) {
    let mut entries = list.iter();
    let errors = entries.by_ref().filter(Result::is_err).count();
    assert_eq!(
        entries.eof().is_none(),
        errors == 1,
        "a sound list has an end mark"
    );
    assert!(entries.next().is_none(), "the end is the end");
}

fn choose<'d, P: Copy>(all: &[P], data: &'d [u8]) -> Option<(P, &'d [u8])> {
    let (&choice, rest) = data.split_first()?;
    Some((all[usize::from(choice) % all.len()], rest))
}

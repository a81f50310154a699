//! Our bytes as an independent codec (`nfs3_types`) sees them: it must read every message we write, use
//! all of it, and write the same bytes back.

use filermark_onc::mount::MntRes;
use filermark_onc::nfs3::{Procedure, Results};
use filermark_onc::rpc::{AuthSys, CallHeader, OpaqueAuth, ReplyHeader};
use filermark_onc::xdr::{Encoder, encode_list};
use nfs3_types::nfs3 as theirs;
use nfs3_types::xdr_codec::{Pack, Unpack};

use crate::samples::Pool;
use crate::{encoded, hex};

fn agree<T: Pack + Unpack>(what: &str, bytes: &[u8]) -> T {
    let mut input = bytes;
    let (value, used) = match T::unpack(&mut input) {
        Ok(read) => read,
        Err(error) => panic!("{what}: the oracle cannot read our bytes: {error:?}"),
    };
    assert_eq!(
        (used, input.len()),
        (bytes.len(), 0),
        "{what}: the oracle leaves bytes"
    );
    let mut back = Vec::new();
    value
        .pack(&mut back)
        .unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!(back, bytes, "{what}");
    value
}

macro_rules! oracle {
    ($procedure:expr, $args:expr, $results:expr; $($variant:ident $a:ty, $r:ty;)*) => {
        match $procedure {
            Procedure::Null => {}
            $(Procedure::$variant => {
                agree::<$a>(stringify!($a), $args);
                for results in $results {
                    agree::<$r>(stringify!($r), results);
                }
            })*
        }
    };
}

#[test]
fn nfs3() {
    let mut pool = Pool::fixed();
    for choice in 0..4 {
        pool.choice = choice;
        for &procedure in Procedure::ALL {
            let args = encoded(&pool.args(procedure));
            let failed = pool.failed(procedure).map(|failed| encoded(&failed));
            let results: Vec<_> = [Some(encoded(&pool.ok(procedure))), failed]
                .into_iter()
                .flatten()
                .collect();
            oracle! { procedure, &args, &results;
                Getattr theirs::GETATTR3args, theirs::GETATTR3res;
                Setattr theirs::SETATTR3args, theirs::SETATTR3res;
                Lookup theirs::LOOKUP3args<'_>, theirs::LOOKUP3res;
                Access theirs::ACCESS3args, theirs::ACCESS3res;
                Readlink theirs::READLINK3args, theirs::READLINK3res<'_>;
                Read theirs::READ3args, theirs::READ3res<'_>;
                Write theirs::WRITE3args<'_>, theirs::WRITE3res;
                Create theirs::CREATE3args<'_>, theirs::CREATE3res;
                Mkdir theirs::MKDIR3args<'_>, theirs::MKDIR3res;
                Symlink theirs::SYMLINK3args<'_>, theirs::SYMLINK3res;
                Mknod theirs::MKNOD3args<'_>, theirs::MKNOD3res;
                Remove theirs::REMOVE3args<'_>, theirs::REMOVE3res;
                Rmdir theirs::RMDIR3args<'_>, theirs::RMDIR3res;
                Rename theirs::RENAME3args<'_, '_>, theirs::RENAME3res;
                Link theirs::LINK3args<'_>, theirs::LINK3res;
                Readdir theirs::READDIR3args, theirs::READDIR3res<'_>;
                Readdirplus theirs::READDIRPLUS3args, theirs::READDIRPLUS3res<'_>;
                Fsstat theirs::FSSTAT3args, theirs::FSSTAT3res;
                Fsinfo theirs::FSINFO3args, theirs::FSINFO3res;
                Pathconf theirs::PATHCONF3args, theirs::PATHCONF3res;
                Commit theirs::COMMIT3args, theirs::COMMIT3res;
            }
        }
    }
}

/// The shape does not distinguish fields of one size: their values are compared by name.
#[test]
fn fields_mean_the_same() {
    let pool = Pool::fixed();
    let bytes = encoded(&pool.ok(Procedure::Getattr));
    let their = agree::<theirs::GETATTR3res>("GETATTR3res", &bytes)
        .unwrap()
        .obj_attributes;
    let our = pool.attrs[0].unwrap();
    assert_eq!(
        (
            their.mode,
            their.nlink,
            their.uid,
            their.gid,
            their.size,
            their.used
        ),
        (our.mode, our.nlink, our.uid, our.gid, our.size, our.used)
    );
    assert_eq!((their.fsid, their.fileid), (our.fsid, our.fileid));
    assert_eq!(
        (their.rdev.specdata1, their.rdev.specdata2),
        (our.rdev.specdata1, our.rdev.specdata2)
    );
    assert_eq!(
        [their.atime, their.mtime, their.ctime].map(|time| (time.seconds, time.nseconds)),
        [our.atime, our.mtime, our.ctime].map(|time| (time.seconds, time.nseconds))
    );

    let bytes = encoded(&pool.ok(Procedure::Fsinfo));
    let their = agree::<theirs::FSINFO3res>("FSINFO3res", &bytes).unwrap();
    let Results::Fsinfo(Ok(our)) = pool.ok(Procedure::Fsinfo) else {
        panic!("not FSINFO")
    };
    assert_eq!(
        [
            their.rtmax,
            their.rtpref,
            their.rtmult,
            their.wtmax,
            their.wtpref,
            their.wtmult,
            their.dtpref
        ],
        [
            our.rtmax, our.rtpref, our.rtmult, our.wtmax, our.wtpref, our.wtmult, our.dtpref
        ]
    );
    assert_eq!(
        (their.maxfilesize, their.properties),
        (our.maxfilesize, our.properties)
    );

    let bytes = encoded(&pool.ok(Procedure::Fsstat));
    let their = agree::<theirs::FSSTAT3res>("FSSTAT3res", &bytes).unwrap();
    let Results::Fsstat(Ok(our)) = pool.ok(Procedure::Fsstat) else {
        panic!("not FSSTAT")
    };
    assert_eq!(
        [
            their.tbytes,
            their.fbytes,
            their.abytes,
            their.tfiles,
            their.ffiles,
            their.afiles
        ],
        [
            our.tbytes, our.fbytes, our.abytes, our.tfiles, our.ffiles, our.afiles
        ]
    );
}

#[test]
fn headers_portmapper_and_mount() {
    let pool = Pool::fixed();
    let body = AuthSys::new(1, b"client", 2, 3, &[4, 5, 6]).to_body();
    let call = CallHeader {
        xid: 7,
        prog: 100_003,
        vers: 3,
        proc: 1,
        cred: body.as_auth(),
        verf: OpaqueAuth::NONE,
    };
    agree::<nfs3_types::rpc::rpc_msg<'_, '_>>("call", &encoded(&call));
    agree::<nfs3_types::rpc::auth_unix>("AUTH_SYS", body.as_auth().body);
    let mut success = Vec::new();
    ReplyHeader::encode_success(&mut success, 7);
    agree::<nfs3_types::rpc::rpc_msg<'_, '_>>("reply", &success);

    agree::<nfs3_types::portmap::mapping>("mapping", &encoded(&pool.mapping()));
    let mut list = Vec::new();
    encode_list(&mut Encoder::new(&mut list), [pool.mapping(); 3]);
    agree::<nfs3_types::portmap::pmaplist>("pmaplist", &list);

    let mnt = hex("00000000 00000002 61620000 00000002 00000001 00000006");
    let ok: MntRes<'_> = filermark_onc::xdr::decode(&mnt).unwrap();
    agree::<nfs3_types::mount::mountres3<'_>>("mountres3", &encoded(&ok));
    let groups = pool.groups();
    let mut list = Vec::new();
    encode_list(&mut Encoder::new(&mut list), [pool.export(&groups); 2]);
    agree::<nfs3_types::mount::exports<'_, '_>>("exports", &list);
    let mut list = Vec::new();
    encode_list(&mut Encoder::new(&mut list), [pool.mount_entry(); 2]);
    agree::<nfs3_types::mount::mountlist<'_, '_>>("mountlist", &list);
}

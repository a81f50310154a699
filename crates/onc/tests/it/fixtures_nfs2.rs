//! NFSv2 as Linux's own client (6.1) speaks it: arguments captured on their way to the embedded server,
//! and the answers that it could use. Handles of the capture are shortened to [`FH`] and [`FH2`].

use filermark_onc::mount1;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::DirList;
use filermark_onc::rpc::Call;
use filermark_onc::xdr;

use crate::{encoded, hex};

const FH: &str = "46696c65726d6b010000000000000003 18ea61c696deaa4c0000000000000000";
const FH2: &str = "46696c65726d6b010000000000000001 18ea61c696deaa4c0000000000000000";
/// `sattr` of the capture: a mode, and -1 in all the others.
const REST: &str = "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff";
/// `fattr` of a directory, mode 0777, 3 links, 4,096 bytes in a block.
const ATTR: &str =
    "00000002 000041ff 00000003 00000000 00000000 00000000 00001000 ffffffff 00000001
    8e34dd33 00000001 6b02f11b 00005a79 6b02f11d 00029fbf 6b02f11d 00029fbf";

/// Bytes of a handle.
fn bytes(text: &str) -> [u8; FHSIZE] {
    hex(text).try_into().expect("32 bytes")
}

fn attr() -> Fattr {
    let time = |seconds, useconds| Timeval { seconds, useconds };
    Fattr {
        ftype: Ftype::Dir,
        mode: 0o040_777,
        nlink: 3,
        uid: 0,
        gid: 0,
        size: 0,
        blocksize: 4096,
        rdev: u32::MAX,
        blocks: 1,
        fsid: 0x8e34_dd33,
        fileid: 1,
        atime: time(0x6b02_f11b, 0x5a79),
        mtime: time(0x6b02_f11d, 0x2_9fbf),
        ctime: time(0x6b02_f11d, 0x2_9fbf),
    }
}

/// Both directions.
macro_rules! same {
    ($ty:ty, $words:expr, $value:expr $(,)?) => {{
        let (bytes, value): (Vec<u8>, $ty) = (hex($words), $value);
        assert_eq!(encoded(&value), bytes, "encode {value:?}");
        assert_eq!(xdr::decode::<$ty>(&bytes), Ok(value));
    }};
}

/// Both directions, and the number of the procedure.
macro_rules! call {
    ($number:literal, $ty:ty, $words:expr, $value:expr $(,)?) => {{
        assert_eq!(<$ty as Call>::PROC, $number);
        same!($ty, $words, $value);
    }};
}

#[test]
fn calls_on_one_file() {
    let file_bytes = bytes(FH);
    let file = Fhandle::new(&file_bytes);
    call!(1, GetattrArgs<'_>, FH, GetattrArgs { file });
    call!(5, ReadlinkArgs<'_>, FH, ReadlinkArgs { file });
    call!(17, StatfsArgs<'_>, FH, StatfsArgs { file });
    let attributes = Sattr::mode(0o640);
    call!(
        2,
        SetattrArgs<'_>,
        &format!("{FH} 000001a0 {REST}"),
        SetattrArgs { file, attributes }
    );
    call!(
        6,
        ReadArgs<'_>,
        &format!("{FH} 00000000 00002000 00002000"),
        ReadArgs {
            file,
            offset: 0,
            count: 8192,
            totalcount: 8192
        }
    );
    call!(
        8,
        WriteArgs<'_>,
        &format!("{FH} 00000000 00000000 00000004 00000004 6e65770a"),
        WriteArgs {
            file,
            beginoffset: 0,
            offset: 0,
            totalcount: 4,
            data: b"new\n"
        }
    );
    call!(
        16,
        ReaddirArgs<'_>,
        &format!("{FH} 00000000 00002000"),
        ReaddirArgs {
            dir: file,
            cookie: 0,
            count: 8192
        }
    );
    assert_eq!(
        (NullArgs::PROC, RootArgs::PROC, WritecacheArgs::PROC),
        (0, 3, 7)
    );
}

#[test]
fn calls_on_names() {
    let (file_bytes, dir_bytes) = (bytes(FH), bytes(FH2));
    let (file, dir) = (Fhandle::new(&file_bytes), Fhandle::new(&dir_bytes));
    let name = |name: &'static [u8]| Diropargs { dir, name };
    let dir_name = format!("{FH2} 00000003 64697200");
    let what = name(b"dir");
    call!(4, LookupArgs<'_>, &dir_name, LookupArgs { what });
    call!(15, RmdirArgs<'_>, &dir_name, RmdirArgs { what });
    call!(
        14,
        MkdirArgs<'_>,
        &format!("{dir_name} 000041ed {REST}"),
        MkdirArgs {
            location: what,
            attributes: Sattr::mode(0o040_755)
        }
    );
    call!(
        9,
        CreateArgs<'_>,
        &format!("{FH2} 00000004 64617461 000081a4 {REST}"),
        CreateArgs {
            location: name(b"data"),
            attributes: Sattr::mode(0o100_644)
        }
    );
    call!(
        10,
        RemoveArgs<'_>,
        &format!("{FH2} 0000001c 2e6e6673303030303030303030303030303064323030303030303031"),
        RemoveArgs {
            what: name(b".nfs00000000000000d200000001")
        }
    );
    call!(
        11,
        RenameArgs<'_>,
        &format!("{FH2} 00000004 64617461 {FH2} 00000005 6d6f766564000000"),
        RenameArgs {
            from: name(b"data"),
            to: name(b"moved")
        }
    );
    call!(
        12,
        LinkArgs<'_>,
        &format!("{FH} {FH2} 00000004 68617264"),
        LinkArgs {
            from: file,
            to: name(b"hard")
        }
    );
    call!(
        13,
        SymlinkArgs<'_>,
        &format!("{FH2} 00000004 736f6674 00000009 6469722f6d6f766564000000 0000a1ff {REST}"),
        SymlinkArgs {
            from: name(b"soft"),
            to: b"dir/moved",
            attributes: Sattr::mode(0o120_777)
        }
    );
}

#[test]
fn answers() {
    let file_bytes = bytes(FH);
    let (file, attributes) = (Fhandle::new(&file_bytes), attr());
    assert_eq!(encoded(&attributes).len(), 68);
    same!(
        AttrstatRes,
        &format!("00000000 {ATTR}"),
        Ok(AttrstatOk { attributes })
    );
    same!(AttrstatRes, "00000046", Err(Nfsstat::Stale));
    same!(
        DiropRes<'_>,
        &format!("00000000 {FH} {ATTR}"),
        Ok(DiropOk { file, attributes })
    );
    same!(DiropRes<'_>, "00000002", Err(Nfsstat::Noent));
    same!(
        ReadlinkRes<'_>,
        "00000000 00000009 6469722f6d6f766564000000",
        Ok(ReadlinkOk { data: b"dir/moved" })
    );
    same!(
        ReadRes<'_>,
        &format!("00000000 {ATTR} 00000004 6e65770a"),
        Ok(ReadOk {
            attributes,
            data: b"new\n"
        })
    );
    same!(StatRes, "00000000", Ok(()));
    same!(StatRes, "00000042", Err(Nfsstat::Notempty));
    same!(
        StatfsRes,
        "00000000 00002000 00001000 00100000 000fffef 000fffef",
        Ok(StatfsOk {
            tsize: 8192,
            bsize: 4096,
            blocks: 1 << 20,
            bfree: (1 << 20) - 17,
            bavail: (1 << 20) - 17
        })
    );
    same!(
        mount1::MntRes<'_>,
        &format!("00000000 {FH}"),
        Ok(mount1::MntOk { directory: file })
    );
    same!(mount1::MntRes<'_>, "0000000d", Err(Nfsstat::Acces));
    same!(
        mount1::MntArgs<'_>,
        "00000007 2f6578706f727400",
        mount1::MntArgs {
            dirpath: b"/export"
        }
    );
}

#[test]
fn a_listing() {
    let list = "00000001 00000002 00000001 2e000000 00000001
        00000001 00000001 00000002 2e2e0000 00000002
        00000001 00000003 00000005 6d6f766564000000 00000004
        00000000 00000001";
    let words = hex(list);
    same!(
        ReaddirRes<'_>,
        &format!("00000000 {list}"),
        Ok(ReaddirOk {
            reply: DirList::from_bytes(&words)
        })
    );
    let list = DirList::<Entry<'_>>::from_bytes(&words);
    let mut entries = list.iter();
    let read: Vec<_> = entries
        .by_ref()
        .map(|entry| entry.map(|entry| (entry.fileid, entry.name, entry.cookie)))
        .collect();
    assert_eq!(
        read,
        [
            Ok((2, &b"."[..], 1)),
            Ok((1, b"..", 2)),
            Ok((3, b"moved", 4))
        ]
    );
    assert_eq!(entries.eof(), Some(true));
}

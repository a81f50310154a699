//! NFSv3 messages, byte for byte as RFC 1813 draws them (written out by hand).

use filermark_onc::nfs3::*;
use filermark_onc::rpc::Call;
use filermark_onc::xdr::{self, Decoder};

use crate::{encoded, hex};

/// A handle "ABCDE": length and padding are part of every message.
const FH: &str = "00000005 4142434445000000";

fn fh() -> FileHandle<'static> {
    FileHandle::new(b"ABCDE").unwrap()
}

fn dirop(name: &[u8]) -> Diropargs3<'_> {
    Diropargs3 { dir: fh(), name }
}

/// `fattr3` of a file: mode 0644, 1 link, uid 1000, gid 100, 2^32 + 5 bytes, 4096 used.
const ATTR: &str = "
    00000001 000001a4 00000001 000003e8 00000064
    0000000100000005 0000000000001000
    00000008 00000011
    00000000000000fd 0000000000abcdef
    00000010 00000011 00000020 00000021 00000030 00000031";

fn attr() -> Fattr3 {
    Fattr3 {
        ftype: Ftype3::Reg,
        mode: 0o644,
        nlink: 1,
        uid: 1000,
        gid: 100,
        size: (1 << 32) + 5,
        used: 4096,
        rdev: Specdata3 {
            specdata1: 8,
            specdata2: 17,
        },
        fsid: 0xfd,
        fileid: 0xab_cdef,
        atime: Nfstime3 {
            seconds: 16,
            nseconds: 17,
        },
        mtime: Nfstime3 {
            seconds: 32,
            nseconds: 33,
        },
        ctime: Nfstime3 {
            seconds: 48,
            nseconds: 49,
        },
    }
}

/// `wcc_data` with both halves.
fn wcc_hex() -> String {
    format!("00000001 0000000000000007 00000001 00000002 00000003 00000004 00000001 {ATTR}")
}

fn wcc() -> WccData {
    WccData {
        before: Some(WccAttr {
            size: 7,
            mtime: Nfstime3 {
                seconds: 1,
                nseconds: 2,
            },
            ctime: Nfstime3 {
                seconds: 3,
                nseconds: 4,
            },
        }),
        after: Some(attr()),
    }
}

/// `sattr3` that sets the mode and nothing else.
const SATTR_MODE: &str = "00000001 000001a4 00000000 00000000 00000000 00000000 00000000";

/// Both directions: `$value` encodes to these bytes, and these bytes decode to it.
macro_rules! check {
    ($ty:ty, $words:expr, $value:expr $(,)?) => {{
        let (bytes, value): (Vec<u8>, $ty) = (hex($words), $value);
        assert_eq!(encoded(&value), bytes, "encode {value:?}");
        assert_eq!(xdr::decode::<$ty>(&bytes), Ok(value));
    }};
}

#[test]
fn getattr() {
    assert_eq!((GetattrArgs::PROC, GetattrArgs::NAME), (1, "GETATTR"));
    check!(GetattrArgs<'_>, FH, GetattrArgs { object: fh() });
    let ok = format!("00000000 {ATTR}");
    assert_eq!(hex(&ok).len(), 4 + 84);
    check!(
        GetattrRes,
        &ok,
        Ok(GetattrOk {
            obj_attributes: attr()
        })
    );
    check!(GetattrRes, "00000046", Err(Failed::new(Nfsstat3::Stale)));
}

#[test]
fn setattr() {
    let args = SetattrArgs {
        object: fh(),
        new_attributes: Sattr3::mode(0o644),
        guard: Some(Nfstime3 {
            seconds: 5,
            nseconds: 6,
        }),
    };
    check!(
        SetattrArgs<'_>,
        &format!("{FH} {SATTR_MODE} 00000001 00000005 00000006"),
        args
    );
    let everything = Sattr3 {
        mode: Some(0o644),
        uid: Some(1),
        gid: Some(2),
        size: Some(1 << 32),
        atime: SetTime::ServerTime,
        mtime: SetTime::ClientTime(Nfstime3 {
            seconds: 7,
            nseconds: 8,
        }),
    };
    let words = "00000001 000001a4 00000001 00000001 00000001 00000002
        00000001 0000000100000000 00000001 00000002 00000007 00000008";
    check!(Sattr3, words, everything);
    check!(
        Sattr3,
        "00000000 00000000 00000000 00000001 0000000000000000 00000000 00000000",
        Sattr3::size(0)
    );
    check!(
        SetattrRes,
        &format!("00000000 {}", wcc_hex()),
        Ok(ObjWcc { obj_wcc: wcc() })
    );
    check!(
        SetattrRes,
        "00002712 00000000 00000000",
        Err(Failed::new(Nfsstat3::NotSync))
    );
}

#[test]
fn lookup() {
    check!(
        LookupArgs<'_>,
        &format!("{FH} 00000003 66696c00"),
        LookupArgs {
            what: dirop(b"fil")
        }
    );
    let ok = LookupOk {
        object: fh(),
        obj_attributes: Some(attr()),
        dir_attributes: None,
    };
    check!(
        LookupRes<'_>,
        &format!("00000000 {FH} 00000001 {ATTR} 00000000"),
        Ok(ok)
    );
    let info = DirAttr {
        dir_attributes: Some(attr()),
    };
    let absent = Err(Failed {
        status: Nfsstat3::Noent,
        info,
    });
    check!(LookupRes<'_>, &format!("00000002 00000001 {ATTR}"), absent);
}

#[test]
fn access() {
    let asked = access::READ | access::EXECUTE;
    check!(
        AccessArgs<'_>,
        &format!("{FH} 00000021"),
        AccessArgs {
            object: fh(),
            access: asked
        }
    );
    let ok = AccessOk {
        obj_attributes: None,
        access: access::READ,
    };
    check!(AccessRes, "00000000 00000000 00000001", Ok(ok));
}

#[test]
fn readlink() {
    check!(ReadlinkArgs<'_>, FH, ReadlinkArgs { symlink: fh() });
    let ok = ReadlinkOk {
        symlink_attributes: None,
        data: b"../x",
    };
    check!(
        ReadlinkRes<'_>,
        "00000000 00000000 00000004 2e2e2f78",
        Ok(ok)
    );
}

#[test]
fn read() {
    let args = ReadArgs {
        file: fh(),
        offset: (1 << 33) + 1,
        count: 8192,
    };
    check!(
        ReadArgs<'_>,
        &format!("{FH} 0000000200000001 00002000"),
        args
    );
    let ok = ReadOk {
        file_attributes: Some(attr()),
        count: 3,
        eof: true,
        data: b"xyz",
    };
    let words = format!("00000000 00000001 {ATTR} 00000003 00000001 00000003 78797a00");
    check!(ReadRes<'_>, &words, Ok(ok));
    check!(
        ReadRes<'_>,
        "00000015 00000000",
        Err(Failed::new(Nfsstat3::Isdir))
    );
}

#[test]
fn read_without_its_data() {
    let whole = hex(&format!(
        "00000000 00000001 {ATTR} 00002000 00000000 00002000"
    ));
    assert!(
        xdr::decode::<ReadRes<'_>>(&whole).is_err(),
        "8192 bytes are missing"
    );
    let mut d = Decoder::new(&whole);
    let head = ReadHead::decode_front(&mut d).unwrap().unwrap();
    assert_eq!((head.count, head.eof, head.data_len), (8192, false, 8192));
    assert_eq!(head.file_attributes, Some(attr()));
    assert_eq!(d.offset(), whole.len(), "the decoder stands at the data");
    let failed = ReadHead::decode_front(&mut Decoder::new(&hex("00000046 00000000")));
    assert_eq!(failed.unwrap().unwrap_err().status, Nfsstat3::Stale);
}

#[test]
fn write() {
    let args = WriteArgs {
        file: fh(),
        offset: 4096,
        count: 5,
        stable: StableHow::FileSync,
        data: b"hello",
    };
    let words = format!("{FH} 0000000000001000 00000005 00000002 00000005 68656c6c6f000000");
    check!(WriteArgs<'_>, &words, args);
    let ok = WriteOk {
        file_wcc: wcc(),
        count: 5,
        committed: StableHow::Unstable,
        verf: *b"bootverf",
    };
    let words = format!("00000000 {} 00000005 00000000 626f6f7476657266", wcc_hex());
    check!(WriteRes, &words, Ok(ok));
    let full = Err(Failed {
        status: Nfsstat3::Nospc,
        info: FileWcc { file_wcc: wcc() },
    });
    check!(WriteRes, &format!("0000001c {}", wcc_hex()), full);
}

#[test]
fn create() {
    let location = dirop(b"new!");
    let place = format!("{FH} 00000004 6e657721");
    let how = Createhow3::Unchecked(Sattr3::mode(0o644));
    check!(
        CreateArgs<'_>,
        &format!("{place} 00000000 {SATTR_MODE}"),
        CreateArgs { location, how }
    );
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    check!(
        CreateArgs<'_>,
        &format!("{place} 00000001 {SATTR_MODE}"),
        CreateArgs { location, how }
    );
    let how = Createhow3::Exclusive(*b"12345678");
    check!(
        CreateArgs<'_>,
        &format!("{place} 00000002 3132333435363738"),
        CreateArgs { location, how }
    );
    let ok = CreateOk {
        obj: Some(fh()),
        obj_attributes: Some(attr()),
        dir_wcc: WccData::default(),
    };
    let words = format!("00000000 00000001 {FH} 00000001 {ATTR} 00000000 00000000");
    check!(CreateRes<'_>, &words, Ok(ok));
    let bare = CreateOk {
        obj: None,
        obj_attributes: None,
        dir_wcc: wcc(),
    };
    check!(
        CreateRes<'_>,
        &format!("00000000 00000000 00000000 {}", wcc_hex()),
        Ok(bare)
    );
    let exists = Err(Failed {
        status: Nfsstat3::Exist,
        info: DirWcc { dir_wcc: wcc() },
    });
    check!(CreateRes<'_>, &format!("00000011 {}", wcc_hex()), exists);
}

#[test]
fn mkdir_symlink_mknod() {
    let location = dirop(b"d");
    let place = format!("{FH} 00000001 64000000");
    let attributes = Sattr3::mode(0o644);
    check!(
        MkdirArgs<'_>,
        &format!("{place} {SATTR_MODE}"),
        MkdirArgs {
            location,
            attributes
        }
    );
    let link = SymlinkArgs {
        location,
        symlink_attributes: attributes,
        symlink_data: b"to",
    };
    check!(
        SymlinkArgs<'_>,
        &format!("{place} {SATTR_MODE} 00000002 746f0000"),
        link
    );
    let spec = Specdata3 {
        specdata1: 1,
        specdata2: 3,
    };
    let what = Mknoddata3::Chr(attributes, spec);
    let words = format!("{place} 00000004 {SATTR_MODE} 00000001 00000003");
    check!(MknodArgs<'_>, &words, MknodArgs { location, what });
    let what = Mknoddata3::Fifo(attributes);
    check!(
        MknodArgs<'_>,
        &format!("{place} 00000007 {SATTR_MODE}"),
        MknodArgs { location, what }
    );
    let what = Mknoddata3::Other(Ftype3::Dir);
    check!(
        MknodArgs<'_>,
        &format!("{place} 00000002"),
        MknodArgs { location, what }
    );
}

#[test]
fn remove_rmdir_rename_link() {
    let gone = format!("{FH} 00000001 78000000");
    check!(
        RemoveArgs<'_>,
        &gone,
        RemoveArgs {
            object: dirop(b"x")
        }
    );
    check!(
        RmdirArgs<'_>,
        &gone,
        RmdirArgs {
            object: dirop(b"x")
        }
    );
    assert_eq!((RemoveArgs::PROC, RmdirArgs::PROC), (12, 13));
    check!(
        RemoveRes,
        &format!("00000000 {}", wcc_hex()),
        Ok(DirWcc { dir_wcc: wcc() })
    );
    let both = format!("{gone} {FH} 00000002 79790000");
    check!(
        RenameArgs<'_>,
        &both,
        RenameArgs {
            from: dirop(b"x"),
            to: dirop(b"yy")
        }
    );
    let ok = RenameWcc {
        fromdir_wcc: wcc(),
        todir_wcc: WccData::default(),
    };
    check!(
        RenameRes,
        &format!("00000000 {} 00000000 00000000", wcc_hex()),
        Ok(ok)
    );
    check!(
        LinkArgs<'_>,
        &format!("{FH} {gone}"),
        LinkArgs {
            file: fh(),
            link: dirop(b"x")
        }
    );
    let ok = LinkWcc {
        file_attributes: Some(attr()),
        linkdir_wcc: wcc(),
    };
    check!(
        LinkRes,
        &format!("00000000 00000001 {ATTR} {}", wcc_hex()),
        Ok(ok)
    );
}

#[test]
fn readdir() {
    let args = ReaddirArgs {
        dir: fh(),
        cookie: 9,
        cookieverf: *b"cookverf",
        count: 4096,
    };
    let words = format!("{FH} 0000000000000009 636f6f6b76657266 00001000");
    check!(ReaddirArgs<'_>, &words, args);
    let words = "00000000 00000000 636f6f6b76657266
        00000001 0000000000000064 00000001 2e000000 0000000000000001
        00000001 0000000000000065 00000004 66696c65 0000000000000002
        00000000 00000001";
    let bytes = hex(words);
    let ok = xdr::decode::<ReaddirRes<'_>>(&bytes).unwrap().unwrap();
    assert_eq!(ok.cookieverf, *b"cookverf");
    let mut entries = ok.reply.iter();
    let first = Entry3 {
        fileid: 100,
        name: b".",
        cookie: 1,
    };
    assert_eq!(entries.next(), Some(Ok(first)));
    assert_eq!(entries.eof(), None, "not known yet");
    let second = Entry3 {
        fileid: 101,
        name: b"file",
        cookie: 2,
    };
    assert_eq!(entries.next(), Some(Ok(second)));
    assert_eq!((entries.next(), entries.eof()), (None, Some(true)));

    let mut written = Vec::new();
    let mut writer = DirListWriter::begin(&mut written, None, *b"cookverf", 4096);
    assert!(writer.push(&first) && writer.push(&second));
    writer.finish(true);
    assert_eq!(written, bytes);
}

#[test]
fn readdirplus() {
    let args = ReaddirplusArgs {
        dir: fh(),
        cookie: 0,
        cookieverf: [0; 8],
        dircount: 512,
        maxcount: 8192,
    };
    let words = format!("{FH} 0000000000000000 0000000000000000 00000200 00002000");
    check!(ReaddirplusArgs<'_>, &words, args);
    let words = format!(
        "00000000 00000001 {ATTR} 0000000000000000
        00000001 0000000000000064 00000001 61000000 0000000000000001 00000001 {ATTR} 00000001 {FH}
        00000001 0000000000000065 00000001 62000000 0000000000000002 00000000 00000000
        00000000 00000000"
    );
    let bytes = hex(&words);
    let ok = xdr::decode::<ReaddirplusRes<'_>>(&bytes).unwrap().unwrap();
    assert_eq!(ok.dir_attributes, Some(attr()));
    let mut entries = ok.reply.iter();
    let full = entries.next().unwrap().unwrap();
    assert_eq!(
        (full.name, full.name_attributes, full.name_handle),
        (&b"a"[..], Some(attr()), Some(fh()))
    );
    let bare = entries.next().unwrap().unwrap();
    assert_eq!(
        (bare.name, bare.name_attributes, bare.name_handle),
        (&b"b"[..], None, None)
    );
    assert_eq!((entries.next(), entries.eof()), (None, Some(false)));

    let mut written = Vec::new();
    let mut writer = DirListWriter::begin(&mut written, Some(attr()), [0; 8], 8192);
    assert!(writer.push(&full) && writer.push(&bare));
    writer.finish(false);
    assert_eq!(written, bytes);
}

#[test]
fn fsstat_fsinfo_pathconf() {
    check!(FsstatArgs<'_>, FH, FsstatArgs { fsroot: fh() });
    let ok = FsstatOk {
        obj_attributes: None,
        tbytes: 1 << 40,
        fbytes: 2,
        abytes: 3,
        tfiles: 4,
        ffiles: 5,
        afiles: 6,
        invarsec: 7,
    };
    let words = "00000000 00000000 0000010000000000 0000000000000002 0000000000000003
        0000000000000004 0000000000000005 0000000000000006 00000007";
    check!(FsstatRes, words, Ok(ok));

    check!(FsinfoArgs<'_>, FH, FsinfoArgs { fsroot: fh() });
    let ok = FsinfoOk {
        obj_attributes: None,
        rtmax: 1,
        rtpref: 2,
        rtmult: 3,
        wtmax: 4,
        wtpref: 5,
        wtmult: 6,
        dtpref: 7,
        maxfilesize: u64::MAX,
        time_delta: Nfstime3 {
            seconds: 0,
            nseconds: 1,
        },
        properties: fsf::LINK | fsf::SYMLINK | fsf::HOMOGENEOUS | fsf::CANSETTIME,
    };
    let words = "00000000 00000000 00000001 00000002 00000003 00000004 00000005 00000006 00000007
        ffffffffffffffff 00000000 00000001 0000001b";
    check!(FsinfoRes, words, Ok(ok));

    check!(PathconfArgs<'_>, FH, PathconfArgs { object: fh() });
    let ok = PathconfOk {
        obj_attributes: None,
        linkmax: 32000,
        name_max: 255,
        no_trunc: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    };
    let words = "00000000 00000000 00007d00 000000ff 00000001 00000001 00000000 00000001";
    check!(PathconfRes, words, Ok(ok));
}

#[test]
fn commit() {
    let args = CommitArgs {
        file: fh(),
        offset: 0,
        count: 0,
    };
    check!(
        CommitArgs<'_>,
        &format!("{FH} 0000000000000000 00000000"),
        args
    );
    let ok = CommitOk {
        file_wcc: wcc(),
        verf: *b"bootverf",
    };
    check!(
        CommitRes,
        &format!("00000000 {} 626f6f7476657266", wcc_hex()),
        Ok(ok)
    );
    check!(
        CommitRes,
        "00002718 00000000 00000000",
        Err(Failed::new(Nfsstat3::Jukebox))
    );
}

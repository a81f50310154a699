//! Headers, portmapper, rpcbind and MOUNT, byte for byte as the RFCs draw them (written out by hand).

use filermark_onc::mount::{self, ExportNode, MntArgs, MntRes, Mountstat3};
use filermark_onc::nfs3::{self, Fh, GetattrArgs, NullArgs};
use filermark_onc::portmap::{GetportArgs, Mapping};
use filermark_onc::rpc::*;
use filermark_onc::rpcbind::{GetaddrArgs, GetaddrRes, Rpcb, parse_uaddr};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decoder, List};
use filermark_onc::{portmap, rpcbind};

use crate::{encoded, hex};

/// GETATTR as uid 1000, gid 100, groups 4 and 24, from host "box": RFC 5531 sections 9 and 11.
const GETATTR_CALL: &str = r#"
    80000054                            record mark: last fragment, 84 bytes
    12345678 00000000 00000002          xid, CALL, rpcvers
    000186a3 00000003 00000001          prog 100003, vers 3, proc 1
    00000001 00000020                   AUTH_SYS, 32 bytes
      0000002a 00000003 626f7800          stamp 42, "box" and a byte of padding
      000003e8 00000064                   uid, gid
      00000002 00000004 00000018          gids
    00000000 00000000                   verifier AUTH_NONE
    00000005 0102030405000000           handle of 5 bytes, padding
"#;

/// Strips the remarks: words of hex digits at the start of a line count, up to the first run of blanks.
fn drawn(text: &str) -> Vec<u8> {
    let words = text
        .lines()
        .map(|line| line.trim().split("   ").next().unwrap_or_default());
    hex(&words.collect::<String>())
}

#[test]
fn getattr_call() {
    let cred = AuthSys::new(42, b"box", 1000, 100, &[4, 24]).to_body();
    let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, cred.as_auth());
    let fh = Fh::new(&[1, 2, 3, 4, 5]).unwrap();
    let mut out = Vec::new();
    let len = template.call(
        &mut out,
        0x1234_5678,
        &GetattrArgs {
            object: fh.handle(),
        },
    );
    let drawn = drawn(GETATTR_CALL);
    assert_eq!(out, drawn);
    assert_eq!(len, drawn.len() - 4);

    let mut d = Decoder::new(&drawn[4..]);
    let call = CallHeader::decode(&mut d).unwrap();
    assert_eq!(
        (call.xid, call.prog, call.vers, call.proc),
        (0x1234_5678, 100_003, 3, 1)
    );
    let sys = call.cred.auth_sys().unwrap();
    assert_eq!(
        (sys.stamp, sys.machinename, sys.uid, sys.gid),
        (42, &b"box"[..], 1000, 100)
    );
    assert_eq!(sys.gids.as_slice(), [4, 24]);
    assert_eq!(call.verf, OpaqueAuth::NONE);
    let args: GetattrArgs<'_> = xdr::finish(&mut d).unwrap();
    assert_eq!(args.object, fh.handle());
}

#[test]
fn one_template_serves_every_procedure_and_appends() {
    let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, OpaqueAuth::NONE);
    let mut out = b"earlier".to_vec();
    template.call(&mut out, 1, &NullArgs {});
    let commit = nfs3::CommitArgs {
        file: nfs3::FileHandle::new(b"").unwrap(),
        offset: 0,
        count: 0,
    };
    template.call(&mut out, 2, &commit);
    let null = "80000028 00000001 00000000 00000002 000186a3 00000003 00000000
                00000000 00000000 00000000 00000000";
    let commit = "80000038 00000002 00000000 00000002 000186a3 00000003 00000015
                00000000 00000000 00000000 00000000 00000000 0000000000000000 00000000";
    assert_eq!(out, [b"earlier".to_vec(), hex(null), hex(commit)].concat());
    assert_eq!(template.len(), 44);
}

#[test]
fn credentials_are_cut_to_what_the_standard_allows() {
    let sys = AuthSys::new(0, &[b'm'; 300], 0, 0, &[7; 20]);
    assert_eq!(
        (sys.machinename.len(), sys.gids.as_slice().len()),
        (255, 16)
    );
    let body = sys.to_body();
    assert_eq!(body.as_auth().body.len(), 4 + 4 + 256 + 4 + 4 + 4 + 64);
    assert_eq!(body.as_auth().auth_sys(), Ok(sys));
    assert!(OpaqueAuth::NONE.auth_sys().is_err());
}

#[test]
fn replies() {
    let mut out = Vec::new();
    ReplyHeader::encode_success(&mut out, 0xabcd_ef01);
    assert_eq!(
        out,
        hex("abcdef01 00000001 00000000 00000000 00000000 00000000")
    );
    let success = ReplyHeader::accepted(0xabcd_ef01, AcceptStat::Success);
    assert_eq!(encoded(&success), out);
    assert_eq!(success.check(), Ok(()));

    let accepted = "00000009 00000001 00000000 00000000 00000000";
    for (words, stat) in [
        ("00000001", AcceptStat::ProgUnavail),
        (
            "00000002 00000002 00000004",
            AcceptStat::ProgMismatch { low: 2, high: 4 },
        ),
        ("00000003", AcceptStat::ProcUnavail),
        ("00000004", AcceptStat::GarbageArgs),
        ("00000005", AcceptStat::SystemErr),
    ] {
        let bytes = [hex(accepted), hex(words)].concat();
        let reply = ReplyHeader::accepted(9, stat);
        assert_eq!(encoded(&reply), bytes);
        assert_eq!(xdr::decode(&bytes), Ok(reply));
        let refusal = reply.check().unwrap_err();
        assert!(refusal.to_string().starts_with(stat.name()), "{refusal}");
    }

    let denied = "00000009 00000001 00000001";
    let weak = RejectStat::AuthError(AuthStat::TooWeak);
    for (words, stat, text) in [
        (
            "00000000 00000002 00000002",
            RejectStat::RpcMismatch { low: 2, high: 2 },
            "RPC_MISMATCH",
        ),
        ("00000001 00000005", weak, "AUTH_ERROR AUTH_TOOWEAK"),
    ] {
        let bytes = [hex(denied), hex(words)].concat();
        let reply = ReplyHeader::denied(9, stat);
        assert_eq!(encoded(&reply), bytes);
        assert_eq!(xdr::decode(&bytes), Ok(reply));
        assert!(reply.check().unwrap_err().to_string().starts_with(text));
    }
}

#[test]
fn portmapper() {
    // Where does MOUNT version 3 listen on TCP?
    let args = GetportArgs::tcp(mount::PROGRAM, mount::VERSION);
    let template = CallTemplate::new(portmap::PROGRAM, portmap::VERSION, OpaqueAuth::NONE);
    let mut out = Vec::new();
    template.call(&mut out, 3, &args);
    let drawn = "80000038 00000003 00000000 00000002 000186a0 00000002 00000003
        00000000 00000000 00000000 00000000 000186a5 00000003 00000006 00000000";
    assert_eq!(out, hex(drawn));

    let dump = hex("00000001 000186a0 00000002 00000006 0000006f
        00000001 000186a3 00000003 00000011 00000801 00000000");
    let list: <portmap::DumpArgs as Call>::Res<'_> = xdr::decode(&dump).unwrap();
    let expected = [
        Mapping {
            prog: 100_000,
            vers: 2,
            prot: portmap::IPPROTO_TCP,
            port: 111,
        },
        Mapping {
            prog: 100_003,
            vers: 3,
            prot: portmap::IPPROTO_UDP,
            port: 2049,
        },
    ];
    assert_eq!(list.iter().collect::<Vec<_>>(), expected);
    assert_eq!(encoded(&list), dump);
}

#[test]
fn rpcbind_getaddr() {
    let rpcb = Rpcb {
        prog: 100_005,
        vers: 3,
        netid: b"tcp6",
        addr: b"",
        owner: b"me",
    };
    let drawn = hex("000186a5 00000003 00000004 74637036 00000000 00000002 6d650000");
    assert_eq!(encoded(&GetaddrArgs { rpcb }), drawn);
    assert_eq!(<GetaddrArgs<'_> as Call>::PROC, 3);

    let answer = hex("00000007 3a3a312e382e3100");
    let answer: GetaddrRes<'_> = xdr::decode(&answer).unwrap();
    assert_eq!(
        parse_uaddr(answer.addr).unwrap(),
        Some("[::1]:2049".parse().unwrap())
    );
}

#[test]
fn universal_addresses() {
    let v4 = parse_uaddr(b"192.0.2.1.78.80").unwrap().unwrap();
    assert_eq!(v4, "192.0.2.1:20048".parse().unwrap());
    assert_eq!(rpcbind::format_uaddr(&v4), "192.0.2.1.78.80");
    assert_eq!(rpcbind::netid(&v4.ip()), "tcp");
    assert_eq!(rpcbind::netid_udp(&v4.ip()), "udp");
    let v6 = parse_uaddr(b"::1.8.1").unwrap().unwrap();
    assert_eq!(rpcbind::format_uaddr(&v6), "::1.8.1");
    assert_eq!(rpcbind::netid(&v6.ip()), "tcp6");
    assert_eq!(rpcbind::netid_udp(&v6.ip()), "udp6");
    assert_eq!(parse_uaddr(b""), Ok(None));
    for bad in [
        "1",
        "1.2",
        "1.2.3.4",
        "1.2.3.4.5",
        "1.2.3.4.256.1",
        "1.2.3.4.1.256",
        "1.2.3.4.1.+1",
        "1.2.3.4.1.",
        "1.2.3.4..1",
        "::1",
        "host.8.1",
        "1.2.3.4.5.6.7",
        ".....",
        "::1.8.-1",
    ] {
        let error = parse_uaddr(bad.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(bad), "{error}");
    }
    assert!(parse_uaddr(b"\xff.1.1").is_err());
}

#[test]
fn mount_mnt() {
    assert_eq!(
        encoded(&MntArgs {
            dirpath: b"/export"
        }),
        hex("00000007 2f6578706f727400")
    );

    let done = hex("00000000 00000006 a1a2a3a4a5a60000 00000002 00000001 0005f373");
    let ok = xdr::decode::<MntRes<'_>>(&done).unwrap().unwrap();
    assert_eq!(ok.fhandle.as_bytes(), [0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6]);
    let flavors: Vec<_> = ok.auth_flavors.iter().collect();
    assert_eq!(flavors, [AuthFlavor::Sys, AuthFlavor::Krb5]);
    assert!(ok.auth_flavors.allows_sys());
    assert_eq!(encoded(&MntRes::Ok(ok)), done);

    let kerberos = hex("00000000 00000000 00000001 0005f373");
    let ok = xdr::decode::<MntRes<'_>>(&kerberos).unwrap().unwrap();
    assert!(!ok.auth_flavors.allows_sys());
    let none = hex("00000000 00000000 00000001 00000000");
    let ok = xdr::decode::<MntRes<'_>>(&none).unwrap().unwrap();
    assert!(ok.auth_flavors.allows_sys());
    let silent = hex("00000000 00000000 00000000");
    let ok = xdr::decode::<MntRes<'_>>(&silent).unwrap().unwrap();
    assert!(ok.auth_flavors.allows_sys());

    let refused = xdr::decode::<MntRes<'_>>(&hex("0000000d"))
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (refused, refused.name()),
        (Mountstat3::Acces, "MNT3ERR_ACCES")
    );
    assert_eq!(encoded(&MntRes::Err(refused)), hex("0000000d"));
}

#[test]
fn mount_export() {
    let drawn = hex("00000001 00000004 2f737276
            00000001 00000001 2a000000 00000001 00000002 68310000 00000000
        00000001 00000002 2f610000 00000000
        00000000");
    let exports: List<'_, ExportNode<'_>> = xdr::decode(&drawn).unwrap();
    let read: Vec<_> = exports
        .iter()
        .map(|export| {
            (
                export.dir,
                export
                    .groups
                    .iter()
                    .map(|group| group.name)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        read,
        [(&b"/srv"[..], vec![&b"*"[..], b"h1"]), (b"/a", vec![])]
    );
    assert_eq!(encoded(&exports), drawn);
    assert!(!exports.is_empty());
    assert_eq!(<mount::ExportArgs as Call>::PROC, 5);
}

#[test]
fn statuses_have_the_names_and_numbers_of_the_rfcs() {
    use nfs3::Nfsstat3;
    assert_eq!(Nfsstat3::ALL.len(), 29);
    assert_eq!(Nfsstat3::from_u32(70), Nfsstat3::Stale);
    assert_eq!(Nfsstat3::Jukebox.to_u32(), 10008);
    for status in Nfsstat3::ALL {
        assert_eq!(Nfsstat3::from_u32(status.to_u32()), *status);
        assert!(status.name().starts_with("NFS3") && !status.advice().is_empty());
    }
    assert_eq!(Mountstat3::ALL.len(), 10);
    assert_eq!(nfs3::Procedure::COUNT, 22);
    for (number, procedure) in nfs3::Procedure::ALL.iter().enumerate() {
        assert_eq!(procedure.to_u32() as usize, number);
    }
    assert_eq!(nfs3::Procedure::Readdirplus.to_string(), "READDIRPLUS");
    assert_eq!(nfs3::Procedure::from_u32(22), None);
    assert_eq!(AuthStat::from_u32(99), AuthStat::Unknown(99));
}

//! MOUNT, portmapper, rpcbind, and what is refused on the RPC level.

use crate::client::{Client, auth, results, server};
use filermark_onc::mount::{self, Mountstat3};
use filermark_onc::nfs3::{self, Fh};
use filermark_onc::rpc::{AcceptStat, AuthFlavor, AuthStat, OpaqueAuth, RejectStat, RpcRefusal};
use filermark_onc::template::CallTemplate;
use filermark_onc::{portmap, rpcbind, xdr};
use filermark_server::{Server, ServerOptions};

const MOUNT: (u32, u32) = (mount::PROGRAM, mount::VERSION);

#[test]
fn mount_and_its_list() {
    let server = server(|_| ());
    let (mut client, root) = Client::mounted(&server);
    let dir = client.mkdir(root, "d").expect("mkdir");
    client.create(dir, "f");
    assert_eq!(client.mnt("/export/d"), Ok(dir));
    assert_eq!(client.mnt("/export/d/"), Ok(dir));
    assert_eq!(client.mnt("/export/none"), Err(Mountstat3::Noent));
    assert_eq!(client.mnt("/export/d/f"), Err(Mountstat3::Notdir));
    for elsewhere in ["/", "", "export", "/exports", "/export2"] {
        assert_eq!(client.mnt(elsewhere), Err(Mountstat3::Noent), "{elsewhere}");
    }
    let dump = |client: &mut Client| {
        let list = client.call_program(MOUNT, &mount::DumpArgs {}, |list| {
            list.iter()
                .map(|entry| entry.directory.to_vec())
                .collect::<Vec<_>>()
        });
        list.expect("dump")
    };
    assert_eq!(
        dump(&mut client),
        [&b"/export"[..], b"/export/d", b"/export/d/"]
    );
    let umnt = mount::UmntArgs {
        dirpath: b"/export/d",
    };
    client.call_program(MOUNT, &umnt, |()| ()).expect("umnt");
    assert_eq!(dump(&mut client).len(), 2);
    client
        .call_program(MOUNT, &mount::UmntallArgs {}, |()| ())
        .expect("umntall");
    assert!(dump(&mut client).is_empty());
    let exports = client.call_program(MOUNT, &mount::ExportArgs {}, |list| {
        list.iter()
            .map(|node| (node.dir.to_vec(), node.groups.len()))
            .collect::<Vec<_>>()
    });
    assert_eq!(exports.expect("export"), [(b"/export".to_vec(), 0)]);
    let stats = server.stats();
    assert_eq!(stats.mount[mount::Procedure::Mnt.to_u32() as usize], 10);
}

#[test]
fn refused_mounts_and_read_only_exports() {
    let refusing = server(|o| o.refuse_mount = true);
    let mut client = Client::connect(refusing.addrs()[0]);
    assert_eq!(client.mnt("/export"), Err(Mountstat3::Acces));
    let read_only = server(|o| o.read_only = true);
    let (mut client, root) = Client::mounted(&read_only);
    assert_eq!(client.mkdir(root, "d"), Err(nfs3::Nfsstat3::Rofs));
}

fn null(client: &mut Client, program: (u32, u32)) -> Result<(), RpcRefusal> {
    client.call_program(program, &mount::NullArgs {}, |()| ())
}

#[test]
fn other_programs_versions_and_procedures() {
    let server = server(|_| ());
    let mut client = Client::connect(server.addrs()[0]);
    let umnt = mount::UmntArgs {
        dirpath: b"/export",
    };
    let mismatch = |low, high| {
        let stat = AcceptStat::ProgMismatch { low, high };
        Err(RpcRefusal::Accepted(stat))
    };
    assert_eq!(null(&mut client, (mount::PROGRAM, 2)), mismatch(1, 3));
    assert_eq!(
        client.call_program((mount::PROGRAM, 4), &umnt, |()| ()),
        mismatch(1, 3)
    );
    assert_eq!(null(&mut client, (nfs3::PROGRAM, 5)), mismatch(2, 4));
    assert_eq!(null(&mut client, (nfs3::PROGRAM, 1)), mismatch(2, 4));
    let unavailable = Err(RpcRefusal::Accepted(AcceptStat::ProgUnavail));
    assert_eq!(null(&mut client, (100_227, 3)), unavailable);
    assert_eq!(
        null(&mut client, (portmap::PROGRAM, 2)),
        unavailable,
        "only when asked for"
    );
    // A procedure number that the program has not.
    let cred = auth(0, 0, &[]);
    let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, cred.as_auth());
    let mut bytes = Vec::new();
    template.begin(&mut bytes, 7, 22).finish(&mut bytes);
    // Arguments that are cut, and ones with more behind them.
    template.begin(&mut bytes, 8, 1).finish(&mut bytes);
    let open = template.begin(&mut bytes, 9, 1);
    let root = Fh::new(&[0; 24]).expect("short");
    xdr::append(
        &mut bytes,
        &nfs3::GetattrArgs {
            object: root.handle(),
        },
    );
    xdr::append(&mut bytes, &0u32);
    open.finish(&mut bytes);
    client.send(&bytes);
    for (xid, stat) in [
        (7, AcceptStat::ProcUnavail),
        (8, AcceptStat::GarbageArgs),
        (9, AcceptStat::GarbageArgs),
    ] {
        let record = client.receive().expect("reply");
        assert_eq!(results::<()>(&record, xid), Err(RpcRefusal::Accepted(stat)));
    }
    assert_eq!(server.stats().refused, 9);
}

#[test]
fn credentials_that_do_not_count() {
    let server = server(|_| ());
    let mut client = Client::connect(server.addrs()[0]);
    for (flavor, body, stat) in [
        (AuthFlavor::Sys, &b"cut"[..], AuthStat::BadCred),
        (AuthFlavor::RpcsecGss, b"", AuthStat::BadCred),
        (AuthFlavor::Dh, b"", AuthStat::BadCred),
    ] {
        // The NULL calls of NFS with RPCSEC_GSS would begin a context.
        let versions = if flavor == AuthFlavor::Sys {
            3..=3
        } else {
            2..=4
        };
        for version in versions {
            let template = CallTemplate::new(nfs3::PROGRAM, version, OpaqueAuth { flavor, body });
            let mut bytes = Vec::new();
            template.call(&mut bytes, 5, &nfs3::NullArgs {});
            client.send(&bytes);
            let record = client.receive().expect("reply");
            let refusal = RpcRefusal::Denied(RejectStat::AuthError(stat));
            assert_eq!(results::<()>(&record, 5), Err(refusal), "NFSv{version}");
        }
    }
}

#[test]
fn portmapper_and_rpcbind_on_both_families() {
    let server = server(|o| {
        o.portmap = true;
        o.listen = vec![
            "127.0.0.1:0".parse().expect("v4"),
            "[::1]:0".parse().expect("v6"),
        ];
    });
    for address in server.addrs() {
        let mut client = Client::connect(*address);
        assert!(client.mnt("/export").is_ok());
        let pmap = (portmap::PROGRAM, portmap::VERSION);
        let mut port = |prog, vers| {
            let args = portmap::GetportArgs::tcp(prog, vers);
            client
                .call_program(pmap, &args, |port| port)
                .expect("getport")
        };
        assert_eq!(port(nfs3::PROGRAM, 3), u32::from(address.port()));
        assert_eq!(port(mount::PROGRAM, 3), u32::from(address.port()));
        assert_eq!(port(nfs3::PROGRAM, 2), u32::from(address.port()));
        assert_eq!(port(mount::PROGRAM, 1), u32::from(address.port()));
        assert_eq!(port(nfs3::PROGRAM, 4), u32::from(address.port()));
        assert_eq!((port(nfs3::PROGRAM, 5), port(1, 1)), (0, 0));
        let mut args = portmap::GetportArgs::tcp(nfs3::PROGRAM, 4);
        args.mapping.prot = portmap::IPPROTO_UDP;
        let over_udp = client.call_program(pmap, &args, |port| port);
        assert_eq!(over_udp, Ok(0), "version 4 is not served over UDP");
        let count = client.call_program(pmap, &portmap::DumpArgs {}, |list| list.len());
        assert_eq!(count, Ok(15));
        let netid = rpcbind::netid(&address.ip()).as_bytes();
        for vers in [3, 4] {
            let rpcb = rpcbind::Rpcb {
                prog: nfs3::PROGRAM,
                vers: 3,
                netid,
                addr: b"",
                owner: b"",
            };
            let args = rpcbind::GetaddrArgs { rpcb };
            let uaddr = client.call_program((rpcbind::PROGRAM, vers), &args, |res| {
                rpcbind::parse_uaddr(res.addr).expect("universal address")
            });
            assert_eq!(uaddr, Ok(Some(*address)));
        }
    }
    assert_eq!(server.stats().portmap, 22);
}

#[test]
fn servers_that_cannot_start_return_the_reason() {
    let first = server(|_| ());
    let taken = ServerOptions {
        listen: vec![first.addrs()[0]],
        ..Default::default()
    };
    let error = Server::start(taken).expect_err("taken").to_string();
    assert!(
        error.contains(&format!("cannot listen on {}", first.addrs()[0])),
        "{error}"
    );
    assert!(
        error.contains("in use") && error.contains("choose another"),
        "{error}"
    );
    let wrong = |edit: &dyn Fn(&mut ServerOptions)| {
        let mut options = ServerOptions::default();
        edit(&mut options);
        Server::start(options).expect_err("refused").to_string()
    };
    assert!(wrong(&|o| o.threads = 0).contains("0 threads; choose"));
    assert!(wrong(&|o| o.listen.clear()).contains("no address"));
    assert!(wrong(&|o| o.rtmax = 0).contains("maximum read size"));
    assert!(wrong(&|o| o.wtpref = 2 << 20).contains("preferred write size"));
    assert!(wrong(&|o| o.short = Some(0)).contains("no progress"));
}

//! The errors of servers that cannot be reached, mounted or claimed.

use crate::support::{claim, mount, plan, start};
use filermark_driver_kit::driver::Driver;
use filermark_engine::driver::DriverError;
use filermark_model::plan::{IpChoice, MountPoint, NfsPlan, Transport};
use filermark_net::RESERVED_PORTS;
use filermark_nfs::NfsDriver;
use filermark_nfs::client::{NFS_V3, PortLookup, RpcOptions, connect, find_port};
use filermark_nfs::target::Target;
use filermark_onc::record::append_fragments;
use filermark_onc::rpc::{AcceptStat, AuthStat, CallHeader, RejectStat, ReplyHeader};
use filermark_onc::xdr::{self, Decoder, Encoder};
use filermark_server::ServerOptions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// One sentence with these parts in this order.
fn has_parts(error: &DriverError, parts: &[&str]) {
    let text = error.to_string();
    let mut rest = text.as_str();
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => panic!("no {part:?} (in this place) in: {text}"),
        }
    }
    assert!(!text.contains('\n') && !text.contains("os error"), "{text}");
}

fn fails(plan: &NfsPlan, mount: &MountPoint) -> DriverError {
    Target::resolve(mount, plan).expect_err("must fail")
}

/// A closed port; it is bound here, so that no program listens on it.
fn closed_port() -> (socket2::Socket, u16) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&any.into()).expect("bind");
    let address = socket.local_addr().expect("address").as_socket();
    (socket, address.expect("IPv4").port())
}

/// A server that does this with each connection.
fn server(serve: fn(TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Answers every call on a connection with this header and nothing behind it.
fn answer_all(mut stream: TcpStream, answer: impl Fn(u32) -> ReplyHeader<'static>) {
    let mut input = vec![0; 4096];
    while let Ok(got @ 5..) = stream.read(&mut input) {
        let Ok(call) = CallHeader::decode(&mut Decoder::new(&input[4..got])) else {
            return;
        };
        let (mut reply, mut wire) = (Vec::new(), Vec::new());
        xdr::append(&mut reply, &answer(call.xid));
        append_fragments(&mut wire, &reply, 1 << 20);
        if stream.write_all(&wire).is_err() {
            return;
        }
    }
}

#[test]
fn an_unknown_host() {
    let mount = MountPoint {
        host: "no-such-host.invalid".to_owned(),
        path: "/export".to_owned(),
    };
    let error = fails(&plan(2049), &mount);
    has_parts(
        &error,
        &[
            "no-such-host.invalid: look up the host name: ",
            "; check the spelling in MNT_POINTS",
        ],
    );
}

#[test]
fn no_address_of_the_wanted_family() {
    let mut plan = plan(2049);
    plan.ip = IpChoice::V6;
    has_parts(
        &fails(&plan, &mount()),
        &["127.0.0.1: look up", "no IPv6 address", "IPV6_ENABLE=off"],
    );
}

#[test]
fn a_closed_port() {
    let (_mine, closed) = closed_port();
    let error = fails(&plan(closed), &mount());
    has_parts(
        &error,
        &[
            "127.0.0.1: mount /export (MOUNT program at 127.0.0.1:",
            "connection refused; ",
            "MOUNT_PORT",
        ],
    );
}

#[test]
fn a_closed_nfs_port() {
    let (_server, port) = start(ServerOptions::default());
    let mut plan = plan(port);
    let (_mine, closed) = closed_port();
    plan.nfs_port = Some(closed);
    let error = fails(&plan, &mount());
    has_parts(
        &error,
        &[
            "read the properties of /export (NFS program at",
            "connection refused; check that an NFS server",
            "NFS_PORT",
        ],
    );
}

/// A run has long time limits for calls; that a server does not exist shows sooner.
#[test]
fn a_silent_or_closed_nfs_port_over_udp_shows_soon() {
    let (_server, port) = start(ServerOptions::default());
    let bound = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let silent = bound.local_addr().expect("address").port();
    let gone = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let closed = gone.local_addr().expect("address").port();
    drop(gone);
    let plan = NfsPlan {
        transport: Transport::Udp,
        connect_timeout_ms: 500,
        rpc_timeout_ms: 60_000,
        rpc_retries: 5,
        ..plan(port)
    };
    for (nfs_port, reason) in [(silent, "no answer"), (closed, "is closed")] {
        let plan = NfsPlan {
            nfs_port: Some(nfs_port),
            ..plan.clone()
        };
        let began = Instant::now();
        let error = fails(&plan, &mount());
        assert!(began.elapsed() < Duration::from_secs(20), "{error}");
        let step = "connect to the server of /export (NFS program at";
        has_parts(&error, &[step, reason, "TCP=on"]);
    }
}

#[test]
fn no_portmapper() {
    let (_mine, closed) = closed_port();
    let mut plan = plan(closed);
    plan.nfs_port = None;
    let error = fails(&plan, &mount());
    has_parts(
        &error,
        &[
            "look up the port of NFS version 3 (portmapper at",
            "connection refused; check that rpcbind runs",
            "NFS_PORT and MOUNT_PORT",
        ],
    );
}

#[test]
fn a_portmapper_is_asked() {
    let options = ServerOptions {
        portmap: true,
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let mut plan = plan(port);
    (plan.nfs_port, plan.mount_port) = (None, None);
    let target = Target::resolve(&mount(), &plan).expect("resolved");
    assert_eq!(
        (target.nfs_address.port(), target.mount_address.port()),
        (port, port)
    );
}

#[test]
fn a_portmapper_that_does_not_know() {
    // "SUCCESS" and the port 0; to rpcbind's question an empty address.
    let port = server(|mut stream| {
        let mut input = vec![0; 4096];
        while let Ok(got @ 5..) = stream.read(&mut input) {
            let mut reply = Vec::new();
            ReplyHeader::encode_success(
                &mut reply,
                u32::from_be_bytes(input[4..8].try_into().unwrap()),
            );
            reply.extend_from_slice(&[0; 4]);
            let mut wire = Vec::new();
            append_fragments(&mut wire, &reply, 1 << 20);
            let _ = (got, stream.write_all(&wire));
        }
    });
    let mut plan = plan(port);
    plan.nfs_port = None;
    has_parts(
        &fails(&plan, &mount()),
        &["has not registered NFS version 3 for TCP", "NFS_PORT"],
    );
}

/// A portmapper that has only one version, 3 (rpcbind), and answers every
/// question there with the port 2049.
fn only_version_3(mut stream: TcpStream) {
    let mut input = vec![0; 4096];
    while let Ok(got @ 5..) = stream.read(&mut input) {
        let Ok(call) = CallHeader::decode(&mut Decoder::new(&input[4..got])) else {
            return;
        };
        let (mut reply, mut wire) = (Vec::new(), Vec::new());
        if call.vers == 3 {
            ReplyHeader::encode_success(&mut reply, call.xid);
            Encoder::new(&mut reply).opaque(b"127.0.0.1.8.1");
        } else {
            let stat = AcceptStat::ProgMismatch { low: 3, high: 3 };
            xdr::append(&mut reply, &ReplyHeader::accepted(call.xid, stat));
        }
        append_fragments(&mut wire, &reply, 1 << 20);
        if stream.write_all(&wire).is_err() {
            return;
        }
    }
}

#[test]
fn rpcbind_is_asked_where_there_is_no_portmapper() {
    let portmapper = SocketAddr::from(([127, 0, 0, 1], server(only_version_3)));
    let found =
        find_port(portmapper, NFS_V3, Transport::Tcp, &RpcOptions::default()).expect("an answer");
    assert_eq!(found, PortLookup::Port(2049));
}

#[test]
fn a_reserved_source_port_or_why_not() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    let limit = Duration::from_secs(1);
    // Twice at once: the second must not take the first one's port.
    match (connect(address, true, limit), connect(address, true, limit)) {
        (Ok(one), Ok(two)) => {
            let port = |stream: &TcpStream| stream.local_addr().expect("address").port();
            assert!(RESERVED_PORTS.contains(&port(&one)), "{one:?}");
            assert!(RESERVED_PORTS.contains(&port(&two)), "{two:?}");
            assert_ne!(port(&one), port(&two));
        }
        _ => {
            let mut plan = plan(address.port());
            plan.resvport = true;
            has_parts(
                &fails(&plan, &mount()),
                &["1023 to 512: permission denied", "RESVPORT=off"],
            );
        }
    }
}

#[test]
fn a_program_that_is_not_there() {
    let port = server(|stream| {
        answer_all(stream, |xid| {
            ReplyHeader::accepted(xid, AcceptStat::ProgUnavail)
        })
    });
    has_parts(
        &fails(&plan(port), &mount()),
        &["mount /export", "PROG_UNAVAIL", "MOUNT_PORT"],
    );
}

#[test]
fn another_version() {
    let (_server, good) = start(ServerOptions::default());
    let port = server(|stream| {
        answer_all(stream, |xid| {
            ReplyHeader::accepted(xid, AcceptStat::ProgMismatch { low: 4, high: 4 })
        });
    });
    let mut plan = plan(good);
    plan.nfs_port = Some(port);
    has_parts(
        &fails(&plan, &mount()),
        &[
            "PROG_MISMATCH",
            "versions 4 to 4",
            "enable this version on the server",
        ],
    );
}

#[test]
fn a_credential_that_is_too_weak() {
    let port = server(|stream| {
        answer_all(stream, |xid| {
            ReplyHeader::denied(xid, RejectStat::AuthError(AuthStat::TooWeak))
        });
    });
    has_parts(
        &fails(&plan(port), &mount()),
        &["AUTH_TOOWEAK", "RESVPORT=on"],
    );
}

#[test]
fn a_refused_mount() {
    let options = ServerOptions {
        refuse_mount: true,
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let error = fails(&plan(port), &mount());
    has_parts(
        &error,
        &[
            "127.0.0.1: mount /export: the server answered MNT3ERR_ACCES; ",
            "client list",
            "RESVPORT=on",
            "/export",
        ],
    );
    let mut plan = plan(port);
    plan.resvport = false;
    let elsewhere = MountPoint {
        path: "/elsewhere".to_owned(),
        ..mount()
    };
    let (_server, port) = start(ServerOptions::default());
    (plan.nfs_port, plan.mount_port) = (Some(port), Some(port));
    has_parts(
        &fails(&plan, &elsewhere),
        &[
            "mount /elsewhere: the server answered MNT3ERR_NOENT",
            "exports /export",
        ],
    );
}

#[test]
fn something_else_than_a_server() {
    let port = server(|mut stream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
        let _ = stream.read(&mut [0; 100]);
    });
    has_parts(
        &fails(&plan(port), &mount()),
        &[
            "mount /export",
            "does not answer in RPC records",
            "another program than mountd",
        ],
    );
}

#[test]
fn a_server_that_hangs_up() {
    let port = server(drop);
    has_parts(
        &fails(&plan(port), &mount()),
        &["mount /export", "RESVPORT=on"],
    );
}

#[test]
fn a_silent_server() {
    let port = server(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut plan = plan(port);
    plan.connect_timeout_ms = 100;
    let begun = Instant::now();
    let error = fails(&plan, &mount());
    assert!(begun.elapsed() < Duration::from_secs(2));
    has_parts(
        &error,
        &[
            "mount /export",
            "did not answer within 100 ms; ",
            "grace period",
        ],
    );
}

#[test]
fn a_server_that_drips() {
    // A byte now and then: the limit is on the answer, not on the pause.
    let port = server(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        while stream.write_all(&[0]).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut plan = plan(port);
    plan.connect_timeout_ms = 200;
    let begun = Instant::now();
    fails(&plan, &mount());
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_read_only_export() {
    let options = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let error = NfsDriver::new(plan(port))
        .claim(&mount(), &claim())
        .expect_err("read-only");
    has_parts(
        &error,
        &[
            "127.0.0.1:/export/filermark.test: make the run's directory",
            "NFS3ERR_ROFS",
            "export it read-write",
        ],
    );
}

#[test]
fn no_permission() {
    let options = ServerOptions {
        errors: "MKDIR=NFS3ERR_ACCES".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let error = NfsDriver::new(plan(port))
        .claim(&mount(), &claim())
        .expect_err("no permission");
    has_parts(
        &error,
        &[
            "make the run's directory",
            "NFS3ERR_ACCES",
            "uid 500 gid 100",
            "no_root_squash",
        ],
    );
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let options = ServerOptions {
        errors: "WRITE=NFS3ERR_NOSPC@1".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let plan = plan(port);
    let error = NfsDriver::new(plan.clone())
        .claim(&mount(), &claim())
        .expect_err("full");
    has_parts(
        &error,
        &["write the marker file", "NFS3ERR_NOSPC", "free some space"],
    );
    let target = Target::resolve(&mount(), &plan).expect("resolved");
    let found = target
        .nfs_client(&plan)
        .lookup(&target.root3(), b"filermark.test");
    assert!(found.expect("an answer").is_err(), "the directory stays");
}

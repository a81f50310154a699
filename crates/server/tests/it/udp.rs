//! Both versions, and the programs around them, in datagrams.

use crate::client::{auth, results, server};
use filermark_onc::rpc::{Call, RpcRefusal};
use filermark_onc::template::CallTemplate;
use filermark_onc::{mount, mount1, nfs2, nfs3, portmap, rpcbind};
use filermark_server::{RunningServer, ServerOptions};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const V2: (u32, u32) = (nfs2::PROGRAM, nfs2::VERSION);
const V3: (u32, u32) = (nfs3::PROGRAM, nfs3::VERSION);
/// Long enough for any reply that comes at all.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Before a client sends a call again, where a reply may be lost.
const RETRY: Duration = Duration::from_millis(40);

/// A client with a socket of its own.
pub struct Sender {
    socket: UdpSocket,
    xid: u32,
    sent: u64,
}

impl Sender {
    pub fn to(server: &RunningServer) -> Sender {
        let address = server.addrs()[0];
        let any = if address.is_ipv4() {
            "127.0.0.1:0"
        } else {
            "[::1]:0"
        };
        let socket = UdpSocket::bind(any).expect("bind");
        socket.connect(address).expect("connect");
        Sender {
            socket,
            xid: 700,
            sent: 0,
        }
    }

    fn bytes_of<A: Call>(&mut self, (prog, vers): (u32, u32), args: &A) -> Vec<u8> {
        self.xid += 1;
        let (cred, mut bytes) = (auth(0, 0, &[]), Vec::new());
        CallTemplate::new(prog, vers, cred.as_auth()).call(&mut bytes, self.xid, args);
        bytes.split_off(4)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.socket.send(bytes).expect("send");
        self.sent += 1;
    }

    fn receive(&self, timeout: Duration) -> Option<Vec<u8>> {
        self.socket
            .set_read_timeout(Some(timeout))
            .expect("time-out");
        let mut buffer = vec![0; 65536];
        match self.socket.recv(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                Some(buffer)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                None
            }
            Err(error) => panic!("receive: {error}"),
        }
    }

    /// One call, one reply.
    pub fn call<A: Call, R>(
        &mut self,
        program: (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> Result<R, RpcRefusal> {
        let bytes = self.bytes_of(program, args);
        self.send(&bytes);
        let reply = self.receive(TIMEOUT).expect("a reply");
        results(&reply, self.xid).map(look)
    }

    /// One call, sent again until a reply comes; replies to earlier calls are thrown away.
    fn insist<A: Call, R>(
        &mut self,
        program: (u32, u32),
        args: &A,
        look: impl FnOnce(A::Res<'_>) -> R,
    ) -> R {
        let bytes = self.bytes_of(program, args);
        for _ in 0..100 {
            self.send(&bytes);
            while let Some(reply) = self.receive(RETRY) {
                if reply[..4] == self.xid.to_be_bytes() {
                    return look(results(&reply, self.xid).expect("accepted"));
                }
            }
        }
        panic!("no reply to 100 attempts");
    }

    fn root(&mut self) -> nfs3::Fh {
        let args = mount::MntArgs {
            dirpath: b"/export",
        };
        let program = (mount::PROGRAM, mount::VERSION);
        let mounted = self.call(program, &args, |res| res.map(|ok| ok.fhandle.to_fh()));
        mounted.expect("accepted").expect("mounted")
    }

    fn root2(&mut self) -> [u8; 32] {
        let args = mount1::MntArgs {
            dirpath: b"/export",
        };
        let program = (mount1::PROGRAM, mount1::VERSION);
        let mounted = self.call(program, &args, |res| res.map(|ok| *ok.directory.as_bytes()));
        mounted.expect("accepted").expect("mounted")
    }
}

/// Waits until the server has taken so many datagrams from its sockets.
fn until_all_is_read(server: &RunningServer, sent: u64) {
    let began = Instant::now();
    while server.stats().datagrams < sent {
        assert!(began.elapsed() < TIMEOUT, "{}", server.stats().datagrams);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn create3(dir: &nfs3::Fh, name: &'static [u8]) -> nfs3::CreateArgs<'static> {
    let dir: &'static nfs3::Fh = Box::leak(Box::new(*dir));
    nfs3::CreateArgs {
        location: nfs3::Diropargs3 {
            dir: dir.handle(),
            name,
        },
        how: nfs3::Createhow3::Guarded(nfs3::Sattr3::mode(0o644)),
    }
}

fn made(res: nfs3::CreateRes<'_>) -> nfs3::Fh {
    res.expect("created").obj.expect("a handle").to_fh()
}

fn mkdir2<'a>(dir: &'a [u8; 32], name: &'a [u8]) -> nfs2::MkdirArgs<'a> {
    nfs2::MkdirArgs {
        location: nfs2::Diropargs {
            dir: nfs2::Fhandle::new(dir),
            name,
        },
        attributes: nfs2::Sattr::mode(0o755),
    }
}

fn rmdir2<'a>(dir: &'a [u8; 32], name: &'a [u8]) -> nfs2::RmdirArgs<'a> {
    nfs2::RmdirArgs {
        what: mkdir2(dir, name).location,
    }
}

#[test]
fn all_programs_answer_on_both_families() {
    let server = server(|o| {
        o.portmap = true;
        o.listen = vec!["[::1]:0".parse().expect("v6")];
    });
    let port = server.addrs()[0].port();
    let mut sender = Sender::to(&server);
    let (root, root2) = (sender.root(), sender.root2());
    let attributes = sender.call(
        V3,
        &nfs3::GetattrArgs {
            object: root.handle(),
        },
        |res| res.expect("attributes").obj_attributes,
    );
    let file = nfs2::Fhandle::new(&root2);
    let old = sender.call(V2, &nfs2::GetattrArgs { file }, |res| {
        res.expect("attributes").attributes
    });
    assert_eq!(
        attributes.expect("v3").fileid,
        u64::from(old.expect("v2").fileid)
    );
    let pmap = (portmap::PROGRAM, portmap::VERSION);
    for args in [
        portmap::GetportArgs::udp(nfs2::PROGRAM, 2),
        portmap::GetportArgs::udp(nfs3::PROGRAM, 3),
        portmap::GetportArgs::udp(mount::PROGRAM, 1),
        portmap::GetportArgs::tcp(mount::PROGRAM, 3),
    ] {
        assert_eq!(sender.call(pmap, &args, |port| port), Ok(u32::from(port)));
    }
    let udp = sender.call(pmap, &portmap::DumpArgs {}, |list| {
        let all = list.iter();
        let udp = all.filter(|mapping| mapping.prot == portmap::IPPROTO_UDP);
        (list.len(), udp.count())
    });
    // Version 4 is there over TCP alone.
    assert_eq!(udp, Ok((15, 7)));
    let rpcb = rpcbind::Rpcb {
        prog: nfs3::PROGRAM,
        vers: 3,
        netid: b"udp6",
        addr: b"",
        owner: b"",
    };
    let uaddr = sender.call(
        (rpcbind::PROGRAM, 4),
        &rpcbind::GetaddrArgs { rpcb },
        |res| rpcbind::parse_uaddr(res.addr).expect("universal address"),
    );
    assert_eq!(uaddr, Ok(Some(server.addrs()[0])));
    let stats = server.stop();
    assert_eq!((stats.datagrams, stats.connections), (sender.sent, 0));
    assert_eq!((stats.portmap, stats.refused), (6, 0));
}

#[test]
fn a_repeated_request_is_answered_but_not_done_again() {
    let server = server(|_| ());
    let (mut one, mut other) = (Sender::to(&server), Sender::to(&server));
    let root = one.root2();
    let (mkdir, rmdir) = (mkdir2(&root, b"d"), rmdir2(&root, b"d"));
    one.call(V2, &mkdir, |res| assert!(res.is_ok()))
        .expect("accepted");
    let bytes = one.bytes_of(V2, &rmdir);
    for _ in 0..3 {
        one.send(&bytes);
        let reply = one.receive(TIMEOUT).expect("a reply");
        assert_eq!(results(&reply, one.xid), Ok(Ok::<(), nfs2::Nfsstat>(())));
    }
    // Equal bytes from another port are another client's call.
    other.send(&bytes);
    let reply = other.receive(TIMEOUT).expect("a reply");
    let res: nfs2::StatRes = results(&reply, one.xid).expect("accepted");
    assert_eq!(res, Err(nfs2::Nfsstat::Noent));
    let stats = server.stop();
    assert_eq!(stats.duplicates_answered, 2);
    assert_eq!(stats.of2(nfs2::Procedure::Rmdir), 4);
}

#[test]
fn no_transfer_is_larger_than_a_datagram() {
    let server = server(|_| ());
    let mut sender = Sender::to(&server);
    let root = sender.root();
    let fsinfo = nfs3::FsinfoArgs {
        fsroot: root.handle(),
    };
    let limits = sender.call(V3, &fsinfo, |res| {
        let ok = res.expect("fsinfo");
        [ok.rtmax, ok.rtpref, ok.wtmax, ok.wtpref]
    });
    assert_eq!(limits, Ok([32768; 4]));
    let file = sender.call(V3, &create3(&root, b"f"), made).expect("made");
    let data = vec![7; 60_000];
    let write = nfs3::WriteArgs {
        file: file.handle(),
        offset: 0,
        count: 60_000,
        stable: nfs3::StableHow::FileSync,
        data: &data,
    };
    let written = sender.call(V3, &write, |res| res.expect("written").count);
    assert_eq!(written, Ok(32768));
    let read = nfs3::ReadArgs {
        file: file.handle(),
        offset: 0,
        count: 1 << 20,
    };
    let count = sender.call(V3, &read, |res| res.expect("read").data.len());
    assert_eq!(count, Ok(32768));
    let long = [b'x'; 250];
    for i in 0..200 {
        let mut name = long;
        name[..3].copy_from_slice(format!("{i:03}").as_bytes());
        let location = nfs3::Diropargs3 {
            dir: root.handle(),
            name: &name,
        };
        let attributes = nfs3::Sattr3::mode(0o755);
        sender
            .call(
                V3,
                &nfs3::MkdirArgs {
                    location,
                    attributes,
                },
                |res| {
                    assert!(res.is_ok());
                },
            )
            .expect("accepted");
    }
    let list = nfs3::ReaddirplusArgs {
        dir: root.handle(),
        cookie: 0,
        cookieverf: [0; 8],
        dircount: 1 << 20,
        maxcount: 1 << 20,
    };
    let names = sender.call(V3, &list, |res| res.expect("list").reply.iter().count());
    assert!((50..90).contains(&names.expect("accepted")));
    // Many mounts with long paths: their list would not fit.
    let mut deep = "/export".to_owned();
    for i in 0..300 {
        deep = format!("/export{}{}", "/".repeat(900), "/".repeat(i % 100));
        let args = mount::MntArgs {
            dirpath: deep.as_bytes(),
        };
        sender
            .call((mount::PROGRAM, 3), &args, |res| assert!(res.is_ok()))
            .expect("accepted");
    }
    assert!(deep.len() > 900);
    let dumped = sender.call((mount::PROGRAM, 3), &mount::DumpArgs {}, |_| ());
    let failed = RpcRefusal::Accepted(filermark_onc::rpc::AcceptStat::SystemErr);
    assert_eq!(dumped, Err(failed));
}

#[test]
fn what_is_no_call_gets_no_answer() {
    let server = server(|_| ());
    let mut sender = Sender::to(&server);
    let root = sender.root();
    let call = sender.bytes_of(
        V3,
        &nfs3::GetattrArgs {
            object: root.handle(),
        },
    );
    let cut = (0..40).map(|length| call[..length].to_vec());
    let other = [vec![0xff; 65_507], b"GET / HTTP/1.0".to_vec(), {
        let mut reply = call.clone();
        reply[7] = 1;
        reply
    }];
    let bad: Vec<_> = cut.chain(other).collect();
    for datagram in &bad {
        sender.send(datagram);
    }
    // The next reply is to the next good call; cut arguments behind a whole header are answered.
    sender.send(&call);
    let reply = sender.receive(TIMEOUT).expect("a reply");
    let res: nfs3::GetattrRes = results(&reply, sender.xid).expect("accepted");
    assert!(res.is_ok());
    let stats = server.stop();
    assert_eq!(stats.refused, bad.len() as u64);
    assert_eq!(stats.of(nfs3::Procedure::Getattr), 1);
}

/// Sends a datagram from port 0, which takes a raw socket; false where there is none to be had.
fn send_from_port_0(to: SocketAddr, payload: &[u8]) -> bool {
    use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
    let Ok(raw) = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP)) else {
        return false;
    };
    let length = u16::try_from(payload.len() + 8).expect("short");
    // Ports of both ends, the length, and no checksum.
    let header = [0, to.port(), length, 0].map(u16::to_be_bytes);
    let datagram = [header.as_flattened(), payload].concat();
    sendto(&raw, &datagram, SendFlags::empty(), &to).expect("sent");
    true
}

/// No reply can be sent to port 0; the request is not decoded.
#[test]
fn datagrams_from_port_0_are_dropped() {
    let server = server(|_| ());
    let mut sender = Sender::to(&server);
    let root = sender.root2();
    let mkdir = sender.bytes_of(V2, &mkdir2(&root, b"d"));
    if !send_from_port_0(server.addrs()[0], &mkdir) {
        eprintln!("skipped: raw sockets need CAP_NET_RAW");
        return;
    }
    until_all_is_read(&server, sender.sent + 1);
    let null = sender.call(V2, &nfs2::NullArgs {}, |()| ());
    null.expect("a call from another port is answered");
    let stats = server.stop();
    assert_eq!((stats.refused, stats.of2(nfs2::Procedure::Mkdir)), (1, 0));
}

#[test]
fn lost_calls_and_replies_are_sent_again() {
    let server = server(|o| o.drop = "call@1/3,reply@1/2".parse().expect("spec"));
    let mut sender = Sender::to(&server);
    let root = sender.root2();
    for i in 0..10u8 {
        let name = [b'd', i + b'0'];
        let made = sender.insist(V2, &mkdir2(&root, &name), |res| res.is_ok());
        let removed = sender.insist(V2, &rmdir2(&root, &name), |res| res);
        assert_eq!((made, removed), (true, Ok(())), "{i}");
    }
    // An answered call may have a duplicate that the server has not read yet.
    until_all_is_read(&server, sender.sent);
    let stats = server.stop();
    let calls = sender.sent - 1; // MNT
    assert_eq!(stats.calls_dropped, calls / 3);
    assert_eq!(stats.nfs_total(), calls - stats.calls_dropped);
    assert_eq!(stats.replies_dropped, stats.nfs_total() / 2);
    // Done once each: what came again was answered from memory.
    assert_eq!(stats.duplicates_answered, stats.nfs_total() - 20);
}

/// Version 2 has no status for it.
#[test]
fn jukebox_is_silence_in_version_2() {
    let server = server(|o| o.errors = "MKDIR=NFS3ERR_JUKEBOX@2".parse().expect("spec"));
    let mut sender = Sender::to(&server);
    let root = sender.root2();
    let made = sender.insist(V2, &mkdir2(&root, b"d"), |res| res.is_ok());
    assert!(made && sender.sent > 3);
    let stats = server.stop();
    assert_eq!((stats.errors_injected, stats.replies_dropped), (2, 2));
}

#[test]
fn replies_come_twice_and_late() {
    let double = server(|o| o.drop = "copy@1/2".parse().expect("spec"));
    let mut sender = Sender::to(&double);
    let null = |sender: &mut Sender| sender.call(V2, &nfs2::NullArgs {}, |()| ());
    null(&mut sender).expect("one");
    null(&mut sender).expect("two");
    let again = sender.receive(TIMEOUT).expect("two again");
    assert_eq!(results::<()>(&again, sender.xid), Ok(()));
    assert_eq!(double.stop().replies_repeated, 1);

    let late = server(|o| o.drop = "late@2:300ms".parse().expect("spec"));
    let mut sender = Sender::to(&late);
    let begin = std::time::Instant::now();
    sender.insist(V2, &nfs2::NullArgs {}, |()| ());
    sender.insist(V2, &nfs2::NullArgs {}, |()| ());
    assert!(begin.elapsed() < Duration::from_secs(10));
    // The late replies come all the same; the server has no more than the two.
    assert_eq!(late.stats().replies_delayed, 2);
    assert!(sender.sent > 2, "asked again before the reply came");
}

#[test]
fn delays_hold_replies_back() {
    let server = server(|o| o.delay = "NULL=30ms".parse().expect("spec"));
    let mut sender = Sender::to(&server);
    let begin = std::time::Instant::now();
    for _ in 0..5 {
        sender
            .call(V3, &nfs3::NullArgs {}, |()| ())
            .expect("accepted");
    }
    assert!(begin.elapsed() >= Duration::from_millis(150));
    assert_eq!(server.stats().replies_delayed, 5);
}

#[test]
fn canned_replies_come_in_datagrams_too() {
    let server = server(|o| o.null = true);
    let mut sender = Sender::to(&server);
    let root = sender.root();
    let read = nfs3::ReadArgs {
        file: root.handle(),
        offset: 0,
        count: 1 << 20,
    };
    let count = sender.call(V3, &read, |res| res.expect("read").data.len());
    assert_eq!(count, Ok(32768));
}

#[test]
fn every_client_is_served_by_some_thread() {
    let server = server(|o| o.threads = 4);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut sender = Sender::to(&server);
                let root = sender.root2();
                for _ in 0..100 {
                    let file = nfs2::Fhandle::new(&root);
                    sender
                        .call(V2, &nfs2::GetattrArgs { file }, |res| assert!(res.is_ok()))
                        .expect("accepted");
                }
            });
        }
    });
    let stats = server.stop();
    assert_eq!(stats.of2(nfs2::Procedure::Getattr), 1600);
}

#[test]
fn udp_can_be_left_out_and_a_port_in_use_is_an_error() {
    let without = server(|o| o.udp = false);
    let taken = UdpSocket::bind(without.addrs()[0]).expect("the port is free for UDP");
    drop(without);
    let address = taken.local_addr().expect("address");
    let error = filermark_server::Server::start(ServerOptions {
        listen: vec![address],
        ..Default::default()
    });
    let text = error.expect_err("taken").to_string();
    assert!(
        text.contains(&format!("(UDP) on {address}")) && text.contains("--no-udp"),
        "{text}"
    );
}

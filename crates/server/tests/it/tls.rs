//! RPC-with-TLS (RFC 9289): the call that asks for it, and OpenSSL as the client.

use crate::client::{Client, server};
use filermark_onc::nfs3::{self, GetattrArgs, NullArgs};
use filermark_onc::record::RecordReader;
use filermark_onc::rpc::{
    AuthStat, Call, OpaqueAuth, RejectStat, ReplyBody, ReplyHeader, RpcRefusal,
};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Decode, Decoder};
use filermark_server::{Server, ServerOptions, TlsFiles};
use filermark_tls::testing::{Authority, CertifiedFiles};
use filermark_tls::{Answer, Channel, ClientFiles, SCRATCH_MIN, StartRequest, TlsError};
use std::io::Read;
use std::net::UdpSocket;
use std::time::Duration;
use tempfile::TempDir;

const REFUSED: RpcRefusal = RpcRefusal::Denied(RejectStat::AuthError(AuthStat::BadCred));

struct World {
    _dir: TempDir,
    authority: Authority,
    own: CertifiedFiles,
    client: CertifiedFiles,
}

impl World {
    fn new() -> World {
        let dir = TempDir::new().expect("a directory");
        let authority = Authority::new(dir.path(), "ca").expect("written");
        World {
            own: authority.sign("server", &["nas.test"]).expect("written"),
            client: authority.sign("client", &["client.test"]).expect("written"),
            authority,
            _dir: dir,
        }
    }

    fn files(&self, asks: bool) -> TlsFiles {
        TlsFiles {
            certificate: self.own.certificate.clone(),
            key: self.own.key.clone(),
            client_authorities: asks.then(|| self.authority.file().to_owned()),
            client_optional: false,
        }
    }
}

/// A call with AUTH_TLS, as a record.
fn probe<A: Call>(args: &A, cred: OpaqueAuth<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, cred).call(&mut bytes, 7, args);
    bytes
}

fn outcome(record: &[u8]) -> Result<(), RpcRefusal> {
    let header = ReplyHeader::decode(&mut Decoder::new(record)).expect("a reply");
    assert_eq!(header.xid, 7);
    header.check()
}

#[test]
fn starttls_is_answered_to_a_sound_call_alone() {
    let world = World::new();
    let with = server(|o| o.tls = Some(world.files(false)));
    let without = server(|_| ());
    let (_, root) = Client::mounted(&with);
    let object = GetattrArgs {
        object: root.handle(),
    };
    let long = OpaqueAuth {
        body: b"body",
        ..OpaqueAuth::TLS
    };
    for (server, call) in [
        (&without, probe(&NullArgs {}, OpaqueAuth::TLS)),
        (&with, probe(&object, OpaqueAuth::TLS)),
        (&with, probe(&NullArgs {}, long)),
    ] {
        let mut client = Client::connect(server.addrs()[0]);
        client.send(&call);
        let record = client.receive().expect("a reply");
        assert_eq!(outcome(&record), Err(REFUSED));
        // The connection goes on in the clear.
        client.send(&probe(&NullArgs {}, OpaqueAuth::NONE));
        assert_eq!(outcome(&client.receive().expect("a reply")), Ok(()));
    }
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let limit = Some(Duration::from_secs(120));
    socket.set_read_timeout(limit).expect("time-out");
    let call = probe(&NullArgs {}, OpaqueAuth::TLS);
    socket.send_to(&call[4..], with.addrs()[0]).expect("send");
    let mut reply = [0; 256];
    let length = socket.recv(&mut reply).expect("a reply");
    assert_eq!(outcome(&reply[..length]), Err(REFUSED), "over UDP");

    let mut client = Client::connect(with.addrs()[0]);
    client.send(&call);
    let record = client.receive().expect("a reply");
    let header = ReplyHeader::decode(&mut Decoder::new(&record)).expect("a reply");
    let starts =
        matches!(header.body, ReplyBody::Accepted { verf, .. } if verf == OpaqueAuth::STARTTLS);
    assert!(starts, "{header:?}");
    assert_eq!(with.stats().connections_tls, 0, "no handshake");
}

#[test]
fn what_is_no_tls_behind_it_ends_the_connection() {
    let world = World::new();
    let server = server(|o| o.tls = Some(world.files(false)));
    let call = probe(&NullArgs {}, OpaqueAuth::TLS);
    // Bytes in the clear that came with the call, which TLS would not protect.
    let mut client = Client::connect(server.addrs()[0]);
    client.send(&[call.clone(), probe(&NullArgs {}, OpaqueAuth::NONE)].concat());
    client.receive();
    assert_eq!(client.receive(), None);
    for junk in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &call,
        &[0x16, 3, 3, 0xff, 0xff, 0],
    ] {
        let mut client = Client::connect(server.addrs()[0]);
        client.send(&call);
        client.receive().expect("STARTTLS");
        client.send(junk);
        // An alert, and the end.
        let mut rest = Vec::new();
        client.stream.read_to_end(&mut rest).expect("the end");
        assert!(rest.len() < 64, "{rest:?}");
    }
    assert_eq!(server.stats().tls_failures, 4);
    let mut good = Client::connect(server.addrs()[0]);
    good.send(&probe(&NullArgs {}, OpaqueAuth::NONE));
    assert_eq!(outcome(&good.receive().expect("a reply")), Ok(()));
}

/// A call in front of a record that breaks the session, in one read: it is answered, and then there is the alert.
#[test]
fn a_call_in_front_of_a_bad_record_is_answered() {
    let world = World::new();
    let server = server(|o| o.tls = Some(world.files(false)));
    let request = StartRequest {
        bytes: probe(&NullArgs {}, OpaqueAuth::TLS),
        judge: |came| Answer::Yes(came.len()),
    };
    let files = ClientFiles {
        authorities: world.authority.file().to_owned(),
        own: None,
    };
    let tls = files.read("nas.test", b"sunrpc", request).expect("files");
    let mut client = Client::connect(server.addrs()[0]);
    let (mut out, mut scratch) = (Vec::new(), vec![0; SCRATCH_MIN]);
    let mut channel = Channel::client(&tls, &mut out);
    let mut plain = Vec::new();
    // An error once the call is on its way.
    let mut failure = None;
    while failure.is_none() {
        client.send(&std::mem::take(&mut out));
        if channel.is_open() && plain.is_empty() {
            let call = probe(&NullArgs {}, OpaqueAuth::NONE);
            channel.seal(&call, &mut out).expect("sealed");
            let junk = [23, 3, 3, 0, 20];
            client.send(&[&out[..], &junk, &[9; 20]].concat());
            out.clear();
        }
        let at = channel.place(&mut scratch);
        let came = client.stream.read(&mut scratch[at..]).expect("bytes");
        assert_ne!(came, 0, "the end without an alert");
        match channel.receive(&mut scratch, at + came, None, &mut out) {
            Ok(length) => plain.extend_from_slice(&scratch[..length]),
            Err(error) => failure = Some(error),
        }
        failure = failure.or_else(|| channel.failure(&mut out));
    }
    assert_eq!(failure, Some(TlsError::Alert("BadRecordMac".to_owned())));
    let mut record = RecordReader::new(1 << 10);
    let mut rest = &plain[..];
    let reply = record.next_record(&mut rest).expect("a record");
    assert_eq!(outcome(reply.expect("a reply")), Ok(()));
    let stats = server.stats();
    assert_eq!((stats.connections_tls, stats.tls_failures), (1, 1));
}

#[test]
fn calls_in_the_clear_are_refused_where_tls_is_required() {
    let world = World::new();
    let server = server(|o| {
        o.tls = Some(world.files(false));
        o.tls_only = true;
    });
    // MOUNT is in the clear, as with kernel servers.
    let (mut client, root) = Client::mounted(&server);
    client.send(&probe(&NullArgs {}, OpaqueAuth::NONE));
    assert_eq!(outcome(&client.receive().expect("a reply")), Ok(()));
    let object = GetattrArgs {
        object: root.handle(),
    };
    client.send(&probe(&object, OpaqueAuth::NONE));
    let weak = RpcRefusal::Denied(RejectStat::AuthError(AuthStat::TooWeak));
    assert_eq!(outcome(&client.receive().expect("a reply")), Err(weak));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let world = World::new();
    let start = |options: ServerOptions| Server::start(options).expect_err("refused").to_string();
    let only = ServerOptions {
        tls_only: true,
        ..ServerOptions::default()
    };
    assert!(start(only).contains("needs a certificate"));
    let mut files = world.files(false);
    files.key = files.key.with_file_name("none.key");
    let missing = ServerOptions {
        tls: Some(files),
        ..ServerOptions::default()
    };
    let error = start(missing);
    assert!(
        error.contains("cannot read") && error.contains("none.key"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
mod openssl {
    use super::*;
    use filermark_testbed::{TlsFiles as Files, available, openssl_client};

    /// The lines of a client with or without a certificate.
    fn lines(world: &World, asks: bool, shows: bool, calls: u32) -> Option<Vec<String>> {
        let server = server(|o| {
            o.tls = Some(world.files(asks));
            o.tls_only = true;
        });
        let own = (
            world.client.certificate.as_path(),
            world.client.key.as_path(),
        );
        let files = Files {
            own: shows.then_some(own),
            authorities: Some(world.authority.file()),
        };
        let client = openssl_client(files, server.addrs()[0], "nas.test", calls);
        let lines = available(client)?;
        let stats = server.stats();
        let works = !asks || shows;
        assert_eq!(stats.connections_tls, u64::from(works), "{lines:?}");
        assert_eq!(stats.tls_failures, u64::from(!works), "{lines:?}");
        Some(lines)
    }

    #[test]
    fn openssl_calls_over_tls_and_mutual_tls() {
        let world = World::new();
        for (asks, shows) in [(false, false), (false, true), (true, true)] {
            let Some(lines) = lines(&world, asks, shows, 3) else {
                return;
            };
            // Accepted, the verifier AUTH_NONE with the eight bytes STARTTLS, success.
            let starttls = "probe 000000010000000000000000000000085354415254544c5300000000";
            assert_eq!(lines[0], starttls);
            let success = "null 0000000100000000000000000000000000000000";
            // AUTH_TLS inside of TLS: denied, AUTH_ERROR, AUTH_BADCRED.
            let denied = "again 00000001000000010000000100000001";
            let rest = ["session TLSv1.3 sunrpc", success, success, success, denied];
            assert_eq!(lines[1..], rest, "asks {asks}, shows {shows}");
        }
    }

    #[test]
    fn openssl_learns_that_a_certificate_is_required() {
        let world = World::new();
        let Some(lines) = lines(&world, true, false, 1) else {
            return;
        };
        let last = lines.last().expect("lines");
        let is_clear = last.starts_with("error") && last.contains("certificate required");
        assert!(is_clear, "{lines:?}");
    }
}

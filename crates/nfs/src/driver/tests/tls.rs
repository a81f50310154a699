//! RPC-with-TLS (RFC 9289): against the embedded server, and against OpenSSL.

use super::embedded::{World, work};
use super::*;
use filermark_driver_kit::driver::Driver;
use filermark_model::plan::{TlsCertificate, TlsPlan};
use filermark_server::{Server, ServerOptions, TlsFiles};
use filermark_tls::testing::{Authority, CertifiedFiles};
use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use tempfile::TempDir;

/// Certificates of a server at 127.0.0.1 and of a client.
pub(in crate::driver) struct Certificates {
    dir: TempDir,
    pub(in crate::driver) authority: Authority,
    pub(in crate::driver) server: CertifiedFiles,
    client: CertifiedFiles,
}

/// Text of a path.
fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

impl Certificates {
    pub(in crate::driver) fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let authority = Authority::new(dir.path(), "ca").expect("written");
        let names = ["127.0.0.1", "server.test"];
        Self {
            server: authority.sign("server", &names).expect("written"),
            client: authority.sign("client", &["client.test"]).expect("written"),
            authority,
            dir,
        }
    }

    /// A plan of a client with (`mtls`) or without a certificate.
    pub(in crate::driver) fn plan(&self, mtls: bool) -> TlsPlan {
        TlsPlan {
            authorities: text(self.authority.file()),
            own: mtls.then(|| TlsCertificate {
                certificate: text(&self.client.certificate),
                key: text(&self.client.key),
            }),
            server_name: None,
        }
    }

    /// The files of a server that asks clients for a certificate (`mtls`), or does not.
    fn files(&self, mtls: bool) -> TlsFiles {
        TlsFiles {
            certificate: self.server.certificate.clone(),
            key: self.server.key.clone(),
            client_authorities: mtls.then(|| self.authority.file().to_owned()),
            client_optional: false,
        }
    }

    fn options(&self, mtls: bool) -> ServerOptions {
        ServerOptions {
            tls: Some(self.files(mtls)),
            tls_only: true,
            ..ServerOptions::default()
        }
    }
}

/// No connection was lost, and no reply was wrong.
fn assert_no_faults(counters: &BTreeMap<String, u64>) {
    for fault in [
        "reconnects",
        "connect_failures",
        "bad_replies",
        "verify_errors",
    ] {
        assert!(!counters.contains_key(fault), "{counters:?}");
    }
}

/// Makes load and checks that all of it was protected.
fn works(options: ServerOptions, tls: &TlsPlan) {
    let change = |plan: &mut NfsPlan| {
        plan.tls = Some(tls.clone());
        plan.rpc_timeout_ms = 30_000;
    };
    let world = World::new(options, change, 3);
    let before = world.server.stats();
    let mut bench = world.bench();
    work(&mut bench, 3);
    let counters = bench.counters();
    assert_no_faults(&counters);
    let stats = world.server.stats();
    assert_eq!((stats.tls_failures, stats.refused), (0, 0));
    // One for each proc, and those of the claim.
    assert!(stats.connections_tls - before.connections_tls > 3);
}

#[test]
fn load_is_made_over_tls_and_mutual_tls() {
    let certificates = Certificates::new();
    works(certificates.options(false), &certificates.plan(false));
    works(certificates.options(false), &certificates.plan(true));
    works(certificates.options(true), &certificates.plan(true));
    // A server that can do without the certificate of the client.
    let mut options = certificates.options(true);
    options.tls.as_mut().expect("it has TLS").client_optional = true;
    works(options, &certificates.plan(false));
}

#[test]
fn the_name_may_be_given() {
    let certificates = Certificates::new();
    let tls = TlsPlan {
        server_name: Some("server.test".to_owned()),
        ..certificates.plan(false)
    };
    works(certificates.options(false), &tls);
}

/// Every connection is closed after 40 calls, some replies are lost: each is made again with TLS.
#[test]
fn lost_connections_are_made_again_with_tls() {
    let certificates = Certificates::new();
    let options = ServerOptions {
        drop: "conn@40,reply@1%".parse().expect("sound"),
        unstable: "verf@250".parse().expect("sound"),
        short: Some(50_000),
        rtpref: 65536,
        wtpref: 65536,
        ..certificates.options(false)
    };
    let change = |plan: &mut NfsPlan| plan.tls = Some(certificates.plan(false));
    let world = World::new(options, change, 2);
    let mut bench = world.bench();
    work(&mut bench, 2);
    let counters = bench.counters();
    for name in ["reconnects", "retransmits", "short_reads"] {
        assert!(counters.contains_key(name), "no {name}: {counters:?}");
    }
    assert!(!counters.contains_key("verify_errors"));
    let stats = world.server.stats();
    assert!(stats.connections_tls > counters["reconnects"], "{stats:?}");
}

/// The error of a client with this plan at this server.
fn refusal(options: ServerOptions, tls: Option<TlsPlan>) -> String {
    let change = |plan: &mut NfsPlan| {
        plan.tls = tls;
        plan.rpc_timeout_ms = 30_000;
        plan.rpc_retries = 0;
    };
    let world = World::new(options, change, 1);
    let claimed = world.driver.claim(world.mount(), &world.setup.claim);
    let error = claimed.expect_err("it must fail").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn every_failure_has_its_sentence() {
    let certificates = Certificates::new();
    let dir = certificates.dir.path();
    let other = Authority::new(dir, "other").expect("written");
    let (on, mtls) = (certificates.plan(false), certificates.plan(true));
    let served = |made: CertifiedFiles| ServerOptions {
        tls: Some(TlsFiles {
            certificate: made.certificate,
            key: made.key,
            ..certificates.files(false)
        }),
        ..certificates.options(false)
    };
    let expired = certificates.authority.sign_expired("old", &["127.0.0.1"]);
    let elsewhere = certificates.authority.sign("nas", &["nas.test"]);
    let foreign = other.sign("foreign", &["client.test"]).expect("written");
    let strange = TlsPlan {
        own: Some(TlsCertificate {
            certificate: text(&foreign.certificate),
            key: text(&foreign.key),
        }),
        ..on.clone()
    };
    let untrusting = TlsPlan {
        authorities: text(other.file()),
        ..on.clone()
    };
    let unreadable = TlsPlan {
        own: Some(TlsCertificate {
            certificate: text(&foreign.certificate),
            key: text(&dir.join("none.key")),
        }),
        ..on.clone()
    };
    let plain = ServerOptions::default();
    let cases = [
        (plain.clone(), Some(&on), "does not offer TLS", "TLS=off"),
        (
            certificates.options(false),
            Some(&untrusting),
            "not signed by an authority",
            "TLS_CA",
        ),
        (
            served(expired.expect("written")),
            Some(&on),
            "has expired",
            "renew",
        ),
        (
            served(elsewhere.expect("written")),
            Some(&on),
            "not for 127.0.0.1, but for nas.test",
            "TLS_NAME",
        ),
        (
            certificates.options(true),
            Some(&on),
            "requires a certificate",
            "TLS=mtls",
        ),
        (
            certificates.options(true),
            Some(&strange),
            "refused the client's certificate",
            "TLS_CERT",
        ),
        (plain, Some(&unreadable), "cannot read", "TLS_KEY"),
        (certificates.options(true), None, "AUTH_TOOWEAK", "TLS=on"),
        (certificates.options(false), Some(&mtls), "", ""),
    ];
    for (options, tls, reason, advice) in cases {
        if reason.is_empty() {
            works(options, tls.expect("with TLS"));
            continue;
        }
        let error = refusal(options, tls.cloned());
        let at = error.find(reason);
        let behind = at.and_then(|at| error[at..].find(advice));
        assert!(behind.is_some(), "{reason} .. {advice}: {error}");
    }
}

/// The driver connects to this address from now on.
fn send_to(world: &World, address: SocketAddr) {
    let mut place = world
        .driver
        .place(world.mount(), &world.setup.claim.dir_name);
    let place = place.as_mut().expect("it was claimed");
    place.address = address;
    let key = (world.mount().clone(), world.setup.claim.dir_name.clone());
    let mut mounts = world.driver.mounts.lock().expect("unlocked");
    mounts.insert(key, place.clone());
}

/// A Linux server closes connections whose set-up of TLS is one too many at a time.
#[test]
fn a_connection_that_is_closed_while_tls_is_set_up_is_made_again() {
    const CLOSED: usize = 3;
    let certificates = Certificates::new();
    let change = |plan: &mut NfsPlan| plan.tls = Some(certificates.plan(false));
    let world = World::new(certificates.options(false), change, 1);
    drop(world.bench());
    let server = world.server.addrs()[0];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    send_to(&world, listener.local_addr().expect("bound"));
    // It ends with the connection of the shard.
    let forwarder = std::thread::spawn(move || {
        for _ in 0..CLOSED {
            let (mut client, _) = listener.accept().expect("a connection");
            let _ = client.read(&mut [0; 1 << 10]).expect("the call");
        }
        let (client, _) = listener.accept().expect("a connection");
        let server = TcpStream::connect(server).expect("it serves");
        let to_server = (client.try_clone(), server.try_clone());
        let forth = std::thread::spawn(move || forward(to_server.0, to_server.1));
        forward(Ok(server), Ok(client));
        forth.join().expect("no panic");
    });
    let mut shard = world
        .driver
        .shard(world.setup.clone())
        .expect("the server takes a later one");
    let mut counters = BTreeMap::new();
    shard.take_counters(&mut counters);
    assert_eq!(counters["connect_failures"], CLOSED as u64);
    drop(shard);
    forwarder.join().expect("no panic");
}

/// Copies to the end of the stream.
fn forward(from: std::io::Result<TcpStream>, to: std::io::Result<TcpStream>) {
    let (mut from, mut to) = (from.expect("a handle"), to.expect("a handle"));
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// The driver itself, without the steps before it: the set-up of a connection fails with a reason, and is
/// not tried again.
#[test]
fn the_driver_gives_up_where_tls_cannot_be() {
    let certificates = Certificates::new();
    let change = |plan: &mut NfsPlan| plan.tls = Some(certificates.plan(false));
    let world = World::new(certificates.options(false), change, 1);
    drop(world.bench());
    let plain = Server::start(ServerOptions::default()).expect("a free port");
    send_to(&world, plain.addrs()[0]);
    let error = world.driver.shard(world.setup.clone()).expect_err("no TLS");
    assert!(error.reason.contains("does not offer TLS"), "{error}");
    assert!(error.advice.contains("TLS=off"), "{error}");
    assert_eq!(plain.stats().connections, 1);
}

#[cfg(target_os = "linux")]
mod openssl {
    use super::*;
    use filermark_testbed::{OpensslProxy, TlsFiles, available};

    /// The embedded server behind OpenSSL.
    fn works_behind_openssl(mtls: bool) {
        let certificates = Certificates::new();
        let server = &certificates.server;
        let authorities = mtls.then(|| certificates.authority.file());
        let files = TlsFiles {
            own: Some((&server.certificate, &server.key)),
            authorities,
        };
        let options = ServerOptions::default();
        let mut world = World::new(options, |_| (), 3);
        let proxy = OpensslProxy::start(files, world.server.addrs()[0]);
        let Some(proxy) = available(proxy) else {
            return;
        };
        let plan = NfsPlan {
            tls: Some(certificates.plan(mtls)),
            nfs_port: Some(proxy.address().port()),
            rpc_timeout_ms: 60_000,
            ..world.driver.plan.clone()
        };
        world.driver = NfsDriver::new(plan);
        let mut bench = world.bench();
        work(&mut bench, 3);
        let counters = bench.counters();
        assert_no_faults(&counters);
        let target = crate::target::Target::resolve(world.mount(), &world.driver.plan);
        let facts = target.expect("it serves").facts();
        let tls = facts.iter().find(|(name, _)| name == "tls");
        let (_, text) = tls.expect("a fact");
        assert!(text.starts_with("TLS 1.3 with "), "{text}");
    }

    #[test]
    fn load_is_made_on_a_server_with_openssl() {
        works_behind_openssl(false);
        works_behind_openssl(true);
    }

    #[test]
    fn openssl_asks_for_the_certificate() {
        let certificates = Certificates::new();
        let files = TlsFiles {
            own: Some((&certificates.server.certificate, &certificates.server.key)),
            authorities: Some(certificates.authority.file()),
        };
        let server = Server::start(ServerOptions::default()).expect("a free port");
        let proxy = OpensslProxy::start(files, server.addrs()[0]);
        let Some(proxy) = available(proxy) else {
            return;
        };
        let plan = NfsPlan {
            tls: Some(certificates.plan(false)),
            nfs_port: Some(proxy.address().port()),
            mount_port: Some(server.addrs()[0].port()),
            rpc_timeout_ms: 60_000,
            rpc_retries: 0,
            ..plan()
        };
        let error = crate::target::Target::resolve(&mount(), &plan).expect_err("no certificate");
        assert!(error.reason.contains("requires a certificate"), "{error}");
    }
}

/// Two host names of one address: calls of one must not go over connections of the other.
#[test]
fn connections_with_kerberos_are_of_one_host_name() {
    use filermark_driver_kit::sockets::Peer;
    use filermark_model::plan::{MountPoint, NfsSecurity};
    let mount = |host: &str| MountPoint {
        host: host.to_owned(),
        path: "/x".to_owned(),
    };
    let peer = Peer::from(std::net::SocketAddr::from(([127, 0, 0, 1], 2049)));
    for (security, is_shared) in [(NfsSecurity::Sys, true), (NfsSecurity::Krb5, false)] {
        let driver = NfsDriver::new(NfsPlan { security, ..plan() });
        let [first, second] = ["a.test", "b.test"].map(|host| driver.target(&peer, &mount(host)));
        assert_eq!(first == second, is_shared, "{security:?}");
    }
}

//! Versions 4.1 and 4.2 over RPC-with-TLS (RFC 9289), with OpenSSL in front of the server.

use super::*;
use crate::driver::tests::tls::Certificates;
use crate::driver::tests::{read, write};
use filermark_testbed::{OpensslProxy, TlsFiles, available};

#[test]
fn sessions_are_set_up_and_load_is_made_over_tls() {
    for minor in [MinorVersion::V1, MinorVersion::V2] {
        let certificates = Certificates::new();
        let files = TlsFiles {
            own: Some((&certificates.server.certificate, &certificates.server.key)),
            authorities: Some(certificates.authority.file()),
        };
        let server = Server::start(16, |_| Deed::Good);
        server.state().minor = minor;
        let Some(proxy) = available(OpensslProxy::start(files, server.address)) else {
            return;
        };
        let plan = NfsPlan {
            version: minor.version(),
            tls: Some(certificates.plan(true)),
            connections: Connections::Shared(2),
            rpc_timeout_ms: 60_000,
            ..plan()
        };
        let setup = setup(3, VerifyLevel::Sample);
        let mut bench = Bench::behind(plan, setup, server, ("127.0.0.1", proxy.address()));
        for proc in 0..3 {
            bench.submit(proc, write(0, 100_000));
        }
        for outcome in bench.wait(3).values() {
            assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
        }
        for proc in 0..3 {
            bench.submit(proc, read(0, 100_000));
        }
        for outcome in bench.wait(3).values() {
            assert_eq!((outcome.status, outcome.read_bytes), (Status::Ok, 100_000));
        }
        let counters = bench.counters();
        assert!(!counters.contains_key("reconnects"), "{counters:?}");
        bench.end();
    }
}

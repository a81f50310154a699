//! Runs over RPC-with-TLS (RFC 9289): what the record and the report state of it.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_server::{ServerOptions, TlsFiles};
use filermark_tls::testing::Authority;
use tempfile::TempDir;

#[test]
fn a_run_over_mutual_tls_is_recorded_as_one() {
    let _turn = beside_others();
    let dir = TempDir::new().expect("a directory");
    let authority = Authority::new(dir.path(), "ca").expect("written");
    let own = authority.sign("server", &["127.0.0.1"]).expect("written");
    let client = authority.sign("client", &["client.test"]).expect("written");
    let server = serve(ServerOptions {
        tls: Some(TlsFiles {
            certificate: own.certificate,
            key: own.key,
            client_authorities: Some(authority.file().to_owned()),
            client_optional: false,
        }),
        tls_only: true,
        ..ServerOptions::default()
    });
    let refused = Sweep::on(&server).fail(1);
    let output = &refused.stderr;
    assert!(
        output.contains("AUTH_TOOWEAK") && output.contains("TLS=on"),
        "{output}"
    );

    let sweep = Sweep::on(&server)
        .suffix("tls")
        .set("TLS", "mtls")
        .set("TLS_CA", authority.file().display())
        .set("TLS_CERT", client.certificate.display())
        .set("TLS_KEY", client.key.display())
        .set("VERIFY", "on");
    let ended = sweep.succeed();
    for point in &ended.record().points {
        let stats = point.stats.as_ref().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        assert!(!stats.counters.contains_key("verify_errors"));
    }
    // Over version 4.0 with its own mix: owners go on where the replies were lost, if it is in the clear or not.
    let over_40 = Sweep::on(&server)
        .suffix("tls40")
        .unset("MOUNT_PORT")
        .unset("NFS_VERSION")
        .set("BENCHMARK", "general-nfs40")
        .set("CONNECTIONS", 2)
        .set("TLS", "mtls")
        .set("TLS_CA", authority.file().display())
        .set("TLS_CERT", client.certificate.display())
        .set("TLS_KEY", client.key.display())
        .succeed();
    assert_eq!(over_40.point(1).stats.expect("figures").error_count(), 0);
    for name in ["LOCK", "LOCKU", "OPEN", "CLOSE"] {
        assert!(over_40.counter(name) > 0, "{name}");
    }
    let stats = server.stats();
    assert!(
        stats.connections_tls > 0 && stats.tls_failures == 0,
        "{stats:?}"
    );
    for file in ["tls.run.jsonl", "tls.html"] {
        let text = std::fs::read_to_string(ended.path(file)).expect(file);
        for part in ["TLS 1.3 with AES", "TLS=mtls"] {
            assert!(text.contains(part), "{file} has no {part}");
        }
        assert!(!text.contains("PRIVATE KEY"), "{file}");
    }
}

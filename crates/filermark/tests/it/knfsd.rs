//! The Linux kernel's server, 6.1 and, where it is present, 6.12: Kerberos, RPC-with-TLS and both, clients that
//! it expires, and a restart during RUN.

use crate::load_guard::beside_others;
use crate::nfs41;
use crate::sweep::{Ended, Started, Sweep};
use filermark_model::plan::{LayoutUse, NfsPlan};
use filermark_testbed::{
    Kdc, KerberosExport, Kernel, KernelSecurity, KernelServer, Samba, Sandbox, ServerOptions,
    TlshdFiles, available,
};
use filermark_tls::testing::{Authority, CertifiedFiles};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);

/// The values of SECURITY with Kerberos.
const WAYS: [&str; 3] = ["krb5", "krb5i", "krb5p"];

/// A server with nfs4 in a sandbox of its own; `None`: the test is skipped.
pub fn server(kernel: Kernel) -> Option<KernelServer> {
    let sandbox = available(Sandbox::new())?;
    secured(&sandbox, kernel, KernelSecurity::default())
}

fn secured(
    sandbox: &Arc<Sandbox>,
    kernel: Kernel,
    security: KernelSecurity<'_>,
) -> Option<KernelServer> {
    let options = ServerOptions {
        nfs4: true,
        ..ServerOptions::default()
    };
    available(KernelServer::start_as(sandbox, kernel, options, security))
}

/// A short run of some operations.
fn sweep(server: &KernelServer, version: &str) -> Sweep {
    let sweep = match version {
        "3" => Sweep::inside(server.sandbox(), server.export()),
        _ => nfs41::sweep(server.sandbox(), server.export(), version),
    };
    sweep
        .set("NFS_VERSION", version)
        .set("LOAD", 50)
        .set("PROCS", 4)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 2)
        .set("VERIFY", "on")
}

/// Runs a script on the server that must succeed; returns its output.
#[track_caller]
fn run(server: &mut KernelServer, script: &str) -> String {
    let done = server.run(script, LIMIT).expect("the script runs");
    assert_eq!(done.status, 0, "{script}\n{}", done.output);
    done.output.trim().to_owned()
}

/// The clients of version 4 that the server knows, each with what it knows of it. Those of version 4.0 stay until
/// their leases expire: they count only if something is open or locked under them. Linux 6.12 also lists what is closed.
#[track_caller]
pub fn clients(server: &mut KernelServer) -> String {
    run(
        server,
        "for client in /proc/fs/nfsd/clients/*/; do \
             info=$(cat $client/info) && states=$(cat $client/states) || continue; \
             open=$(echo \"$states\" | grep -v ', closed,'); \
             case $info in *'minor version: 0'*) [ \"$open\" ] || continue;; esac; \
             echo \"$client $info $states\"; \
         done 2>/dev/null; true",
    )
}

/// Asserts that a run is complete and without errors, whatever its rate, and left neither files nor clients.
#[track_caller]
fn assert_sound(server: &mut KernelServer, ended: &Ended) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert!(stats.success_count() > 0);
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        for name in ["bad_replies", "stale_replies", "verify_errors"] {
            let count = stats.counters.get(name).copied().unwrap_or(0);
            assert_eq!(count, 0, "{name}: {:?}", stats.counters);
        }
    }
    assert_eq!(clients(server), "");
    assert_eq!(run(server, "ls -A"), "");
}

/// A user's tickets in a realm.
struct Tickets {
    kdc: Kdc,
    cache: String,
}

impl Tickets {
    fn start(sandbox: &Arc<Sandbox>) -> Option<Tickets> {
        let kdc = available(Kdc::start_in(sandbox))?;
        let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).expect("a ticket");
        Some(Tickets { kdc, cache })
    }

    fn show(&self, sweep: Sweep, security: &str) -> Sweep {
        let (name, value) = self.kdc.environment();
        sweep
            .set("SECURITY", security)
            .env(name, value)
            .env("KRB5CCNAME", &self.cache)
    }
}

#[test]
fn a_kernels_server_with_kerberos_is_measured_in_all_three_ways() {
    let _turn = beside_others();
    for kernel in Kernel::present() {
        let Some(sandbox) = available(Sandbox::new()) else {
            return;
        };
        let Some(tickets) = Tickets::start(&sandbox) else {
            return;
        };
        let security = KernelSecurity {
            kerberos: Some((&tickets.kdc, KerberosExport::AllWays)),
            ..KernelSecurity::default()
        };
        let Some(mut server) = secured(&sandbox, kernel, security) else {
            return;
        };
        for version in ["3", "4.0", "4.1", "4.2"] {
            for way in WAYS {
                let ended = tickets.show(sweep(&server, version), way).run();
                assert_sound(&mut server, &ended);
                let record = ended.record();
                let plan = NfsPlan::of(&record.run.plan.driver).expect("NFS");
                assert_eq!(plan.security.name(), way);
            }
        }
        // Without a ticket the export is refused.
        let refused = sweep(&server, "4.2").run();
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        refused.assert_sentence(&["SECURITY"]);
    }
}

/// The certificates of a server and of a client, and the authority that signed both.
pub struct Certificates {
    authority: Authority,
    pub server: TlshdFiles,
    client: CertifiedFiles,
    _dir: TempDir,
}

impl Certificates {
    pub fn new() -> Certificates {
        let dir = TempDir::new().expect("a directory");
        let authority = Authority::new(dir.path(), "ca").expect("written");
        let names = TlshdFiles::names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let own = authority.sign("server", &names).expect("written");
        let client = authority.sign("client", &["client.test"]).expect("written");
        let server = TlshdFiles {
            certificate: own.certificate,
            key: own.key,
            authorities: authority.file().to_owned(),
        };
        Certificates {
            authority,
            server,
            client,
            _dir: dir,
        }
    }

    /// The files of the client, for tlshd.
    pub fn as_client(&self) -> TlshdFiles {
        TlshdFiles {
            certificate: self.client.certificate.clone(),
            key: self.client.key.clone(),
            authorities: self.authority.file().to_owned(),
        }
    }

    /// `TLS=on` or `mtls`. A server with 1.5 GiB closes the connection of a fourth handshake at a time.
    fn show(&self, sweep: Sweep, tls: &str) -> Sweep {
        let sweep = sweep
            .set("CONNECTIONS", 2)
            .set("TLS", tls)
            .set("TLS_CA", self.authority.file().display());
        match tls {
            "mtls" => sweep
                .set("TLS_CERT", self.client.certificate.display())
                .set("TLS_KEY", self.client.key.display()),
            _ => sweep,
        }
    }
}

/// The TLS sessions that a kernel has had with its own ciphers, from both directions of each.
fn tls_sessions(server: &mut KernelServer) -> u64 {
    let lines = run(server, "cat /proc/net/tls_stat");
    let count = |line: &str| line.strip_prefix("TlsRxSw")?.trim().parse().ok();
    lines.lines().find_map(count).expect("a count of sessions")
}

/// Linux 6.1 is built without it.
#[test]
fn a_kernels_server_with_tls_is_measured_with_and_without_a_certificate() {
    let _turn = beside_others();
    if !Kernel::V612.is_present() {
        return;
    }
    let certificates = Certificates::new();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let security = KernelSecurity {
        tls: Some(&certificates.server),
        ..KernelSecurity::default()
    };
    let Some(mut server) = secured(&sandbox, Kernel::V612, security) else {
        return;
    };
    for version in ["3", "4.0", "4.1", "4.2"] {
        for tls in ["on", "mtls"] {
            let before = tls_sessions(&mut server);
            let ended = certificates.show(sweep(&server, version), tls).run();
            assert_sound(&mut server, &ended);
            let sessions = tls_sessions(&mut server) - before;
            assert!(sessions >= 2, "{version} {tls}: {sessions}");
            assert_recorded(&ended, tls);
        }
    }
    let refused = sweep(&server, "4.2").run();
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    refused.assert_sentence(&["TLS=on"]);
}

#[track_caller]
fn assert_recorded(ended: &Ended, tls: &str) {
    let record = std::fs::read_to_string(ended.path("s.run.jsonl")).expect("the record");
    for part in ["TLS 1.3 with ", &format!("TLS={tls}")] {
        assert!(record.contains(part), "no {part}");
    }
}

/// Contexts are established over TLS, and calls are encrypted twice.
#[test]
fn a_kernels_server_with_tls_and_kerberos_is_measured() {
    let _turn = beside_others();
    if !Kernel::V612.is_present() {
        return;
    }
    let certificates = Certificates::new();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(tickets) = Tickets::start(&sandbox) else {
        return;
    };
    let security = KernelSecurity {
        kerberos: Some((&tickets.kdc, KerberosExport::PrivacyOnly)),
        tls: Some(&certificates.server),
    };
    let Some(mut server) = secured(&sandbox, Kernel::V612, security) else {
        return;
    };
    for version in ["3", "4.0", "4.2"] {
        for tls in ["on", "mtls"] {
            let before = tls_sessions(&mut server);
            let sweep = certificates.show(sweep(&server, version), tls);
            let ended = tickets.show(sweep, "krb5p").run();
            assert_sound(&mut server, &ended);
            assert!(tls_sessions(&mut server) - before >= 2);
            assert_recorded(&ended, tls);
            let record = ended.record();
            let plan = NfsPlan::of(&record.run.plan.driver).expect("NFS");
            assert_eq!(plan.security.name(), "krb5p");
        }
    }
    // Each of the two alone is refused.
    let in_the_clear = tickets.show(sweep(&server, "4.2"), "krb5p").run();
    assert_eq!(in_the_clear.code, 1, "{}", in_the_clear.stderr);
    let without_ticket = certificates.show(sweep(&server, "4.2"), "on").run();
    assert_eq!(without_ticket.code, 1, "{}", without_ticket.stderr);
}

/// The server is its own data server: all transfers of the load are calls of NFSv3.
#[test]
fn a_kernels_server_with_layouts_is_measured_as_data_server() {
    let _turn = beside_others();
    if !Kernel::V612.is_present() {
        return;
    }
    let Some(mut server) = server(Kernel::V612) else {
        return;
    };
    run(
        &mut server,
        "exportfs -o rw,no_root_squash,insecure,fsid=0,sync,no_subtree_check,pnfs '*:/srv/export'",
    );
    for version in ["4.1", "4.2"] {
        let ended = sweep(&server, version).set("LAYOUTS", "use").run();
        assert_sound(&mut server, &ended);
        for (all, own) in [
            ("READ", "data_server_reads"),
            ("WRITE", "data_server_writes"),
            ("COMMIT", "data_server_commits"),
        ] {
            assert!(ended.counter(all) > 0, "{all}");
            assert_eq!(ended.counter(all), ended.counter(own), "{all}");
        }
        let address = server.export().address;
        let each = format!("READ to {address}:{}", server.export().nfs_port);
        assert_eq!(ended.counter(&each), ended.counter("READ"));
        for never in [
            "layouts_refused",
            "layouts_unusable",
            "layouts_lost",
            "data_servers_gone",
            "data_server_errors",
            "verifier_changes",
        ] {
            assert_eq!(ended.counter(never), 0, "{never}");
        }
        assert!(ended.counter("checked_bytes") > 0);
        let record = ended.record();
        let plan = NfsPlan::of(&record.run.plan.driver).expect("NFS");
        assert_eq!(plan.layouts, LayoutUse::Use);
    }
}

/// Starts a run of 4 procs over a version and waits for its RUN.
fn started(server: &KernelServer, version: &str, runtime: u32) -> Started {
    let sweep = sweep(server, version)
        .set("LOAD", 100)
        .set("RUNTIME", runtime);
    let mut started = sweep.start();
    started.wait_for("op/s RUN");
    started
}

/// As an administrator does who wants to get rid of a client: everything that it holds is gone.
#[test]
fn clients_that_a_kernels_server_expires_during_run_begin_again() {
    let _turn = beside_others();
    for kernel in Kernel::present() {
        let Some(mut server) = server(kernel) else {
            return;
        };
        for version in ["4.0", "4.1", "4.2"] {
            let started = started(&server, version, 6);
            // Some files are open by then.
            std::thread::sleep(Duration::from_secs(1));
            let expired = run(
                &mut server,
                "for client in /proc/fs/nfsd/clients/*/ctl; do echo expire >$client && echo $client; done",
            );
            let ended = started.wait();
            assert_sound(&mut server, &ended);
            let clients = expired.lines().count() as u64;
            println!("{} {version}: {clients} expired", kernel.name());
            let lost = ended.counter("lost_clients");
            // The run's own connections, beside those of its load, may be idle.
            assert!((4..=clients).contains(&lost), "{lost} of {clients}");
            assert!(ended.counter("lost_opens") > 0, "{}", ended.stderr);
        }
    }
}

/// The server's threads end and are started again: it has forgotten all clients, and has a grace period in
/// which it lets no file be opened.
#[test]
fn a_kernels_server_that_restarts_during_run_is_waited_for() {
    let _turn = beside_others();
    for kernel in Kernel::present() {
        let Some(mut server) = server(kernel) else {
            return;
        };
        for version in ["4.0", "4.1", "4.2"] {
            let started = started(&server, version, 15);
            run(&mut server, "sleep 1; rpc.nfsd 0 && rpc.nfsd 4");
            let ended = started.wait();
            assert_sound(&mut server, &ended);
            for name in ["reconnects", "lost_clients", "lost_opens", "grace_waits"] {
                let count = ended.counter(name);
                println!("{} {version} {name}: {count}", kernel.name());
                assert!(count > 0, "{name}: {}", ended.stderr);
            }
        }
    }
}

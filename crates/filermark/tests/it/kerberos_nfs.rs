//! NFS with Kerberos (RPCSEC_GSS, RFC 2203) against nfs-ganesha and MIT's KDC: figures, what goes over the
//! wire, contexts that the server loses, and messages.

use crate::load_guard::beside_others;
use crate::sweep::{Ended, Sweep};
use filermark_model::plan::NfsPlan;
use filermark_testbed::{
    Capture, Direction, Fsal, Ganesha, Kdc, KerberosExport, NfsProxy, ProxiedMessage, ProxyAction,
    Samba, Sandbox, ServerOptions, available,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NFS4: ServerOptions = ServerOptions {
    nfs4: true,
    udp: false,
    read_only: false,
    root_squash: false,
    space_mib: None,
};

const VERSIONS: [&str; 3] = ["3", "4.0", "4.1"];
/// The values of SECURITY, and the numbers of their services (RFC 2203 section 5).
const WAYS: [(&str, &str); 3] = [("krb5", "1"), ("krb5i", "2"), ("krb5p", "3")];

/// A realm, a server in it, and a user's tickets.
struct Rig {
    sandbox: Arc<Sandbox>,
    kdc: Kdc,
    ganesha: Ganesha,
    cache: String,
}

impl Rig {
    /// `None`: the test is skipped.
    fn start(accepts: KerberosExport) -> Option<Rig> {
        let sandbox = available(Sandbox::new())?;
        let kdc = available(Kdc::start_in(&sandbox))?;
        let ganesha = Ganesha::start_kerberos(&kdc, Fsal::Vfs, NFS4, accepts);
        let ganesha = available(ganesha)?;
        // The server does not know the user, who has no rights there.
        let files = ganesha.files().expect("files of its own");
        open_to_all(&files);
        let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).expect("a ticket");
        Some(Rig {
            sandbox,
            kdc,
            ganesha,
            cache,
        })
    }

    /// A short run over a version of NFS, with the tickets of the cache.
    fn sweep(&self, version: &str, security: &str) -> Sweep {
        let (name, value) = self.kdc.environment();
        let mut export = self.ganesha.export().clone();
        if version != "3" {
            export.path = export.path_v4.clone().expect("it serves version 4");
        }
        let sweep = Sweep::inside(&self.sandbox, &export);
        let sweep = match version {
            "3" => sweep,
            _ => sweep.unset("MOUNT_PORT"),
        };
        sweep
            .set("MNT_POINTS", format!("{}:{}", Kdc::NFS_HOST, export.path))
            .set("NFS_VERSION", version)
            .set("SECURITY", security)
            .set("LOAD", 50)
            .set("PROCS", 4)
            .set("WARMUP_TIME", 1)
            .set("RUNTIME", 3)
            .set("VERIFY", "on")
            .env(name, value)
            .env("KRB5CCNAME", &self.cache)
    }

    /// A run whose tickets are in the memory of each process, from a key table: what is established again is so with
    /// new tickets.
    fn by_key_table(&self, sweep: Sweep) -> Sweep {
        sweep
            .set("USERNAME", Samba::USER)
            .set("DOMAIN", Kdc::REALM)
            .env("KRB5CCNAME", "MEMORY:filermark")
            .env("KRB5_CLIENT_KTNAME", self.kdc.user_keytab(Samba::USER))
    }

    /// The same through a proxy in front of the NFS program.
    fn through(
        &self,
        version: &str,
        security: &str,
        script: impl FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send + 'static,
    ) -> (Sweep, NfsProxy) {
        let server = self.ganesha.export().nfs();
        let proxy = self.sandbox.run(move || NfsProxy::start(server, script));
        let proxy = proxy.expect("a proxy");
        let sweep = self.sweep(version, security);
        (sweep.set("NFS_PORT", proxy.address().port()), proxy)
    }
}

fn open_to_all(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(dir, mode).expect("chmod");
}

/// Asserts that a run is complete and without errors, whatever its rate.
#[track_caller]
fn assert_sound(ended: &Ended) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        for name in [
            "bad_replies",
            "stale_replies",
            "verify_errors",
            "context_failures",
        ] {
            let count = stats.counters.get(name).copied().unwrap_or(0);
            assert_eq!(count, 0, "{name}: {:?}", stats.counters);
        }
    }
}

/// The settings of the driver, as the record has them.
fn nfs_plan(ended: &Ended) -> NfsPlan {
    let record = ended.record();
    NfsPlan::of(&record.run.plan.driver).expect("NFS").clone()
}

fn words(message: &[u8]) -> Vec<u32> {
    let words = message.chunks_exact(4).take(12);
    words
        .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
        .collect()
}

/// Whether a message is a call of the program inside of a context: flavor 6, version 1, RPCSEC_GSS_DATA.
fn is_data_call(received: &ProxiedMessage<'_>) -> bool {
    gss_procedure(received) == Some(0)
}

/// The procedure of RPCSEC_GSS of a call (RFC 2203 section 5.2.1); `None`: it has another flavor.
fn gss_procedure(received: &ProxiedMessage<'_>) -> Option<u32> {
    let words = words(received.message);
    let is_protected =
        received.way == Direction::ToServer && words.get(1) == Some(&0) && words.get(6) == Some(&6);
    words.get(9).copied().filter(|_| is_protected)
}

/// MSG_DENIED with AUTH_ERROR and this `auth_stat`.
fn denial(call: &[u8], stat: u32) -> Vec<u8> {
    let xid = words(call)[0];
    [xid, 1, 1, 1, stat]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

#[test]
fn both_versions_are_measured_in_all_three_ways() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::AllWays) else {
        return;
    };
    let ports = [rig.ganesha.export().nfs_port];
    let capture = Capture::start(&rig.sandbox, rig.ganesha.interface(), &ports);
    let Some(capture) = available(capture) else {
        return;
    };
    for version in VERSIONS {
        for (security, _) in WAYS {
            let ended = rig.sweep(version, security).into_rc().run();
            assert_sound(&ended);
            assert_eq!(nfs_plan(&ended).security.name(), security);
        }
    }
    assert_eq!(
        std::fs::read_dir(rig.ganesha.files().expect("files"))
            .expect("list")
            .count(),
        0
    );
    let pcap = capture.stop().expect("a capture");
    let count = |filter: &str| {
        let lines = pcap.tshark(&["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        lines.expect("tshark").lines().count()
    };
    assert_eq!(count("_ws.malformed"), 0);
    for (security, service) in WAYS {
        let of = |procedure: u32| {
            count(&format!(
                "rpc.msgtyp == 0 && rpc.authgss.procedure == {procedure} && rpc.authgss.service == {service}"
            ))
        };
        // Every context that was begun was ended.
        let (begun, ended) = (of(1), of(3));
        assert!(
            begun > 0 && begun == ended,
            "{security}: {begun} begun, {ended} ended"
        );
        assert!(of(0) > 100, "{security}");
    }
    // NFS is never called without protection.
    assert_eq!(
        count("rpc.msgtyp == 0 && rpc.program == 100003 && rpc.auth.flavor == 1"),
        0
    );
}

/// The KDC gives tickets that are shorter than the run: contexts are established again before that, with new tickets,
/// as long as the run lasts. No call fails, and none is refused by the server.
#[test]
fn contexts_are_replaced_before_their_tickets_expire() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::AllWays) else {
        return;
    };
    let limited = rig.kdc.limit_tickets(Samba::USER, 8);
    limited.expect("the KDC takes it");
    for (version, security) in [("3", "krb5"), ("4.1", "krb5p")] {
        let sweep = rig.sweep(version, security).set("RUNTIME", 20);
        let ended = rig.by_key_table(sweep).run();
        assert_sound(&ended);
        // One shard at least, each with two of them at least: after 6 s, and after 12 s.
        assert!(ended.counter("new_contexts") > 1, "{}", ended.stderr);
    }
}

#[test]
fn contexts_that_the_server_loses_are_replaced_with_new_tickets() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::AllWays) else {
        return;
    };
    for (version, security, stat) in [("3", "krb5i", 13), ("4.1", "krb5p", 14)] {
        let mut calls = 0;
        let (sweep, _proxy) = rig.through(version, security, move |received| {
            calls += u32::from(is_data_call(received));
            // Not each time the same call of a connection.
            match is_data_call(received) && calls % 97 == 0 {
                true => vec![ProxyAction::Back(denial(received.message, stat))],
                false => vec![ProxyAction::Send(received.message.to_vec())],
            }
        });
        let ended = rig.by_key_table(sweep).run();
        assert_sound(&ended);
        assert!(ended.counter("new_contexts") > 0, "{}", ended.stderr);
    }
}

/// As Linux does while the program that checks tickets is slow.
#[test]
fn a_server_that_closes_connections_instead_of_creating_contexts_is_asked_again() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::AllWays) else {
        return;
    };
    let mut creations = 0;
    let (sweep, _proxy) = rig.through("4.1", "krb5i", move |received| {
        let is_creation = gss_procedure(received) == Some(1);
        creations += u32::from(is_creation);
        match is_creation && creations <= 2 {
            true => vec![ProxyAction::Close],
            false => vec![ProxyAction::Send(received.message.to_vec())],
        }
    });
    assert_sound(&rig.by_key_table(sweep).run());
}

#[test]
fn replies_whose_signature_is_wrong_are_not_believed() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::AllWays) else {
        return;
    };
    let is_running = Arc::new(AtomicBool::new(false));
    let (mut replies, mut damaged) = (0, 0);
    let flag = Arc::clone(&is_running);
    let (sweep, _proxy) = rig.through("3", "krb5", move |received| {
        let mut message = received.message.to_vec();
        let words = words(&message);
        let is_reply = received.way == Direction::ToClient && words.get(3) == Some(&6);
        replies += u32::from(is_reply && flag.load(Ordering::Relaxed));
        // The last byte of the verifier, which begins with flavor and length.
        let end = 20 + words.get(4).copied().unwrap_or_default() as usize;
        if is_reply
            && replies % 50 == 49
            && damaged < 3
            && let Some(byte) = message.get_mut(end - 1)
        {
            *byte ^= 1;
            damaged += 1;
            replies += 1;
        }
        vec![ProxyAction::Send(message)]
    });
    let mut started = sweep.set("RUNTIME", 10).start();
    // Before that, a bad reply ends the run.
    started.wait_for("op/s RUN");
    is_running.store(true, Ordering::Relaxed);
    let ended = started.wait();
    let count = ended.counter("bad_replies");
    let errors = ended.point(1).stats.expect("figures").error_count();
    assert!(
        count > 0 && errors == count,
        "{count}, {errors}: {}",
        ended.stderr
    );
}

/// The message of a run that cannot begin.
#[track_caller]
fn sentence(sweep: &Sweep) -> String {
    let ended = sweep.run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.sentences().join("\n")
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let _turn = beside_others();
    let Some(rig) = Rig::start(KerberosExport::PrivacyOnly) else {
        return;
    };
    let nowhere = "FILE:/nonexistent/cache";
    let broken = rig.sandbox.dir().join("broken-krb5.conf");
    let (name, value) = rig.kdc.environment();
    let text = std::fs::read_to_string(value).expect("krb5.conf");
    // Port 9 of the sandbox has no listener.
    std::fs::write(&broken, text.replace("127.0.0.1:10088", "127.0.0.1:9")).expect("written");
    let keytab = rig.kdc.user_keytab(Samba::USER);
    let from_keytab = |sweep: Sweep| {
        sweep
            .set("USERNAME", Samba::USER)
            .env("KRB5CCNAME", "MEMORY:filermark")
            .env("KRB5_CLIENT_KTNAME", &keytab)
    };
    for version in VERSIONS {
        let privately = || rig.sweep(version, "krb5p");
        let path = nfs_path(&rig, version);
        let cases = [
            (
                privately().env("KRB5CCNAME", nowhere),
                "no ticket for the caller",
                "kinit",
            ),
            (
                privately()
                    .set("USERNAME", "unknown")
                    .set("DOMAIN", Kdc::REALM),
                "no ticket for unknown@TESTBED.EXAMPLE",
                "USERNAME and DOMAIN",
            ),
            (
                from_keytab(privately()).set("DOMAIN", "OTHER.EXAMPLE"),
                "no ticket for alice@OTHER.EXAMPLE",
                "DOMAIN (the realm)",
            ),
            (
                privately().set("MNT_POINTS", format!("127.0.0.1:{path}")),
                "nfs/127.0.0.1",
                "tickets are issued for names",
            ),
            (
                from_keytab(privately()).env(name, &broken),
                "Cannot contact any KDC",
                "check that the KDC runs",
            ),
            (rig.sweep(version, "sys"), REFUSALS, "sec=sys"),
            (
                rig.sweep(version, "krb5"),
                REFUSALS,
                "sec=krb5, or set SECURITY",
            ),
        ];
        for (sweep, what, advice) in cases {
            let message = sentence(&sweep);
            let is_named = match what {
                REFUSALS => message.contains("accepts only krb5p") || message.contains("WRONGSEC"),
                what => message.contains(what),
            };
            assert!(
                is_named && message.contains(advice),
                "{version} {what}: {message}"
            );
        }
    }
}

/// Either refusal of a flavor: that of version 3 or that of version 4.
const REFUSALS: &str = "refusals";

fn nfs_path(rig: &Rig, version: &str) -> String {
    let export = rig.ganesha.export();
    match version {
        "3" => export.path.clone(),
        _ => export.path_v4.clone().expect("it serves version 4"),
    }
}

/// A server without Kerberos, which is asked for it.
#[test]
fn a_server_without_kerberos_is_refused() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(kdc) = available(Kdc::start_in(&sandbox)) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, NFS4)) else {
        return;
    };
    let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).expect("a ticket");
    let rig = Rig {
        sandbox,
        kdc,
        ganesha,
        cache,
    };
    let message = sentence(&rig.sweep("3", "krb5"));
    assert!(
        message.contains("the export accepts only AUTH_SYS"),
        "{message}"
    );
    assert!(message.contains("set SECURITY"), "{message}");
    let message = sentence(&rig.sweep("4.1", "krb5"));
    assert!(message.contains("refuses RPCSEC_GSS"), "{message}");
    assert!(message.contains("SECURITY=sys"), "{message}");
}

//! RPC-with-TLS in rc files.

use crate::{LEAST, bad, good};
use filermark_model::Rule;
use filermark_model::plan::{DriverPlan, TlsPlan};
use std::path::Path;

const CA: &str = "TLS_CA=/etc/tls/ca.pem\n";

fn tls(more: &str) -> Option<TlsPlan> {
    match good(&format!("{LEAST}{more}"), &[]).plan.driver {
        DriverPlan::Nfs(nfs) => nfs.tls,
        other => panic!("{other:?}"),
    }
}

fn errors(more: &str) -> String {
    bad(Path::new("/nowhere"), &format!("{LEAST}{more}"), &[]).join("\n")
}

#[test]
fn the_settings_of_tls() {
    assert_eq!(tls(""), None);
    assert_eq!(tls("TLS=off\n"), None);
    let on = tls(&format!("TLS=on\n{CA}")).expect("on");
    assert_eq!(on.authorities, "/etc/tls/ca.pem");
    assert_eq!((on.own, on.server_name), (None, None));
    let mutual = format!(
        "TLS=mtls\n{CA}TLS_CERT=C:\\\\tls\\\\c.pem\nTLS_KEY=/k.pem\nTLS_NAME=nas.test\nNFS_VERSION=4.1\n"
    );
    let mutual = tls(&mutual).expect("on");
    let own = mutual.own.expect("a certificate");
    assert!(own.certificate.starts_with("C:"), "{own:?}");
    assert_eq!(own.key, "/k.pem");
    assert_eq!(mutual.server_name.as_deref(), Some("nas.test"));
}

#[test]
fn tls_is_not_standard() {
    let resolved = good(&format!("{LEAST}TLS=on\n{CA}"), &[]);
    let found = resolved.plan.findings.iter();
    let mut found = found.filter(|f| f.rule == Rule::NotStandard);
    assert!(found.any(|f| f.message.contains("TLS=on")));
}

#[test]
fn what_does_not_fit_is_refused() {
    for (more, part) in [
        ("TLS=on\n", "TLS needs TLS_CA"),
        ("TLS=yes\n", "choose one of: off, on, mtls"),
        (
            "TLS=on\nTLS_CA=ca.pem\n",
            "TLS_CA=ca.pem is not an absolute path; each client reads",
        ),
        ("TLS_CA=/ca.pem\n", "TLS_CA has no effect without TLS"),
        (
            "TLS=on\nTLS_CA=/c\nTLS_KEY=/k\n",
            "TLS_KEY is for mutual TLS alone",
        ),
        ("TLS=mtls\nTLS_CA=/c\nTLS_KEY=/k\n", "TLS needs TLS_CERT"),
        (
            "TLS=on\nTLS_CA=/c\nTCP=off\n",
            "TLS protects connections, and UDP has none",
        ),
    ] {
        let text = errors(more);
        assert!(text.contains(part), "{more}: {text}");
    }
}

#[test]
fn a_realm_needs_the_user_of_it() {
    let text = errors("SECURITY=krb5p\nDOMAIN=LAB.EXAMPLE\n");
    let part = "DOMAIN=LAB.EXAMPLE has no effect without USERNAME; set USERNAME";
    assert!(text.contains(part), "{text}");
    good(
        &format!("{LEAST}SECURITY=krb5p\nUSERNAME=bench\nDOMAIN=LAB.EXAMPLE\n"),
        &[],
    );
}

#[test]
fn other_protocols_refuse_it() {
    let smb = "FS_PROTOCOL=smb\nLOAD=80\nNUM_RUNS=10\nPROCS=8\nMNT_POINTS=\"\\\\srv\\share\"\n\
               USERNAME=me\nPASSWORD=x\nTLS=on\n";
    let text = bad(Path::new("/nowhere"), smb, &[]).join("\n");
    assert!(text.contains("SMB_ENCRYPTION=required"), "{text}");
}

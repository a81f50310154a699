//! `validate` against Samba, from the command line.

use super::{ProtocolCase, assert_empty, assert_secret, samba, sweep};
use crate::load_guard::beside_others;
use filermark_testbed::{Samba, SambaOptions};
use serde_json::Value;
use std::collections::BTreeSet;

fn of_checks<'j>(json: &'j Value, what: &str) -> BTreeSet<&'j str> {
    let checks = json["mounts"][0]["checks"].as_array().expect("checks");
    checks.iter().filter_map(|c| c[what].as_str()).collect()
}

#[test]
fn samba_passes_and_is_left_as_it_was() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for (case, dialect) in [(ProtocolCase::Smb1, "NT1"), (ProtocolCase::Smb311, "3.1.1")] {
        let run = sweep(&samba, Samba::DATA, case).command("validate");
        let ended = run.arg("--json").run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let json = ended.json();
        assert_eq!(of_checks(&json, "dialect"), BTreeSet::from([dialect]));
        assert!(!of_checks(&json, "verdict").contains("fail"));
        assert!(of_checks(&json, "procedure").len() >= 15, "{json}");
        let text = ended.file("sfsval");
        assert!(text.contains("SMB protocol validation of"), "{text}");
        assert!(
            text.contains(&format!("pass  {dialect:<5}  LOCK ")),
            "{text}"
        );
        assert_secret(&ended);
        assert_empty(&samba, Samba::DATA);
    }
}

#[test]
fn a_share_that_is_not_there_or_not_to_be_written_to_is_reported() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for (share, word) in [
        ("missing", "BAD_NETWORK_NAME"),
        (Samba::READ_ONLY, "read-only"),
    ] {
        let run = sweep(&samba, share, ProtocolCase::Smb311).command("validate");
        let ended = run.run();
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
        assert!(ended.file("sfsval").contains("not validated"));
        assert_secret(&ended);
    }
    // The mount points that follow are still validated.
    let mounts = ["missing", Samba::DATA].map(|share| samba.mount_point(share));
    let run = sweep(&samba, "missing", ProtocolCase::Smb311).command("validate");
    let run = run.set("MNT_POINTS", mounts.join(" ")).set("PROCS", 2);
    let ended = run.arg("--json").run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let json = ended.json();
    assert_eq!(
        json["mounts"].as_array().expect("mounts").len(),
        1,
        "{json}"
    );
    assert_eq!(json["mounts"][0]["success"], true, "{json}");
    assert_empty(&samba, Samba::DATA);
}

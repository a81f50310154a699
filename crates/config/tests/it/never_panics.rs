//! Arbitrary text gives a plan or messages, never a panic.

use crate::sources;
use filermark_config::mixfile::{MIXFILE_HEADER, parse_mixfile};
use filermark_config::netmist::parse_tokens;
use filermark_config::{Parameter, rc};
use filermark_config::{blockfile, explain, mounts, parse_debug, resolve};
use filermark_model::benchmark::Protocol;
use proptest::prelude::*;
use std::path::Path;

/// Text that looks enough like an rc file to get far.
fn rc_like() -> impl Strategy<Value = String> {
    let names: Vec<&str> = Parameter::all().map(|p| p.name).collect();
    let values = prop_oneof![
        "[ -~]{0,20}",
        "[0-9]{1,20}",
        "\"[a-z0-9:/\\[\\] \n]{0,30}\"",
        Just("\"srv:/export\"".to_owned()),
        Just("\"c[1-30] d[01-09],e\"".to_owned()),
        Just("\"c[1-30]:/mnt [::1]:/mnt\"".to_owned()),
        Just("slurm".to_owned()),
        Just(r#""\\srv\share //srv/share/d""#.to_owned()),
        Just("2.1-3.1.1".to_owned()),
        Just("aes-128-gcm".to_owned()),
        Just("on".to_owned()),
        "\\PC{0,10}",
    ];
    let line = (proptest::sample::select(names), values).prop_map(|(n, v)| format!("{n}={v}\n"));
    proptest::collection::vec(line, 0..30).prop_map(|lines| lines.concat())
}

/// Text that looks enough like a token file to get far.
fn tokens_like() -> impl Strategy<Value = String> {
    let keys = [
        "Clientname",
        "Username",
        "Execpath",
        "Workdir",
        "Workload",
        "Oprate",
        "Instances",
        "Password",
        "Usernam",
    ];
    let values = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,6}",
        Just("/x".to_owned()),
        Just("c[1-30]".to_owned()),
        Just("c[1-9999999]".to_owned()),
        Just("\"a b".to_owned())
    ];
    let word = (
        proptest::sample::select(keys.to_vec()),
        "[ =#\n\t]{0,3}",
        values,
    )
        .prop_map(|(key, between, value)| format!("{key}{between}{value} "));
    proptest::collection::vec(word, 0..20).prop_map(|words| words.concat())
}

fn check(text: &str) {
    match resolve(&sources(Path::new("/nowhere"), text, &[])) {
        Ok(resolved) => assert!(explain(&resolved).contains("not a SPEC result")),
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                let said = error.to_string();
                assert!(!said.chars().any(char::is_control), "{said:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn on_any_text(text in "(?s).{0,300}") {
        check(&text);
        let _ = rc::parse_rc("rc", &text);
        for protocol in [Protocol::Nfs3, Protocol::Smb1] {
            let _ = parse_mixfile("mix", &text, protocol);
            let _ = parse_mixfile("mix", &format!("{MIXFILE_HEADER}\n{text}"), protocol);
        }
        let _ = blockfile::parse_blockfile("blocks", &text);
        let _ = mounts::parse_mount(&text);
        for start in ["", "\\\\", "//", "smb://", "\\\\[", "smb://["] {
            if let Ok(word) = mounts::parse_share(&format!("{start}{text}")) {
                assert!(word.mount.is_share());
                // What is shown is read again as the same, up to blanks, which lists cannot have.
                let again = mounts::parse_share(&word.mount.to_string()).unwrap();
                assert_eq!(again.mount, word.mount);
            }
        }
        let _ = parse_debug(&text);
        let _ = parse_tokens("t", &text);
    }

    #[test]
    fn on_text_like_an_rc_file_of_2014(text in rc_like()) {
        check(&format!(
            "BENCHMARK=VDA\nLOAD=3\nCLIENT_MOUNTPOINTS=localhost:/mnt\n{text}"
        ));
    }

    #[test]
    fn on_text_like_a_token_file(text in tokens_like()) {
        match parse_tokens("t", &text) {
            Ok(lines) => assert!(lines.iter().all(|l| l.instances > 0)),
            Err(errors) => {
                assert!((1..=50).contains(&errors.len()));
                let controls = |e: &filermark_config::ConfigError| e.to_string().chars().any(char::is_control);
                assert!(!errors.iter().any(controls), "{errors:?}");
            }
        }
    }

    #[test]
    fn on_text_like_an_rc_file_of_smb(text in rc_like()) {
        check(&format!(
            "FS_PROTOCOL=smb\nLOAD=100\nPROCS=4\nMNT_POINTS=//s/x\nUSERNAME=a\nPASSWORD=b\n{text}"
        ));
    }

    #[test]
    fn on_text_like_an_rc_file(text in rc_like()) {
        check(&format!("LOAD=100\nPROCS=4\nMNT_POINTS=\"srv:/export\"\n{text}"));
    }

    #[test]
    fn requested_is_whole_per_proc_and_never_above_what_was_asked(
        load in 1u64..2_000_000, procs in 1u64..3_000,
    ) {
        let rc = format!("LOAD={load}\nPROCS={procs}\nMNT_POINTS=\"srv:/export\"\n");
        match resolve(&sources(Path::new("/nowhere"), &rc, &[])) {
            Ok(r) => {
                let p = r.plan.points[0];
                prop_assert_eq!(p.requested.0 % procs as f64, 0.0);
                prop_assert!(p.requested.0 <= p.asked.0);
                prop_assert!(p.asked.0 - p.requested.0 < procs as f64);
            }
            Err(_) => prop_assert!(load < procs),
        }
    }
}

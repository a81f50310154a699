//! Arbitrary text gives a plan or messages, never a panic.

use crate::sources;
use filermark_config::mixfile::{MIXFILE_HEADER, parse_mixfile, read_mix};
use filermark_config::netmist::parse_tokens;
use filermark_config::nfsstat::{mix_file, read_statistics};
use filermark_config::{Parameter, rc};
use filermark_config::{blockfile, explain, mounts, parse_debug, resolve};
use filermark_model::Op;
use filermark_model::benchmark::Protocol;
use proptest::prelude::*;
use std::path::Path;

/// Text that is similar to an rc file, to reach deeper code.
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

/// Text that is similar to a token file, to reach deeper code.
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

/// Text that is similar to a server's statistics, to reach deeper code.
fn statistics_like() -> impl Strategy<Value = String> {
    let lines = [
        "Server nfs v3:",
        "Server nfs v4 operations:",
        "Client nfs v3:",
        "Version 2: (3 calls)",
        "Server nfs:",
        "Server Info:",
        "calls badcalls",
        "null getattr setattr root lookup",
        "access commit open read write",
        "1 2 3 4 5",
        "0 0% 1 1% 2 2% 3 3% 9999999999 99%",
        "18446744073709551615 18446744073709551615 1 1 1",
        "-1 0 0 0 0",
        "proc3 22 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22",
        "proc2 18 1",
        "proc4 2 1 18446744073709551615",
        "proc4ops 5 1 2 3 4 18446744073709551615",
        "rpc 1 2 3",
        "nfs v3 server getattr: 18446744073709551615",
        "nfs v4 servop open: 7",
        "NFSv3:",
        "GETATTR : 12",
        "NFSv3 Detailed statistics",
        "READ 1 2 3 | 1.0 2.0 3.0",
        "node_nfsd_requests_total{method=\"Read\",proto=\"3\"} 1e9",
        "node_nfsd_requests_total{method=\"Read\",proto=\"3\"} NaN",
        "node_nfsd_requests_total{proto=\"9\"} 1",
        "read 10",
        "write: 18446744073709551615",
        "root=3",
        "{\"NFSv3\": {\"READ\": 3, \"WRITE\": -1}}",
    ];
    let line = prop_oneof![
        8 => proptest::sample::select(lines.to_vec()).prop_map(ToOwned::to_owned),
        1 => "\\PC{0,20}",
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

/// Reads a text that may be statistics, and checks the result.
fn check_statistics(text: &str) {
    let _ = read_mix("s", text, (Protocol::Nfs3, None));
    let Ok(statistics) = read_statistics("s", text) else {
        return;
    };
    let _ = statistics
        .since(&statistics)
        .map(|none| none.mix(None, Op::NFS3).is_err());
    let Ok(made) = statistics.mix(None, Op::NFS3) else {
        return;
    };
    // The result is a mix file, with the computed shares.
    let file = mix_file(&made, None);
    let mix = parse_mixfile("made", &file, Protocol::Nfs3).expect(&file);
    assert_eq!(mix, made.mix().expect("a mix"));
    let all: u32 = made.shares.iter().map(|s| s.thousandths).sum();
    assert_eq!(all, 100_000);
    let left: u128 = made.omitted.iter().map(|l| u128::from(l.calls)).sum();
    assert_eq!(made.kept() + left, made.counted);
}

fn check(text: &str) {
    match resolve(&sources(Path::new("/nowhere"), text, &[])) {
        Ok(resolved) => assert!(explain(&resolved, None).contains("not a SPEC result")),
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                let message = error.to_string();
                assert!(!message.chars().any(char::is_control), "{message:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2 * ProptestConfig::default().cases) })]

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
                // The shown form is read again as the same, except for blanks, which lists cannot have.
                let again = mounts::parse_share(&word.mount.to_string()).unwrap();
                assert_eq!(again.mount, word.mount);
            }
        }
        check_statistics(&text);
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
    fn on_text_like_statistics(text in statistics_like()) {
        check_statistics(&text);
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
                prop_assert!(p.requested.0 <= p.entered.0);
                prop_assert!(p.entered.0 - p.requested.0 < procs as f64);
            }
            Err(_) => prop_assert!(load < procs),
        }
    }
}

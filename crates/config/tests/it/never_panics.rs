//! Arbitrary text gives a plan or messages, never a panic.

use crate::sources;
use filermark_config::mixfile::{MIXFILE_HEADER, parse_mixfile};
use filermark_config::{Parameter, rc};
use filermark_config::{blockfile, explain, mounts, parse_debug, resolve};
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
        Just("on".to_owned()),
        "\\PC{0,10}",
    ];
    let line = (proptest::sample::select(names), values).prop_map(|(n, v)| format!("{n}={v}\n"));
    proptest::collection::vec(line, 0..30).prop_map(|lines| lines.concat())
}

fn check(text: &str) {
    match resolve(&sources(Path::new("/nowhere"), text, &[])) {
        Ok(resolved) => assert!(explain(&resolved.plan).contains("not a SPEC result")),
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
        let _ = parse_mixfile("mix", &text);
        let _ = parse_mixfile("mix", &format!("{MIXFILE_HEADER}\n{text}"));
        let _ = blockfile::parse_blockfile("blocks", &text);
        let _ = mounts::parse_mount(&text);
        let _ = parse_debug(&text);
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

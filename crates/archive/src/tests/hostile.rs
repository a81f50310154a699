//! Malformed archives, and changes of single bytes.

use super::support::{check, files_of, found_in, text, whole};
use crate::Bundle;
use crate::verify::{CheckStatus, Options, check_zip, verify};
use filermark_results::Role;
use proptest::prelude::*;

#[test]
fn malformed_zip_files_are_refused() {
    use std::io::{Cursor, Write as _};
    use zip::write::SimpleFileOptions;
    let plain = SimpleFileOptions::default();
    let zip = |names: &[&str], options: SimpleFileOptions, bytes: &[u8]| {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for name in ["../x", "/etc/x", "a\\b", "a//b", "C:x"] {
        let refused = Bundle::from_bytes(&zip(&[name], plain, b"x")).unwrap_err();
        assert!(refused.0.contains("name"), "{name}: {refused}");
    }
    let link = {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_symlink("link", "/etc/passwd", plain).unwrap();
        writer.finish().unwrap().into_inner()
    };
    assert!(
        Bundle::from_bytes(&link)
            .unwrap_err()
            .0
            .contains("not a regular file")
    );
    // The same name twice.
    let mut twice = zip(&["aaaa", "bbbb"], plain, b"x");
    for at in 0..twice.len() - 4 {
        if &twice[at..at + 4] == b"bbbb" {
            twice[at..at + 4].copy_from_slice(b"aaaa");
        }
    }
    assert!(Bundle::from_bytes(&twice).unwrap_err().0.contains("twice"));
    let zeros = vec![0u8; 80 << 20];
    let bomb = zip(&["zeros"], plain, &zeros);
    let refused = Bundle::from_bytes(&bomb).unwrap_err();
    assert!(refused.0.contains("could fill the disk"), "{refused}");
    let mut encrypted = zip(&["a"], plain, b"x");
    // The flag of encryption, in both headers.
    encrypted[6] |= 1;
    let central = encrypted
        .windows(4)
        .position(|w| w == b"PK\x01\x02")
        .unwrap();
    encrypted[central + 8] |= 1;
    assert!(Bundle::from_bytes(&encrypted).is_err());
    let mut prefixed = b"#!/bin/sh\n".to_vec();
    prefixed.extend(zip(&["a"], plain, b"x"));
    assert!(Bundle::from_bytes(&prefixed).is_err());
    for junk in [&b""[..], b"PK\x03\x04", b"no zip at all"] {
        assert!(Bundle::from_bytes(junk).is_err());
    }
}

#[test]
fn conflicting_names_are_refused() {
    let mut bundle = Bundle::new();
    bundle.add("a/b", "x", Role::Other).unwrap();
    bundle.add("a/b", "x", Role::Other).unwrap();
    for (name, why) in [
        ("a/b", "different contents"),
        ("a", "a file and a folder"),
        ("a/b/c", "a file and a folder"),
        ("../a", "outside"),
        ("manifest.json", "manifest"),
    ] {
        let refused = bundle.add(name, "y", Role::Other).unwrap_err();
        assert!(refused.0.contains(why), "{name}: {refused}");
    }
}

/// Figures that the record has in more than one place.
const REDUNDANT: [&str; 6] = [
    "success_count",
    "error_count",
    "physical_count",
    "read_bytes",
    "written_bytes",
    "service_sum_ns",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_changed_byte_of_any_file_is_noticed(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        change in 1u8..=255,
    ) {
        let mut files = files_of(whole());
        let name = which.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
        let bytes = files.get_mut(&name).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(!found_in(&files).is_empty(), "{name} at {at}");
    }

    /// The record alone, without a manifest and other files.
    #[test]
    fn a_changed_count_in_a_bare_record_is_noticed(
        field in prop::sample::select(&REDUNDANT[..]),
        which in any::<prop::sample::Index>(),
        digit in any::<prop::sample::Index>(),
        by in 1u8..10,
    ) {
        let mut record = text("mine.run.jsonl").into_bytes();
        let key = format!("\"{field}\":");
        let places: Vec<usize> = record
            .windows(key.len())
            .enumerate()
            .filter(|(_, w)| *w == key.as_bytes())
            .map(|(at, _)| at + key.len())
            .collect();
        let from = *which.get(&places);
        let count = record[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let at = from + digit.index(count);
        record[at] = b'0' + (record[at] - b'0' + by) % 10;
        let shown = String::from_utf8_lossy(&record[from.saturating_sub(200)..from + 20]).into_owned();
        // Counts of WARMUP are in no other figure.
        prop_assume!(!in_warmup(&shown));
        let mut bundle = Bundle::new();
        bundle.add("mine.run.jsonl", record, Role::Record).unwrap();
        prop_assert!(!verify(&bundle, &Options::default()).ok, "{shown}");
    }

    #[test]
    fn no_zip_makes_the_reader_panic(
        at in any::<prop::sample::Index>(),
        change in 1u8..=255,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bundle = Bundle::new();
        bundle.add("a", "some text some text", Role::Other).unwrap();
        bundle.add("b/c", "other", Role::Other).unwrap();
        let mut bytes = bundle.to_bytes().unwrap();
        let _ = Bundle::from_bytes(&bytes[..cut.index(bytes.len())]);
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        // Refused, failed, or reported as packed by another program.
        if let Ok(read) = Bundle::from_bytes(&bytes) {
            let mut verification = check(&read);
            check_zip(&read, &bytes, &mut verification);
            let other = verification.checks.iter().any(|c| c.about == "zip" && c.state == CheckStatus::Skip);
            prop_assert!(!verification.ok || other, "at {at}");
        }
    }
}

/// Whether the last second that begins in a text is one of WARMUP.
fn in_warmup(text: &str) -> bool {
    let second = text.rfind("\"second\":").map(|at| &text[at..]);
    second.is_some_and(|rest| rest.starts_with("\"second\":-") && !rest.contains('}'))
}

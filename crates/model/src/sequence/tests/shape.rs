//! Tests: errors in a sequence have the line and a plain reason.

use super::solve::walk_rightly;
use crate::benchmark::{Benchmark, SHIPPED};
use proptest::prelude::*;

fn text() -> String {
    let found = SHIPPED.iter().find(|(n, _)| *n == "general-smb1");
    found.unwrap().1.to_owned()
}

/// The error of the shipped definition with a change in it.
fn error_of(from: &str, to: &str) -> String {
    let text = text();
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    match Benchmark::classic_from_toml(&changed) {
        Ok(_) => "nothing".into(),
        Err(e) => e.to_string(),
    }
}

/// The line of the shipped definition that begins with `head`, after `after`.
fn line_of(after: &str, head: &str) -> usize {
    let text = text();
    let start = text.find(after).unwrap();
    let at = start + text[start..].find(head).unwrap();
    text[..at].matches('\n').count() + 1
}

#[test]
fn errors_in_a_sequence_have_their_line() {
    let emits = |state: &str| line_of(&format!("name = \"{state}\""), "emits");
    let next = |state: &str| emits(state) + 1;
    let name = |state: &str| emits(state) - 3;
    let cases = [
        (
            "emits = { query-path = 1 }",
            "emits = { query_path = 1 }",
            format!(
                "line {}, column 11: there is no step 'query_path'; did you mean query-path?",
                emits("look")
            ),
        ),
        (
            "next = { ask = 97, ask-close = 3 }",
            "next = { ask = 97, asc-close = 3 }",
            format!(
                "line {}, column 20: there is no state 'asc-close'; did you mean ask-close?",
                next("ask-open")
            ),
        ),
        (
            "emits = { query-path = 1 }",
            "emits = { read-random = 1 }",
            format!(
                "line {}, column 11: state look has the level 'idle', where read-random is not \
                 possible; it is at: reading, writing, locked",
                emits("look")
            ),
        ),
        (
            "emits = { unlock-range = 1 }",
            "emits = { close = 1 }",
            format!(
                "line {}, column 11: state record-unlock has the level 'locked', where close is \
                 not possible; it is at: attributes, reading, writing, filling, temporary",
                emits("record-unlock")
            ),
        ),
        (
            "emits = { query-path = 1 }",
            "emits = { query-path = 1, open-read = 2 }",
            format!(
                "line {}, column 27: state look shows both query-path, after which the level is \
                 'idle', and open-read, after which it is 'reading'; make two states of it",
                emits("look")
            ),
        ),
        (
            "next = { ask = 97, ask-close = 3 }",
            "next = { ask = 97, look = 3 }",
            format!(
                "line {}, column 20: state ask-open leads to look, whose level is 'idle'; after \
                 ask-open the level is 'attributes'",
                next("ask-open")
            ),
        ),
        (
            "next = { ask = 97, ask-close = 3 }",
            "next = { ask = 97, ask-close = 0 }",
            format!(
                "line {}, column 20: ask-close = 0: a weight goes from 0.000001 to 1000000",
                next("ask-open")
            ),
        ),
        (
            "next = { ask = 97, ask-close = 3 }",
            "next = {}",
            format!(
                "line {}, column 8: state ask-open leads nowhere; give it 'next'",
                name("ask-open")
            ),
        ),
        (
            "name = \"list\"",
            "name = \"look\"",
            format!(
                "line {}, column 38: there is no state 'list';",
                next("keep-alive")
            ),
        ),
        (
            "next = { save-settle = 55, save-close = 45 }",
            "next = { save-settle = 55 }",
            format!(
                "line {}, column 8: a walker in state save-settle never comes to a close again",
                name("save-settle")
            ),
        ),
        (
            "name = \"scratch-close\"",
            "name = \"scratch close\"",
            format!(
                "line {}, column 51: there is no state 'scratch-close'; did you mean scratch \
                 close?",
                next("scratch-write")
            ),
        ),
        (
            "title = \"A folder is listed\"",
            "title = \"List a \\u001b[31m directory\"",
            format!(
                "line {}, column 8: the title of state list: use",
                name("list")
            ),
        ),
        (
            "level = \"emptied\"",
            "level = \"empty\"",
            format!(
                "line {}, column 9: unknown variant `empty`",
                emits("save-begin") - 1
            ),
        ),
    ];
    for (from, to, want) in cases {
        let got = error_of(from, to);
        assert!(got.starts_with(&want), "{to}:\n{got}\nnot\n{want}");
    }
}

#[test]
fn lost_and_stuck_states_are_named() {
    let got = error_of(
        "next = { record-read = 85, record-write = 15 }",
        "next = { record-read = 1 }\n[[sequence.state]]\nname = \"lost\"\nlevel = \"idle\"\n\
         emits = { echo = 1 }\nnext = { lost = 1 }\n",
    );
    // It is idle, so walkers may begin there; but they stay.
    assert!(
        got.contains("there is no way from state lost to state keep-alive")
            || got.contains("there is no way from state keep-alive to state lost"),
        "{got}"
    );
    let got = error_of(
        "name = \"save-close\"",
        "name = \"never\"\nlevel = \"locked\"\nemits = { unlock-range = 1 }\n\
         next = { edit-close = 1 }\n[[sequence.state]]\nname = \"save-close\"",
    );
    assert!(got.contains("nothing leads to state never"), "{got}");
    let got = error_of(
        "next = { record-read = 15, record-write = 60, record-unlock = 25 }",
        "next = { record-read = 1 }",
    );
    assert!(
        got.contains("a walker in state record-read never comes to a close"),
        "{got}"
    );
}

#[test]
fn tables_out_of_reach_are_refused_by_name() {
    let got = error_of("open = 9.7 ", "open = 9.8 ");
    assert!(got.contains("adds up to 100.1"), "{got}");
    let line = line_of("", "[mix]");
    let change = |pairs: &[(&str, &str)]| {
        let changed = pairs.iter().fold(text(), |t, (from, to)| {
            assert!(t.contains(from), "{from}");
            t.replacen(from, to, 1)
        });
        Benchmark::classic_from_toml(&changed).map_or_else(|e| e.to_string(), |_| "nothing".into())
    };
    let got = change(&[
        ("\nopen = 9.7", "\nopen = 9.8"),
        ("\nclose = 9.7", "\nclose = 9.6"),
    ]);
    let want = format!("line {line}, column 1: everything that is opened is closed");
    assert!(got.starts_with(&want), "{got}");
    let got = change(&[("\necho = 0.5", "\ngetattr = 0.5")]);
    assert!(
        got.contains("0.5 percent of getattr, but no state shows it"),
        "{got}"
    );
    // A lock is given back only after the record was read or written.
    let got = change(&[
        ("\nlock = 1.1", "\nlock = 40"),
        ("\nread = 20.5", "\nread = 0.5"),
        ("\nwrite = 8.6", "\nwrite = 0.5"),
        ("\nquery_path = 21.5", "\nquery_path = 10.7"),
    ]);
    assert!(
        got.contains("the sequence cannot show the mix: it comes no nearer than"),
        "{got}"
    );
}

#[test]
fn the_protocol_and_the_sequence_belong_together() {
    let got = error_of("protocol = \"smb1\"", "protocol = \"nfs3\"");
    assert!(got.contains("leave [sequence] out"), "{got}");
    let text = text();
    let without = text.split("[[sequence.state]]").next().unwrap();
    let e = Benchmark::classic_from_toml(without).unwrap_err();
    assert!(
        e.to_string().contains("draw them: [[sequence.state]]"),
        "{e}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_definition_with_anything_in_it_is_read_or_refused(
        at in 0usize..20_000,
        length in 0usize..40,
        piece in "[-a-z0-9 ={}\\[\\].,\"\\n#]{0,12}",
    ) {
        let text = text();
        // All of it is ASCII, and what counts is behind the sizes.
        let from = text.find("[[sequence.state]]").unwrap();
        let at = from + at % (text.len() - from);
        let end = (at + length).min(text.len());
        let changed = format!("{}{piece}{}", &text[..at], &text[end..]);
        match Benchmark::classic_from_toml(&changed) {
            Ok(b) => walk_rightly(b.classic().unwrap().sequence.as_ref().unwrap(), 1_000),
            Err(e) => prop_assert!(!e.reason.is_empty() && !e.reason.contains('\n')),
        }
    }
}

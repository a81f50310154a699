use super::*;
use crate::message::{Leftover, TaskTotals};
use filermark_model::stats::ProcOps;
use serde_json::{Value, json};

const UNSAFE: &str = "a\u{1b}]0;x\u{7}b\nc\u{9b}2J\u{202e}d";

/// All texts in it, keys included.
fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|v| texts(v, all)),
        Value::Object(fields) => {
            for (key, value) in fields {
                all.push(key.clone());
                texts(value, all);
            }
        }
        _ => {}
    }
}

/// All empty texts and lists of a default value, filled with control characters.
fn filled(value: &mut Value) {
    match value {
        Value::String(text) => *text = UNSAFE.into(),
        Value::Array(values) => values.iter_mut().for_each(filled),
        Value::Object(fields) => fields.values_mut().for_each(filled),
        _ => {}
    }
}

fn environment_json() -> Value {
    let mut value = serde_json::to_value(Environment::default()).unwrap();
    value["servers"] = json!([{ "host": "", "addresses": [""] }]);
    value["mounts"] = json!([{ "mount": "", "facts": [["", ""]] }]);
    value
}

fn host_facts_json() -> Value {
    let mut value = serde_json::to_value(HostFacts::default()).unwrap();
    let mount = json!({ "host": "", "path": "" });
    value["hello"] = json!({ "protocol": 1, "version": "", "build": "", "host": "" });
    value["environment"] = environment_json();
    value["addresses"] = json!([""]);
    value["own_name"] = json!({ "addresses": [""], "loopback_line": "" });
    value["sysctls"] = json!({ UNSAFE: "" });
    value["governors"] = json!([""]);
    value["async_engine"] = json!({ "missing": "" });
    value["firewall"]["unreadable"] = json!("");
    value["firewall"]["drop_policies"] = json!([""]);
    value["firewall"]["manager"] = json!("");
    value["load"]["busiest"] = json!({ "name": "", "pid": 1, "percent": 1.0 });
    let entry =
        json!({ "kind": "", "source": "", "mount_point": "", "options": "", "unwritable": "" });
    value["mounts"] = json!([
        { "mount": mount, "there": { "Ok": entry } },
        { "mount": mount, "there": { "Err": "" } },
    ]);
    let service = json!({ "name": "", "address": "", "connected_us": { "Err": "" } });
    let export = json!({ "path": "", "writable": { "Err": "" }, "free_bytes": null });
    value["servers"] = json!([{ "host": "", "services": [service], "exports": [export] }]);
    value["free"] = json!([free_json()]);
    value
}

fn free_json() -> Value {
    json!({ "mounts": [{ "host": "", "path": "" }], "file_system": "", "bytes": 1, "total_bytes": 1, "kept": false })
}

fn all_with_words() -> Vec<Report> {
    let made = |mut value: Value| {
        filled(&mut value);
        value
    };
    let mut stats = PointStats::default();
    stats.counters.insert(UNSAFE.into(), 1);
    stats.errors.insert(UNSAFE.into(), 2);
    stats.proc_ops.push(ProcOps {
        accesses: vec![(UNSAFE.into(), 1)],
        ..ProcOps::default()
    });
    let facts: HostFacts = serde_json::from_value(made(host_facts_json())).unwrap();
    let environment: Environment = serde_json::from_value(made(environment_json())).unwrap();
    let free: FreeSpace = serde_json::from_value(made(free_json())).unwrap();
    let unsafe_text = || UNSAFE.to_owned();
    vec![
        Report::Hello(Hello {
            protocol: 1,
            version: unsafe_text(),
            build: unsafe_text(),
            commit: unsafe_text(),
            profile: unsafe_text(),
            host: unsafe_text(),
            key: unsafe_text(),
        }),
        Report::Inspected(Box::new(InspectFacts::Host(Box::new(facts)))),
        Report::Inspected(Box::new(InspectFacts::Probes {
            outcomes: vec![ProbeOutcome::Failed {
                reason: unsafe_text(),
            }],
        })),
        Report::Ready {
            environment: Box::new(environment),
            shard_count: 1,
            remarks: vec![unsafe_text()],
            free: vec![free],
            lacking: vec![unsafe_text()],
        },
        Report::Space {
            file_system: unsafe_text(),
            free_bytes: 0,
            total_bytes: u64::MAX,
        },
        Report::Leaving {
            reason: unsafe_text(),
        },
        Report::Waiting {
            sentence: unsafe_text(),
        },
        Report::Failed {
            reason: unsafe_text(),
            stopped: false,
        },
        Report::Measured {
            stats: Box::new(stats),
            clock: Some(ClockCheck::Failed {
                reason: unsafe_text(),
            }),
            late_ns: 0,
            warmup_ns: 0,
            runtime_ns: 0,
            run_late_ns: 0,
            stalls: filermark_model::stall::Stalls::default(),
            reads: Vec::new(),
        },
        Report::Cleaned {
            tasks: TaskTotals::default(),
            left_behind: vec![Leftover::not_ours(unsafe_text())],
        },
    ]
}

#[test]
fn reports_contain_no_control_characters() {
    for report in all_with_words() {
        let mut before = Vec::new();
        texts(&serde_json::to_value(&report).unwrap(), &mut before);
        assert!(before.iter().any(|t| t == UNSAFE), "{report:?}");
        let mut after = Vec::new();
        texts(
            &serde_json::to_value(sanitized(report)).unwrap(),
            &mut after,
        );
        for text in after {
            assert!(text::is_printable(&text), "{text:?}");
        }
    }
}

#[test]
fn texts_and_lists_are_limited() {
    let report = sanitized(Report::Cleaned {
        tasks: TaskTotals::default(),
        left_behind: vec![Leftover::ours("x".repeat(10_000)); SENTENCES_MAX + 7],
    });
    let Report::Cleaned { left_behind, .. } = report else {
        panic!("another report");
    };
    assert_eq!(left_behind.len(), SENTENCES_MAX + 1);
    assert_eq!(left_behind[0].sentence.len(), SENTENCE_CHARS_MAX + 3);
    assert_eq!(left_behind[SENTENCES_MAX], Leftover::ours("and 7 more"));
}

#[test]
fn names_that_become_equal_are_merged() {
    let mut all = BTreeMap::from([("a\t".to_owned(), 1), ("a\n".into(), 2), ("b".into(), 4)]);
    counts(&mut all);
    assert_eq!(all, BTreeMap::from([("a ".to_owned(), 3), ("b".into(), 4)]));
}

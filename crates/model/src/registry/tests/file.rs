//! Tests: definition files of the user's own, and definitions written out again.

use super::super::Registry;

/// sources.md 3.3, as a user would write it.
pub(super) const EDA: &str = r#"
[[workload]]
name = "FE"
read_transfers = [{ min_bytes = 1, max_bytes = 4096, percent = 100 }]
write_transfers = [{ min_bytes = 1, max_bytes = 4096, percent = 100 }]
mix = { stat = 100 }
[[benchmark]]
name = "EDA"
unit = "JOB_SETS"
buckets = "all"
[[benchmark.component]]
workload = "FE"
instances = 3
ops_per_proc = 100
dir_count = 10
files_per_dir = 10
file_kib = 16
[[benchmark.component]]
workload = "fe"
instances = 2
ops_per_proc = 75
dir_count = 5
files_per_dir = 10
file_kib = 10240
"#;

#[test]
fn files_of_the_users_are_taken_whole_or_not_at_all() {
    let mut registry = Registry::shipped();
    registry.take_toml("mine.toml", EDA).unwrap();
    let eda = registry.composite("eda").unwrap();
    assert_eq!((eda.unit.as_str(), eda.version), ("JOB_SETS", 1));
    let again = EDA.replace("instances = 3", "instances = 4");
    registry.take_toml("mine.toml", &again).unwrap();
    let eda = registry.composite("EDA").unwrap();
    assert_eq!(eda.composite().unwrap().procs_per_unit(), 6);
    let bad = EDA
        .replace("\"EDA\"", "\"OTHER\"")
        .replace("\"fe\"", "\"f\"");
    let e = registry.take_toml("mine.toml", &bad).unwrap_err().remove(0);
    assert_eq!(
        e.to_string(),
        "mine.toml:7:1: benchmark OTHER, component 2: there is no workload 'f'; did you mean \
         FE?; define the workload in this file, or give the file that defines it"
    );
    assert!(registry.composite("OTHER").is_err());
}

#[test]
fn errors_have_file_and_line() {
    let change = |from: &str, to: &str| {
        let text = EDA.replacen(from, to, 1);
        assert_ne!(text, EDA, "{from}");
        let e = Registry::shipped()
            .take_toml("f", &text)
            .unwrap_err()
            .remove(0);
        e.to_string()
    };
    let cases = [
        (
            "stat = 100",
            "stat = 99",
            "f:2:1: workload FE: operation mix: total 99 percent, not 100;",
        ),
        (
            "stat = 100",
            "lookup = 100",
            "f:2:1: workload FE: operation mix: 'lookup' is not",
        ),
        ("stat = 100", "stta = 100", "f:6:9: unknown variant `stta`"),
        (
            "percent = 100",
            "percent = 98.5",
            "f:2:1: workload FE: read transfer sizes: total 98.5 percent",
        ),
        (
            "min_bytes = 1,",
            "min_bytes = 0,",
            "f:2:1: workload FE: read transfer sizes: slot 0: 0 to 4096",
        ),
        ("unit =", "units =", "f:9:1: unknown field `units`"),
        (
            "file_kib = 16",
            "file_kb = 16",
            "f:17:1: unknown field `file_kb`",
        ),
        (
            "file_kib = 16",
            "",
            "f:7:1: benchmark EDA: component 1: it needs either file_kib or file_sizes",
        ),
        (
            "instances = 3",
            "instances = 0",
            "f:7:1: benchmark EDA: component 1: instances is 0; it goes from 1 to 10000",
        ),
        (
            "ops_per_proc = 100",
            "ops_per_proc = nan",
            "f:7:1: benchmark EDA: component 1: ops_per_proc is NaN",
        ),
        (
            "\"FE\"",
            "\"../x\"",
            "f:2:1: workload name '../x': use 1 to 32",
        ),
        ("\"EDA\"", "\"\"", "f:7:1: benchmark name '': use 1 to 32"),
        (
            "JOB_SETS",
            "A B",
            "f:7:1: benchmark EDA: unit 'A B': use one word",
        ),
        ("[[workload]]", "[[workload]", "f:2:12: "),
    ];
    for (from, to, want) in cases {
        let got = change(from, to);
        assert!(got.starts_with(want), "{to}: {got}");
    }
    let empty = Registry::shipped().take_toml("f", "# none\n").unwrap_err();
    assert!(
        empty[0]
            .to_string()
            .starts_with("f:1:1: there is no [[workload]]")
    );
}

#[test]
fn what_is_written_reads_back_to_the_same() {
    let registry = Registry::shipped();
    let mut text = String::new();
    for name in registry.workload_names() {
        text += &registry.workload_toml(name).unwrap();
    }
    for name in registry.composite_names() {
        text += &registry.composite_toml(name).unwrap();
    }
    let mut again = Registry::default();
    again.take_toml("all", &text).unwrap();
    assert!(again.workloads().eq(registry.workloads()));
    assert_eq!(again.workload("STREAM_VOD").unwrap().name, "VDS");
    for name in registry.composite_names() {
        assert_eq!(again.composite(name), registry.composite(name));
        assert_eq!(again.is_experimental(name), registry.is_experimental(name));
    }
}

#[test]
fn odd_titles_and_shares_survive_the_way_out_and_back() {
    let mut odd = Registry::shipped().workload("VDI").unwrap().clone();
    odd.title = "quotes \" and \\ and \u{e9}".into();
    odd.attributes.compress_pcnt = 33.300000000000004;
    let mut registry = Registry::default();
    registry.put_workload(odd.clone());
    let text = registry.workload_toml("VDI").unwrap();
    let mut again = Registry::default();
    again.take_toml("odd", &text).unwrap();
    assert_eq!(again.workload("vdi").unwrap(), &odd);
}

/// Each table reports its own errors: one that cannot be read hides no other.
#[test]
fn the_errors_of_all_tables_are_reported() {
    let errors_of = |text: &str| -> Vec<String> {
        let all = Registry::shipped().take_toml("f", text).unwrap_err();
        all.iter().map(ToString::to_string).collect()
    };
    let figures = EDA
        .replace("stat = 100", "stat = 99")
        .replace("min_bytes = 1,", "min_bytes = 0,")
        .replace("JOB_SETS", "A B")
        .replace("instances = 3", "instances = 0")
        .replace("instances = 2", "instances = 0");
    let all = errors_of(&figures);
    assert_eq!(all.len(), 6, "{all:#?}");
    let with = |what: &str| all.iter().filter(|t| t.contains(what)).count();
    assert_eq!(with("total 99 percent"), 1);
    assert_eq!(with("transfer sizes: slot 0"), 2);
    assert_eq!(with("instances is 0"), 2);
    let unreadable = EDA.replace("unit =", "units =") + &EDA.replace("mix =", "mixes =");
    let all = errors_of(&unreadable);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(
        all[0].starts_with("f:9:1: unknown field `units`"),
        "{all:#?}"
    );
    let line = EDA.lines().count() + 6;
    assert!(
        all[1].starts_with(&format!("f:{line}:1: unknown field `mixes`")),
        "{all:#?}"
    );
}

//! Historical systems with a run: `compare --historical` and `report --historical`, with the
//! built-in table and with the user's own.

use crate::filermark;
use crate::report::write_record;
use filermark_results::compare::SCHEMA;
use filermark_results::testing::heritage::heritage_record;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn output_text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn run(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    output_text(&filermark(dir, args))
}

/// Errors by the schema of comparisons.
fn is_described(value: &Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let name = "urn:filermark:comparison:1";
    let schema = serde_json::from_str(SCHEMA).expect("a schema");
    compiler.add_resource(name, schema).expect("a schema");
    let index = compiler.compile(name, &mut schemas).expect("a schema");
    if let Err(e) = schemas.validate(value, index) {
        panic!("{e:#}");
    }
}

const OWN: &str = "format = 1\ntitle = \"Our old filers\"\n[[system]]\nname = \"attic\"\n\
    generation = \"SFS 3.0 (2001), NFS version 3\"\nops_per_sec = 700\nort_ms = 3.25\n\
    source = \"the invoice\"\n";

#[test]
fn one_run_is_shown_with_historical_systems_in_every_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    write_record(&heritage_record(), &dir.join("old.run.jsonl"));
    std::fs::write(dir.join("own.toml"), OWN).expect("written");
    let old = "old.run.jsonl";
    let (code, out, _) = run(dir, &["compare", old, "--historical"]);
    assert_eq!(code, Some(0), "{out}");
    for expected in [
        "25,639",
        "not comparable",
        "928 op/s at 50 ms, interpolated",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let json = ["compare", old, "-f", "json", "--historical=own.toml"];
    let (code, out, err) = run(dir, &json);
    assert_eq!(code, Some(0), "{err}");
    let value: Value = serde_json::from_str(&out).expect("JSON");
    is_described(&value);
    assert_eq!(value["historical"]["systems"][0]["name"], "attic");
    let basis = &value["sides"][0]["runs"][0]["classical"]["basis"];
    assert_eq!(basis, "interpolated");
    let page = ["report", old, "-f", "html", "-o", "p.html", "--historical"];
    let (code, _, err) = run(dir, &page);
    assert_eq!(code, Some(0), "{err}");
    let page = std::fs::read_to_string(dir.join("p.html")).expect("a page");
    assert!(page.contains("Sun Enterprise 6000") && page.contains("class=\"historical\""));
    let (_, out, _) = run(dir, &["report", old, "-f", "json", "--historical"]);
    let value: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["historical"]["systems"][3]["ops_per_sec"], 5903.0);
    let svg = ["report", old, "-f", "svg", "--historical=own.toml"];
    assert!(run(dir, &svg).1.contains("attic, v3"));
}

#[test]
fn what_cannot_be_shown_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    write_record(&heritage_record(), &dir.join("old.run.jsonl"));
    let old = "old.run.jsonl";
    std::fs::write(dir.join("bad.toml"), OWN.replace("700", "-1")).expect("written");
    for (args, expected) in [
        (vec!["compare", old], "--historical"),
        (
            vec!["compare", old, "--historical=bad.toml"],
            "bad.toml:3: ops_per_sec",
        ),
        (
            vec!["compare", old, "--historical=no.toml"],
            "no.toml: cannot be read",
        ),
        (
            vec!["compare", old, "--historical=bad.toml", "-o", "bad.toml"],
            "bad.toml",
        ),
    ] {
        let (code, out, err) = run(dir, &args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn workloads_of_older_generations_state_what_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, out, _) = run(dir.path(), &["workload", "show", "nfs3-2001"]);
    for expected in [
        "After an older generation\n  Generation: SFS 3.0 (2001), NFS version 3\n",
        "add up to 99 %; scaled to 100 %",
        "  lookup        27.27  published 27\n",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let (_, out, _) = run(dir.path(), &["workload", "show", "general-nfs3"]);
    assert!(
        !out.contains("generation") && out.contains("  lookup           24\n"),
        "{out}"
    );
    // Names fit into their column.
    let (_, out, _) = run(dir.path(), &["workload", "list"]);
    let lines = out.lines().skip_while(|l| !l.starts_with("CLASSICAL"));
    let starts: Vec<_> = lines
        .map(|l| l.split_whitespace().next().unwrap_or_default().len())
        .collect();
    assert!(
        starts.len() >= 8 && starts.iter().all(|n| *n <= 14),
        "{out}"
    );
}

/// The figures of the documentation's table are those of the definitions.
#[test]
fn the_page_of_benchmarks_has_the_figures_of_the_definitions() {
    use filermark_model::Benchmark;
    let page = include_str!("../../../../docs/src/reference/benchmarks.md");
    let (_, section) = page
        .split_once("# The older generations")
        .expect("a section");
    let row = |name: &str| -> Vec<String> {
        let line = section
            .lines()
            .find(|l| l.starts_with(&format!("| {name} |")));
        let cells = line.unwrap_or_else(|| panic!("no row {name}")).split('|');
        cells
            .skip(2)
            .map(|c| c.trim().to_owned())
            .filter(|c| !c.is_empty())
            .collect()
    };
    let figure = |cell: &str| -> Option<f64> { cell.split_whitespace().next()?.parse().ok() };
    let names = ["nfs2-1993", "nfs2-1997", "nfs3-1997", "nfs3-2001"];
    for (column, name) in names.into_iter().enumerate() {
        let b = Benchmark::shipped(name).expect("it ships");
        let work = b.classic().expect("a classical one");
        let set = &work.fileset;
        let scale = b
            .heritage
            .as_ref()
            .and_then(|h| h.mix_total_pcnt)
            .unwrap_or(100.0)
            / 100.0;
        for (row_name, value) in [
            (
                "largest mean service time, ms",
                b.standard.response_limit_ms,
            ),
            ("file set per op/s, MiB", set.mb_per_op),
            ("of it accessed, %", set.access_pcnt),
            ("writes that append, %", set.append_pcnt),
            ("directories per proc", f64::from(set.dir_count)),
            ("symbolic links per proc", f64::from(set.symlink_count)),
            ("files per proc not for I/O", f64::from(set.file_count)),
            ("shares of the mix add up to, %", scale * 100.0),
        ] {
            let actual = figure(&row(row_name)[column]);
            assert_eq!(actual, Some(value), "{row_name}, {name}");
        }
        let mut total = 0.0;
        for (op, percent) in b.mix.shares() {
            let text = figure(&row(&format!("`{}`", op.name()))[column]);
            let share = percent * scale;
            assert!(
                text.is_some_and(|t| (t - share).abs() < 1e-6),
                "{op}, {name}: {text:?}"
            );
            total += share;
        }
        assert!((total - scale * 100.0).abs() < 1e-6);
        let mean = work.file_sizes.mean_bytes() / 1024.0;
        let outcome = figure(&row("mean file size, KiB")[column]);
        assert!(
            outcome.is_some_and(|t| (t - mean).abs() < 0.05),
            "{name}: {mean}"
        );
    }
}

/// The examples have an rc file for each older generation, which is a valid plan.
#[test]
fn the_rc_files_of_the_older_generations_are_plans() {
    let dir = tempfile::tempdir().expect("a directory");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, name) in [
        ("sfs_rc_1993", "nfs2-1993"),
        ("sfs_rc_1997_v2", "nfs2-1997"),
        ("sfs_rc_1997_v3", "nfs3-1997"),
        ("sfs_rc_2001", "nfs3-2001"),
    ] {
        let rc = examples.join(file);
        let args = ["plan", "-r", rc.to_str().expect("a path")];
        let (code, out, err) = run(dir.path(), &args);
        assert_eq!(code, Some(0), "{file}: {err}");
        let benchmark = format!("Benchmark   {name} version 2");
        assert!(out.starts_with(&benchmark), "{out}");
        assert!(
            out.contains("Comparable  no. ") && !out.contains("not standard"),
            "{out}"
        );
    }
}

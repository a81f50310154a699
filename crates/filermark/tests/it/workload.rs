//! `workload`: lists, shows, exports and checks.

use crate::{filermark, stderr_text};
use serde_json::Value;

/// Its stdout when it succeeds.
fn product(dir: &std::path::Path, args: &[&str]) -> String {
    let args = [&["workload"], args].concat();
    let output = filermark(dir, &args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        stderr_text(&output)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Its stderr when the command line or a file is wrong.
fn refused(dir: &std::path::Path, args: &[&str]) -> String {
    let args = [&["workload"], args].concat();
    let output = filermark(dir, &args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    stderr_text(&output)
}

#[test]
fn everything_that_ships_is_listed_and_shown() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let list = product(dir, &["list"]);
    let json: Value = serde_json::from_str(&product(dir, &["list", "--json"])).expect("JSON");
    for (kind, count) in [("workloads", 18), ("benchmarks", 13)] {
        let all = json[kind].as_array().expect("a list");
        assert_eq!(all.len(), count);
        for one in all {
            let name = one["name"].as_str().expect("a name");
            assert!(list.contains(name), "{name}");
            assert!(product(dir, &["show", name]).contains(name));
            // The output in the form of a definition file is a valid one.
            std::fs::write(
                dir.join("shown.toml"),
                product(dir, &["show", "--toml", name]),
            )
            .expect("written");
            let checked = product(dir, &["check", "shown.toml"]);
            assert!(checked.starts_with("shown.toml: TOML"), "{checked}");
        }
    }
    let shown = product(dir, &["show", "swbuild"]);
    for part in [
        "stat             70",
        "11                                  65536 to 131072            36",
        "One BUILD: 5 procs, 500 op/s",
        "4296 MiB to begin with, 4687 MiB at most",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = product(dir, &["show", "--json", "homefolders"]);
    let json: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(json["workload"]["name"], "HOMEDIR");
    assert_eq!(json["workload"]["mix"]["copyfile"], 10.0);
    assert_eq!(json["benchmark"]["definition"]["unit"], "PROC");
    let output_text = refused(dir, &["show", "SWBIULD"]);
    assert!(
        output_text.contains("did you mean SWBUILD?"),
        "{output_text}"
    );
    let output_text = refused(dir, &["export", "VDA_DARFT"]);
    assert!(
        output_text.contains("did you mean VDA_DRAFT?"),
        "{output_text}"
    );
}

#[test]
fn an_export_can_be_edited_checked_and_used() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("written");
    let all = product(dir, &["export"]);
    write("all", &all);
    let checked = product(dir, &["check", "all"]);
    assert!(checked.starts_with("all: netmist text, 18 workloads, 0 benchmarks"));
    assert_eq!(product(dir, &["export", "-f", "all"]), all);
    // VDA is two workloads; one of them is named twice.
    let vda = product(dir, &["export", "VDA", "vda2"]);
    let names: Vec<&str> = vda.lines().filter(|l| l.starts_with("Workload")).collect();
    assert_eq!(names, ["Workload name VDA1", "Workload name VDA2"]);
    let before = product(dir, &["show", "--json", "VDA"]);
    write(
        "mine",
        &vda.replace("Percent write commit 66", "Percent write commit 60"),
    );
    let shown = product(dir, &["show", "VDA1", "-f", "mine"]);
    assert!(shown.contains("60 % of writes are followed by fsync"));
    let after = product(dir, &["show", "--json", "VDA", "--file", "mine"]);
    let print = |text: &str| {
        serde_json::from_str::<Value>(text).expect("JSON")["benchmark"]["fingerprint"].clone()
    };
    assert_ne!(print(&before), print(&after), "the definition in force");

    let bad = vda
        .replacen("Percent write 100", "Percent write 99", 1)
        .replacen("Percent rand read 86", "Percent random read 86", 1);
    write("bad", &bad);
    let output_text = refused(dir, &["check", "bad"]);
    assert!(
        output_text.contains("bad:1:1: workload VDA1: operation mix: total 99 percent, not 100")
    );
    assert!(
        output_text.contains("'Percent random read 86' is not a line of a workload; did you mean")
    );
    assert_eq!(
        refused(dir, &["list", "-f", "bad"]),
        output_text,
        "the same words"
    );
    write("bad.toml", "[[workload]]\nname = \"X\"\nmixture = 1\n");
    let output_text = refused(dir, &["check", "bad.toml"]);
    assert!(
        output_text.contains("bad.toml:3:1: unknown field `mixture`"),
        "{output_text}"
    );
    let output_text = refused(dir, &["check", "nowhere"]);
    assert!(
        output_text.contains("nowhere: the file cannot be opened"),
        "{output_text}"
    );
}

#[test]
fn classical_benchmarks_are_listed_shown_drawn_and_walked() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let list = product(dir, &["list"]);
    let json: Value = serde_json::from_str(&product(dir, &["list", "--json"])).expect("JSON");
    let classical = json["classical"].as_array().expect("a list");
    assert_eq!(classical.len(), filermark_model::benchmark::SHIPPED.len());
    for one in classical {
        let name = one["name"].as_str().expect("a name");
        assert!(list.contains(name), "{name}");
        let text = product(dir, &["export", name]);
        assert_eq!(product(dir, &["show", "--toml", name]), text);
        std::fs::write(dir.join("own.toml"), &text).expect("written");
        let checked = product(dir, &["check", "own.toml"]);
        assert!(checked.starts_with("own.toml: TOML, 1 classical benchmark, nothing wrong"));
        assert!(product(dir, &["show", name]).contains("A standard run"));
    }
    let shown = product(dir, &["show", "general-smb1"]);
    for part in [
        "NT_TRANSACT_QUERY_SECURITY_DESC    1.6    1.600000",
        "stream                           reading",
        "shows  read-sequential ",
        "open-read        24.2 %",
        "% of reads go on where the last one ended",
        "open-attributes query-file+ close",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json: Value =
        serde_json::from_str(&product(dir, &["show", "general-smb2", "--json"])).expect("JSON");
    let figures = &json["benchmark"]["figures"];
    assert!(figures["distance_bits"].as_f64().expect("a number") < 0.01);
    assert!(product(dir, &["show", "general-smb1", "--dot"]).starts_with("digraph"));
    assert!(product(dir, &["show", "general-smb1", "--svg"]).starts_with("<svg"));
    let sample = |seed: &str| {
        product(
            dir,
            &["show", "general-smb2", "--sample", "50", "--seed", seed],
        )
    };
    assert_eq!(sample("1"), sample("1"));
    assert_ne!(sample("1"), sample("2"));
    assert_eq!(sample("1").lines().count(), 51);
    for name in ["general-nfs3", "swbuild"] {
        let output_text = refused(dir, &["show", name, "--svg"]);
        assert!(
            output_text.contains("has no sequence of operations"),
            "{output_text}"
        );
    }
    let output_text = refused(dir, &["show", "genral-smb1"]);
    assert!(
        output_text.contains("did you mean general-smb1?"),
        "{output_text}"
    );
    let output_text = refused(dir, &["export", "general-smb1", "VDI"]);
    assert!(output_text.contains("export it alone"), "{output_text}");
}

#[test]
fn a_sequence_of_ones_own_is_checked() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let write = |text: &str| std::fs::write(dir.join("own.toml"), text).expect("written");
    let text = product(dir, &["export", "general-smb2"]);
    let mine = text.replace("name = \"general-smb2\"", "name = \"mine\"");
    write(&mine.replace("stream = 87,", "stream = 95,"));
    let shown = product(dir, &["show", "mine", "-f", "own.toml"]);
    assert!(shown.contains("Benchmark mine, version 2"));
    assert!(product(dir, &["list", "-f", "own.toml"]).contains("\nmine "));
    let line = mine
        .lines()
        .position(|l| l == "emits = { unlock-range = 1 }")
        .expect("a line")
        + 1;
    write(&mine.replace("emits = { unlock-range = 1 }", "emits = { close = 1 }"));
    let output_text = refused(dir, &["check", "own.toml"]);
    let place = format!("own.toml:{line}:11: state record-unlock has the level 'locked'");
    assert!(output_text.contains(&place), "{output_text}");
    assert_eq!(
        refused(dir, &["show", "mine", "-f", "own.toml"]),
        output_text
    );
}

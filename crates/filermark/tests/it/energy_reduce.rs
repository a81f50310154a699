//! `energy reduce`: its output and files, and what it refuses.

use crate::{filermark, stderr_text};
use std::fmt::Write as _;
use std::path::Path;

/// RUN of one load point: 3000 MiB/s by the clients' count, a simulated meter with 1500 W.
fn write_merged(path: &Path) {
    let at = |s: u32| format!("2018-03-12T13:{:02}:{:02}.000000Z", s / 60, s % 60);
    let mut log = String::from(
        "{\"type\":\"energy\",\"schema\":1,\"program\":\"filermark\",\"version\":\"0\",\
         \"started\":\"2018-03-12T13:00:00Z\",\"host\":\"lab\",\"notice\":\"n\"}\n\
         {\"type\":\"source\",\"id\":0,\"kind\":\"meter\",\"name\":\"psu\",\
         \"location\":\"sim:idle=1500\",\"simulated\":true}\n",
    );
    let phases: Vec<String> = [("PRE", 60), ("WARMUP", 60), ("RUN", 120), ("POST", 420)]
        .iter()
        .map(|(phase, s)| format!("{{\"phase\":\"{phase}\",\"at\":\"{}\"}}", at(*s)))
        .collect();
    let _ = writeln!(
        log,
        "{{\"type\":\"run\",\"run\":0,\"name\":\"swbuild\",\"location\":\"r\",\"benchmark\":\
         \"swbuild\",\"load_unit\":\"BUILDS\",\"began\":\"2018-03-12T13:01:00Z\",\"points\":[{{\"number\":1,\"load\":10.0,\
         \"achieved_ops_per_s\":5000.0,\"client_mib_per_s\":3000.0,\"valid\":true,\
         \"phases\":[{}],\"run_ended\":\"{}\"}}]}}",
        phases.join(","),
        at(420)
    );
    for second in 0..480 {
        let (point, phase) = match second {
            0..60 => (0, "PRE_TEST"),
            60..120 => (1, "WARMUP"),
            120..420 => (1, "RUN"),
            _ => (1, "POST"),
        };
        let _ = writeln!(
            log,
            "{{\"type\":\"readings\",\"source\":0,\"at\":\"{}\",\"values\":{{\"power_w\":1500.0}},\
             \"tag\":{{\"run\":0,\"point\":{point},\"phase\":\"{phase}\"}}}}",
            at(second)
        );
    }
    let _ = writeln!(
        log,
        "{{\"type\":\"end\",\"at\":\"{}\",\"readings\":480,\"samples\":0}}",
        at(480)
    );
    std::fs::write(path, log).expect("a log");
}

#[test]
fn tables_are_printed_and_files_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    write_merged(&at("a.merged.jsonl"));
    let done = filermark(
        dir.path(),
        &[
            "energy",
            "reduce",
            "a.merged.jsonl",
            "-o",
            "lab.1",
            "-f",
            "csv",
        ],
    );
    assert!(done.status.success(), "{}", stderr_text(&done));
    let table = String::from_utf8(done.stdout.clone()).expect("text");
    assert_eq!(table.lines().count(), 2, "{table}");
    let row = table.lines().nth(1).expect("a row");
    assert!(
        row.starts_with("swbuild,swbuild,1,10,BUILDS,3000,1500,2.00,2,"),
        "{row}"
    );
    for name in ["lab.1.html", "lab.1.xlsx", "lab.1.csv"] {
        assert!(
            stderr_text(&done).contains(name) && at(name).is_file(),
            "{name}"
        );
    }
    assert_eq!(std::fs::read(at("lab.1.csv")).expect("there"), done.stdout);
    let page = std::fs::read_to_string(at("lab.1.html")).expect("there");
    assert!(page.contains("2.00 MiB/sec/Watt") && page.contains("simulated figures"));

    let text = filermark(dir.path(), &["energy", "reduce", "a.merged.jsonl"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("2.00 MiB/sec/Watt") && text.contains("SIMULATED"),
        "{text}"
    );

    let json = filermark(
        dir.path(),
        &["energy", "reduce", "a.merged.jsonl", "-f", "json"],
    );
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["maximum"][0]["mib_per_s_per_w_cut"], "2.00");
    assert_eq!(json["simulated"], true);
}

#[test]
fn nothing_is_written_over_a_log_or_twice() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("lab.csv");
    write_merged(&log);
    let before = std::fs::read(&log).expect("there");
    for args in [
        vec!["lab.csv", "-o", "lab"],
        vec!["lab.csv", "--html", "./lab.csv"],
        vec!["lab.csv", "--html", "x", "--xlsx", "x"],
    ] {
        let refused = filermark(dir.path(), &[vec!["energy", "reduce"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", stderr_text(&refused));
        assert!(refused.stdout.is_empty());
    }
    assert_eq!(std::fs::read(&log).expect("there"), before);
    assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 1);
    // A foreign file is not overwritten without --force.
    let page = dir.path().join("page.html");
    std::fs::write(&page, "mine").expect("written");
    let args = ["energy", "reduce", "lab.csv", "--html", "page.html"];
    let refused = filermark(dir.path(), &args);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr_text(&refused).contains("--force"),
        "{}",
        stderr_text(&refused)
    );
    assert_eq!(std::fs::read(&page).expect("there"), b"mine");
    let forced = filermark(dir.path(), &[&args[..], &["--force"]].concat());
    assert!(forced.status.success(), "{}", stderr_text(&forced));
    assert!(std::fs::metadata(&page).expect("there").len() > 500);
    let gone = filermark(dir.path(), &["energy", "reduce", "none.jsonl"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(
        stderr_text(&gone).contains("none.jsonl"),
        "{}",
        stderr_text(&gone)
    );
}

/// The table of a WT310E over the load point of the training's log, a row every 5 s: 1509.85 W
/// in RUN, of which its power has three digits.
fn write_table(path: &Path) {
    let mut table =
        String::from("Store No.,Date,Time,Millisecond,WT1:U-1,WT1:I-1,WT1:P-1,WT1:PF-1\n");
    // 12:50:00 to 13:10:00; RUN is from 13:02:14 to 13:07:14.
    let (begin, run) = (46_200, 46_934..47_234);
    for (i, second) in (begin..begin + 1200).step_by(5).enumerate() {
        let (amperes, watts) = match run.contains(&second) {
            true => ("6.9844", "1.51E+03"),
            false => ("1.8503", "4.00E+02"),
        };
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let _ = writeln!(
            table,
            "{i},2/28/2018,{hour}:{minute:02}:{second:02},0,230.29,{amperes},{watts},0.9387"
        );
    }
    std::fs::write(path, table).expect("a table");
}

#[test]
fn a_worksheet_can_be_filled_and_three_digits_of_power_are_made_up_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let log = include_str!("../../../energy/data/tests/fixtures/sfslog-training.txt");
    std::fs::write(at("sfslog.txt"), log).expect("written");
    write_table(&at("wt.csv"));
    let setup = "place = \"Lab 2, Cologne\"\n[product]\nvendor = \"Example Storage\"\nname = \"Filer 9\"\n\
         firmware = \"9.1.4\"\n[[meter]]\nname = \"wt\"\nat = \"scpi://meter.example\"\n\
         instrument = { firmware = \"1.04\", serial = \"C3TB12345\" }\n";
    std::fs::write(at("energy.toml"), setup).expect("written");
    let go = |words: &str| {
        let done = filermark(dir.path(), &words.split(' ').collect::<Vec<_>>());
        assert!(done.status.success(), "{words}: {}", stderr_text(&done));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    go(
        "energy import --power wt.csv --zone America/Denver --make Yokogawa --model WT310E --calibrated 2016-11-06",
    );
    go(
        "energy merge sfslog.txt lab.energy.jsonl --zone America/Denver --energy energy.toml -o m.jsonl --csv samples.csv",
    );
    // All columns are as they were read.
    let samples = std::fs::read_to_string(at("samples.csv")).expect("there");
    let in_run = |quantity: &str, value: &str| {
        let row = |line: &&str| {
            let is_run = line.contains(",RUN,") || line.contains(",RUN_TAIL,");
            is_run && line.contains(&format!(",{quantity},{value},"))
        };
        samples.lines().filter(row).count()
    };
    assert_eq!(in_run("power_w", "1510"), 60);
    assert_eq!(in_run("current_a", "6.9844"), 60);

    let text = go("energy reduce m.jsonl -o all");
    for words in [
        "Example Storage",
        "Lab 2, Cologne",
        "WT310E",
        "C3TB12345",
        "1.04",
        "measured; power is U x I x PF",
        "product.serial",
        "calibrated on 2016-11-06",
        "voltage x current x power factor of the same readings",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let page = std::fs::read_to_string(at("all.html")).expect("there");
    assert!(page.contains("Filer 9") && page.contains("C3TB12345"));
    let table = std::fs::read_to_string(at("all.csv")).expect("there");
    assert!(
        table.contains("wt: make Yokogawa, model WT310E, serial C3TB12345"),
        "{table}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&go("energy reduce m.jsonl -f json")).expect("JSON");
    let run = &json["workloads"][0];
    assert_eq!(run["lab"]["product"]["firmware"], "9.1.4");
    assert_eq!(run["sources"][0]["instrument"]["make"], "Yokogawa");
    let power = &run["points"][0]["power_w"];
    let watts = |what: &str| power[what].as_f64().expect("a figure");
    assert!((watts("mean") - 1509.85).abs() < 0.05, "{power}");
    // Nothing outside of RUN is included, to the watt.
    assert!(watts("max") - watts("min") < 0.01, "{power}");
    assert!(watts("coverage") > 0.999, "{power}");
}

//! `energy import`: its output, and the files afterwards.

use crate::{filermark, stderr_text};
use filermark_energy_data::log::{Log, LogLine};
use std::fs;
use std::path::Path;
use std::process::Output;

const SFLOW: &str = include_str!("../../../energy/data/tests/fixtures/sflowtool-training.csv");
const POWER: &str = include_str!("../../../energy/data/tests/fixtures/wtviewer-training.csv");
const CAPTURE: &[u8] = include_bytes!("../../../energy/data/tests/fixtures/ovs-sflow.pcap");
const SPACE: &str = "N;Date Time;Temp (°C);Humidity (%rh)\n1;2018-02-27 16:18:00;21,5;40\n2;2018-02-27 16:19:00;21,6;41\n";

fn lab() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("sflowdata.txt"), SFLOW).expect("written");
    fs::write(dir.path().join("wt.csv"), POWER).expect("written");
    fs::write(dir.path().join("lab.pcap"), CAPTURE).expect("written");
    fs::write(dir.path().join("climate.csv"), SPACE).expect("written");
    dir
}

fn import(dir: &Path, args: &[&str]) -> Output {
    filermark(dir, &[&["energy", "import"], args].concat())
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Names in a directory, hidden ones too.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .expect("a directory")
        .map(|e| {
            e.expect("a name")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_trainings_files_become_a_log() {
    let dir = lab();
    let output = import(
        dir.path(),
        &[
            "--sflowtool",
            "sflowdata.txt",
            "--power",
            "wt.csv",
            "--environment",
            "climate.csv",
            "--pcap",
            "lab.pcap",
            "--zone",
            "America/Denver",
            "--offset",
            "-1.5",
            "--bound",
            "0.5",
        ],
    );
    assert!(output.status.success(), "{}", stderr_text(&output));
    let text = stderr_of(&output);
    for wanted in [
        "sflowdata.txt: sflowtool, source 0\n    4 good, 9 bad\n    the first bad one in line 1: ",
        "    10.0.0.248/24 ",
        "lab.pcap: capture, source 1\n",
        "wt.csv: WTViewer table, source 2\n    4 good, 0 bad\n    from 2018-02-27 23:18:33 UTC to 2018-02-27 23:18:48 UTC\n    power_w = WT1:P-1\n",
        "climate.csv: table, source 3\n    2 good, 0 bad\n",
        "    temperature_c = Temp (°C)\n",
        "lab.energy.jsonl is written\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(
        stderr_text(&output).contains("--ports AGENT/INTERFACE"),
        "{}",
        stderr_text(&output)
    );
    let log = Log::open(&dir.path().join("lab.energy.jsonl")).expect("a log");
    let lines: Vec<_> = log.collect::<Result<_, _>>().expect("sound");
    let (mut sources, mut readings, mut samples) = (Vec::new(), 0, 0);
    for line in &lines {
        match line {
            LogLine::Source(source) => {
                assert_eq!(
                    (
                        source.clock.offset_s,
                        source.clock.bound_s,
                        source.simulated
                    ),
                    (-1.5, Some(0.5), false)
                );
                sources.push(source.name.as_str());
            }
            LogLine::Readings(_) => readings += 1,
            LogLine::Traffic(traffic) => samples += traffic.samples.len() as u64,
            _ => {}
        }
    }
    assert_eq!(sources, ["sflowdata", "lab", "wt", "climate"]);
    let Some(LogLine::End(end)) = lines.last() else {
        panic!("{:?}", lines.last());
    };
    assert_eq!((end.readings, end.samples), (readings, samples));
    assert_eq!(readings, 6);
    assert!(samples > 3);
}

#[test]
fn the_json_output_has_the_same_values() {
    let dir = lab();
    let args = [
        "--sflowtool",
        "sflowdata.txt",
        "--zone",
        "UTC",
        "-o",
        "x.jsonl",
        "--json",
    ];
    let output = import(dir.path(), &args);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["log"], "x.jsonl");
    let file = &value["files"][0];
    assert_eq!(
        (file["good"].as_u64(), file["bad"].as_u64()),
        (Some(4), Some(9))
    );
    assert_eq!(file["ports"][0]["if_index"], 24);
    assert_eq!(file["first"], "2018-03-04T19:10:56.000000Z");
}

#[test]
fn an_older_log_stays_unless_it_is_forced() {
    let dir = lab();
    let log = dir.path().join("lab.energy.jsonl");
    fs::write(&log, "older").expect("written");
    let args = ["--power", "wt.csv", "--zone", "UTC"];
    let output = import(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr_text(&output).contains("exists already") && stderr_text(&output).contains("--force")
    );
    assert_eq!(fs::read(&log).expect("there"), b"older");
    let before = names(dir.path());
    // A file with an error in the middle does not change it either, forced or not.
    let bad = import(
        dir.path(),
        &[
            "--power",
            "wt.csv",
            "--sflowtool",
            "lab.pcap",
            "--zone",
            "UTC",
            "--force",
        ],
    );
    assert_eq!(bad.status.code(), Some(1), "{}", stderr_text(&bad));
    assert_eq!(fs::read(&log).expect("there"), b"older");
    assert_eq!(names(dir.path()), before);
    let forced = import(dir.path(), &[&args[..], &["--force"]].concat());
    assert!(forced.status.success(), "{}", stderr_text(&forced));
    assert!(
        fs::read(&log)
            .expect("there")
            .starts_with(b"{\"type\":\"energy\"")
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let dir = lab();
    let kilowatts = "Datum;Zeit;Leistung (kW)\n04.03.2018;10:00:00;0,5\n";
    fs::write(dir.path().join("kw.csv"), kilowatts).expect("written");
    let before = names(dir.path());
    for (args, code, what) in [
        (&["-o", "x"][..], 2, "nothing to import"),
        (
            &["--power", "wt.csv"],
            1,
            "wt.csv:2: the times have no offset",
        ),
        (
            &["--power", "none.csv", "--zone", "UTC"],
            1,
            "none.csv: cannot be read",
        ),
        (
            &["--power", "wt.csv", "--zone", "Mars"],
            2,
            "is not a time zone",
        ),
        (
            &["--power", "wt.csv", "--columns", "watts=3"],
            2,
            "--columns: \"watts\" is not known",
        ),
        (
            &[
                "--power",
                "wt.csv",
                "--columns",
                "power_w=x",
                "--zone",
                "UTC",
            ],
            1,
            "no column is called \"x\"",
        ),
        (
            &["--sflowtool", "sflowdata.txt", "--columns", "power_w=3"],
            2,
            "neither is given",
        ),
        (
            &[
                "--power",
                "wt.csv",
                "--environment",
                "climate.csv",
                "--columns",
                "date=1",
            ],
            2,
            "one after the other",
        ),
        (
            &["--power", "wt.csv", "--bound", "1"],
            2,
            "give --offset, too",
        ),
        (
            &["--power", "wt.csv", "--offset", "inf"],
            2,
            "give seconds from",
        ),
        (
            &[
                "--power",
                "kw.csv",
                "--zone",
                "UTC",
                "--columns",
                "power_w=Leistung (kW)",
            ],
            1,
            "write power_w=Leistung (kW)*1000",
        ),
        (&["--pcap", "wt.csv"], 1, "neither pcap nor pcapng"),
        (
            &[
                "--power", "wt.csv", "--zone", "UTC", "-o", "wt.csv", "--force",
            ],
            2,
            "give another name",
        ),
        (
            &["--power", "wt.csv", "--zone", "UTC", "-o", "none/x"],
            1,
            "none/",
        ),
    ] {
        let output = import(dir.path(), args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}: {}",
            stderr_text(&output)
        );
        assert!(
            stderr_text(&output).contains(what),
            "{args:?}: {}",
            stderr_text(&output)
        );
        assert_eq!(stderr_of(&output), "", "{args:?}");
    }
    assert_eq!(names(dir.path()), before);
    assert_eq!(
        fs::read_to_string(dir.path().join("wt.csv")).expect("there"),
        POWER
    );
}

#[test]
fn columns_by_name_and_number() {
    let dir = lab();
    fs::write(
        dir.path().join("pdu.csv"),
        "a;b;c;d\n04.03.2018;10:00:00;0,5;0,25\n",
    )
    .expect("written");
    let args = [
        "--power",
        "pdu.csv",
        "--zone",
        "+01:00",
        "--columns",
        "date=a,time=2",
        "--columns",
        "power_w=c*1000+4*1000",
        "--role",
        "client",
    ];
    let output = import(dir.path(), &args);
    assert!(output.status.success(), "{}", stderr_text(&output));
    assert!(
        stderr_of(&output).contains("power_w = c*1000+d*1000"),
        "{}",
        stderr_of(&output)
    );
    let log = fs::read_to_string(dir.path().join("lab.energy.jsonl")).expect("a log");
    assert!(log.contains("\"role\":\"client\""), "{log}");
    assert!(
        log.contains(r#"{"type":"readings","source":0,"at":"2018-03-04T09:00:00.000000Z","values":{"power_w":750.0}}"#),
        "{log}"
    );
}

//! `netmist` and composite rc files, from the command line to the files.

use crate::{assert_complete, filermark, stderr_text};
use filermark_model::Op;
use filermark_results::read_record;
use serde_json::Value;
use std::path::Path;

fn stdout(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A token file with two procs in two directories below `dir`.
fn two_clients(dir: &Path) {
    let mut text = String::new();
    for (client, work) in [("localhost", "a"), ("127.0.0.1", "b")] {
        std::fs::create_dir(dir.join(work)).unwrap();
        let path = dir.join(work);
        text += &format!(
            "Clientname={client} Username= root Workdir= {} Execpath=/tmp/netmist Workload=METADATA\n",
            path.display()
        );
    }
    std::fs::write(dir.join("client_list"), text).unwrap();
}

/// Small and short, with a few files of 8 KiB, also on a disk that is nearly full.
const SMALL: [&str; 11] = [
    "--exact-time",
    "-t",
    "1",
    "-w",
    "0",
    "-Q",
    "3",
    "-T",
    "2",
    "-o",
    "SPACE_RESERVE=0",
];

#[test]
fn a_run_leaves_its_files_and_nothing_in_the_directories() {
    let dir = tempfile::tempdir().unwrap();
    two_clients(dir.path());
    let mut args = vec!["netmist", "-d", "1", "-O", "200", "-N", "-g", "client_list"];
    args.extend(SMALL);
    args.extend(["-l", "copy", "-q", "beats", "-o", "FILE_SIZE=8k", "--json"]);
    let output = filermark(dir.path(), &args);
    assert_complete(&output);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json.to_string().contains("\"netmist\""), "{json}");
    let output_text = stderr_text(&output);
    assert!(
        output_text.contains("Starting test client:    1 Host: 127.0.0.1"),
        "{output_text}"
    );
    assert!(output_text.contains("Band 1:"), "{output_text}");
    let copy = std::fs::read_to_string(dir.path().join("copy")).unwrap();
    assert!(copy.contains("Overall Ops/sec"), "{copy}");
    assert!(dir.path().join("beats").exists());
    assert!(dir.path().join("result/netmist.run.jsonl").exists());
    for work in ["a", "b"] {
        let left = std::fs::read_dir(dir.path().join(work)).unwrap().count();
        assert_eq!(left, 0, "in {work}");
    }
}

/// `--workload` defines the workload that the token file names INLINE.
#[test]
fn a_workload_on_one_line_is_run_and_what_the_token_file_has_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    let work = dir.path().join("a");
    let line = format!(
        "Clientname=localhost Workdir={} Workload=INLINE\n",
        work.display()
    );
    std::fs::write(dir.path().join("client_list"), line).unwrap();
    let mut args = vec![
        "netmist",
        "-O",
        "100",
        "-g",
        "client_list",
        "-o",
        "FILE_SIZE=64k",
    ];
    args.extend(SMALL);
    args.extend(["--workload", "read_random=70,write_random=30,size=8k"]);
    let output = filermark(dir.path(), &args);
    assert_complete(&output);
    let record = read_record(&dir.path().join("result/netmist.run.jsonl")).unwrap();
    let stats = record.points[0].measured().expect("measured");
    let ops: Vec<Op> = stats.components[0].ops.iter().map(|o| o.op).collect();
    assert!(
        ops.contains(&Op::ReadRandom) && !ops.contains(&Op::Stat),
        "{ops:?}"
    );

    let args = [
        "netmist",
        "-g",
        "client_list",
        "--workload",
        "read=100,procs=4,rate=10",
    ];
    let output = filermark(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr_text(&output);
    for words in [
        "--workload: character 10 of the workload: procs cannot be set here; the token file has",
        "rate cannot be set here; give the rate of all procs with -O",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// The command in the finding removes the files, as it is printed.
#[test]
fn kept_files_are_removed_by_the_command_in_the_finding() {
    let dir = tempfile::tempdir().unwrap();
    two_clients(dir.path());
    let mut args = vec![
        "netmist",
        "-d",
        "1",
        "-O",
        "200",
        "-N",
        "-K",
        "-g",
        "client_list",
    ];
    args.extend(SMALL);
    args.extend(["-o", "FILE_SIZE=8k", "--suffix", "kept"]);
    let output = filermark(dir.path(), &args);
    assert_complete(&output);
    let left = |work: &str| std::fs::read_dir(dir.path().join(work)).unwrap().count();
    assert_eq!((left("a"), left("b")), (1, 1));
    let record = dir.path().join("result/kept.run.jsonl");
    let record = filermark_results::read_record(&record).expect("a record");
    let findings = record.end.expect("an end").findings;
    let warnings = findings.iter().find(|f| f.message.contains("KEEP=on"));
    let actual = &warnings.expect("what stays").message;
    let command = actual.split('`').nth(1).expect("a command");
    let words = command.strip_prefix("filermark ").expect("the program");
    let ended = std::process::Command::new("sh")
        .args(["-c", &format!("\"$0\" {words}"), crate::sweep::PROGRAM])
        .current_dir(dir.path())
        .output()
        .expect("a shell");
    assert!(ended.status.success(), "{command}: {}", stderr_text(&ended));
    assert_eq!((left("a"), left("b")), (0, 0), "{command}");
}

#[test]
fn info_and_export_touch_nothing() {
    let dir = tempfile::tempdir().unwrap();
    two_clients(dir.path());
    let line = [
        "netmist",
        "-i",
        "-d",
        "1",
        "-b",
        "1g",
        "-B",
        "1g",
        "-O",
        "1000",
        "-t",
        "600",
        "-g",
        "client_list",
    ];
    let output = filermark(dir.path(), &line);
    let text = stdout(&output);
    for want in [
        "Running 2 copies of the test on 2 clients",
        "Request Op_rate = 1000 ops/second",
        "Each process file size       =     1056 kbytes",
        "RUN takes",
    ] {
        assert!(text.contains(want), "{want}: {text}");
    }
    assert!(!dir.path().join("result").exists());
    // An export can be used as input, and its export is the same.
    let objects = stdout(&filermark(dir.path(), &["netmist", "-E"]));
    std::fs::write(dir.path().join("objects"), &objects).unwrap();
    let again = filermark(dir.path(), &["netmist", "-E", "-I", "objects"]);
    assert_eq!(stdout(&again), objects);
    let version = stdout(&filermark(dir.path(), &["netmist", "-v"]));
    assert!(version.starts_with("filermark "), "{version}");
}

#[test]
fn mistakes_end_with_code_2_and_their_places() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("clients"),
        "Clientname=nv3 Workdir=/mnt Workload=METADATA\nClientname=localhost Workdir=mnt\n",
    )
    .unwrap();
    let output = filermark(dir.path(), &["netmist", "-b", "1g", "-g", "clients"]);
    assert_eq!(output.status.code(), Some(2));
    let output_text = stderr_text(&output);
    assert!(
        output_text.contains("clients:2:22: Workdir=mnt has a path"),
        "{output_text}"
    );
    assert!(
        output_text.contains("clients:2:1: the line has no Workload"),
        "{output_text}"
    );
    let output = filermark(dir.path(), &["netmist", "-g", "clients", "\u{2013}K"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr_text(&output).contains("typographical dash; type -K"));
    std::fs::write(
        dir.path().join("here"),
        "Clientname=localhost Workdir=/mnt Workload=METADATA\n",
    )
    .unwrap();
    let output = filermark(
        dir.path(),
        &["netmist", "-k", "-g", "here", "--suffix", "absent"],
    );
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("nothing to do"), "{text}");
}

#[test]
fn a_composite_of_ones_own_by_rc_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    let own = "[[benchmark]]\nname = \"MINE\"\nunit = \"JOB\"\n[[benchmark.component]]\n\
               workload = \"SWBUILD\"\ninstances = 2\nops_per_proc = 50\ndir_count = 1\n\
               files_per_dir = 4\nfile_kib = 8\n[[benchmark.component]]\nworkload = \"VDI\"\n\
               ops_per_proc = 20\ndir_count = 1\nfiles_per_dir = 2\nfile_kib = 64\n";
    std::fs::write(dir.path().join("mine.toml"), own).unwrap();
    let rc = format!(
        "LOAD=1\nINCR_LOAD=1\nNUM_RUNS=2\nWARMUP_TIME=0\nRUNTIME=1\nPASSWORD=geheim\n\
         STALL_PCNT_MAX=100\nSPACE_RESERVE=0\n\
         CLIENT_MOUNTPOINTS=localhost:{}\n",
        dir.path().join("w").display()
    );
    std::fs::create_dir(dir.path().join("rc")).unwrap();
    std::fs::write(dir.path().join("rc/sfs_rc"), rc).unwrap();
    // The file of -b is relative to the current directory, not to the rc file.
    let args = ["run", "-r", "rc/sfs_rc", "-b", "mine.toml", "-s", "mine"];
    let output = filermark(dir.path(), &args);
    let output_text = stderr_text(&output);
    assert_complete(&output);
    assert!(output_text.contains("2 JOBs requested"), "{output_text}");
    let record = std::fs::read_to_string(dir.path().join("result/mine.run.jsonl")).unwrap();
    assert!(!record.contains("geheim") && record.contains("\"MINE\""));
    // The names from the training for the 2014 generation.
    let sum = std::fs::read_to_string(dir.path().join("result/sfssum.mine.txt"));
    let log = std::fs::read_to_string(dir.path().join("result/sfslog.mine.txt")).unwrap();
    assert!(
        log.contains("Overall Ops/sec") || log.contains("Overall"),
        "{log}"
    );
    assert!(
        sum.unwrap().contains("MINE"),
        "the summary names the benchmark"
    );
    assert_eq!(std::fs::read_dir(dir.path().join("w")).unwrap().count(), 0);
}

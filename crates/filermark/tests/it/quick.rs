//! `quick`: one command for a directory, an NFS export and an SMB share.

use crate::load_guard::beside_others;
use crate::sweep::{PROGRAM, Sweep};
use filermark_model::{OpStats, PointStats};
use filermark_server::{EXPORT, Server, ServerOptions};
use filermark_testbed::{Fsal, Ganesha, Samba, SambaOptions, Sandbox, available};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The published schema of `--json`.
const SCHEMA: &str = include_str!("../../schema/quick-v1.json");
/// Seconds that the program may take, by `timeout`.
const LIMIT_S: &str = "600";

/// Runs `quick` in an empty directory, without a home directory.
fn quick(sandbox: Option<&Sandbox>, dir: &TempDir, args: &[&str]) -> Output {
    let mut command = sandbox.map_or_else(|| Command::new("timeout"), |s| s.command("timeout"));
    command
        .args([LIMIT_S, PROGRAM, "quick"])
        .args(args)
        .current_dir(dir.path())
        .env_remove("HOME")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .env("FILERMARK_PASSWORD", Samba::PASSWORD)
        .output()
        .expect("timeout starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The JSON of a run whose parts were all measured, checked against the schema. On a busy
/// machine the generator may have stalled: then a part does not count.
#[track_caller]
fn measured(output: &Output) -> Value {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{:?}\n{stderr}",
        output.status
    );
    let value: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}\n{stdout}"));
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let name = "mem://quick.json";
    compiler.add_resource(name, schema).expect("it is taken");
    let index = compiler.compile(name, &mut schemas).expect("sound");
    if let Err(e) = schemas.validate(&value, index) {
        panic!("{value:#}\n{e:#}");
    }
    let parts = value["parts"].as_array().expect("parts");
    let names: Vec<_> = parts.iter().filter_map(|p| p["part"].as_str()).collect();
    let is_own = names == ["own"];
    let all = ["metadata", "random", "sequential", "mix"];
    assert!(is_own || names == all, "{names:?} {stderr}");
    for part in parts {
        assert!(part["op_count"].as_u64() > Some(0), "{part:#}");
        assert_eq!(part["error_count"], 0, "{part:#}");
        assert_ne!(part["verdict"], "failed", "{part:#}");
    }
    value
}

/// Files of a directory and below, by name.
fn names(dir: &Path) -> Vec<String> {
    let list = std::fs::read_dir(dir).expect("a list");
    let name = |e: std::io::Result<std::fs::DirEntry>| e.expect("an entry").file_name();
    list.map(|e| name(e).to_string_lossy().into_owned())
        .collect()
}

/// What the run of a part measured.
fn stats_of(dir: &TempDir, part: &str) -> PointStats {
    let path = dir.path().join(format!("result/quick-{part}.run.jsonl"));
    let record = filermark_results::read_record(&path).expect("a record");
    record.points[0].measured().expect("measured").clone()
}

/// Each transfer has its whole size: no file is shorter.
fn assert_whole_transfers(dir: &TempDir) {
    for (part, bytes) in [("random", 4 << 10), ("sequential", 1 << 20)] {
        let stats = stats_of(dir, part);
        let has_data = |op: &&OpStats| op.read_bytes + op.written_bytes > 0;
        let ops: Vec<_> = stats.ops.iter().filter(has_data).collect();
        assert!(!ops.is_empty(), "{part}");
        for op in ops {
            let transferred = op.read_bytes + op.written_bytes;
            assert_eq!(transferred, op.success_count * bytes, "{part}: {}", op.op);
        }
    }
}

/// At full speed a file set that grew would have no limit.
fn assert_no_growth(dir: &TempDir) {
    for part in ["metadata", "random", "sequential", "mix"] {
        let stats = stats_of(dir, part);
        let (begin, end) = (stats.accessed_base_bytes, stats.accessed_end_bytes);
        assert!(end <= begin, "{part}: {begin} to {end} bytes");
    }
}

#[test]
fn slow_a_directory_is_measured_by_one_command_and_left_empty() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let target = dir.path().join("data");
    std::fs::create_dir(&target).expect("a target");
    let output = quick(None, &dir, &["data", "4s", "--json"]);
    let value = measured(&output);
    assert_eq!(value["target"], target.display().to_string());
    assert_eq!(value["protocol"], "file system");
    assert_eq!(names(&target), [""; 0]);
    assert_whole_transfers(&dir);
    for part in ["metadata", "random", "sequential", "mix"] {
        let record = dir.path().join(format!("result/quick-{part}.run.jsonl"));
        assert!(record.is_file(), "{part}");
        let page = dir.path().join(format!("result/quick-{part}.html"));
        assert!(page.is_file(), "{part}");
    }
    // The rc file repeats a part.
    let repeated = Command::new("timeout")
        .args([LIMIT_S, PROGRAM, "run", "-s", "again", "-r"])
        .args(["result/quick-random.rc", "-o", "RUNTIME=0.5"])
        .current_dir(dir.path())
        .output()
        .expect("timeout starts");
    let stderr = text(&repeated.stderr);
    assert!(
        dir.path().join("result/again.run.jsonl").is_file(),
        "{stderr}"
    );
    assert_eq!(names(&target), [""; 0]);
}

/// `-w` replaces the parts; the rc file repeats it.
#[test]
fn a_workload_on_one_line_is_measured() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let target = dir.path().join("data");
    std::fs::create_dir(&target).expect("a target");
    let line = "read_random=70,write_random=30,size=4k,files=2,procs=2";
    let value = measured(&quick(None, &dir, &["data", "4s", "--json", "-w", line]));
    assert_eq!(value["parts"][0]["part"], "own");
    let record = filermark_results::read_record(&dir.path().join("result/quick-own.run.jsonl"))
        .expect("a record");
    let stats = record.points[0].measured().expect("measured");
    assert_eq!(
        stats.procs.len(),
        2,
        "one unit of load has the procs of the line"
    );
    assert_eq!(names(&target), [""; 0]);
    let rc = std::fs::read_to_string(dir.path().join("result/quick-own.rc")).expect("an rc file");
    assert!(rc.contains(&format!("WORKLOAD='{line}'")), "{rc}");
}

/// What `-w` cannot do is refused before anything is written.
#[test]
fn a_workload_that_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("data")).expect("a target");
    for (target, line, words) in [
        ("nas:/export", "stat=100", "mount it and give the directory"),
        ("data", "raed=100", "-w: character 1 of the workload"),
        (
            "data",
            "read=100,files=1000,file_size=1t",
            "5 % of the free space",
        ),
    ] {
        let output = quick(None, &dir, &[target, "-w", line]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
        assert_eq!(text(&output.stdout), "");
    }
    assert_eq!(names(&dir.path().join("data")), [""; 0]);
}

/// `--save` overwrites nothing, options are in the saved rc file, and a refusal leaves no file.
#[test]
fn rc_files_have_the_options_and_overwrite_nothing() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("data")).expect("a target");
    let save = [
        "data",
        "4s",
        "-w",
        "stat=100",
        "--save",
        "saved/mine",
        "--json",
    ];
    let option = ["-o", "STOP_IF=errors>90%"];
    measured(&quick(None, &dir, &[&save[..], &option[..]].concat()));
    let rc = std::fs::read_to_string(dir.path().join("saved/mine-own")).expect("an rc file");
    assert_eq!(rc.matches("STOP_IF=").count(), 1, "{rc}");
    assert!(rc.contains("STOP_IF='errors>90%'"), "{rc}");
    for (args, words) in [
        (&save[..], "saved/mine-own exists"),
        (
            &["data", "-o", "BENCHMARK=METADATA"],
            "quick sets it for each part",
        ),
        (&["data", "-p", "500"], "lower --procs"),
        (&["data", "-w", " "], "there is no operation in it"),
    ] {
        let before = names(&dir.path().join("result"));
        let output = quick(None, &dir, args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
        assert_eq!(
            names(&dir.path().join("result")).len(),
            before.len(),
            "{args:?}"
        );
    }
}

#[test]
fn slow_the_table_fits_80_columns_and_has_the_notice() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(ServerOptions {
        listen: vec![([127, 0, 0, 1], 0).into()],
        ..ServerOptions::default()
    })
    .expect("a server");
    let url = format!("nfs://{}{EXPORT}", server.addrs()[0]);
    let output = quick(None, &dir, &[&url, "4s", "--save", "saved/rc"]);
    server.stop();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    for part in ["metadata", "random 4K", "sequential 1 MiB", "classical mix"] {
        assert!(stdout.contains(part), "{stdout}\n{stderr}");
    }
    for words in ["Not a standard run", "It is not a SPEC result"] {
        assert!(stdout.contains(words), "{stdout}");
    }
    for line in stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.contains('\x1b'), "{line:?}");
    }
    let saved = names(&dir.path().join("saved"));
    for part in ["metadata", "random", "sequential", "mix"] {
        assert!(saved.contains(&format!("rc-{part}")), "{saved:?}");
    }
}

#[test]
fn slow_an_export_of_ganesha_is_measured_by_one_command() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let files = ganesha.files().expect("a vfs export has files");
    let before = names(&files);
    let target = ganesha.export().mount_point();
    let sandbox = ganesha.sandbox();
    let value = measured(&quick(Some(sandbox), &dir, &[&target, "4s", "--json"]));
    assert_eq!(value["protocol"], "NFSv3");
    assert_eq!(names(&files), before);
    assert_whole_transfers(&dir);
    assert_no_growth(&dir);
}

#[test]
fn slow_a_share_of_samba_is_measured_by_one_command() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let files = samba.files(Samba::DATA);
    let before = names(&files);
    let (user, share) = (Samba::USER, Samba::DATA);
    let target = format!("smb://{user}@{}/{share}", samba.address());
    let sandbox = samba.sandbox();
    let value = measured(&quick(Some(sandbox), &dir, &[&target, "4s", "--json"]));
    assert_eq!(value["protocol"], "SMB");
    assert_eq!(names(&files), before);
    assert_whole_transfers(&dir);
    assert_no_growth(&dir);
}

#[test]
fn targets_that_cannot_be_measured_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file"), "text").expect("a file");
    for (args, code, words) in [
        (&["missing"][..], 2, "no such directory"),
        (&["file"], 2, "is not a directory"),
        (&["smb://me:secret@nas/share"], 2, "has a password"),
        (&["smb://nas/share"], 2, "smb://USER@host/share"),
        (&[".", "1s"], 2, "from 4s to 24h"),
        (&[".", "-o", "NOTHING"], 2, "write -o NAME=VALUE"),
        // Nothing listens on the port of the loopback that is reserved for multiplexing.
        (&["nfs://127.0.0.1:1/export"], 1, "127.0.0.1"),
    ] {
        let output = quick(None, &dir, args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
}

/// A newcomer's words get the command that does it.
#[test]
fn the_words_of_a_newcomer_name_quick() {
    for words in [&["run", "data"][..], &["measure", "data"], &["data"]] {
        let sweep = Sweep::bare();
        let target = sweep.dir().join("data");
        std::fs::create_dir_all(&target).expect("a directory");
        let output = Command::new(PROGRAM)
            .args(words)
            .current_dir(sweep.dir())
            .output()
            .expect("it starts");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("filermark quick data"),
            "{words:?}: {stderr}"
        );
    }
}

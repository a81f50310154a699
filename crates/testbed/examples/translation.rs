//! Measures what the Linux client makes of the same operations on files over each version of NFS:
//!
//! ```text
//! cargo run -p filermark-testbed --example translation -- PROGRAM 6.1|6.12 on|off [WORKLOAD ...]
//! ```
//!
//! With `off` the server grants no delegations (`fs.leases-enable` is 0).
//! PROGRAM is a built `filermark`. For each workload (composite benchmark) and version it boots a server and
//! a client with this kernel, both in User Mode Linux, runs the workload on the mount, and prints the client's
//! calls during RUN (`/proc/self/mountstats`) per 1,000 operations of the workload. It checks the client's
//! counts of the whole run against the server's own (`proc3` and `proc4ops` in `/proc/net/rpc/nfsd`) where
//! a call is an operation of the server, and prints what differs.

use filermark_testbed::{
    ClientOptions, Kernel, KernelClient, KernelSecurity, KernelServer, NfsVersion, Result, Sandbox,
    ServerOptions,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);

const VERSIONS: [NfsVersion; 4] = [
    NfsVersion::V3,
    NfsVersion::V4,
    NfsVersion::V41,
    NfsVersion::V42,
];

/// The workloads, and the settings that make them small.
const WORKLOADS: [(&str, &str); 6] = [
    ("SWBUILD", SMALL_FILES),
    ("HOMEDIR", SMALL_FILES),
    ("METADATA", SMALL_FILES),
    ("GENOMICS", SMALL_FILES),
    ("EDA_BLENDED", SMALL_FILES),
    ("VDA", "-o FILE_SIZE=4m"),
];
const SMALL_FILES: &str = "-o FILE_SIZE=16k -o DIR_COUNT=2 -o FILES_PER_DIR=20";

/// Operations of the server with the name of a call of the client.
const SAME: [&str; 12] = [
    "READ", "WRITE", "COMMIT", "OPEN", "CLOSE", "LOCK", "LOCKU", "REMOVE", "RENAME", "LOOKUP",
    "READDIR", "SETATTR",
];

type Counts = BTreeMap<String, u64>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (program, kernel, delegations, wanted) = match words.as_slice() {
        [program, "6.1", switch @ ("on" | "off"), rest @ ..] => {
            (program, Kernel::V61, *switch == "on", rest)
        }
        [program, "6.12", switch @ ("on" | "off"), rest @ ..] => {
            (program, Kernel::V612, *switch == "on", rest)
        }
        _ => {
            eprintln!("usage: translation PROGRAM 6.1|6.12 on|off [WORKLOAD ...]");
            return ExitCode::from(2);
        }
    };
    for (workload, settings) in WORKLOADS {
        if !wanted.is_empty() && !wanted.contains(&workload) {
            continue;
        }
        let mut columns = Vec::new();
        for version in VERSIONS {
            let servers = (kernel, delegations);
            match measure(Path::new(program), servers, version, workload, settings) {
                Ok(column) => columns.push(column),
                Err(error) => {
                    eprintln!("{workload}, version {}: {error}", version.name());
                    return ExitCode::FAILURE;
                }
            }
        }
        print(workload, &columns);
    }
    ExitCode::SUCCESS
}

/// One run: the operations of the workload in RUN, and the client's calls in that time.
struct Column {
    operations: u64,
    calls: Counts,
}

fn measure(
    program: &Path,
    (kernel, delegations): (Kernel, bool),
    version: NfsVersion,
    workload: &str,
    settings: &str,
) -> Result<Column> {
    let sandbox = Sandbox::new()?;
    let options = ServerOptions {
        nfs4: true,
        ..ServerOptions::default()
    };
    let security = KernelSecurity::default();
    let mut server = KernelServer::start_as(&sandbox, kernel, options, security)?;
    if !delegations {
        server.run("echo 0 >/proc/sys/fs/leases-enable", LIMIT)?;
    }
    let options = ClientOptions {
        version,
        kernel,
        memory_mib: 768,
        ..ClientOptions::default()
    };
    let mut client = KernelClient::start_with(&sandbox, server.export(), &options)?;
    let file = client.shared_file("filermark");
    std::fs::copy(program, &file).expect("the program is copied");
    let before = server.counts()?;
    let script = SCRIPT
        .replace("WORKLOAD", workload)
        .replace("SETTINGS", settings);
    let done = client.run(&script, LIMIT)?;
    let served = server.counts()?.since(&before);
    let text = |name: &str| {
        let file = client.shared_file(name);
        std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{name}: {e}\n{}", done.output))
    };
    let calls = since(&calls(&text("run-end")), &calls(&text("run-begin")));
    let whole = since(&self::calls(&text("after")), &self::calls(&text("before")));
    for name in SAME {
        let sent: u64 = match name {
            "OPEN" => count(&whole, "OPEN") + count(&whole, "OPEN_NOATTR"),
            name => count(&whole, name),
        };
        if sent != served.get(name) {
            let version = version.name();
            eprintln!(
                "{workload} {version} {name}: client {sent}, server {}",
                served.get(name)
            );
        }
    }
    let operations = operations(&text("w.run.jsonl"));
    eprintln!("{workload} {}: {operations} operations", version.name());
    Ok(Column { operations, calls })
}

/// Run in the client's mount.
const SCRIPT: &str = r#"
cd /tmp
cat >monitor <<'END'
#!/bin/sh
cat /proc/self/mountstats >/run/testbed/run-begin
trap 'cat /proc/self/mountstats >/run/testbed/run-end; exit 0' TERM
while :; do sleep 1; done
END
chmod 755 monitor
cat /proc/self/mountstats >/run/testbed/before
/run/testbed/filermark run -s w -o BENCHMARK=WORKLOAD -o CLIENT_MOUNTPOINTS=localhost:/mnt SETTINGS \
    -o LOAD=1 -o WARMUP_TIME=2 -o RUNTIME=10 -o HEARTBEAT_NOTIFICATIONS=off -o STALL_PCNT_MAX=100 \
    -o SPACE_RESERVE=0 -o PRIME_MON_SCRIPT=/tmp/monitor
cat /proc/self/mountstats >/run/testbed/after
cp result/w.run.jsonl /run/testbed/
"#;

/// The calls of all NFS mounts, by the client's names in capitals.
fn calls(mountstats: &str) -> Counts {
    let per_call = mountstats
        .lines()
        .skip_while(|line| !line.contains("per-op statistics"))
        .skip(1);
    let call = |line: &str| {
        let (name, rest) = line.trim().split_once(": ")?;
        let operations = rest.split_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), operations))
    };
    per_call.filter_map(call).collect()
}

fn count(counts: &Counts, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

fn since(later: &Counts, earlier: &Counts) -> Counts {
    let grown = |(name, n): (&String, &u64)| (name.clone(), n - count(earlier, name));
    later.iter().map(grown).filter(|(_, n)| *n > 0).collect()
}

/// The successful operations of the workload in RUN.
fn operations(record: &str) -> u64 {
    let lines = record.lines().filter_map(|l| serde_json::from_str(l).ok());
    let mut points = lines.filter(|line: &Value| line["type"] == "point");
    let point = points.next().expect("a load point");
    let ops = point["stats"]["ops"].as_array().expect("operations");
    ops.iter()
        .filter_map(|op| op["success_count"].as_u64())
        .sum()
}

fn print(workload: &str, columns: &[Column]) {
    let names: BTreeSet<&String> = columns.iter().flat_map(|c| c.calls.keys()).collect();
    println!("\n| {workload} | v3 | v4.0 | v4.1 | v4.2 |\n|---|---:|---:|---:|---:|");
    let row = |name: &str, of: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> = columns.iter().map(of).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    row("operations of the workload", &|c| c.operations.to_string());
    let per_1000 = |c: &Column, n: u64| format!("{:.1}", n as f64 * 1000.0 / c.operations as f64);
    for name in names {
        row(name, &|c| per_1000(c, count(&c.calls, name)));
    }
    row("all calls", &|c| per_1000(c, c.calls.values().sum()));
}

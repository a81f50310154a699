//! `workload from-nfsstat`: runs with the mix of a server's statistics.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::{Ended, Sweep};
use crate::{filermark, stderr_text};
use filermark_model::Op;
use filermark_server::{Procedure, ServerOptions};
use filermark_testbed::{
    ClientOptions, KernelClient, KernelServer, NfsVersion, Sandbox, available,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A script takes a second or two, longer on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Statistics from the fixtures of the crate that reads them.
fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/tests/fixtures/nfsstat");
    root.join(name)
}

/// Runs `workload from-nfsstat`; returns its stdout and its stderr.
#[track_caller]
fn made(dir: &Path, args: &[&str]) -> (String, String) {
    let output = filermark(dir, &[&["workload", "from-nfsstat"], args].concat());
    assert!(
        output.status.success(),
        "{args:?}: {}",
        stderr_text(&output)
    );
    let product = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    (product, stderr_text(&output))
}

/// Its stderr when it fails.
#[track_caller]
fn refused(dir: &Path, args: &[&str]) -> String {
    let output = filermark(dir, &[&["workload", "from-nfsstat"], args].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
    assert!(output.stdout.is_empty());
    stderr_text(&output)
}

/// The share of an operation in a mix file, percent.
fn share(mix: &str, op: &str) -> f64 {
    let line = |l: &&str| l.split_whitespace().next() == Some(op);
    let line = mix
        .lines()
        .find(line)
        .unwrap_or_else(|| panic!("{op}: {mix}"));
    let share = line
        .split_whitespace()
        .nth(1)
        .and_then(|s| s.strip_suffix('%'));
    share.and_then(|s| s.parse().ok()).expect("a share")
}

/// Asserts that the operations of a run have the shares of its mix.
#[track_caller]
fn assert_mix(ended: &Ended, mix: &str) {
    let stats = ended.point(1).stats.expect("figures");
    let all = stats.success_count() as f64;
    assert!(all >= 500.0, "{all}");
    for op in Op::NFS3 {
        let wanted = mix
            .lines()
            .find(|l| l.starts_with(&format!("{op} ")))
            .map_or(0.0, |_| share(mix, op.name()));
        let done = stats.op(*op).map_or(0, |o| o.success_count) as f64 * 100.0 / all;
        // Five standard deviations of this number of draws.
        let slack = 500.0 * (wanted / 100.0 * (1.0 - wanted / 100.0) / all).sqrt() + 0.2;
        assert!(
            (done - wanted).abs() <= slack,
            "{op}: {done} for {wanted} (+-{slack})"
        );
    }
}

#[test]
fn a_server_is_measured_with_the_mix_of_another() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("LOAD", 800).set("RUNTIME", 2);
    let statistics = fixture("linux-proc.txt");
    let statistics = statistics.to_str().expect("a path");
    let (product, output_text) = made(sweep.dir(), &[statistics, "-o", "mine.mix"]);
    assert_eq!(product, "");
    assert!(
        output_text.contains("/proc/net/rpc/nfsd, NFS version 3, 10800202 calls"),
        "{output_text}"
    );
    assert!(
        output_text.contains("version 4 with 900000 calls (--nfs-version 4 takes it)"),
        "{output_text}"
    );
    assert!(
        output_text.contains("next: filermark run -r RC -o BENCHMARK=")
            && output_text.contains(" -o MIXFILE=mine.mix")
            && !output_text.contains("are few"),
        "{output_text}"
    );
    let mix = std::fs::read_to_string(sweep.dir().join("mine.mix")).expect("a mix file");
    assert!((share(&mix, "getattr") - 25.964).abs() < 1e-9, "{mix}");
    let path = sweep.dir().join("mine.mix");
    assert_mix(
        &sweep.clone().set("MIXFILE", path.display()).succeed(),
        &mix,
    );

    // The counts of that server are also a mix, and may be the mix file itself.
    let stats = server.stats();
    let counts: String = Procedure::ALL
        .iter()
        .map(|p| format!("{} {}\n", p.name(), stats.of(*p)))
        .collect();
    sweep.write("counts", &counts);
    let (own, _) = made(sweep.dir(), &["counts"]);
    assert!(share(&own, "getattr") > 5.0, "{own}");
    let direct = sweep.suffix("direct").set("MIXFILE", statistics).succeed();
    assert_mix(&direct, &mix);
    let findings = &direct.record().run.plan.findings;
    let warnings = findings
        .iter()
        .find(|f| f.message.contains("MIXFILE is not a mix file"));
    assert!(warnings.is_some(), "{findings:?}");
}

#[test]
fn versions_looks_and_operations_are_chosen() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let (later, earlier) = (fixture("linux-s.txt"), fixture("linux-proc-earlier.txt"));
    let (later, earlier) = (
        later.to_str().expect("a path"),
        earlier.to_str().expect("a path"),
    );
    let (mix, output_text) = made(dir, &[later, "--since", earlier, "--nfs-version", "4"]);
    assert!(mix.contains("Only what came since"), "{mix}");
    assert!(
        output_text.contains("operations in 675000 calls"),
        "{output_text}"
    );
    assert!(output_text.contains("left out, 63.2"), "{output_text}");
    let (mix, _) = made(dir, &[later, "--without", "null,commit"]);
    assert!(
        !mix.contains("\ncommit ") && mix.contains("commit 9749"),
        "{mix}"
    );
    let output_text = refused(dir, &[earlier, "--since", later]);
    assert!(output_text.contains("reset in between"), "{output_text}");
    let output_text = refused(dir, &[later, "--without", "comit"]);
    assert!(
        output_text.contains("did you mean commit?"),
        "{output_text}"
    );
    let output_text = refused(dir, &[later, "-o", later]);
    assert!(output_text.contains("written over"), "{output_text}");
    let output_text = refused(dir, &["-", "--since", "-"]);
    assert!(output_text.contains("can be read once"), "{output_text}");
    std::fs::write(dir.join("bytes"), [0xff, 0xfe]).expect("written");
    assert!(refused(dir, &["bytes"]).contains("bytes: not UTF-8 text"));
    assert!(refused(dir, &["/dev/zero"]).contains("larger than 2 MiB"));
    std::fs::write(dir.join("words"), "\nnothing to see\n").expect("written");
    assert!(refused(dir, &["words"]).contains("words:2:1: 'nothing to see'"));
}

#[test]
fn statistics_come_through_a_pipe() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .args(["workload", "from-nfsstat", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let text = std::fs::read(fixture("ganesha-fast.txt")).expect("statistics");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(&text).expect("written");
    drop(pipe);
    let output = child.wait_with_output().expect("ended");
    assert!(output.status.success(), "{}", stderr_text(&output));
    let mix = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        mix.starts_with("SFS MIXFILE VERSION 2\n# From standard input: output of ganesha_stats")
    );
    assert!((share(&mix, "remove") - 19.812).abs() < 1e-9, "{mix}");
}

/// The statistics of the kernel's server, in all forms.
const LOOKS: [(&str, &str); 3] = [
    ("proc", "cat /proc/net/rpc/nfsd"),
    ("s", "nfsstat -s"),
    ("l", "nfsstat -s -l"),
];

/// Copies the statistics into the directory of `sweep`, and into the fixtures if these are renewed.
fn look(kernel: &mut KernelServer, sweep: &Sweep, version: &str) {
    for (name, script) in LOOKS {
        let output_text = kernel.run(script, LIMIT).expect("a look");
        let name = format!("linux-kernel-{version}-{name}.txt");
        sweep.write(&name, &output_text.output);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(fixture(&name), &output_text.output).expect("written");
        }
    }
}

/// The shares of a version, which are the same from all forms of the statistics.
#[track_caller]
fn shares(sweep: &Sweep, looks: &str, version: u8) -> (Vec<String>, String) {
    let of = |look: &str| {
        let name = format!("linux-kernel-{looks}-{look}.txt");
        let version = version.to_string();
        let (mix, output_text) = made(sweep.dir(), &[&name, "--nfs-version", &version]);
        let lines = mix.lines().filter(|l| !l.starts_with('#'));
        (
            lines.map(ToOwned::to_owned).collect::<Vec<_>>(),
            output_text,
        )
    };
    let first = of("proc");
    assert!(first.0.len() > 10, "{first:?}");
    for look in ["s", "l"] {
        assert_eq!(of(look).0, first.0, "{look}");
    }
    first
}

#[test]
fn a_kernels_own_counters_and_its_nfsstat_agree() {
    let _turn = beside_others();
    let sandbox = match available(Sandbox::new()) {
        Some(sandbox) => sandbox,
        None => return,
    };
    let options = filermark_testbed::ServerOptions {
        nfs4: true,
        ..Default::default()
    };
    let Some(mut kernel) = available(KernelServer::start_in(&sandbox, options)) else {
        return;
    };
    let sweep = Sweep::inside(kernel.sandbox(), kernel.export());
    sweep.succeed();
    look(&mut kernel, &sweep, "3");
    let (own, output_text) = shares(&sweep, "3", 3);
    assert!(own.iter().any(|l| l.starts_with("readdirplus ")), "{own:?}");
    assert!(!output_text.contains("left out"), "{output_text}");

    let options = ClientOptions {
        version: NfsVersion::V42,
        ..ClientOptions::default()
    };
    let Some(mut client) = available(KernelClient::start_with(
        &sandbox,
        kernel.export(),
        &options,
    )) else {
        return;
    };
    let work = client.run(WORK, LIMIT).expect("work");
    assert_eq!(work.status, 0, "{}", work.output);
    look(&mut kernel, &sweep, "4");
    let (_, output_text) = shares(&sweep, "4", 4);
    // The kernel's client made 30 files and removed 30.
    for words in [
        "sequence",
        "of 60 open 30 count as create",
        "2 count as rmdir",
    ] {
        assert!(output_text.contains(words), "{output_text}");
    }
}

/// Operations on the mounted file system.
const WORK: &str = "
set -e
mkdir d
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
do echo $i > d/$i; done
cat d/* > /dev/null
ls -l d > /dev/null
ln -s 1 d/link
mv d/2 d/renamed
chmod 600 d/3
rm -r d
";

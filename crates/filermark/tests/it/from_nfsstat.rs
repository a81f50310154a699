//! `workload from-nfsstat`: from a server's statistics to a run with their mix.

use crate::peek::serve;
use crate::sweep::{Ended, Sweep};
use crate::turns::beside_others;
use crate::{filermark, talk};
use filermark_model::Op;
use filermark_server::{Procedure, ServerOptions};
use filermark_testbed::{KernelServer, available};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Statistics of a kind, among those of the room that reads them.
fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/tests/fixtures/nfsstat");
    root.join(name)
}

/// Runs `workload from-nfsstat`; gives its product and its talk.
#[track_caller]
fn made(dir: &Path, args: &[&str]) -> (String, String) {
    let output = filermark(dir, &[&["workload", "from-nfsstat"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", talk(&output));
    let product = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    (product, talk(&output))
}

/// What it says when something is wrong.
#[track_caller]
fn refused(dir: &Path, args: &[&str]) -> String {
    let output = filermark(dir, &[&["workload", "from-nfsstat"], args].concat());
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(output.stdout.is_empty());
    talk(&output)
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

/// The operations of a run have the shares that its mix asks for.
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
        // Five standard deviations of so many draws.
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
    let (product, said) = made(sweep.dir(), &[statistics, "-o", "mine.mix"]);
    assert_eq!(product, "");
    assert!(
        said.contains("/proc/net/rpc/nfsd, NFS version 3, 10800202 calls"),
        "{said}"
    );
    assert!(
        said.contains("version 4 with 900000 calls (--nfs-version 4 takes it)"),
        "{said}"
    );
    assert!(
        said.contains("next: filermark run -r RC -o MIXFILE=mine.mix"),
        "{said}"
    );
    let mix = std::fs::read_to_string(sweep.dir().join("mine.mix")).expect("a mix file");
    assert!((share(&mix, "getattr") - 25.964).abs() < 1e-9, "{mix}");
    let path = sweep.dir().join("mine.mix");
    assert_mix(
        &sweep.clone().set("MIXFILE", path.display()).succeed(),
        &mix,
    );

    // What that server counted is a mix in its turn, and may be the mix file itself.
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
    let told = findings
        .iter()
        .find(|f| f.message.contains("MIXFILE is no mix file"));
    assert!(told.is_some(), "{findings:?}");
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
    let (mix, said) = made(dir, &[later, "--since", earlier, "--nfs-version", "4"]);
    assert!(mix.contains("Only what came since"), "{mix}");
    assert!(said.contains("operations in 675000 calls"), "{said}");
    assert!(said.contains("left out, 63.2"), "{said}");
    let (mix, _) = made(dir, &[later, "--without", "null,commit"]);
    assert!(
        !mix.contains("\ncommit ") && mix.contains("commit 9749"),
        "{mix}"
    );
    let said = refused(dir, &[earlier, "--since", later]);
    assert!(said.contains("began anew in between"), "{said}");
    let said = refused(dir, &[later, "--without", "comit"]);
    assert!(said.contains("did you mean commit?"), "{said}");
    let said = refused(dir, &[later, "-o", later]);
    assert!(said.contains("written over"), "{said}");
    let said = refused(dir, &["-", "--since", "-"]);
    assert!(said.contains("can be read once"), "{said}");
    std::fs::write(dir.join("bytes"), [0xff, 0xfe]).expect("written");
    assert!(refused(dir, &["bytes"]).contains("bytes: this is no text"));
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
    assert!(output.status.success(), "{}", talk(&output));
    let mix = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        mix.starts_with("SFS MIXFILE VERSION 2\n# From standard input: output of ganesha_stats")
    );
    assert!((share(&mix, "remove") - 19.812).abs() < 1e-9, "{mix}");
}

#[test]
fn a_kernels_own_counters_and_its_nfsstat_agree() {
    let _turn = beside_others();
    let Some(mut kernel) = available(KernelServer::start()) else {
        return;
    };
    let sweep = Sweep::inside(kernel.sandbox(), kernel.export());
    sweep.succeed();
    let mut look = |script: &str| {
        let said = kernel.run(script, Duration::from_secs(60)).expect("a look");
        said.output
    };
    for (name, script) in [
        ("linux-kernel-proc.txt", "cat /proc/net/rpc/nfsd"),
        ("linux-kernel-s.txt", "nfsstat -s"),
        ("linux-kernel-l.txt", "nfsstat -s -l"),
    ] {
        let text = look(script);
        sweep.write(name, &text);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(fixture(name), &text).expect("written");
        }
    }
    let shares = |name: &str| {
        let (mix, said) = made(sweep.dir(), &[name]);
        assert!(said.contains("NFS version 3"), "{said}");
        let lines = mix.lines().filter(|l| !l.starts_with('#'));
        lines.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let own = shares("linux-kernel-proc.txt");
    assert!(own.len() > 10, "{own:?}");
    assert_eq!(own, shares("linux-kernel-s.txt"));
    assert_eq!(own, shares("linux-kernel-l.txt"));
}

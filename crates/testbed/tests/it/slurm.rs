//! A Slurm cluster on one machine.

use filermark_testbed::{Sandbox, Slurm, available};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

fn slurm(count: usize) -> Option<Slurm> {
    let sandbox = available(Sandbox::new())?;
    available(Slurm::start(&sandbox, count))
}

fn run(slurm: &Slurm, command: &[&str]) -> Output {
    slurm
        .command("timeout")
        .args(["-k", "1", "20"])
        .args(command)
        .stdin(Stdio::null())
        .output()
        .expect("start a program of Slurm")
}

/// The output lines of a command, sorted; the command must succeed.
fn lines(slurm: &Slurm, command: &[&str]) -> Vec<String> {
    let done = run(slurm, command);
    assert!(done.status.success(), "{command:?}: {done:?}");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn srun_and_salloc_reach_every_node() {
    let start = Instant::now();
    let Some(slurm) = slurm(2) else { return };
    eprintln!("two nodes are idle after {:.2?}", start.elapsed());
    assert_eq!(slurm.names().collect::<Vec<_>>(), ["n1", "n2"]);
    assert_eq!(lines(&slurm, &["srun", "-N2", "hostname"]), ["n1", "n2"]);
    let node = ["srun", "-w", "n1,n2", "printenv", "SLURMD_NODENAME"];
    assert_eq!(lines(&slurm, &node), ["n1", "n2"]);
    // An allocation, and a step in it.
    let within = ["salloc", "-Q", "-N2", "srun", "hostname"];
    assert_eq!(lines(&slurm, &within), ["n1", "n2"]);
    let several = ["srun", "-N1", "-n3", "-w", "n2", "hostname"];
    assert_eq!(lines(&slurm, &several), ["n2", "n2", "n2"]);
    // The exit status is returned, and an unknown node is refused.
    assert_eq!(
        run(&slurm, &["srun", "-N1", "sh", "-c", "exit 7"])
            .status
            .code(),
        Some(7)
    );
    assert!(
        !run(&slurm, &["srun", "-I", "-w", "n3", "true"])
            .status
            .success()
    );
    slurm.wait_clean(SOON).expect("nothing is left");
}

#[test]
fn processes_of_a_node_are_listed_and_killed() {
    let Some(slurm) = slurm(2) else { return };
    let mut job = slurm
        .command("srun")
        .args(["-N2", "-W0", "-K0", "sleep", "1000"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start srun");
    let sleeps = |node: &str| -> usize {
        let found = slurm.processes(node).expect("processes");
        found
            .iter()
            .filter(|process| process.name == "sleep")
            .count()
    };
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < SOON, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait("both sleep", &|| sleeps("n1") == 1 && sleeps("n2") == 1);
    assert_eq!(slurm.queue().expect("squeue").len(), 1);
    let error = slurm.wait_clean(Duration::ZERO).expect_err("a job");
    let error = error.to_string();
    assert!(
        error.contains("n1: ") && error.contains("RUNNING sleep n[1-2]"),
        "{error}"
    );

    assert_eq!(slurm.kill_processes("n1", "sleep").expect("kill"), 1);
    wait("the one on n1 has ended", &|| sleeps("n1") == 0);
    assert_eq!(sleeps("n2"), 1);
    assert_eq!(job.try_wait().expect("look at srun"), None);
    assert_eq!(slurm.kill_processes("n2", "sleep").expect("kill"), 1);
    let done = job.wait_with_output().expect("the end of srun");
    assert!(!done.status.success(), "{done:?}");
    slurm.wait_clean(SOON).expect("nothing is left");
    assert!(slurm.processes("n3").is_err());
}

#[test]
fn two_clusters_are_isolated_from_each_other() {
    let Some(one) = slurm(1) else { return };
    let Some(other) = slurm(2) else { return };
    assert_eq!(lines(&one, &["sinfo", "-h", "-N", "-o", "%N"]), ["n1"]);
    assert_eq!(
        lines(&other, &["sinfo", "-h", "-N", "-o", "%N"]),
        ["n1", "n2"]
    );
    drop(other);
    assert_eq!(lines(&one, &["srun", "hostname"]), ["n1"]);
}

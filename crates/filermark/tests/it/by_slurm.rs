//! Agents that a real Slurm starts, and that connect to their prime over TLS.

use crate::client_hosts::assert_adds_up;
use crate::load_guard::beside_others;
use crate::preflight::PreflightOutput;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_server::{RunningServer, ServerOptions};
use filermark_testbed::{BUSY_LIMIT, Sandbox, Slurm, available};
use rustix::process::Signal;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SOON: Duration = BUSY_LIMIT;

/// Two nodes, and a server that both can reach.
struct Scene {
    server: RunningServer,
    slurm: Slurm,
}

impl Scene {
    fn start() -> Option<Self> {
        let sandbox = available(Sandbox::new())?;
        let slurm = available(Slurm::start(&sandbox, 2))?;
        let server = sandbox.run(|| serve(ServerOptions::default()));
        Some(Self { server, slurm })
    }

    /// A run for both nodes; `front` precedes the program.
    fn run(&self, front: &[&str]) -> Sweep {
        let config = format!("SLURM_CONF={}", self.slurm.config().display());
        let clean = ["env", "-u", "SLURM_JOB_ID", config.as_str()];
        Sweep::on(&self.server)
            .set("LAUNCHER", "slurm")
            .set("CLIENTS", "n1 n2")
            .set("PROCS", 2)
            .set("LOAD", 200)
            .in_network_of(self.slurm.sandbox())
            .through(clean.iter().chain(front))
    }

    /// Asserts that nothing is left on the nodes and on the server.
    #[track_caller]
    fn assert_clean(&self) {
        self.slurm.wait_clean(SOON).expect("nothing is left");
        self.slurm.sandbox().run(|| assert_empty(&self.server));
    }
}

#[track_caller]
fn assert_both_measured(ended: &Ended) {
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert!(stats.success_count() > 100, "{}", stats.success_count());
    assert_adds_up(&point, &["n1", "n2"]);
    let hosts: Vec<String> = ended
        .record()
        .environments
        .iter()
        .map(|e| e.host.clone())
        .collect();
    assert_eq!(hosts, ["n1", "n2"]);
}

#[test]
fn srun_makes_an_allocation_and_brings_both_agents() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let ended = scene.run(&[]).succeed();
    assert_both_measured(&ended);
    scene.assert_clean();
}

#[test]
fn preflight_looks_at_the_nodes_too() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let preflight = PreflightOutput::by(&scene.run(&[]));
    assert_eq!(preflight.ended.code, 0, "{:#?}", preflight.checks);
    for node in ["n1", "n2"] {
        for what in ["name", "version", "clock", "server", "mount"] {
            preflight.assert(node, what, "ok");
        }
    }
    preflight.assert("prime", "firewall", "ok");
    scene.assert_clean();
}

#[test]
fn inside_an_allocation_srun_takes_that() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let allocation = ["salloc", "-Q", "-N2", "--exclusive"];
    let ended = scene.run(&allocation).set("CLIENTS", "slurm").succeed();
    assert_both_measured(&ended);
    scene.assert_clean();
}

#[test]
fn an_agent_that_is_killed_is_named_and_nothing_is_left() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let mut run = scene.run(&[]).set("RUNTIME", 60).start();
    run.wait_until("both agents", |_| {
        let runs = |node| scene.slurm.processes(node).is_ok_and(|all| !all.is_empty());
        runs("n1") && runs("n2")
    });
    run.wait_for("op/s RUN");
    assert!(scene.slurm.kill_processes("n2", "filermark").expect("kill") > 0);
    let ended = run.wait();
    assert_ne!(ended.code, 0);
    let why = ended.sentences().join("\n");
    for part in ["client n2", "cut off", "srun: error: n2: task 1: Killed"] {
        assert!(why.contains(part), "no {part:?} in: {why}");
    }
    assert!(
        ended.elapsed < Duration::from_secs(40),
        "{:?}",
        ended.elapsed
    );
    scene.assert_clean();
}

#[test]
fn stop_ends_the_job_of_the_run() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    // `stop` ends all agents of its suffix on this host: no other test has this one.
    let suffix = format!("slurm-{}", std::process::id());
    let sweep = scene.run(&[]).suffix(&suffix).set("RUNTIME", 60);
    let mut run = sweep.start();
    run.wait_for("op/s RUN");
    let actual = sweep.elsewhere().command("stop").succeed();
    assert!(
        actual.stdout.contains("ended Slurm's "),
        "{}",
        actual.stdout
    );
    let ended = run.wait();
    assert_ne!(ended.code, 0, "{}", ended.stderr);
    scene.assert_clean();
    let outcome = sweep.elsewhere().command("stop").succeed();
    assert!(
        outcome.stdout.contains("Slurm has no job"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn agents_of_a_prime_that_is_killed_clean_up_by_themselves() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let mut run = scene.run(&[]).set("RUNTIME", 60).start();
    run.wait_for("op/s RUN");
    run.signal(Signal::KILL);
    run.wait();
    scene.assert_clean();
}

#[test]
fn a_node_that_slurm_does_not_know_is_reported_in_its_words() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let ended = scene.run(&[]).set("CLIENTS", "n1 n7").run();
    assert_ne!(ended.code, 0);
    let why = ended.sentences().join("\n");
    assert!(
        why.contains("srun ended (exit status: 1): error: "),
        "{why}"
    );
    assert!(why.contains("Invalid node name"), "{why}");
    scene.assert_clean();
}

#[test]
fn a_queue_has_its_time_and_the_job_leaves_it_again() {
    let _turn = beside_others();
    let Some(scene) = Scene::start() else { return };
    let mut other = scene
        .slurm
        .command("srun")
        .args([
            "-w",
            "n2",
            "--exclusive",
            "--job-name=other",
            "sleep",
            "1000",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("start srun");
    let queue = || scene.slurm.queue().expect("squeue");
    let began = Instant::now();
    while !queue().iter().any(|job| job.contains("RUNNING other n2")) {
        assert!(began.elapsed() < SOON, "{:?}", queue());
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = scene.run(&[]).set("START_TIMEOUT", 3).run();
    assert_ne!(ended.code, 0);
    let why = ended.sentences().join("\n");
    assert!(
        why.contains("Slurm has not allocated the nodes within 3s"),
        "{why}"
    );
    assert!(why.contains("queued and waiting for resources"), "{why}");
    let left = queue();
    assert!(left.len() == 1 && left[0].contains("other"), "{left:?}");
    // Ctrl-C cancels it as well, long before the end of START_TIMEOUT.
    let mut started = scene.run(&[]).set("START_TIMEOUT", 3_600).start();
    started.wait_until("a second job", |_| queue().len() == 2);
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let since = Instant::now();
    while queue().len() > 1 {
        assert!(since.elapsed() < SOON, "{:?}", queue());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(scene.slurm.kill_processes("n2", "sleep").expect("kill") > 0);
    other.wait().expect("the end of srun");
    scene.assert_clean();
}

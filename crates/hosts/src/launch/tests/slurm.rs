//! Slurm's launcher with a script instead of `srun`, which starts real processes: this test
//! program again, as agents.
#![cfg(unix)] // Its srun is a shell script.

use super::super::SlurmLauncher;
use super::super::srun::{WATCHED, command};
use super::manual::{LIMIT, TestSetup, echo, exchange, refused};
use crate::admin::fake::write_executable;
use filermark_engine::driver::StopFlag;
use filermark_link::child::spawn_in_own_group;
use filermark_link::secure::connect::{DialOptions, connect, own_names, read_invitation};
use filermark_link::secure::dial::HostPort;
use filermark_link::start::Launcher;
use filermark_model::Nanos;
use filermark_model::launch::{HostPlan, LauncherKind};
use filermark_model::plan::IpChoice;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Reads the invitation and starts one agent for each node.
const STARTS_AGENTS: &str = r#"
IFS= read -r line
echo "srun: a fake one" >&2
for node in $(echo "$nodes" | tr , ' '); do
    printf '%s\n' "$line" | SLURMD_NODENAME=$node \
        "$agent" --exact launch::tests::slurm::as_agent --ignored --nocapture &
done
wait
"#;

struct Fake {
    setup: TestSetup,
    dir: tempfile::TempDir,
}

impl Fake {
    fn new(nodes: &[&str], does: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("srun");
        let here = dir.path().display();
        let head = format!(
            "agent=$1; shift\necho x >>'{here}/starts'\necho $$ >'{here}/pid'\n\
             printf '%s\\n' \"$@\" >'{here}/arguments'\n\
             for word; do case $word in --nodelist=*) nodes=${{word#*=}} ;; esac; done\n"
        );
        std::fs::write(&script, head + does).unwrap();
        let mut setup = TestSetup::new(nodes, LauncherKind::Slurm);
        let agent = std::env::current_exe().unwrap();
        setup.plan.srun_command = vec![
            "sh".into(),
            script.display().to_string(),
            agent.display().to_string(),
        ];
        Self { setup, dir }
    }

    fn recorded(&self, file: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(file)).unwrap()
    }

    fn host(&self, client: usize) -> &HostPlan {
        &self.setup.plan.hosts[client]
    }
}

/// Not a test of its own: an agent, as a process that Slurm has started.
#[test]
#[ignore = "is run by the tests of this file"]
fn as_agent() {
    let stop = StopFlag::new();
    let Ok(invitation) = read_invitation(std::io::stdin(), LIMIT, &stop) else {
        return;
    };
    let names = own_names(None, true).unwrap();
    let at = |host: &filermark_link::secure::hello::HostName| HostPort {
        host: host.clone(),
        port: invitation.port,
    };
    let to: Vec<_> = invitation.addresses.iter().map(at).collect();
    let session = connect(&DialOptions {
        to: &to,
        ip: IpChoice::Any,
        identity: &invitation.identity().unwrap(),
        names: &names,
        limit: LIMIT,
        stop: &stop,
    });
    let session = session.unwrap();
    echo(names[0].as_str(), session.from_prime, session.to_prime);
    session.hold.wait_ended(LIMIT);
}

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).exists()
}

fn await_end(pid: &str) {
    let since = Instant::now();
    while is_there(pid) {
        assert!(since.elapsed() < LIMIT, "{pid} is still running");
        thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn one_srun_starts_the_agents_of_all_nodes_and_ends_with_them() {
    let fake = Fake::new(&NODES, STARTS_AGENTS);
    let launcher = SlurmLauncher::new(&fake.setup.plan);
    thread::scope(|scope| {
        for (client, node) in NODES.iter().enumerate() {
            let (launcher, fake) = (&launcher, &fake);
            scope.spawn(move || {
                let launched = launcher.launch(client, fake.host(client)).unwrap();
                assert_eq!(exchange(launched, "all"), format!("{node} received all"));
            });
        }
    });
    assert_eq!(fake.recorded("starts").lines().count(), 1);
    await_end(&fake.recorded("pid"));

    let arguments = fake.recorded("arguments");
    for word in [
        "--nodes=3",
        "--ntasks=3",
        "--nodelist=n1,n2,n3",
        "--no-kill",
    ] {
        assert!(
            arguments.lines().any(|w| w == word),
            "{word} in {arguments}"
        );
    }
    assert!(arguments.ends_with("agent\n--connect\n-\n--name-from-slurm\n"));
    let looks_secret = |w: &str| w.len() >= 32 && w.chars().all(|c| c.is_ascii_hexdigit());
    assert!(
        !arguments.lines().any(looks_secret),
        "no secret among {arguments}"
    );
}

/// Only one of the agents is launched: the others must not remain.
#[test]
fn agents_that_are_not_used_end_too() {
    let fake = Fake::new(&NODES, STARTS_AGENTS);
    let launcher = SlurmLauncher::new(&fake.setup.plan);
    let launched = launcher.launch(1, fake.host(1)).unwrap();
    assert_eq!(exchange(launched, "you"), "n2 received you");
    drop(launcher);
    await_end(&fake.recorded("pid"));
}

#[test]
fn an_srun_that_fails_is_reported_with_its_output() {
    let fails = "echo 'srun: error: Invalid node name specified' >&2; exit 1";
    let fake = Fake::new(&["n9"], fails);
    let launcher = SlurmLauncher::new(&fake.setup.plan);
    let began = Instant::now();
    let why = refused(launcher.launch(0, fake.host(0)));
    assert!(why.contains("Invalid node name specified"), "{why}");
    assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());

    let mut setup = TestSetup::new(&["n1"], LauncherKind::Slurm);
    setup.plan.srun_command = vec!["/nowhere/srun".into()];
    let why = refused(SlurmLauncher::new(&setup.plan).launch(0, &setup.plan.hosts[0]));
    assert!(why.contains("/nowhere/srun: not found"), "{why}");
    assert!(why.contains("is Slurm installed here?"), "{why}");
}

#[test]
fn waiting_in_the_queue_is_limited_and_srun_ends_with_its_children() {
    let waits = "echo 'srun: job 7 queued and waiting for resources' >&2\n\
                 sleep 1000 & echo $! >\"$0.sleep\"; wait";
    let mut fake = Fake::new(&["n1"], waits);
    fake.setup.plan.start_timeout = Nanos::from_millis(500);
    let launcher = SlurmLauncher::new(&fake.setup.plan);
    let why = refused(launcher.launch(0, fake.host(0)));
    assert!(why.contains("has not allocated the nodes"), "{why}");
    assert!(why.contains("job 7 queued"), "{why}");
    await_end(&fake.recorded("pid"));
    await_end(&fake.recorded("srun.sleep"));
}

#[test]
fn an_agent_that_srun_lost_is_explained_by_srun() {
    let dies = "IFS= read -r line\n\
                printf '%s\\n' \"$line\" | SLURMD_NODENAME=n1 \"$agent\" --exact \
                launch::tests::slurm::as_agent --ignored --nocapture &\n\
                until [ -e \"$0.kill\" ]; do sleep 0.02; done\n\
                kill -9 $!; echo 'srun: error: n1: task 0: Killed' >&2; sleep 1000";
    let fake = Fake::new(&["n1"], dies);
    let launcher = SlurmLauncher::new(&fake.setup.plan);
    let mut launched = launcher.launch(0, fake.host(0)).unwrap();
    std::fs::write(fake.dir.path().join("srun.kill"), "").unwrap();
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut launched.from_agent, &mut rest).unwrap();
    let since = Instant::now();
    let arguments = loop {
        let arguments = launched.handle.final_output().unwrap_or_default();
        if arguments.contains("srun") || since.elapsed() > LIMIT {
            break arguments;
        }
    };
    assert!(
        arguments.contains("cut off") && arguments.contains("Killed"),
        "{arguments}"
    );
    launched.handle.release(std::time::Duration::ZERO);
    await_end(&fake.recorded("pid"));
}

/// A prime that is killed: its srun's shell only sees the end of its input.
#[test]
fn srun_does_not_outlive_a_prime_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    // Shortens the time that agents are given.
    let short = dir.path().join("sleep");
    write_executable(&short, "#!/bin/sh\nexec /bin/sleep 0.1\n");
    let path = format!(
        "{}:{}",
        dir.path().display(),
        std::env::var("PATH").unwrap()
    );
    let waits = "IFS= read -r line; echo \"$line\" >&2; exec /bin/sleep 1000";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", WATCHED, "sh", "sh", "-c", waits])
        .env("PATH", path);
    shell.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = spawn_in_own_group(&mut shell).unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"an invitation\n").unwrap();
    let mut received = [0; 14];
    let mut output = shell.stderr.take().unwrap();
    std::io::Read::read_exact(&mut output, &mut received).unwrap();
    assert_eq!(&received, b"an invitation\n");
    thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(shell.try_wait().unwrap(), None, "nothing has happened yet");

    drop(input);
    let since = Instant::now();
    while shell.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < LIMIT, "it is still running");
        thread::sleep(std::time::Duration::from_millis(10));
    }
    // A process that still held it would keep it open.
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
}

fn srun_arguments(nodes: &[&str], srun: &[&str]) -> Result<String, String> {
    let mut setup = TestSetup::new(nodes, LauncherKind::Slurm);
    setup.plan.srun_command = srun.iter().map(|w| (*w).into()).collect();
    let hosts: Vec<_> = setup.plan.hosts.iter().collect();
    command(&setup.plan, &hosts, "filermark").map(|arguments| arguments.join(" "))
}

#[test]
fn options_of_the_user_for_srun_are_kept() {
    let own = srun_arguments(&["n1"], &["srun", "--partition=test"]).unwrap();
    assert!(own.starts_with("srun --partition=test --nodes=1 "), "{own}");
    assert!(own.contains("--cpu-bind=none") && own.contains("--mpi=none"));
    let arguments = srun_arguments(&["n1"], &["srun", "--cpu-bind=cores"]).unwrap();
    assert!(!arguments.contains("--cpu-bind=none"), "{arguments}");
    for share in ["--oversubscribe", "--cpus-per-task=2"] {
        let arguments = srun_arguments(&["n1"], &["srun", share]).unwrap();
        let inside = std::env::var_os("SLURM_JOB_ID").is_some();
        assert!(inside || !arguments.contains("--exclusive"), "{arguments}");
    }
}

#[test]
fn nodes_that_are_not_valid_for_slurm_are_refused() {
    for bad in ["n[1-3]", "a,b", "-x", "::1", "a b"] {
        let why = srun_arguments(&[bad], &["srun"]).unwrap_err();
        assert!(why.contains("not the name of a Slurm node"), "{why}");
    }
    let twice = srun_arguments(&["n1", "n1"], &["srun"]).unwrap_err();
    assert!(twice.contains("named twice"), "{twice}");

    let mut setup = TestSetup::new(&["n1", "n2"], LauncherKind::Slurm);
    setup.plan.hosts[0].program = Some("/opt/filermark".into());
    let hosts: Vec<_> = setup.plan.hosts.iter().collect();
    assert!(
        command(&setup.plan, &hosts, "filermark")
            .unwrap_err()
            .contains("EXEC_PATH")
    );
    let one = command(&setup.plan, &hosts[..1], "filermark").unwrap();
    assert_eq!(one[one.len() - 5..][..2], ["/opt/filermark", "agent"]);
    let own: PathBuf = std::env::current_exe().unwrap();
    let own_path = command(&setup.plan, &hosts[1..], "filermark").unwrap();
    assert!(own_path.contains(&own.display().to_string()));
}

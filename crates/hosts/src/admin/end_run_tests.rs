//! Processes that are agents of a run, and processes that only look like it.

use super::super::fake::FakeHosts;
use super::*;
use std::process::{Child, Command, Stdio};

/// A copy of a system program with our mark behind it, so that it is a Filermark
/// program by its file. Run as `tail agent --stdio --run TAG` it would not do; a shell
/// takes any words behind its script.
fn marked_shell(hosts: &FakeHosts) -> PathBuf {
    let mut bytes = fs::read("/bin/sh").unwrap();
    bytes.extend_from_slice(filermark_link::build::MARK.as_bytes());
    let path = hosts.path("sh.bytes");
    fs::write(&path, bytes).unwrap();
    let program = hosts.path("agent.sh");
    let status = Command::new("/bin/sh")
        .args(["-c", "cp \"$1\" \"$2\" && chmod 755 \"$2\"", "sh"])
        .args([&path, &program])
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// Runs `script` under the command line `PROGRAM agent --stdio --run TAG`: a shell
/// reads the script from the file `agent` in its directory.
fn agent(program: &Path, tag: &str, script: &str) -> Running {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("agent"), script).unwrap();
    let child = Command::new(program)
        .args(["agent", "--stdio", "--run", tag])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child, dir);
    // Its first word says that its traps are set.
    use std::io::Read;
    running
        .0
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0])
        .unwrap();
    running
}

struct Running(
    Child,
    #[allow(dead_code, reason = "removed when it goes")] tempfile::TempDir,
);

impl Running {
    fn is_there(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tag(name: &str) -> RunTag {
    RunTag::new(&format!("test-{}-{name}", std::process::id())).unwrap()
}

// They wait for their input and start nothing: a child of theirs would, for as long as it
// is no other program yet, have the command line of an agent.
const OBEYS: &str = "trap 'exit 0' TERM; echo; while :; do read -r line; done";
const DOES_NOT: &str = "trap '' TERM; echo; while :; do read -r line; done";

#[test]
fn agents_of_the_run_are_asked_then_killed_and_others_live_on() {
    let hosts = FakeHosts::new(&[]);
    let program = marked_shell(&hosts);
    let (ours, others) = (tag("a"), tag("b"));
    let mut good = agent(&program, ours.as_str(), OBEYS);
    let mut bad = agent(&program, ours.as_str(), DOES_NOT);
    let mut other_run = agent(&program, others.as_str(), OBEYS);
    let mut not_ours = agent(Path::new("/bin/sh"), ours.as_str(), OBEYS);
    let report = end_run(&ours, Duration::from_millis(500));
    let mut expected = vec![
        EndedAgent {
            pid: good.0.id(),
            ending: Ending::Asked,
        },
        EndedAgent {
            pid: bad.0.id(),
            ending: Ending::Killed,
        },
    ];
    expected.sort_by_key(|a| a.pid);
    assert_eq!(report.agents, expected);
    assert!(!good.is_there() && !bad.is_there());
    assert!(other_run.is_there() && not_ours.is_there());
    assert_eq!(end_run(&ours, Duration::ZERO).agents, []);
}

#[test]
fn only_the_very_command_line_counts() {
    let tag = RunTag::new("mine").unwrap();
    let line = |words: &[&str]| {
        let mut line = Vec::new();
        for word in words {
            line.extend_from_slice(word.as_bytes());
            line.push(0);
        }
        is_agent_line(&line, &tag)
    };
    assert!(line(&["/x/filermark", "agent", "--stdio", "--run", "mine"]));
    assert!(line(&["", "agent", "--stdio", "--run", "mine"]));
    for other in [
        &["f", "agent", "--stdio", "--run", "min"][..],
        &["f", "agent", "--stdio", "--run", "mine", "x"],
        &["f", "agent", "--stdio", "--run"],
        &["f", "agent", "--end-run", "mine"],
        &["sh", "-c", "f agent --stdio --run mine"],
        &["ssh", "f", "agent", "--stdio", "--run", "mine"],
        &[],
    ] {
        assert!(!line(other), "{other:?}");
    }
}

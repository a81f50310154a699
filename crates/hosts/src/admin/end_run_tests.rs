//! Agents of a run, and processes that resemble them.

use super::super::fake::FakeHosts;
use super::*;
use std::process::{Child, Command, Stdio};

/// A copy of a shell with the mark of Filermark appended, so that its file is a Filermark
/// program. A shell is used because it accepts any arguments after its script.
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

/// Runs `script` under the command line `PROGRAM agent --stdio --run TAG`: a shell reads the
/// script from the file `agent` in its directory.
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
    // Its first line shows that its traps are set.
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

// They wait for input and start no process: before it executes another program, a child would
// have the command line of an agent.
const EXITS_ON_TERM: &str = "trap 'exit 0' TERM; echo; while :; do read -r line; done";
const IGNORES_TERM: &str = "trap '' TERM; echo; while :; do read -r line; done";

#[test]
fn agents_of_the_run_are_terminated_or_killed_and_others_keep_running() {
    let hosts = FakeHosts::new(&[]);
    let program = marked_shell(&hosts);
    let (ours, others) = (tag("a"), tag("b"));
    let mut good = agent(&program, ours.as_str(), EXITS_ON_TERM);
    let mut bad = agent(&program, ours.as_str(), IGNORES_TERM);
    let mut other_run = agent(&program, others.as_str(), EXITS_ON_TERM);
    let mut not_ours = agent(Path::new("/bin/sh"), ours.as_str(), EXITS_ON_TERM);
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
fn only_the_exact_command_line_is_that_of_an_agent() {
    let tag = RunTag::new("mine").unwrap();
    let line = |words: &[&str]| {
        let mut line = Vec::new();
        for word in words {
            line.extend_from_slice(word.as_bytes());
            line.push(0);
        }
        is_agent_command_line(&line, &tag)
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

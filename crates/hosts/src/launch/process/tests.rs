//! Child processes: their output, their end, and processes that do not end.
#![cfg(unix)] // The programs are shell scripts.

use super::*;
use crate::admin::fake::write_executable;
use std::io::Write;

fn shell(script: &str) -> (ChildStdin, ChildStdout, ChildProcess) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    let lifetime = Lifetime::UntilEndOfInput;
    ChildProcess::start("host", &mut command, lifetime, Box::new(explain_agent)).unwrap()
}

fn is_there(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|s| !s.contains(") Z "))
}

#[test]
fn streams_carry_the_protocol_and_stderr_is_kept() {
    let (mut stdin, mut stdout, mut handle) = shell("echo hello >&2; cat; echo bye >&2; exit 3");
    stdin.write_all(b"ping").unwrap();
    drop(stdin);
    let mut back = String::new();
    stdout.read_to_string(&mut back).unwrap();
    assert_eq!(back, "ping");
    assert_eq!(
        handle.final_output().as_deref(),
        Some("the agent ended with exit code 3: hello; bye")
    );
    assert_eq!(handle.exit(), Some(ProcessExit::Code(3)));
}

#[test]
fn only_the_last_lines_are_kept_shortened_and_without_control_characters() {
    let script = r#"i=0; while [ $i -lt 50 ]; do echo "line $i" >&2; i=$((i+1)); done
        head -c 100000 /dev/zero | tr '\0' x >&2; printf '\n\033[31mred\007 \377\r\n\n' >&2"#;
    let (_stdin, _stdout, mut handle) = shell(script);
    let output = handle.final_output_lines();
    assert_eq!(output.lines.len(), LINES_MAX);
    assert_eq!(output.lines[0], "line 32");
    assert_eq!(output.lines[18].chars().count(), LINE_CHARS_MAX + 3);
    assert_eq!(output.lines[19], "\u{fffd}[31mred\u{fffd} \u{fffd}");
}

#[test]
fn only_warnings_of_an_agent_s_own_log_are_warnings() {
    let text = "left behind: nas:/vol/a: permission denied";
    let line = format!("WARN filermark_clients: {text}");
    assert_eq!(logged_warning(&line), Some(text));
    let error = "ERROR filermark_nfs::driver: nas: reply too long";
    assert_eq!(logged_warning(error), Some("nas: reply too long"));
    for other in [
        "INFO filermark_clients: order",
        "WARN sshd: a: b",
        "WARN filermark",
        "a WARN b",
    ] {
        assert_eq!(logged_warning(other), None, "{other}");
    }
}

#[test]
fn a_killed_process_is_reported() {
    let (_stdin, _stdout, mut handle) = shell("kill -9 $$");
    let message = handle.final_output().unwrap();
    assert!(message.contains("was killed (signal 9"), "{message}");
}

#[test]
fn release_waits_for_a_process_that_exits_in_time() {
    let (stdin, _stdout, mut handle) = shell("cat >/dev/null; sleep 0.2; exit 0");
    drop(stdin);
    handle.release(Duration::from_secs(30));
    assert_eq!(handle.exit(), Some(ProcessExit::Code(0)));
    assert_eq!(handle.final_output(), None);
}

#[test]
fn release_kills_a_process_and_its_children() {
    let (_stdin, mut stdout, mut handle) =
        shell("trap '' TERM; sleep 600 >&- 2>&- & echo $!; exec >&-; while :; do sleep 600; done");
    let mut pid = String::new();
    stdout.read_to_string(&mut pid).unwrap_or_default();
    let began = Instant::now();
    handle.release(Duration::from_millis(50));
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(handle.exit(), Some(ProcessExit::Signal(9)));
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_there(&pid) {
        assert!(
            Instant::now() < deadline,
            "its child {pid} is still running"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn dropping_the_handle_ends_the_process() {
    let (_stdin, _stdout, handle) = shell("exec sleep 600");
    let pid = handle.child.id().to_string();
    assert!(is_there(&pid));
    drop(handle);
    assert!(!is_there(&pid));
}

#[test]
fn a_process_leads_its_own_group() {
    let (_stdin, _stdout, handle) = shell("exec sleep 600");
    let pid = rustix::process::Pid::from_raw(handle.child.id() as i32);
    assert_eq!(rustix::process::getpgid(pid).ok(), pid);
}

#[test]
fn an_open_stderr_does_not_block() {
    let (_stdin, _stdout, mut handle) = shell("sleep 2 & echo going >&2; exit 1");
    let began = Instant::now();
    let message = handle.final_output().unwrap();
    assert_eq!(message, "the agent ended with exit code 1: going");
    assert!(began.elapsed() < Duration::from_millis(1500));
}

#[test]
fn a_local_agent_gets_its_tag_and_a_missing_program_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent.sh");
    let text = "#!/bin/sh\necho \"$@\"\ncat\n";
    write_executable(&program, text);
    let launcher = LocalLauncher::of(program, RunTag::new("mine").unwrap());
    let host = HostPlan::local("here".into());
    let mut launched = launcher.launch(0, &host).unwrap();
    drop(launched.to_agent);
    let mut output = String::new();
    launched.from_agent.read_to_string(&mut output).unwrap();
    assert_eq!(output, "agent --stdio --run mine\n");
    launched.handle.release(Duration::from_secs(10));

    let missing = LocalLauncher::of(dir.path().join("none"), RunTag::new("").unwrap());
    let error = missing.launch(0, &host).err().unwrap();
    assert!(
        error.contains("/none cannot be started: No such file"),
        "{error}"
    );
}

#[test]
fn the_path_of_this_program_is_found() {
    let own = own_executable().unwrap();
    assert_eq!(own, std::env::current_exe().unwrap());
}

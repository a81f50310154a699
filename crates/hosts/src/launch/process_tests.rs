//! Processes that behave, and processes that do not.

use super::*;
use std::io::Write;

fn shell(script: &str) -> (ChildStdin, ChildStdout, ChildProcess) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    ChildProcess::start("host", &mut command, Box::new(explain_agent)).unwrap()
}

fn is_there(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|s| !s.contains(") Z "))
}

#[test]
fn streams_are_the_protocols_and_words_are_kept_beside_them() {
    let (mut stdin, mut stdout, mut leash) = shell("echo hello >&2; cat; echo bye >&2; exit 3");
    stdin.write_all(b"ping").unwrap();
    drop(stdin);
    let mut back = String::new();
    stdout.read_to_string(&mut back).unwrap();
    assert_eq!(back, "ping");
    assert_eq!(
        leash.final_output().as_deref(),
        Some("the agent ended with exit code 3: hello; bye")
    );
    assert_eq!(leash.exit(), Some(ProcessExit::Code(3)));
}

#[test]
fn only_the_last_lines_are_kept_and_none_is_long_or_wild() {
    let script = r#"i=0; while [ $i -lt 50 ]; do echo "line $i" >&2; i=$((i+1)); done
        head -c 100000 /dev/zero | tr '\0' x >&2; printf '\n\033[31mred\007 \377\r\n\n' >&2"#;
    let (_stdin, _stdout, mut leash) = shell(script);
    let said = leash.final_output_lines();
    assert_eq!(said.lines.len(), LINES_MAX);
    assert_eq!(said.lines[0], "line 32");
    assert_eq!(said.lines[18].chars().count(), LINE_CHARS_MAX + 3);
    assert_eq!(said.lines[19], "\u{fffd}[31mred\u{fffd} \u{fffd}");
}

#[test]
fn who_is_killed_says_so() {
    let (_stdin, _stdout, mut leash) = shell("kill -9 $$");
    let words = leash.final_output().unwrap();
    assert!(words.contains("was killed (signal 9"), "{words}");
}

#[test]
fn letting_go_waits_for_who_ends_by_himself() {
    let (stdin, _stdout, mut leash) = shell("cat >/dev/null; sleep 0.2; exit 0");
    drop(stdin);
    leash.release(Duration::from_secs(30));
    assert_eq!(leash.exit(), Some(ProcessExit::Code(0)));
    assert_eq!(leash.final_output(), None);
}

#[test]
fn who_does_not_end_is_ended_with_what_he_started() {
    let (_stdin, mut stdout, mut leash) =
        shell("trap '' TERM; sleep 600 >&- 2>&- & echo $!; exec >&-; while :; do sleep 600; done");
    let mut pid = String::new();
    stdout.read_to_string(&mut pid).unwrap_or_default();
    let began = Instant::now();
    leash.release(Duration::from_millis(50));
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(leash.exit(), Some(ProcessExit::Signal(9)));
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_there(&pid) {
        assert!(Instant::now() < deadline, "its child {pid} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_process_outlives_its_leash() {
    let (_stdin, _stdout, leash) = shell("exec sleep 600");
    let pid = leash.child.id().to_string();
    assert!(is_there(&pid));
    drop(leash);
    assert!(!is_there(&pid));
}

#[test]
fn a_process_is_alone_in_its_group() {
    let (_stdin, _stdout, leash) = shell("exec sleep 600");
    let pid = rustix::process::Pid::from_raw(leash.child.id() as i32);
    assert_eq!(rustix::process::getpgid(pid).ok(), pid);
}

#[test]
fn who_holds_stderr_does_not_hold_us() {
    let (_stdin, _stdout, mut leash) = shell("sleep 2 & echo going >&2; exit 1");
    let began = Instant::now();
    let words = leash.final_output().unwrap();
    assert_eq!(words, "the agent ended with exit code 1: going");
    assert!(began.elapsed() < Duration::from_millis(1500));
}

#[test]
fn a_local_agent_gets_its_tag_and_a_missing_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent.sh");
    let text = "#!/bin/sh\necho \"$@\"\ncat\n";
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let launcher = LocalLauncher::of(program, RunTag::new("mine").unwrap());
    let host = HostPlan::local("here".into());
    let mut launched = launcher.launch(0, &host).unwrap();
    drop(launched.to_agent);
    let mut said = String::new();
    launched.from_agent.read_to_string(&mut said).unwrap();
    assert_eq!(said, "agent --stdio --run mine\n");
    launched.handle.release(Duration::from_secs(10));

    let missing = LocalLauncher::of(dir.path().join("none"), RunTag::new("").unwrap());
    let error = missing.launch(0, &host).err().unwrap();
    assert!(
        error.contains("/none cannot be started: No such file"),
        "{error}"
    );
}

#[test]
fn the_own_file_is_found() {
    let own = own_executable().unwrap();
    assert_eq!(own, std::env::current_exe().unwrap());
}

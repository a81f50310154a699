//! Groups of processes on Windows: each program is in a job, with all processes that it starts.

use super::ExitKind;
use filermark_system::job::{CREATION_FLAGS, ENDED_CODE, Job, ask_to_end};
use std::collections::HashMap;
use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The jobs by the numbers of their leaders. A job without a running process is removed when
/// the next one is made, so that there are not more of them than programs that run.
static JOBS: Mutex<Option<HashMap<u32, Job>>> = Mutex::new(None);

fn jobs() -> MutexGuard<'static, Option<HashMap<u32, Job>>> {
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn spawn(command: &mut Command, ends_with_us: bool) -> io::Result<Child> {
    let mut child = command.creation_flags(CREATION_FLAGS).spawn()?;
    match Job::begin(&child, ends_with_us) {
        Ok(job) => {
            let mut all = jobs();
            let all = all.get_or_insert_default();
            all.retain(|_, job| job.is_running().unwrap_or(true));
            all.insert(child.id(), job);
            Ok(child)
        }
        Err(error) => {
            // It is suspended, and has started nothing.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

fn end_job(leader: u32) {
    if let Some(job) = jobs().as_ref().and_then(|all| all.get(&leader)) {
        job.end();
    }
}

/// Asks it to end; where it cannot be asked it is ended at once.
pub fn terminate(child: &mut Child) {
    if !ask_to_end(child.id()) {
        end_now(child);
    }
}

pub fn end_now(child: &mut Child) {
    end_job(child.id());
    // One that is in no job.
    let _ = child.kill();
}

pub fn has_ended(child: &mut Child) -> bool {
    !super::is_running(child)
}

pub fn end_of(child: &mut Child) -> io::Result<Option<ExitKind>> {
    Ok(child.try_wait()?.map(super::end_by))
}

pub fn signal_of(_: ExitStatus) -> i32 {
    super::SIGKILL
}

/// As SIGKILL: the exit code of a program that was ended with its job.
pub fn was_killed(code: i32) -> bool {
    code == ENDED_CODE as i32
}

pub fn has_running(leader: u32) -> bool {
    let all = jobs();
    let job = all.as_ref().and_then(|all| all.get(&leader));
    job.is_some_and(|job| job.is_running().unwrap_or(true))
}

pub fn end_numbers(leaders: &[u32], grace: Duration) {
    let asked = leaders.iter().filter(|leader| ask_to_end(**leader)).count();
    if asked > 0 {
        std::thread::sleep(grace);
    }
    for leader in leaders {
        end_job(*leader);
    }
}

#[cfg(test)]
mod tests {
    use crate::child::{
        ExitKind, end_all, end_of, has_running_group, spawn_in_own_group, spawn_until_end_of_input,
    };
    use std::io::{self, Read, Write};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_program_and_its_children_are_ended() {
        let mut command = Command::new("cmd");
        command.args(["/d", "/c", "cmd /d /c pause & pause"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = spawn_in_own_group(&mut command).unwrap();
        assert!(has_running_group(&child));
        assert_eq!(end_of(&mut child).unwrap(), None);
        let mut children = [child];
        assert!(end_all(&mut children, Duration::from_secs(20)));
        assert!(!has_running_group(&children[0]));
        let ended = end_of(&mut children[0]).unwrap();
        assert!(
            matches!(ended, Some(ExitKind::Signal(9) | ExitKind::Exited(_))),
            "{ended:?}"
        );
    }

    const ROLE: &str = "FILERMARK_TEST_ROLE";
    /// How long a script runs that nothing ends.
    const SCRIPT_LIMIT: Duration = Duration::from_secs(120);

    /// This test in a process of its own, in a role.
    fn in_role(role: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "child::group::tests::the_end_of_a_prime_ends_scripts_and_the_input_of_agents";
        command.args(["--exact", name, "--nocapture"]);
        command.env(ROLE, role).stdin(Stdio::piped());
        command
    }

    fn print_line(words: &str) {
        let mut output = io::stdout();
        writeln!(output, "{words}").unwrap();
        output.flush().unwrap();
    }

    /// A prime starts an agent and a script, which write to its output, and is killed.
    #[test]
    fn the_end_of_a_prime_ends_scripts_and_the_input_of_agents() {
        match std::env::var(ROLE).as_deref() {
            Ok("prime") => {
                let agent = spawn_until_end_of_input(&mut in_role("agent")).unwrap();
                let script = spawn_in_own_group(&mut in_role("script")).unwrap();
                // Until it is killed: its input has no end before.
                let _ = io::stdin().read(&mut [0]);
                drop((agent, script));
            }
            Ok("agent") => {
                print_line("agent runs");
                io::stdin().read_to_end(&mut Vec::new()).unwrap();
                // Longer than a job takes to end.
                std::thread::sleep(Duration::from_secs(1));
                print_line("agent cleaned up");
            }
            Ok("script") => {
                print_line("script runs");
                std::thread::sleep(SCRIPT_LIMIT);
                print_line("script outlived its prime");
            }
            _ => {
                let mut prime = in_role("prime").stdout(Stdio::piped()).spawn().unwrap();
                let mut output = prime.stdout.take().unwrap();
                let (mut text, mut part) = (String::new(), [0; 512]);
                while !(text.contains("agent runs") && text.contains("script runs")) {
                    let count = output.read(&mut part).unwrap();
                    assert!(count > 0, "{text}");
                    text.push_str(&String::from_utf8_lossy(&part[..count]));
                }
                prime.kill().unwrap();
                prime.wait().unwrap();
                // It ends when all three have ended.
                output.read_to_string(&mut text).unwrap();
                assert!(text.contains("agent cleaned up"), "{text}");
                assert!(!text.contains("script outlived"), "{text}");
            }
        }
    }
}

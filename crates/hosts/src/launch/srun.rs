//! One `srun`: its arguments, its output, and its end.

use filermark_link::child;
use filermark_link::secure::hello::HostName;
use filermark_model::launch::{HostPlan, LaunchPlan};
use filermark_model::text::one_line;
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines of its output that are kept, and characters of each.
const LINES_MAX: usize = 20;
const LINE_LEN_MAX: usize = 300;
/// Lines that a message shows.
const SHOWN: usize = 3;
/// Interval of the checks whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// How long its remaining output is awaited after its end.
const FINAL_OUTPUT_MAX: Duration = Duration::from_millis(500);
/// How long it may take to end when asked: it has to end the tasks on all nodes.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// Its output while it waits for its nodes, and when it has them.
const WAITS_FOR_NODES: &str = "queued and waiting";
const HAS_NODES: &str = "allocated resources";
/// Its output that is no error.
const NORMAL_OUTPUT: [&str; 3] = [WAITS_FOR_NODES, HAS_NODES, "lacks support for cpu binding"];

/// Runs its arguments as a command, with the first line of its own input as all of the
/// command's input. Its own input is never written after that; it ends when the prime ends or
/// is killed. Then the agents have time to detect this and clean up, and the command, if it
/// still runs or waits in the queue, is ended after it. On SIGTERM it waits for the command,
/// which got the signal too.
pub(super) const WATCHED: &str = r#"
exec 3<&0
IFS= read -r line
printf '%s\n' "$line" | "$@" 3<&- &
command=$!
unset line
{ read -r _ <&3; sleep 40; kill -TERM "$command"; } 2>/dev/null &
trap : TERM
wait "$command"
status=$?
while kill -0 "$command" 2>/dev/null; do
    wait "$command"
    status=$?
done
trap '' TERM
kill -TERM 0
exit "$status"
"#;
/// The exit status of a shell if a program is missing.
const NOT_FOUND: i32 = 127;

/// The arguments of the command.
pub(super) type SrunArgs = Vec<String>;

/// The command that starts one agent on each of these nodes.
///
/// # Errors
/// A node or option that is not valid for Slurm.
pub(super) fn command(
    plan: &LaunchPlan,
    nodes: &[&HostPlan],
    job_name: &str,
) -> Result<SrunArgs, String> {
    let mut arguments = plan.srun_command.clone();
    if arguments.is_empty() {
        arguments.push("srun".into());
    }
    let user_sets = |options: &[&str]| {
        plan.srun_command
            .iter()
            .skip(1)
            .any(|word| options.contains(&word.split('=').next().unwrap_or(word)))
    };
    let count = nodes.len();
    arguments.extend([
        format!("--nodes={count}"),
        format!("--ntasks={count}"),
        "--ntasks-per-node=1".into(),
        format!("--nodelist={}", node_list(nodes)?),
        // The prime handles a lost node; the other nodes continue.
        "--no-kill".into(),
        "--wait=0".into(),
        "--kill-on-bad-exit=0".into(),
        "--mpi=none".into(),
        "--chdir=/".into(),
        format!("--job-name={job_name}"),
    ]);
    // Slurm gives a task one core by default; load generation needs the whole node.
    if !user_sets(&["--cpu-bind"]) {
        arguments.push("--cpu-bind=none".into());
    }
    if is_inside_allocation() {
        if !user_sets(&["--overlap", "--exact", "--exclusive"]) {
            arguments.push("--overlap".into());
        }
    } else if !user_sets(&[
        "--exclusive",
        "--oversubscribe",
        "-s",
        "--cpus-per-task",
        "-c",
    ]) {
        arguments.push("--exclusive".into());
    }
    arguments.push(program(nodes)?);
    arguments.extend(["agent", "--connect", "-", "--name-from-slurm"].map(String::from));
    Ok(arguments)
}

fn is_inside_allocation() -> bool {
    std::env::var_os("SLURM_JOB_ID").is_some_and(|id| !id.is_empty())
}

fn node_list(nodes: &[&HostPlan]) -> Result<String, String> {
    let mut seen = BTreeSet::new();
    for node in nodes {
        let name = &node.client;
        let plain = HostName::parse(name).is_ok() && !name.contains(['[', ']', ':', '%']);
        if !plain {
            return Err(format!(
                "{name:?} is not the name of a Slurm node (see: sinfo -N)"
            ));
        }
        if !seen.insert(name.as_str()) {
            return Err(format!(
                "{name} is named twice; Slurm starts one agent on a node: name it once"
            ));
        }
    }
    let names: Vec<_> = nodes.iter().map(|node| node.client.as_str()).collect();
    Ok(names.join(","))
}

/// The program on the nodes: one for all.
fn program(nodes: &[&HostPlan]) -> Result<String, String> {
    let named: BTreeSet<_> = nodes.iter().map(|node| &node.program).collect();
    let mut named = named.into_iter();
    match (named.next(), named.next()) {
        (Some(Some(program)), None) => Ok(program.clone()),
        (Some(None) | None, None) => own_path(),
        _ => Err(
            "Slurm starts the same program on all of its nodes; set one EXEC_PATH for all of them"
                .into(),
        ),
    }
}

fn own_path() -> Result<String, String> {
    let path = std::env::current_exe()
        .map_err(|e| format!("the path of this program is not known ({e}); set EXEC_PATH"))?;
    let path = path.into_os_string().into_string();
    path.map_err(|_| "the path of this program is not UTF-8; set EXEC_PATH".into())
}

/// A running `srun`. Dropping it ends it.
pub(super) struct Srun {
    child: Mutex<Option<Child>>,
    /// Open as long as the prime is running.
    _input: Option<ChildStdin>,
    ended: Mutex<Option<ExitStatus>>,
    output: Arc<Mutex<VecDeque<String>>>,
    output_ended: Arc<AtomicBool>,
    has_waited: AtomicBool,
}

impl Srun {
    /// Starts it in its own process group and writes the invitation to it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &SrunArgs, invitation: &str) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("srun cannot be started by sh: {e}");
        let mut start = Command::new("sh");
        start
            .args(["-c", WATCHED, "sh"])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = child::spawn_in_own_group(&mut start).map_err(failed)?;
        let mut input = child.stdin.take();
        let output = child.stderr.take();
        // Fits into the pipe, so it does not block.
        let written = input.as_mut().map(|i| i.write_all(invitation.as_bytes()));
        let srun = Self {
            child: Mutex::new(Some(child)),
            _input: input,
            ended: Mutex::default(),
            output: Arc::default(),
            output_ended: Arc::default(),
            has_waited: AtomicBool::new(false),
        };
        if let Some(output) = output {
            srun.listen(output).map_err(failed)?;
        }
        match written {
            Some(Err(error)) => Err(failed(error)),
            _ => Ok(srun),
        }
    }

    fn listen(&self, output: impl Read + Send + 'static) -> std::io::Result<()> {
        let (lines, output_ended) = (self.output.clone(), self.output_ended.clone());
        std::thread::Builder::new()
            .name("srun-lines".into())
            .spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = next_line(&mut output) {
                    tracing::debug!(target: "filermark_clients", "srun: {line}");
                    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                    if lines.len() == LINES_MAX {
                        lines.pop_front();
                    }
                    lines.push_back(line);
                }
                output_ended.store(true, Ordering::Release);
            })?;
        Ok(())
    }

    /// Whether it waits for its nodes.
    pub fn is_queued(&self) -> bool {
        let lines = self.output_lines();
        let last = |word: &str| lines.iter().rposition(|line| line.contains(word));
        last(WAITS_FOR_NODES) > last(HAS_NODES)
    }

    /// Its last output, in one line.
    pub fn last_lines(&self) -> String {
        let lines = self.output_lines();
        let skipped = lines.len().saturating_sub(SHOWN);
        let lines: Vec<_> = lines.iter().skip(skipped).map(String::as_str).collect();
        lines.join(" | ")
    }

    /// Its error messages in one line: those about this node, or else all. The first call waits
    /// a short time: srun detects the end of a task later than the prime.
    pub fn complaints(&self, node: &str) -> String {
        let since = Instant::now();
        let mut lines = self.complaints_now();
        let waits = !self.has_waited.swap(true, Ordering::Relaxed);
        while waits && lines.is_empty() && since.elapsed() < FINAL_OUTPUT_MAX {
            std::thread::sleep(POLL);
            lines = self.complaints_now();
        }
        if lines.iter().any(|line| line.contains(node)) {
            lines.retain(|line| line.contains(node));
        }
        lines.drain(..lines.len().saturating_sub(SHOWN));
        lines.join(" | ")
    }

    fn complaints_now(&self) -> Vec<String> {
        let is_complaint =
            |line: &&String| !NORMAL_OUTPUT.iter().any(|normal| line.contains(normal));
        self.output_lines()
            .iter()
            .filter(is_complaint)
            .cloned()
            .collect()
    }

    /// Its status and errors when it has ended; `None`: it is running.
    pub fn exit_text(&self) -> Option<String> {
        let status = self.status()?;
        let since = Instant::now();
        let has_ended = || self.output_ended.load(Ordering::Acquire);
        while !has_ended() && since.elapsed() < FINAL_OUTPUT_MAX {
            std::thread::sleep(POLL);
        }
        let mut errors = self.complaints_now();
        errors.drain(..errors.len().saturating_sub(SHOWN));
        let errors = match errors.is_empty() {
            true => "without an error message".into(),
            false => errors.join(" | "),
        };
        Some(match status.code() {
            Some(NOT_FOUND) => {
                format!(
                    "srun cannot be started ({errors}): is Slurm installed here? SRUN_COMMAND sets the command"
                )
            }
            _ => format!("srun ended ({status}): {errors}"),
        })
    }

    fn status(&self) -> Option<ExitStatus> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() {
            let mut child = self.child();
            let status = child.as_mut().and_then(|c| c.try_wait().ok().flatten());
            if status.is_some() {
                *child = None;
            }
            *ended = status;
        }
        *ended
    }

    /// Gives it `limit` to exit, then terminates it, and kills it with all of its children if
    /// that does not help.
    pub fn end(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.status().is_none() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
        let child = self.child().take();
        if let Some(child) = child {
            let mut children = [child];
            child::end_all(&mut children, TERM_GRACE);
            let status = children[0].try_wait().ok().flatten();
            *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = status;
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output_lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Srun {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// The next line with text, shortened and escaped.
fn next_line(output: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = Vec::new();
        // A longer line is read as several lines.
        let len = output
            .take(LINE_LEN_MAX as u64)
            .read_until(b'\n', &mut line)
            .ok()?;
        if len == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if !text.is_empty() {
            let text = text.strip_prefix("srun: ").unwrap_or(text);
            return Some(one_line(text));
        }
    }
}

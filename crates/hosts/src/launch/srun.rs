//! One `srun`: what it is told, what it says, and how it ends.

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

/// Lines of its talk that are kept, and characters of each.
const LINES_MAX: usize = 20;
const LINE_LEN_MAX: usize = 300;
/// Lines that a message shows.
const SHOWN: usize = 3;
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long its last words may take after its end.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long it has to end when asked: it has to end the tasks on all nodes.
const PATIENCE: Duration = Duration::from_secs(5);

/// What it says while it waits for its nodes, and when it has them.
const QUEUED: &str = "queued and waiting";
const GIVEN: &str = "allocated resources";
/// What it says without anything being wrong.
const NEWS: [&str; 3] = [QUEUED, GIVEN, "lacks support for cpu binding"];

/// Runs the command that its arguments are, with the first line of its own input as
/// all of the input. The rest of that input never comes, but its end does, also when we
/// are killed: then the agents have time to notice and clean up, and what is still
/// there (they are, or the job waits in the queue) is ended after it. Asked to end, it
/// waits for the command, which was asked too.
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
/// What a shell's status says of a program that is not there.
const NOT_FOUND: i32 = 127;

/// The words of the command.
pub(super) type SrunArgs = Vec<String>;

/// The command that starts one agent on each of these nodes.
///
/// # Errors
/// Slurm could not be told so.
pub(super) fn command(
    plan: &LaunchPlan,
    nodes: &[&HostPlan],
    job_name: &str,
) -> Result<SrunArgs, String> {
    let mut words = plan.srun_command.clone();
    if words.is_empty() {
        words.push("srun".into());
    }
    let user_says = |options: &[&str]| {
        plan.srun_command
            .iter()
            .skip(1)
            .any(|word| options.contains(&word.split('=').next().unwrap_or(word)))
    };
    let count = nodes.len();
    words.extend([
        format!("--nodes={count}"),
        format!("--ntasks={count}"),
        "--ntasks-per-node=1".into(),
        format!("--nodelist={}", node_list(nodes)?),
        // A lost node is the prime's affair, and the others go on.
        "--no-kill".into(),
        "--wait=0".into(),
        "--kill-on-bad-exit=0".into(),
        "--mpi=none".into(),
        "--chdir=/".into(),
        format!("--job-name={job_name}"),
    ]);
    // Slurm gives a task one core if it is not asked for more; load wants the node.
    if !user_says(&["--cpu-bind"]) {
        words.push("--cpu-bind=none".into());
    }
    if is_inside_allocation() {
        if !user_says(&["--overlap", "--exact", "--exclusive"]) {
            words.push("--overlap".into());
        }
    } else if !user_says(&[
        "--exclusive",
        "--oversubscribe",
        "-s",
        "--cpus-per-task",
        "-c",
    ]) {
        words.push("--exclusive".into());
    }
    words.push(program(nodes)?);
    words.extend(["agent", "--connect", "-", "--name-from-slurm"].map(String::from));
    Ok(words)
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
                "{name:?} is no name of a Slurm node (see: sinfo -N)"
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
            "Slurm starts the same program on all of its nodes; name one EXEC_PATH for them all"
                .into(),
        ),
    }
}

fn own_path() -> Result<String, String> {
    let path = std::env::current_exe()
        .map_err(|e| format!("our own program is not found ({e}); name it with EXEC_PATH"))?;
    let path = path.into_os_string().into_string();
    path.map_err(|_| "our own program has a path that is no text; name it with EXEC_PATH".into())
}

/// A running `srun`. Dropping it ends it.
pub(super) struct Srun {
    child: Mutex<Option<Child>>,
    /// As long as it is open, we live.
    _input: Option<ChildStdin>,
    ended: Mutex<Option<ExitStatus>>,
    output: Arc<Mutex<VecDeque<String>>>,
    talked_out: Arc<AtomicBool>,
    has_waited: AtomicBool,
}

impl Srun {
    /// Starts it, in a process group of its own, and hands it the invitation.
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
        let mut child = child::in_own_group(&mut start).spawn().map_err(failed)?;
        let mut input = child.stdin.take();
        let output = child.stderr.take();
        // Fits into the pipe: this does not wait.
        let told = input.as_mut().map(|i| i.write_all(invitation.as_bytes()));
        let srun = Self {
            child: Mutex::new(Some(child)),
            _input: input,
            ended: Mutex::default(),
            output: Arc::default(),
            talked_out: Arc::default(),
            has_waited: AtomicBool::new(false),
        };
        if let Some(output) = output {
            srun.listen(output).map_err(failed)?;
        }
        match told {
            Some(Err(error)) => Err(failed(error)),
            _ => Ok(srun),
        }
    }

    fn listen(&self, output: impl Read + Send + 'static) -> std::io::Result<()> {
        let (talk, talked_out) = (self.output.clone(), self.talked_out.clone());
        std::thread::Builder::new()
            .name("srun-talk".into())
            .spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = next_line(&mut output) {
                    tracing::debug!(target: "filermark_cluster", "srun: {line}");
                    let mut talk = talk.lock().unwrap_or_else(PoisonError::into_inner);
                    if talk.len() == LINES_MAX {
                        talk.pop_front();
                    }
                    talk.push_back(line);
                }
                talked_out.store(true, Ordering::Release);
            })?;
        Ok(())
    }

    /// Whether it waits for its nodes.
    pub fn is_queued(&self) -> bool {
        let talk = self.output_lines();
        let last = |word: &str| talk.iter().rposition(|line| line.contains(word));
        last(QUEUED) > last(GIVEN)
    }

    /// What it said last, in one line.
    pub fn last_lines(&self) -> String {
        let talk = self.output_lines();
        let skipped = talk.len().saturating_sub(SHOWN);
        let lines: Vec<_> = talk.iter().skip(skipped).map(String::as_str).collect();
        lines.join(" | ")
    }

    /// What it complained of, in one line: of this node, or else of anything. The first
    /// time it is waited for a moment: srun hears of the end of a task later than we.
    pub fn complaints(&self, node: &str) -> String {
        let since = Instant::now();
        let mut lines = self.complaints_now();
        let waits = !self.has_waited.swap(true, Ordering::Relaxed);
        while waits && lines.is_empty() && since.elapsed() < LAST_WORDS {
            std::thread::sleep(LOOK);
            lines = self.complaints_now();
        }
        if lines.iter().any(|line| line.contains(node)) {
            lines.retain(|line| line.contains(node));
        }
        lines.drain(..lines.len().saturating_sub(SHOWN));
        lines.join(" | ")
    }

    fn complaints_now(&self) -> Vec<String> {
        let is_news = |line: &&String| !NEWS.iter().any(|news| line.contains(news));
        self.output_lines()
            .iter()
            .filter(is_news)
            .cloned()
            .collect()
    }

    /// What there is to say when it has ended; `None`: it runs.
    pub fn exit_text(&self) -> Option<String> {
        let status = self.status()?;
        let since = Instant::now();
        let is_heard = || self.talked_out.load(Ordering::Acquire);
        while !is_heard() && since.elapsed() < LAST_WORDS {
            std::thread::sleep(LOOK);
        }
        let mut said = self.complaints_now();
        said.drain(..said.len().saturating_sub(SHOWN));
        let said = match said.is_empty() {
            true => "without a word of why".into(),
            false => said.join(" | "),
        };
        Some(match status.code() {
            Some(NOT_FOUND) => {
                format!(
                    "srun cannot be started ({said}): is Slurm installed here? SRUN_COMMAND names it"
                )
            }
            _ => format!("srun ended ({status}): {said}"),
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

    /// Gives it `limit` to end by itself, asks it to then, and ends it with all of its
    /// children when that does not help.
    pub fn end(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.status().is_none() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        let child = self.child().take();
        if let Some(child) = child {
            let mut children = [child];
            child::end_all(&mut children, PATIENCE);
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

/// The next line that says something, cut and made harmless.
fn next_line(output: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = Vec::new();
        // What is longer comes as several lines.
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

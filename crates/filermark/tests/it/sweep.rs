//! Starts the program, and reads its output and results.

use filermark_results::{PointRecord, RunRecord, read_record};
use filermark_server::RunningServer;
use filermark_testbed::{Export, Hosts, Mounts, Sandbox, Wine, write_program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test, which was built with these tests.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_filermark");

/// The program that sweeps start: FILERMARK_PROGRAM or, without it, [`PROGRAM`]. `ci/on-system`
/// sets it to one of another processor or C library.
fn program() -> OsString {
    std::env::var_os("FILERMARK_PROGRAM").unwrap_or_else(|| PROGRAM.into())
}

/// Time limit of all programs of these tests.
const LIMIT: Duration = Duration::from_secs(600);
/// Time between two checks whether a program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A command line of the program, with a separate directory.
#[derive(Clone)]
pub struct Sweep {
    command: &'static str,
    options: BTreeMap<String, String>,
    args: Vec<String>,
    suffix: String,
    ground: WorkDir,
    front: Vec<OsString>,
    environment: Vec<(String, OsString)>,
    dir: Arc<TempDir>,
}

/// The namespace in which a program is started.
#[derive(Clone, Default)]
enum WorkDir {
    #[default]
    Here,
    Sandbox(Arc<Sandbox>),
    Mounts(Arc<Mounts>),
    Hosts(Arc<Hosts>),
    Wine(Arc<Wine>),
}

impl WorkDir {
    /// The program under test.
    fn program(&self) -> OsString {
        match self {
            Self::Wine(wine) => wine.program().into(),
            _ => program(),
        }
    }

    fn command(&self, program: &OsStr) -> Command {
        match self {
            Self::Here => Command::new(program),
            Self::Sandbox(sandbox) => sandbox.command(program),
            Self::Mounts(mounts) => mounts.command(program),
            Self::Hosts(hosts) => hosts.command(program),
            Self::Wine(wine) => {
                let mut command = wine.command("wine");
                command.arg(program);
                command
            }
        }
    }
}

impl Sweep {
    /// `run` with limits for test machines: the suite may have less than one processor and stall for
    /// seconds, and its disk may be nearly full. Tests of these limits set them themselves.
    pub fn bare() -> Self {
        let dir = tempfile::tempdir().expect("a directory for the results");
        let stalls = ("STALL_PCNT_MAX".to_owned(), "100".to_owned());
        let reserve = ("SPACE_RESERVE".to_owned(), "0".to_owned());
        Self {
            command: "run",
            options: BTreeMap::from([stalls, reserve]),
            args: Vec::new(),
            suffix: "s".into(),
            ground: WorkDir::Here,
            front: Vec::new(),
            environment: Vec::new(),
            dir: Arc::new(dir),
        }
    }

    /// A short run of one load point with a small file set.
    pub fn short() -> Self {
        Self::bare()
            .set("LOAD", 100)
            .set("PROCS", 4)
            .set("WARMUP_TIME", 0)
            .set("RUNTIME", 1)
            .set("FILESET_MB_PER_OP", 0.05)
            .set("DIR_COUNT", 3)
            .set("FILE_COUNT", 20)
            .set("SYMLINK_COUNT", 3)
    }

    /// A short run against an embedded server.
    pub fn on(server: &RunningServer) -> Self {
        Self::at(server.addrs()[0])
    }

    /// A short run against an embedded server at an address.
    pub fn at(address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V4(a) => a.ip().to_string(),
            SocketAddr::V6(a) => format!("[{}]", a.ip()),
        };
        Self::short()
            .set("MNT_POINTS", format!("{host}:/export"))
            .set("NFS_PORT", address.port())
            .set("MOUNT_PORT", address.port())
    }

    /// A short run against a server of the testbed, in its network.
    pub fn inside(sandbox: &Arc<Sandbox>, export: &Export) -> Self {
        let mut sweep = Self::short()
            .set("MNT_POINTS", export.mount_point())
            .set("NFS_PORT", export.nfs_port)
            .set("MOUNT_PORT", export.mount_port);
        sweep.ground = WorkDir::Sandbox(Arc::clone(sandbox));
        sweep
    }

    /// Runs in a sandbox's network.
    pub fn in_network_of(mut self, sandbox: &Arc<Sandbox>) -> Self {
        self.ground = WorkDir::Sandbox(Arc::clone(sandbox));
        self
    }

    /// Runs on the prime of these hosts.
    pub fn on_prime_of(mut self, hosts: &Arc<Hosts>) -> Self {
        self.ground = WorkDir::Hosts(Arc::clone(hosts));
        self
    }

    /// Runs the Windows program.
    pub fn under_wine(mut self, wine: &Arc<Wine>) -> Self {
        self.ground = WorkDir::Wine(Arc::clone(wine));
        self
    }

    /// A short run of one load point of a composite benchmark, with a small tree,
    /// in a directory of the mounts' namespace.
    pub fn composite(benchmark: &str, mounts: &Arc<Mounts>, at: &Path) -> Self {
        let mut sweep = Self::small_composite(benchmark)
            .set("CLIENT_MOUNTPOINTS", format!("localhost:{}", at.display()));
        sweep.ground = WorkDir::Mounts(Arc::clone(mounts));
        sweep
    }

    /// A short run of one load point of a composite benchmark, with a small tree; without a target.
    pub fn small_composite(benchmark: &str) -> Self {
        Self::bare()
            .set("BENCHMARK", benchmark)
            .set("FILE_SIZE", "16k")
            .set("DIR_COUNT", 2)
            .set("FILES_PER_DIR", 4)
            .set("LOAD", 1)
            .set("WARMUP_TIME", 0)
            .set("RUNTIME", 2)
    }

    /// Runs in the namespace of these mounts.
    pub fn seeing(mut self, mounts: &Arc<Mounts>) -> Self {
        self.ground = WorkDir::Mounts(Arc::clone(mounts));
        self
    }

    /// Runs with a program that starts another one, such as strace.
    pub fn through(mut self, front: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.front = front.into_iter().map(Into::into).collect();
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Another subcommand than `run`.
    pub fn command(mut self, command: &'static str) -> Self {
        self.command = command;
        self
    }

    /// Sets a parameter with `-o`.
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.options.insert(name.into(), value.to_string());
        self
    }

    /// Removes a parameter.
    pub fn unset(mut self, name: &str) -> Self {
        self.options.remove(name);
        self
    }

    /// Another suffix.
    pub fn suffix(mut self, suffix: &str) -> Self {
        self.suffix = suffix.into();
        self
    }

    /// Its suffix.
    pub fn name(&self) -> &str {
        &self.suffix
    }

    /// A further argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds several arguments, separated by blanks.
    pub fn args(self, line: &str) -> Self {
        line.split_whitespace().fold(self, Self::arg)
    }

    /// Writes an rc file with this text and uses it; also returns its path.
    pub fn rc(self, text: &str) -> Self {
        let path = self.write("sfs_rc", text);
        self.arg("-r").arg(path.display().to_string())
    }

    /// Moves the parameters to an rc file; later ones are on the command line.
    pub fn into_rc(mut self) -> Self {
        let options = std::mem::take(&mut self.options);
        let line = |(name, value): (&String, &String)| format!("{name}=\"{value}\"\n");
        let text: String = options.iter().map(line).collect();
        self.rc(&text)
    }

    /// A copy with another results directory.
    pub fn elsewhere(&self) -> Self {
        let mut other = self.clone();
        other.dir = Arc::new(tempfile::tempdir().expect("a directory for the results"));
        other
    }

    /// The directory that the program starts in; results go to `result` in it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file there.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir().join(name);
        std::fs::write(&path, text).expect("write a file of the test");
        path
    }

    /// Writes a shell script there that can be started at once: `text` follows the line that
    /// names the shell.
    pub fn write_script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir().join(name);
        write_program(&path, format!("#!/bin/sh\n{text}\n")).expect("write a script");
        path
    }

    /// A file of the results.
    pub fn result(&self, name: &str) -> PathBuf {
        self.dir().join("result").join(name)
    }

    /// The command line.
    pub fn to_command(&self) -> Command {
        let mut line = self.front.clone();
        line.push(self.ground.program());
        let mut command = self.ground.command(&line[0]);
        command.args(&line[1..]).arg(self.command);
        let (has_suffix, has_options) = match self.command {
            "serve" | "clock" | "demo" | "report" | "quick" | "watch" => (false, false),
            "netmist" => (false, true),
            _ => (true, true),
        };
        if has_suffix {
            command.args(["-s", &self.suffix]);
        }
        for (name, value) in self.options.iter().filter(|_| has_options) {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        command.args(&self.args).current_dir(self.dir());
        // Settings of the user must not change colours or widths of the output.
        command.env_remove("RUST_LOG").env_remove("COLUMNS");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the program.
    pub fn start(&self) -> Started {
        Started::start(self.to_command(), self.clone())
    }

    /// Runs the program to its end.
    pub fn run(&self) -> Ended {
        self.start().wait()
    }

    /// Runs the program, which must come to its end.
    pub fn succeed(&self) -> Ended {
        let ended = self.run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        ended
    }

    /// Runs the program, which must fail with this exit code.
    pub fn fail(&self, code: i32) -> Ended {
        let ended = self.run();
        assert_eq!(ended.code, code, "{}", ended.stderr);
        ended.assert_sanitized();
        ended
    }
}

/// The program under way; killed when it is dropped.
pub struct Started {
    child: Child,
    sweep: Sweep,
}

impl Started {
    fn start(mut command: Command, sweep: Sweep) -> Self {
        let file = |name: &str| File::create(sweep.dir().join(name)).expect("a file for output");
        let child = command
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("start filermark");
        Self { child, sweep }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a pid");
        kill_process(pid, signal).expect("send a signal");
    }

    /// Its output until now.
    pub fn stderr(&self) -> String {
        read(&self.sweep.dir().join("stderr"))
    }

    /// Waits until its stderr has this text.
    pub fn wait_for(&mut self, words: &str) {
        self.wait_until(&format!("{words:?} on stderr"), |started| {
            started.stderr().contains(words)
        });
    }

    /// Waits until a condition holds.
    pub fn wait_until(&mut self, what: &str, mut so: impl FnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !so(self) {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("it ended ({status}) before {what}:\n{}", self.stderr());
            }
            assert!(began.elapsed() < LIMIT, "no {what}:\n{}", self.stderr());
            std::thread::sleep(LOOK);
        }
    }

    /// Waits for its end.
    pub fn wait(self) -> Ended {
        self.wait_watching(|_| {})
    }

    /// Waits for its end and calls a function every few milliseconds.
    pub fn wait_watching(mut self, mut look: impl FnMut(&Self)) -> Ended {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for filermark") {
                return Ended {
                    code: status.code().unwrap_or(-1),
                    stdout: read(&self.sweep.dir().join("stdout")),
                    stderr: self.stderr(),
                    elapsed: began.elapsed(),
                    sweep: self.sweep.clone(),
                };
            }
            assert!(
                began.elapsed() < LIMIT,
                "it does not end:\n{}",
                self.stderr()
            );
            look(&self);
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A program that has ended.
pub struct Ended {
    /// Its exit code; -1: a signal.
    pub code: i32,
    /// Its product.
    pub stdout: String,
    /// Its stderr text.
    pub stderr: String,
    /// How long it took.
    pub elapsed: Duration,
    sweep: Sweep,
}

impl Ended {
    /// Whether a run came to its end. On a busy host its only load point may miss its
    /// rate; the exit code is 4 then.
    pub fn is_complete(&self) -> bool {
        [0, 4].contains(&self.code)
    }

    /// The run record.
    pub fn record(&self) -> RunRecord {
        let name = format!("{}.run.jsonl", self.sweep.suffix);
        read_record(&self.sweep.result(&name)).expect("the run record")
    }

    /// A load point of the record, by its number.
    pub fn point(&self, number: usize) -> PointRecord {
        let points = self.record().points;
        points[number - 1].clone()
    }

    /// The driver's counter at the first load point.
    pub fn counter(&self, name: &str) -> u64 {
        let point = self.point(1);
        let stats = point.stats.as_ref().expect("figures");
        stats.counters.get(name).copied().unwrap_or(0)
    }

    /// A classical file, or the HTML report, by the part of its name before the suffix.
    pub fn file(&self, front: &str) -> String {
        let suffix = &self.sweep.suffix;
        match front {
            "html" => read(&self.sweep.result(&format!("{suffix}.html"))),
            front => read(&self.sweep.result(&format!("{front}.{suffix}"))),
        }
    }

    /// The path of a file of the results.
    pub fn path(&self, name: &str) -> PathBuf {
        self.sweep.result(name)
    }

    /// The product as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("JSON on stdout")
    }

    /// Its error messages.
    pub fn sentences(&self) -> Vec<&str> {
        let lines = self.stderr.lines();
        lines
            .filter_map(|l| l.strip_prefix("filermark: "))
            .collect()
    }

    /// Its only error message, which must contain all of `parts`.
    #[track_caller]
    pub fn assert_sentence(&self, parts: &[&str]) {
        let sentences = self.sentences();
        let [sentence] = sentences[..] else {
            panic!("not one sentence but {}:\n{}", sentences.len(), self.stderr);
        };
        for part in parts {
            assert!(sentence.contains(part), "no {part:?} in: {sentence}");
        }
    }

    /// Asserts that there is no panic and no internal text.
    #[track_caller]
    pub fn assert_sanitized(&self) {
        for word in ["panicked", "RUST_BACKTRACE", "src/", "Err(", "None"] {
            assert!(!self.stderr.contains(word), "{word}:\n{}", self.stderr);
        }
    }
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

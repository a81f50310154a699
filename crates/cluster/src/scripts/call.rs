//! One call of a script: started in its own process group, ended when it takes too
//! long, its output kept.

use crate::child;
use filermark_results::ScriptStatus;
use filermark_results::heartbeat::{SCRIPT_OUTPUT_LEN_MAX, script_output};
use std::io::{self, PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long output is still waited for after a script has ended: something that it
/// left running may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Runs a script to its end, to its limit, or till it is given up; for a thread of
/// its own.
pub(super) fn carry_out(
    path: &Path,
    argument: &str,
    limit: Duration,
    give_up: &AtomicBool,
) -> (ScriptStatus, String) {
    let failed = |reason: String| ScriptStatus::Failed { reason };
    let (mut child, output) = match start(path, argument) {
        Ok(started) => started,
        Err(e) => return (failed(format!("cannot be started: {e}")), String::new()),
    };
    let kept = keep_output(output);
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                break match status.code() {
                    Some(code) => ScriptStatus::Exited { code },
                    None => failed(format!("was ended from outside ({status})")),
                };
            }
            Ok(None) => {}
            Err(e) => break failed(e.to_string()),
        }
        let stopped = give_up.load(Ordering::Relaxed);
        if stopped || Instant::now() >= deadline {
            let why = match stopped {
                true => "was ended, as the run was".to_owned(),
                false => format!("took longer than {} s and was ended", limit.as_secs_f64()),
            };
            let gone = child::end_all(std::slice::from_mut(&mut child), child::PATIENCE);
            break failed(match gone {
                true => why,
                false => format!("{why}, but hangs in the system"),
            });
        }
        std::thread::sleep(child::LOOK);
    };
    (status, kept.take())
}

/// "Exec format error", on every Unix.
const ENOEXEC: i32 = 8;

fn start(path: &Path, argument: &str) -> io::Result<(Child, PipeReader)> {
    let mut tries = 0;
    loop {
        let mut direct = Command::new(path);
        let started = spawn(direct.arg(argument));
        match started {
            // Without a first line that names its interpreter, a shell would run it.
            Err(e) if e.raw_os_error() == Some(ENOEXEC) => {
                let mut shell = Command::new("/bin/sh");
                return spawn(shell.arg(path).arg(argument));
            }
            // Somebody is just done writing it.
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && tries < 10 => {
                tries += 1;
                std::thread::sleep(child::LOOK);
            }
            other => return other,
        }
    }
}

fn spawn(command: &mut Command) -> io::Result<(Child, PipeReader)> {
    let (output, end) = io::pipe()?;
    command
        .stdin(Stdio::null())
        .stdout(end.try_clone()?)
        .stderr(end);
    let child = child::in_own_group(command).spawn()?;
    Ok((child, output))
}

/// What a script has printed so far.
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    at_end: Receiver<()>,
}

impl Kept {
    fn take(self) -> String {
        let _ = self.at_end.recv_timeout(LAST_WORDS);
        script_output(&self.bytes.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

/// Reads all that a script prints and keeps its beginning. Goes on for as long as
/// somebody holds the pipe: a monitor that the script has left running must not
/// die of a closed one.
fn keep_output(mut output: PipeReader) -> Kept {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (end, at_end) = channel();
    let kept = bytes.clone();
    let read = move || {
        let mut buffer = [0; 4096];
        loop {
            match output.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
                    // One byte too many, so that what is cut is seen to be.
                    let room = (SCRIPT_OUTPUT_LEN_MAX + 1).saturating_sub(kept.len());
                    kept.extend_from_slice(&buffer[..n.min(room)]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = end.send(());
    };
    // Without a thread nothing is kept; the end of the channel tells so.
    let _ = std::thread::Builder::new()
        .name("script-output".into())
        .spawn(read);
    Kept { bytes, at_end }
}

//! The output of a script: its beginning is kept, and all of it is copied to a file if
//! there is one.

use filermark_results::heartbeat::{SCRIPT_OUTPUT_LEN_MAX, script_output};
use filermark_system::wait_readable;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for more output after a script has ended: a process that it has left
/// running may keep the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);
/// How long to wait if its whole group was ended: only a process that has left the group
/// can keep the pipe open.
const OUTPUT_WAIT_OF_GROUP: Duration = Duration::from_secs(2);
/// No pipe holds more, in bytes (pipe(7): the largest that a user may set).
const PIPE_LEN_MAX: usize = 1 << 20;

/// The reading ends of a script's outputs.
pub(super) struct Streams {
    /// Stdout, and stderr if it has no pipe of its own.
    pub output: PipeReader,
    pub errors: Option<PipeReader>,
}

type Bytes = Arc<Mutex<Vec<u8>>>;

/// What a script has printed so far.
pub(super) struct CapturedOutput {
    output: Bytes,
    errors: Bytes,
    streams: Vec<Arc<Mutex<OutputStream>>>,
    at_end: Receiver<()>,
}

/// A pipe and where its bytes go.
struct OutputStream {
    pipe: PipeReader,
    into: Vec<Bytes>,
    copy: Option<File>,
}

impl CapturedOutput {
    /// Begins to read. The first line of a copy is written before the output.
    pub fn of(streams: Streams, copy: Option<(File, String)>) -> Self {
        let (end, at_end) = channel();
        let (output, errors) = (Bytes::default(), Bytes::default());
        let copy = copy.map(|(mut file, head)| {
            let _ = writeln!(file, "{head}");
            file
        });
        let begin = |pipe, into| {
            let copy = copy.as_ref().and_then(|file| file.try_clone().ok());
            let stream = Arc::new(Mutex::new(OutputStream { pipe, into, copy }));
            read_on_a_thread(stream.clone(), end.clone());
            stream
        };
        let errors_stream = streams
            .errors
            .map(|pipe| begin(pipe, vec![output.clone(), errors.clone()]));
        let streams = errors_stream
            .into_iter()
            .chain([begin(streams.output, vec![output.clone()])])
            .collect();
        Self {
            output,
            errors,
            streams,
            at_end,
        }
    }

    /// The beginning of all output, and of stderr alone. The script has ended: all that it
    /// printed is read, however late its threads run.
    pub fn take(self, is_group_ended: bool) -> (String, String) {
        for stream in &self.streams {
            lock(stream).read_available();
        }
        let deadline = Instant::now()
            + match is_group_ended {
                true => OUTPUT_WAIT_OF_GROUP,
                false => OUTPUT_WAIT,
            };
        for _ in &self.streams {
            let left = deadline.saturating_duration_since(Instant::now());
            let _ = self.at_end.recv_timeout(left);
        }
        let text =
            |bytes: &Bytes| script_output(&bytes.lock().unwrap_or_else(PoisonError::into_inner));
        (text(&self.output), text(&self.errors))
    }
}

fn lock(stream: &Mutex<OutputStream>) -> MutexGuard<'_, OutputStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStep {
    /// So many bytes.
    Some(usize),
    /// The pipe is empty.
    Nothing,
    /// No process has it open any more, or it cannot be read.
    End,
}

impl OutputStream {
    /// One read, without a wait: keeps the beginning, and copies all.
    fn read_once(&mut self) -> ReadStep {
        match wait_readable(&self.pipe, Some(Duration::ZERO)) {
            Ok(true) => {}
            Ok(false) => return ReadStep::Nothing,
            Err(_) => return ReadStep::End,
        }
        let mut buffer = [0; 4096];
        let printed = match self.pipe.read(&mut buffer) {
            Ok(0) => return ReadStep::End,
            Ok(n) => buffer.get(..n).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return ReadStep::Nothing,
            Err(_) => return ReadStep::End,
        };
        for kept in &self.into {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            // One byte more than the limit shows that the output was cut.
            let free = (SCRIPT_OUTPUT_LEN_MAX + 1).saturating_sub(kept.len());
            kept.extend(printed.iter().take(free));
        }
        if let Some(file) = &mut self.copy {
            let _ = file.write_all(printed);
        }
        ReadStep::Some(printed.len())
    }

    /// Reads what is there now: no more than a pipe holds, since a process that the script has
    /// left running may print on.
    fn read_available(&mut self) {
        let mut read_len = 0;
        while read_len < PIPE_LEN_MAX
            && let ReadStep::Some(len) = self.read_once()
        {
            read_len += len;
        }
    }
}

/// Reads all output of a script. Goes on as long as a process has the pipe open: a monitor that
/// the script has left running must not fail because the pipe is closed.
fn read_on_a_thread(stream: Arc<Mutex<OutputStream>>, end: Sender<()>) {
    let read = move || {
        // It waits without the lock.
        if let Ok(pipe) = { lock(&stream).pipe.try_clone() } {
            while wait_readable(&pipe, None).is_ok() && lock(&stream).read_once() != ReadStep::End {
            }
        }
        let _ = end.send(());
    };
    // Without a thread only what is in the pipe at the end is kept, and the channel is closed.
    let _ = std::thread::Builder::new()
        .name("script-output".into())
        .spawn(read);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_pipe_is_read_without_a_wait() {
        let (pipe, mut end) = io::pipe().expect("a pipe");
        let kept = Bytes::default();
        let mut stream = OutputStream {
            pipe,
            into: vec![kept.clone()],
            copy: None,
        };
        assert_eq!(stream.read_once(), ReadStep::Nothing);
        // More than one read takes, where a pipe holds that: one of Windows holds 4 KiB.
        let len = if cfg!(windows) { 3000 } else { 5000 };
        end.write_all(&vec![b'a'; len]).expect("written");
        // The other end stays open: the end of the stream does not come.
        stream.read_available();
        assert_eq!(kept.lock().expect("kept").len(), len);
        drop(end);
        assert_eq!(stream.read_once(), ReadStep::End);
    }
}

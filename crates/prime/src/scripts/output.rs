//! The output of a script: its beginning is kept, and all of it is copied to a file if
//! there is one.

use filermark_results::heartbeat::{SCRIPT_OUTPUT_LEN_MAX, script_output};
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for output after a script has ended: a process that it has left
/// running may keep the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);
/// How long to wait if its whole group was ended: only a process that has left the group
/// can keep the pipe open.
const OUTPUT_WAIT_OF_GROUP: Duration = Duration::from_secs(2);

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
    at_end: Receiver<()>,
    stream_count: usize,
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
        let copy_too = || copy.as_ref().and_then(|file| file.try_clone().ok());
        let mut stream_count = 1;
        if let Some(pipe) = streams.errors {
            let into = vec![output.clone(), errors.clone()];
            keep(pipe, into, copy_too(), end.clone());
            stream_count = 2;
        }
        keep(streams.output, vec![output.clone()], copy_too(), end);
        Self {
            output,
            errors,
            at_end,
            stream_count,
        }
    }

    /// The beginning of all output, and of stderr alone.
    pub fn take(self, is_group_ended: bool) -> (String, String) {
        let deadline = Instant::now()
            + match is_group_ended {
                true => OUTPUT_WAIT_OF_GROUP,
                false => OUTPUT_WAIT,
            };
        for _ in 0..self.stream_count {
            let left = deadline.saturating_duration_since(Instant::now());
            let _ = self.at_end.recv_timeout(left);
        }
        let text =
            |bytes: &Bytes| script_output(&bytes.lock().unwrap_or_else(PoisonError::into_inner));
        (text(&self.output), text(&self.errors))
    }
}

/// Reads all output of a script and keeps its beginning. Goes on as long as a process has
/// the pipe open: a monitor that the script has left running must not fail because the
/// pipe is closed.
fn keep(mut pipe: PipeReader, into: Vec<Bytes>, mut copy: Option<File>, end: Sender<()>) {
    let read = move || {
        let mut buffer = [0; 4096];
        loop {
            let printed = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => buffer.get(..n).unwrap_or_default(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for kept in &into {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                // One byte more than the limit shows that the output was cut.
                let free = (SCRIPT_OUTPUT_LEN_MAX + 1).saturating_sub(kept.len());
                kept.extend(printed.iter().take(free));
            }
            if let Some(file) = &mut copy {
                let _ = file.write_all(printed);
            }
        }
        let _ = end.send(());
    };
    // Without a thread nothing is kept, and the channel is closed.
    let _ = std::thread::Builder::new()
        .name("script-output".into())
        .spawn(read);
}

//! What a script prints: its beginning is kept, all of it is copied where that is
//! wished.

use filermark_results::heartbeat::{SCRIPT_OUTPUT_LEN_MAX, script_output};
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long output is still waited for after a script has ended: something that it
/// left running may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The same where all of its group was ended: only what has left the group may hold it.
const LAST_WORDS_OF_GROUP: Duration = Duration::from_secs(2);

/// The reading ends of a script's outputs.
pub(super) struct Streams {
    /// Stdout, and stderr where that has no pipe of its own.
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
    /// Begins to read. With a copy its first line is written ahead of all.
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

    /// The beginning of all that it printed, and of what went to stderr alone.
    pub fn take(self, is_group_ended: bool) -> (String, String) {
        let deadline = Instant::now()
            + match is_group_ended {
                true => LAST_WORDS_OF_GROUP,
                false => LAST_WORDS,
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

/// Reads all that a script prints and keeps its beginning. Goes on for as long as
/// somebody holds the pipe: a monitor that the script has left running must not
/// die of a closed one.
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
                // One byte too many, so that what is cut is seen to be.
                let room = (SCRIPT_OUTPUT_LEN_MAX + 1).saturating_sub(kept.len());
                kept.extend(printed.iter().take(room));
            }
            if let Some(file) = &mut copy {
                let _ = file.write_all(printed);
            }
        }
        let _ = end.send(());
    };
    // Without a thread nothing is kept; the end of the channel tells so.
    let _ = std::thread::Builder::new()
        .name("script-output".into())
        .spawn(read);
}

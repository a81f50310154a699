//! The events of a run in memory, for readers over HTTP (`GET /events`). Bounded; a reader that is
//! too slow misses lines, as the numbers of the lines show, and never delays the run.

use crate::http::{LineStream, NextLines};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limits of what is kept: lines that may be dropped, all lines, and their bytes.
const PASSING_MAX: usize = 4_096;
const LINES_MAX: usize = 16_384;
const BYTES_MAX: usize = 32 << 20;
/// A reader gets about so many bytes at a time.
const PART_LEN: usize = 256 << 10;

/// The events of a program: of one run, or of several in a row (`quick`).
#[derive(Clone, Default)]
pub struct EventLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Kept>,
    wake: Condvar,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<KeptLine>,
    /// The number of the next line.
    next: u64,
    passing_count: usize,
    len: usize,
    closed: bool,
}

struct KeptLine {
    number: u64,
    is_passing: bool,
    text: String,
}

impl EventLog {
    /// Adds a line; `is_passing`: it is among the first to be dropped.
    pub fn push(&self, line: &str, is_passing: bool) {
        self.0.lock().push(line, is_passing);
        self.0.wake.notify_all();
    }

    /// No more lines follow: readers end with the last one.
    pub fn close(&self) {
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }

    /// A reader from the first line that is kept.
    pub fn reader(&self) -> Box<dyn LineStream> {
        Box::new(Reader {
            shared: Arc::clone(&self.0),
            next: 0,
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, line: &str, is_passing: bool) {
        self.lines.push_back(KeptLine {
            number: self.next,
            is_passing,
            text: line.to_owned(),
        });
        self.next += 1;
        self.len += line.len();
        self.passing_count += usize::from(is_passing);
        if self.passing_count > PASSING_MAX {
            let oldest = self.lines.iter().position(|line| line.is_passing);
            oldest.into_iter().for_each(|at| self.drop_line(at));
        }
        // The first line says which run it is.
        while self.lines.len() > 2 && (self.lines.len() > LINES_MAX || self.len > BYTES_MAX) {
            self.drop_line(1);
        }
    }

    fn drop_line(&mut self, at: usize) {
        if let Some(line) = self.lines.remove(at) {
            self.len -= line.text.len();
            self.passing_count -= usize::from(line.is_passing);
        }
    }
}

struct Reader {
    shared: Arc<Shared>,
    next: u64,
}

impl LineStream for Reader {
    fn next(&mut self, wait: Duration) -> NextLines {
        let next = self.next;
        let none = |kept: &mut Kept| kept.next <= next && !kept.closed;
        let waited = self
            .shared
            .wake
            .wait_timeout_while(self.shared.lock(), wait, none);
        let (kept, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let from = kept.lines.partition_point(|line| line.number < next);
        let mut text = String::new();
        for line in kept.lines.range(from..) {
            text.push_str(&line.text);
            self.next = line.number + 1;
            if text.len() >= PART_LEN {
                break;
            }
        }
        match (text.is_empty(), kept.closed) {
            (false, _) => NextLines::Text(text),
            (true, true) => NextLines::End,
            (true, false) => NextLines::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn text(reader: &mut dyn LineStream) -> String {
        let mut all = String::new();
        while let NextLines::Text(text) = reader.next(NOW) {
            all.push_str(&text);
        }
        all
    }

    #[test]
    fn a_late_reader_gets_what_was_before_and_what_follows() {
        let log = EventLog::default();
        log.push("first\n", false);
        log.push("second\n", true);
        let mut reader = log.reader();
        assert_eq!(text(reader.as_mut()), "first\nsecond\n");
        assert!(matches!(reader.next(NOW), NextLines::Wait));
        log.push("third\n", false);
        log.close();
        assert_eq!(text(reader.as_mut()), "third\n");
        assert!(matches!(reader.next(NOW), NextLines::End));
    }

    #[test]
    fn a_reader_is_woken_by_the_next_line() {
        let log = EventLog::default();
        let mut reader = log.reader();
        let waiting = std::thread::spawn(move || reader.next(Duration::from_secs(3_600)));
        log.push("a line\n", false);
        let got = waiting.join().expect("it ends");
        assert!(matches!(got, NextLines::Text(text) if text == "a line\n"));
    }

    #[test]
    fn memory_is_limited_and_the_first_line_stays() {
        let log = EventLog::default();
        log.push("first\n", false);
        log.push("important\n", false);
        for n in 0..PASSING_MAX + 10 {
            log.push(&format!("{n}\n"), true);
        }
        let kept = text(log.reader().as_mut());
        assert!(kept.starts_with("first\nimportant\n10\n11\n"));
        assert_eq!(kept.lines().count(), PASSING_MAX + 2);
        for n in 0..LINES_MAX {
            log.push(&format!("i{n}\n"), false);
        }
        let kept = text(log.reader().as_mut());
        assert!(kept.starts_with("first\ni1\n"), "{}", &kept[..40]);
        assert_eq!(kept.lines().count(), LINES_MAX);
        let long = "x".repeat(BYTES_MAX);
        log.push(&long, false);
        let kept = text(log.reader().as_mut());
        assert_eq!(kept.len(), "first\n".len() + long.len());
    }
}

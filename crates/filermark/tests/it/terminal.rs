//! The program on a terminal: a pseudo-terminal that is its controlling one, and its screen.
//!
//! [`Screen`] implements the functions of a terminal that the program uses; others fail the test.

use crate::sweep::Sweep;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time limit of all waits here.
const LIMIT: Duration = Duration::from_secs(600);

/// Interval of checks whether its process still runs.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// The program on a terminal; killed when it is dropped.
pub struct Terminal {
    child: Child,
    /// `None`: the user's side is closed.
    keys: Option<File>,
    is_left: Arc<AtomicBool>,
    line: File,
    screen: Arc<Mutex<Screen>>,
    reader: Option<JoinHandle<()>>,
    /// Its directory, which is removed with it.
    _sweep: Option<Sweep>,
}

impl Terminal {
    /// Starts it on a terminal of 24 rows and this number of columns.
    pub fn start(sweep: &Sweep, columns: u16, env: &[(&str, &str)]) -> Self {
        let mut terminal = Self::of(&sweep.to_command(), columns, env);
        terminal._sweep = Some(sweep.clone());
        terminal
    }

    /// Starts any command line, with its own directory.
    pub fn of(own: &Command, columns: u16, env: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it can be opened");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a plain name");
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).open(&name)
        };
        let line = open().expect("the other end");
        tcsetwinsize(&line, winsize(columns)).expect("a size");
        // It makes the terminal the controlling one, so that Ctrl-C is a signal.
        let mut command = Command::new("setsid");
        command.arg("-c").arg("-w").arg(own.get_program());
        command.args(own.get_args());
        command.current_dir(own.get_current_dir().expect("a directory"));
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        command.env_remove("NO_COLOR");
        command.envs(env.iter().copied());
        let end = || open().expect("the other end").into();
        let command = command.stdin::<std::process::Stdio>(end());
        let command = command.stdout::<std::process::Stdio>(end());
        let child = command.stderr::<std::process::Stdio>(end()).spawn();
        let child = child.expect("setsid of util-linux starts the program");
        let screen = Arc::new(Mutex::new(Screen::new(columns.into())));
        let mut master: File = master.into();
        let keys = master.try_clone().expect("a second handle");
        let its = Arc::clone(&screen);
        let is_left = Arc::new(AtomicBool::new(false));
        let left = Arc::clone(&is_left);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !left.load(Ordering::Relaxed) {
                let mut ready = [PollFd::new(&master, PollFlags::IN)];
                if poll(&mut ready, Some(&LOOK)).expect("it is waited for") == 0 {
                    continue;
                }
                // EIO: the last process has closed the other end.
                let Ok(n @ 1..) = master.read(&mut buffer) else {
                    return;
                };
                its.lock().expect("the screen").take(&buffer[..n]);
            }
        });
        Self {
            child,
            keys: Some(keys),
            is_left,
            line,
            screen,
            reader: Some(reader),
            _sweep: None,
        }
    }

    /// Its settings.
    pub fn settings(&self) -> Termios {
        tcgetattr(&self.line).expect("its settings")
    }

    /// Types something.
    pub fn type_keys(&mut self, keys: &str) {
        let mut at = self.keys.as_ref().expect("the user's side is open");
        at.write_all(keys.as_bytes()).expect("it is typed");
    }

    /// Changes its width.
    pub fn resize(&self, columns: u16) {
        tcsetwinsize(&self.line, winsize(columns)).expect("a size");
    }

    /// The lines on it.
    pub fn lines(&self) -> Vec<String> {
        self.screen.lock().expect("the screen").lines()
    }

    /// All bytes that were sent to it.
    pub fn sent(&self) -> String {
        self.screen.lock().expect("the screen").sent.clone()
    }

    /// The column of the cursor.
    pub fn cursor_column(&self) -> usize {
        self.screen.lock().expect("the screen").column
    }

    /// Waits until its lines fulfil a condition.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, so: impl Fn(&[String]) -> bool) {
        let began = Instant::now();
        while !so(&self.lines()) {
            let ended = self.child.try_wait().expect("it is waited for");
            let shown = || self.lines().join("\n");
            assert!(ended.is_none(), "it ended before {what}:\n{}", shown());
            assert!(began.elapsed() < LIMIT, "no {what}:\n{}", shown());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the terminal like a window; waits for the program's end.
    pub fn hang_up(&mut self) -> ExitStatus {
        self.is_left.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends");
        }
        self.keys = None;
        self.wait_for_end()
    }

    /// Waits for the program's end, and for the rest of its output.
    pub fn wait(&mut self) -> ExitStatus {
        let status = self.wait_for_end();
        self.wait_for_quiet();
        status
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is waited for") {
                return status;
            }
            assert!(
                began.elapsed() < LIMIT,
                "it does not end: {:#?}",
                self.lines()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The terminal itself is kept open, so there is no end of file: waits until no output arrives.
    fn wait_for_quiet(&self) {
        let mut seen = usize::MAX;
        loop {
            let now = self.sent().len();
            if now == seen {
                return;
            }
            seen = now;
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        self.is_left.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn winsize(columns: u16) -> Winsize {
    Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// The screen of a terminal: all rows, also those that were scrolled.
struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    sent: String,
    /// Bytes of an incomplete character or sequence.
    open: Vec<u8>,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: vec![Vec::new()],
            row: 0,
            column: 0,
            sent: String::new(),
            open: Vec::new(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let line = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
        self.rows.iter().map(line).collect()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
        let open = std::mem::take(&mut self.open);
        let whole = match std::str::from_utf8(&open) {
            Ok(text) => text,
            Err(e) if e.error_len().is_none() => {
                std::str::from_utf8(&open[..e.valid_up_to()]).expect("it is valid so far")
            }
            Err(e) => panic!("not UTF-8: {e}"),
        };
        let mut rest = whole;
        while let Some(c) = rest.chars().next() {
            let len = match c {
                '\x1b' => match rest.find(|c: char| c.is_ascii_alphabetic()) {
                    Some(end) => {
                        self.control(&rest[1..=end]);
                        end + 1
                    }
                    None => break,
                },
                c => {
                    self.put(c);
                    c.len_utf8()
                }
            };
            self.sent.push_str(&rest[..len]);
            rest = &rest[len..];
        }
        let left = rest.len() + open.len() - whole.len();
        self.open = open[open.len() - left..].to_vec();
    }

    fn control(&mut self, sequence: &str) {
        let (column, row) = (self.column, self.row);
        // Requests of a line editor for bracketed paste and synchronized output.
        if sequence.starts_with("[?2004") || sequence.starts_with("[?2026") {
            return;
        }
        match sequence
            .trim_start_matches('[')
            .split_at_checked(sequence.len() - 2)
        {
            Some((count, "A")) => {
                let count: usize = count.parse().expect("a count");
                self.row = row.checked_sub(count).expect("not above the first row");
            }
            Some(("", "K")) => self.rows[row].truncate(column),
            Some(("", "J")) => {
                self.rows.truncate(row + 1);
                self.rows[row].truncate(column);
            }
            Some((count, "C")) => self.column = column + count.parse::<usize>().unwrap_or(1),
            Some((_, "m")) => {}
            other => panic!("an unknown sequence: {sequence:?} {other:?}"),
        }
    }

    fn put(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            // A bell.
            '\x07' => {}
            _ => {
                if self.column == self.columns {
                    (self.row, self.column) = (self.row + 1, 0);
                }
                self.reach();
                let line = &mut self.rows[self.row];
                line.resize(line.len().max(self.column + 1), ' ');
                line[self.column] = c;
                self.column += 1;
            }
        }
        self.reach();
    }

    fn reach(&mut self) {
        if self.rows.len() <= self.row {
            self.rows.resize(self.row + 1, Vec::new());
        }
    }
}

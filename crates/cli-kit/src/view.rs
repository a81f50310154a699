//! The live view: a block of lines at the bottom of the terminal on stderr, drawn by a thread
//! of its own at most five times a second, with messages printed above it. A terminal that
//! stops (Ctrl-S) delays nothing but that thread.
//!
//! What is drawn is a [`Content`]: a model that turns into lines for a width and a time.

mod block;
mod continuation;
mod text;

use block::Block;
use continuation::watch_continuation;
use jiff::Zoned;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub use text::{Charset, Line, Paint, clock, columns, ms, number};

/// Least time between two drawings.
const REDRAW: Duration = Duration::from_millis(200);
/// Times on the view are updated this often also when nothing else changes.
const TICK: Duration = Duration::from_secs(1);
/// Most bytes that wait for a terminal that has stopped.
const STAYING_LEN_MAX: usize = 1 << 20;
/// Longest wait for the terminal when the program ends at once.
const LEAVE: Duration = Duration::from_millis(500);
/// Indent of the later rows of a line that is broken.
const INDENT: usize = 4;
/// Size of a terminal that does not report one.
const SIZE: (u16, u16) = (24, 80);

/// The properties of a terminal that lines depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns that may be used.
    pub width: usize,
    /// Whether colours are permitted.
    pub colour: bool,
    /// The characters that it can show.
    pub charset: Charset,
}

/// The time of a drawing.
#[derive(Clone, Debug)]
pub struct DrawTime {
    /// Since the view began.
    pub passed: Duration,
    /// Local time.
    pub wall: Zoned,
}

/// What a view shows. Pure: the same state gives the same lines.
pub trait Content: Send + 'static {
    /// The user has asked the program to stop.
    fn stop(&mut self);

    /// The lines to draw now.
    fn lines(&self, now: &DrawTime, style: Style) -> Vec<String>;
}

/// The view that is on the screen now.
static ON_SCREEN: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

struct Shared {
    inner: Mutex<Inner>,
    content: Arc<Mutex<dyn Content>>,
    wake: Condvar,
    began: Instant,
}

struct Inner {
    /// Whole lines that are still to be printed.
    staying: String,
    dropped_count: u64,
    changed: bool,
    ending: bool,
    gone: bool,
}

/// Whether stderr is a terminal on which a view can be drawn.
pub fn wanted() -> bool {
    let able = |term: std::ffi::OsString| !term.is_empty() && term != "dumb";
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(able)
}

/// A line for stderr, broken between words at the terminal's width; unchanged where stderr is no
/// terminal.
pub fn wrapped(line: &str) -> String {
    match io::stderr().is_terminal() {
        true => text::wrapped(line, size().1, INDENT),
        false => line.to_owned(),
    }
}

/// Prints a text, whole lines, on stderr: above the view, where there is one.
pub fn print_stderr(text: &str) {
    match on_screen() {
        Some(shared) => shared.print(text),
        None => {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// [`print_stderr`] for one line. Unlike `eprintln!` it does not panic where stderr is closed.
pub fn print_stderr_line(line: impl std::fmt::Display) {
    print_stderr(&format!("{line}\n"));
}

/// Prints a line on stderr, as `eprintln!` does, but never panics: a reader of stderr may be gone.
#[macro_export]
macro_rules! stderr_line {
    ($($text:tt)*) => { $crate::view::print_stderr_line(format_args!($($text)*)) };
}

/// Prints text on stderr, as `eprint!` does, but never panics.
#[macro_export]
macro_rules! stderr_text {
    ($($text:tt)*) => { $crate::view::print_stderr(&format!($($text)*)) };
}

/// The user has asked the program to stop: the view shows it. Returns whether there is a view.
pub fn stopping() -> bool {
    let on_screen = on_screen();
    if let Some(shared) = &on_screen {
        lock(&shared.content).stop();
        shared.redraw();
    }
    on_screen.is_some()
}

/// Removes the view before the program ends at once.
pub fn leave() {
    let Some(shared) = on_screen() else { return };
    let mut inner = lock(&shared.inner);
    inner.ending = true;
    shared.wake.notify_all();
    let _gone = shared
        .wake
        .wait_timeout_while(inner, LEAVE, |inner| !inner.gone);
    set_on_screen(None);
}

/// Writes log messages through [`print_stderr`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        print_stderr(&String::from_utf8_lossy(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A view on the screen; removed when it is dropped.
pub struct LiveView<C> {
    content: Arc<Mutex<C>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl<C: Content> LiveView<C> {
    /// Begins to draw; `None` where its thread cannot be started.
    pub fn start(content: C, colour: bool) -> Option<Self> {
        let content = Arc::new(Mutex::new(content));
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                staying: String::new(),
                dropped_count: 0,
                changed: true,
                ending: false,
                gone: false,
            }),
            content: Arc::clone(&content) as Arc<Mutex<dyn Content>>,
            wake: Condvar::new(),
            began: Instant::now(),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("view".into())
            .spawn(move || RenderThread::new(colour).work(&its))
            .ok()?;
        set_on_screen(Some(Arc::clone(&shared)));
        Some(Self {
            content,
            shared,
            thread: Some(thread),
        })
    }

    /// Changes what is shown; `change` also gets the time since the view began.
    pub fn change(&self, change: impl FnOnce(&mut C, Duration)) {
        change(&mut lock(&self.content), self.shared.began.elapsed());
        self.shared.redraw();
    }
}

impl<C> Drop for LiveView<C> {
    fn drop(&mut self) {
        lock(&self.shared.inner).ending = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        set_on_screen(None);
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn redraw(&self) {
        lock(&self.inner).changed = true;
        self.wake.notify_all();
    }

    fn print(&self, text: &str) {
        let mut inner = lock(&self.inner);
        if inner.gone {
            drop(inner);
            let _ = io::stderr().write_all(text.as_bytes());
            return;
        }
        if inner.staying.len() + text.len() > STAYING_LEN_MAX {
            inner.dropped_count += 1;
        } else {
            inner.staying.push_str(text);
        }
        inner.changed = true;
        self.wake.notify_all();
    }
}

impl Inner {
    fn take_staying(&mut self) -> String {
        let mut text = std::mem::take(&mut self.staying);
        let left_out = std::mem::take(&mut self.dropped_count);
        if left_out > 0 {
            text.push_str(&format!(
                "({left_out} messages were left out while the terminal stood still)\n"
            ));
        }
        text
    }
}

/// The thread that draws. Other threads wait for it only when the view ends.
struct RenderThread {
    block: Block,
    colour: bool,
    charset: Charset,
    /// Set when the program continues after it was stopped (Ctrl-Z).
    continued: Arc<AtomicBool>,
    registered: Option<signal_hook::SigId>,
}

impl RenderThread {
    fn new(colour: bool) -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        let registered = watch_continuation(&continued);
        Self {
            block: Block::default(),
            colour,
            charset: Charset::detect(),
            continued,
            registered,
        }
    }

    fn work(mut self, shared: &Shared) {
        let idle = |inner: &mut Inner| !inner.changed && !inner.ending;
        loop {
            let inner = shared
                .wake
                .wait_timeout_while(lock(&shared.inner), TICK, idle);
            let (mut inner, _) = inner.unwrap_or_else(PoisonError::into_inner);
            inner.changed = false;
            // Measured just before drawing: the block depends on the width of this moment.
            let (rows, columns) = size();
            let staying = inner.take_staying();
            let ending = inner.ending;
            drop(inner);
            if ending {
                self.write(|block| block.clear(&staying, columns));
                break;
            }
            let now = DrawTime {
                passed: shared.began.elapsed(),
                wall: Zoned::now(),
            };
            let style = Style {
                width: columns.saturating_sub(1),
                colour: self.colour,
                charset: self.charset,
            };
            let mut lines = lock(&shared.content).lines(&now, style);
            lines.truncate(rows.saturating_sub(1).max(1));
            self.write(|block| block.draw(&staying, &lines, columns));
            let pause = shared
                .wake
                .wait_timeout_while(lock(&shared.inner), REDRAW, |inner| !inner.ending);
            drop(pause);
        }
        let mut inner = lock(&shared.inner);
        // Printed while the block was being cleared.
        let staying = inner.take_staying();
        inner.gone = true;
        drop(inner);
        self.write(|block| block.clear(&staying, SIZE.1.into()));
        shared.wake.notify_all();
        if let Some(id) = self.registered {
            signal_hook::low_level::unregister(id);
        }
    }

    /// One write for each frame, so that no half of one is seen.
    fn write(&mut self, frame: impl FnOnce(&mut Block) -> String) {
        if self.continued.swap(false, Ordering::Relaxed) {
            self.block.forget();
        }
        let frame = frame(&mut self.block);
        let _ = io::stderr().write_all(frame.as_bytes());
    }
}

/// Rows and columns of the terminal now.
fn size() -> (usize, usize) {
    let known = |(rows, columns): &(u16, u16)| *rows > 0 && *columns > 0;
    let (rows, columns) = console::Term::stderr()
        .size_checked()
        .filter(known)
        .unwrap_or(SIZE);
    (rows.into(), columns.into())
}

fn on_screen() -> Option<Arc<Shared>> {
    lock(&ON_SCREEN).clone()
}

fn set_on_screen(shared: Option<Arc<Shared>>) {
    *lock(&ON_SCREEN) = shared;
}

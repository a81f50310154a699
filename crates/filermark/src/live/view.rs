//! The view on the terminal: a thread that draws a run's [`ViewState`], or a collection, as it stands, at most
//! five times a second, and prints what stays above it.

use super::block::Block;
use super::draw::{DrawTime, Style};
use super::energy;
use super::state::ViewState;
use super::text::Charset;
use filermark_meters::collect::Snapshot;
use filermark_prime::Progress;
use jiff::Zoned;
use signal_hook::consts::SIGCONT;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Least time between two drawings.
const REDRAW: Duration = Duration::from_millis(200);
/// Clocks advance also without progress.
const TICK: Duration = Duration::from_secs(1);
/// Most bytes that wait for a terminal that stands still.
const STAYING_LEN_MAX: usize = 1 << 20;
/// Longest wait for the terminal when the program is left at once.
const LEAVE: Duration = Duration::from_millis(500);
/// A terminal that does not say how large it is.
const SIZE: (u16, u16) = (24, 80);

/// The view that is on the screen now.
static ON_SCREEN: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

struct Shared {
    inner: Mutex<Inner>,
    wake: Condvar,
    began: Instant,
}

struct Inner {
    picture: ViewContent,
    /// Whole lines that are still to be printed.
    staying: String,
    dropped_count: u64,
    changed: bool,
    ending: bool,
    gone: bool,
}

/// What is drawn.
enum ViewContent {
    /// A run, and what is collected beside it.
    Run {
        state: Box<ViewState>,
        beside: Option<Box<Snapshot>>,
    },
    /// What is collected beside runs, by itself.
    Energy {
        log: String,
        now: Box<Snapshot>,
        ending: bool,
    },
}

impl ViewContent {
    fn stop(&mut self) {
        match self {
            Self::Run { state, .. } => state.stop(),
            Self::Energy { ending, .. } => *ending = true,
        }
    }

    fn lines(&self, now: &DrawTime, style: Style) -> Vec<String> {
        match self {
            Self::Run { state, beside } => {
                let mut lines = state.lines(now, style);
                let beside = beside.iter();
                lines.extend(beside.flat_map(|seen| energy::lines(seen, style)));
                lines
            }
            Self::Energy {
                log,
                now: seen,
                ending,
            } => energy::view(log, *ending, now.passed, seen, style),
        }
    }
}

/// Whether stderr is a terminal on which a view can be drawn.
pub fn wanted() -> bool {
    let able = |term: std::ffi::OsString| !term.is_empty() && term != "dumb";
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(able)
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

/// [`print_stderr`] for one line. Other than `eprintln!` it survives a terminal that is gone.
pub fn print_stderr_line(line: impl std::fmt::Display) {
    print_stderr(&format!("{line}\n"));
}

/// The user wishes to stop: the view says so. Gives whether there is one.
pub fn stopping() -> bool {
    let on_screen = on_screen();
    if let Some(shared) = &on_screen {
        shared.change(ViewContent::stop);
    }
    on_screen.is_some()
}

/// Takes the view away, for one who ends the program at once.
pub fn leave() {
    let Some(shared) = on_screen() else { return };
    let mut inner = shared.lock();
    inner.ending = true;
    shared.wake.notify_all();
    let _gone = shared
        .wake
        .wait_timeout_while(inner, LEAVE, |inner| !inner.gone);
    set_on_screen(None);
}

/// Writes the crates' log through [`print_stderr`].
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

/// The view of one run or collection; taken away when it is dropped.
pub struct LiveView {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl LiveView {
    /// Begins to draw a run; `None`: there can be no thread for it.
    pub fn start(state: ViewState, colour: bool) -> Option<Self> {
        let picture = ViewContent::Run {
            state: Box::new(state),
            beside: None,
        };
        Self::of(picture, colour)
    }

    /// Begins to draw a collection by its log's name; `None`: there can be no thread for it.
    pub fn of_energy(log: String, colour: bool) -> Option<Self> {
        let picture = ViewContent::Energy {
            log,
            now: Box::default(),
            ending: false,
        };
        Self::of(picture, colour)
    }

    fn of(picture: ViewContent, colour: bool) -> Option<Self> {
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                picture,
                staying: String::new(),
                dropped_count: 0,
                changed: true,
                ending: false,
                gone: false,
            }),
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
            shared,
            thread: Some(thread),
        })
    }

    /// Takes in what goes on.
    pub fn on_progress(&self, progress: &Progress<'_>) {
        let passed = self.shared.began.elapsed();
        self.shared.change(|picture| {
            if let ViewContent::Run { state, .. } = picture {
                state.on_progress(progress, passed);
            }
        });
    }

    /// Takes in what there is to be seen of a collection now.
    pub fn see(&self, snapshot: Snapshot) {
        self.shared.change(|picture| match picture {
            ViewContent::Energy { now, .. } => **now = snapshot,
            ViewContent::Run { beside, .. } => *beside = Some(Box::new(snapshot)),
        });
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        set_on_screen(None);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut ViewContent)) {
        let mut inner = self.lock();
        change(&mut inner.picture);
        inner.changed = true;
        self.wake.notify_all();
    }

    fn print(&self, text: &str) {
        let mut inner = self.lock();
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

/// Draws; it is only waited for at the end.
struct RenderThread {
    block: Block,
    colour: bool,
    charset: Charset,
    /// Raised when the program goes on after it was stopped (Ctrl-Z).
    continued: Arc<AtomicBool>,
    registered: Option<signal_hook::SigId>,
}

impl RenderThread {
    fn new(colour: bool) -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        let registered = signal_hook::flag::register(SIGCONT, Arc::clone(&continued)).ok();
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
            let inner = shared.wake.wait_timeout_while(shared.lock(), TICK, idle);
            let (mut inner, _) = inner.unwrap_or_else(PoisonError::into_inner);
            inner.changed = false;
            // As late as possible: the size determines where the last frame is now.
            let (rows, columns) = size();
            let staying = inner.take_staying();
            if inner.ending {
                drop(inner);
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
            let mut lines = inner.picture.lines(&now, style);
            drop(inner);
            lines.truncate(rows.saturating_sub(1).max(1));
            self.write(|block| block.draw(&staying, &lines, columns));
            let pause = shared
                .wake
                .wait_timeout_while(shared.lock(), REDRAW, |inner| !inner.ending);
            drop(pause);
        }
        let mut inner = shared.lock();
        // What was printed while the block was being cleared.
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
    let on_screen = ON_SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
    on_screen.clone()
}

fn set_on_screen(shared: Option<Arc<Shared>>) {
    *ON_SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = shared;
}

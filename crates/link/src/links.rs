//! The prime's side of all links: frames out, events in, and the time.
//!
//! The one place where the prime meets the outside world while it conducts agents,
//! so that a simulation can stand in for it (`filermark_prime::sim`). [`ThreadLinks`] is the real
//! one: per agent a thread that reads and one that writes, all events in one bounded
//! queue, so that an agent that says too much is held back by its own link. What waits in
//! it is bounded in bytes too (`byte_budget`).

use crate::byte_budget::{BudgetGuard, ByteBudget};
use crate::child;
use crate::frame::{self, Deframer, Frame, FrameError};
use crate::message::Order;
use crate::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_engine::clock::Clock;
use filermark_model::Nanos;
use filermark_model::launch::LaunchPlan;
use filermark_model::text::sanitize;
use filermark_net::open_files_limit;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Events that may wait for the prime.
const EVENTS_MAX: usize = 1024;
/// Bytes of frames that may wait for the prime, all agents together.
const WAITING_BYTES_MAX: usize = 256 << 20;
/// Longest reason why a link ended, in characters: hosts have put words into it.
const REASON_CHARS_MAX: usize = 2000;
/// Orders that may wait for an agent's link.
const ORDERS_MAX: usize = 64;
/// Agents that are started side by side.
const LAUNCHES_AT_ONCE: usize = 32;
/// Stack of a thread that reads or writes a link: there are two thousand of them.
const STACK_BYTES: usize = 256 << 10;
/// How long the leash of a lost agent is held before it is cut.
const CUT_AFTER: Duration = Duration::from_millis(500);
/// Open files that a link may take, by whatever launcher, and what the prime needs beside.
const FILES_PER_AGENT: u64 = 4;
const FILES_BESIDE: u64 = 256;
/// How often agents are told that the prime is there, whatever it does.
pub const SIGN_OF_LIFE: Nanos = Nanos::from_secs(2);
/// Bytes read from a link at once.
const READ_BYTES: usize = 64 << 10;

/// What happens on a link.
#[derive(Debug)]
pub enum LinkEvent {
    /// The agent was started; what it says will come.
    Connected,
    /// It said something, at this moment.
    Message(Frame, Nanos),
    /// Nothing more will come; why.
    Closed(String),
}

/// All links of a prime. It tells every agent every few seconds that the prime is
/// there, whatever that is busy with.
pub trait AgentLinks {
    /// The prime's clock: monotonic, from some moment on.
    fn now(&self) -> Nanos;

    /// The same as a clock of the system; `None`: the time is made up.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Puts a frame on its way; never waits. Where that cannot be, the link ends and
    /// an [`LinkEvent::Closed`] says so.
    fn send(&mut self, agent: usize, frame: &Arc<[u8]>);

    /// The next event, waited for until the clock says so.
    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)>;

    /// Gives a link up; no event of it comes any more.
    fn cut(&mut self, agent: usize);

    /// Waits till all agents have ended by themselves, so long at most, and ends
    /// what is left.
    fn let_go(&mut self, limit: Duration);
}

/// Links by threads and byte streams.
pub struct ThreadLinks {
    clock: Clock,
    lines: Vec<LinkState>,
    events: Receiver<(usize, LinkInput)>,
    sender: SyncSender<(usize, LinkInput)>,
    over: Arc<AtomicBool>,
    budget: Arc<ByteBudget>,
    launcher: Arc<dyn Launcher>,
    /// Leashes that are being cut.
    cuts: Vec<JoinHandle<()>>,
    alive: KeepaliveLinks,
}

/// The ways to all agents, for signs of life also while the prime is busy with a disk.
type KeepaliveLinks = Arc<Mutex<HashMap<usize, SyncSender<Arc<[u8]>>>>>;

#[derive(Default)]
struct LinkState {
    orders: Option<SyncSender<Arc<[u8]>>>,
    handle: Option<Box<dyn AgentHandle>>,
    cut: bool,
}

enum LinkInput {
    Connected(Box<LaunchedAgent>),
    /// With the room that it takes while it waits.
    Message(
        Frame,
        Nanos,
        #[expect(dead_code, reason = "gives the room back when dropped")] BudgetGuard,
    ),
    Closed(String),
}

impl ThreadLinks {
    /// Begins to start an agent per host; each comes as [`LinkEvent::Connected`] or
    /// [`LinkEvent::Closed`].
    pub fn launch(plan: &LaunchPlan, launcher: Arc<dyn Launcher>) -> Self {
        let wanted = plan.hosts.len() as u64 * FILES_PER_AGENT + FILES_BESIDE;
        let allowed = open_files_limit(wanted);
        if allowed < wanted {
            tracing::warn!(
                target: "filermark_cluster",
                "{wanted} open files are wanted for {} clients, the limit is {allowed}: raise it (ulimit -Hn)",
                plan.hosts.len()
            );
        }
        let (sender, events) = sync_channel(EVENTS_MAX);
        let over = Arc::new(AtomicBool::new(false));
        let hosts: Arc<[_]> = plan.hosts.clone().into();
        let next = Arc::new(AtomicUsize::new(0));
        for _ in 0..hosts.len().min(LAUNCHES_AT_ONCE) {
            let (hosts, next, launcher) = (hosts.clone(), next.clone(), launcher.clone());
            let (told, over) = (sender.clone(), over.clone());
            let work = move || {
                while !over.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(host) = hosts.get(at) else { return };
                    let event = match launcher.launch(at, host) {
                        Ok(launched) => LinkInput::Connected(Box::new(launched)),
                        Err(reason) => LinkInput::Closed(reason),
                    };
                    if let Err(unsent) = told.send((at, event)) {
                        if let (_, LinkInput::Connected(mut launched)) = unsent.0 {
                            launched.handle.release(Duration::ZERO);
                        }
                        return;
                    }
                }
            };
            if let Err(e) = std::thread::Builder::new()
                .name("prime-launch".into())
                .spawn(work)
            {
                let _ = sender.try_send((0, LinkInput::Closed(format!("no thread: {e}"))));
            }
        }
        Self {
            clock: Clock::real(),
            lines: (0..plan.hosts.len())
                .map(|_| LinkState::default())
                .collect(),
            events,
            sender,
            alive: begin_signs_of_life(over.clone()),
            budget: ByteBudget::new(WAITING_BYTES_MAX, over.clone()),
            over,
            launcher,
            cuts: Vec::new(),
        }
    }

    /// The agent is there: its two threads begin.
    fn connect(&mut self, agent: usize, launched: LaunchedAgent) -> LinkEvent {
        let LaunchedAgent {
            from_agent,
            to_agent,
            handle: leash,
        } = launched;
        let Some(line) = self.lines.get_mut(agent) else {
            return LinkEvent::Closed("an agent that is not in the plan".into());
        };
        line.handle = Some(leash);
        let (orders, to_send) = sync_channel(ORDERS_MAX);
        lock(&self.alive).insert(agent, orders.clone());
        line.orders = Some(orders);
        let (clock, sender) = (self.clock.clone(), self.sender.clone());
        let room = self.budget.clone();
        let reader = thread("prime-hears", move || {
            read_line(agent, from_agent, &clock, &room, &sender)
        });
        let sender = self.sender.clone();
        let writer = thread("prime-tells", move || {
            write_line(agent, to_agent, &to_send, &sender)
        });
        match reader.and(writer) {
            Ok(_) => LinkEvent::Connected,
            Err(e) => LinkEvent::Closed(format!("no thread for its link: {e}")),
        }
    }

    /// Why a link ended, with what was said beside it.
    fn explain(&mut self, agent: usize, reason: String) -> String {
        let leash = self.lines.get_mut(agent).and_then(|l| l.handle.as_mut());
        let reason = match leash.and_then(|l| l.final_output()) {
            Some(words) => format!("{reason}: {words}"),
            None => reason,
        };
        sanitize(&reason, REASON_CHARS_MAX)
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells all agents every few seconds that the prime is there.
fn begin_signs_of_life(over: Arc<AtomicBool>) -> KeepaliveLinks {
    let alive = KeepaliveLinks::default();
    let (ways, frame) = (
        alive.clone(),
        frame::encode(&Order::Alive).unwrap_or_default(),
    );
    let frame: Arc<[u8]> = frame.into();
    let work = move || {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_nanos(SIGN_OF_LIFE.0));
            for way in lock(&ways).values() {
                // One whose orders pile up is noticed by the next order.
                let _ = way.try_send(frame.clone());
            }
        }
    };
    let _ = thread("prime-alive", work);
    alive
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    let builder = std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES);
    builder.spawn(work)
}

fn read_line(
    agent: usize,
    mut stream: Box<dyn Read + Send>,
    clock: &Clock,
    room: &Arc<ByteBudget>,
    events: &SyncSender<(usize, LinkInput)>,
) {
    let mut deframer = Deframer::of_agent();
    let mut bytes = vec![0; READ_BYTES];
    let reason = loop {
        let count = match stream.read(&mut bytes) {
            Ok(0) => break ended(&deframer),
            Ok(count) => count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => break format!("the link failed: {e}"),
        };
        let now = clock.now();
        deframer.push(&bytes[..count]);
        let failed = loop {
            match deframer.next_frame() {
                Ok(Some(frame)) => {
                    let Some(held) = room.take(frame.len()) else {
                        return;
                    };
                    let said = LinkInput::Message(frame, now, held);
                    if events.send((agent, said)).is_err() {
                        return;
                    }
                }
                Ok(None) => break None,
                Err(e) => break Some(e),
            }
        };
        if let Some(e) = failed {
            break nonsense(&e);
        }
    };
    let _ = events.send((agent, LinkInput::Closed(reason)));
}

fn ended(deframer: &Deframer) -> String {
    match deframer.noise() {
        noise if noise.is_empty() => "the link ended".into(),
        noise => format!("the link ended before an agent answered; the host said '{noise}'"),
    }
}

/// What is wrong with what an agent said.
pub fn nonsense(error: &FrameError) -> String {
    format!("it answers nonsense ({error})")
}

fn write_line(
    agent: usize,
    mut stream: Box<dyn Write + Send>,
    orders: &Receiver<Arc<[u8]>>,
    events: &SyncSender<(usize, LinkInput)>,
) {
    while let Ok(frame) = orders.recv() {
        if let Err(e) = stream.write_all(&frame).and_then(|()| stream.flush()) {
            // The reading side mostly knows more; it comes first if it does.
            std::thread::sleep(Duration::from_millis(200));
            let _ = events.send((agent, LinkInput::Closed(format!("it takes no orders: {e}"))));
            return;
        }
    }
}

impl AgentLinks for ThreadLinks {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn clock(&self) -> Option<Clock> {
        Some(self.clock.clone())
    }

    fn send(&mut self, agent: usize, frame: &Arc<[u8]>) {
        let Some(orders) = self.lines.get(agent).and_then(|l| l.orders.as_ref()) else {
            return;
        };
        if let Err(TrySendError::Full(_)) = orders.try_send(frame.clone()) {
            // Never waits: an agent whose orders pile up is as good as lost. What is
            // disconnected has told so itself.
            self.lines[agent].orders = None;
            let reason = "it takes no orders any more".to_owned();
            let _ = self.sender.try_send((agent, LinkInput::Closed(reason)));
        }
    }

    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)> {
        loop {
            let wait = Duration::from_nanos(until.since(self.clock.now()).0);
            let (agent, event) = match self.events.recv_timeout(wait) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            };
            if self.lines.get(agent).is_none_or(|l| l.cut) {
                if let LinkInput::Connected(mut launched) = event {
                    launched.handle.release(Duration::ZERO);
                }
                continue;
            }
            let event = match event {
                LinkInput::Connected(launched) => self.connect(agent, *launched),
                LinkInput::Message(frame, at, _) => LinkEvent::Message(frame, at),
                LinkInput::Closed(reason) => LinkEvent::Closed(self.explain(agent, reason)),
            };
            return Some((agent, event));
        }
    }

    fn cut(&mut self, agent: usize) {
        let Some(line) = self.lines.get_mut(agent) else {
            return;
        };
        line.cut = true;
        line.orders = None;
        lock(&self.alive).remove(&agent);
        if let Some(mut leash) = line.handle.take() {
            // Ending a process may take a while; the others must not wait for it.
            self.cuts.retain(|cut| !cut.is_finished());
            let cut = thread("prime-cuts", move || leash.release(CUT_AFTER));
            self.cuts.extend(cut.ok());
        }
    }

    fn let_go(&mut self, limit: Duration) {
        let since = std::time::Instant::now();
        self.over.store(true, Ordering::Relaxed);
        for line in &mut self.lines {
            line.orders = None;
        }
        lock(&self.alive).clear();
        for line in &mut self.lines {
            if let Some(mut leash) = line.handle.take() {
                leash.release(limit.saturating_sub(since.elapsed()));
            }
        }
        self.launcher.give_up(limit.saturating_sub(since.elapsed()));
        // Who ends now would leave the processes that are being ended.
        while self.cuts.iter().any(|cut| !cut.is_finished()) && since.elapsed() < limit {
            std::thread::sleep(child::LOOK);
        }
    }
}

impl Drop for ThreadLinks {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for agent in 0..self.lines.len() {
            self.cut(agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MAGIC, encode};
    use crate::message::Report;

    #[test]
    fn a_reader_waits_till_the_prime_has_taken_what_lies_there() {
        let frame = encode(&Report::Alive).unwrap();
        let stream = [MAGIC, &frame, &frame].concat();
        let room = ByteBudget::new(frame.len(), Arc::default());
        let (sender, events) = sync_channel(EVENTS_MAX);
        let reader = std::thread::spawn(move || {
            let stream = Box::new(std::io::Cursor::new(stream));
            read_line(0, stream, &Clock::real(), &room, &sender);
        });
        let limit = Duration::from_secs(10);
        let first = events.recv_timeout(limit).unwrap();
        let early = events.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "the second does not wait");
        drop(first);
        let second = events.recv_timeout(limit).unwrap().1;
        assert!(matches!(second, LinkInput::Message(..)));
        drop(second);
        let last = events.recv_timeout(limit).unwrap().1;
        assert!(matches!(last, LinkInput::Closed(_)));
        reader.join().unwrap();
    }
}

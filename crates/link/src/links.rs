//! The prime's side of all links: frames out, events in, and the time.
//!
//! The prime's only interface to the outside while it controls agents, so that a simulation can
//! replace it (`filermark_prime::sim`). [`ThreadLinks`] is the real one: per agent a thread
//! that reads and one that writes, all events in one bounded queue, so that an agent that sends
//! too much is blocked by its own link. The bytes in the queue are bounded too (`byte_budget`).

use crate::byte_budget::{BudgetGuard, ByteBudget};
use crate::child;
use crate::frame::{self, Deframer, Frame, FrameError};
use crate::message::Order;
use crate::received::{DecodeQueue, Received};
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
/// Longest reason for the end of a link, in characters: it may contain output of hosts.
const REASON_CHARS_MAX: usize = 2000;
/// Orders that may wait for an agent's link.
const ORDERS_MAX: usize = 64;
/// Agents that are started in parallel.
const PARALLEL_LAUNCHES_MAX: usize = 32;
/// Stack of a thread that reads or writes a link: there may be two thousand of them.
const STACK_BYTES: usize = 256 << 10;
/// How long a lost agent may take to end before it is killed.
const CUT_AFTER: Duration = Duration::from_millis(500);
/// Open files per link, for any launcher, and those of the prime itself.
const FILES_PER_AGENT: u64 = 4;
const FILES_BESIDE: u64 = 256;
/// Interval of the keep-alive messages to agents.
pub const KEEPALIVE_INTERVAL: Nanos = Nanos::from_secs(2);
/// Bytes read from a link at once.
const READ_BYTES: usize = 64 << 10;

/// An event on a link.
#[derive(Debug)]
pub enum LinkEvent {
    /// The agent was started; its messages will follow.
    Connected,
    /// A message, and its time of receipt.
    Message(Received, Nanos),
    /// The link has ended; the reason.
    Closed(String),
}

/// All links of a prime. Each agent gets a keep-alive message every few seconds, whatever the
/// prime is doing.
pub trait AgentLinks {
    /// The prime's clock: monotonic, with an arbitrary zero.
    fn now(&self) -> Nanos;

    /// The prime's clock as a clock of the system; `None`: the time is simulated.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// Queues a frame; never blocks. If that fails, the link ends with an
    /// [`LinkEvent::Closed`].
    fn send(&mut self, agent: usize, frame: &Arc<[u8]>);

    /// Waits for the next event, until this time.
    fn wait(&mut self, until: Nanos) -> Option<(usize, LinkEvent)>;

    /// Closes a link; no further event of it follows.
    fn cut(&mut self, agent: usize);

    /// Waits up to `limit` until all agents have ended, and ends the remaining ones.
    fn release_all(&mut self, limit: Duration);
}

/// Links by threads and byte streams.
pub struct ThreadLinks {
    clock: Clock,
    lines: Vec<LinkState>,
    events: Receiver<(usize, LinkInput)>,
    sender: SyncSender<(usize, LinkInput)>,
    over: Arc<AtomicBool>,
    budget: Arc<ByteBudget>,
    decoders: DecodeQueue,
    launcher: Arc<dyn Launcher>,
    /// Agents that are being ended.
    cuts: Vec<JoinHandle<()>>,
    keepalive: KeepaliveLinks,
}

/// The queues of all agents, for keep-alive messages while the prime is blocked by a disk.
type KeepaliveLinks = Arc<Mutex<HashMap<usize, SyncSender<Arc<[u8]>>>>>;

#[derive(Default)]
struct LinkState {
    orders: Option<SyncSender<Arc<[u8]>>>,
    handle: Option<Box<dyn AgentHandle>>,
    cut: bool,
}

enum LinkInput {
    Connected(Box<LaunchedAgent>),
    /// With the bytes that it reserves in the queue.
    Message(
        Received,
        Nanos,
        #[expect(dead_code, reason = "releases the bytes when dropped")] BudgetGuard,
    ),
    Closed(String),
}

impl ThreadLinks {
    /// Begins to start an agent per host; each is reported as [`LinkEvent::Connected`] or
    /// [`LinkEvent::Closed`].
    pub fn launch(plan: &LaunchPlan, launcher: Arc<dyn Launcher>) -> Self {
        let wanted = plan.hosts.len() as u64 * FILES_PER_AGENT + FILES_BESIDE;
        let allowed = open_files_limit(wanted);
        if allowed < wanted {
            tracing::warn!(
                target: "filermark_clients",
                "{wanted} open files are needed for {} clients, the limit is {allowed}: raise it (ulimit -Hn)",
                plan.hosts.len()
            );
        }
        let (sender, events) = sync_channel(EVENTS_MAX);
        let over = Arc::new(AtomicBool::new(false));
        let hosts: Arc<[_]> = plan.hosts.clone().into();
        let next = Arc::new(AtomicUsize::new(0));
        for _ in 0..hosts.len().min(PARALLEL_LAUNCHES_MAX) {
            let (hosts, next, launcher) = (hosts.clone(), next.clone(), launcher.clone());
            let (results, over) = (sender.clone(), over.clone());
            let work = move || {
                while !over.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(host) = hosts.get(at) else { return };
                    let event = match launcher.launch(at, host) {
                        Ok(launched) => LinkInput::Connected(Box::new(launched)),
                        Err(reason) => LinkInput::Closed(reason),
                    };
                    if let Err(unsent) = results.send((at, event)) {
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
        let budget = ByteBudget::new(WAITING_BYTES_MAX, over.clone());
        let decoders = DecodeQueue::begin(&budget, |work| {
            std::thread::Builder::new()
                .name("prime-decoder".into())
                .spawn(work)
                .is_ok()
        });
        Self {
            clock: Clock::real(),
            lines: (0..plan.hosts.len())
                .map(|_| LinkState::default())
                .collect(),
            events,
            sender,
            keepalive: begin_keepalive(over.clone()),
            budget,
            decoders,
            over,
            launcher,
            cuts: Vec::new(),
        }
    }

    /// The agent is started: its two threads begin.
    fn connect(&mut self, agent: usize, launched: LaunchedAgent) -> LinkEvent {
        let LaunchedAgent {
            from_agent,
            to_agent,
            handle,
        } = launched;
        let Some(line) = self.lines.get_mut(agent) else {
            return LinkEvent::Closed("an agent that is not in the plan".into());
        };
        line.handle = Some(handle);
        let (orders, to_send) = sync_channel(ORDERS_MAX);
        lock(&self.keepalive).insert(agent, orders.clone());
        line.orders = Some(orders);
        let (clock, sender) = (self.clock.clone(), self.sender.clone());
        let queues = EventQueues {
            events: sender,
            budget: self.budget.clone(),
            decoders: self.decoders.clone(),
        };
        let reader = thread("prime-reader", move || {
            read_line(agent, from_agent, &clock, &queues)
        });
        let sender = self.sender.clone();
        let writer = thread("prime-writer", move || {
            write_line(agent, to_agent, &to_send, &sender)
        });
        match reader.and(writer) {
            Ok(_) => LinkEvent::Connected,
            Err(e) => LinkEvent::Closed(format!("no thread for its link: {e}")),
        }
    }

    /// Why a link ended, with the other output of the agent.
    fn explain(&mut self, agent: usize, reason: String) -> String {
        let handle = self.lines.get_mut(agent).and_then(|l| l.handle.as_mut());
        let reason = match handle.and_then(|l| l.final_output()) {
            Some(output) => format!("{reason}: {output}"),
            None => reason,
        };
        sanitize(&reason, REASON_CHARS_MAX)
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a keep-alive message to all agents every few seconds.
fn begin_keepalive(over: Arc<AtomicBool>) -> KeepaliveLinks {
    let keepalive = KeepaliveLinks::default();
    let (queues, frame) = (
        keepalive.clone(),
        frame::encode(&Order::Alive).unwrap_or_default(),
    );
    let frame: Arc<[u8]> = frame.into();
    let work = move || {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_nanos(KEEPALIVE_INTERVAL.0));
            for queue in lock(&queues).values() {
                // A full queue is detected by the next order.
                let _ = queue.try_send(frame.clone());
            }
        }
    };
    let _ = thread("prime-keepalive", work);
    keepalive
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    let builder = std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES);
    builder.spawn(work)
}

/// Where a thread that reads a link puts what it has read.
struct EventQueues {
    events: SyncSender<(usize, LinkInput)>,
    budget: Arc<ByteBudget>,
    decoders: DecodeQueue,
}

impl EventQueues {
    /// Blocks while the queue is full; `false`: the links are closed.
    fn add(&self, agent: usize, frame: Frame, at: Nanos) -> bool {
        let len = frame.len();
        let Some(held) = self.budget.take(len) else {
            return false;
        };
        let message = Received::from(frame);
        let event = LinkInput::Message(message.clone(), at, held);
        let is_added = self.events.send((agent, event)).is_ok();
        // After it is in the queue: the threads decode in its order.
        self.decoders.offer(&message, len);
        is_added
    }
}

fn read_line(agent: usize, mut stream: Box<dyn Read + Send>, clock: &Clock, queues: &EventQueues) {
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
                    if !queues.add(agent, frame, now) {
                        return;
                    }
                }
                Ok(None) => break None,
                Err(e) => break Some(e),
            }
        };
        if let Some(e) = failed {
            break invalid_message(&e);
        }
    };
    let _ = queues.events.send((agent, LinkInput::Closed(reason)));
}

fn ended(deframer: &Deframer) -> String {
    match deframer.foreign_output() {
        output if output.is_empty() => "the link ended".into(),
        output => format!("the link ended before an agent answered; the host sent '{output}'"),
    }
}

/// The message about an invalid message of an agent.
pub fn invalid_message(error: &FrameError) -> String {
    format!("it sent an invalid message ({error})")
}

fn write_line(
    agent: usize,
    mut stream: Box<dyn Write + Send>,
    orders: &Receiver<Arc<[u8]>>,
    events: &SyncSender<(usize, LinkInput)>,
) {
    while let Ok(frame) = orders.recv() {
        if let Err(e) = stream.write_all(&frame).and_then(|()| stream.flush()) {
            // The reading side usually has a more specific reason; it is reported first if so.
            std::thread::sleep(Duration::from_millis(200));
            let _ = events.send((
                agent,
                LinkInput::Closed(format!("it does not read orders: {e}")),
            ));
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
            // Never blocks: an agent whose queue is full is lost. A closed link has reported
            // its end already.
            self.lines[agent].orders = None;
            let reason = "it does not read orders any more".to_owned();
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
        lock(&self.keepalive).remove(&agent);
        if let Some(mut handle) = line.handle.take() {
            // Ending a process may take a while; it must not delay other agents.
            self.cuts.retain(|cut| !cut.is_finished());
            let cut = thread("prime-cuts", move || handle.release(CUT_AFTER));
            self.cuts.extend(cut.ok());
        }
    }

    fn release_all(&mut self, limit: Duration) {
        let since = std::time::Instant::now();
        self.over.store(true, Ordering::Relaxed);
        for line in &mut self.lines {
            line.orders = None;
        }
        lock(&self.keepalive).clear();
        for line in &mut self.lines {
            if let Some(mut handle) = line.handle.take() {
                handle.release(limit.saturating_sub(since.elapsed()));
            }
        }
        self.launcher.give_up(limit.saturating_sub(since.elapsed()));
        // Exiting now would leave the processes that are being ended.
        while self.cuts.iter().any(|cut| !cut.is_finished()) && since.elapsed() < limit {
            std::thread::sleep(child::POLL);
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
    fn a_reader_blocks_until_the_prime_has_taken_queued_events() {
        let frame = encode(&Report::Alive).unwrap();
        let stream = [MAGIC, &frame, &frame].concat();
        let budget = ByteBudget::new(frame.len(), Arc::default());
        let (sender, events) = sync_channel(EVENTS_MAX);
        let queues = EventQueues {
            events: sender,
            decoders: DecodeQueue::begin(&budget, |_| false),
            budget,
        };
        let reader = std::thread::spawn(move || {
            let stream = Box::new(std::io::Cursor::new(stream));
            read_line(0, stream, &Clock::real(), &queues);
        });
        let limit = Duration::from_secs(10);
        let first = events.recv_timeout(limit).unwrap();
        let early = events.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "the second did not wait");
        drop(first);
        let second = events.recv_timeout(limit).unwrap().1;
        assert!(matches!(second, LinkInput::Message(..)));
        drop(second);
        let last = events.recv_timeout(limit).unwrap().1;
        assert!(matches!(last, LinkInput::Closed(_)));
        reader.join().unwrap();
    }
}

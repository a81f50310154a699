//! A collection from its start to its end.

use super::clock::{Clock, HostClock, StepWatch};
use super::live_state::{LiveState, SourceOutage};
use super::socket;
use super::source::{SourceReader, WantedSource, relative_to_prime};
use super::state::{CollectorState, Totals};
use super::stop::Stop;
use super::writer::{self, LineBatch, LogSender};
use super::{CollectError, Snapshot, Summary};
use crate::meter::MeterError;
use crate::open::open;
use filermark_energy_data::log::{
    ClockFacts, EventKind, Head, Lab, LogLine, LogWriter, Role, SCHEMA_VERSION, Source, SourceKind,
};
use filermark_energy_data::setup::{SFLOW_NAME, Setup, SflowSetup, SourceSetup};
use filermark_model::units::counted;
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Longest wait for an answer of a meter or sensor.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Longest wait for all threads at the end: an answer, and a disk that is slow.
const END_MAX: Duration = Duration::from_secs(20);
/// How often the clocks are compared.
const CLOCK_EVERY: Duration = Duration::from_millis(250);
/// Longest datagram, in bytes.
const DATAGRAM_MAX: usize = 1 << 16;
/// How long an agent may hold a sample back, in seconds (sFlow version 5, section 5).
const HELD_BACK_S: f64 = 1.0;

/// A running collection. Dropping it ends it.
pub struct Collection {
    running: Option<CollectorThreads>,
    now: Arc<LiveState>,
    clock: Arc<dyn Clock>,
    listens: Option<SocketAddr>,
}

impl std::fmt::Debug for Collection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collecting").finish_non_exhaustive()
    }
}

/// The threads.
struct CollectorThreads {
    stop: Arc<Stop>,
    /// Ends when the last thread has.
    alive: Receiver<Infallible>,
    ends: Arc<ThreadResults>,
}

/// The results of threads.
#[derive(Default)]
struct ThreadResults {
    written: Mutex<Option<(u64, u64)>>,
    totals: Mutex<Option<Totals>>,
    clock_steps: Mutex<u64>,
}

/// The open parts of a collection.
pub(super) struct CollectionParts<W: Write> {
    pub head: Head,
    pub sources: Vec<WantedSource>,
    pub sflow: Option<(UdpSocket, SflowSetup)>,
    pub log: LogWriter<W>,
    pub clock: Arc<dyn Clock>,
    pub now: Arc<LiveState>,
    /// The offset of this host's clock from the prime's.
    pub host_clock: ClockFacts,
}

impl Collection {
    /// Starts: binds the socket, opens the sources, creates the log (which must not exist), and
    /// waits until every meter has answered once, or has failed.
    ///
    /// # Errors
    /// The log exists, the address is in use, or a source cannot be opened or does not answer.
    pub fn start(setup: &Setup, log: &Path, version: &str) -> Result<Self, CollectError> {
        Self::start_with_clock(setup, log, version, &ClockFacts::default())
    }

    /// Starts on another host than the prime: the offset of its clock is added to the facts of
    /// every source that is read by it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_clock(
        setup: &Setup,
        log: &Path,
        version: &str,
        host_clock: &ClockFacts,
    ) -> Result<Self, CollectError> {
        if setup.sflow.is_none() && setup.meters.is_empty() && setup.sensors.is_empty() {
            return Err(CollectError(
                "nothing to collect: the setup has no sFlow, no meter and no sensor".into(),
            ));
        }
        let clock: Arc<dyn Clock> = Arc::new(HostClock::new());
        let now = Arc::new(LiveState::default());
        let sflow = match &setup.sflow {
            Some(sflow) => Some((socket::listen(sflow.listen)?, sflow.clone())),
            None => None,
        };
        let made = NewLog::new(log)?;
        let parts = CollectionParts {
            head: head(setup, version, &*clock),
            sources: wanted(setup, &now, &clock)?,
            sflow,
            log: made.writer,
            clock,
            now,
            host_clock: host_clock.clone(),
        };
        let collecting = Self::begin(parts)?;
        made.guard.keep();
        Ok(collecting)
    }

    /// Starts with open parts.
    pub(super) fn begin<W: Write + Send + 'static>(
        parts: CollectionParts<W>,
    ) -> Result<Self, CollectError> {
        let (outbox, posts) = LogSender::new(parts.now.clone(), parts.clock.clone());
        let (breath, alive) = channel();
        let running = CollectorThreads {
            stop: Arc::new(Stop::default()),
            alive,
            ends: Arc::default(),
        };
        let mut collecting = Self {
            running: None,
            now: parts.now,
            clock: parts.clock,
            listens: None,
        };
        outbox.send(vec![LogLine::Energy(Box::new(parts.head))]);
        running.write(parts.log, posts, &collecting, breath.clone())?;
        let readers = first_readings(parts.sources, &parts.host_clock, &outbox);
        let readers = match readers {
            Ok(readers) => readers,
            Err(error) => {
                // The writer must have closed the log before it is removed.
                drop((outbox, breath));
                let _ = running.alive.recv_timeout(END_MAX);
                return Err(error);
            }
        };
        let next_id = readers.len() as u32;
        for reader in readers {
            running.spawn("energy-source", breath.clone(), move |stop| {
                reader.work(stop)
            })?;
        }
        if let Some((socket, setup)) = parts.sflow {
            collecting.listens = socket.local_addr().ok();
            let source = sflow_source(next_id, &setup, collecting.listens, &parts.host_clock);
            outbox.send(vec![LogLine::Source(source)]);
            let state =
                CollectorState::new(next_id, setup.selection, setup.time_basis, outbox.clone());
            let (ends, listens) = (running.ends.clone(), collecting.listens);
            running.spawn("energy-sflow", breath.clone(), move |stop| {
                let totals = receive(&socket, listens, state, stop);
                put(&ends.totals, Some(totals));
            })?;
        }
        let ends = running.ends.clone();
        running.spawn("energy-clock", breath, move |stop| {
            watch_clock(&outbox, &ends.clock_steps, stop);
        })?;
        collecting.running = Some(running);
        Ok(collecting)
    }

    /// The address on which sFlow is received.
    pub const fn listens(&self) -> Option<SocketAddr> {
        self.listens
    }

    /// The present state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            listens: self.listens,
            ..self.now.snapshot(self.clock.passed())
        }
    }

    /// Messages since the last call: a meter that does not answer, or answers again.
    pub fn take_messages(&self) -> Vec<String> {
        self.now.take_messages()
    }

    /// Why the log cannot be written, if so: the collection should be stopped.
    pub fn failure(&self) -> Option<String> {
        self.now.failure()
    }

    /// Reads every source once more, and writes the last line.
    ///
    /// # Errors
    /// The log could not be completed.
    pub fn stop(mut self) -> Result<Summary, CollectError> {
        let running = self.running.take();
        let absences = self.now.absences(self.clock.passed());
        let Some(running) = running else {
            return Err(CollectError("the collection has ended already".into()));
        };
        let ended = running.end();
        if let Some(failure) = self.now.failure() {
            return Err(CollectError(failure));
        }
        let (readings, samples) = ended?;
        Ok(Summary {
            readings,
            samples,
            problems: self.warnings(&running, absences),
        })
    }

    fn warnings(&self, running: &CollectorThreads, absences: Vec<SourceOutage>) -> Vec<String> {
        let mut problems: Vec<String> = absences.iter().map(absent).collect();
        let steps = *lock(&running.ends.clock_steps);
        if steps > 0 {
            let times = counted(steps, "time");
            problems.push(format!(
                "this host's clock was set during the collection ({times})"
            ));
        }
        let Some(totals) = *lock(&running.ends.totals) else {
            return problems;
        };
        let nothing = totals.nothing_received(self.listens);
        // Where nothing of version 5 was received, `nothing` has the number of others.
        let unreadable = match nothing.is_some() {
            true => 0,
            false => totals.unreadable,
        };
        let sentences = [
            (totals.lost, "datagram", "of sFlow lost on the way"),
            (unreadable, "datagram", "not sFlow version 5"),
            (
                totals.not_written,
                "sample",
                "dropped: the disk was too slow",
            ),
            (totals.no_number, "sample", "left out: too many interfaces"),
        ];
        for (n, what, became) in sentences.into_iter().filter(|(n, ..)| *n > 0) {
            problems.push(format!("{} {became}", counted(n, what)));
        }
        if let Some(nothing) = nothing {
            problems.push(nothing);
        } else {
            let silent = self.now.with_ports(|ports| ports.without_traffic());
            for ports in silent.unwrap_or_default() {
                problems.push(format!("no traffic received for the chosen ports {ports}"));
            }
        }
        problems
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.end();
        }
    }
}

impl CollectorThreads {
    /// Starts a thread of the collection.
    fn spawn(
        &self,
        name: &str,
        breath: Sender<Infallible>,
        work: impl FnOnce(&Stop) + Send + 'static,
    ) -> Result<(), CollectError> {
        let stop = self.stop.clone();
        let body = move || {
            work(&stop);
            drop(breath);
        };
        let spawned = thread::Builder::new().name(name.into()).spawn(body);
        spawned.map(drop).map_err(|error| {
            self.stop.raise();
            CollectError(format!("cannot start a thread: {error}"))
        })
    }

    fn write<W: Write + Send + 'static>(
        &self,
        log: LogWriter<W>,
        posts: Receiver<LineBatch>,
        collecting: &Collection,
        breath: Sender<Infallible>,
    ) -> Result<(), CollectError> {
        let (now, clock) = (collecting.now.clone(), collecting.clock.clone());
        let ends = self.ends.clone();
        self.spawn("energy-log", breath, move |stop| {
            match writer::write(log, &posts, &*clock) {
                Ok(counts) => put(&ends.written, Some(counts)),
                Err(error) => {
                    now.set_failure(error.to_string());
                    stop.raise();
                }
            }
        })
    }

    /// Ends all threads and returns the numbers of lines of readings and of samples.
    fn end(&self) -> Result<(u64, u64), CollectError> {
        self.stop.raise();
        if self.alive.recv_timeout(END_MAX) == Err(RecvTimeoutError::Timeout) {
            return Err(CollectError(format!(
                "the log is incomplete: it was not completed within {} s; does the disk still work?",
                END_MAX.as_secs()
            )));
        }
        lock(&self.ends.written).ok_or_else(|| CollectError("the log is incomplete".into()))
    }
}

/// The sentence for a source that did not answer for some time.
fn absent(of: &SourceOutage) -> String {
    let (name, lost_s) = (&of.name, of.lost.as_secs_f64());
    match (of.silent, of.lost.is_zero()) {
        (true, true) => format!("{name}: did not answer any more at the end"),
        (true, false) => format!(
            "{name}: did not answer any more at the end; {lost_s:.1} s without an answer in all"
        ),
        (false, _) => format!("{name}: {lost_s:.1} s without an answer in all"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put<T>(mutex: &Mutex<T>, value: T) {
    *lock(mutex) = value;
}

/// A new log, which is removed if the collection does not start.
struct NewLog {
    writer: LogWriter<io::BufWriter<std::fs::File>>,
    guard: Guard,
}

struct Guard(Option<PathBuf>);

impl NewLog {
    fn new(path: &Path) -> Result<Self, CollectError> {
        let writer = LogWriter::create(path).map_err(|error| CollectError(error.to_string()))?;
        Ok(Self {
            writer,
            guard: Guard(Some(path.into())),
        })
    }
}

impl Guard {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn head(setup: &Setup, version: &str, clock: &dyn Clock) -> Head {
    let mut lab: Lab = setup.lab.clone();
    if let Some(sflow) = &setup.sflow
        && lab.ports.is_empty()
    {
        lab.ports = sflow.ports.iter().map(ToString::to_string).collect();
    }
    Head {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: version.into(),
        started: clock.now(),
        host: filermark_system::host_name(),
        notice: filermark_model::NOT_A_SPEC_RESULT.into(),
        lab,
    }
}

/// Opens all meters and sensors.
fn wanted(
    setup: &Setup,
    now: &Arc<LiveState>,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<WantedSource>, CollectError> {
    let (its, time) = (now.clone(), clock.clone());
    let traffic: Arc<dyn Fn() -> f64 + Send + Sync> = Arc::new(move || {
        let rate = its.with_ports(|ports| ports.chosen_mib_per_s(time.passed()));
        rate.flatten().unwrap_or(0.0)
    });
    let meters = setup.meters.iter().map(|s| (SourceKind::Meter, s));
    let sensors = setup.sensors.iter().map(|s| (SourceKind::Sensor, s));
    let sources = meters.chain(sensors).zip(0..);
    let opened = sources.map(|((kind, source), id)| {
        let meter = open(&source.at, ANSWER_MAX, traffic.clone())
            .map_err(|error| CollectError(error.of_source(&source.name)))?;
        Ok(WantedSource {
            source: line_of(id, kind, source),
            interval: source.interval,
            offset_s: source.clock_offset_s,
            meter,
        })
    });
    opened.collect()
}

fn line_of(id: u32, kind: SourceKind, source: &SourceSetup) -> Source {
    Source {
        id,
        kind,
        name: source.name.clone(),
        location: source.at.to_string(),
        role: source.role,
        simulated: false,
        interval_s: Some(source.interval.as_secs_f64()),
        digits: Default::default(),
        instrument: Box::new(source.instrument.clone()),
        clock: ClockFacts::default(),
    }
}

/// Reads all of them for the first time, at once.
fn first_readings(
    sources: Vec<WantedSource>,
    host: &ClockFacts,
    outbox: &LogSender,
) -> Result<Vec<SourceReader>, CollectError> {
    let answers: Vec<(String, Result<SourceReader, MeterError>)> = thread::scope(|scope| {
        let begin = |wanted: WantedSource| {
            let name = wanted.source.name.clone();
            let body = move || SourceReader::begin(wanted, host, outbox.clone());
            (name, scope.spawn(body))
        };
        let threads: Vec<_> = sources.into_iter().map(begin).collect();
        let join = |(name, thread): (String, thread::ScopedJoinHandle<'_, _>)| {
            let answer = thread.join().unwrap_or_else(|_| {
                Err(MeterError {
                    source_name: name.clone(),
                    step: "read",
                    reason: "the reader has failed".into(),
                })
            });
            (name, answer)
        };
        threads.into_iter().map(join).collect()
    });
    let (mut readers, mut failures) = (Vec::new(), Vec::new());
    for (name, answer) in answers {
        match answer {
            Ok(reader) => readers.push(reader),
            Err(error) => failures.push(error.of_source(&name)),
        }
    }
    match failures.is_empty() {
        true => Ok(readers),
        false => Err(CollectError(failures.join("; "))),
    }
}

fn sflow_source(
    id: u32,
    setup: &SflowSetup,
    listens: Option<SocketAddr>,
    host: &ClockFacts,
) -> Source {
    let own = ClockFacts {
        offset_s: 0.0,
        added_s: None,
        bound_s: Some(HELD_BACK_S),
        how: "this host's clock when the datagram came; an agent may hold a sample back for 1 s (sFlow version 5, section 5)".into(),
    };
    Source {
        id,
        kind: SourceKind::Sflow,
        name: SFLOW_NAME.into(),
        location: format!("udp://{}", listens.unwrap_or(setup.listen)),
        role: Role::Server,
        simulated: false,
        interval_s: None,
        digits: Default::default(),
        instrument: Box::new(setup.instrument.clone()),
        clock: relative_to_prime(own, host),
    }
}

/// Receives datagrams until the collection ends.
fn receive(
    socket: &UdpSocket,
    listens: Option<SocketAddr>,
    mut state: CollectorState,
    stop: &Stop,
) -> Totals {
    let mut buffer = vec![0; DATAGRAM_MAX];
    while !stop.is_raised() {
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                state.datagram(from.ip().to_canonical(), bytes);
            }
            Err(error) if is_nothing(&error) => {}
            // No descriptor or memory at the moment: do not retry at once.
            Err(_) => {
                stop.wait(socket::POLL_INTERVAL);
            }
        }
        if !state.send_due() {
            return state.totals();
        }
    }
    state.end(listens)
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Reports and counts steps of the wall clock.
fn watch_clock(outbox: &LogSender, count: &Mutex<u64>, stop: &Stop) {
    let mut steps = StepWatch::new();
    loop {
        let (now, passed) = (outbox.clock.now(), outbox.clock.passed());
        if let Some(step) = steps.step(now, passed) {
            *lock(count) += 1;
            let direction = if step > 0.0 { "forward" } else { "back" };
            let message = format!(
                "this host's clock was set {direction} by {:.1} s: times before and after cannot be compared",
                step.abs()
            );
            let line = outbox.event(None, EventKind::ClockJump, message);
            if !outbox.send(vec![line]) {
                return;
            }
        }
        if stop.wait(CLOCK_EVERY) {
            return;
        }
    }
}

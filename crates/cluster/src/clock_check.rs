//! Holds an agent's clock against a time service ([`crate::clock_service`]): how
//! long was RUN by its own clock, how long by the service's?
//!
//! The service is asked at the beginning and at the end of RUN, a few times each,
//! and the quickest answer counts: its reading was taken somewhere between question
//! and answer, so half of that span is the bound of its error.

use crate::clock_service::read_line;
use crate::message::ClockCheck;
use filermark_engine::clock::Clock;
use filermark_engine::shard::Timetable;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use filermark_model::{Finding, Rule, Severity};
use filermark_results::Timestamp;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Questions per reading.
const ROUND_TRIPS: u32 = 5;
/// Longest wait for a connection or for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Longest wait for a whole reading, the resolving of the name included.
const READING_MAX: Duration = Duration::from_secs(5);
/// Longest time without a look at an instant that may have moved: the beginning of RUN
/// is told a second before it at least.
const LOOK: Duration = Duration::from_millis(500);
/// Share of RUN that two good clocks may differ by, beside the bound.
const DRIFT_MAX: f64 = 0.001;

/// What the service said, and when by our clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    service: Nanos,
    ours: Nanos,
    /// Seconds that the service's wall clock is ahead of ours.
    ahead_s: f64,
    /// Most that the two may be apart from each other by the time on the way.
    bound: Nanos,
}

/// Two readings that are being made on a thread.
pub(crate) struct Check {
    result: Receiver<ClockCheck>,
    /// Its end tells the thread that the phase is over.
    phase: Option<Sender<()>>,
}

impl Check {
    /// Will read when RUN begins and when it ends.
    pub fn begin(plan: &ClockServicePlan, clock: &Clock, timetable: Timetable) -> Self {
        let (sender, result) = channel();
        let (phase, over) = channel();
        let (plan, clock) = (plan.clone(), clock.clone());
        let work = move || {
            let _ = sender.send(check(&plan, &clock, &timetable, &over));
        };
        // Without a thread the channel ends, which is told as a failure.
        let _ = std::thread::Builder::new()
            .name("clock-check".into())
            .spawn(work);
        Self {
            result,
            phase: Some(phase),
        }
    }

    /// What came of it, now that RUN has ended.
    pub fn finish(mut self) -> ClockCheck {
        self.phase.take();
        let limit = READING_MAX + ANSWER_MAX;
        self.result
            .recv_timeout(limit)
            .unwrap_or_else(|_| failed("no answer in time"))
    }
}

fn failed(reason: &str) -> ClockCheck {
    ClockCheck::Failed {
        reason: reason.into(),
    }
}

fn check(
    plan: &ClockServicePlan,
    clock: &Clock,
    timetable: &Timetable,
    over: &Receiver<()>,
) -> ClockCheck {
    if !wait_until(clock, || timetable.times().run_start, over) {
        return failed("RUN did not begin");
    }
    let first = match read(plan, clock) {
        Ok(reading) => reading,
        Err(why) => return failed(&format!("at the beginning of RUN: {why}")),
    };
    wait_until(clock, || timetable.times().run_end, over);
    match read(plan, clock) {
        Ok(last) => compare(first, last),
        Err(why) => failed(&format!("at the end of RUN: {why}")),
    }
}

/// Whether the instant came before the phase was over. It may move to the front while
/// it is waited for, and is looked at again and again.
pub(crate) fn wait_until(
    clock: &Clock,
    mut instant: impl FnMut() -> Nanos,
    over: &Receiver<()>,
) -> bool {
    loop {
        let left = Duration::from_nanos(instant().since(clock.now()).0);
        if over.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout) {
            return false;
        }
        if left <= LOOK {
            return true;
        }
    }
}

fn compare(first: Reading, last: Reading) -> ClockCheck {
    if last.service < first.service {
        return failed("the service was started anew during RUN");
    }
    ClockCheck::Compared {
        ours_ns: last.ours.since(first.ours).0,
        service_ns: last.service.since(first.service).0,
        bound_ns: (first.bound + last.bound).0,
    }
}

/// How the wall clock of another host stands to this one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WallOffset {
    /// Seconds to add to a time of this host for the other's.
    pub offset_s: f64,
    /// The truth is at most so many seconds away: half of the way there and back.
    pub bound_s: f64,
}

/// Asks the time service (`filermark clock`) of another host how its wall clock stands to
/// this one's.
///
/// # Errors
/// Nobody answers there, or something else does.
pub fn wall_offset(host: &str, port: u16) -> Result<WallOffset, String> {
    let plan = ClockServicePlan {
        host: host.into(),
        port,
    };
    let reading = read(&plan, &Clock::real())?;
    Ok(WallOffset {
        offset_s: reading.ahead_s,
        bound_s: reading.bound.0 as f64 / 1e9,
    })
}

/// Asks a few times; the quickest answer counts.
fn read(plan: &ClockServicePlan, clock: &Clock) -> Result<Reading, String> {
    let deadline = Instant::now() + READING_MAX;
    let place = format!("{}:{}", plan.host, plan.port);
    let stream = connect(plan).map_err(|e| format!("{place}: {e}"))?;
    let mut best: Option<Reading> = None;
    for _ in 0..ROUND_TRIPS {
        match ask(&stream, clock) {
            Ok(reading) if best.is_none_or(|b| reading.bound < b.bound) => best = Some(reading),
            Ok(_) => {}
            Err(e) => return Err(format!("{place}: {e}")),
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    best.ok_or_else(|| format!("{place}: no answer"))
}

fn connect(plan: &ClockServicePlan) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (plan.host.as_str(), plan.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_MAX) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(ANSWER_MAX))?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn ask(mut stream: &TcpStream, clock: &Clock) -> io::Result<Reading> {
    let asked = clock.now();
    stream.write_all(b"time\n")?;
    let line = read_line(&mut stream, Instant::now() + ANSWER_MAX)?;
    let answered = clock.now();
    let wall_s = Timestamp::now().unix_seconds();
    let trip = answered.since(asked);
    let (service, its_wall_s) = line.as_deref().and_then(parse).ok_or_else(|| {
        let said = line.unwrap_or_default();
        let why = format!(
            "is no time service of ours (it says '{}')",
            said.escape_debug()
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    })?;
    Ok(Reading {
        service,
        ours: asked + Nanos(trip.0 / 2),
        ahead_s: its_wall_s - (wall_s - trip.0 as f64 / 2e9),
        bound: Nanos(trip.0 / 2),
    })
}

/// `NANOSECONDS SECONDS.FRACTION`
fn parse(line: &str) -> Option<(Nanos, f64)> {
    let (nanos, wall) = line.split_once(' ')?;
    let wall = wall.parse::<f64>().ok().filter(|wall| wall.is_finite())?;
    Some((Nanos(nanos.parse().ok()?), wall))
}

/// The sentence for the record, and what is to be said of the load point.
pub(crate) fn judge(check: &ClockCheck, plan: &ClockServicePlan) -> (String, Option<Finding>) {
    let service = format!("the time service {}:{}", plan.host, plan.port);
    let warning = |message: &str| Finding::new(Rule::ExternalClock, Severity::Warning, message);
    match check {
        ClockCheck::Failed { reason } => {
            let message = format!(
                "RUN was not held against {service}: {reason}; is 'filermark clock' running there?"
            );
            let finding = warning(&message);
            (message, Some(finding))
        }
        ClockCheck::Compared {
            ours_ns,
            service_ns,
            bound_ns,
        } => {
            let (ours, theirs) = (*ours_ns as f64 / 1e6, *service_ns as f64 / 1e6);
            let bound = *bound_ns as f64 / 1e6;
            let message = format!(
                "from the beginning to the end of RUN {ours:.3} ms passed here and {theirs:.3} ms at {service} (uncertain by {bound:.3} ms)"
            );
            let apart = (ours - theirs).abs();
            let limit = bound + DRIFT_MAX * theirs;
            let finding = (apart > limit).then(|| {
                let which = if ours < theirs { "slow" } else { "fast" };
                warning(&format!(
                    "the clock here is {which}: {message}; all times of this load point are off by as much"
                ))
                .with_limit(apart, limit, "0.1 % of RUN and the time on the way, in ms")
            });
            (message, finding)
        }
    }
}

//! Readings of a time service ([`crate::clock_service`]).
//!
//! The service is asked a few times each, and the quickest answer counts: its reading was
//! taken somewhere between question and answer, so half of that span is the bound of its
//! error.

use crate::clock_service::read_line;
use filermark_engine::clock::Clock;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use filermark_model::text::quoted;
use filermark_results::Timestamp;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Questions per reading.
const ROUND_TRIPS: u32 = 5;
/// Longest wait for a connection or for an answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Longest wait for a whole reading, the resolving of the name included.
pub const READING_MAX: Duration = Duration::from_secs(5);

/// What the service said, and when by our clock.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The time of the service.
    pub service: Nanos,
    /// The time of our clock.
    pub ours: Nanos,
    /// Seconds that the service's wall clock is ahead of ours.
    ahead_s: f64,
    /// Most that the two may be apart from each other by the time on the way.
    pub bound: Nanos,
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
pub fn read(plan: &ClockServicePlan, clock: &Clock) -> Result<Reading, String> {
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
        let why = format!("is no time service of ours (it says '{}')", quoted(&said));
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

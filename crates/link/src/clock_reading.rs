//! Readings of a time service ([`crate::clock_service`]).
//!
//! The service is asked several times, and the reply with the shortest round trip counts: its
//! reading was taken between request and reply, so half of that time bounds its error.

use crate::clock_service::read_line;
use filermark_engine::clock::Clock;
use filermark_model::Nanos;
use filermark_model::plan::ClockServicePlan;
use filermark_model::text::quoted;
use filermark_results::Timestamp;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Requests per reading.
const ROUND_TRIPS: u32 = 5;
/// Longest wait for a connection or for a reply.
pub const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Longest time of a whole reading, including name resolution.
pub const READING_MAX: Duration = Duration::from_secs(5);

/// The time of the service, and of this host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The time of the service.
    pub service: Nanos,
    /// The time of this host's clock.
    pub ours: Nanos,
    /// Seconds that the service's wall clock is ahead of this host's.
    ahead_s: f64,
    /// Bound of the error between the two, from the round trip.
    pub bound: Nanos,
}

/// The wall clock of another host relative to this one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WallOffset {
    /// Seconds to add to a time of this host for the other's.
    pub offset_s: f64,
    /// Bound of the error in seconds: half of the round trip.
    pub bound_s: f64,
}

/// Asks the time service (`filermark clock`) of another host for its wall clock, relative to
/// this one's.
///
/// # Errors
/// There is no service, or another one.
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

/// Sends several requests; the reply with the shortest round trip counts.
pub fn read(plan: &ClockServicePlan, clock: &Clock) -> Result<Reading, String> {
    let deadline = Instant::now() + READING_MAX;
    let place = format!("{}:{}", plan.host, plan.port);
    let stream = connect(plan).map_err(|e| format!("{place}: {e}"))?;
    let mut best: Option<Reading> = None;
    for _ in 0..ROUND_TRIPS {
        match request(&stream, clock) {
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

fn request(mut stream: &TcpStream, clock: &Clock) -> io::Result<Reading> {
    let asked = clock.now();
    stream.write_all(b"time\n")?;
    let line = read_line(&mut stream, Instant::now() + ANSWER_MAX)?;
    let answered = clock.now();
    let wall_s = Timestamp::now().unix_seconds();
    let trip = answered.since(asked);
    let (service, its_wall_s) = line.as_deref().and_then(parse).ok_or_else(|| {
        let reply = line.unwrap_or_default();
        let why = format!(
            "is not a time service of Filermark (it sent '{}')",
            quoted(&reply)
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

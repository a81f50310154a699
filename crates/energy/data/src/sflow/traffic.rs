//! The traffic of an interface, from two readings of its counters.
//!
//! Only arithmetic: no state, no clock. The difficult case is a counter that has gone back: it
//! may have wrapped, or may have been reset.

use super::counters::InterfaceCounters;
use filermark_results::Timestamp;
use std::net::IpAddr;

/// The shortest Ethernet header. Packets times this are at most the bytes.
const PACKET_BYTES_MIN: u64 = 14;
/// A rate above this multiple of the interface's speed is impossible.
const SPEED_LEEWAY: f64 = 1.5;
/// The greatest possible speed where the interface does not report it, in bits per second.
const SPEED_MAX: f64 = 3.2e12;
/// How long an agent may hold a reading back, in seconds, so that an interval seems shorter
/// than it was (sFlow version 5, section 5).
const HELD_BACK_S: f64 = 1.0;
/// ifDirection of a half duplex interface.
const HALF_DUPLEX: u32 = 2;

/// Traffic of one interface between two readings of its counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficSample {
    /// The time of the second reading.
    pub at: Timestamp,
    /// Seconds between the readings; above 0.
    pub seconds: f64,
    /// The agent.
    pub agent: IpAddr,
    /// The part of the agent that reported it.
    pub sub_agent: u32,
    /// Which interface of the agent.
    pub if_index: u32,
    /// Its speed in bits per second; `None` if the agent does not know it.
    pub speed_bits_per_s: Option<u64>,
    /// What the agent received. On a switch's port to a server: what the server sent.
    pub input: Rates,
    /// What the agent sent. On a switch's port to a server: what the server received.
    pub output: Rates,
}

impl TrafficSample {
    /// Bytes per second in both directions; `None` where one is not known.
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.input.bytes_per_s? + self.output.bytes_per_s?)
    }

    /// MiB per second in both directions, as used for efficiency.
    pub fn mib_per_s(&self) -> Option<f64> {
        self.bytes_per_s().map(|bytes| bytes / crate::MIB)
    }
}

/// Traffic in one direction. What the agent does not count is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Bytes over the interval, as they were counted.
    pub bytes: Option<u64>,
    /// Packets over the interval with errors or discarded, as they were counted.
    pub bad_packets: Option<u64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Packets per second: unicast, multicast and broadcast together.
    pub packets_per_s: Option<f64>,
    /// Packets per second with errors.
    pub errors_per_s: Option<f64>,
    /// Packets per second without errors that were discarded.
    pub discards_per_s: Option<f64>,
    /// Share of the speed, 1 for all of it. With half duplex both directions share one.
    pub utilisation: Option<f64>,
}

/// Bits per second, if reported. A 32-bit gauge is at its maximum (4294967295) for everything
/// faster (RFC 2863, ifSpeed), and some agents send that.
pub(super) fn speed(counters: &InterfaceCounters) -> Option<u64> {
    let speed = counters.speed;
    (speed != 0 && speed != u64::from(u32::MAX) && speed != u64::MAX).then_some(speed)
}

/// What was counted in one direction.
#[derive(Clone, Copy)]
struct Direction {
    octets: u64,
    packets: [u32; 3],
    errors: u32,
    discards: u32,
}

fn input(counters: &InterfaceCounters) -> Direction {
    Direction {
        octets: counters.in_octets,
        packets: [
            counters.in_unicast,
            counters.in_multicast,
            counters.in_broadcast,
        ],
        errors: counters.in_errors,
        discards: counters.in_discards,
    }
}

fn output(counters: &InterfaceCounters) -> Direction {
    Direction {
        octets: counters.out_octets,
        packets: [
            counters.out_unicast,
            counters.out_multicast,
            counters.out_broadcast,
        ],
        errors: counters.out_errors,
        discards: counters.out_discards,
    }
}

/// From one reading of a counter to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// One of the two is not known.
    Unknown,
    Forward(u64),
    /// Less than before; `wrapped` is the difference if it has wrapped.
    Back {
        wrapped: u64,
    },
}

fn step32(from: u32, to: u32) -> Step {
    match (from, to) {
        (u32::MAX, _) | (_, u32::MAX) => Step::Unknown,
        (from, to) if to >= from => Step::Forward(u64::from(to - from)),
        (from, to) => Step::Back {
            wrapped: to.wrapping_sub(from).into(),
        },
    }
}

/// Bytes: a counter of 64 bits; an agent may have only one of 32 bits.
fn step64(from: u64, to: u64) -> Step {
    match (from, to) {
        (u64::MAX, _) | (_, u64::MAX) => Step::Unknown,
        (from, to) if to >= from => Step::Forward(to - from),
        // From the upper half of 2^64 to the lower: nothing but a wrap gets there.
        (from, to) if from > u64::MAX / 2 && to < u64::MAX / 2 => {
            Step::Forward(to.wrapping_sub(from))
        }
        (from, to) => match (u32::try_from(from), u32::try_from(to)) {
            (Ok(from), Ok(to)) => Step::Back {
                wrapped: to.wrapping_sub(from).into(),
            },
            _ => Step::Back { wrapped: u64::MAX },
        },
    }
}

/// All steps in one direction.
#[derive(Clone, Copy)]
struct Steps {
    octets: Step,
    packets: [Step; 3],
    errors: Step,
    discards: Step,
}

impl Steps {
    fn between(from: Direction, to: Direction) -> Self {
        let packet = |kind: usize| step32(from.packets[kind], to.packets[kind]);
        Self {
            octets: step64(from.octets, to.octets),
            packets: [packet(0), packet(1), packet(2)],
            errors: step32(from.errors, to.errors),
            discards: step32(from.discards, to.discards),
        }
    }

    fn backs(&self) -> usize {
        let all = [
            self.octets,
            self.packets[0],
            self.packets[1],
            self.packets[2],
        ];
        all.iter()
            .filter(|step| matches!(step, Step::Back { .. }))
            .count()
    }

    /// Whether the packet counters that went back can have wrapped with these bytes.
    fn packets_fit(&self) -> bool {
        let Step::Forward(octets) = self.octets else {
            return true;
        };
        self.packets.iter().all(|step| match step {
            Step::Back { wrapped } => wrapped.saturating_mul(PACKET_BYTES_MIN) <= octets,
            _ => true,
        })
    }

    /// Whether each counter that went back has wrapped by less than half of its range, and the
    /// bytes no faster than the interface can.
    fn small(&self, bytes_max: f64) -> bool {
        let fits = |step: &Step, limit: f64| match step {
            Step::Back { wrapped } => {
                *wrapped <= u64::from(u32::MAX / 2) && *wrapped as f64 <= limit
            }
            _ => true,
        };
        fits(&self.octets, bytes_max) && self.packets.iter().all(|step| fits(step, f64::MAX))
    }

    fn rates(&self, seconds: f64) -> Rates {
        let per_s = |step: Step| amount(step).map(|amount| amount as f64 / seconds);
        let known = self.packets.iter().filter_map(|step| amount(*step));
        let packets = known.reduce(|a, b| a + b);
        // Errors and discards are few: by more than half of the range they have been set back.
        let few = |step: Step| amount(step).filter(|n| *n <= u64::from(u32::MAX / 2));
        let (errors, discards) = (few(self.errors), few(self.discards));
        Rates {
            bytes: amount(self.octets),
            bad_packets: errors.into_iter().chain(discards).reduce(|a, b| a + b),
            bytes_per_s: per_s(self.octets),
            packets_per_s: packets.map(|packets| packets as f64 / seconds),
            errors_per_s: errors.map(|errors| errors as f64 / seconds),
            discards_per_s: discards.map(|discards| discards as f64 / seconds),
            utilisation: None,
        }
    }
}

fn amount(step: Step) -> Option<u64> {
    match step {
        Step::Unknown => None,
        Step::Forward(amount) | Step::Back { wrapped: amount } => Some(amount),
    }
}

/// The rates (in, out) over `seconds` between two readings, or `None` where the counters were
/// reset in between.
///
/// A single counter that went back has wrapped, if the resulting amount is possible. Where more
/// went back at once, or the bytes are too few for the packets, they were reset: counters wrap
/// independently.
pub(super) fn rates(
    from: &InterfaceCounters,
    to: &InterfaceCounters,
    seconds: f64,
) -> Option<(Rates, Rates)> {
    let speed = speed(to);
    let bytes_max = speed.map_or(f64::MAX, |bits| bits as f64 / 8.0 * seconds * SPEED_LEEWAY);
    let fastest = speed.map_or(SPEED_MAX, |bits| bits as f64) / 8.0 * SPEED_LEEWAY;
    let possible = fastest * (seconds + HELD_BACK_S);
    let incoming = Steps::between(input(from), input(to));
    let outgoing = Steps::between(output(from), output(to));
    let both = [&incoming, &outgoing];
    let bytes_go_on = both.iter().any(|s| matches!(s.octets, Step::Forward(_)))
        && !both.iter().any(|s| matches!(s.octets, Step::Back { .. }));
    let sound = if bytes_go_on {
        both.iter().all(|s| s.packets_fit())
    } else {
        incoming.backs() + outgoing.backs() <= 1 && both.iter().all(|s| s.small(bytes_max))
    };
    let passed = |steps: &Steps| amount(steps.octets).unwrap_or(0) as f64;
    if !sound || both.iter().any(|steps| passed(steps) > possible) {
        return None;
    }
    let (mut incoming, mut outgoing) = (incoming.rates(seconds), outgoing.rates(seconds));
    let share = |bytes: Option<f64>| Some(bytes? * 8.0 / speed? as f64);
    let (used_in, used_out) = (share(incoming.bytes_per_s), share(outgoing.bytes_per_s));
    let shared = used_in.zip(used_out).map(|(a, b)| a + b);
    let half = to.direction == HALF_DUPLEX;
    incoming.utilisation = if half { shared } else { used_in };
    outgoing.utilisation = if half { shared } else { used_out };
    Some((incoming, outgoing))
}

#[cfg(test)]
mod tests;

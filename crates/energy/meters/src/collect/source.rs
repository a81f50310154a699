//! One meter or sensor, in a thread of its own, read at fixed times.
//!
//! The times are an absolute schedule, so that nothing drifts. If an answer takes longer than
//! the interval, the readings of that time are skipped and reported.

use super::stop::Stop;
use super::throttle::LogThrottle;
use super::writer::LogSender;
use crate::meter::{Meter, MeterError};
use filermark_energy_data::log::{ClockFacts, EventKind, LogLine, Readings, Source};
use filermark_energy_data::reading::Quantity;
use filermark_results::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest wait before a failed source is read again (its interval, if that is longer).
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// A source that is to be read.
pub(super) struct WantedSource {
    /// Its line, still without facts about its clock.
    pub source: Source,
    /// How often it is read.
    pub interval: Duration,
    /// The offset of its clock in the setup.
    pub offset_s: Option<f64>,
    pub meter: Box<dyn Meter>,
}

/// The reader of one source.
pub(super) struct SourceReader {
    source: u32,
    name: String,
    interval: Duration,
    meter: Box<dyn Meter>,
    outbox: LogSender,
    /// Its index in the live state.
    place: usize,
    lost_since: Option<Duration>,
    failures: u32,
    skipped: LogThrottle<()>,
    /// The longest time of a reading, including sending it to the log.
    slowest: Duration,
}

/// An answer with its time.
struct Answer {
    at: Timestamp,
    /// The time is the source's own.
    own_clock: bool,
    values: BTreeMap<Quantity, f64>,
    /// The time between request and answer.
    trip: Duration,
}

impl SourceReader {
    /// Reads a source for the first time, and sends its line and its figures.
    ///
    /// # Errors
    /// It does not answer.
    pub fn begin(
        mut wanted: WantedSource,
        host: &ClockFacts,
        outbox: LogSender,
    ) -> Result<Self, MeterError> {
        let answer = ask(wanted.meter.as_mut(), &wanted.source.name, &outbox)?;
        let own = answer.own_clock.then(|| wanted.meter.clock());
        wanted.source.clock = facts(own, answer.trip, wanted.offset_s, host);
        wanted.source.simulated = wanted.meter.is_simulated();
        let place = outbox
            .now
            .add_source(wanted.source.clone(), wanted.interval);
        let mut reader = Self {
            source: wanted.source.id,
            name: wanted.source.name.clone(),
            interval: wanted.interval,
            meter: wanted.meter,
            outbox,
            place,
            lost_since: None,
            failures: 0,
            skipped: LogThrottle::new(),
            slowest: Duration::ZERO,
        };
        reader.outbox.send(vec![LogLine::Source(wanted.source)]);
        reader.take(answer);
        Ok(reader)
    }

    /// Reads until the collection ends, and once at the end.
    pub fn work(mut self, stop: &Stop) {
        let clock = self.outbox.clock.clone();
        let begin = clock.passed();
        let mut tick: u64 = 0;
        loop {
            tick += 1;
            let due = begin
                + self
                    .interval
                    .saturating_mul(u32::try_from(tick).unwrap_or(u32::MAX));
            let wait = due.saturating_sub(clock.passed()).max(self.back_off());
            let ended = stop.wait(wait);
            if self.failures > 0 {
                // Times during the back-off are not skipped readings.
                tick = tick.max(self.times_over(begin));
            }
            let asked = clock.passed();
            if !self.read() || ended {
                break;
            }
            self.slowest = self.slowest.max(clock.passed().saturating_sub(asked));
            tick = self.skip(tick, begin);
        }
        self.report_skipped(true);
    }

    /// Reads once. Returns whether the writer still runs.
    fn read(&mut self) -> bool {
        match ask(self.meter.as_mut(), &self.name, &self.outbox) {
            Ok(answer) => self.take(answer),
            Err(error) => self.lost(&error),
        }
    }

    /// The shortest wait before a failed source is read again.
    fn back_off(&self) -> Duration {
        let longer = self.interval.saturating_mul(self.failures);
        longer.min(BACK_OFF_MAX.max(self.interval))
    }

    /// The number of times of the schedule that have passed.
    fn times_over(&self, begin: Duration) -> u64 {
        let passed = self.outbox.clock.passed().saturating_sub(begin);
        let over = passed.as_nanos() / self.interval.as_nanos().max(1);
        u64::try_from(over).unwrap_or(u64::MAX)
    }

    /// The number of the last time that has passed; those between are counted as skipped.
    fn skip(&mut self, tick: u64, begin: Duration) -> u64 {
        let over = self.times_over(begin);
        if self.lost_since.is_none() {
            let missed = over.saturating_sub(tick);
            self.skipped
                .add((), i64::try_from(missed).unwrap_or(i64::MAX));
        }
        self.report_skipped(false);
        tick.max(over)
    }

    fn report_skipped(&mut self, end: bool) {
        for ((), count) in self.skipped.due(self.outbox.clock.passed(), end) {
            let message = format!(
                "{}: {count} readings left out: one took up to {:.1} s, longer than its interval of {:.1} s",
                self.name,
                self.slowest.as_secs_f64(),
                self.interval.as_secs_f64()
            );
            let line = self
                .outbox
                .event(Some(self.source), EventKind::Note, message);
            self.outbox.send(vec![line]);
        }
    }

    fn take(&mut self, answer: Answer) -> bool {
        let now = self.outbox.clock.passed();
        self.failures = 0;
        let mut lines = Vec::new();
        if let Some(since) = self.lost_since.take() {
            let message = format!(
                "{}: answers again after {:.1} s",
                self.name,
                now.saturating_sub(since).as_secs_f64()
            );
            self.outbox.now.push_message(message.clone());
            lines.push(
                self.outbox
                    .event(Some(self.source), EventKind::Recovered, message),
            );
        }
        self.outbox.now.answered(self.place, now, &answer.values);
        lines.push(LogLine::Readings(Readings {
            source: self.source,
            at: answer.at,
            values: answer.values,
            tag: None,
        }));
        self.outbox.send(lines)
    }

    /// Reported once; the next message is that of its return.
    fn lost(&mut self, error: &MeterError) -> bool {
        let now = self.outbox.clock.passed();
        self.failures = self.failures.saturating_add(1);
        self.outbox.now.failed(self.place, now);
        if self.lost_since.is_some() {
            return true;
        }
        self.lost_since = Some(now);
        let message = error.of_source(&self.name);
        self.outbox.now.push_message(message.clone());
        let line = self
            .outbox
            .event(Some(self.source), EventKind::Lost, message);
        self.outbox.send(vec![line])
    }
}

/// Reads once. Where the source has no clock of its own, the time is the middle between
/// request and answer. An answer without a finite figure is a failure.
fn ask(meter: &mut dyn Meter, name: &str, outbox: &LogSender) -> Result<Answer, MeterError> {
    let asked = outbox.clock.passed();
    let sample = meter.read();
    let trip = outbox.clock.passed().saturating_sub(asked);
    let sample = sample?;
    let middle = || outbox.clock.now().plus_seconds(-trip.as_secs_f64() / 2.0);
    let finite = sample.values.into_iter().filter(|(_, v)| v.is_finite());
    let answer = Answer {
        at: sample.at.unwrap_or_else(middle),
        own_clock: sample.at.is_some(),
        values: finite.collect(),
        trip,
    };
    if answer.values.is_empty() {
        return Err(MeterError {
            source_name: name.into(),
            step: "read",
            reason: "the answer has no figure; check that the source measures".into(),
        });
    }
    Ok(answer)
}

/// The facts about the clock of a source's times. `own` are those of the meter's own clock,
/// if it has one. Without it this host's clock is used, and its error is half of the round
/// trip. `host` is the offset of this host's clock from the prime's.
fn facts(
    own: Option<ClockFacts>,
    trip: Duration,
    offset_s: Option<f64>,
    host: &ClockFacts,
) -> ClockFacts {
    if let Some(offset_s) = offset_s {
        return ClockFacts {
            offset_s,
            how: "as given in the setup".into(),
            ..ClockFacts::default()
        };
    }
    let facts = own.unwrap_or_else(|| ClockFacts {
        offset_s: 0.0,
        added_s: None,
        bound_s: Some(trip.as_secs_f64() / 2.0),
        how: format!(
            "this host's clock, in the middle of question and answer ({:.1} ms)",
            trip.as_secs_f64() * 1e3
        ),
    });
    relative_to_prime(facts, host)
}

/// Converts an offset from this host's clock to one from the prime's.
pub(super) fn relative_to_prime(facts: ClockFacts, host: &ClockFacts) -> ClockFacts {
    if host.how.is_empty() {
        return facts;
    }
    let bounds = facts.bound_s.zip(host.bound_s);
    ClockFacts {
        offset_s: facts.offset_s + host.offset_s,
        bound_s: bounds.map(|(a, b)| a + b),
        how: match facts.how.is_empty() {
            true => host.how.clone(),
            false => format!("{}; {}", facts.how, host.how),
        },
        ..facts
    }
}

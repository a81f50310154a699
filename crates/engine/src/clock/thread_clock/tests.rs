use super::*;
use filermark_model::Rng;
use std::cell::Cell;

/// A counter and a clock that a test moves.
struct Machine {
    /// The time that really passed, in nanoseconds.
    ns: Cell<f64>,
    ticks_per_ns: Cell<f64>,
    ticks: Cell<f64>,
    /// What the clock gains, as a part of the time.
    gain: Cell<f64>,
    clock: Cell<f64>,
    /// What a reading of the clock takes.
    reading_ns: Cell<f64>,
    clock_readings: Cell<u32>,
}

impl Machine {
    fn new(ticks_per_ns: f64) -> Self {
        Self {
            ns: Cell::new(0.0),
            ticks_per_ns: Cell::new(ticks_per_ns),
            ticks: Cell::new(1e15),
            gain: Cell::new(0.0),
            clock: Cell::new(5e9),
            reading_ns: Cell::new(30.0),
            clock_readings: Cell::new(0),
        }
    }

    fn pass(&self, ns: f64) {
        self.ns.set(self.ns.get() + ns);
        self.ticks
            .set(self.ticks.get() + ns * self.ticks_per_ns.get());
        self.clock
            .set(self.clock.get() + ns * (1.0 + self.gain.get()));
    }

    fn ticks(&self) -> u64 {
        self.pass(5.0);
        self.ticks.get() as u64
    }

    fn clock(&self) -> Nanos {
        self.clock_readings.set(self.clock_readings.get() + 1);
        self.pass(15.0);
        let now = self.clock.get() as u64;
        // An interruption comes behind the reading.
        self.pass(self.reading_ns.get() - 15.0);
        Nanos(now)
    }

    /// A reading as [`ThreadClock::now`] makes it.
    fn read(&self, line: &mut Line) -> Result<Nanos, Nanos> {
        match line.at(self.ticks()) {
            Some(now) => Ok(now),
            None => line.compare(|| self.ticks(), || self.clock()),
        }
    }

    /// A line in use.
    fn line(&self) -> Line {
        let mut line = Line::default();
        while line.rate == 0 {
            self.pass(1e6);
            self.read(&mut line).expect("steady");
        }
        line
    }
}

/// Counters of all rates, with a clock that is slewed to and fro, readings at all distances, and a
/// thread that is interrupted: never off by more than a microsecond, never backwards, and spans of a
/// few microseconds right to 0.2 %.
#[test]
fn a_line_follows_the_clock() {
    for ticks_per_ns in [0.3, 1.0, 2.45, 5.0] {
        let machine = Machine::new(ticks_per_ns);
        let mut line = machine.line();
        let mut rng = Rng::new(7, 7);
        let mut last = Nanos::ZERO;
        for round in 0..300_000 {
            machine.pass(match rng.below(1_000) {
                0 => rng.unit() * 3e7,
                1..30 => rng.unit() * 1e6,
                _ => rng.unit() * 3e3,
            });
            machine.gain.set(((round / 10_000) as f64 - 15.0) * 3e-5);
            machine.reading_ns.set(match rng.below(50) {
                0 => 1e5,
                _ => 30.0,
            });
            let now = machine.read(&mut line).expect("steady");
            let off = now.0 as f64 - machine.clock.get();
            assert!(
                (-1_000.0 - machine.reading_ns.get()..1_000.0).contains(&off),
                "{off} in round {round}"
            );
            assert!(now >= last, "round {round}");
            machine.reading_ns.set(30.0);
            let began = machine.read(&mut line).expect("steady");
            let before = machine.ns.get();
            let begun_in = line.from_ticks;
            machine.pass(5e3);
            let took = machine.ns.get() - before;
            last = machine.read(&mut line).expect("steady");
            let shown = last.since(began).0 as f64;
            let error = match line.from_ticks == begun_in {
                true => 20.0 + 0.002 * took,
                false => 1_000.0,
            };
            assert!(
                (shown - took).abs() < error,
                "{shown} {took} in round {round}"
            );
        }
    }
}

/// The clock is read for comparisons only.
#[test]
fn a_reading_costs_none_of_the_clock() {
    let machine = Machine::new(2.45);
    let mut line = machine.line();
    machine.clock_readings.set(0);
    for _ in 0..100_000 {
        machine.pass(195.0);
        machine.read(&mut line).expect("steady");
    }
    // 20 ms in lines of 1 ms.
    let readings = machine.clock_readings.get();
    assert!((1..=22 * PAIR_ATTEMPTS).contains(&readings), "{readings}");
}

#[test]
fn a_counter_that_is_not_steady_is_given_up() {
    type Change = fn(&Machine);
    let changes: [(&str, Change); 3] = [
        ("jumps", |m| m.ticks.set(m.ticks.get() + 1e7)),
        ("runs backwards", |m| m.ticks.set(m.ticks.get() - 1e7)),
        ("changes its rate", |m| m.ticks_per_ns.set(2.0)),
    ];
    for (what, change) in changes {
        let machine = Machine::new(2.45);
        let mut line = machine.line();
        machine.read(&mut line).expect("steady");
        change(&machine);
        let mut readings = 0;
        let now = loop {
            readings += 1;
            machine.pass(1_000.0);
            match machine.read(&mut line) {
                Err(now) => break now,
                Ok(_) => assert!(readings < 2_000, "{what}"),
            }
        };
        assert!(now >= Nanos(machine.clock.get() as u64 - 200), "{what}");
    }
}

#[test]
fn a_counter_that_is_too_slow_is_not_used() {
    let machine = Machine::new(0.1);
    let mut line = Line::default();
    machine.read(&mut line).expect("the first pair");
    machine.pass(2e7);
    assert!(machine.read(&mut line).is_err());
}

/// What the user of a shard sees: the same time as by the clock itself, on any machine.
#[test]
fn it_shows_the_time_of_its_clock() {
    let clock = Clock::real();
    let mut own = ThreadClock::of(clock.clone());
    let mut last = Nanos::ZERO;
    while last < Nanos::from_millis(30) {
        let (before, now, after) = (clock.now(), own.now(), clock.now());
        assert!(
            now >= last && now + ERROR_MAX >= before && now <= after + ERROR_MAX,
            "{before:?} {now:?} {after:?}"
        );
        last = now;
    }
    let clock = Clock::virtual_at_zero();
    let mut own = ThreadClock::of(clock.clone());
    clock.sleep_until(Nanos(77));
    assert_eq!(own.now(), Nanos(77));
}

/// The system's clock may be slewed by 500 parts of a million: then a line is ahead of it.
#[test]
fn time_does_not_run_backwards_where_the_clock_gets_slower() {
    let machine = Machine::new(2.45);
    let mut line = machine.line();
    let mut last = Nanos::ZERO;
    for round in 0..40_000 {
        machine.gain.set(match (round / 5_000) % 2 {
            0 => 4e-4,
            _ => -4e-4,
        });
        machine.pass(200.0);
        let now = machine.read(&mut line).expect("steady");
        assert!(now >= last, "{now:?} after {last:?} in round {round}");
        last = now;
    }
}

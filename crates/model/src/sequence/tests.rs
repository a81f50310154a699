//! Tests: the shipped sequences are what they say, for whole runs.

mod figures;
mod shape;
mod solve;

use super::*;
use crate::benchmark::Benchmark;
use crate::rng::Rng;

const SHIPPED: [&str; 2] = ["general-smb1", "general-smb2"];

pub(super) fn shipped(name: &str) -> (Benchmark, Sequence) {
    let b = Benchmark::shipped(name).unwrap_or_else(|e| panic!("{e}"));
    let s = b.classic().unwrap().sequence.clone().unwrap();
    (b, s)
}

/// Manual M, section 2.2.2, typed from its table.
const TABLE: [(Op, f64); 13] = [
    (Op::Echo, 0.5),
    (Op::Lock, 1.1),
    (Op::QuerySecurity, 1.6),
    (Op::Read, 20.5),
    (Op::QueryFs, 1.6),
    (Op::QueryFile, 12.9),
    (Op::QueryPath, 21.5),
    (Op::SetFile, 3.2),
    (Op::Find, 8.6),
    (Op::Write, 8.6),
    (Op::Open, 9.7),
    (Op::Close, 9.7),
    (Op::Flush, 0.5),
];

/// The mix in the long run, in percent, by walking all ways at once: nothing of the
/// solver in it. Half of every step stays where it is, for chains with a period.
pub(super) fn long_run(sequence: &Sequence) -> [f64; Op::COUNT] {
    let states = sequence.states();
    let mut here = vec![1.0 / states.len() as f64; states.len()];
    for _ in 0..20_000 {
        let mut there: Vec<f64> = here.iter().map(|h| 0.5 * h).collect();
        for (state, share) in states.iter().zip(&here) {
            for way in &state.next {
                there[way.to as usize] += 0.5 * share * way.share;
            }
        }
        let moved = here.iter().zip(&there).map(|(h, t)| (h - t).abs());
        let still = moved.fold(0.0, f64::max) < 1e-15;
        here = there;
        if still {
            break;
        }
    }
    // States that are not used lead nowhere: what began there is lost.
    let total: f64 = here.iter().sum();
    let mut percent = [0.0; Op::COUNT];
    for (state, share) in states.iter().zip(&here) {
        for way in &state.emits {
            percent[way.to.op().index()] += 100.0 * share / total * way.share;
        }
    }
    percent
}

#[test]
fn the_stationary_mix_is_the_table_of_the_seed() {
    for name in SHIPPED {
        let (b, s) = shipped(name);
        let (run, computed) = (long_run(&s), s.stationary_mix());
        assert_eq!(computed.len(), TABLE.len());
        for (op, percent) in TABLE {
            assert_eq!(b.mix.percent(op), percent, "{name} {op}");
            let got = run[op.index()];
            assert!((got - percent).abs() < 1e-7, "{name} {op}: {got}");
            let computed = computed.iter().find(|(o, _)| *o == op).unwrap().1;
            assert!((computed - percent).abs() < 1e-7, "{name} {op}: {computed}");
        }
        assert_eq!(TABLE.map(|(op, _)| op), Op::SMB);
    }
}

/// What is open, from the steps alone, without the model.
#[derive(Debug, Default)]
pub(super) struct Checker {
    open: Option<Step>,
    locked: bool,
    written: bool,
}

impl Checker {
    /// Takes a step; whether it was right.
    pub fn take(&mut self, step: Step) -> bool {
        use Step as S;
        let kind = self.open;
        let changing = kind == Some(S::OpenUpdate);
        let fresh = matches!(kind, Some(S::OpenReplace | S::OpenTemporary));
        match step {
            S::Echo | S::QueryPath | S::QueryFs | S::Find => kind.is_none(),
            S::OpenAttributes
            | S::OpenDirectory
            | S::OpenRead
            | S::OpenUpdate
            | S::OpenReplace
            | S::OpenTemporary => {
                let closed = kind.is_none();
                *self = Self::default();
                self.open = Some(step);
                closed
            }
            S::Close => {
                let empty = kind == Some(S::OpenReplace) && !self.written;
                self.open = None;
                kind.is_some() && !self.locked && !empty
            }
            S::ReadSequential | S::ReadRandom => kind == Some(S::OpenRead) || changing,
            S::WriteSequential => {
                self.written = true;
                changing || fresh
            }
            S::WriteRandom => changing,
            S::Flush | S::SetTimes | S::SetSize => changing || fresh,
            S::LockRange => changing && !std::mem::replace(&mut self.locked, true),
            S::UnlockRange => changing && std::mem::replace(&mut self.locked, false),
            S::QueryFile | S::QuerySecurity => kind.is_some(),
            S::SetDelete => kind == Some(S::OpenTemporary),
        }
    }
}

#[test]
fn millions_of_steps_without_a_wrong_one() {
    for (name, seeds) in [("general-smb1", 1..9u64), ("general-smb2", 100..102)] {
        let walk = TransitionTables::new(&shipped(name).1);
        for seed in seeds {
            let mut rng = Rng::new(seed, 1);
            let mut cards = walk.cards(&mut rng);
            let mut at = walk.rest(&mut rng);
            let mut checker = Checker::default();
            for n in 0..1_000_000 {
                let (step, next) = match seed % 2 {
                    0 => walk.step(at, &mut rng),
                    _ => walk.deal(at, &mut cards, &mut rng),
                };
                assert!(checker.take(step), "{name} {seed} {n}: {step:?}");
                at = next;
            }
        }
    }
}

/// Operations of a walk in percent.
fn walked(walk: &TransitionTables, seed: u64, steps: u32) -> [f64; Op::COUNT] {
    let mut rng = Rng::new(seed, 7);
    let mut cards = walk.cards(&mut rng);
    let mut at = walk.rest(&mut rng);
    let mut percent = [0.0; Op::COUNT];
    for _ in 0..steps {
        let (step, next) = walk.deal(at, &mut cards, &mut rng);
        percent[step.op().index()] += 100.0 / f64::from(steps);
        at = next;
    }
    percent
}

#[test]
fn a_hundred_thousand_operations_have_the_mix() {
    for name in SHIPPED {
        let (b, s) = shipped(name);
        let walk = TransitionTables::new(&s);
        for seed in 0..40 {
            let percent = walked(&walk, seed, 100_000);
            for (op, want) in b.mix.shares() {
                let got = percent[op.index()];
                assert!((got - want).abs() < 0.1, "{name} {seed} {op}: {got}");
            }
        }
    }
}

#[test]
fn many_walkers_have_the_mix_together() {
    // 100 procs, 1,000 operations each after a WARMUP of as many: a short run of many
    // sessions. Few of their decks come to an end, so they are hardly better than draws by
    // themselves, of which 20.5 in 100 have a standard deviation of 0.13 points here.
    let (b, s) = shipped("general-smb2");
    let walk = TransitionTables::new(&s);
    let mut percent = [0.0; Op::COUNT];
    for proc in 0..100 {
        let (warm, all) = (walked(&walk, proc, 1_000), walked(&walk, proc, 2_000));
        for (sum, (all, warm)) in percent.iter_mut().zip(all.iter().zip(warm)) {
            *sum += (2.0 * all - warm) / 100.0;
        }
    }
    for (op, want) in b.mix.shares() {
        let got = percent[op.index()];
        assert!((got - want).abs() < 0.5, "{op}: {got}");
    }
}

#[test]
fn both_protocols_have_the_same_sequence() {
    assert_eq!(shipped(SHIPPED[0]).1, shipped(SHIPPED[1]).1);
}

#[test]
fn solving_takes_no_time() {
    let begin = std::time::Instant::now();
    let _ = shipped("general-smb1");
    let took = begin.elapsed();
    assert!(took.as_millis() < 500, "{took:?}");
}

#[test]
fn a_sequence_survives_a_record_to_the_last_digit() {
    let (_, s) = shipped("general-smb1");
    let text = serde_json::to_string(&s).unwrap();
    assert_eq!(serde_json::from_str::<Sequence>(&text).unwrap(), s);
    for (from, to) in [
        ("\"level\":\"reading\"", "\"level\":\"idle\""),
        ("\"to\":\"close\"", "\"to\":\"find\""),
        ("\"to\":1,", "\"to\":99,"),
        ("\"share\":0.", "\"share\":-0."),
        ("\"share\":1.0", "\"share\":0.5"),
        ("\"states\":[", "\"states\":[],\"x\":["),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(serde_json::from_str::<Sequence>(&changed).is_err(), "{to}");
    }
    assert!(serde_json::from_str::<Sequence>("{\"states\":[]}").is_err());
}

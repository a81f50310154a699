//! Tests: what is drawn rightly is solved, or the operation is named that stands in the
//! way.

use super::super::*;
use super::{Checker, long_run};
use crate::benchmark::Benchmark;
use crate::rng::Rng;
use proptest::prelude::*;

fn solved(mix: &[(Op, f64)]) -> Result<Sequence, SolveError> {
    let mut b = Benchmark::shipped("general-smb1").unwrap();
    b.set_mix(Mix::new(mix.iter().copied()).unwrap())?;
    Ok(b.classic().unwrap().sequence.clone().unwrap())
}

#[test]
fn other_mixes_are_solved_and_leave_out_what_they_have_not() {
    let cases: [&[(Op, f64)]; 5] = [
        &[(Op::Echo, 100.0)],
        &[(Op::QueryPath, 70.0), (Op::Find, 30.0)],
        &[
            (Op::Open, 10.0),
            (Op::Close, 10.0),
            (Op::Read, 79.5),
            (Op::QueryPath, 0.5),
        ],
        &[
            (Op::Open, 15.0),
            (Op::Close, 15.0),
            (Op::Write, 60.0),
            (Op::QueryPath, 10.0),
        ],
        &[
            (Op::Open, 10.0),
            (Op::Close, 10.0),
            (Op::Lock, 30.0),
            (Op::Read, 15.0),
            (Op::Write, 15.0),
            (Op::QueryPath, 20.0),
        ],
    ];
    for mix in cases {
        let sequence = solved(mix).unwrap_or_else(|e| panic!("{mix:?}: {e}"));
        let run = long_run(&sequence);
        for op in Op::ALL {
            let want = mix.iter().find(|(o, _)| o == op).map_or(0.0, |(_, p)| *p);
            assert!((run[op.index()] - want).abs() < 1e-6, "{mix:?} {op}");
        }
        walk_rightly(&sequence, 20_000);
        // And back again: nothing of the shape is lost on the way.
        let (table, first) = super::shipped("general-smb1");
        assert_eq!(sequence.for_mix(&table.mix).unwrap(), first);
    }
}

/// Walks, and looks at every step.
pub(super) fn walk_rightly(sequence: &Sequence, steps: u32) {
    let walk = TransitionTables::new(sequence);
    let mut rng = Rng::new(5, 5);
    let mut cards = walk.cards(&mut rng);
    let mut at = walk.rest(&mut rng);
    let mut checker = Checker::default();
    for n in 0..steps {
        let (step, next) = walk.deal(at, &mut cards, &mut rng);
        assert!(checker.take(step), "{n}: {step:?}");
        at = next;
    }
}

#[test]
fn solving_again_changes_nothing() {
    // What was solved is itself the drawing that is nearest to itself.
    let (b, first) = super::shipped("general-smb1");
    let mut states = first.states().to_vec();
    for state in &mut states {
        state.emits.iter_mut().for_each(|w| w.weight = w.share);
        state.next.iter_mut().for_each(|w| w.weight = w.share);
    }
    let again = Shape::new(states).unwrap().solve(&b.mix).unwrap();
    for (one, other) in first.states().iter().zip(again.states()) {
        for (a, b) in one.next.iter().zip(&other.next) {
            assert!((a.share - b.share).abs() < 1e-9, "{}", one.name);
        }
    }
}

/// The states of the shipped shape with other weights, and some ways taken away.
fn bent(weights: &[f64], gone: u32) -> Vec<State> {
    let (_, sequence) = super::shipped("general-smb1");
    let mut states = sequence.states().to_vec();
    let mut weights = weights.iter().cycle();
    let mut ways = 0u32;
    for state in &mut states {
        for way in &mut state.emits {
            way.weight = *weights.next().unwrap_or(&1.0);
        }
        state.next.retain(|_| {
            ways += 1;
            ways % 97 != gone % 97
        });
        for way in &mut state.next {
            way.weight = *weights.next().unwrap_or(&1.0);
        }
    }
    states
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_shape_is_solved_or_refused_with_a_reason(
        weights in proptest::collection::vec(-1.5..1.5f64, 31),
        shares in proptest::collection::vec(0.0..1.0f64, 12),
        gone in 0u32..200,
    ) {
        let weights: Vec<f64> = weights.iter().map(|w| 10f64.powf(*w)).collect();
        let Ok(shape) = Shape::new(bent(&weights, gone)) else { return Ok(()) };
        // Open and close share one number; some operations are left out.
        let ops = Op::SMB.iter().filter(|op| **op != Op::Close);
        let drawn: Vec<(Op, f64)> = ops.copied().zip(shares.iter().map(|s| (s - 0.1).max(0.0))).collect();
        let open = drawn.iter().find(|(op, _)| *op == Op::Open).map_or(0.0, |(_, s)| *s);
        let total: f64 = open + drawn.iter().map(|(_, s)| s).sum::<f64>();
        prop_assume!(total > 0.0);
        let table = drawn.iter().copied().chain([(Op::Close, open)]);
        let mix = Mix::new(table.map(|(op, s)| (op, 100.0 * s / total))).unwrap();
        match shape.solve(&mix) {
            Ok(sequence) => {
                for (op, got) in sequence.stationary_mix() {
                    prop_assert!((got - mix.percent(op)).abs() < 1e-6, "{op}");
                }
                walk_rightly(&sequence, 2_000);
            }
            Err(e) => { prop_assert!(!e.to_string().is_empty()) },
        }
    }

    #[test]
    fn mixes_of_the_shape_itself_are_always_reached(
        factors in proptest::collection::vec(-1.5..1.5f64, 31),
    ) {
        // A mix that some weights of the same shape have is within its reach.
        let weights: Vec<f64> = factors.iter().map(|f| f.exp()).collect();
        let (b, first) = super::shipped("general-smb1");
        let states = bent(&weights, 0);
        let mut as_drawn = states.clone();
        for state in &mut as_drawn {
            let total: f64 = state.emits.iter().map(|w| w.weight).sum();
            state.emits.iter_mut().for_each(|w| w.share = w.weight / total);
            let total: f64 = state.next.iter().map(|w| w.weight).sum();
            state.next.iter_mut().for_each(|w| w.share = w.weight / total);
        }
        let mix = long_run(&Sequence { states: as_drawn });
        let shares = Op::SMB.iter().map(|op| (*op, mix[op.index()]));
        let open = mix[Op::Open.index()];
        let shares = shares.map(|(op, p)| (op, if op == Op::Close { open } else { p }));
        let solved = first.for_mix(&Mix::new(shares).unwrap());
        // Not every state of the first shape may be needed, but the shape is the same
        // but for the ways that were taken away, so a solution there is one here.
        let solved = solved.map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(solved.states().len() == first.states().len());
        Shape::new(states).unwrap().solve(&b.mix).map_err(|e| TestCaseError::fail(e.to_string()))?;
    }
}

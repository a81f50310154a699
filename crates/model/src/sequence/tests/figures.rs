//! Tests: what is computed of a sequence is what walks through it do, and the shipped ones
//! read and write as docs/src/reference/smb-workload.md says.

use super::super::*;
use super::shipped;
use crate::rng::Rng;
use std::collections::BTreeMap;

/// What a walk of two million steps did.
#[derive(Default)]
struct Walked {
    opens: BTreeMap<Step, u32>,
    between: BTreeMap<(Step, Step), u32>,
    orders: BTreeMap<Vec<Step>, u32>,
    runs: BTreeMap<Op, (u32, u32)>,
}

impl Walked {
    fn through(sequence: &Sequence) -> Self {
        let walk = TransitionTables::new(sequence);
        let mut rng = Rng::new(11, 4);
        let mut at = walk.rest(&mut rng);
        let mut walked = Self::default();
        let mut order: Vec<Step> = Vec::new();
        let mut last = None;
        for _ in 0..2_000_000 {
            let (step, next) = walk.step(at, &mut rng);
            at = next;
            let run = walked.runs.entry(step.op()).or_default();
            run.0 += 1;
            run.1 += u32::from(last != Some(step.op()));
            last = Some(step.op());
            match (step.op(), order.first().copied()) {
                (Op::Open, _) => {
                    *walked.opens.entry(step).or_default() += 1;
                    order = vec![step];
                }
                (_, None) => {}
                (op, Some(open)) => {
                    *walked.between.entry((open, step)).or_default() += 1;
                    if order.last() != Some(&step) {
                        order.push(step);
                    }
                    if op == Op::Close {
                        *walked.orders.entry(std::mem::take(&mut order)).or_default() += 1;
                    }
                }
            }
        }
        walked
    }

    fn open_count(&self) -> f64 {
        f64::from(self.opens.values().sum::<u32>())
    }
}

fn near(got: f64, want: f64, part: f64, what: &str) {
    assert!(
        (got - want).abs() < part * want,
        "{what}: {got}, not {want}"
    );
}

#[test]
fn what_is_computed_is_what_is_walked() {
    let (_, sequence) = shipped("general-smb1");
    let (figures, walked) = (sequence.figures(), Walked::through(&sequence));
    assert_eq!(figures.opens.len(), walked.opens.len());
    for open in &figures.opens {
        let count = f64::from(walked.opens[&open.open]);
        near(
            count / walked.open_count(),
            open.share,
            0.01,
            open.open.name(),
        );
        for (step, mean) in &open.steps {
            let got = f64::from(walked.between[&(open.open, *step)]) / count;
            near(got, *mean, 0.1, step.name());
        }
    }
    for (op, mean) in &figures.runs {
        let (all, begun) = walked.runs[op];
        near(f64::from(all) / f64::from(begun), *mean, 0.05, op.name());
    }
    for path in &figures.paths {
        let got = f64::from(walked.orders[&path.steps]) / walked.open_count();
        near(got, path.share, 0.05, &format!("{:?}", path.steps));
    }
    let mut most: Vec<_> = walked.orders.values().copied().collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let expected = f64::from(most[figures.paths.len() - 1]) / walked.open_count();
    near(
        figures.paths[figures.paths.len() - 1].share,
        expected,
        0.05,
        "the last path",
    );
}

#[test]
fn the_shipped_sequences_read_and_write_like_a_file_server() {
    let figures = shipped("general-smb2").1.figures();
    let of = |open: Step| figures.opens.iter().find(|o| o.open == open).unwrap();
    let run = |op: Op| figures.runs.iter().find(|(o, _)| *o == op).unwrap().1;
    let asked = of(Step::OpenAttributes).share + of(Step::OpenDirectory).share;
    near(asked, 0.485, 0.02, "opens that neither read nor write");
    let reading = of(Step::OpenRead);
    near(reading.share, 0.242, 0.02, "opens to read");
    near(reading.count(Op::Read), 8.0, 0.02, "reads of an open");
    let update = of(Step::OpenUpdate);
    near(update.count(Op::Write), 3.4, 0.02, "writes of an update");
    let save = of(Step::OpenReplace);
    near(save.count(Op::Write), 3.5, 0.02, "writes of a save");
    near(run(Op::Read), 5.3, 0.02, "reads in a row");
    near(run(Op::Write), 3.1, 0.02, "writes in a row");
    near(
        figures.sequential[0].unwrap(),
        0.755,
        0.01,
        "sequential reads",
    );
    near(
        figures.sequential[1].unwrap(),
        0.812,
        0.01,
        "sequential writes",
    );
    // The drawing is near what is run.
    assert!(figures.distance_bits < 0.01, "{}", figures.distance_bits);
}

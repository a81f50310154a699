//! The languages and the draws.

use super::*;
use crate::ServerOptions;

fn faults(edit: impl FnOnce(&mut ServerOptions)) -> Faults {
    let mut options = ServerOptions::default();
    edit(&mut options);
    Faults::new(&options, 0)
}

#[test]
fn delays_by_procedure_and_default() {
    let faults = faults(|o| {
        o.delay = "2ms, READ=5ms,getattr=uniform:1us-3us"
            .parse()
            .expect("spec")
    });
    assert_eq!(faults.delay_ns(Procedure::Write), 2_000_000);
    assert_eq!(faults.delay_ns(Procedure::Read), 5_000_000);
    let draws: Vec<u64> = (0..1000)
        .map(|_| faults.delay_ns(Procedure::Getattr))
        .collect();
    assert!(draws.iter().all(|ns| (1000..=3000).contains(ns)));
    let mean = draws.iter().sum::<u64>() / 1000;
    assert!((1900..2100).contains(&mean), "{mean}");
}

#[test]
fn a_share_of_errors_comes_out_and_is_the_same_again() {
    let draws = |seed| {
        let faults = faults(|o| {
            o.seed = seed;
            o.errors = "READ=NFS3ERR_IO@10%,READ=NFS3ERR_JUKEBOX@2"
                .parse()
                .expect("spec");
        });
        (0..10_000)
            .map(|_| faults.error(Procedure::Read))
            .collect::<Vec<_>>()
    };
    let first = draws(1);
    let count = |status| first.iter().filter(|s| **s == Some(status)).count();
    assert!(
        (900..1100).contains(&count(Nfsstat3::Io)),
        "{}",
        count(Nfsstat3::Io)
    );
    assert_eq!(count(Nfsstat3::Jukebox), 2);
    assert!(first == draws(1) && first != draws(2));
    let none = faults(|o| o.errors = "READ=NFS3ERR_IO".parse().expect("spec"));
    assert_eq!(none.error(Procedure::Write), None);
    assert_eq!(none.error(Procedure::Read), Some(Nfsstat3::Io));
}

#[test]
fn drops_and_verifiers() {
    let dropping = faults(|o| o.drop = "conn@9,reply@3".parse().expect("spec"));
    assert_eq!(dropping.close_after, Some(9));
    assert_eq!((0..10).filter(|_| dropping.swallow_reply()).count(), 3);
    let every = faults(|o| {
        o.drop = "reply@1/3,call@1/2,copy@2,late@1/4:3s"
            .parse()
            .expect("spec")
    });
    let hits = |draw: &dyn Fn() -> bool| (0..6).map(|_| draw()).collect::<Vec<_>>();
    let (no, yes) = (false, true);
    assert_eq!(hits(&|| every.swallow_reply()), [no, no, yes, no, no, yes]);
    assert_eq!(hits(&|| every.swallow_call()), [no, yes, no, yes, no, yes]);
    assert_eq!(hits(&|| every.repeat_reply()), [yes, yes, no, no, no, no]);
    let late: Vec<u64> = (0..4).map(|_| every.late_ns()).collect();
    assert_eq!(late, [0, 0, 0, 3_000_000_000]);
    assert!(every.delays_replies());
    let unstable = faults(|o| o.unstable = "verf@3".parse().expect("spec"));
    let changes: Vec<bool> = (0..6).map(|_| unstable.verifier_changes()).collect();
    assert_eq!(changes, [false, false, true, false, false, true]);
    assert!(unstable.unstable && !faults(|_| ()).verifier_changes());
}

#[test]
fn errors_name_the_part_and_a_way_out() {
    let delay = |text: &str| text.parse::<DelaySpec>().unwrap_err().to_string();
    assert_eq!(
        delay("2ms,REED=5ms"),
        "\"REED=5ms\": \"REED\" is neither a procedure of NFSv3 (NULL, GETATTR, READ ...) nor an operation of \
         NFSv4 (OPEN, CLOSE, COPY ...); \
         write for example 2ms, READ=5ms,GETATTR=100us, COPY=20ms, uniform:1ms-3ms, exp:2ms, \
         lognormal:2ms,0.5 (median, sigma) or bimodal:1ms,50ms,1%"
    );
    assert!(delay("5").contains("has no unit"));
    assert!(delay("-5ms").contains("not a time"));
    assert!(delay("infs").contains("no unit"));
    assert!(delay("").contains("no unit"));
    assert!(delay("uniform:3ms-1ms").contains("minimum of the range is greater than its maximum"));
    let error = |text: &str| text.parse::<ErrorSpec>().unwrap_err().to_string();
    assert!(error("READ=EIO").contains("\"EIO\" is not an error of NFSv3"));
    assert!(error("READ=NFS3_OK").contains("is not an error"));
    assert!(error("READ=NFS3ERR_IO@101%").contains("not a percentage"));
    assert!(error("READ=NFS3ERR_IO@0").contains("above 0"));
    assert!(error("NULL=NFS3ERR_IO").contains("NULL cannot fail"));
    assert!("conn@1".parse::<DropSpec>().is_err());
    let drop = |text: &str| text.parse::<DropSpec>().unwrap_err().to_string();
    assert!(drop("late@1%").contains("the time after the share is missing"));
    assert!(drop("late@1%:3").contains("has no unit"));
    assert!(drop("call@1/0").contains("above 0"));
    for (twice, second) in [
        ("conn@9,conn@8", "conn@8"),
        ("reply@1%,call@1%,reply@3", "reply@3"),
        ("call@1,call@1", "call@1"),
        ("copy@2,copy@1%", "copy@1%"),
        ("late@1:1s,late@2:2s", "late@2:2s"),
    ] {
        let expected = format!("{second:?}: this kind is given twice; give each kind once");
        assert!(drop(twice).contains(&expected), "{}", drop(twice));
    }
    assert!("packet@1%".parse::<DropSpec>().is_err());
    assert!("verf@x".parse::<UnstableSpec>().is_err());
    assert!("lose".parse::<UnstableSpec>().is_err());
    let loses = |text: &str| text.parse::<UnstableSpec>().expect("spec").loses;
    assert!(loses("lose@3") && !loses("verf@3") && !loses("on"));
}

/// The distribution function of a distribution's draws must be `cdf`: the largest distance between
/// the two (Kolmogorov and Smirnov) is within what one sample in a million exceeds.
fn agrees(spec: &str, cdf: impl Fn(f64) -> f64) {
    const DRAWS: usize = 100_000;
    let faults = faults(|o| o.delay = spec.parse().expect("spec"));
    let mut draws: Vec<u64> = (0..DRAWS)
        .map(|_| faults.delay_ns(Procedure::Read))
        .collect();
    draws.sort_unstable();
    let n = DRAWS as f64;
    let distance = draws
        .iter()
        .enumerate()
        .map(|(i, ns)| {
            let expected = cdf(*ns as f64 / 1e6);
            (expected - i as f64 / n)
                .abs()
                .max((expected - (i + 1) as f64 / n).abs())
        })
        .fold(0.0, f64::max);
    let limit = (-0.5 * (1e-6_f64 / 2.0).ln()).sqrt() / n.sqrt();
    assert!(distance < limit, "{spec}: {distance} is above {limit}");
}

/// The normal distribution function, by its series around 0; exact to 1e-9 for |x| below 6.
fn normal_cdf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term *= -x * x / (2.0 * f64::from(k));
        sum += term / f64::from(2 * k + 1);
    }
    0.5 + sum / std::f64::consts::TAU.sqrt()
}

#[test]
fn draws_have_the_distribution_that_was_asked_for() {
    agrees("uniform:1ms-3ms", |ms| ((ms - 1.0) / 2.0).clamp(0.0, 1.0));
    agrees("exp:2ms", |ms| 1.0 - (-ms / 2.0).exp());
    agrees("READ=lognormal:2ms,0.5", |ms| {
        normal_cdf((ms / 2.0).ln() / 0.5)
    });
    let bimodal = faults(|o| o.delay = "bimodal:1ms,50ms,1%".parse().expect("spec"));
    let draws: Vec<u64> = (0..100_000)
        .map(|_| bimodal.delay_ns(Procedure::Read))
        .collect();
    let others = draws.iter().filter(|ns| **ns == 50_000_000).count();
    // 1,000 expected, standard deviation 31.
    assert!((850..1150).contains(&others), "{others}");
    assert_eq!(
        draws.iter().filter(|ns| **ns == 1_000_000).count(),
        100_000 - others
    );
}

#[test]
fn draws_depend_on_the_seed_alone() {
    let draws = |seed| {
        let faults = faults(|o| {
            o.seed = seed;
            o.delay = "exp:1ms".parse().expect("spec");
        });
        (0..100)
            .map(|_| faults.delay_ns(Procedure::Read))
            .collect::<Vec<_>>()
    };
    assert!(draws(1) == draws(1) && draws(1) != draws(2));
}

#[test]
fn arguments_and_rules_are_distinguished_though_both_have_commas() {
    let spec: DelaySpec = "lognormal:2ms,0.5, COMMIT=bimodal:1ms,50ms,1%,READ=exp:3ms,4ms"
        .parse()
        .expect("spec");
    let all = spec.per_procedure();
    assert_eq!(
        all[Procedure::Write as usize],
        Some(DelayDistribution::Constant { ns: 4_000_000 }),
        "the last word counts"
    );
    assert_eq!(
        all[Procedure::Commit as usize],
        Some(DelayDistribution::Bimodal {
            usual_ns: 1_000_000,
            other_ns: 50_000_000,
            other_share: 0.01
        })
    );
    assert_eq!(
        all[Procedure::Read as usize],
        Some(DelayDistribution::Exponential { mean_ns: 3_000_000 })
    );
    let error = |text: &str| text.parse::<DelaySpec>().unwrap_err().to_string();
    assert!(error("lognormal:2ms").contains("sigma, after the median, is missing"));
    assert!(error("lognormal:2ms,9").contains("not a number from 0 to 5"));
    assert!(error("lognormal:2ms,NaN").contains("not a number from 0 to 5"));
    assert!(error("bimodal:1ms").contains("the second time is missing"));
    assert!(error("bimodal:1ms,2ms").contains("the share of the second time is missing"));
    assert!(error("bimodal:1ms,2ms,3").contains("not a percentage"));
    assert!(error("gamma:1ms").contains("\"gamma\" is not a distribution"));
    assert!(error("exp:2h").contains("has no unit"));
}

#[test]
fn long_tails_end_at_an_hour() {
    let faults = faults(|o| o.delay = "lognormal:3600s,5".parse().expect("spec"));
    let longest = (0..1000)
        .map(|_| faults.delay_ns(Procedure::Read))
        .max()
        .expect("draws");
    assert_eq!(longest, 3_600_000_000_000);
}

/// When work that begins at `from` ends, counted out tick by tick: no tick of a stop does work.
fn counted_out(stop: StopSpec, from: u64, work: u64) -> u64 {
    let stopped = |tick: u64| tick >= stop.every_ns && tick % stop.every_ns < stop.length_ns;
    let (mut tick, mut left) = (from, work);
    while left > 0 || stopped(tick) {
        left -= u64::from(!stopped(tick));
        tick += 1;
    }
    tick
}

#[test]
fn during_a_stop_nothing_leaves_and_no_delay_passes() {
    for (length_ns, every_ns) in [(3, 10), (1, 2), (9, 10)] {
        let stop = StopSpec {
            length_ns,
            every_ns,
        };
        for from in 0..4 * every_ns {
            for work in 0..3 * every_ns {
                assert_eq!(
                    stop.done_ns(from, work),
                    counted_out(stop, from, work),
                    "{stop:?} {from} {work}"
                );
            }
        }
    }
}

#[test]
fn stops_count_from_the_start_of_the_server_and_hold_for_queued_delays() {
    let mut options = ServerOptions {
        stop: Some("3s/60s".parse().expect("spec")),
        ..ServerOptions::default()
    };
    let second = 1_000_000_000;
    let plain = Faults::new(&options, 100 * second);
    assert!(plain.delays_replies());
    assert_eq!(plain.due_ns(159 * second, Some(0)), 159 * second);
    assert_eq!(plain.due_ns(161 * second, Some(0)), 163 * second);
    assert_eq!(plain.due_ns(159 * second, Some(2 * second)), 164 * second);
    // Before its start nothing stops; a clock that goes back breaks nothing.
    assert_eq!(plain.due_ns(0, Some(0)), 100 * second);
    options.queue = true;
    let queued = Faults::new(&options, 100 * second);
    assert_eq!(
        queued.due_ns(159 * second, Some(second / 2)),
        159 * second + second / 2
    );
    assert_eq!(
        queued.due_ns(159 * second, Some(second)),
        163 * second + second / 2
    );
    assert_eq!(
        queued.due_ns(159 * second, Some(0)),
        159 * second,
        "no work, no queue"
    );
    let error = |text: &str| text.parse::<StopSpec>().unwrap_err().to_string();
    assert!(error("3s").contains("LENGTH/PERIOD is missing"));
    assert!(error("3s/3s").contains("below the period"));
    assert!(error("0s/3s").contains("above 0"));
    assert!(error("3/60").contains("has no unit"));
}

#[test]
fn operations_of_version_4_have_names_and_statuses_of_their_own() {
    let rule = |text: &str| text.parse::<ErrorSpec>().map(|spec| spec.rules[0]);
    let copy = rule("copy=nfs4err_delay@3").expect("a rule");
    assert_eq!(copy.of, Faulted::Operation(Operation::Copy));
    assert_eq!(copy.status, Nfsstat3::Jukebox);
    let read = rule("READ=NFS3ERR_IO").expect("a rule");
    assert_eq!(read.of, Faulted::Procedure(Procedure::Read));
    let locked = rule("LOCK=NFS4ERR_LOCK_RANGE").expect("a rule").status;
    assert_eq!(locked.to_u32(), 10028);
    let error = |text: &str| rule(text).expect_err("refused").to_string();
    assert!(error("READ=NFS4ERR_LOCK_RANGE").contains("not an error of NFSv3"));
    assert!(error("COPY=NFS4ERR_NONE").contains("not an error of NFSv4"));
    assert!(error("SEQUENCE=NFS4ERR_IO").contains("cannot be named"));
    let delayed = faults(|o| o.delay = "COPY=5ms,COPY=6ms".parse().expect("spec"));
    assert!(delayed.delays_replies());
    let delay = delayed.operation_delay(Operation::Copy).expect("a delay");
    assert_eq!(delayed.delay_of_ns(delay), 6_000_000);
    assert!(delayed.operation_delay(Operation::Clone).is_none());
}

//! Prime and agents in a made-up world, by thousands of seeds: whatever dies, hangs
//! or garbles, at whatever moment, the run comes to an end in time, says what
//! happened, and leaves nothing behind.
//!
//! `FILERMARK_SIM_SEEDS=5000 cargo test -p filermark-prime sim` for more seeds,
//! `FILERMARK_SIM_SEED=77` to replay one.

mod agent;
mod board;
mod case;
mod fault;
mod world;

use case::{Case, for_seeds};
use fault::Fault;
use filermark_model::launch::OnLost;
use filermark_model::{Finding, Nanos, Rng, Rule};
use filermark_results::Outcome;
use filermark_results::record::{Phase, PointRecord};
use std::panic::AssertUnwindSafe;
use world::PrimeDied;

/// From a fault to the end of the load, as the issue of the field wants it.
const LOAD_ENDS: Nanos = Nanos::from_secs(15);
/// From the death of the prime to the end of everything.
const ORPHANS_END: Nanos = Nanos::from_secs(30);

#[test]
fn in_a_good_world_all_figures_arrive_and_all_begin_together() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        let record = case.run().record;
        assert_eq!(
            record.end.as_ref().expect("an end").outcome,
            Outcome::Complete
        );
        assert_eq!(record.points.len(), 2);
        let world = case.world.borrow();
        let told: u64 = world.hosts.iter().map(|h| h.reported_count).sum();
        let kept = record
            .points
            .iter()
            .map(|p| p.measured().expect("measured").success_count());
        assert_eq!(
            kept.sum::<u64>(),
            told,
            "no figure is lost or counted twice"
        );
        for (number, point) in record.points.iter().enumerate() {
            let own: u64 = point
                .clients
                .iter()
                .flat_map(|c| &c.ops)
                .map(|o| o.success_count)
                .sum();
            assert_eq!(own, point.measured().expect("measured").success_count());
            let start = point.start.as_ref().expect("a start");
            assert_eq!(start.clients.len(), case.hosts);
            for (client, host) in start.clients.iter().zip(&world.hosts) {
                let wrong = client.offset_ns.abs_diff(host.skew_ns as i64);
                assert!(
                    wrong <= client.error_ns + 1,
                    "{wrong} > {}",
                    client.error_ns
                );
            }
            let began = || world.hosts.iter().map(|h| h.began[number].0);
            let spread = began().max().unwrap_or(0) - began().min().unwrap_or(0);
            assert!(spread <= start.spread_ns, "{spread} > {}", start.spread_ns);
        }
        for host in &world.hosts {
            let word = host.password.reveal();
            assert_eq!(word, case.hosts.is_multiple_of(2).then_some("geheim"));
        }
        assert!(world.files.is_empty() && !world.directory);
        drop(world);
        case.assert_clean();
    });
}

#[test]
fn all_clients_begin_run_at_one_instant_when_the_load_is_steady() {
    for_seeds(|seed| {
        let longest = Nanos::from_secs(200);
        let falls_for = seed % 40;
        let case = Case::new(seed).until_steady(longest, falls_for);
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        let world = case.world.borrow();
        for (number, point) in record.points.iter().enumerate() {
            let warmup = point.warmup.expect("how long it took");
            assert!(warmup.steady, "{warmup:?}");
            assert!(warmup.length_ns >= 31_000_000_000 && warmup.length_ns < longest.0);
            let late = |rule| point.findings.iter().any(|f| f.rule == rule);
            assert!(!late(Rule::WarmupLimit));
            let invalid = |f: &&filermark_model::Finding| f.rule == Rule::ClientStart;
            let told: Vec<_> = point.findings.iter().filter(invalid).collect();
            assert!(told.iter().all(|f| !f.invalidates()), "{told:?}");
            let called: Vec<_> = world.hosts.iter().map(|h| h.called[number]).collect();
            assert!(called.iter().all(|(_, before)| *before), "{called:?}");
            let began = || called.iter().map(|(at, _)| at.0);
            let spread = began().max().unwrap_or(0) - began().min().unwrap_or(0);
            let start = point.start.as_ref().expect("a start");
            assert!(spread <= start.spread_ns, "{spread} > {}", start.spread_ns);
        }
        drop(world);
        case.assert_clean();
    });
}

/// The findings of a load point that a client had another RUN than the others.
fn other_runs(point: &PointRecord) -> Vec<&Finding> {
    let findings = point.findings.iter();
    let of_start = findings.filter(|f| f.rule == Rule::ClientStart);
    of_start.filter(|f| f.invalidates()).collect()
}

/// With a WARMUP of fixed length, and behind one that the prime has ended.
#[test]
fn all_clients_end_run_at_one_instant_when_the_data_is_touched() {
    for_seeds(|seed| {
        let longest = Nanos::from_secs(14_400);
        let case = Case::new(seed).lasting(Nanos::from_secs(1 + seed % 7));
        let case = match seed % 2 {
            0 => case.until_touched(longest),
            _ => case
                .until_touched(longest)
                .until_steady(Nanos::from_secs(200), seed % 20),
        };
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        let world = case.world.borrow();
        for (number, point) in record.points.iter().enumerate() {
            assert_eq!(other_runs(point), [] as [&Finding; 0]);
            let window_ns = point.measured().expect("measured").window_ns;
            assert_eq!(window_ns % 1_000_000_000, 0);
            assert!(
                (case.runtime.0..10_000_000_000).contains(&window_ns),
                "{window_ns}"
            );
            let ended = || world.hosts.iter().map(|h| h.run_ends[number].0);
            let spread = ended().max().unwrap_or(0) - ended().min().unwrap_or(0);
            let start = point.start.as_ref().expect("a start");
            assert!(spread <= start.spread_ns, "{spread} > {}", start.spread_ns);
        }
        drop(world);
        case.assert_clean();
    });
}

#[test]
fn a_client_that_ends_run_late_makes_the_load_point_invalid() {
    for_seeds(|seed| {
        let case = Case::new(seed).lasting(Nanos::from_secs(1));
        let case = case.until_touched(Nanos::from_secs(14_400));
        let late = (seed as usize) % case.hosts;
        case.world.borrow_mut().late_end = Some((late, Some(Nanos::from_secs(9))));
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        for point in &record.points {
            let [told] = other_runs(point)[..] else {
                panic!("{:?}", point.findings);
            };
            let name = format!("client h{late}: it learned ");
            assert!(told.message.starts_with(&name), "{}", told.message);
        }
        case.assert_clean();
    });
}

/// Nobody waits for it as long as RUN might have taken.
#[test]
fn a_client_that_never_ends_run_ends_the_load_point_in_time() {
    for_seeds(|seed| {
        let case = Case::new(seed).lasting(Nanos::from_secs(1));
        let case = case.until_touched(Nanos::from_secs(14_400));
        let lost = (seed as usize) % case.hosts;
        case.world.borrow_mut().late_end = Some((lost, None));
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        let Outcome::Failed { reason } = &end.outcome else {
            panic!("{end:?}");
        };
        assert!(
            reason.contains(&format!("client h{lost}: no answer within ")),
            "{reason}"
        );
        let world = case.world.borrow();
        let host = &world.hosts[lost];
        let began = host.began[0];
        let load = host.load_ended.since(began);
        assert!(load < Nanos::from_secs(90), "{load:?}");
        drop(world);
        case.assert_clean();
    });
}

/// Agents go on telling it while they stop: that does not end CLEANUP.
#[test]
fn a_file_system_that_fills_up_in_init_ends_the_run_and_is_cleaned_up() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        case.world.borrow_mut().free_pcnt = Some(4);
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        let Outcome::Failed { reason } = &end.outcome else {
            panic!("{end:?}");
        };
        let why = "STOP_IF free<5% for 10s: 4.0 % of null:/ is free (";
        assert!(reason.starts_with(why), "{reason}");
        let [point] = &record.points[..] else {
            panic!("{:?}", record.points);
        };
        let rules: Vec<_> = point.findings.iter().map(|f| f.rule).collect();
        assert_eq!(rules, [Rule::EmergencyStop]);
        let phases: Vec<_> = (record.phases.iter())
            .map(|p| (p.phase, p.failure.is_some()))
            .collect();
        assert_eq!(phases, [(Phase::Init, true), (Phase::Cleanup, false)]);
        assert_eq!(end.findings, [], "nothing is left");
        let world = case.world.borrow();
        assert!(world.files.is_empty() && !world.directory);
        drop(world);
        case.assert_clean();
    });
}

/// 5 s of INIT and 5 s of the load are 10 s.
#[test]
fn seconds_of_little_free_space_count_on_from_init_into_the_load() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        case.world.borrow_mut().free_pcnt = Some(4);
        case.world.borrow_mut().tells_space_once = true;
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        let Outcome::Failed { reason } = &end.outcome else {
            panic!("{end:?}");
        };
        assert!(reason.starts_with("STOP_IF free<5% for 10s"), "{reason}");
        let init = record.phases.iter().find(|p| p.phase == Phase::Init);
        assert!(init.is_some_and(|init| init.failure.is_none()));
        case.assert_clean();
    });
}

#[test]
fn who_is_not_told_to_watch_a_file_system_ends_no_run() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        case.world.borrow_mut().free_pcnt = Some(50);
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        assert_eq!(end.outcome, Outcome::Complete);
        assert_eq!(end.findings, []);
    });
}

#[test]
fn a_warmup_that_is_never_steady_ends_at_its_limit() {
    let limit = Nanos::from_secs(60);
    let case = Case::new(7).until_steady(limit, 100);
    let record = case.run().record;
    for point in &record.points {
        let warmup = point.warmup.expect("how long it took");
        assert_eq!((warmup.length_ns, warmup.steady), (limit.0, false));
        let told = point.findings.iter().find(|f| f.rule == Rule::WarmupLimit);
        let told = told.expect("it is told");
        assert!(told.message.contains("limit of 60 s"), "{}", told.message);
    }
    case.assert_clean();
}

/// One agent fails in one way at some moment.
fn with_one_fault(seed: u64) {
    // Longer than any fault may go unnoticed.
    let case = Case::new(seed).lasting(Nanos::from_secs(30));
    let mut rng = Rng::new(seed, 0x53);
    let victim = rng.below(case.hosts as u64) as usize;
    let faults = [
        Fault::Killed,
        Fault::HostGone,
        Fault::Frozen(Nanos::from_secs(60)),
        Fault::Blackhole,
        Fault::Reset,
        Fault::Nonsense,
        Fault::Hung,
        Fault::Lies,
    ];
    let fault = faults[rng.below(faults.len() as u64) as usize];
    let at = Nanos::from_secs(1) + Nanos(rng.below(75_000_000_000));
    case.world.borrow_mut().plan_fault(victim, fault, at);
    let record = case.run().record;
    let end = record.end.as_ref().expect("an end");
    let world = case.world.borrow();
    // The others stopped in time. One that hangs or lies is seen when its phase is over.
    if case.on_lost == OnLost::End && !matches!(fault, Fault::Hung | Fault::Lies) {
        for (number, host) in world.hosts.iter().enumerate() {
            let after = host.load_ended.since(at);
            let met = host.load_ended > at && end.outcome != Outcome::Complete;
            assert!(
                !met || after < LOAD_ENDS,
                "h{number} made load for {after:?} more"
            );
        }
    }
    let name = format!("h{victim}");
    match &end.outcome {
        Outcome::Failed { reason } => assert!(
            reason.contains(&name) || fault == Fault::Hung,
            "{fault:?} of {name}: {reason}"
        ),
        Outcome::Interrupted => panic!("nobody wished it"),
        // It came too late to matter, or the others went on.
        Outcome::Complete => {
            for point in &record.points {
                let whole = point.clients.len() == case.hosts;
                let lost = point.findings.iter().any(|f| f.rule == Rule::ClientLost);
                assert!(whole || lost, "a client is missing and nobody says so");
                assert!(!lost || !point.is_valid());
            }
        }
    }
    let others_live = case.hosts > 1;
    if others_live && fault != Fault::Hung {
        // A frozen one that wakes up later tidies up after itself; see assert_clean.
        assert!(
            world.files.is_empty(),
            "the others clean up: {:?}",
            world.files
        );
    }
    drop(world);
    case.assert_clean();
}

#[test]
fn whatever_happens_to_one_agent_is_told_in_time_and_cleaned_up() {
    for_seeds(with_one_fault);
}

#[test]
fn the_wish_to_stop_is_heard_at_any_moment() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        let mut rng = Rng::new(seed, 0x54);
        let (stop, at) = (case.stop.clone(), Nanos(rng.below(25_000_000_000)));
        case.world.borrow_mut().stop_at = Some((at, stop));
        let record = case.run().record;
        let end = record.end.as_ref().expect("an end");
        let world = case.world.borrow();
        assert!(
            matches!(end.outcome, Outcome::Interrupted | Outcome::Complete),
            "{:?}",
            end.outcome
        );
        if end.outcome == Outcome::Interrupted {
            for host in &world.hosts {
                assert!(host.load_ended.since(at) < Nanos::from_secs(3));
            }
        }
        assert!(world.files.is_empty() && !world.directory);
        drop(world);
        case.assert_clean();
    });
}

#[test]
fn agents_of_a_killed_prime_clean_up_by_themselves() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        let mut rng = Rng::new(seed, 0x55);
        let at = Nanos::from_secs(1) + Nanos(rng.below(25_000_000_000));
        case.world.borrow_mut().prime_dies_at = Some(at);
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| case.run()));
        if let Err(panic) = ran {
            assert!(panic.is::<PrimeDied>(), "another panic");
            let mut world = case.world.borrow_mut();
            // Its links end, or (a host that vanished) nothing is heard any more.
            match rng.percent(50.0) {
                true => world.end_links(),
                false => (0..case.hosts).for_each(|h| world.plan_fault(h, Fault::Blackhole, at)),
            }
            world.go_on(ORPHANS_END);
            for (number, host) in world.hosts.iter().enumerate() {
                assert!(host.ended && !host.loads, "h{number} lives on");
            }
            assert!(
                world.files.is_empty() && !world.directory,
                "{:?}",
                world.files
            );
        }
    });
}

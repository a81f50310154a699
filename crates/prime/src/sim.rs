//! Simulations of a prime and its agents, for thousands of seeds: whatever fault occurs
//! and whenever, the run ends in time, reports what happened, and leaves no files behind.
//!
//! `FILERMARK_SIM_SEEDS=5000 cargo test -p filermark-prime sim` for more seeds,
//! `FILERMARK_SIM_SEED=77` to replay one.

mod agent;
mod board;
mod case;
mod fault;
mod searches;
mod world;

use case::{Case, for_seeds};
use fault::Fault;
use filermark_model::launch::OnLost;
use filermark_model::{Finding, Nanos, Rng, Rule};
use filermark_results::Outcome;
use filermark_results::record::{Phase, PointRecord};
use std::panic::AssertUnwindSafe;
use world::PrimeDied;

/// Longest time from a fault to the end of the load.
const LOAD_ENDS: Nanos = Nanos::from_secs(15);
/// Longest time from the death of the prime to the end of all agents.
const AGENTS_END: Nanos = Nanos::from_secs(30);

#[test]
fn without_faults_all_figures_arrive_and_all_agents_begin_together() {
    for_seeds(|seed| {
        let case = Case::new(seed);
        let record = case.run().record;
        assert_eq!(
            record.end.as_ref().expect("an end").outcome,
            Outcome::Complete
        );
        assert_eq!(record.points.len(), 2);
        let world = case.world.borrow();
        let reported: u64 = world.hosts.iter().map(|h| h.reported_count).sum();
        let kept = record
            .points
            .iter()
            .map(|p| p.measured().expect("measured").success_count());
        assert_eq!(
            kept.sum::<u64>(),
            reported,
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
            let password = host.password.reveal();
            assert_eq!(password, case.hosts.is_multiple_of(2).then_some("geheim"));
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
            let has = |rule| point.findings.iter().any(|f| f.rule == rule);
            assert!(!has(Rule::WarmupLimit));
            assert_eq!(other_runs(point), [] as [&Finding; 0]);
            let run_starts: Vec<_> = world.hosts.iter().map(|h| h.run_starts[number]).collect();
            assert!(
                run_starts.iter().all(|(_, in_time)| *in_time),
                "{run_starts:?}"
            );
            let began = || run_starts.iter().map(|(at, _)| at.0);
            let spread = began().max().unwrap_or(0) - began().min().unwrap_or(0);
            let start = point.start.as_ref().expect("a start");
            assert!(spread <= start.spread_ns, "{spread} > {}", start.spread_ns);
        }
        drop(world);
        case.assert_clean();
    });
}

/// The findings of a load point about clients whose RUN differed from that of the others.
fn other_runs(point: &PointRecord) -> Vec<&Finding> {
    let findings = point.findings.iter();
    let of_start = findings.filter(|f| f.rule == Rule::ClientStart);
    of_start.filter(|f| f.invalidates()).collect()
}

/// With a WARMUP of fixed length, and after one that the prime has ended.
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
            let [finding] = other_runs(point)[..] else {
                panic!("{:?}", point.findings);
            };
            let text = format!("client h{late}: it received the order ");
            assert!(finding.message.starts_with(&text), "{}", finding.message);
        }
        case.assert_clean();
    });
}

/// The wait is shorter than the longest possible RUN.
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

/// CLEANUP of a server that does not answer ends after two minutes, long before its time limit.
#[test]
fn a_cleanup_without_progress_ends() {
    for_seeds(|seed| {
        let case = Case::new(seed).lasting(Nanos::from_secs(1));
        case.world.borrow_mut().is_silent_in_cleanup = true;
        let record = case.run().record;
        let cleanup = record.phases.iter().find(|p| p.phase == Phase::Cleanup);
        let failure = cleanup
            .and_then(|p| p.failure.as_deref())
            .unwrap_or_default();
        let want = "no object was removed for 120 s; see whether the server is still up";
        assert!(failure.starts_with(want), "{failure}");
    });
}

/// Agents go on reporting the free space while they stop: that does not end CLEANUP.
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
        assert_eq!(end.findings, [], "no files are left");
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
        case.world.borrow_mut().reports_space_once = true;
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
fn reports_from_agents_that_do_not_watch_a_file_system_end_no_run() {
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
        let finding = point.findings.iter().find(|f| f.rule == Rule::WarmupLimit);
        let finding = finding.expect("a finding");
        assert!(
            finding.message.contains("limit of 60 s"),
            "{}",
            finding.message
        );
    }
    case.assert_clean();
}

/// One agent has one fault at some moment.
fn with_one_fault(seed: u64) {
    // Longer than it takes to notice any fault.
    let case = Case::new(seed).lasting(Nanos::from_secs(30));
    let mut rng = Rng::new(seed, 0x53);
    let victim = rng.below(case.hosts as u64) as usize;
    let faults = [
        Fault::Killed,
        Fault::HostGone,
        Fault::Frozen(Nanos::from_secs(60)),
        Fault::Blackhole,
        Fault::Reset,
        Fault::Garbage,
        Fault::Hung,
        Fault::FalseReports,
    ];
    let fault = faults[rng.below(faults.len() as u64) as usize];
    let at = Nanos::from_secs(1) + Nanos(rng.below(75_000_000_000));
    case.world.borrow_mut().plan_fault(victim, fault, at);
    let record = case.run().record;
    let end = record.end.as_ref().expect("an end");
    let world = case.world.borrow();
    // The others stopped in time. These two faults are noticed when the phase is over.
    if case.on_lost == OnLost::End && !matches!(fault, Fault::Hung | Fault::FalseReports) {
        for (number, host) in world.hosts.iter().enumerate() {
            let after = host.load_ended.since(at);
            let is_affected = host.load_ended > at && end.outcome != Outcome::Complete;
            assert!(
                !is_affected || after < LOAD_ENDS,
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
        Outcome::Interrupted => panic!("no stop was requested"),
        // The fault came after the run, or the others went on.
        Outcome::Complete => {
            for point in &record.points {
                let whole = point.clients.len() == case.hosts;
                let lost = point.findings.iter().any(|f| f.rule == Rule::ClientLost);
                assert!(whole || lost, "a client is missing without a finding");
                assert!(!lost || !point.is_valid());
            }
        }
    }
    let others_live = case.hosts > 1;
    if others_live && fault != Fault::Hung {
        // An agent that was frozen removes its files later; `assert_clean` checks that.
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
fn any_fault_of_one_agent_is_reported_in_time_and_cleaned_up() {
    for_seeds(with_one_fault);
}

#[test]
fn a_request_to_stop_is_handled_at_any_moment() {
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
            // Its links end, or (its host was lost) no bytes arrive any more.
            match rng.percent(50.0) {
                true => world.end_links(),
                false => (0..case.hosts).for_each(|h| world.plan_fault(h, Fault::Blackhole, at)),
            }
            world.run_for(AGENTS_END);
            for (number, host) in world.hosts.iter().enumerate() {
                assert!(host.ended && !host.loads, "h{number} still runs");
            }
            assert!(
                world.files.is_empty() && !world.directory,
                "{:?}",
                world.files
            );
        }
    });
}

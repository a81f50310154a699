//! The state machine against simulated servers.

use super::machine::{Search, SearchEnd, SearchStep, TRIES_MAX, Tried};
use super::{Decided, SearchKind, SearchPoint, SearchResult, search_time};
use filermark_model::plan::{SearchLoad, SearchPlan};
use filermark_model::{Finding, Nanos, Rng, Rule, Severity};

fn plan(step: u64, first: u64) -> SearchPlan {
    SearchPlan {
        load: SearchLoad::Ops,
        first,
        step,
        max: 1_000_000,
        tolerance_pcnt: 3.0,
        achieved_pcnt_min: 98.0,
        probe_warmup: Nanos::from_secs(2),
        probe_runtime: Nanos::from_secs(5),
        sweep: true,
        goal: None,
    }
}

/// A search with this server: from the load and the number of earlier tries, the rate that
/// it achieves and whether the load holds.
struct Simulated {
    tried: Vec<Tried>,
    end: SearchEnd,
    changes: Vec<String>,
}

fn search(plan: &SearchPlan, mut server: impl FnMut(u64, usize) -> (f64, bool)) -> Simulated {
    let mut tried = Vec::new();
    loop {
        let search = Search::after(plan, tried.iter().copied());
        let (load, full) = match search.next_step() {
            SearchStep::Probe(load) => (load, false),
            SearchStep::Confirm(load) => (load, true),
            SearchStep::End(end) => {
                let changes = search.changes().to_vec();
                return Simulated {
                    tried,
                    end,
                    changes,
                };
            }
        };
        assert!(tried.len() < TRIES_MAX, "{tried:?}");
        assert!(load >= plan.step && load <= plan.max, "{load}");
        assert_eq!(load % plan.step, 0);
        let (achieved, held) = server(load, tried.len());
        tried.push(Tried {
            load,
            full,
            held,
            achieved,
            of_clients: false,
        });
    }
}

/// A server with a knee: it achieves the load up to it.
fn knee(knee: f64) -> impl Fn(u64) -> (f64, bool) {
    move |load| {
        let achieved = (load as f64).min(knee);
        (achieved, achieved >= 0.98 * load as f64)
    }
}

fn probes(done: &Simulated) -> usize {
    done.tried.iter().filter(|tried| !tried.full).count()
}

#[test]
fn a_knee_is_found_within_three_percent_in_twelve_short_points() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed, 1);
        let limit = 100.0 + rng.below(2_000) as f64;
        let plan = plan(4, 40);
        let done = search(&plan, |load, _| knee(limit)(load));
        let found = done.end.load.expect("a load") as f64;
        let error = (found / limit - 1.0).abs();
        assert!(error <= 0.03 + 4.0 / limit, "{limit}: {found}");
        assert!(probes(&done) <= 12, "{limit}: {:?}", done.tried);
        assert_eq!(done.changes, [""; 0]);
        assert!(done.end.failed_at.expect("a limit") as f64 > limit * 0.98);
    }
}

#[test]
fn an_objective_without_an_estimate_is_found_by_halving() {
    // Latency limits the load, and the rate is always achieved.
    for limit in [41, 97, 404, 1_000, 5_003] {
        let done = search(&plan(1, 10), |load, _| (load as f64, load <= limit));
        let found = done.end.load.expect("a load");
        assert!(found <= limit && found as f64 >= 0.97 * limit as f64 - 1.0);
        assert!(probes(&done) <= 20, "{limit}: {:?}", done.tried);
    }
}

#[test]
fn a_server_that_holds_no_load_is_reported() {
    let done = search(&plan(8, 80), |_, _| (0.0, false));
    assert_eq!(done.end.load, None);
    assert!(!done.end.gave_up && done.tried.len() <= 10);
    // One that holds less than one op/s for each proc.
    let done = search(&plan(8, 80), |load, _| knee(5.0)(load));
    assert_eq!(done.end.load, None);
}

#[test]
fn a_server_without_a_limit_ends_at_the_highest_load() {
    let plan = SearchPlan {
        max: 10_000,
        ..plan(8, 80)
    };
    let done = search(&plan, |load, _| (load as f64, true));
    assert_eq!((done.end.load, done.end.failed_at), (Some(10_000), None));
}

#[test]
fn a_first_load_above_the_limit_is_lowered() {
    let done = search(&plan(4, 4_000), |load, _| knee(400.0)(load));
    let found = done.end.load.expect("a load");
    assert!((388..=408).contains(&found), "{found}");
    assert!(probes(&done) <= 12);
}

#[test]
fn a_limit_that_falls_is_noticed_and_the_lower_one_found() {
    for after in 3..9 {
        let done = search(&plan(4, 40), |load, nth| match nth < after {
            true => knee(800.0)(load),
            false => knee(300.0)(load),
        });
        let found = done.end.load.expect("a load");
        assert!(found <= 306, "{after}: {found}");
        assert!(found >= 276, "{after}: {found}");
        // Before the first overload there is nothing to contradict.
        let highest = done.tried.iter().take(after).filter(|t| t.held);
        if highest.map(|t| t.load).max() > Some(306) {
            assert!(!done.changes.is_empty(), "{after}: {:?}", done.tried);
        }
    }
}

#[test]
fn a_limit_that_rises_is_noticed() {
    let done = search(&plan(4, 40), |load, nth| match nth < 7 {
        true => knee(300.0)(load),
        false => knee(600.0)(load),
    });
    let found = done.end.load.expect("a load");
    assert!((576..=612).contains(&found), "{found}: {:?}", done.tried);
    assert!(done.changes[0].contains("faster"), "{:?}", done.changes);
}

#[test]
fn every_search_ends_whatever_the_server_does() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed, 2);
        let share = rng.below(101) as f64;
        let plan = plan(1 + rng.below(50), 1 + rng.below(5_000));
        let done = search(&plan, |load, _| (load as f64, rng.percent(share)));
        if let Some(load) = done.end.load {
            let held = done
                .tried
                .iter()
                .filter(|t| t.load == load && t.full && t.held);
            assert!(held.count() >= 2);
        }
    }
}

#[test]
fn noise_at_the_edge_moves_the_result_little() {
    let mut near = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed, 3);
        let done = search(&plan(4, 40), |load, _| {
            let limit = 500.0 * (1.0 + 0.01 * (rng.below(201) as f64 / 100.0 - 1.0));
            knee(limit)(load)
        });
        let found = done.end.load.expect("a load") as f64;
        near += u32::from((found / 500.0 - 1.0).abs() <= 0.05);
    }
    assert!(near >= 285, "{near} of 300");
}

#[test]
fn a_search_that_was_cut_goes_on_where_it_was() {
    let plan = plan(4, 40);
    let whole = search(&plan, |load, _| knee(700.0)(load));
    for cut in 0..whole.tried.len() {
        let before = Search::after(&plan, whole.tried[..cut].iter().copied());
        let next = whole.tried[cut];
        let expected = match next.full {
            true => SearchStep::Confirm(next.load),
            false => SearchStep::Probe(next.load),
        };
        assert_eq!(before.next_step(), expected);
    }
}

fn goal_plan(goal: &str) -> SearchPlan {
    SearchPlan {
        goal: Some(goal.into()),
        ..plan(4, 40)
    }
}

#[test]
fn a_percentile_with_too_few_operations_is_not_judged_and_this_is_stated() {
    let record = crate::testing::record();
    let mut point = record.points[0].clone();
    point.findings.clear();
    let run = crate::testing::plan();
    let judged =
        |goal| SearchPoint::judged(SearchKind::Confirm, point.clone(), &run, &goal_plan(goal));
    let kept = judged("p50<10s, mean<10s");
    assert!(kept.held && kept.unjudged.is_none(), "{:?}", kept.reason);
    let missed = judged("p50<0.001us");
    let reason = missed.reason.expect("missed");
    assert!(reason.starts_with("p50 is "), "{reason}");
    // With few operations a percentile is close to the longest time: a miss is certain.
    let missed = judged("p99.9999999<0.001us");
    assert!(!missed.held && missed.unjudged.is_none());
    // That it is kept is not: the gates do not judge it either.
    let open = judged("mean<10s, p99.9999999<10000s");
    assert!(open.held, "{:?}", open.reason);
    let text = open.unjudged.expect("not judged");
    assert!(text.starts_with("p99.9999999<"), "{text}");
    assert!(
        text.contains("was not judged: fewer than ten of "),
        "{text}"
    );
    // A term that is missed is the reason, whatever the others are.
    let both = judged("p99.9999999<10000s, mean<0.001us");
    assert!(!both.held && both.unjudged.is_none());
}

/// A point of a search with findings that make it invalid.
fn with_rules(plan: &SearchPlan, kind: SearchKind, load: u64, rules: &[Rule]) -> SearchPoint {
    let mut point = crate::testing::record().points[0].clone();
    point.load = plan.point(1, load);
    let finding = |rule: &Rule| Finding::new(*rule, Severity::Invalid, "a reason");
    point.findings = rules.iter().map(finding).collect();
    SearchPoint::judged(kind, point, &crate::testing::plan(), plan)
}

/// A point of a search that achieved this share of its rate, with further findings.
fn achieved(plan: &SearchPlan, pcnt: f64, findings: &[(Rule, Severity)]) -> SearchPoint {
    let mut point = crate::testing::record().points[0].clone();
    point.load = plan.point(1, 40);
    let stats = point.stats.as_mut().expect("measured");
    if findings.iter().any(|(rule, _)| *rule == Rule::Lateness) {
        crate::testing::start_late(stats);
    }
    let rate = stats.achieved_ops_per_sec();
    point.load.requested.0 = rate * 100.0 / pcnt;
    let finding = |(rule, severity): &(Rule, Severity)| Finding::new(*rule, *severity, "a reason");
    point.findings = findings.iter().map(finding).collect();
    SearchPoint::judged(SearchKind::Probe, point, &crate::testing::plan(), plan)
}

/// The search's own limit is stricter than that of the rules: the cause is looked for there, too.
#[test]
fn a_missed_rate_that_the_clients_explain_shows_nothing_about_the_server() {
    let plan = plan(4, 40);
    let late = (Rule::Lateness, Severity::Warning);
    let busy = (Rule::GeneratorBusy, Severity::Warning);
    let missed = (Rule::AchievedRate, Severity::Warning);
    let slow = (Rule::ResponseLimit, Severity::Invalid);
    let outcome = |pcnt, findings: &[_]| {
        let point = achieved(&plan, pcnt, findings);
        (
            point.held,
            point.undecided,
            point.reason.unwrap_or_default(),
        )
    };
    let below = "96.0 % of the rate was achieved, below 98 %";
    assert_eq!(outcome(96.0, &[]), (false, false, below.into()));
    for (finding, rule) in [(late, "lateness"), (busy, "generator-busy")] {
        let reason = format!("{below}; the clients are the cause: {rule}");
        assert_eq!(outcome(96.0, &[finding]), (false, true, reason));
    }
    let (held, undecided, _) = outcome(90.0, &[missed, late]);
    assert!(!held && undecided);
    // A server or a network that loses calls is no cause of the clients.
    let (held, undecided, _) = outcome(90.0, &[missed, (Rule::NoReply, Severity::Warning)]);
    assert!(!held && !undecided);
    // What is not a missed rate speaks against the server, whatever the clients did.
    let reason = "a reason".to_owned();
    assert_eq!(outcome(96.0, &[late, slow]), (false, false, reason));
    // A client that was late and kept the rate.
    assert_eq!(outcome(99.0, &[late, busy]), (true, false, String::new()));
}

/// Once a client is lost no load point counts, so the search ends with what it knows.
#[test]
fn a_search_ends_with_what_was_held_when_a_client_is_lost() {
    let plan = SearchPlan {
        achieved_pcnt_min: 0.0,
        ..plan(4, 40)
    };
    let point = |load, rules: &[Rule]| with_rules(&plan, SearchKind::Probe, load, rules);
    let lost = point(72, &[Rule::AchievedRate, Rule::ClientLost]);
    assert!(!lost.held && !lost.undecided);
    let slow = point(160, &[Rule::ResponseLimit]);
    let before = [point(40, &[]), point(80, &[]), slow];
    assert_eq!(SearchResult::of(&plan, &before), None);
    let mut points = before.to_vec();
    points.push(lost.clone());
    let found = SearchResult::of(&plan, &points).expect("it has ended");
    assert_eq!(found.lost.as_deref(), Some("a reason"));
    assert_eq!(
        (found.load, found.held_before, found.failed_at),
        (None, Some(80), Some(160))
    );
    assert!(found.points.is_empty() && !found.gave_up);
    assert_eq!(
        found.text(&plan),
        "the search ended without a result, since no load point counts after a client was lost \
         (a reason); before that the highest load that held was 80 op/s, and 160 op/s did not \
         hold in 1 of 1 attempt; search again with all clients"
    );
    assert_eq!(found.findings(&plan)[0].severity, Severity::Invalid);
    // Whatever comes after it, as in a record of an earlier version.
    points.push(point(40, &[]));
    assert_eq!(
        SearchResult::of(&plan, &points).expect("ended").held_before,
        Some(80)
    );
    let first = SearchResult::of(&plan, &[lost]).expect("it has ended");
    assert!(
        first
            .text(&plan)
            .contains("before that no load had held; search again")
    );
}

/// A run that is resumed has all clients again: the search goes on where it lost one.
#[test]
fn a_resumed_search_continues_before_the_loss() {
    let plan = SearchPlan {
        achieved_pcnt_min: 0.0,
        ..plan(4, 40)
    };
    let point = |load, rules: &[Rule]| with_rules(&plan, SearchKind::Probe, load, rules);
    let mut record = crate::testing::record();
    record.search = vec![point(40, &[]), point(72, &[Rule::ClientLost])];
    record.found = SearchResult::of(&plan, &record.search);
    assert!(record.found.is_some());
    let header = record.run.clone();
    record.go_on(&header);
    assert_eq!((record.search.len(), record.found.is_some()), (1, false));
}

/// `plan` states how long a search takes: no search of a steady server is outside.
#[test]
fn the_time_of_a_search_is_a_range_of_steady_servers() {
    let mut run = crate::testing::plan();
    assert_eq!(search_time(&run), None);
    let second = |n: u64| Nanos::from_secs(n);
    (run.phases.warmup, run.phases.runtime) = (second(100), second(300));
    run.search = Some(SearchPlan {
        max: 4_000,
        ..plan(4, 40)
    });
    let time = search_time(&run).expect("a search");
    let search = run.search.clone().expect("a search");
    for limit in (4..=4_400).step_by(13) {
        let done = self::search(&search, |load, _| knee(f64::from(limit))(load));
        let sweep = done
            .end
            .load
            .map_or(0, |load| search.sweep_points(load).len());
        let (probes, all) = (probes(&done), done.tried.len());
        let took = second((probes * 7 + (all - probes + sweep) * 400) as u64);
        let points = (all + sweep) as u64;
        assert!(
            time.least <= took && took <= time.most,
            "{limit}: {took:?}, {time:?}"
        );
        assert!(
            (time.points_least..=time.points_most).contains(&points),
            "{limit}"
        );
    }
    assert!(time.points_most <= time.tries_max + 10);
    // A search of one load: a probe and two full load points.
    run.search = Some(SearchPlan {
        max: 40,
        first: 40,
        sweep: false,
        ..search
    });
    let one = search_time(&run).expect("a search");
    assert!(
        one.points_least == 3 && one.least == second(7 + 800),
        "{one:?}"
    );
}

/// A stalled client says nothing about the server: the load is tried again, and after three times
/// it counts as not held, with a warning.
#[test]
fn a_load_point_that_shows_only_its_clients_is_tried_again() {
    let plan = SearchPlan {
        achieved_pcnt_min: 0.0,
        ..plan(4, 40)
    };
    let stalled = |kind| with_rules(&plan, kind, 40, &[Rule::GeneratorStalled]);
    let one = stalled(SearchKind::Probe);
    assert!(!one.held && one.undecided);
    let late = [Rule::AchievedRate, Rule::ClientStart];
    assert!(with_rules(&plan, SearchKind::Probe, 40, &late).undecided);
    let wrong = [Rule::GeneratorStalled, Rule::Errors];
    assert!(!with_rules(&plan, SearchKind::Probe, 40, &wrong).undecided);
    assert!(!with_rules(&plan, SearchKind::Probe, 40, &[Rule::AchievedRate]).undecided);

    let decided = |points: &[SearchPoint]| Decided::of(&plan, points);
    let mut points = vec![one.clone(), one.clone()];
    let none = Decided {
        left_out_count: 2,
        ..Decided::default()
    };
    assert_eq!(decided(&points), none);
    let step = |points: &[SearchPoint]| Search::after(&plan, decided(points).tried).next_step();
    assert_eq!(step(&points), SearchStep::Probe(40), "the same load again");
    points.push(one);
    assert_eq!(decided(&points).given_up, [40]);
    assert_ne!(step(&points), SearchStep::Probe(40));

    // Between them and the end the others count.
    let held = with_rules(&plan, SearchKind::Probe, 40, &[]);
    let confirmed = with_rules(&plan, SearchKind::Confirm, 40, &[]);
    let plan = SearchPlan {
        max: 40,
        ..plan.clone()
    };
    let points = [
        stalled(SearchKind::Probe),
        held,
        stalled(SearchKind::Confirm),
        confirmed.clone(),
        confirmed,
    ];
    let found = SearchResult::of(&plan, &points).expect("it has ended");
    assert_eq!(
        (found.load, found.full_count, found.held_count),
        (Some(40), 2, 2)
    );
    assert_eq!((found.undecided_count, found.failed_at), (2, None));
    let stated = found.findings(&plan);
    let words = "2 load points of the search showed nothing about the server";
    assert!(
        stated.iter().any(|f| f.message.starts_with(words)),
        "{stated:?}"
    );
    assert!(
        stated.iter().all(|f| f.severity == Severity::Note),
        "{stated:?}"
    );
}

#[test]
fn what_was_not_judged_at_the_result_is_a_warning() {
    let record = crate::testing::record();
    let plan = goal_plan("p99.9999999<10000s");
    let plan = SearchPlan { max: 40, ..plan };
    let mut point = record.points[0].clone();
    point.findings.clear();
    point.load = plan.point(1, 40);
    let tries = [SearchKind::Probe, SearchKind::Confirm, SearchKind::Confirm];
    let run = crate::testing::plan();
    let tries = tries.map(|kind| SearchPoint::judged(kind, point.clone(), &run, &plan));
    let found = SearchResult::of(&plan, &tries).expect("it has ended");
    assert_eq!(found.load, Some(40));
    let findings = found.findings(&plan);
    let warned = |f: &&Finding| f.severity == Severity::Warning;
    let warning = findings.iter().find(warned).expect("a warning");
    assert!(
        warning.message.contains("was not judged"),
        "{}",
        warning.message
    );
    assert!(
        found.text(&plan).contains("SEARCH_MAX=40"),
        "{}",
        found.text(&plan)
    );
}

#[test]
fn a_composite_is_searched_in_whole_units() {
    let plan = SearchPlan {
        load: SearchLoad::Units {
            name: "BUILD".into(),
            ops_per_unit: 500.0,
            procs_per_unit: 5,
        },
        max: 100,
        ..plan(1, 1)
    };
    for limit in [1.0, 3.0, 17.0, 60.0, 99.0] {
        let done = search(&plan, |load, _| knee(limit)(load));
        let found = done.end.load.expect("a load") as f64;
        assert!(
            found <= limit / 0.98 && found >= limit * 0.97 - 1.0,
            "{limit}: {found}"
        );
        assert!(probes(&done) <= 12, "{limit}: {:?}", done.tried);
    }
    let contradicted = search(&plan, |load, nth| {
        knee(if nth < 5 { 60.0 } else { 9.0 })(load)
    });
    let changes = contradicted.changes.join("; ");
    assert!(changes.contains(" BUILDs did not hold"), "{changes}");
}

//! Searches with simulated agents whose server has a known highest load.

use super::case::{Case, for_seeds};
use super::fault::Fault;
use super::world::SimState;
use crate::run::Progress;
use filermark_model::launch::OnLost;
use filermark_model::plan::SearchPlan;
use filermark_model::{Nanos, Rule, Severity};
use filermark_results::search::{SearchPoint, SearchResult, UNDECIDED_MAX};
use filermark_results::{Outcome, RunRecord, fingerprint};

/// The highest load of the server, in op/s for each host.
const KNEE_PER_HOST: u64 = 70;

/// Some seeds: a search has many load points.
fn for_some_seeds(test: impl Fn(u64)) {
    for_seeds(|seed| {
        if seed.is_multiple_of(10) {
            test(seed);
        }
    });
}

/// A search of a server with this knee, in which a client stalls in these load points.
fn searching(seed: u64, stalled: &[u32]) -> Case {
    let case = Case::new(seed).searching();
    {
        let mut world = case.world.borrow_mut();
        world.knee = Some(KNEE_PER_HOST * case.hosts as u64);
        world.stalled = stalled.iter().copied().collect();
    }
    case
}

fn search_of(record: &RunRecord) -> (SearchPlan, SearchResult) {
    let plan = record.run.plan.search.clone().expect("a search");
    (plan, record.found.clone().expect("it has ended"))
}

fn loads(record: &RunRecord) -> Vec<(u64, bool)> {
    let (plan, _) = search_of(record);
    let decided = record.search.iter().filter(|tried| !tried.undecided);
    decided
        .map(|tried| (tried.load(&plan), tried.held))
        .collect()
}

fn is_complete(record: &RunRecord) -> bool {
    record.end.as_ref().map(|end| &end.outcome) == Some(&Outcome::Complete)
}

/// The findings of the search with a severity.
fn stated(record: &RunRecord, severity: Severity) -> Vec<&str> {
    let findings = record.run_findings();
    let findings = findings.filter(|f| f.rule == Rule::Search && f.severity == severity);
    findings.map(|f| f.message.as_str()).collect()
}

/// The simulated server's rate is random, so the outcomes contradict each other.
#[test]
fn a_search_ends_and_its_record_gives_the_same_result() {
    for_some_seeds(|seed| {
        let case = Case::new(seed).searching();
        let outcome = case.run();
        let record = filermark_results::read_record(&outcome.record_path).expect("a record");
        let end = record.end.as_ref().expect("an end");
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        let (plan, found) = search_of(&record);
        let again = SearchResult::of(&plan, &record.search).expect("it has ended");
        assert_eq!((found.load, &found.points), (again.load, &again.points));
        assert_eq!(record.points.len(), found.points.len());
        assert_eq!(record.run.plan.points, found.points);
        assert_eq!(record.run.fingerprint, fingerprint(&record.run.plan));
        assert!(end.findings.iter().any(|f| f.rule == Rule::Search));
        if found.load.is_none() {
            assert_eq!(record.verdict().label(), "INVALID");
        }
        assert!(case.world.borrow().files.is_empty());
        case.assert_clean();
    });
}

#[test]
fn an_undecided_load_point_is_decided_by_the_next_try() {
    for_some_seeds(|seed| {
        let quiet = searching(seed, &[]).run().record;
        // A probe that holds, and one of the last ones.
        let last = quiet.search.len() as u32;
        let case = searching(seed, &[10_002, 10_000 + last]);
        let record = case.run().record;
        assert!(is_complete(&record));
        let (plan, found) = search_of(&record);
        let undecided: Vec<bool> = record.search.iter().map(|p| p.undecided).collect();
        assert!(undecided[1] && !undecided[0] && !undecided[2]);
        assert_eq!(record.search[1].load(&plan), record.search[2].load(&plan));
        assert_eq!(loads(&record), loads(&quiet), "the others are the same");
        let (_, expected) = search_of(&quiet);
        assert!(found.load.is_some());
        assert_eq!(
            (found.load, found.failed_at),
            (expected.load, expected.failed_at)
        );
        assert_eq!((found.undecided_count, found.undecided_loads), (2, vec![]));
        let notes = stated(&record, Severity::Note);
        assert!(
            notes
                .iter()
                .any(|n| n.starts_with("2 load points of the search showed"))
        );
        assert_eq!(stated(&record, Severity::Warning), [""; 0]);
        case.assert_clean();
    });
}

#[test]
fn a_load_that_stays_undecided_counts_as_not_held() {
    for_some_seeds(|seed| {
        let case = searching(seed, &[10_003, 10_004, 10_005]);
        let record = case.run().record;
        assert!(is_complete(&record));
        let (plan, found) = search_of(&record);
        let tried = record.search.get(2..5).expect("three tries");
        let loads: Vec<u64> = tried.iter().map(|p| p.load(&plan)).collect();
        // The server holds it.
        assert!(loads[0] <= KNEE_PER_HOST * case.hosts as u64);
        assert_eq!(loads, [loads[0]; UNDECIDED_MAX]);
        assert!(tried.iter().all(|p| p.undecided && !p.held));
        assert_eq!(
            (found.undecided_count, &found.undecided_loads),
            (3, &vec![loads[0]])
        );
        let next = record.search[5].load(&plan);
        assert!(next < loads[0], "{next} after {}", loads[0]);
        let warnings = stated(&record, Severity::Warning);
        let given_up = format!(
            "a load of {} op/s counts as not held after 3 such",
            loads[0]
        );
        assert!(
            warnings.iter().any(|w| w.starts_with(&given_up)),
            "{warnings:?}"
        );
        case.assert_clean();
    });
}

/// The search is cut right after the undecided load point, and continues with the same load.
#[test]
fn a_search_that_was_cut_after_an_undecided_load_point_continues() {
    for_some_seeds(|seed| {
        let stalled = [10_002];
        let whole = searching(seed, &stalled).run().record;
        let mut case = searching(seed, &stalled);
        let stop = case.stop.clone();
        let cut = case.run_observed(false, &mut |progress| {
            if let Progress::SearchTried(record, tried) = progress
                && record.search.len() == 2
            {
                assert!(tried.undecided);
                stop.raise();
            }
        });
        assert_eq!(cut.outcome(), Outcome::Interrupted);
        let cut = filermark_results::read_record(&cut.record_path).expect("a record");
        let before = cut.search;
        assert_eq!((before.len(), before[1].undecided), (2, true));
        assert!(cut.found.is_none());
        case.assert_clean();

        case.begin_again(seed, |world: &mut SimState, hosts| {
            world.knee = Some(KNEE_PER_HOST * hosts as u64);
        });
        let record = case.run_observed(true, &mut |_| {}).record;
        assert!(is_complete(&record));
        let began =
            |points: &[SearchPoint]| points.iter().map(|p| p.point.began).collect::<Vec<_>>();
        assert_eq!(began(&record.search[..2]), began(&before), "they stay");
        let (plan, found) = search_of(&record);
        assert_eq!(record.search[2].load(&plan), before[1].load(&plan));
        assert_eq!(loads(&record), loads(&whole));
        let (_, expected) = search_of(&whole);
        assert_eq!((found.load, found.undecided_count), (expected.load, 1));
        case.assert_clean();
    });
}

#[test]
fn a_search_ends_when_a_client_is_lost() {
    for_some_seeds(|seed| {
        let mut case = searching(seed, &[]);
        if case.hosts < 2 {
            return;
        }
        case.on_lost = OnLost::Continue;
        // In the third load point or later, not in the sweep.
        let at = Nanos::from_secs(40);
        case.world.borrow_mut().plan_fault(1, Fault::Killed, at);
        let record = case.run().record;
        assert!(is_complete(&record));
        let (plan, found) = search_of(&record);
        assert_eq!(
            (found.load, found.points.len(), record.points.len()),
            (None, 0, 0)
        );
        let (last, before) = record.search.split_last().expect("load points");
        assert!(last.lost_client().is_some() && !before.is_empty());
        assert!(before.iter().all(|p| p.lost_client().is_none()));
        let held = before
            .iter()
            .filter(|p| p.held)
            .map(|p| p.load(&plan))
            .max();
        assert_eq!(found.held_before, held);
        let [reason] = stated(&record, Severity::Invalid)[..] else {
            panic!("{:?}", record.end);
        };
        let start =
            "the search ended without a result, since no load point counts after a client was lost";
        assert!(reason.starts_with(start), "{reason}");
        let before = format!(
            "the highest load that held was {} op/s",
            held.expect("a load")
        );
        assert!(reason.contains(&before), "{reason}");
        assert_eq!(record.verdict().label(), "INVALID");
        case.assert_clean();
    });
}

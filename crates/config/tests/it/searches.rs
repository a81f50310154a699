//! LOAD=search and -O search: what they resolve into, and what cannot be searched.

use crate::{LEAST, bad, good, netmist};
use filermark_config::explain;
use filermark_model::plan::SearchLoad;
use filermark_model::{OpsPerSec, RunPlan};
use std::path::Path;

const BUILDS: &str = "BENCHMARK=SWBUILD\nLOAD=search\nCLIENT_MOUNTPOINTS=a:/mnt,b:/mnt\n";
const METADATA: &str = "BENCHMARK=METADATA\nLOAD=search\nCLIENT_MOUNTPOINTS=a:/mnt\n";
const TWO: &str = "\
Clientname=a Username=root Workdir=/tmp Execpath=/x Workload=SWBUILD Instances=3 Oprate=10
Clientname=a Username=root Workdir=/tmp Execpath=/x Workload=VDI Instances=1 Oprate=30
";

fn has_note(plan: &RunPlan, text: &str) -> bool {
    plan.findings.iter().any(|f| f.message.contains(text))
}

#[test]
fn a_composite_is_searched_in_units() {
    let resolved = good(BUILDS, &[]);
    let plan = &resolved.plan;
    let search = plan.search.as_ref().expect("a search");
    let SearchLoad::Units {
        name,
        ops_per_unit,
        procs_per_unit,
    } = &search.load
    else {
        panic!("{search:?}");
    };
    assert_eq!(
        (name.as_str(), *ops_per_unit, *procs_per_unit),
        ("BUILD", 500.0, 5)
    );
    // 250 procs on each client.
    assert_eq!((search.first, search.step, search.max), (1, 1, 100));
    assert_eq!((plan.procs.len(), plan.procs_per_client), (500, 250));
    assert_eq!((plan.points.len(), plan.busy_proc_count()), (0, 0));
    let point = search.point(1, 7);
    assert_eq!(plan.proc_count_at(point), 35);
    assert_eq!(plan.rate_of_proc(34, point), Some(OpsPerSec(100.0)));
    let text = explain(&resolved, None);
    assert!(
        text.contains("from 1 BUILD on to 100 BUILDs at most"),
        "{text}"
    );
    assert!(text.contains("Space and time depend"), "{text}");
    let time = filermark_results::search::search_time(plan).expect("a search");
    let text = explain(&resolved, Some(&time));
    assert!(text.contains("Space depends on the load"), "{text}");
    let (least, most) = (time.points_least, time.points_most);
    let words =
        format!("of WARMUP and RUN, in {least} to {most} load points of search and sweep,\n");
    assert!(text.contains(&words), "{text}");
    assert!(
        text.contains("A search has at most 60 load points\n"),
        "{text}"
    );
    assert!(
        0 < least && least < most && time.least < time.most,
        "{time:?}"
    );
}

#[test]
fn the_four_workloads_of_the_energy_programmes_can_be_searched() {
    for (name, per_unit) in [("SWBUILD", 5), ("VDA", 2), ("VDI", 2), ("DATABASE", 0)] {
        let rc = BUILDS.replace("SWBUILD", name);
        let plan = good(&rc, &["SEARCH_MAX=8", "SEARCH_FIRST=2", "GOAL=p99<5ms"]).plan;
        let search = plan.search.as_ref().expect("a search");
        assert_eq!((search.first, search.max), (2, 8), "{name}");
        let count = search.proc_count_min().expect("units") as usize;
        assert!(per_unit == 0 || count == per_unit, "{name}: {count}");
        assert_eq!(plan.procs.len(), 8 * count, "{name}");
        assert_eq!(search.goal.as_deref(), Some("p99<5ms"));
    }
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let refused = |rc: &str, options: &[&str], text: &str| {
        let errors = bad(Path::new("."), rc, options);
        assert!(errors.iter().any(|e| e.contains(text)), "{errors:#?}");
    };
    refused(
        METADATA,
        &[],
        "METADATA requests no rate, so every load holds",
    );
    refused(
        METADATA,
        &["GOAL=p99<5ms", "CLIENT_MEM=2g"],
        "the size of files depends on the number of procs",
    );
    good(METADATA, &["GOAL=p99<5ms"]);
    good(METADATA, &["GOAL=p99<5ms", "CLIENT_MEM=2g", "FILE_SIZE=1m"]);
    refused(
        BUILDS,
        &["SEARCH_MAX=20001"],
        "SEARCH_MAX=20001 would take 100005 procs",
    );
    refused(
        BUILDS,
        &["SEARCH_FIRST=101"],
        "above the highest load that is tried, 100 BUILDs",
    );
    refused(BUILDS, &["GOAL=p99<5"], "GOAL");
    refused(
        LEAST,
        &["LOAD=search", "SEARCH_MAX=7"],
        "SEARCH_MAX=7 on 8 procs",
    );
    let plan = good(BUILDS, &["LOAD=1", "SEARCH_MAX=9"]).plan;
    assert!(has_note(
        &plan,
        "SEARCH_MAX=9 is not used: LOAD is not 'search'"
    ));
}

#[test]
fn the_rates_of_netmist_keep_their_ratios() {
    let plan = netmist::resolved(TWO, "netmist -g client_list -O search")
        .unwrap()
        .plan;
    let search = plan.search.as_ref().expect("a search");
    assert_eq!(search.load, SearchLoad::Rates { ops_per_sec: 60.0 });
    assert_eq!((search.first, search.step), (40, 4));
    assert!(plan.points.is_empty() && has_note(&plan, "RUN takes the time of -t"));
    let point = search.point(1, 120);
    let rates: Vec<_> = (0..4).map(|n| plan.rate_of_proc(n, point)).collect();
    let rate = |rate| Some(OpsPerSec(rate));
    assert_eq!(rates, [rate(20.0), rate(20.0), rate(20.0), rate(60.0)]);
    // The agents have what they need for it.
    let own = plan.for_client(0);
    assert_eq!(own.rate_of_proc(3, point), rate(60.0));
}

#[test]
fn without_oprates_those_of_netmist_are_equal_and_a_mixture_is_refused() {
    let without = TWO.replace(" Oprate=10", "").replace(" Oprate=30", "");
    let line = "netmist -g client_list -O search -o SEARCH_MAX=80";
    let plan = netmist::resolved(&without, line).unwrap().plan;
    let search = plan.search.as_ref().expect("a search");
    assert_eq!((search.first, search.max), (40, 80));
    let rate = plan.rate_of_proc(3, search.point(1, 80));
    assert_eq!(rate, Some(OpsPerSec(20.0)));
    let mixed = TWO.replace(" Oprate=10", "");
    let errors = netmist::resolved(&mixed, line).unwrap_err();
    assert!(
        errors[0].contains("1 of 2 lines of the token file have an Oprate"),
        "{errors:?}"
    );
    let plan = netmist::resolved(TWO, "netmist -g client_list -o GOAL=p99<5ms")
        .unwrap()
        .plan;
    assert!(has_note(
        &plan,
        "GOAL=p99<5ms is not used: -O is not 'search'"
    ));
}

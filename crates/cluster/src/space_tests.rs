//! The space that a composite needs, against what is free.

use crate::message::FreeSpace;
use crate::space::{check, file_system_of, note};
use filermark_model::RunPlan;
use filermark_model::plan::{DriverPlan, MountPoint, PosixPlan};
use filermark_results::testing::composite::composite_record;

fn plan() -> RunPlan {
    let mut plan = composite_record().run.plan;
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    plan
}

/// What every client sees: all of its mounts on one file system, named by `name`.
fn seen(plan: &RunPlan, bytes: u64, name: impl Fn(usize) -> String) -> Vec<Vec<FreeSpace>> {
    let of = |(at, client): (usize, &filermark_model::plan::ClientPlan)| {
        vec![FreeSpace {
            mounts: client.mounts.clone(),
            file_system: name(at),
            bytes,
            kept: false,
        }]
    };
    plan.clients.iter().enumerate().map(of).collect()
}

/// Start and most bytes of the largest load point.
fn needs(plan: &RunPlan) -> (u64, u64) {
    let sets = plan.points.iter().map(|p| plan.data_set(*p));
    let largest = sets.max_by_key(|s| s.max_bytes).unwrap();
    (largest.start_bytes, largest.max_bytes)
}

#[test]
fn one_file_system_must_hold_the_procs_of_all_clients() {
    let plan = plan();
    let (start, max) = needs(&plan);
    let one = |bytes| check(&plan, &seen(&plan, bytes, |_| "nas:/vol".into()));
    let enough = one(max);
    assert_eq!((enough.refusal, enough.warnings.len()), (None, 0));
    let tight = one(start);
    assert_eq!((tight.refusal, tight.warnings.len()), (None, 1));
    let short = one(start - 1);
    assert!(short.warnings.is_empty());
    let refusal = short.refusal.expect("INIT cannot end");
    for word in ["free", "LOAD", "FILE_SIZE", "SPACE_CHECK=off", "MiB"] {
        assert!(refusal.contains(word) || word == "MiB", "{word}: {refusal}");
    }
    // A file system per client holds its own procs only.
    let clients = plan.clients.len() as u64;
    assert!(clients > 1);
    let apart = check(&plan, &seen(&plan, start - 1, |at| at.to_string()));
    assert_eq!((apart.refusal, apart.warnings.len()), (None, 0));
}

#[test]
fn the_user_may_overrule_it_and_kept_files_may_be_enough() {
    let mut plan = plan();
    let posix = |ignore_space, reuse_kept| {
        DriverPlan::Posix(PosixPlan {
            ignore_space,
            reuse_kept,
            ..PosixPlan::default()
        })
    };
    for (ignore_space, kept, refused) in [
        (false, false, true),
        (true, false, false),
        (false, true, false),
    ] {
        plan.driver = posix(ignore_space, true);
        let mut free = seen(&plan, 1, |_| "nas:/vol".into());
        free.iter_mut().flatten().for_each(|f| f.kept = kept);
        let verdict = check(&plan, &free);
        assert_eq!(verdict.refusal.is_some(), refused);
        assert_eq!(verdict.warnings.len(), usize::from(!refused));
    }
}

#[test]
fn a_shared_tree_counts_once() {
    let mut plan = plan();
    plan.fileset.sharing = true;
    let largest = plan.benchmark.composite().unwrap().components.iter();
    let max: u64 = largest.map(|c| c.max_bytes()).sum();
    let verdict = check(&plan, &seen(&plan, max, |_| "nas:/vol".into()));
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 0));
}

#[test]
fn file_systems_that_say_nothing_are_not_judged() {
    let plan = plan();
    let silent = vec![Vec::new(); plan.clients.len()];
    assert_eq!(check(&plan, &silent).refusal, None);
    assert_eq!(check(&plan, &[]).refusal, None);
}

#[test]
fn mount_points_of_one_file_system_are_seen_to_be_so() {
    let driver = DriverPlan::Posix(PosixPlan::default());
    let mount = |path: &str| MountPoint {
        host: "localhost".into(),
        path: path.into(),
    };
    let fact = |source: &str| vec![("source".to_owned(), source.to_owned())];
    let name = |path: &str, host: &str, source: &str| {
        file_system_of(&mount(path), &driver, host, &fact(source))
    };
    // The same export is the same on all hosts; a local disk is not.
    assert_eq!(
        name("/mnt/a", "one", "nas:/vol"),
        name("/mnt/b", "two", "nas:/vol")
    );
    assert_ne!(
        name("/mnt/a", "one", "nas:/vol"),
        name("/mnt/a", "one", "nas:/vol2")
    );
    assert_eq!(
        name("/proc", "one", "proc"),
        name("/proc/self", "one", "proc")
    );
    assert_ne!(name("/proc", "one", "proc"), name("/proc", "two", "proc"));
    let mut free = Vec::new();
    note(&mut free, "a".into(), &mount("/1"), 70, false);
    note(&mut free, "b".into(), &mount("/2"), 90, false);
    note(&mut free, "a".into(), &mount("/3"), 60, true);
    let told = free.iter().map(|f| (f.mounts.len(), f.bytes, f.kept));
    assert_eq!(told.collect::<Vec<_>>(), [(2, 60, true), (1, 90, false)]);
}

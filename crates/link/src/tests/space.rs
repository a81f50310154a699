//! The space that a composite needs, against the free space.

use crate::message::FreeSpace;
use crate::space::{check, of_own_mounts};
use filermark_model::RunPlan;
use filermark_model::plan::{DriverPlan, MountPoint, PosixPlan, Target};
use filermark_results::testing::composite::composite_record;

fn plan() -> RunPlan {
    let mut plan = composite_record().run.plan;
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    plan.space.reserve_pcnt = 0.0;
    plan
}

/// The report of every client: all of its mounts on one file system, named by `name`.
fn reported(plan: &RunPlan, bytes: u64, name: impl Fn(usize) -> String) -> Vec<Vec<FreeSpace>> {
    let of = |(at, client): (usize, &filermark_model::plan::ClientPlan)| {
        vec![FreeSpace {
            mounts: client.mounts.clone(),
            file_system: name(at),
            bytes,
            total_bytes: 0,
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

/// Reports about other mount points than the client's own are dropped, and so are other names
/// of an export or a share.
#[test]
fn reports_about_other_mount_points_are_dropped() {
    let mut plan = filermark_results::testing::plan();
    let mount = |path: &str| MountPoint {
        host: "nas".into(),
        path: path.into(),
    };
    plan.clients[0].mounts = vec![mount("/a"), mount("/b")];
    plan.clients[1].mounts = vec![mount("/c")];
    let there = |path: &str, name: &str| FreeSpace {
        mounts: vec![mount(path)],
        file_system: name.into(),
        bytes: 1,
        total_bytes: 2,
        kept: false,
    };
    let nowhere = FreeSpace {
        mounts: Vec::new(),
        ..there("/a", "nas:/a")
    };
    let reported = vec![
        there("/a", "nas:/a"),
        there("/b", "nas:/c"),
        there("/c", "nas:/c"),
        nowhere,
    ];
    assert_eq!(plan.driver.facts().target, Target::Server);
    assert_eq!(of_own_mounts(&plan, 0, reported.clone()), reported[..1]);
    assert_eq!(of_own_mounts(&plan, 1, reported.clone()), reported[2..3]);
    assert_eq!(of_own_mounts(&plan, 9, reported.clone()), []);
    // Only the client's own host knows its mounts.
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    assert_eq!(of_own_mounts(&plan, 0, reported.clone()), reported[..2]);
}

#[test]
fn one_file_system_must_store_the_procs_of_all_clients() {
    let plan = plan();
    let (start, max) = needs(&plan);
    let one = |bytes| check(&plan, &reported(&plan, bytes, |_| "nas:/vol".into()));
    let enough = one(max);
    assert_eq!((enough.refusal, enough.warnings.len()), (None, 0));
    let tight = one(start);
    assert_eq!((tight.refusal, tight.warnings.len()), (None, 1));
    let short = one(start - 1);
    assert!(short.warnings.is_empty());
    let refusal = short.refusal.expect("INIT cannot finish");
    for word in ["free", "LOAD", "FILE_SIZE", "SPACE_CHECK=off", "MiB"] {
        assert!(refusal.contains(word) || word == "MiB", "{word}: {refusal}");
    }
    // A file system per client stores only that client's procs.
    let clients = plan.clients.len() as u64;
    assert!(clients > 1);
    let apart = check(&plan, &reported(&plan, start - 1, |at| at.to_string()));
    assert_eq!((apart.refusal, apart.warnings.len()), (None, 0));
}

#[test]
fn the_user_may_override_it() {
    let mut plan = plan();
    let mut free = reported(&plan, 1, |_| "nas:/vol".into());
    assert!(check(&plan, &free).refusal.is_some());
    // The files of an earlier run may be sufficient.
    free[0][0].kept = true;
    let verdict = check(&plan, &free);
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 1));
    plan.space.check = false;
    let verdict = check(&plan, &reported(&plan, 1, |_| "nas:/vol".into()));
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 1));
}

#[test]
fn a_shared_tree_counts_once() {
    let mut plan = plan();
    plan.fileset.sharing = true;
    let largest = plan.benchmark.composite().unwrap().components.iter();
    let max: u64 = largest.map(|c| c.max_bytes()).sum();
    let verdict = check(&plan, &reported(&plan, max, |_| "nas:/vol".into()));
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 0));
}

#[test]
fn file_systems_without_a_figure_are_not_checked() {
    let plan = plan();
    let silent = vec![Vec::new(); plan.clients.len()];
    assert_eq!(check(&plan, &silent).refusal, None);
    assert_eq!(check(&plan, &[]).refusal, None);
}

fn classic() -> RunPlan {
    let mut plan = filermark_results::testing::plan();
    plan.space.reserve_pcnt = 0.0;
    plan
}

#[test]
fn a_classical_file_set_that_does_not_fit_is_refused_too() {
    let plan = classic();
    let start = plan
        .points
        .iter()
        .map(|p| plan.io_bytes(p.requested))
        .max()
        .unwrap();
    let one = |plan: &RunPlan, bytes| check(plan, &reported(plan, bytes, |_| "nas:/vol".into()));
    let enough = one(&plan, start + start / 5);
    assert_eq!((enough.refusal, enough.warnings.len()), (None, 0));
    let tight = one(&plan, start + 1024);
    assert_eq!((tight.refusal, tight.warnings.len()), (None, 1));
    let refusal = one(&plan, start / 2).refusal.expect("it does not fit");
    for word in ["are free", "LOAD", "FILESET_MB_PER_OP", "SPACE_CHECK=off"] {
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
    let mut overridden = plan.clone();
    overridden.space.check = false;
    let result = one(&overridden, start / 2);
    assert_eq!((result.refusal, result.warnings.len()), (None, 1));
}

#[test]
fn the_reserve_stays_free() {
    let mut plan = classic();
    let need = crate::space::need_bytes(&plan);
    let mut free = reported(&plan, need + need / 10, |_| "nas:/vol".into());
    for client in &mut free {
        client[0].total_bytes = 10 * need;
    }
    assert_eq!(check(&plan, &free).refusal, None);
    // 5 % of the file system is half of what is needed.
    plan.space.reserve_pcnt = 5.0;
    let refusal = check(&plan, &free)
        .refusal
        .expect("the reserve would be used");
    assert!(refusal.contains("or SPACE_RESERVE, free"), "{refusal}");
}

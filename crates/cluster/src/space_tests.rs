//! The space that a composite needs, against what is free.

use crate::message::FreeSpace;
use crate::space::{Seen, check, is_kept, of_its_own};
use filermark_driver_kit::driver::{ClaimReport, Space};
use filermark_engine::name::MARKER;
use filermark_model::RunPlan;
use filermark_model::plan::{DriverPlan, MountPoint, PosixPlan, Target};
use filermark_results::testing::composite::composite_record;

fn plan() -> RunPlan {
    let mut plan = composite_record().run.plan;
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    plan.space.reserve_pcnt = 0.0;
    plan
}

/// What every client sees: all of its mounts on one file system, named by `name`.
fn seen(plan: &RunPlan, bytes: u64, name: impl Fn(usize) -> String) -> Vec<Vec<FreeSpace>> {
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

/// What an agent says of places that are not its client's is not kept, nor is another name
/// of an export or a share.
#[test]
fn nobody_speaks_of_the_space_of_others() {
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
    let said = vec![
        there("/a", "nas:/a"),
        there("/b", "nas:/c"),
        there("/c", "nas:/c"),
        nowhere,
    ];
    assert_eq!(plan.driver.facts().target, Target::Server);
    assert_eq!(of_its_own(&plan, 0, said.clone()), said[..1]);
    assert_eq!(of_its_own(&plan, 1, said.clone()), said[2..3]);
    assert_eq!(of_its_own(&plan, 9, said.clone()), []);
    // Of mounts only the client's own host knows what is mounted.
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    assert_eq!(of_its_own(&plan, 0, said.clone()), said[..2]);
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
fn the_user_may_overrule_it() {
    let mut plan = plan();
    let mut free = seen(&plan, 1, |_| "nas:/vol".into());
    assert!(check(&plan, &free).refusal.is_some());
    // What an earlier run has left may be all that is needed.
    free[0][0].kept = true;
    let verdict = check(&plan, &free);
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 1));
    plan.space.check = false;
    let verdict = check(&plan, &seen(&plan, 1, |_| "nas:/vol".into()));
    assert_eq!((verdict.refusal, verdict.warnings.len()), (None, 1));
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

fn mount(path: &str) -> MountPoint {
    MountPoint {
        host: "localhost".into(),
        path: path.into(),
    }
}

/// What `host` sees of a mount point at a path of this machine.
fn found(host: &str, path: &str, source: &str) -> Vec<FreeSpace> {
    let mut seen = Seen::by(&DriverPlan::Posix(PosixPlan::default()));
    seen.add(&mount(path), false, host, &report(source, 70));
    seen.into_free()
}

fn report(source: &str, bytes: u64) -> ClaimReport {
    ClaimReport {
        space: Some(Space {
            free_bytes: bytes,
            total_bytes: 0,
        }),
        server_facts: vec![("source".to_owned(), source.to_owned())],
        ..ClaimReport::default()
    }
}

#[test]
fn file_systems_are_told_apart() {
    let name = |host, path, source| found(host, path, source)[0].file_system.clone();
    // The same export is the same on all hosts; a local disk is not.
    assert_eq!(
        name("one", "/proc", "nas:/vol"),
        name("two", "/proc", "nas:/vol")
    );
    assert_ne!(
        name("one", "/proc", "nas:/vol"),
        name("one", "/proc", "nas:/vol2")
    );
    assert_ne!(name("one", "/proc", "disk"), name("two", "/proc", "disk"));
    // On one host the device decides: two names of one export are one.
    let mut seen = Seen::by(&DriverPlan::Posix(PosixPlan::default()));
    seen.add(&mount("/proc"), false, "one", &report("nas:/vol/a", 70));
    seen.add(&mount("/proc/self"), true, "one", &report("nas:/vol/b", 60));
    seen.add(&mount("/dev"), false, "one", &report("dev", 90));
    seen.add(&mount("/silent"), false, "one", &ClaimReport::default());
    let free = seen.into_free();
    let told: Vec<_> = free
        .iter()
        .map(|f| (f.mounts.len(), f.bytes, f.kept))
        .collect();
    assert_eq!(told, [(2, 60, true), (1, 90, false)]);
}

#[test]
fn only_files_that_will_be_used_again_count_as_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mount = mount(dir.path().to_str().unwrap());
    let driver = |reuse_kept| {
        DriverPlan::Posix(PosixPlan {
            reuse_kept,
            ..PosixPlan::default()
        })
    };
    assert!(!is_kept(&driver(true), &mount, "run"));
    std::fs::create_dir(dir.path().join("run")).unwrap();
    std::fs::write(dir.path().join("run").join(MARKER), "").unwrap();
    assert!(!is_kept(&driver(true), &mount, "run"));
    std::fs::create_dir(dir.path().join("run").join("CL0")).unwrap();
    assert!(is_kept(&driver(true), &mount, "run"));
    assert!(!is_kept(&driver(false), &mount, "run"));
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
    let one = |plan: &RunPlan, bytes| check(plan, &seen(plan, bytes, |_| "nas:/vol".into()));
    let enough = one(&plan, start + start / 5);
    assert_eq!((enough.refusal, enough.warnings.len()), (None, 0));
    let tight = one(&plan, start + 1024);
    assert_eq!((tight.refusal, tight.warnings.len()), (None, 1));
    let refusal = one(&plan, start / 2).refusal.expect("it does not fit");
    for word in ["are free", "LOAD", "FILESET_MB_PER_OP", "SPACE_CHECK=off"] {
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
    let mut overruled = plan.clone();
    overruled.space.check = false;
    let told = one(&overruled, start / 2);
    assert_eq!((told.refusal, told.warnings.len()), (None, 1));
}

#[test]
fn the_reserve_stays_free() {
    let mut plan = classic();
    let need = crate::space::need_bytes(&plan);
    let mut free = seen(&plan, need + need / 10, |_| "nas:/vol".into());
    for client in &mut free {
        client[0].total_bytes = 10 * need;
    }
    assert_eq!(check(&plan, &free).refusal, None);
    // 5 % of the file system is half of what is needed.
    plan.space.reserve_pcnt = 5.0;
    let refusal = check(&plan, &free).refusal.expect("the reserve would go");
    assert!(refusal.contains("SPACE_RESERVE"), "{refusal}");
}

//! File systems that are slow, broken, full, read-only or gone.

use crate::load_guard::{alone, beside_others, when_quiet};
use crate::posix_tree::{left_behind, plant_foreign, tree};
use crate::sweep::{Ended, Sweep};
use filermark_model::{Op, Rule};
use filermark_testbed::{Faulty, FaultyOptions, Kind, Mounts, available};
use std::sync::Arc;
use std::time::Duration;

/// errno EIO.
const EIO: i32 = 5;

/// A run that must end soon after its failure, not after a long RUN.
const TIME_LIMIT: Duration = Duration::from_secs(60);

fn faulty() -> Option<(Arc<Mounts>, Faulty)> {
    let mounts = available(Mounts::new())?;
    let faulty = available(Faulty::mount(&mounts, FaultyOptions::default()))?;
    Some((mounts, faulty))
}

/// Asserts that the run was refused or ended, with these parts in one message.
#[track_caller]
fn assert_given_up(ended: &Ended, parts: &[&str]) {
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sanitized();
    ended.assert_sentence(parts);
    assert!(ended.elapsed < TIME_LIMIT, "{:?}", ended.elapsed);
}

/// The mean service time of an operation is the delay of its one request to the file system: with
/// open bucket directories a stat is a lookup and a getattr.
#[test]
fn alone_an_injected_delay_is_the_service_time_of_a_stat() {
    let _turn = alone();
    when_quiet(|| {
        let Some((mounts, faulty)) = faulty() else {
            return Ok(());
        };
        let mut started = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path())
            .set("RUNTIME", 3)
            .set("WARMUP_TIME", 1)
            .start();
        started.wait_until("WARMUP", |s| s.stderr().contains(" WARMUP\n"));
        let delay_ms = 8.0;
        faulty.delay(
            Kind::Getattr,
            Duration::from_micros((delay_ms * 1e3) as u64),
        );
        started.wait_until("the end of RUN", |s| s.stderr().contains("point  1 of"));
        faulty.recover();
        let ended = started.wait();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let point = ended.point(1);
        let stats = point.measured().expect("measured");
        let service = &stats.op(Op::Stat).expect("in the mix").service;
        let (mean, median) = (
            service.mean_ns() / 1e6,
            service.percentile_ns(50.0) as f64 / 1e6,
        );
        assert!(median >= delay_ms, "{median} ms is faster than possible");
        let figures = format!("stat: mean {mean:.3} ms, median {median:.3}");
        println!("{figures}");
        match mean <= delay_ms * 1.25 {
            true => Ok(()),
            false => Err(figures),
        }
    });
}

#[test]
fn injected_errors_are_counted_and_the_tree_goes_afterwards() {
    let _turn = beside_others();
    let Some((mounts, faulty)) = faulty() else {
        return;
    };
    let before = plant_foreign(faulty.backing());
    let mut started = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path())
        .set("WARMUP_TIME", 1)
        .start();
    started.wait_until("WARMUP", |s| s.stderr().contains(" WARMUP\n"));
    faulty.fail(Kind::Getattr, 10, EIO);
    faulty.fail(Kind::Mkdir, 2, EIO);
    started.wait_until("the end of RUN", |s| s.stderr().contains("point  1 of"));
    faulty.recover();
    let ended = started.wait();
    ended.assert_sanitized();
    assert!(faulty.failures()[&Kind::Getattr] > 10);
    let point = ended.point(1);
    assert!(!point.is_valid());
    assert!(
        point.findings.iter().any(|f| f.rule == Rule::Errors),
        "{:?}",
        point.findings
    );
    let stats = point.stats.as_ref().expect("figures");
    let stat = stats.op(Op::Stat).expect("in the mix");
    assert!(stat.error_count > 10, "{}", stat.error_count);
    let actual: u64 = stats
        .errors
        .iter()
        .filter(|(what, _)| what.starts_with("stat: ") && what.contains("EIO"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(actual, stat.error_count, "{:?}", stats.errors);
    assert_eq!(left_behind(faulty.backing(), &before), [""; 0]);
}

/// CLEANUP reads the owner files; a directory whose owner file cannot be read at once does not
/// count as foreign.
#[test]
fn reads_that_fail_in_cleanup_are_tried_again() {
    let _turn = beside_others();
    let Some((mounts, faulty)) = faulty() else {
        return;
    };
    let before = plant_foreign(faulty.backing());
    // `stop` ends all agents of its suffix on this host: no other test has this one.
    let suffix = format!("posix-reads-{}", std::process::id());
    let sweep = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path()).suffix(&suffix);
    sweep.clone().set("KEEP", "on").succeed();
    faulty.fail(Kind::Read, 2, EIO);
    let stopped = sweep.elsewhere().command("stop").arg("--force").succeed();
    assert!(stopped.stdout.contains("removed "), "{}", stopped.stdout);
    assert!(faulty.failures()[&Kind::Read] > 0);
    assert_eq!(left_behind(faulty.backing(), &before), [""; 0]);
}

#[test]
fn a_dead_file_system_ends_the_run_at_once() {
    let _turn = beside_others();
    let Some((mounts, faulty)) = faulty() else {
        return;
    };
    let mut started = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path())
        .set("RUNTIME", 120)
        .start();
    started.wait_until("RUN", |s| s.stderr().contains(" RUN\n"));
    faulty.die().expect("it dies");
    let ended = started.wait();
    assert_given_up(&ended, &[&faulty.scratch().path().display().to_string()]);
}

#[test]
fn a_full_file_system_is_met_in_the_middle() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let small = mounts.tmpfs(3).expect("a tmpfs");
    let before = plant_foreign(small.host());
    // 5 procs, 2 x 4 files, 11 x 16 KiB: 6.9 MiB.
    let sweep = Sweep::composite("SWBUILD", &mounts, small.path());
    let ended = sweep.clone().set("SPACE_CHECK", "off").run();
    assert_given_up(&ended, &[&small.path().display().to_string(), "ENOSPC"]);
    assert_eq!(left_behind(small.host(), &before), [""; 0]);
}

#[test]
fn too_little_space_is_refused_before_anything_is_made() {
    let _turn = beside_others();
    let Some((mounts, faulty)) = faulty() else {
        return;
    };
    faulty.limit_space(Some(3 << 20));
    let before = plant_foreign(faulty.backing());
    let ended = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path()).run();
    assert_given_up(
        &ended,
        &[
            &faulty.scratch().path().display().to_string(),
            "free",
            "SPACE_CHECK=off",
        ],
    );
    // The marker, and the files that test features of the file system; a tree alone has 24
    // buckets.
    let counts = faulty.counts();
    println!("{counts:?}");
    assert!(
        counts[&Kind::Create] < 8 && counts[&Kind::Mkdir] < 3,
        "{counts:?}"
    );
    assert_eq!(left_behind(faulty.backing(), &before), [""; 0]);
}

#[test]
fn a_read_only_file_system_is_reported() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let original = mounts.plain().expect("a directory");
    let view = mounts.read_only(&original).expect("a read-only view");
    let ended = Sweep::composite("SWBUILD", &mounts, view.path()).run();
    assert_given_up(&ended, &[&view.path().display().to_string(), "EROFS"]);
    assert!(tree(original.host()).is_empty());
}

#[test]
fn a_directory_that_is_not_there_is_reported() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let ended = Sweep::composite("SWBUILD", &mounts, &dir.path().join("nothing")).run();
    assert_given_up(&ended, &["nothing", "mounted"]);
}

/// A lazily unmounted file system can still be used by processes that have it open: the run ends
/// normally, but it cannot reach its files any more, and reports that.
#[test]
fn a_mount_that_vanishes_is_reported_and_nothing_is_made_in_its_place() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let place = mounts.tmpfs(64).expect("a tmpfs");
    let mut started = Sweep::composite("SWBUILD", &mounts, place.path()).start();
    started.wait_until("RUN", |s| s.stderr().contains(" RUN\n"));
    mounts.detach(&place).expect("it is detached");
    let ended = started.wait();
    ended.assert_sanitized();
    assert!(ended.elapsed < TIME_LIMIT, "{:?}", ended.elapsed);
    let end = ended.record().end.expect("an end");
    let warnings = end.findings.iter().find(|f| f.rule == Rule::LeftBehind);
    let actual = warnings.expect("it says so");
    assert!(actual.message.contains("unmounted"), "{}", actual.message);
    assert!(tree(place.host()).is_empty());
}

#[test]
fn too_few_file_descriptors_are_reported_with_the_number_needed() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let ended = Sweep::composite("SWBUILD", &mounts, dir.path())
        .through(["prlimit", "--nofile=64:64", "--"])
        .run();
    assert_given_up(&ended, &["EMFILE", "need", "ulimit -n"]);
    assert!(tree(dir.host()).is_empty());
    // A low soft limit is raised.
    Sweep::composite("SWBUILD", &mounts, dir.path())
        .set("RUNTIME", 1)
        .through(["prlimit", "--nofile=64:4096", "--"])
        .succeed();
    assert!(tree(dir.host()).is_empty());
}

/// Links in a kept tree, instead of a directory, of a file and in addition: their targets are
/// neither written nor removed.
#[test]
fn links_that_were_planted_in_the_tree_are_not_followed() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let outside = mounts.plain().expect("another directory");
    let before = plant_foreign(outside.host());
    let sweep = Sweep::composite("SWBUILD", &mounts, dir.path()).set("RUNTIME", 1);
    sweep.clone().set("KEEP", "on").succeed();
    let top = dir.host().join("filermark.s");
    let link = |target: &std::path::Path, at: &std::path::Path| {
        std::os::unix::fs::symlink(target, at).expect("a link");
    };
    let trees: Vec<_> = tree(&top)
        .into_keys()
        .filter(|name| name.starts_with("CL") && !name.contains('/'))
        .collect();
    assert_eq!(trees.len(), 5, "{trees:?}");
    // A directory of a tree, a file, and a foreign name.
    std::fs::rename(top.join(&trees[0]).join("d0000"), dir.host().join("aside")).expect("rename");
    link(outside.path(), &top.join(&trees[0]).join("d0000"));
    let file = top.join(&trees[1]).join("d0000/b00/f0000000");
    std::fs::remove_file(&file).expect("remove a file");
    link(&outside.path().join("thesis.txt"), &file);
    link(
        outside.path(),
        &top.join(&trees[2]).join("d0000/b00/f0000009"),
    );
    let next = sweep.elsewhere().run();
    next.assert_sanitized();
    assert_eq!(
        left_behind(outside.host(), &before),
        [""; 0],
        "{}",
        next.stderr
    );
    // A link is not accepted as the run's directory.
    let other = Sweep::composite("SWBUILD", &mounts, dir.path()).suffix("linked");
    link(outside.path(), &dir.host().join("filermark.linked"));
    let refused = other.run();
    assert_given_up(&refused, &["filermark.linked"]);
    assert_eq!(left_behind(outside.host(), &before), [""; 0]);
}

//! The marker as a lease, with simulated time.

use super::map::{FakeWatch, Map, Node, RUN_DIR};
use super::*;
use crate::claim::lease::{HEARTBEAT, WATCH};
use crate::marker::{Marker, MarkerText, State};
use crate::process::Process;

const MARKER_PATH: &str = "filermark.t/.filermark-owner";

/// A directory that a run of host alpha uses.
fn at_work() -> Map {
    at_work_by("theirs", "alpha")
}

fn at_work_by(id: &str, host: &str) -> Map {
    let mut map = Map::with(&[]);
    super::super::claim(&mut map, &run(id), false, &FakeWatch::of(host, None)).unwrap();
    map.own("filermark.t/p000000", &run(id));
    map.put("filermark.t/p000000/n000001", "at work");
    map
}

fn take(map: &mut Map, watch: &FakeWatch) -> Result<Emptied, DriverError> {
    super::super::claim(map, &this_run(), false, watch).map(|claimed| claimed.emptied)
}

fn marker(map: &Map) -> Marker {
    let Some(Node::File(bytes)) = map.nodes.get(MARKER_PATH) else {
        panic!("no marker: {:?}", map.nodes);
    };
    match Marker::read(bytes) {
        MarkerText::Marker(marker) => *marker,
        other => panic!("{other:?}"),
    }
}

/// Simulated time in which the other run renews its marker once.
struct RenewingRun<'a> {
    inner: FakeWatch,
    map: &'a std::cell::RefCell<Map>,
}

#[test]
fn a_run_under_way_is_refused_with_who_where_and_since_when() {
    let mut map = at_work();
    let here = FakeWatch::of("alpha2", Some(true));
    let error = take(&mut map, &here).unwrap_err();
    for part in [
        "in use by run theirs",
        "process 7 on host alpha",
        "since 2",
        "UTC",
    ] {
        assert!(error.reason.contains(part), "{part} in {error}");
    }
    assert!(error.advice.contains("another suffix (-s)"), "{error}");
    assert_eq!(here.waited.get(), Duration::ZERO);
    assert!(map.has("filermark.t/p000000/n000001"));
    let error =
        super::super::release(&mut map, &run(""), ReleaseScope::Leftovers, &here).unwrap_err();
    assert!(error.reason.contains("in use by run theirs"), "{error}");
    assert!(map.has("filermark.t/p000000/n000001"));
}

#[test]
fn the_directory_of_an_ended_run_of_this_host_is_taken_over_at_once() {
    let mut map = at_work();
    let here = FakeWatch::of("alpha2", Some(false));
    assert_eq!(take(&mut map, &here).unwrap().removed_count, 2);
    assert!(here.waited.get() < Duration::from_secs(1));
    assert_eq!(marker(&map).run, "20260101-this");
}

#[test]
fn a_heartbeat_that_does_not_change_for_two_periods_is_that_of_an_ended_run() {
    const { assert!(WATCH.as_secs() > 2 * HEARTBEAT.as_secs()) };
    let mut map = at_work();
    let elsewhere = FakeWatch::of("bravo", None);
    assert_eq!(take(&mut map, &elsewhere).unwrap().removed_count, 2);
    assert!(elsewhere.waited.get() >= WATCH);
    let messages = elsewhere.messages.borrow().join("\n");
    for part in ["claimed by run theirs", "on host alpha", "watched for 25 s"] {
        assert!(messages.contains(part), "{part} in {messages}");
    }
}

impl LeaseWatch for RenewingRun<'_> {
    fn pause(&self, time: Duration) -> bool {
        self.inner.pause(time);
        if self.inner.waited.get() == HEARTBEAT {
            let alpha = FakeWatch::of("alpha", None);
            let mut map = self.map.borrow_mut();
            let renewed = renew(&mut *map, &run("theirs"), ClaimRole::Own, &alpha);
            assert_eq!(renewed, Ok(RenewResult::Done));
        }
        true
    }
    fn this(&self) -> Process {
        self.inner.this()
    }
    fn is_alive(&self, process: &Process) -> Option<bool> {
        self.inner.is_alive(process)
    }
    fn waiting(&self, sentence: &str) {
        self.inner.waiting(sentence);
    }
}

/// The map in a cell, for two runs that use it.
struct Shared<'a> {
    map: &'a std::cell::RefCell<Map>,
    /// What another run does between the next read of a marker and the write that follows.
    between: Option<&'a dyn Fn(&mut Map)>,
    /// What it does between the read and the write after that.
    then: Option<&'a dyn Fn(&mut Map)>,
}

impl<'a> Shared<'a> {
    fn of(map: &'a std::cell::RefCell<Map>) -> Self {
        Self {
            map,
            between: None,
            then: None,
        }
    }
}

impl RunDirBackend for Shared<'_> {
    type Dir = String;
    type Listing = Vec<Entry>;
    fn place(&self) -> String {
        self.map.borrow().place()
    }
    fn find_run_dir(&mut self) -> Result<DirLookup<String>, DriverError> {
        self.map.borrow_mut().find_run_dir()
    }
    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        self.map.borrow_mut().make_run_dir()
    }
    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        self.map.borrow_mut().remove_run_dir()
    }
    fn find_dir(&mut self, parent: &String, name: &str) -> Result<DirLookup<String>, DriverError> {
        self.map.borrow_mut().find_dir(parent, name)
    }
    fn read_file(&mut self, dir: &String, name: &str) -> Result<FilePrefix, DriverError> {
        self.map.borrow_mut().read_file(dir, name)
    }
    fn write_file(&mut self, dir: &String, name: &str, text: &str) -> Result<(), DriverError> {
        if let Some(between) = self.between.take() {
            between(&mut self.map.borrow_mut());
        }
        self.map.borrow_mut().write_file(dir, name, text)
    }
    fn change_file(
        &mut self,
        dir: &String,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        let front = self.read_file(dir, name)?;
        let patch = change(front);
        if let Some(between) = self.between.take() {
            between(&mut self.map.borrow_mut());
            self.between = self.then.take();
        }
        if let Some(patch) = patch {
            let path = format!("{dir}/{name}");
            self.map.borrow_mut().patch(&path, &patch);
        }
        Ok(())
    }
    fn list(&mut self, dir: &String) -> Result<Option<Vec<Entry>>, DriverError> {
        self.map.borrow_mut().list(dir)
    }
    fn next_entries(
        &mut self,
        listing: &mut Vec<Entry>,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        self.map.borrow_mut().next_entries(listing)
    }
    fn remove(
        &mut self,
        what: Removal,
        dir: &String,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        self.map.borrow_mut().remove(what, dir, names)
    }
}

#[test]
fn a_heartbeat_that_changes_is_that_of_a_run_under_way() {
    let map = std::cell::RefCell::new(at_work());
    let watch = RenewingRun {
        inner: FakeWatch::of("bravo", None),
        map: &map,
    };
    let claimed = super::super::claim(&mut Shared::of(&map), &this_run(), false, &watch);
    let error = claimed.unwrap_err();
    assert!(error.reason.contains("in use by run theirs"), "{error}");
    assert_eq!(watch.inner.waited.get(), HEARTBEAT, "no longer than needed");
    let map = map.into_inner();
    assert!(map.has("filermark.t/p000000/n000001"));
    assert_eq!(marker(&map).heartbeat, 1);
}

#[test]
fn the_writer_of_a_marker_renews_it_and_others_stand_in() {
    let mut map = at_work();
    let (alpha, bravo) = (FakeWatch::of("alpha", None), FakeWatch::of("bravo", None));
    let theirs = run("theirs");
    let by = |heartbeat| Ok(RenewResult::ByAnother(heartbeat));
    assert_eq!(renew(&mut map, &theirs, ClaimRole::Own, &bravo), by(0));
    assert!(marker(&map).shared, "two clients use it");
    assert_eq!(
        renew(&mut map, &theirs, ClaimRole::Own, &alpha),
        Ok(RenewResult::Done)
    );
    // Its heartbeat has changed since it was read.
    assert_eq!(
        renew(&mut map, &theirs, ClaimRole::StandIn(0), &bravo),
        by(1)
    );
    let stood_in = renew(&mut map, &theirs, ClaimRole::StandIn(1), &bravo);
    assert_eq!(stood_in, Ok(RenewResult::Done));
    assert_eq!(
        (marker(&map).heartbeat, marker(&map).process),
        (2, bravo.this())
    );
    assert_eq!(renew(&mut map, &theirs, ClaimRole::Own, &alpha), by(2));
    let lost = renew(&mut map, &this_run(), ClaimRole::Own, &bravo);
    assert!(matches!(lost, Ok(RenewResult::TakenOver(who)) if who.contains("run theirs")));
    // KEEP=on: the files stay, and later runs do not wait for a run that is over.
    assert_eq!(
        renew(&mut map, &theirs, ClaimRole::End, &bravo),
        Ok(RenewResult::Done)
    );
    assert_eq!(marker(&map).state, State::Ended);
    let late = renew(&mut map, &theirs, ClaimRole::StandIn(3), &alpha);
    assert_eq!(late, by(3), "an ended run is not resumed");
    assert!(take(&mut map, &FakeWatch::of("bravo2", Some(true))).is_ok());
    map.nodes.clear();
    assert_eq!(
        renew(&mut map, &theirs, ClaimRole::Own, &alpha),
        Ok(RenewResult::Missing)
    );
}

/// ON_LOST=continue: the client that wrote the marker has ended, others go on.
#[test]
fn the_end_of_one_client_of_several_is_not_that_of_the_run() {
    let mut map = at_work();
    let bravo = FakeWatch::of("bravo", None);
    super::super::claim(&mut map, &run("theirs"), false, &bravo).unwrap();
    assert!(marker(&map).shared, "another client has joined it");
    let map = std::cell::RefCell::new(map);
    let watch = RenewingRun {
        inner: FakeWatch::of("alpha2", Some(false)),
        map: &map,
    };
    let claimed = super::super::claim(&mut Shared::of(&map), &this_run(), false, &watch);
    let error = claimed.unwrap_err();
    assert!(error.reason.contains("in use by run theirs"), "{error}");
    assert!(map.into_inner().has("filermark.t/p000000/n000001"));
}

/// Two clients change the marker at the same moment: each has read it before the other one
/// has written. Neither change is lost, whichever client writes last.
#[test]
fn a_heartbeat_and_a_shared_mark_at_the_same_moment_both_stay() {
    let (alpha, bravo) = (FakeWatch::of("alpha", None), FakeWatch::of("bravo", None));
    let theirs = run("theirs");
    for first in [&alpha, &bravo] {
        let map = std::cell::RefCell::new(at_work());
        for _ in 0..9 {
            let renewed = renew(&mut *map.borrow_mut(), &theirs, ClaimRole::Own, &alpha);
            assert_eq!(renewed, Ok(RenewResult::Done));
        }
        let second = if std::ptr::eq(first, &alpha) {
            &bravo
        } else {
            &alpha
        };
        let meanwhile = |map: &mut Map| {
            renew(map, &theirs, ClaimRole::Own, second).unwrap();
        };
        let mut shared = Shared::of(&map);
        shared.between = Some(&meanwhile);
        renew(&mut shared, &theirs, ClaimRole::Own, first).unwrap();
        let now = marker(&map.borrow());
        assert!(now.shared, "the mark is lost: {now:?}");
        assert_eq!((now.heartbeat, now.process), (10, alpha.this()));
    }
}

/// The holder of the lease was so slow that another client renews it meanwhile: after the
/// late heartbeat the marker can be read and names the other client.
#[test]
fn a_late_heartbeat_does_not_take_the_lease_back() {
    let alpha = FakeWatch::of("alpha", None);
    let bravo = FakeWatch::of("bravo-with-a-longer-name", None);
    let theirs = run("theirs");
    let map = std::cell::RefCell::new(at_work());
    let meanwhile = |map: &mut Map| {
        let stood_in = renew(map, &theirs, ClaimRole::StandIn(0), &bravo);
        assert_eq!(stood_in, Ok(RenewResult::Done));
        for _ in 0..4 {
            let renewed = renew(map, &theirs, ClaimRole::Own, &bravo);
            assert_eq!(renewed, Ok(RenewResult::Done));
        }
    };
    let mut shared = Shared::of(&map);
    shared.between = Some(&meanwhile);
    renew(&mut shared, &theirs, ClaimRole::Own, &alpha).unwrap();
    let now = marker(&map.into_inner());
    assert!(now.shared && now.state == State::Running, "{now:?}");
    assert_eq!(
        (now.process, now.path),
        (bravo.this(), "filermark.t".into())
    );
    assert_eq!(now.nonce, theirs.nonce());
}

/// Hosts whose names begin differently and have different lengths.
const HOSTS: [&str; 5] = [
    "node12",
    "node03",
    "node01b",
    "n",
    "another-name-altogether",
];

fn pairs<T: Copy>(all: &[T]) -> Vec<(T, T)> {
    let indexes = (0..all.len()).flat_map(|one| (0..all.len()).map(move |two| (one, two)));
    let apart = indexes.filter(|(one, two)| one != two);
    apart.map(|(one, two)| (all[one], all[two])).collect()
}

/// Both have read the same marker before either has written.
#[test]
fn two_clients_that_stand_in_at_the_same_moment_leave_the_marker_of_one() {
    let theirs = run("theirs");
    for (first, second) in pairs(&HOSTS) {
        let map = std::cell::RefCell::new(at_work_by("theirs", "node01"));
        let meanwhile = |map: &mut Map| {
            let stood_in = renew(
                map,
                &theirs,
                ClaimRole::StandIn(0),
                &FakeWatch::of(second, None),
            );
            assert_eq!(stood_in, Ok(RenewResult::Done));
        };
        let mut shared = Shared::of(&map);
        shared.between = Some(&meanwhile);
        let watch = FakeWatch::of(first, None);
        renew(&mut shared, &theirs, ClaimRole::StandIn(0), &watch).unwrap();
        let now = marker(&map.into_inner());
        assert_eq!(now.process, watch.this(), "{first} after {second}");
        assert_eq!((now.run.as_str(), now.path.as_str()), ("theirs", RUN_DIR));
        assert_eq!((now.nonce, now.heartbeat), (theirs.nonce(), 1));
        assert!(now.shared);
    }
}

#[test]
fn two_runs_that_take_over_at_the_same_moment_leave_the_marker_of_one() {
    let runs = ["20260101-bb", "20260102-a", "20260101-a-longer", "2"];
    let takers: Vec<_> = runs.iter().copied().zip(HOSTS).collect();
    for (first, second) in pairs(&takers) {
        let map = std::cell::RefCell::new(at_work_by("20260101-a", "node01"));
        let take = |map: &mut dyn FnMut(&Claim, &FakeWatch), (id, host): (&str, &str)| {
            map(&run(id), &FakeWatch::of(host, Some(false)));
        };
        let meanwhile = |map: &mut Map| {
            take(
                &mut |claim, watch| {
                    super::super::claim(map, claim, true, watch).unwrap();
                },
                second,
            );
        };
        let mut shared = Shared::of(&map);
        shared.between = Some(&meanwhile);
        take(
            &mut |claim, watch| {
                super::super::claim(&mut shared, claim, true, watch).unwrap();
            },
            first,
        );
        let now = marker(&map.into_inner());
        assert_eq!(now.run, first.0, "{first:?} after {second:?}");
        assert_eq!(now.process, FakeWatch::of(first.1, None).this());
        assert_eq!((now.path.as_str(), now.state), (RUN_DIR, State::Running));
    }
}

/// The lease of a run that empties its directory is taken over between its last read of the
/// marker and its write.
#[test]
fn a_run_that_ends_emptying_late_leaves_no_mixture() {
    let rival = Marker::new(
        &run("20260102-rival"),
        Process::of("another-name-altogether", "system", "9 from 1"),
        "then".into(),
    );
    let map = std::cell::RefCell::new(at_work_by("20260101-a", "node01"));
    let looks = std::cell::Cell::new(0);
    let write = |map: &mut Map| {
        map.put(MARKER_PATH, &rival.text());
    };
    // The second change of the marker is the one after emptying.
    let first_change = |_: &mut Map| looks.set(looks.get() + 1);
    let mut shared = Shared::of(&map);
    shared.between = Some(&first_change);
    shared.then = Some(&write);
    let watch = FakeWatch::of("node03", Some(false));
    super::super::claim(&mut shared, &this_run(), false, &watch).unwrap();
    let now = marker(&map.into_inner());
    assert_eq!(looks.get(), 1);
    assert_eq!((now.run, now.process), (this_run().run_id, watch.this()));
    assert_eq!(now.nonce, this_run().nonce());
}

/// Another client of the run has marked the new directory. Another run takes it over before
/// this client has marked it as shared, or just after that.
#[test]
fn a_client_that_joins_sees_that_another_run_was_faster() {
    let (alpha, bravo) = (FakeWatch::of("alpha", None), FakeWatch::of("bravo", None));
    let theirs = run("theirs");
    let rival = Process::of("charlie", "system", "9 from 1");
    let rival = Marker::new(&run("other"), rival, "then".into()).text();
    let by_alpha = Marker::new(&theirs, alpha.this(), "then".into()).text();
    let marked = || std::cell::RefCell::new(Map::with(&[("filermark.t/", "")]));
    let expect = |error: DriverError, map: &std::cell::RefCell<Map>| {
        assert!(
            error
                .reason
                .contains("at the same moment it was claimed by run other"),
            "{error}"
        );
        assert_eq!(marker(&map.borrow()).run, "other", "its marker stays");
    };
    let mark = |map: &std::cell::RefCell<Map>, watch: &dyn LeaseWatch| {
        let mut shared = Shared::of(map);
        let dir = RUN_DIR.to_owned();
        let mut claimant = RunDirClaim::new(&mut shared, &theirs, watch).unwrap();
        claimant
            .mark(&dir, false)
            .map_err(|unmarked| unmarked.error)
    };
    let map = marked();
    map.borrow_mut().put(MARKER_PATH, &by_alpha);
    let watch = CompetingRun {
        inner: FakeWatch::of("bravo", None),
        map: &map,
        text: rival.clone(),
    };
    expect(mark(&map, &watch).unwrap_err(), &map);
    let map = marked();
    map.borrow_mut().put(MARKER_PATH, &rival);
    let mut shared = Shared::of(&map);
    let mut claimant = RunDirClaim::new(&mut shared, &theirs, &bravo).unwrap();
    expect(claimant.join().unwrap_err(), &map);
    map.borrow_mut().nodes.remove(MARKER_PATH);
    let error = claimant.join().unwrap_err();
    assert!(error.reason.contains("was removed meanwhile"), "{error}");
}

/// Two clients of a run claim a new directory at the same moment.
#[test]
fn clients_that_mark_a_directory_at_the_same_moment_mark_it_as_shared() {
    let theirs = run("theirs");
    let (alpha, bravo) = (FakeWatch::of("alpha", None), FakeWatch::of("bravo", None));
    // One marker is written while the other client looks for it, and one is overwritten.
    let map = std::cell::RefCell::new(Map::with(&[("filermark.t/", "")]));
    let claim_as_alpha = |map: &mut Map| {
        super::super::claim(map, &theirs, false, &alpha).unwrap();
    };
    let mut shared = Shared::of(&map);
    shared.between = Some(&claim_as_alpha);
    super::super::claim(&mut shared, &theirs, false, &bravo).unwrap();
    assert_eq!(marker(&map.borrow()).process, bravo.this(), "written last");
    // The next read of that client, at the latest 5 s later.
    renew(&mut *map.borrow_mut(), &theirs, ClaimRole::Own, &alpha).unwrap();
    assert!(marker(&map.borrow()).shared);
    let by_alpha = Marker::new(&theirs, alpha.this(), "then".into()).text();
    let map = std::cell::RefCell::new(Map::with(&[("filermark.t/", "")]));
    let watch = CompetingRun {
        inner: FakeWatch::of("bravo", None),
        map: &map,
        text: by_alpha,
    };
    super::super::claim(&mut Shared::of(&map), &theirs, false, &watch).unwrap();
    let now = marker(&map.into_inner());
    assert!(now.shared && now.process == alpha.this(), "{now:?}");
}

/// Each reading of the clock is 4 s after the one before.
fn slow(host: &str) -> FakeWatch {
    FakeWatch {
        step: Duration::from_secs(4),
        ..FakeWatch::of(host, Some(false))
    }
}

fn at_work_with_much() -> Map {
    let mut map = at_work();
    for number in 10..80 {
        map.put(&format!("filermark.t/p000000/n0000{number}"), "");
    }
    map
}

/// Emptying takes long: meanwhile the run has its marker in the directory and renews it.
#[test]
fn a_take_over_is_seen_before_it_has_emptied_the_directory() {
    let mut map = at_work_with_much();
    take(&mut map, &slow("bravo")).unwrap();
    let seen = map.markers.iter().map(|bytes| match Marker::read(bytes) {
        MarkerText::Marker(marker) => *marker,
        other => panic!("{other:?}"),
    });
    let seen: Vec<Marker> = seen.collect();
    assert!(seen.iter().all(|marker| marker.run == "20260101-this"));
    assert!(
        seen.iter()
            .all(|m| m.state == State::Emptying && m.nonce == run("theirs").nonce())
    );
    assert!(
        seen.last().unwrap().heartbeat >= 5,
        "it is renewed: {seen:?}"
    );
    let now = marker(&map);
    assert_eq!((now.state, now.nonce), (State::Running, this_run().nonce()));
    // Releasing it may take as long.
    map.markers.clear();
    map.own("filermark.t/p000000", &this_run());
    for number in 10..80 {
        map.put(&format!("filermark.t/p000000/n0000{number}"), "");
    }
    super::super::release(&mut map, &this_run(), ReleaseScope::All, &slow("bravo")).unwrap();
    let first = map.markers.first().cloned();
    assert!(
        first.is_some() && first != map.markers.last().cloned(),
        "it is renewed"
    );
    assert!(map.nodes.is_empty());
}

#[test]
fn emptying_ends_when_another_run_has_taken_over_the_directory() {
    let theirs = Marker::new(
        &run("other"),
        Process::of("charlie", "system", "9 from 1"),
        "then".into(),
    );
    let mut map = at_work_with_much();
    map.intruder = Some((9, theirs.text()));
    let error = take(&mut map, &slow("bravo")).unwrap_err();
    assert!(
        error
            .reason
            .contains("taken over by run other (process 9 on host charlie"),
        "{error}"
    );
    assert!(
        map.has("filermark.t/p000000/n000079"),
        "nothing more is removed"
    );
    assert_eq!(marker(&map).run, "other");
    // Just before the end.
    let mut map = at_work();
    super::super::claim(
        &mut map,
        &this_run(),
        false,
        &FakeWatch::of("bravo", Some(false)),
    )
    .unwrap();
    map.intruder = Some((0, theirs.text()));
    let here = FakeWatch::of("bravo", None);
    let error = super::super::release(&mut map, &this_run(), ReleaseScope::All, &here).unwrap_err();
    assert!(error.reason.contains("taken over by run other"), "{error}");
    assert_eq!(marker(&map).run, "other", "its marker stays");
}

/// Simulated time in which another run takes over the directory at the same moment, after
/// the short waits for a marker.
struct CompetingRun<'a> {
    inner: FakeWatch,
    map: &'a std::cell::RefCell<Map>,
    text: String,
}

impl LeaseWatch for CompetingRun<'_> {
    fn pause(&self, time: Duration) -> bool {
        self.inner.pause(time);
        if time >= SETTLE {
            self.map.borrow_mut().put(MARKER_PATH, &self.text);
        }
        true
    }
    fn this(&self) -> Process {
        self.inner.this()
    }
    fn is_alive(&self, process: &Process) -> Option<bool> {
        self.inner.is_alive(process)
    }
    fn waiting(&self, sentence: &str) {
        self.inner.waiting(sentence);
    }
}

#[test]
fn of_two_runs_that_take_over_at_once_one_ends_before_it_removes_anything() {
    let map = std::cell::RefCell::new(at_work());
    let rival = Process::of("charlie", "system", "9 from 1");
    let watch = CompetingRun {
        inner: FakeWatch::of("bravo", Some(false)),
        map: &map,
        text: Marker::new(&run("other"), rival, "then".into()).text(),
    };
    let claimed = super::super::claim(&mut Shared::of(&map), &this_run(), false, &watch);
    let error = claimed.unwrap_err();
    assert!(
        error
            .reason
            .contains("at the same moment it was claimed by run other"),
        "{error}"
    );
    let map = map.into_inner();
    assert!(map.has("filermark.t/p000000/n000001"));
    assert_eq!(marker(&map).run, "other");
}

#[test]
fn of_two_runs_that_mark_an_empty_directory_at_once_one_ends() {
    let map = std::cell::RefCell::new(Map::with(&[("filermark.t/", "")]));
    let rival = Process::of("charlie", "system", "9 from 1");
    let watch = CompetingRun {
        inner: FakeWatch::of("bravo", Some(true)),
        map: &map,
        text: Marker::new(&run("other"), rival, "then".into()).text(),
    };
    let claimed = super::super::claim(&mut Shared::of(&map), &this_run(), false, &watch);
    let reason = claimed.unwrap_err().reason;
    assert!(
        reason.contains("at the same moment it was claimed by run other"),
        "{reason}"
    );
    assert_eq!(marker(&map.into_inner()).run, "other", "its marker stays");
}

/// Two clients of one run reach one directory by two names.
#[test]
fn a_client_waits_while_another_one_of_its_run_empties_the_directory() {
    let mut map = at_work();
    super::super::claim(
        &mut map,
        &this_run(),
        false,
        &FakeWatch::of("bravo", Some(false)),
    )
    .unwrap();
    let ready = marker(&map);
    let mut emptying = ready.clone();
    (emptying.state, emptying.nonce) = (State::Emptying, run("theirs").nonce());
    map.put(MARKER_PATH, &emptying.text());
    let map = std::cell::RefCell::new(map);
    let watch = CompetingRun {
        inner: FakeWatch::of("charlie", None),
        map: &map,
        text: ready.text(),
    };
    let claimed = super::super::claim(&mut Shared::of(&map), &this_run(), false, &watch).unwrap();
    assert_eq!(claimed.nonce, this_run().nonce());
}

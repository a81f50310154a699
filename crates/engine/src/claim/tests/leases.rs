//! The marker as a lease, in a world whose time is made up.

use super::map::{Map, Node, World};
use super::*;
use crate::claim::lease::{HEARTBEAT, Process, WATCH};
use crate::marker::Marker;

const MARKER_PATH: &str = "filermark.t/.filermark-owner";

/// A run of host toad at work in the directory.
fn at_work() -> Map {
    let mut map = Map::with(&[]);
    let toad = World::of("toad", None);
    super::super::claim(&mut map, &run("theirs"), false, &toad).unwrap();
    map.own("filermark.t/p000000", &run("theirs"));
    map.put("filermark.t/p000000/n000001", "at work");
    map
}

fn take(map: &mut Map, world: &World) -> Result<Emptied, DriverError> {
    super::super::claim(map, &this_run(), false, world).map(|claimed| claimed.emptied)
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

/// A world in which the other run renews its marker now and then.
struct Renewing<'a> {
    world: World,
    map: &'a std::cell::RefCell<Map>,
}

#[test]
fn a_run_under_way_is_refused_with_who_where_and_since_when() {
    let mut map = at_work();
    let here = World::of("toad2", Some(true));
    let error = take(&mut map, &here).unwrap_err();
    for part in [
        "in use by run theirs",
        "process 7 on host toad",
        "since 2",
        "UTC",
    ] {
        assert!(error.reason.contains(part), "{part} in {error}");
    }
    assert!(error.advice.contains("another suffix (-s)"), "{error}");
    assert_eq!(here.waited.get(), Duration::ZERO);
    assert!(map.has("filermark.t/p000000/n000001"));
    let error = super::super::release(&mut map, &run(""), Reach::Leftovers, &here).unwrap_err();
    assert!(error.reason.contains("in use by run theirs"), "{error}");
    assert!(map.has("filermark.t/p000000/n000001"));
}

#[test]
fn the_directory_of_a_dead_run_of_this_host_is_taken_over_at_once() {
    let mut map = at_work();
    let here = World::of("toad2", Some(false));
    assert_eq!(take(&mut map, &here).unwrap().removed_count, 2);
    assert_eq!(here.waited.get(), Duration::ZERO);
    assert_eq!(marker(&map).run, "20260101-this");
}

#[test]
fn a_heartbeat_that_stands_still_for_two_periods_is_that_of_a_dead_run() {
    const { assert!(WATCH.as_secs() > 2 * HEARTBEAT.as_secs()) };
    let mut map = at_work();
    let elsewhere = World::of("frog", None);
    assert_eq!(take(&mut map, &elsewhere).unwrap().removed_count, 2);
    assert!(elsewhere.waited.get() >= WATCH);
    let said = elsewhere.said.borrow().join("\n");
    for part in ["claimed by run theirs", "on host toad", "watched for 25 s"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

impl Watch for Renewing<'_> {
    fn pause(&self, time: Duration) -> bool {
        self.world.pause(time);
        if self.world.waited.get() == HEARTBEAT {
            let toad = World::of("toad", None);
            let mut map = self.map.borrow_mut();
            let renewed = renew(&mut *map, &run("theirs"), false, &toad);
            assert_eq!(renewed, Ok(Renewed::Done));
        }
        true
    }
    fn this(&self) -> Process {
        self.world.this()
    }
    fn is_alive(&self, process: &Process) -> Option<bool> {
        self.world.is_alive(process)
    }
    fn waiting(&self, sentence: &str) {
        self.world.waiting(sentence);
    }
}

/// The map in a cell, for two who are at it.
struct Shared<'a>(&'a std::cell::RefCell<Map>);

impl RunDirBackend for Shared<'_> {
    type Dir = String;
    type Listing = Vec<Entry>;
    fn place(&self) -> String {
        self.0.borrow().place()
    }
    fn find_run_dir(&mut self) -> Result<Found<String>, DriverError> {
        self.0.borrow_mut().find_run_dir()
    }
    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        self.0.borrow_mut().make_run_dir()
    }
    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        self.0.borrow_mut().remove_run_dir()
    }
    fn find_dir(&mut self, parent: &String, name: &str) -> Result<Found<String>, DriverError> {
        self.0.borrow_mut().find_dir(parent, name)
    }
    fn read_file(&mut self, dir: &String, name: &str) -> Result<FileFront, DriverError> {
        self.0.borrow_mut().read_file(dir, name)
    }
    fn write_file(&mut self, dir: &String, name: &str, text: &str) -> Result<(), DriverError> {
        self.0.borrow_mut().write_file(dir, name, text)
    }
    fn change_file(
        &mut self,
        dir: &String,
        name: &str,
        change: &mut dyn FnMut(FileFront) -> Option<String>,
    ) -> Result<(), DriverError> {
        self.0.borrow_mut().change_file(dir, name, change)
    }
    fn list(&mut self, dir: &String) -> Result<Option<Vec<Entry>>, DriverError> {
        self.0.borrow_mut().list(dir)
    }
    fn next_entries(
        &mut self,
        listing: &mut Vec<Entry>,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        self.0.borrow_mut().next_entries(listing)
    }
    fn remove(
        &mut self,
        what: Removal,
        dir: &String,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        self.0.borrow_mut().remove(what, dir, names)
    }
}

#[test]
fn a_heartbeat_that_moves_is_that_of_a_run_under_way() {
    let map = std::cell::RefCell::new(at_work());
    let watch = Renewing {
        world: World::of("frog", None),
        map: &map,
    };
    let claimed = super::super::claim(&mut Shared(&map), &this_run(), false, &watch);
    let error = claimed.unwrap_err();
    assert!(error.reason.contains("in use by run theirs"), "{error}");
    assert_eq!(watch.world.waited.get(), HEARTBEAT, "no longer than needed");
    let map = map.into_inner();
    assert!(map.has("filermark.t/p000000/n000001"));
    assert_eq!(marker(&map).heartbeat, 1);
}

#[test]
fn only_the_writer_of_a_marker_renews_it() {
    let mut map = at_work();
    let (toad, frog) = (World::of("toad", None), World::of("frog", None));
    assert_eq!(
        renew(&mut map, &run("theirs"), false, &frog),
        Ok(Renewed::NotOurs)
    );
    assert_eq!(marker(&map).heartbeat, 0);
    assert_eq!(
        renew(&mut map, &run("theirs"), false, &toad),
        Ok(Renewed::Done)
    );
    let lost = renew(&mut map, &this_run(), false, &frog);
    assert!(matches!(lost, Ok(Renewed::Lost(who)) if who.contains("run theirs")));
    // KEEP=on: the files stay, and nobody has to wait for a run that is over.
    assert_eq!(
        renew(&mut map, &run("theirs"), true, &toad),
        Ok(Renewed::Done)
    );
    assert!(marker(&map).ended);
    assert!(take(&mut map, &World::of("frog", Some(true))).is_ok());
    map.nodes.clear();
    assert_eq!(
        renew(&mut map, &run("theirs"), false, &toad),
        Ok(Renewed::NotOurs)
    );
}

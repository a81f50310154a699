//! A file system in a map, and simulated time and processes.

use super::super::*;
use crate::marker::owner_text;
use crate::process::Process;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What a path below the directory of the mount point is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Dir,
    File(Vec<u8>),
    /// A directory of another file system.
    Mount,
    /// A link to a directory that the server shows as that directory.
    Through(&'static str),
}

/// Paths below the directory of the mount point.
#[derive(Default)]
pub(super) struct Map {
    pub nodes: BTreeMap<String, Node>,
    /// Entries in one part of a listing.
    part: usize,
    pub refuses_marker: bool,
    /// How many of the next reads of files fail.
    pub failing_reads: u32,
    /// Reads of files in directories with this ending fail.
    pub failing_reads_of: Option<&'static str>,
    /// How many of the next listings, lookups of directories and removals fail.
    pub failing_calls: u32,
    /// How many of the next parts of listings fail. The listing is at its end after that.
    pub failing_parts: u32,
    /// How many of the next writes of files fail.
    pub failing_writes: u32,
    /// The marker of another run that is there when a write has failed.
    pub faster: Option<String>,
    /// How many reads fail after the next write.
    pub failing_reads_then: u32,
    /// Whether the failures are transient.
    pub passing: bool,
    pub listings: i32,
    /// Every part of a listing is the first one.
    pub repeats_first_part: bool,
    /// Parts of listings that were returned.
    pub part_count: usize,
    /// Directories that cannot be removed though they are empty.
    pub pinned: Vec<&'static str>,
    /// What another run writes before the removal of such a directory fails: a path below
    /// it, and a text.
    pub meanwhile: Option<(&'static str, String)>,
    /// The marker as it was at each part of a listing.
    pub markers: Vec<Vec<u8>>,
    /// A marker that another run writes after this number of further parts of listings.
    pub intruder: Option<(usize, String)>,
}

pub(super) const RUN_DIR: &str = "filermark.t";

impl Map {
    /// With directories (a slash at the end) and files with a text.
    pub fn with(paths: &[(&str, &str)]) -> Self {
        let mut map = Self {
            part: 3,
            ..Self::default()
        };
        for (path, text) in paths {
            map.put(path, text);
        }
        map
    }

    /// Fails as long as failures are left.
    fn fail(left: &mut u32) -> Result<(), DriverError> {
        match left.checked_sub(1) {
            None => Ok(()),
            Some(rest) => {
                *left = rest;
                Err(refusal("broken"))
            }
        }
    }

    pub fn put(&mut self, path: &str, text: &str) {
        let node = match path.strip_suffix('/') {
            Some(_) => Node::Dir,
            None => Node::File(text.as_bytes().to_vec()),
        };
        self.nodes
            .insert(path.trim_end_matches('/').to_owned(), node);
    }

    /// Overwrites a part of an existing file.
    pub fn patch(&mut self, path: &str, patch: &Patch) {
        let Some(Node::File(bytes)) = self.nodes.get_mut(path) else {
            panic!("no file {path}");
        };
        let from = patch.offset as usize;
        let to = from + patch.bytes.len();
        bytes.resize(bytes.len().max(to), 0);
        bytes[from..to].copy_from_slice(&patch.bytes);
    }

    /// A directory as INIT of a run makes it, with its owner file.
    pub fn own(&mut self, path: &str, claim: &Claim) {
        self.nodes.insert(path.to_owned(), Node::Dir);
        let text = owner_text(path, &claim.nonce());
        self.put(&format!("{path}/{MARKER}"), &text);
    }

    pub fn has(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    fn write_meanwhile(&mut self) {
        if let Some((path, text)) = self.meanwhile.take() {
            self.put(path, &text);
        }
    }

    /// The target of a path, with links resolved.
    fn real(&self, path: &str) -> String {
        let mut real = String::new();
        for part in path.split('/') {
            if !real.is_empty() {
                real.push('/');
            }
            real.push_str(part);
            if let Some(Node::Through(target)) = self.nodes.get(&real) {
                real = (*target).to_owned();
            }
        }
        real
    }

    fn below(&self, dir: &str) -> Vec<Entry> {
        let prefix = format!("{}/", self.real(dir));
        let names = self.nodes.iter();
        let names = names.filter_map(|(path, node)| Some((path.strip_prefix(&prefix)?, node)));
        names
            .filter(|(name, _)| !name.contains('/'))
            .map(|(name, node)| Entry {
                name: name.as_bytes().to_vec(),
                kind: match node {
                    Node::File(bytes) if bytes == b"link" => EntryKind::Link,
                    Node::File(_) => EntryKind::File,
                    Node::Dir | Node::Mount | Node::Through(_) => EntryKind::Dir,
                },
            })
            .collect()
    }

    fn found(&self, path: String) -> DirLookup<String> {
        match self.nodes.get(&self.real(&path)) {
            None => DirLookup::Missing,
            Some(Node::Dir | Node::Through(_)) => DirLookup::Dir(path),
            Some(Node::Mount) => DirLookup::Other(OTHER_FILE_SYSTEM),
            Some(Node::File(_)) => DirLookup::Other(NOT_A_DIRECTORY),
        }
    }
}

impl RunDirBackend for Map {
    type Dir = String;
    type Listing = Vec<Entry>;

    fn place(&self) -> String {
        format!("map/{RUN_DIR}")
    }
    fn find_run_dir(&mut self) -> Result<DirLookup<String>, DriverError> {
        Ok(self.found(RUN_DIR.to_owned()))
    }
    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        Ok(self.nodes.insert(RUN_DIR.to_owned(), Node::Dir).is_none())
    }
    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        assert!(self.below(RUN_DIR).is_empty(), "{:?}", self.nodes);
        if self.pinned.contains(&RUN_DIR) {
            self.write_meanwhile();
            return Err(refusal("busy"));
        }
        self.nodes.remove(RUN_DIR);
        Ok(())
    }
    fn find_dir(&mut self, parent: &String, name: &str) -> Result<DirLookup<String>, DriverError> {
        Self::fail(&mut self.failing_calls)?;
        Ok(self.found(format!("{parent}/{name}")))
    }
    fn read_file(&mut self, dir: &String, name: &str) -> Result<FilePrefix, DriverError> {
        Self::fail(&mut self.failing_reads)?;
        if self.failing_reads_of.is_some_and(|end| dir.ends_with(end)) {
            return Err(refusal("broken"));
        }
        let path = self.real(&format!("{dir}/{name}"));
        Ok(match self.nodes.get(&path) {
            None => FilePrefix::Missing,
            Some(Node::File(bytes)) => FilePrefix::Bytes(bytes.clone()),
            Some(_) => FilePrefix::NoFile,
        })
    }
    fn write_file(&mut self, dir: &String, name: &str, text: &str) -> Result<(), DriverError> {
        if self.refuses_marker {
            return Err(refusal("full"));
        }
        if let Err(error) = Self::fail(&mut self.failing_writes) {
            if let Some(text) = self.faster.take() {
                self.put(&format!("{dir}/{name}"), &text);
            }
            return Err(error);
        }
        self.put(&format!("{dir}/{name}"), text);
        self.failing_reads += std::mem::take(&mut self.failing_reads_then);
        Ok(())
    }
    fn change_file(
        &mut self,
        dir: &String,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        let front = self.read_file(dir, name)?;
        if let Some(patch) = change(front) {
            self.patch(&format!("{dir}/{name}"), &patch);
        }
        Ok(())
    }
    fn list(&mut self, dir: &String) -> Result<Option<Vec<Entry>>, DriverError> {
        Self::fail(&mut self.failing_calls)?;
        if !self.has(&self.real(dir)) {
            return Ok(None);
        }
        self.listings += 1;
        let mut entries = self.below(dir);
        entries.reverse();
        Ok(Some(entries))
    }
    fn next_entries(
        &mut self,
        listing: &mut Vec<Entry>,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        let marker = format!("{RUN_DIR}/{MARKER}");
        if let Some(Node::File(bytes)) = self.nodes.get(&marker) {
            self.markers.push(bytes.clone());
        }
        match &mut self.intruder {
            Some((0, text)) => {
                let text = std::mem::take(text);
                self.intruder = None;
                self.put(&marker, &text);
            }
            Some((left, _)) => *left -= 1,
            None => {}
        }
        self.part_count += 1;
        if let Err(error) = Self::fail(&mut self.failing_parts) {
            listing.clear();
            return Err(error);
        }
        if self.repeats_first_part {
            return Ok(Some(listing.clone()));
        }
        if listing.is_empty() {
            return Ok(None);
        }
        let rest = listing.len().saturating_sub(self.part);
        Ok(Some(listing.split_off(rest)))
    }
    fn end_list(&mut self, _: Vec<Entry>) {
        self.listings -= 1;
    }
    fn remove(
        &mut self,
        what: Removal,
        dir: &String,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        if what == Removal::Dir {
            self.write_meanwhile();
        }
        // A part is done before the failure.
        let names = match self.failing_calls {
            0 => names,
            _ => &names[..1],
        };
        let became = names.iter().map(|name| {
            let path = format!("{}/{name}", self.real(dir));
            match (self.nodes.get(&path), what) {
                (None, _) => Removed::NotFound,
                (Some(Node::File(_)), Removal::File) => {
                    self.nodes.remove(&path);
                    Removed::Done
                }
                (Some(Node::Dir | Node::Through(_)), Removal::Dir)
                    if self.below(&path).is_empty() && !self.pinned.contains(&path.as_str()) =>
                {
                    self.nodes.remove(&path);
                    Removed::Done
                }
                _ => Removed::NotRemoved,
            }
        });
        let became = became.collect();
        Self::fail(&mut self.failing_calls)?;
        Ok(became)
    }
    fn may_pass(&self) -> bool {
        self.passing
    }
}

fn refusal(reason: &str) -> DriverError {
    DriverError {
        place: format!("map/{RUN_DIR}"),
        step: "test".into(),
        reason: reason.into(),
        advice: String::new(),
    }
}

/// Simulated time and processes: this process, and whether others run.
pub(super) struct FakeWatch {
    pub this: Process,
    pub alive: Option<bool>,
    pub waited: Cell<Duration>,
    pub messages: RefCell<Vec<String>>,
    /// Time that passes between two readings of the clock.
    pub step: Duration,
    pub looks: Cell<u32>,
}

impl FakeWatch {
    pub fn of(host: &str, alive: Option<bool>) -> Self {
        Self {
            this: Process::of(host, "system", "7 from 1"),
            alive,
            waited: Cell::default(),
            messages: RefCell::default(),
            step: Duration::ZERO,
            looks: Cell::default(),
        }
    }
}

impl LeaseWatch for FakeWatch {
    fn pause(&self, time: Duration) -> bool {
        self.waited.set(self.waited.get() + time);
        true
    }
    fn now(&self) -> Duration {
        self.looks.set(self.looks.get() + 1);
        self.waited.get() + self.step * self.looks.get()
    }
    fn this(&self) -> Process {
        self.this.clone()
    }
    fn is_alive(&self, _: &Process) -> Option<bool> {
        self.alive
    }
    fn waiting(&self, sentence: &str) {
        self.messages.borrow_mut().push(sentence.to_owned());
    }
}

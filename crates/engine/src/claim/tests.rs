//! The rules on a file system that is a map.

use super::*;
use crate::marker::marker_run;
use crate::name::NameKind;
use std::collections::BTreeMap;

/// Paths below the run's directory (the directory itself is the empty one), each with
/// what a file holds; `None`: a directory.
#[derive(Default)]
struct Map {
    nodes: BTreeMap<String, Option<Vec<u8>>>,
    /// Entries in one part of a listing.
    part: usize,
    refuses_marker: bool,
    listings: i32,
}

fn path(below: &[Name], name: Option<&Name>) -> String {
    let text = |n: &Name| String::from_utf8(n.text().as_bytes().to_vec()).unwrap();
    let parts: Vec<String> = below.iter().chain(name).map(text).collect();
    parts.join("/")
}

fn error(reason: &str) -> DriverError {
    DriverError {
        place: "map".into(),
        step: "test".into(),
        reason: reason.into(),
        advice: String::new(),
    }
}

impl Map {
    fn with(paths: &[(&str, Option<&str>)]) -> Self {
        let nodes = paths.iter().map(|(path, text)| {
            let bytes = text.map(|t| t.as_bytes().to_vec());
            ((*path).to_owned(), bytes)
        });
        Self {
            nodes: nodes.collect(),
            part: 3,
            ..Self::default()
        }
    }

    fn below(&self, dir: &str) -> Vec<Entry> {
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let names = self.nodes.iter().filter(|(path, _)| !path.is_empty());
        let names = names.filter_map(|(path, node)| Some((path.strip_prefix(&prefix)?, node)));
        names
            .filter(|(name, _)| !name.contains('/'))
            .map(|(name, node)| Entry {
                name: name.as_bytes().to_vec(),
                kind: match node {
                    Some(bytes) if bytes == b"link" => EntryKind::Link,
                    Some(_) => EntryKind::File,
                    None => EntryKind::Dir,
                },
            })
            .collect()
    }
}

impl Ground for Map {
    type Listing = Vec<Entry>;

    fn place(&self) -> String {
        "map/filermark.t".into()
    }
    fn find(&mut self) -> Result<Option<EntryKind>, DriverError> {
        Ok(self.nodes.get("").map(|node| match node {
            Some(_) => EntryKind::File,
            None => EntryKind::Dir,
        }))
    }
    fn make(&mut self) -> Result<bool, DriverError> {
        Ok(self.nodes.insert(String::new(), None).is_none())
    }
    fn remove(&mut self) -> Result<(), DriverError> {
        assert!(self.below("").is_empty(), "{:?}", self.nodes);
        self.nodes.remove("");
        Ok(())
    }
    fn read_marker(&mut self) -> Result<MarkerFile, DriverError> {
        Ok(match self.nodes.get(MARKER) {
            None => MarkerFile::Missing,
            Some(None) => MarkerFile::NoFile,
            Some(Some(bytes)) => MarkerFile::Bytes(bytes.clone()),
        })
    }
    fn write_marker(&mut self, text: &str) -> Result<(), DriverError> {
        if self.refuses_marker {
            return Err(error("full"));
        }
        let bytes = text.as_bytes().to_vec();
        self.nodes.insert(MARKER.to_owned(), Some(bytes));
        Ok(())
    }
    fn remove_marker(&mut self) -> Result<(), DriverError> {
        self.nodes.remove(MARKER);
        Ok(())
    }
    fn list(&mut self, below: &[Name]) -> Result<Option<Vec<Entry>>, DriverError> {
        let dir = path(below, None);
        if !self.nodes.contains_key(&dir) {
            return Ok(None);
        }
        self.listings += 1;
        let mut entries = self.below(&dir);
        entries.reverse();
        Ok(Some(entries))
    }
    fn next_entries(
        &mut self,
        listing: &mut Vec<Entry>,
    ) -> Result<Option<Vec<Entry>>, DriverError> {
        if listing.is_empty() {
            return Ok(None);
        }
        let rest = listing.len().saturating_sub(self.part);
        Ok(Some(listing.split_off(rest)))
    }
    fn end_list(&mut self, _: Vec<Entry>) {
        self.listings -= 1;
    }
    fn remove_names(
        &mut self,
        what: Removal,
        below: &[Name],
        names: &[Name],
    ) -> Result<Vec<Removed>, DriverError> {
        let became = names.iter().map(|name| {
            let path = path(below, Some(name));
            match (self.nodes.get(&path), what) {
                (None, _) => Removed::Gone,
                (Some(Some(_)), Removal::File) => {
                    self.nodes.remove(&path);
                    Removed::Done
                }
                (Some(None), Removal::Dir) if self.below(&path).is_empty() => {
                    self.nodes.remove(&path);
                    Removed::Done
                }
                _ => Removed::Stays,
            }
        });
        Ok(became.collect())
    }
}

fn this_run() -> Claim {
    Claim {
        dir_name: "filermark.t".into(),
        run_id: "20260101-this".into(),
    }
}

fn marker_of(run: &str) -> String {
    marker_text(&Claim {
        run_id: run.into(),
        ..this_run()
    })
}

fn owner(map: &Map) -> Option<String> {
    marker_run(map.nodes.get(MARKER)?.as_ref()?)
}

#[test]
fn a_directory_is_made_joined_and_given_back() {
    let mut map = Map::with(&[]);
    assert_eq!(claim(&mut map, &this_run()), Ok(Emptied::default()));
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
    map.nodes.insert("p000000".into(), None);
    assert_eq!(
        claim(&mut map, &this_run()),
        Ok(Emptied::default()),
        "joined"
    );
    assert!(map.nodes.contains_key("p000000"));
    let kept = release(&mut map, &this_run(), Reach::Rest).unwrap();
    assert_eq!(kept.removed_count, 0, "others are at work");
    let gone = release(&mut map, &this_run(), Reach::All).unwrap();
    assert_eq!((gone.removed_count, map.nodes.len()), (1, 0));
    assert_eq!(
        release(&mut map, &this_run(), Reach::All),
        Ok(Emptied::default())
    );
    assert_eq!(map.listings, 0, "every listing is ended");
}

#[test]
fn leftovers_go_and_foreign_names_stay() {
    let old = marker_of("20250101-old");
    let mut map = Map::with(&[
        ("", None),
        (MARKER, Some(&old)),
        ("p000000", None),
        ("p000000/d0000", None),
        ("p000000/d0000/f0000000001", Some("x")),
        ("p000000/d0000/thesis.doc", Some("mine")),
        ("p000000/l000001", Some("link")),
        // Names of ours that are something else than they say.
        ("p000000/m000001", Some("a file")),
        ("p000000/n000001", None),
        ("p000001", Some("link")),
        ("P000002", None),
    ]);
    for number in 0..100 {
        let name = Name::new(NameKind::Small, number + 50);
        map.nodes.insert(
            format!("p000000/{}", path(&[], Some(&name))),
            Some(Vec::new()),
        );
    }
    let emptied = claim(&mut map, &this_run()).unwrap();
    assert_eq!(emptied.removed_count, 102);
    let mut foreign = emptied.foreign.clone();
    foreign.sort();
    assert_eq!(
        foreign,
        [
            "filermark.t/P000002",
            "filermark.t/p000000/d0000/thesis.doc",
            "filermark.t/p000000/m000001",
            "filermark.t/p000000/n000001",
            "filermark.t/p000001",
        ]
    );
    assert_eq!(owner(&map).as_deref(), Some("20260101-this"));
    let released = release(&mut map, &this_run(), Reach::All).unwrap();
    assert_eq!(released.foreign.len(), 5);
    assert!(map.nodes.contains_key(MARKER), "the marker stays with them");
}

#[test]
fn what_is_not_ours_is_refused() {
    let other = marker_of("20250101-other");
    for (nodes, reason) in [
        (&[("", Some("file"))][..], "not a directory"),
        (&[("", None), (MARKER, Some("a diary"))], "not written by"),
        (&[("", None), (MARKER, None)], "not written by"),
        (&[("", None), ("p000000", None)], "is not empty (p000000)"),
    ] {
        let mut map = Map::with(nodes);
        let before = map.nodes.clone();
        let error = claim(&mut map, &this_run()).unwrap_err();
        assert!(error.reason.contains(reason), "{error}");
        assert!(release(&mut map, &this_run(), Reach::All).is_err());
        assert_eq!(map.nodes, before);
    }
    let mut map = Map::with(&[("", None), (MARKER, Some(&other)), ("p000000", None)]);
    for reach in [Reach::All, Reach::Rest, Reach::Leftovers] {
        let error = release(&mut map, &this_run(), reach).unwrap_err();
        assert!(error.reason.contains("20250101-other"), "{error}");
    }
    let early = Claim {
        run_id: "20250101-".into(),
        ..this_run()
    };
    assert!(release(&mut map, &early, Reach::Leftovers).is_ok());
    assert!(map.nodes.is_empty());
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in [
        "other",
        "filermark./../x",
        r"filermark.\..\x",
        "filermark.a:b",
        "filermark.\0",
    ] {
        let mut map = Map::with(&[]);
        let bad = Claim {
            dir_name: name.into(),
            ..this_run()
        };
        let error = claim(&mut map, &bad).unwrap_err();
        assert!(error.reason.contains("no name"), "{error}");
        assert!(release(&mut map, &bad, Reach::All).is_err());
    }
}

#[test]
fn a_claim_that_fails_leaves_nothing() {
    let mut map = Map::with(&[]);
    map.refuses_marker = true;
    assert!(claim(&mut map, &this_run()).is_err());
    assert!(map.nodes.is_empty());
    // One that was there before stays.
    let mut map = Map::with(&[("", None)]);
    map.refuses_marker = true;
    assert!(claim(&mut map, &this_run()).is_err());
    assert_eq!(map.nodes.len(), 1);
}

//! The contents of a directory of the host, before and after a run.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All objects below a directory, by relative path: type, contents or target, and time of change.
/// Links are not followed.
pub type Tree = BTreeMap<String, String>;

/// Reads a directory, without objects that disappear meanwhile: a run may still be removing its
/// files.
pub fn tree(top: &Path) -> Tree {
    let mut found = Tree::new();
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        let entries = match std::fs::read_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::NotFound && dir != top => continue,
            entries => entries.unwrap_or_else(|e| panic!("list {}: {e}", dir.display())),
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let meta = match path.symlink_metadata() {
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                meta => meta.expect("its attributes"),
            };
            let changed = format!("{}.{:09}", meta.mtime(), meta.mtime_nsec());
            let what = if meta.is_dir() {
                dirs.push(path.clone());
                // Runs make other files in a directory, which changes its time.
                "directory".to_owned()
            } else if meta.is_symlink() {
                match std::fs::read_link(&path) {
                    Err(e) if e.kind() == ErrorKind::NotFound => continue,
                    target => format!("{changed} -> {:?}", target.expect("a link")),
                }
            } else {
                match std::fs::read(&path) {
                    Err(e) if e.kind() == ErrorKind::NotFound => continue,
                    data => format!("{changed} {:?}", data.expect("a file")),
                }
            };
            let name = path.strip_prefix(top).expect("it is below");
            found.insert(name.display().to_string(), what);
        }
    }
    found
}

/// Puts foreign files into a directory; returns them, to be compared.
pub fn plant_foreign(top: &Path) -> Tree {
    std::fs::write(top.join("thesis.txt"), "ten years of work").expect("a file");
    std::fs::create_dir(top.join("CL0_SWBUILD")).expect("a directory");
    std::fs::write(top.join("CL0_SWBUILD/f0000000"), "looks like ours").expect("a file");
    std::os::unix::fs::symlink("thesis.txt", top.join("link")).expect("a link");
    tree(top)
}

/// The files of a run in a directory in addition to `before`, without their contents.
pub fn left_behind(top: &Path, before: &Tree) -> Vec<String> {
    let after = tree(top);
    let same = before
        .iter()
        .all(|(name, what)| after.get(name) == Some(what));
    assert!(same, "foreign files were touched: {before:?}\n{after:?}");
    let new = after.keys().filter(|name| !before.contains_key(*name));
    new.cloned().collect()
}

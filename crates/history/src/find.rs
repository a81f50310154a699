//! Finds run records in directories.

use std::path::{Path, PathBuf};

/// The end of a record's file name.
pub const RECORD_ENDING: &str = ".run.jsonl";
/// How deep directories are searched.
const DEPTH_MAX: usize = 16;
/// Most files and directories that are looked at.
const ENTRIES_MAX: usize = 1_000_000;

/// Records that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Their paths, by name.
    pub records: Vec<PathBuf>,
    /// What could not be read, a sentence each.
    pub problems: Vec<String>,
}

/// Finds the records in files and directories, and below them. A file is taken whatever its
/// name is; links to directories are not followed.
pub fn find(places: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let mut seen = 0;
    for place in places {
        match place.is_dir() {
            true => walk(place, 0, &mut seen, &mut found),
            false => found.records.push(place.clone()),
        }
    }
    found.records.sort();
    found.records.dedup();
    found
}

fn walk(dir: &Path, depth: usize, seen: &mut usize, found: &mut Found) {
    let problem = |why: String| format!("{}: {why}", dir.display());
    if depth > DEPTH_MAX {
        let why = format!("more than {DEPTH_MAX} directories deep; name it to search it");
        found.problems.push(problem(why));
        return;
    }
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) => return found.problems.push(problem(format!("cannot be read: {e}"))),
    };
    for entry in entries {
        *seen += 1;
        if *seen > ENTRIES_MAX {
            let why = format!("more than {ENTRIES_MAX} files; name smaller directories");
            found.problems.push(problem(why));
            return;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                found.problems.push(problem(format!("cannot be read: {e}")));
                return;
            }
        };
        // The type is that of the entry itself, not of what a link leads to.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = entry.path();
        if kind.is_dir() {
            walk(&path, depth + 1, seen, found);
        } else if entry.file_name().to_string_lossy().ends_with(RECORD_ENDING) && path.is_file() {
            found.records.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_below_directories_and_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let below = dir.path().join("a/b");
        std::fs::create_dir_all(&below).expect("directories");
        for name in ["z.run.jsonl", "a/x.run.jsonl", "a/b/y.run.jsonl", "a/other"] {
            std::fs::write(dir.path().join(name), "").expect("a file");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path(), below.join("loop")).expect("a link");
        let found = find(&[dir.path().to_owned(), dir.path().join("a/other")]);
        let names: Vec<_> = found
            .records
            .iter()
            .map(|p| p.strip_prefix(dir.path()).expect("below").to_owned())
            .collect();
        let wanted = ["a/b/y.run.jsonl", "a/other", "a/x.run.jsonl", "z.run.jsonl"];
        assert_eq!(names, wanted.map(PathBuf::from));
        assert!(found.problems.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_a_problem() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut deep = dir.path().to_owned();
        for _ in 0..=DEPTH_MAX {
            deep.push("d");
        }
        std::fs::create_dir_all(&deep).expect("directories");
        let found = find(&[dir.path().to_owned()]);
        assert!(
            found.problems[0].contains("16 directories deep"),
            "{found:?}"
        );
    }
}

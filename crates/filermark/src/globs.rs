//! Patterns of file names: a shell that does not expand them (in quotes, in a unit file, on
//! other systems) passes them as they are.

use std::path::{Component, Path, PathBuf};

#[cfg(test)]
mod tests;

/// The most files that a pattern may name.
const FILES_MAX: usize = 1_000;
/// The most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// The files that a name or a pattern (`*`, `?`, `[a-c]`) names, in the order of their names. A name
/// without such characters, or of a file that exists, is itself.
///
/// # Errors
/// The pattern matches no file, or more than [`FILES_MAX`].
pub fn expanded(given: &Path) -> Result<Vec<PathBuf>, String> {
    if !is_pattern(given) || given.symlink_metadata().is_ok() {
        return Ok(vec![given.to_owned()]);
    }
    let mut found = vec![PathBuf::new()];
    for component in given.components() {
        found = match component {
            Component::Normal(name) if is_pattern(Path::new(name)) => {
                let pattern: Vec<char> = name.to_string_lossy().chars().collect();
                let below = |dir: &PathBuf| children(dir, &pattern);
                found.iter().flat_map(below).collect()
            }
            other => found.iter().map(|dir| dir.join(other)).collect(),
        };
        if found.len() > FILES_MAX {
            return Err(format!(
                "{}: this pattern names more than {FILES_MAX} files; give a narrower one",
                given.display()
            ));
        }
    }
    found.retain(|path| path.exists());
    found.sort();
    match found.is_empty() {
        true => Err(format!(
            "{}: this pattern names no file; check the directory and the pattern",
            given.display()
        )),
        false => Ok(found),
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The entries of a directory that match; hidden ones only where the pattern begins with a dot.
fn children(dir: &Path, pattern: &[char]) -> Vec<PathBuf> {
    let place = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let is_match = |name: &str| {
        let name: Vec<char> = name.chars().collect();
        let is_hidden = name.first() == Some(&'.') && pattern.first() != Some(&'.');
        !is_hidden && matches(pattern, &name)
    };
    let names = entries.take(ENTRIES_MAX).flatten().map(|e| e.file_name());
    names
        .filter(|name| is_match(&name.to_string_lossy()))
        .map(|name| dir.join(name))
        .collect()
}

/// Whether a name matches: on a mismatch the last `*` takes one more character.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match one(&pattern[p..], name[n]) {
            Some(length) => {
                p += length;
                n += 1;
            }
            None => {
                let Some((after, taken)) = star else {
                    return false;
                };
                star = Some((after, taken + 1));
                p = after;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The length of the first element of a pattern, if it matches the character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match set(pattern) {
            Some((length, negated, members)) => {
                let is_in = members
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&c));
                (is_in != negated).then_some(length)
            }
            None => (c == '[').then_some(1),
        },
        other => (*other == c).then_some(1),
    }
}

/// A set: its length in the pattern, whether it is negated, its ranges.
type Set = (usize, bool, Vec<(char, char)>);

/// A set such as `[a-c1]` or `[!x]`; `None`: it has no end, so the bracket is a character.
fn set(pattern: &[char]) -> Option<Set> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let begin = 1 + usize::from(negated);
    let end = (begin + 1..pattern.len()).find(|at| pattern[*at] == ']')?;
    let (mut at, mut members) = (begin, Vec::new());
    while at < end {
        match pattern[at..end] {
            [low, '-', high, ..] => {
                members.push((low, high));
                at += 3;
            }
            [single, ..] => {
                members.push((single, single));
                at += 1;
            }
            [] => break,
        }
    }
    Some((end + 1, negated, members))
}

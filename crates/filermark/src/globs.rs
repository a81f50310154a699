//! Patterns of file names: a shell that does not expand them (in quotes, in a unit file, on
//! other systems) passes them as they are.

use glob::{MatchOptions, glob_with};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The most files that a pattern may name.
const FILES_MAX: usize = 1_000;
/// As in a shell: hidden files only where the pattern begins with a dot.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files that a name or a pattern (`*`, `?`, `[a-c]`) names, in the order of their names. A name
/// without such characters, or of a file that exists, is itself.
///
/// # Errors
/// It is no pattern, or matches no file, or more than [`FILES_MAX`].
pub fn expanded(given: &Path) -> Result<Vec<PathBuf>, String> {
    let text = given.to_string_lossy();
    if !text.contains(['*', '?', '[']) || given.symlink_metadata().is_ok() {
        return Ok(vec![given.to_owned()]);
    }
    let shown = given.display();
    let matching = glob_with(&text, OPTIONS)
        .map_err(|e| format!("{shown}: not a pattern: {e}; the characters are * ? [a-c]"))?;
    // A directory that cannot be read has no files. A read of a pipe could wait without end.
    let files = matching.flatten().filter(|path| path.is_file());
    let mut found: Vec<PathBuf> = files.take(FILES_MAX + 1).collect();
    found.sort();
    match found.len() {
        0 => Err(format!(
            "{shown}: this pattern names no file; check the directory and the pattern"
        )),
        1..=FILES_MAX => Ok(found),
        _ => Err(format!(
            "{shown}: this pattern names more than {FILES_MAX} files; give a narrower one"
        )),
    }
}

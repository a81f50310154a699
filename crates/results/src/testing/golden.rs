//! Golden files: reviewed earlier output of a test.

use std::path::Path;

/// Compares with the file `name` in `tests/golden` of a crate, or makes it with
/// `UPDATE_GOLDEN=1`. Names the first line that differs.
///
/// # Panics
/// The text differs, or the file cannot be read or written.
pub fn golden(crate_dir: &str, name: &str, text: &str) {
    let path = Path::new(crate_dir).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let golden = std::fs::read_to_string(&path);
    let golden = golden.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for (i, (new, old)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(new, old, "{name}, line {}", i + 1);
    }
    assert_eq!(text.len(), golden.len(), "{name}: another length");
}

//! Names in an archive. They are not trusted: unpacking an archive creates these files.

use filermark_model::text::sanitize;

/// Maximum length of a name, in bytes.
const NAME_LEN_MAX: usize = 255;

/// Maximum length of a name in a message, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// The end of the name of a signature.
pub const SIGNATURE_END: &str = ".minisig";

/// Checks that a name may be in an archive: it is relative, stays below the folder that
/// it is unpacked to, and works on every system and with `sha256sum`.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("the file has no name");
    }
    if name.len() > NAME_LEN_MAX {
        return Err("the name is longer than 255 bytes");
    }
    // Bidirectional marks are accepted: names in archives have them. Messages show names
    // sanitized.
    if name.chars().any(char::is_control) {
        return Err("the name has a control character");
    }
    if name.contains('\\') {
        return Err("the name has a backslash");
    }
    if name.starts_with('/') || name.as_bytes().get(1) == Some(&b':') {
        return Err("the name is absolute; it would be unpacked outside of its folder");
    }
    if name.ends_with('/') {
        return Err("the name is that of a folder");
    }
    let bad = |step: &str| step.is_empty() || step == "." || step == "..";
    if name.split('/').any(bad) {
        return Err(
            "the name has '..', '.' or '//' in it; it could be unpacked outside of its folder",
        );
    }
    Ok(())
}

/// A name for messages.
pub(crate) fn shown(name: &str) -> String {
    sanitize(name, SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stay_below_their_folder() {
        for good in [
            "a",
            "mine.run.jsonl",
            "client-logs.m/client_0.m",
            "ümlaut",
            "a b",
            "..a",
        ] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        let long = "x".repeat(256);
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a\\b",
            "C:x",
            "a\nb",
            "a\0",
            &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}

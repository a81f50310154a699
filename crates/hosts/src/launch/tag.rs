//! The tag of a run on the command lines of its agents, by which `stop` finds them.

use filermark_model::text::quoted;
use std::fmt;

/// Longest tag, in characters: the maximum of a SUFFIX.
const TAG_CHARS_MAX: usize = 64;

/// The run that an agent belongs to: its SUFFIX. It consists of letters, digits, `.`, `_` and
/// `-`, so it needs no quoting in a shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunTag(String);

impl RunTag {
    /// Checks a suffix.
    ///
    /// # Errors
    /// It is too long, or contains other characters.
    pub fn new(suffix: &str) -> Result<Self, String> {
        let ok = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if suffix.len() > TAG_CHARS_MAX || !suffix.chars().all(ok) {
            return Err(format!(
                "'{}' cannot name a run: use letters, digits, '.', '_' and '-', {TAG_CHARS_MAX} at most",
                quoted(suffix)
            ));
        }
        Ok(Self(suffix.to_owned()))
    }

    /// The suffix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name by which an agent of the run announces itself where no command lines are read
    /// (Windows).
    pub fn agent_purpose(&self) -> String {
        format!("agent-{}", self.0)
    }

    /// The arguments of an agent on its standard streams, after the program. `stop` searches
    /// for exactly these.
    pub fn agent_args(&self) -> [&str; 4] {
        ["agent", "--stdio", "--run", &self.0]
    }
}

impl fmt::Display for RunTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_tags_are_accepted() {
        for good in ["", "mine", "a.b_c-D9", "-x", &"x".repeat(64)] {
            assert_eq!(RunTag::new(good).unwrap().as_str(), good);
        }
        for bad in ["a b", "a;b", "$(x)", "a/b", "ä", "a\n", &"x".repeat(65)] {
            assert!(RunTag::new(bad).is_err(), "{bad}");
        }
    }
}

//! What an agent's command line says about its run, so that `stop` can tell agents
//! apart.

use filermark_model::text::quoted;
use std::fmt;

/// Longest tag, in characters: as long as a SUFFIX may be.
const TAG_CHARS_MAX: usize = 64;

/// The run that an agent belongs to: SUFFIX of the run. Made of letters, digits, `.`,
/// `_` and `-`, so that no shell sees anything in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunTag(String);

impl RunTag {
    /// Takes a suffix.
    ///
    /// # Errors
    /// It is too long, or has other characters.
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

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the command line of an agent that speaks over its standard streams has
    /// behind the program. `stop` looks for exactly this.
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
    fn only_harmless_tags_are_taken() {
        for good in ["", "mine", "a.b_c-D9", "-x", &"x".repeat(64)] {
            assert_eq!(RunTag::new(good).unwrap().as_str(), good);
        }
        for bad in ["a b", "a;b", "$(x)", "a/b", "ä", "a\n", &"x".repeat(65)] {
            assert!(RunTag::new(bad).is_err(), "{bad}");
        }
    }
}

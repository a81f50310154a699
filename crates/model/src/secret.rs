//! A secret, such as a password: it has no text form, is in no record, no plan that is
//! printed or hashed, and in no message of its own accord.

use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The environment variable that a password may come in. Programs that are started do
/// not get it.
pub const PASSWORD_VARIABLE: &str = "FILERMARK_PASSWORD";

/// A password. `Debug` shows that there is one, nothing else does anything with it;
/// serialization is left out on purpose: one is sealed before it is sent. Clones
/// share one copy in memory, which is overwritten when the last of them is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Option<Arc<Zeroizing<Box<str>>>>);

impl Secret {
    /// There is none.
    pub const NONE: Self = Self(None);

    /// This word.
    pub fn new(word: &str) -> Self {
        Self(Some(Arc::new(Zeroizing::new(word.into()))))
    }

    /// The word itself, for the one place that needs it.
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_ref().map(|word| &****word)
    }

    /// Whether there is one.
    pub const fn is_given(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_given() { "(given)" } else { "(none)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_not_in_what_can_be_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Secret::NONE), "(given) (none)");
        assert_eq!(secret.reveal(), Some("hunter2"));
    }
}

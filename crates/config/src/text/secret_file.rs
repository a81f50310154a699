//! Passwords outside of parameters: who can read a file, and the password in the environment.

use filermark_model::secret::{PASSWORD_VARIABLE, Secret};
use std::path::Path;

/// Whether users who are not the owner may read a file. `false` where that is not known.
pub(crate) fn others_can_read(path: &Path) -> bool {
    let access = std::fs::metadata(path).and_then(|meta| filermark_system::access(&meta));
    access.is_ok_and(|access| access.mode & 0o044 != 0)
}

/// The password in the environment.
pub(crate) fn password_of_environment() -> Secret {
    match std::env::var(PASSWORD_VARIABLE).map(zeroize::Zeroizing::new) {
        Ok(word) if !word.is_empty() => Secret::new(&word),
        _ => Secret::NONE,
    }
}

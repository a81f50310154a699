//! Passwords outside of parameters: who can read a file, and what the environment holds.

use filermark_model::secret::{PASSWORD_VARIABLE, Secret};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Whether a file lets users in who are not its owner. `false` where that cannot be told.
pub(crate) fn others_can_read(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o044 != 0)
}

/// The password that the environment holds.
pub(crate) fn password_of_environment() -> Secret {
    match std::env::var(PASSWORD_VARIABLE).map(zeroize::Zeroizing::new) {
        Ok(word) if !word.is_empty() => Secret::new(&word),
        _ => Secret::NONE,
    }
}

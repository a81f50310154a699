//! Passwords outside of parameters: the one in the environment.

use filermark_model::secret::{PASSWORD_VARIABLE, Secret};

/// The password in the environment.
pub(crate) fn password_of_environment() -> Secret {
    match std::env::var(PASSWORD_VARIABLE).map(zeroize::Zeroizing::new) {
        Ok(word) if !word.is_empty() => Secret::new(&word),
        _ => Secret::NONE,
    }
}

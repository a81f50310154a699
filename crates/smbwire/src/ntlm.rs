//! NTLMv2 (MS-NLMP) as a client: proves knowledge of the password and derives a key.
//!
//! | module | contents |
//! |---|---|
//! | `keys` | hashes, responses, keys and signatures |
//! | `message` | the three messages |
//! | `av` | facts that the server sends about itself, and what we add |
//!
//! Time and random bytes come from the caller. Passwords do not leave this module; `Debug` of
//! an [`Identity`] names the user only.

mod av;
mod client;
pub mod fuzzing;
mod keys;
mod message;
#[cfg(test)]
mod tests;

pub use client::{Anonymous, Client, Ntlm};
pub use message::Challenge;

use filermark_model::secret::Secret;
use std::fmt;

/// Who logs in, from where, to which server.
#[derive(Clone)]
pub struct Identity {
    /// The user: `user`, `DOMAIN\user` or `user@domain`.
    pub username: String,
    /// The password; none is an empty one, which guests have.
    pub password: Secret,
    /// The domain; empty: as the user's name says, else the server's own accounts.
    pub domain: String,
    /// Name of this machine, as the server may log it; may be empty.
    pub workstation: String,
    /// Host of the server as it was named; becomes the target `cifs/SERVER`.
    pub server: String,
    /// Random bytes, for this login only.
    pub random: [u8; 32],
    /// The time as a FILETIME (100 ns since 1601), for servers that do not send theirs; 0
    /// is accepted by nearly all of those.
    pub filetime: u64,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("username", &self.username)
            .field("domain", &self.domain)
            .field("password", &self.password)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// User and domain as they go over the wire: `DOMAIN\user` is taken apart, and
    /// `user@domain` goes as it is, without a domain (MS-NLMP 2.2.1.3).
    fn names(&self) -> (&str, &str) {
        if !self.domain.is_empty() {
            return (&self.username, &self.domain);
        }
        match self.username.split_once('\\') {
            Some((domain, user)) => (user, domain),
            None => (&self.username, ""),
        }
    }
}

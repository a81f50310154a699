//! Kerberos (RFC 4120, 4121) by the system's own GSS-API library, for all drivers: tickets of a user,
//! contexts with a server, signed and encrypted messages.
//!
//! The library is opened when Kerberos is first used, so that the program also runs without it. It reads
//! krb5.conf and the caches of tickets and sends requests to the KDC; its waits have its own limits (a
//! few seconds for each KDC that does not answer). What the messages are wrapped in, SPNEGO or
//! RPCSEC_GSS, is the business of the drivers.

mod gssapi;

use filermark_model::secret::Secret;
pub use gssapi::{
    Cause, Context, ContextUse, Credential, Failure, Filled, Library, Name, NoLibrary,
};
use std::sync::Arc;

/// Tickets of a user, to log in with as often as wanted.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<Credential>);

/// Why there are no tickets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketError {
    /// There is no library.
    NoLibrary(NoLibrary),
    /// A password is given, and no user.
    NoUser,
    /// No ticket of this user.
    NoTicket {
        /// The user; `None`: the owner of the cache.
        principal: Option<String>,
        /// Why.
        failure: Failure,
    },
}

impl Credentials {
    /// Those of a user: with a password from the KDC, at once and once only; without one from the
    /// caller's cache of tickets, which the library fills from the client's key table where there is one
    /// (KRB5_CLIENT_KTNAME). An empty user means the owner of the cache.
    ///
    /// # Errors
    /// There is no library, no ticket, no KDC, or the KDC refuses.
    pub fn obtain(username: &str, realm: &str, password: &Secret) -> Result<Self, TicketError> {
        let library = Library::open().map_err(TicketError::NoLibrary)?;
        let principal = principal(username, realm);
        let explain = |failure: Failure| TicketError::NoTicket {
            principal: principal.clone(),
            failure,
        };
        let name = principal.as_deref().map(|p| library.user(p)).transpose();
        let name = name.map_err(&explain)?;
        let credential = match (&name, password.reveal()) {
            (Some(name), Some(password)) => library.credential_with_password(name, password),
            (None, Some(_)) => return Err(TicketError::NoUser),
            (name, None) => library.credential(name.as_ref()),
        };
        let credential = credential.map_err(&explain)?;
        credential.check().map_err(&explain)?;
        Ok(Self(Arc::new(credential)))
    }

    /// The library's handle.
    pub fn credential(&self) -> &Credential {
        &self.0
    }
}

/// `user@REALM`; `None` without a user.
fn principal(username: &str, realm: &str) -> Option<String> {
    match (username, realm) {
        ("", _) => None,
        (user, "") => Some(user.to_owned()),
        (user, _) if user.contains('@') => Some(user.to_owned()),
        (user, realm) => Some(format!("{user}@{realm}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_are_put_together() {
        let of = |user, realm| principal(user, realm);
        assert_eq!(of("", "REALM"), None);
        assert_eq!(of("alice", "").as_deref(), Some("alice"));
        assert_eq!(of("alice", "REALM").as_deref(), Some("alice@REALM"));
        assert_eq!(of("alice@OTHER", "REALM").as_deref(), Some("alice@OTHER"));
    }

    #[test]
    fn a_password_without_a_user_is_an_error() {
        match Credentials::obtain("", "REALM", &Secret::new("hunter2")) {
            Err(TicketError::NoUser | TicketError::NoLibrary(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

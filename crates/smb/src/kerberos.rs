//! Kerberos (RFC 4120, 4121) by the system's own library: a mechanism of SPNEGO.
//!
//! The library is opened when Kerberos is first used, so that the program also runs
//! without it. It reads krb5.conf and the caches of tickets and sends requests to the KDC;
//! its waits have its own limits (a few seconds for each KDC that does not answer).
//! Tickets are shared by all sessions of a process: see [`Credentials`].

mod gssapi;

use filermark_model::secret::Secret;
use filermark_smbwire::auth::AuthError;
use filermark_smbwire::spnego::{Mech, Mechanism, Spnego};
use gssapi::{Context, Credential, Failure, Library, Name};
use std::net::IpAddr;
use std::sync::Arc;

/// Kerberos in SPNEGO, for one session.
pub type Kerberos = Spnego<Client>;

/// Tickets of a user, to log in with as often as wanted.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<Credential>);

impl Credentials {
    /// Those of a user: with a password from the KDC, at once and once only; without one
    /// from the caller's cache of tickets, where an empty user means the owner of the cache.
    ///
    /// # Errors
    /// There is no library, no ticket, no KDC, or the KDC refuses.
    pub fn obtain(username: &str, realm: &str, password: &Secret) -> Result<Self, AuthError> {
        let library = Library::open().map_err(AuthError::Library)?;
        let principal = principal(username, realm);
        let explain = |failure: Failure| {
            let advice = match password.is_given() {
                true => "check USERNAME, PASSWORD, DOMAIN (the realm) and krb5.conf",
                false => "get a ticket with kinit, or give USERNAME and PASSWORD",
            };
            let message = format!(
                "Kerberos: no ticket for {}: {failure}; {advice}",
                principal.as_deref().unwrap_or("the caller")
            );
            match failure.is_refusal() {
                true => AuthError::Refused(message),
                false => AuthError::Library(message),
            }
        };
        let name = principal.as_deref().map(|p| library.user(p)).transpose();
        let name = name.map_err(&explain)?;
        let credential = match (&name, password.reveal()) {
            (Some(name), Some(password)) => library.credential_with_password(name, password),
            (None, Some(_)) => {
                let reason = "Kerberos: a password is set, but no user; set USERNAME too";
                return Err(AuthError::Library(reason.into()));
            }
            (name, None) => library.credential(name.as_ref()),
        };
        let credential = credential.map_err(&explain)?;
        credential.check().map_err(&explain)?;
        Ok(Self(Arc::new(credential)))
    }

    /// Logs in to a server by its name, as its tickets are for: `cifs/SERVER`.
    ///
    /// # Errors
    /// The library does not take the name.
    pub fn authenticator(&self, server: &str) -> Result<Kerberos, AuthError> {
        let library = Library::open().map_err(AuthError::Library)?;
        let target = library
            .service(&format!("cifs@{server}"))
            .map_err(|failure| refused(server, &failure))?;
        Ok(Spnego::new(Client {
            credentials: self.clone(),
            server: server.to_owned(),
            target,
            context: library.context(),
            key: None,
            done: false,
        }))
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

fn refused(server: &str, failure: &Failure) -> AuthError {
    let advice = match server.parse::<IpAddr>() {
        Ok(_) => {
            "; tickets are issued for names: give the server's name instead of its address in MNT_POINTS"
        }
        Err(_) => "",
    };
    AuthError::Library(format!("Kerberos: cifs/{server}: {failure}{advice}"))
}

/// Kerberos without its wrapping.
#[derive(Debug)]
pub struct Client {
    credentials: Credentials,
    server: String,
    target: Name,
    context: Context,
    key: Option<SessionKey>,
    done: bool,
}

/// A session's key, which `Debug` does not show.
struct SessionKey(Vec<u8>);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(given)")
    }
}

impl Mechanism for Client {
    fn mechs(&self) -> &'static [Mech] {
        // Servers from Microsoft and Samba know both names and mean the same.
        &[Mech::Kerberos, Mech::MsKerberos]
    }

    fn name(&self) -> &'static str {
        "Kerberos"
    }

    fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, AuthError> {
        let explain = |failure: Failure| refused(&self.server, &failure);
        let (credential, target) = (&self.credentials.0, &self.target);
        let (answer, done) = self
            .context
            .step(credential, target, token)
            .map_err(explain)?;
        if done {
            self.key = Some(SessionKey(self.context.session_key().map_err(explain)?));
            self.done = true;
        }
        Ok(Some(answer).filter(|answer| !answer.is_empty()))
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn sign(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        self.context.sign(data).ok()
    }

    fn verify(&mut self, data: &[u8], mic: &[u8]) -> Option<bool> {
        Some(self.context.verify(data, mic).is_ok())
    }

    fn session_key(&self) -> Option<&[u8]> {
        self.key.as_ref().map(|key| &key.0[..])
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
    fn an_address_has_its_own_advice() {
        let failure = Failure::new("not found");
        let message = refused("192.0.2.1", &failure).to_string();
        assert!(message.contains("cifs/192.0.2.1: not found; tickets are issued for names"));
        assert!(!refused("server", &failure).to_string().contains("names"));
    }

    #[test]
    fn a_password_without_a_user_is_an_error() {
        match Credentials::obtain("", "REALM", &Secret::new("hunter2")) {
            Err(AuthError::Library(message)) => {
                assert!(
                    message.contains("USERNAME") || message.contains("install"),
                    "{message}"
                );
                assert!(!message.contains("hunter2"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

//! Kerberos (RFC 4120, 4121) by the system's own library: a mechanism of SPNEGO.
//!
//! Tickets are shared by all sessions of a process: see [`Credentials`].

use filermark_gss::{Context, ContextUse, Failure, Library, Name, NoLibrary, TicketError};
use filermark_model::secret::Secret;
use filermark_smbwire::auth::AuthError;
use filermark_smbwire::spnego::{Mech, Mechanism, Spnego};
use std::net::IpAddr;

/// Kerberos in SPNEGO, for one session.
pub type Kerberos = Spnego<Client>;

/// Tickets of a user, to log in with as often as wanted.
#[derive(Clone, Debug)]
pub struct Credentials(filermark_gss::Credentials);

impl Credentials {
    /// Those of a user, as [`filermark_gss::Credentials::obtain`] gets them.
    ///
    /// # Errors
    /// There is no library, no ticket, no KDC, or the KDC refuses.
    pub fn obtain(username: &str, realm: &str, password: &Secret) -> Result<Self, AuthError> {
        let obtained = filermark_gss::Credentials::obtain(username, realm, password);
        obtained
            .map(Self)
            .map_err(|error| no_ticket(error, password.is_given()))
    }

    /// Logs in to a server by its name, as its tickets are for: `cifs/SERVER`.
    ///
    /// # Errors
    /// The library does not take the name.
    pub fn authenticator(&self, server: &str) -> Result<Kerberos, AuthError> {
        let library = Library::open().map_err(|error| AuthError::Library(without(&error)))?;
        let target = library
            .service(&format!("cifs@{server}"))
            .map_err(|failure| refused(server, &failure))?;
        Ok(Spnego::new(Client {
            credentials: self.clone(),
            server: server.to_owned(),
            target,
            context: library.context(ContextUse::Login),
            key: None,
            done: false,
        }))
    }
}

/// The error for tickets that were not obtained, with a password or without.
fn no_ticket(error: TicketError, has_password: bool) -> AuthError {
    match error {
        TicketError::NoLibrary(error) => AuthError::Library(without(&error)),
        TicketError::NoUser => AuthError::Library(
            "Kerberos: a password is set, but no user; set USERNAME too".to_owned(),
        ),
        TicketError::NoTicket { principal, failure } => {
            let advice = match has_password {
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
        }
    }
}

/// What is possible without the library.
fn without(error: &NoLibrary) -> String {
    match error {
        NoLibrary::Static | NoLibrary::Windows => {
            format!("{error}; NTLM with a password works here (SMB_AUTH=ntlm)")
        }
        NoLibrary::NotFound(_) => error.to_string(),
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
        let (credential, target) = (self.credentials.0.credential(), &self.target);
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
        self.context.sign(data).ok().map(|mic| mic.bytes().to_vec())
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
                    message.contains("USERNAME") || Library::open().is_err(),
                    "{message}"
                );
                assert!(!message.contains("hunter2"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

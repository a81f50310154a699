//! The interface between a session's setup and the authentication of the user: NTLM in this
//! crate, Kerberos where the system's library is.

/// Authenticates the user, step by step, in SPNEGO tokens (RFC 4178).
pub trait Authenticator: Send {
    /// Takes the server's token (the one of NEGOTIATE, perhaps empty, first) and gives ours.
    ///
    /// # Errors
    /// The token is malformed, or the exchange cannot continue.
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError>;

    /// The key of the session, once it is proved; `None` for an anonymous one. 16 bytes
    /// for NTLM, as long as the ticket's key for Kerberos.
    fn session_key(&self) -> Option<&[u8]>;

    /// Whether the user is anonymous: such a session is never signed.
    fn is_anonymous(&self) -> bool {
        false
    }
}

/// Why a user cannot be authenticated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The server's token is malformed or unexpected.
    #[error("security token of the server: {0}")]
    Token(&'static str),
    /// There is no mechanism that both sides have.
    #[error("the server does not offer {wanted} for the login; it offers {offered}")]
    Mechanism {
        /// What was wanted: `NTLM`.
        wanted: &'static str,
        /// What it offers.
        offered: String,
    },
    /// An error of the system's library, in its words.
    #[error("{0}")]
    Library(String),
    /// The user is refused, in the library's words.
    #[error("{0}")]
    Refused(String),
}

//! The contract between a session's setup and whoever proves the user: NTLM here,
//! Kerberos where the system's library is.

/// Proves who the user is, step by step, in SPNEGO tokens (RFC 4178).
pub trait Authenticator: Send {
    /// Takes the server's token (the one of NEGOTIATE, perhaps empty, first) and gives ours.
    ///
    /// # Errors
    /// The token makes no sense, or there is no way to go on.
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError>;

    /// The key of the session, once it is proved; `None` for an anonymous one. 16 bytes
    /// for NTLM, as long as the ticket's key for Kerberos.
    fn session_key(&self) -> Option<&[u8]>;

    /// Whether the user is anonymous: such a session is never signed.
    fn is_anonymous(&self) -> bool {
        false
    }
}

/// Why a user cannot be proved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The server's token makes no sense.
    #[error("the server's security token: {0}")]
    Token(&'static str),
    /// There is no mechanism that both sides have.
    #[error(
        "the server offers none of the ways to log in that are wanted ({wanted}); it offers {offered}"
    )]
    Mechanism {
        /// What was wanted: `NTLM`.
        wanted: &'static str,
        /// What it offers.
        offered: String,
    },
    /// The system's library says why not.
    #[error("{0}")]
    Library(String),
    /// Somebody has looked at the user, and said no: in the library's words.
    #[error("{0}")]
    Refused(String),
}

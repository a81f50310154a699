//! What can be wrong with bytes, and with setting a session up.

use filermark_model::smb::Dialect;

/// Bytes that are no sound message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It ends before its time, or points outside of itself.
    #[error("the message is shorter than it says")]
    TooShort,
    /// A field has a value that it cannot have.
    #[error("{0} has a value that it cannot have")]
    Bad(&'static str),
    /// Its signature is not what the session's key gives.
    #[error("the signature is wrong")]
    Signature,
    /// It cannot be decrypted with the session's key.
    #[error("it cannot be decrypted")]
    Sealed,
}

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A reply makes no sense.
    #[error("{step}: {error}")]
    Reply {
        /// What was asked.
        step: &'static str,
        /// What is wrong.
        error: DecodeError,
    },
    /// The server refused a step.
    #[error("{step}: {}", crate::status::text(*status))]
    Refused {
        /// What was asked.
        step: &'static str,
        /// The server's NTSTATUS.
        status: u32,
    },
    /// Server and client have no dialect in common.
    #[error("the server takes none of the dialects that were offered")]
    NoDialect,
    /// It chose one that was not offered.
    #[error("the server chose a dialect that was not offered: {0:#06x}")]
    WrongDialect(u16),
    /// What is asked for, and the dialect or the server cannot.
    #[error("{wanted} is asked for, and {dialect} {lacks}")]
    Lacking {
        /// What is asked for: `signing with AES-GMAC`.
        wanted: &'static str,
        /// The dialect in use.
        dialect: Dialect,
        /// Why not: `has not got it`, `the server does not offer it`.
        lacks: &'static str,
    },
    /// The server requires what is switched off.
    #[error("the server requires {0}, which is switched off")]
    Requires(&'static str),
    /// The share is in a distributed file system and the server refers elsewhere.
    #[error(
        "the share is in a DFS tree, and the server refers elsewhere; name the share on the server that has it"
    )]
    Dfs,
    /// The user was let in as a guest, which nobody asked for.
    #[error("the server let the user in as a guest only: it does not know the name")]
    GuestOnly,
    /// The user could not be proved.
    #[error("{0}")]
    Auth(#[from] crate::auth::AuthError),
    /// Somebody has changed messages on their way (MS-SMB2 3.2.5.3.1, 3.2.5.5).
    #[error("{0}: the messages were changed on their way")]
    Tampered(&'static str),
}

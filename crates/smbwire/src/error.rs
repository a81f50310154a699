//! Errors of decoding, and of setting a session up.

use filermark_model::smb::Dialect;

/// Why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is truncated, or an offset points outside of it.
    #[error("the message is shorter than its lengths and offsets state")]
    TooShort,
    /// A field has a value that is not valid.
    #[error("{0} is not valid")]
    Bad(&'static str),
    /// Its signature is not what the session's key gives.
    #[error("the signature is wrong")]
    Signature,
    /// It cannot be decrypted with the session's key.
    #[error("the message cannot be decrypted")]
    Sealed,
}

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A reply is not valid.
    #[error("{step}: {error}")]
    Reply {
        /// The request.
        step: &'static str,
        /// What is wrong.
        error: DecodeError,
    },
    /// The server refused a step.
    #[error("{step}: {}", crate::status::text(*status))]
    Refused {
        /// The request.
        step: &'static str,
        /// The server's NTSTATUS.
        status: u32,
    },
    /// Server and client have no dialect in common.
    #[error("the server accepts none of the dialects that were offered")]
    NoDialect,
    /// It chose one that was not offered.
    #[error("the server chose a dialect that was not offered: {0:#06x}")]
    WrongDialect(u16),
    /// The settings require what the dialect or the server does not have.
    #[error("{wanted} cannot be used with {dialect}: {lacks}")]
    Lacking {
        /// What is required: `signing with AES-GMAC`.
        wanted: &'static str,
        /// The dialect in use.
        dialect: Dialect,
        /// Why not: `the dialect does not have it`, `the server does not offer it`.
        lacks: &'static str,
    },
    /// The server requires what is switched off in the settings.
    #[error("the server requires {0}, which is switched off")]
    Requires(&'static str),
    /// The connection cannot become another channel of a session (MS-SMB2 3.2.5.2, 3.2.5.3.3).
    #[error("the connection cannot be bound to the session: {0}")]
    Unbindable(&'static str),
    /// The share is in a distributed file system and the server refers to another one.
    #[error(
        "the share is in a DFS tree, and the server refers to another server; give the share on the server that has it"
    )]
    Dfs,
    /// The server logged the user in as a guest, and the settings do not permit that.
    #[error(
        "the server logged the user in as a guest: it does not know the name; check the user name"
    )]
    GuestOnly,
    /// The user could not be authenticated.
    #[error("{0}")]
    Auth(#[from] crate::auth::AuthError),
    /// Messages were changed on their way (MS-SMB2 3.2.5.3.1, 3.2.5.5).
    #[error("{0}: the messages were changed between client and server")]
    Tampered(&'static str),
}

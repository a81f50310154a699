//! What a session is to be: the same for SMB1 and SMB2.

use filermark_model::smb::{Dialect, Encryption, Signing};

/// What a session is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Lowest and highest dialect to offer.
    pub dialects: (Dialect, Dialect),
    /// Whether messages are signed.
    pub signing: Signing,
    /// Whether messages are encrypted.
    pub encryption: Encryption,
    /// Host of the server as it is named in the tree's path.
    pub server: String,
    /// Name of the share.
    pub share: String,
    /// A user let in as a guest is no failure (the plan asked for a guest).
    pub guest_allowed: bool,
    /// 16 bytes that identify this client (MS-SMB2 2.2.3 ClientGuid).
    pub client_guid: [u8; 16],
    /// Random bytes for this one handshake: salts, and the challenge of the client.
    pub random: [u8; 32],
}

/// How large the transfers of a session may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// READ.
    pub read_max: u32,
    /// WRITE.
    pub write_max: u32,
    /// Anything else.
    pub transact_max: u32,
}

/// How a handshake goes on.
#[derive(Debug)]
pub enum Next<S> {
    /// What was appended to the output is to be sent; the next message goes to `reply`.
    Send,
    /// Nothing to send yet; wait for another message (STATUS_PENDING).
    Pending,
    /// The session and its tree are there.
    Ready(Box<S>),
}

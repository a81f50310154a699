//! TLS 1.3 on a connection that begins in the clear, as RPC-with-TLS has it (RFC 9289): a request and
//! its answer, the handshake, then records.
//!
//! * [`Channel`] is the state of one connection, of a client or of a server: received bytes become
//!   plaintext in place, plaintext becomes bytes to send. It uses no socket.
//! * [`ClientFiles`] and [`ServerFiles`] read certificates and keys from PEM files.
//! * [`ClientTls`] and [`ServerTls`] are what connections of one server need.
//!
//! The handshake and all keys are `rustls`, the ciphers `ring`. The records of an open session are made
//! here (`channel::records`): the library would copy each byte once more, and allocate for each record.
//! There is no resumption: every connection has a whole handshake, so that connections cost the same.

mod channel;
mod error;
mod files;
#[cfg(feature = "testing")]
pub mod testing;

pub use channel::{Answer, Begun, Channel, HEADROOM, SCRATCH_MIN, StartRequest, plain_of};
pub use error::{FileError, TlsError};
pub use files::{ClientFiles, ClientTls, ServerFiles, ServerTls};

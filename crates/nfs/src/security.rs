//! RPCSEC_GSS (RFC 2203) with Kerberos, for the blocking client and for the load driver: how a context is
//! established, and how calls and replies are protected in it. Touches no socket.
//!
//! Calls are encoded as always, with any credential; `GssContext::protect` then replaces credential and
//! verifier of the record and protects its arguments. `GssContext::open` turns a reply into one without
//! protection, so that nothing else in this crate knows of it.

mod context;
mod error;
mod handshake;
mod window;

pub(crate) use context::{GssContext, lost_context};
pub use error::SecurityError;
pub(crate) use handshake::{Handshake, HandshakeStep};
pub(crate) use window::SequenceWindow;

use filermark_model::plan::{NfsPlan, NfsSecurity};
use filermark_onc::rpc::GssService;

/// How calls are protected, and whose tickets are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KerberosOptions {
    /// What is protected.
    pub service: GssService,
    /// The user; empty: the owner of the cache of tickets.
    pub username: String,
    /// The user's realm; empty: the system's default.
    pub realm: String,
    /// The server's name, as in its principal `nfs/NAME`.
    pub server: String,
}

impl KerberosOptions {
    /// Those of a plan for a server of this name; `None`: calls are not protected.
    pub fn of(plan: &NfsPlan, server: &str) -> Option<Self> {
        let service = match plan.security {
            NfsSecurity::Sys => return None,
            NfsSecurity::Krb5 => GssService::None,
            NfsSecurity::Krb5i => GssService::Integrity,
            NfsSecurity::Krb5p => GssService::Privacy,
        };
        Some(Self {
            service,
            username: plan.username.clone(),
            realm: plan.realm.clone(),
            server: server.to_owned(),
        })
    }
}

//! The blocking side of the SMB client: one request, one reply.
//!
//! For everything that is not load: claiming and clearing directories, looking at servers
//! before a run, and the protocol checks of the validator. It allocates and blocks
//! freely, so no measured operation may go through here; that is the driver's business.
//!
//! | module | contents |
//! |---|---|
//! | `connect` | from a mount point to a session |
//! | `offered` | which dialects a server has, if it accepts none of ours |
//! | `files`, `requests` | files, by requests that both protocols have |
//! | `purpose`, `facts` | what they are opened for; what servers are |
//! | `raw` | requests and replies as they are on the wire |
//! | `wire` | the connection |
//! | `advice` | reasons of failures, and advice |

pub(crate) mod advice;
mod connect;
mod error;
mod facts;
mod files;
mod offered;
mod purpose;
pub mod raw;
mod requests;
mod wire;

pub use connect::try_connection;
pub(crate) use connect::{ConnectError, session_at};
pub use error::{ClientError, Failure, NOT_THERE};
pub use files::{Entry, File, Files, Listing, OpenFor, RemoveTarget, Space};
pub use offered::{dialects_offered, names_of};

use crate::login::LoginRefusals;
use crate::target::Target;
use filermark_engine::driver::DriverError;
use filermark_model::plan::SmbPlan;
use filermark_smbwire::settings::TransferLimits;
use raw::{Raw, RawSmb1, RawSmb2};
use std::net::SocketAddr;

/// A session on a share.
#[derive(Debug)]
pub struct Client {
    raw: Raw,
}

impl Client {
    /// Connects to a mount point's server, logs in and connects to the share; also returns
    /// which of the server's addresses it uses. Once the server has refused the user, no
    /// login that shares `refusals` tries again.
    ///
    /// # Errors
    /// Unreachable, refused, no dialect in common (with those that the server has), no
    /// such share.
    pub fn connect(
        target: &Target,
        plan: &SmbPlan,
        refusals: &LoginRefusals,
    ) -> Result<(Self, SocketAddr), DriverError> {
        let (raw, address) = connect::connect(target, plan, refusals)?;
        Ok((Self { raw }, address))
    }

    /// Of a session that [`session_at`] has set up.
    pub(crate) const fn of(raw: Raw) -> Self {
        Self { raw }
    }

    /// Files, by whichever protocol the session speaks.
    pub fn files(&mut self) -> &mut dyn Files {
        match &mut self.raw {
            Raw::Smb1(raw) => raw,
            Raw::Smb2(raw) => raw,
        }
    }

    /// Requests and replies as they are.
    pub const fn raw(&mut self) -> &mut Raw {
        &mut self.raw
    }

    /// The same, where the session speaks SMB1.
    pub const fn smb1(&mut self) -> Option<&mut RawSmb1> {
        match &mut self.raw {
            Raw::Smb1(raw) => Some(raw),
            Raw::Smb2(_) => None,
        }
    }

    /// The same, where it speaks SMB2 or 3.
    pub const fn smb2(&mut self) -> Option<&mut RawSmb2> {
        match &mut self.raw {
            Raw::Smb1(_) => None,
            Raw::Smb2(raw) => Some(raw),
        }
    }

    /// How large transfers may be.
    pub const fn limits(&self) -> TransferLimits {
        match &self.raw {
            Raw::Smb1(raw) => raw.session().limits,
            Raw::Smb2(raw) => raw.session().limits,
        }
    }
}

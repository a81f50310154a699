//! NFSv4 without sockets: the session between a client and a server (RFC 8881 sections 2.4 and 2.10), or in
//! version 4.0 its client ID (RFC 7530 section 9.1).
//!
//! A [`ClientIdentity`] and a [`SessionRequest`] make a [`SessionSetup`], which writes the calls
//! EXCHANGE_ID, CREATE_SESSION and RECLAIM_COMPLETE and reads their answers until there is a [`Session`].
//! That has the limits that the server granted and the slots; every other COMPOUND begins with what
//! [`Session::sequence`] returns. [`SessionEnd`] writes DESTROY_SESSION and DESTROY_CLIENTID. Nothing here
//! has a clock or waits: who calls gets the time to wait. The blocking client and the load driver share it.
//! The minor version is a part of the [`SessionRequest`]. 4.1 and 4.2 are alike; with 4.0 the set-up is SETCLIENTID
//! and SETCLIENTID_CONFIRM, and nothing ends the client ID but its lease.

mod channel;
mod end;
mod identity;
mod refusal;
mod retry;
#[cfg(test)]
mod samples;
pub mod session;
mod setup;
mod slots;
mod wire;

pub use channel::{ChannelLimits, SessionRequest};
pub use end::{EndStep, SessionEnd};
pub use identity::{ClientIdentity, ServerIdentity};
pub use refusal::SessionRefusal;
pub use retry::{DELAY_FIRST, DELAY_LONGEST, RetryWaits};
pub use session::{SequenceOutcome, Session, StatusFlags};
pub use setup::{Established, LEASE_ASSUMED, SessionSetup, SetupStep};
pub use slots::{MAX_SLOTS, SlotTable};
pub use wire::{begin_compound, call_template};

//! The driver, the client and the claims against Samba.

mod channels;
mod check_list;
mod claim;
mod client;
mod corrupted;
mod driver;
mod failures;
mod raw;
mod reparse;
mod rig;
mod validation;

//! The driver, the client and the claims against Samba.

mod check_list;
mod claim;
mod client;
mod driver;
mod raw;
mod reparse;
mod rig;
mod spoilt;
mod trouble;
mod validation;

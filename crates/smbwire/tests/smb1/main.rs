//! SMB1 as its users see it: against Samba's smbd, with invalid bytes, and
//! what the hot path may not do.

mod allocations;
mod answers;
mod client;
mod files;
mod hostile;
mod login;
mod pieces;
mod requests;
mod sharing;
mod wire;

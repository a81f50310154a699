//! SMB2 and 3 as their users see them: against Samba's smbd, with invalid bytes,
//! and what the hot path may not do.

mod allocations;
mod answers;
mod fake;
mod handshake;
mod handshake_refused;
mod hostile;
mod samba;
mod samba_files;
mod samba_users;
mod samba_waits;
mod wire;

//! All systems but Linux, by the standard library and `socket2`.

use socket2::Socket;
use std::io;
use std::sync::OnceLock;
use std::time::Instant;

/// The monotonic clock in ns, from the first call.
pub(crate) fn now_ns() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Nothing to ask for: replies that are held back leave later; by how much is measured.
pub(crate) const fn ask_for_precision() {}

/// A listening address may be used again at once, while earlier connections wait for stray packets.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub(crate) fn reuse_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}

/// Windows does so anyway; the option would let another process take the address.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) const fn reuse_address(_: &Socket) -> io::Result<()> {
    Ok(())
}

/// How many sockets may have one address where `threads` are wanted.
pub(crate) const fn sockets_of_an_address(threads: usize) -> usize {
    if cfg!(unix) { threads } else { 1 }
}

/// Several sockets may have one address. macOS and the BSDs do not spread the clients over them.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub(crate) fn share_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

/// Windows has no such option, and an address has one socket.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(crate) const fn share_address(_: &Socket) -> io::Result<()> {
    Ok(())
}

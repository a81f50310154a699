//! Linux.

use rustix::time::{ClockId, clock_gettime};
use socket2::Socket;
use std::io;
use std::num::NonZeroU64;

/// The priority (nice value) of threads that hold replies back.
const PRIORITY: i32 = -20;

/// The monotonic clock in ns.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}

/// Asks the system to wake this thread exactly when its timers expire, and before others that wait
/// for the processor. Where that is refused, replies that are held back leave later; by how much is
/// measured.
pub(crate) fn ask_for_precision() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // On Linux this is the thread's own priority.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
}

/// A listening address may be used again at once, while earlier connections wait for stray packets.
///
/// # Errors
/// The system's.
pub(crate) fn reuse_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}

/// How many sockets may have one address where `threads` are wanted.
pub(crate) const fn sockets_of_an_address(threads: usize) -> usize {
    threads
}

/// Several sockets may have one address: the kernel spreads the clients over them.
///
/// # Errors
/// The system's.
pub(crate) fn share_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

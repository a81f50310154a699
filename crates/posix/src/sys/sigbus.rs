//! What happens when the file behind a mapping shrinks, or its server cannot read
//! it: the system sends SIGBUS, and without a handler the whole program ends.
//!
//! While a [`Guard`] is alive, a fault in its range puts zero pages over the range
//! and is noted; the access then goes on, and the operation fails with EIO. Faults
//! elsewhere go where they went before.
#![allow(unsafe_code)] // A signal handler and the pages that it puts in place.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Once, OnceLock};

/// The range that this thread guards. `const`, and nothing to drop: reading it in a
/// signal handler runs no code of the library's.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    end: usize,
    hit: bool,
}

const NOTHING: Range = Range {
    start: 0,
    end: 0,
    hit: false,
};

thread_local! {
    static GUARDED: Cell<Range> = const { Cell::new(NOTHING) };
}

static INSTALL: Once = Once::new();
/// What was in charge of SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A guarded range, until it is dropped. One per thread at a time.
pub(super) struct Guard(());

impl Guard {
    /// Guards `len` bytes from `start`, both whole pages.
    pub(super) fn new(start: usize, len: usize) -> Self {
        INSTALL.call_once(install);
        GUARDED.set(Range {
            start,
            end: start.saturating_add(len),
            hit: false,
        });
        Self(())
    }

    /// Whether there was a fault in the range.
    pub(super) fn was_hit(&self) -> bool {
        GUARDED.get().hit
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDED.set(NOTHING);
    }
}

fn install() {
    // SAFETY: both structures are plain data, for which zeroes are a value, and live
    // through the calls; the handler has the signature that SA_SIGINFO asks for and
    // does only what is allowed in one: thread-local cells without destructors and
    // system calls.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before);
        let _ = BEFORE.set(before);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system hands over a siginfo of a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    let range = GUARDED.get();
    if (range.start..range.end).contains(&address) && cover(range) {
        GUARDED.set(Range { hit: true, ..range });
        return;
    }
    pass_on(signal, info, context);
}

/// Puts zero pages over the range.
fn cover(range: Range) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    let start = range.start as *mut c_void;
    // SAFETY: the range is a mapping of ours that the guard was made for and that
    // only this thread, which stands in this handler, uses.
    unsafe { mmap_anonymous(start, range.end - range.start, prot, flags) }.is_ok()
}

/// Not ours: what was in charge before is again.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `before` came from the system; a handler with SA_SIGINFO has this
    // signature. Without one the old disposition is put back, and the access, tried
    // again on return, ends the program as it would have without us.
    unsafe {
        let Some(before) = BEFORE.get() else {
            libc::signal(signal, libc::SIG_DFL);
            return;
        };
        let has_handler =
            before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN;
        if has_handler && before.sa_flags & libc::SA_SIGINFO != 0 {
            type Handler = unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);
            let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
            handler(signal, info, context);
        } else {
            libc::sigaction(signal, before, std::ptr::null_mut());
        }
    }
}

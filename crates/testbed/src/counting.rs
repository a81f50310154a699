//! An allocator that counts, for tests of paths that must not allocate. The counts are
//! per thread: what a server's or helper's threads do does not disturb.
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: filermark_testbed::Counting = filermark_testbed::Counting;
//! ```
#![allow(
    unsafe_code,
    reason = "an allocator that counts is unsafe by its trait; the tests that use it are its tests"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count_one() {
    // While a thread ends, its counter may be gone already.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

impl Counting {
    /// Allocations of this thread so far, where this is the program's allocator.
    #[must_use]
    pub fn count() -> u64 {
        COUNT.with(Cell::get)
    }
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_one();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

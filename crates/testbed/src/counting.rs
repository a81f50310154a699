//! An allocator that counts, for tests of code that must not allocate. The counts are
//! per thread, so that threads of servers and helpers do not affect them.
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

/// The system's allocator, with a count of allocations.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count_one() {
    // The counter of a thread that is ending may not exist any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

impl Counting {
    /// Allocations of this thread so far, where this is the program's allocator.
    #[must_use]
    pub fn count() -> u64 {
        COUNT.with(Cell::get)
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_one();
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

//! Counts allocations, and the bytes that are allocated.
#![allow(unsafe_code)] // GlobalAlloc is an unsafe trait.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The allocator of this program.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

static TAKEN_COUNT: AtomicU64 = AtomicU64::new(0);
static HELD_BYTES: AtomicI64 = AtomicI64::new(0);

struct Counting;

fn count(bytes: i64) {
    TAKEN_COUNT.fetch_add(1, Ordering::Relaxed);
    HELD_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Allocations so far, of all threads.
pub fn taken_count() -> u64 {
    TAKEN_COUNT.load(Ordering::Relaxed)
}

/// Bytes that are allocated now, as requested.
pub fn held_bytes() -> i64 {
    HELD_BYTES.load(Ordering::Relaxed)
}

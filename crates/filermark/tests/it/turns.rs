//! Who may run beside whom: a test that looks at rates and times runs alone,
//! the others beside each other.

use filermark_testbed::Pcap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::new(());

/// For a test whose figures other load would spoil.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For all others.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Tries a measurement whose figures the rest of the machine can spoil, three times
/// at most; `Err` says what was off.
#[track_caller]
pub fn patiently(mut measure: impl FnMut() -> Result<(), String>) {
    let mut off = Vec::new();
    for _ in 0..3 {
        match measure() {
            Ok(()) => return,
            Err(why) => off.push(why),
        }
    }
    panic!("three times off: {off:#?}");
}

/// For [`patiently`]: `Err` when packets came too fast for the capture, which says nothing
/// about whoever sent them.
pub fn whole(pcap: &Pcap) -> Result<(), String> {
    match pcap.dropped() {
        0 => Ok(()),
        lost => Err(format!("{lost} packets are not in the capture")),
    }
}

//! The processor's counter of time.
#![allow(unsafe_code)] // Reading it; nothing else is in here.

/// The counter, where one reading costs less than one of the system's clock and means the same on
/// all processors: the time stamp counter of x86-64, if the kernel itself uses it as its clock. The
/// kernel does not where the counter stops, changes its rate or differs between processors
/// (Documentation/virt/kvm/x86/timekeeping.rst).
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "portable")))]
pub(super) fn is_steady() -> bool {
    use std::sync::OnceLock;
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static STEADY: OnceLock<bool> = OnceLock::new();
    *STEADY.get_or_init(|| std::fs::read_to_string(SOURCE).is_ok_and(|name| name.trim() == "tsc"))
}

/// There is none that is known to be steady.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(feature = "portable"))))]
pub(super) fn is_steady() -> bool {
    false
}

/// Reads the counter, in its own unit.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "portable")))]
#[inline]
pub(super) fn read() -> u64 {
    // SAFETY: the instruction reads a register and has no other effect. Linux lets programs use it,
    // unless one forbids it to itself (prctl(2), PR_SET_TSC).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// There is none.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(feature = "portable"))))]
#[inline]
pub(super) fn read() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_counter_does_not_run_backwards() {
        let readings: Vec<u64> = (0..1_000).map(|_| read()).collect();
        assert!(!is_steady() || (readings.is_sorted() && readings[0] < readings[999]));
    }
}

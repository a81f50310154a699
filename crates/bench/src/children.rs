//! Processor time of ended child processes.
#![allow(unsafe_code)] // getrusage has no safe wrapper.

/// Processor time (user and system) of children that have ended and were waited for, in
/// nanoseconds. `/proc/self/stat` has it in ticks of 10 ms, the run time of a short program.
pub fn children_ns() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes one `rusage` through the pointer; all zeros are a valid `rusage`, too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::children_ns;

    #[test]
    fn a_child_of_less_than_a_tick_counts() {
        let before = children_ns();
        let ended = std::process::Command::new("true").status();
        assert!(ended.expect("true").success());
        assert!(children_ns() > before);
    }
}

//! The configured faults, and counts of requests.

use fuser::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

macro_rules! kinds {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// A kind of request that the kernel makes of the file system.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $(#[doc = $doc] $variant,)* }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// Its name in FUSE, in lower case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    Lookup = "lookup", "One component of a path; nothing is cached, so each use of a path has one for each component.";
    Getattr = "getattr", "stat and similar calls; one for each, after the lookups.";
    Setattr = "setattr", "chmod, chown, truncate, utimes.";
    Readlink = "readlink", "The target of a symbolic link.";
    Opendir = "opendir", "Opens a directory.";
    Readdir = "readdir", "Reads part of a directory; the last reply is empty.";
    Open = "open", "Opens a file that exists.";
    Create = "create", "Creates and opens a file.";
    Read = "read", "Reads by the page cache or, with direct_io, by the program.";
    Write = "write", "Every write, in parts of 1 MiB at most.";
    Fsync = "fsync", "fsync, fdatasync; and each write through O_SYNC.";
    Mkdir = "mkdir", "Creates a directory.";
    Unlink = "unlink", "Removes a name of a file.";
    Rmdir = "rmdir", "Removes a directory.";
    Rename = "rename", "Renames a file or directory.";
    Statfs = "statfs", "statfs, statvfs.";
    Access = "access", "access; also chdir.";
}

#[derive(Debug, Default)]
struct Rule {
    delay_ns: AtomicU64,
    /// Every n-th request fails; 0: none.
    every: AtomicU64,
    errno: AtomicI32,
    since_rule: AtomicU64,
    count: AtomicU64,
    failed: AtomicU64,
}

/// No limit of space.
const UNLIMITED: i64 = i64::MAX;

/// Shared by the file system's threads and the test.
#[derive(Debug)]
pub(super) struct Faults {
    rules: [Rule; Kind::ALL.len()],
    space_left: AtomicI64,
    forgets_writes: AtomicBool,
    no_delays: AtomicBool,
    asleep: Mutex<()>,
    wake: Condvar,
}

impl Faults {
    pub(super) fn new() -> Self {
        Self {
            rules: Default::default(),
            space_left: AtomicI64::new(UNLIMITED),
            forgets_writes: AtomicBool::new(false),
            no_delays: AtomicBool::new(false),
            asleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    fn rule(&self, kind: Kind) -> &Rule {
        &self.rules[kind as usize]
    }

    /// Counts a request, delays it, and returns the error if it must fail.
    pub(super) fn apply(&self, kind: Kind) -> Result<(), Errno> {
        let begun = Instant::now();
        let rule = self.rule(kind);
        rule.count.fetch_add(1, Ordering::Relaxed);
        let delay = Duration::from_nanos(rule.delay_ns.load(Ordering::Relaxed));
        if !delay.is_zero() {
            self.sleep_until(begun + delay);
        }
        let every = rule.every.load(Ordering::Relaxed);
        if every == 0 {
            return Ok(());
        }
        let number = rule.since_rule.fetch_add(1, Ordering::Relaxed) + 1;
        match number.is_multiple_of(every) {
            false => Ok(()),
            true => {
                rule.failed.fetch_add(1, Ordering::Relaxed);
                Err(Errno::from_i32(rule.errno.load(Ordering::Relaxed)))
            }
        }
    }

    fn sleep_until(&self, end: Instant) {
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.no_delays.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.wake.wait_timeout(asleep, left);
            (asleep, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn set_delay(&self, kind: Kind, delay: Duration) {
        let ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.rule(kind).delay_ns.store(ns, Ordering::Relaxed);
    }

    pub(super) fn set_error(&self, kind: Kind, every: u64, errno: i32) {
        let rule = self.rule(kind);
        rule.errno.store(errno, Ordering::Relaxed);
        rule.since_rule.store(0, Ordering::Relaxed);
        rule.every.store(every, Ordering::Relaxed);
    }

    pub(super) fn set_space(&self, bytes: Option<u64>) {
        let left = bytes.map_or(UNLIMITED, |bytes| i64::try_from(bytes).unwrap_or(UNLIMITED));
        self.space_left.store(left, Ordering::Relaxed);
    }

    pub(super) fn set_forgets_writes(&self, forgets: bool) {
        self.forgets_writes.store(forgets, Ordering::Relaxed);
    }

    /// Whether writes are only acknowledged.
    pub(super) fn forgets_writes(&self) -> bool {
        self.forgets_writes.load(Ordering::Relaxed)
    }

    /// Bytes that may still be written; `None`: no limit.
    pub(super) fn space(&self) -> Option<u64> {
        let left = self.space_left.load(Ordering::Relaxed);
        (left != UNLIMITED).then(|| u64::try_from(left).unwrap_or(0))
    }

    /// Takes space for a write, or refuses it.
    pub(super) fn take_space(&self, bytes: usize) -> Result<(), Errno> {
        let bytes = i64::try_from(bytes).unwrap_or(UNLIMITED);
        let taken = self
            .space_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
                UNLIMITED => Some(left),
                left if left >= bytes => Some(left - bytes),
                _ => None,
            });
        taken.map(|_| ()).map_err(|_| Errno::ENOSPC)
    }

    /// Ends all faults but [`Faults::end_delays`].
    pub(super) fn recover(&self) {
        for kind in Kind::ALL {
            self.set_delay(*kind, Duration::ZERO);
            self.set_error(*kind, 0, 0);
        }
        self.set_space(None);
        self.set_forgets_writes(false);
    }

    /// Ends all delays permanently, also those that are running.
    pub(super) fn end_delays(&self) {
        let _asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.no_delays.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    pub(super) fn counts(&self) -> BTreeMap<Kind, u64> {
        self.gather(|rule| &rule.count)
    }

    pub(super) fn failures(&self) -> BTreeMap<Kind, u64> {
        self.gather(|rule| &rule.failed)
    }

    fn gather(&self, figure: impl Fn(&Rule) -> &AtomicU64) -> BTreeMap<Kind, u64> {
        let of = |kind: &Kind| (*kind, figure(self.rule(*kind)).load(Ordering::Relaxed));
        Kind::ALL.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_request_after_the_rule_is_set_fails() {
        let faults = Faults::new();
        assert!(faults.apply(Kind::Read).is_ok());
        faults.set_error(Kind::Read, 3, 5);
        let results: Vec<bool> = (0..6).map(|_| faults.apply(Kind::Read).is_ok()).collect();
        assert_eq!(results, [true, true, false, true, true, false]);
        assert!(faults.apply(Kind::Write).is_ok());
        assert_eq!(faults.counts()[&Kind::Read], 7);
        assert_eq!(faults.failures()[&Kind::Read], 2);
        faults.recover();
        assert!((0..6).all(|_| faults.apply(Kind::Read).is_ok()));
    }

    #[test]
    fn space_is_used_up_and_recover_removes_the_limit() {
        let faults = Faults::new();
        faults.set_space(Some(100));
        assert!(faults.take_space(60).is_ok() && faults.take_space(60).is_err());
        assert!(faults.take_space(40).is_ok() && faults.take_space(1).is_err());
        assert_eq!(faults.space(), Some(0));
        faults.recover();
        assert!(faults.take_space(1 << 40).is_ok());
    }

    #[test]
    fn a_delay_lasts_its_time_and_can_be_ended() {
        let faults = std::sync::Arc::new(Faults::new());
        faults.set_delay(Kind::Getattr, Duration::from_millis(20));
        let begun = Instant::now();
        assert!(faults.apply(Kind::Getattr).is_ok());
        assert!(begun.elapsed() >= Duration::from_millis(20));
        faults.set_delay(Kind::Getattr, Duration::from_secs(3600));
        let same = std::sync::Arc::clone(&faults);
        let waiting = std::thread::spawn(move || same.apply(Kind::Getattr).is_ok());
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        faults.end_delays();
        assert!(waiting.join().expect("no panic"));
    }
}

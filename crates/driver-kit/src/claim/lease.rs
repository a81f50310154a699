//! The marker as a lease: whether the run that wrote it is still under way.
//!
//! No clock of another host is trusted. Where the marker's process is one of this very
//! system, the system says whether it lives. Else the heartbeat is watched for longer
//! than two of its periods, by the watcher's own clock: if it changes, the run is alive.

use super::backend::{Patch, RunDirBackend};
use super::{Claimant, DriverError, FileFront, Held, not_ours};
use crate::marker::{Marker, MarkerText, State};
use filermark_engine::name::MARKER;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a run renews its marker.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a heartbeat is watched before its run counts as dead: two periods, and room
/// for a slow one.
pub const WATCH: Duration = Duration::from_secs(25);
/// Between two looks at it.
const LOOK: Duration = Duration::from_secs(1);
/// Another client of the run renews the marker when its heartbeat has stood still for so
/// long: a period and a half. With [`OTHERS_LOOK`] that is within [`WATCH`].
pub const STAND_IN: Duration = Duration::from_secs(15);
/// How often those clients look that do not renew the marker.
pub const OTHERS_LOOK: Duration = Duration::from_secs(5);
/// How long nothing may have been seen of this run's marker before it may be another
/// run's: [`WATCH`], less the time for which a renewal by another client may have stood
/// there before it was seen.
pub const UNSEEN_MAX: Duration = WATCH.saturating_sub(OTHERS_LOOK);
/// Longest that another client of the run is waited for that empties the directory.
const EMPTYING_MAX: Duration = Duration::from_secs(900);

/// A process, as a marker names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its host.
    pub host: String,
    /// The running system that its number counts in: the boot, and the container.
    pub system: String,
    /// Its number.
    pub pid: u32,
    /// When it began, in the system's own units: numbers are given again.
    pub began: u64,
}

impl Process {
    /// From the words of a marker.
    pub fn of(host: &str, system: &str, number: &str) -> Self {
        let (pid, began) = number.split_once(" from ").unwrap_or((number, ""));
        Self {
            host: host.to_owned(),
            system: system.to_owned(),
            pid: pid.parse().unwrap_or(0),
            began: began.parse().unwrap_or(0),
        }
    }

    /// Its number and its beginning.
    pub(crate) fn number_text(&self) -> String {
        format!("{} from {}", self.pid, self.began)
    }

    /// This process.
    pub fn this() -> &'static Self {
        static THIS: OnceLock<Process> = OnceLock::new();
        THIS.get_or_init(|| {
            let pid = std::process::id();
            let host = rustix::system::uname();
            Self {
                host: host.nodename().to_string_lossy().into_owned(),
                system: system_name(),
                pid,
                began: began(pid).unwrap_or(0),
            }
        })
    }

    /// Whether it lives, where this system can tell.
    pub fn is_alive(&self) -> Option<bool> {
        let is_local = !self.system.is_empty() && self.system == Self::this().system;
        if !is_local {
            return None;
        }
        match began(self.pid) {
            Some(began) => Some(began == self.began),
            // A process of another user may be hidden (proc(5), hidepid): then its
            // heartbeat has to say.
            None => (!may_be_hidden(self.pid)).then_some(false),
        }
    }
}

/// Whether there may be a process of this number though it cannot be looked at.
fn may_be_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let asked = pid.map(rustix::process::test_kill_process);
    // A dead one that has not been waited for can be signalled, and be looked at.
    matches!(asked, Some(Err(e)) if e != rustix::io::Errno::SRCH)
}

/// The boot and the space of process numbers; empty where the system does not say it.
fn system_name() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        _ => String::new(),
    }
}

/// When a process began, in ticks since the boot (proc_pid_stat(5), field 22).
fn began(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // A process that has ended and was not waited for is dead.
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18)?.parse().ok())?
}

/// The time of day, for people.
pub fn utc_now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    utc_text(since.map_or(0, |since| since.as_secs()))
}

/// Seconds since 1970 as date and time of the Gregorian calendar.
fn utc_text(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let mut day = days;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (day, second) = (day + 1, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Time that has passed, by a clock of this host that cannot be set and that goes on while
/// the host is suspended: the leases of others' runs go by it.
pub fn now() -> Duration {
    Duration::from_nanos(filermark_engine::sys::since_boot().0)
}

/// What judging a lease needs of the world; tests have their own.
pub trait Watch {
    /// Waits; `false`: somebody wishes to stop.
    fn pause(&self, time: Duration) -> bool;

    /// Time that has passed: [`now`].
    fn now(&self) -> Duration {
        now()
    }

    /// This process.
    fn this(&self) -> Process {
        Process::this().clone()
    }

    /// Whether a process lives, where this system can tell.
    fn is_alive(&self, process: &Process) -> Option<bool> {
        process.is_alive()
    }

    /// It takes a while: for what, in one sentence.
    fn waiting(&self, sentence: &str);
}

/// The world as it is, with nobody to tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Watch for Plain {
    fn pause(&self, time: Duration) -> bool {
        filermark_engine::stopping::sleep(time);
        !filermark_engine::stopping::is_wished()
    }

    fn waiting(&self, sentence: &str) {
        tracing::info!(target: "filermark_engine::claim", "{sentence}");
    }
}

impl<B: RunDirBackend> Claimant<'_, B> {
    /// Waits until it is certain whether the run of a marker is over; an error if it is
    /// not.
    pub(super) fn until_over(
        &mut self,
        dir: &B::Dir,
        marker: &Marker,
        step: &str,
    ) -> Result<Held, DriverError> {
        // A process makes one run after the other.
        if marker.state == State::Ended || marker.process == self.watch.this() {
            return Ok(Held::Over);
        }
        match self.watch.is_alive(&marker.process) {
            // Other clients of the run may be at work, here or elsewhere.
            Some(false) if marker.shared => {}
            Some(false) => return Ok(Held::Over),
            Some(true) => return Err(self.in_use(step, marker)),
            None => {}
        }
        self.watch.waiting(&format!(
            "{}: it was claimed by {}; its heartbeat is watched for {} s to see whether that \
             run is still under way",
            self.backend.place(),
            marker.who(),
            WATCH.as_secs()
        ));
        let mut watched = Duration::ZERO;
        while watched < WATCH {
            if !self.watch.pause(LOOK) {
                return Err(
                    self.not_ours(step, "stopped while waiting for its heartbeat".to_owned())
                );
            }
            watched += LOOK;
            match self.marker(dir)? {
                super::Mark::Run(now) if now.run == self.claim.run_id => return Ok(Held::Joined),
                super::Mark::Run(now) if now.state == State::Ended => return Ok(Held::Over),
                super::Mark::Run(now) if *now == *marker => {}
                super::Mark::Run(now) => return Err(self.in_use(step, &now)),
                super::Mark::Missing | super::Mark::Cut | super::Mark::Foreign => {
                    return Ok(Held::Changed);
                }
            }
        }
        Ok(Held::Over)
    }

    /// Another client of this run empties the directory: waits until it has. The nonce
    /// that the run goes on with.
    pub(super) fn until_emptied(
        &mut self,
        dir: &B::Dir,
        step: &str,
    ) -> Result<Option<String>, DriverError> {
        let mut waited = Duration::ZERO;
        while waited < EMPTYING_MAX {
            match self.marker(dir)? {
                super::Mark::Run(now) if now.run != self.claim.run_id => return Ok(None),
                super::Mark::Run(now) if now.state != State::Emptying => {
                    return Ok(Some(now.nonce));
                }
                super::Mark::Run(_) => {}
                super::Mark::Missing | super::Mark::Cut | super::Mark::Foreign => return Ok(None),
            }
            if !self.watch.pause(LOOK) {
                break;
            }
            waited += LOOK;
        }
        let reason = "another client of this run has not emptied it yet".to_owned();
        Err(self.not_ours(step, reason))
    }

    fn in_use(&self, step: &str, marker: &Marker) -> DriverError {
        DriverError {
            place: self.backend.place(),
            step: step.to_owned(),
            reason: format!("it is in use by {}", marker.who()),
            advice: "choose another suffix (-s), or wait until that run is over".to_owned(),
        }
    }
}

/// Keeps the lease while a directory is being emptied, which may take long: the one who
/// does it renews the marker in between, and ends when it names another run.
pub(super) struct Keeper<'a, D> {
    dir: &'a D,
    /// Whose marker it is to be.
    run: String,
    /// Who renews it; `None`: `filermark stop` is at work, which does not renew.
    this: Option<Process>,
    watch: &'a dyn Watch,
    at: Duration,
}

impl<'a, D> Keeper<'a, D> {
    /// From now on.
    pub(super) fn of(dir: &'a D, run: &str, renews: bool, watch: &'a dyn Watch) -> Self {
        Self {
            dir,
            run: run.to_owned(),
            this: renews.then(|| watch.this()),
            watch,
            at: watch.now(),
        }
    }

    /// Renews the marker if it is time.
    ///
    /// # Errors
    /// As the backend's, and: another run has taken the directory over.
    pub(super) fn look<B: RunDirBackend<Dir = D>>(
        &mut self,
        backend: &mut B,
    ) -> Result<(), DriverError> {
        let now = self.watch.now();
        if now.saturating_sub(self.at) < HEARTBEAT {
            return Ok(());
        }
        self.at = now;
        let (run, this) = (&self.run, &self.this);
        let mut other = None;
        backend.change_file(self.dir, MARKER, &mut |front| {
            let FileFront::Bytes(bytes) = front else {
                return None;
            };
            let MarkerText::Marker(mut marker) = Marker::read(&bytes) else {
                return None;
            };
            if marker.run != *run {
                other = Some(marker.who());
                return None;
            }
            let before = marker.clone();
            marker.process = this.clone()?;
            marker.count_up();
            Patch::of_marker(&bytes, &before, &marker)
        })?;
        match other {
            None => Ok(()),
            Some(who) => Err(taken_over(
                backend.place(),
                "empty the run's directory",
                &who,
            )),
        }
    }
}

/// Another run has the directory by now.
pub(super) fn taken_over(place: String, step: &str, who: &str) -> DriverError {
    not_ours(place, step, format!("it was taken over by {who}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_written_as_a_date() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_827_696, "2000-02-29 12:34:56 UTC"),
            (1_795_395_309, "2026-11-23 00:55:09 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc_text(seconds), text);
        }
    }

    #[test]
    fn this_process_lives_and_others_are_told_apart() {
        let this = Process::this();
        assert_eq!(this.is_alive(), Some(true));
        let earlier = Process {
            began: this.began + 1,
            ..this.clone()
        };
        assert_eq!(
            earlier.is_alive(),
            Some(false),
            "its number was given again"
        );
        let elsewhere = Process {
            system: "another boot".to_owned(),
            ..this.clone()
        };
        assert_eq!(elsewhere.is_alive(), None);
    }
}

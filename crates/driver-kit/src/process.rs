//! Processes, as they are in markers, and the time of day.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// A process, as it is in a marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its host.
    pub host: String,
    /// The system that its number belongs to: the boot, and the container.
    pub system: String,
    /// Its number.
    pub pid: u32,
    /// When it began, in units of the system: process numbers are reused.
    pub began: u64,
}

impl Process {
    /// From the fields of a marker.
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
            Self {
                host: filermark_system::host_name(),
                system: system_name(),
                pid,
                began: began(pid).unwrap_or(0),
            }
        })
    }

    /// Whether it runs; `None`: this system cannot determine it.
    pub fn is_alive(&self) -> Option<bool> {
        let is_local = !self.system.is_empty() && self.system == Self::this().system;
        if !is_local {
            return None;
        }
        match began(self.pid) {
            Some(began) => Some(began == self.began),
            // A process of another user may be hidden (proc(5), hidepid): then the
            // heartbeat decides.
            None => (!filermark_system::may_be_hidden(self.pid)).then_some(false),
        }
    }
}

/// The boot and the namespace of process numbers; empty if the system does not have them.
fn system_name() -> String {
    let boot = filermark_system::read_proc("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        _ => String::new(),
    }
}

/// When a process began, in ticks since the boot (proc_pid_stat(5), field 22).
fn began(pid: u32) -> Option<u64> {
    let stat = filermark_system::read_proc(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // These states are those of a process that has ended.
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18)?.parse().ok())?
}

/// The time of day, for display.
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
    fn this_process_runs_and_others_are_distinguished() {
        // Without /proc nothing is known of any process.
        let known = |is_alive| cfg!(target_os = "linux").then_some(is_alive);
        let this = Process::this();
        assert_eq!(this.is_alive(), known(true));
        let earlier = Process {
            began: this.began + 1,
            ..this.clone()
        };
        assert_eq!(earlier.is_alive(), known(false), "its number was reused");
        let elsewhere = Process {
            system: "another boot".to_owned(),
            ..this.clone()
        };
        assert_eq!(elsewhere.is_alive(), None);
    }
}

//! What else the host does: two looks at all processes, a moment apart (Linux).

use crate::preflight::facts::{Busy, LoadFacts};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Between the two looks.
const MOMENT: Duration = Duration::from_millis(500);
/// Most processes that are looked at.
const PROCESSES_MAX: usize = 100_000;
/// The clock that processes are charged by ticks so often a second on every Linux
/// (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// A process: its name, and the ticks that it used so far.
type Charge = (String, u64);

/// Looks twice.
pub(super) fn look() -> LoadFacts {
    let (began, before) = (Instant::now(), charges());
    if before.is_empty() {
        return LoadFacts::default();
    }
    std::thread::sleep(MOMENT);
    let after = charges();
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let own = charge_in(&own).map_or(String::new(), |(_, (name, _))| name);
    compare(&before, &after, &own, began.elapsed())
}

/// What ran between two looks; what has our own name (the prime, other agents) is ours.
fn compare(
    before: &HashMap<u32, Charge>,
    after: &HashMap<u32, Charge>,
    own: &str,
    elapsed: Duration,
) -> LoadFacts {
    let ticks = TICKS_PER_S * elapsed.as_secs_f64().max(1e-3);
    let mut facts = LoadFacts::default();
    for (pid, (name, used)) in after {
        // What has come in between is charged with all that it used.
        let earlier = before.get(pid).filter(|(n, _)| n == name);
        let used = used.saturating_sub(earlier.map_or(0, |(_, used)| *used));
        if name == own || used == 0 {
            continue;
        }
        let percent = used as f64 / ticks * 100.0;
        facts.others_percent += percent;
        if facts.busiest.as_ref().is_none_or(|b| b.percent < percent) {
            facts.busiest = Some(Busy {
                name: name.clone(),
                pid: *pid,
                percent,
            });
        }
    }
    facts
}

fn charges() -> HashMap<u32, Charge> {
    let dirs = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = dirs.filter_map(|dir| dir.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        charge_in(&text)
    };
    pids.take(PROCESSES_MAX).filter_map(read).collect()
}

/// From a line of `/proc/PID/stat` (proc_pid_stat(5)). The name stands in parentheses
/// and may have anything in it.
fn charge_in(line: &str) -> Option<(u32, Charge)> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // utime and stime are fields 14 and 15; the one behind the name is field 3.
    let used = ticks(11)?.saturating_add(ticks(12)?);
    Some((pid.parse().ok()?, (name.to_owned(), used)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read() {
        let line = "42 (a) (b c) S 1 42 42 0 -1 4194560 1 2 3 4 70 30 0 0 20 0 1 0 5";
        assert_eq!(charge_in(line), Some((42, ("a) (b c".into(), 100))));
        for bad in ["", "42", "x (a) S 1", "42 (a) S 1 2 3"] {
            assert_eq!(charge_in(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_busiest_other_process_is_named() {
        let charges = |all: &[(u32, &str, u64)]| -> HashMap<u32, Charge> {
            let of = |(pid, name, used): &(u32, &str, u64)| (*pid, ((*name).to_owned(), *used));
            all.iter().map(of).collect()
        };
        let before = charges(&[
            (1, "init", 5),
            (2, "dd", 100),
            (3, "filermark", 0),
            (4, "old", 9),
        ]);
        let after = charges(&[
            (1, "init", 5),
            (2, "dd", 150),
            (3, "filermark", 80),
            (4, "new", 10),
        ]);
        let facts = compare(&before, &after, "filermark", Duration::from_secs(1));
        let busiest = facts.busiest.expect("dd");
        assert_eq!((busiest.name.as_str(), busiest.pid), ("dd", 2));
        assert!((busiest.percent - 50.0).abs() < 1e-9);
        assert!(
            (facts.others_percent - 60.0).abs() < 1e-9,
            "the new one counts"
        );
        let idle = compare(&after, &after, "filermark", Duration::from_secs(1));
        assert_eq!(idle, LoadFacts::default());
    }
}

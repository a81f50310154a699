//! Other load on the host: two snapshots of all processes, a short time apart (Linux).

use filermark_link::facts::{BusyProcess, LoadFacts};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time between the two snapshots.
const MOMENT: Duration = Duration::from_millis(500);
/// Processes that are read at most.
const PROCESSES_MAX: usize = 100_000;
/// Ticks per second of the processor times in /proc, on every Linux (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// The processor time of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CpuUse {
    name: String,
    /// Processor time, in ticks.
    used: u64,
    /// The start time, in ticks, which identifies the process if its number is reused. Its name
    /// may change (kernel threads show their work in it).
    started: u64,
}

/// Makes two snapshots.
pub(super) fn inspect() -> LoadFacts {
    let (began, before) = (Instant::now(), snapshot());
    if before.is_empty() {
        return LoadFacts::default();
    }
    std::thread::sleep(MOMENT);
    let after = snapshot();
    let own = filermark_system::read_proc("/proc/self/stat").unwrap_or_default();
    let own = parse_stat(&own).map_or(String::new(), |(_, cpu_use)| cpu_use.name);
    compare(&before, &after, &own, began.elapsed())
}

/// The processor time between two snapshots; processes with the name of this program (the
/// prime, other agents) are not counted.
fn compare(
    before: &HashMap<u32, CpuUse>,
    after: &HashMap<u32, CpuUse>,
    own: &str,
    elapsed: Duration,
) -> LoadFacts {
    let ticks = TICKS_PER_S * elapsed.as_secs_f64().max(1e-3);
    let mut facts = LoadFacts::default();
    for (pid, cpu_use) in after {
        // A process that was started in between counts with all of its time.
        let earlier = before.get(pid).filter(|c| c.started == cpu_use.started);
        let used = cpu_use.used.saturating_sub(earlier.map_or(0, |c| c.used));
        let name = &cpu_use.name;
        if name == own || used == 0 {
            continue;
        }
        let percent = used as f64 / ticks * 100.0;
        facts.others_percent += percent;
        if facts.busiest.as_ref().is_none_or(|b| b.percent < percent) {
            facts.busiest = Some(BusyProcess {
                name: name.clone(),
                pid: *pid,
                percent,
            });
        }
    }
    facts
}

fn snapshot() -> HashMap<u32, CpuUse> {
    let dirs = filermark_system::list_proc("/proc")
        .into_iter()
        .flatten()
        .flatten();
    let pids = dirs.filter_map(|dir| dir.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid| {
        let text = filermark_system::read_proc(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(&text)
    };
    pids.take(PROCESSES_MAX).filter_map(read).collect()
}

/// Parses a line of `/proc/PID/stat` (proc_pid_stat(5)). The name is in parentheses and may
/// contain any characters.
fn parse_stat(line: &str) -> Option<(u32, CpuUse)> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // utime, stime and starttime are fields 14, 15 and 22; the one after the name is field 3.
    let cpu_use = CpuUse {
        name: name.to_owned(),
        used: ticks(11)?.saturating_add(ticks(12)?),
        started: ticks(19)?,
    };
    Some((pid.parse().ok()?, cpu_use))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read() {
        let line = "42 (a) (b c) S 1 42 42 0 -1 4194560 1 2 3 4 70 30 0 0 20 0 1 0 5";
        assert_eq!(parse_stat(line), Some((42, cpu_use("a) (b c", 100, 5))));
        for bad in ["", "42", "x (a) S 1", "42 (a) S 1 2 3"] {
            assert_eq!(parse_stat(bad), None, "{bad}");
        }
    }

    fn cpu_use(name: &str, used: u64, started: u64) -> CpuUse {
        CpuUse {
            name: name.to_owned(),
            used,
            started,
        }
    }

    /// Processes that were started at the tick of their number.
    fn snapshot(all: &[(u32, &str, u64)]) -> HashMap<u32, CpuUse> {
        let of =
            |(pid, name, used): &(u32, &str, u64)| (*pid, cpu_use(name, *used, u64::from(*pid)));
        all.iter().map(of).collect()
    }

    /// An observed defect: a kernel thread was counted with all of its time since the host was
    /// started, 675 % of a core.
    #[test]
    fn a_process_that_changes_its_name_is_still_the_same() {
        let before = snapshot(&[(9, "kworker/u8:2-events", 100_000)]);
        let after = snapshot(&[(9, "kworker/u8:2-flush", 100_025)]);
        let facts = compare(&before, &after, "filermark", Duration::from_millis(500));
        let busiest = facts.busiest.expect("the thread");
        assert_eq!(
            (busiest.name.as_str(), busiest.percent),
            ("kworker/u8:2-flush", 50.0)
        );
        assert_eq!(facts.others_percent, 50.0);
    }

    #[test]
    fn the_busiest_other_process_is_named() {
        let before = snapshot(&[
            (1, "init", 5),
            (2, "dd", 100),
            (3, "filermark", 0),
            (4, "old", 9),
        ]);
        let mut after = snapshot(&[(1, "init", 5), (2, "dd", 150), (3, "filermark", 80)]);
        after.insert(4, cpu_use("new", 10, 99));
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

//! Linux counters of the time that a process did not get: stolen time
//! (`/proc/stat`), throttling (`cpu.stat` of its cgroups, version 1 and 2) and page
//! faults that waited for a disk (`/proc/self/stat`).

use crate::sys;
use filermark_model::stall::Stalls;
use std::path::PathBuf;

/// Which files are read.
#[derive(Debug)]
pub(super) struct HostCounters {
    /// `cpu.stat` of the process's cgroup and of those above it: each may throttle it.
    cpu_stats: Vec<PathBuf>,
}

/// Their figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    stolen_ns: Option<u64>,
    /// Of each cgroup: how often, and how long in nanoseconds.
    throttled: Vec<Option<(u64, u64)>>,
    major_fault_count: Option<u64>,
}

impl HostCounters {
    pub(super) fn of_this_process() -> Self {
        let groups = filermark_system::read_proc("/proc/self/cgroup").unwrap_or_default();
        let mut cpu_stats = cpu_stats_of(&groups);
        cpu_stats.retain(|path| filermark_system::proc_exists(path));
        Self { cpu_stats }
    }

    pub(super) fn read(&self) -> Counts {
        let text = |path: &str| filermark_system::read_proc(path).ok();
        let throttled = self.cpu_stats.iter().map(|path| {
            let stat = filermark_system::read_proc(path).ok()?;
            throttled_in(&stat)
        });
        Counts {
            stolen_ns: text("/proc/stat").and_then(|t| stolen_in(&t, sys::ticks_per_second())),
            throttled: throttled.collect(),
            major_fault_count: text("/proc/self/stat").and_then(|t| major_faults_in(&t)),
        }
    }
}

impl Counts {
    /// Adds the differences from `self` to `later`.
    pub(super) fn add_since(&self, later: &Self, stalls: &mut Stalls) {
        let since = |before: Option<u64>, after: Option<u64>| {
            before
                .zip(after)
                .map(|(before, after)| after.saturating_sub(before))
        };
        stalls.stolen_ns = since(self.stolen_ns, later.stolen_ns);
        stalls.major_fault_count = since(self.major_fault_count, later.major_fault_count);
        // Nested groups wait at the same time: the longest wait counts.
        let longest = self
            .throttled
            .iter()
            .zip(&later.throttled)
            .filter_map(|(before, after)| before.zip(*after))
            .map(|((count, ns), (later_count, later_ns))| {
                (
                    later_ns.saturating_sub(ns),
                    later_count.saturating_sub(count),
                )
            })
            .max();
        stalls.throttled_ns = longest.map(|(ns, _)| ns);
        stalls.throttled_count = longest.map(|(_, count)| count);
    }
}

/// The `cpu.stat` files of the cgroups in `/proc/self/cgroup`, and of all above them.
fn cpu_stats_of(groups: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|c| c == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        let names: Vec<&str> = group
            .split('/')
            .filter(|n| !n.is_empty() && *n != "..")
            .collect();
        for root in roots {
            for depth in (0..=names.len()).rev() {
                let mut path = PathBuf::from(root);
                path.extend(&names[..depth]);
                paths.push(path.join("cpu.stat"));
            }
        }
    }
    paths
}

/// How often and how long, in nanoseconds, a group was throttled according to its
/// `cpu.stat`; `None`: no limit is set there.
fn throttled_in(stat: &str) -> Option<(u64, u64)> {
    let value = |name: &str| {
        let mut lines = stat.lines().filter_map(|l| l.split_once(' '));
        lines.find(|(n, _)| *n == name)?.1.trim().parse().ok()
    };
    let count: u64 = value("nr_throttled")?;
    let ns: u64 = match value("throttled_usec") {
        Some(us) => u64::saturating_mul(us, 1_000),
        None => value("throttled_time")?,
    };
    Some((count, ns))
}

/// The stolen time of all processors together, in nanoseconds.
fn stolen_in(stat: &str, ticks_per_second: u64) -> Option<u64> {
    let line = stat.lines().find(|l| l.starts_with("cpu "))?;
    let ticks: u64 = line.split_ascii_whitespace().nth(8)?.parse().ok()?;
    Some(ticks.saturating_mul(1_000_000_000 / ticks_per_second.max(1)))
}

/// The page faults in `/proc/self/stat` that waited for a disk. The second field is the
/// program's name, which may contain anything.
fn major_faults_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn stolen_time_is_the_eighth_figure_of_the_first_line() {
        let stat = "cpu  26044 0 6580 400911 1103 0 52 4711 0 0\n\
                    cpu0 13022 0 3290 200455 551 0 26 2000 0 0\nctxt 12\n";
        assert_eq!(stolen_in(stat, 100), Some(47_110_000_000));
        for broken in ["", "cpu", "cpu 1 2 3", "cpu  a b c d e f g h", "cpu0 1 2"] {
            assert_eq!(stolen_in(broken, 0), None, "{broken}");
        }
    }

    #[test]
    fn a_program_name_with_brackets_and_spaces_is_accepted() {
        let stat = "812 (file) mark (x)) S 1 812 812 0 -1 4194304 1523 77 42 9 10 11 0 0 20 0";
        assert_eq!(major_faults_in(stat), Some(42));
        for broken in ["", "812 (a", "812 (a) S 1", "8 (a) S 1 2 3 4 5 6 7 8 x"] {
            assert_eq!(major_faults_in(broken), None, "{broken}");
        }
    }

    #[test]
    fn both_versions_of_cpu_stat_are_read() {
        let second = "usage_usec 123\nuser_usec 1\nnr_periods 9\nnr_throttled 3\n\
                      throttled_usec 45000\nnr_bursts 0\n";
        assert_eq!(throttled_in(second), Some((3, 45_000_000)));
        let first = "nr_periods 0\nnr_throttled 5\nthrottled_time 77000\n";
        assert_eq!(throttled_in(first), Some((5, 77_000)));
        assert_eq!(throttled_in("usage_usec 123\n"), None, "no limit there");
        assert_eq!(throttled_in("nr_throttled x\nthrottled_usec 1"), None);
    }

    #[test]
    fn every_group_above_the_own_one_is_read() {
        let shown = |groups| {
            let mut paths = cpu_stats_of(groups);
            paths.retain(|p| !p.display().to_string().contains("unified"));
            paths
        };
        assert_eq!(
            shown("0::/a.slice/b.service\n"),
            [
                Path::new("/sys/fs/cgroup/a.slice/b.service/cpu.stat"),
                Path::new("/sys/fs/cgroup/a.slice/cpu.stat"),
                Path::new("/sys/fs/cgroup/cpu.stat")
            ]
        );
        assert_eq!(
            shown("5:memory:/m\n4:cpu,cpuacct:/../c\nbroken\n"),
            [
                Path::new("/sys/fs/cgroup/cpu/c/cpu.stat"),
                Path::new("/sys/fs/cgroup/cpu/cpu.stat"),
                Path::new("/sys/fs/cgroup/cpu,cpuacct/c/cpu.stat"),
                Path::new("/sys/fs/cgroup/cpu,cpuacct/cpu.stat")
            ]
        );
    }

    #[test]
    fn what_came_between_two_readings_counts() {
        let before = Counts {
            stolen_ns: Some(10),
            throttled: vec![Some((1, 100)), None, Some((1, 5))],
            major_fault_count: None,
        };
        let after = Counts {
            stolen_ns: Some(40),
            throttled: vec![Some((3, 150)), Some((1, 1)), Some((2, 905))],
            major_fault_count: Some(9),
        };
        let mut stalls = Stalls::default();
        before.add_since(&after, &mut stalls);
        assert_eq!(stalls.stolen_ns, Some(30));
        assert_eq!(
            (stalls.throttled_ns, stalls.throttled_count),
            (Some(900), Some(1))
        );
        assert_eq!(stalls.major_fault_count, None);
    }
}

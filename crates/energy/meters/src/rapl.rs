//! The processors' counters of energy, `/sys/class/powercap/intel-rapl:*` (the kernel's
//! documentation: power/powercap). They measure processors, not the machine.
//!
//! Only packages count: cores and memory are parts of them, `psys` has them in it, and
//! `intel-rapl-mmio` shows the same package again.

use crate::meter::{ReadFailure, Sample, Source};
use filermark_energy_data::Quantity;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The kernel's directory of the counters.
pub(crate) const ROOT: &str = "/sys/class/powercap";
/// Most packages of a host.
const PACKAGES_MAX: usize = 64;
/// Readings closer than this give no figure: the counters are updated every millisecond.
const GAP_MIN: Duration = Duration::from_millis(20);
/// No package takes more, in watts. It limits the time between readings: a counter must not
/// wrap around twice.
const WATTS_MAX: f64 = 1000.0;
const STEP: &str = "read the energy counters";

/// All packages.
#[derive(Debug)]
pub(crate) struct Rapl {
    packages: Vec<Package>,
    last: Option<(Instant, Vec<u64>)>,
}

#[derive(Debug)]
struct Package {
    file: PathBuf,
    /// The counter wraps around to 0 here, in microjoules.
    range_uj: u64,
}

impl Rapl {
    /// All packages of the host, with a first reading.
    pub(crate) fn new(root: &Path) -> Result<Self, ReadFailure> {
        let mut rapl = Self {
            packages: packages(root)?,
            last: None,
        };
        rapl.last = Some((Instant::now(), rapl.counters()?));
        Ok(rapl)
    }

    fn counters(&self) -> Result<Vec<u64>, ReadFailure> {
        self.packages.iter().map(|p| number(&p.file)).collect()
    }

    /// Mean watts since the reading before; none where too little time has passed.
    fn at(&mut self, now: Instant) -> Result<Sample, ReadFailure> {
        let counters = self.counters()?;
        let Some((then, before)) = self.last.take() else {
            self.last = Some((now, counters));
            return Ok(Sample::now(Vec::new()));
        };
        let gap = now.saturating_duration_since(then);
        if gap < GAP_MIN {
            self.last = Some((then, before));
            return Ok(Sample::now(Vec::new()));
        }
        let seconds = gap.as_secs_f64();
        let mut joules = 0.0;
        let pairs = before.iter().zip(&counters).zip(&self.packages);
        for ((before, after), package) in pairs {
            if seconds * WATTS_MAX * 1e6 > package.range_uj as f64 {
                let s = package.range_uj as f64 / 1e6 / WATTS_MAX;
                self.last = Some((now, counters));
                let reason = format!(
                    "{seconds:.0} s have passed, and a counter may have wrapped around more \
                     than once; read it at least every {s:.0} s"
                );
                return Err(ReadFailure::new(STEP, reason));
            }
            joules += passed(*before, *after, package.range_uj) as f64 / 1e6;
        }
        self.last = Some((now, counters));
        Ok(Sample::now(vec![(Quantity::Power, joules / seconds)]))
    }
}

impl Source for Rapl {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        self.at(Instant::now())
    }
}

/// The difference of two readings, across the end of the range if necessary.
fn passed(before: u64, after: u64, range: u64) -> u64 {
    match after.checked_sub(before) {
        Some(passed) => passed,
        None => range.saturating_sub(before).saturating_add(after),
    }
}

fn packages(root: &Path) -> Result<Vec<Package>, ReadFailure> {
    const STEP: &str = "find energy counters";
    let none = |why: String| {
        let reason = format!(
            "{}: {why}; is this a host with RAPL (intel-rapl)?",
            root.display()
        );
        ReadFailure::new(STEP, reason)
    };
    let entries = fs::read_dir(root).map_err(|error| none(error.to_string()))?;
    let mut dirs: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let zone = name
                .to_str()
                .and_then(|name| name.strip_prefix("intel-rapl:"));
            zone.is_some_and(|zone| zone.parse::<u32>().is_ok())
        })
        .map(|entry| entry.path())
        .collect();
    dirs.sort();
    dirs.truncate(PACKAGES_MAX);
    let mut packages = Vec::new();
    for dir in dirs {
        let name = fs::read_to_string(dir.join("name")).unwrap_or_default();
        if name.trim().starts_with("package-") {
            packages.push(Package {
                file: dir.join("energy_uj"),
                range_uj: number(&dir.join("max_energy_range_uj"))?,
            });
        }
    }
    match packages.is_empty() {
        true => Err(none("no package has a counter".into())),
        false => Ok(packages),
    }
}

fn number(file: &Path) -> Result<u64, ReadFailure> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::PermissionDenied => format!(
                "{shown}: only root may read it; run as root, or allow it: sudo chmod a+r {shown}"
            ),
            _ => format!("{shown}: {error}"),
        };
        ReadFailure::new(STEP, reason)
    })?;
    let number = text.trim().parse();
    number.map_err(|_| ReadFailure::new(STEP, format!("{shown} has no number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn zone(root: &TempDir, zone: &str, name: &str, energy: u64) {
        let dir = root.path().join(zone);
        fs::create_dir_all(&dir).expect("made");
        fs::write(dir.join("name"), format!("{name}\n")).expect("written");
        fs::write(dir.join("energy_uj"), format!("{energy}\n")).expect("written");
        fs::write(dir.join("max_energy_range_uj"), "262143328850\n").expect("written");
    }

    fn host() -> TempDir {
        let root = tempfile::tempdir().expect("a directory");
        zone(&root, "intel-rapl:0", "package-0", 1_000_000);
        zone(&root, "intel-rapl:0:0", "core", 500_000);
        zone(&root, "intel-rapl:1", "package-1", 2_000_000);
        zone(&root, "intel-rapl:2", "psys", 9_000_000);
        zone(&root, "intel-rapl-mmio:0", "package-0", 1_000_000);
        root
    }

    fn after(rapl: &mut Rapl, seconds: u64) -> Result<Vec<(Quantity, f64)>, ReadFailure> {
        let (then, _) = rapl.last.clone().expect("a first reading");
        rapl.at(then + Duration::from_secs(seconds))
            .map(|s| s.values)
    }

    #[test]
    fn only_packages_are_counted() {
        let root = host();
        let mut rapl = Rapl::new(root.path()).expect("counters");
        zone(&root, "intel-rapl:0", "package-0", 61_000_000);
        zone(&root, "intel-rapl:1", "package-1", 42_000_000);
        zone(&root, "intel-rapl:2", "psys", 900_000_000);
        assert_eq!(after(&mut rapl, 2), Ok(vec![(Quantity::Power, 50.0)]));
        assert_eq!(after(&mut rapl, 1), Ok(vec![(Quantity::Power, 0.0)]));
    }

    #[test]
    fn a_counter_that_wraps_around_is_continued() {
        let root = host();
        zone(
            &root,
            "intel-rapl:0",
            "package-0",
            262_143_328_850 - 30_000_000,
        );
        let mut rapl = Rapl::new(root.path()).expect("counters");
        zone(&root, "intel-rapl:0", "package-0", 70_000_000);
        assert_eq!(after(&mut rapl, 1), Ok(vec![(Quantity::Power, 100.0)]));
    }

    #[test]
    fn after_too_long_an_interval_one_reading_fails() {
        let root = host();
        let mut rapl = Rapl::new(root.path()).expect("counters");
        let message = format!("{:?}", after(&mut rapl, 300).expect_err("too long"));
        assert!(message.contains("at least every 262 s"), "{message}");
        zone(&root, "intel-rapl:0", "package-0", 11_000_000);
        assert_eq!(after(&mut rapl, 1), Ok(vec![(Quantity::Power, 10.0)]));
    }

    #[test]
    fn a_reading_too_soon_gives_no_figure_and_loses_nothing() {
        let root = host();
        let mut rapl = Rapl::new(root.path()).expect("counters");
        zone(&root, "intel-rapl:0", "package-0", 11_000_000);
        assert_eq!(after(&mut rapl, 0), Ok(Vec::new()));
        assert_eq!(after(&mut rapl, 1), Ok(vec![(Quantity::Power, 10.0)]));
    }

    #[test]
    fn missing_counters_are_reported() {
        let root = tempfile::tempdir().expect("a directory");
        let message = format!("{:?}", Rapl::new(root.path()).expect_err("none"));
        assert!(message.contains("RAPL"), "{message}");
        zone(&root, "intel-rapl:0", "psys", 1);
        assert!(Rapl::new(root.path()).is_err());
        zone(&root, "intel-rapl:1", "package-0", 1);
        fs::write(root.path().join("intel-rapl:1/energy_uj"), "x").expect("written");
        assert!(Rapl::new(root.path()).is_err());
    }
}

//! What enumerations and runs are called in the energy report.

use super::figures::{NONE, plain};
use filermark_energy::reduce::{EnergyRule, SeriesKind, TrafficFrom, WorkloadReduction};
use filermark_results::text::one_line;

/// Stands beside figures that a simulator made up.
pub const SIMULATED: &str = "simulated figures";

/// What else the report is not.
pub const NO_PROGRAMME_RESULT: &str =
    "It is not a result of any efficiency programme, and no such programme has looked at it.";

/// Most characters of a name that a table or a legend shows.
const NAME_CHARS_MAX: usize = 60;

/// A name from outside: on one line, and not longer than a table bears.
pub fn name(text: &str) -> String {
    let line = one_line(text);
    match line.chars().count() > NAME_CHARS_MAX {
        false => line,
        true => {
            let kept: String = line.chars().take(NAME_CHARS_MAX - 1).collect();
            format!("{kept}…")
        }
    }
}

/// What a workload is called above its figures: its benchmark, or its run where a foreign
/// log does not tell the benchmark.
pub fn title(run: &WorkloadReduction) -> String {
    match run.benchmark.is_empty() {
        true => name(&run.name),
        false => name(&run.benchmark).to_uppercase(),
    }
}

/// A load in its unit: `100 BUILDS`.
pub fn load(run: &WorkloadReduction, load: Option<f64>) -> String {
    match load.filter(|l| l.is_finite()) {
        None => NONE.into(),
        Some(load) if load.fract() == 0.0 => format!("{load:.0} {}", name(&run.load_unit)),
        Some(_) => format!("{} {}", plain(load), name(&run.load_unit)),
    }
}

/// Where MiB/s come from, for people.
pub const fn traffic_from(from: TrafficFrom) -> &'static str {
    match from {
        TrafficFrom::Sflow => "switch (sFlow)",
        TrafficFrom::Clients => "clients' count",
        TrafficFrom::Nowhere => "nowhere",
    }
}

/// The head of the column of MiB/s: the seed's, where it is true.
pub const fn traffic_head(from: TrafficFrom) -> &'static str {
    match from {
        TrafficFrom::Sflow => "sFlow MiB/sec",
        TrafficFrom::Clients => "Clients' MiB/sec",
        TrafficFrom::Nowhere => "MiB/sec",
    }
}

/// Whether a load point counts.
pub const fn validity(valid: Option<bool>) -> &'static str {
    match valid {
        Some(true) => "VALID",
        Some(false) => "INVALID",
        None => "not told",
    }
}

/// A rule as reference/energy-rules.md and the JSON name it.
pub const fn rule(rule: EnergyRule) -> &'static str {
    match rule {
        EnergyRule::NoData => "no-data",
        EnergyRule::SampleInterval => "sample-interval",
        EnergyRule::Gap => "gap",
        EnergyRule::Stability => "stability",
        EnergyRule::Environment => "environment",
        EnergyRule::Supply => "supply",
        EnergyRule::Clock => "clock",
        EnergyRule::Overlap => "overlap",
        EnergyRule::Ports => "ports",
        EnergyRule::Data => "data",
        EnergyRule::Simulated => "simulated",
        EnergyRule::Coverage => "coverage",
        EnergyRule::PointInvalid => "point-invalid",
    }
}

/// A kind of series as columns name it, with its unit last.
pub const fn column(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::Power => "power_w",
        SeriesKind::Meter => "meter_w",
        SeriesKind::Traffic => "traffic_mib_per_s",
        SeriesKind::Interface => "interface_mib_per_s",
        SeriesKind::Throughput => "client_mib_per_s",
        SeriesKind::Temperature => "temperature_c",
        SeriesKind::Humidity => "humidity_pcnt",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_called_as_the_json_calls_them() {
        use EnergyRule as R;
        for known in [
            R::NoData,
            R::SampleInterval,
            R::Gap,
            R::Stability,
            R::Environment,
            R::Supply,
            R::Clock,
            R::Overlap,
            R::Ports,
            R::Data,
            R::Simulated,
            R::Coverage,
            R::PointInvalid,
        ] {
            assert_eq!(serde_json::json!(known), rule(known));
        }
    }

    #[test]
    fn names_are_short_and_move_no_cursor() {
        assert_eq!(name("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(name(&"x".repeat(100)).chars().count(), NAME_CHARS_MAX);
    }
}

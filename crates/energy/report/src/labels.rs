//! The labels of enumerations and runs in the energy report.

use super::figures::{NONE, plain};
use filermark_energy_data::reduce::{
    EnergyRule, PointEfficiency, SeriesKind, SourceView, TrafficFrom, WorkloadReduction,
};
use filermark_model::Severity;
use filermark_results::text::{one_line, severity_label};

/// Marks figures that a simulator made up.
pub const SIMULATED: &str = "simulated figures";

/// The second notice of the report.
pub const NO_PROGRAMME_RESULT: &str =
    "It is not a result of any efficiency programme, and no such programme has reviewed it.";

/// Where the rules are described.
pub const RULES_PAGE: &str = "Each rule, with its limit and where that comes from: the documentation's reference/energy-rules.md. The rules are made after those of efficiency programmes, e.g. SNIA Emerald's file-access measurement.";

/// Most characters of a name that a table or a legend shows.
const NAME_CHARS_MAX: usize = 60;

/// A name from outside: on one line, and cut to the width of a table.
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

/// A load in its unit: `100 BUILDS`.
pub fn load(run: &WorkloadReduction, load: Option<f64>) -> String {
    match load.filter(|l| l.is_finite()) {
        None => NONE.into(),
        Some(load) if load.fract() == 0.0 => format!("{load:.0} {}", name(&run.load_unit)),
        Some(_) => format!("{} {}", plain(load), name(&run.load_unit)),
    }
}

/// The source of MiB/s as a label.
pub const fn traffic_from(from: TrafficFrom) -> &'static str {
    match from {
        TrafficFrom::Sflow => "switch (sFlow)",
        TrafficFrom::Clients => "clients' count",
        TrafficFrom::Nowhere => "nowhere",
    }
}

/// Whether a source's figures are measured, and how its power is computed.
pub const fn source_figures(source: &SourceView) -> &'static str {
    match (source.simulated, source.power_of_product) {
        (true, _) => SIMULATED,
        (false, true) => "measured; power is U x I x PF",
        (false, false) => "measured",
    }
}

/// The head of the column of MiB/s: the seed's, where traffic is from sFlow.
pub const fn traffic_head(from: TrafficFrom) -> &'static str {
    match from {
        TrafficFrom::Sflow => "sFlow MiB/sec",
        TrafficFrom::Clients => "Clients' MiB/sec",
        TrafficFrom::Nowhere => "MiB/sec",
    }
}

/// Whether a load point counts by the rules of the run, without those of energy.
pub const fn run_counts(valid: Option<bool>) -> &'static str {
    match valid {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}

/// The energy verdict of a load point: the worst of its findings and of its run's. That the
/// run does not count the point is the run's verdict, and not repeated.
pub fn energy_verdict(run: &WorkloadReduction, point: &PointEfficiency) -> &'static str {
    let all = point.findings.iter().chain(&run.findings);
    let of_energy = all.filter(|f| f.rule != EnergyRule::PointInvalid);
    match of_energy.map(|f| f.severity).max() {
        None | Some(Severity::Note) => "ok",
        Some(worst) => severity_label(worst),
    }
}

/// The name of a rule in reference/energy-rules.md and in the JSON.
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
        EnergyRule::Resolution => "resolution",
        EnergyRule::Disclosure => "disclosure",
        EnergyRule::Simulated => "simulated",
        EnergyRule::Coverage => "coverage",
        EnergyRule::PointInvalid => "point-invalid",
    }
}

/// The column of a kind of series, with its unit last.
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
    fn rules_have_their_names_in_the_json() {
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
            R::Resolution,
            R::Disclosure,
            R::Simulated,
            R::Coverage,
            R::PointInvalid,
        ] {
            assert_eq!(serde_json::json!(known), rule(known));
        }
    }

    #[test]
    fn the_energy_verdict_is_independent_of_the_runs() {
        let reduction = filermark_energy_data::reduce::testing::reduction();
        let mut run = reduction.workloads[1].clone();
        let verdicts = |run: &WorkloadReduction| -> Vec<&str> {
            let points = run.points.iter();
            points.map(|p| energy_verdict(run, p)).collect()
        };
        let energy = verdicts(&run);
        assert_eq!(energy[..5], ["ok", "ok", "warning", "invalid", "warning"]);
        // Without the energy finding only the run's is left.
        run.points[3].findings.remove(0);
        assert_eq!(verdicts(&run)[3], "ok");
        run.findings = run.points[2].findings.clone();
        run.findings[0].rule = EnergyRule::Overlap;
        run.findings[0].severity = Severity::Invalid;
        assert!(verdicts(&run).iter().all(|v| *v == "invalid"));
    }

    #[test]
    fn names_are_short_and_without_escape_sequences() {
        assert_eq!(name("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(name(&"x".repeat(100)).chars().count(), NAME_CHARS_MAX);
    }
}

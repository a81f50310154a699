//! The limits of `definitions/programme.toml`: the requirements of a programme, each with its
//! source.

use serde::Deserialize;
use std::sync::LazyLock;

/// The definition as it is shipped.
pub const DEFINITION: &str = include_str!("../../definitions/programme.toml");

/// A limit and its source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The figure, in the unit that its name ends with.
    pub value: f64,
    /// Where it is from.
    pub source: String,
    /// How certain that is: S seed, V verified, R recollected, O own.
    pub mark: String,
}

/// A range and its source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Its lower end.
    pub least: f64,
    /// Its upper end.
    pub most: f64,
    /// Where it is from.
    pub source: String,
    /// How certain that is.
    pub mark: String,
}

/// All of them; the names are those of the definition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the definition describes each
pub struct StandardLimits {
    pub sample_interval_s_max: Limit,
    pub inlet_temperature_c: Range,
    pub humidity_pcnt: Range,
    pub voltage_off_pcnt_max: Limit,
    pub frequency_off_pcnt_max: Limit,
    pub voltage_distortion_pcnt_max: Limit,
    pub clock_bound_s_max: Limit,
    pub coverage_pcnt_min: Limit,
    pub power_drift_pcnt_max: Limit,
    pub traffic_drift_pcnt_max: Limit,
    pub load_points_min: Limit,
    pub drives_less_pcnt: Limit,
    pub drives_more_pcnt: Limit,
    pub efficiency_below_pcnt: Limit,
    pub ready_idle_s: Limit,
    pub calibration_days_max: Limit,
}

/// The shipped limits.
pub fn programme() -> &'static StandardLimits {
    // A definition that cannot be read would be a defect of the build; a test reads it.
    static SHIPPED: LazyLock<StandardLimits> =
        LazyLock::new(|| toml::from_str(DEFINITION).unwrap_or_default());
    &SHIPPED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_definition_reads_and_every_figure_has_a_source() {
        let read: StandardLimits = toml::from_str(DEFINITION).expect("the definition");
        assert_eq!(&read, programme());
        let table: toml::Table = toml::from_str(DEFINITION).expect("TOML");
        for (name, entry) in table {
            let source = entry["source"].as_str().expect("a source");
            assert!(!source.is_empty(), "{name}");
            let mark = entry["mark"].as_str().expect("a mark");
            assert!(["S", "V", "R", "O"].contains(&mark), "{name}: {mark}");
        }
    }
}

//! The quantities that can be measured, each with its unit.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a meter or a sensor measures. The unit belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// Active power, in watts.
    #[serde(rename = "power_w")]
    Power,
    /// Apparent power, in volt-amperes.
    #[serde(rename = "apparent_power_va")]
    ApparentPower,
    /// Energy since an arbitrary start, in joules.
    #[serde(rename = "energy_j")]
    Energy,
    /// Voltage, root mean square, in volts.
    #[serde(rename = "voltage_v")]
    Voltage,
    /// Current, root mean square, in amperes.
    #[serde(rename = "current_a")]
    Current,
    /// Power factor, from 0 to 1.
    #[serde(rename = "power_factor")]
    PowerFactor,
    /// Frequency of the supply, in hertz.
    #[serde(rename = "frequency_hz")]
    Frequency,
    /// Total harmonic distortion of the voltage, in percent.
    #[serde(rename = "voltage_thd_pcnt")]
    VoltageDistortion,
    /// Temperature, in degrees Celsius.
    #[serde(rename = "temperature_c")]
    Temperature,
    /// Relative humidity, in percent.
    #[serde(rename = "humidity_pcnt")]
    Humidity,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Power,
        Self::ApparentPower,
        Self::Energy,
        Self::Voltage,
        Self::Current,
        Self::PowerFactor,
        Self::Frequency,
        Self::VoltageDistortion,
        Self::Temperature,
        Self::Humidity,
    ];

    /// Its name in columns and fields, with the unit last.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Power => "power_w",
            Self::ApparentPower => "apparent_power_va",
            Self::Energy => "energy_j",
            Self::Voltage => "voltage_v",
            Self::Current => "current_a",
            Self::PowerFactor => "power_factor",
            Self::Frequency => "frequency_hz",
            Self::VoltageDistortion => "voltage_thd_pcnt",
            Self::Temperature => "temperature_c",
            Self::Humidity => "humidity_pcnt",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn quantities_have_names_of_their_own() {
        let names: BTreeSet<_> = Quantity::ALL.iter().map(|q| q.name()).collect();
        assert_eq!(names.len(), Quantity::ALL.len());
        for quantity in Quantity::ALL {
            let json = serde_json::to_value(quantity).expect("a name");
            assert_eq!(json, quantity.name());
        }
    }
}

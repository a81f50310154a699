//! Fields of the worksheet that are not measured: the product, and the instruments.

use serde::{Deserialize, Serialize};

/// The product that is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Product {
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The firmware or software that runs on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Its parts: controllers, memory, storage devices, network ports, power supplies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
}

impl Product {
    /// Its fields, each with its name and its label.
    pub fn fields(&self) -> [(&'static str, &'static str, &Option<String>); 6] {
        [
            ("vendor", "Product vendor", &self.vendor),
            ("name", "Product", &self.name),
            ("model", "Product model", &self.model),
            ("serial", "Product serial number", &self.serial),
            ("firmware", "Product firmware", &self.firmware),
            ("configuration", "Configuration", &self.configuration),
        ]
    }

    /// Its fields, mutable.
    pub fn fields_mut(&mut self) -> [&mut Option<String>; 6] {
        [
            &mut self.vendor,
            &mut self.name,
            &mut self.model,
            &mut self.serial,
            &mut self.firmware,
            &mut self.configuration,
        ]
    }

    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        self.fields().iter().all(|(_, _, value)| value.is_none())
    }
}

/// The type plate and calibration certificate of a meter, a sensor or a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instrument {
    /// Its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub make: Option<String>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// The day of its last calibration, as `2026-03-01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<String>,
}

impl Instrument {
    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Its fields as texts, each with its name.
    pub fn fields(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("make", &self.make),
            ("model", &self.model),
            ("serial", &self.serial),
            ("firmware", &self.firmware),
            ("calibrated", &self.calibrated),
        ]
    }

    /// These fields, and those of the other where these are missing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            make: self.make.or(other.make),
            model: self.model.or(other.model),
            serial: self.serial.or(other.serial),
            firmware: self.firmware.or(other.firmware),
            calibrated: self.calibrated.or(other.calibrated),
        }
    }
}

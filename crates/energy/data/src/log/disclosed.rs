//! What a worksheet asks for and no figure tells: the product, and the instruments.

use serde::{Deserialize, Serialize};

/// The product that is measured, as its maker names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Product {
    /// Who makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// What it is called.
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
    /// Its fields, each with its name and what people call it.
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

    /// The same, to be changed.
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

    /// Whether nothing is said of it.
    pub fn is_empty(&self) -> bool {
        self.fields().iter().all(|(_, _, value)| value.is_none())
    }
}

/// A meter, a sensor or a switch, as its plate and its certificate name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instrument {
    /// Who makes it.
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
    /// Whether nothing is said of it.
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

    /// What is said here wins; what is not is as the other says.
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

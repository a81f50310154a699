//! The location and protocol of a meter or sensor, as a URL: `scpi://meter:10001`.
//!
//! It is parsed strictly, and displayed without secrets.

use super::read;
use crate::reading::Quantity;
use std::path::PathBuf;
use std::str::FromStr;

/// The location and protocol of a meter or sensor.
#[derive(Clone, PartialEq)]
pub enum SourceSpec {
    /// `scpi://HOST[:10001][?element=1]`: a line protocol over TCP, the WT300 family's
    /// commands.
    Scpi {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
        /// The input element; `None`: the first.
        element: Option<u32>,
    },
    /// `vxi11://HOST[:PORT][?element=1]`: these commands over VXI-11, which such meters use on
    /// Ethernet.
    Vxi11 {
        /// Name or address.
        host: String,
        /// TCP port of the core channel; `None`: the portmapper is asked.
        port: Option<u16>,
        /// The input element; `None`: the first.
        element: Option<u32>,
    },
    /// `redfish://[USER@]HOST[:443]/PATH[?password-file=F&ca=F&insecure=yes]`, or with
    /// `redfish+http` without TLS: a resource with readings (Power, Thermal, Sensor,
    /// EnvironmentMetrics, a chassis).
    Redfish {
        /// With TLS.
        tls: bool,
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
        /// The resource, from `/redfish`; a chassis gives all that it links to.
        path: String,
        /// The user to log in as.
        user: Option<String>,
        /// Where the password is; without it, FILERMARK_METER_PASSWORD.
        password_file: Option<PathBuf>,
        /// Certificate that is trusted.
        ca: Option<PathBuf>,
        /// Any certificate is trusted.
        insecure: bool,
    },
    /// `snmp://[COMMUNITY@]HOST[:161]/OID[,OID][?quantity=power_w&scale=0.1]`.
    Snmp {
        /// Name or address.
        host: String,
        /// UDP port.
        port: u16,
        /// Community; `public` by default.
        community: String,
        /// Objects, each a scalar; their values add up.
        oids: Vec<Vec<u32>>,
        /// What they measure.
        quantity: Quantity,
        /// The factor of an integer.
        scale: f64,
    },
    /// `hwmon:` (what the host has), `hwmon:NAME` (one chip), `hwmon:NAME/SENSOR` (one
    /// sensor of it, by its label or as `power1`).
    Hwmon {
        /// Which chip, and which sensor of it after a `/`.
        chip: Option<String>,
    },
    /// `rapl:`: the packages' energy counters.
    Rapl,
    /// `cmd:COMMAND`, `cmd+temperature_c:COMMAND`: a shell command that prints a figure.
    Command {
        /// The command.
        command: String,
        /// What the figure measures.
        quantity: Quantity,
    },
    /// `sim:idle=200,per-mib=0.5,noise=1,seed=7[,quantity=power_w]`: made up; follows the traffic of the
    /// chosen interfaces.
    Simulated(Simulated),
}

/// A made-up source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated {
    /// What it measures.
    pub quantity: Quantity,
    /// The figure without traffic.
    pub idle: f64,
    /// The increase for each MiB/s through the chosen interfaces.
    pub per_mib: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Seed of the noise.
    pub seed: u64,
}

/// Why a text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\": {reason}")]
pub struct SpecError {
    /// The text, without secrets.
    pub text: String,
    /// What is wrong, and what to write instead.
    pub reason: String,
}

impl SourceSpec {
    /// What it measures, if the spec defines it; `None`: what it finds.
    pub fn quantity(&self) -> Option<Quantity> {
        match self {
            Self::Snmp { quantity, .. } | Self::Command { quantity, .. } => Some(*quantity),
            Self::Simulated(made) => Some(made.quantity),
            Self::Rapl => Some(Quantity::Power),
            Self::Scpi { .. } | Self::Vxi11 { .. } | Self::Redfish { .. } | Self::Hwmon { .. } => {
                None
            }
        }
    }

    /// Whether its figures are made up.
    pub const fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }
}

impl FromStr for SourceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        read::source(text).map_err(|reason| SpecError {
            text: read::without_secrets(text),
            reason,
        })
    }
}

#[cfg(test)]
mod tests;

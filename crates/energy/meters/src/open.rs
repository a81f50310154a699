//! Makes a meter from the description of its source.

use crate::command::Command;
use crate::hwmon::{self, Hwmon};
use crate::meter::{Meter, MeterError, ReadFailure, Sample, Source};
use crate::rapl::{self, Rapl};
use crate::redfish::Redfish;
use crate::scpi::{Scpi, TransportKind};
use crate::simulated;
use crate::snmp::Snmp;
use filermark_energy_data::log::ClockFacts;
use filermark_energy_data::setup::SourceSpec;
use std::path::Path;
use std::time::Duration;

/// A source with its name.
struct NamedSource {
    spec: SourceSpec,
    source: Box<dyn Source>,
}

impl Meter for NamedSource {
    fn read(&mut self) -> Result<Sample, MeterError> {
        let mut sample = self.source.figures().map_err(|t| t.of(&self.spec))?;
        // `Sample` has only finite values.
        sample.values.retain(|(_, value)| value.is_finite());
        Ok(sample)
    }

    fn clock(&mut self) -> ClockFacts {
        self.source.clock()
    }

    fn is_simulated(&self) -> bool {
        self.spec.is_simulated()
    }
}

/// Makes a meter from its description; most kinds connect at the first reading. No reading
/// takes longer than `limit`, plus the time that the system needs to end it. `traffic`
/// returns the MiB/s through the chosen interfaces now, for a simulated source.
///
/// # Errors
/// What can be checked at once: no such chip, a password file that cannot be read.
pub fn open(
    spec: &SourceSpec,
    limit: Duration,
    traffic: std::sync::Arc<dyn Fn() -> f64 + Send + Sync>,
) -> Result<Box<dyn Meter>, MeterError> {
    let source: Result<Box<dyn Source>, ReadFailure> = match spec {
        SourceSpec::Scpi {
            host,
            port,
            element,
        } => Ok(scpi(host, TransportKind::Lines(*port), *element, limit)),
        SourceSpec::Vxi11 {
            host,
            port,
            element,
        } => Ok(scpi(host, TransportKind::Vxi11(*port), *element, limit)),
        SourceSpec::Redfish { .. } => Redfish::new(spec, limit).map(boxed),
        SourceSpec::Snmp { .. } => Snmp::new(spec, limit).map(boxed),
        SourceSpec::Hwmon { chip } => {
            Hwmon::new(Path::new(hwmon::ROOT), chip.as_deref()).map(boxed)
        }
        SourceSpec::Rapl => Rapl::new(Path::new(rapl::ROOT)).map(boxed),
        SourceSpec::Command { command, quantity } => {
            Ok(Box::new(Command::new(command, *quantity, limit)))
        }
        SourceSpec::Simulated(made) => Ok(Box::new(simulated::Simulated::new(*made, traffic))),
    };
    let source = source.map_err(|t| t.of(spec))?;
    Ok(Box::new(NamedSource {
        spec: spec.clone(),
        source,
    }))
}

fn scpi(host: &str, way: TransportKind, element: Option<u32>, limit: Duration) -> Box<dyn Source> {
    boxed(Scpi::new(host, way, element.unwrap_or(1), limit))
}

fn boxed<S: Source + 'static>(source: S) -> Box<dyn Source> {
    Box::new(source)
}

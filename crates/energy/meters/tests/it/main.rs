//! Meters against correct devices and faulty ones.

mod command;
mod device;
mod redfish;
mod redfish_service;
mod scpi;
mod snmp;
mod vxi11;

use filermark_energy_data::Quantity;
use filermark_energy_meters::{Meter, MeterError, Sample, open};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time limit of a reading that succeeds; generous, for a busy machine.
const LIMIT: Duration = Duration::from_secs(20);
/// The time limit of a reading of a silent device.
const SHORT: Duration = Duration::from_millis(400);
/// Extra time on a busy machine.
const SLACK: Duration = Duration::from_secs(8);

/// Opens a source.
fn meter(source: &str, limit: Duration) -> Box<dyn Meter> {
    try_meter(source, limit).unwrap_or_else(|error| panic!("{error}"))
}

fn try_meter(source: &str, limit: Duration) -> Result<Box<dyn Meter>, MeterError> {
    let spec = source.parse().unwrap_or_else(|error| panic!("{error}"));
    open(&spec, limit, Arc::new(|| 100.0))
}

/// A reading that must succeed.
fn read(meter: &mut dyn Meter) -> Sample {
    meter.read().unwrap_or_else(|error| panic!("{error}"))
}

/// The figure of a quantity.
fn figure(sample: &Sample, quantity: Quantity) -> Option<f64> {
    let mut found = sample.values.iter().filter(|(known, _)| *known == quantity);
    let first = found.next().map(|(_, value)| *value);
    assert!(found.next().is_none(), "{quantity} twice: {sample:?}");
    first
}

/// The message of a reading that must fail within its limit.
fn failure(meter: &mut dyn Meter, limit: Duration) -> String {
    let start = Instant::now();
    let message = meter.read().expect_err("a reading that fails").to_string();
    let took = start.elapsed();
    assert!(took < limit + SLACK, "{took:?}: {message}");
    message
}

#[test]
fn simulated_sources_are_marked() {
    let mut made = meter("sim:idle=200,per-mib=0.5", LIMIT);
    assert!(made.is_simulated());
    assert_eq!(figure(&read(&mut *made), Quantity::Power), Some(250.0));
    assert!(!meter("cmd:echo 1", LIMIT).is_simulated());
}

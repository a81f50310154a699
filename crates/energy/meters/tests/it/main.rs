//! Meters against devices: some that behave, and some that do not.

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

/// How long a reading may take where nothing is wrong; generous, for a busy machine.
const LIMIT: Duration = Duration::from_secs(20);
/// How long it may take where a device is silent.
const SHORT: Duration = Duration::from_millis(400);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(8);

/// Opens a source by its word.
fn meter(source: &str, limit: Duration) -> Box<dyn Meter> {
    try_meter(source, limit).unwrap_or_else(|error| panic!("{error}"))
}

fn try_meter(source: &str, limit: Duration) -> Result<Box<dyn Meter>, MeterError> {
    let spec = source.parse().unwrap_or_else(|error| panic!("{error}"));
    open(&spec, limit, Arc::new(|| 100.0))
}

/// A reading that must come.
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

/// The sentence of a reading that must fail, within the time that it may take.
fn failure(meter: &mut dyn Meter, limit: Duration) -> String {
    let start = Instant::now();
    let said = meter.read().expect_err("a reading that fails").to_string();
    let took = start.elapsed();
    assert!(took < limit + SLACK, "{took:?}: {said}");
    said
}

#[test]
fn made_up_figures_say_so() {
    let mut made = meter("sim:idle=200,per-mib=0.5", LIMIT);
    assert!(made.is_simulated());
    assert_eq!(figure(&read(&mut *made), Quantity::Power), Some(250.0));
    assert!(!meter("cmd:echo 1", LIMIT).is_simulated());
}

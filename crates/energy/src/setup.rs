//! What is to be collected, from a file and from options.

use filermark_cli_kit::exit::CommandError;
use filermark_energy_data::log::{Instrument, Role, SourceKind};
use filermark_energy_data::setup::{Setup, SflowSetup, SourceSetup, SourceSpec, check_quantity};
use filermark_energy_data::sflow::{PortPattern, Selection};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// What options add to a file.
pub struct ExtraSources<'a> {
    /// The address to listen for sFlow on.
    pub sflow: Option<SocketAddr>,
    /// Interfaces that face the server.
    pub ports: &'a [PortPattern],
    /// Power meters of the server.
    pub meters: &'a [SourceSpec],
    /// Power meters of the clients.
    pub client_meters: &'a [SourceSpec],
    /// Sensors.
    pub sensors: &'a [SourceSpec],
    /// How often those of the options are read.
    pub interval: Duration,
}

/// Reads the file, and adds the options.
pub fn read(file: Option<&Path>, also: &ExtraSources<'_>) -> Result<Setup, CommandError> {
    let mut setup = match file {
        Some(file) => Setup::read(file).map_err(|e| CommandError::Usage(vec![e.to_string()]))?,
        None => Setup::default(),
    };
    add_sflow(&mut setup, also)?;
    check(also)?;
    add_sources(&mut setup, also);
    Ok(setup)
}

fn add_sflow(setup: &mut Setup, also: &ExtraSources<'_>) -> Result<(), CommandError> {
    match (&mut setup.sflow, also.sflow) {
        (Some(sflow), Some(listen)) => sflow.listen = listen,
        (None, Some(listen)) => setup.sflow = Some(SflowSetup::new(listen)),
        _ => {}
    }
    let Some(sflow) = &mut setup.sflow else {
        return match also.ports.is_empty() {
            true => Ok(()),
            false => Err(CommandError::Usage(vec![
                "--ports chooses interfaces of sFlow, and sFlow is not received; add --sflow ADDR:PORT".into(),
            ])),
        };
    };
    sflow.ports.extend(also.ports.iter().cloned());
    sflow.selection = Selection::new(sflow.ports.clone(), sflow.selection.names.clone());
    setup.lab.ports = sflow.ports.iter().map(ToString::to_string).collect();
    Ok(())
}

/// Refuses a sensor among the meters, and a meter among the sensors.
fn check(also: &ExtraSources<'_>) -> Result<(), CommandError> {
    let lists = [
        ("--meter", also.meters, SourceKind::Meter),
        ("--client-meter", also.client_meters, SourceKind::Meter),
        ("--temp", also.sensors, SourceKind::Sensor),
    ];
    for (option, specs, kind) in lists {
        for spec in specs {
            check_quantity(spec, kind).map_err(|reason| {
                CommandError::Usage(vec![format!("{option} {spec}: {reason}")])
            })?;
        }
    }
    Ok(())
}

fn add_sources(setup: &mut Setup, also: &ExtraSources<'_>) {
    let source = |name: String, at: &SourceSpec, role: Role| SourceSetup {
        name,
        at: at.clone(),
        role,
        interval: also.interval,
        clock_offset_s: None,
        instrument: Instrument::default(),
    };
    for (specs, role, word) in [
        (also.meters, Role::Server, "meter"),
        (also.client_meters, Role::Client, "client-meter"),
    ] {
        for (spec, number) in specs.iter().zip(1..) {
            let name = free_name(setup, word, number);
            setup.meters.push(source(name, spec, role));
        }
    }
    for (spec, number) in also.sensors.iter().zip(1..) {
        let name = free_name(setup, "sensor", number);
        setup.sensors.push(source(name, spec, Role::Server));
    }
}

/// `meter1`, or the next that no source of the file has.
fn free_name(setup: &Setup, word: &str, number: u32) -> String {
    let taken = |name: &str| {
        let all = setup.meters.iter().chain(&setup.sensors);
        all.into_iter().any(|source| source.name == name)
    };
    let names = (number..).map(|n| format!("{word}{n}"));
    let mut free = names.filter(|name| !taken(name));
    free.next().unwrap_or_else(|| word.into())
}

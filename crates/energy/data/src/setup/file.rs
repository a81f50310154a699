//! Reads `energy.toml`, and reports errors with their line.
//!
//! The library parses TOML; the meaning of keys and the allowed values are defined here.

use super::{Setup, SflowSetup, SourceSetup, SourceSpec};
use crate::log::{self as disclosed, Instrument, Lab, Role, SourceKind};
use crate::reading::Quantity;
use crate::sflow::selection::PortRange;
use crate::sflow::{Names, PORT, PortPattern, Selection, TimeBasis};
use jiff::civil::Date;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;
use toml::{Spanned, Value};

/// Most meters and sensors together: each has a thread.
pub const SOURCES_MAX: usize = 256;
/// Shortest time between two readings of a source.
pub const INTERVAL_MIN: Duration = Duration::from_millis(50);
/// Longest time between two readings of a source.
pub const INTERVAL_MAX: Duration = Duration::from_secs(600);
/// How long power is measured before a run by default.
const IDLE_DEFAULT: Duration = Duration::from_secs(10);
/// The longest time that power is measured before a run.
const IDLE_MAX: Duration = Duration::from_secs(4 * 3600);
/// How often a source is read by default.
const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// Largest file that is read, in bytes.
const FILE_LEN_MAX: u64 = 1 << 20;
/// Longest name of a source, in characters.
const NAME_LEN_MAX: usize = 64;
/// Longest text for the worksheet, in characters.
pub const TEXT_LEN_MAX: usize = 400;
/// Most interfaces that are chosen or named.
const PORTS_MAX: usize = 4096;
/// The furthest that a clock may be off, in seconds: a day and a half covers every zone.
const CLOCK_OFFSET_MAX_S: f64 = 129_600.0;

/// A line, from 1, and what is wrong there.
type LineError = (usize, String);
/// What is wrong, and where in the text.
type SpanError = (usize, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    drives: Option<Spanned<u32>>,
    raw_capacity_gb: Option<Spanned<f64>>,
    nominal_voltage_v: Option<Spanned<f64>>,
    interval: Option<Spanned<Value>>,
    idle: Option<Spanned<Value>>,
    place: Option<Spanned<String>>,
    measured_by: Option<Spanned<String>>,
    #[serde(default)]
    product: Product,
    sflow: Option<Sflow>,
    #[serde(default)]
    meter: Vec<Spanned<Source>>,
    #[serde(default)]
    sensor: Vec<Spanned<Source>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Product {
    vendor: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    serial: Option<Spanned<String>>,
    firmware: Option<Spanned<String>>,
    configuration: Option<Spanned<String>>,
}

/// The type plate of a meter, a sensor or a switch.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct InstrumentFields {
    make: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    serial: Option<Spanned<String>>,
    firmware: Option<Spanned<String>>,
    calibrated: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sflow {
    #[serde(default)]
    instrument: InstrumentFields,
    listen: Option<Spanned<String>>,
    #[serde(default)]
    ports: Vec<Spanned<String>>,
    time_basis: Option<Spanned<String>>,
    #[serde(default)]
    names: BTreeMap<Spanned<String>, Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: Option<Spanned<String>>,
    at: Spanned<String>,
    role: Option<Spanned<String>>,
    #[serde(default)]
    instrument: InstrumentFields,
    interval: Option<Spanned<Value>>,
    clock_offset: Option<Spanned<f64>>,
}

/// Reads the file, up to a limit.
pub(super) fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    file.take(FILE_LEN_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_LEN_MAX {
        return Err(std::io::Error::other(format!(
            "more than {FILE_LEN_MAX} bytes: not an energy setup"
        )));
    }
    Ok(text)
}

/// Reads the text.
pub(super) fn parse(text: &str) -> Result<Setup, LineError> {
    let line = |at: usize| 1 + text.bytes().take(at).filter(|b| *b == b'\n').count();
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (line(at), explained(error.message()))
    })?;
    setup(file).map_err(|(at, reason)| (line(at), reason))
}

/// The library's message, and what to do.
fn explained(message: &str) -> String {
    let message = filermark_model::text::sanitize(message.trim(), 300);
    if message.contains("missing field `at`") {
        return "a meter or sensor needs its location: at = \"scpi://meter:10001\"".into();
    }
    if message.contains("unknown field") {
        return format!("{message}; correct the key, or remove it");
    }
    if message.contains("invalid type") {
        return format!("{message}; texts are quoted, numbers are not");
    }
    message
}

fn bad<T>(at: &Spanned<T>, reason: impl Into<String>) -> SpanError {
    (at.span().start, reason.into())
}

fn setup(file: File) -> Result<Setup, SpanError> {
    let interval = match &file.interval {
        Some(value) => interval(value)?,
        None => INTERVAL_DEFAULT,
    };
    let idle = match &file.idle {
        Some(value) => idle(value)?,
        None => IDLE_DEFAULT,
    };
    let sflow = file.sflow.map(sflow).transpose()?;
    let (sflow, ports) = sflow.map_or((None, Vec::new()), |(sflow, ports)| (Some(sflow), ports));
    let drives = match &file.drives {
        Some(drives) if *drives.get_ref() == 0 => {
            return Err(bad(
                drives,
                "drives is a number from 1; leave it out if unknown",
            ));
        }
        other => other.as_ref().map(|drives| *drives.get_ref()),
    };
    let lab = Lab {
        drives,
        raw_capacity_gb: positive(file.raw_capacity_gb.as_ref(), "raw_capacity_gb, in GB,")?,
        nominal_voltage_v: positive(file.nominal_voltage_v.as_ref(), "nominal_voltage_v, in V,")?,
        ports,
        product: product(file.product)?,
        place: file.place.as_ref().map(required_text).transpose()?,
        measured_by: file.measured_by.as_ref().map(required_text).transpose()?,
    };
    if let Some(one) = file.meter.iter().chain(&file.sensor).nth(SOURCES_MAX) {
        return Err(bad(
            one,
            format!("there are at most {SOURCES_MAX} meters and sensors"),
        ));
    }
    let mut names = BTreeSet::new();
    let mut sources = |list: Vec<Spanned<Source>>, kind: SourceKind| {
        let made = list
            .into_iter()
            .map(|one| source(one, kind, interval, &mut names));
        made.collect::<Result<Vec<_>, _>>()
    };
    Ok(Setup {
        lab,
        idle,
        sflow,
        meters: sources(file.meter, SourceKind::Meter)?,
        sensors: sources(file.sensor, SourceKind::Sensor)?,
    })
}

fn product(file: Product) -> Result<disclosed::Product, SpanError> {
    let text = |text: Option<Spanned<String>>| text.as_ref().map(required_text).transpose();
    Ok(disclosed::Product {
        vendor: text(file.vendor)?,
        name: text(file.name)?,
        model: text(file.model)?,
        serial: text(file.serial)?,
        firmware: text(file.firmware)?,
        configuration: text(file.configuration)?,
    })
}

fn plate(file: InstrumentFields) -> Result<Instrument, SpanError> {
    let text = |text: Option<Spanned<String>>| text.as_ref().map(required_text).transpose();
    Ok(Instrument {
        make: text(file.make)?,
        model: text(file.model)?,
        serial: text(file.serial)?,
        firmware: text(file.firmware)?,
        calibrated: file.calibrated.as_ref().map(date).transpose()?,
    })
}

/// A day, as TOML's own or as a text.
fn date(value: &Spanned<Value>) -> Result<String, SpanError> {
    let text = match value.get_ref() {
        Value::String(text) => text.clone(),
        Value::Datetime(day) => day.to_string(),
        _ => String::new(),
    };
    day(&text).ok_or_else(|| bad(value, "calibrated is a day, as \"2026-03-01\""))
}

/// A calendar day, as `2026-03-01`; `None`: it is not one.
pub fn day(text: &str) -> Option<String> {
    let day = text.trim().parse::<Date>().ok()?;
    Some(day.to_string())
}

fn required_text(text: &Spanned<String>) -> Result<String, SpanError> {
    optional_text(text.get_ref()).ok_or_else(|| {
        let reason = format!(
            "this is a text of 1 to {TEXT_LEN_MAX} characters on one line; leave it out if unknown"
        );
        bad(text, reason)
    })
}

/// What a worksheet asks for, on one line; `None`: it is empty, too long, or of several
/// lines.
pub fn optional_text(text: &str) -> Option<String> {
    let line = text.trim();
    let long = line.chars().count() > TEXT_LEN_MAX;
    let sound = !line.is_empty() && !long && !line.chars().any(char::is_control);
    sound.then(|| line.to_owned())
}

fn positive(value: Option<&Spanned<f64>>, what: &str) -> Result<Option<f64>, SpanError> {
    match value {
        Some(value) if !(value.get_ref().is_finite() && *value.get_ref() > 0.0) => {
            Err(bad(value, format!("{what} is a number above 0")))
        }
        other => Ok(other.map(|value| *value.get_ref())),
    }
}

/// The collector, and its ports as they were written.
fn sflow(file: Sflow) -> Result<(SflowSetup, Vec<String>), SpanError> {
    let listen = match &file.listen {
        None => SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)),
        Some(text) => text.get_ref().parse().map_err(|_| {
            bad(
                text,
                "listen is an address and a port, as \"0.0.0.0:6343\" or \"[::]:6343\"",
            )
        })?,
    };
    let time_basis = match file.time_basis.as_ref().map(Spanned::get_ref) {
        None => TimeBasis::default(),
        Some(text) if text == "receiver" => TimeBasis::Receiver,
        Some(text) if text == "agent" => TimeBasis::AgentUptime,
        Some(_) => {
            let at = file.time_basis.as_ref().map_or(0, |text| text.span().start);
            return Err((at, "time_basis is \"receiver\" or \"agent\"".into()));
        }
    };
    if file.ports.len() > PORTS_MAX || file.names.len() > PORTS_MAX {
        let at = file.ports.first().map_or(0, |port| port.span().start);
        return Err((
            at,
            format!("there are at most {PORTS_MAX} ports and names of ports"),
        ));
    }
    let mut ports = Vec::new();
    for text in &file.ports {
        let port: PortPattern = text
            .get_ref()
            .parse()
            .map_err(|e| bad(text, format!("{e}")))?;
        if ports.contains(&port) {
            return Err(bad(
                text,
                format!("port \"{}\" is listed twice", text.get_ref()),
            ));
        }
        ports.push(port);
    }
    let texts = file.ports.into_iter().map(Spanned::into_inner).collect();
    let setup = SflowSetup {
        listen,
        selection: Selection::new(ports.clone(), names(file.names)?),
        ports,
        time_basis,
        instrument: plate(file.instrument)?,
    };
    Ok((setup, texts))
}

fn names(file: BTreeMap<Spanned<String>, Spanned<String>>) -> Result<Names, SpanError> {
    let mut names = Names::default();
    for (port, name) in file {
        let one = "a name is given to one interface: \"10.0.0.248/24\" = \"filer-e0a\", \
                   or \"24\" = \"filer-e0a\" for every agent";
        let pattern: PortPattern = port
            .get_ref()
            .parse()
            .map_err(|e| bad(&port, format!("{e}")))?;
        let PortRange::Range(first, last) = pattern.which else {
            return Err(bad(&port, one));
        };
        if first != last {
            return Err(bad(&port, one));
        }
        names.set(pattern.agent, first, named(&name)?);
    }
    Ok(names)
}

fn named(text: &Spanned<String>) -> Result<String, SpanError> {
    let name = text.get_ref().trim();
    let long = name.chars().count() > NAME_LEN_MAX;
    if name.is_empty() || long || name.chars().any(char::is_control) {
        let reason = format!("a name has from 1 to {NAME_LEN_MAX} visible characters");
        return Err(bad(text, reason));
    }
    Ok(name.to_owned())
}

fn source(
    file: Spanned<Source>,
    kind: SourceKind,
    default: Duration,
    names: &mut BTreeSet<String>,
) -> Result<SourceSetup, SpanError> {
    let file = file.into_inner();
    let at: SourceSpec = file
        .at
        .get_ref()
        .parse()
        .map_err(|e| bad(&file.at, format!("{e}")))?;
    check_quantity(&at, kind).map_err(|reason| bad(&file.at, reason))?;
    let (name, place) = match &file.name {
        Some(name) => (named(name)?, name.span().start),
        None => (at.to_string(), file.at.span().start),
    };
    if !names.insert(name.clone()) {
        let reason = format!("two sources have the name \"{name}\"; give each its own name");
        return Err((place, reason));
    }
    let role = match file.role.as_ref().map(Spanned::get_ref) {
        None => Role::default(),
        Some(text) => [Role::Server, Role::Client, Role::Other]
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| {
                let place = file.role.as_ref().map_or(0, |role| role.span().start);
                (
                    place,
                    "role is \"server\", \"client\" or \"other\"".to_owned(),
                )
            })?,
    };
    let interval = match &file.interval {
        Some(value) => interval(value)?,
        None => default,
    };
    if let Some(offset) = &file.clock_offset {
        let s = *offset.get_ref();
        if !s.is_finite() || s.abs() > CLOCK_OFFSET_MAX_S {
            let reason = "clock_offset is in seconds, at most a day and a half: -3600.0";
            return Err(bad(offset, reason));
        }
    }
    Ok(SourceSetup {
        name,
        at,
        role,
        interval,
        clock_offset_s: file.clock_offset.map(Spanned::into_inner),
        instrument: plate(file.instrument)?,
    })
}

/// Checks that a source measures a quantity of its table, where its quantity is known: a
/// temperature that is logged as power would not be noticed. For options and for the file.
///
/// # Errors
/// It measures something else; the sentence says what to write instead.
pub fn check_quantity(at: &SourceSpec, kind: SourceKind) -> Result<(), String> {
    let Some(quantity) = at.quantity() else {
        return Ok(());
    };
    let is_air = matches!(quantity, Quantity::Temperature | Quantity::Humidity);
    match kind {
        SourceKind::Sensor if !is_air => Err(format!(
            "a sensor measures temperature_c or humidity_pcnt, and this is {quantity}: write \
             cmd+temperature_c:, ?quantity=temperature_c or quantity=temperature_c, or put it \
             under [[meter]]"
        )),
        SourceKind::Meter if is_air => Err(format!(
            "a meter measures power, and this is {quantity}: put it under [[sensor]]"
        )),
        _ => Ok(()),
    }
}

/// `"1s"`, `"250ms"`, `"2min"`, or a number of seconds.
fn interval(value: &Spanned<Value>) -> Result<Duration, SpanError> {
    let how = "an interval is from 50 ms to 10 min, as \"250ms\", \"5s\", \"2min\" or 5";
    duration(value, INTERVAL_MIN..=INTERVAL_MAX).ok_or_else(|| bad(value, how))
}

/// How long the server is idle before the first load point.
fn idle(value: &Spanned<Value>) -> Result<Duration, SpanError> {
    let how =
        "idle is how long power is measured before a run, up to 4 hours, as \"30s\", \"2h\" or 0";
    duration(value, Duration::ZERO..=IDLE_MAX).ok_or_else(|| bad(value, how))
}

fn duration(value: &Spanned<Value>, range: RangeInclusive<Duration>) -> Option<Duration> {
    let seconds = match value.get_ref() {
        Value::Integer(s) => u32::try_from(*s).ok().map(f64::from),
        Value::Float(s) => Some(*s),
        Value::String(text) => seconds(text),
        _ => None,
    };
    let duration = Duration::try_from_secs_f64(seconds?).ok()?;
    range.contains(&duration).then_some(duration)
}

/// The seconds of `5`, `5s`, `250ms`, `2min`, `1h`.
pub fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|n| n * scale)
}

#[cfg(test)]
mod tests;

//! The kernel's sensors, `/sys/class/hwmon` (its documentation: hwmon/sysfs-interface).
//!
//! Power is counted once: the input of a power supply (`pin`), not its output; the ACPI meter
//! of the whole machine, without its parts. Where several sensors may overlap, the user must
//! name one.

use crate::meter::{ReadFailure, Sample, Source};
use filermark_energy_data::Quantity;
use filermark_model::text::sanitize;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's directory of sensors.
pub(crate) const ROOT: &str = "/sys/class/hwmon";
/// Most chips, and most files of a chip, that are read.
const CHIPS_MAX: usize = 256;
const FILES_MAX: usize = 1024;
/// The ACPI power meter: it measures the whole machine.
const WHOLE: &str = "power_meter";
const STEP: &str = "find sensors";

/// The chosen sensors.
#[derive(Debug)]
pub(crate) struct Hwmon {
    sensors: Vec<Sensor>,
}

/// One sensor.
#[derive(Clone, Debug)]
struct Sensor {
    chip: String,
    /// `power1`, `temp2`.
    base: String,
    /// The label of the chip; may be empty.
    label: String,
    file: PathBuf,
    quantity: Quantity,
    /// The factor from an integer of the file to the quantity's unit.
    scale: f64,
}

impl Hwmon {
    /// The sensors of the host, of a chip (`NAME`), or one (`NAME/SENSOR`).
    pub(crate) fn new(root: &Path, which: Option<&str>) -> Result<Self, ReadFailure> {
        let all = all(root)?;
        let sensors = match which.map(|text| {
            text.split_once('/')
                .map_or((text, None), |(c, s)| (c, Some(s)))
        }) {
            None => of_host(&all)?,
            Some((chip, sensor)) => {
                let of_chip: Vec<Sensor> = all.iter().filter(|s| s.chip == chip).cloned().collect();
                match sensor {
                    None => of_chip_named(&of_chip)?,
                    Some(sensor) => of_chip
                        .into_iter()
                        .filter(|s| s.base == sensor || s.label.eq_ignore_ascii_case(sensor))
                        .collect(),
                }
            }
        };
        if sensors.is_empty() {
            let reason = match all.is_empty() {
                true => format!(
                    "{} has none of power, temperature or humidity; use rapl:, cmd: or a meter",
                    root.display()
                ),
                false => format!("there is no such sensor; there are {}", listed(&all)),
            };
            return Err(ReadFailure::new(STEP, reason));
        }
        Ok(Self { sensors })
    }
}

impl Source for Hwmon {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let mut values: Vec<(Quantity, f64)> = Vec::new();
        for sensor in &self.sensors {
            let value = read(sensor)?;
            match values
                .iter_mut()
                .find(|(quantity, _)| *quantity == sensor.quantity)
            {
                // Only power is ever chosen more than once, and it adds up.
                Some((_, sum)) => *sum += value,
                None => values.push((sensor.quantity, value)),
            }
        }
        Ok(Sample::now(values))
    }
}

fn read(sensor: &Sensor) -> Result<f64, ReadFailure> {
    const STEP: &str = "read a sensor";
    let bad = |why: String| ReadFailure::new(STEP, format!("{}: {why}", sensor.file.display()));
    let text = fs::read_to_string(&sensor.file).map_err(|error| bad(error.to_string()))?;
    let raw: i64 = text.trim().parse().map_err(|_| {
        bad(format!(
            "\"{}\" is not a whole number",
            sanitize(text.trim(), 40)
        ))
    })?;
    Ok(raw as f64 * sensor.scale)
}

/// Every sensor that there is.
fn all(root: &Path) -> Result<Vec<Sensor>, ReadFailure> {
    let entries = fs::read_dir(root)
        .map_err(|error| {
            let reason = format!(
                "{}: {error}; is this a virtual machine or a container without sensors? use rapl:, cmd: or a meter",
                root.display()
            );
            ReadFailure::new(STEP, reason)
        })?;
    let mut dirs: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .take(CHIPS_MAX)
        .collect();
    dirs.sort();
    let mut found = Vec::new();
    for dir in dirs {
        // Some drivers have their files one level down.
        let chip = text_of(&dir.join("name")).or_else(|| text_of(&dir.join("device/name")));
        let Some(chip) = chip else {
            continue;
        };
        found.extend(of_dir(&dir, &chip));
    }
    Ok(found)
}

fn text_of(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(sanitize(text.trim(), 64))
}

fn of_dir(dir: &Path, chip: &str) -> Vec<Sensor> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .take(FILES_MAX)
        .collect();
    names.sort();
    let mut found: Vec<Sensor> = Vec::new();
    for name in &names {
        let Some((base, attribute)) = name.split_once('_') else {
            continue;
        };
        let kind = base.trim_end_matches(|c: char| c.is_ascii_digit());
        // Microwatts, thousandths of a degree, thousandths of a percent.
        let (quantity, scale) = match (kind, attribute) {
            ("power", "input" | "average") => (Quantity::Power, 1e-6),
            ("temp", "input") => (Quantity::Temperature, 1e-3),
            ("humidity", "input") => (Quantity::Humidity, 1e-3),
            _ => continue,
        };
        // A sensor with both: "input" is used, not the mean ("average" sorts first).
        found.retain(|known| known.base != base);
        found.push(Sensor {
            chip: chip.to_owned(),
            base: base.to_owned(),
            label: text_of(&dir.join(format!("{base}_label"))).unwrap_or_default(),
            file: dir.join(name),
            quantity,
            scale,
        });
    }
    found
}

/// The sensors that are used when none is named.
fn of_host(all: &[Sensor]) -> Result<Vec<Sensor>, ReadFailure> {
    let powers: Vec<&Sensor> = all
        .iter()
        .filter(|s| s.quantity == Quantity::Power)
        .collect();
    let whole: Vec<&Sensor> = powers.iter().copied().filter(|s| s.chip == WHOLE).collect();
    let power = match whole.is_empty() {
        false => once(&whole)?,
        true => once(&powers)?,
    };
    Ok(power.into_iter().chain(inlets(all)).collect())
}

/// The sensors that are used of a named chip; two supplies may have the same name.
fn of_chip_named(of_chip: &[Sensor]) -> Result<Vec<Sensor>, ReadFailure> {
    let of = |quantity| of_chip.iter().filter(move |s| s.quantity == quantity);
    let mut chosen = once(&of(Quantity::Power).collect::<Vec<_>>())?;
    let mut air = inlets(of_chip);
    for quantity in [Quantity::Temperature, Quantity::Humidity] {
        // The only sensor of a named chip is used regardless of its label.
        let mut only = of(quantity);
        if let (Some(one), None) = (only.next(), only.next())
            && !air.iter().any(|s| s.quantity == quantity)
        {
            air.push(one.clone());
        }
    }
    chosen.append(&mut air);
    if let (true, Some(_)) = (chosen.is_empty(), of_chip.first()) {
        let reason = format!(
            "several may be meant; name one, as CHIP/SENSOR, of {}",
            listed(of_chip)
        );
        return Err(ReadFailure::new(STEP, reason));
    }
    Ok(chosen)
}

/// Sensors of power that can be added up without counting anything twice.
fn once(powers: &[&Sensor]) -> Result<Vec<Sensor>, ReadFailure> {
    if powers.len() < 2 {
        return Ok(powers.iter().copied().cloned().collect());
    }
    // The input of supplies (PMBus); their output is a part of it.
    let inputs: Vec<Sensor> = powers
        .iter()
        .filter(|s| {
            s.label == "pin" || (s.label.starts_with("pin") && s.label[3..].parse::<u8>().is_ok())
        })
        .map(|s| (*s).clone())
        .collect();
    let only_supplies = powers
        .iter()
        .all(|s| s.label.starts_with("pin") || s.label.starts_with("pout"));
    if inputs.is_empty() || !only_supplies {
        let all: Vec<Sensor> = powers.iter().map(|s| (*s).clone()).collect();
        let reason = format!(
            "several measure power, and one may be a part of another; name one, as \
             hwmon:CHIP/SENSOR, of {}",
            listed(&all)
        );
        return Err(ReadFailure::new(STEP, reason));
    }
    Ok(inputs)
}

/// Temperature and humidity of the intake air: the first sensor with such a label.
fn inlets(all: &[Sensor]) -> Vec<Sensor> {
    let is_inlet = |s: &&Sensor| {
        let label = s.label.to_lowercase();
        ["inlet", "intake", "ambient"]
            .iter()
            .any(|word| label.contains(word))
    };
    [Quantity::Temperature, Quantity::Humidity]
        .into_iter()
        .filter_map(|quantity| {
            let mut of = all.iter().filter(|s| s.quantity == quantity);
            of.find(is_inlet).cloned()
        })
        .collect()
}

fn listed(sensors: &[Sensor]) -> String {
    let names = sensors.iter().take(12).map(|s| match s.label.as_str() {
        "" => format!("{}/{}", s.chip, s.base),
        label => format!("{}/{} ({label})", s.chip, s.base),
    });
    let names: Vec<String> = names.collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;

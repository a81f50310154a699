//! Power, temperature and humidity in the schemas of Redfish (DSP8010).
//!
//! `null` is a figure that is missing now. Nothing is added up: one of several entries is the
//! total, or the user names the entry.

use crate::meter::ReadFailure;
use filermark_energy_data::Quantity;
use filermark_model::text::sanitize;
use serde_json::Value;

/// The figures that are taken from a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedFigures {
    /// All that it has: the user named it.
    Everything,
    /// Power with its related figures, and humidity.
    Power,
    /// The temperature of the intake air.
    Intake,
}

impl WantedFigures {
    /// Whether something of it is still to be found.
    pub(super) fn is_missing_in(self, values: &[(Quantity, f64)]) -> bool {
        let has = |quantity| values.iter().any(|(known, _)| *known == quantity);
        match self {
            Self::Everything => true,
            Self::Power => !has(Quantity::Power),
            Self::Intake => !has(Quantity::Temperature),
        }
    }
}

/// Figures of a resource.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Those that are there.
    pub values: Vec<(Quantity, f64)>,
    /// How many the resource has, including `null`.
    pub taken: usize,
}

impl Figures {
    /// Takes the figure under a key, which may be `null`.
    fn take(&mut self, quantity: Quantity, value: Option<&Value>) {
        let Some(value) = value else {
            return;
        };
        self.taken += 1;
        if let Some(number) = value.as_f64().filter(|number| number.is_finite()) {
            self.values.push((quantity, number));
        }
    }

    /// Takes the figure of a sensor's excerpt: `{"Reading": 374}`.
    fn excerpt(&mut self, quantity: Quantity, value: Option<&Value>) {
        self.take(quantity, value.and_then(|value| value.get("Reading")));
    }
}

/// The figures of a resource, and its links, the best first.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ResourceData {
    pub figures: Figures,
    pub links: Vec<(String, WantedFigures)>,
}

/// Reads a resource. `place` is what the user wrote after `#`.
pub(super) fn read(
    body: &Value,
    place: Option<&str>,
    wanted: WantedFigures,
) -> Result<ResourceData, ReadFailure> {
    const STEP: &str = "read the resource";
    if let Some(place) = place {
        return entry(body, place).map(|figures| ResourceData {
            figures,
            links: Vec::new(),
        });
    }
    let kind = kind(body);
    let mut found = ResourceData::default();
    let figures = &mut found.figures;
    match kind {
        "Chassis" => found.links = of_chassis(body),
        "EnvironmentMetrics" => environment(body, wanted, figures),
        "Power" => power(body, figures)?,
        "Thermal" => thermal(body, figures),
        "ThermalMetrics" => {
            let summary = body.get("TemperatureSummaryCelsius");
            let of = |key| summary.and_then(|summary| summary.get(key));
            let intake = of("Intake").or_else(|| of("Ambient"));
            figures.excerpt(Quantity::Temperature, intake);
        }
        "Sensor" => sensor(body, figures)?,
        "PowerSupplyMetrics" => {
            figures.excerpt(Quantity::Power, body.get("InputPowerWatts"));
            supply(body, "InputVoltage", "InputCurrentAmps", figures);
        }
        "PowerDistributionMetrics" => environment(body, WantedFigures::Everything, figures),
        "Outlet" | "OutletGroup" | "Circuit" => {
            power_excerpt(body.get("PowerWatts"), figures);
            supply(body, "Voltage", "CurrentAmps", figures);
        }
        "PowerDistribution" | "PowerSupply" => {
            found
                .links
                .extend(link(body, "Metrics", WantedFigures::Everything));
        }
        "ThermalSubsystem" => {
            found
                .links
                .extend(link(body, "ThermalMetrics", WantedFigures::Intake));
        }
        other => {
            let other = sanitize(other, 40);
            let reason = format!(
                "a resource of the type \"{other}\" has no readings that are known; name a \
                 Chassis, EnvironmentMetrics, Power, Thermal, ThermalMetrics, Sensor, \
                 PowerSupply, PowerDistribution, Outlet, OutletGroup or Circuit"
            );
            return Err(ReadFailure::new(STEP, reason));
        }
    }
    Ok(found)
}

/// `#Power.v1_7_1.Power` is `Power`.
fn kind(body: &Value) -> &str {
    let full = body.get("@odata.type").and_then(Value::as_str);
    full.and_then(|full| full.rsplit('.').next())
        .unwrap_or_default()
}

fn link(body: &Value, key: &str, wanted: WantedFigures) -> Option<(String, WantedFigures)> {
    let path = body.get(key)?.get("@odata.id")?.as_str()?;
    let plain = path.starts_with("/redfish/") && path.len() <= 512;
    // Links are paths on the same host.
    let plain = plain && path.chars().all(|c| c.is_ascii_graphic() && c != '#');
    plain.then(|| (path.to_owned(), wanted))
}

/// Newer resources first. The temperature that EnvironmentMetrics has of a chassis may be
/// any (of a processor in DMTF's own mock-up): only one named intake is the inlet.
fn of_chassis(body: &Value) -> Vec<(String, WantedFigures)> {
    [
        ("EnvironmentMetrics", WantedFigures::Power),
        ("Power", WantedFigures::Power),
        ("ThermalSubsystem", WantedFigures::Intake),
        ("Thermal", WantedFigures::Intake),
    ]
    .into_iter()
    .filter_map(|(key, wanted)| link(body, key, wanted))
    .collect()
}

fn environment(body: &Value, wanted: WantedFigures, figures: &mut Figures) {
    power_excerpt(body.get("PowerWatts"), figures);
    figures.excerpt(Quantity::Humidity, body.get("HumidityPercent"));
    if wanted == WantedFigures::Everything {
        figures.excerpt(Quantity::Temperature, body.get("TemperatureCelsius"));
    }
}

/// Power and its related figures (SensorPowerExcerpt).
fn power_excerpt(excerpt: Option<&Value>, figures: &mut Figures) {
    figures.excerpt(Quantity::Power, excerpt);
    related_to_power(excerpt, figures);
}

fn related_to_power(value: Option<&Value>, figures: &mut Figures) {
    let of = |key| value.and_then(|value| value.get(key));
    figures.take(Quantity::ApparentPower, of("ApparentVA"));
    figures.take(Quantity::PowerFactor, of("PowerFactor"));
}

/// The supply at an outlet or a power supply.
fn supply(body: &Value, voltage: &str, current: &str, figures: &mut Figures) {
    let volts = body.get(voltage);
    figures.excerpt(Quantity::Voltage, volts);
    let distortion = volts.and_then(|volts| volts.get("THDPercent"));
    figures.take(Quantity::VoltageDistortion, distortion);
    figures.excerpt(Quantity::Current, body.get(current));
    figures.excerpt(Quantity::Frequency, body.get("FrequencyHz"));
}

fn list<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn has_number(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(Value::is_number)
}

fn power(body: &Value, figures: &mut Figures) -> Result<(), ReadFailure> {
    if let Some(total) = total(body)? {
        figures.take(Quantity::Power, total.get("PowerConsumedWatts"));
    }
    // `Voltages` are rails of the board; the supply is the input of a power supply.
    let lines = list(body, "PowerSupplies").iter();
    let mut volts = lines.filter_map(|supply| supply.get("LineInputVoltage"));
    figures.take(Quantity::Voltage, volts.find(|volts| volts.is_number()));
    Ok(())
}

/// The power control of the chassis, of several. Some services add one for processors and
/// one for memory, which are parts of it. Where it is ambiguous, the user must name it.
fn total(body: &Value) -> Result<Option<&Value>, ReadFailure> {
    let all = list(body, "PowerControl").iter();
    let all: Vec<&Value> = all
        .filter(|c| c.get("PowerConsumedWatts").is_some())
        .collect();
    if all.len() < 2 {
        return Ok(all.first().copied());
    }
    let own = text(body, "@odata.id").trim_end_matches('/');
    let chassis = own.strip_suffix("/Power").unwrap_or_default();
    let is_of_chassis = |control: &&&Value| {
        let related = list(control, "RelatedItem").iter();
        let mut related = related.map(|item| text(item, "@odata.id").trim_end_matches('/'));
        text(control, "PhysicalContext") == "Chassis"
            || (!chassis.is_empty() && related.any(|item| item == chassis))
    };
    let is_whole = |control: &&&Value| {
        let context = text(control, "PhysicalContext");
        ["", "Chassis", "SystemBoard", "PowerSubsystem"].contains(&context)
    };
    let candidates: Vec<&&Value> = all.iter().filter(is_whole).collect();
    let mut of_chassis = candidates.iter().copied().filter(|c| is_of_chassis(c));
    if let (Some(one), None) = (of_chassis.next(), of_chassis.next()) {
        return Ok(Some(one));
    }
    if let [one] = candidates.as_slice() {
        return Ok(Some(one));
    }
    let names = all
        .iter()
        .take(8)
        .map(|control| sanitize(text(control, "Name"), 40));
    let names: Vec<String> = names.collect();
    let reason = format!(
        "it has several power controls ({}), and one may be a part of another; name one, with \
         #/PowerControl/0 after the path",
        names.join(", ")
    );
    Err(ReadFailure::new("read the resource", reason))
}

/// The inlet: the sensor with that context, or with such a name. No other is used.
fn thermal(body: &Value, figures: &mut Figures) {
    let all = list(body, "Temperatures");
    let has_context = |t: &&Value| text(t, "PhysicalContext") == "Intake";
    let has_name = |t: &&Value| {
        let name = text(t, "Name").to_lowercase();
        ["inlet", "intake", "ambient"]
            .iter()
            .any(|word| name.contains(word))
    };
    let inlets: Vec<&Value> = match all.iter().any(|t| has_context(&t)) {
        true => all.iter().filter(has_context).collect(),
        false => all.iter().filter(has_name).collect(),
    };
    // An inlet without a reading is not replaced by a sensor of another kind.
    let mut reading = inlets.iter().filter(|t| has_number(t, "ReadingCelsius"));
    let found = reading.next().or(inlets.first());
    figures.take(
        Quantity::Temperature,
        found.and_then(|t| t.get("ReadingCelsius")),
    );
}

fn sensor(body: &Value, figures: &mut Figures) -> Result<(), ReadFailure> {
    let (kind, units) = (text(body, "ReadingType"), text(body, "ReadingUnits"));
    let known = match (kind, units) {
        ("Power", "W" | "") | ("", "W") => Some((Quantity::Power, 1.0)),
        ("Power", "kW") => Some((Quantity::Power, 1e3)),
        ("EnergyJoules", "J" | "") | ("", "J") => Some((Quantity::Energy, 1.0)),
        ("EnergykWh", "kW.h" | "") | ("", "kW.h") => Some((Quantity::Energy, 3.6e6)),
        ("EnergyWh", "W.h" | "") => Some((Quantity::Energy, 3600.0)),
        ("Voltage", "V" | "") | ("", "V") => Some((Quantity::Voltage, 1.0)),
        ("Current", "A" | "") | ("", "A") => Some((Quantity::Current, 1.0)),
        ("Frequency", "Hz" | "") | ("", "Hz") => Some((Quantity::Frequency, 1.0)),
        ("Temperature", "Cel" | "") | ("", "Cel") => Some((Quantity::Temperature, 1.0)),
        ("Humidity", "%" | "") => Some((Quantity::Humidity, 1.0)),
        _ => None,
    };
    let Some((quantity, scale)) = known else {
        let (kind, units) = (sanitize(kind, 30), sanitize(units, 20));
        let reason = format!("a sensor of \"{kind}\" in \"{units}\" is not known here");
        return Err(ReadFailure::new("read the resource", reason));
    };
    let reading = body.get("Reading").cloned().unwrap_or(Value::Null);
    let reading = reading
        .as_f64()
        .map_or(Value::Null, |number| (number * scale).into());
    figures.take(quantity, Some(&reading));
    if quantity == Quantity::Power {
        related_to_power(Some(body), figures);
    }
    Ok(())
}

/// One entry of a resource, by its place: `/PowerControl/0`, `/Temperatures/3`.
fn entry(body: &Value, place: &str) -> Result<Figures, ReadFailure> {
    let Some(value) = body.pointer(place) else {
        let place = sanitize(place, 80);
        let reason = format!("the resource has no {place}; count entries from 0");
        return Err(ReadFailure::new("read the resource", reason));
    };
    let mut figures = Figures::default();
    for (key, quantity) in [
        ("PowerConsumedWatts", Quantity::Power),
        ("PowerInputWatts", Quantity::Power),
        ("ReadingCelsius", Quantity::Temperature),
        ("LineInputVoltage", Quantity::Voltage),
        ("ReadingVolts", Quantity::Voltage),
    ] {
        if !figures.values.iter().any(|(known, _)| *known == quantity) {
            figures.take(quantity, value.get(key));
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests;

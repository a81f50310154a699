//! The meaning of a column's name: `WT1:P-1`, `Power [kW]`, `Urms1`, `Temp (°F)`.

use super::columns::ColumnMeaning;
use crate::reading::Quantity;

/// The meaning of a column by its name, and the conversion to the quantity's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NamedColumn {
    pub(super) what: ColumnMeaning,
    pub(super) factor: f64,
    pub(super) offset: f64,
}

/// Units in lower case, with the quantity and the factor to its own unit.
const UNITS: [(&str, Quantity, f64); 27] = [
    ("w", Quantity::Power, 1.0),
    ("watt", Quantity::Power, 1.0),
    ("watts", Quantity::Power, 1.0),
    ("kw", Quantity::Power, 1000.0),
    ("va", Quantity::ApparentPower, 1.0),
    ("kva", Quantity::ApparentPower, 1000.0),
    ("j", Quantity::Energy, 1.0),
    ("wh", Quantity::Energy, 3600.0),
    ("kwh", Quantity::Energy, 3_600_000.0),
    ("v", Quantity::Voltage, 1.0),
    ("volt", Quantity::Voltage, 1.0),
    ("volts", Quantity::Voltage, 1.0),
    ("vrms", Quantity::Voltage, 1.0),
    ("a", Quantity::Current, 1.0),
    ("amp", Quantity::Current, 1.0),
    ("amps", Quantity::Current, 1.0),
    ("arms", Quantity::Current, 1.0),
    ("hz", Quantity::Frequency, 1.0),
    ("°c", Quantity::Temperature, 1.0),
    ("℃", Quantity::Temperature, 1.0),
    ("degc", Quantity::Temperature, 1.0),
    ("deg c", Quantity::Temperature, 1.0),
    ("celsius", Quantity::Temperature, 1.0),
    ("rh", Quantity::Humidity, 1.0),
    ("%rh", Quantity::Humidity, 1.0),
    ("rh%", Quantity::Humidity, 1.0),
    ("% rh", Quantity::Humidity, 1.0),
];

/// Whether the name has another unit than the quantity's own, and the factor to it;
/// `Some(None)`: a factor alone is not enough.
pub(super) fn other_unit(name: &str, quantity: Quantity) -> Option<Option<f64>> {
    let name = name.trim();
    let lower = name.to_lowercase();
    let (base, unit) = base_and_unit(&lower);
    // mW and MW differ only in case.
    let ending = |unit: &str| {
        let bare = name.trim_end_matches([')', ']']).trim_end();
        bare.strip_suffix(unit)
            .is_some_and(|rest| rest.ends_with([' ', '_', '(', '[']))
    };
    if quantity == Quantity::Power && (ending("mW") || ending("MW")) {
        return Some(Some(if ending("mW") { 0.001 } else { 1_000_000.0 }));
    }
    let named = by_unit(base, unit?).filter(|named| named.what == ColumnMeaning::Of(quantity))?;
    match (named.factor == 1.0, named.offset == 0.0) {
        (true, true) => None,
        (_, true) => Some(Some(named.factor)),
        (_, false) => Some(None),
    }
}

/// The meaning of the name; `None`: it is not used.
pub(super) fn named(name: &str) -> Option<NamedColumn> {
    let name = name.trim().to_lowercase();
    if let Some(what) = time(&name) {
        return Some(plain(what));
    }
    // Yokogawa CW: consumed energy, with its sign in the name; `wh(-)` is returned energy.
    if name == "wh(+)" {
        return Some(NamedColumn {
            what: ColumnMeaning::Of(Quantity::Energy),
            factor: 3600.0,
            offset: 0.0,
        });
    }
    let (base, unit) = base_and_unit(&name);
    // A minimum, a maximum or a sum over time is not an instantaneous figure.
    let words = ["min", "max", "peak", "avg since", "setpoint", "set point"];
    if words.iter().any(|word| base.contains(word)) {
        return None;
    }
    match unit {
        Some(unit) => by_unit(base, unit),
        None => by_base(base).map(|quantity| plain(ColumnMeaning::Of(quantity))),
    }
}

fn plain(what: ColumnMeaning) -> NamedColumn {
    NamedColumn {
        what,
        factor: 1.0,
        offset: 0.0,
    }
}

fn time(name: &str) -> Option<ColumnMeaning> {
    Some(match name {
        "date" | "output date" | "datum" => ColumnMeaning::Date,
        "time" | "output time" | "zeit" | "uhrzeit" | "local time" => ColumnMeaning::Time,
        "datetime" | "date time" | "date/time" | "date-time" | "date_time" | "date & time"
        | "timestamp" | "time stamp" | "zeitstempel" | "date and time" => ColumnMeaning::DateTime,
        "millisecond" | "milliseconds" | "time (ms)" | "time(ms)" | "ms" | "msec" => {
            ColumnMeaning::Milliseconds
        }
        "unix" | "unix time" | "unixtime" | "unix_time" | "unix timestamp" | "epoch"
        | "epoch (s)" => ColumnMeaning::Unix,
        _ => return None,
    })
}

/// `power [kw]` is `power` in `kw`; so are `power (kw)`, `power_kw` and `power kw`. An
/// element of a meter, `wt1:p-1`, is `p` without a unit.
fn base_and_unit(name: &str) -> (&str, Option<&str>) {
    let name = match name.split_once(':') {
        Some((meter, rest)) if meter.starts_with("wt") => rest.trim(),
        _ => name,
    };
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((base, unit)) = name.strip_suffix(close).and_then(|n| n.rsplit_once(open)) {
            // An unknown unit is not ignored: `power [var]` is not power.
            return match is_unit(unit.trim()) {
                true => (base.trim(), Some(unit.trim())),
                false => (name, None),
            };
        }
    }
    if let Some((base, unit)) = name.rsplit_once([' ', '_']).filter(|(_, u)| is_unit(u)) {
        return (base.trim(), Some(unit));
    }
    (name, None)
}

fn is_unit(text: &str) -> bool {
    matches!(text, "°f" | "degf" | "%" | "f" | "c") || UNITS.iter().any(|(unit, ..)| *unit == text)
}

fn by_unit(base: &str, unit: &str) -> Option<NamedColumn> {
    let scaled = |quantity, factor, offset| NamedColumn {
        what: ColumnMeaning::Of(quantity),
        factor,
        offset,
    };
    let by_name = by_base(base);
    match unit {
        "°f" | "degf" | "f" => Some(scaled(Quantity::Temperature, 1.0 / 1.8, -32.0 / 1.8)),
        "c" => Some(scaled(Quantity::Temperature, 1.0, 0.0)),
        "%" => by_name
            .filter(|q| matches!(q, Quantity::Humidity | Quantity::VoltageDistortion))
            .map(|quantity| scaled(quantity, 1.0, 0.0)),
        _ => {
            let (_, quantity, factor) = UNITS.iter().find(|(u, ..)| *u == unit)?;
            // Watts of a column named reactive or loss are not the consumed power.
            let other = ["reactive", "loss", "q"]
                .iter()
                .any(|w| base.starts_with(w));
            (!other && by_name.is_none_or(|q| q == *quantity))
                .then(|| scaled(*quantity, *factor, 0.0))
        }
    }
}

/// By the name alone, with or without the number of an element: `p`, `p-1`, `urms1`.
fn by_base(base: &str) -> Option<Quantity> {
    let stem = base.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_', ' ']);
    Some(match stem {
        "p" | "power" | "watts" | "watt" | "w" | "active power" | "activepower" | "p-σ"
        | "real power" | "psum" | "p-sigma" | "total power" | "leistung" => Quantity::Power,
        "s" | "va" | "apparent power" | "apparentpower" => Quantity::ApparentPower,
        "energy" | "wp" => Quantity::Energy,
        "u" | "v" | "urms" | "vrms" | "voltage" | "volts" | "spannung" => Quantity::Voltage,
        "i" | "irms" | "arms" | "current" | "amps" | "strom" => Quantity::Current,
        "pf" | "λ" | "lambda" | "power factor" | "powerfactor" => Quantity::PowerFactor,
        "f" | "fu" | "frequ" | "freq" | "hz" | "frequency" | "frequenz" => Quantity::Frequency,
        "uthd" | "vthd" | "voltage thd" => Quantity::VoltageDistortion,
        "temp" | "temperature" | "temperatur" | "inlet" | "inlet temperature" | "°c" => {
            Quantity::Temperature
        }
        "humidity" | "rh" | "%rh" | "relative humidity" | "feuchte" => Quantity::Humidity,
        _ => return None,
    })
}

/// A cell without the unit after the figure, if it is the quantity's own.
pub(super) fn without_unit(cell: &str, quantity: Quantity) -> &str {
    let digits = cell.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
    let unit = cell.get(digits.len()..).unwrap_or("").trim();
    let lower = unit.to_lowercase();
    let own = match (lower.as_str(), quantity) {
        ("", _) => return cell,
        ("c", Quantity::Temperature) | ("%", Quantity::Humidity | Quantity::VoltageDistortion) => {
            true
        }
        (lower, _) => UNITS
            .iter()
            .any(|(u, q, factor)| *u == lower && *q == quantity && *factor == 1.0),
    };
    if own { digits } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<(Quantity, f64)> {
        match named(name)? {
            NamedColumn {
                what: ColumnMeaning::Of(quantity),
                factor,
                ..
            } => Some((quantity, factor)),
            _ => None,
        }
    }

    #[test]
    fn a_unit_that_is_not_the_quantitys_own_is_seen() {
        for (name, quantity, wanted) in [
            ("Leistung (kW)", Quantity::Power, Some(Some(1000.0))),
            ("Draw [kW]", Quantity::Power, Some(Some(1000.0))),
            ("P (mW)", Quantity::Power, Some(Some(0.001))),
            ("P [MW]", Quantity::Power, Some(Some(1e6))),
            ("S kVA", Quantity::ApparentPower, Some(Some(1000.0))),
            ("Wp (Wh)", Quantity::Energy, Some(Some(3600.0))),
            ("Inlet (°F)", Quantity::Temperature, Some(None)),
            ("Leistung (W)", Quantity::Power, None),
            ("Leistung", Quantity::Power, None),
            ("Power (kW)", Quantity::Voltage, None),
            ("", Quantity::Power, None),
        ] {
            assert_eq!(other_unit(name, quantity), wanted, "{name}");
        }
    }

    #[test]
    fn names_of_meters_and_loggers() {
        for (name, quantity, factor) in [
            ("WT1:P-1", Quantity::Power, 1.0),
            ("WT1:U-1", Quantity::Voltage, 1.0),
            ("WT1:PF-1", Quantity::PowerFactor, 1.0),
            ("WT1:FreqU-1", Quantity::Frequency, 1.0),
            ("WT1:Uthd-1", Quantity::VoltageDistortion, 1.0),
            ("Urms1", Quantity::Voltage, 1.0),
            ("P1", Quantity::Power, 1.0),
            ("Power [kW]", Quantity::Power, 1000.0),
            ("power_w", Quantity::Power, 1.0),
            ("Energy (kWh)", Quantity::Energy, 3_600_000.0),
            ("Temp (°C)", Quantity::Temperature, 1.0),
            ("Inlet Temperature °F", Quantity::Temperature, 1.0 / 1.8),
            ("Celsius(°C)", Quantity::Temperature, 1.0),
            ("Humidity(%rh)", Quantity::Humidity, 1.0),
            ("Humidity [%]", Quantity::Humidity, 1.0),
        ] {
            assert_eq!(of(name), Some((quantity, factor)), "{name}");
        }
        for name in [
            "WT1:Q-1",
            "Wh(-)",
            "WT1:Phi-1",
            "WT1:FreqI-1",
            "WT1:Ithd-1",
            "Store No.",
            "Etime",
            "Status",
            "Max Power [W]",
            "Reactive power (W)",
            "Power [var]",
            "Current [W]",
            "",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
        assert_eq!(
            named("Time (ms)").map(|n| n.what),
            Some(ColumnMeaning::Milliseconds)
        );
        assert_eq!(
            named("OUTPUT DATE").map(|n| n.what),
            Some(ColumnMeaning::Date)
        );
    }

    #[test]
    fn units_behind_figures() {
        assert_eq!(without_unit("535 W", Quantity::Power).trim(), "535");
        assert_eq!(without_unit("23.5°C", Quantity::Temperature), "23.5");
        assert_eq!(without_unit("535 kW", Quantity::Power), "535 kW");
        assert_eq!(without_unit("535", Quantity::Power), "535");
        assert_eq!(without_unit("----", Quantity::Power), "----");
    }
}

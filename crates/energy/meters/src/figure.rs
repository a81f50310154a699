//! Parses a figure in text: `535.2 W`, `Instantaneous power reading: 220 Watts`.
//!
//! Exactly one number is allowed: with two it is not known which is meant.

use filermark_energy_data::Quantity;
use filermark_model::text::sanitize;

/// Known units, in lower case, with the quantity and the factor to the quantity's own unit.
const UNITS: [(&str, Quantity, f64); 24] = [
    ("w", Quantity::Power, 1.0),
    ("watt", Quantity::Power, 1.0),
    ("watts", Quantity::Power, 1.0),
    ("kw", Quantity::Power, 1e3),
    ("va", Quantity::ApparentPower, 1.0),
    ("kva", Quantity::ApparentPower, 1e3),
    ("j", Quantity::Energy, 1.0),
    ("wh", Quantity::Energy, 3600.0),
    ("kwh", Quantity::Energy, 3.6e6),
    ("v", Quantity::Voltage, 1.0),
    ("volt", Quantity::Voltage, 1.0),
    ("volts", Quantity::Voltage, 1.0),
    ("mv", Quantity::Voltage, 1e-3),
    ("a", Quantity::Current, 1.0),
    ("amps", Quantity::Current, 1.0),
    ("ma", Quantity::Current, 1e-3),
    ("hz", Quantity::Frequency, 1.0),
    ("%", Quantity::VoltageDistortion, 1.0),
    ("%", Quantity::Humidity, 1.0),
    ("%rh", Quantity::Humidity, 1.0),
    ("c", Quantity::Temperature, 1.0),
    ("°c", Quantity::Temperature, 1.0),
    ("degrees", Quantity::Temperature, 1.0),
    ("cel", Quantity::Temperature, 1.0),
];

/// The one figure of a text, in the quantity's unit.
///
/// # Errors
/// There is none, there are several, or its unit is not one of the quantity.
pub(crate) fn the_one(text: &str, quantity: Quantity) -> Result<f64, String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        let shown = sanitize(text.trim(), 80);
        return Err(format!("expected one line with a figure, got \"{shown}\""));
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let Some((number, unit)) = number(word) else {
            continue;
        };
        if found.is_some() {
            return Err(format!(
                "\"{}\" has more than one number",
                sanitize(line, 80)
            ));
        }
        let unit = match unit {
            "" => words.get(at + 1).copied().unwrap_or_default(),
            unit => unit,
        };
        if let Some(wanted) = decimal_comma(number, unit) {
            let shown = sanitize(line, 80);
            return Err(format!("\"{shown}\": a decimal comma? print {wanted}"));
        }
        found = Some((number, unit));
    }
    let Some((number, unit)) = found else {
        return Err(format!("\"{}\" has no number", sanitize(line, 80)));
    };
    let value = number * scale(unit, quantity)?;
    if !value.is_finite() {
        return Err(format!("\"{}\" is not a finite number", sanitize(line, 80)));
    }
    Ok(value)
}

/// The number that a word begins with, and what follows it.
fn number(word: &str) -> Option<(f64, &str)> {
    let word = word.trim_end_matches([',', ';', '.']);
    let starts = word.trim_start_matches(['+', '-', '.']);
    if !starts.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // The longest prefix that is a number: 5E+2W is 5E+2 and W.
    let ends = (1..=word.len())
        .rev()
        .filter(|end| word.is_char_boundary(*end));
    for (number, unit) in ends.map(|end| word.split_at(end)) {
        if let Ok(value) = number.parse() {
            return Some((value, unit));
        }
    }
    None
}

/// `220.5` of `220,5`, or of `220,5W`.
fn decimal_comma(number: f64, rest: &str) -> Option<String> {
    let fraction = rest.strip_prefix(',')?;
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 => None,
        // `1,234` may be either.
        3 => Some("it without commas".into()),
        _ => Some(format!("{number}.{}", &fraction[..digits])),
    }
}

fn scale(unit: &str, quantity: Quantity) -> Result<f64, String> {
    // M is mega and m is milli; lower case would confuse them.
    match (quantity, unit) {
        (_, "") => return Ok(1.0),
        (Quantity::Power, "mW") => return Ok(1e-3),
        (Quantity::Power, "MW") => return Ok(1e6),
        _ => {}
    }
    let small = unit.to_lowercase();
    let known = UNITS
        .iter()
        .find(|(name, of, _)| *name == small && *of == quantity);
    known.map(|(_, _, scale)| *scale).ok_or_else(|| {
        let unit = sanitize(unit, 20);
        format!("\"{unit}\" after the number is not a unit of {quantity}; print the number alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_with_and_without_units() {
        for (text, wanted) in [
            ("535.2", 535.2),
            ("535.2 W\n", 535.2),
            ("\n  220 Watts  \n", 220.0),
            ("Instantaneous power reading:   220 Watts", 220.0),
            ("power1: 5.35E+02W", 535.0),
            ("1.5kW", 1500.0),
            ("250 mW", 0.25),
            ("-3", -3.0),
            ("power_watts 7;", 7.0),
        ] {
            assert_eq!(the_one(text, Quantity::Power), Ok(wanted), "{text}");
        }
        assert_eq!(the_one("inlet +23.5°C", Quantity::Temperature), Ok(23.5));
        assert_eq!(the_one("41 %", Quantity::Humidity), Ok(41.0));
        assert_eq!(the_one("2 kWh", Quantity::Energy), Ok(7.2e6));
        assert_eq!(the_one("0.98", Quantity::PowerFactor), Ok(0.98));
    }

    #[test]
    fn what_is_not_one_figure_is_refused() {
        for (text, wanted) in [
            ("", "one line"),
            ("1\n2", "one line"),
            ("no power", "no number"),
            ("nan", "no number"),
            ("inf W", "no number"),
            ("1e999", "not a finite"),
            ("220 W of 800 W", "more than one"),
            ("220 BTU/h", "not a unit"),
            ("220,5 W", "a decimal comma? print 220.5"),
            ("power 220,5W", "print 220.5"),
            ("1,234 W", "print it without commas"),
            ("220 C", "not a unit"),
            ("12:30", "not a unit"),
        ] {
            let message = the_one(text, Quantity::Power).expect_err(text);
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = the_one(&text, Quantity::Power);
        }
    }
}

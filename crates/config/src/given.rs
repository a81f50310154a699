//! Given values: collected from all sources, looked up, checked against their kind, typed.

use crate::error::{ConfigError, SourceLocation, quoted};
use crate::hints;
use crate::params::{self, FromValue, Kind, Param, Parameter, Value};
use crate::rc::{Assignment, parse_rc};
use crate::sources::Sources;
use filermark_model::Bytes;
use std::collections::BTreeMap;
use std::fmt;

/// Replaces a secret that is set.
const GIVEN: &str = "(given)";

/// A parameter as it was given.
#[derive(Clone)]
pub(crate) struct GivenValue {
    pub parameter: &'static Parameter,
    /// As written.
    pub raw: String,
    /// `None`: it was wrong, which has been reported.
    pub value: Option<Value>,
    pub location: SourceLocation,
}

impl fmt::Debug for GivenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.shown(), self.location)
    }
}

impl GivenValue {
    /// `NAME=value` as messages and records may show it.
    pub fn shown(&self) -> String {
        format!("{}={}", self.parameter.name, quoted(&self.shown_value()))
    }

    /// The value as messages and records may show it.
    pub fn shown_value(&self) -> String {
        match self.parameter.kind {
            Kind::Secret => GIVEN.to_owned(),
            _ => self.raw.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

/// All given parameters, by name. An empty value counts as not given.
#[derive(Debug, Default)]
pub(crate) struct Values {
    given: BTreeMap<&'static str, GivenValue>,
    /// Parameters that a later assignment in the same source has replaced.
    pub replaced: Vec<(GivenValue, SourceLocation)>,
    /// Names whose text could not be read, as written.
    pub broken: Vec<String>,
    /// Assignments to names that no parameter has.
    pub unknown: Vec<Assignment>,
}

impl Values {
    /// Adds a source's assignments; later sources have precedence over earlier ones.
    pub fn take(&mut self, assignments: &[Assignment], errors: &mut Vec<ConfigError>) {
        let mut here = BTreeMap::<&'static str, GivenValue>::new();
        for a in assignments {
            let Some(parameter) = Parameter::find(&a.name) else {
                self.unknown.push(a.clone());
                continue;
            };
            // The rc files of 2020 have all names, most of them left empty.
            if a.value.trim().is_empty() && a.name != parameter.name {
                continue;
            }
            // Blanks at the ends of a password belong to it.
            let text = match parameter.kind {
                Kind::Secret if !a.value.trim().is_empty() => a.value.as_str(),
                _ => a.value.trim(),
            };
            let value = match check(parameter, text) {
                _ if text.is_empty() => None,
                Ok(value) => Some(value),
                Err((message, hint)) => {
                    errors.push(ConfigError::new(a.location.clone(), message, hint));
                    None
                }
            };
            let given = GivenValue {
                parameter,
                raw: text.to_owned(),
                value,
                location: a.location.clone(),
            };
            if let Some(old) = here.insert(parameter.name, given) {
                self.replaced.push((old, a.location.clone()));
            }
        }
        self.given.extend(here);
    }

    /// Refuses names that no parameter has, unless IGNORE_UNKNOWN makes notes of them.
    pub fn refuse_unknown(&mut self, errors: &mut Vec<ConfigError>) {
        if !self.get(&params::IGNORE_UNKNOWN) {
            errors.extend(self.unknown.drain(..).map(|a| unknown(&a)));
        }
    }

    /// A parameter as given; `None`: it was not, or was left empty.
    pub fn given(&self, parameter: &Parameter) -> Option<&GivenValue> {
        let given = self.given.get(parameter.name);
        given.filter(|g| !g.raw.is_empty())
    }

    /// All that were given, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = &GivenValue> {
        Parameter::all().filter_map(|p| self.given(p))
    }

    /// Whether it was given and is wrong, as has been reported; further checks would only confuse.
    pub fn is_bad(&self, parameter: &Parameter) -> bool {
        let broken = |text: &String| Parameter::find(text).is_some_and(|p| p.is(parameter));
        let given = self.given(parameter);
        given.is_some_and(|g| g.value.is_none()) || self.broken.iter().any(broken)
    }

    /// Where it was given.
    pub fn place(&self, parameter: &Parameter) -> SourceLocation {
        let given = self.given(parameter);
        given.map_or(SourceLocation::Missing, |g| g.location.clone())
    }

    /// The given value, or the default of the declaration.
    pub fn get<T: FromValue>(&self, parameter: &Param<T>) -> T {
        let given = self.given(parameter);
        if let Some(value) = given.and_then(|g| g.value.as_ref()) {
            return T::from_value(Some(value));
        }
        let default = match parameter.default {
            "" => None,
            default => check(parameter, default).ok(),
        };
        T::from_value(default.as_ref())
    }
}

/// Reads all sources; the command line has precedence over the rc file, both over the defaults.
pub(crate) fn gather(sources: &Sources, errors: &mut Vec<ConfigError>) -> Values {
    let mut values = Values::default();
    if let Some(rc) = &sources.rc {
        let rc = parse_rc(&rc.name, &rc.text);
        errors.extend(rc.errors);
        values.take(&rc.assignments, errors);
        values.broken = rc.broken;
    }
    values.take(&sources.overrides, errors);
    let missing = sources.defaults.iter().filter(|default| {
        let parameter = Parameter::find(&default.name);
        parameter.is_none_or(|p| values.given(p).is_none() && !values.is_bad(p))
    });
    let missing: Vec<_> = missing.cloned().collect();
    values.take(&missing, errors);
    values.refuse_unknown(errors);
    values
}

fn unknown(a: &Assignment) -> ConfigError {
    let hint = hints::parameter(&a.name);
    let message = format!("there is no parameter {}", quoted(&a.name));
    ConfigError::new(a.location.clone(), message, hint)
}

/// Checks a text against a parameter's kind; the error is (message, hint).
pub(crate) fn check(p: &Parameter, text: &str) -> Result<Value, (String, String)> {
    let wrong = |what: &str, hint: String| {
        let shown = match p.kind {
            Kind::Secret => GIVEN.to_owned(),
            _ => quoted(text),
        };
        let hint = hints::value(p.name, text).map_or(hint, str::to_owned);
        Err((format!("{}={shown} {what}", p.name), hint))
    };
    // The rc files of 2014 write 0 and 1 where those of 2008 write off and on.
    let is_word = |word: &&str| {
        let switch = [("0", "off"), ("1", "on")].contains(&(text, *word));
        switch || word.eq_ignore_ascii_case(text)
    };
    let one_of = |words: &'static [&'static str]| {
        let Some(word) = words.iter().copied().find(is_word) else {
            let hint = format!("choose one of: {}", words.join(", "));
            return wrong("is not one of the choices", hint);
        };
        Ok(Value::Choice(word))
    };
    match p.kind {
        Kind::Text | Kind::Secret | Kind::Path => {
            if text.chars().any(char::is_control) {
                return wrong(
                    "has a line break or another control character",
                    "write it on one line".into(),
                );
            }
            Ok(Value::Text(text.to_owned()))
        }
        Kind::List => Ok(Value::List(
            text.split_whitespace().map(str::to_owned).collect(),
        )),
        Kind::Switch => match text.to_ascii_lowercase().as_str() {
            "on" | "1" | "yes" | "true" => Ok(Value::Switch(true)),
            "off" | "0" | "no" | "false" => Ok(Value::Switch(false)),
            _ => wrong(
                "is neither on nor off",
                format!("write {}=on or {}=off", p.name, p.name),
            ),
        },
        Kind::Choice(words) => one_of(words),
        Kind::Words(list) => one_of(list.words()),
        Kind::WordOrReal(word, ..) if word.eq_ignore_ascii_case(text) => Ok(Value::Choice(word)),
        Kind::WordOrReal(word, min, max, unit) => match number(text, unit) {
            Some(x) if (min..=max).contains(&x) => Ok(Value::Real(x)),
            _ => wrong(
                &format!("is neither '{word}' nor a number of {unit} from {min} to {max}"),
                format!("write {}={word} or a number", p.name),
            ),
        },
        Kind::WordOrInt(word, ..) if word.eq_ignore_ascii_case(text) => Ok(Value::Choice(word)),
        Kind::WordOrInt(word, min, max) => match text.parse::<u64>() {
            Ok(n) if (min..=max).contains(&n) => Ok(Value::Int(n)),
            _ => wrong(
                &format!("is neither '{word}' nor a whole number from {min} to {max}"),
                format!("write {}={word} or a number", p.name),
            ),
        },
        Kind::Int(min, max, unit) => match whole_number(text, unit) {
            Some(n) if (min..=max).contains(&n) => Ok(Value::Int(n)),
            Some(_) => wrong(
                "is out of bounds",
                hints::within(&min.to_string(), &max.to_string(), unit),
            ),
            None => wrong(
                "is not a whole number",
                format!(
                    "{}{}",
                    hints::within(&min.to_string(), &max.to_string(), unit),
                    units_text(unit)
                ),
            ),
        },
        Kind::Size(min, max) => match parse_size(text) {
            Some(n) if (min..=max).contains(&n) => Ok(Value::Int(n)),
            Some(_) => wrong(
                "is out of bounds",
                format!("give {} to {}", Bytes(min), Bytes(max)),
            ),
            None => wrong(
                "is not an amount of data",
                format!(
                    "write a number and k, m, g or t (binary), e.g. {}=16k",
                    p.name
                ),
            ),
        },
        Kind::Real(min, max, unit) => match number(text, unit) {
            Some(x) if (min..=max).contains(&x) => Ok(Value::Real(x)),
            Some(x) if x.is_finite() => {
                wrong("is out of bounds", format!("give {min} to {max} {unit}"))
            }
            _ => wrong(
                "is not a number",
                format!("give {min} to {max} {unit}{}", units_text(unit)),
            ),
        },
    }
}

/// Units that may follow a number, and how many of the parameter's own unit they are.
fn units(unit: &str) -> &'static [(&'static str, f64)] {
    match unit {
        "seconds" => &[
            ("ms", 0.001),
            ("s", 1.0),
            ("min", 60.0),
            ("m", 60.0),
            ("h", 3600.0),
        ],
        "ms" => &[
            ("ms", 1.0),
            ("s", 1000.0),
            ("min", 60_000.0),
            ("m", 60_000.0),
        ],
        "KB" => &[
            ("k", 1.0),
            ("kb", 1.0),
            ("kib", 1.0),
            ("m", 1024.0),
            ("mb", 1024.0),
            ("mib", 1024.0),
        ],
        "%" | "percent" | "percent of RUN" => &[("%", 1.0)],
        "version" | "port" | "seed" | "user id" | "group id" => &[],
        _ => &[("k", 1000.0)],
    }
}

/// The units that may follow a number, for a hint.
fn units_text(unit: &str) -> String {
    match units(unit) {
        [] => ", digits only".to_owned(),
        [("k", _)] => String::new(),
        units => {
            let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
            format!(", as a number; {} may follow it", names.join(", "))
        }
    }
}

/// A number, with or without one of the units that its parameter takes: `60`, `60s`, `1m`.
pub(crate) fn number(text: &str, unit: &str) -> Option<f64> {
    if let Ok(x) = text.parse::<f64>() {
        return Some(x);
    }
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, suffix) = text.split_at(at);
    let suffix = suffix.trim().to_ascii_lowercase();
    let (_, factor) = units(unit).iter().find(|(name, _)| *name == suffix)?;
    digits.parse::<f64>().ok().map(|x| x * factor)
}

/// As [`number`], for counts; the result must be whole.
pub(crate) fn whole_number(text: &str, unit: &str) -> Option<u64> {
    if let Ok(n) = text.parse::<u64>() {
        return Some(n);
    }
    if text.parse::<f64>().is_ok() {
        return None;
    }
    let x = number(text, unit)?;
    // Exact up to here; no parameter with units takes more.
    let whole = x.fract() == 0.0 && (0.0..9.0e15).contains(&x);
    whole.then_some(x as u64)
}

/// An amount of data with its unit, in bytes: `16k`, `1G`, `512MiB`.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(at);
    let unit = unit.to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or(unit.strip_suffix('b'));
    let shift = match letter.unwrap_or(&unit) {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(name: &str, text: &str) -> Result<Value, String> {
        check(Parameter::find(name).unwrap(), text).map_err(|(m, h)| format!("{m}; {h}"))
    }

    #[test]
    fn values_by_kind() {
        assert_eq!(checked("PROCS", "8"), Ok(Value::Int(8)));
        assert_eq!(checked("RUNTIME", "0.5"), Ok(Value::Real(0.5)));
        assert_eq!(checked("TCP", "1"), Ok(Value::Switch(true)));
        assert_eq!(checked("FS_PROTOCOL", "NFS"), Ok(Value::Choice("nfs")));
        assert_eq!(checked("IPV6_ENABLE", "0"), Ok(Value::Choice("off")));
        assert_eq!(checked("CONNECTIONS", "proc"), Ok(Value::Choice("proc")));
        assert_eq!(checked("CONNECTIONS", "4"), Ok(Value::Int(4)));
        assert_eq!(checked("FILE_SIZE", "16k"), Ok(Value::Int(16 << 10)));
        assert_eq!(checked("CLIENT_MEM", "1GiB"), Ok(Value::Int(1 << 30)));
        // Numbers with their unit, as people write them.
        assert_eq!(checked("RUNTIME", "60s"), Ok(Value::Real(60.0)));
        assert_eq!(checked("RUNTIME", "5m"), Ok(Value::Real(300.0)));
        assert_eq!(checked("WARMUP_TIME", "1.5 min"), Ok(Value::Real(90.0)));
        assert_eq!(checked("BLOCK_SIZE", "32k"), Ok(Value::Int(32)));
        assert_eq!(checked("BLOCK_SIZE", "1MiB"), Ok(Value::Int(1024)));
        assert_eq!(checked("RPC_TIMEOUT_MS", "2s"), Ok(Value::Int(2000)));
        assert_eq!(checked("INCR_LOAD", "10k"), Ok(Value::Int(10_000)));
        assert_eq!(checked("ACCESS_PCNT", "30%"), Ok(Value::Real(30.0)));
        let bad = [
            ("FILE_SIZE", "16", "write a number and k, m, g or t"),
            ("FILE_SIZE", "0k", "is out of bounds; give 1 B to"),
            ("FILE_SIZE", "k", "is not an amount of data"),
            ("FILE_SIZE", "16kk", "is not an amount of data"),
            ("FILE_SIZE", "99999999999999t", "is not an amount of data"),
            ("PROCS", "eight", "is not a whole number"),
            ("PROCS", "0", "is out of bounds"),
            ("PROCS", "-1", "is not a whole number"),
            ("PROCS", "99999999999999999999999", "is not a whole number"),
            ("RUNTIME", "5k", "is not a number; give"),
            ("RUNTIME", "5 m m", "ms, s, min, m, h may follow it"),
            ("RUNTIME", "9999h", "is out of bounds"),
            ("BLOCK_SIZE", "1.5k", "is not a whole number"),
            ("NFS_VERSION", "3k", "choose one of: 2, 3, 4.0, 4.1, 4.2, 4"),
            ("RUNTIME", "nan", "is not a number"),
            ("RUNTIME", "inf", "is not a number"),
            ("RUNTIME", "-3", "is out of bounds"),
            ("TCP", "maybe", "is neither on nor off"),
            ("PACING", "half", "choose one of: closed, open"),
            ("CONNECTIONS", "0", "is neither 'proc' nor"),
            ("SUFFIX", "a\nb", "has a line break"),
        ];
        for (name, text, want) in bad {
            let got = checked(name, text).unwrap_err();
            assert!(got.contains(want), "{got}");
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        let error = checked("PASSWORD", "geheim\n").unwrap_err();
        assert!(!error.contains("geheim"), "{error}");
        let assignment = Assignment {
            name: "PASSWORD".into(),
            value: " geheim ".into(),
            location: SourceLocation::Missing,
        };
        let mut values = Values::default();
        values.take(std::slice::from_ref(&assignment), &mut Vec::new());
        assert_eq!(values.get(&params::PASSWORD).as_deref(), Some(" geheim "));
        let shown = format!("{assignment:?} {values:?}");
        assert!(!shown.contains("geheim"), "{shown}");
    }
}

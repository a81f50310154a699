//! Conditions on the figures of a run: `p99<5ms, ops>=2000, errors=0`.
//!
//! A condition is a figure, a comparison and a limit with its unit. It is about the load point
//! with the highest rate that counts, or about the one that `@N` names (its number), and about all
//! operations or about one (`read.p99`). Gates (`--assert`), the figure of a trend and the goal of
//! a search (GOAL) are written so.

use crate::op::Op;
use std::fmt;
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// The most conditions of a text.
const COUNT_MAX: usize = 64;
/// The largest number of a load point.
const POINT_MAX: u32 = 100_000;

/// Conditions, all of which have to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertions(pub Vec<Assertion>);

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// What is compared.
    pub what: PointFigure,
    /// How.
    pub comparison: Comparison,
    /// The limit, in the figure's own unit: op/s, MiB/s, ms, operations, percent.
    pub limit: f64,
    /// As it was written.
    pub text: String,
}

/// A figure, and what it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointFigure {
    /// Which.
    pub figure: AssertedFigure,
    /// The operation; `None`: all of them together.
    pub op: Option<Op>,
    /// The number of the load point; `None`: the one with the highest rate that counts.
    pub point: Option<u32>,
}

/// A figure of a load point or of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssertedFigure {
    /// The achieved rate, in op/s.
    Ops,
    /// Data read and written, in MiB/s.
    Mib,
    /// Mean service time, in ms.
    Mean,
    /// The longest service time, in ms.
    Max,
    /// A percentile of the service time, in ms.
    Percentile(f64),
    /// Operations that failed.
    Errors,
    /// Their share, in percent.
    ErrorShare,
    /// The overall response time of the run, in ms.
    Ort,
}

/// How a figure is compared with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

/// Why a text is not a list of conditions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{part}' at character {at}: {reason}")]
pub struct AssertionError {
    /// The part that is wrong.
    part: String,
    /// Where it begins, from 1.
    at: usize,
    reason: String,
}

impl FromStr for Assertions {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Self, AssertionError> {
        let mut found = Vec::new();
        let mut begin = 0;
        for part in text.split(',') {
            let at = begin + part.len() - part.trim_start().len();
            begin += part.len() + 1;
            let error = |reason: String| AssertionError {
                part: crate::text::sanitize(part.trim(), 80),
                at: text[..at].chars().count() + 1,
                reason,
            };
            found.push(parse(part.trim()).map_err(error)?);
            if found.len() > COUNT_MAX {
                return Err(error(format!("{COUNT_MAX} conditions are the most")));
            }
        }
        Ok(Self(found))
    }
}

/// One condition, without blanks around it.
fn parse(text: &str) -> Result<Assertion, String> {
    const FORM: &str = "write FIGURE, one of < <= > >= =, and a limit, such as p99<5ms";
    let at = text
        .find(['<', '>', '='])
        .ok_or_else(|| format!("there is no comparison; {FORM}"))?;
    let (name, rest) = text.split_at(at);
    let (comparison, limit) = Comparison::split(rest);
    let limit = limit.trim();
    let what = PointFigure::parse(name, limit.ends_with('%'))?;
    Ok(Assertion {
        what,
        comparison,
        limit: what.figure.limit(limit)?,
        text: text.to_owned(),
    })
}

impl PointFigure {
    /// Reads `p99`, `mean@5`, `read.p99`, `getattr.ops@2`. `is_share`: errors in percent.
    ///
    /// # Errors
    /// There is no such figure, operation or load point; the sentence says what to write.
    pub fn parse(text: &str, is_share: bool) -> Result<Self, String> {
        let (name, point) = match text.trim().split_once('@') {
            None => (text.trim(), None),
            Some((name, number)) => (name.trim_end(), Some(point_number(number.trim())?)),
        };
        let (op, word) = match name.split_once('.') {
            // Percentiles have a point of their own.
            Some((op, word)) if !is_percentile(op) => (Some(operation(op)?), word),
            _ => (None, name),
        };
        let figure = AssertedFigure::of_word(word, is_share)?;
        if figure == AssertedFigure::Ort && point.is_some() {
            return Err("ort is a figure of the run, not of a load point: leave out @".to_owned());
        }
        if op.is_some() && matches!(figure, AssertedFigure::Ort | AssertedFigure::Mib) {
            return Err(format!(
                "{word} is not a figure of one operation: leave out the operation"
            ));
        }
        Ok(Self { figure, op, point })
    }
}

/// `p99`, and the `p99` of `p99.9`.
fn is_percentile(word: &str) -> bool {
    let digits = word.strip_prefix('p');
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|c| c.is_ascii_digit()))
}

fn operation(name: &str) -> Result<Op, String> {
    Op::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
        let shown = crate::text::quoted(name);
        format!("there is no operation '{shown}'; write its name before the point, as read.p99")
    })
}

fn point_number(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .filter(|n| (1..=POINT_MAX).contains(n))
        .ok_or_else(|| "give the number of a load point after @, from 1".to_owned())
}

impl Comparison {
    /// From the beginning of a text, which has one; the rest of the text.
    fn split(text: &str) -> (Self, &str) {
        for (word, comparison) in [
            ("<=", Self::AtMost),
            (">=", Self::AtLeast),
            ("==", Self::Equal),
            ("<", Self::Below),
            (">", Self::Above),
        ] {
            if let Some(rest) = text.strip_prefix(word) {
                return (comparison, rest);
            }
        }
        (Self::Equal, text.strip_prefix('=').unwrap_or(text))
    }

    /// Whether it holds.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
        }
    }
}

impl AssertedFigure {
    /// The words of figures, for messages.
    const WORDS: &str = "the figures are ops, mib, mean, max, p50, p99, p99.9 or another percentile, errors and ort";

    fn of_word(word: &str, is_share: bool) -> Result<Self, String> {
        let figure = match word {
            "ops" => Self::Ops,
            "mib" | "mib_per_s" | "mib_per_sec" => Self::Mib,
            "mean" => Self::Mean,
            "max" => Self::Max,
            "errors" if is_share => Self::ErrorShare,
            "errors" => Self::Errors,
            "ort" => Self::Ort,
            _ => Self::Percentile(
                word.strip_prefix('p')
                    .and_then(|digits| digits.parse::<f64>().ok())
                    .filter(|p| (0.0..100.0).contains(p) && *p > 0.0)
                    .ok_or_else(|| format!("there is no figure '{word}'; {}", Self::WORDS))?,
            ),
        };
        Ok(figure)
    }

    /// A limit in the figure's unit.
    fn limit(self, text: &str) -> Result<f64, String> {
        let digits = text.len()
            - text
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, unit) = text.split_at(digits);
        let number = number.parse::<f64>();
        let scale = match (self, unit.trim()) {
            (Self::Ops, "" | "op/s") => Some(1.0),
            (Self::Ops | Self::Errors, "k") => Some(1e3),
            (Self::Ops | Self::Errors, "M") => Some(1e6),
            (Self::Mib, "" | "MiB/s" | "M") => Some(1.0),
            (Self::Mib, "GiB/s" | "G") => Some(1024.0),
            (Self::Errors, "") | (Self::ErrorShare, "%") => Some(1.0),
            (Self::Mean | Self::Max | Self::Percentile(_) | Self::Ort, unit) => match unit {
                "us" => Some(1e-3),
                "ms" => Some(1.0),
                "s" => Some(1e3),
                _ => None,
            },
            _ => None,
        };
        match (number, scale) {
            (Ok(number), Some(scale)) if (number * scale).is_finite() => Ok(number * scale),
            _ => Err(format!("'{text}' is not a limit; {}", self.units())),
        }
    }

    fn units(self) -> &'static str {
        match self {
            Self::Ops => "give op/s, also with k or M: 2000, 2k",
            Self::Mib => "give MiB/s, or GiB/s with G: 500, 1.5G",
            Self::Errors | Self::ErrorShare => "give a number of operations or a share: 0, 0.1%",
            Self::Mean | Self::Max | Self::Percentile(_) | Self::Ort => {
                "give a time with its unit: 500us, 5ms, 1s"
            }
        }
    }

    /// Its unit: `op/s`, `MiB/s`, `ms`, `operations`, `percent`.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Ops => "op/s",
            Self::Mib => "MiB/s",
            Self::Errors => "operations",
            Self::ErrorShare => "percent",
            Self::Mean | Self::Max | Self::Percentile(_) | Self::Ort => "ms",
        }
    }

    /// A value with its unit.
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Ops => format!("{value:.1} op/s"),
            Self::Mib => format!("{value:.1} MiB/s"),
            Self::Errors => format!("{value:.0}"),
            Self::ErrorShare => format!("{value:.3} %"),
            Self::Mean | Self::Max | Self::Percentile(_) | Self::Ort => format!("{value:.3} ms"),
        }
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

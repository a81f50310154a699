//! The column chooser of the user: `date=Date,time=Time,ms=Millisecond,power_w=P*1000`, and its
//! columns in a header.

use super::dates::DateOrder;
use crate::reading::Quantity;
use std::str::FromStr;

/// Most entries.
const ENTRIES_MAX: usize = 64;
/// Most columns that add up to one quantity.
const TERMS_MAX: usize = 32;

/// The meaning of columns, as far as the user gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub(super) order: Option<DateOrder>,
    pub(super) entries: Vec<(ColumnMeaning, String)>,
}

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnMeaning {
    Date,
    Time,
    DateTime,
    /// Milliseconds to add to the time.
    Milliseconds,
    /// Seconds since 1970-01-01T00:00:00Z.
    Unix,
    Of(Quantity),
}

impl ColumnMeaning {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "date" => Self::Date,
            "time" => Self::Time,
            "datetime" => Self::DateTime,
            "ms" => Self::Milliseconds,
            "unix" => Self::Unix,
            _ => Self::Of(Quantity::ALL.into_iter().find(|q| q.name() == word)?),
        })
    }
}

/// Why a chooser is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("columns: {0}")]
pub struct ColumnsError(String);

impl Columns {
    /// From its entries, `WHAT=COLUMN` each.
    ///
    /// # Errors
    /// An entry has no `=`, names a thing twice, or one that is not known.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, ColumnsError> {
        let mut columns = Self::default();
        for entry in entries {
            let (word, column) = entry
                .split_once('=')
                .map(|(word, column)| (word.trim(), column.trim()))
                .filter(|(_, column)| !column.is_empty())
                .ok_or_else(|| {
                    ColumnsError(format!(
                        "\"{entry}\" has no column; give WHAT=COLUMN, as power_w=Watts or date=2"
                    ))
                })?;
            if word == "order" {
                let order = DateOrder::from_word(column).ok_or_else(|| {
                    ColumnsError(format!(
                        "\"{column}\" is not an order; give dmy, mdy or ymd"
                    ))
                })?;
                columns.order = Some(order);
                continue;
            }
            let what = ColumnMeaning::from_word(word).ok_or_else(|| {
                let names: Vec<_> = Quantity::ALL.iter().map(|q| q.name()).collect();
                ColumnsError(format!(
                    "\"{word}\" is not known; known are date, time, datetime, ms, unix, order, {}",
                    names.join(", ")
                ))
            })?;
            if columns.entries.iter().any(|(w, _)| *w == what) {
                return Err(ColumnsError(format!(
                    "\"{word}\" occurs twice; columns that add up are joined by +"
                )));
            }
            columns.entries.push((what, column.to_owned()));
        }
        match columns.entries.len() > ENTRIES_MAX {
            true => Err(ColumnsError(format!("more than {ENTRIES_MAX} entries"))),
            false => Ok(columns),
        }
    }

    /// Whether the user names columns of time.
    pub(super) fn has_time(&self) -> bool {
        self.entries
            .iter()
            .any(|(what, _)| !matches!(what, ColumnMeaning::Of(_) | ColumnMeaning::Milliseconds))
    }

    /// Whether the user names columns of quantities.
    pub(super) fn has_quantities(&self) -> bool {
        self.entries
            .iter()
            .any(|(what, _)| matches!(what, ColumnMeaning::Of(_)))
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    /// The entries with commas between them.
    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        Self::parse(text.split(',').filter(|entry| !entry.trim().is_empty()))
    }
}

/// The formula of a quantity: columns times factors, added up, and a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ColumnFormula {
    pub(super) quantity: Quantity,
    /// Columns from 0, and what each is multiplied by.
    pub(super) terms: Vec<(usize, f64)>,
    /// What is added.
    pub(super) offset: f64,
}

/// The column of that name; names first, then numbers from 1.
pub(super) fn column(name: &str, header: &csv::StringRecord) -> Option<usize> {
    let exact = header.iter().position(|cell| cell == name);
    let like = || {
        header
            .iter()
            .position(|cell| cell.eq_ignore_ascii_case(name))
    };
    let number = || {
        let number = name.parse::<usize>().ok()?;
        (1..=header.len()).contains(&number).then(|| number - 1)
    };
    exact.or_else(like).or_else(number)
}

/// The terms of `P`, `P*1000`, `P1+P2*0.5`: a name of the header may have these signs
/// itself, so the whole is looked up first. The error is the part that is not a column.
pub(super) fn terms(text: &str, header: &csv::StringRecord) -> Result<Vec<(usize, f64)>, String> {
    if let Some(whole) = term(text, header) {
        return Ok(vec![whole]);
    }
    let parts: Vec<&str> = text.split('+').map(str::trim).collect();
    if parts.len() > TERMS_MAX {
        return Err(text.to_owned());
    }
    let one = |part: &&str| term(part, header).ok_or_else(|| (*part).to_owned());
    parts.iter().map(one).collect()
}

fn term(text: &str, header: &csv::StringRecord) -> Option<(usize, f64)> {
    if let Some(at) = column(text, header) {
        return Some((at, 1.0));
    }
    let (name, factor) = text.rsplit_once('*')?;
    let factor: f64 = factor.trim().parse().ok()?;
    let sound = factor.is_finite() && factor != 0.0;
    Some((column(name.trim(), header).filter(|_| sound)?, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chooser_is_read() {
        let columns: Columns = "date=Date, time=2,ms=Milli,power_w=P1*1000+P2,order=dmy"
            .parse()
            .expect("sound");
        assert_eq!(columns.order, Some(DateOrder::Dmy));
        assert_eq!(columns.entries.len(), 4);
        assert!(columns.has_time() && columns.has_quantities());
        for (text, what) in [
            ("power_w", "has no column"),
            ("power_w=", "has no column"),
            ("watts=P", "known are date"),
            ("order=ydm", "dmy, mdy or ymd"),
            ("power_w=a,power_w=b", "joined by +"),
        ] {
            let error = text.parse::<Columns>().expect_err(text).to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn names_come_before_signs_and_numbers() {
        let header = csv::StringRecord::from(vec!["Wh(+)", "2", "P*2", "p1"]);
        assert_eq!(terms("Wh(+)", &header), Ok(vec![(0, 1.0)]));
        assert_eq!(terms("2", &header), Ok(vec![(1, 1.0)]));
        assert_eq!(terms("3", &header), Ok(vec![(2, 1.0)]));
        assert_eq!(terms("P*2", &header), Ok(vec![(2, 1.0)]));
        assert_eq!(terms("P1*1000+1", &header), Ok(vec![(3, 1000.0), (0, 1.0)]));
        assert_eq!(terms("P1+x", &header), Err("x".into()));
        for bad in ["5", "0", "P1*0", "P1*inf", "", "+"] {
            assert!(terms(bad, &header).is_err(), "{bad}");
        }
    }
}

//! A row of a table: its time and its figures.

use super::columns::ColumnFormula;
use super::dates::{self, DateOrder, PossibleOrders};
use super::layout::{Layout, TableFormat, TimeColumns};
use super::names;
use crate::digits::{Digits, Forms};
use crate::reading::Quantity;
use crate::sflow::{LocalTimes, Zone};
use csv::StringRecord;
use filermark_results::Timestamp;
use std::collections::BTreeMap;

/// The figures of meters for "out of range" are above this: 9.91E+37, 9999.9E+99.
const VALUE_MAX: f64 = 1e30;
/// Characters of a cell that a message shows.
const SHOWN: usize = 40;

/// The result of a row.
#[derive(Debug, PartialEq)]
pub(super) enum Row {
    /// Figures; a quantity that is missing has none.
    Valid(Timestamp, BTreeMap<Quantity, f64>),
    /// The meter was without power.
    PowerOff(Option<Timestamp>),
    /// A local time, and no zone was given.
    NoZone,
    /// It cannot be used; why.
    Invalid(String),
}

/// Reads rows in their order.
pub(super) struct Rows<'a> {
    layout: &'a Layout,
    order: DateOrder,
    times: LocalTimes,
    /// The forms of the figures of good rows.
    forms: BTreeMap<Quantity, Forms>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(layout: &'a Layout, order: DateOrder, zone: Option<Zone>) -> Self {
        Self {
            layout,
            order,
            times: LocalTimes::new(zone),
            forms: BTreeMap::new(),
        }
    }

    /// How fine the figures of good rows are.
    pub(super) fn digits(&self) -> BTreeMap<Quantity, Digits> {
        let forms = self.forms.iter();
        forms
            .filter_map(|(quantity, forms)| Some((*quantity, forms.digits()?)))
            .collect()
    }

    /// The next row.
    pub(super) fn read(&mut self, row: &StringRecord) -> Row {
        if self.layout.form == TableFormat::Cw12x && row.get(0) == Some("POWER OFF") {
            let (date, time) = (row.get(1).unwrap_or(""), row.get(2).unwrap_or(""));
            return Row::PowerOff(self.two(date, time).ok());
        }
        let titles = self.layout.header.len();
        // A decimal or thousands comma in a file of commas cuts a figure in two.
        let more = row.iter().skip(titles).any(|cell| !cell.is_empty());
        if self.layout.header_line > 0 && more {
            return Row::Invalid(format!("{} cells under {titles} titles", row.len()));
        }
        let at = match self.when(row) {
            Ok(at) => at,
            Err(bad) => return bad,
        };
        let mut values = BTreeMap::new();
        let mut first_missing = None;
        for pick in &self.layout.picks {
            match self.value(row, pick) {
                Ok(value) => {
                    values.insert(pick.quantity, value);
                }
                Err(reason) => {
                    first_missing.get_or_insert((pick.quantity, reason));
                }
            }
        }
        let needed = |q: Quantity| match self.layout.main() {
            Some(main) => q == main,
            None => values.is_empty(),
        };
        match first_missing {
            Some((quantity, reason)) if needed(quantity) => Row::Invalid(reason),
            _ if self.layout.main().is_some_and(|q| !values.contains_key(&q)) => {
                Row::Invalid("the main figure is missing".into())
            }
            _ => {
                self.count_forms(row, &values);
                Row::Valid(at, values)
            }
        }
    }

    /// Counts the forms of the figures of a row.
    fn count_forms(&mut self, row: &StringRecord, values: &BTreeMap<Quantity, f64>) {
        for pick in &self.layout.picks {
            if values.contains_key(&pick.quantity)
                && let Some((digits, has_exponent)) = digits(row, pick)
            {
                let forms = self.forms.entry(pick.quantity).or_default();
                forms.add(digits, has_exponent);
            }
        }
    }

    fn when(&mut self, row: &StringRecord) -> Result<Timestamp, Row> {
        let cell = |at: usize| row.get(at).unwrap_or("");
        let at = match self.layout.when {
            TimeColumns::Unix(column) => return unix(cell(column)),
            TimeColumns::Two { date, time } => self.two(cell(date), cell(time))?,
            TimeColumns::One(column) => self.one(cell(column))?,
        };
        let Some(column) = self.layout.milliseconds else {
            return Ok(at);
        };
        let text = cell(column);
        let milliseconds = number(text, Quantity::Energy, self.layout.separator)
            .filter(|ms| (0.0..1000.0).contains(ms))
            .ok_or_else(|| Row::Invalid(format!("milliseconds are \"{}\"", shown(text))))?;
        Ok(at.plus_seconds(milliseconds / 1000.0))
    }

    fn two(&mut self, date: &str, time: &str) -> Result<Timestamp, Row> {
        let (Some(day), Some(clock)) = (dates::date(date, self.order), dates::time(time)) else {
            return Err(Row::Invalid(format!(
                "\"{}\", \"{}\" is not a date and time",
                shown(date),
                shown(time)
            )));
        };
        self.place(day.to_datetime(clock))
    }

    fn one(&mut self, text: &str) -> Result<Timestamp, Row> {
        if has_offset(text) {
            let read = self.times.read(text);
            return read.ok_or_else(|| Row::Invalid(format!("\"{}\" is not a time", shown(text))));
        }
        match dates::date_time(text, self.order) {
            Some(local) => self.place(local),
            None => Err(Row::Invalid(format!(
                "\"{}\" is not a date with a time",
                shown(text)
            ))),
        }
    }

    fn place(&mut self, local: jiff::civil::DateTime) -> Result<Timestamp, Row> {
        if !self.times.has_zone() {
            return Err(Row::NoZone);
        }
        let never = || Row::Invalid(format!("{local} does not exist: clocks were set forward"));
        self.times.place(local).ok_or_else(never)
    }

    fn value(&self, row: &StringRecord, pick: &ColumnFormula) -> Result<f64, String> {
        let mut sum = pick.offset;
        for (column, factor) in &pick.terms {
            let cell = row.get(*column).unwrap_or("");
            let value = number(cell, pick.quantity, self.layout.separator).ok_or_else(|| {
                format!(
                    "{} is \"{}\"{}",
                    pick.quantity,
                    shown(cell),
                    thousands(cell)
                )
            })?;
            sum += value * factor;
        }
        match sum.abs() < VALUE_MAX {
            true => Ok(sum),
            false => Err(format!("{} is out of range", pick.quantity)),
        }
    }
}

impl Layout {
    /// The quantity without which a row is of no use; `None`: any will do.
    pub(super) fn main(&self) -> Option<Quantity> {
        let has = |q: &Quantity| self.picks.iter().any(|p| p.quantity == *q);
        [Quantity::Power, Quantity::Energy].into_iter().find(has)
    }

    /// The possible orders of the row's date.
    pub(super) fn fit(&self, row: &StringRecord) -> PossibleOrders {
        let cell = |at: usize| row.get(at).unwrap_or("");
        match self.when {
            TimeColumns::Unix(_) => PossibleOrders::Only(DateOrder::Ymd),
            TimeColumns::Two { date, .. } => dates::fit(cell(date)),
            TimeColumns::One(column) if has_offset(cell(column)) => {
                PossibleOrders::Only(DateOrder::Ymd)
            }
            TimeColumns::One(column) => {
                dates::split(cell(column)).map_or(PossibleOrders::None, |(d, _)| dates::fit(d))
            }
        }
    }
}

fn has_offset(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok()
}

/// Seconds since 1970, of this century and the next.
fn unix(text: &str) -> Result<Timestamp, Row> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..7.3e9).contains(&seconds) => Ok(Timestamp::from_unix_seconds(seconds)),
        _ => Err(Row::Invalid(format!(
            "\"{}\" is not a time in seconds since 1970",
            shown(text)
        ))),
    }
}

/// A figure; `230,29` where the comma does not separate cells.
fn number(cell: &str, quantity: Quantity, separator: u8) -> Option<f64> {
    let cell = names::without_unit(cell, quantity).trim();
    let commas = cell.matches(',').count();
    let value: f64 = match separator != b',' && commas == 1 && !cell.contains('.') {
        true => cell.replace(',', ".").parse().ok()?,
        false => cell.parse().ok()?,
    };
    (value.abs() < VALUE_MAX).then_some(value)
}

/// What to do about `1,234.5`, `1.234,5` and `1'234.5`, where that is what a cell has.
fn thousands(cell: &str) -> &'static str {
    let figure: String = cell
        .chars()
        .filter(|c| !matches!(c, ',' | '.' | '\'' | '\u{a0}' | '\u{202f}' | ' '))
        .collect();
    match figure.len() >= 4 && figure.bytes().all(|b| b.is_ascii_digit()) {
        true => "; a thousands separator? export the figures without it",
        false => "",
    }
}

/// The digits of a figure as it is written, and whether it has an exponent. The text does not
/// show the digits of sums, and of columns with a factor that is not a power of ten.
fn digits(row: &StringRecord, pick: &ColumnFormula) -> Option<(Digits, bool)> {
    let [(column, factor)] = pick.terms[..] else {
        return None;
    };
    let cell = names::without_unit(row.get(column)?, pick.quantity).trim();
    let digits = Digits::of_text(&cell.replace(',', "."))?;
    let digits = digits.times(factor).filter(|_| pick.offset == 0.0)?;
    Some((digits, cell.contains(['e', 'E'])))
}

/// The beginning of a cell, for a message.
fn shown(cell: &str) -> String {
    filermark_results::text::one_line(&cell.chars().take(SHOWN).collect::<String>())
}

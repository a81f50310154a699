//! Finds a table's header, the separator of its cells, and the meaning of its columns.

use super::Table;
use super::columns::{self, ColumnFormula, ColumnMeaning, Columns};
use super::dates::DateOrder;
use super::names::{NamedColumn, named, other_unit};
use super::text::cells;
use crate::reading::Quantity;
use csv::StringRecord;

/// Separators, the comma last: with another separator, figures may have commas.
const SEPARATORS: [u8; 3] = *b"\t;,";
/// Most columns of a table.
const COLUMNS_MAX: usize = 4096;

/// The program or device that wrote the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableFormat {
    /// Yokogawa's WTViewer: the table of slides E (sources.md 4.6).
    WtViewer,
    /// Yokogawa CW120 and CW121 (sources.md 4.6).
    Cw12x,
    /// Hioki's (sources.md 4.6).
    Hioki,
    /// Any other.
    Other,
}

impl TableFormat {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::WtViewer => "WTViewer table",
            Self::Cw12x => "CW120/CW121 table",
            Self::Hioki => "Hioki table",
            Self::Other => "table",
        }
    }

    /// The order of its dates, where the form says so.
    pub(super) const fn order(self) -> Option<DateOrder> {
        match self {
            Self::WtViewer => Some(DateOrder::Mdy),
            Self::Cw12x => Some(DateOrder::Ymd),
            Self::Hioki | Self::Other => None,
        }
    }

    fn of(first_line: &str, header: &StringRecord) -> Self {
        let has = |name: &str| header.iter().any(|cell| cell.eq_ignore_ascii_case(name));
        if first_line.trim_start_matches('"').starts_with("CW12") && has("OUTPUT DATE") {
            Self::Cw12x
        } else if has("Store No.") && has("Millisecond") {
            Self::WtViewer
        } else if has("Etime") && has("Status") {
            Self::Hioki
        } else {
            Self::Other
        }
    }
}

/// The columns of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeColumns {
    Two { date: usize, time: usize },
    One(usize),
    Unix(usize),
}

/// How to read a table.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) form: TableFormat,
    pub(super) separator: u8,
    /// The line of the header; 0 where there is none.
    pub(super) header_line: u64,
    pub(super) header: StringRecord,
    pub(super) when: TimeColumns,
    pub(super) milliseconds: Option<usize>,
    pub(super) picks: Vec<ColumnFormula>,
    /// Notes for the user on how it was read.
    pub(super) notes: Vec<String>,
}

impl Layout {
    /// `power_w = WT1:P-1`, for the report.
    pub(super) fn columns(&self) -> Vec<String> {
        let name = |at: usize| match self.header.get(at).filter(|_| self.header_line > 0) {
            Some(name) => name.to_owned(),
            None => format!("column {}", at + 1),
        };
        let term = |(at, factor): &(usize, f64)| match *factor {
            1.0 => name(*at),
            factor => format!("{}*{factor}", name(*at)),
        };
        let pick = |pick: &ColumnFormula| {
            let terms: Vec<_> = pick.terms.iter().map(term).collect();
            let offset = match pick.offset {
                0.0 => String::new(),
                offset => format!("{offset:+}"),
            };
            format!("{} = {}{offset}", pick.quantity, terms.join("+"))
        };
        self.picks.iter().map(pick).collect()
    }
}

/// Looks for the header in the first lines of a file, with their numbers.
///
/// # Errors
/// The line, and why it is not found, and what to do.
pub(super) fn find(
    lines: &[(u64, String)],
    table: Table,
    columns: &Columns,
) -> Result<Layout, (u64, String)> {
    let first_line = lines.first().map_or("", |(_, text)| text.as_str());
    let mut best: (usize, u64, String) = (0, 1, String::new());
    let mut row = StringRecord::new();
    for (number, text) in lines {
        for separator in SEPARATORS {
            cells(text, separator, &mut row);
            if row.len() < 2 || row.len() > COLUMNS_MAX {
                continue;
            }
            match try_row(&row, first_line, table, columns) {
                LayoutAttempt::Found(mut layout) => {
                    layout.separator = separator;
                    layout.header_line = if layout.header_line == 0 { 0 } else { *number };
                    return Ok(*layout);
                }
                LayoutAttempt::Refused(reason) => return Err((*number, reason)),
                LayoutAttempt::No(known, lacking) => {
                    if best.2.is_empty() || known > best.0 {
                        let header: Vec<_> = row.iter().take(40).collect();
                        let header = header.join(" | ");
                        best = (known, *number, format!("{lacking}; it has: {header}"));
                    }
                }
            }
        }
    }
    let reason = match best.2.is_empty() {
        true => "not a table: no line has columns that are separated by comma, semicolon or tab"
            .to_owned(),
        false => format!(
            "{}. Name the columns: --columns date=NAME,time=NAME,{}=NAME (or their numbers from 1)",
            best.2,
            match table {
                Table::Power => "power_w",
                Table::Environment => "temperature_c",
            }
        ),
    };
    let short: String = reason.chars().take(1200).collect();
    Err((best.1, short))
}

enum LayoutAttempt {
    Found(Box<Layout>),
    /// It is the header, but it is ambiguous.
    Refused(String),
    /// The number of known columns, and what is lacking.
    No(usize, String),
}

fn try_row(row: &StringRecord, first_line: &str, table: Table, columns: &Columns) -> LayoutAttempt {
    let form = TableFormat::of(first_line, row);
    let guesses: Vec<Option<NamedColumn>> = row.iter().map(named).collect();
    let known = guesses.iter().flatten().count();
    let by_number = by_number_only(columns);
    let chosen = match choose(row, columns) {
        Ok(chosen) => chosen,
        Err(part) => return LayoutAttempt::No(known, format!("no column is called \"{part}\"")),
    };
    if !by_number && let Err(reason) = same_units(row, columns) {
        return LayoutAttempt::Refused(reason);
    }
    let when = match chosen.when {
        Some(when) => when,
        None if columns.has_time() => {
            return LayoutAttempt::No(
                known,
                "date and time, datetime, or unix must be named".into(),
            );
        }
        None => match guess_time(&guesses) {
            Some(when) => when,
            None => return LayoutAttempt::No(known, "no column of time was found".into()),
        },
    };
    let find = |what| {
        guesses
            .iter()
            .position(|g| g.is_some_and(|g| g.what == what))
    };
    let milliseconds = chosen.milliseconds.or_else(|| match when {
        TimeColumns::Unix(_) => None,
        _ if columns.has_time() => None,
        _ => find(ColumnMeaning::Milliseconds),
    });
    let mut notes = Vec::new();
    let picks = if columns.has_quantities() {
        chosen.picks
    } else {
        match guess_quantities(row, &guesses, table, &mut notes) {
            Ok(picks) => picks,
            Err(reason) => return LayoutAttempt::Refused(reason),
        }
    };
    let wanted: &[Quantity] = match table {
        Table::Power => &[Quantity::Power, Quantity::Energy],
        Table::Environment => &[Quantity::Temperature, Quantity::Humidity],
    };
    let has_main = picks.iter().any(|p| wanted.contains(&p.quantity));
    let is_chosen = columns.has_quantities() && !picks.is_empty();
    if !has_main && !is_chosen {
        let lacking = match table {
            Table::Power => "no column of power was found",
            Table::Environment => "no column of temperature or humidity was found",
        };
        return LayoutAttempt::No(known, lacking.into());
    }
    LayoutAttempt::Found(Box::new(Layout {
        form,
        separator: 0,
        header_line: u64::from(!by_number),
        header: row.clone(),
        when,
        milliseconds,
        picks,
        notes,
    }))
}

/// Whether the user names every needed column by its number: then no header is needed.
fn by_number_only(columns: &Columns) -> bool {
    let number = |(_, text): &(ColumnMeaning, String)| {
        text.split('+').all(|part| {
            let name = part.split('*').next().unwrap_or(part);
            name.trim().parse::<usize>().is_ok()
        })
    };
    columns.has_time() && columns.has_quantities() && columns.entries.iter().all(number)
}

/// A column that the user names is read without conversion: kilowatts would be taken for watts.
fn same_units(row: &StringRecord, columns: &Columns) -> Result<(), String> {
    for (what, text) in &columns.entries {
        let ColumnMeaning::Of(quantity) = what else {
            continue;
        };
        let whole = columns::column(text, row).is_some();
        let parts = match whole {
            true => vec![text.as_str()],
            false => text.split('+').map(str::trim).collect(),
        };
        let terms = columns::terms(text, row).unwrap_or_default();
        for (part, (at, factor)) in parts.iter().zip(terms) {
            // `*1` means that the header is wrong.
            let is_explicit = factor != 1.0 || !whole && part.ends_with("*1");
            let name = row.get(at).unwrap_or("");
            let Some(scale) = other_unit(name, *quantity).filter(|_| !is_explicit) else {
                continue;
            };
            let how = match scale {
                Some(scale) => format!("write {quantity}={part}*{scale}"),
                None => {
                    format!(
                        "leave {quantity} out: such a column is found and converted automatically"
                    )
                }
            };
            return Err(format!(
                "the header of {name} has another unit than {quantity}; {how} (or *1 after the name, if the header is wrong)"
            ));
        }
    }
    Ok(())
}

#[derive(Default)]
struct ChosenLayout {
    when: Option<TimeColumns>,
    milliseconds: Option<usize>,
    picks: Vec<ColumnFormula>,
}

/// The columns that the user names, in this row; the error is the name that is missing.
fn choose(row: &StringRecord, columns: &Columns) -> Result<ChosenLayout, String> {
    let mut chosen = ChosenLayout::default();
    let (mut date, mut time) = (None, None);
    for (what, text) in &columns.entries {
        if let ColumnMeaning::Of(quantity) = what {
            chosen.picks.push(ColumnFormula {
                quantity: *quantity,
                terms: columns::terms(text, row)?,
                offset: 0.0,
            });
            continue;
        }
        let at = columns::column(text, row).ok_or_else(|| text.clone())?;
        match what {
            ColumnMeaning::Date => date = Some(at),
            ColumnMeaning::Time => time = Some(at),
            ColumnMeaning::Milliseconds => chosen.milliseconds = Some(at),
            ColumnMeaning::DateTime => chosen.when = Some(TimeColumns::One(at)),
            ColumnMeaning::Unix => chosen.when = Some(TimeColumns::Unix(at)),
            ColumnMeaning::Of(_) => {}
        }
    }
    if let (Some(date), Some(time)) = (date, time) {
        chosen.when = Some(TimeColumns::Two { date, time });
    }
    Ok(chosen)
}

fn guess_time(guesses: &[Option<NamedColumn>]) -> Option<TimeColumns> {
    let find = |what| {
        guesses
            .iter()
            .position(|g| g.is_some_and(|g| g.what == what))
    };
    if let (Some(date), Some(time)) = (find(ColumnMeaning::Date), find(ColumnMeaning::Time)) {
        return Some(TimeColumns::Two { date, time });
    }
    find(ColumnMeaning::DateTime)
        .map(TimeColumns::One)
        .or_else(|| find(ColumnMeaning::Unix).map(TimeColumns::Unix))
        .or_else(|| find(ColumnMeaning::Time).map(TimeColumns::One))
}

/// One column for each quantity. Several candidates for the main quantity are an error. Of
/// several voltages, frequencies and distortions the first is used, since a supply has one.
/// Other quantities with several columns are left out. Both are noted.
fn guess_quantities(
    row: &StringRecord,
    guesses: &[Option<NamedColumn>],
    table: Table,
    notes: &mut Vec<String>,
) -> Result<Vec<ColumnFormula>, String> {
    let mut picks = Vec::new();
    for quantity in Quantity::ALL {
        let environmental = matches!(quantity, Quantity::Temperature | Quantity::Humidity);
        if environmental != (table == Table::Environment) {
            continue;
        }
        let is_it = |guess: &NamedColumn| guess.what == ColumnMeaning::Of(quantity);
        let mut found: Vec<(usize, &str, NamedColumn)> = Vec::new();
        for (at, guess) in guesses.iter().enumerate() {
            let name = row.get(at).unwrap_or("");
            let Some(guess) = guess.filter(|g| is_it(g)) else {
                continue;
            };
            match found.iter().any(|(_, other, _)| *other == name) {
                true => notes.push(format!("{name} occurs twice; the first column was read")),
                false => found.push((at, name, guess)),
            }
        }
        let Some((at, first, guess)) = found.first().copied() else {
            continue;
        };
        if found.len() > 1 {
            let names: Vec<_> = found.iter().map(|(_, name, _)| *name).collect();
            let shown = names.join(", ");
            match quantity {
                Quantity::Power | Quantity::Temperature | Quantity::Humidity => {
                    let sum = match quantity {
                        Quantity::Power => {
                            format!(" or, if they add up, {quantity}={}", names.join("+"))
                        }
                        _ => String::new(),
                    };
                    return Err(format!(
                        "several columns could be {quantity}: {shown}; choose one: --columns {quantity}={first}{sum}"
                    ));
                }
                Quantity::Voltage | Quantity::Frequency | Quantity::VoltageDistortion => {
                    notes.push(format!("of {shown} only {first} was read as {quantity}"));
                }
                _ => {
                    notes.push(format!(
                        "several columns could be {quantity}: {shown}; none was read"
                    ));
                    continue;
                }
            }
        }
        picks.push(ColumnFormula {
            quantity,
            terms: vec![(at, guess.factor)],
            offset: guess.offset,
        });
    }
    Ok(picks)
}

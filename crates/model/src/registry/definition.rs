//! Definition files: TOML in, checked objects out. Documented in
//! docs/src/reference/workloads.md.

use super::RegistryError;
use super::composites::{BenchmarkTable, Composite};
use crate::mix::Mix;
use crate::op::Op;
use crate::text::{quoted, sanitize};
use crate::transfer::{TransferSlot, TransferTable};
use crate::workload::{Attributes, WorkloadError, WorkloadObject, is_name};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A definition file, read and checked.
pub(super) struct Definitions {
    /// Objects and their other names.
    pub workloads: Vec<(WorkloadObject, Vec<String>)>,
    /// Composites and where they stand.
    pub composites: Vec<(Composite, TextPosition)>,
}

/// Where something stands in a file, both from 1.
#[derive(Clone, Copy)]
pub(super) struct TextPosition {
    line: usize,
    column: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    workload: Vec<Spanned<WorkloadTable>>,
    #[serde(default)]
    benchmark: Vec<Spanned<BenchmarkTable>>,
}

/// The mix and the slots are raw here, so that a wrong total can name its workload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadTable {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    title: String,
    mix: BTreeMap<Op, f64>,
    read_transfers: Vec<TransferSlot>,
    write_transfers: Vec<TransferSlot>,
    #[serde(default)]
    attributes: Attributes,
}

/// Messages of the TOML reader list all keys that there are.
const REASON_CHARS_MAX: usize = 400;

const HINT: &str = "compare with what `filermark workload show --toml NAME` prints";

impl Definitions {
    /// The names of what a file defines: workloads, benchmarks.
    pub fn into_names(self) -> (Vec<String>, Vec<String>) {
        let workloads = self.workloads.into_iter().map(|(w, _)| w.name);
        let composites = self.composites.into_iter().map(|(c, _)| c.name);
        (workloads.collect(), composites.collect())
    }

    /// Reads a file; `file` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong: in each table the first thing that makes it unreadable,
    /// or all that is wrong with its figures.
    pub fn read(file: &str, text: &str) -> Result<Self, Vec<RegistryError>> {
        let mut all = Self {
            workloads: Vec::new(),
            composites: Vec::new(),
        };
        let mut errors = Vec::new();
        match toml::from_str::<File>(text) {
            Ok(tables) if tables.workload.is_empty() && tables.benchmark.is_empty() => {
                let reason = "there is no [[workload]] and no [[benchmark]] in it".to_owned();
                errors.push(TextPosition::of(text, 0).error(file, reason, HINT));
            }
            Ok(tables) => all.take(file, text, tables, &mut errors),
            Err(whole) => {
                // Each table by itself, so that one wrong does not hide another.
                for table in tables_alone(text) {
                    match toml::from_str::<File>(&table) {
                        Ok(tables) => all.take(file, text, tables, &mut errors),
                        Err(e) => errors.push(unreadable(file, text, &e)),
                    }
                }
                let whole = unreadable(file, text, &whole);
                if !errors.contains(&whole) {
                    errors.push(whole);
                }
                errors.sort_by_key(RegistryError::place);
            }
        }
        match errors.is_empty() {
            true => Ok(all),
            false => Err(errors),
        }
    }

    /// Takes in what tables define, or what is wrong with them.
    fn take(&mut self, file: &str, text: &str, tables: File, errors: &mut Vec<RegistryError>) {
        for table in tables.workload {
            let place = TextPosition::of(text, table.span().start);
            match table.into_inner().check() {
                Ok(taken) => self.workloads.push(taken),
                Err(all) => errors.extend(
                    all.into_iter()
                        .map(|e| place.error(file, e.to_string(), HINT)),
                ),
            }
        }
        for table in tables.benchmark {
            let place = TextPosition::of(text, table.span().start);
            match table.into_inner().check() {
                Ok(taken) => self.composites.push((taken, place)),
                Err(all) => errors.extend(all.into_iter().map(|e| place.error(file, e, HINT))),
            }
        }
    }
}

fn unreadable(file: &str, text: &str, e: &toml::de::Error) -> RegistryError {
    let place = TextPosition::of(text, e.span().map_or(0, |s| s.start));
    place.error(file, sanitize(e.message(), REASON_CHARS_MAX), HINT)
}

/// The text once for each workload and benchmark in it, the others blank, so that places
/// are those of the whole text.
fn tables_alone(text: &str) -> Vec<String> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins = ["[[workload]]", "[[benchmark]]"];
        if begins.iter().any(|b| line.trim_start().starts_with(b)) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let blank = |part: &str| -> String {
        // A byte for a byte.
        let byte = |b: u8| if b == b'\n' { '\n' } else { ' ' };
        part.bytes().map(byte).collect()
    };
    let alone = |(from, to): (&usize, usize)| {
        let (before, table) = (&text[..*from], &text[*from..to]);
        blank(before) + table
    };
    starts
        .iter()
        .zip(ends)
        .take(TABLES_MAX)
        .map(alone)
        .collect()
}

/// Most tables that are looked at one by one.
const TABLES_MAX: usize = 50;

impl TextPosition {
    fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        }
    }

    pub(super) fn error(self, file: &str, reason: String, hint: &str) -> RegistryError {
        RegistryError::Text {
            file: file.to_owned(),
            line: self.line,
            column: self.column,
            reason,
            hint: hint.to_owned(),
        }
    }
}

impl WorkloadTable {
    fn check(self) -> Result<(WorkloadObject, Vec<String>), Vec<WorkloadError>> {
        let name = quoted(&self.name);
        let mut faults = Vec::new();
        let mix = Mix::new(self.mix).unwrap_or_else(|e| {
            faults.push(WorkloadError::of_mix(&name, &e));
            Mix::none()
        });
        let mut transfers = |table, slots: Vec<TransferSlot>| {
            let mut reasons = TransferTable::slot_faults(&slots);
            let taken = TransferTable::new(slots);
            let first = taken.as_ref().err().filter(|_| reasons.is_empty()).cloned();
            reasons.extend(first);
            faults.extend(reasons.into_iter().map(|reason| WorkloadError::Transfers {
                workload: name.clone(),
                table,
                reason,
            }));
            taken.unwrap_or_else(|_| TransferTable::fixed(1))
        };
        let object = WorkloadObject {
            mix,
            read_transfers: transfers("read", self.read_transfers),
            write_transfers: transfers("write", self.write_transfers),
            name: self.name,
            title: self.title,
            attributes: self.attributes,
        };
        faults.extend(object.faults());
        let bad = self.aliases.iter().filter(|a| !is_name(a));
        faults.extend(bad.map(|bad| WorkloadError::Name(quoted(bad))));
        match faults.is_empty() {
            true => Ok((object, self.aliases)),
            false => Err(faults),
        }
    }
}

//! Definition files: TOML in, checked objects out. Documented in
//! docs/src/reference/workloads.md.

use super::RegistryError;
use super::composites::{BenchmarkTable, Composite};
use crate::mix::Mix;
use crate::op::Op;
use crate::transfer::{TransferSlot, TransferTable};
use crate::words::{quoted, tame};
use crate::workload::{Attributes, WorkloadError, WorkloadObject, is_name};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A definition file, read and checked.
pub(super) struct Definitions {
    /// Objects and their other names.
    pub workloads: Vec<(WorkloadObject, Vec<String>)>,
    /// Composites and where they stand.
    pub composites: Vec<(Composite, Place)>,
}

/// Where something stands in a file, both from 1.
#[derive(Clone, Copy)]
pub(super) struct Place {
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
    pub fn read(file: &str, text: &str) -> Result<Self, RegistryError> {
        let tables: File = toml::from_str(text).map_err(|e| {
            let place = Place::of(text, e.span().map_or(0, |s| s.start));
            let reason = tame(e.message(), REASON_CHARS_MAX);
            place.error(file, reason, HINT)
        })?;
        if tables.workload.is_empty() && tables.benchmark.is_empty() {
            let reason = "there is no [[workload]] and no [[benchmark]] in it".to_owned();
            return Err(Place::of(text, 0).error(file, reason, HINT));
        }
        let mut workloads = Vec::new();
        for table in tables.workload {
            let place = Place::of(text, table.span().start);
            let taken = table.into_inner().check();
            workloads.push(taken.map_err(|e| place.error(file, e.to_string(), HINT))?);
        }
        let mut composites = Vec::new();
        for table in tables.benchmark {
            let place = Place::of(text, table.span().start);
            let taken = table.into_inner().check();
            composites.push((taken.map_err(|e| place.error(file, e, HINT))?, place));
        }
        Ok(Self {
            workloads,
            composites,
        })
    }
}

impl Place {
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
    fn check(self) -> Result<(WorkloadObject, Vec<String>), WorkloadError> {
        let name = quoted(&self.name);
        let transfers = |table, slots| {
            TransferTable::new(slots).map_err(|reason| WorkloadError::Transfers {
                workload: name.clone(),
                table,
                reason,
            })
        };
        let object = WorkloadObject {
            mix: Mix::new(self.mix).map_err(|e| WorkloadError::of_mix(&name, &e))?,
            read_transfers: transfers("read", self.read_transfers)?,
            write_transfers: transfers("write", self.write_transfers)?,
            name: self.name,
            title: self.title,
            attributes: self.attributes,
        };
        object.check()?;
        match self.aliases.iter().find(|a| !is_name(a)) {
            Some(bad) => Err(WorkloadError::Name(quoted(bad))),
            None => Ok((object, self.aliases)),
        }
    }
}

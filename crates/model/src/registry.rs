//! The workload objects and composite benchmarks that are known: those that ship
//! and those that the user adds or changes.
//!
//! Composites name their workloads; which figures those have is looked up when a
//! benchmark is asked for. An edited object therefore changes every composite
//! that it is part of.

mod composites;
mod definition;
#[cfg(test)]
mod digits;
mod shipped;
#[cfg(test)]
mod tests;
mod write;

use crate::Benchmark;
use crate::text::{nearest, quoted};
use crate::workload::WorkloadObject;
use composites::Composite;
use definition::Definitions;

/// Workload objects and composite benchmarks by name. Names differ in more than
/// the case of their letters.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    workloads: Vec<RegistryEntry>,
    composites: Vec<Composite>,
}

/// A workload object and the other names it goes by.
#[derive(Clone, Debug)]
struct RegistryEntry {
    object: WorkloadObject,
    aliases: Vec<String>,
}

/// Why the registry cannot give or take something.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum RegistryError {
    /// No workload has that name.
    #[error("there is no workload '{name}'; {hint}")]
    UnknownWorkload {
        /// As asked for.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// No composite benchmark has that name.
    #[error("there is no composite benchmark '{name}'; {hint}")]
    UnknownBenchmark {
        /// As asked for.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// A composite cannot be put together.
    #[error("benchmark {benchmark}, component {component}: {reason}")]
    Component {
        /// Which benchmark.
        benchmark: String,
        /// Which component, from 1.
        component: usize,
        /// What is wrong, and what to try.
        reason: String,
    },
    /// A definition file is wrong.
    #[error("{file}:{line}:{column}: {reason}; {hint}")]
    Text {
        /// The file as the user named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
        /// What to try.
        hint: String,
    },
}

impl RegistryError {
    /// Line and column, where it has them.
    fn place(&self) -> (usize, usize) {
        match self {
            Self::Text { line, column, .. } => (*line, *column),
            _ => (0, 0),
        }
    }
}

impl Registry {
    /// Those that ship with the program.
    pub fn shipped() -> Self {
        let mut registry = Self::default();
        for (file, text) in shipped::FILES {
            let taken = registry.take_toml(file, text);
            // That every shipped file reads is a test, not a matter of run time.
            debug_assert_eq!(taken, Ok(()));
        }
        registry
    }

    /// A workload by its name or another name of it, in any case.
    ///
    /// # Errors
    /// There is none; the message has the nearest name.
    pub fn workload(&self, name: &str) -> Result<&WorkloadObject, RegistryError> {
        match self.position(name) {
            Some(at) => Ok(&self.workloads[at].object),
            None => {
                let known: Vec<_> = self
                    .workloads
                    .iter()
                    .flat_map(RegistryEntry::names)
                    .collect();
                Err(RegistryError::UnknownWorkload {
                    name: quoted(name),
                    hint: hint(name, &known),
                })
            }
        }
    }

    /// The names of all workloads, in the order of their definition.
    pub fn workload_names(&self) -> Vec<&str> {
        self.workloads().map(|w| w.name.as_str()).collect()
    }

    /// All workloads, in the order of their definition.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadObject> {
        self.workloads.iter().map(|k| &k.object)
    }

    /// The other names of a workload.
    pub fn workload_aliases(&self, name: &str) -> &[String] {
        self.position(name)
            .map_or(&[], |at| &self.workloads[at].aliases)
    }

    /// Adds a workload, or puts it in the place of the one of its name; composites
    /// then use it. One that comes under another name of a known workload takes that
    /// workload's place under both names. Nothing is checked here: see
    /// [`WorkloadObject::check`].
    pub fn put_workload(&mut self, object: WorkloadObject) {
        self.put_known(object, Vec::new());
    }

    fn put_known(&mut self, object: WorkloadObject, mut aliases: Vec<String>) {
        let Some(at) = self.position(&object.name) else {
            return self.workloads.push(RegistryEntry { object, aliases });
        };
        let place = &mut self.workloads[at];
        for old in place.names() {
            let same = |name: &str| name.eq_ignore_ascii_case(old);
            if !same(&object.name) && !aliases.iter().any(|a| same(a)) {
                aliases.push(old.to_owned());
            }
        }
        *place = RegistryEntry { object, aliases };
    }

    /// A composite benchmark by its name, in any case; by another name of a workload
    /// too, where it is named after that.
    ///
    /// # Errors
    /// There is none, or one of its workloads is unknown.
    pub fn composite(&self, name: &str) -> Result<Benchmark, RegistryError> {
        match self.find_composite(name) {
            Some(composite) => composite.build(self),
            None => Err(RegistryError::UnknownBenchmark {
                name: quoted(name),
                hint: hint(name, &self.composite_names()),
            }),
        }
    }

    /// The names of all composite benchmarks, in the order of their definition.
    pub fn composite_names(&self) -> Vec<&str> {
        self.composites.iter().map(|c| c.name.as_str()).collect()
    }

    /// Whether figures of this benchmark are experimental or the project's own.
    pub fn is_experimental(&self, name: &str) -> bool {
        self.find_composite(name).is_some_and(|c| c.experimental)
    }

    /// Takes a definition file: `[[workload]]` and `[[benchmark]]` tables, which are
    /// added or replace those of their names. All of it or, on an error, nothing.
    /// `file` is what messages call it.
    ///
    /// # Errors
    /// What is wrong with each table, with its line.
    pub fn take_toml(&mut self, file: &str, text: &str) -> Result<(), Vec<RegistryError>> {
        let taken = Definitions::read(file, text)?;
        let mut next = self.clone();
        for (object, aliases) in taken.workloads {
            next.put_known(object, aliases);
        }
        let mut places = Vec::new();
        for (composite, place) in taken.composites {
            places.push((composite.name.clone(), place));
            next.put_composite(composite);
        }
        // Workloads may come later in the file than the composites that name them.
        let hint = "define the workload in this file, or give the file that defines it";
        let unbuilt = |(name, place): (String, definition::TextPosition)| {
            let why = next.composite(&name).err()?;
            Some(place.error(file, why.to_string(), hint))
        };
        let errors: Vec<_> = places.into_iter().filter_map(unbuilt).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        *self = next;
        Ok(())
    }

    /// The names of the workloads and of the benchmarks that a definition file has;
    /// nothing is taken.
    ///
    /// # Errors
    /// What is wrong with each table, with its line.
    pub fn names_in_toml(
        file: &str,
        text: &str,
    ) -> Result<(Vec<String>, Vec<String>), Vec<RegistryError>> {
        Definitions::read(file, text).map(Definitions::into_names)
    }

    fn put_composite(&mut self, composite: Composite) {
        let same = |c: &Composite| c.name.eq_ignore_ascii_case(&composite.name);
        match self.composites.iter().position(same) {
            Some(at) => self.composites[at] = composite,
            None => self.composites.push(composite),
        }
    }

    fn find_composite(&self, name: &str) -> Option<&Composite> {
        let of = |name: &str| {
            let same = |c: &&Composite| c.name.eq_ignore_ascii_case(name);
            self.composites.iter().find(same)
        };
        of(name).or_else(|| {
            let known = &self.workloads[self.position(name)?];
            known.names().find_map(of)
        })
    }

    fn position(&self, name: &str) -> Option<usize> {
        let is = |n: &str| n.eq_ignore_ascii_case(name);
        let by_name = self.workloads.iter().position(|k| is(&k.object.name));
        by_name.or_else(|| {
            let mut all = self.workloads.iter();
            all.position(|k| k.aliases.iter().any(|a| is(a)))
        })
    }
}

impl RegistryEntry {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.object.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// What to try where a name is unknown.
fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known: {}", known.join(", ")),
    }
}

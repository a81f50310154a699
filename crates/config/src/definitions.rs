//! Files that define workloads and benchmarks, in either form: the project's own
//! (TOML) and netmist's text; and classical benchmarks, one to a file.

use crate::composite::choose::defines_composites;
use crate::error::{ConfigError, Place};
use crate::netmist_text::parse;
use crate::sources::read_text;
use filermark_model::registry::RegistryError;
use filermark_model::{Benchmark, Registry};
use std::path::Path;

/// The forms of definition files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[[workload]]` and `[[benchmark]]` tables.
    Toml,
    /// The lines of netmist's `-E` and `-I`.
    NetmistText,
}

/// What a file defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its form.
    pub form: Form,
    /// The names of its workloads.
    pub workloads: Vec<String>,
    /// The names of its benchmarks.
    pub benchmarks: Vec<String>,
}

impl Form {
    /// The form that a text seems to have: its first line that is neither blank nor a
    /// comment is a table or a value in TOML, and neither in netmist's text.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|l| !l.is_empty() && !l.starts_with('#'));
        match first {
            Some(line) if line.starts_with('[') || line.contains('=') => Self::Toml,
            _ => Self::NetmistText,
        }
    }

    /// What to call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::NetmistText => "netmist text",
        }
    }
}

/// What a classical definition file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Classic {
    /// Its text.
    pub text: String,
    /// What it says.
    pub benchmark: Benchmark,
}

/// Reads a file that defines a classical benchmark; `None`: it is of another kind, or
/// cannot be read, as [`read_definitions`] tells.
///
/// # Errors
/// What is wrong with the definition, with file and line.
pub fn read_classic(path: &Path) -> Result<Option<Classic>, Vec<ConfigError>> {
    let Ok(text) = read_text(path) else {
        return Ok(None);
    };
    let begins = ["protocol", "[mix]", "[fileset]", "[[sequence"];
    let mut lines = text.lines().map(str::trim_start);
    let classic = lines.any(|l| begins.iter().any(|b| l.starts_with(b)));
    if !classic || defines_composites(&text) {
        return Ok(None);
    }
    let file = path.display().to_string();
    let benchmark = crate::workload::read_classic(&file, &text).map_err(|e| vec![e])?;
    Ok(Some(Classic { text, benchmark }))
}

/// Reads a definition file into the registry: what it defines is added or replaces
/// what has its name. On an error nothing is changed.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn read_definitions(registry: &mut Registry, path: &Path) -> Result<Taken, Vec<ConfigError>> {
    let file = path.display().to_string();
    match read_text(path) {
        Ok(text) => take_definitions(registry, &file, &text),
        Err(why) => {
            let message = format!("the file {why}");
            let hint = "name a file with workloads or benchmarks";
            Err(vec![ConfigError::new(Place::File(file), message, hint)])
        }
    }
}

/// The same from a text; `file` is what messages call it.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn take_definitions(
    registry: &mut Registry,
    file: &str,
    text: &str,
) -> Result<Taken, Vec<ConfigError>> {
    if text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
    {
        let message = "this is XML, as the benchmark definitions of 2014 are, and not TOML";
        let hint = format!(
            "convert it: 'filermark import {file} -o mine.toml', and give that: -b mine.toml"
        );
        return Err(vec![ConfigError::new(
            Place::File(file.to_owned()),
            message,
            hint,
        )]);
    }
    let form = Form::of(text);
    let (workloads, benchmarks) = match form {
        Form::Toml => {
            let told = |all: Vec<RegistryError>| -> Vec<ConfigError> {
                all.into_iter().map(|e| registry_error(file, e)).collect()
            };
            registry.take_toml(file, text).map_err(told)?;
            Registry::names_in_toml(file, text).map_err(told)?
        }
        Form::NetmistText => {
            let objects = parse(file, text)?;
            let names = objects.iter().map(|w| w.name.clone()).collect();
            for object in objects {
                registry.put_workload(object);
            }
            (names, Vec::new())
        }
    };
    Ok(Taken {
        form,
        workloads,
        benchmarks,
    })
}

/// A registry's error at its place; `file` where it has none of its own.
pub(crate) fn registry_error(file: &str, error: RegistryError) -> ConfigError {
    match error {
        RegistryError::Text {
            file,
            line,
            column,
            reason,
            hint,
        } => ConfigError::new(Place::line(&file, line, column), reason, hint),
        other => ConfigError::new(Place::File(file.to_owned()), other.to_string(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netmist_text::export;
    use filermark_model::workload::Attributes;

    #[test]
    fn both_forms_are_known_and_taken() {
        let mut registry = Registry::shipped();
        let mut mine = registry.workload("VDI").unwrap().clone();
        mine.attributes.osync_pcnt = 12.5;
        let text = export([&mine]);
        let taken = take_definitions(&mut registry, "w", &text).unwrap();
        assert_eq!((taken.form, taken.workloads.len()), (Form::NetmistText, 1));
        assert_eq!(registry.workload("VDI").unwrap(), &mine);
        let toml =
            registry.workload_toml("VDI").unwrap() + &registry.composite_toml("VDI").unwrap();
        let taken = take_definitions(&mut Registry::default(), "t", &toml).unwrap();
        assert_eq!(taken.form, Form::Toml);
        assert_eq!(
            (taken.workloads, taken.benchmarks),
            (vec!["VDI".into()], vec!["VDI".into()])
        );
    }

    #[test]
    fn mistakes_have_their_place_and_change_nothing() {
        let mut registry = Registry::shipped();
        let e = take_definitions(&mut registry, "t", "\n[[workloads]]\n").unwrap_err();
        assert!(
            e[0].to_string()
                .starts_with("t:2:3: unknown field `workloads`"),
            "{}",
            e[0]
        );
        let text = export(registry.workloads());
        let bad = text.replace("Percent direct 100", "Percent direct 101");
        let e = take_definitions(&mut registry, "t", &bad).unwrap_err();
        assert_eq!(e.len(), 2);
        let e = read_definitions(&mut registry, Path::new("/nowhere/x")).unwrap_err();
        assert!(
            e[0].to_string()
                .starts_with("/nowhere/x: the file cannot be opened")
        );
        assert!(registry.workloads().eq(Registry::shipped().workloads()));
    }

    #[test]
    fn the_example_of_the_manual_reads_and_names_the_defaults() {
        let page = include_str!("../../../docs/src/reference/workloads.md");
        let block = |from: &str| {
            let (_, rest) = page.split_once(from).expect("a block");
            rest.split_once("```").expect("its end").0.to_owned()
        };
        let mut registry = Registry::default();
        take_definitions(&mut registry, "t", &block("```toml\n")).unwrap();
        let object = registry.workload("TEMPFILES").unwrap();
        assert_eq!(object.attributes, Attributes::default());
        let shown = registry.composite("SCRATCH").unwrap().standard;
        let shipped = Registry::shipped().composite("VDI").unwrap().standard;
        assert_eq!(shown, shipped);
        let (text, form) = (export([object]), block("```text\n"));
        let lines: Vec<&str> = form.lines().filter(|l| *l != "...").collect();
        assert!(lines.len() > 15);
        for line in lines {
            let (key, _) = line.rsplit_once(' ').unwrap();
            assert!(text.contains(key), "{line}");
        }
    }
}

//! Published results of historical systems, to be shown with a run: a text file that users
//! can write themselves, and one that is shipped.
//!
//! Only the peak and the overall response time of such a system are known. So there
//! is no curve, nothing is computed from it, and every rendering states that it is
//! not comparable. The format is in `docs/src/reference/formats.md`.

use filermark_model::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the format.
pub const FORMAT: u32 = 1;
/// The shipped file, in the repository `examples/historical/nfs-1997.toml`.
pub const SHIPPED: &str = include_str!("../../../examples/historical/nfs-1997.toml");
/// Largest file that is read, in bytes.
pub const BYTES_MAX: u64 = 1 << 20;
/// Most systems of a file: a table and a chart of more would not be readable.
pub const SYSTEMS_MAX: usize = 100;
/// Longest text in it, in characters.
const TEXT_MAX: usize = 400;
/// Shown with such systems.
pub const NOTICE: &str = "Historical, not comparable: other generation, other rules. Only the published peak and overall response time are known, and no curve.";

/// Historical systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Historical {
    /// [`NOTICE`].
    pub notice: &'static str,
    /// Their title.
    pub title: String,
    /// A note for the reader; may be empty.
    pub note: String,
    /// The systems, in the order of the file.
    pub systems: Vec<System>,
}

/// A historical system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name.
    pub name: String,
    /// The generation of the benchmark, with version of the protocol.
    pub generation: String,
    /// The published throughput in op/s.
    pub ops_per_sec: f64,
    /// The published overall response time in milliseconds.
    pub ort_ms: f64,
    /// How many processors it had, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_count: Option<u32>,
    /// The source of the figures.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    title: String,
    #[serde(default)]
    note: String,
    system: Vec<toml::Spanned<System>>,
}

/// A file of systems cannot be used: `file:line: why`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct HistoricalError {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl Historical {
    /// The shipped systems.
    ///
    /// # Errors
    /// A defect of the program: the shipped file is wrong.
    pub fn shipped() -> Result<Self, HistoricalError> {
        Self::parse("nfs-1997.toml", SHIPPED)
    }

    /// Reads the text of a file; `file` is its name for messages.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(file: &str, text: &str) -> Result<Self, HistoricalError> {
        let wrong = |at: usize, reason: String| HistoricalError {
            file: file.to_owned(),
            line: text.get(..at).unwrap_or(text).matches('\n').count() + 1,
            reason: one_line(&reason),
        };
        if text.trim_start().starts_with('{') {
            let reason = "this file is JSON and not a table of systems; if it is a run record, give it without an option";
            return Err(wrong(0, reason.into()));
        }
        let parsed: File = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start);
            wrong(at, format!("not a table of systems: {}", e.message()))
        })?;
        if parsed.format != FORMAT {
            let found = parsed.format;
            let reason = format!("unknown format {found}; this program reads format {FORMAT}");
            return Err(wrong(0, reason));
        }
        for (name, text) in [("title", &parsed.title), ("note", &parsed.note)] {
            check_text(name, text, name == "title").map_err(|e| wrong(0, e))?;
        }
        if parsed.system.is_empty() || parsed.system.len() > SYSTEMS_MAX {
            let count = parsed.system.len();
            return Err(wrong(
                0,
                format!("the file has {count} systems; give 1 to {SYSTEMS_MAX}"),
            ));
        }
        let mut seen = BTreeSet::new();
        for system in &parsed.system {
            let at = system.span().start;
            let s = system.get_ref();
            check(s).map_err(|e| wrong(at, e))?;
            if !seen.insert((s.name.clone(), s.generation.clone())) {
                let reason = format!(
                    "{}, {} is in the file twice; remove one",
                    s.name, s.generation
                );
                return Err(wrong(at, reason));
            }
        }
        Ok(Self {
            notice: NOTICE,
            title: one_line(&parsed.title),
            note: one_line(&parsed.note),
            systems: parsed
                .system
                .into_iter()
                .map(|s| cleaned(s.into_inner()))
                .collect(),
        })
    }

    /// Where the figures are from, each source once.
    pub fn sources(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for system in &self.systems {
            if !all.contains(&system.source.as_str()) {
                all.push(&system.source);
            }
        }
        all
    }
}

fn check_text(name: &str, text: &str, needed: bool) -> Result<(), String> {
    if needed && text.trim().is_empty() {
        return Err(format!("{name} is empty; give a text"));
    }
    match text.chars().count() {
        n if n > TEXT_MAX => Err(format!(
            "{name} has {n} characters; the limit is {TEXT_MAX}"
        )),
        _ => Ok(()),
    }
}

fn check(s: &System) -> Result<(), String> {
    for (name, text) in [
        ("name", &s.name),
        ("generation", &s.generation),
        ("source", &s.source),
    ] {
        check_text(name, text, true)?;
    }
    if !(s.ops_per_sec > 0.0 && s.ops_per_sec <= 1e12) {
        return Err("ops_per_sec must be above 0 and at most 1e12".into());
    }
    if !(s.ort_ms > 0.0 && s.ort_ms <= 1e6) {
        return Err("ort_ms must be above 0 and at most 1e6".into());
    }
    match s.cpu_count {
        Some(0) => Err("cpu_count must be 1 or more; leave it out if it is not known".into()),
        _ => Ok(()),
    }
}

fn cleaned(s: System) -> System {
    System {
        name: one_line(s.name.trim()),
        generation: one_line(s.generation.trim()),
        source: one_line(s.source.trim()),
        ..s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tables of guide V, typed independently.
    #[test]
    fn the_shipped_systems_are_those_of_the_seed() {
        let shipped = Historical::shipped().unwrap();
        let rows = shipped.systems.iter().map(|s| {
            let version = s.generation.chars().last().unwrap();
            (
                version,
                s.name.rsplit(' ').next().unwrap(),
                s.cpu_count,
                s.ops_per_sec,
                s.ort_ms,
            )
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                ('2', "3000", Some(6), 11_806.0, 5.1),
                ('2', "4000", Some(12), 20_406.0, 6.7),
                ('2', "6000", Some(18), 25_639.0, 9.9),
                ('3', "3000", Some(6), 5_903.0, 5.4),
                ('3', "4000", Some(12), 10_592.0, 5.6),
            ]
        );
        assert_eq!(shipped.sources().len(), 2);
    }

    #[test]
    fn errors_name_their_line() {
        let good = "format = 1\ntitle = \"t\"\n[[system]]\nname = \"a\"\ngeneration = \"g\"\nops_per_sec = 5\nort_ms = 1.5\nsource = \"s\"\n";
        let parsed = Historical::parse("f", good).unwrap();
        assert_eq!(parsed.systems[0].cpu_count, None);
        for (from, to, message) in [
            ("format = 1", "format = 2", "f:1: unknown format 2"),
            ("\"t\"", "\"\"", "title is empty"),
            ("= 5", "= 0", "f:3: ops_per_sec"),
            ("= 5", "= nan", "ops_per_sec"),
            ("= 1.5", "= inf", "ort_ms"),
            (
                "ort_ms",
                "ort",
                "f:7: not a table of systems: unknown field",
            ),
            ("source", "cpu_count = 0\nsource", "cpu_count"),
            ("\"a\"", "\"\"", "name is empty"),
            ("[[system]]", "[[system", "f:3: "),
        ] {
            let error = Historical::parse("f", &good.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(message), "{message}: {error}");
        }
        let twice = format!("{good}{}", &good[good.find("[[").unwrap()..]);
        let error = Historical::parse("f", &twice).unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
        let error = Historical::parse("f", "{\"type\":\"run\"}").unwrap_err();
        assert!(error.to_string().contains("run record"), "{error}");
        let odd = good.replace("\"a\"", "\"a\\u001b[2J\"");
        assert!(
            !Historical::parse("f", &odd).unwrap().systems[0]
                .name
                .contains('\x1b')
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = Historical::parse("f", &text);
            let _ = Historical::parse("f", &format!("format = 1\ntitle = \"t\"\n[[system]]\n{text}"));
        }
    }
}

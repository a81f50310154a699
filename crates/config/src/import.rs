//! Files of earlier generations, converted: rc files and XML benchmark definitions of the
//! 2014 kind. What has no equivalent becomes a note; for a file that needs no conversion, the
//! result names the option that takes it. For users: docs/src/howto/from-older-tools.md.

mod benchmarks;
mod made;
mod rc;
#[cfg(test)]
mod tests;
mod tree;

pub use made::{ConvertedFile, ConvertedFormat};

use crate::error::{ConfigError, SourceLocation};
use crate::rc::parse_rc;

/// The outcome of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was converted.
    Made(ConvertedFile),
    /// Filermark reads it as it is; how, in a sentence.
    AsItIs(String),
}

/// Converts a text; `file` is its name in messages.
///
/// # Errors
/// It is of no kind that is known, or not well-formed; with file and line.
pub fn import(file: &str, text: &str) -> Result<ImportOutcome, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|l| !l.is_empty() && !l.starts_with('#'));
    let Some(first) = first else {
        return Err(unknown(file, "the file is empty"));
    };
    if first.starts_with('<') {
        return benchmarks::import_xml(file, text).map(ImportOutcome::Made);
    }
    if let Some(how) = as_it_is(file, first) {
        return Ok(ImportOutcome::AsItIs(how));
    }
    if first.starts_with("Benchmark_name:") {
        let message = "this is a YAML definition of the 2020 kind, whose keys are not public";
        let hint = "write the figures into a TOML definition: 'filermark workload show --toml \
                    SWBUILD' prints one to start from";
        return Err(ConfigError::new(
            SourceLocation::File(file.to_owned()),
            message,
            hint,
        ));
    }
    if parse_rc(file, text).assignments.is_empty() {
        return Err(unknown(file, "this is of no known kind"));
    }
    Ok(ImportOutcome::Made(rc::import_rc(file, text)))
}

/// Which option takes a file with this first line, unchanged.
fn as_it_is(file: &str, first: &str) -> Option<String> {
    let lower = first.to_ascii_lowercase();
    let how = if lower.starts_with("sfs mixfile") || lower.starts_with("cifs mixfile") {
        format!("a mix file: MIXFILE={file} takes it as it is")
    } else if lower.starts_with("workload name") {
        format!(
            "workload objects in netmist's text form: WORKLOAD_FILE={file} or 'filermark netmist \
             -I {file}' takes them as they are"
        )
    } else if first.starts_with("[[") {
        format!("a definition file in TOML: '-b {file}' takes it as it is")
    } else {
        return None;
    };
    Some(how)
}

fn unknown(file: &str, message: &str) -> ConfigError {
    let hint = "give an rc file of an earlier generation, or an XML file of benchmark \
                definitions of the 2014 kind (benchmarks.xml)";
    ConfigError::new(SourceLocation::File(file.to_owned()), message, hint)
}

//! The manifest in two forms: for `sha256sum`, and as JSON with the roles of the files.

use crate::name::check_name;
use filermark_results::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sums in the format of `sha256sum`: of all files but this one.
pub const MANIFEST_SUMS: &str = "MANIFEST.sha256";
/// The list of files as JSON: all files but the two manifests.
pub const MANIFEST_JSON: &str = "manifest.json";
/// The JSON Schema of [`MANIFEST_JSON`].
pub const SCHEMA: &str = include_str!("../schema/manifest-v1.json");
/// The version of that schema.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the schema.
    pub schema: u32,
    /// The program that packed: `filermark`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// When it was packed; left out for reproducible archives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The subcommand that packed: `bundle`; other subcommands leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// That this is no SPEC result.
    pub notice: String,
    /// The runs whose records are in the archive.
    pub runs: Vec<ManifestRun>,
    /// The files, by name.
    pub files: Vec<ManifestFile>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRun {
    /// The name of its record.
    pub record: String,
    /// Its suffix.
    pub suffix: String,
    /// When it began.
    pub started: String,
    /// The fingerprint of its plan.
    pub fingerprint: String,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its name, with `/` between folders.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

/// The text of [`MANIFEST_SUMS`].
pub(crate) fn sums_text<'a>(sums: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let lines = sums
        .into_iter()
        .map(|(name, sum)| format!("{sum}  {name}\n"));
    lines.collect()
}

/// Parses [`MANIFEST_SUMS`] into sums by name.
pub(crate) fn parse_sums(text: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    let Some(body) = text.strip_suffix('\n') else {
        return Err("its last line is cut".into());
    };
    let mut sums = BTreeMap::new();
    for (number, line) in (1..).zip(body.split('\n')) {
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let parts = line.split_once("  ");
        let Some((sum, name)) = parts.filter(|(sum, _)| sum.len() == 64 && sum.bytes().all(is_hex))
        else {
            return Err(format!(
                "line {number} is not a SHA-256 sum, two blanks and a name"
            ));
        };
        check_name(name).map_err(|why| format!("line {number}: {why}"))?;
        if sums.insert(name.to_owned(), sum.to_owned()).is_some() {
            return Err(format!("line {number}: {name} is there twice"));
        }
    }
    Ok(sums)
}

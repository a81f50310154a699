//! The kind of a file, by its content, and what a command says about a file that it cannot use.
//!
//! A command reads its input with its own reader. If the reader refuses the file, [`refusal`]
//! names the kind that the file has, and what to give instead.

use crate::role::{CSV_HEADER, RC_NAME, is_run_line, is_submission, is_summary};
use crate::zipfile::is_zip;
use filermark_results::output::OutputTable;
use filermark_results::outputs::{OUTPUTS, RECORD};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// How much of a file is read to recognize its kind, in bytes. The first line of a record has
/// the whole plan.
const HEAD_LEN: u64 = 1 << 20;
/// Most files that a message names.
const NAMED_MAX: usize = 3;
/// Most names of a directory that are looked at for a message.
const DIR_ENTRIES_MAX: usize = 10_000;

/// The kinds of files that commands read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A run record.
    Record,
    /// An rc file.
    Rc,
    /// A page.
    Html,
    /// An archive.
    Zip,
    /// A summary in columns (`sfssum`).
    Summary,
    /// A summary in XML (`sfssum_SUFFIX.xml`).
    SummaryXml,
    /// A table (CSV).
    Csv,
    /// A mix file.
    Mix,
    /// A submission.
    Submission,
    /// An energy log.
    EnergyLog,
    /// An energy setup (TOML).
    EnergySetup,
    /// Definitions of benchmarks and workloads (TOML).
    Definitions,
    /// Other XML.
    Xml,
    /// Other JSON.
    Json,
    /// A directory.
    Directory,
    /// There is no such file.
    Missing,
    /// A file without content.
    Empty,
    /// Not text.
    Binary,
    /// Text of another kind.
    Text,
    /// It cannot be read, or is a pipe or a device.
    Unreadable,
}

impl FileKind {
    /// The kind of the file at `path`. Pipes and devices are not opened.
    pub fn of(path: &Path) -> Self {
        let kind = match fs::metadata(path) {
            Ok(kind) => kind,
            Err(e) if e.kind() == ErrorKind::NotFound => return Self::Missing,
            Err(_) => return Self::Unreadable,
        };
        if kind.is_dir() {
            return Self::Directory;
        }
        if !kind.is_file() {
            return Self::Unreadable;
        }
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HEAD_LEN).read_to_end(&mut head));
        match read {
            Ok(_) => Self::of_bytes(&head),
            Err(_) => Self::Unreadable,
        }
    }

    /// The kind of a file that begins with these bytes.
    pub fn of_bytes(head: &[u8]) -> Self {
        if is_zip(head) {
            return Self::Zip;
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = text.trim_ascii_start();
        match text.first() {
            None => Self::Empty,
            _ if is_binary(head) => Self::Binary,
            Some(b'{') => Self::of_json(text),
            Some(b'<') => Self::of_xml(text),
            Some(_) => Self::of_lines(&String::from_utf8_lossy(text)),
        }
    }

    /// The kind of a text that begins with `{`.
    fn of_json(text: &[u8]) -> Self {
        match text {
            _ if text.starts_with(b"{\"type\":\"energy\"") => Self::EnergyLog,
            // A line that is longer than what was read is not complete here.
            _ if text.starts_with(b"{\"type\":\"run\"") || is_run_line(text) => Self::Record,
            _ => Self::Json,
        }
    }

    /// The kind of a text that begins with `<`.
    fn of_xml(text: &[u8]) -> Self {
        let head = String::from_utf8_lossy(&text[..text.len().min(4096)]).to_ascii_lowercase();
        let has = |tag: &str| head.contains(tag);
        match () {
            () if has("<!doctype html") || has("<html") => Self::Html,
            () if is_submission(text) => Self::Submission,
            () if has("<filermark ") => Self::SummaryXml,
            () => Self::Xml,
        }
    }

    /// The kind of another text, by its first line that is not a comment.
    fn of_lines(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = lines.next() else {
            // Only comments.
            return Self::Text;
        };
        let lower = first.to_ascii_lowercase();
        match () {
            () if lower.starts_with("sfs mixfile") || lower.starts_with("cifs mixfile") => {
                Self::Mix
            }
            () if first.starts_with(CSV_HEADER) => Self::Csv,
            () if is_energy_setup(text) => Self::EnergySetup,
            () if first.starts_with("[[") => Self::Definitions,
            () if is_summary(text.as_bytes()) => Self::Summary,
            () if is_assignment(first) => Self::Rc,
            () if is_table(first, lines.next()) => Self::Csv,
            () => Self::Text,
        }
    }

    /// The kind in a message; nothing if the message of the reader is better.
    fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Record => "this is a run record",
            Self::Rc => "this is an rc file",
            Self::Html => "this is an HTML report",
            Self::Zip => "this is a ZIP archive",
            Self::Summary => "this is a summary file (sfssum)",
            Self::SummaryXml => "this is a summary file in XML (sfssum_SUFFIX.xml)",
            Self::Csv => "this is a table (CSV)",
            Self::Mix => "this is a mix file",
            Self::Submission => "this is a submission (XML)",
            Self::EnergyLog => "this is an energy log",
            Self::EnergySetup => "this is an energy setup (TOML)",
            Self::Definitions => "this is a file of benchmark definitions (TOML)",
            Self::Directory => "this is a directory",
            Self::Missing => "there is no such file",
            Self::Empty => "the file is empty",
            Self::Binary => "this is a binary file",
            Self::Json => "this is a JSON file, and not a run record",
            Self::Xml | Self::Text | Self::Unreadable => return None,
        })
    }

    /// Whether a run or a report wrote files of this kind, from a record.
    const fn is_made_of_record(self) -> bool {
        matches!(
            self,
            Self::Html | Self::Summary | Self::SummaryXml | Self::Csv | Self::EnergyLog
        )
    }
}

/// The input of a command, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// What to give, after the word "give".
    pub what: &'static str,
    /// The kinds that the command reads.
    pub kinds: &'static [FileKind],
    /// The option before a file name in advice, with a blank; empty: an argument.
    pub option: &'static str,
}

impl Wanted {
    /// Files that are given without an option.
    const fn argument(what: &'static str, kinds: &'static [FileKind]) -> Self {
        Self {
            what,
            kinds,
            option: "",
        }
    }
}

/// Run records.
pub const RECORDS: Wanted =
    Wanted::argument("a run record (SUFFIX.run.jsonl)", &[FileKind::Record]);

/// The input of `bundle`.
pub const TO_PACK: Wanted = Wanted::argument(
    "a run record (SUFFIX.run.jsonl), a submission (XML) or a directory of them",
    &[FileKind::Record, FileKind::Submission, FileKind::Directory],
);

/// The input of `verify`.
pub const TO_VERIFY: Wanted = Wanted::argument(
    "an archive (ZIP), a run record (SUFFIX.run.jsonl), a submission (XML) or a directory \
     of them",
    &[
        FileKind::Zip,
        FileKind::Record,
        FileKind::Submission,
        FileKind::Directory,
    ],
);

/// The input of `report`.
pub const TO_REPORT: Wanted = Wanted::argument(
    "a run record (SUFFIX.run.jsonl), a submission (XML) or a summary file (sfssum)",
    &[FileKind::Record, FileKind::Submission, FileKind::Summary],
);

/// Submissions.
pub const SUBMISSIONS: Wanted = Wanted::argument(
    "a submission (XML); filermark subedit makes one",
    &[FileKind::Submission],
);

/// Results of a submission.
pub const RESULTS: Wanted = Wanted::argument(
    "a summary file (sfssum) or a run record (SUFFIX.run.jsonl), then its rc file",
    &[FileKind::Record, FileKind::Summary],
);

/// Rc files.
pub const RC_FILES: Wanted = Wanted {
    what: "an rc file (`filermark template > sfs_rc` makes one)",
    kinds: &[FileKind::Rc, FileKind::Empty],
    option: "-r ",
};

/// The input of `import`.
pub const TO_IMPORT: Wanted = Wanted::argument(
    "an rc file of an earlier generation, or an XML file of benchmark definitions of the \
     2014 kind (benchmarks.xml)",
    &[FileKind::Rc, FileKind::Mix, FileKind::Definitions],
);

/// Why a command cannot use a file; shown as `file: kind; advice`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {kind}; {advice}")]
pub struct Refusal {
    /// The file as the user named it.
    pub file: String,
    /// The kind that was recognized.
    pub kind: &'static str,
    /// What to give instead.
    pub advice: String,
}

/// The message on a file that the reader of a command refused: its kind, and what to give.
/// `None`: the file is of a kind that the command reads, or of no known kind; then the message
/// of the reader applies.
pub fn refusal(path: &Path, wanted: &Wanted) -> Option<Refusal> {
    let kind = FileKind::of(path);
    let name = kind.name().filter(|_| !wanted.kinds.contains(&kind))?;
    let mut advice = format!("give {}", wanted.what);
    let found = alternatives(path, kind, wanted);
    if !found.is_empty() {
        let found: Vec<String> = found
            .iter()
            .map(|file| format!("{}{}", wanted.option, file.display()))
            .collect();
        advice.push_str(&format!(", for example {}", found.join(" or ")));
    } else if kind == FileKind::Zip && wanted.kinds.contains(&FileKind::Record) {
        advice.push_str("; `unzip` unpacks an archive, which has the run record");
    }
    Some(Refusal {
        file: path.display().to_string(),
        kind: name,
        advice,
    })
}

/// Files that a user may have meant: of a file that was made from a record, that record;
/// otherwise what the directory has.
fn alternatives(path: &Path, kind: FileKind, wanted: &Wanted) -> Vec<PathBuf> {
    let folder = match kind {
        FileKind::Directory => path,
        _ => path.parent().unwrap_or(Path::new("")),
    };
    if wanted.kinds.contains(&FileKind::Rc) {
        let usual = Some(folder.join(RC_NAME));
        let usual = usual.filter(|rc| !wanted.option.is_empty() && rc.is_file());
        return usual.into_iter().collect();
    }
    match kind {
        _ if !wanted.kinds.contains(&FileKind::Record) => Vec::new(),
        FileKind::Directory | FileKind::Missing => records_in(folder),
        kind if kind.is_made_of_record() => record_of(path).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The record of the run that a file belongs to by its name: in the same directory.
pub fn record_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    // A suffix may have dots: `sfssum.mine.txt` is that of `mine` or of `mine.txt`.
    let rows = OutputTable(&[OUTPUTS]);
    let named = rows.iter().filter_map(|row| row.suffix_in(name));
    let named = named.flat_map(|suffix| [suffix.strip_suffix(".txt"), Some(suffix)]);
    let stem = name.rsplit_once('.').map(|(stem, _)| stem);
    let suffixes = named.flatten().chain(stem);
    let mut paths = suffixes.map(|suffix| path.with_file_name(RECORD.name(suffix)));
    paths.find(|path| path.is_file())
}

/// The first records of a directory.
fn records_in(folder: &Path) -> Vec<PathBuf> {
    let place = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let names = entries.take(DIR_ENTRIES_MAX).filter_map(Result::ok);
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| RECORD.is_name(name)).collect();
    names.sort();
    names.truncate(NAMED_MAX);
    names.iter().map(|name| folder.join(name)).collect()
}

/// Whether this is not text: it has a byte that no text has, or is not UTF-8 from its start.
fn is_binary(head: &[u8]) -> bool {
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The last character may be cut.
        Err(e) => e.error_len().is_none(),
    };
    !is_text || head.contains(&0)
}

/// Whether a line is `NAME=value`, as in rc files.
fn is_assignment(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim();
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_part)
    })
}

/// Whether a text is TOML with a table of the energy setup.
fn is_energy_setup(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| ["[[meter]]", "[[sensor]]", "[sflow]"].contains(&line))
}

/// Whether the first two lines have the same number of columns, separated by commas, and the
/// first has names, not assignments.
fn is_table(first: &str, second: Option<&str>) -> bool {
    let columns = |line: &str| line.split(',').count();
    columns(first) > 2
        && !first.contains('=')
        && second.is_none_or(|second| columns(second) == columns(first))
}

#[cfg(test)]
mod tests;

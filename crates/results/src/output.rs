//! A kind of file that belongs to a result: a row of the table of outputs.
//!
//! The rows are declared where their renderers are: those of this crate in
//! [`crate::outputs`], reports in the crate `report`, submissions in `submission`. The
//! program joins them ([`OutputTable`]). Writing files, help, archives, the checks of
//! `verify` and the documentation read the table; none of them has its own list.

use crate::figures::is_composite;
use crate::proc_logs::ProcLogs;
use crate::record::RunRecord;
use crate::role::Role;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Its name, with placeholders: `{suffix}`, `{client}` (four digits), `{number}`,
    /// `{workload}`. With a folder if it is in one; a `/` at the end means the folder with all
    /// its content.
    pub pattern: &'static str,
    /// Its purpose.
    pub role: Role,
    /// Its media type (MIME).
    pub media_type: &'static str,
    /// What writes it, and for which runs.
    pub origin: Origin,
    /// How it is made from a record.
    pub make: Make,
    /// What it is, in a few words, for help and documentation.
    pub about: &'static str,
    /// Its readers.
    pub readers: &'static str,
}

/// What writes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Every run.
    EveryRun,
    /// Runs of classical benchmarks: over NFS and SMB.
    ClassicalRun,
    /// Runs of composite benchmarks: on mounted file systems.
    CompositeRun,
    /// Runs with an energy log, and the commands that make files of one.
    Energy,
    /// A command, on request.
    Command(&'static str),
    /// Runs with a PRIME_MON_SCRIPT.
    Monitor,
    /// Other programs of this family, whose files are read here.
    OtherPrograms,
}

impl Origin {
    /// Whether a run writes it, whatever options collect during the run.
    pub const fn is_run(self) -> bool {
        matches!(
            self,
            Self::EveryRun | Self::ClassicalRun | Self::CompositeRun
        )
    }
}

/// How the text of a file is made from a run record. `None` of a function: a run with this
/// record has no such file.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// Not from a record alone.
    Elsewhere,
    /// In one piece.
    Text(fn(&RunRecord) -> Option<String>),
    /// One file for each client, by number from 1.
    Client(fn(&RunRecord, u32) -> String),
    /// A log that grows during the run.
    Log(LogMake),
    /// One file for each proc.
    Proc(fn(ProcLogs) -> String),
    /// A page in its editions, from the shipped templates; a run writes the first one. Users
    /// may have templates of their own, so a page of another text need not be wrong.
    Page(&'static [fn(&RunRecord) -> Option<String>]),
}

/// How a growing log is made.
#[derive(Clone, Copy, Debug)]
pub struct LogMake {
    /// When the run has ended.
    pub whole: fn(&RunRecord) -> Option<String>,
    /// When a load point has ended.
    pub so_far: fn(&RunRecord) -> String,
    /// Each load point adds its part ([`crate::final_logs`]); otherwise the file is
    /// completed from `so_far`.
    pub added_by_point: bool,
}

impl Output {
    /// The name of a file that a run has once.
    pub fn name(&self, suffix: &str) -> String {
        self.numbered(suffix, 0, "")
    }

    /// The name of the file of a client or proc, and of its workload.
    pub fn numbered(&self, suffix: &str, number: u32, workload: &str) -> String {
        fill(self.pattern, suffix, number, workload)
    }

    /// As [`Output::numbered`], without the folder.
    pub(crate) fn base_numbered(&self, suffix: &str, number: u32, workload: &str) -> String {
        fill(self.base_pattern(), suffix, number, workload)
    }

    /// The pattern without its folder.
    fn base_pattern(&self) -> &'static str {
        self.pattern.rsplit('/').next().unwrap_or(self.pattern)
    }

    /// The text after the last dot of the pattern; nothing where that is the suffix.
    pub fn extension(&self) -> &'static str {
        let end = self.pattern.rsplit('}').next().unwrap_or_default();
        end.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether a terminal can show it.
    pub fn is_text(&self) -> bool {
        const ALSO: [&str; 3] = ["application/json", "application/xml", "image/svg+xml"];
        self.media_type.starts_with("text/") || ALSO.contains(&self.media_type)
    }

    /// Whether a file of this name is one of these, of any run. Folders before
    /// the name do not matter, unless the pattern has one.
    pub fn is_name(&self, name: &str) -> bool {
        fits(self.pattern, self.comparable(name), None)
    }

    /// Whether the name alone shows that a run made the file: its pattern begins with a literal
    /// part. `mine.csv` may be any file of the user.
    pub fn is_certain_by_name(&self) -> bool {
        use Role::{ClientLog, Log, Summary, Table};
        matches!(self.role, Summary | Log | ClientLog | Table) && !self.pattern.starts_with('{')
    }

    /// Whether a file of this name is one of these, of the run with this suffix, in
    /// any folder.
    pub(crate) fn is_base_of(&self, name: &str, suffix: &str) -> bool {
        fits(self.base_pattern(), name, Some(suffix))
    }

    fn comparable<'a>(&self, name: &'a str) -> &'a str {
        match self.pattern.contains('/') {
            true => name,
            false => name.rsplit('/').next().unwrap_or(name),
        }
    }

    /// The suffix in the name of a file that a run has once.
    pub fn suffix_in<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (front, _, end) = next_placeholder(self.pattern)?;
        let suffix = name.strip_prefix(front)?.strip_suffix(end)?;
        (!suffix.is_empty()).then_some(suffix)
    }

    /// Whether a run with this record has such files.
    pub fn is_of(&self, record: &RunRecord) -> bool {
        match self.origin {
            Origin::EveryRun => true,
            Origin::ClassicalRun => !is_composite(record),
            Origin::CompositeRun => is_composite(record),
            Origin::Energy | Origin::Command(_) | Origin::Monitor | Origin::OtherPrograms => false,
        }
    }

    /// Bytes of the pattern that are not placeholders: of two rows with a name, the longer
    /// one applies.
    fn literal_len(&self) -> usize {
        let mut count = 0;
        let mut rest = self.pattern;
        while let Some((literal, _, behind)) = next_placeholder(rest) {
            count += literal.len();
            rest = behind;
        }
        count + rest.len()
    }
}

/// The rows of several crates as one table.
#[derive(Clone, Copy, Debug)]
pub struct OutputTable<'a>(pub &'a [&'static [Output]]);

impl<'a> OutputTable<'a> {
    /// All rows.
    pub fn iter(self) -> impl Iterator<Item = &'static Output> + 'a {
        self.0.iter().copied().flatten()
    }

    /// The row for a file of this name; if several match, the one with most literal
    /// characters.
    pub fn of_name(self, name: &str) -> Option<&'static Output> {
        self.iter()
            .filter(|output| output.is_name(name))
            .max_by_key(|output| output.literal_len())
    }
}

/// A pattern with its placeholders filled in.
fn fill(pattern: &'static str, suffix: &str, number: u32, workload: &str) -> String {
    let mut name = String::new();
    let mut rest = pattern;
    while let Some((literal, placeholder, behind)) = next_placeholder(rest) {
        name.push_str(literal);
        match placeholder {
            "suffix" => name.push_str(suffix),
            "client" => name.push_str(&format!("{number:04}")),
            "number" => name.push_str(&number.to_string()),
            _ => name.push_str(workload),
        }
        rest = behind;
    }
    name + rest
}

/// The text before the first placeholder of a pattern, the placeholder, and the rest.
fn next_placeholder(pattern: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let (literal, rest) = pattern.split_once('{')?;
    let (placeholder, behind) = rest.split_once('}')?;
    Some((literal, placeholder, behind))
}

/// Whether a name fits a pattern; without a suffix any suffix fits.
fn fits(pattern: &'static str, name: &str, suffix: Option<&str>) -> bool {
    let Some((literal, placeholder, rest)) = next_placeholder(pattern) else {
        return match pattern.ends_with('/') {
            true => name.starts_with(pattern),
            false => name == pattern,
        };
    };
    let Some(name) = name.strip_prefix(literal) else {
        return false;
    };
    if let ("suffix", Some(suffix)) = (placeholder, suffix) {
        return name
            .strip_prefix(suffix)
            .is_some_and(|behind| fits(rest, behind, Some(suffix)));
    }
    let len_max = name.find('/').unwrap_or(name.len());
    let ends = (1..=len_max).filter(|end| name.is_char_boundary(*end));
    let (least, digits) = match placeholder {
        "client" => (4, true),
        "number" => (1, true),
        _ => (1, false),
    };
    ends.filter(|end| *end >= least)
        .filter(|end| !digits || name.as_bytes()[..*end].iter().all(u8::is_ascii_digit))
        .any(|end| fits(rest, &name[end..], suffix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::{self, OUTPUTS};

    const TABLE: OutputTable<'_> = OutputTable(&[OUTPUTS]);

    #[test]
    fn names_are_made_and_parsed() {
        for output in OUTPUTS {
            let name = output.numbered("a.b", 7, "VDA2");
            assert!(output.is_name(&name), "{name}");
            let base = name.rsplit('/').next().unwrap_or_default();
            assert!(output.is_base_of(base, "a.b"), "{name}");
            assert!(base.is_empty() || !output.is_base_of(base, "a.c"), "{name}");
            let in_folder = format!("folder/{name}");
            let has_folder = output.pattern.contains('/');
            assert_eq!(output.is_name(&in_folder), !has_folder, "{name}");
        }
        let name = outputs::CLIENT_LOG.numbered("mine", 12, "");
        assert_eq!(name, "sfsc0012.mine");
        assert!(!outputs::CLIENT_LOG.is_name("sfsc12.mine"));
        assert_eq!(outputs::SFSSUM_TXT.suffix_in("sfssum.a.b.txt"), Some("a.b"));
        assert_eq!(outputs::SFSSUM_TXT.suffix_in("sfssum..txt"), None);
    }

    #[test]
    fn names_determine_roles() {
        let roles = [
            ("mine.run.jsonl", Role::Record),
            ("sfssum.run.jsonl", Role::Record),
            ("sfssum.mine", Role::Summary),
            ("sfssum.mine.txt", Role::Summary),
            ("sfssum.csv", Role::Summary),
            ("sfslog.mine.txt", Role::Log),
            ("sfssum_mine.xml", Role::Summary),
            ("sfssum_mine.txt", Role::Summary),
            ("folder/sfsc0001.mine", Role::ClientLog),
            ("sfsc0001.csv", Role::ClientLog),
            ("client-logs.m/netmist_C0.m.log", Role::ClientLog),
            ("client-logs.m/notes", Role::ClientLog),
            ("sfsres.mine", Role::Log),
            ("sfsval.mine", Role::Log),
            ("heartbeats_mine.log", Role::Log),
            ("mine.csv", Role::Table),
        ];
        for (name, role) in roles {
            let found = TABLE.of_name(name).map(|output| output.role);
            assert_eq!(found, Some(role), "{name}");
        }
        for name in [
            "notes",
            "sfssum",
            "sfsc1.mine",
            "x/client-logs.m/client_0.m",
            "",
        ] {
            assert!(TABLE.of_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn extensions_are_those_of_the_pattern() {
        assert_eq!(outputs::SFSSUM.extension(), "");
        assert_eq!(outputs::SFSSUM_XML.extension(), "xml");
        assert_eq!(outputs::RECORD.extension(), "jsonl");
    }
}

//! rc files of earlier generations: parameters that Filermark has are taken over, the others
//! become notes.

use super::made::{ConvertedFile, ConvertedFormat};
use crate::definitions::benchmark_names;
use crate::error::quoted;
use crate::given::check;
use crate::hints;
use crate::params::{Kind, Parameter, StandardValue};
use crate::rc::{Assignment, may_be_secret, parse_rc};
use filermark_model::text::one_line;

/// The directories of composites, and the names of this parameter in files of 2020.
const MOUNTS: &str = "CLIENT_MOUNTPOINTS";
const MOUNTS_OF_2020: [&str; 2] = ["UNIX_CLIENT_MOUNTPOINTS", "WINDOWS_CLIENT_MOUNTPOINTS"];

/// Parameters that identify the rc files of the 2020 generation.
const OF_2020: [&str; 4] = ["UNIX_CLIENT_", "WINDOWS_", "PDSM_", "NETMIST_LICENSE"];

/// The outcome of an assignment.
enum AssignmentOutcome {
    Keep(&'static Parameter),
    /// Not taken over, for this reason.
    Drop(String),
    /// Left empty: as if it did not exist.
    Empty,
}

/// Converts one.
pub(super) fn import_rc(file: &str, text: &str) -> ConvertedFile {
    let rc = parse_rc(file, text);
    let generation = Generation::of(&rc.assignments);
    let mut notes: Vec<String> = rc.errors.iter().map(ToString::to_string).collect();
    let mut kept: Vec<(&str, String)> = Vec::new();
    let of_2020 = mounts_of_2020(&rc.assignments);
    for a in &rc.assignments {
        if of_2020.iter().any(|mounts| std::ptr::eq(*mounts, a)) {
            notes.push(format!("{}: {} became {MOUNTS}", a.location, a.name));
            let value = a.value.split_whitespace().collect::<Vec<_>>().join(" ");
            match kept.iter_mut().find(|(name, _)| *name == MOUNTS) {
                Some((_, earlier)) => *earlier = format!("{earlier} {value}"),
                None => kept.push((MOUNTS, value)),
            }
            continue;
        }
        match outcome_of(a) {
            AssignmentOutcome::Empty => {}
            AssignmentOutcome::Drop(why) => notes.push(format!("{}: {why}", a.location)),
            AssignmentOutcome::Keep(p) => {
                let before = kept.iter().position(|(name, _)| *name == p.name);
                let value = taken(p, a, &mut notes);
                match before.and_then(|at| kept.get_mut(at)) {
                    Some(earlier) => {
                        notes.push(format!("{}: replaces an earlier {}", a.location, p.name));
                        earlier.1 = value;
                    }
                    None => kept.push((p.name, value)),
                }
            }
        }
    }
    benchmark_before_2008(&generation, &rc.assignments, &mut kept, &mut notes);
    let mut out = format!("# {} of {}, converted.\n", "An rc file", generation.name());
    if !notes.is_empty() {
        out.push_str("#\n# Notes of the conversion:\n");
        for note in &notes {
            out.push_str(&format!("#   {}\n", one_line(note)));
        }
    }
    out.push('\n');
    for (name, value) in &kept {
        out.push_str(&format!("{name}={}\n", written(value)));
    }
    ConvertedFile {
        what: format!("an rc file of {}", generation.name()),
        form: ConvertedFormat::Rc,
        text: out,
        notes,
        unusable: Vec::new(),
    }
}

/// The value that is written: lists on one line, benchmarks by their present name.
fn taken(p: &Parameter, a: &Assignment, notes: &mut Vec<String>) -> String {
    // Blanks matter in paths and arguments, and not in lists, which may go over several lines.
    let value = match p.kind {
        Kind::List => a.value.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => a.value.trim().to_owned(),
    };
    if p.name != "BENCHMARK" {
        return value;
    }
    let known = benchmark_names();
    if known.contains(&value) {
        return value;
    }
    match hints::benchmark(&value, known.iter().map(String::as_str)) {
        Some(near) => {
            notes.push(format!(
                "{}: BENCHMARK={} became {near}, the most similar benchmark here",
                a.location,
                quoted(&value)
            ));
            near.to_owned()
        }
        None => value,
    }
}

fn outcome_of(a: &Assignment) -> AssignmentOutcome {
    let name = a.name.to_ascii_uppercase();
    if a.value.trim().is_empty() {
        return AssignmentOutcome::Empty;
    }
    if may_be_secret(&name) {
        let p = Parameter::find(&name);
        if p.is_none_or(|p| p.kind == Kind::Secret) {
            return AssignmentOutcome::Drop(format!(
                "{name} is not copied; write the password to a file that only you can read, and \
                 set PASSWORD_FILE to its path"
            ));
        }
    }
    let Some(p) = Parameter::find(&name) else {
        // Its value is not shown: it may be a secret.
        let hint = hints::parameter_near(&name).map_or(String::new(), |h| format!("; {h}"));
        let name = quoted(&name);
        return AssignmentOutcome::Drop(format!("{name} is not known here, and left out{hint}"));
    };
    let shown = format!("{name}={}", quoted(a.value.trim()));
    match p.standard {
        StandardValue::NoEffect => {
            AssignmentOutcome::Drop(format!("{shown} is left out. {}", p.one_line))
        }
        StandardValue::Refused => {
            AssignmentOutcome::Drop(format!("{shown} is left out: {}", p.instead()))
        }
        _ => match check(p, a.value.trim()) {
            Ok(_) => AssignmentOutcome::Keep(p),
            Err((message, hint)) => {
                AssignmentOutcome::Drop(format!("{message}, and is left out; {hint}"))
            }
        },
    }
}

/// The mount points of UNIX and Windows clients in a file of 2020, where CLIENT_MOUNTPOINTS is
/// empty.
fn mounts_of_2020(assignments: &[Assignment]) -> Vec<&Assignment> {
    let set = |name: &str| {
        let mut set = assignments.iter().filter(|a| a.name == name);
        set.rfind(|a| !a.value.trim().is_empty())
    };
    match set(MOUNTS) {
        Some(_) => Vec::new(),
        None => MOUNTS_OF_2020.into_iter().filter_map(set).collect(),
    }
}

/// Files before 2008 name no benchmark: it follows from the version of NFS.
fn benchmark_before_2008(
    generation: &Generation,
    assignments: &[Assignment],
    kept: &mut Vec<(&str, String)>,
    notes: &mut Vec<String>,
) {
    if !matches!(generation, Generation::Older) || kept.iter().any(|(n, _)| *n == "BENCHMARK") {
        return;
    }
    let version = assignments.iter().rfind(|a| a.name == "NFS_VERSION");
    let benchmark = match version.map(|a| a.value.trim()) {
        Some("2") => "nfs2-1997",
        _ => "nfs3-2001",
    };
    notes.push(format!(
        "BENCHMARK={benchmark} was added: files before 2008 name none, and that of 2008 would \
         be taken; 'filermark workload show {benchmark}' says what it is"
    ));
    kept.insert(0, ("BENCHMARK", benchmark.to_owned()));
}

/// The generation of an rc file.
enum Generation {
    Older,
    Of2008,
    Of2014,
    Of2020,
}

impl Generation {
    fn of(assignments: &[Assignment]) -> Self {
        let has = |name: &str| assignments.iter().any(|a| a.name == name);
        let begins = |start: &&str| assignments.iter().any(|a| a.name.starts_with(*start));
        if OF_2020.iter().any(begins) {
            return Self::Of2020;
        }
        if has("CLIENT_MOUNTPOINTS") {
            return Self::Of2014;
        }
        let older = ["RSH", "RCP", "FILESET_DELTA", "USE_RPC"];
        if older.into_iter().any(has) || has("NFS_VERSION") && !has("FS_PROTOCOL") {
            return Self::Older;
        }
        Self::Of2008
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Older => "a generation before 2008",
            Self::Of2008 => "the 2008 generation",
            Self::Of2014 => "the 2014 generation",
            Self::Of2020 => "the 2020 generation",
        }
    }
}

/// A value in a form that [`parse_rc`] reads back to the same.
pub(super) fn written(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+[]".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    // Within single quotes nothing is special; a single quote itself is put in double ones.
    let mut out = String::new();
    for (i, piece) in value.split('\'').enumerate() {
        if i > 0 {
            out.push_str("\"'\"");
        }
        let quote = match piece.contains(['$', '`', '\\', '"']) {
            true => '\'',
            false => '"',
        };
        if !piece.is_empty() || value.is_empty() {
            out.push(quote);
            out.push_str(piece);
            out.push(quote);
        }
    }
    out
}

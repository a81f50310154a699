//! The input files of a submission: summary files, rc files, run records. Each is read once, and
//! they are checked for consistency.

use crate::refused::refused;
use filermark_archive::kind::{FileKind, RC_FILES, RESULTS, SUBMISSIONS, Wanted, record_of};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::read_limited;
use filermark_config::params::{Kind, Parameter};
use filermark_config::{Sources, resolve};
use filermark_model::plan::RunPlan;
use filermark_model::secret::Secret;
use filermark_results::sfssum_reader::UNKNOWN;
use filermark_results::{Curve, RunRecord, Summary, parse_sfssum, read_record, read_sfssum};
use filermark_results::{sfssum, sfssum_txt};
use filermark_submission::{
    Document, ResultFile, RunFiles, XML_LEN_MAX, fill, mismatches, read_xml,
};
use std::path::{Path, PathBuf};

/// Largest file of a submission, in bytes.
pub const FILE_LEN_MAX: u64 = 256 << 20;

/// The runs of a submission.
#[derive(Debug, Default)]
pub struct Inputs {
    runs: Vec<Run>,
}

/// A file on the disk, and its contents when it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path.
    pub path: PathBuf,
    /// Its name and checksum.
    pub file: ResultFile,
}

#[derive(Debug)]
struct Run {
    plan: RunPlan,
    curve: Curve,
    verdict: &'static str,
    record: Option<RunRecord>,
    summary: Source,
    rc: Source,
    record_source: Option<Source>,
}

impl Inputs {
    /// Reads pairs of a result and its rc file.
    ///
    /// # Errors
    /// A file cannot be read or is of another kind, or (without `force`) files do not belong
    /// together.
    pub fn read(files: &[PathBuf], force: bool) -> Result<Self, CommandError> {
        let pairs = files.chunks_exact(2);
        if let [alone] = pairs.remainder() {
            let sentence = format!(
                "{}: a result and its rc file are given together: sfssum.mine sfs_rc",
                alone.display()
            );
            return Err(CommandError::Usage(vec![sentence]));
        }
        let mut runs = Vec::new();
        for pair in pairs {
            if let [result, rc] = pair {
                runs.push(Run::read(result, rc, force)?);
            }
        }
        Ok(Self { runs })
    }

    /// Adds the values of the runs to a document; without runs it is unchanged.
    pub fn fill(&self, document: &mut Document) {
        let files: Vec<RunFiles<'_>> = self.runs.iter().map(Run::files).collect();
        fill(document, &files);
    }

    /// The files, each once: rc files separate from others.
    pub fn sources(&self) -> impl Iterator<Item = (&Source, IsRc)> {
        self.runs.iter().flat_map(|run| {
            let others = [Some(&run.summary), run.record_source.as_ref()];
            let others = others.into_iter().flatten().map(|source| (source, false));
            others.chain([(&run.rc, true)])
        })
    }
}

/// Whether a file is an rc file, which may have a password in it.
pub type IsRc = bool;

impl Run {
    fn read(result: &Path, rc: &Path, force: bool) -> Result<Self, CommandError> {
        let mut doubts = Vec::new();
        let summary = Source::read(result, &RESULTS)?;
        let (read, record_path) = match FileKind::of(result) {
            FileKind::Record => (None, Some(result.to_owned())),
            _ => {
                let read = read_sfssum(result).map_err(|e| refused(result, &RESULTS, e))?;
                (Some(read), record_of(result))
            }
        };
        let record = match &record_path {
            None => None,
            Some(path) => read_beside(path, read.is_some(), force, &mut doubts)?,
        };
        let record_source = match (&record, &record_path) {
            (Some(_), Some(path)) => Some(Source::read(path, &RESULTS)?),
            _ => None,
        };
        if let (Some(summary), Some(record)) = (&read, &record)
            && !figures_match(summary, record)
        {
            doubts.push(format!(
                "{}: does not match the run record in the same directory, {}: one of the two was changed, or is of another run",
                result.display(),
                shown(record_path.as_deref())
            ));
        }
        let curve = match (&record, &read) {
            (Some(record), _) => Curve::of_record(record),
            (None, Some(summary)) => summary.curve.clone(),
            (None, None) => return Err(one(format!("{}: no result in it", result.display()))),
        };
        let biods = read.as_ref().and_then(|summary| summary.biods);
        let verdict = read.as_ref().map_or(UNKNOWN, Summary::verdict_label);
        let plan = plan_of(rc, result, &curve, biods, record.as_ref(), &mut doubts)?;
        if !doubts.is_empty() && !force {
            doubts.push("give the files of one run, or --force to take these".into());
            return Err(CommandError::Usage(doubts));
        }
        for doubt in &doubts {
            filermark_cli_kit::stderr_line!("{doubt}");
        }
        Ok(Self {
            plan,
            curve,
            verdict,
            record,
            summary,
            rc: Source::read(rc, &RC_FILES)?,
            record_source,
        })
    }

    fn files(&self) -> RunFiles<'_> {
        RunFiles {
            plan: &self.plan,
            curve: &self.curve,
            verdict: self.verdict,
            record: self.record.as_ref(),
            summary_file: &self.summary.file,
            rc_file: &self.rc.file,
            record_file: self.record_source.as_ref().map(|source| &source.file),
        }
    }
}

impl Source {
    fn read(path: &Path, wanted: &Wanted) -> Result<Self, CommandError> {
        let content = read_limited(path, FILE_LEN_MAX).map_err(|e| refused(path, wanted, e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            path: path.to_owned(),
            file: ResultFile::new(name, &content),
        })
    }
}

/// Reads a submission.
///
/// # Errors
/// It cannot be read, or is not a submission; with path and line.
pub fn read_submission(path: &Path) -> Result<Document, CommandError> {
    let refuse = |why: String| refused(path, &SUBMISSIONS, why);
    let content = read_limited(path, XML_LEN_MAX as u64).map_err(refuse)?;
    let shown = path.display();
    let text = String::from_utf8(content)
        .map_err(|_| refuse(format!("{shown}: not UTF-8 text, and not a submission")))?;
    read_xml(&text).map_err(|e| refuse(format!("{shown}:{e}")))
}

fn one(sentence: String) -> CommandError {
    CommandError::Usage(vec![sentence])
}

fn shown(path: Option<&Path>) -> String {
    path.map_or(String::new(), |path| path.display().to_string())
}

/// Reads a record. If the record of a summary cannot be read, that is a warning only: the
/// summary is sufficient.
fn read_beside(
    path: &Path,
    has_summary: bool,
    force: bool,
    doubts: &mut Vec<String>,
) -> Result<Option<RunRecord>, CommandError> {
    match read_record(path) {
        Ok(record) => {
            if let Some(cut) = &record.cut {
                let what = format!("{}: the run record is incomplete: {cut}", path.display());
                doubts.push(what);
            }
            Ok(Some(record))
        }
        Err(e) if has_summary => {
            let after = match force {
                true => "it is left out",
                false => "move it away to go on without it",
            };
            doubts.push(format!(
                "{e}: this is the run record in the directory of the summary; {after}"
            ));
            Ok(None)
        }
        Err(e) => Err(one(e.to_string())),
    }
}

/// Whether a summary has the figures of the record. The text is not compared: another version
/// of the program may have other comments.
fn figures_match(summary: &Summary, record: &RunRecord) -> bool {
    let text = match record.run.plan.benchmark.composite() {
        Some(_) => sfssum_txt::sfssum_txt(record),
        None => sfssum::sfssum(record),
    };
    parse_sfssum(&text).is_ok_and(|mut of_record| {
        // Files of Filermark 0.1 have no verdict; that of the record counts.
        if summary.verdict.is_none() {
            of_record.verdict = None;
        }
        of_record == *summary
    })
}

/// The run's plan: that of the record, or else of the rc file. Contradictions go to `doubts`.
fn plan_of(
    rc: &Path,
    result: &Path,
    curve: &Curve,
    biods: Option<(u32, u32)>,
    record: Option<&RunRecord>,
    doubts: &mut Vec<String>,
) -> Result<RunPlan, CommandError> {
    let resolved = Sources::from_rc(Some(rc))
        .map_err(|e| vec![e])
        .and_then(|mut sources| {
            // There is no login, so a missing password does not matter.
            if sources.host.password.reveal().is_none() {
                sources.host.password = Secret::new("not needed");
            }
            resolve(&sources)
        });
    if let Some(why) = record.and_then(|record| other_rc(rc, record)) {
        doubts.push(format!("{}: {why}", rc.display()));
    }
    match (resolved, record) {
        (Ok(resolved), None) => {
            print_mismatches(rc, result, &resolved.plan, curve, biods, doubts);
            Ok(resolved.plan)
        }
        (Ok(resolved), Some(record)) => {
            let plan = &record.run.plan;
            match overridden(&resolved.plan.parameters, &plan.parameters) {
                Some(options) if options.is_empty() => {}
                Some(options) => filermark_cli_kit::stderr_line!(
                    "{}: the run had options that are not in the rc file: {}; the submission has those of the run",
                    rc.display(),
                    options.join(" ")
                ),
                // The record has the file's checksum, which is more reliable.
                None if record.run.inputs.is_some() => {}
                None => {
                    doubts.push(format!(
                        "{}: not the rc file of the run: its parameters differ from those of the run record of {}",
                        rc.display(),
                        result.display()
                    ));
                    print_mismatches(rc, result, &resolved.plan, curve, biods, doubts);
                }
            }
            Ok(plan.clone())
        }
        // The record has the plan; the rc file is only copied.
        (Err(errors), Some(record)) if rc.is_file() => {
            doubts.extend(errors.iter().map(ToString::to_string));
            Ok(record.run.plan.clone())
        }
        (Err(errors), _) => Err(errors.into()),
    }
}

/// Why this is not the rc file that the run read, if the record has its checksum.
fn other_rc(rc: &Path, record: &RunRecord) -> Option<String> {
    let inputs = record.run.inputs.as_ref()?;
    let bytes = read_limited(rc, FILE_LEN_MAX).ok()?;
    let mut files = inputs.iter().filter(|input| input.is_rc());
    let why = match files.next() {
        Some(input) if input.is_of(&bytes) => return None,
        Some(input) => input.difference(&bytes),
        None => "the run read none".to_owned(),
    };
    Some(format!(
        "this is not the rc file of the run: {why}; give the file as it was"
    ))
}

fn print_mismatches(
    rc: &Path,
    result: &Path,
    plan: &RunPlan,
    curve: &Curve,
    biods: Option<(u32, u32)>,
    doubts: &mut Vec<String>,
) {
    let found = mismatches(plan, curve, biods);
    if !found.is_empty() {
        doubts.push(format!(
            "{} does not belong to {}: {}. (Options of the command line, run -o, are not in the rc file.)",
            result.display(),
            rc.display(),
            found.join("; ")
        ));
    }
}

/// What the command line added to or changed in an rc file, from the parameters in the run's
/// record; `None`: it is another rc file, since it sets parameters that the run did not have,
/// or most common parameters differ.
fn overridden(rc: &[(String, String)], run: &[(String, String)]) -> Option<Vec<String>> {
    let of_run = |name: &str| run.iter().find(|(known, _)| known == name);
    let mut differing = 0;
    // Records contain no secrets.
    let is_secret = |name: &str| Parameter::find(name).is_some_and(|p| p.kind == Kind::Secret);
    for (name, value) in rc.iter().filter(|(name, _)| !is_secret(name)) {
        match of_run(name) {
            Some((_, other)) if other == value => {}
            Some(_) => differing += 1,
            None => return None,
        }
    }
    let changed = run.iter().filter(|pair| !rc.contains(pair));
    // Directory and suffix are usually given on the command line.
    let changed = changed.filter(|(name, _)| !["SUFFIX", "WORK_DIR"].contains(&name.as_str()));
    let changed = changed.map(|(name, value)| format!("{name}={value}"));
    (differing * 2 <= rc.len()).then(|| changed.collect())
}

#[cfg(test)]
mod tests {
    use super::overridden;

    #[test]
    fn options_of_the_command_line_are_distinguished_from_another_rc_file() {
        let list = |text: &str| -> Vec<(String, String)> {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
        };
        let run = list("LOAD=100 PROCS=8 MNT_POINTS=s:/e SUFFIX=mine RUNTIME=5");
        let same = list("LOAD=100 PROCS=8 MNT_POINTS=s:/e");
        assert_eq!(overridden(&same, &run), Some(vec!["RUNTIME=5".to_owned()]));
        let changed = list("LOAD=50 PROCS=8 MNT_POINTS=s:/e RUNTIME=5");
        assert_eq!(
            overridden(&changed, &run),
            Some(vec!["LOAD=100".to_owned()])
        );
        let other = list("LOAD=50 PROCS=4 MNT_POINTS=t:/e");
        assert_eq!(overridden(&other, &run), None);
        let more = list("LOAD=100 PROCS=8 MNT_POINTS=s:/e CLIENTS=a");
        assert_eq!(overridden(&more, &run), None);
    }
}

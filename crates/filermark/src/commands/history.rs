//! `list`, `show`, `tag`, `trend` and `export`: records of many runs.

use crate::cli::{
    ExportFormat, ExportRunsArgs, ListRunsArgs, RecordsArgs, ShowRunArgs, TagArgs, TrendArgs,
    TrendFormat,
};
use crate::refused::refused;
use crate::stdout;
use filermark_archive::kind::RECORDS;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{refuse_inputs, write_whole};
use filermark_cli_kit::view::print_stderr_line;
use filermark_history::export::{Shape, head, json_lines, lines};
use filermark_history::{
    Entry, RECORD_ENDING, TAG_FILE, TagError, TagFile, Tags, TrendRun, entry_json, find, list_text,
    run_id, trend, trend_csv, trend_json, trend_text,
};
use filermark_model::assertion::PointFigure;
use filermark_model::units::counted;
use filermark_results::{RunRecord, read_record};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code of `--fail-on-change`.
const CHANGED: u8 = 3;

/// The records that are meant, by their start, and whether all could be read. `T` is what a
/// command takes from a record: only one of them is in memory at a time.
struct Selection<T> {
    runs: Vec<(Entry, T)>,
    /// All records that were found, also those that were not selected.
    found: Vec<PathBuf>,
    /// No record was read.
    is_empty: bool,
    is_whole: bool,
}

/// So many copies of runs are named.
const COPIES_MAX: usize = 5;

impl<T> Selection<T> {
    /// Reads them one by one; what cannot be read is named on stderr.
    fn of(
        args: &RecordsArgs,
        take: impl Fn(&Path, &Entry, &RunRecord) -> T,
    ) -> Result<Self, CommandError> {
        for place in &args.places {
            if !place.exists() {
                let sentence = format!(
                    "{}: there is no such file or directory; name records or directories",
                    place.display()
                );
                return Err(CommandError::Usage(vec![sentence]));
            }
        }
        let found = find(&args.places);
        found.problems.iter().for_each(print_stderr_line);
        let mut is_whole = found.problems.is_empty();
        let mut tags = TagReader::default();
        let filter = args.filter();
        let mut copies = Copies::default();
        let mut runs = Vec::new();
        for path in &found.records {
            match read_record(path) {
                Ok(record) if copies.is_one(path, &record) => {}
                Ok(record) => {
                    let tags = match tags.of(path) {
                        // Without its tags a record cannot be chosen by them.
                        Err(e) if !args.tags.is_empty() => return Err(CommandError::of(e)),
                        Err(e) => {
                            tags.leave_out(path, &e);
                            is_whole = false;
                            Tags::default()
                        }
                        Ok(tags) => tags,
                    };
                    let entry = Entry::of(path, &record, tags);
                    if filter.holds(&entry) {
                        let taken = take(path, &entry, &record);
                        runs.push((entry, taken));
                    }
                }
                Err(e) => {
                    print_stderr_line(e);
                    is_whole = false;
                }
            }
        }
        copies.print();
        let is_empty = copies.seen.is_empty();
        runs.sort_by(|(a, _), (b, _)| (a.started, &a.record).cmp(&(b.started, &b.record)));
        let surplus = runs
            .len()
            .saturating_sub(args.last.unwrap_or(u32::MAX) as usize);
        runs.drain(..surplus);
        Ok(Self {
            runs,
            found: found.records,
            is_empty,
            is_whole,
        })
    }

    /// Why there is no run; `None`: there is one.
    fn nothing(&self, args: &RecordsArgs) -> Option<String> {
        let conditions = args.conditions().join(" ");
        self.runs
            .is_empty()
            .then(|| match (self.is_empty, &*conditions) {
                (true, _) | (_, "") => "no run was found; name records or directories".to_owned(),
                _ => {
                    format!("no run matches {conditions}; `filermark list` without them shows all")
                }
            })
    }

    /// Exit code 1 where a record could not be read.
    fn code(&self) -> ExitCode {
        ExitCode::from(u8::from(!self.is_whole))
    }
}

/// Records of a run that was seen already: copies, links and other paths of one file. A run
/// counts once.
#[derive(Default)]
struct Copies {
    seen: BTreeMap<(String, String), PathBuf>,
    count: usize,
}

impl Copies {
    /// Whether it is one; the first ones are named on stderr.
    fn is_one(&mut self, path: &Path, record: &RunRecord) -> bool {
        let run = (run_id(record), record.run.fingerprint.clone());
        let Some(first) = self.seen.get(&run) else {
            self.seen.insert(run, path.to_owned());
            return false;
        };
        self.count += 1;
        if self.count <= COPIES_MAX {
            print_stderr_line(format!(
                "{}: the same run as {}: it counts once",
                path.display(),
                first.display()
            ));
        }
        true
    }

    fn print(&self) {
        if self.count > COPIES_MAX {
            let more = counted((self.count - COPIES_MAX) as u64, "more record");
            print_stderr_line(format!("{more} of runs that were found before"));
        }
    }
}

/// The tags of each directory, read once.
#[derive(Default)]
struct TagReader(BTreeMap<PathBuf, TagFile>);

impl TagReader {
    fn of(&mut self, record: &Path) -> Result<Tags, TagError> {
        let dir = directory(record);
        if !self.0.contains_key(&dir) {
            let file = TagFile::read(&dir)?;
            self.0.insert(dir.clone(), file);
        }
        Ok(self
            .0
            .get(&dir)
            .map_or_else(Tags::default, |file| file.of(record)))
    }
}

impl TagReader {
    /// Uses no tags for the directory of a record, and says so once.
    fn leave_out(&mut self, record: &Path, why: &TagError) {
        self.0.insert(directory(record), TagFile::default());
        print_stderr_line(format!("{why}: its records are used without tags"));
    }
}

fn directory(record: &Path) -> PathBuf {
    let dir = record.parent().filter(|dir| !dir.as_os_str().is_empty());
    dir.unwrap_or(Path::new(".")).to_owned()
}

/// Lists runs.
pub fn list(args: &ListRunsArgs) -> CommandResult {
    let selection = Selection::of(&args.records, |_, _, _| ())?;
    let (code, nothing) = (selection.code(), selection.nothing(&args.records));
    let entries: Vec<Entry> = selection
        .runs
        .into_iter()
        .map(|(entry, ())| entry)
        .collect();
    match (args.json, nothing) {
        (true, _) => {
            for entry in &entries {
                stdout::print(&format!("{}\n", entry_json(entry)));
            }
        }
        (false, Some(why)) => print_stderr_line(why),
        (false, None) => stdout::print(&list_text(&entries, stdout::width())),
    }
    Ok(code)
}

/// Prints the summary of a run, with its tags and note.
pub fn show(args: &ShowRunArgs) -> CommandResult {
    let path = &args.record;
    let record = read_record(path).map_err(|e| refused(path, &RECORDS, e))?;
    let tags = TagReader::default().of(path).map_err(CommandError::of)?;
    if args.output.json {
        let mut summary = filermark_report::json_summary(&record);
        summary["tags"] = tags.tags.iter().cloned().collect();
        summary["note"] = tags.note.into();
        stdout::print_json(&summary);
        return Ok(ExitCode::SUCCESS);
    }
    stdout::print(&list_text(
        &[Entry::of(path, &record, tags)],
        stdout::width(),
    ));
    stdout::print("\n");
    stdout::print_summary(&record, &args.output);
    Ok(ExitCode::SUCCESS)
}

/// Changes tags and notes. The directory is locked meanwhile, so that no change of another
/// process is lost.
pub fn tag(args: &TagArgs) -> CommandResult {
    if args.add.is_empty() && args.remove.is_empty() && args.note.is_none() {
        let sentence = "nothing to change: give --add, --remove or --note";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let added = args.add.iter().map(|tag| format!("+{tag}"));
    let removed = args.remove.iter().map(|tag| format!("-{tag}"));
    let changes: Vec<String> = added.chain(removed).collect();
    let mut by_dir: BTreeMap<PathBuf, Vec<&PathBuf>> = BTreeMap::new();
    for record in &args.records {
        read_record(record).map_err(|e| refused(record, &RECORDS, e))?;
        by_dir.entry(directory(record)).or_default().push(record);
    }
    // All files are read before one is written.
    let mut files = Vec::new();
    for (dir, records) in by_dir {
        let failed = |e: std::io::Error| {
            CommandError::Failed(format!("{}: cannot be locked: {e}", dir.display()))
        };
        let lock = File::open(&dir).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut file = TagFile::read(&dir).map_err(CommandError::of)?;
        for record in records {
            let changed = file.change(record, &changes, args.note.as_deref());
            changed.map_err(|e| CommandError::Usage(vec![e.to_string()]))?;
        }
        files.push((lock, dir.join(TAG_FILE), file.text()));
    }
    for (_lock, path, text) in &files {
        write_whole(path, text.as_bytes()).map_err(CommandError::Failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a figure over runs of the same work.
pub fn trend_over_runs(args: &TrendArgs) -> CommandResult {
    let what = PointFigure::parse(&args.figure, false)
        .map_err(|why| CommandError::Usage(vec![format!("--figure: {why}")]))?;
    let take = |_: &Path, entry: &Entry, record: &RunRecord| TrendRun::of(what, entry, record);
    let selection = Selection::of(&args.records, take)?;
    let code = selection.code();
    if let Some(why) = selection.nothing(&args.records) {
        // What could not be read is named, and may be what was meant.
        return Err(match selection.is_whole {
            true => CommandError::Usage(vec![why]),
            false => CommandError::Failed(why),
        });
    }
    let newest = selection.runs.last().map(|(entry, _)| entry.record.clone());
    let runs = selection.runs.into_iter().map(|(_, run)| run).collect();
    let trend = trend(what.figure, &args.figure, runs);
    for left_out in &trend.left_out {
        print_stderr_line(format!(
            "{}: left out: {}",
            left_out.record, left_out.reason
        ));
    }
    match args.format {
        TrendFormat::Json => stdout::print_json(&trend_json(&trend)),
        TrendFormat::Csv => stdout::print(&trend_csv(&trend)),
        TrendFormat::Text if trend.points.is_empty() => print_stderr_line("no run has the figure"),
        TrendFormat::Text => stdout::print(&trend_text(&trend)),
    }
    match args.fail_on_change {
        true if !trend.changes.is_empty() => Ok(ExitCode::from(CHANGED)),
        // The newest run is what the check is about.
        true => match trend.points.last().map(|point| &point.record) == newest.as_ref() {
            true => Ok(code),
            false => Err(CommandError::Failed(
                "--fail-on-change: the newest run has no figure that can be compared".into(),
            )),
        },
        false => Ok(code),
    }
}

/// Writes the load points of runs as a table, in the order of their start. A record is read again
/// when its turn comes: on stdout the tables may be larger than the memory.
pub fn export(args: &ExportRunsArgs) -> CommandResult {
    let selection = Selection::of(&args.records, |path, _, _| path.to_owned())?;
    refuse_output(&args.output, &selection.found)?;
    let shape = match args.long {
        true => Shape::Long,
        false => Shape::Wide,
    };
    let to_stdout = args.output.as_os_str() == "-";
    let mut text = match args.format {
        ExportFormat::Csv => head(shape),
        ExportFormat::Jsonl => String::new(),
    };
    for (_, path) in &selection.runs {
        let record = read_record(path).map_err(CommandError::of)?;
        text += &match args.format {
            ExportFormat::Csv => lines(&record, shape),
            ExportFormat::Jsonl => json_lines(&record, shape),
        };
        if to_stdout {
            stdout::print(&std::mem::take(&mut text));
        }
    }
    match to_stdout {
        true => stdout::print(&text),
        false => write_whole(&args.output, text.as_bytes()).map_err(CommandError::Failed)?,
    }
    Ok(selection.code())
}

/// Refuses to write over a record, selected or not, and over a file of tags.
fn refuse_output(output: &Path, found: &[PathBuf]) -> Result<(), CommandError> {
    refuse_inputs(
        output,
        &found.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
    )?;
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    match name == TAG_FILE || name.ends_with(RECORD_ENDING) {
        true => Err(CommandError::Usage(vec![format!(
            "{}: this is the name of a record or of a file of tags; give another name",
            output.display()
        )])),
        false => Ok(()),
    }
}

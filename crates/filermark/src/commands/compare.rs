//! `compare`: two or more run records side by side.

use crate::cli::{CompareArgs, CompareFormat, FailOn};
use crate::globs::expanded;
use crate::refused::refused as refused_file;
use crate::{historical, stdout};
use filermark_archive::kind::RECORDS;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{refuse_inputs, write_whole};
use filermark_model::text::one_line;
use filermark_report::{Templates, comparison_html};
use filermark_results::RunRecord;
use filermark_results::compare::{
    CompareError, Comparison, Group, Options, Overall, compare as side_by_side,
};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A verdict that `--fail-on` names.
const VERDICT: u8 = 3;
/// The most records of a comparison: each is in memory as a whole.
const RECORDS_MAX: usize = 200;
/// Width of a text in a file, in columns.
const WIDTH: usize = 100;

/// Reads the records, compares them, writes the comparison.
pub fn compare(args: &CompareArgs) -> CommandResult {
    let sides = sides(args)?;
    let count: usize = sides.iter().map(Vec::len).sum();
    if count > RECORDS_MAX {
        let sentence = format!("{count} records; compare {RECORDS_MAX} at most");
        return Err(CommandError::Usage(vec![sentence]));
    }
    let beside = historical::read(&args.historical)?;
    if sides.len() < 2 && beside.is_none() {
        let sentence = "one record; name another to compare it with, or show it with historical published results: --historical";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let file = args.historical.iter().flatten();
    let inputs = sides.iter().flatten().chain(file);
    let inputs: Vec<&Path> = inputs.map(PathBuf::as_path).collect();
    refuse_inputs(&args.output, &inputs)?;
    let read = |path: &PathBuf| {
        filermark_results::read_record(path).map_err(|e| refused_file(path, &RECORDS, e))
    };
    let mut records: Vec<Vec<RunRecord>> = Vec::new();
    for side in &sides {
        let side: Result<_, CommandError> = side.iter().map(read).collect();
        records.push(side?);
    }
    let names = match args.base.is_empty() {
        true => names(&sides),
        false => vec!["base".to_owned(), "new".to_owned()],
    };
    let groups: Vec<Group<'_>> = names
        .into_iter()
        .zip(&records)
        .map(|(name, side)| Group {
            name,
            records: side.iter().collect(),
        })
        .collect();
    let options = Options {
        threshold_pcnt: args.threshold,
        spread_pcnt: args.spread,
        force: args.force,
        alone: beside.is_some(),
        keep_all: args.keep_all,
    };
    let mut comparison = side_by_side(&groups, &options).map_err(refused)?;
    comparison.historical = beside;
    for (side, files) in comparison.sides.iter_mut().zip(&sides) {
        for (run, file) in side.runs.iter_mut().zip(files) {
            run.file = Some(one_line(&short_name(file)));
        }
    }
    write(args, &comparison, &groups)?;
    Ok(ExitCode::from(exit_code(&comparison, args.fail_on)))
}

/// The records of each side.
fn sides(args: &CompareArgs) -> Result<Vec<Vec<PathBuf>>, CommandError> {
    let side = |given: &[PathBuf]| -> Result<Vec<PathBuf>, CommandError> {
        let each = given.iter().flat_map(|g| repeats(g));
        let found: Result<Vec<Vec<PathBuf>>, String> = each.map(|path| expanded(&path)).collect();
        let found = found.map_err(|why| CommandError::Usage(vec![why]))?;
        Ok(found.into_iter().flatten().collect())
    };
    match args.base.is_empty() {
        true => args
            .sides
            .iter()
            .map(|s| side(std::slice::from_ref(s)))
            .collect(),
        false => Ok(vec![side(&args.base)?, side(&args.new)?]),
    }
}

/// The name of a record's file without its extension.
fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    name.trim_end_matches(".run.jsonl").to_owned()
}

/// One side of the comparison: a record, or several joined by commas. A file with a comma in
/// its name is one record.
fn repeats(side: &Path) -> Vec<PathBuf> {
    match side.to_str() {
        Some(text) if text.contains(',') && !side.exists() => {
            let names = text.split(',').filter(|name| !name.is_empty());
            names.map(PathBuf::from).collect()
        }
        _ => vec![side.to_owned()],
    }
}

/// The names of the sides: those of their files, if these differ.
fn names(sides: &[Vec<PathBuf>]) -> Vec<String> {
    let short = |path: &PathBuf| short_name(path);
    let long = |path: &PathBuf| path.display().to_string();
    let joined = |name: &dyn Fn(&PathBuf) -> String| -> Vec<String> {
        let side = |s: &Vec<PathBuf>| s.iter().map(name).collect::<Vec<_>>().join(", ");
        sides.iter().map(side).collect()
    };
    let names = joined(&short);
    let different: BTreeSet<&String> = names.iter().collect();
    match different.len() == names.len() {
        true => names,
        false => joined(&long),
    }
}

/// Longer names of sides, which are several files, are not repeated in each line.
const NAME_CHARS_MAX: usize = 40;

fn refused(error: CompareError) -> CommandError {
    let CompareError::OtherWork {
        before,
        after,
        fields,
    } = error
    else {
        return CommandError::Usage(vec![error.to_string()]);
    };
    let mut sentences = vec![format!("{after} did different work than {before}:")];
    let field = |f: &filermark_results::compare::FieldChange| match before
        .chars()
        .count()
        .max(after.chars().count())
        <= NAME_CHARS_MAX
    {
        true => format!(
            "  {}: {} in {before}, {} in {after}",
            f.name, f.before, f.after
        ),
        false => format!("  {}: {} before, {} after", f.name, f.before, f.after),
    };
    sentences.extend(fields.iter().map(field));
    sentences.push(
        "differences would come from the work, not from the server; measure with the same parameters, or compare what can be matched with --force"
            .into(),
    );
    CommandError::Usage(sentences)
}

fn write(
    args: &CompareArgs,
    comparison: &Comparison,
    groups: &[Group<'_>],
) -> Result<(), CommandError> {
    let to_stdout = args.output.as_os_str() == "-";
    let terminal = to_stdout && std::io::stdout().is_terminal();
    let text = match args.format {
        CompareFormat::Text => {
            let colour = terminal && !args.no_color && filermark_cli_kit::output::colour_wanted();
            let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
            let width = columns.filter(|_| to_stdout).unwrap_or(WIDTH);
            let overview = filermark_report::comparison_overview(comparison, colour, width);
            let details = || filermark_report::comparison_text(comparison, colour, width);
            match (&comparison.historical, args.details) {
                (Some(_), _) => details(),
                (None, true) => format!("{overview}\n{}", details()),
                (None, false) => overview,
            }
        }
        CompareFormat::Json => format!("{:#}\n", filermark_report::comparison_json(comparison)),
        CompareFormat::Csv => filermark_report::comparison_csv(comparison),
        CompareFormat::Html => {
            let templates = match &args.templates {
                Some(dir) => Templates::with_dir(dir)
                    .map_err(|e| CommandError::Usage(vec![e.to_string()]))?,
                None => Templates::builtin(),
            };
            comparison_html(comparison, groups, &templates).map_err(CommandError::of)?
        }
    };
    if to_stdout {
        stdout::print(&text);
        return Ok(());
    }
    write_whole(&args.output, text.as_bytes()).map_err(CommandError::Failed)?;
    for against in &comparison.against {
        filermark_cli_kit::stderr_line!("{}: {}", against.name, against.verdict.text());
    }
    filermark_cli_kit::stderr_line!("{}", args.output.display());
    Ok(())
}

fn exit_code(comparison: &Comparison, fail_on: FailOn) -> u8 {
    let named = |verdict: Overall| match fail_on {
        FailOn::Slower => matches!(verdict, Overall::Slower | Overall::Mixed),
        FailOn::Any => matches!(verdict, Overall::Slower | Overall::Mixed | Overall::Faster),
        FailOn::Never => false,
    };
    if comparison.verdicts().any(named) {
        return VERDICT;
    }
    u8::from(
        comparison
            .verdicts()
            .any(|v| v == Overall::NothingToCompare),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_joined_by_commas() {
        let of = |text: &str| repeats(Path::new(text));
        assert_eq!(of("a,b,").len(), 2);
        assert_eq!(of("a").len(), 1);
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a,b.run.jsonl");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(repeats(&odd), [odd]);
    }

    #[test]
    fn sides_are_named_by_what_distinguishes_them() {
        let sides = |a: &str, b: &str| names(&[repeats(Path::new(a)), repeats(Path::new(b))]);
        assert_eq!(sides("x/a.run.jsonl", "y/b.run.jsonl"), ["a", "b"]);
        assert_eq!(sides("x/a.run.jsonl,x/c", "y/b.run.jsonl"), ["a, c", "b"]);
        assert_eq!(
            sides("x/a.run.jsonl", "y/a.run.jsonl"),
            ["x/a.run.jsonl", "y/a.run.jsonl"]
        );
    }
}

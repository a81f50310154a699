//! netmist's command line (manual N, sections 9 and 10): flags and a token file
//! in, a run plan out.
//!
//! A flag sets a parameter if one has the same meaning, so that ranges,
//! messages and the record are those of the rc file.

mod args;
mod clients;
mod flags;
mod page;
mod plan;
mod tokens;
mod touch;

use crate::params;
pub use args::NetmistArgs;
pub use flags::{Effect, FLAGS, Flag};
pub use page::netmist_markdown;
use tokens::parse_known;
pub use tokens::{TokenLine, parse_tokens};

use crate::composite::choose::take_inline;
use crate::definitions::{shipped_registry, take_definitions};
use crate::error::{ConfigError, SourceLocation, quoted};
use crate::plan::build::build;
use crate::reading::{Reading, Reports};
use crate::resolved::Resolved;
use filermark_model::registry::Registry;
use std::path::PathBuf;

/// Resolves netmist's command line into a plan with one load point.
///
/// # Errors
/// Everything that is wrong with it and with the files that it names.
pub fn resolve_netmist(args: &NetmistArgs) -> Result<Resolved, Vec<ConfigError>> {
    let mut reports = Reports::default();
    args.sources.begin_inputs();
    let values = args.values(&mut reports);
    let mut r = Reading {
        values: &values,
        sources: &args.sources,
        reports,
    };
    let before = r.reports.errors.len();
    let registry = registry(&mut r);
    // Where a definition file is wrong, its names are not known.
    let known = (r.reports.errors.len() == before).then_some(&registry);
    let mut netmist = plan::Netmist {
        args,
        registry: &registry,
        lines: token_lines(&mut r, args, known),
    };
    build(&mut netmist, r)
}

/// The workload objects that `-E` prints: those that ship, with the changes of
/// `-I` and of BENCHMARK_FILE.
///
/// # Errors
/// The mistakes in these files.
pub fn netmist_registry(args: &NetmistArgs) -> Result<Registry, Vec<ConfigError>> {
    let mut reports = Reports::default();
    let values = args.values(&mut reports);
    let mut r = Reading {
        values: &values,
        sources: &args.sources,
        reports,
    };
    let registry = registry(&mut r);
    match r.reports.errors.is_empty() {
        true => Ok(registry),
        false => Err(r.reports.errors),
    }
}

fn registry(r: &mut Reading<'_>) -> Registry {
    let (values, sources) = (r.values, r.sources);
    let mut registry = shipped_registry();
    let work_dir = PathBuf::from(values.get(&params::WORK_DIR));
    let folders = [sources.folder(), &work_dir];
    for parameter in [&params::BENCHMARK_FILE, &params::WORKLOAD_FILE] {
        let Some(file) = values.get(parameter) else {
            continue;
        };
        match sources.read_beside(parameter.name, &file, &folders) {
            Ok((path, text)) => {
                let taken = take_definitions(&mut registry, &path, &text);
                r.reports.errors.extend(taken.err().unwrap_or_default());
            }
            Err(why) => r.refuse(
                parameter,
                format!("the file {} {why}", quoted(&file)),
                "give its path from here or from /",
            ),
        }
    }
    if let Some(line) = values.get(&params::WORKLOAD) {
        take_inline(r, &line, &mut registry, elsewhere);
    }
    registry
}

/// Where netmist has what a setting of a workload on one line says.
fn elsewhere(setting: &str) -> Option<&'static str> {
    match setting {
        "procs" => Some("the token file has the procs: a line for each, or Instances=N"),
        "rate" => Some("give the rate of all procs with -O, or Oprate= in the token file"),
        "dirs" => Some("give directories per proc with -T"),
        "files" => Some("give files per directory with -Q"),
        "file_size" => Some("give the size of files with -o FILE_SIZE="),
        _ => None,
    }
}

fn token_lines(
    r: &mut Reading<'_>,
    args: &NetmistArgs,
    registry: Option<&Registry>,
) -> Option<Vec<TokenLine>> {
    let sources = r.sources;
    let Some(file) = args.value('g') else {
        r.reports.refuse(
            SourceLocation::Option("netmist".into()),
            "-g is not given",
            "name a token file with lines: Clientname=localhost Workdir=/mnt/test Workload=METADATA",
        );
        return None;
    };
    let (path, text) = sources
        .read_beside("-g", file, &[sources.folder()])
        .map_err(|why| {
            r.reports.refuse(
                SourceLocation::Option("-g".into()),
                format!("the token file {} {why}", quoted(file)),
                "give its path from here or from /",
            );
        })
        .ok()?;
    let unknown = |name: &str| Some(registry?.workload(name).err()?.to_string());
    parse_known(&path, &text, &unknown)
        .map_err(|found| r.reports.errors.extend(found))
        .ok()
}

/// The errors for words that belong to no flag: mostly dashes that a word
/// processor has made of the one that was typed.
pub fn unexpected_args(words: &[String]) -> Vec<ConfigError> {
    let dash = |c: char| "\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}".contains(c);
    let mut errors = Vec::new();
    for word in words {
        let rest = word.trim_start_matches(dash);
        if rest.len() < word.len() {
            errors.push(ConfigError::new(
                SourceLocation::Option("netmist".into()),
                format!("'{}' begins with a typographical dash", quoted(word)),
                format!("type -{}", quoted(rest)),
            ));
        }
    }
    if let (true, Some(word)) = (errors.is_empty(), words.first()) {
        errors.push(ConfigError::new(
            SourceLocation::Option("netmist".into()),
            format!("'{}' belongs to no flag", quoted(word)),
            "'filermark netmist -h' lists the flags",
        ));
    }
    errors
}

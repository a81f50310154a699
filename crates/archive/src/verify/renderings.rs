//! Renders the files of a record again and compares them.

use super::types::{CheckStatus, EARLIER_MAX, Run, Verification};
use crate::bundle::{Bundle, Member};
use filermark_model::text::quoted;
use filermark_results::files::{
    logs_so_far, proc_log_dir, proc_log_files, renderings, without_notice,
};
use filermark_results::output::OutputTable;
use filermark_results::{Curve, CurvePoint, RunRecord, parse_sfssum};
use std::collections::BTreeSet;

/// Returns the names of the files that were checked.
pub(super) fn check(
    bundle: &Bundle,
    runs: &[Run<'_>],
    table: OutputTable<'_>,
    verification: &mut Verification,
) -> Vec<String> {
    let mut checked = Vec::new();
    for run in runs {
        // The folder of the record in the archive.
        let folder = run
            .name
            .rsplit_once('/')
            .map_or(String::new(), |(f, _)| format!("{f}/"));
        let made = match renderings(&run.record, table) {
            Ok(made) => made,
            Err(e) => {
                verification.push(CheckStatus::Fail, run.name, e.to_string());
                continue;
            }
        };
        for file in made {
            let name = format!("{folder}{}", file.name);
            match bundle.get(&name) {
                Some(member) => compare(run, &name, member, &file.text, table, verification),
                None => verification.push(CheckStatus::Skip, &name, "missing"),
            }
            checked.push(name);
        }
        checked.extend(proc_logs(bundle, run, &folder, verification));
    }
    checked
}

fn compare(
    run: &Run<'_>,
    name: &str,
    member: &Member,
    made: &str,
    table: OutputTable<'_>,
    verification: &mut Verification,
) {
    if member.bytes == made.as_bytes() {
        return verification.push(CheckStatus::Ok, name, format!("as {} makes it", run.name));
    }
    if let Some(then) = run
        .earlier
        .iter()
        .find(|then| makes(then, table, name, member))
    {
        return verification.push(CheckStatus::Ok, name, run.describe_earlier(then));
    }
    if let Some((state, words)) = checked_until(run, name, member) {
        return verification.push(state, name, words);
    }
    let version = &run.record.run.version;
    if version == env!("CARGO_PKG_VERSION") {
        let text = format!("not as {} makes it: {}", run.name, difference(member, made));
        return verification.push(CheckStatus::Fail, name, text);
    }
    let found = member.text().and_then(|text| parse_sfssum(text).ok());
    let (Some(found), Ok(made)) = (found, parse_sfssum(made)) else {
        let text = format!("not checked: written by version {version}, whose format may differ");
        return verification.push(CheckStatus::Skip, name, text);
    };
    let faults = figure_differences(&found.curve, &made.curve);
    verification.conclude(
        name,
        format!("has the figures that {} makes", run.name),
        faults,
    );
}

/// The ends of load points up to which the logs of a cut run may be complete, the last one
/// first; `None`: no load point is complete in them. Later lines were written during the run
/// and cannot be made again.
fn settled<'a>(run: &'a Run<'_>) -> Vec<Option<&'a RunRecord>> {
    if run.record.end.is_some() {
        return Vec::new();
    }
    let mut ends: Vec<_> = run.earlier.iter().map(Some).collect();
    if ends.len() < EARLIER_MAX {
        ends.push(None);
    }
    ends
}

/// The text for logs that are correct up to this end of a load point.
fn not_checked(then: Option<&RunRecord>) -> String {
    match then.and_then(|then| then.points.last()) {
        Some(point) => format!(
            "as the record makes it until load point {} had ended; what follows is not checked: the run was cut while it was written",
            point.load.number
        ),
        None => "not checked: the run was cut while it was written, before a load point had ended"
            .into(),
    }
}

/// Checks the log of a cut run as far as possible. `None`: it is not such a log, or its
/// beginning is not as the record makes it.
fn checked_until(run: &Run<'_>, name: &str, member: &Member) -> Option<(CheckStatus, String)> {
    let base = name.rsplit('/').next().unwrap_or(name);
    settled(run).into_iter().find_map(|then| {
        let logs = logs_so_far(then.unwrap_or(&run.record)).unwrap_or_default();
        let (_, text) = logs.into_iter().find(|(log, _)| log == base)?;
        match then {
            Some(then) if member.bytes == text.as_bytes() => {
                Some((CheckStatus::Ok, run.describe_earlier(then)))
            }
            Some(_) if !member.bytes.starts_with(text.as_bytes()) => None,
            then => Some((CheckStatus::Skip, not_checked(then))),
        }
    })
}

/// Whether a record makes this file with this name.
fn makes(record: &RunRecord, table: OutputTable<'_>, name: &str, member: &Member) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let made = renderings(record, table).unwrap_or_default();
    let mut made = made.iter();
    made.any(|file| file.name == base && file.text.as_bytes() == member.bytes)
}

/// Load points whose figures differ between a summary and the record.
fn figure_differences(found: &Curve, made: &Curve) -> Vec<String> {
    if found.points.len() != made.points.len() {
        let (found, made) = (found.points.len(), made.points.len());
        return vec![format!("{found} load points, but the record has {made}")];
    }
    let plain = |point: &CurvePoint| CurvePoint {
        reason: String::new(),
        ..point.clone()
    };
    let pairs = found.points.iter().zip(&made.points);
    pairs
        .filter(|(found, made)| plain(found) != plain(made))
        .map(|(found, _)| {
            format!(
                "the load point {} is not as the record makes it",
                found.load
            )
        })
        .collect()
}

/// The first line that differs.
pub(super) fn difference(member: &Member, made: &str) -> String {
    let Some(found) = member.text() else {
        return "it is not UTF-8".into();
    };
    let quote = |line: Option<&str>| match line {
        Some(line) => format!("\"{}\"", quoted(line.trim())),
        None => "nothing".to_owned(),
    };
    let (mut found, mut made) = (found.split('\n'), made.split('\n'));
    for number in 1.. {
        let (one, other) = (found.next(), made.next());
        if one != other {
            let (one, other) = (quote(one), quote(other));
            return match one == other {
                true => format!("line {number} differs"),
                false => format!("line {number} has {one}, but the record makes {other}"),
            };
        }
        if one.is_none() {
            break;
        }
    }
    "its line ends differ".into()
}

fn proc_logs(
    bundle: &Bundle,
    run: &Run<'_>,
    folder: &str,
    verification: &mut Verification,
) -> Vec<String> {
    let dir = format!("{folder}{}", proc_log_dir(&run.record.run.suffix));
    let prefix = format!("{dir}/");
    let there: BTreeSet<&str> = bundle
        .members()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(&prefix))
        .collect();
    let checked: Vec<String> = there.iter().map(|name| (*name).to_owned()).collect();
    if there.is_empty() {
        return checked;
    }
    let is_own = run.record.run.version == env!("CARGO_PKG_VERSION");
    if !is_own {
        let text = "not checked: written by another version, whose format may differ";
        verification.push(CheckStatus::Skip, dir, text);
        return checked;
    }
    let faults_of = |record: &RunRecord, extent: LogScope| {
        proc_log_faults(bundle, record, (&prefix, &there), extent)
    };
    let faults = faults_of(&run.record, LogScope::Whole);
    if faults.is_empty() {
        let count = there.len();
        verification.push(
            CheckStatus::Ok,
            &dir,
            format!("{count} logs as {} makes them", run.name),
        );
        return checked;
    }
    let is_as_earlier = |then: &&RunRecord| faults_of(then, LogScope::Whole).is_empty();
    if let Some(then) = run.earlier.iter().find(is_as_earlier) {
        verification.push(CheckStatus::Ok, &dir, run.describe_earlier(then));
        return checked;
    }
    let until = settled(run).into_iter().find(|then| {
        match then {
            Some(then) => faults_of(then, LogScope::Begin),
            None => faults_of(&run.record, LogScope::Names),
        }
        .is_empty()
    });
    match until {
        Some(then) => verification.push(CheckStatus::Skip, &dir, not_checked(then)),
        None => {
            let last = run.earlier.first();
            let faults = last.map_or(faults, |then| faults_of(then, LogScope::Begin));
            verification.conclude(&dir, String::new(), faults);
        }
    }
    checked
}

/// How much of the procs' logs is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogScope {
    /// All of it.
    Whole,
    /// The part that the record makes; the log may continue after it.
    Begin,
    /// Only their names; any of them may be missing.
    Names,
}

/// Differences between the procs' logs in the archive and those that a record makes.
fn proc_log_faults(
    bundle: &Bundle,
    record: &RunRecord,
    (prefix, there): (&str, &BTreeSet<&str>),
    extent: LogScope,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rest = there.clone();
    for (name, text) in proc_log_files(record).into_iter().flatten() {
        let name = format!("{prefix}{name}");
        rest.remove(name.as_str());
        let is_begin = |member: &Member| member.bytes.starts_with(without_notice(&text).as_bytes());
        match bundle.get(&name) {
            _ if extent == LogScope::Names => {}
            Some(member) if member.bytes == text.as_bytes() => {}
            Some(member) if extent == LogScope::Begin && is_begin(member) => {}
            Some(member) => faults.push(format!("{name}: {}", difference(member, &text))),
            None => faults.push(format!("{name} is missing")),
        }
    }
    let strays = rest.iter();
    faults.extend(strays.map(|name| format!("{name} is not a log of this run")));
    faults
}

//! Files that are rendered from a record, rendered again.

use super::{Run, State, Verification};
use crate::bundle::{Bundle, Member};
use filermark_results::files::{
    logs_so_far, proc_log_dir, proc_log_files, renderings, without_notice,
};
use filermark_results::{Curve, CurvePoint, RunRecord, parse_sfssum};
use std::collections::BTreeSet;

/// Most of a line that a message quotes, in characters.
const QUOTE_MAX: usize = 60;

/// Gives the names that were looked at.
pub(super) fn check(bundle: &Bundle, runs: &[Run<'_>], told: &mut Verification) -> Vec<String> {
    let mut checked = Vec::new();
    for run in runs {
        // Beside its record, wherever in the archive that lies.
        let folder = run
            .name
            .rsplit_once('/')
            .map_or(String::new(), |(f, _)| format!("{f}/"));
        let made = match renderings(&run.record) {
            Ok(made) => made,
            Err(e) => {
                told.push(State::Fail, run.name, e.to_string());
                continue;
            }
        };
        for (name, text) in made {
            let name = format!("{folder}{name}");
            match bundle.get(&name) {
                Some(member) => compare(run, &name, member, &text, told),
                None => told.push(State::Skip, &name, "not there"),
            }
            checked.push(name);
        }
        checked.extend(proc_logs(bundle, run, &folder, told));
    }
    checked
}

fn compare(run: &Run<'_>, name: &str, member: &Member, made: &str, told: &mut Verification) {
    if member.bytes == made.as_bytes() {
        return told.push(State::Ok, name, format!("as {} makes it", run.name));
    }
    if let Some(then) = run.earlier.iter().find(|then| makes(then, name, member)) {
        return told.push(State::Ok, name, run.made_it(then));
    }
    if grew(run, name, member) {
        return told.push(State::Skip, name, GREW);
    }
    let version = &run.record.run.version;
    if version == env!("CARGO_PKG_VERSION") {
        let text = format!("not as {} makes it: {}", run.name, difference(member, made));
        return told.push(State::Fail, name, text);
    }
    let said = member.text().and_then(|text| parse_sfssum(text).ok());
    let (Some(said), Ok(made)) = (said, parse_sfssum(made)) else {
        let text = format!("written by version {version}, which may have said it otherwise");
        return told.push(State::Skip, name, text);
    };
    let faults = figures_apart(&said.curve, &made.curve);
    told.conclude(
        name,
        format!("has the figures that {} makes", run.name),
        faults,
    );
}

/// What is said of a log that goes on behind what can be looked at.
const GREW: &str = "its run was cut while it was written; it begins as the record makes it";

/// Whether a log of a run that was cut begins as the record made it when its last load
/// point had ended.
fn grew(run: &Run<'_>, name: &str, member: &Member) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let then = run.earlier.last().unwrap_or(&run.record);
    let logs = logs_so_far(then).unwrap_or_default();
    let mut logs = logs.iter().filter(|_| run.record.end.is_none());
    logs.any(|(log, text)| {
        // Without a load point nothing was settled.
        let settled = if then.points.is_empty() { "" } else { text };
        log == base && member.bytes.starts_with(settled.as_bytes())
    })
}

/// Whether a file of this name is as a record makes it.
fn makes(record: &RunRecord, name: &str, member: &Member) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let made = renderings(record).unwrap_or_default();
    let mut made = made.iter();
    made.any(|(own, text)| own == base && text.as_bytes() == member.bytes)
}

/// Load points of two summaries that do not say the same.
fn figures_apart(said: &Curve, made: &Curve) -> Vec<String> {
    if said.points.len() != made.points.len() {
        let (said, made) = (said.points.len(), made.points.len());
        return vec![format!("{said} load points, where the record has {made}")];
    }
    let plain = |point: &CurvePoint| CurvePoint {
        reason: String::new(),
        ..point.clone()
    };
    let pairs = said.points.iter().zip(&made.points);
    pairs
        .filter(|(said, made)| plain(said) != plain(made))
        .map(|(said, _)| format!("the load point {} is not as the record makes it", said.load))
        .collect()
}

/// The first line that is another.
pub(super) fn difference(member: &Member, made: &str) -> String {
    let Some(said) = member.text() else {
        return "it is not UTF-8".into();
    };
    let quote = |line: Option<&str>| match line {
        Some(line) => format!(
            "\"{}\"",
            line.trim().chars().take(QUOTE_MAX).collect::<String>()
        ),
        None => "nothing".to_owned(),
    };
    let (mut said, mut made) = (said.split('\n'), made.split('\n'));
    for number in 1.. {
        let (one, other) = (said.next(), made.next());
        if one != other {
            let (one, other) = (quote(one), quote(other));
            return match one == other {
                true => format!("line {number} differs"),
                false => format!("line {number} has {one}, and the record makes {other}"),
            };
        }
        if one.is_none() {
            break;
        }
    }
    "its lines end otherwise".into()
}

fn proc_logs(bundle: &Bundle, run: &Run<'_>, folder: &str, told: &mut Verification) -> Vec<String> {
    let dir = format!("{folder}{}", proc_log_dir(&run.record.run.suffix));
    let front = format!("{dir}/");
    let there: BTreeSet<&str> = bundle
        .members()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(&front))
        .collect();
    let checked: Vec<String> = there.iter().map(|name| (*name).to_owned()).collect();
    if there.is_empty() {
        return checked;
    }
    let is_own = run.record.run.version == env!("CARGO_PKG_VERSION");
    if !is_own {
        let text = "written by another version, which may have said it otherwise";
        told.push(State::Skip, dir, text);
        return checked;
    }
    let whole = |record: &RunRecord| proc_log_faults(bundle, record, &front, &there, false);
    let faults = whole(&run.record);
    let then = run.earlier.iter().find(|then| whole(then).is_empty());
    let last = run.earlier.last().unwrap_or(&run.record);
    let grew = || proc_log_faults(bundle, last, &front, &there, true).is_empty();
    match then {
        Some(then) if !faults.is_empty() => told.push(State::Ok, &dir, run.made_it(then)),
        None if !faults.is_empty() && run.record.end.is_none() && grew() => {
            told.push(State::Skip, &dir, GREW);
        }
        _ => {
            let count = there.len();
            let good = format!("{count} logs as {} makes them", run.name);
            told.conclude(&dir, good, faults);
        }
    }
    checked
}

/// What is not as a record makes it of the logs that are there; logs that `grow` may go on,
/// and those that have nothing yet are not there.
fn proc_log_faults(
    bundle: &Bundle,
    record: &RunRecord,
    front: &str,
    there: &BTreeSet<&str>,
    grow: bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rest = there.clone();
    for (name, text) in proc_log_files(record).into_iter().flatten() {
        let name = format!("{front}{name}");
        rest.remove(name.as_str());
        match bundle.get(&name) {
            Some(member) if member.bytes == text.as_bytes() => {}
            Some(member) if grow && member.bytes.starts_with(without_notice(&text).as_bytes()) => {}
            None if grow => {}
            Some(member) => faults.push(format!("{name}: {}", difference(member, &text))),
            None => faults.push(format!("{name} is not there")),
        }
    }
    let strays = rest.iter();
    faults.extend(strays.map(|name| format!("{name} is no log of this run")));
    faults
}

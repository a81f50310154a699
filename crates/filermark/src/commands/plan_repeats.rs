//! `plan --power`: how many repeats a wanted sensitivity of `compare` takes.

use crate::cli::PowerArgs;
use crate::globs::expanded;
use crate::refused::refused;
use crate::stdout;
use filermark_archive::kind::RECORDS;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_results::compare::deviation::{REPEATS_MIN, deviation_pcnt};
use filermark_results::compare::sensitivity::{REPEATS_MAX, RepeatPlan};
use filermark_results::compare::{Group, SPREAD_PCNT, THRESHOLD_PCNT};
use std::path::PathBuf;
use std::process::ExitCode;

/// The most records that are read.
const RECORDS_MAX: usize = 100;
/// The least deviation that is planned with: repeats that are more alike are so by chance.
const DEVIATION_MIN_PCNT: f64 = 0.1;

/// Prints the repeats, as text or JSON.
pub fn plan_repeats(change_pcnt: f64, args: &PowerArgs, json: bool) -> CommandResult {
    let (deviation, source) = match args.from.is_empty() {
        true => match args.deviation {
            Some(given) => (given, "given"),
            None => (SPREAD_PCNT, "assumed; --deviation or --from"),
        },
        false => (measured(&args.from)?, "measured"),
    };
    let deviation = deviation.max(DEVIATION_MIN_PCNT);
    let Some(plan) = RepeatPlan::new(change_pcnt, deviation, THRESHOLD_PCNT) else {
        return usage(format!(
            "a change of {change_pcnt} % takes more than {REPEATS_MAX} repeats on each side at a deviation of {deviation:.2} % between runs; make the runs more alike (a longer RUNTIME, a quiet server), or detect a larger change"
        ));
    };
    match json {
        true => stdout::print_json(&serde_json::to_value(plan).unwrap_or_default()),
        false => stdout::print(&text(&plan, source)),
    }
    Ok(ExitCode::SUCCESS)
}

fn usage<T>(sentence: String) -> Result<T, CommandError> {
    Err(CommandError::Usage(vec![sentence]))
}

/// The deviation that records show.
fn measured(from: &[PathBuf]) -> Result<f64, CommandError> {
    let found: Result<Vec<_>, String> = from.iter().map(|given| expanded(given)).collect();
    let files: Vec<PathBuf> = match found {
        Ok(found) => found.into_iter().flatten().collect(),
        Err(why) => return usage(why),
    };
    if files.len() > RECORDS_MAX {
        return usage(format!(
            "--from: {} records; give {RECORDS_MAX} at most",
            files.len()
        ));
    }
    let read = |path: &PathBuf| {
        filermark_results::read_record(path).map_err(|e| refused(path, &RECORDS, e))
    };
    let records: Result<Vec<_>, CommandError> = files.iter().map(read).collect();
    let records = records?;
    let group = Group {
        name: "--from".into(),
        records: records.iter().collect(),
    };
    match deviation_pcnt(&group) {
        Ok(Some(pcnt)) => Ok(pcnt),
        Ok(None) => usage(format!(
            "--from: {} records without a load point that {REPEATS_MIN} or more of them measured; give {REPEATS_MIN} repeats of a run at least",
            records.len()
        )),
        Err(why) => usage(format!("--from: {why}")),
    }
}

fn text(plan: &RepeatPlan, source: &str) -> String {
    let mut options = String::new();
    if plan.threshold_pcnt < THRESHOLD_PCNT {
        options += &format!(" --threshold {}", plan.threshold_pcnt);
    }
    if (plan.deviation_pcnt - SPREAD_PCNT).abs() > 1e-9 {
        options += &format!(" --spread {:.2}", plan.deviation_pcnt);
    }
    format!(
        "repeats    {} on each side detect a change of {} % in {} of 100 cases\n\
         deviation  {:.2} % between runs ({source})\n\
         compare    filermark compare --base GLOB --new GLOB{options}\n",
        plan.repeats, plan.change_pcnt, plan.power_pcnt, plan.deviation_pcnt
    )
}

//! Gates: whether a result meets the conditions of the command line.

use crate::cli::{FailOnResult, GateArgs};
use crate::refused::refused as refused_file;
use filermark_archive::kind::RECORDS;
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::{refuse_inputs, write_whole};
use filermark_cli_kit::view::print_stderr_line;
use filermark_history::RECORD_ENDING;
use filermark_model::plan::RunPlan;
use filermark_report::{Gate, junit};
use filermark_results::RunRecord;
use filermark_results::assertion::check;
use filermark_results::compare::deviation::other_work;
use filermark_results::compare::{CompareError, FieldChange, Group, Options, Overall, compare};
use std::path::Path;

/// Removes an older JUnit file.
fn clear_junit(junit: &Path, inputs: &[&Path]) -> Result<(), CommandError> {
    refuse_inputs(junit, inputs)?;
    let place = junit.display();
    if junit.to_string_lossy().ends_with(RECORD_ENDING) {
        let why = format!("--junit: {place}: this is the name of a record; give another name");
        return Err(CommandError::Usage(vec![why]));
    }
    match junit.is_file().then(|| std::fs::remove_file(junit)) {
        Some(Err(e)) => Err(CommandError::Failed(format!(
            "--junit: {place}: the older file cannot be removed: {e}"
        ))),
        _ => Ok(()),
    }
}

/// A gate has failed.
pub const FAILED: u8 = 3;
/// The smallest regression that counts where none is given, in percent.
const REGRESSION_PCNT: f64 = 5.0;

/// Gates that are ready to be checked: the baseline has been read.
#[derive(Debug)]
pub struct Gates<'a> {
    args: &'a GateArgs,
    baseline: Option<RunRecord>,
}

impl<'a> Gates<'a> {
    /// Reads the baseline, and removes an older JUnit file, which would be taken for that of this
    /// run if it fails early. `inputs`: files that are read.
    ///
    /// # Errors
    /// It cannot be read, the directory of the JUnit file does not exist, or it would be written
    /// over an input or a record.
    pub fn open(args: &'a GateArgs, inputs: &[&Path]) -> Result<Self, CommandError> {
        let read = |path| {
            filermark_results::read_record(path).map_err(|e| refused_file(path, &RECORDS, e))
        };
        let baseline = args.baseline.as_deref().map(read).transpose()?;
        // After a long run it would be too late to find that there is no such directory.
        let folder = args.junit.as_deref().and_then(Path::parent);
        if let Some(folder) = folder.filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
            return Err(CommandError::Usage(vec![format!(
                "--junit: {}: there is no such directory; make it first",
                folder.display()
            )]));
        }
        if let Some(junit) = &args.junit {
            let inputs = inputs.iter().copied().chain(args.baseline.as_deref());
            clear_junit(junit, &inputs.collect::<Vec<_>>())?;
        }
        Ok(Self { args, baseline })
    }

    /// Refuses a run whose plan is other work than the baseline, before anything is made.
    ///
    /// # Errors
    /// The plans differ in more than places.
    pub fn refuse_other_work(&self, plan: &RunPlan) -> Result<(), CommandError> {
        let fields = self.baseline.as_ref().and_then(|b| other_work(b, plan));
        match fields {
            None => Ok(()),
            Some(fields) => Err(CommandError::Usage(vec![format!(
                "--baseline: {}; nothing was measured; use the parameters of the baseline, or another baseline",
                different(&fields)
            )])),
        }
    }

    /// Checks a run, prints what failed on stderr and writes the JUnit file. Returns the exit
    /// code: `code`, or [`FAILED`] where a run that is complete fails.
    ///
    /// # Errors
    /// The file cannot be written, or the baseline did different work.
    pub fn judge(&self, record: &RunRecord, code: u8) -> Result<u8, CommandError> {
        let (gates, refused) = self.check(record);
        for gate in &gates {
            if let Some(why) = gate
                .failure
                .as_ref()
                .filter(|why| Some(*why) != refused.as_ref())
            {
                print_stderr_line(format!("gate failed: {}: {why}", gate.name));
            }
        }
        if let Some(path) = &self.args.junit {
            let text = junit(record, &gates);
            write_whole(path, text.as_bytes()).map_err(CommandError::Failed)?;
        }
        if let Some(why) = refused {
            return Err(CommandError::Usage(vec![format!("--baseline: {why}")]));
        }
        let has_failed = gates.iter().any(|gate| gate.failure.is_some());
        // Failures of the run itself and signals keep their codes.
        let is_complete = code == 0 || code == filermark_cli_kit::exit::NOTHING_COUNTS;
        Ok(match has_failed && is_complete {
            true => FAILED,
            false => code,
        })
    }

    /// The gates, and why the baseline cannot be compared.
    fn check(&self, record: &RunRecord) -> (Vec<Gate>, Option<String>) {
        let fail_on = self.args.fail_on.iter().map(|what| Gate {
            name: format!("fail-on {}", what.word()),
            failure: failure_of(*what, record),
        });
        let asserted = self.args.assert.iter().flat_map(|all| check(all, record));
        let asserted = asserted.map(|result| Gate {
            name: format!("assert {}", result.text),
            failure: result.failure,
        });
        let mut gates: Vec<Gate> = fail_on.chain(asserted).collect();
        let mut refused = None;
        if let Some(baseline) = &self.baseline {
            let pcnt = self.args.max_regression.unwrap_or(REGRESSION_PCNT);
            let compared = regression(baseline, record, pcnt);
            gates.push(Gate {
                name: format!("max-regression {pcnt}%"),
                failure: compared.clone().unwrap_or_else(Some),
            });
            refused = compared.err();
        }
        (gates, refused)
    }
}

/// Why `--fail-on` fails.
fn failure_of(what: FailOnResult, record: &RunRecord) -> Option<String> {
    let verdict = record.verdict();
    match what {
        FailOnResult::Invalid => {
            let (valid, planned) = verdict.counts();
            (valid < planned || !verdict.is_valid()).then(|| {
                format!(
                    "{valid} of {planned} load points count; {}",
                    verdict.reasons().join("; ")
                )
            })
        }
        FailOnResult::Cached => verdict.cached_pcnt().map(|pcnt| {
            format!("{pcnt:.0} % of the data that was read came from the client's own memory")
        }),
        FailOnResult::NotStandard => {
            let changed = verdict.not_standard();
            (!changed.is_empty()).then(|| format!("not standard: {}", changed.join(", ")))
        }
    }
}

/// What differs, in a sentence.
fn different(fields: &[FieldChange]) -> String {
    let fields = fields
        .iter()
        .map(|f| format!("{} {}, now {}", f.name, f.before, f.after));
    let fields: Vec<String> = fields.collect();
    format!("it did different work: {}", fields.join("; "))
}

/// Why a run is worse than its baseline; `None`: it is not.
///
/// # Errors
/// It did different work.
fn regression(
    baseline: &RunRecord,
    record: &RunRecord,
    pcnt: f64,
) -> Result<Option<String>, String> {
    let groups = [("baseline", baseline), ("this run", record)].map(|(name, record)| Group {
        name: name.to_owned(),
        records: vec![record],
    });
    let options = Options {
        threshold_pcnt: pcnt,
        ..Options::default()
    };
    let comparison = compare(&groups, &options).map_err(|why| match why {
        CompareError::OtherWork { fields, .. } => different(&fields),
        other => other.to_string(),
    })?;
    Ok(match comparison.against.first() {
        None => Some("nothing was compared".to_owned()),
        Some(against) => match against.verdict {
            Overall::Faster | Overall::NoDifferenceShown => None,
            verdict => Some(format!(
                "{}: {}",
                verdict.text(),
                against.reasons.join("; ")
            )),
        },
    })
}

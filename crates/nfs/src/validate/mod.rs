//! Does a server speak NFSv3 correctly? Small checks, each on its own.
//!
//! A check makes what it needs in a directory of its own below the claimed run
//! directory, which is removed afterwards whatever came out. It fails only where
//! RFC 1813 (or RFC 5531 below it) demands something else; where the RFC leaves
//! the choice, or a server refuses what has to be refused in another way than the
//! RFC names, that is told as a note. Nothing here is measured.

mod bench;
mod checks;

pub use filermark_engine::validation::{CheckResult, Level, Report, Verdict};

use crate::claim::{claim_at, release_at};
use crate::target::Target;
use bench::{Bench, Stop};
use filermark_engine::driver::{Claim, DriverError, Reach, StopFlag};
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_onc::nfs3::{Fh, Procedure};
use std::time::Instant;

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name: "lookup.noent".
    pub id: &'static str,
    /// The procedure that it is about.
    pub procedure: Procedure,
    /// What is right, in a few words.
    pub title: &'static str,
    /// Where that is demanded, if not in the procedure's own section of RFC 1813.
    rule: Option<&'static str>,
    run: fn(&mut Bench<'_>) -> Result<(), Stop>,
}

impl Check {
    const fn new(
        id: &'static str,
        procedure: Procedure,
        title: &'static str,
        run: fn(&mut Bench<'_>) -> Result<(), Stop>,
    ) -> Self {
        Self {
            id,
            procedure,
            title,
            rule: None,
            run,
        }
    }

    const fn by(mut self, rule: &'static str) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Where it is written that the check has to come out well.
    pub fn section(&self) -> String {
        match self.rule {
            Some(rule) => rule.to_owned(),
            None => format!("RFC 1813 section 3.3.{}", self.procedure.to_u32()),
        }
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.title)
    }
}

/// All checks, in the order of the procedures.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    checks::TABLES.iter().copied().flatten()
}

/// Claims the run's directory at `mount`, runs the checks in it and gives it
/// back. Every result goes to `sink` when it is known. A raised `stop` ends it
/// after the present check, with everything removed.
///
/// # Errors
/// The mount point could not be reached or claimed. A check that fails is no
/// error but a part of the report, and so is a directory that cannot be removed.
pub fn validate(
    plan: &NfsPlan,
    mount: &MountPoint,
    claim: &Claim,
    level: Level,
    stop: &StopFlag,
    sink: &mut dyn FnMut(&CheckResult),
) -> Result<Report, DriverError> {
    let target = Target::resolve(mount, plan)?;
    let (claimed, run_dir) = claim_at(plan, &target, claim)?;
    let mut report = Report::new("NFSv3", target.mount.to_string(), target.facts(), level);
    report.foreign = claimed.foreign;
    let mut bench = Bench::new(plan, &target);
    for (number, check) in (1..).zip(checks()) {
        if stop.is_raised() {
            report.cut_short = Some("as wished".to_owned());
            break;
        }
        let result = run_check(&mut bench, check, number, &run_dir);
        sink(&result);
        let failed = result.is_failure();
        report.results.push(result);
        if failed && level == Level::First {
            break;
        }
        if failed && let Some(error) = bench.server_gone() {
            report.cut_short = Some(format!("no server any more since {}: {error}", check.id));
            break;
        }
    }
    match release_at(plan, &target, claim, Reach::All) {
        Ok(released) => {
            let fresh = |name: &String| !report.foreign.contains(name);
            let foreign: Vec<_> = released.foreign.into_iter().filter(fresh).collect();
            report.foreign.extend(foreign);
        }
        // The results are worth having all the same.
        Err(error) => report.left_behind = Some(error.to_string()),
    }
    Ok(report)
}

/// Runs a check in a new directory, and removes that.
fn run_check(bench: &mut Bench<'_>, check: &Check, number: u32, run_dir: &Fh) -> CheckResult {
    let begun = Instant::now();
    let outcome = bench.enter(run_dir, number).and_then(|name| {
        let outcome = (check.run)(bench);
        bench.leave(run_dir, name.as_bytes());
        outcome
    });
    CheckResult {
        id: check.id,
        procedure: check.procedure.name(),
        dialect: None,
        title: check.title,
        verdict: match outcome {
            Ok(()) => Verdict::Pass,
            Err(Stop::Skip(why)) => Verdict::Skipped { why },
            Err(Stop::Fail { expected, got }) => Verdict::Fail {
                expected,
                got,
                section: check.section(),
            },
        },
        notes: bench.take_notes(),
        elapsed: begun.elapsed(),
    }
}

//! Does a server speak NFS correctly, version 2 or 3? Small checks, each on its own.
//!
//! A check makes what it needs in a directory of its own below the claimed run
//! directory, which is removed afterwards whatever came out. It fails only where
//! RFC 1094 or RFC 1813 (or RFC 5531 below them) demands something else; where the RFC
//! leaves the choice, or a server refuses what has to be refused in another way than the
//! RFC names, that is told as a note. Nothing here is measured.

mod bench;
mod check;
mod keeper;
mod listing;
mod version2;
mod version3;
mod wire;

pub use filermark_driver_kit::validation::{CheckResult, Level, Report, Verdict};

use crate::claim::{claim_at, release_at};
use crate::target::Target;
use bench::{Bench, Version};
use check::Check;
use filermark_driver_kit::driver::Reach;
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{MountPoint, NfsPlan, NfsVersion};
use filermark_onc::nfs3::Fh;
use keeper::Keeper;

/// What a check is about, for lists of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFacts {
    /// Its name: "lookup.noent".
    pub id: &'static str,
    /// The procedure that it is about: "LOOKUP".
    pub procedure: &'static str,
    /// What is right, in a few words.
    pub title: &'static str,
    /// Where it is written that the check has to come out well.
    pub section: String,
}

/// All checks of a version, in the order in which they run.
pub fn checks(version: NfsVersion) -> Vec<CheckFacts> {
    fn facts<V: Version>(tables: &[&[Check<V>]]) -> Vec<CheckFacts> {
        let all = tables.iter().copied().flatten();
        all.map(|check| CheckFacts {
            id: check.id,
            procedure: check.procedure_name(),
            title: check.title,
            section: check.section(),
        })
        .collect()
    }
    match version {
        NfsVersion::V2 => facts(version2::TABLES),
        NfsVersion::V3 => facts(version3::TABLES),
    }
}

/// Who runs checks where, and how it is heard of.
struct Run<'a> {
    plan: &'a NfsPlan,
    target: &'a Target,
    run_dir: Fh,
    level: Level,
    stop: &'a StopFlag,
    sink: &'a mut dyn FnMut(&CheckResult),
}

/// Claims the run's directory at `mount`, runs the checks of the plan's version in it and
/// gives it back. Every result goes to `sink` when it is known. A raised `stop` ends it
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
    let target = &Target::resolve(mount, plan)?;
    let (claimed, run_dir) = claim_at(plan, target, claim)?;
    let run = Run {
        plan,
        target,
        run_dir,
        level,
        stop,
        sink,
    };
    let mut report = match plan.version {
        NfsVersion::V2 => run.all(version2::TABLES),
        NfsVersion::V3 => run.all(version3::TABLES),
    };
    report.foreign = claimed.foreign;
    match release_at(plan, target, claim, Reach::All) {
        Ok(released) => {
            let fresh = |name: &String| !report.foreign.contains(name);
            let foreign: Vec<_> = released.foreign.into_iter().filter(fresh).collect();
            report.foreign.extend(foreign);
            let stay = released.not_removed;
            report.left_behind = (!stay.is_empty())
                .then(|| format!("{}: the server did not remove it", stay.join(", ")));
        }
        // The results are worth having all the same.
        Err(error) => report.left_behind = Some(error.to_string()),
    }
    Ok(report)
}

impl Run<'_> {
    fn all<V: Version>(self, tables: &[&[Check<V>]]) -> Report {
        let (plan, target) = (self.plan, self.target);
        let mut report = Report::new(
            V::NAME,
            target.mount.to_string(),
            target.facts(),
            self.level,
        );
        let mut bench = Bench::<V>::new(plan, target);
        let mut keeper = Keeper::new(plan, target, self.run_dir);
        for (number, check) in (1..).zip(tables.iter().copied().flatten()) {
            if self.stop.is_raised() {
                report.cut_short = Some("as wished".to_owned());
                break;
            }
            let result = check.run(&mut bench, &mut keeper, number);
            (self.sink)(&result);
            let failed = result.is_failure();
            report.results.push(result);
            if failed && self.level == Level::First {
                break;
            }
            if failed && let Some(error) = bench.server_gone() {
                report.cut_short = Some(format!("no server any more since {}: {error}", check.id));
                break;
            }
        }
        report
    }
}

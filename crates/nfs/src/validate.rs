//! Checks whether a server implements NFS version 2, 3, 4.0, 4.1 or 4.2 correctly. Checks are small and independent.
//!
//! A check makes what it needs in a directory of its own below the claimed run
//! directory, which is removed afterwards whatever the result. It fails only where
//! RFC 1094, RFC 1813, RFC 7530, RFC 8881 or RFC 7862 (or RFC 5531 below them) demands something else; where the RFC
//! leaves the choice, or a server refuses what has to be refused in another way than the
//! RFC names, that is a note. Nothing here is measured.

mod bench;
mod dir_cleaner;
mod listing;
mod shared;
mod text;
mod version2;
mod version3;
mod version41;
mod wire;

pub use filermark_driver_kit::validation::{CheckResult, Level, Report, Verdict};

use crate::claim::MountedExport;
use crate::client::AnyFh;
use crate::target::Target;
use bench::{Bench, Of, Version};
use filermark_driver_kit::checks::{Check, Course};
use filermark_driver_kit::claim::lease::SystemWatch;
use filermark_driver_kit::driver::ReleaseScope;
use filermark_driver_kit::run_dirs::{claim_in, release_in};
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{MinorVersion, MountPoint, NfsPlan, NfsVersion};

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
    fn facts<V: Version>(tables: &[&[Check<Of<V>>]], dialect: V::Dialect) -> Vec<CheckFacts> {
        let all = tables.iter().copied().flatten();
        let all = all.filter(|check| check.is_for(dialect));
        all.map(|check| CheckFacts {
            id: check.id,
            procedure: check.about_name(),
            title: check.title,
            section: check.section(dialect),
        })
        .collect()
    }
    let of_version4 = |minor| facts(&version41::tables(minor), minor);
    match version {
        NfsVersion::V2 => facts(version2::TABLES, ()),
        NfsVersion::V3 => facts(version3::TABLES, ()),
        NfsVersion::V40 => of_version4(MinorVersion::V0),
        NfsVersion::V41 => of_version4(MinorVersion::V1),
        NfsVersion::V42 => of_version4(MinorVersion::V2),
    }
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
    let name = match plan.version {
        NfsVersion::V2 => version2::V2::NAME,
        NfsVersion::V3 => version3::V3::NAME,
        NfsVersion::V41 => version41::V41::NAME,
        NfsVersion::V42 => "NFSv4.2",
        NfsVersion::V40 => "NFSv4.0",
    };
    let mut export = MountedExport::mount(plan, mount)?;
    let (claimed, run_dir) = claim_in(&mut export, claim, false, &SystemWatch)?;
    let target = &*export.target.clone();
    let mut report = Report::new(name, target.mount.to_string(), target.facts(), level);
    report.not_ours = claimed.not_ours;
    let mut course = Course::new(report, stop, sink);
    match plan.version {
        NfsVersion::V2 => run(&mut course, version2::TABLES, (), plan, target, run_dir),
        NfsVersion::V3 => run(&mut course, version3::TABLES, (), plan, target, run_dir),
        NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => {
            let minor = plan.version.minor_version().unwrap_or_default();
            let tables = version41::tables(minor);
            run(&mut course, &tables, minor, plan, target, run_dir);
        }
    }
    let released = release_in(&mut export, claim, ReleaseScope::All, &SystemWatch);
    Ok(course.end(released))
}

fn run<V: Version>(
    course: &mut Course<'_>,
    tables: &[&'static [Check<Of<V>>]],
    dialect: V::Dialect,
    plan: &NfsPlan,
    target: &Target,
    run_dir: AnyFh,
) {
    let mut bench = Bench::<V>::new(plan, target, run_dir);
    course.run(tables.iter().copied().flatten(), dialect, &mut bench);
}

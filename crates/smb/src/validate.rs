//! Does a server speak SMB correctly? Small checks, each on its own, by every dialect of
//! the plan's range.
//!
//! A check makes what it needs in a directory of its own below the claimed run directory,
//! which is removed afterwards whatever came out. It fails only where the specification
//! (MS-CIFS and MS-SMB for SMB1, MS-SMB2, MS-FSA below them) demands something else; where
//! it leaves a choice, or servers commonly depart from it without harm, that is a note.
//! Nothing here is measured.

mod bench;
mod checks;
mod session;
mod suite;
mod visit;

pub use filermark_driver_kit::validation::{CheckResult, Level, Report, Verdict};
pub use suite::{Check, Smb};

use crate::claim::ShareSession;
use crate::client::{ConnectError, dialects_offered, names_of};
use crate::login::LoginRefusals;
use crate::target::Target;
use bench::{Bench, text_of};
use filermark_driver_kit::checks::{Course as Checks, Stop};
use filermark_driver_kit::claim::lease::SystemWatch;
use filermark_driver_kit::driver::ReleaseScope;
use filermark_driver_kit::run_dirs::{claim_in, release_in, stays};
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::Dialect;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Instant;

/// All checks, in the order of the operations.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    std::iter::once(&SESSION).chain(checks::TABLES.iter().copied().flatten())
}

/// Claims the run's directory at `mount`, runs the checks in it by one dialect after the
/// other, and gives it back. Every result goes to `sink` when it is known. A raised
/// `stop` ends it after the present check, with everything removed. `refusals` stores
/// afterwards whether the server has refused the user.
///
/// # Errors
/// The mount point could not be reached or claimed. A check that fails is no error but a
/// part of the report, and so is a directory that cannot be removed.
pub fn validate(
    plan: &SmbPlan,
    mount: &MountPoint,
    claim: &Claim,
    level: Level,
    stop: &StopFlag,
    refusals: &LoginRefusals,
    sink: &mut dyn FnMut(&CheckResult),
) -> Result<Report, DriverError> {
    let mut share = ShareSession::connect(plan, mount, refusals)?;
    let (claimed, _) = claim_in(&mut share, claim, false, &SystemWatch)?;
    let (target, address) = (share.target, share.address);
    let mut report = Report::new("SMB", mount.to_string(), claimed.server_facts, level);
    report.not_ours = claimed.not_ours;
    let mut course = ValidationRun {
        plan,
        target: &target,
        address,
        run_dir: target.run_dir(&claim.dir_name),
        offered: dialects_offered(address, plan),
        refusals,
        checks: Checks::new(report, stop, sink),
    };
    let (low, high) = plan.dialects;
    let dialects = Dialect::ALL.into_iter();
    for dialect in dialects.filter(|dialect| (low..=high).contains(dialect)) {
        if !course.checks.goes_on() {
            break;
        }
        course.by(dialect);
    }
    let run_dir = Target::run_dir_text(mount, &claim.dir_name);
    let released = ShareSession::connect(plan, mount, refusals)
        .map_err(|error| stays(error, &run_dir))
        .and_then(|mut share| release_in(&mut share, claim, ReleaseScope::All, &SystemWatch));
    Ok(course.checks.end(released))
}

/// The way through the dialects and their checks.
struct ValidationRun<'a> {
    plan: &'a SmbPlan,
    target: &'a Target,
    address: SocketAddr,
    run_dir: String,
    /// The dialects that the server has.
    offered: Vec<Dialect>,
    refusals: &'a LoginRefusals,
    checks: Checks<'a>,
}

/// The check that there is a session at all: the first one, for the others need one.
const SESSION: Check = Check::new(
    "session.made",
    "SESSION",
    "the server accepts the dialect, the user and the share",
    |_| Ok(()),
)
.by(("MS-SMB 3.3.5", "MS-SMB2 3.3.5.4, 3.3.5.5, 3.3.5.7"));

impl ValidationRun<'_> {
    /// All checks by one dialect.
    fn by(&mut self, dialect: Dialect) {
        let begun = Instant::now();
        let plan = SmbPlan {
            dialects: (dialect, dialect),
            ..self.plan.clone()
        };
        let run_dir = self.run_dir.clone();
        let bench = Bench::new(plan, self.target, self.address, run_dir);
        let outcome = match &bench {
            Ok(_) => Ok(()),
            Err(error) => Err(self.without_session(dialect, error)),
        };
        let result = SESSION.result(dialect, outcome, Vec::new(), begun);
        self.checks.take(result);
        match bench {
            Ok(mut bench) => {
                let facts = bench.session_facts();
                self.checks
                    .report
                    .server_facts
                    .push((dialect.to_string(), facts));
                self.checks.run(checks().skip(1), dialect, &mut bench);
                if bench.lost.is_none() {
                    bench.log_off();
                }
            }
            Err(error) if is_refusal_of_user(&error) => {
                self.refusals.refuse();
                let why = text_of(&error);
                self.checks.report.cut_short = Some(format!(
                    "the login is not tried again, since accounts are locked after a few refusals: {why}"
                ));
            }
            Err(_) => {}
        }
    }

    /// Why there is no session: permitted by the specification, or not.
    fn without_session(&self, dialect: Dialect, error: &ConnectError) -> Stop {
        if !self.offered.contains(&dialect) {
            return Stop::skip(format!(
                "the server does not have it; it offers {}",
                names_of(&self.offered)
            ));
        }
        let why = text_of(error);
        match error {
            ConnectError::Setup(error) if is_lawful(error, dialect) => {
                Stop::skip(format!("no session: {why}"))
            }
            _ => Stop::fail("a session", why),
        }
    }
}

/// Whether the server refuses the user whom it has accepted before.
fn is_refusal_of_user(error: &ConnectError) -> bool {
    match error {
        ConnectError::Setup(SetupError::Refused { step, status }) => {
            step.contains("SESSION_SETUP") && *status != status::ACCESS_DENIED
        }
        _ => false,
    }
}

/// Whether a server may refuse a session by a dialect that it has: where the dialect
/// cannot protect messages as server or plan require.
const fn is_lawful(error: &SetupError, dialect: Dialect) -> bool {
    match error {
        SetupError::Requires(_) | SetupError::Lacking { .. } | SetupError::NoDialect => true,
        SetupError::Refused { status, .. } => {
            *status == status::ACCESS_DENIED && (dialect as u8) < (Dialect::V300 as u8)
        }
        _ => false,
    }
}

//! Does a server speak SMB correctly? Small checks, each on its own, by every dialect of
//! the plan's range.
//!
//! A check makes what it needs in a directory of its own below the claimed run directory,
//! which is removed afterwards whatever came out. It fails only where the specification
//! (MS-CIFS and MS-SMB for SMB1, MS-SMB2, MS-FSA below them) demands something else; where
//! it leaves the choice, or is commonly departed from without harm, that is told as a note.
//! Nothing here is measured.

mod bench;
mod checks;
mod session;
mod visit;

pub use filermark_driver_kit::validation::{CheckResult, Level, Report, Verdict};

use crate::claim;
use crate::client::{Trouble, dialects_offered, names_of};
use crate::login::Refusals;
use crate::target::Target;
use bench::{Bench, Stop};
use filermark_driver_kit::claim::lease::Plain;
use filermark_driver_kit::driver::Reach;
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::Dialect;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::status;
use std::net::SocketAddr;
use std::time::Instant;

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name: "open.missing".
    pub id: &'static str,
    /// The logical operation that it is about: "OPEN".
    pub operation: &'static str,
    /// What is right, in a few words.
    pub title: &'static str,
    /// Where that is demanded: for SMB1, for SMB2.
    rule: (&'static str, &'static str),
    /// The lowest and the highest dialect that it is tried with.
    dialects: (Dialect, Dialect),
    run: fn(&mut Bench<'_>) -> Result<(), Stop>,
}

impl Check {
    const fn new(
        id: &'static str,
        operation: &'static str,
        title: &'static str,
        rule: (&'static str, &'static str),
        run: fn(&mut Bench<'_>) -> Result<(), Stop>,
    ) -> Self {
        Self {
            id,
            operation,
            title,
            rule,
            dialects: (Dialect::Nt1, Dialect::V311),
            run,
        }
    }

    /// Only with these dialects and those above.
    const fn from(mut self, dialect: Dialect) -> Self {
        self.dialects.0 = dialect;
        self
    }

    /// Whether it is tried with a dialect.
    pub fn is_for(&self, dialect: Dialect) -> bool {
        (self.dialects.0..=self.dialects.1).contains(&dialect)
    }

    /// Where it is written that the check has to come out well with a dialect.
    pub const fn section(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Nt1 => self.rule.0,
            _ => self.rule.1,
        }
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.title)
    }
}

/// All checks, in the order of the operations.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    std::iter::once(&SESSION).chain(checks::TABLES.iter().copied().flatten())
}

/// Claims the run's directory at `mount`, runs the checks in it by one dialect after the
/// other, and gives it back. Every result goes to `sink` when it is known. A raised
/// `stop` ends it after the present check, with everything removed. `refusals` tell
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
    refusals: &Refusals,
    sink: &mut dyn FnMut(&CheckResult),
) -> Result<Report, DriverError> {
    let target = Target::of(mount)?;
    let (claimed, address) = claim::claim(plan, mount, claim, refusals, &Plain)?;
    let mut report = Report::new("SMB", mount.to_string(), claimed.server_facts, level);
    report.foreign = claimed.foreign;
    let mut course = Course {
        plan,
        target: &target,
        address,
        run_dir: target.run_dir(&claim.dir_name),
        offered: dialects_offered(address, plan),
        stop,
        refusals,
        sink,
        report,
    };
    let (low, high) = plan.dialects;
    let dialects = Dialect::ALL.into_iter();
    for dialect in dialects.filter(|dialect| (low..=high).contains(dialect)) {
        if !course.goes_on() {
            break;
        }
        course.by(dialect);
    }
    let mut report = course.report;
    match claim::release(plan, mount, claim, Reach::All, refusals, &Plain) {
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

/// The way through the dialects and their checks.
struct Course<'a> {
    plan: &'a SmbPlan,
    target: &'a Target,
    address: SocketAddr,
    run_dir: String,
    /// The dialects that the server has.
    offered: Vec<Dialect>,
    stop: &'a StopFlag,
    refusals: &'a Refusals,
    sink: &'a mut dyn FnMut(&CheckResult),
    report: Report,
}

/// The check that there is a session at all: the first one, for the others need one.
const SESSION: Check = Check::new(
    "session.made",
    "SESSION",
    "the dialect is taken, the user let in, the share entered",
    ("MS-SMB 3.3.5", "MS-SMB2 3.3.5.4, 3.3.5.5, 3.3.5.7"),
    |_| Ok(()),
);

impl Course<'_> {
    fn goes_on(&self) -> bool {
        let is_over = self.report.level == Level::First && self.report.failed_count() > 0;
        self.report.cut_short.is_none() && !is_over
    }

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
            Err(trouble) => Err(self.without_session(dialect, trouble)),
        };
        let result = result(&SESSION, dialect, outcome, Vec::new(), begun);
        self.take(result);
        match bench {
            Ok(mut bench) => {
                let facts = bench.session_facts();
                self.report.server_facts.push((dialect.to_string(), facts));
                self.run(bench);
            }
            Err(trouble) if is_refusal_of_user(&trouble) => {
                self.refusals.refuse();
                let why = told(&trouble);
                self.report.cut_short = Some(format!(
                    "the user is not tried again, for accounts are locked after a few refusals: {why}"
                ));
            }
            Err(_) => {}
        }
    }

    fn run(&mut self, mut bench: Bench<'_>) {
        let dialect = bench.dialect;
        let rest = checks().skip(1).filter(|check| check.is_for(dialect));
        for (number, check) in (1..).zip(rest) {
            if self.stop.is_raised() {
                self.report.cut_short = Some("as wished".to_owned());
                break;
            }
            let begun = Instant::now();
            let outcome = bench.enter(number).and_then(|()| (check.run)(&mut bench));
            let left = bench.leave(outcome.is_ok());
            let result = result(check, dialect, outcome, bench.take_notes(), begun);
            self.take(result);
            if let Err(trouble) = left {
                let why = told(&trouble);
                self.report.cut_short = Some(format!(
                    "no session by {dialect} any more since {}: {why}",
                    check.id
                ));
                return;
            }
            if !self.goes_on() {
                break;
            }
        }
        bench.log_off();
    }

    fn take(&mut self, result: CheckResult) {
        (self.sink)(&result);
        self.report.results.push(result);
    }

    /// Why there is no session: lawful, or not.
    fn without_session(&self, dialect: Dialect, trouble: &Trouble) -> Stop {
        if !self.offered.contains(&dialect) {
            return Stop::skip(format!(
                "the server does not have it; it offers {}",
                names_of(&self.offered)
            ));
        }
        let why = told(trouble);
        match trouble {
            Trouble::Setup(error) if is_lawful(error, dialect) => {
                Stop::skip(format!("no session: {why}"))
            }
            _ => Stop::fail("a session", why),
        }
    }
}

fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Wire { error, .. } => error.to_string(),
        Trouble::Setup(error) => error.to_string(),
    }
}

/// Whether the server does not know the user any more whom it has let in before.
fn is_refusal_of_user(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Setup(SetupError::Refused { step, status }) => {
            step.contains("SESSION_SETUP") && *status != status::ACCESS_DENIED
        }
        _ => false,
    }
}

/// Whether a server may refuse a session by a dialect that it has: where the dialect
/// cannot protect messages as somebody wants them.
const fn is_lawful(error: &SetupError, dialect: Dialect) -> bool {
    match error {
        SetupError::Requires(_) | SetupError::Lacking { .. } | SetupError::NoDialect => true,
        SetupError::Refused { status, .. } => {
            *status == status::ACCESS_DENIED && (dialect as u8) < (Dialect::V300 as u8)
        }
        _ => false,
    }
}

fn result(
    check: &Check,
    dialect: Dialect,
    outcome: Result<(), Stop>,
    notes: Vec<String>,
    begun: Instant,
) -> CheckResult {
    CheckResult {
        id: check.id,
        procedure: check.operation,
        dialect: Some(dialect.name()),
        title: check.title,
        verdict: match outcome {
            Ok(()) => Verdict::Pass,
            Err(Stop::Skip(why)) => Verdict::Skipped { why },
            Err(Stop::Fail { expected, got }) => Verdict::Fail {
                expected,
                got,
                section: check.section(dialect).to_owned(),
            },
        },
        notes,
        elapsed: begun.elapsed(),
    }
}

//! `validate` on this host: the checks of the driver's protocol at one mount point.

use filermark_driver_kit::spec::Validate;
use filermark_driver_kit::validation::{self, CheckResult, Level, Verdict};
use filermark_engine::driver::{Claim, StopFlag};
use filermark_link::facts::{CheckRecord, CheckVerdict, NotChecked, Validation};
use filermark_model::plan::{DriverPlan, MountPoint};

/// One check, as it is sent to the prime.
fn check_record(result: &CheckResult) -> CheckRecord {
    let verdict = match &result.verdict {
        Verdict::Pass => CheckVerdict::Pass,
        Verdict::Fail {
            expected,
            got,
            section,
        } => CheckVerdict::Fail {
            expected: expected.clone(),
            got: got.clone(),
            section: section.clone(),
        },
        Verdict::Skipped { why } => CheckVerdict::Skipped { why: why.clone() },
    };
    CheckRecord {
        id: result.id.into(),
        procedure: result.procedure.into(),
        dialect: result.dialect.map(Into::into),
        title: result.title.into(),
        verdict,
        notes: result.notes.clone(),
        elapsed_ns: u64::try_from(result.elapsed.as_nanos()).unwrap_or(u64::MAX),
        text: result.render_text(),
    }
}

/// All checks, as they are sent to the prime.
fn validation(report: &validation::Report, user_is_refused: bool) -> Validation {
    Validation {
        user_is_refused,
        protocol: report.protocol.into(),
        is_success: report.is_success(),
        summary: report.summary(),
        text: report.render_text(),
        checks: report.results.iter().map(check_record).collect(),
    }
}

/// Runs the checks of the driver's protocol at a mount point, from this host; `on_result` is
/// called with each result.
///
/// # Errors
/// Nothing could be checked.
pub fn check_here(
    driver: &DriverPlan,
    mount: &MountPoint,
    claim: &Claim,
    first_only: bool,
    stop: &StopFlag,
    on_result: &mut dyn FnMut(&CheckResult),
) -> Result<Validation, NotChecked> {
    let level = match first_only {
        true => Level::First,
        false => Level::All,
    };
    let checks = filermark_drivers::find(driver).and_then(|spec| spec.validate);
    let what = Validate {
        mount,
        claim,
        level,
        stop,
        sink: on_result,
    };
    let Some(validated) = checks.and_then(|validate| validate(driver, what)) else {
        return Err("the driver has no protocol to validate".to_owned().into());
    };
    let user_is_refused = validated.user_is_refused;
    match validated.report {
        Ok(report) => Ok(validation(&report, user_is_refused)),
        Err(e) => Err(NotChecked {
            reason: e.to_string(),
            user_is_refused,
        }),
    }
}

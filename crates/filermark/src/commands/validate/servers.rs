//! The validators of the protocols, and what they tell, in one form.

use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::validation::{CheckResult, Level, Report, Verdict};
use filermark_model::plan::{DriverPlan, MountPoint, NfsVersion};
use serde_json::{Value, json};

/// What came of one mount point.
pub struct Validated {
    /// Where.
    pub mount: MountPoint,
    /// All is as it should be.
    pub is_success: bool,
    /// In one line.
    pub summary: String,
    /// Everything, as `sfsval.SUFFIX` has it.
    pub text: String,
    /// The same as JSON.
    pub json: Value,
}

/// How a validator is called.
pub struct Call<'a> {
    /// The mount point.
    pub mount: &'a MountPoint,
    /// The run's directory there.
    pub claim: &'a Claim,
    /// Stop at the first failure.
    pub first_only: bool,
    /// Tell what passes as well.
    pub tell_all: bool,
    /// Raised when the user wishes to stop.
    pub stop: &'a StopFlag,
}

/// The name of the protocol that a driver's servers are tested for; `None`: it has none.
pub const fn protocol(driver: &DriverPlan) -> Option<&'static str> {
    match driver {
        DriverPlan::Nfs(nfs) => Some(match nfs.version {
            NfsVersion::V2 => "NFSv2",
            NfsVersion::V3 => "NFSv3",
        }),
        DriverPlan::Smb(_) => Some("SMB"),
        DriverPlan::Posix(_) | DriverPlan::Null => None,
    }
}

/// Runs the checks of the driver's protocol at a mount point; failures are told on
/// stderr as they come.
///
/// # Errors
/// A sentence on why nothing, or not all, could be checked.
pub fn check(driver: &DriverPlan, call: &Call<'_>) -> Result<Validated, String> {
    let level = match call.first_only {
        true => Level::First,
        false => Level::All,
    };
    let mut hear = |result: &CheckResult| {
        if result.is_failure() || call.tell_all {
            eprintln!("{}", result.render_text().trim_end());
        }
    };
    let (mount, claim, stop) = (call.mount, call.claim, call.stop);
    let report = match driver {
        DriverPlan::Nfs(nfs) => {
            filermark_nfs::validate::validate(nfs, mount, claim, level, stop, &mut hear)
        }
        DriverPlan::Smb(smb) => {
            filermark_smb::validate::validate(smb, mount, claim, level, stop, &mut hear)
        }
        DriverPlan::Posix(_) | DriverPlan::Null => {
            return Err("there is no protocol to validate".into());
        }
    };
    let report = report.map_err(|e| e.to_string())?;
    Ok(Validated {
        mount: mount.clone(),
        is_success: report.is_success(),
        summary: report.summary(),
        text: report.render_text(),
        json: json_of(mount, &report),
    })
}

fn json_of(mount: &MountPoint, report: &Report) -> Value {
    let checks: Vec<_> = report.results.iter().map(json_of_check).collect();
    json!({
        "mount": mount.to_string(),
        "protocol": report.protocol,
        "passed": report.passed_count(),
        "failed": report.failed_count(),
        "skipped": report.skipped_count(),
        "success": report.is_success(),
        "checks": checks,
    })
}

fn json_of_check(result: &CheckResult) -> Value {
    let (verdict, detail) = match &result.verdict {
        Verdict::Pass => ("pass", Value::Null),
        Verdict::Fail {
            expected,
            got,
            section,
        } => (
            "fail",
            json!({ "expected": expected, "got": got, "section": section }),
        ),
        Verdict::Skipped { why } => ("skipped", json!({ "why": why })),
    };
    json!({
        "id": result.id,
        "procedure": result.procedure,
        "dialect": result.dialect,
        "title": result.title,
        "verdict": verdict,
        "detail": detail,
        "notes": result.notes,
        "seconds": result.elapsed.as_secs_f64(),
    })
}

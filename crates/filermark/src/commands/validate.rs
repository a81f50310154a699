//! `validate`: does the server speak the protocol correctly?

use crate::cli::{OutputArgs, SourceArgs, ValidateArgs};
use crate::exit::{Ended, Failure, INTERRUPTED};
use crate::{interrupt, plain, product};
use filermark_config::{Resolved, resolve};
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::plan::{DriverPlan, MountPoint, Nfs3Plan};
use filermark_model::{NOT_A_SPEC_RESULT, RunPlan};
use filermark_nfs::validate::{CheckResult, Level, Report, Verdict};
use filermark_results::Timestamp;
use std::process::ExitCode;

/// A load that any number of procs can share out; none is made.
const LOAD: &str = "1000000";

/// Runs the checks against every mount point; writes `sfsval.SUFFIX`.
pub fn validate(args: &ValidateArgs) -> Ended {
    let resolved = resolved(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose);
    if resolved.plan.benchmark.composite().is_some() {
        return Err(Failure::Usage(vec![format!(
            "validate: it tests NFSv3 servers (MNT_POINTS); {} works on mounted file systems and needs none",
            resolved.plan.benchmark.name
        )]));
    }
    let DriverPlan::Nfs3(settings) = &resolved.plan.driver else {
        return Err(Failure::Usage(vec![
            "validate: DRIVER=null has no protocol to validate".into(),
        ]));
    };
    let stop = StopFlag::new();
    interrupt::on_interrupt(
        stop.clone(),
        "stopping: what was made on the server is removed (again: leave at once)",
    );
    let mut reports = Vec::new();
    let mut trouble = None;
    for mount in mounts_of(&resolved.plan) {
        eprintln!("validating {mount}");
        match check(settings, &mount, &resolved.suffix, args, &stop) {
            Ok(report) => {
                let failed = !report.is_success();
                reports.push((mount, report));
                if stop.is_raised() || failed && args.level == 1 {
                    break;
                }
            }
            Err(why) => {
                trouble = Some(why);
                break;
            }
        }
    }
    let path = resolved
        .work_dir
        .join(format!("sfsval.{}", resolved.suffix));
    std::fs::create_dir_all(&resolved.work_dir)
        .and_then(|()| std::fs::write(&path, text(&reports, trouble.as_deref())))
        .map_err(|e| Failure::of(format!("{}: cannot write: {e}", path.display())))?;
    tell(&reports, trouble.as_deref(), &args.output);
    eprintln!("results: {}", path.display());
    if let Some(why) = trouble {
        return Err(Failure::Failed(why));
    }
    Ok(
        match reports.iter().all(|(_, report)| report.is_success()) {
            _ if stop.is_raised() => ExitCode::from(INTERRUPTED),
            true => ExitCode::SUCCESS,
            false => ExitCode::from(1),
        },
    )
}

/// The plan; LOAD and PROCS may be missing, since nothing of them is used here.
fn resolved(args: &SourceArgs) -> Result<Resolved, Failure> {
    let mut sources = plain::sources(args)?;
    let procs = sources.mount_point_count().max(1);
    sources.set_default("PROCS", &procs.to_string());
    sources.set_default("LOAD", LOAD);
    Ok(resolve(&sources)?)
}

fn mounts_of(plan: &RunPlan) -> Vec<MountPoint> {
    let mut mounts: Vec<_> = plan
        .clients
        .iter()
        .flat_map(|c| c.mounts.iter().cloned())
        .collect();
    mounts.sort();
    mounts.dedup();
    mounts
}

fn check(
    settings: &Nfs3Plan,
    mount: &MountPoint,
    suffix: &str,
    args: &ValidateArgs,
    stop: &StopFlag,
) -> Result<Report, String> {
    let claim = Claim {
        dir_name: format!("{RUN_DIR_PREFIX}{suffix}"),
        run_id: format!(
            "validate {suffix} {} {}",
            Timestamp::now().readable(),
            std::process::id()
        ),
    };
    let level = match args.level {
        1 => Level::First,
        _ => Level::All,
    };
    let mut hear = |result: &CheckResult| {
        let failed = result.is_failure();
        if failed || args.verbose > 0 {
            eprintln!("{}", result.render_text().trim_end());
        }
    };
    filermark_nfs::validate::validate(settings, mount, &claim, level, stop, &mut hear)
        .map_err(|e| e.to_string())
}

/// `sfsval.SUFFIX`.
fn text(reports: &[(MountPoint, Report)], trouble: Option<&str>) -> String {
    let mut out = format!(
        "Filermark protocol validation, {}\n{NOT_A_SPEC_RESULT}\n",
        Timestamp::now().classical()
    );
    for (_, report) in reports {
        out.push('\n');
        out.push_str(&report.render_text());
    }
    if let Some(why) = trouble {
        out.push_str(&format!("\nnot validated: {why}\n"));
    }
    out
}

fn tell(reports: &[(MountPoint, Report)], trouble: Option<&str>, output: &OutputArgs) {
    if output.json {
        let mounts: Vec<_> = reports.iter().map(json).collect();
        product::print_json(&serde_json::json!({ "mounts": mounts, "trouble": trouble }));
        return;
    }
    for (mount, report) in reports {
        product::print(&format!("{mount}: {}\n", report.summary()));
    }
}

fn json((mount, report): &(MountPoint, Report)) -> serde_json::Value {
    let checks: Vec<_> = report.results.iter().map(json_of_check).collect();
    serde_json::json!({
        "mount": mount.to_string(),
        "passed": report.passed_count(),
        "failed": report.failed_count(),
        "skipped": report.skipped_count(),
        "success": report.is_success(),
        "checks": checks,
    })
}

fn json_of_check(result: &CheckResult) -> serde_json::Value {
    let (verdict, detail) = match &result.verdict {
        Verdict::Pass => ("pass", serde_json::Value::Null),
        Verdict::Fail {
            expected,
            got,
            section,
        } => (
            "fail",
            serde_json::json!({ "expected": expected, "got": got, "section": section }),
        ),
        Verdict::Skipped { why } => ("skipped", serde_json::json!({ "why": why })),
    };
    serde_json::json!({
        "id": result.id,
        "procedure": result.procedure,
        "title": result.title,
        "verdict": verdict,
        "detail": detail,
        "notes": result.notes,
        "seconds": result.elapsed.as_secs_f64(),
    })
}

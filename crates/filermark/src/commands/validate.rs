//! `validate`: does the server speak the protocol correctly?

mod servers;

use crate::cli::{OutputArgs, SourceArgs, ValidateArgs};
use crate::exit::{Ended, Failure};
use crate::{interrupt, plain, product};
use filermark_config::Resolved;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_model::plan::MountPoint;
use filermark_model::{NOT_A_SPEC_RESULT, RunPlan};
use filermark_results::Timestamp;
use servers::{Call, Validated};
use std::process::ExitCode;

/// A load that any number of procs can share out; none is made.
const LOAD: &str = "1000000";

/// Runs the checks against every mount point; writes `sfsval.SUFFIX`.
pub fn validate(args: &ValidateArgs) -> Ended {
    let resolved = resolved(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose);
    if resolved.plan.benchmark.composite().is_some() {
        return Err(Failure::Usage(vec![format!(
            "validate: it tests NFS and SMB servers (MNT_POINTS); {} works on mounted file systems and needs none",
            resolved.plan.benchmark.name
        )]));
    }
    let Some(protocol) = servers::protocol(&resolved.plan.driver) else {
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
        eprintln!("validating {mount}: {protocol}");
        match check(&resolved, &mount, args, &stop) {
            Ok(report) => {
                let failed = !report.is_success;
                reports.push(report);
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
    Ok(match reports.iter().all(|report| report.is_success) {
        _ if stop.is_raised() => ExitCode::from(interrupt::code()),
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// The plan; LOAD and PROCS may be missing, since nothing of them is used here.
fn resolved(args: &SourceArgs) -> Result<Resolved, Failure> {
    let mut sources = plain::sources(args)?;
    let procs = sources.mount_point_count().max(1);
    sources.set_default("PROCS", &procs.to_string());
    sources.set_default("LOAD", LOAD);
    Ok(plain::guarded_resolve(&sources)?)
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
    resolved: &Resolved,
    mount: &MountPoint,
    args: &ValidateArgs,
    stop: &StopFlag,
) -> Result<Validated, String> {
    let suffix = &resolved.suffix;
    let claim = Claim {
        dir_name: format!("{RUN_DIR_PREFIX}{suffix}"),
        run_id: format!(
            "validate {suffix} {} {}",
            Timestamp::now().readable(),
            std::process::id()
        ),
    };
    let call = Call {
        mount,
        claim: &claim,
        first_only: args.level == 1,
        tell_all: args.verbose > 0,
        stop,
    };
    servers::check(&resolved.plan.driver, &call)
}

/// `sfsval.SUFFIX`.
fn text(reports: &[Validated], trouble: Option<&str>) -> String {
    let mut out = format!(
        "Filermark protocol validation, {}\n{NOT_A_SPEC_RESULT}\n",
        Timestamp::now().classical()
    );
    for report in reports {
        out.push('\n');
        out.push_str(&report.text);
    }
    if let Some(why) = trouble {
        out.push_str(&format!("\nnot validated: {why}\n"));
    }
    out
}

fn tell(reports: &[Validated], trouble: Option<&str>, output: &OutputArgs) {
    if output.json {
        let mounts: Vec<_> = reports.iter().map(|report| &report.json).collect();
        product::print_json(&serde_json::json!({ "mounts": mounts, "trouble": trouble }));
        return;
    }
    for report in reports {
        product::print(&format!("{}: {}\n", report.mount, report.summary));
    }
}

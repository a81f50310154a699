//! `validate`: checks whether the server implements the protocol correctly.

use super::preflight;
use crate::cli::{OutputArgs, SourceArgs, ValidateArgs};
use crate::{resolve_args, stdout};
use filermark_agent::validate::check_here;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_config::{Resolved, mount_point_count};
use filermark_driver_kit::validation::CheckResult;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_link::facts::{CheckRecord, CheckVerdict, Validation};
use filermark_model::plan::MountPoint;
use filermark_model::{NOT_A_SPEC_RESULT, RunPlan};
use filermark_prime::validate::{
    Outcome, ValidateOptions, Validated, validate as go_round, why_skip_rest,
};
use filermark_results::Timestamp;
use filermark_results::outputs::SFSVAL;
use serde_json::{Value, json};
use std::process::ExitCode;

/// A load that can be divided among any number of procs; it is not used.
const LOAD: &str = "1000000";

/// Runs the checks against every mount point, on the clients if CLIENTS is set; writes
/// `sfsval.SUFFIX`.
pub fn validate(args: &ValidateArgs) -> CommandResult {
    let resolved = resolved(&args.source)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose);
    if resolved.plan.benchmark.composite().is_some() {
        return Err(CommandError::Usage(vec![format!(
            "validate tests NFS and SMB servers (MNT_POINTS); {} uses mounted file systems",
            resolved.plan.benchmark.name
        )]));
    }
    let Some(protocol) = resolved.plan.driver.facts().validates else {
        let driver = &resolved.plan.driver;
        return Err(CommandError::Usage(vec![match driver.name() {
            "null" => "validate: DRIVER=null has no protocol to validate".into(),
            _ => format!(
                "validate has no checks of {}; NFS_VERSION=4.2, 4.1, 4.0, 3 or 2 checks that version of the server",
                driver.describe().protocol
            ),
        }]));
    };
    let stop = StopFlag::new();
    interrupt::on_interrupt(
        stop.clone(),
        "stopping: files on the server are removed (again: exit at once)",
    );
    let outcome = match has_clients(&resolved.plan) {
        true => on_clients(&resolved, protocol, args, &stop),
        false => here(&resolved, protocol, args, &stop),
    };
    let failure = (!outcome.errors.is_empty()).then(|| outcome.errors.join("; "));
    let path = resolved.work_dir.join(SFSVAL.name(&resolved.suffix));
    // Before the file, so that the results are seen where it cannot be written.
    print(&outcome, failure.as_deref(), &resolved.plan, &args.output);
    let written = std::fs::create_dir_all(&resolved.work_dir)
        .and_then(|()| std::fs::write(&path, text(&outcome)));
    if let Err(error) = written {
        let unwritten = format!(
            "{}: cannot write: {error}; {}",
            path.display(),
            filermark_results::OTHER_DIRECTORY
        );
        let messages = failure.into_iter().chain([unwritten]);
        return Err(CommandError::Failed(
            messages.collect::<Vec<_>>().join("; "),
        ));
    }
    filermark_cli_kit::stderr_line!("results: {}", path.display());
    if stop.is_raised() && !outcome.done.is_empty() {
        return Ok(ExitCode::from(interrupt::code()));
    }
    if let Some(why) = failure {
        return Err(CommandError::Failed(why));
    }
    let is_success = outcome.done.iter().all(|d| d.validation.is_success);
    Ok(match is_success {
        _ if stop.is_raised() => ExitCode::from(interrupt::code()),
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// The plan; LOAD and PROCS may be missing, since they are not used here.
fn resolved(args: &SourceArgs) -> Result<Resolved, CommandError> {
    let mut sources = resolve_args::sources(args)?;
    let procs = mount_point_count(&sources).max(1);
    sources.set_default("PROCS", &procs.to_string());
    sources.set_default("LOAD", LOAD);
    Ok(resolve_args::guarded_resolve(&sources)?)
}

/// Whether clients are set; without them the checks run on this host.
fn has_clients(plan: &RunPlan) -> bool {
    let mut given = plan.parameters.iter();
    given.any(|(name, value)| name == "CLIENTS" && !value.is_empty())
}

fn claim(suffix: &str) -> Claim {
    Claim {
        dir_name: format!("{RUN_DIR_PREFIX}{suffix}"),
        run_id: format!(
            "validate {suffix} {} {}",
            Timestamp::now().readable(),
            std::process::id()
        ),
    }
}

/// The checks on every client that has mount points, by agents as in a run.
fn on_clients(
    resolved: &Resolved,
    protocol: &str,
    args: &ValidateArgs,
    stop: &StopFlag,
) -> Outcome {
    let report_all = args.verbose > 0;
    go_round(ValidateOptions {
        plan: &resolved.plan,
        launch: &resolved.launch,
        claim: claim(&resolved.suffix),
        first_only: args.level == 1,
        stop: stop.clone(),
        board: &mut |plan| preflight::board(plan, &resolved.suffix),
        observe: &mut |client, mount, validation| match validation {
            None => {
                filermark_cli_kit::stderr_line!("validating {mount} on client {client}: {protocol}")
            }
            Some(validation) => {
                let is_fail = |c: &CheckRecord| matches!(c.verdict, CheckVerdict::Fail { .. });
                let checks = validation.checks.iter();
                for check in checks.filter(|c| report_all || is_fail(c)) {
                    filermark_cli_kit::stderr_line!("{}", check.text.trim_end());
                }
            }
        },
    })
}

/// The checks from this host.
fn here(resolved: &Resolved, protocol: &str, args: &ValidateArgs, stop: &StopFlag) -> Outcome {
    let mut outcome = Outcome::default();
    let claim = claim(&resolved.suffix);
    let first_only = args.level == 1;
    let mut receive = |result: &CheckResult| {
        if result.is_failure() || args.verbose > 0 {
            filermark_cli_kit::stderr_line!("{}", result.render_text().trim_end());
        }
    };
    let mut over = None;
    for (client, mount) in mounts_of(&resolved.plan) {
        if stop.is_raised() {
            over.get_or_insert_with(|| "stopped on request".to_owned());
        }
        if let Some(why) = &over {
            outcome.skipped.push(format!("{mount}: {why}"));
            continue;
        }
        filermark_cli_kit::stderr_line!("validating {mount}: {protocol}");
        let driver = &resolved.plan.driver;
        let checked = check_here(driver, &mount, &claim, first_only, stop, &mut receive);
        over = why_skip_rest(&checked, driver, first_only, &mount.to_string());
        match checked {
            Ok(validation) => outcome.done.push(Validated {
                client,
                mount,
                validation,
            }),
            Err(why) => outcome.errors.push(why.reason),
        }
    }
    outcome
}

/// Every mount point once, with the client that has it.
fn mounts_of(plan: &RunPlan) -> Vec<(String, MountPoint)> {
    let clients = plan.clients.iter();
    let mut mounts: Vec<_> = clients
        .flat_map(|c| c.mounts.iter().map(|m| (c.name.clone(), m.clone())))
        .collect();
    mounts.sort_by(|a, b| a.1.cmp(&b.1));
    mounts.dedup_by(|a, b| a.1 == b.1);
    mounts
}

/// `sfsval.SUFFIX`.
fn text(outcome: &Outcome) -> String {
    let mut out = format!(
        "Filermark protocol validation, {}\n{NOT_A_SPEC_RESULT}\n",
        Timestamp::now().classical()
    );
    for done in &outcome.done {
        out.push_str(&format!("\nOn client {}\n", done.client));
        out.push_str(&done.validation.text);
    }
    for why in outcome.not_validated() {
        out.push_str(&format!("\nnot validated: {why}\n"));
    }
    out
}

fn print(outcome: &Outcome, failure: Option<&str>, plan: &RunPlan, output: &OutputArgs) {
    if output.json {
        let mounts: Vec<_> = outcome.done.iter().map(json_of).collect();
        let not_validated: Vec<_> = outcome.not_validated().collect();
        stdout::print_json(
            &json!({ "mounts": mounts, "trouble": failure, "not_validated": not_validated }),
        );
        return;
    }
    for done in &outcome.done {
        let (mount, summary) = (&done.mount, &done.validation.summary);
        let origin = match has_clients(plan) {
            true => format!(" on client {}", done.client),
            false => String::new(),
        };
        stdout::print(&format!("{mount}{origin}: {summary}\n"));
    }
    // The errors follow on stderr.
    for why in &outcome.skipped {
        stdout::print(&format!("not validated: {why}\n"));
    }
}

fn json_of(done: &Validated) -> Value {
    let validation: &Validation = &done.validation;
    let checks: Vec<_> = validation.checks.iter().map(json_of_check).collect();
    json!({
        "client": done.client,
        "mount": done.mount.to_string(),
        "protocol": validation.protocol,
        "passed": validation.count(|v| *v == CheckVerdict::Pass),
        "failed": validation.count(|v| matches!(v, CheckVerdict::Fail { .. })),
        "skipped": validation.count(|v| matches!(v, CheckVerdict::Skipped { .. })),
        "success": validation.is_success,
        "checks": checks,
    })
}

fn json_of_check(check: &CheckRecord) -> Value {
    let (verdict, detail) = match &check.verdict {
        CheckVerdict::Pass => ("pass", Value::Null),
        CheckVerdict::Fail {
            expected,
            got,
            section,
        } => (
            "fail",
            json!({ "expected": expected, "got": got, "section": section }),
        ),
        CheckVerdict::Skipped { why } => ("skipped", json!({ "why": why })),
    };
    json!({
        "id": check.id,
        "procedure": check.procedure,
        "dialect": check.dialect,
        "title": check.title,
        "verdict": verdict,
        "detail": detail,
        "notes": check.notes,
        "seconds": check.elapsed_ns as f64 / 1e9,
    })
}

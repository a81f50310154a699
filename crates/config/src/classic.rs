//! Resolution: all sources together, every mistake at once, one plan out.

use crate::composite::{self, choose::Choice};
use crate::error::ConfigError;
use crate::given::{Given, Values, gather};
use crate::mounts::Form;
use crate::params::{Family, Standard};
use crate::plan::common::{
    debug, is_idle, left_out, limits, monitor, not_standard, pacing, phases, secret_note, suffix,
};
use crate::reach::{self, Accounts, Reach};
use crate::resolved::Resolved;
use crate::sources::Sources;
use crate::space;
use crate::stop_command::stop_command;
use crate::{layout, loads, nfs, protocol, smb, trial, workload};
use filermark_model::plan::{DriverPlan, FileSetPlan, IpChoice, Transport};
use filermark_model::{Benchmark, Finding, Rule, RunPlan, Severity};
use std::path::PathBuf;

/// Resolves an rc file and options into a plan.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub fn resolve(sources: &Sources) -> Result<Resolved, Vec<ConfigError>> {
    let mut errors = Vec::new();
    sources.begin_inputs();
    let values = gather(sources, &mut errors);
    let resolved = build(&values, sources, &mut errors);
    match resolved {
        Some(mut resolved) if errors.is_empty() => {
            let fits = space::memory_note(&resolved.plan);
            resolved.plan.findings.extend(fits);
            let secret = secret_note(&resolved.plan);
            resolved.plan.findings.extend(secret);
            let more = trial::findings(&resolved.plan);
            resolved.plan.findings.extend(more);
            resolved.inputs = sources.take_inputs();
            Ok(resolved)
        }
        _ => {
            errors.sort_by(|a, b| a.place.cmp(&b.place));
            errors.dedup();
            Err(errors)
        }
    }
}

fn build(values: &Values, sources: &Sources, errors: &mut Vec<ConfigError>) -> Option<Resolved> {
    let work_dir = PathBuf::from(values.text("WORK_DIR").unwrap_or_default());
    match composite::choose::choose(values, sources, &work_dir, errors) {
        Choice::Classic => classic(values, sources, work_dir, errors),
        Choice::Composite(chosen) => composite::build(values, sources, chosen, work_dir, errors),
    }
}

/// A run of a classical benchmark.
fn classic(
    values: &Values,
    sources: &Sources,
    work_dir: PathBuf,
    errors: &mut Vec<ConfigError>,
) -> Option<Resolved> {
    let mut findings = Vec::new();
    refuse(values, errors);
    let suffix = suffix(values, errors);
    let debug = debug(values, errors);

    let definition = workload::definition(values, sources, errors);
    if let Some(definition) = &definition {
        protocol::refuse(values, definition, errors);
    }
    let protocol = protocol::of(values, definition.as_ref());
    if protocol::is_smb(protocol) && values.given("TCP").is_some() && !values.switch("TCP") {
        let message = "SMB goes over TCP alone".to_owned();
        let hint = "set TCP=on or leave it out";
        errors.push(ConfigError::new(values.place("TCP"), message, hint));
    }
    let form = match protocol::is_smb(protocol) {
        true => Form::Smb,
        false => Form::Nfs,
    };
    let layout = layout::layout(values, sources, form, &mut findings, errors);
    let asked = loads::asked(values, loads::OPS, &mut findings, errors);
    let driver = match values.word("DRIVER") {
        "null" => DriverPlan::Null,
        _ if protocol::is_smb(protocol) => DriverPlan::Smb(smb::smb(
            values,
            sources,
            protocol,
            layout.as_ref(),
            &mut findings,
            errors,
        )),
        _ => DriverPlan::Nfs(nfs::nfs(
            definition.as_ref(),
            values,
            sources,
            layout.as_ref(),
            &mut findings,
            errors,
        )),
    };
    let monitor = monitor(values, sources, errors);
    // IPV6_ENABLE is about the servers here.
    let reach = Reach::read(values, sources, IpChoice::Any, errors);
    let definition = definition?;
    let mut benchmark = definition.clone();
    let mut told = Vec::new();
    workload::change(
        &mut benchmark,
        values,
        sources,
        &work_dir,
        &mut told,
        errors,
    );
    let layout = layout?;
    let procs = layout.clients.len() as u64 * u64::from(layout.procs_per_client);
    let points = loads::round(&asked, procs, &values.place("LOAD"), errors);
    findings.extend(loads::remarks(&points, procs, &definition.standard));
    findings.splice(0..0, changes(values, &definition).into_iter().chain(told));
    let launch = reach.plan(&layout.clients, &Accounts::new(), &sources.host);
    findings.extend(reach::remarks(values, &launch, &sources.host));

    let driver_transport = driver.facts().transport;
    let plan = RunPlan {
        points,
        clients: layout.clients,
        procs_per_client: layout.procs_per_client,
        procs: Vec::new(),
        slice: None,
        scripts: None,
        clock_service: None,
        heartbeat: None,
        driver,
        pacing: pacing(values),
        phases: phases(values, &definition),
        fileset: FileSetPlan {
            keep: values.switch("KEEP"),
            reuse: values.switch("REUSE"),
            verify: values.switch("VERIFY"),
            init_window: init_window(values, driver_transport),
            sharing: false,
            access_list: false,
            touch_all: false,
        },
        space: space::plan(values),
        seed: values.int("SEED").unwrap_or_default(),
        shards: values.int32("SHARDS"),
        monitor,
        limits: limits(values, &definition),
        stop_if: crate::stop_if::stop_if(values, errors),
        findings,
        parameters: values
            .all()
            .map(|g| (g.parameter.name.to_owned(), g.shown_value()))
            .collect(),
        benchmark,
    };
    Some(Resolved {
        launch,
        plan,
        work_dir,
        debug,
        stop_command: stop_command(sources, &suffix),
        suffix,
        inputs: Vec::new(),
        netmist: None,
    })
}

/// What is known and cannot be had.
fn refuse(values: &Values, errors: &mut Vec<ConfigError>) {
    let mut error = |name: &str, message: String, hint: &str| {
        errors.push(ConfigError::new(values.place(name), message, hint));
    };
    if values.word("DRIVER") == "posix" {
        let message = "DRIVER=posix works on mounted file systems, for composite benchmarks";
        let hint = "set BENCHMARK to one of them, e.g. SWBUILD, or leave DRIVER out";
        error("DRIVER", message.into(), hint);
    }
}

/// Findings about the parameters themselves: changed, without effect, replaced.
fn changes(values: &Values, definition: &Benchmark) -> Vec<Finding> {
    let mut findings: Vec<Finding> = values
        .all()
        .filter_map(|g| match g.parameter.scope.holds(Family::of(definition)) {
            true => not_standard(g, definition).or_else(|| without_effect(g)),
            false => foreign(g, definition),
        })
        .collect();
    findings.extend(left_out(values));
    findings
}

/// A parameter of benchmarks of other kinds.
fn foreign(given: &Given, definition: &Benchmark) -> Option<Finding> {
    if is_idle(given) {
        return None;
    }
    let shown = given.shown();
    let text = format!("{shown} has no effect with BENCHMARK={}", definition.name);
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

/// A parameter of the 2008 generation that does nothing here.
fn without_effect(given: &Given) -> Option<Finding> {
    let silent = is_idle(given) || given.parameter.name == "SFS_DIR";
    if !matches!(given.parameter.standard, Standard::NoEffect) || silent {
        return None;
    }
    let text = format!("{} has no effect here", given.shown());
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

/// Over UDP fewer operations under way make the file set, unless it is said how many:
/// what the server's socket has no room for is lost, and waits for a time-out.
fn init_window(values: &Values, transport: Option<Transport>) -> u32 {
    const DATAGRAMS: u32 = 4;
    let window = values.int32("INIT_WINDOW").unwrap_or(1);
    match (transport, values.given("INIT_WINDOW")) {
        (Some(Transport::Udp), None) => window.min(DATAGRAMS),
        _ => window,
    }
}

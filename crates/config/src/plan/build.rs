//! From a dialect's demand to the plan of a run.

use super::common::{debug, fileset, monitor, pacing, suffix};
use crate::error::ConfigError;
use crate::launch_settings::{self, HostLogins, LaunchSettings};
use crate::params;
use crate::reading::Reading;
use crate::resolved::{NetmistOutput, Resolved};
use crate::{space, stop_if};
use filermark_model::launch::LaunchPlan;
use filermark_model::plan::{
    ClientPlan, ClockServicePlan, DriverPlan, IpChoice, Limits, LoadPoint, PhasePlan, ProcPlan,
    ScriptsPlan, SearchPlan,
};
use filermark_model::{Benchmark, Finding, Nanos, RunPlan};
use std::path::PathBuf;

/// A form of describing a run: rc files of classical benchmarks, those of composites,
/// netmist's command line.
pub(crate) trait Dialect {
    /// The address family of the connections to the clients.
    fn ip(&self, r: &mut Reading<'_>) -> IpChoice;

    /// Which work is to be done where; `None`: something is wrong, as reported.
    fn demand(&mut self, r: &mut Reading<'_>) -> Option<Demand>;

    /// Findings about the plan when it is known how the clients are reached.
    fn remarks(&self, _plan: &RunPlan, _launch: &LaunchPlan, _r: &mut Reading<'_>) {}

    /// Findings about the plan as a whole.
    fn closing_remarks(&self, plan: &RunPlan) -> Vec<Finding>;

    /// Settings for the record in addition to the parameters, by name.
    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The files of netmist's own outputs, if the user gives any.
    fn output(&self, _r: &Reading<'_>) -> Option<NetmistOutput> {
        None
    }

    /// The command that removes what the run leaves behind.
    fn stop_command(&self, r: &Reading<'_>, suffix: &str) -> String;
}

/// The parts of a plan that each dialect reads in its own way.
pub(crate) struct Demand {
    /// With the changes of the parameters in it.
    pub benchmark: Benchmark,
    pub driver: DriverPlan,
    pub points: Vec<LoadPoint>,
    /// LOAD=search: the points follow from it.
    pub search: Option<SearchPlan>,
    pub clients: Vec<ClientPlan>,
    pub procs_per_client: u32,
    pub procs: Vec<ProcPlan>,
    /// Users and programs of single clients.
    pub accounts: HostLogins,
    pub phases: PhasePlan,
    /// When a load point counts.
    pub limits: Limits,
    /// RUN must touch the whole data set.
    pub touch_all: bool,
    pub scripts: Option<ScriptsPlan>,
    pub clock_service: Option<ClockServicePlan>,
    pub heartbeat: Option<Nanos>,
}

/// Resolves the demand of a dialect.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub(crate) fn build(
    dialect: &mut dyn Dialect,
    mut r: Reading<'_>,
) -> Result<Resolved, Vec<ConfigError>> {
    let resolved = assemble(dialect, &mut r);
    match resolved {
        Some(mut resolved) if r.reports.errors.is_empty() => {
            let plan = &mut resolved.plan;
            plan.findings = r.reports.findings;
            let more = dialect.closing_remarks(plan);
            plan.findings.extend(more);
            resolved.inputs = r.sources.take_inputs();
            Ok(resolved)
        }
        _ => Err(r.reports.into_errors()),
    }
}

fn assemble(dialect: &mut dyn Dialect, r: &mut Reading<'_>) -> Option<Resolved> {
    let (values, sources) = (r.values, r.sources);
    let suffix = suffix(r);
    let debug = debug(r);
    let monitor = monitor(r);
    let ip = dialect.ip(r);
    let reach = LaunchSettings::read(r, ip);
    let demand = dialect.demand(r)?;
    let launch = reach.plan(&demand.clients, &demand.accounts, &sources.host);
    let remarks = launch_settings::remarks(values, &launch, &sources.host);
    r.reports.findings.extend(remarks);
    let mut parameters: Vec<(String, String)> = values
        .all()
        .map(|g| (g.parameter.name.to_owned(), g.shown_value()))
        .collect();
    parameters.extend(dialect.settings());
    let fileset = fileset(
        values,
        &demand.benchmark,
        &demand.driver,
        &demand.points,
        demand.touch_all,
    );
    let plan = RunPlan {
        points: demand.points,
        search: demand.search,
        clients: demand.clients,
        procs_per_client: demand.procs_per_client,
        procs: demand.procs,
        pacing: pacing(values),
        phases: demand.phases,
        fileset,
        space: space::plan(values),
        seed: values.get(&params::SEED),
        shards: values.get(&params::SHARDS),
        monitor,
        scripts: demand.scripts,
        clock_service: demand.clock_service,
        heartbeat: demand.heartbeat,
        limits: demand.limits,
        stop_if: stop_if::stop_if(r),
        parameters,
        // No slice; and findings may still be added.
        ..RunPlan::of(demand.benchmark, demand.driver)
    };
    dialect.remarks(&plan, &launch, r);
    Some(Resolved {
        launch,
        plan,
        work_dir: PathBuf::from(values.get(&params::WORK_DIR)),
        debug,
        stop_command: dialect.stop_command(r, &suffix),
        suffix,
        inputs: Vec::new(),
        netmist: dialect.output(r),
    })
}

//! The rc dialect of classical benchmarks, whose drivers speak the protocol themselves.

use crate::given::{GivenValue, Values};
use crate::launch_settings::HostLogins;
use crate::mounts::MountSyntax;
use crate::params::{self, DriverName, Family, StandardValue};
use crate::plan::build::{Demand, Dialect};
use crate::plan::common::{is_idle, left_out, limits, not_standard, phases, secret_note};
use crate::reading::Reading;
use crate::stop_command::stop_command;
use crate::{layout, loads, nfs, protocol, smb, space, trial, workload};
use filermark_model::plan::{DriverPlan, IpChoice};
use filermark_model::{Benchmark, Finding, Rule, RunPlan, Severity};
use std::path::PathBuf;

/// A run of a classical benchmark.
pub(crate) struct Classic {
    pub work_dir: PathBuf,
}

impl Dialect for Classic {
    /// IPV6_ENABLE is about the servers here.
    fn ip(&self, _r: &mut Reading<'_>) -> IpChoice {
        IpChoice::Any
    }

    fn demand(&mut self, r: &mut Reading<'_>) -> Option<Demand> {
        let values = r.values;
        refuse(r);
        let definition = workload::definition(r);
        if let Some(definition) = &definition {
            protocol::refuse(r, definition);
        }
        let protocol = protocol::of(values, definition.as_ref());
        let form = match protocol::is_smb(protocol) {
            true => MountSyntax::Smb,
            false => MountSyntax::Nfs,
        };
        if form == MountSyntax::Smb {
            refuse_udp(r);
        }
        let layout = layout::layout(r, form);
        let asked = loads::asked(r, loads::OPS);
        let driver = match (values.get(&params::DRIVER), form) {
            (Some(DriverName::Null), _) => DriverPlan::NULL,
            (_, MountSyntax::Smb) => DriverPlan::Smb(smb::smb(r, protocol, layout.as_ref())),
            (_, MountSyntax::Nfs) => {
                DriverPlan::Nfs(nfs::nfs(r, definition.as_ref(), layout.as_ref()))
            }
        };
        let definition = definition?;
        let mut benchmark = definition.clone();
        r.first(|r| {
            r.reports.findings.extend(changes(values, &definition));
            workload::change(r, &mut benchmark, &self.work_dir);
        });
        let layout = layout?;
        let procs = layout.clients.len() as u64 * u64::from(layout.procs_per_client);
        let points = loads::round(&mut r.reports, &asked, procs, &values.place(&params::LOAD));
        let remarks = loads::remarks(&points, procs, &definition.standard);
        r.reports.findings.extend(remarks);
        Some(Demand {
            benchmark,
            driver,
            points,
            clients: layout.clients,
            procs_per_client: layout.procs_per_client,
            procs: Vec::new(),
            accounts: HostLogins::new(),
            phases: phases(values, &definition),
            limits: limits(values, &definition),
            touch_all: false,
            scripts: None,
            clock_service: None,
            heartbeat: None,
        })
    }

    fn closing_remarks(&self, plan: &RunPlan) -> Vec<Finding> {
        let notes = space::memory_note(plan).into_iter();
        let notes = notes.chain(secret_note(plan));
        notes.chain(trial::findings(plan)).collect()
    }

    fn stop_command(&self, r: &Reading<'_>, suffix: &str) -> String {
        stop_command(r.sources, suffix)
    }
}

/// UDP where the protocol has none.
fn refuse_udp(r: &mut Reading<'_>) {
    let values = r.values;
    if values.given(&params::TCP).is_some() && !values.get(&params::TCP) {
        let message = "SMB goes over TCP alone".to_owned();
        let hint = "set TCP=on or leave it out";
        r.refuse(&params::TCP, message, hint);
    }
}

/// What is known and cannot be had.
fn refuse(r: &mut Reading<'_>) {
    if r.values.get(&params::DRIVER) == Some(DriverName::Posix) {
        let message = "DRIVER=posix works on mounted file systems, for composite benchmarks";
        let hint = "set BENCHMARK to one of them, e.g. SWBUILD, or leave DRIVER out";
        let place = r.values.place(&params::DRIVER);
        r.reports.refuse(place, message, hint);
    }
}

/// Findings about the parameters themselves: changed, without effect, replaced.
fn changes(values: &Values, definition: &Benchmark) -> Vec<Finding> {
    let mut findings: Vec<Finding> = values
        .all()
        .filter_map(|g| match g.parameter.scope.holds(Family::of(definition)) {
            true => not_standard(g, definition).or_else(|| without_effect(g)),
            false => unused_parameter(g, definition),
        })
        .collect();
    findings.extend(left_out(values));
    findings
}

/// A parameter of benchmarks of other kinds.
fn unused_parameter(given: &GivenValue, definition: &Benchmark) -> Option<Finding> {
    if is_idle(given) {
        return None;
    }
    let shown = given.shown();
    let text = format!("{shown} has no effect with BENCHMARK={}", definition.name);
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

/// A parameter of the 2008 generation that does nothing here.
fn without_effect(given: &GivenValue) -> Option<Finding> {
    let silent = is_idle(given) || given.parameter.is(&params::SFS_DIR);
    if !matches!(given.parameter.standard, StandardValue::NoEffect) || silent {
        return None;
    }
    let text = format!("{} has no effect here", given.shown());
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

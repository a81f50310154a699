//! The rc dialect of classical benchmarks, whose drivers implement the protocol themselves.

use crate::drivers::{DriverParams, DriverRequest, driver_of, driver_of_word};
use crate::given::{GivenValue, Values};
use crate::launch_settings::HostLogins;
use crate::mounts::EXPORTS;
use crate::params::{self, Family, StandardValue};
use crate::plan::build::{Demand, Dialect};
use crate::plan::common::{is_idle, left_out, limits, not_standard, phases, secret_note};
use crate::reading::Reading;
use crate::stop_command::stop_command;
use crate::{layout, loads, protocol, search, space, trial, workload};
use filermark_model::plan::{IpChoice, SearchLoad};
use filermark_model::{Benchmark, Finding, LoadPoint, Rule, RunPlan, Severity};
use std::path::PathBuf;

/// A run of a classical benchmark.
pub(crate) struct Classic {
    pub work_dir: PathBuf,
}

impl Dialect for Classic {
    /// IPV6_ENABLE applies to the servers here.
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
        let of_protocol = driver_of(protocol);
        if let Some(driver) = of_protocol {
            (driver.refuse)(r);
        }
        let syntax = of_protocol.and_then(|driver| driver.mounts);
        let chosen = values.get(&params::DRIVER).and_then(driver_of_word);
        let for_all = chosen.filter(|driver| driver.is_for_all());
        let nowhere = for_all.map(|driver| driver.name);
        let layout = layout::layout(r, syntax.unwrap_or(&EXPORTS), nowhere);
        let is_max = loads::is_max(r);
        let searched = search::is_wanted(values);
        if !searched {
            search::unused_without(r, "LOAD");
        }
        let asked = match is_max || searched {
            true => Vec::new(),
            false => loads::asked(r, loads::OPS),
        };
        let request = DriverRequest {
            protocol,
            benchmark: definition.as_ref(),
            layout: layout.as_ref(),
        };
        let mut driver = (for_all.or(of_protocol)?.settings)(r, &request);
        let definition = definition?;
        let mut benchmark = definition.clone();
        r.first(|r| {
            r.reports.findings.extend(changes(values, &definition));
            workload::change(r, &mut benchmark, &self.work_dir);
            workload::refuse_missing(r, &benchmark, &driver);
        });
        driver.note_mix(&benchmark.mix);
        let layout = layout?;
        let procs = layout.clients.len() as u64 * u64::from(layout.procs_per_client);
        let points = match is_max {
            true => vec![LoadPoint::MAX],
            false => loads::round(&mut r.reports, &asked, procs, &values.place(&params::LOAD)),
        };
        let phases = phases(values, &definition);
        let search = searched.then(|| search::plan(r, procs, &phases, SearchLoad::Ops));
        if search.is_none() && !is_max {
            let remarks = loads::remarks(&points, procs, &definition.standard);
            r.reports.findings.extend(remarks);
        }
        Some(Demand {
            benchmark,
            driver,
            points,
            search,
            clients: layout.clients,
            procs_per_client: layout.procs_per_client,
            procs: Vec::new(),
            accounts: HostLogins::new(),
            phases,
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

/// Refuses parameters that are known but not supported.
fn refuse(r: &mut Reading<'_>) {
    let chosen = r.values.get(&params::DRIVER);
    let is_of_mounts = |driver: &DriverParams| driver.mounts.is_none() && !driver.is_for_all();
    if let Some(word) = chosen
        && driver_of_word(word).is_some_and(is_of_mounts)
    {
        let word = word.0;
        let message =
            format!("DRIVER={word} works on mounted file systems, for composite benchmarks");
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

/// A parameter of the 2008 generation that has no effect here.
fn without_effect(given: &GivenValue) -> Option<Finding> {
    let silent = is_idle(given) || given.parameter.is(&params::SFS_DIR);
    if !matches!(given.parameter.standard, StandardValue::NoEffect) || silent {
        return None;
    }
    let text = format!("{} has no effect here", given.shown());
    Some(Finding::new(Rule::NotStandard, Severity::Note, text))
}

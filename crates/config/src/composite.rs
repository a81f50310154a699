//! The rc dialect of the 2014 generation: composite benchmarks on mounted file
//! systems (sources.md 3.1 and 3.2; slides E).
//!
//! It has the same parser and the same declarations as the classical dialect; BENCHMARK
//! determines which of the two an rc file is in. Loads are units of the
//! benchmark's business metric, and the number of units determines the number of procs.

pub(crate) mod change;
pub(crate) mod choose;
pub(crate) mod mounts;
pub(crate) mod procs;
mod remarks;
pub(crate) use remarks::{attribute_cache, idle_with};
pub(crate) mod scale;
pub(crate) mod settings;

use crate::drivers::driver_of_word;
use crate::error::{SourceLocation, quoted};
use crate::given::Values;
use crate::launch_settings::HostLogins;
use crate::params::{self, StandardValue};
use crate::plan::build::{Demand, Dialect};
use crate::plan::common::{limits, phases, secret_note};
use crate::reading::{Reading, Reports};
use crate::resolved::NetmistOutput;
use crate::stop_command::stop_command;
use crate::{loads, search, space, trial};
use choose::ChosenBenchmark;
use filermark_model::benchmark::Protocol;
use filermark_model::launch::{LaunchPlan, LauncherKind};
use filermark_model::plan::IpChoice;
use filermark_model::{Benchmark, Finding, RunPlan};

/// A run of a composite.
pub(crate) struct Composite {
    /// `None`: it is wrong, as reported.
    pub chosen: Option<Box<ChosenBenchmark>>,
}

impl Dialect for Composite {
    fn ip(&self, r: &mut Reading<'_>) -> IpChoice {
        ip(r.values)
    }

    fn demand(&mut self, r: &mut Reading<'_>) -> Option<Demand> {
        let values = r.values;
        refuse(r);
        let mounts = mounts::client_mounts(r);
        let chosen = self.chosen.take();
        let unit = chosen.as_ref().map_or("unit", |c| &c.definition.unit);
        let searched = search::is_wanted(values);
        let asked = match searched {
            true => Vec::new(),
            false => {
                search::unused_without(r, "LOAD");
                loads::asked(r, unit)
            }
        };
        let driver = settings::driver(r)?;
        let clock_service = settings::clock_service(r);

        let ChosenBenchmark {
            definition,
            mut benchmark,
            findings: found,
        } = *chosen?;
        let (clients, client_of_mount) = procs::clients(mounts.as_deref()?);
        let mounts = mounts?;
        let place = values.place(&params::LOAD);
        let unit = definition.unit.clone();
        // The procs of a search are those of the highest load that it may try.
        let asked = match searched {
            true => vec![search::units_max(r, benchmark.composite()?, clients.len())],
            false => asked,
        };
        // The counts of procs do not depend on what is changed below.
        let points = procs::points(
            &mut r.reports,
            &asked,
            benchmark.composite()?,
            &unit,
            &place,
        );
        let units = asked.iter().copied().max().unwrap_or(0);
        if points.is_empty() || r.reports.errors.iter().any(|e| e.location == place) {
            return None;
        }
        let all = |b: &Benchmark| {
            let work = b.composite()?;
            Some(procs::procs(
                units,
                work,
                &mounts,
                &clients,
                &client_of_mount,
            ))
        };
        let counted = all(&benchmark)?;
        let most = procs::most_per_client(&counted, clients.len());
        let procs_here = (counted.len() as u64, u64::from(most));
        r.first(|r| {
            let changes = remarks::changes(values, &definition);
            r.reports.findings.extend(changes.into_iter().chain(found));
            change::change(r, &mut benchmark, procs_here);
        });
        let procs = all(&benchmark)?;
        let points = procs::points(
            &mut r.reports,
            &asked,
            benchmark.composite()?,
            &unit,
            &place,
        );
        refuse_background_only(&mut r.reports, &benchmark, values.place(&params::BENCHMARK));
        let phases = phases(values, &definition);
        let work = benchmark.composite()?;
        let search = searched.then(|| search::units(r, work, &unit, units, &phases));
        let points = match searched {
            true => Vec::new(),
            false => points,
        };
        Some(Demand {
            benchmark,
            driver,
            points,
            search,
            clients,
            procs_per_client: most,
            procs,
            accounts: HostLogins::new(),
            phases,
            limits: limits(values, &definition),
            touch_all: false,
            scripts: settings::scripts(values),
            clock_service,
            heartbeat: settings::heartbeat(values),
        })
    }

    fn remarks(&self, plan: &RunPlan, launch: &LaunchPlan, r: &mut Reading<'_>) {
        let host = &r.sources.host;
        let here = procs::share_on(&plan.procs, |client| {
            let host = launch.hosts.get(client as usize);
            host.is_some_and(|h| h.launcher == LauncherKind::Local)
        });
        let findings = &mut r.reports.findings;
        if plan.search.is_none() {
            findings.extend(remarks::points(&plan.points, &plan.benchmark));
        }
        findings.extend(attribute_cache(&plan.benchmark));
        findings.extend(remarks::idle_clients(&plan.procs, plan.clients.len()));
        let memory = remarks::memory(&plan.points, &plan.benchmark, host, here);
        findings.extend(memory);
    }

    fn closing_remarks(&self, plan: &RunPlan) -> Vec<Finding> {
        let notes = space::memory_note(plan).into_iter();
        let notes = notes.chain(secret_note(plan));
        notes.chain(trial::findings(plan)).collect()
    }

    fn output(&self, r: &Reading<'_>) -> Option<NetmistOutput> {
        settings::output(r.values)
    }

    fn stop_command(&self, r: &Reading<'_>, suffix: &str) -> String {
        stop_command(r.sources, suffix)
    }
}

/// The address family for the connections to the clients. The rc files of 2014 have
/// IPV6_ENABLE=0, which did not prevent the use of hosts that have IPv6 only.
fn ip(values: &Values) -> IpChoice {
    match values.get(&params::IPV6_ENABLE) {
        IpChoice::V6 => IpChoice::V6,
        IpChoice::V4 | IpChoice::Any => IpChoice::Any,
    }
}

/// Refuses parameters that are known but not supported with composites.
fn refuse(r: &mut Reading<'_>) {
    let values = r.values;
    refuse_windows(r);
    let chosen = values.get(&params::DRIVER).and_then(driver_of_word);
    let fits =
        chosen.is_some_and(|driver| driver.is_for_all() || driver.name == Protocol::Posix.driver());
    if let Some(given) = values.given(&params::DRIVER)
        && !fits
    {
        r.reports.refuse(
            given.location.clone(),
            format!(
                "{} cannot do what {} asks for",
                given.shown(),
                quoted(&values.get(&params::BENCHMARK))
            ),
            "leave it out: composite benchmarks work on mounted file systems",
        );
    }
}

/// Refuses a load that is in the background as a whole: no operation of it counts.
pub(crate) fn refuse_background_only(
    reports: &mut Reports,
    benchmark: &Benchmark,
    place: SourceLocation,
) {
    if benchmark.mix.shares().is_empty() {
        reports.refuse(
            place,
            "all workloads are in the background: nothing would be measured",
            "set 'Background 0' in one of them at least",
        );
    }
}

/// Refuses the parameters that Windows clients had of their own.
pub(crate) fn refuse_windows(r: &mut Reading<'_>) {
    for given in r.values.all() {
        let parameter = given.parameter;
        if !matches!(parameter.standard, StandardValue::Refused) {
            continue;
        }
        r.reports.refuse(
            given.location.clone(),
            format!(
                "{} is not used: Windows clients have the parameters of all clients",
                parameter.name
            ),
            format!("leave it out or empty; {}", parameter.instead()),
        );
    }
}

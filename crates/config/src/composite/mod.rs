//! The rc dialect of the 2014 generation: composite benchmarks on mounted file
//! systems (sources.md 3.1 and 3.2; slides E).
//!
//! The same parser and the same declarations as the classical dialect; which of
//! the two an rc file speaks follows from its BENCHMARK. Loads are units of the
//! benchmark's business metric, and the units say how many procs there are.

pub(crate) mod change;
pub(crate) mod choose;
pub(crate) mod mounts;
pub(crate) mod procs;
mod remarks;
pub(crate) use remarks::{attribute_cache, idle_with};
pub(crate) mod scale;
pub(crate) mod settings;

use crate::error::{ConfigError, Place, quoted};
use crate::given::Values;
use crate::loads;
use crate::params::Standard;
use crate::plan::common::{self, debug, monitor, pacing, phases, suffix};
use crate::reach::{self, Accounts, Reach};
use crate::resolved::Resolved;
use crate::sources::Sources;
use choose::Chosen;
use filermark_model::launch::LauncherKind;
use filermark_model::plan::{FileSetPlan, IpChoice, Limits};
use filermark_model::{Benchmark, RunPlan};
use std::path::PathBuf;

/// Resolves a composite run; `None`: something is wrong, which is told.
pub(crate) fn build(
    values: &Values,
    sources: &Sources,
    chosen: Option<Box<Chosen>>,
    work_dir: PathBuf,
    errors: &mut Vec<ConfigError>,
) -> Option<Resolved> {
    refuse(values, errors);
    let suffix = suffix(values, errors);
    let debug = debug(values, errors);
    let mounts = mounts::client_mounts(values, sources, errors);
    let unit = chosen.as_ref().map_or("unit", |c| &c.definition.unit);
    let mut findings = Vec::new();
    let asked = loads::asked(values, unit, &mut findings, errors);
    let driver = settings::driver(values, errors);
    let clock_service = settings::clock_service(values, &mut findings, errors);
    let monitor = monitor(values, sources, errors);
    let reach = Reach::read(values, sources, ip(values), errors);

    let Chosen {
        definition,
        mut benchmark,
        findings: mut found,
    } = *chosen?;
    let (clients, client_of_mount) = procs::clients(mounts.as_deref()?);
    let mounts = mounts?;
    let place = values.place("LOAD");
    let unit = definition.unit.clone();
    // The counts of procs do not depend on what is changed below.
    let points = procs::points(&asked, benchmark.composite()?, &unit, &place, errors);
    let units = asked.iter().copied().max().unwrap_or(0);
    if points.is_empty() || errors.iter().any(|e| e.place == place) {
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
    change::change(&mut benchmark, values, procs_here, &mut found);
    let procs = all(&benchmark)?;
    let points = procs::points(&asked, benchmark.composite()?, &unit, &place, errors);
    refuse_background_only(&benchmark, values.place("BENCHMARK"), errors);

    found.splice(0..0, remarks::changes(values, &definition));
    found.append(&mut findings);
    let launch = reach.plan(&clients, &Accounts::new(), &sources.host);
    found.extend(reach::remarks(values, &launch, &sources.host));
    found.extend(remarks::points(&points, &benchmark));
    found.extend(attribute_cache(&benchmark));
    found.extend(remarks::idle_clients(&procs, clients.len()));
    let here = procs::share_on(&procs, |client| {
        let host = launch.hosts.get(client as usize);
        host.is_some_and(|h| h.launcher == LauncherKind::Local)
    });
    found.extend(remarks::memory(&points, &benchmark, &sources.host, here));
    let plan = RunPlan {
        points,
        clients,
        procs_per_client: most,
        procs,
        slice: None,
        scripts: settings::scripts(values),
        clock_service,
        heartbeat: settings::heartbeat(values),
        driver,
        pacing: pacing(values),
        phases: phases(values, &definition),
        fileset: fileset(values),
        space: crate::space::plan(values),
        seed: values.int("SEED").unwrap_or_default(),
        shards: values.int32("SHARDS"),
        monitor,
        limits: limits(values, &definition),
        stop_if: crate::stop_if::stop_if(values, errors),
        findings: found,
        parameters: values
            .all()
            .map(|g| (g.parameter.name.to_owned(), g.shown_value()))
            .collect(),
        benchmark,
    };
    Some(Resolved {
        launch,
        plan,
        stop_command: crate::stop_command::stop_command(sources, &suffix),
        suffix,
        inputs: Vec::new(),
        work_dir,
        debug,
        netmist: settings::output(values),
    })
}

/// The address family for the way to the clients. The rc files of 2014 have
/// IPV6_ENABLE=0, which never kept anyone from naming a host that has IPv6 only.
fn ip(values: &Values) -> IpChoice {
    match values.word("IPV6_ENABLE") {
        "on" => IpChoice::V6,
        _ => IpChoice::Any,
    }
}

/// What is known and cannot be had with composites.
fn refuse(values: &Values, errors: &mut Vec<ConfigError>) {
    refuse_windows(values, errors);
    if let Some(given) = values.given("DRIVER")
        && !["posix", "null"].contains(&values.word("DRIVER"))
    {
        errors.push(ConfigError::new(
            given.place.clone(),
            format!(
                "{} cannot do what {} asks for",
                given.shown(),
                quoted(&values.text("BENCHMARK").unwrap_or_default())
            ),
            "leave it out: composite benchmarks work on mounted file systems",
        ));
    }
}

/// A load that is in the background as a whole: no operation of it counts.
pub(crate) fn refuse_background_only(
    benchmark: &Benchmark,
    place: Place,
    errors: &mut Vec<ConfigError>,
) {
    if benchmark.mix.shares().is_empty() {
        errors.push(ConfigError::new(
            place,
            "all workloads are in the background: nothing would be measured",
            "set 'Background 0' in one of them at least",
        ));
    }
}

/// Parameters of Windows clients.
pub(crate) fn refuse_windows(values: &Values, errors: &mut Vec<ConfigError>) {
    for given in values.all() {
        let name = given.parameter.name;
        let windows = name.contains("WINDOWS");
        if windows && matches!(given.parameter.standard, Standard::Refused) {
            errors.push(ConfigError::new(
                given.place.clone(),
                format!("{name} belongs to Windows clients, which are not built yet"),
                "leave it out or empty",
            ));
        }
    }
}

pub(crate) fn fileset(values: &Values) -> FileSetPlan {
    let reuse = settings::reuse(values);
    FileSetPlan {
        keep: values.switch("KEEP"),
        reuse,
        verify: values.switch("VERIFY"),
        init_window: values.int32("INIT_WINDOW").unwrap_or(1),
        sharing: values.switch("SHARING_MODE"),
        access_list: values.switch("FILE_ACCESS_LIST"),
        touch_all: false,
    }
}

pub(crate) fn limits(values: &Values, definition: &Benchmark) -> Limits {
    let s = &definition.standard;
    Limits {
        component_variance_pcnt_max: values
            .real("COMPONENT_VARIANCE_MAX")
            .unwrap_or(s.component_variance_pcnt_max),
        ..common::limits(values, definition)
    }
}

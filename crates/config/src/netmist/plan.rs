//! From flags and token lines to a run plan.

use super::args::{NetmistArgs, number};
use super::clients::{accounts, in_allocation, ip, passwords};
use super::flags::Flag;
use super::tokens::{TokenLine, rate};
use super::touch::touch;
use crate::composite::mounts::ClientMount;
use crate::composite::scale::Scale;
use crate::composite::{
    attribute_cache, idle_with, procs, refuse_background_only, refuse_windows, settings,
};
use crate::error::{SourceLocation, quoted};
use crate::given::Values;
use crate::hosts::ClientNames;
use crate::params::{self, Parameter};
use crate::plan::build::{Demand, Dialect};
use crate::plan::common::{left_out, limits, phases, secret_note};
use crate::reading::{Reading, Reports};
use crate::resolved::NetmistOutput;
use crate::search;
use crate::space::memory_note;
use crate::stop_command::netmist_stop_command;
use filermark_model::benchmark::{Protocol, Standard, Work};
use filermark_model::bucket::MadeBuckets;
use filermark_model::composite::{Component, CompositeWork};
use filermark_model::plan::{IpChoice, LoadPoint, PhasePlan, ProcPlan, SearchLoad, SearchPlan};
use filermark_model::registry::Registry;
use filermark_model::units::counted;
use filermark_model::{
    Benchmark, Finding, Nanos, OpsPerSec, Rule, RunPlan, Severity, WorkloadObject,
};
use std::path::{Path, PathBuf};

/// Whether it is a parameter of rc files that the token file replaces.
fn is_by_tokens(parameter: &Parameter) -> bool {
    let by_tokens: [&Parameter; 6] = [
        &params::LOAD,
        &params::INCR_LOAD,
        &params::NUM_RUNS,
        &params::BENCHMARK,
        &params::CLIENT_MOUNTPOINTS,
        &params::OPRATE_MULTIPLIER,
    ];
    by_tokens.iter().any(|p| p.is(parameter))
}

/// A run by netmist's command line.
pub(super) struct Netmist<'a> {
    pub args: &'a NetmistArgs,
    pub registry: &'a Registry,
    /// `None`: the token file is wrong, as reported.
    pub lines: Option<Vec<TokenLine>>,
}

impl Dialect for Netmist<'_> {
    fn ip(&self, r: &mut Reading<'_>) -> IpChoice {
        ip(&mut r.reports, self.args)
    }

    fn demand(&mut self, r: &mut Reading<'_>) -> Option<Demand> {
        let (args, values) = (self.args, r.values);
        r.reports.findings.extend(remarks(args, values));
        refuse_windows(r);
        let driver = settings::driver(r)?;
        let clock_service = settings::clock_service(r);
        let want = "operations per second, e.g. -O 1000, or -O search";
        let searched = search::is_word(args.value('O'));
        let total_rate = match searched {
            true => None,
            false => {
                search::unused_without(r, "-O");
                number(&mut r.reports, args, 'O', want, rate)
            }
        };
        let whole = |t: &str| t.parse::<u32>().ok().filter(|n| *n > 0);
        let per_client = number(&mut r.reports, args, 'd', "a whole number from 1 on", whole);
        let naming = ClientNames::new(values, args.sources.host.slurm_nodes.as_deref());
        let lines = in_allocation(&mut r.reports, self.lines.take()?, &naming);
        r.reports.findings.extend(passwords(&lines));
        let objects = objects(&lines, self.registry)?;
        if !r.reports.errors.is_empty() {
            return None;
        }

        // The procs of a search have rates in the ratio of their Oprates, or equal ones.
        let total_rate = match searched {
            true => search_rate(&mut r.reports, &lines)?,
            false => total_rate,
        };
        let (clients, all) = deal(&mut r.reports, &lines, &objects, total_rate);
        let most = procs::most_per_client(&all, clients.len());
        if let Some(given) = per_client.filter(|n| *n != most) {
            r.reports.findings.push(differs(given, most));
        }
        let scale = Scale {
            client_mem_bytes: values.get(&params::CLIENT_MEM),
            aggregate_bytes: values.get(&params::AGGR_CAP),
            procs_per_client: u64::from(per_client.unwrap_or(most)),
            procs: all.len() as u64,
        };
        let work = CompositeWork {
            components: components(objects, &all, values, scale),
            client_mem_mib_per_unit: 0.0,
        };
        let benchmark = benchmark(work, self.registry)?;
        refuse_background_only(
            &mut r.reports,
            &benchmark,
            SourceLocation::Option("-g".into()),
        );
        let mut phases = phases(values, &benchmark);
        let sharing = values.get(&params::SHARING_MODE);
        let touch_all = !args.exact_time
            && !searched
            && touch(&mut r.reports, &benchmark, &all, sharing, &mut phases);
        let points = vec![point(&all)];
        let search = searched.then(|| search_plan(r, &all, points[0], &phases));
        r.reports.findings.extend(attribute_cache(&benchmark));
        let limits = limits(values, &benchmark);
        Some(Demand {
            benchmark,
            driver,
            points: match searched {
                true => Vec::new(),
                false => points,
            },
            search,
            clients,
            procs_per_client: most,
            procs: all,
            accounts: accounts(&lines),
            phases,
            limits,
            touch_all,
            scripts: settings::scripts(values),
            clock_service,
            heartbeat: heartbeat(args, values),
        })
    }

    fn closing_remarks(&self, plan: &RunPlan) -> Vec<Finding> {
        let notes = secret_note(plan).into_iter();
        notes.chain(memory_note(plan)).collect()
    }

    /// Flags that set no parameter.
    fn settings(&self) -> Vec<(String, String)> {
        let value = |letter: char| {
            let value = self.args.value(letter)?;
            Some((format!("-{letter}"), quoted(value)))
        };
        ['g', 'O', 'd', 'N', 'q', 'l']
            .into_iter()
            .filter_map(value)
            .collect()
    }

    fn output(&self, r: &Reading<'_>) -> Option<NetmistOutput> {
        Some(output(self.args, r.values))
    }

    fn stop_command(&self, r: &Reading<'_>, suffix: &str) -> String {
        let words = self.args.words();
        netmist_stop_command(words.iter().map(String::as_str), r.sources, suffix)
    }
}

/// Findings about flags and parameters that have no effect.
fn remarks(args: &NetmistArgs, values: &Values) -> Vec<Finding> {
    let note = |text: String| Finding::new(Rule::NotStandard, Severity::Note, text);
    let mut findings = Vec::new();
    for letter in ['r', 'u'] {
        if let (true, Some(flag)) = (args.has(letter), Flag::find(letter)) {
            let help = flag.long_help.trim_end_matches('.');
            findings.push(note(format!("-{letter} ({}): {help}", flag.one_line)));
        }
    }
    for given in values.all() {
        if is_by_tokens(given.parameter) {
            findings.push(note(format!(
                "{} has no effect: the token file defines the work of every client",
                given.shown()
            )));
        } else {
            findings.extend(idle_with(given, "netmist"));
        }
    }
    findings.extend(left_out(values));
    findings
}

/// The distinct workload objects in the order of the lines, and which each line has.
struct Objects {
    distinct: Vec<WorkloadObject>,
    of_line: Vec<u32>,
}

fn objects(lines: &[TokenLine], registry: &Registry) -> Option<Objects> {
    let mut found = Objects {
        distinct: Vec::new(),
        of_line: Vec::new(),
    };
    for line in lines {
        // Reported with the mistakes of the token file, or of the definition.
        let Ok(object) = registry.workload(&line.workload) else {
            return None;
        };
        let same = |o: &WorkloadObject| o.name == object.name;
        let at = found.distinct.iter().position(same).unwrap_or_else(|| {
            found.distinct.push(object.clone());
            found.distinct.len() - 1
        });
        found.of_line.push(at as u32);
    }
    Some(found)
}

/// The clients, and the procs in the order of the lines.
fn deal(
    reports: &mut Reports,
    lines: &[TokenLine],
    objects: &Objects,
    total_rate: Option<f64>,
) -> (Vec<filermark_model::plan::ClientPlan>, Vec<ProcPlan>) {
    let mounts: Vec<ClientMount> = lines
        .iter()
        .map(|l| ClientMount {
            client: l.client.clone(),
            path: l.workdir.clone(),
        })
        .collect();
    let (clients, client_of_line) = procs::clients(&mounts);
    let without = lines.iter().filter(|l| l.oprate.is_none());
    let sharing: u32 = without.map(|l| l.instances).sum();
    let share = total_rate.map(|rate| rate / f64::from(sharing.max(1)));
    if let (Some(rate), 0) = (total_rate, sharing) {
        let text = format!("-O {rate} has no effect: every line of the token file has its Oprate");
        reports.note(Rule::NotStandard, Severity::Note, text);
    }
    let mut instances = vec![0u32; objects.distinct.len()];
    let mut all = Vec::new();
    let of_line = objects.of_line.iter().zip(&client_of_line);
    for (line, (component, client)) in lines.iter().zip(of_line) {
        let name = clients.get(*client as usize).map_or("", |c| &c.name);
        for _ in 0..line.instances {
            let Some(instance) = instances.get_mut(*component as usize) else {
                continue;
            };
            all.push(ProcPlan {
                client: *client,
                mount: procs::mount_point(name, &line.workdir),
                component: *component,
                instance: *instance,
                ops_per_sec: line.oprate.or(share).map(OpsPerSec),
            });
            *instance += 1;
        }
    }
    (clients, all)
}

/// -O search: the rate that procs have before the search sets it; `None`: it is in the lines.
/// The outer `None`: the token file cannot be searched, as reported.
fn search_rate(reports: &mut Reports, lines: &[TokenLine]) -> Option<Option<f64>> {
    let rated = lines.iter().filter(|l| l.oprate.is_some()).count();
    if rated != 0 && rated != lines.len() {
        reports.refuse(
            SourceLocation::Option("-O".into()),
            format!(
                "-O search: {rated} of {} lines of the token file have an Oprate; a search needs it in all of them, or in none",
                lines.len()
            ),
            "give each line its Oprate, whose ratios are kept, or leave all out: equal rates",
        );
        return None;
    }
    let procs: u32 = lines.iter().map(|l| l.instances).sum();
    Some((rated == 0).then_some(f64::from(procs)))
}

/// The search of -O search: op/s in all.
fn search_plan(
    r: &mut Reading<'_>,
    all: &[ProcPlan],
    point: LoadPoint,
    phases: &PhasePlan,
) -> SearchPlan {
    let load = SearchLoad::Rates {
        ops_per_sec: point.requested.0,
    };
    let exact = "-O search: RUN takes the time of -t, also where the data set needs a longer one";
    r.reports
        .note(Rule::DataTouched, Severity::Note, exact.to_owned());
    search::plan(r, all.len() as u64, phases, load)
}

fn differs(given: u32, most: u32) -> Finding {
    let text = format!(
        "-d {given}, but the token file has {} on a client; file sizes follow -d",
        counted(u64::from(most), "proc")
    );
    Finding::new(Rule::Resources, Severity::Warning, text)
}

/// A component per workload object. Its rate is the mean of its procs' rates.
fn components(objects: Objects, all: &[ProcPlan], values: &Values, scale: Scale) -> Vec<Component> {
    let dir_count = values.get(&params::DIR_COUNT).unwrap_or(1);
    let files_per_dir = values.get(&params::FILES_PER_DIR).unwrap_or(1);
    let scaled = scale.file_bytes(u64::from(dir_count) * u64::from(files_per_dir));
    let file_bytes = values.get(&params::FILE_SIZE).unwrap_or(scaled);
    let component = |(number, workload)| {
        let of = || all.iter().filter(|p| p.component == number);
        let instances = of().count() as u32;
        let sum: Option<f64> = of().map(|p| p.ops_per_sec.map(|r| r.0)).sum();
        Component {
            workload,
            instances,
            ops_per_proc: sum.map(|sum| sum / f64::from(instances.max(1))),
            dir_count,
            files_per_dir,
            file_bytes,
            file_sizes: None,
            buckets: MadeBuckets::Reached,
        }
    };
    (0u32..).zip(objects.distinct).map(component).collect()
}

/// netmist as a benchmark: the workloads of the token file, judged by the usual
/// limits (sources.md 3.4).
fn benchmark(work: CompositeWork, registry: &Registry) -> Option<Benchmark> {
    let names: Vec<&str> = work
        .components
        .iter()
        .map(|c| c.workload.name.as_str())
        .collect();
    let names = names.join(", ");
    // The limits that composites have where their definition names none.
    let usual = registry.composite("METADATA").ok()?.standard;
    Some(Benchmark {
        name: "netmist".into(),
        version: 1,
        title: names,
        protocol: Protocol::Posix,
        unit: "PROC".into(),
        standard: Standard {
            block_size_kib: None,
            load_points_min: 1,
            ..usual
        },
        mix: work.mix(),
        work: Work::Composite(work),
        heritage: None,
    })
}

fn point(all: &[ProcPlan]) -> LoadPoint {
    let sum: Option<f64> = all.iter().map(|p| p.ops_per_sec.map(|r| r.0)).sum();
    let requested = OpsPerSec(sum.unwrap_or(0.0));
    LoadPoint {
        number: 1,
        entered: requested,
        requested,
        units: 0.0,
        proc_count: all.len() as u32,
    }
}

/// The interval of heartbeats, when they are to be shown or logged.
fn heartbeat(args: &NetmistArgs, values: &Values) -> Option<Nanos> {
    let every = Nanos::from_secs_f64(values.get(&params::HEARTBEAT_S));
    let wanted = values.get(&params::HEARTBEAT_NOTIFICATIONS) || args.has('q');
    wanted.then_some(every)
}

/// The files of netmist's own outputs.
fn output(args: &NetmistArgs, values: &Values) -> NetmistOutput {
    let path = |text: Option<&str>| text.map(|t| Path::new(t).to_owned());
    NetmistOutput {
        log: path(args.value('l')),
        client_log_dir: values.get(&params::NETMIST_LOGS).map(PathBuf::from),
        heartbeat_log: path(args.value('q')),
        bands: args.has('N'),
    }
}

//! Resolution: all sources together, every mistake at once, one plan out.

use crate::composite::{self, choose::Choice};
use crate::debug::parse_debug;
use crate::error::{ConfigError, quoted};
use crate::given::{Given, Value, Values, check, gather};
use crate::mounts::Form;
use crate::params::{Family, Parameter, Standard};
use crate::reach::{self, Accounts, Reach};
use crate::sources::Sources;
use crate::space;
use crate::stop_command::stop_command;
use crate::{layout, loads, nfs, protocol, smb, trial, workload};
use filermark_model::input::InputFile;
use filermark_model::launch::LaunchPlan;
use filermark_model::plan::{
    Arrivals, DriverPlan, FileSetPlan, IpChoice, Limits, MonitorMode, MonitorPlan, Pacing,
    PacingMode, PhasePlan, STALL_PCNT_STANDARD, Transport,
};
use filermark_model::{Benchmark, Finding, Nanos, Rule, RunPlan, Severity};
use std::path::{Path, PathBuf};

/// The longest SUFFIX; it becomes part of file names.
const SUFFIX_CHARS_MAX: usize = 64;

/// A run plan, and what concerns only the host that the user sits at.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The plan; goes to agents and into the record.
    pub plan: RunPlan,
    /// How the agents come to be on the clients; no part of what is measured.
    pub launch: LaunchPlan,
    /// End of the names of the result files.
    pub suffix: String,
    /// Directory of the result files; may not exist yet.
    pub work_dir: PathBuf,
    /// DEBUG flags, see [`crate::debug_filter`].
    pub debug: Vec<u8>,
    /// The command that removes what the run leaves behind.
    pub stop_command: String,
    /// The files that all this was read from, for the record.
    pub inputs: Vec<InputFile>,
    /// Where netmist's own outputs go, when the user says so.
    pub netmist: Option<NetmistOutput>,
}

/// Outputs of netmist that have no place in the plan, since they change nothing
/// that is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetmistOutput {
    /// Send a copy of the console to this file (`-l`).
    pub log: Option<PathBuf>,
    /// Put the clients' logs into this directory (`-U`, NETMIST_LOGS).
    pub client_log_dir: Option<PathBuf>,
    /// Log every heartbeat to this file (`-q`).
    pub heartbeat_log: Option<PathBuf>,
    /// Show the latency bands (`-N`).
    pub bands: bool,
}

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

pub(crate) fn suffix(values: &Values, errors: &mut Vec<ConfigError>) -> String {
    let suffix = values.text("SUFFIX").unwrap_or_default();
    let ok = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if suffix.len() > SUFFIX_CHARS_MAX || !suffix.chars().all(ok) || suffix.starts_with('.') {
        errors.push(ConfigError::new(
            values.place("SUFFIX"),
            format!(
                "SUFFIX={} cannot be the end of a file name",
                quoted(&suffix)
            ),
            "use letters, digits, '.', '_' and '-', 64 at most, and do not begin with '.'",
        ));
    }
    suffix
}

pub(crate) fn debug(values: &Values, errors: &mut Vec<ConfigError>) -> Vec<u8> {
    let text = values.text("DEBUG").unwrap_or_default();
    parse_debug(&text).unwrap_or_else(|why| {
        let message = format!("DEBUG={}: {why}", quoted(&text));
        let hint = "give numbers and ranges, e.g. DEBUG=3,4,8-10";
        errors.push(ConfigError::new(values.place("DEBUG"), message, hint));
        Vec::new()
    })
}

pub(crate) fn monitor(
    values: &Values,
    sources: &Sources,
    errors: &mut Vec<ConfigError>,
) -> Option<MonitorPlan> {
    let name = values.text("PRIME_MON_SCRIPT")?;
    let beside = sources.folder().join(&name);
    let script = if beside.is_file() {
        // A bare name would be looked for in PATH.
        match beside.parent() == Some(Path::new("")) {
            true => Path::new(".").join(&beside),
            false => beside,
        }
    } else {
        if name.contains('/') {
            errors.push(ConfigError::new(
                values.place("PRIME_MON_SCRIPT"),
                format!(
                    "the program {} is not there",
                    quoted(&beside.display().to_string())
                ),
                "give its path from the rc file's folder or from /, or a name in PATH",
            ));
        }
        PathBuf::from(name)
    };
    let mode = match values.word("PRIME_MON_MODE") {
        "phases" => MonitorMode::Phases,
        _ => MonitorMode::Program,
    };
    Some(MonitorPlan {
        script: script.display().to_string(),
        args: values.list("PRIME_MON_ARGS"),
        mode,
        limit: (mode == MonitorMode::Phases).then(|| script_limit(values)),
    })
}

/// Parts of words that name a secret, in lower case.
const SECRET_WORDS: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "community",
    "api-key",
    "apikey",
    "api_key",
];

/// That the monitor's arguments look like a password: they are published with the result.
pub(crate) fn secret_note(plan: &RunPlan) -> Option<Finding> {
    let args = &plan.monitor.as_ref()?.args;
    let names_secret = |arg: &String| {
        let arg = arg.to_lowercase();
        SECRET_WORDS.iter().any(|word| arg.contains(word))
    };
    // Many programs take a password so; a port is a number.
    let is_value =
        |value: &str| !value.starts_with(['-', '/', '.']) && value.parse::<f64>().is_err();
    let is_after_p =
        |pair: &[String]| ["-p", "-P"].contains(&pair[0].as_str()) && is_value(&pair[1]);
    // USER:PASSWORD in a URL.
    let is_in_url = |arg: &String| {
        let authority = arg.split_once("://").map(|(_, rest)| rest);
        let authority = authority.and_then(|rest| rest.split('/').next());
        let user = authority.and_then(|a| a.rsplit_once('@'));
        user.is_some_and(|(user, _)| user.contains(':'))
    };
    let found = args.iter().any(|arg| names_secret(arg) || is_in_url(arg))
        || args.windows(2).any(is_after_p);
    found.then(|| {
        let text = "PRIME_MON_ARGS looks like a password or key: the arguments are in the run \
                    record, and what the program prints is in the record and in sfslog; put \
                    secrets into a file that the program reads";
        Finding::new(Rule::Script, Severity::Note, text.to_owned())
    })
}

/// How long one call of a script may take.
pub(crate) fn script_limit(values: &Values) -> Nanos {
    Nanos::from_secs_f64(values.real("SCRIPT_LIMIT_S").unwrap_or(60.0))
}

pub(crate) fn pacing(values: &Values) -> Pacing {
    Pacing {
        mode: match values.word("PACING") {
            "open" => PacingMode::Open,
            _ => PacingMode::Closed,
        },
        arrivals: match values.word("ARRIVALS") {
            "poisson" => Arrivals::Poisson,
            _ => Arrivals::Uniform,
        },
        backlog_max_per_proc: values.int32("BACKLOG_MAX").unwrap_or(1),
    }
}

pub(crate) fn phases(values: &Values, definition: &Benchmark) -> PhasePlan {
    let seconds = |name: &str, other: f64| Nanos::from_secs_f64(values.real(name).unwrap_or(other));
    let until_steady = values.word("WARMUP_TIME") == "auto";
    PhasePlan {
        warmup: match until_steady {
            true => Nanos::from_secs(values.int("WARMUP_TIME_MAX").unwrap_or(300)),
            false => seconds("WARMUP_TIME", definition.standard.warmup_s),
        },
        warmup_until_steady: until_steady,
        runtime: seconds("RUNTIME", definition.standard.runtime_s),
        runtime_max: None,
        init_timeout: seconds("INIT_TIMEOUT", 8_000.0),
    }
}

pub(crate) fn limits(values: &Values, definition: &Benchmark) -> Limits {
    let s = &definition.standard;
    let real = |name: &str, other: f64| values.real(name).unwrap_or(other);
    Limits {
        response_ms: real("RESPONSE_LIMIT_MS", s.response_limit_ms),
        achieved_pcnt_min: real("ACHIEVED_PCNT_MIN", s.achieved_pcnt_min),
        proc_pcnt_min: real("PROC_PCNT_MIN", s.proc_pcnt_min),
        mix_deviation_pcnt_max: real("MIX_DEVIATION_MAX", s.mix_deviation_pcnt_max),
        error_pcnt_max: real("ERROR_PCNT_MAX", s.error_pcnt_invalid),
        component_variance_pcnt_max: s.component_variance_pcnt_max,
        stall_pcnt_max: real("STALL_PCNT_MAX", STALL_PCNT_STANDARD),
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

/// Assignments that do not count: a later one in the same source has replaced them, or
/// no parameter has their name.
pub(crate) fn left_out(values: &Values) -> impl Iterator<Item = Finding> {
    let note = |text: String| Finding::new(Rule::NotStandard, Severity::Note, text);
    let replaced = values.replaced.iter().map(move |(old, by)| {
        note(format!(
            "{} ({}) is replaced by {by}",
            old.shown(),
            old.place
        ))
    });
    let unknown = values.unknown.iter().map(move |a| {
        note(format!(
            "there is no parameter {} ({}); IGNORE_UNKNOWN=on leaves it out",
            quoted(&a.name),
            a.place
        ))
    });
    replaced.chain(unknown)
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

/// Whether a value switches something off that does nothing here anyway.
pub(crate) fn is_idle(given: &Given) -> bool {
    ["0", "off", "no"].contains(&given.raw.as_str())
}

/// A parameter that the standard fixes and that has another value.
pub(crate) fn not_standard(given: &Given, definition: &Benchmark) -> Option<Finding> {
    let p: &Parameter = given.parameter;
    let standard = p.standard_text(definition)?;
    let fixed = match p.standard {
        Standard::Unset => None,
        _ => check(p, &standard).ok(),
    };
    if fixed.is_some() && fixed == given.value {
        return None;
    }
    let text = format!("not standard: {} (standard: {standard})", given.shown());
    let finding = Finding::new(Rule::NotStandard, Severity::Warning, text);
    let number = |v: &Option<Value>| match v {
        Some(Value::Int(n)) => Some(*n as f64),
        Some(Value::Real(x)) => Some(*x),
        _ => None,
    };
    Some(match (number(&given.value), number(&fixed)) {
        (Some(value), Some(limit)) => {
            let source = format!("{} version {}", definition.name, definition.version);
            finding.with_limit(value, limit, &source)
        }
        _ => finding,
    })
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

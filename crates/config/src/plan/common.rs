//! Parts of the plan that runs of every kind have, and the findings about parameters in all
//! of them.

use crate::debug::parse_debug;
use crate::error::quoted;
use crate::given::{GivenValue, Values, check};
use crate::params::{self, Param, Parameter, StandardValue, Value, WarmUp};
use crate::reading::Reading;
use crate::reading::reuse;
use filermark_model::plan::{
    DriverPlan, FileSetPlan, Limits, LoadPoint, MonitorMode, MonitorPlan, Pacing, PhasePlan,
    Transport,
};
use filermark_model::{Benchmark, Finding, Nanos, Rule, RunPlan, Severity};
use std::path::{Path, PathBuf};

/// The longest SUFFIX; it becomes part of file names.
const SUFFIX_CHARS_MAX: usize = 64;

pub(crate) fn suffix(r: &mut Reading<'_>) -> String {
    let suffix = r.values.get(&params::SUFFIX);
    let ok = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if suffix.len() > SUFFIX_CHARS_MAX || !suffix.chars().all(ok) || suffix.starts_with('.') {
        r.refuse(
            &params::SUFFIX,
            format!(
                "SUFFIX={} cannot be the end of a file name",
                quoted(&suffix)
            ),
            "use letters, digits, '.', '_' and '-', 64 at most, and do not begin with '.'",
        );
    }
    suffix
}

pub(crate) fn debug(r: &mut Reading<'_>) -> Vec<u8> {
    let text = r.values.get(&params::DEBUG).unwrap_or_default();
    parse_debug(&text).unwrap_or_else(|why| {
        let message = format!("DEBUG={}: {why}", quoted(&text));
        let hint = "give numbers and ranges, e.g. DEBUG=3,4,8-10";
        r.refuse(&params::DEBUG, message, hint);
        Vec::new()
    })
}

pub(crate) fn monitor(r: &mut Reading<'_>) -> Option<MonitorPlan> {
    let (values, sources) = (r.values, r.sources);
    let name = values.get(&params::PRIME_MON_SCRIPT)?;
    let beside = sources.folder().join(&name);
    let script = if beside.is_file() {
        // A bare name would be searched in PATH.
        match beside.parent() == Some(Path::new("")) {
            true => Path::new(".").join(&beside),
            false => beside,
        }
    } else {
        if name.contains('/') {
            r.refuse(
                &params::PRIME_MON_SCRIPT,
                format!(
                    "the program {} does not exist",
                    quoted(&beside.display().to_string())
                ),
                "give its path from the rc file's folder or from /, or a name in PATH",
            );
        }
        PathBuf::from(name)
    };
    let mode = values.get(&params::PRIME_MON_MODE);
    Some(MonitorPlan {
        script: script.display().to_string(),
        args: values.get(&params::PRIME_MON_ARGS),
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

/// A note that the monitor's arguments look like a password: they are published with the result.
pub(crate) fn secret_note(plan: &RunPlan) -> Option<Finding> {
    let args = &plan.monitor.as_ref()?.args;
    let names_secret = |arg: &String| {
        let arg = arg.to_lowercase();
        SECRET_WORDS.iter().any(|word| arg.contains(word))
    };
    // Many programs take a password in this form; a port is a number.
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
    Nanos::from_secs_f64(values.get(&params::SCRIPT_LIMIT_S))
}

pub(crate) fn pacing(values: &Values) -> Pacing {
    Pacing {
        mode: values.get(&params::PACING),
        arrivals: values.get(&params::ARRIVALS),
        backlog_max_per_proc: values.get(&params::BACKLOG_MAX),
    }
}

pub(crate) fn phases(values: &Values, definition: &Benchmark) -> PhasePlan {
    let standard = PhasePlan::of(&definition.standard);
    let seconds = Nanos::from_secs_f64;
    let warm_up = values.get(&params::WARMUP_TIME);
    PhasePlan {
        warmup: match warm_up {
            Some(WarmUp::Auto) => Nanos::from_secs(values.get(&params::WARMUP_TIME_MAX)),
            Some(WarmUp::Seconds(s)) => seconds(s),
            None => standard.warmup,
        },
        warmup_until_steady: warm_up == Some(WarmUp::Auto),
        runtime: values
            .get(&params::RUNTIME)
            .map_or(standard.runtime, seconds),
        init_timeout: seconds(values.get(&params::INIT_TIMEOUT)),
        ..standard
    }
}

pub(crate) fn limits(values: &Values, definition: &Benchmark) -> Limits {
    let standard = Limits::of(&definition.standard);
    let real = |p: &Param<Option<f64>>, other: f64| values.get(p).unwrap_or(other);
    Limits {
        response_ms: real(&params::RESPONSE_LIMIT_MS, standard.response_ms),
        achieved_pcnt_min: real(&params::ACHIEVED_PCNT_MIN, standard.achieved_pcnt_min),
        proc_pcnt_min: real(&params::PROC_PCNT_MIN, standard.proc_pcnt_min),
        mix_deviation_pcnt_max: real(&params::MIX_DEVIATION_MAX, standard.mix_deviation_pcnt_max),
        error_pcnt_max: real(&params::ERROR_PCNT_MAX, standard.error_pcnt_max),
        component_variance_pcnt_max: match definition.composite() {
            Some(_) => real(
                &params::COMPONENT_VARIANCE_MAX,
                standard.component_variance_pcnt_max,
            ),
            None => standard.component_variance_pcnt_max,
        },
        stall_pcnt_max: values.get(&params::STALL_PCNT_MAX),
    }
}

pub(crate) fn fileset(
    values: &Values,
    benchmark: &Benchmark,
    driver: &DriverPlan,
    points: &[LoadPoint],
    touch_all: bool,
) -> FileSetPlan {
    let is_composite = benchmark.composite().is_some();
    let mib = match points {
        [point] if point.is_max() && !is_composite => values.get(&params::FILESET_MB),
        _ => 0,
    };
    FileSetPlan {
        keep: values.get(&params::KEEP),
        reuse: match is_composite {
            true => reuse(values),
            false => values.get(&params::REUSE),
        },
        verify: values.get(&params::VERIFY),
        init_window: init_window(values, driver.facts().transport),
        sharing: is_composite && values.get(&params::SHARING_MODE),
        access_list: is_composite && values.get(&params::FILE_ACCESS_LIST),
        touch_all,
        mib,
    }
}

/// Over UDP fewer operations under way make the file set, unless the user sets how many:
/// what does not fit into the server's socket buffer is lost, and waits for a time-out.
fn init_window(values: &Values, transport: Option<Transport>) -> u32 {
    const DATAGRAMS: u32 = 4;
    let window = values.get(&params::INIT_WINDOW);
    match (transport, values.given(&params::INIT_WINDOW)) {
        (Some(Transport::Udp), None) => window.min(DATAGRAMS),
        _ => window,
    }
}

/// Assignments without effect: a later one in the same source has replaced them, or
/// no parameter has their name.
pub(crate) fn left_out(values: &Values) -> impl Iterator<Item = Finding> {
    let note = |text: String| Finding::new(Rule::NotStandard, Severity::Note, text);
    let replaced = values.replaced.iter().map(move |(old, by)| {
        note(format!(
            "{} ({}) is replaced by {by}",
            old.shown(),
            old.location
        ))
    });
    let unknown = values.unknown.iter().map(move |a| {
        note(format!(
            "there is no parameter {} ({}); IGNORE_UNKNOWN=on leaves it out",
            quoted(&a.name),
            a.location
        ))
    });
    replaced.chain(unknown)
}

/// Whether a value switches off a function that does not exist here.
pub(crate) fn is_idle(given: &GivenValue) -> bool {
    ["0", "off", "no"].contains(&given.raw.as_str())
}

/// A parameter that the standard fixes and that has another value.
pub(crate) fn not_standard(given: &GivenValue, definition: &Benchmark) -> Option<Finding> {
    let p: &Parameter = given.parameter;
    let standard = p.standard_text(definition)?;
    let fixed = match p.standard {
        StandardValue::Unset => None,
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

//! The protocol of a classical run: FS_PROTOCOL, BENCHMARK, BENCHMARK_FILE, DRIVER and a
//! driver's own parameter choose it, each independently, and must agree.

use crate::drivers::{driver_of_word, drivers, protocols};
use crate::error::quoted;
use crate::given::Values;
use crate::params::{self, DriverWord, Parameter};
use crate::reading::Reading;
use filermark_model::Benchmark;
use filermark_model::benchmark::Protocol;

/// The protocol where nothing chooses one: that of the default benchmark.
pub(crate) const DEFAULT: Protocol = Protocol::Nfs3;

/// The protocol that a driver's own parameter chooses.
fn version(values: &Values) -> Option<Protocol> {
    let mut choices = drivers().filter_map(|driver| driver.version.as_ref());
    choices.find_map(|choice| (choice.protocol)(values))
}

/// The protocol that FS_PROTOCOL chooses; among several with this word, the driver's own
/// parameter, or else the latest.
fn given(values: &Values) -> Option<Protocol> {
    values.given(&params::FS_PROTOCOL)?;
    let DriverWord(word) = values.get(&params::FS_PROTOCOL);
    let has_word = |p: &Protocol| p.decl().fs_word == Some(word);
    let chosen = version(values).filter(has_word);
    chosen.or(protocols().rev().find(has_word))
}

/// The protocol that DRIVER or a driver's own parameter chooses: the older one if both do.
fn by_driver(values: &Values) -> Option<Protocol> {
    let word = values.get(&params::DRIVER);
    let has_word = |p: &Protocol| word.is_some_and(|word| p.decl().driver_word == word.0);
    let of_word = protocols().rev().find(has_word);
    let of_word = of_word.filter(|p| p.decl().benchmark.is_some());
    let both = [of_word, version(values)];
    let same_driver = |p: &Protocol| of_word.is_none_or(|of| of.driver() == p.driver());
    protocols().find(|p| both.contains(&Some(*p)) && same_driver(p))
}

/// The name of the benchmark: BENCHMARK, or that of the protocol.
pub(crate) fn benchmark_name(values: &Values) -> String {
    if values.given(&params::BENCHMARK).is_some() {
        return values.get(&params::BENCHMARK);
    }
    let protocol = given(values).or_else(|| by_driver(values));
    let name = protocol.unwrap_or(DEFAULT).decl().benchmark;
    name.or(DEFAULT.decl().benchmark)
        .unwrap_or_default()
        .to_owned()
}

/// The protocol of a run; where its definition is wrong, as reported, the one that is probably
/// meant.
pub(crate) fn of(values: &Values, definition: Option<&Benchmark>) -> Protocol {
    if let Some(definition) = definition {
        return definition.protocol;
    }
    let name = benchmark_name(values);
    let by_name = || {
        let is_standard = |p: &Protocol| p.decl().benchmark == Some(name.as_str());
        let begins = |p: &Protocol| name.starts_with(&format!("{}-", p.decl().driver_word));
        protocols().find(|p| is_standard(p) || begins(p))
    };
    given(values).or_else(by_name).unwrap_or(DEFAULT)
}

/// Refuses what does not fit the protocol of the definition.
pub(crate) fn refuse(r: &mut Reading<'_>, definition: &Benchmark) {
    let values = r.values;
    let is = definition.protocol;
    let of = format!(
        "the benchmark {} is for {}",
        quoted(&definition.name),
        is.decl().title
    );
    let mut error = |parameter: &Parameter, hint: &str| {
        let shown = values.given(parameter).map(|g| g.shown());
        let message = format!("{}, but {of}", shown.unwrap_or_default());
        r.refuse(parameter, message, hint);
    };
    let chosen = given(values).filter(|_| !values.is_bad(&params::FS_PROTOCOL));
    if chosen.is_some_and(|chosen| chosen.decl().fs_word != is.decl().fs_word) {
        error(
            &params::FS_PROTOCOL,
            "leave FS_PROTOCOL or the benchmark out",
        );
    }
    for choice in drivers().filter_map(|driver| driver.version.as_ref()) {
        let chosen = (choice.protocol)(values).filter(|_| !values.is_bad(choice.parameter));
        let is_other = |chosen: Protocol| chosen.driver() == is.driver() && chosen != is;
        if chosen.is_some_and(is_other) && !(choice.fits)(values, is) {
            let hint = format!(
                "leave {} or the benchmark out: every benchmark has its version",
                choice.parameter.name
            );
            error(choice.parameter, &hint);
        }
    }
    let word = values.get(&params::DRIVER);
    let of_classic = |word: &DriverWord| driver_of_word(*word).is_some_and(|d| d.mounts.is_some());
    let fits = word
        .filter(of_classic)
        .is_none_or(|w| w.0 == is.decl().driver_word);
    if !fits {
        error(
            &params::DRIVER,
            "leave DRIVER out: it follows from the benchmark",
        );
    }
    if is.decl().benchmark.is_none() {
        let hint = "write it as a composite: [[benchmark]] and [[workload]] tables";
        let message = format!("{of}, which classical benchmarks do not work on");
        r.refuse(&params::BENCHMARK_FILE, message, hint);
    }
}

//! The declaration of a parameter.

use filermark_model::Benchmark;
use filermark_model::benchmark::{FileSetRule, Protocol, Work};
use filermark_model::plan::DriverPlan;
use std::fmt;
use std::sync::LazyLock;

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in rc files and after `-o`.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// The chapter that it is in.
    pub group: Group,
    /// What its values look like.
    pub kind: Kind,
    /// Its value when it is not given; empty: none, or the benchmark's.
    pub default: &'static str,
    /// Its value in a standard run.
    pub standard: StandardValue,
    /// A value to show in the template, for parameters that have no default.
    pub example: &'static str,
    /// What it is, in one line.
    pub one_line: &'static str,
    /// Further details.
    pub long_help: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// Which benchmarks it has an effect with.
    pub scope: Scope,
}

/// Which benchmarks a parameter has an effect with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Every,
    /// Classical ones, whose driver implements the protocol itself.
    Classic,
    /// Classical ones whose protocol belongs to the driver of this name.
    Driver(&'static str),
    /// Composites, which work on mounted file systems.
    Composite,
}

/// The kind of a run, as far as parameters differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A classical benchmark of this protocol.
    Classic(Protocol),
    /// A composite.
    Composite,
}

impl Family {
    /// The family of a benchmark.
    pub fn of(benchmark: &Benchmark) -> Self {
        match &benchmark.work {
            Work::Composite(_) => Self::Composite,
            Work::Classic(_) => Self::Classic(benchmark.protocol),
        }
    }
}

impl Scope {
    /// Whether it includes benchmarks of a family.
    pub fn holds(self, family: Family) -> bool {
        match (self, family) {
            (Self::Every, _) | (Self::Classic, Family::Classic(_)) => true,
            (Self::Driver(name), Family::Classic(protocol)) => protocol.driver() == name,
            (Self::Composite, family) => family == Family::Composite,
            (Self::Classic | Self::Driver(_), Family::Composite) => false,
        }
    }
}

/// What the values of a parameter look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text on one line.
    Text,
    /// A text that no message and no record may show.
    Secret,
    /// The path of a file or directory.
    Path,
    /// Words between blanks.
    List,
    /// on or off.
    Switch,
    /// One of the words by which drivers are chosen.
    Words(WordList),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number within bounds, and its unit.
    Int(u64, u64, &'static str),
    /// A number within bounds, and its unit.
    Real(f64, f64, &'static str),
    /// An amount of data within bounds, in bytes, written with k, m, g or t.
    Size(u64, u64),
    /// This word or a whole number within bounds.
    WordOrInt(&'static str, u64, u64),
    /// This word or a number within bounds, and its unit.
    WordOrReal(&'static str, f64, f64, &'static str),
}

/// The words by which drivers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordList {
    /// Those of DRIVER: of its protocols, and the name of a driver without protocols.
    Drivers,
    /// Those of FS_PROTOCOL.
    Protocols,
}

impl WordList {
    /// The words, in the order of the protocols, each once.
    pub fn words(self) -> &'static [&'static str] {
        static DRIVERS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
            let mut words: Vec<_> = protocols().map(|p| p.decl().driver_word).collect();
            let names = DriverPlan::defaults().into_iter().map(|plan| plan.name());
            words.extend(names.filter(|name| protocols().all(|p| p.driver() != *name)));
            words.dedup();
            words
        });
        static PROTOCOLS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
            let mut words: Vec<_> = protocols().filter_map(|p| p.decl().fs_word).collect();
            words.dedup();
            words
        });
        match self {
            Self::Drivers => &DRIVERS,
            Self::Protocols => &PROTOCOLS,
        }
    }
}

fn protocols() -> impl Iterator<Item = Protocol> {
    Protocol::ALL.iter().copied()
}

/// The value of a parameter in a standard run.
#[derive(Clone, Copy, Debug)]
pub enum StandardValue {
    /// Anything: the run stays standard.
    Any,
    /// This value.
    Fixed(&'static str),
    /// This value, but for benchmarks after an older generation, which leave it free.
    FixedButOlder(&'static str),
    /// The figure of the benchmark's definition.
    Benchmark(fn(&Benchmark) -> f64),
    /// The figure of the benchmark's definition, where it has one.
    FigureOrFree(fn(&Benchmark) -> Option<f64>),
    /// The word that follows from the benchmark.
    Choice(fn(&Benchmark) -> &'static str),
    /// Not set.
    Unset,
    /// Filermark accepts and ignores it.
    NoEffect,
    /// Not built yet: any value is refused.
    Refused,
}

/// Chapters of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Load points, clients, procs, mount points.
    Load,
    /// How client hosts are reached.
    Clients,
    /// The server and the login.
    Server,
    /// What a proc does.
    Workload,
    /// Durations and pacing.
    Time,
    /// RPC and connections.
    Transport,
    /// Result files and monitoring.
    Output,
    /// Limits by which a load point is judged.
    Limits,
    /// Names known from earlier generations that have no effect here, or are not built yet.
    Legacy,
}

impl Group {
    /// All, in the order of the reference.
    pub const ALL: &'static [Self] = &[
        Self::Load,
        Self::Clients,
        Self::Server,
        Self::Output,
        Self::Time,
        Self::Workload,
        Self::Transport,
        Self::Limits,
        Self::Legacy,
    ];

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Load => "Load, clients and mount points",
            Self::Clients => "Client hosts and how they are reached",
            Self::Server => "The server and how to get in",
            Self::Output => "Result files and monitoring",
            Self::Time => "Durations and pacing",
            Self::Workload => "Workload and file set",
            Self::Transport => "Transfers, connections and time-outs",
            Self::Limits => "Limits that judge a load point",
            Self::Legacy => "Known from earlier generations, without effect or not built yet",
        }
    }
}

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// rc files of the generations before 2008; the names are recollected.
    Older,
    /// The rc file of the 2008 generation.
    Classic2008,
    /// The rc file of the 2014 generation (sources.md 3.1).
    Rc2014,
    /// The rc file of the 2020 generation (sources.md 3.2).
    Rc2020,
    /// Filermark's own, and the version it came with.
    Filermark(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older => f.write_str("rc files before 2008"),
            Self::Classic2008 => f.write_str("2008 rc file"),
            Self::Rc2014 => f.write_str("2014 rc file"),
            Self::Rc2020 => f.write_str("2020 rc file"),
            Self::Filermark(since) => write!(f, "Filermark, since {since}"),
        }
    }
}

impl Parameter {
    /// Its name comes with [`super::Param::new`].
    pub(crate) const fn new(group: Group, kind: Kind, one_line: &'static str) -> Self {
        Self {
            name: "",
            aliases: &[],
            group,
            kind,
            default: "",
            standard: StandardValue::Any,
            example: "",
            one_line,
            long_help: "",
            origin: Origin::Classic2008,
            scope: Scope::Every,
        }
    }
    /// What a parameter that is refused says instead of what it does.
    pub(crate) fn instead(&self) -> &'static str {
        let words = self.one_line.strip_prefix("Refused: ");
        words.unwrap_or(self.one_line)
    }
    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }
    pub(crate) const fn standard(mut self, standard: StandardValue) -> Self {
        self.standard = standard;
        self
    }
    pub(crate) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }
    pub(crate) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    pub(crate) const fn help(mut self, long_help: &'static str) -> Self {
        self.long_help = long_help;
        self
    }
    pub(crate) const fn classic(mut self) -> Self {
        self.scope = Scope::Classic;
        self
    }
    pub(crate) const fn of_driver(mut self, name: &'static str) -> Self {
        self.scope = Scope::Driver(name);
        self
    }
    pub(crate) const fn composite(mut self, origin: Origin) -> Self {
        self.scope = Scope::Composite;
        self.origin = origin;
        self
    }
    pub(crate) const fn of_2014(mut self) -> Self {
        self.origin = Origin::Rc2014;
        self
    }
    pub(crate) const fn older(mut self) -> Self {
        self.origin = Origin::Older;
        self
    }
    pub(crate) const fn own(mut self) -> Self {
        self.origin = Origin::Filermark("0.1");
        self
    }

    /// Whether it is this parameter.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.name == other.name
    }

    /// The value a run has when nothing is given, under a benchmark; `None`: not set.
    pub fn default_text(&self, benchmark: &Benchmark) -> Option<String> {
        match self.standard {
            StandardValue::Benchmark(value) => figure(value(benchmark)),
            StandardValue::FigureOrFree(value) => value(benchmark).and_then(figure),
            StandardValue::Choice(word) => Some(word(benchmark).to_owned()),
            _ if self.default.is_empty() => None,
            _ => Some(self.default.to_owned()),
        }
    }

    /// What a standard run has, as text, under a benchmark; `None`: it is free.
    pub fn standard_text(&self, benchmark: &Benchmark) -> Option<String> {
        match self.standard {
            StandardValue::Fixed(text) => Some(text.to_owned()),
            StandardValue::Benchmark(value) => figure(value(benchmark)),
            StandardValue::FigureOrFree(value) => value(benchmark).and_then(figure),
            StandardValue::Choice(word) => Some(word(benchmark).to_owned()),
            StandardValue::FixedButOlder(text) => {
                benchmark.heritage.is_none().then(|| text.to_owned())
            }
            StandardValue::Unset => Some("not set".to_owned()),
            StandardValue::Any | StandardValue::NoEffect | StandardValue::Refused => None,
        }
    }

    /// Whether a change of it makes a run not standard.
    pub const fn is_fixed(&self) -> bool {
        matches!(
            self.standard,
            StandardValue::Fixed(_)
                | StandardValue::FixedButOlder(_)
                | StandardValue::Benchmark(_)
                | StandardValue::FigureOrFree(_)
                | StandardValue::Choice(_)
                | StandardValue::Unset
        )
    }
}

/// A figure of a classical benchmark's file set; not a number for composites.
pub(super) fn rule(benchmark: &Benchmark, figure: fn(&FileSetRule) -> f64) -> f64 {
    benchmark.classic().map_or(f64::NAN, |c| figure(&c.fileset))
}

/// A figure as text; `None`: this benchmark has no such figure.
fn figure(value: f64) -> Option<String> {
    (!value.is_nan()).then(|| value.to_string())
}

//! The parameters: one declaration each. The parser, the help, the template,
//! the reference page and the not-standard findings are all made from it.

mod classic;
mod composite;
mod own;
mod reach;
mod smb;

pub(crate) use classic::{LOAD_MAX, PROCS_MAX, RUNS_MAX};

use filermark_model::Benchmark;
use filermark_model::benchmark::{FileSetRule, Protocol, Work};
use std::fmt;

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in rc files and after `-o`.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// The chapter it stands in.
    pub group: Group,
    /// What its values look like.
    pub kind: Kind,
    /// Its value when it is not given; empty: none, or the benchmark's.
    pub default: &'static str,
    /// What a standard run keeps it at.
    pub standard: Standard,
    /// A value to show in the template, for parameters that have no default.
    pub example: &'static str,
    /// What it is, in one line.
    pub one_line: &'static str,
    /// What else there is to know.
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
    /// Classical ones, whose driver speaks the protocol itself: NFS and SMB.
    Classic,
    /// Classical ones over NFS.
    Nfs,
    /// Classical ones over SMB.
    Smb,
    /// Composites, which work on mounted file systems.
    Composite,
}

/// What a run is about, as far as parameters differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A classical benchmark over NFS.
    Nfs,
    /// A classical benchmark over SMB, of either generation.
    Smb,
    /// A composite.
    Composite,
}

impl Family {
    /// That of a benchmark.
    pub fn of(benchmark: &Benchmark) -> Self {
        match (&benchmark.work, benchmark.protocol) {
            (Work::Composite(_), _) => Self::Composite,
            (Work::Classic(_), Protocol::Smb1 | Protocol::Smb2) => Self::Smb,
            (Work::Classic(_), Protocol::Nfs2 | Protocol::Nfs3 | Protocol::Posix) => Self::Nfs,
        }
    }
}

impl Scope {
    /// Whether it takes in benchmarks of a family.
    pub fn holds(self, family: Family) -> bool {
        match self {
            Self::Every => true,
            Self::Classic => family != Family::Composite,
            Self::Nfs => family == Family::Nfs,
            Self::Smb => family == Family::Smb,
            Self::Composite => family == Family::Composite,
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

/// What a standard run keeps a parameter at.
#[derive(Clone, Copy, Debug)]
pub enum Standard {
    /// Anything: the run stays standard.
    Free,
    /// This value.
    Fixed(&'static str),
    /// This value, but for benchmarks after an older generation, which leave it free.
    FixedButOlder(&'static str),
    /// What the benchmark's definition says.
    Benchmark(fn(&Benchmark) -> f64),
    /// What the benchmark's definition says, where it says something.
    FigureOrFree(fn(&Benchmark) -> Option<f64>),
    /// The word that follows from the benchmark.
    Word(fn(&Benchmark) -> &'static str),
    /// Not set.
    Unset,
    /// Filermark accepts it and does nothing with it.
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
    /// The server and how to get in.
    Server,
    /// What a proc does.
    Workload,
    /// Durations and pacing.
    Time,
    /// RPC and connections.
    Transport,
    /// Result files and monitoring.
    Output,
    /// What a load point is judged by.
    Limits,
    /// Names known from earlier generations that do nothing here, or not yet.
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
    /// The rc file of the 2014 generation (facts.md 3.1).
    Rc2014,
    /// The rc file of the 2020 generation (facts.md 3.2).
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
    const fn new(name: &'static str, group: Group, kind: Kind, one_line: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            group,
            kind,
            default: "",
            standard: Standard::Free,
            example: "",
            one_line,
            long_help: "",
            origin: Origin::Classic2008,
            scope: Scope::Every,
        }
    }
    const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }
    const fn standard(mut self, standard: Standard) -> Self {
        self.standard = standard;
        self
    }
    const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }
    const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    const fn help(mut self, long_help: &'static str) -> Self {
        self.long_help = long_help;
        self
    }
    const fn classic(mut self) -> Self {
        self.scope = Scope::Classic;
        self
    }
    const fn nfs(mut self) -> Self {
        self.scope = Scope::Nfs;
        self
    }
    const fn smb(mut self) -> Self {
        self.scope = Scope::Smb;
        self
    }
    const fn composite(mut self, origin: Origin) -> Self {
        self.scope = Scope::Composite;
        self.origin = origin;
        self
    }
    const fn older(mut self) -> Self {
        self.origin = Origin::Older;
        self
    }
    const fn own(mut self) -> Self {
        self.origin = Origin::Filermark("0.1");
        self
    }

    /// All of them: the 2008 ones in their classical order, those of composite
    /// benchmarks, those of client hosts, Filermark's own, then those of SMB.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        let known = classic::PARAMETERS.iter().chain(composite::PARAMETERS);
        let known = known.chain(reach::PARAMETERS).chain(own::PARAMETERS);
        known.chain(smb::PARAMETERS)
    }

    /// Looks one up by name or alias (upper case, as in rc files).
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|p| p.name == name || p.aliases.contains(&name))
    }

    /// The value a run has when nothing is given, under a benchmark; `None`: not set.
    pub fn default_text(&self, benchmark: &Benchmark) -> Option<String> {
        match self.standard {
            Standard::Benchmark(value) => figure(value(benchmark)),
            Standard::FigureOrFree(value) => value(benchmark).and_then(figure),
            Standard::Word(word) => Some(word(benchmark).to_owned()),
            _ if self.default.is_empty() => None,
            _ => Some(self.default.to_owned()),
        }
    }

    /// What a standard run has, as text, under a benchmark; `None`: it is free.
    pub fn standard_text(&self, benchmark: &Benchmark) -> Option<String> {
        match self.standard {
            Standard::Fixed(text) => Some(text.to_owned()),
            Standard::Benchmark(value) => figure(value(benchmark)),
            Standard::FigureOrFree(value) => value(benchmark).and_then(figure),
            Standard::Word(word) => Some(word(benchmark).to_owned()),
            Standard::FixedButOlder(text) => benchmark.heritage.is_none().then(|| text.to_owned()),
            Standard::Unset => Some("not set".to_owned()),
            Standard::Free | Standard::NoEffect | Standard::Refused => None,
        }
    }

    /// Whether a change of it makes a run not standard.
    pub const fn is_fixed(&self) -> bool {
        matches!(
            self.standard,
            Standard::Fixed(_)
                | Standard::FixedButOlder(_)
                | Standard::Benchmark(_)
                | Standard::FigureOrFree(_)
                | Standard::Word(_)
                | Standard::Unset
        )
    }
}

/// A figure of a classical benchmark's file set; not a number for composites.
fn rule(benchmark: &Benchmark, figure: fn(&FileSetRule) -> f64) -> f64 {
    benchmark.classic().map_or(f64::NAN, |c| figure(&c.fileset))
}

/// The same as text; `None`: this benchmark has no such figure.
fn figure(value: f64) -> Option<String> {
    (!value.is_nan()).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::check;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_text_is_there() {
        let mut seen = BTreeSet::new();
        for p in Parameter::all() {
            for name in std::iter::once(&p.name).chain(p.aliases) {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(Parameter::find(name).unwrap().name, p.name);
            }
            assert!(!p.one_line.is_empty() && !p.one_line.ends_with('.'));
            assert!(p.one_line.len() <= 76, "{}: one line too long", p.name);
        }
        assert!(Parameter::find("load").is_none());
    }

    #[test]
    fn the_2008_parameters_of_the_facts_are_all_known() {
        let names = "LOAD INCR_LOAD NUM_RUNS PROCS NUM_PROCS CLIENTS MNT_POINTS BIOD_MAX_WRITES \
             BIOD_MAX_READS IPV6_ENABLE FS_PROTOCOL USERNAME PASSWORD DOMAIN SFS_DIR SUFFIX \
             WORK_DIR PRIME_MON_SCRIPT PRIME_MON_ARGS INIT_TIMEOUT BLOCK_SIZE SFS_NFS_USER_ID \
             SFS_NFS_GROUP_ID RUNTIME WARMUP_TIME MIXFILE ACCESS_PCNT APPEND_PCNT BLOCK_FILE \
             DIR_COUNT FILE_COUNT SYMLINK_COUNT TCP DEBUG DUMP POPULATE LAT_GRAPH PRIME_SLEEP \
             PRIME_TIMEOUT";
        for name in names.split_whitespace() {
            let p = Parameter::find(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(p.origin, Origin::Classic2008, "{name}");
        }
    }

    #[test]
    fn every_default_example_and_standard_value_is_a_value_of_its_kind() {
        let benchmark = Benchmark::shipped("general-nfs3").unwrap();
        for p in Parameter::all() {
            let fixed = match p.standard {
                Standard::Fixed(text) => Some(text.to_owned()),
                _ => None,
            };
            let texts = [
                Some(p.example.to_owned()),
                fixed,
                p.default_text(&benchmark),
            ];
            for text in texts.into_iter().flatten().filter(|t| !t.is_empty()) {
                assert!(check(p, &text).is_ok(), "{}={text}", p.name);
            }
        }
    }
}

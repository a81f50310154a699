//! Findings: what was noticed about a run or a load point, with its figures.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The figures may mislead.
    Warning,
    /// The load point (or the run) does not count.
    Invalid,
}

/// The closed list of rules that can speak. Documented in docs/src/reference/rules.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A parameter that the benchmark fixes was changed.
    NotStandard,
    /// The mean service time is above the limit.
    ResponseLimit,
    /// Fewer operations than requested.
    AchievedRate,
    /// One proc got far less than its share.
    ProcRate,
    /// The measured mix is off the wanted one.
    MixDeviation,
    /// Operations failed.
    Errors,
    /// Open pacing: more operations were waiting than allowed.
    Saturated,
    /// The generator itself was late.
    Lateness,
    /// The generator was short of processor time.
    GeneratorBusy,
    /// Data read was not what was written.
    DataVerify,
    /// A phase failed; the point was not measured.
    Failed,
    /// The user ended the run.
    Interrupted,
    /// What a search for the highest load has found.
    Search,
    /// The run was cut and went on later: its load points are of several pieces.
    Resumed,
    /// Something had to be left on the server.
    LeftBehind,
    /// The load points are not at least ten, evenly spaced.
    LoadPoints,
    /// Operations per proc outside of what the manual recommends.
    ProcLoad,
    /// The server did something unusual (write verifier changed, jukebox, reconnects).
    ServerEvent,
    /// The run was too short or too small for stable figures.
    ShortRun,
    /// A component of a composite had another share of the operations than it should.
    ComponentVariance,
    /// Less was read and written than the data set has.
    DataTouched,
    /// A script of the user's is missing, failed, or took too long.
    Script,
    /// The platform or the file system lacks something that the workload asks for.
    Lacking,
    /// The clock ran differently from the time service's.
    ExternalClock,
    /// Figures of the definition are experimental or the project's own.
    Experimental,
    /// The client's memory or the file system's space is too small for the load.
    Resources,
    /// A client was lost; the others went on.
    ClientLost,
    /// The clients may have begun at different moments.
    ClientStart,
    /// Others can read a password.
    SecretExposed,
    /// Operations were never answered: the response times are lower bounds.
    OpenOperations,
    /// Closed pacing: starts that were due were not made.
    MissedLoad,
    /// No reply arrived for a time, though operations were under way.
    NoReply,
    /// The generator itself stood still.
    GeneratorStalled,
    /// Reads were answered from the client's own memory.
    ClientCache,
    /// Rate or response time changed over RUN.
    Unsteady,
    /// WARMUP reached its limit and rate or response time still changed.
    WarmupLimit,
    /// A limit of STOP_IF was exceeded; the run ended.
    EmergencyStop,
    /// A read ended early where data had been written.
    DataLost,
    /// Most of the data that was to be compared was not.
    DataUnchecked,
    /// Writes that were answered UNSTABLE were not made stable, or not in RUN.
    Uncommitted,
    /// The server's free space changed otherwise than the bytes written.
    SpaceUsed,
    /// The working set fits into the server's memory.
    ServerMemory,
    /// The accessed files hold another share of the bytes than the benchmark asks for.
    AccessedShare,
    /// Reads are longer than any accessed file of their proc.
    CutReads,
    /// Procs are spread unevenly over file systems or servers.
    UniformAccess,
    /// Fewer clients make load than the benchmark asks for.
    LoadGenerators,
}

impl Rule {
    /// The name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotStandard => "not-standard",
            Self::ResponseLimit => "response-limit",
            Self::AchievedRate => "achieved-rate",
            Self::ProcRate => "proc-rate",
            Self::MixDeviation => "mix-deviation",
            Self::Errors => "errors",
            Self::Saturated => "saturated",
            Self::Lateness => "lateness",
            Self::GeneratorBusy => "generator-busy",
            Self::DataVerify => "data-verify",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Search => "search",
            Self::Resumed => "resumed",
            Self::LeftBehind => "left-behind",
            Self::LoadPoints => "load-points",
            Self::ProcLoad => "proc-load",
            Self::ServerEvent => "server-event",
            Self::ShortRun => "short-run",
            Self::ComponentVariance => "component-variance",
            Self::DataTouched => "data-touched",
            Self::Script => "script",
            Self::Lacking => "lacking",
            Self::ExternalClock => "external-clock",
            Self::Experimental => "experimental",
            Self::Resources => "resources",
            Self::ClientLost => "client-lost",
            Self::ClientStart => "client-start",
            Self::SecretExposed => "secret-exposed",
            Self::OpenOperations => "open-operations",
            Self::MissedLoad => "missed-load",
            Self::NoReply => "no-reply",
            Self::GeneratorStalled => "generator-stalled",
            Self::ClientCache => "client-cache",
            Self::Unsteady => "unsteady",
            Self::WarmupLimit => "warmup-limit",
            Self::EmergencyStop => "emergency-stop",
            Self::DataLost => "data-lost",
            Self::DataUnchecked => "data-unchecked",
            Self::Uncommitted => "uncommitted",
            Self::SpaceUsed => "space-used",
            Self::ServerMemory => "server-memory",
            Self::AccessedShare => "accessed-share",
            Self::CutReads => "cut-reads",
            Self::UniformAccess => "uniform-access",
            Self::LoadGenerators => "load-generators",
        }
    }
}

impl Rule {
    /// Whether it says no more than that the server could not carry the load. Such a
    /// load point ends the sweep; it does not void it.
    pub const fn is_overload(self) -> bool {
        matches!(
            self,
            Self::ResponseLimit
                | Self::AchievedRate
                | Self::ProcRate
                | Self::MixDeviation
                | Self::ComponentVariance
                | Self::Saturated
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One observation, with the figures that the reader needs to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that speaks.
    pub rule: Rule,
    /// How much it matters.
    pub severity: Severity,
    /// One plain sentence with the figure and the limit.
    pub message: String,
    /// The measured figure, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The limit it was held against, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Where the limit comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Finding {
    /// A finding without figures.
    pub fn new(rule: Rule, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity,
            message: message.into(),
            value: None,
            limit: None,
            source: None,
        }
    }

    /// The same with its figure, limit and the limit's source.
    pub fn with_limit(mut self, value: f64, limit: f64, source: &str) -> Self {
        self.value = Some(value);
        self.limit = Some(limit);
        self.source = Some(source.to_owned());
        self
    }

    /// Whether the load point it belongs to does not count.
    pub fn invalidates(&self) -> bool {
        self.severity == Severity::Invalid
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

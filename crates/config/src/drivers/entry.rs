//! The type of a driver's entry in the configuration.

use crate::given::Values;
use crate::layout::Layout;
use crate::mounts::MountSyntax;
use crate::params::Parameter;
use crate::reading::Reading;
use filermark_model::Benchmark;
use filermark_model::benchmark::Protocol;
use filermark_model::plan::DriverPlan;

/// What a driver adds to the parameters.
pub(crate) struct DriverParams {
    /// Its name in plans.
    pub name: &'static str,
    /// Its protocol in a word, for the reference: `NFS`; empty: none.
    pub title: &'static str,
    /// The letter that marks its parameters in the list of all.
    pub letter: char,
    /// Its parameters, except those that are declared among the ones of 2008 or of every run.
    pub parameters: &'static [&'static Parameter],
    /// How mount points of classical benchmarks are written; `None`: it has no such benchmarks.
    pub mounts: Option<&'static MountSyntax>,
    /// The parameter that chooses among its protocols, in addition to DRIVER and FS_PROTOCOL.
    pub version: Option<VersionChoice>,
    /// In the head of a template: what must be set in addition to LOAD, PROCS and MNT_POINTS;
    /// empty: nothing.
    pub must_be_set: &'static str,
    /// Refuses parameters that no run of its protocols can have, whichever driver makes the load.
    pub refuse: fn(&mut Reading<'_>),
    /// Makes its settings. Errors are reported, and the settings then have some value.
    pub settings: fn(&mut Reading<'_>, &DriverRequest<'_>) -> DriverPlan,
}

/// A parameter that chooses among the protocols of a driver.
pub(crate) struct VersionChoice {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// The protocol that it chooses; `None`: it is not given.
    pub protocol: fn(&Values) -> Option<Protocol>,
    /// Whether its value fits another protocol, too.
    pub fits: fn(&Values, Protocol) -> bool,
}

/// The input for the settings of a driver.
pub(crate) struct DriverRequest<'a> {
    /// The protocol of the benchmark.
    pub protocol: Protocol,
    /// The benchmark as it is defined; `None`: it is wrong, as reported, or a composite.
    pub benchmark: Option<&'a Benchmark>,
    /// Clients and mount points of a classical benchmark; `None`: they are wrong, as reported,
    /// or the benchmark is a composite.
    pub layout: Option<&'a Layout>,
}

impl DriverParams {
    /// A driver without parameters.
    pub const fn new(
        name: &'static str,
        settings: fn(&mut Reading<'_>, &DriverRequest<'_>) -> DriverPlan,
    ) -> Self {
        Self {
            name,
            title: "",
            letter: ' ',
            parameters: &[],
            mounts: None,
            version: None,
            must_be_set: "",
            refuse: |_| {},
            settings,
        }
    }

    /// Whether it supports the operations of any protocol: DRIVER alone chooses it.
    pub fn is_for_all(&self) -> bool {
        protocols().all(|protocol| protocol.driver() != self.name)
    }
}

/// All protocols, from the oldest of each driver to the latest.
pub(crate) fn protocols() -> impl DoubleEndedIterator<Item = Protocol> {
    Protocol::ALL.iter().copied()
}

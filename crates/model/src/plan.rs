//! The run plan: everything a run is, resolved and typed.
//!
//! rc files and flags resolve into one of these; it can be printed, hashed (the
//! fingerprint) and sent to agents. Nothing below this border sees a string
//! that still wants parsing.

mod auxiliary;
mod driver;
pub(crate) mod facts;
mod files;
mod limits;
mod load;
pub(crate) mod network;
mod phases;
mod search;
mod size;

use crate::benchmark::{Benchmark, Headline};
use crate::composite::DataSet;
use crate::finding::Finding;
use crate::stop_if::StopCondition;
use crate::units::{Nanos, OpsPerSec};
use serde::{Deserialize, Serialize};

pub use crate::protocol::{MinorVersion, NfsVersion};
pub use crate::smb::{SmbCounter, SmbPlan};
pub use auxiliary::{ClockServicePlan, MonitorMode, MonitorPlan, ScriptsPlan};
pub use driver::*;
pub use facts::{DriverFacts, DriverSettings, DriverText, Labels, Target};
pub use files::{FileSetPlan, SpacePlan};
pub use limits::{Limits, STALL_PCNT_STANDARD};
pub use load::{ClientPlan, LoadPoint, MountPoint, ProcPlan, ProcSlice};
pub use network::{Connections, IpChoice, Transport};
pub use phases::{Arrivals, Pacing, PacingMode, PhasePlan};
pub use search::{SEARCH_NUMBERS, SearchLoad, SearchPlan, SearchTime};

/// The seed of a standard run (SEED).
const SEED_STANDARD: u64 = 1;

/// A run, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The benchmark, with the run's changes already in it.
    pub benchmark: Benchmark,
    /// The load points, in order. With a search they are known when it has ended.
    pub points: Vec<LoadPoint>,
    /// The search for the highest load, which the load points follow from (LOAD=search).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPlan>,
    /// The client hosts and what each of their procs works on.
    pub clients: Vec<ClientPlan>,
    /// Load-generating procs on each client; composites: the most on any client.
    pub procs_per_client: u32,
    /// Composites: every proc of the largest load point, in the order in which they
    /// come into play. A proc is the same at every load point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub procs: Vec<ProcPlan>,
    /// Which procs `procs` has, where they are only those of one client
    /// ([`RunPlan::for_client`]); `None`: all, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<ProcSlice>,
    /// The driver and its settings.
    pub driver: DriverPlan,
    /// How load is paced.
    pub pacing: Pacing,
    /// How long the phases last.
    pub phases: PhasePlan,
    /// What the run may do with the file set.
    pub fileset: FileSetPlan,
    /// How the server's space and memory are held against the file set.
    #[serde(default)]
    pub space: SpacePlan,
    /// The seed that every random stream derives from.
    pub seed: u64,
    /// Load-making threads per client; `None`: one per core, two at least.
    pub shards: Option<u32>,
    /// A program to run beside the phases.
    pub monitor: Option<MonitorPlan>,
    /// netmist's scripts, when they are to be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts: Option<ScriptsPlan>,
    /// A time service to hold the clock against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_service: Option<ClockServicePlan>,
    /// Interval at which every proc's rate is reported (`-G`, `-q`, HEARTBEAT_NOTIFICATIONS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Nanos>,
    /// Limits that judge a load point, as the run has set them.
    pub limits: Limits,
    /// Conditions that end the run (STOP_IF).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_if: Vec<StopCondition>,
    /// What the resolution itself noticed (changed standard parameters ...).
    pub findings: Vec<Finding>,
    /// The parameters as given, by name, for the record and the report.
    pub parameters: Vec<(String, String)>,
}

impl RunPlan {
    /// Its own fields.
    pub const LABELS: Labels = &[
        ("procs_per_client", "procs per client (PROCS)"),
        ("search", "LOAD=search"),
        ("seed", "SEED"),
        ("shards", "SHARDS"),
        ("monitor", "PRIME_MON_SCRIPT"),
    ];
    /// Its fields that say where or beside what the work is done, not what it is.
    pub const PLACES: &'static [&'static str] =
        &["monitor", "scripts", "clock_service", "heartbeat"];

    /// What people call a field; `path` is that of its member in the serialized plan.
    pub fn label(&self, path: &str) -> Option<&'static str> {
        let (labels, field) = match path.split_once('.') {
            None => (Self::LABELS, path),
            Some(("phases", field)) => (PhasePlan::LABELS, field),
            Some(("pacing", field)) => (Pacing::LABELS, field),
            Some(("fileset", field)) => (FileSetPlan::LABELS, field),
            Some(("limits", field)) => (Limits::LABELS, field),
            Some(("driver", "name")) => return Some("driver (protocol)"),
            Some(("driver", field)) => (self.driver.labels(), field),
            Some(_) => return None,
        };
        let found = labels.iter().find(|(name, _)| *name == field);
        found.map(|(_, words)| *words)
    }

    /// A run of this benchmark by this driver, with no load point and no client yet, and all
    /// else as in a standard run.
    pub fn of(benchmark: Benchmark, driver: DriverPlan) -> Self {
        Self {
            points: Vec::new(),
            search: None,
            clients: Vec::new(),
            procs_per_client: 0,
            procs: Vec::new(),
            slice: None,
            driver,
            pacing: Pacing::default(),
            phases: PhasePlan::of(&benchmark.standard),
            fileset: FileSetPlan::default(),
            space: SpacePlan::default(),
            seed: SEED_STANDARD,
            shards: None,
            monitor: None,
            scripts: None,
            clock_service: None,
            heartbeat: None,
            limits: Limits::of(&benchmark.standard),
            stop_if: Vec::new(),
            findings: Vec::new(),
            parameters: Vec::new(),
            benchmark,
        }
    }

    /// Which figure is the run's result, under its own response limit.
    pub fn headline(&self) -> Headline {
        self.benchmark.headline(self.limits.response_ms)
    }

    /// Procs in the whole run.
    pub fn proc_count(&self) -> u32 {
        match (&self.slice, self.procs.len()) {
            (Some(slice), _) => slice.total,
            (None, 0) => (self.clients.len() as u32).saturating_mul(self.procs_per_client),
            (None, n) => n as u32,
        }
    }

    /// Procs that make load at a load point.
    pub fn proc_count_at(&self, point: LoadPoint) -> u32 {
        match point.proc_count {
            0 => self.proc_count(),
            n => n.min(self.proc_count()),
        }
    }

    /// Procs that make load at any load point. With a search these are known when it has ended.
    pub fn busy_proc_count(&self) -> u32 {
        let most = self.points.iter().map(|p| self.proc_count_at(*p)).max();
        match (most, &self.search) {
            (Some(most), _) => most,
            (None, Some(_)) => 0,
            (None, None) => self.proc_count(),
        }
    }

    /// The wanted rate of one proc of a classical benchmark at a load.
    pub fn rate_per_proc(&self, load: OpsPerSec) -> OpsPerSec {
        OpsPerSec(load.0 / f64::from(self.proc_count().max(1)))
    }

    /// The wanted rate of the proc with this number at a load point; `None`: as
    /// fast as it goes.
    pub fn rate_of_proc(&self, number: u32, point: LoadPoint) -> Option<OpsPerSec> {
        match self.proc(number) {
            Some(proc) => {
                let scale = self.search.as_ref().map(|s| s.rate_scale(point));
                proc.ops_per_sec
                    .map(|rate| OpsPerSec(rate.0 * scale.unwrap_or(1.0)))
            }
            None if point.is_max() => None,
            None => Some(self.rate_per_proc(point.requested)),
        }
    }

    /// The procs of one client: number in the run, and what each works on.
    pub fn procs_of(&self, client: usize) -> Vec<(u32, MountPoint)> {
        if self.procs.is_empty() {
            let first = client as u32 * self.procs_per_client;
            let mounts = self.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
            let all = (first..).zip(mounts).take(self.procs_per_client as usize);
            return all.map(|(number, mount)| (number, mount.clone())).collect();
        }
        let mine = |(_, p): &(u32, &ProcPlan)| p.client as usize == client;
        let all = self.numbered_procs().filter(mine);
        all.map(|(number, p)| (number, p.mount.clone())).collect()
    }

    /// A composite's proc with this number.
    pub fn proc(&self, number: u32) -> Option<&ProcPlan> {
        let at = match &self.slice {
            None => number as usize,
            Some(slice) => slice.numbers.binary_search(&number).ok()?,
        };
        self.procs.get(at)
    }

    /// The procs of a composite that are here, with their numbers in the run.
    pub fn numbered_procs(&self) -> impl Iterator<Item = (u32, &ProcPlan)> {
        let numbers = self.slice.as_ref().map_or(&[][..], |s| &s.numbers[..]);
        (0u32..)
            .zip(&self.procs)
            .map(move |(at, proc)| (numbers.get(at as usize).copied().unwrap_or(at), proc))
    }

    /// The plan as far as the agent of one client needs it: a thousand of them must
    /// not each get what all of them do. Where trees are shared, who else works in
    /// them matters, and everything stays.
    #[must_use]
    pub fn for_client(&self, client: usize) -> Self {
        let mut own = self.without_clients();
        own.clients
            .extend(self.clients.iter().enumerate().map(|(at, c)| ClientPlan {
                name: c.name.clone(),
                mounts: if at == client {
                    c.mounts.clone()
                } else {
                    Vec::new()
                },
            }));
        if self.shares_trees() || self.procs.is_empty() {
            own.procs = self.procs.clone();
            own.slice = self.slice.clone();
            return own;
        }
        let mine = |(_, p): &(u32, &ProcPlan)| p.client as usize == client;
        let (numbers, procs) = self
            .numbered_procs()
            .filter(mine)
            .map(|(n, p)| (n, p.clone()))
            .unzip();
        own.procs = procs;
        own.slice = Some(ProcSlice {
            total: self.proc_count(),
            numbers,
        });
        own
    }

    /// Whether procs of a composite work in trees of others.
    pub fn shares_trees(&self) -> bool {
        let components = self
            .benchmark
            .composite()
            .map_or(&[][..], |c| &c.components[..]);
        let sharing = |c: &crate::composite::Component| c.workload.attributes.sharemode;
        self.fileset.sharing || components.iter().any(sharing)
    }

    /// Everything but clients, procs, and what only the prime looks at.
    fn without_clients(&self) -> Self {
        Self {
            benchmark: self.benchmark.clone(),
            points: self.points.clone(),
            search: self.search.clone(),
            clients: Vec::new(),
            procs_per_client: self.procs_per_client,
            procs: Vec::new(),
            slice: None,
            driver: self.driver.clone(),
            pacing: self.pacing,
            phases: self.phases,
            fileset: self.fileset,
            space: self.space,
            seed: self.seed,
            shards: self.shards,
            monitor: None,
            scripts: None,
            clock_service: self.clock_service.clone(),
            heartbeat: self.heartbeat,
            limits: self.limits,
            stop_if: Vec::new(),
            findings: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// What a composite's procs need of the file system at a load point.
    pub fn data_set(&self, point: LoadPoint) -> DataSet {
        let Some(composite) = self.benchmark.composite() else {
            return DataSet::default();
        };
        let procs = &self.procs[..self.proc_count_at(point) as usize];
        composite.data_set(procs, self.clients.len() as u32, self.fileset.sharing)
    }

    /// Composites: bytes that RUN is to move at this load point where the data set is to
    /// be touched.
    pub fn bytes_to_touch(&self, point: LoadPoint) -> u64 {
        let procs = || &self.procs[..self.proc_count_at(point) as usize];
        self.benchmark
            .composite()
            .map_or(0, |work| work.bytes_to_touch(procs(), self.fileset.sharing))
    }
}

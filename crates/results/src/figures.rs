//! The figures of a composite's load point that several renderings share, computed
//! once.

use crate::record::RunRecord;
use crate::requested::requested;
use filermark_model::composite::{CompositeWork, DataSet};
use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::stats::PointStats;

pub use crate::requested::is_background;

/// Bytes in the KB of composite renderings. The writes of the VDA rows of slides
/// E are 4228 KBps per stream. Its tables (manual N) give 9 of 468.8 KiB per
/// second, 4219 KiB, and a few from rmw: so a KB has 1024 bytes.
pub const KB: f64 = 1024.0;

/// The planned values of a load point.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The load in units of the business metric; the procs, where there is none.
    pub business_metric: f64,
    /// The requested rate of all procs that count, in op/s; `None`: no limit.
    pub requested: Option<f64>,
    /// Client hosts.
    pub client_count: usize,
    /// Procs of all clients.
    pub proc_count: u32,
    /// Procs per client, the rest cut off.
    pub procs_per_client: u32,
    /// Mean file size of the procs, in KB, the rest cut off.
    pub file_kib: u64,
    /// What the procs need of the file system.
    pub data: DataSet,
}

impl Planned {
    /// Of this load point.
    pub fn of(plan: &RunPlan, point: LoadPoint) -> Self {
        let proc_count = plan.proc_count_at(point);
        let clients = plan.clients.len();
        let mean = plan
            .benchmark
            .composite()
            .map_or(0.0, CompositeWork::mean_file_bytes);
        Self {
            business_metric: match point.units {
                0.0 => f64::from(proc_count),
                units => units,
            },
            requested: requested(plan, point),
            client_count: clients,
            proc_count,
            procs_per_client: proc_count / (clients as u32).max(1),
            file_kib: mean as u64 / 1024,
            data: plan.data_set(point),
        }
    }
}

/// The data that a load point read and wrote, in KB per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Read by the clients' procs.
    pub read: f64,
    /// Written by them.
    pub write: f64,
}

impl Throughput {
    /// Of a measured point, background components left out.
    pub fn of(stats: &PointStats) -> Self {
        let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
        let sum = |bytes: &dyn Fn(&filermark_model::OpStats) -> u64| {
            let total = stats.ops.iter().map(bytes).fold(0, u64::saturating_add);
            total as f64 / KB / seconds
        };
        Self {
            read: sum(&|o| o.read_bytes),
            write: sum(&|o| o.written_bytes),
        }
    }

    /// Both together.
    pub fn total(self) -> f64 {
        self.read + self.write
    }
}

/// A figure without needless decimals: `20`, `2.5`.
pub fn plain(figure: f64) -> String {
    let text = format!("{figure:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The plural of a business metric for a count: `1 BUILD`, `20 BUILDs`.
pub fn units(count: f64, unit: &str) -> String {
    let s = if count == 1.0 { "" } else { "s" };
    format!("{} {unit}{s}", plain(count))
}

/// Whether a record's benchmark is a composite one.
pub fn is_composite(record: &RunRecord) -> bool {
    record.run.plan.benchmark.composite().is_some()
}

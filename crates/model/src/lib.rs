//! The vocabulary of Filermark as types: operations, mixes, distributions,
//! plans, statistics, findings.
//!
//! This crate does no I/O, reads no clock and knows no protocol bytes. Every
//! other crate may depend on it; it depends on none of them.

pub mod access;
pub mod assertion;
pub mod benchmark;
pub mod bucket;
pub mod client_reads;
pub mod composite;
pub mod counter;
pub mod dist;
pub mod figure;
pub mod fileset;
pub mod finding;
pub mod goal;
pub mod input;
pub mod latency;
pub mod launch;
pub mod memory;
pub mod mix;
pub mod op;
pub mod plan;
pub mod protocol;
pub mod registry;
pub mod responses;
pub mod rng;
pub mod secret;
pub mod secret_text;
pub mod sequence;
pub mod silence;
pub mod smb;
pub mod stall;
pub mod stats;
pub mod stop_if;
pub mod survey;
pub mod text;
pub mod transfer;
pub mod transfer_bytes;
pub mod units;
pub mod workload;

pub use benchmark::Benchmark;
pub use bucket::Bucket;
pub use dist::SizeDistribution;
pub use figure::Figure;
pub use finding::{Finding, Rule, Severity};
pub use input::InputFile;
pub use latency::Latency;
pub use mix::Mix;
pub use op::{NfsOp, Op, OpGroup, OpSet, OpTarget, PosixOp};
pub use plan::{LoadPoint, RunPlan};
pub use registry::Registry;
pub use rng::Rng;
pub use secret::Secret;
pub use stats::{OpStats, PointStats};
pub use transfer::TransferTable;
pub use units::{Bytes, Nanos, OpsPerSec};
pub use workload::WorkloadObject;

/// The sentence that every result carries.
pub const NOT_A_SPEC_RESULT: &str =
    "This is a Filermark result. It is not a SPEC result and is not comparable with one.";

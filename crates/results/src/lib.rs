//! The run record, validity, ORT, and the classical text files.
//!
//! A run writes one file, the run record ([`record`], [`writer`]). Everything else that a
//! user or a program reads is rendered from that file
//! ([`reader`], [`sfssum`], [`sfslog`], [`sfsres`], [`client_log`], [`csv`]).
//! [`mod@compare`] compares records. [`mod@judge`] has the rules that decide whether a load
//! point counts.
//!
//! This crate has no sockets, no protocols and no engine.

pub mod assertion;
pub mod bands;
pub mod classical;
pub mod client_log;
pub mod compare;
pub mod console;
pub mod csv;
pub mod curve;
pub mod environment;
pub mod figures;
pub mod files;
pub mod final_logs;
pub mod heartbeat;
pub mod historical;
pub mod judge;
pub mod live;
mod live_file;
mod op_names;
pub mod ort;
pub mod output;
pub mod outputs;
pub mod proc_logs;
pub mod reader;
pub mod record;
mod requested;
pub mod resume;
mod role;
pub mod search;
pub mod sfslog;
pub mod sfslog_txt;
pub mod sfsres;
pub mod sfssum;
pub mod sfssum_reader;
pub mod sfssum_txt;
pub mod sfssum_xml;
pub mod start;
pub mod steadiness;
pub mod text;
pub mod time;
pub mod timeline;
pub mod verdict;
pub mod writer;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use classical::ClassicalResult;
pub use curve::{Curve, CurvePoint};
pub use environment::{Environment, MountFacts, hosts_changed};
pub use files::OTHER_DIRECTORY;
pub use heartbeat::{Heartbeat, ScriptRecord, ScriptStatus};
pub use historical::{Historical, HistoricalError};
pub use judge::{judge, judge_client_reads, judge_silences, judge_stalls, settle_rate};
pub use ort::OrtMethod;
pub use output::{Output, OutputTable};
pub use reader::read_record;
pub use record::{
    ClientSummary, End, Event, Line, Outcome, Phase, PhaseRecord, PointRecord, PointStatus,
    Restart, RunHeader, RunRecord, definition_fingerprint, fingerprint, is_valid, sha256,
};
pub use role::Role;
pub use sfssum_reader::{Summary, SummaryError, parse_sfssum, read_sfssum};
pub use time::Timestamp;
pub use verdict::Verdict;
pub use writer::{RecordWriter, check_record_place};

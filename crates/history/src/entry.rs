//! What a record says about its run in brief.

use crate::tags::Tags;
use filermark_results::sfslog::protocol_name;
use filermark_results::{RunRecord, Timestamp, curve};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// A run in brief. Its JSON has the schema `crates/history/schema/list-v1.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The record's file.
    pub record: String,
    /// `STARTED/SUFFIX`: different for all runs.
    pub run_id: String,
    /// The suffix of the run's files.
    pub suffix: String,
    /// When the run began.
    pub started: Timestamp,
    /// The version of Filermark.
    pub version: String,
    /// Of the plan: equal for runs of the same plan.
    pub fingerprint: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// The protocol as the classical files write it.
    pub protocol: String,
    /// What was measured: hosts with exports, shares or directories, and with the port, if it is
    /// not the standard one.
    pub targets: Vec<String>,
    /// Client hosts.
    pub client_count: usize,
    /// Load points in the plan.
    pub point_count: usize,
    /// Those that count.
    pub valid_point_count: usize,
    /// The verdict with its qualifiers.
    pub verdict: String,
    /// Whether the result counts.
    pub is_valid: bool,
    /// The highest achieved rate that counts, in op/s.
    pub peak_ops_per_sec: Option<f64>,
    /// Composites with a requested rate: the load of that point in units of the business metric.
    pub peak_units: Option<f64>,
    /// The unit of the load: `op/s`, or the business metric.
    pub unit: String,
    /// The overall response time, in ms.
    pub ort_ms: Option<f64>,
    /// Tags of the user.
    pub tags: BTreeSet<String>,
    /// The note of the user.
    pub note: Option<String>,
}

impl Entry {
    /// Of the record in a file.
    pub fn of(path: &Path, record: &RunRecord, tags: Tags) -> Self {
        let run = &record.run;
        let plan = &run.plan;
        let verdict = record.verdict();
        let mounts = plan.clients.iter().flat_map(|c| &c.mounts);
        let targets = mounts.chain(plan.procs.iter().map(|p| &p.mount));
        // Another port of a host is another server.
        let port = plan.driver.facts().own_port;
        let port = port.map_or(String::new(), |port| format!(" port {port}"));
        let targets: BTreeSet<String> = targets.map(|mount| format!("{mount}{port}")).collect();
        let peak = record.peak();
        let is_composite = plan.benchmark.composite().is_some();
        Self {
            record: path.display().to_string(),
            run_id: run_id(record),
            suffix: run.suffix.clone(),
            started: run.started,
            version: run.version.clone(),
            fingerprint: run.fingerprint.clone(),
            benchmark: plan.benchmark.name.clone(),
            protocol: protocol_name(record).to_owned(),
            targets: targets.into_iter().collect(),
            client_count: plan.clients.len(),
            point_count: plan.points.len().max(record.points.len()),
            valid_point_count: record.valid_points().count(),
            verdict: verdict.label().to_owned(),
            is_valid: verdict.is_valid(),
            peak_ops_per_sec: peak
                .and_then(|p| p.measured())
                .map(|stats| stats.achieved_ops_per_sec()),
            // Without a requested rate the units are procs, and the rate is the result.
            peak_units: peak
                .filter(|p| is_composite && p.load.requested.0 > 0.0)
                .map(|p| p.load.units),
            unit: match is_composite {
                true => curve::business_metric(&plan.benchmark),
                false => "op/s".to_owned(),
            },
            ort_ms: record.ort_ms(),
            tags: tags.tags,
            note: tags.note,
        }
    }
}

/// The identity of a run: `STARTED/SUFFIX`.
pub fn run_id(record: &RunRecord) -> String {
    format!("{}/{}", record.run.started, record.run.suffix)
}

/// Panics where a value does not match a schema.
#[cfg(test)]
pub(crate) fn check_schema(schema: &str, value: &serde_json::Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    compiler
        .add_resource("mem://s.json", schema)
        .expect("taken");
    let index = compiler
        .compile("mem://s.json", &mut schemas)
        .expect("sound");
    if let Err(e) = schemas.validate(value, index) {
        panic!("{value:#}\n{e:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::{DriverPlan, NfsPlan, SmbPlan};
    use filermark_results::testing;

    /// Only a port that is not the standard one is shown.
    #[test]
    fn a_port_of_its_own_is_part_of_the_target() {
        let nfs = |nfs_port, portmap_port| {
            DriverPlan::from(NfsPlan {
                nfs_port,
                portmap_port,
                mount_port: Some(20_048),
                ..NfsPlan::default()
            })
        };
        let smb = |port| {
            DriverPlan::from(SmbPlan {
                port,
                ..SmbPlan::default()
            })
        };
        let mut record = testing::record();
        let mut targets = |driver: DriverPlan| {
            record.run.plan.driver = driver;
            Entry::of(Path::new("a.run.jsonl"), &record, Tags::default()).targets
        };
        let standard = targets(nfs(None, 111));
        assert!(!standard.is_empty());
        for driver in [nfs(Some(2_049), 1_111), smb(445), DriverPlan::NULL] {
            assert_eq!(targets(driver), standard);
        }
        for (driver, port) in [
            (nfs(Some(2_050), 111), 2_050),
            (nfs(None, 1_111), 1_111),
            (smb(4_450), 4_450),
        ] {
            let wanted = standard
                .iter()
                .map(|target| format!("{target} port {port}"));
            assert_eq!(targets(driver), wanted.collect::<Vec<_>>());
        }
    }
}

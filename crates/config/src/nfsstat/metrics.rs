//! Metrics in Prometheus's text format: those of node_exporter about Linux's NFS server.

use super::names::Version;
use super::types::{Taken, Wrong};
use crate::error::quoted;

/// The metric; its labels are `method` and `proto`.
const METRIC: &str = "node_nfsd_requests_total{";
/// Above this a metric, a float, is not exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Whether a line shows that the text is of this kind.
pub(super) fn detect(line: &str) -> bool {
    line.starts_with(METRIC)
}

/// Reads such a text. Other metrics are ignored.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        let Some(rest) = line.strip_prefix(METRIC) else {
            continue;
        };
        let malformed = || {
            let message = format!("'{}' is not such a metric", quoted(line));
            Wrong::at(number, message, "give the page as node_exporter serves it")
        };
        let (labels, value) = rest.split_once('}').ok_or_else(malformed)?;
        let label = |key: &str| {
            let mut pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(k, _)| k.trim() == key)?;
            value.trim().strip_prefix('"')?.strip_suffix('"')
        };
        let version = label("proto").and_then(|v| v.parse().ok());
        let version = version.and_then(Version::of).ok_or_else(malformed)?;
        let name = label("method").ok_or_else(malformed)?;
        // A time may follow the value.
        let value = value.split_whitespace().next().ok_or_else(malformed)?;
        taken.put(
            version,
            name,
            parse_count(value).ok_or_else(malformed)?,
            number,
        )?;
    }
    Ok(())
}

/// A metric's value as a count.
fn parse_count(value: &str) -> Option<u64> {
    let value: f64 = value.parse().ok()?;
    let is_count = (0.0..=EXACT_MAX).contains(&value) && value.fract() == 0.0;
    is_count.then_some(value as u64)
}

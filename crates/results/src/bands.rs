//! The nine latency bands of netmist (manual N, section 20), counted from the
//! histograms: a run does not have to choose them.

use filermark_model::{Latency, Nanos};
use std::fmt::Write as _;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// The bounds of each band, in nanoseconds; the last band holds all longer latencies.
pub const BANDS: [&[u64]; 9] = [
    &[20 * US, 40 * US, 60 * US, 80 * US, 100 * US],
    &[200 * US, 400 * US, 600 * US, 800 * US, MS],
    &[2 * MS, 4 * MS, 6 * MS, 8 * MS, 10 * MS],
    &[12 * MS, 14 * MS, 16 * MS, 18 * MS, 20 * MS],
    &[40 * MS, 60 * MS, 80 * MS, 100 * MS],
    &[200 * MS, 400 * MS, 600 * MS, 800 * MS, S],
    &[2 * S, 4 * S, 6 * S, 8 * S, 10 * S],
    &[20 * S, 40 * S, 60 * S, 80 * S, 120 * S],
    &[],
];

/// One entry of a band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandEntry {
    /// Its upper bound as netmist writes it: `20us`, `120+s`.
    pub label: String,
    /// Latencies above the bound before it and up to its own.
    pub count: u64,
}

/// The bands of these latencies; all of them are in exactly one entry.
pub fn bands(latency: &Latency) -> Vec<Vec<BandEntry>> {
    let mut below = 0;
    let mut entry = |bound: &u64| {
        let at_most = latency.count_at_most(Nanos(*bound));
        let count = at_most.saturating_sub(below);
        below = at_most;
        BandEntry {
            label: label(*bound),
            count,
        }
    };
    let mut all: Vec<Vec<BandEntry>> = BANDS
        .iter()
        .map(|bounds| bounds.iter().map(&mut entry).collect())
        .collect();
    let beyond = BandEntry {
        label: "120+s".into(),
        count: latency.count().saturating_sub(below),
    };
    if let Some(last) = all.last_mut() {
        last.push(beyond);
    }
    all
}

/// The bands as netmist prints them, one line each.
pub fn band_lines(latency: &Latency) -> String {
    let mut out = String::new();
    for (i, entries) in bands(latency).iter().enumerate() {
        let _ = write!(out, "        Band {}:", i + 1);
        for BandEntry { label, count } in entries {
            let entry = format!("{label:>5}:{count}");
            let _ = write!(out, " {entry:<14}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

fn label(bound_ns: u64) -> String {
    match bound_ns {
        ns if ns < MS => format!("{}us", ns / US),
        ns if ns < S => format!("{}ms", ns / MS),
        ns => format!("{}s", ns / S),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_one_entry() {
        let mut latency = Latency::new();
        for us in [1, 20, 21, 100, 101, 1_000, 30_000, 99_000, 100_500] {
            latency.record(Nanos::from_micros(us));
        }
        latency.record(Nanos::from_secs(119));
        latency.record(Nanos::from_secs(121));
        latency.record(Nanos::MAX);
        let bands = bands(&latency);
        assert_eq!(bands.iter().map(Vec::len).sum::<usize>(), 40);
        let total: u64 = bands.iter().flatten().map(|e| e.count).sum();
        assert_eq!(total, latency.count());
        let at = |label: &str| {
            let found = bands.iter().flatten().find(|e| e.label == label);
            found.unwrap_or_else(|| panic!("{label}")).count
        };
        assert_eq!((at("20us"), at("40us"), at("100us")), (2, 1, 1));
        assert_eq!((at("200us"), at("1ms"), at("40ms")), (1, 1, 1));
        assert_eq!((at("100ms"), at("200ms")), (1, 1));
        assert_eq!((at("120s"), at("120+s")), (1, 2));
    }

    #[test]
    fn lines_have_the_format_of_netmist() {
        let mut latency = Latency::new();
        latency.record(Nanos::from_micros(30));
        let text = band_lines(&latency);
        let lines: Vec<String> = text
            .lines()
            .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines[0], "Band 1: 20us:0 40us:1 60us:0 80us:0 100us:0");
        assert_eq!(lines[1], "Band 2: 200us:0 400us:0 600us:0 800us:0 1ms:0");
        assert_eq!(lines[4], "Band 5: 40ms:0 60ms:0 80ms:0 100ms:0");
        assert_eq!(lines[7], "Band 8: 20s:0 40s:0 60s:0 80s:0 120s:0");
        assert_eq!(lines[8], "Band 9: 120+s:0");
    }
}

#![no_main]

use filermark_energy_data::log::{Head, Log, LogLine, LogWriter};
use filermark_energy_data::merge::{MergeOptions, merge};
use filermark_energy_data::reduce::{ReduceOptions, reduce_logs};
use std::path::Path;

// An energy log with any bytes: it is read, merged with the runs that it names, and
// reduced. Nothing panics, and no figure is NaN.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = Path::new("x");
    let mut head: Option<Head> = None;
    let mut runs = Vec::new();
    for line in Log::new(data, path).map_while(Result::ok) {
        match line {
            LogLine::Energy(its) => head = Some(*its),
            LogLine::Run(run) if runs.len() < 4 => runs.push(*run),
            _ => {}
        }
    }
    let Some(head) = head else { return };
    let logs = vec![Log::new(data, path)];
    let out = LogWriter::new(Vec::new(), path);
    let Ok((_, merged)) = merge(head, &runs, logs, &MergeOptions::default(), out) else {
        return;
    };
    for text in [data, &merged] {
        let Ok(reduced) = reduce_logs(vec![Log::new(text, path)], &ReduceOptions::default()) else {
            continue;
        };
        for point in reduced.workloads.iter().flat_map(|w| &w.points) {
            for stats in point.power_w.iter().chain(&point.traffic_mib_per_s) {
                assert!(!stats.mean.is_nan() && (0.0..=1.0).contains(&stats.coverage));
            }
        }
    }
});

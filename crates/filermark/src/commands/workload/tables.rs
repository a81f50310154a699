//! Workloads and benchmarks as text.

use filermark_model::composite::{Component, CompositeWork, DataSet};
use filermark_model::transfer::{TransferSlot, TransferTable};
use filermark_model::units::counted;
use filermark_model::{Benchmark, Bytes, Op, Registry, WorkloadObject};
use filermark_results::definition_fingerprint;
use std::fmt::Write as _;

/// `write!` into a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

/// Both lists.
pub fn list(registry: &Registry) -> String {
    let mut out = String::new();
    line!(
        out,
        "{:<14} {:>3}  {:>10} {:>10}  WHAT IT IS",
        "WORKLOAD",
        "OPS",
        "MEAN READ",
        "MEAN WRITE"
    );
    for w in registry.workloads() {
        let aliases = registry.workload_aliases(&w.name);
        let also = match aliases.is_empty() {
            true => String::new(),
            false => format!(" (also {})", aliases.join(", ")),
        };
        line!(
            out,
            "{:<14} {:>3}  {:>10} {:>10}  {}{also}",
            w.name,
            w.mix.shares().len(),
            mean(&w.read_transfers),
            mean(&w.write_transfers),
            w.title
        );
    }
    line!(
        out,
        "\n{:<14} {:<9} {:>10} {:>6} {:>11}  WHAT IT IS",
        "BENCHMARK",
        "UNIT",
        "OP/S EACH",
        "PROCS",
        "SPACE EACH"
    );
    for name in registry.composite_names() {
        let Ok(b) = registry.composite(name) else {
            continue;
        };
        let Some(work) = b.composite() else { continue };
        let experimental = registry.is_experimental(name);
        line!(
            out,
            "{:<14} {:<9} {:>10} {:>6} {:>11}  {}{}",
            b.name,
            b.unit,
            rate(work.ops_per_unit()),
            work.procs_per_unit(),
            Bytes(max_bytes(work)).to_string(),
            b.title,
            if experimental { " (experimental)" } else { "" }
        );
    }
    out
}

/// A workload in one line.
pub fn workload_line(w: &WorkloadObject) -> String {
    let ops = counted(w.mix.shares().len() as u64, "operation");
    let (read, write) = (mean(&w.read_transfers), mean(&w.write_transfers));
    format!(
        "workload {}: {ops}, mean read {read}, mean write {write}",
        w.name
    )
}

/// A benchmark in one line.
pub fn benchmark_line(b: &Benchmark, experimental: bool) -> String {
    let Some(work) = b.composite() else {
        return format!("benchmark {}", b.name);
    };
    let per_unit = match work.ops_per_unit() {
        Some(rate) => format!("{rate} op/s per {}", b.unit),
        None => format!("no fixed rate per {}", b.unit),
    };
    format!(
        "benchmark {}: {per_unit}, {}, at most {}, fingerprint {:05}{}",
        b.name,
        counted(work.procs_per_unit().into(), "proc"),
        Bytes(max_bytes(work)),
        definition_fingerprint(b).1,
        if experimental { ", experimental" } else { "" }
    )
}

/// The tables of a workload.
pub fn workload(w: &WorkloadObject, aliases: &[String]) -> String {
    let mut out = format!("Workload {}: {}\n", w.name, w.title);
    if !aliases.is_empty() {
        line!(out, "also called {}", aliases.join(", "));
    }
    line!(out, "\nOperations, percent");
    let used = Op::POSIX.iter().filter(|op| w.mix.percent(**op) > 0.0);
    for op in used {
        line!(out, "  {:<12} {:>6}", op.name(), w.mix.percent(*op));
    }
    transfers(&mut out, w);
    attributes(&mut out, w);
    out
}

fn transfers(out: &mut String, w: &WorkloadObject) {
    line!(
        out,
        "\nTransfer sizes, bytes\n  slot  {:<22}{:>7}   {:<22}{:>7}",
        "read",
        "percent",
        "write",
        "percent"
    );
    let (read, write) = (w.read_transfers.slots(), w.write_transfers.slots());
    let of = |slots: &[TransferSlot], i: usize| match slots.get(i) {
        Some(s) if s.percent > 0.0 => (span(s), s.percent.to_string()),
        _ => (String::new(), String::new()),
    };
    for i in 0..read.len().max(write.len()) {
        let ((read, read_share), (write, write_share)) = (of(read, i), of(write, i));
        if read_share.is_empty() && write_share.is_empty() {
            continue;
        }
        let text = format!("  {i:>4}  {read:<22}{read_share:>7}   {write:<22}{write_share:>7}");
        line!(out, "{}", text.trim_end());
    }
    line!(
        out,
        "  mean  {:<32}{}",
        mean(&w.read_transfers),
        mean(&w.write_transfers)
    );
}

fn span(slot: &TransferSlot) -> String {
    match slot.min_bytes == slot.max_bytes {
        true => slot.min_bytes.to_string(),
        false => format!("{} to {}", slot.min_bytes, slot.max_bytes),
    }
}

fn attributes(out: &mut String, w: &WorkloadObject) {
    let a = &w.attributes;
    line!(out, "\nAttributes");
    for (value, meaning) in [
        (a.write_commit_pcnt, "of writes are followed by fsync"),
        (
            a.direct_pcnt,
            "of reads and writes bypass the client's cache",
        ),
        (a.osync_pcnt, "of writes go to files opened with O_SYNC"),
        (
            a.geometric_pcnt,
            "of file choices follow a geometric distribution",
        ),
        (a.compress_pcnt, "of the data can be compressed away"),
        (a.dedupe_pcnt, "of written blocks are copies of others"),
    ] {
        line!(out, "  {value:>5} % {meaning}");
    }
    let sizes = match a.uniform_size_dist {
        true => "all of one size",
        false => "normally distributed around the mean",
    };
    line!(out, "  file sizes: {sizes}");
    line!(
        out,
        "  random places: multiples of {} bytes",
        a.random_align_bytes
    );
    if let Some(bytes) = a.sequential_read_bytes {
        line!(
            out,
            "  sequential reads: {bytes} bytes each; other reads have the other sizes"
        );
    }
    if let Some(limit) = a.random_read_limit_ms {
        line!(
            out,
            "  random reads: {limit} ms in the mean at most; noted from {} ms on",
            limit / 2.0
        );
    }
    if a.depth != 1 {
        line!(out, "  each proc keeps {} operations under way", a.depth);
    }
    if a.no_attribute_cache {
        line!(
            out,
            "  the client is to keep no attributes (mount with noac)"
        );
    }
    if let Some(spot) = a.hot_spot {
        line!(
            out,
            "  hot spot: {} % of random accesses on {} % of a file, moving every {} s",
            spot.access_pcnt,
            spot.area_pcnt,
            spot.move_every_s
        );
    }
    if a.sharemode {
        line!(out, "  all procs share one directory tree");
    }
    if a.background {
        line!(
            out,
            "  in the background: not counted in the overall result"
        );
    }
}

/// The components and limits of a benchmark.
pub fn benchmark(b: &Benchmark, experimental: bool) -> String {
    let (hash, digits) = definition_fingerprint(b);
    let mut out = format!("Benchmark {}, version {}: {}\n", b.name, b.version, b.title);
    if experimental {
        line!(out, "experimental: some of its figures are our own");
    }
    line!(out, "fingerprint {digits:05} ({hash})");
    let Some(work) = b.composite() else {
        return out;
    };
    line!(
        out,
        "\nOne {}: {}, {}",
        b.unit,
        counted(work.procs_per_unit().into(), "proc"),
        match work.ops_per_unit() {
            Some(rate) => format!("{rate} op/s"),
            None => "as many op/s as go".to_owned(),
        }
    );
    let start: u64 = work
        .components
        .iter()
        .map(|c| u64::from(c.instances).saturating_mul(c.start_bytes()))
        .fold(0, u64::saturating_add);
    line!(
        out,
        "  space          {} MiB to begin with, {} MiB at most",
        DataSet::mib(start),
        DataSet::mib(max_bytes(work))
    );
    let memory = match work.client_mem_mib_per_unit {
        0.0 => "not known".to_owned(),
        mib => format!("{mib} MiB"),
    };
    line!(out, "  client memory  {memory}");
    components(&mut out, work);
    let s = &b.standard;
    line!(out, "\nA standard run");
    line!(
        out,
        "  WARMUP {} s, RUN {} s, {} load points at least",
        s.warmup_s,
        s.runtime_s,
        s.load_points_min
    );
    line!(
        out,
        "  {} % of the requested rate, {} % of its own for every proc",
        s.achieved_pcnt_min,
        s.proc_pcnt_min
    );
    line!(
        out,
        "  components within {} % of their share, operations within {} points of theirs",
        s.component_variance_pcnt_max,
        s.mix_deviation_pcnt_max
    );
    out
}

fn components(out: &mut String, work: &CompositeWork) {
    line!(
        out,
        "\n  {:<14} {:>5} {:>10} {:>5} {:>6} {:>11}",
        "COMPONENT",
        "PROCS",
        "OP/S EACH",
        "DIRS",
        "FILES",
        "FILE SIZE"
    );
    for c in &work.components {
        line!(
            out,
            "  {:<14} {:>5} {:>10} {:>5} {:>6} {:>11}{}",
            c.workload.name,
            c.instances,
            rate(c.ops_per_proc),
            c.dir_count,
            c.files_per_dir,
            Bytes(c.file_bytes).to_string(),
            if c.file_sizes.is_some() {
                " on average"
            } else {
                ""
            }
        );
    }
}

fn max_bytes(work: &CompositeWork) -> u64 {
    let of = |c: &Component| u64::from(c.instances).saturating_mul(c.max_bytes());
    work.components.iter().map(of).fold(0, u64::saturating_add)
}

fn mean(table: &TransferTable) -> String {
    Bytes(table.mean_bytes().round() as u64).to_string()
}

fn rate(ops_per_sec: Option<f64>) -> String {
    ops_per_sec.map_or("unlimited".to_owned(), |r| r.to_string())
}

//! Definitions written out again, in the form that [`Registry::take_toml`] reads.
//!
//! [`Registry::take_toml`]: super::Registry::take_toml

use super::{Registry, RegistryError};
use crate::benchmark::Benchmark;
use crate::transfer::TransferTable;
use crate::workload::{Attributes, FsType, RandDist, WorkloadObject};
use std::fmt::Write as _;

impl Registry {
    /// A workload as a `[[workload]]` table, its other names with it.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn workload_toml(&self, name: &str) -> Result<String, RegistryError> {
        let object = self.workload(name)?;
        Ok(workload_table(object, self.workload_aliases(name)))
    }

    /// A composite benchmark as a `[[benchmark]]` table; its workloads are named only.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn composite_toml(&self, name: &str) -> Result<String, RegistryError> {
        let benchmark = self.composite(name)?;
        Ok(benchmark_table(&benchmark, self.is_experimental(name)))
    }
}

/// `write!` into a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

fn workload_table(object: &WorkloadObject, aliases: &[String]) -> String {
    let mut out = String::from("[[workload]]\n");
    line!(out, "name = {}", text(&object.name));
    if !aliases.is_empty() {
        let names: Vec<_> = aliases.iter().map(|a| text(a)).collect();
        line!(out, "aliases = [{}]", names.join(", "));
    }
    line!(out, "title = {}", text(&object.title));
    transfers(&mut out, "read_transfers", &object.read_transfers);
    transfers(&mut out, "write_transfers", &object.write_transfers);
    line!(out, "\n[workload.mix]");
    for (op, percent) in object.mix.shares() {
        line!(out, "{op} = {}", number(*percent));
    }
    line!(out, "\n[workload.attributes]");
    attributes(&mut out, &object.attributes);
    out
}

fn transfers(out: &mut String, name: &str, table: &TransferTable) {
    line!(out, "\n{name} = [");
    for slot in table.slots() {
        line!(
            out,
            "    {{ min_bytes = {}, max_bytes = {}, percent = {} }},",
            slot.min_bytes,
            slot.max_bytes,
            number(slot.percent)
        );
    }
    line!(out, "]");
}

fn attributes(out: &mut String, a: &Attributes) {
    line!(out, "write_commit_pcnt = {}", number(a.write_commit_pcnt));
    line!(out, "direct_pcnt = {}", number(a.direct_pcnt));
    line!(out, "osync_pcnt = {}", number(a.osync_pcnt));
    line!(out, "geometric_pcnt = {}", number(a.geometric_pcnt));
    line!(out, "compress_pcnt = {}", number(a.compress_pcnt));
    line!(out, "dedupe_pcnt = {}", number(a.dedupe_pcnt));
    line!(out, "background = {}", a.background);
    line!(out, "sharemode = {}", a.sharemode);
    line!(out, "uniform_size_dist = {}", a.uniform_size_dist);
    let RandDist::Uniform = a.rand_dist_behavior;
    line!(out, "rand_dist_behavior = \"uniform\"");
    let FsType::Posix = a.fs_type;
    line!(out, "fs_type = \"POSIX\"");
    line!(out, "random_align_bytes = {}", a.random_align_bytes);
    if let Some(bytes) = a.sequential_read_bytes {
        line!(out, "sequential_read_bytes = {bytes}");
    }
    if let Some(limit) = a.random_read_limit_ms {
        line!(out, "random_read_limit_ms = {}", number(limit));
    }
    if a.no_attribute_cache {
        line!(out, "no_attribute_cache = true");
    }
    if a.depth != 1 {
        line!(out, "depth = {}", a.depth);
    }
    if let Some(spot) = a.hot_spot {
        line!(
            out,
            "hot_spot = {{ access_pcnt = {}, area_pcnt = {}, move_every_s = {} }}",
            number(spot.access_pcnt),
            number(spot.area_pcnt),
            number(spot.move_every_s)
        );
    }
}

fn benchmark_table(b: &Benchmark, experimental: bool) -> String {
    let mut out = String::from("[[benchmark]]\n");
    line!(out, "name = {}", text(&b.name));
    line!(out, "version = {}", b.version);
    line!(out, "title = {}", text(&b.title));
    line!(out, "unit = {}", text(&b.unit));
    line!(out, "experimental = {experimental}");
    let Some(work) = b.composite() else {
        return out;
    };
    let memory = number(work.client_mem_mib_per_unit);
    line!(out, "client_mem_mib_per_unit = {memory}");
    let all = work.components.iter().all(|c| c.buckets.is_all());
    line!(
        out,
        "buckets = {}",
        text(if all { "all" } else { "reached" })
    );
    let s = &b.standard;
    line!(out, "\n[benchmark.standard]");
    line!(out, "load_points_min = {}", s.load_points_min);
    for (name, value) in [
        ("warmup_s", s.warmup_s),
        ("runtime_s", s.runtime_s),
        ("response_limit_ms", s.response_limit_ms),
        ("achieved_pcnt_min", s.achieved_pcnt_min),
        ("proc_pcnt_min", s.proc_pcnt_min),
        ("component_variance_pcnt_max", s.component_variance_pcnt_max),
        ("mix_deviation_pcnt_max", s.mix_deviation_pcnt_max),
        ("error_pcnt_max", s.error_pcnt_max),
        ("error_pcnt_invalid", s.error_pcnt_invalid),
    ] {
        line!(out, "{name} = {}", number(value));
    }
    for c in &work.components {
        line!(out, "\n[[benchmark.component]]");
        line!(out, "workload = {}", text(&c.workload.name));
        line!(out, "instances = {}", c.instances);
        if let Some(rate) = c.ops_per_proc {
            line!(out, "ops_per_proc = {}", number(rate));
        }
        line!(out, "dir_count = {}", c.dir_count);
        line!(out, "files_per_dir = {}", c.files_per_dir);
        match &c.file_sizes {
            None => {
                let kib = c.file_bytes as f64 / 1024.0;
                line!(out, "file_kib = {}", number(kib));
            }
            Some(sizes) => {
                line!(out, "file_sizes = [");
                for row in sizes.rows() {
                    let (kib, percent) = (number(row.kib), number(row.percent));
                    line!(out, "    {{ kib = {kib}, percent = {percent} }},");
                }
                line!(out, "]");
            }
        }
    }
    out
}

/// A number as TOML reads it back to the same: whole ones without a point.
fn number(value: f64) -> String {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => format!("{}", value as i64),
        false => format!("{value:?}"),
    }
}

/// A TOML string.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

//! Reads and writes of 4 KiB at random places of a few files.

use super::super::fio::Fio;
use super::{WARMUP, WINDOW, bare, filled, run, turn, write_back};
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, mounted_plan};
use crate::turns::{Bars, Comparison, Contender, Turn, compare};
use filermark_engine::data::SECTOR;
use filermark_model::transfer::TransferTable;
use filermark_model::workload::Attributes;
use filermark_model::{Mix, Op};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A file of the turns, in bytes: all stay in the page cache.
pub const FILE_BYTES: u64 = 64 << 20;
/// Calls of less than a microsecond: two readings of the clock, the choice of a file and the data
/// of a write take as long.
const OF_BARE_SHORT: Bars = Bars {
    cpu_at_most: Some(2.0),
    rate_at_least: Some(0.5),
};
const OF_FIO: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.05),
};
/// Operations under way in the turns past the page cache.
const DEPTH: u32 = 32;
/// fio's io_uring with registered files and buffers, at the same depth: nearly all of the time is
/// the kernel's, for both. 5.2 us where fio takes 5.0.
const OF_FIO_AT_DEPTH: Bars = Bars {
    cpu_at_most: Some(1.04),
    rate_at_least: Some(1.0),
};
/// The share of the processor time that comparing a sample of the data read may take, in percent.
const COMPARED_PCNT_MAX: f64 = 2.0;

/// Which transfers.
struct Kind {
    write: bool,
    procs: u32,
    attributes: Attributes,
}

impl Kind {
    const fn name(&self) -> &'static str {
        match self.write {
            true => "write_random 4 KiB",
            false => "read_random 4 KiB",
        }
    }

    /// Filermark with its files, and the files.
    fn bench(&self, dir: &Path) -> Result<(Bench, Vec<PathBuf>), String> {
        let op = match self.write {
            true => Op::WriteRandom,
            false => Op::ReadRandom,
        };
        let mix = Mix::new([(op, 100.0)]).map_err(|e| e.to_string())?;
        let bench = filled(mounted_plan(self.procs, dir, |component| {
            component.workload.mix = mix.clone();
            component.workload.read_transfers = TransferTable::fixed(4096);
            component.workload.write_transfers = TransferTable::fixed(4096);
            component.workload.attributes = self.attributes.clone();
            (component.dir_count, component.files_per_dir) = (1, 1);
            component.file_bytes = FILE_BYTES;
        })?)?;
        Ok((bench, bare::data_files(dir)?))
    }
}

/// Each place of a file alike likely.
fn uniform() -> Attributes {
    Attributes {
        uniform_size_dist: true,
        ..Attributes::default()
    }
}

/// Reads the files into the page cache: INIT removes what it wrote from it.
fn cache(files: &[PathBuf]) -> Result<(), String> {
    for file in files {
        std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

/// By one thread, in the page cache. Comparing a sector that was read takes `compare_ns`.
pub fn one_proc(
    place: &str,
    dir: &Path,
    write: bool,
    (has_fio, rounds): (bool, u32),
    compare_ns: f64,
) -> MeasuredOrReason {
    let kind = Kind {
        write,
        procs: 1,
        attributes: uniform(),
    };
    let of = format!("{place}: {}", kind.name());
    let (mut bench, files) = kind.bench(dir)?;
    cache(&files)?;
    // The share of the processor time that comparing took, in percent.
    let compared_pcnt = RefCell::new(Vec::new());
    let mut contenders = vec![
        Contender::filermark(|| {
            write_back(dir)?;
            let stats = run(&mut bench)?;
            let sectors = stats.checked_bytes() as f64 / SECTOR as f64;
            let share = sectors * compare_ns / stats.generator_cpu_ns.max(1) as f64;
            compared_pcnt.borrow_mut().push(share * 100.0);
            Ok(turn(&stats))
        }),
        Contender::other("bare loop", OF_BARE_SHORT, || {
            write_back(dir)?;
            bare::transfers(&files, write, (WARMUP, WINDOW))
        }),
    ];
    if has_fio {
        contenders.push(Contender::other("fio psync", OF_FIO, || {
            write_back(dir)?;
            fio_turn(&files, write, &[])
        }));
    }
    let mut measured = Measured::from(compare(&of, "op/s", rounds, contenders)?);
    if !write {
        let name = format!("{of}: share of comparing");
        let share = Figure::new(name, "% of processor time", compared_pcnt.into_inner());
        measured.add(share.bar(Bar::AtMost(COMPARED_PCNT_MAX)));
    }
    bench.cleanup()?;
    Ok(measured)
}

/// By two threads, in the page cache: each proc has files of its own, a thread of fio uses all.
pub fn two_procs(place: &str, dir: &Path, write: bool, rounds: u32) -> Result<Comparison, String> {
    let kind = Kind {
        write,
        procs: 2,
        attributes: uniform(),
    };
    let of = format!("{place}: {}, 2 procs", kind.name());
    let (mut bench, files) = kind.bench(dir)?;
    cache(&files)?;
    let contenders = vec![
        Contender::filermark(|| {
            write_back(dir)?;
            Ok(turn(&run(&mut bench)?))
        }),
        Contender::other("fio psync", OF_FIO, || {
            write_back(dir)?;
            fio_turn(&files, write, &["--numjobs=2", "--group_reporting"])
        }),
    ];
    let compared = compare(&of, "op/s", rounds, contenders);
    bench.cleanup()?;
    compared
}

/// Past the page cache, several at a time, by io_uring.
pub fn at_depth(place: &str, dir: &Path, write: bool, rounds: u32) -> Result<Comparison, String> {
    let kind = Kind {
        write,
        procs: 1,
        attributes: Attributes {
            direct_pcnt: 100.0,
            depth: DEPTH,
            ..uniform()
        },
    };
    let of = format!("{place}: {}, O_DIRECT, depth {DEPTH}", kind.name());
    let (mut bench, files) = kind.bench(dir)?;
    let depth = format!("--iodepth={DEPTH}");
    let options = [
        "--ioengine=io_uring",
        &depth,
        "--direct=1",
        "--registerfiles=1",
        "--fixedbufs=1",
    ];
    let contenders = vec![
        Contender::filermark(|| {
            write_back(dir)?;
            Ok(turn(&run(&mut bench)?))
        }),
        Contender::other("fio io_uring", OF_FIO_AT_DEPTH, || {
            write_back(dir)?;
            fio_turn(&files, write, &options)
        }),
    ];
    let compared = compare(&of, "op/s", rounds, contenders);
    bench.cleanup()?;
    compared
}

/// fio on the files, which keep their sizes and places; with its engine psync, or as `options`
/// have it.
fn fio_turn(files: &[PathBuf], write: bool, options: &[&str]) -> Result<Turn, String> {
    let names: Vec<_> = files.iter().map(|f| f.display().to_string()).collect();
    let mut fio = Fio::new("psync", write, 4096, WINDOW);
    for option in options {
        fio.arg(option);
    }
    fio.arg(format!("--filesize={FILE_BYTES}"));
    fio.arg(format!("--size={}", FILE_BYTES * files.len() as u64));
    fio.arg(format!("--filename={}", names.join(":")));
    fio.arg("--invalidate=0");
    fio.arg("--file_service_type=random");
    fio.turn()
}

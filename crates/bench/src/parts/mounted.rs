//! Operations on mounted file systems, compared with a bare loop of the same system calls on the
//! same files and with fio; one thread each, in turns.
//!
//! The bare loop is the limit: it only makes the calls. All contenders work on the same files, or
//! make and remove as many names in the same directories, so that all find the same layout, and
//! all look up one name in an open directory. Before each turn the file system's dirty pages are
//! written back, so that no turn waits for those of an earlier one.

mod bare;

use super::codec;
use super::fio::{self, Fio};
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, mounted_plan};
use crate::turns::{Bars, Comparison, Contender, Turn, compare};
use bare::{ChangingLoop, ReadingLoop};
use filermark_engine::data::SECTOR;
use filermark_model::transfer::TransferTable;
use filermark_model::workload::Attributes;
use filermark_model::{Mix, Op, PointStats, RunPlan};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

const WARMUP: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_millis(350);
/// Directories of the tree in the metadata turns, and files of a bucket in each.
const DIRS: u32 = 10;
const FILES: u32 = 100;
/// The file of the transfer turns, in bytes: it stays in the page cache.
const FILE_BYTES: u64 = 64 << 20;
/// Calls of several microseconds each.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.35),
    rate_at_least: Some(0.75),
};
/// Calls of less than a microsecond: two readings of the clock, the choice of a file and the data
/// of a write take as long.
const OF_BARE_SHORT: Bars = Bars {
    cpu_at_most: Some(2.0),
    rate_at_least: Some(0.5),
};
const OF_FIO: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.0),
};
/// Operations under way in the turns past the page cache.
const DEPTH: u32 = 32;
/// fio's io_uring with registered files and buffers, at the same depth: nearly all of the time is
/// the kernel's, for both.
const OF_FIO_AT_DEPTH: Bars = Bars {
    cpu_at_most: Some(1.04),
    rate_at_least: Some(0.97),
};
/// The share of the processor time that comparing a sample of the data read may take, in percent.
const COMPARED_PCNT_MAX: f64 = 2.0;

/// Measures on tmpfs and on the file system of the current directory.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let mut measured = Measured::default();
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    let compare_ns = Figure::new("", "ns", codec::compare_sample(rounds)).median();
    let has_fio = fio::has_engine("psync");
    if !has_fio {
        eprintln!("fio is not installed (Debian package fio)");
    }
    for (name, place) in [
        ("tmpfs", PathBuf::from("/dev/shm")),
        ("disk", here.join("target")),
    ] {
        let dir = Scratch::new(&place)?;
        if name == "disk" && fio::has_engine("io_uring") {
            for write in [false, true] {
                measured.add(at_depth(name, &dir.0, write, rounds)?);
            }
        }
        for calls in Calls::ALL {
            measured.add(metadata(name, &dir.0, calls, rounds)?);
        }
        for write in [false, true] {
            measured.add(transfers(
                name,
                &dir.0,
                write,
                (has_fio, rounds),
                compare_ns,
            )?);
        }
    }
    Ok(measured)
}

/// The calls of a metadata comparison.
#[derive(Clone, Copy)]
enum Calls {
    Stat,
    CreateUnlink,
    MkdirRmdir,
    Readdir,
}

impl Calls {
    const ALL: [Self; 4] = [
        Self::Stat,
        Self::CreateUnlink,
        Self::MkdirRmdir,
        Self::Readdir,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::CreateUnlink => "create, unlink",
            Self::MkdirRmdir => "mkdir, rmdir",
            Self::Readdir => "readdir",
        }
    }

    fn mix(self) -> Result<Mix, String> {
        let ops: &[(Op, f64)] = match self {
            Self::Stat => &[(Op::Stat, 100.0)],
            Self::CreateUnlink => &[(Op::Create, 50.0), (Op::Unlink, 50.0)],
            Self::MkdirRmdir => &[(Op::Mkdir, 50.0), (Op::Rmdir, 50.0)],
            Self::Readdir => &[(Op::Readdir, 100.0)],
        };
        Mix::new(ops.iter().copied()).map_err(|e| e.to_string())
    }

    const fn bars(self) -> Bars {
        match self {
            Self::Stat => OF_BARE_SHORT,
            _ => OF_BARE,
        }
    }
}

fn metadata(place: &str, dir: &Path, calls: Calls, rounds: u32) -> Result<Comparison, String> {
    let mix = calls.mix()?;
    let mut bench = filled(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        (component.dir_count, component.files_per_dir) = (DIRS, FILES);
        component.file_bytes = 1024;
    })?)?;
    let of = format!("{place}: {}", calls.name());
    let ours = Contender::filermark(|| {
        write_back(dir)?;
        Ok(turn(&run(&mut bench)?))
    });
    let spans = (WARMUP, WINDOW);
    let bare = |turn: &mut dyn FnMut() -> Result<Turn, String>| {
        let bare = Contender::other("bare loop", calls.bars(), || {
            write_back(dir)?;
            turn()
        });
        compare(&of, "op/s", rounds, vec![ours, bare])
    };
    let compared = match calls {
        Calls::Stat | Calls::Readdir => {
            let reading = match calls {
                Calls::Stat => ReadingLoop::stat(dir)?,
                _ => ReadingLoop::readdir(dir)?,
            };
            bare(&mut || reading.turn(spans))
        }
        Calls::CreateUnlink | Calls::MkdirRmdir => {
            let mut changing = match calls {
                Calls::CreateUnlink => ChangingLoop::files(dir, FILES)?,
                _ => ChangingLoop::dirs(dir, FILES)?,
            };
            let compared = bare(&mut || changing.turn(spans));
            changing.remove_all()?;
            compared
        }
    }?;
    bench.cleanup()?;
    Ok(compared)
}

/// Reads or writes of 4 KiB. Comparing a sector that was read takes `compare_ns`.
fn transfers(
    place: &str,
    dir: &Path,
    write: bool,
    (has_fio, rounds): (bool, u32),
    compare_ns: f64,
) -> MeasuredOrReason {
    let (op, name) = match write {
        true => (Op::WriteRandom, "write_random 4 KiB"),
        false => (Op::ReadRandom, "read_random 4 KiB"),
    };
    let of = format!("{place}: {name}");
    let mix = Mix::new([(op, 100.0)]).map_err(|e| e.to_string())?;
    let mut bench = filled(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        component.workload.read_transfers = TransferTable::fixed(4096);
        component.workload.write_transfers = TransferTable::fixed(4096);
        component.workload.attributes = Default::default();
        component.workload.attributes.uniform_size_dist = true;
        (component.dir_count, component.files_per_dir) = (1, 1);
        component.file_bytes = FILE_BYTES;
    })?)?;
    let files = bare::data_files(dir)?;
    // INIT removes what it wrote from the page cache.
    for file in &files {
        std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
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

/// Reads or writes of 4 KiB past the page cache, several at a time, by io_uring.
fn at_depth(place: &str, dir: &Path, write: bool, rounds: u32) -> Result<Comparison, String> {
    let (op, name) = match write {
        true => (Op::WriteRandom, "write_random"),
        false => (Op::ReadRandom, "read_random"),
    };
    let of = format!("{place}: {name} 4 KiB, O_DIRECT, depth {DEPTH}");
    let mix = Mix::new([(op, 100.0)]).map_err(|e| e.to_string())?;
    let mut bench = filled(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        component.workload.read_transfers = TransferTable::fixed(4096);
        component.workload.write_transfers = TransferTable::fixed(4096);
        component.workload.attributes = Attributes {
            uniform_size_dist: true,
            direct_pcnt: 100.0,
            depth: DEPTH,
            ..Attributes::default()
        };
        (component.dir_count, component.files_per_dir) = (1, 1);
        component.file_bytes = FILE_BYTES;
    })?)?;
    let files = bare::data_files(dir)?;
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

/// Writes back all dirty pages of the file system of `dir`.
fn write_back(dir: &Path) -> Result<(), String> {
    let dir = std::fs::File::open(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    rustix::fs::syncfs(&dir).map_err(|e| format!("syncfs: {e}"))
}

fn turn(stats: &PointStats) -> Turn {
    Turn {
        ops: stats.success_count() as f64,
        seconds: stats.window_ns as f64 / 1e9,
        cpu_ns: stats.generator_cpu_ns as f64,
    }
}

/// INIT of a plan.
fn filled(plan: RunPlan) -> Result<Bench, String> {
    let mut bench = Bench::start(plan)?;
    bench.init(0.0)?;
    Ok(bench)
}

/// One turn.
fn run(bench: &mut Bench) -> Result<PointStats, String> {
    let stats = bench.run(0.0, WARMUP, WINDOW)?;
    match stats.error_count() {
        0 => Ok(stats),
        n => Err(format!("{n} operations failed: {:?}", stats.errors)),
    }
}

/// A directory that is removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(below: &Path) -> Result<Self, String> {
        let path = below.join(format!("filermark-bench.{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Operations on mounted file systems, side by side with a bare loop of the same
//! system calls on the same files, and with fio; one thread each, in turns.
//!
//! The bare loop is the limit: it does nothing but call. All work on the same files (names that
//! come and go: on as many, in directories of their own), so that all find the same layout, and
//! look up one name in an open directory. Before each turn on a disk, what the turns before it
//! have left to be written is written.

mod bare;
mod fio;

use super::codec;
use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, mounted_plan};
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::data::SECTOR;
use filermark_model::transfer::TransferTable;
use filermark_model::{Mix, Op, PointStats, RunPlan};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long each turn takes.
const WINDOW: Duration = Duration::from_millis(500);
const WARMUP: Duration = Duration::from_millis(200);
/// Directories and files of the tree in the metadata turns.
const DIRS: u32 = 10;
const FILES: u32 = 100;
/// The file of the transfer turns, in bytes: cached, so that the calls count.
pub(super) const FILE_BYTES: u64 = 64 << 20;
/// Beside the bare loop of calls of several microseconds each.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.35),
    rate_at_least: Some(0.75),
};
/// Beside the bare loop of stat and of cached transfers. These take less than a microsecond, beside
/// which two readings of the clock, a choice and the data of a write are much.
const OF_BARE_SHORT: Bars = Bars {
    cpu_at_most: Some(2.0),
    rate_at_least: Some(0.5),
};
const OF_FIO: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.0),
};
/// Percent of the processor time that comparing a sample of what was read may take.
const COMPARED_PCNT_MAX: f64 = 2.0;

/// Measures on tmpfs and on the file system of the current directory.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let mut figures = Vec::new();
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    let compare_ns = Figure::new("", "ns", codec::compare_sample(rounds)).median();
    for (name, place) in [
        ("tmpfs", PathBuf::from("/dev/shm")),
        ("disk", here.join("target")),
    ] {
        let dir = Scratch::new(&place)?;
        for (what, mix, calls, bars) in METADATA {
            let of = format!("{name}: {what}");
            figures.extend(metadata(&of, &dir.0, mix, (*calls, *bars), rounds)?);
        }
        for (what, op, write) in [
            ("read_random 4 KiB", Op::ReadRandom, false),
            ("write_random 4 KiB", Op::WriteRandom, true),
        ] {
            let of = format!("{name}: {what}");
            figures.extend(transfers(&of, &dir.0, (op, write), rounds, compare_ns)?);
        }
    }
    Ok(figures)
}

/// Which calls the bare loop makes.
#[derive(Clone, Copy)]
pub(super) enum LoopCalls {
    /// fstatat.
    Stat,
    /// openat with O_CREAT, close; unlinkat.
    CreateUnlink,
    /// mkdirat; unlinkat.
    MkdirRmdir,
    /// openat, getdents to the end, close.
    Readdir,
}

/// Its name, the mix, the calls of the bare loop, and our ratios to it.
type Variant = (&'static str, &'static [(Op, f64)], LoopCalls, Bars);

const METADATA: &[Variant] = &[
    ("stat", &[(Op::Stat, 100.0)], LoopCalls::Stat, OF_BARE_SHORT),
    (
        "create, unlink",
        &[(Op::Create, 50.0), (Op::Unlink, 50.0)],
        LoopCalls::CreateUnlink,
        OF_BARE,
    ),
    (
        "mkdir, rmdir",
        &[(Op::Mkdir, 50.0), (Op::Rmdir, 50.0)],
        LoopCalls::MkdirRmdir,
        OF_BARE,
    ),
    (
        "readdir",
        &[(Op::Readdir, 100.0)],
        LoopCalls::Readdir,
        OF_BARE,
    ),
];

fn metadata(
    of: &str,
    dir: &Path,
    mix: &[(Op, f64)],
    (calls, bars): (LoopCalls, Bars),
    rounds: u32,
) -> FiguresOrSkip {
    let mix = Mix::new(mix.iter().copied()).map_err(|e| e.to_string())?;
    let mut bench = filled(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        (component.dir_count, component.files_per_dir) = (DIRS, FILES);
        component.file_bytes = 1024;
    })?)?;
    let contenders = vec![
        Contender::own("filermark", || {
            write_back(dir)?;
            Ok(turn(&run(&mut bench)?))
        }),
        Contender::other("bare loop", bars, || {
            write_back(dir)?;
            bare::metadata(dir, calls, (DIRS, FILES), WINDOW)
        }),
    ];
    let figures = compare(of, "op/s", rounds, contenders)?;
    bench.cleanup()?;
    Ok(figures)
}

/// Transfers of one kind: ours, the bare loop's and fio's in turns. Comparing a sector that
/// was read takes `compare_ns`.
fn transfers(
    of: &str,
    dir: &Path,
    (op, write): (Op, bool),
    rounds: u32,
    compare_ns: f64,
) -> FiguresOrSkip {
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
    // INIT leaves nothing of them in the page cache.
    for file in &files {
        std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    // Share of our processor time that comparing what was read took, in percent.
    let compared_pcnt = RefCell::new(Vec::new());
    let mut contenders = vec![
        Contender::own("filermark", || {
            write_back(dir)?;
            let stats = run(&mut bench)?;
            let sectors = stats.checked_bytes() as f64 / SECTOR as f64;
            let share = sectors * compare_ns / stats.generator_cpu_ns.max(1) as f64;
            compared_pcnt.borrow_mut().push(share * 100.0);
            Ok(turn(&stats))
        }),
        Contender::other("bare loop", OF_BARE_SHORT, || {
            write_back(dir)?;
            bare::transfers(&files, write, WINDOW)
        }),
    ];
    match fio::is_installed() {
        true => contenders.push(Contender::other("fio psync", OF_FIO, || {
            write_back(dir)?;
            fio::turn(&files, write, WINDOW)
        })),
        false => eprintln!("fio is not installed (Debian package fio)"),
    }
    let mut figures = compare(of, "op/s", rounds, contenders)?;
    if !write {
        let share = Figure::new(
            format!("{of}, comparing"),
            "% of CPU",
            compared_pcnt.into_inner(),
        );
        figures.push(share.bar(Bar::AtMost(COMPARED_PCNT_MAX)));
    }
    bench.cleanup()?;
    Ok(figures)
}

/// Writes everything on the file system of `dir` back.
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

/// The files of a plan, made.
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

/// A directory that goes when it is dropped.
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

//! Operations on mounted file systems, side by side with a bare loop of the same
//! system calls on the same files, and with fio; one thread each, in turns.
//!
//! The bare loop is the limit: it does nothing but call. Both look the same names up
//! the same way (relative to an open directory), the loop with its names written out
//! beforehand.

mod bare;
mod fio;

use super::codec;
use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, mounted_plan};
use filermark_engine::data::SECTOR;
use filermark_model::transfer::TransferTable;
use filermark_model::{Mix, Op, PointStats, RunPlan};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long each turn takes.
const WINDOW: Duration = Duration::from_millis(1_500);
const WARMUP: Duration = Duration::from_millis(300);
/// Directories and files of the tree in the metadata turns.
const DIRS: u32 = 10;
const FILES: u32 = 100;
/// The file of the transfer turns, in bytes: cached, so that the calls count.
pub(super) const FILE_BYTES: u64 = 64 << 20;
/// Of the bare loop's rate, wanted; of fio's.
const OF_BARE: f64 = 0.95;
const OF_FIO: f64 = 1.0;
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
        for (what, mix, calls) in METADATA {
            let mut bench = metadata(&dir.0, mix)?;
            let (mut mine, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                mine.push(run(&mut bench)?.achieved_ops_per_sec());
                bare.push(bare::metadata(&dir.0, *calls, DIRS, FILES, WINDOW)?);
            }
            bench.cleanup()?;
            figures.extend(beside_bare(name, what, &mine, &bare));
        }
        for (what, op, write) in [
            ("read_random 4 KiB", Op::ReadRandom, false),
            ("write_random 4 KiB", Op::WriteRandom, true),
        ] {
            let turns = transfers(&dir.0, (op, write), rounds, compare_ns)?;
            figures.extend(turns.figures(name, what, write));
        }
    }
    Ok(figures)
}

/// Ours and the bare loop's op/s, and their ratio.
fn beside_bare(place: &str, what: &str, mine: &[f64], bare: &[f64]) -> [Figure; 3] {
    [
        figure(place, what, "filermark", mine),
        figure(place, what, "bare loop", bare),
        ratio(place, what, "of the bare loop", mine, bare, OF_BARE),
    ]
}

/// What the turns of a transfer came to, round by round.
#[derive(Default)]
struct VariantResults {
    mine: Vec<f64>,
    bare: Vec<f64>,
    fio: Vec<f64>,
    /// Share of our processor time that comparing what was read took, in percent.
    compared_pcnt: Vec<f64>,
}

impl VariantResults {
    fn figures(&self, place: &str, what: &str, write: bool) -> Vec<Figure> {
        let mut figures = beside_bare(place, what, &self.mine, &self.bare).to_vec();
        if !self.fio.is_empty() {
            let who = match write {
                true => "fio psync, refill_buffers",
                false => "fio psync",
            };
            figures.push(figure(place, what, who, &self.fio));
            figures.push(ratio(place, what, "of fio", &self.mine, &self.fio, OF_FIO));
        }
        if !write {
            let name = format!("{place}: {what}, comparing");
            let share = Figure::new(name, "% of CPU", self.compared_pcnt.clone());
            figures.push(share.bar(Bar::AtMost(COMPARED_PCNT_MAX)));
        }
        figures
    }
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

/// A turn: its name, the mix, the calls of the bare loop.
type Variant = (&'static str, &'static [(Op, f64)], LoopCalls);

const METADATA: &[Variant] = &[
    ("stat", &[(Op::Stat, 100.0)], LoopCalls::Stat),
    (
        "create, unlink",
        &[(Op::Create, 50.0), (Op::Unlink, 50.0)],
        LoopCalls::CreateUnlink,
    ),
    (
        "mkdir, rmdir",
        &[(Op::Mkdir, 50.0), (Op::Rmdir, 50.0)],
        LoopCalls::MkdirRmdir,
    ),
    ("readdir", &[(Op::Readdir, 100.0)], LoopCalls::Readdir),
];

fn metadata(dir: &Path, mix: &[(Op, f64)]) -> Result<Bench, String> {
    let mix = Mix::new(mix.iter().copied()).map_err(|e| e.to_string())?;
    filled(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        (component.dir_count, component.files_per_dir) = (DIRS, FILES);
        component.file_bytes = 1024;
    })?)
}

/// Transfers of one kind: ours, the bare loop's and fio's in turns. Comparing a sector that
/// was read takes `compare_ns`.
fn transfers(
    dir: &Path,
    (op, write): (Op, bool),
    rounds: u32,
    compare_ns: f64,
) -> Result<VariantResults, String> {
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
    let mut turns = VariantResults::default();
    for _ in 0..rounds {
        let stats = run(&mut bench)?;
        turns.mine.push(stats.achieved_ops_per_sec());
        let sectors = stats.checked_bytes() as f64 / SECTOR as f64;
        let share = sectors * compare_ns / stats.generator_cpu_ns.max(1) as f64;
        turns.compared_pcnt.push(share * 100.0);
        turns.bare.push(bare::transfers(dir, write, WINDOW)?);
        match fio::rate(dir, write, WINDOW) {
            Ok(rate) => turns.fio.push(rate),
            Err(why) => eprintln!("fio: {why}"),
        }
    }
    bench.cleanup()?;
    Ok(turns)
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

fn figure(place: &str, what: &str, who: &str, rates: &[f64]) -> Figure {
    Figure::new(format!("{place}: {what}, {who}"), "op/s", rates.to_vec()).bar(Bar::More)
}

fn ratio(place: &str, what: &str, of: &str, mine: &[f64], theirs: &[f64], bar: f64) -> Figure {
    let ratios = mine.iter().zip(theirs).map(|(a, b)| a / b).collect();
    Figure::new(format!("{place}: {what}, {of}"), "x", ratios).bar(Bar::AtLeast(bar))
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

//! Operations on mounted file systems, side by side with a bare loop of the same
//! system calls on the same files, and with fio; one thread each, in turns.
//!
//! The bare loop is the limit: it does nothing but call. Both look the same names up
//! the same way (relative to an open directory), the loop with its names written out
//! beforehand.

mod bare;
mod fio;

use crate::Measured;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, mounted_plan};
use filermark_model::transfer::TransferTable;
use filermark_model::{Mix, Op};
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

/// Measures on tmpfs and on the file system of the current directory.
pub fn measure(rounds: u32) -> Measured {
    let mut figures = Vec::new();
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    for (name, place) in [
        ("tmpfs", PathBuf::from("/dev/shm")),
        ("disk", here.join("target")),
    ] {
        let dir = Scratch::new(&place)?;
        for (what, mix, calls) in METADATA {
            let mine = metadata(&dir.0, mix, rounds)?;
            let bare = repeated(rounds, || {
                bare::metadata(&dir.0, *calls, DIRS, FILES, WINDOW)
            })?;
            figures.push(told(name, what, "filermark", &mine));
            figures.push(told(name, what, "bare loop", &bare));
            figures.push(ratio(name, what, "of the bare loop", &mine, &bare, OF_BARE));
        }
        for (what, op, write) in [
            ("read_random 4 KiB", Op::ReadRandom, false),
            ("write_random 4 KiB", Op::WriteRandom, true),
        ] {
            let mine = transfers(&dir.0, op, rounds)?;
            let bare = repeated(rounds, || bare::transfers(&dir.0, write, WINDOW))?;
            figures.push(told(name, what, "filermark", &mine));
            figures.push(told(name, what, "bare loop", &bare));
            figures.push(ratio(name, what, "of the bare loop", &mine, &bare, OF_BARE));
            match repeated(rounds, || fio::rate(&dir.0, write, WINDOW)) {
                Ok(theirs) => {
                    figures.push(told(name, what, "fio psync", &theirs));
                    figures.push(ratio(name, what, "of fio", &mine, &theirs, OF_FIO));
                }
                Err(why) => eprintln!("fio: {why}"),
            }
        }
    }
    Ok(figures)
}

/// Which calls the bare loop makes.
#[derive(Clone, Copy)]
pub(super) enum Calls {
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
type Turn = (&'static str, &'static [(Op, f64)], Calls);

const METADATA: &[Turn] = &[
    ("stat", &[(Op::Stat, 100.0)], Calls::Stat),
    (
        "create, unlink",
        &[(Op::Create, 50.0), (Op::Unlink, 50.0)],
        Calls::CreateUnlink,
    ),
    (
        "mkdir, rmdir",
        &[(Op::Mkdir, 50.0), (Op::Rmdir, 50.0)],
        Calls::MkdirRmdir,
    ),
    ("readdir", &[(Op::Readdir, 100.0)], Calls::Readdir),
];

fn metadata(dir: &Path, mix: &[(Op, f64)], rounds: u32) -> Result<Vec<f64>, String> {
    let mix = Mix::new(mix.iter().copied()).map_err(|e| e.to_string())?;
    let mut bench = Bench::start(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        (component.dir_count, component.files_per_dir) = (DIRS, FILES);
        component.file_bytes = 1024;
    })?)?;
    rates(&mut bench, rounds)
}

fn transfers(dir: &Path, op: Op, rounds: u32) -> Result<Vec<f64>, String> {
    let mix = Mix::new([(op, 100.0)]).map_err(|e| e.to_string())?;
    let mut bench = Bench::start(mounted_plan(dir, |component| {
        component.workload.mix = mix.clone();
        component.workload.read_transfers = TransferTable::fixed(4096);
        component.workload.write_transfers = TransferTable::fixed(4096);
        component.workload.attributes = Default::default();
        component.workload.attributes.uniform_size_dist = true;
        (component.dir_count, component.files_per_dir) = (1, 1);
        component.file_bytes = FILE_BYTES;
    })?)?;
    rates(&mut bench, rounds)
}

fn rates(bench: &mut Bench, rounds: u32) -> Result<Vec<f64>, String> {
    bench.init(0.0)?;
    let rates = (0..rounds)
        .map(|_| {
            let stats = bench.run(0.0, WARMUP, WINDOW)?;
            match stats.error_count() {
                0 => Ok(stats.achieved_ops_per_sec()),
                n => Err(format!("{n} operations failed: {:?}", stats.errors)),
            }
        })
        .collect();
    bench.cleanup()?;
    rates
}

fn repeated(
    rounds: u32,
    mut turn: impl FnMut() -> Result<f64, String>,
) -> Result<Vec<f64>, String> {
    (0..rounds).map(|_| turn()).collect()
}

fn told(place: &str, what: &str, who: &str, rates: &[f64]) -> Figure {
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

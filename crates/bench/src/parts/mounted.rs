//! Operations on mounted file systems, compared with a bare loop of the same system calls on the
//! same files and with fio; with as many threads each, in turns.
//!
//! The bare loop is the limit: it only makes the calls. All contenders work on the same files, or
//! make and remove as many names in the same directories, so that all find the same layout, and
//! all look up one name in an open directory. Before each turn the file system's dirty pages are
//! written back, so that no turn waits for those of an earlier one.

mod bare;
mod transfers;

use super::codec;
use super::fio;
use crate::figure::Figure;
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, mounted_plan};
use crate::turns::{Bars, Comparison, Contender, Turn, compare};
use bare::{ChangingLoop, ReadingLoop};
use filermark_model::{Mix, Op, PointStats, RunPlan};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WARMUP: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_millis(350);
/// Directories of the tree in the metadata turns, and files of a bucket in each.
const DIRS: u32 = 10;
const FILES: u32 = 100;
/// What is beside the calls is twenty times as short as they are.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.05),
    rate_at_least: Some(0.95),
};
/// A listing has to be ended by the driver, too.
const OF_BARE_READDIR: Bars = Bars {
    cpu_at_most: Some(1.35),
    rate_at_least: Some(0.75),
};

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
                measured.add(transfers::at_depth(name, &dir.0, write, rounds)?);
            }
        }
        for calls in Calls::ALL {
            measured.add(metadata(name, &dir.0, calls, rounds)?);
        }
        for write in [false, true] {
            let fio = (has_fio, rounds);
            measured.add(transfers::one_proc(name, &dir.0, write, fio, compare_ns)?);
            if has_fio {
                measured.add(transfers::two_procs(name, &dir.0, write, rounds)?);
            }
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
            Self::Readdir => OF_BARE_READDIR,
            _ => OF_BARE,
        }
    }
}

fn metadata(place: &str, dir: &Path, calls: Calls, rounds: u32) -> Result<Comparison, String> {
    let mix = calls.mix()?;
    let mut bench = filled(mounted_plan(1, dir, |component| {
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

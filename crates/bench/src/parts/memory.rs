//! Memory of a file of the file set, of an idle proc, and of a session.

use super::nfs_shard::{Place, SaturatedShard};
use crate::figure::{Bar, Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use crate::plan::{Bench, plan, with_small_files};
use crate::server::{ServerProcess, ServerSpec};
use crate::{alloc, cpu};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::fileset::{AccessedFiles, Deal, FileSet};
use filermark_model::Benchmark;

const FILES: u64 = 1_000_000;
/// Files that INIT makes, for the driver's memory of each.
const MADE: u64 = 100_000;
const PROCS: u32 = 10_000;
const SESSIONS: u32 = 10_000;
/// Procs that have their directories, small files and links.
const POPULATED: u32 = 500;

/// Bytes per file, KiB per idle proc.
pub fn measure(_: u32) -> MeasuredOrReason {
    figures_only(all())
}

fn all() -> Figures {
    // First, while there is no freed memory that could be reused.
    let mut figures = idle()?;
    figures.extend(sessions()?);
    figures.extend(populated()?);
    figures.extend(engine_state()?);
    figures.extend(whole()?);
    Ok(figures)
}

/// The engine's state alone.
fn engine_state() -> Figures {
    let benchmark = Benchmark::shipped("general-nfs3").map_err(|e| e.to_string())?;
    let classic = benchmark.classic().ok_or("a classical benchmark")?;
    let set = FileSet::new(1, classic);
    let choice = set.choice(FILES);
    let deal = Deal {
        proc_count: 1,
        proc: 0,
    };
    let before = alloc::held_bytes();
    let mut files = AccessedFiles::default();
    files.fit(&set, &choice, deal, FILES as u32);
    let accessed = files.len();
    let held = (alloc::held_bytes() - before) as f64;
    Ok(vec![
        figure(
            "engine's state, per file of the file set",
            held / FILES as f64,
        ),
        Figure::new(
            "engine's state, per accessed file",
            "bytes",
            vec![held / accessed as f64],
        ),
    ])
}

/// State and file handles, after an INIT of many small files.
fn whole() -> Figures {
    let server = ServerProcess::start(ServerSpec::default())?;
    let port = server.address.port();
    let options = [("SHARDS", "1"), ("FILESET_MB_PER_OP", "1")];
    let mut plan = plan(4, "127.0.0.1:/export", (port, port), &options)?;
    // Only the number of files matters here.
    with_small_files(&mut plan)?;
    let mut bench = Bench::start(plan)?;
    let few = MADE as f64 / 1024.0 / 100.0;
    bench.init(few)?;
    let before = alloc::held_bytes();
    bench.init(MADE as f64 / 1024.0)?;
    let held = (alloc::held_bytes() - before) as f64 / (MADE as f64 * 0.99);
    Ok(vec![figure("state and handles, per file made", held)])
}

fn figure(name: &str, bytes: f64) -> Figure {
    Figure::new(name, "bytes", vec![bytes]).bar(Bar::AtMost(64.0))
}

/// Many connected, idle procs.
fn idle() -> Figures {
    let server = ServerProcess::start(ServerSpec::default())?;
    let port = server.address.port();
    let plan = plan(PROCS, "127.0.0.1:/export", (port, port), &[])?;
    let (held, resident) = (alloc::held_bytes(), cpu::resident_bytes());
    let bench = Bench::start(plan)?;
    let per_proc = |bytes: f64| vec![bytes / 1024.0 / f64::from(PROCS)];
    let held = per_proc((alloc::held_bytes() - held) as f64);
    let resident = per_proc(cpu::resident_bytes().saturating_sub(resident) as f64);
    drop(bench);
    let name = |what: &str| format!("{PROCS} idle procs, {what}, per proc");
    Ok(vec![
        Figure::new(name("resident"), "KiB", resident).bar(Bar::AtMost(64.0)),
        Figure::new(name("heap"), "KiB", held).bar(Bar::AtMost(64.0)),
    ])
}

/// Many connections with a session of NFSv4.1 each, after a few calls. The driver alone: procs have no
/// state of the engine.
fn sessions() -> Figures {
    let server = ServerProcess::start(ServerSpec {
        has_sessions: true,
        ..ServerSpec::default()
    })?;
    let place = Place::canned(server.address, true, server.options());
    let before = alloc::held_bytes();
    let getattr = Action::Getattr { object: PROC_DIR };
    let mut shard = SaturatedShard::open(&place, (SESSIONS, 1), getattr, 0)?;
    shard.drain()?;
    let held = (alloc::held_bytes() - before) as f64 / 1024.0 / f64::from(SESSIONS);
    let name = format!("{SESSIONS} sessions of NFSv4.1, heap, each");
    Ok(vec![
        Figure::new(name, "KiB", vec![held]).bar(Bar::AtMost(16.0)),
    ])
}

/// Procs after INIT with very few I/O files.
fn populated() -> Figures {
    let server = ServerProcess::start(ServerSpec::default())?;
    let port = server.address.port();
    let plan = plan(POPULATED, "127.0.0.1:/export", (port, port), &[])?;
    let before = alloc::held_bytes();
    let mut bench = Bench::start(plan)?;
    bench.init(1.0)?;
    let held = (alloc::held_bytes() - before) as f64 / 1024.0 / f64::from(POPULATED);
    let name = format!("{POPULATED} procs after INIT, heap, per proc");
    Ok(vec![
        Figure::new(name, "KiB", vec![held]).bar(Bar::AtMost(64.0)),
    ])
}

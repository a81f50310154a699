//! INIT compared with libnfs's `nfs-cp` on the same server.
//!
//! `nfs-cp` writes one file, one call at a time. Several of them in parallel, each with its share of
//! the bytes, load the server more, but still make a few files where INIT makes thousands: there
//! is no bar on that ratio. What the server itself takes of the processors, and what is idle,
//! says whether it or the clients are the limit.

use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, nfs3, plan};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::{Bars, Contender, Turn, compare};
use crate::{children::children_ns, cpu};
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::sys::ticks_per_second;
use filermark_model::plan::MountPoint;
use filermark_nfs::target::Target;
use filermark_testbed::{Export, Fsal, Ganesha, Sandbox};
use std::cell::RefCell;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a turn, in MiB.
const MIB: u64 = 384;
/// A small number, so that I/O files are most of the data, as at a full load.
const PROCS: u32 = 4;
/// Parallel copies.
const COPIES: u64 = 4;
/// INIT compared with one nfs-cp.
const OF_ONE: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(0.8),
};

/// Against ganesha (VFS on tmpfs) and the embedded server.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let ganesha = Ganesha::start(Fsal::Vfs).map_err(|e| e.to_string())?;
    let pid = ganesha.process_id();
    let place = (ganesha.sandbox(), ganesha.export());
    let mut measured = side_by_side("ganesha", place, pid, rounds)?;
    drop(ganesha);
    let sandbox = Sandbox::new().map_err(|e| e.to_string())?;
    let spec = ServerSpec {
        stores: true,
        threads: 2,
        ..ServerSpec::default()
    };
    let server = ServerProcess::start_in(&sandbox, spec)?;
    let export = Export {
        address: IpAddr::from([127, 0, 0, 1]),
        nfs_port: server.address.port(),
        mount_port: server.address.port(),
        path: "/export".into(),
        path_v4: None,
    };
    let place = (&sandbox, &export);
    measured.add(side_by_side("embedded server", place, None, rounds)?);
    Ok(measured)
}

fn side_by_side(
    name: &str,
    (sandbox, export): (&Arc<Sandbox>, &Export),
    server: Option<u32>,
    rounds: u32,
) -> MeasuredOrReason {
    let source = sandbox.inside("/run/filermark-bench");
    let whole = noise(&source.with_extension("whole"), MIB)?;
    let share = noise(&source.with_extension("share"), MIB / COPIES)?;
    let objects = RefCell::new(Vec::new());
    let [of_init, of_one, of_four] = std::array::from_fn(|_| Watched::new(server));
    let contenders = vec![
        Contender::filermark(|| {
            let (turn, made) = sandbox.run(|| fill(export, &of_init))?;
            objects.borrow_mut().push(made / turn.seconds);
            Ok(turn)
        }),
        Contender::other("nfs-cp", OF_ONE, || {
            copy((sandbox, export), (&whole, 1), &of_one)
        }),
        Contender::other("4 nfs-cp", Bars::default(), || {
            copy((sandbox, export), (&share, COPIES), &of_four)
        }),
    ];
    let of = format!("INIT, {name}");
    let mut measured = Measured::from(compare(&of, "MiB/s", rounds, contenders)?);
    let objects = Figure::new(format!("{of}: objects made"), "1/s", objects.into_inner());
    measured.add(objects.bar(Bar::More));
    let all = [("INIT", of_init), ("nfs-cp", of_one), ("4 nfs-cp", of_four)];
    for (contender, watched) in all {
        measured.add(watched.figures(&format!("{of}: {contender}")));
    }
    Ok(measured)
}

/// Processor time in ticks: of the server, idle, and all.
struct Ticks {
    server: u64,
    idle: u64,
    all: u64,
}

/// What the processors did in the turns of a contender.
struct Watched {
    /// The server's process, where it is known.
    server: Option<u32>,
    /// Of each turn: milliseconds of the server for each MiB, and what was idle, in percent. INIT is
    /// measured on a thread of the sandbox.
    turns: Mutex<Vec<(f64, f64)>>,
}

impl Watched {
    fn new(server: Option<u32>) -> Self {
        Self {
            server,
            turns: Mutex::default(),
        }
    }

    /// By proc(5): /proc/stat, /proc/PID/stat.
    fn ticks(&self) -> Ticks {
        let numbers = |path: &str, from: usize| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let fields = text.lines().next().unwrap_or_default().split_whitespace();
            let numbers = fields.skip(from).map(|n| n.parse().unwrap_or(0));
            numbers.collect::<Vec<u64>>()
        };
        // The name of the program has no blank.
        let of_server = |pid: u32| numbers(&format!("/proc/{pid}/stat"), 13);
        let server = self.server.map(of_server).unwrap_or_default();
        let machine = numbers("/proc/stat", 1);
        Ticks {
            server: server.iter().take(2).sum(),
            idle: machine.get(3).copied().unwrap_or(0),
            all: machine.iter().take(8).sum(),
        }
    }

    fn turn(
        &self,
        cpu_ns: impl Fn() -> u64,
        work: impl FnOnce() -> Result<f64, String>,
    ) -> Result<Turn, String> {
        let before = self.ticks();
        let turn = Turn::measure(cpu_ns, work)?;
        let after = self.ticks();
        let ms = after.server.saturating_sub(before.server) * 1_000 / ticks_per_second().max(1);
        let idle = after.idle.saturating_sub(before.idle) as f64;
        let all = after.all.saturating_sub(before.all).max(1) as f64;
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.push((ms as f64 / turn.ops, 100.0 * idle / all));
        Ok(turn)
    }

    fn figures(self, of: &str) -> Vec<Figure> {
        let turns = (self.turns.into_inner()).unwrap_or_else(PoisonError::into_inner);
        let (server_ms, idle): (Vec<f64>, Vec<f64>) = turns.into_iter().unzip();
        let mut figures = Vec::new();
        if self.server.is_some() {
            let name = format!("{of}: processor time of the server");
            figures.push(Figure::new(name, "ms/MiB", server_ms));
        }
        let name = format!("{of}: idle");
        figures.push(Figure::new(name, "% of the processors", idle));
        figures
    }
}

/// INIT of about [`MIB`], counted in MiB; also the objects that it made.
fn fill(export: &Export, watched: &Watched) -> Result<(Turn, f64), String> {
    let ports = (export.nfs_port, export.mount_port);
    let plan = plan(
        PROCS,
        &export.mount_point(),
        ports,
        &[("FILESET_MB_PER_OP", "1")],
    )?;
    let mut bench = Bench::start(plan)?;
    let mut made = 0;
    let turn = watched.turn(cpu::process_ns, || {
        let (bytes, tasks, _) = bench.init(MIB as f64)?;
        made = tasks;
        Ok(bytes as f64 / f64::from(1 << 20))
    })?;
    bench.cleanup()?;
    Ok((turn, made as f64))
}

/// `count` parallel nfs-cp of the same file, counted in MiB of all of them.
fn copy(
    (sandbox, export): (&Arc<Sandbox>, &Export),
    (file, count): (&Path, u64),
    watched: &Watched,
) -> Result<Turn, String> {
    let bytes = std::fs::metadata(file).map_or(0, |m| m.len()) * count;
    let targets: Vec<String> = (0..count).map(|n| format!("copy-{n}")).collect();
    let turn = watched.turn(children_ns, || {
        let children = targets.iter().map(|target| {
            sandbox
                .command("nfs-cp")
                .arg(file)
                .arg(export.libnfs_url(&format!("/{target}")))
                .stdout(Stdio::null())
                .spawn()
                .map_err(|e| format!("start nfs-cp: {e} (Debian package libnfs-utils)"))
        });
        let mut children = children.collect::<Result<Vec<Child>, String>>()?;
        for child in &mut children {
            let status = child.wait().map_err(|e| format!("wait for nfs-cp: {e}"))?;
            if !status.success() {
                return Err(format!("nfs-cp: {status}"));
            }
        }
        Ok(bytes as f64 / f64::from(1 << 20))
    })?;
    sandbox.run(|| remove(export, &targets))?;
    Ok(turn)
}

/// Removes the copies: nfs-cp refuses names that exist, and the server's memory is limited.
fn remove(export: &Export, names: &[String]) -> Result<(), String> {
    let ports = (export.nfs_port, export.mount_port);
    let settings = nfs3(&plan(1, &export.mount_point(), ports, &[])?)?;
    let mount = MountPoint {
        host: export.address.to_string(),
        path: export.path.clone(),
    };
    let target = Target::resolve(&mount, &settings).map_err(|e| e.to_string())?;
    let mut client = target.nfs_client(&settings);
    for name in names {
        let removed = client.remove(&target.root3(), name.as_bytes());
        if !matches!(removed, Ok(Ok(_))) {
            return Err(format!("remove {name}: {removed:?}"));
        }
    }
    Ok(())
}

/// Makes a file of incompressible bytes.
fn noise(path: &Path, mib: u64) -> Result<PathBuf, String> {
    let data = DataSource::new(1, VerifyLevel::Sample);
    let mut bytes = Vec::new();
    data.append(0, 0, 1, (mib << 20) as usize, &mut bytes);
    std::fs::write(path, bytes).map_err(|e| format!("write {}: {e}", path.display()))?;
    Ok(path.to_owned())
}

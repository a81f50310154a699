//! How fast INIT fills, side by side with libnfs's `nfs-cp` on the same server.
//!
//! `nfs-cp` writes one file, one call at a time. That is the usual tool; the
//! fairer one is several of them at once, each with its share of the bytes.

use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, nfs3, plan};
use crate::server::{ServerProcess, ServerSpec};
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_model::plan::MountPoint;
use filermark_nfs::target::Target;
use filermark_testbed::{Export, Fsal, Ganesha, Sandbox};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// What is written in a round, in MiB.
const MIB: u64 = 512;
/// Few, so that I/O files are most of what is made, as at a full load.
const PROCS: u32 = 4;
/// Copies at once for the fairer comparison.
const COPIES: u64 = 4;
/// The bar: INIT's speed as a share of nfs-cp's.
const SHARE_MIN: f64 = 0.8;

/// Against ganesha (VFS on tmpfs) and the embedded server.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let ganesha = Ganesha::start(Fsal::Vfs).map_err(|e| e.to_string())?;
    let mut figures = side_by_side("ganesha", ganesha.sandbox(), ganesha.export(), rounds)?;
    drop(ganesha);
    let sandbox = Sandbox::new().map_err(|e| e.to_string())?;
    let wish = ServerSpec {
        stores: true,
        threads: 2,
        ..ServerSpec::default()
    };
    let server = ServerProcess::start_in(&sandbox, wish)?;
    let export = Export {
        address: IpAddr::from([127, 0, 0, 1]),
        nfs_port: server.address.port(),
        mount_port: server.address.port(),
        path: "/export".into(),
        path_v4: None,
    };
    figures.extend(side_by_side("embedded", &sandbox, &export, rounds)?);
    Ok(figures)
}

fn side_by_side(name: &str, sandbox: &Arc<Sandbox>, export: &Export, rounds: u32) -> FiguresOrSkip {
    let source = sandbox.inside("/run/filermark-bench");
    let whole = noise(&source.with_extension("whole"), MIB)?;
    let share = noise(&source.with_extension("share"), MIB / COPIES)?;
    let (mut init, mut files, mut alone, mut many) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let (mib, per_second) = sandbox.run(|| fill(export))?;
        init.push(mib);
        files.push(per_second);
        alone.push(copy(sandbox, export, &whole, 1)?);
        many.push(copy(sandbox, export, &share, COPIES)?);
    }
    let init = Figure::new(format!("{name}: INIT"), "MiB/s", init);
    let alone = Figure::new(format!("{name}: nfs-cp"), "MiB/s", alone);
    let many = Figure::new(format!("{name}: {COPIES} nfs-cp at once"), "MiB/s", many);
    let ratio = |of: &Figure, what: &str| {
        let name = format!("{name}: INIT / {what}");
        let ratio = init.median() / of.median();
        Figure::new(name, "", vec![ratio]).bar(Bar::AtLeast(SHARE_MIN))
    };
    let ratios = [ratio(&alone, "nfs-cp"), ratio(&many, "nfs-cp at once")];
    let files = Figure::new(format!("{name}: INIT"), "objects/s", files);
    let told = [init, files, alone, many].map(|f| f.bar(Bar::More));
    Ok(told.into_iter().chain(ratios).collect())
}

/// INIT of about [`MIB`]; gives MiB/s and objects made per second.
fn fill(export: &Export) -> Result<(f64, f64), String> {
    let ports = (export.nfs_port, export.mount_port);
    let plan = plan(
        PROCS,
        &export.mount_point(),
        ports,
        &[("FILESET_MB_PER_OP", "1")],
    )?;
    let mut bench = Bench::start(plan)?;
    let (bytes, tasks, took) = bench.init(MIB as f64)?;
    bench.cleanup()?;
    let seconds = took.as_secs_f64();
    let mib = bytes as f64 / f64::from(1 << 20);
    Ok((mib / seconds, tasks as f64 / seconds))
}

/// `count` nfs-cp of the same file at once; gives MiB/s of all together.
fn copy(sandbox: &Arc<Sandbox>, export: &Export, file: &Path, count: u64) -> Result<f64, String> {
    let bytes = std::fs::metadata(file).map_or(0, |m| m.len()) * count;
    let targets: Vec<String> = (0..count).map(|n| format!("copy-{n}")).collect();
    let began = Instant::now();
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
    let seconds = began.elapsed().as_secs_f64();
    sandbox.run(|| remove(export, &targets))?;
    Ok(bytes as f64 / f64::from(1 << 20) / seconds)
}

/// nfs-cp refuses names that exist, and the server's memory is limited.
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
        let removed = client.remove(&target.root, name.as_bytes());
        if !matches!(removed, Ok(Ok(_))) {
            return Err(format!("remove {name}: {removed:?}"));
        }
    }
    Ok(())
}

/// A file of incompressible bytes where the sandbox keeps its own files.
fn noise(path: &Path, mib: u64) -> Result<PathBuf, String> {
    let data = DataSource::new(1, VerifyLevel::Sample);
    let mut bytes = Vec::new();
    data.append(0, 0, 1, (mib << 20) as usize, &mut bytes);
    std::fs::write(path, bytes).map_err(|e| format!("write {}: {e}", path.display()))?;
    Ok(path.to_owned())
}

//! From text to plan, as for a user: whole rc files, files next to them,
//! and the shipped texts.

mod clients;
mod composites;
mod golden;
mod line_ends;
mod monitor_script;
mod netmist;
mod never_panics;
mod pinned;
mod plans;
mod refusals;
mod searches;
mod smb;
mod tls;
mod trial;

use filermark_config::{Host, InputLog, RcFile, Resolved, Sources, resolve};
use filermark_model::secret::Secret;
use std::path::Path;

/// A host named `testhost` with user 1000 and 8 GiB.
fn host() -> Host {
    Host {
        name: "testhost.example.org".into(),
        uid: 1000,
        gid: 100,
        mem_bytes: Some(8 << 30),
        slurm_nodes: None,
        password: Secret::NONE,
    }
}

/// Sources as on a host named `testhost` with user 1000.
fn sources(folder: &Path, rc: &str, options: &[&str]) -> Sources {
    let mut sources = Sources {
        rc: Some(RcFile::from_text("sfs_rc", folder, rc)),
        overrides: Vec::new(),
        defaults: Vec::new(),
        host: host(),
        inputs: InputLog::default(),
    };
    for option in options {
        sources.set_option(option).unwrap();
    }
    sources
}

/// The least that a run needs, 8 procs.
const LEAST: &str = "LOAD=80\nINCR_LOAD=80\nNUM_RUNS=10\nPROCS=8\nMNT_POINTS=\"srv:/export\"\n";

fn good(rc: &str, options: &[&str]) -> Resolved {
    match resolve(&sources(Path::new("/nowhere"), rc, options)) {
        Ok(resolved) => resolved,
        Err(errors) => panic!("{rc}: {errors:#?}"),
    }
}

fn bad(folder: &Path, rc: &str, options: &[&str]) -> Vec<String> {
    match resolve(&sources(folder, rc, options)) {
        Ok(_) => panic!("resolved: {rc} {options:?}"),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

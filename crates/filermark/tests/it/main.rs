//! Tests of the whole program: command lines, files and exit codes, and a server that must be
//! unchanged afterwards.
//!
//! `sweep` starts the program, `terminal` starts it on a terminal, `client_hosts` provides several
//! hosts, `second_client` reads exports, `load_guard` decides which tests run alone. Tests of faults
//! and exact counts use the embedded server inside of the test; others use the real servers of the
//! testbed.

mod client_hosts;
mod foreign_files;
mod load_guard;
mod second_client;
mod sweep;
mod targets;
mod terminal;

mod bad_input;
mod below_rate;
mod beside_load;
mod build_name;
mod bundle;
mod by_hand;
mod by_slurm;
mod census;
mod claims;
mod client_cache;
mod clients;
mod clients_by_hand;
mod clients_faults;
mod clients_refused;
mod clients_stopped;
mod clients_ways;
mod commit;
mod compare;
mod counts;
mod disclosure;
#[cfg(feature = "energy")]
mod energy_collect;
#[cfg(feature = "energy")]
mod energy_import;
#[cfg(feature = "energy")]
mod energy_reduce;
#[cfg(feature = "energy")]
mod energy_run;
mod events;
mod examples;
mod faults;
mod from_nfsstat;
mod gates;
mod gone;
mod historical;
mod hostile;
mod hosts;
mod inline;
mod kerberos_nfs;
mod kernel_client;
mod kill_trials;
mod knfsd;
mod leases;
mod lines;
mod live;
mod metrics;
mod mixed_agents;
mod monitors;
mod netem;
mod netmist;
mod netmist_hosts;
mod nfs40;
mod nfs41;
mod nfs42_offload;
mod nfs4_embedded;
mod null_server;
mod older;
mod older_tools;
mod options;
mod outputs;
mod posix_depth;
mod posix_faults;
mod posix_local;
mod posix_nfs;
mod posix_strace;
mod posix_tree;
mod preflight;
mod quick;
mod real;
mod records;
mod report;
mod report_browser;
mod results;
#[cfg(feature = "energy")]
mod resumed;
mod scale;
mod search;
mod search_kinds;
mod silent;
mod smb;
mod smb_secrets;
mod stale;
mod stalled;
mod stopped;
mod subedit;
mod subedit_lost;
mod tls;
mod udp;
mod validate;
mod validate_alone;
mod warmup;
mod watch;
mod windows;
mod wire;
mod workload;
mod wrong_kind;

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program to its end, without settings from the environment.
fn filermark(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_filermark"))
        .args(args)
        .current_dir(dir)
        .env_remove("RUST_LOG")
        .output()
        .expect("the program starts")
}

/// Whether a run was complete. 4: on a busy machine its only load point may miss its rate.
#[track_caller]
fn assert_complete(output: &Output) {
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 4)),
        "{code:?}: {}",
        stderr_text(output)
    );
}

/// Its stderr text.
fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

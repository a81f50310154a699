//! SMB against Samba: short sweeps, and error messages.
//!
//! `sweeps` measures, `protected` checks signing and encryption from the outside, `wire` compares
//! with tshark, `refused` has runs that cannot begin, `broken` runs that fail in the middle,
//! `validate` the checks of the protocol.

mod broken;
mod protected;
mod refused;
mod sweeps;
mod validate;
mod wire;

use crate::load_guard::{Machine, valid};
use crate::sweep::{Ended, Sweep};
use filermark_results::RunRecord;
use filermark_testbed::{Samba, SambaOptions, available};
use std::path::{Path, PathBuf};

/// The variable for the password.
const PASSWORD: &str = "FILERMARK_PASSWORD";

/// The dialect of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolCase {
    /// NT LM 0.12.
    Smb1,
    /// 3.1.1 only.
    Smb311,
    /// 2.0.2 only.
    Smb202,
}

impl ProtocolCase {
    pub const ALL: [ProtocolCase; 3] = [
        ProtocolCase::Smb1,
        ProtocolCase::Smb202,
        ProtocolCase::Smb311,
    ];

    /// Its name in smbstatus.
    pub const fn status_name(self) -> &'static str {
        match self {
            ProtocolCase::Smb1 => "NT1",
            ProtocolCase::Smb202 => "SMB2_02",
            ProtocolCase::Smb311 => "SMB3_11",
        }
    }
}

/// Samba; `None`: the test is skipped.
pub fn samba(options: SambaOptions) -> Option<Samba> {
    available(Samba::start(options))
}

/// Options of a Samba whose traffic tshark can read.
pub fn readable() -> SambaOptions {
    SambaOptions {
        port: Samba::STANDARD_PORT,
        ..SambaOptions::default()
    }
}

/// A short run against a share of Samba as its user.
pub fn sweep(samba: &Samba, share: &str, case: ProtocolCase) -> Sweep {
    let (protocol, benchmark, dialect) = match case {
        ProtocolCase::Smb1 => ("cifs", "general-smb1", "NT1"),
        ProtocolCase::Smb202 => ("smb", "general-smb2", "2.0.2"),
        ProtocolCase::Smb311 => ("smb", "general-smb2", "3.1.1"),
    };
    Sweep::short()
        .unset("SYMLINK_COUNT")
        .set("FS_PROTOCOL", protocol)
        .set("BENCHMARK", benchmark)
        .set("SMB_DIALECT", dialect)
        .set("MNT_POINTS", samba.mount_point(share))
        .set("SMB_PORT", samba.port())
        .set("USERNAME", Samba::USER)
        .set("DOMAIN", Samba::DOMAIN)
        .env(PASSWORD, Samba::PASSWORD)
        .in_network_of(samba.sandbox())
}

/// All objects below a directory of the server.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("list").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// Asserts that no files of the run are left on a share.
#[track_caller]
pub fn assert_empty(samba: &Samba, share: &str) {
    let left = files_below(&samba.files(share));
    assert!(left.is_empty(), "left on the server: {left:?}");
}

/// Asserts that the password is neither in the output nor in any file of the run.
#[track_caller]
pub fn assert_secret(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains(Samba::PASSWORD), "the password is disclosed");
    }
    for file in files_below(&ended.path("")) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let printed = String::from_utf8_lossy(&bytes).contains(Samba::PASSWORD);
        assert!(!printed, "the password is in {}", file.display());
    }
}

/// Asserts that every point was measured at the requested rate and without an error.
#[track_caller]
pub fn assert_measured(sweep: &Sweep) -> Ended {
    let machine = Machine::watch();
    let ended = sweep.succeed();
    assert_sound(&ended);
    machine.judge(rates(&ended.record()));
    ended
}

/// `Err`: a rate was not the requested one, or the machine was too slow for a point.
#[track_caller]
fn rates(record: &RunRecord) -> Result<(), String> {
    let mut off = Ok(());
    for point in &record.points {
        let stats = point.measured().expect("measured");
        let (achieved, requested) = (stats.achieved_ops_per_sec(), point.load.requested.0);
        println!(
            "{requested} requested, {achieved:.1} achieved, mean {:.3} ms",
            stats.service().mean_ns() / 1e6
        );
        off = off.and(valid(&point.findings));
        if (achieved / requested - 1.0).abs() > 0.02 {
            off = off.and(Err(format!("{achieved} of {requested}")));
        }
    }
    let end = record.end.as_ref().expect("an end");
    assert!(end.findings.is_empty(), "{:?}", end.findings);
    off
}

/// Asserts that every point was measured without an error, and without anomalies on the wire.
#[track_caller]
pub fn assert_sound(ended: &Ended) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    let record = ended.record();
    assert_eq!(record.points.len(), record.run.plan.points.len());
    for point in &record.points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        assert!(stats.success_count() > 0);
        for name in ODD {
            let count = stats.counters.get(*name).copied().unwrap_or(0);
            assert_eq!(count, 0, "{name}: {:?}", stats.counters);
        }
    }
}

/// Counters that are zero with a correct server.
const ODD: &[&str] = &[
    "reconnects",
    "connect_failures",
    "timeouts",
    "bad_replies",
    "bad_signatures",
    "stream_errors",
    "stale_replies",
    "verify_errors",
    "short_writes",
    "early_eofs",
];

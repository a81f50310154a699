//! Mounts of invented clients.

use super::super::tests::{HealthyClient, mounted};
use super::*;
use crate::preflight::check::CheckStatus;

fn made(at: usize, mount_info: MountInfo) -> HealthyClient {
    let mut made = HealthyClient::new();
    made.at = at;
    made.host.client = format!("h{}", at + 1);
    made.facts.mounts = vec![mount_info];
    made
}

fn nfs() -> MountInfo {
    mounted("nfs4", "nas:/vol", "/mnt/a")
}

fn first(one: &HealthyClient, all: &[&HealthyClient]) -> Check {
    let clients: Vec<_> = all.iter().map(|m| m.client()).collect();
    mounts(&one.client(), &clients).remove(0)
}

#[test]
fn a_missing_mount_is_fixed_with_the_mount_of_others() {
    let good = made(0, nfs());
    let mut missing = made(1, nfs());
    missing.facts.mounts[0].mounted = Err("h2:/mnt/a: it does not exist".into());
    assert_eq!(first(&good, &[&good, &missing]).verdict, CheckStatus::Ok);
    let check = first(&missing, &[&good, &missing]);
    assert_eq!(check.verdict, CheckStatus::Failure);
    let command = "sudo mkdir -p /mnt/a && sudo mount -t nfs4 nas:/vol /mnt/a";
    assert_eq!(check.command.as_deref(), Some(command));
    // No other client has it, so there is no command to mount it.
    assert_eq!(first(&missing, &[&missing]).command, None);
    let mut root = mounted("ext4", "/dev/vda1", "/mnt/a");
    if let Ok(entry) = &mut root.mounted {
        entry.mount_point = "/".into();
    }
    let root = made(1, root);
    let check = first(&root, &[&good, &root]);
    assert_eq!(check.verdict, CheckStatus::Warning);
    assert_eq!(check.command.as_deref(), Some(command));
}

#[test]
fn a_directory_that_is_not_writable_fails() {
    let mut failing = made(0, nfs());
    if let Ok(entry) = &mut failing.facts.mounts[0].mounted {
        entry.unwritable = Some("Permission denied".into());
    }
    failing.facts.selinux_enforcing = Some(true);
    let check = first(&failing, &[&failing]);
    assert_eq!(check.verdict, CheckStatus::Failure);
    assert!(check.sentence.contains("ausearch"), "{}", check.sentence);
    assert!(!check.sentence.contains("setenforce"));
    if let Ok(entry) = &mut failing.facts.mounts[0].mounted {
        entry.options = "ro,relatime".into();
    }
    let check = first(&failing, &[&failing]);
    assert_eq!(
        check.command.as_deref(),
        Some("sudo mount -o remount,rw /mnt/a")
    );
}

fn same(others: &[MountInfo], outcome: ProbeOutcome, is_shared: bool) -> Vec<Check> {
    let made: Vec<HealthyClient> = std::iter::once(&nfs())
        .chain(others)
        .enumerate()
        .map(|(at, mount_info)| made(at, mount_info.clone()))
        .collect();
    let clients: Vec<_> = made.iter().map(HealthyClient::client).collect();
    let sighting = ProbeResult {
        dir: "/mnt/a".into(),
        creator: 0,
        create_error: None,
        seen: (1..made.len()).map(|at| (at, outcome.clone())).collect(),
        left: None,
    };
    same_file_system(&clients, &sighting, is_shared)
}

#[test]
fn a_client_with_another_file_system_is_reported() {
    let checks = same(&[nfs(), nfs()], ProbeOutcome::Done, true);
    assert_eq!(checks.len(), 2);
    assert!(checks.iter().all(|c| c.verdict == CheckStatus::Ok));
    let missing = |mount_info: MountInfo, shared| {
        same(&[mount_info], ProbeOutcome::Missing, shared).remove(0)
    };
    let local = missing(mounted("ext4", "/dev/vda1", "/mnt/a"), false);
    assert_eq!(local.verdict, CheckStatus::Failure);
    assert!(
        local.sentence.contains("not mounted here"),
        "{}",
        local.sentence
    );
    assert!(local.command.as_ref().unwrap().contains("mount -t nfs4"));
    let balanced = missing(mounted("nfs4", "nas2:/vol", "/mnt/a"), false);
    assert_eq!(balanced.verdict, CheckStatus::Warning);
    let shared = missing(mounted("nfs4", "nas2:/vol", "/mnt/a"), true);
    assert_eq!(shared.verdict, CheckStatus::Failure);
    let same_source = missing(nfs(), false);
    assert_eq!(
        same_source.verdict,
        CheckStatus::Failure,
        "{}",
        same_source.sentence
    );
}

#[test]
fn a_probe_that_fails_or_remains_is_reported() {
    let one = made(0, nfs());
    let sighting = ProbeResult {
        dir: "/mnt/a".into(),
        creator: 0,
        create_error: Some("no space".into()),
        seen: Vec::new(),
        left: Some("busy".into()),
    };
    let checks = same_file_system(&[one.client()], &sighting, false);
    assert!(checks.iter().all(|c| c.verdict == CheckStatus::Failure));
    assert_eq!(
        checks[0].command.as_deref(),
        Some("rm /mnt/a/.filermark-probe-*")
    );
    assert!(checks[1].sentence.contains("no space"));
}

#[test]
fn text_from_hosts_is_quoted_in_commands() {
    let other = MountEntry {
        kind: "nfs4; reboot".into(),
        source: "nas:/a b$(id)".into(),
        mount_point: "/mnt/it's".into(),
        ..MountEntry::default()
    };
    let command = r"sudo mkdir -p '/mnt/it'\''s' && sudo mount -t 'nfs4; reboot' 'nas:/a b$(id)' '/mnt/it'\''s'";
    assert_eq!(mount_command(&other, "/x"), command);
}

//! Made-up mounts of made-up clients.

use super::super::tests::{HealthyClient, mounted};
use super::*;
use crate::preflight::check::CheckStatus;

fn made(at: usize, look: MountInfo) -> HealthyClient {
    let mut made = HealthyClient::new();
    made.at = at;
    made.host.client = format!("h{}", at + 1);
    made.facts.mounts = vec![look];
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
fn what_is_missing_is_mounted_as_on_the_others() {
    let good = made(0, nfs());
    let mut gone = made(1, nfs());
    gone.facts.mounts[0].mounted = Err("h2:/mnt/a: it is not there".into());
    assert_eq!(first(&good, &[&good, &gone]).verdict, CheckStatus::Ok);
    let check = first(&gone, &[&good, &gone]);
    assert_eq!(check.verdict, CheckStatus::Failure);
    let command = "sudo mkdir -p /mnt/a && sudo mount -t nfs4 nas:/vol /mnt/a";
    assert_eq!(check.command.as_deref(), Some(command));
    // Nobody else has it: nobody knows what to mount.
    assert_eq!(first(&gone, &[&gone]).command, None);
    let mut root = mounted("ext4", "/dev/vda1", "/mnt/a");
    if let Ok(there) = &mut root.mounted {
        there.mount_point = "/".into();
    }
    let root = made(1, root);
    let check = first(&root, &[&good, &root]);
    assert_eq!(check.verdict, CheckStatus::Warning);
    assert_eq!(check.command.as_deref(), Some(command));
}

#[test]
fn what_cannot_be_written_to_fails() {
    let mut sick = made(0, nfs());
    if let Ok(there) = &mut sick.facts.mounts[0].mounted {
        there.unwritable = Some("Permission denied".into());
    }
    sick.facts.selinux_enforcing = Some(true);
    let check = first(&sick, &[&sick]);
    assert_eq!(check.verdict, CheckStatus::Failure);
    assert!(check.sentence.contains("ausearch"), "{}", check.sentence);
    assert!(!check.sentence.contains("setenforce"));
    if let Ok(there) = &mut sick.facts.mounts[0].mounted {
        there.options = "ro,relatime".into();
    }
    let check = first(&sick, &[&sick]);
    assert_eq!(
        check.command.as_deref(),
        Some("sudo mount -o remount,rw /mnt/a")
    );
}

fn same(others: &[MountInfo], outcome: ProbeOutcome, is_shared: bool) -> Vec<Check> {
    let made: Vec<HealthyClient> = std::iter::once(&nfs())
        .chain(others)
        .enumerate()
        .map(|(at, look)| made(at, look.clone()))
        .collect();
    let clients: Vec<_> = made.iter().map(HealthyClient::client).collect();
    let sighting = ProbeResult {
        dir: "/mnt/a".into(),
        layer: 0,
        unlaid: None,
        seen: (1..made.len()).map(|at| (at, outcome.clone())).collect(),
        left: None,
    };
    sameness(&clients, &sighting, is_shared)
}

#[test]
fn who_sees_another_file_system_is_told() {
    let checks = same(&[nfs(), nfs()], ProbeOutcome::Done, true);
    assert_eq!(checks.len(), 2);
    assert!(checks.iter().all(|c| c.verdict == CheckStatus::Ok));
    let missing = |look: MountInfo, shared| same(&[look], ProbeOutcome::Missing, shared).remove(0);
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
    let twin = missing(nfs(), false);
    assert_eq!(twin.verdict, CheckStatus::Failure, "{}", twin.sentence);
}

#[test]
fn a_probe_that_fails_or_stays_is_told() {
    let one = made(0, nfs());
    let sighting = ProbeResult {
        dir: "/mnt/a".into(),
        layer: 0,
        unlaid: Some("no space".into()),
        seen: Vec::new(),
        left: Some("busy".into()),
    };
    let checks = sameness(&[one.client()], &sighting, false);
    assert!(checks.iter().all(|c| c.verdict == CheckStatus::Failure));
    assert_eq!(
        checks[0].command.as_deref(),
        Some("rm /mnt/a/.filermark-probe-*")
    );
    assert!(checks[1].sentence.contains("no space"));
}

#[test]
fn words_of_hosts_stay_words_in_commands() {
    let other = MountEntry {
        kind: "nfs4; reboot".into(),
        source: "nas:/a b$(id)".into(),
        mount_point: "/mnt/it's".into(),
        ..MountEntry::default()
    };
    let command = r"sudo mkdir -p '/mnt/it'\''s' && sudo mount -t 'nfs4; reboot' 'nas:/a b$(id)' '/mnt/it'\''s'";
    assert_eq!(mount_command(&other, "/x"), command);
}

//! Installs over an ssh that is a script.
#![cfg(unix)] // The hosts are shell scripts.

use super::super::fake::{FakeHosts, files_below, write_executable};
use super::*;
use crate::programs::SystemName;
use crate::programs::tests::write_program;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Installs one program on all hosts.
fn install_program(
    plan: &LaunchPlan,
    program: &Program,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Vec<HostOutcome> {
    install_programs(
        plan,
        &Programs::new(program.clone(), None),
        limits,
        false,
        observe,
    )
    .0
}

fn run(hosts: &FakeHosts, plan: &LaunchPlan) -> Vec<HostOutcome> {
    install_program(
        plan,
        &hosts.program(),
        &HostLimits::default(),
        &mut |_, _| {},
    )
}

fn one(hosts: &FakeHosts, host: HostPlan) -> HostOutcome {
    let mut plan = hosts.plan(&[]);
    plan.hosts.push(host);
    run(hosts, &plan).remove(0)
}

#[track_caller]
fn refused(outcome: &HostOutcome, words: &[&str]) {
    assert_eq!(outcome.state, HostState::Failed, "{outcome:?}");
    for word in words {
        assert!(
            outcome.detail.contains(word),
            "{word:?}: {}",
            outcome.detail
        );
    }
}

fn at(hosts: &FakeHosts, host: &str, path: &Path) -> HostPlan {
    HostPlan {
        program: Some(path.display().to_string()),
        ..hosts.host(host)
    }
}

#[test]
fn three_hosts_get_the_program_and_the_second_time_nothing_is_done() {
    let hosts = FakeHosts::new(&["one", "two", "three"]);
    hosts.rc("two", "echo 'Last login: never'; echo beware >&2");
    let plan = hosts.plan(&["one", "two", "three", "two"]);
    let mut steps = Vec::new();
    let limits = HostLimits::default();
    let outcomes = install_program(&plan, &hosts.program(), &limits, &mut |host, step| {
        steps.push((host.client.clone(), step));
    });
    let names: Vec<_> = outcomes.iter().map(|o| o.host.as_str()).collect();
    assert_eq!(names, ["one", "two", "three"]);
    let total = hosts.program().len;
    for outcome in &outcomes {
        assert_eq!(outcome.state, HostState::Done, "{outcome:?}");
        let path = hosts.installed(&outcome.host);
        assert_eq!(
            Program::read(path.clone()).unwrap().sha256,
            hosts.program().sha256
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        assert_eq!(
            files_below(&hosts.home(&outcome.host)).len(),
            1,
            "no other file is left"
        );
        let of_host = |s: HostStep| steps.contains(&(outcome.host.clone(), s));
        assert!(of_host(HostStep::Inspecting));
        assert!(of_host(HostStep::Sending { sent: total, total }));
        assert!(of_host(HostStep::Done(HostState::Done)));
    }
    assert_eq!(hosts.calls().len(), 6);
    for outcome in run(&hosts, &plan) {
        assert_eq!(outcome.state, HostState::Nothing, "{outcome:?}");
    }
    assert_eq!(
        hosts.calls().len(),
        9,
        "one connection each where all is there"
    );
}

/// A directory with a program for Windows, and a program for this host of the same build.
fn mixed_programs(hosts: &FakeHosts) -> (LaunchPlan, Programs) {
    let dir = hosts.path("agents");
    fs::create_dir(&dir).unwrap();
    let own = SystemName::of(&filermark_system::platform());
    for (system, end) in [(own.to_string(), ""), ("windows-x86_64".into(), ".exe")] {
        write_program(
            &dir.join(format!("filermark-{system}{end}")),
            &system,
            BUILD,
        );
    }
    let program = Program::read(dir.join(own.file_name())).unwrap();
    (hosts.plan(&["win"]), Programs::new(program, Some(&dir)))
}

const BUILD: &str = "0123456789abcdef";
/// The path of the program on a host with Windows.
const ON_WINDOWS: &str = ".cache/filermark/0123456789abcdef-windows-x86_64/filermark.exe";

fn install_mixed(plan: &LaunchPlan, programs: &Programs) -> (HostOutcome, HostSystems) {
    let limits = HostLimits::default();
    let (mut outcomes, systems) = install_programs(plan, programs, &limits, true, &mut |_, _| {});
    (outcomes.remove(0), systems)
}

#[test]
fn a_host_with_windows_gets_its_program_and_starts_it() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    let (outcome, systems) = install_mixed(&plan, &programs);
    assert_eq!(outcome.state, HostState::Done, "{outcome:?}");
    assert_eq!(files_below(&hosts.home("win")), [ON_WINDOWS]);
    let sent = fs::read(hosts.home("win").join(ON_WINDOWS)).unwrap();
    let wanted = fs::read(hosts.path("agents/filermark-windows-x86_64.exe")).unwrap();
    assert_eq!(sent, wanted);
    let (again, _) = install_mixed(&plan, &programs);
    assert_eq!(again.state, HostState::Nothing, "{again:?}");
    assert!(
        systems
            .of(&plan.hosts[0])
            .is_some_and(|s| s.os == "Windows")
    );
    assert_eq!(hosts.redirected("win"), "", "for cmd.exe");

    // Another program of the same name is replaced only if it is Filermark.
    let path = hosts.home("win").join(ON_WINDOWS);
    write_program(&path, "windows-x86_64", "fedcba9876543210");
    assert_eq!(install_mixed(&plan, &programs).0.state, HostState::Done);
    fs::write(&path, "netmist").unwrap();
    refused(
        &install_mixed(&plan, &programs).0,
        &["is not Filermark", "EXEC_PATH"],
    );
    assert_eq!(fs::read(&path).unwrap(), b"netmist");
}

#[test]
fn a_program_that_does_not_run_on_windows_is_not_left_there() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    fs::write(hosts.path("win.blocked"), "").unwrap();
    refused(
        &install_mixed(&plan, &programs).0,
        &["does not run there", "Access is denied"],
    );
    assert_eq!(files_below(&hosts.home("win")), [""; 0]);
}

#[test]
fn old_builds_on_windows_are_removed() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    let cache = hosts.home("win").join(".cache/filermark");
    for n in 0..4 {
        let dir = cache.join(format!("{n:016x}-windows-x86_64"));
        fs::create_dir_all(&dir).unwrap();
        let system = "windows-x86_64";
        write_program(&dir.join("filermark.exe"), system, &format!("{n:016x}"));
        set_age(&dir, n);
    }
    let (outcome, _) = install_mixed(&plan, &programs);
    assert!(
        outcome.detail.contains("2 old builds were removed"),
        "{outcome:?}"
    );
    let kept = files_below(&cache);
    assert_eq!(kept.len(), 3, "{kept:?}");
}

/// The greater the number, the newer the directory.
fn set_age(dir: &Path, n: u64) {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + n);
    fs::File::open(dir).unwrap().set_modified(at).unwrap();
}

#[test]
fn directories_on_windows_with_other_files_are_left_alone() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    let cache = hosts.home("win").join(".cache/filermark");
    for n in 0..5 {
        let dir = cache.join(format!("{n:016x}-windows-x86_64"));
        fs::create_dir_all(&dir).unwrap();
        let program = dir.join("filermark.exe");
        write_program(&program, "windows-x86_64", BUILD);
        match n {
            0 => fs::write(&program, "a program of the user").unwrap(),
            1 => fs::write(dir.join("notes.txt"), "of the user").unwrap(),
            2 => fs::rename(&program, dir.join("other.exe")).unwrap(),
            _ => {}
        }
        set_age(&dir, n);
    }
    let before = files_below(&cache);
    let (outcome, _) = install_mixed(&plan, &programs);
    assert_eq!(outcome.state, HostState::Done, "{outcome:?}");
    assert!(!outcome.detail.contains("removed"), "{outcome:?}");
    let kept = files_below(&cache);
    assert!(before.iter().all(|file| kept.contains(file)), "{kept:?}");
}

#[test]
fn a_file_that_comes_to_windows_during_the_work_is_not_replaced() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    hosts.meanwhile("win", &format!("printf netmist >\"$HOME/{ON_WINDOWS}\""));
    refused(
        &install_mixed(&plan, &programs).0,
        &["is not Filermark", "EXEC_PATH"],
    );
    assert_eq!(files_below(&hosts.home("win")), [ON_WINDOWS]);
    let kept = fs::read(hosts.home("win").join(ON_WINDOWS)).unwrap();
    assert_eq!(kept, b"netmist");
}

#[test]
fn a_silent_server_on_windows_is_not_awaited_for_long() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let (plan, programs) = mixed_programs(&hosts);
    hosts.script("win.sftp", "exec sleep 600");
    let limits = HostLimits {
        silence: Duration::from_millis(300),
        ..HostLimits::default()
    };
    let (outcomes, _) = install_programs(&plan, &programs, &limits, true, &mut |_, _| {});
    refused(&outcomes[0], &["no answer within 0.3 s"]);
    // A program that does not end when it is run once.
    fs::remove_file(hosts.path("win.sftp")).unwrap();
    hosts.meanwhile("win", "exec sleep 600");
    let (outcomes, _) = install_programs(&plan, &programs, &limits, true, &mut |_, _| {});
    refused(&outcomes[0], &["no answer within 0.3 s"]);
}

#[test]
fn a_missing_program_is_refused_before_any_host_is_changed() {
    let hosts = FakeHosts::new(&["win", "one"]);
    hosts.set_windows("win");
    let (_, programs) = mixed_programs(&hosts);
    fs::remove_file(hosts.path("agents/filermark-windows-x86_64.exe")).unwrap();
    let plan = hosts.plan(&["win", "one"]);
    let limits = HostLimits::default();
    let (outcomes, _) = install_programs(&plan, &programs, &limits, true, &mut |_, _| {});
    refused(&outcomes[0], &["windows-x86_64", "is missing", "CLIENTS"]);
    assert_eq!(outcomes[1].state, HostState::Nothing, "{:?}", outcomes[1]);
    assert_eq!(files_below(&hosts.home("one")), [""; 0]);
}

#[test]
fn an_old_version_is_replaced_and_a_wrong_mode_is_fixed() {
    let hosts = FakeHosts::new(&["one"]);
    let path = hosts.path("one/my program's place");
    let old = fs::read_to_string(hosts.path("filermark")).unwrap() + "# old\n";
    write_executable(&path, &old);
    let host = at(&hosts, "one", &path);
    assert_eq!(one(&hosts, host.clone()).state, HostState::Done);
    assert_eq!(
        Program::read(path.clone()).unwrap().sha256,
        hosts.program().sha256
    );
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(one(&hosts, host.clone()).state, HostState::Done);
    assert_eq!(one(&hosts, host).state, HostState::Nothing);
    assert_eq!(files_below(&hosts.home("one")).len(), 1);
}

#[test]
fn a_file_that_is_not_filermark_is_neither_replaced_nor_run() {
    let hosts = FakeHosts::new(&["one"]);
    let ran = hosts.path("ran");
    let netmist = hosts.path("one/netmist");
    let text = format!("#!/bin/sh\ntouch {}\n", ran.display());
    write_executable(&netmist, &text);
    let outcome = one(&hosts, at(&hosts, "one", &netmist));
    refused(&outcome, &["one/netmist is not Filermark", "EXEC_PATH"]);
    assert_eq!(fs::read_to_string(&netmist).unwrap(), text);
    assert!(!ran.exists());

    let link = hosts.path("one/link");
    std::os::unix::fs::symlink("netmist", &link).unwrap();
    refused(
        &one(&hosts, at(&hosts, "one", &link)),
        &["is a symbolic link"],
    );
    refused(
        &one(&hosts, at(&hosts, "one", &hosts.home("one"))),
        &["is a directory", "/filermark"],
    );
    refused(
        &one(&hosts, at(&hosts, "one", &hosts.path("one/none/filermark"))),
        &["the directory", "one/none is missing there"],
    );
    refused(
        &one(&hosts, at(&hosts, "one", Path::new("bin/filermark"))),
        &["not an absolute path"],
    );
    assert_eq!(files_below(&hosts.home("one")), ["link", "netmist"]);
}

#[test]
fn a_link_to_this_version_is_accepted() {
    let hosts = FakeHosts::new(&["one"]);
    let link = hosts.path("one/filermark");
    std::os::unix::fs::symlink(hosts.path("filermark"), &link).unwrap();
    assert_eq!(
        one(&hosts, at(&hosts, "one", &link)).state,
        HostState::Nothing
    );
}

/// A tool of that name that precedes the real one on the host's PATH.
fn fake_tool(hosts: &FakeHosts, host: &str, tool: &str, script: &str) {
    let bin = hosts.path(&format!("{host}.bin"));
    fs::create_dir_all(&bin).unwrap();
    write_executable(&bin.join(tool), &format!("#!/bin/sh\n{script}\n"));
    hosts.rc(host, &format!("PATH={}:$PATH", bin.display()));
}

#[test]
fn a_damaged_copy_is_not_renamed() {
    let hosts = FakeHosts::new(&["one"]);
    fake_tool(&hosts, "one", "cat", "/bin/cat; echo x");
    let outcome = one(&hosts, hosts.host("one"));
    refused(&outcome, &["the received file has another checksum"]);
    assert_eq!(files_below(&hosts.home("one")), [""; 0]);
}

#[test]
fn a_full_or_read_only_disk_is_reported_and_no_file_is_left() {
    let hosts = FakeHosts::new(&["one", "two", "three"]);
    fake_tool(
        &hosts,
        "one",
        "cat",
        "head -c 5; echo 'cat: write error: No space left on device' >&2; exit 1",
    );
    let full = one(&hosts, hosts.host("one"));
    refused(
        &full,
        &[
            "cannot be written: cat: write error: No space left",
            "free space there",
        ],
    );
    assert_eq!(files_below(&hosts.home("one")), [""; 0]);
    fake_tool(
        &hosts,
        "two",
        "mkdir",
        "echo \"mkdir: cannot create directory: Read-only file system\" >&2; exit 1",
    );
    let read_only = one(&hosts, hosts.host("two"));
    refused(
        &read_only,
        &["its directory cannot be created", "Read-only", "EXEC_PATH"],
    );
    fake_tool(
        &hosts,
        "three",
        "mv",
        "echo 'mv: Permission denied' >&2; exit 1",
    );
    refused(
        &one(&hosts, hosts.host("three")),
        &["Permission denied", "EXEC_PATH"],
    );
    assert_eq!(files_below(&hosts.home("three")), [""; 0]);
}

#[test]
fn a_program_that_does_not_run_there_is_not_renamed() {
    let hosts = FakeHosts::new(&["one"]);
    fake_tool(&hosts, "one", "chmod", "exit 0");
    refused(
        &one(&hosts, hosts.host("one")),
        &[
            "the program does not run there",
            "Permission denied",
            "EXEC_PATH",
        ],
    );
    assert_eq!(files_below(&hosts.home("one")), [""; 0]);
}

#[test]
fn hosts_of_another_architecture_are_refused() {
    let hosts = FakeHosts::new(&["one"]);
    fake_tool(
        &hosts,
        "one",
        "uname",
        "case $1 in -s) echo Linux;; *) echo riscv64;; esac",
    );
    refused(
        &one(&hosts, hosts.host("one")),
        &["linux-riscv64", "AGENTS_DIR", "filermark-linux-riscv64"],
    );
    assert_eq!(hosts.calls().len(), 1);
}

#[test]
fn other_checksum_tools_are_used_and_a_missing_tool_is_reported() {
    let hosts = FakeHosts::new(&["one", "two"]);
    // A PATH with only the programs that the scripts need.
    let bin = hosts.path("bin");
    fs::create_dir(&bin).unwrap();
    let link = |tool: &str| {
        let found = ["/usr/bin", "/bin"].map(|d| Path::new(d).join(tool));
        let found = found.iter().find(|p| p.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(tool)).unwrap();
    };
    for tool in [
        "uname", "grep", "dirname", "basename", "mkdir", "cat", "chmod", "mv", "rm", "ls", "head",
        "tr", "touch",
    ] {
        link(tool);
    }
    let only = format!("PATH={}", bin.display());
    hosts.rc("one", &only);
    refused(
        &one(&hosts, hosts.host("one")),
        &["neither sha256sum nor shasum nor openssl"],
    );
    assert_eq!(files_below(&hosts.home("one")), [""; 0]);
    // As openssl prints it.
    let sum = "set -- $(/usr/bin/sha256sum); echo \"SHA2-256(stdin)= $1\"";
    write_executable(&bin.join("openssl"), &format!("#!/bin/sh\n{sum}\n"));
    hosts.rc("two", &only);
    assert_eq!(one(&hosts, hosts.host("two")).state, HostState::Done);
    assert_eq!(one(&hosts, hosts.host("two")).state, HostState::Nothing);
}

#[test]
fn only_old_builds_are_removed() {
    let hosts = FakeHosts::new(&["one"]);
    let cache = hosts.path("one/.cache/filermark");
    let old = fs::read_to_string(hosts.path("filermark")).unwrap();
    for n in 0..5 {
        let dir = cache.join(format!("{n:016x}"));
        fs::create_dir_all(&dir).unwrap();
        write_executable(&dir.join("filermark"), &old);
        if n == 0 {
            fs::write(dir.join("notes"), "the oldest contains a file of the user").unwrap();
        }
        let file = fs::File::open(&dir).unwrap();
        let age = std::time::SystemTime::now() - Duration::from_secs(3600 * (9 - n));
        file.set_modified(age).unwrap();
    }
    // This directory only looks like a build.
    fs::create_dir(cache.join("mine")).unwrap();
    fs::write(cache.join("mine/filermark"), "mine").unwrap();
    let outcome = one(&hosts, hosts.host("one"));
    assert_eq!(outcome.state, HostState::Done);
    assert!(
        outcome.detail.contains("2 old builds were removed"),
        "{}",
        outcome.detail
    );
    let kept = ["3", "4"].map(|n| format!("{n:0>16}/filermark")).to_vec();
    let mut expected = kept;
    expected.push(format!("{:016x}/filermark", 0));
    expected.push(format!("{:016x}/notes", 0));
    expected.push("mine/filermark".into());
    expected.push(format!(
        "{}/filermark",
        build_dir(hosts.program().build(), &filermark_system::platform())
    ));
    expected.sort();
    assert_eq!(files_below(&cache), expected);
}

#[test]
fn hanging_hosts_time_out_and_stop_ends_the_wait() {
    let hosts = FakeHosts::new(&["look", "send"]);
    hosts.rc("look", "sleep 600");
    let limits = HostLimits {
        inspect: Duration::from_millis(300),
        silence: Duration::from_millis(300),
        ..HostLimits::default()
    };
    let began = Instant::now();
    let plan = hosts.plan(&["look"]);
    let outcome = install_program(&plan, &hosts.program(), &limits, &mut |_, _| {}).remove(0);
    refused(&outcome, &["no answer within 0.3 s", "`ssh look true`"]);
    fake_tool(&hosts, "send", "cat", "sleep 600");
    let limits = HostLimits {
        inspect: Duration::from_secs(30),
        ..limits
    };
    let plan = hosts.plan(&["send"]);
    let outcome = install_program(&plan, &hosts.program(), &limits, &mut |_, _| {}).remove(0);
    refused(&outcome, &["no answer within 0.3 s"]);
    let stop = limits.stop.clone();
    stop.raise();
    let plan = hosts.plan(&["look"]);
    let outcome = install_program(&plan, &hosts.program(), &limits, &mut |_, _| {}).remove(0);
    refused(&outcome, &["stopped on request"]);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn an_unreachable_host_does_not_affect_others() {
    let hosts = FakeHosts::new(&["one", "two", "three"]);
    hosts.rc(
        "two",
        "echo 'ssh: connect to host two port 22: Connection refused' >&2; exit 255",
    );
    hosts.rc(
        "three",
        "echo 'This account is currently not available.'; exit 1",
    );
    let mut plan = hosts.plan(&["one", "two", "three"]);
    let outcomes = run(&hosts, &plan);
    assert_eq!(outcomes[0].state, HostState::Done);
    refused(&outcomes[1], &["nothing listens at two port 22"]);
    refused(
        &outcomes[2],
        &["exit code 1", "This account is currently not"],
    );
    let error = only_done(outcomes).unwrap_err();
    assert!(error.starts_with("two: "), "{error}");
    assert!(error.contains("and 1 more"), "{error}");
    plan.hosts.truncate(1);
    assert_eq!(only_done(run(&hosts, &plan)), Ok(Vec::new()));
    plan.hosts[0].launcher = LauncherKind::Local;
    assert_eq!(
        ensure_installed(&plan, &HostLimits::default(), &mut |_, _| {}),
        Ok((Vec::new(), HostSystems::default()))
    );
}

#[test]
fn other_launchers_get_instructions() {
    let hosts = FakeHosts::new(&[]);
    let mut plan = hosts.plan(&["a", "b", "c", "d"]);
    let kinds = [
        LauncherKind::Local,
        LauncherKind::Slurm,
        LauncherKind::Connect(7),
        LauncherKind::Accept,
    ];
    for (host, kind) in plan.hosts.iter_mut().zip(kinds) {
        host.launcher = kind;
    }
    let states: Vec<_> = run(&hosts, &plan).iter().map(|o| o.state).collect();
    let by_hand = HostState::ByHand;
    assert_eq!(states, [HostState::Nothing, by_hand, by_hand, by_hand]);
    assert_eq!(hosts.calls(), [""; 0]);
}

/// `setcap cap_net_bind_service=+ep`, as the file system keeps it (linux/capability.h,
/// VFS_CAP_REVISION_2): magic and the effective bit, permitted, inheritable, and the upper
/// halves of both.
#[cfg(target_os = "linux")]
#[test]
fn a_capability_that_the_copy_lacks_is_reported_with_the_command() {
    let hosts = FakeHosts::new(&["one"]);
    let plain = one(&hosts, hosts.host("one"));
    assert!(!plain.detail.contains("setcap"), "{plain:?}");
    let words: [u32; 5] = [0x0200_0001, 1 << 10, 0, 0, 0];
    let value: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let program = hosts.program();
    let flags = rustix::fs::XattrFlags::empty();
    let set = rustix::fs::setxattr(&program.path, "security.capability", &value, flags);
    if set.is_err() {
        eprintln!("skipped: this user may not set capabilities");
        return;
    }
    let elsewhere = hosts.path("one/else where");
    let outcome = one(&hosts, at(&hosts, "one", &elsewhere));
    assert_eq!(outcome.state, HostState::Done, "{outcome:?}");
    let command = format!(
        r"`{} -t one 'sudo setcap cap_net_bind_service=+ep '\''{}'\'''`",
        hosts.path("ssh").display(),
        elsewhere.display()
    );
    assert!(outcome.detail.contains(&command), "{outcome:?}");
}

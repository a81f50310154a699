//! Several client hosts: which they are and how they are reached.

use crate::{LEAST, good, sources};
use filermark_config::hosts::{expand_hosts, fold_hosts};
use filermark_config::{Resolved, Sources, explain, explain_launch, resolve};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind, OnLost};
use filermark_model::plan::IpChoice;
use filermark_model::{Nanos, Severity};
use proptest::prelude::*;
use std::path::Path;
use std::time::Instant;

fn hosts(resolved: &Resolved) -> Vec<(&str, LauncherKind)> {
    let all = resolved.launch.hosts.iter();
    all.map(|h| (h.client.as_str(), h.launcher)).collect()
}

fn notes(resolved: &Resolved) -> String {
    let all = resolved.plan.findings.iter();
    all.map(|f| f.message.clone())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn this_host_alone_is_as_before() {
    let resolved = good(LEAST, &[]);
    assert_eq!(resolved.launch, LaunchPlan::local(["localhost".to_owned()]));
    assert_eq!(explain_launch(&resolved.launch), "");
}

#[test]
fn auto_is_this_host_directly_and_others_by_ssh() {
    let clients = "CLIENTS=nv[09-11], testhost [::1] fe80::1%eth0,10.9.8.7";
    let resolved = good(LEAST, &[clients, "LOAD=8000"]);
    let (ssh, local) = (LauncherKind::Ssh, LauncherKind::Local);
    let want = [
        ("nv09", ssh),
        ("nv10", ssh),
        ("nv11", ssh),
        ("testhost", local),
        ("::1", local),
        ("fe80::1%eth0", ssh),
        ("10.9.8.7", ssh),
    ];
    assert_eq!(hosts(&resolved), want);
    let names = resolved.plan.clients.iter().map(|c| c.name.as_str());
    assert!(names.eq(want.iter().map(|(name, _)| *name)));
    assert_eq!(resolved.plan.proc_count(), 56);
    let given = &resolved.plan.parameters;
    assert!(given.iter().any(|(name, _)| name == "CLIENTS"));
}

#[test]
fn every_launch_parameter_has_its_field() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s"), "x").unwrap();
    let options = [
        "CLIENTS=a b",
        "LAUNCHER=accept",
        "SSH_COMMAND=ssh -F lab.conf",
        "SRUN_COMMAND=srun -p x",
        "INSTALL=off",
        "ON_LOST=continue",
        "PRIME_LISTEN=[::]:20050",
        "PRIME_ADDRESS=[::1]",
        "SECRET_FILE=s",
        "START_TIMEOUT=2.5",
    ];
    let resolved = resolve(&sources(dir.path(), LEAST, &options)).unwrap();
    let want = LaunchPlan {
        hosts: ["a", "b"].map(host_by_hand).to_vec(),
        ssh_command: ["ssh", "-F", "lab.conf"].map(str::to_owned).to_vec(),
        srun_command: ["srun", "-p", "x"].map(str::to_owned).to_vec(),
        ip: IpChoice::Any,
        install: false,
        agents_dir: None,
        on_lost: OnLost::Continue,
        listen: Some("[::]:20050".parse().unwrap()),
        prime_address: Some("::1".into()),
        secret_file: Some(dir.path().join("s")),
        start_timeout: Nanos::from_millis(2500),
    };
    assert_eq!(resolved.launch, want);
}

fn host_by_hand(name: &str) -> HostPlan {
    HostPlan {
        launcher: LauncherKind::Accept,
        ..HostPlan::local(name.to_owned())
    }
}

#[test]
fn launchers_take_the_user_and_the_program_that_they_can_use() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s"), "x").unwrap();
    let of = |launcher: &str| -> Vec<(LauncherKind, bool, bool)> {
        let launcher = format!("LAUNCHER={launcher}");
        let options = [
            &launcher,
            "CLIENTS=localhost nv1",
            "USER=me",
            "EXEC_PATH=/tmp/netmist",
            "SECRET_FILE=s",
            "PRIME_LISTEN=127.0.0.1:1",
            "AGENT_PORT=77",
            "LOAD=800",
        ];
        let resolved = resolve(&sources(dir.path(), LEAST, &options)).unwrap();
        let text = notes(&resolved);
        let all = resolved.launch.hosts.iter();
        let all: Vec<_> = all
            .map(|h| (h.launcher, h.user.is_some(), h.program.is_some()))
            .collect();
        // Parameters that no client uses have a note.
        let idle = |name: &str| text.contains(&format!("{name} has no effect here"));
        assert_eq!(idle("USER=me"), all.iter().all(|(_, user, _)| !user));
        assert_eq!(
            idle("EXEC_PATH=/tmp/netmist"),
            all.iter().all(|(.., program)| !program)
        );
        all
    };
    use LauncherKind::{Accept, Connect, Local, Slurm, Ssh};
    assert_eq!(of("auto"), [(Local, false, false), (Ssh, true, true)]);
    assert_eq!(of("local"), [(Local, false, false); 2]);
    assert_eq!(of("ssh"), [(Ssh, true, true); 2]);
    assert_eq!(of("slurm"), [(Slurm, false, true); 2]);
    assert_eq!(of("connect"), [(Connect(77), false, false); 2]);
    assert_eq!(of("accept"), [(Accept, false, false); 2]);
}

#[test]
fn names_of_2020_count_where_they_are_filled_in() {
    let rc = format!(
        "{LEAST}CLIENTS=nv1\nUSER=me\nEXEC_PATH=\nUNIX_USER=\nUNIX_EXEC_PATH=/opt/filermark\n"
    );
    let launch = good(&rc, &[]).launch;
    assert_eq!(launch.hosts[0].user.as_deref(), Some("me"));
    assert_eq!(launch.hosts[0].program.as_deref(), Some("/opt/filermark"));
    let both = format!("{rc}UNIX_USER=you\n");
    let resolved = good(&both, &[]);
    assert_eq!(resolved.launch.hosts[0].user.as_deref(), Some("you"));
    assert!(notes(&resolved).contains("USER=me (sfs_rc:7:1) is replaced by sfs_rc:11:1"));
}

#[test]
fn many_names_for_this_host_are_for_trying_out() {
    let resolved = good(LEAST, &["LAUNCHER=local", "CLIENTS=a b", "LOAD=160"]);
    let warned = |f: &&filermark_model::Finding| f.severity == Severity::Warning;
    let warned: Vec<_> = resolved.plan.findings.iter().filter(warned).collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0]
            .message
            .contains("2 clients are processes of this one host")
    );
}

fn in_slurm(rc: &str, options: &[&str]) -> Result<Resolved, Vec<String>> {
    let mut sources: Sources = sources(Path::new("/nowhere"), rc, options);
    sources.host.slurm_nodes = Some("n[01-02,7],gpu".into());
    resolve(&sources).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn the_nodes_of_a_slurm_allocation() {
    let nodes = ["n01", "n02", "n7", "gpu"].map(|n| (n, LauncherKind::Slurm));
    for options in [
        &["LAUNCHER=slurm"][..],
        &["LAUNCHER=slurm", "CLIENTS="],
        &["LAUNCHER=slurm", "CLIENTS=SLURM"],
    ] {
        assert_eq!(hosts(&in_slurm(LEAST, options).unwrap()), nodes);
    }
    let named = in_slurm(LEAST, &["LAUNCHER=slurm", "CLIENTS=x[1-2]"]).unwrap();
    assert_eq!(hosts(&named).len(), 2);
    // Without LAUNCHER=slurm it is a host of that name.
    let ssh = in_slurm(LEAST, &["CLIENTS=slurm"]).unwrap();
    assert_eq!(hosts(&ssh), [("slurm", LauncherKind::Ssh)]);
    let rc = "BENCHMARK=SWBUILD\nLOAD=2\nCLIENT_MOUNTPOINTS=slurm:/mnt/a\nLAUNCHER=slurm\n";
    let composite = in_slurm(rc, &[]).unwrap();
    assert_eq!(hosts(&composite), nodes);
    assert_eq!(composite.plan.procs[5].mount.to_string(), "n02:/mnt/a");
    let twice = in_slurm(LEAST, &["LAUNCHER=slurm", "CLIENTS=slurm n7"]).unwrap_err();
    assert!(twice[0].contains("CLIENTS names n7 twice"), "{twice:?}");
}

/// Manual M, section 3.3: PROCS, or PROCS x CLIENTS, or a file.
#[test]
fn mount_points_of_several_clients() {
    let dir = tempfile::tempdir().unwrap();
    let file = "# one line each\nnv3 s:/5 s:/6\nnv[1-2] s:/1 s:/2\n[::1] s:/7 s:/8\n";
    std::fs::write(dir.path().join("mounts"), file).unwrap();
    let of = |mounts: &str| -> Result<Vec<String>, String> {
        let mounts = format!("MNT_POINTS={mounts}");
        let options = [&mounts, "CLIENTS=nv[1-3] ::1", "PROCS=2", "LOAD=800"];
        let plan = resolve(&sources(dir.path(), LEAST, &options))
            .map_err(|errors| errors[0].to_string())?
            .plan;
        let numbers: Vec<u32> = (0..4)
            .flat_map(|c| plan.procs_of(c))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        let paths = |c: &filermark_model::plan::ClientPlan| {
            c.mounts.iter().map(|m| m.path.as_str()).collect::<String>()
        };
        Ok(plan.clients.iter().map(paths).collect())
    };
    assert_eq!(of("s:/a s:/b").unwrap(), ["/a/b"; 4]);
    assert_eq!(of("s:/a").unwrap(), ["/a/a"; 4]);
    let all = "s:/1 s:/2 s:/3 s:/4 s:/5 s:/6 s:/7 s:/8";
    assert_eq!(of(all).unwrap(), ["/1/2", "/3/4", "/5/6", "/7/8"]);
    assert_eq!(of("mounts").unwrap(), ["/1/2", "/1/2", "/5/6", "/7/8"]);
    let wrong = of("s:/1 s:/2 s:/3 s:/4").unwrap_err();
    assert!(
        wrong.contains("2 (PROCS) or 8 (PROCS x CLIENTS)"),
        "{wrong}"
    );
    std::fs::write(dir.path().join("mounts"), "nv1 s:/1 s:/2\n").unwrap();
    let wrong = of("mounts").unwrap_err();
    let want = "there is no line for client nv[2-3],[::1]; add: nv[2-3],[::1] and 2 mount points";
    assert!(wrong.contains(want), "{wrong}");
}

#[test]
fn composites_reach_their_clients_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("mounts"),
        "nv[1-2] /mnt/a /mnt/b\nlocalhost /mnt/c\n",
    )
    .unwrap();
    let rc =
        "BENCHMARK=VDA\nLOAD=9\nCLIENT_MOUNTPOINTS=mounts\nUSER=root\nEXEC_PATH=/tmp/netmist\n";
    let resolved = resolve(&sources(dir.path(), rc, &["IPV6_ENABLE=1"])).unwrap();
    let (ssh, local) = (LauncherKind::Ssh, LauncherKind::Local);
    assert_eq!(
        hosts(&resolved),
        [("nv1", ssh), ("nv2", ssh), ("localhost", local)]
    );
    assert_eq!(resolved.launch.ip, IpChoice::V6);
    assert_eq!(resolved.launch.hosts[0].user.as_deref(), Some("root"));
    let mounts: Vec<usize> = resolved
        .plan
        .clients
        .iter()
        .map(|c| c.mounts.len())
        .collect();
    assert_eq!(mounts, [2, 2, 1]);
    assert!(
        !notes(&resolved).contains("has no effect"),
        "{}",
        notes(&resolved)
    );
    // The rc files of 2014 have IPV6_ENABLE=0, and it restricts nothing.
    let zero = resolve(&sources(dir.path(), rc, &["IPV6_ENABLE=0"])).unwrap();
    assert_eq!(zero.launch.ip, IpChoice::Any);
}

#[test]
fn the_plan_shows_how_clients_are_reached() {
    let mounts = "MNT_POINTS=srv:/a srv:/b";
    let options = [
        "CLIENTS=nv[01-16] localhost",
        "PROCS=2",
        "LOAD=340",
        "INCR_LOAD=340",
        mounts,
        "USER=spec",
        "SSH_COMMAND=ssh -F lab.conf",
    ];
    crate::golden::golden("plan_ssh.txt", &explain(&good(LEAST, &options), None));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s"), "x").unwrap();
    let of = |options: &[&str]| {
        let all = [&["CLIENTS=a b", "LOAD=160", "SECRET_FILE=s"], options].concat();
        explain_launch(&resolve(&sources(dir.path(), LEAST, &all)).unwrap().launch)
    };
    let texts = [
        of(&["LAUNCHER=local"]),
        of(&[
            "LAUNCHER=slurm",
            "SRUN_COMMAND=srun -p x",
            "ON_LOST=continue",
        ]),
        of(&["LAUNCHER=connect"]),
        of(&["LAUNCHER=accept", "PRIME_LISTEN=0.0.0.0:7"]),
        of(&["INSTALL=off", "EXEC_PATH=/opt/filermark"]),
    ];
    crate::golden::golden("reach.txt", &texts.concat());
}

#[test]
fn clients_that_differ_have_a_line_each_up_to_a_bound() {
    let mounts: Vec<String> = (0..500).map(|i| format!("s:/{i}")).collect();
    let mounts = format!("MNT_POINTS={}", mounts.join(" "));
    let options = ["CLIENTS=c[1-500]", "PROCS=1", "LOAD=5000", &mounts];
    let text = explain(&good(LEAST, &options), None);
    assert!(text.contains("  c1: 1 proc on s:/0\n"), "{text}");
    assert!(text.contains("  ... and 300 clients more\n"), "{text}");
    assert!(text.contains("  c[1-500]: ssh\n"), "{text}");
}

/// A thousand clients with a hundred procs each, in every dialect. The limit is
/// coarse: debug builds on a busy machine.
#[test]
fn a_thousand_clients_are_resolved_quickly() {
    let timed = |what: &str, rc: &str, options: &[&str]| {
        let began = Instant::now();
        let resolved = good(rc, options);
        let took = began.elapsed();
        let text = explain(&resolved, None);
        eprintln!(
            "{what}: resolved in {took:?}, explained in {:?}",
            began.elapsed() - took
        );
        assert_eq!(resolved.plan.proc_count(), 100_000);
        assert_eq!(resolved.launch.hosts.len(), 1000);
        assert!(text.len() < 64 << 10, "{}", text.len());
        assert!(began.elapsed().as_secs() < 20);
    };
    let options = [
        "CLIENTS=c[1-1000]",
        "PROCS=100",
        "LOAD=1000000",
        "INCR_LOAD=",
    ];
    timed("classical", LEAST, &options);
    let list: Vec<String> = (0..100_000).map(|i| format!("s:/{i}")).collect();
    let list = format!("MNT_POINTS={}", list.join(" "));
    timed(
        "a mount point each",
        LEAST,
        &[&options[..], &[&list]].concat(),
    );
    let rc = "BENCHMARK=SWBUILD\nLOAD=2000\nINCR_LOAD=2000\nNUM_RUNS=10\n";
    timed("SWBUILD", rc, &["CLIENT_MOUNTPOINTS=c[1-1000]:/mnt"]);
    let words: Vec<String> = (0..100_000)
        .map(|i| format!("c{}:/mnt/{}", i % 1000, i / 1000))
        .collect();
    let words = format!("CLIENT_MOUNTPOINTS={}", words.join(","));
    timed("SWBUILD, a directory each", rc, &[&words]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2 * ProptestConfig::default().cases) })]

    #[test]
    fn host_lists_never_panic_and_give_sound_names(text in "[a-c0-9\\[\\],:% -]{0,24}|\\PC{0,30}") {
        if let Ok(names) = expand_hosts(&text) {
            prop_assert!((1..=10_000).contains(&names.len()));
            for name in &names {
                prop_assert!(!name.is_empty() && !name.starts_with('-'));
                prop_assert!(!name.contains(|c: char| c.is_whitespace() || c.is_control() || ";$`'\"\\|&<>(){}*?/@".contains(c)), "{name}");
            }
            let folded = fold_hosts(names.iter().map(String::as_str));
            let mut back = expand_hosts(&folded).unwrap();
            let mut names = names;
            names.sort();
            back.sort();
            prop_assert_eq!(back, names);
        }
    }

    #[test]
    fn what_passes_as_user_or_program_is_safe(text in "[ -~]{1,12}|\\PC{1,10}") {
        let option = [format!("USER={text}"), format!("EXEC_PATH={text}")];
        for option in &option {
            let mut sources = sources(Path::new("/nowhere"), LEAST, &["CLIENTS=nv1"]);
            sources.set_option(option).unwrap();
            let Ok(resolved) = resolve(&sources) else { continue };
            let host = &resolved.launch.hosts[0];
            for text in [&host.user, &host.program].into_iter().flatten() {
                prop_assert!(!text.starts_with('-') && !text.is_empty());
                prop_assert!(!text.contains(|c: char| c.is_whitespace() || c.is_control() || ";$`'\"|&<>(){}*?[]!#=".contains(c)), "{text}");
            }
        }
    }
}

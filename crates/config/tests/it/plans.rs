//! What good texts resolve into.

use crate::{LEAST, good, sources};
use filermark_config::{debug_filter, mount_point_count, resolve};
use filermark_model::plan::{
    Arrivals, Connections, DriverPlan, IpChoice, NfsPlan, NfsVersion, PacingMode, Transport,
};
use filermark_model::{Finding, Nanos, Op, Rule, RunPlan, Severity};
use std::path::Path;

fn nfs3(plan: &RunPlan) -> &NfsPlan {
    match &plan.driver {
        DriverPlan::Nfs(nfs) => nfs,
        other => panic!("{other:?}"),
    }
}

fn texts_of(findings: &[Finding], severity: Severity) -> Vec<&str> {
    let of = findings.iter().filter(|f| f.severity == severity);
    of.map(|f| f.message.as_str()).collect()
}

#[test]
fn the_least_rc_file_gives_a_standard_run() {
    let resolved = good(LEAST, &[]);
    let plan = &resolved.plan;
    assert_eq!(plan.points.len(), 10);
    assert_eq!(plan.points[9].requested.0, 800.0);
    assert_eq!(plan.clients.len(), 1);
    assert_eq!(plan.clients[0].name, "localhost");
    assert_eq!(plan.clients[0].mounts.len(), 8);
    assert_eq!(plan.phases.runtime, Nanos::from_secs(300));
    assert_eq!(plan.phases.warmup, Nanos::from_secs(300));
    assert_eq!(plan.phases.init_timeout, Nanos::from_secs(8000));
    assert_eq!(plan.limits.response_ms, 20.0);
    assert_eq!(plan.limits.error_pcnt_max, 1.0);
    assert_eq!((plan.seed, plan.shards), (1, None));
    assert!(plan.fileset.reuse && !plan.fileset.keep && !plan.fileset.verify);
    let nfs = nfs3(plan);
    assert_eq!((nfs.uid, nfs.gid), (1000, 100));
    assert_eq!(nfs.machine_name, "testhost.example.org");
    assert_eq!(
        (nfs.nfs_port, nfs.mount_port, nfs.portmap_port),
        (None, None, 111)
    );
    assert_eq!((nfs.rpc_timeout_ms, nfs.rpc_retries), (60_000, 5));
    assert_eq!((nfs.biod_max_reads, nfs.biod_max_writes), (2, 2));
    assert_eq!((nfs.block_size_max, nfs.ip), (None, IpChoice::Any));
    assert_eq!(nfs.connections, Connections::PerProc);
    assert_eq!(texts_of(&plan.findings, Severity::Warning), [""; 0]);
    let notes = texts_of(&plan.findings, Severity::Note);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("not classical: all 8 procs use the one mount point srv:/export"));
    assert_eq!(resolved.suffix, "sfs");
    assert_eq!(resolved.work_dir.to_str(), Some("result"));
    assert_eq!(plan.parameters[0], ("LOAD".to_owned(), "80".to_owned()));
}

#[test]
fn a_warmup_until_steady_has_its_longest_and_is_not_standard() {
    let plan = |options: &[&str]| good(LEAST, options).plan;
    let auto = plan(&["WARMUP_TIME=Auto"]);
    assert!(auto.phases.warmup_until_steady);
    assert_eq!(auto.phases.warmup, Nanos::from_secs(300));
    let not_standard =
        |f: &Finding| f.rule == Rule::NotStandard && f.message.contains("WARMUP_TIME=");
    assert!(
        auto.findings.iter().any(not_standard),
        "{:?}",
        auto.findings
    );
    let short = plan(&["WARMUP_TIME=auto", "WARMUP_TIME_MAX=60"]);
    assert_eq!(short.phases.warmup, Nanos::from_secs(60));
    let fixed = plan(&["WARMUP_TIME=300", "WARMUP_TIME_MAX=60"]);
    assert!(!fixed.phases.warmup_until_steady);
    assert_eq!(fixed.phases.warmup, Nanos::from_secs(300));
    assert!(!fixed.findings.iter().any(not_standard));
}

#[test]
fn every_field_has_a_parameter() {
    let options = [
        "SFS_NFS_USER_ID=7",
        "SFS_NFS_GROUP_ID=8",
        "NFS_GROUPS=1 2 3",
        "MACHINE_NAME=box",
        "RESVPORT=on",
        "BLOCK_SIZE=32",
        "BIOD_MAX_READS=0",
        "BIOD_MAX_WRITES=32",
        "NFS_PORT=2049",
        "MOUNT_PORT=20048",
        "PORTMAP_PORT=1111",
        "IPV6_ENABLE=off",
        "CONNECTIONS=4",
        "RPC_TIMEOUT_MS=1",
        "RPC_RETRIES=0",
        "CONNECT_TIMEOUT_MS=2",
        "JUKEBOX_DELAY_MS=3",
        "JUKEBOX_RETRIES=4",
        "PACING=open",
        "ARRIVALS=poisson",
        "BACKLOG_MAX=5",
        "KEEP=on",
        "REUSE=off",
        "VERIFY=on",
        "INIT_WINDOW=6",
        "SEED=18446744073709551615",
        "SHARDS=3",
        "RUNTIME=0.5",
        "WARMUP_TIME=0",
        "INIT_TIMEOUT=9",
        "RESPONSE_LIMIT_MS=1.5",
        "ACHIEVED_PCNT_MIN=90",
        "PROC_PCNT_MIN=50",
        "MIX_DEVIATION_MAX=2",
        "ERROR_PCNT_MAX=3",
        "STALL_PCNT_MAX=4",
        "FILESET_MB_PER_OP=1",
        "ACCESS_PCNT=50",
        "APPEND_PCNT=0",
        "DIR_COUNT=2",
        "FILE_COUNT=3",
        "SYMLINK_COUNT=4",
        "SUFFIX=mine",
        "WORK_DIR=out",
        "DEBUG=4,8-10",
        "PRIME_MON_SCRIPT=monitor",
        "PRIME_MON_ARGS=-a b",
    ];
    let resolved = good(LEAST, &options);
    let plan = &resolved.plan;
    let nfs = nfs3(plan);
    assert_eq!((nfs.uid, nfs.gid), (7, 8));
    assert_eq!(nfs.gids, [1, 2, 3]);
    assert_eq!(nfs.machine_name, "box");
    assert!(nfs.resvport);
    assert_eq!(nfs.block_size_max, Some(32 * 1024));
    assert_eq!((nfs.biod_max_reads, nfs.biod_max_writes), (0, 32));
    assert_eq!(nfs.nfs_port, Some(2049));
    assert_eq!((nfs.mount_port, nfs.portmap_port), (Some(20048), 1111));
    assert_eq!(
        (nfs.ip, nfs.connections),
        (IpChoice::V4, Connections::Shared(4))
    );
    assert_eq!(
        (nfs.rpc_timeout_ms, nfs.rpc_retries, nfs.connect_timeout_ms),
        (1, 0, 2)
    );
    assert_eq!((nfs.jukebox_delay_ms, nfs.jukebox_retries), (3, 4));
    assert_eq!(plan.pacing.mode, PacingMode::Open);
    assert_eq!(plan.pacing.arrivals, Arrivals::Poisson);
    assert_eq!(plan.pacing.backlog_max_per_proc, 5);
    let f = plan.fileset;
    assert!(f.keep && !f.reuse && f.verify && f.init_window == 6);
    assert_eq!((plan.seed, plan.shards), (u64::MAX, Some(3)));
    assert_eq!(plan.phases.runtime, Nanos::from_millis(500));
    assert_eq!(plan.phases.warmup, Nanos::ZERO);
    assert_eq!(plan.phases.init_timeout, Nanos::from_secs(9));
    let l = plan.limits;
    assert_eq!(
        (l.response_ms, l.achieved_pcnt_min, l.proc_pcnt_min),
        (1.5, 90.0, 50.0)
    );
    assert_eq!((l.mix_deviation_pcnt_max, l.error_pcnt_max), (2.0, 3.0));
    assert_eq!(l.stall_pcnt_max, 4.0);
    let r = &plan.benchmark.classic().unwrap().fileset;
    assert_eq!(
        (r.mb_per_op, r.access_pcnt, r.append_pcnt),
        (1.0, 50.0, 0.0)
    );
    assert_eq!((r.dir_count, r.file_count, r.symlink_count), (2, 3, 4));
    assert_eq!(resolved.suffix, "mine");
    assert_eq!(resolved.work_dir.to_str(), Some("out"));
    assert_eq!(
        debug_filter(&resolved.debug),
        "filermark_engine::errors=debug,filermark_engine::ops=trace,\
         filermark_engine::files=trace,filermark_nfs::rpc=trace,filermark_smb::rpc=trace"
    );
    let monitor = plan.monitor.as_ref().unwrap();
    assert_eq!(
        (monitor.script.as_str(), monitor.args.join("|")),
        ("monitor", "-a|b".into())
    );
}

#[test]
fn changed_standard_parameters_are_findings_with_their_figures() {
    let plan = good(
        LEAST,
        &[
            "RUNTIME=5",
            "WARMUP_TIME=300.0",
            "TCP=1",
            "PACING=open",
            "DEBUG=4",
        ],
    )
    .plan;
    let warned = texts_of(&plan.findings, Severity::Warning);
    assert_eq!(
        warned,
        [
            "not standard: RUNTIME=5 (standard: 300)",
            "not standard: DEBUG=4 (standard: not set)",
            "not standard: PACING=open (standard: closed)",
        ]
    );
    let runtime = &plan.findings[0];
    assert_eq!(
        (runtime.rule, runtime.value, runtime.limit),
        (Rule::NotStandard, Some(5.0), Some(300.0))
    );
    assert_eq!(runtime.source.as_deref(), Some("general-nfs3 version 2"));
}

#[test]
fn notes_about_what_does_nothing_or_counts_twice() {
    let rc = format!(
        "{LEAST}DUMP=on\nPRIME_SLEEP=0\nPOPULATE=\nSEED=4\nSFS_DIR=src\nSEED=5\nNUM_PROCS=8\n"
    );
    let plan = good(&rc, &["SEED=6"]).plan;
    assert_eq!(plan.seed, 6);
    let notes = texts_of(&plan.findings, Severity::Note).join("\n");
    assert!(notes.contains("DUMP=on has no effect here"), "{notes}");
    assert!(
        !notes.contains("PRIME_SLEEP") && !notes.contains("SFS_DIR"),
        "{notes}"
    );
    assert!(
        notes.contains("SEED=4 (sfs_rc:9:1) is replaced by sfs_rc:11:1"),
        "{notes}"
    );
    assert!(
        notes.contains("PROCS=8 (sfs_rc:4:1) is replaced by sfs_rc:12:1"),
        "{notes}"
    );
}

#[test]
fn loads_as_a_list_are_rounded_too_with_a_note() {
    let plan = good(LEAST, &["LOAD=100 300 700"]).plan;
    let requested: Vec<f64> = plan.points.iter().map(|p| p.requested.0).collect();
    assert_eq!(requested, [96.0, 296.0, 696.0]);
    assert_eq!(plan.points[2].entered.0, 700.0);
    let notes = texts_of(&plan.findings, Severity::Note).join("\n");
    assert!(
        notes.contains("INCR_LOAD=80 is not used: LOAD lists the load points"),
        "{notes}"
    );
    assert!(
        notes.contains("8 procs: 100 to 96, 300 to 296, 700 to 696"),
        "{notes}"
    );
    assert!(
        notes.contains("3 load points; a standard run has 10 or more"),
        "{notes}"
    );
}

#[test]
fn mount_points_of_all_forms() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("mounts"),
        "localhost a:/1 b:/2\nother c:/3 c:/4\n",
    )
    .unwrap();
    let mounts = |value: &str| -> Vec<String> {
        let options = [&format!("MNT_POINTS={value}"), "PROCS=2"];
        let plan = resolve(&sources(dir.path(), LEAST, &options)).unwrap().plan;
        plan.clients[0]
            .mounts
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(mounts("mounts"), ["a:/1", "b:/2"]);
    assert_eq!(mounts("./mounts"), ["a:/1", "b:/2"]);
    assert_eq!(mounts("x:/1 [::1]:/2"), ["x:/1", "[::1]:/2"]);
    assert_eq!(mounts("x:/1"), ["x:/1", "x:/1"]);

    let plan = good(LEAST, &["MNT_POINTS=nfs://[::1]:2050/x", "IPV6_ENABLE=off"]).plan;
    assert_eq!(nfs3(&plan).nfs_port, Some(2050));
    assert_eq!(nfs3(&plan).ip, IpChoice::Any);
    assert_eq!(plan.clients[0].mounts[0].host, "::1");
    let plan = good(LEAST, &["IPV6_ENABLE=on"]).plan;
    assert_eq!(nfs3(&plan).ip, IpChoice::V6);
}

#[test]
fn this_host_may_be_named_in_several_ways() {
    for name in ["localhost", "testhost", "TESTHOST.example.org", "127.0.0.1"] {
        let plan = good(LEAST, &[&format!("CLIENTS={name}")]).plan;
        assert_eq!(plan.clients[0].name, name);
    }
}

#[test]
fn the_null_driver_needs_no_server() {
    let plan = good("LOAD=100\nPROCS=2\nDRIVER=null", &[]).plan;
    assert_eq!(plan.driver, DriverPlan::NULL);
    assert_eq!(plan.clients[0].mounts.len(), 2);
    let warned = texts_of(&plan.findings, Severity::Warning);
    assert_eq!(warned, ["not standard: DRIVER=null (standard: nfs3)"]);
}

#[test]
fn files_beside_the_rc_file_change_the_benchmark() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("mix", "SFS MIXFILE VERSION 2\nread 70%\nwrite 30%\n");
    write("blocks", "read 4 100%\n");
    let general = filermark_model::benchmark::SHIPPED[0].1;
    write(
        "own.toml",
        &general.replace("runtime_s = 300", "runtime_s = 60"),
    );
    write("monitor", "#!/bin/sh\n");
    let options = [
        "MIXFILE=mix",
        "BLOCK_FILE=blocks",
        "BENCHMARK_FILE=own.toml",
        "PRIME_MON_SCRIPT=monitor",
        "RUNTIME=60",
    ];
    let resolved = resolve(&sources(dir.path(), LEAST, &options)).unwrap();
    let inputs: Vec<(&str, &str)> = resolved
        .inputs
        .iter()
        .map(|input| (input.option.as_str(), input.name.as_str()))
        .collect();
    let wanted = [
        ("-r", "sfs_rc"),
        ("BENCHMARK_FILE", "own.toml"),
        ("MIXFILE", "mix"),
        ("BLOCK_FILE", "blocks"),
    ];
    assert_eq!(inputs, wanted);
    assert!(resolved.inputs[0].is_of(LEAST.as_bytes()));
    assert!(resolved.inputs[3].is_of(b"read 4 100%\n"));
    let plan = resolved.plan;
    assert_eq!(plan.benchmark.mix.percent(Op::Read), 70.0);
    let sizes = plan.benchmark.classic().unwrap();
    assert_eq!(sizes.read_sizes.mean_bytes(), 4096.0);
    assert_eq!(sizes.write_sizes.max().0, 256 << 10);
    assert_eq!(plan.phases.runtime, Nanos::from_secs(60));
    assert_eq!(
        plan.monitor.unwrap().script,
        dir.path().join("monitor").to_str().unwrap()
    );
    let warned = texts_of(&plan.findings, Severity::Warning).join("\n");
    assert!(
        warned.contains("MIXFILE=mix (standard: not set)"),
        "{warned}"
    );
    assert!(warned.contains("BENCHMARK_FILE=own.toml"), "{warned}");
    assert!(
        !warned.contains("RUNTIME"),
        "an own definition has its own standard: {warned}"
    );

    // WORK_DIR is searched before the rc file's folder.
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("mix"), "SFS MIXFILE VERSION 2\nnull 100%\n").unwrap();
    let option = format!("WORK_DIR={}", work.display());
    let plan = resolve(&sources(dir.path(), LEAST, &["MIXFILE=mix", &option]))
        .unwrap()
        .plan;
    assert_eq!(plan.benchmark.mix.percent(Op::Null), 100.0);
}

#[test]
fn defaults_apply_only_to_parameters_that_are_not_given() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mounts"), "localhost a:/1 b:/2 c:/3\n").unwrap();
    let of = |rc: &str, option: &str| {
        let mut sources = sources(dir.path(), rc, &[option]);
        let count = mount_point_count(&sources);
        sources.set_default("PROCS", &count.max(1).to_string());
        sources.set_default("LOAD", "1000000");
        (count, resolve(&sources).map(|r| r.plan))
    };
    for (mounts, want) in [("mounts", 3), ("a:/1 b:/2", 2), ("a:/1", 1)] {
        // Given and left empty is not given.
        let (count, plan) = of("PROCS=\n", &format!("MNT_POINTS={mounts}"));
        assert_eq!(count, want, "{mounts}");
        assert_eq!(plan.unwrap().procs_per_client as usize, want, "{mounts}");
    }
    let (_, plan) = of("LOAD=90\nPROCS=9\n", "MNT_POINTS=a:/1");
    let plan = plan.unwrap();
    assert_eq!((plan.procs_per_client, plan.points[0].entered.0), (9, 90.0));
    // What is wrong stays wrong, and is reported once.
    let (_, wrong) = of("PROCS=many\n", "MNT_POINTS=a:/1");
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    let (count, wrong) = of("", "MNT_POINTS=nowhere");
    assert_eq!(count, 0);
    assert!(wrong.unwrap_err()[0].message.contains("does not exist"));
}

#[test]
fn later_options_win_and_an_empty_one_unsets() {
    let mut sources = sources(
        std::path::Path::new("/nowhere"),
        LEAST,
        &["BLOCK_SIZE=8", "BLOCK_SIZE="],
    );
    sources.set("-s", "SUFFIX", "one");
    let resolved = resolve(&sources).unwrap();
    assert_eq!(nfs3(&resolved.plan).block_size_max, None);
    assert_eq!(resolved.suffix, "one");
}

#[test]
fn versions_and_transports_of_nfs_follow_from_benchmark_and_rc() {
    let of = |options: &[&str]| {
        let plan = good(LEAST, options).plan;
        let nfs = nfs3(&plan).clone();
        let name = plan.benchmark.name;
        (name, nfs.version, nfs.transport, nfs.block_size_max)
    };
    let general = "general-nfs3".to_owned();
    let general_again = general.clone();
    let (v2, v3) = (NfsVersion::V2, NfsVersion::V3);
    let (tcp, udp) = (Transport::Tcp, Transport::Udp);
    assert_eq!(of(&[]), (general.clone(), v3, tcp, None));
    assert_eq!(of(&["TCP=off"]), (general.clone(), v3, udp, None));
    assert_eq!(
        of(&["NFS_VERSION=3", "FS_PROTOCOL=nfs"]),
        (general, v3, tcp, None)
    );
    for (given, version) in [
        ("NFS_VERSION=4", NfsVersion::V41),
        ("NFS_VERSION=4.1", NfsVersion::V41),
        ("NFS_VERSION=4.2", NfsVersion::V42),
    ] {
        let expected = (general_again.clone(), version, tcp, None);
        assert_eq!(of(&[given]), expected);
        // The shares of its operations were found over version 3.
        let findings = good(LEAST, &[given]).plan.findings;
        let note = format!("not standard: {given} (standard: 3)");
        assert!(findings.iter().any(|f| f.message == note), "{findings:?}");
    }
    let old = |name: &str| name.to_owned();
    assert_eq!(
        of(&["NFS_VERSION=4.1", "BENCHMARK=nfs3-2001", "BLOCK_SIZE=64"]),
        (old("nfs3-2001"), NfsVersion::V41, tcp, Some(65_536))
    );
    assert_eq!(
        of(&["NFS_VERSION=2"]),
        (old("nfs2-1997"), v2, tcp, Some(8_192))
    );
    assert_eq!(
        of(&["BENCHMARK=nfs2-1993", "TCP=off", "FS_PROTOCOL=nfs"]),
        (old("nfs2-1993"), v2, udp, Some(8_192))
    );
    assert_eq!(
        of(&["BENCHMARK=nfs3-2001", "DRIVER=nfs3", "BLOCK_SIZE=4"]),
        (old("nfs3-2001"), v3, tcp, Some(4_096))
    );
    // A standard run of the older ones may use either.
    let warned = |options: &[&str]| {
        let findings = good(LEAST, options).plan.findings;
        let texts = texts_of(&findings, Severity::Warning);
        texts.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let older = ["BENCHMARK=nfs3-2001", "TCP=off", "UDP_TIMEOUT_MS=500"];
    assert_eq!(warned(&older), [""; 0]);
    assert_eq!(
        warned(&["TCP=off"]),
        ["not standard: TCP=off (standard: on)"]
    );
    assert_eq!(
        warned(&["BENCHMARK=nfs3-2001", "BLOCK_SIZE=32"]),
        ["not standard: BLOCK_SIZE=32 (standard: 8)"]
    );
}

#[test]
fn a_block_size_that_is_too_large_is_reduced_with_a_note() {
    let of = |options: &[&str]| {
        let plan = good(LEAST, options).plan;
        let notes = texts_of(&plan.findings, Severity::Note);
        let has_note = notes.iter().any(|note| note.contains("BLOCK_SIZE"));
        (nfs3(&plan).block_size_max, has_note)
    };
    assert_eq!(of(&["BLOCK_SIZE=64"]), (Some(65_536), false));
    assert_eq!(of(&["BLOCK_SIZE=64", "TCP=off"]), (Some(32_768), true));
    assert_eq!(of(&["BLOCK_SIZE=16", "TCP=off"]), (Some(16_384), false));
    assert_eq!(of(&["BLOCK_SIZE=64", "NFS_VERSION=2"]), (Some(8_192), true));
}

/// Arguments of the monitor that look like a secret have a note that does not repeat them.
#[test]
fn arguments_of_a_monitor_that_look_like_a_password_are_noted() {
    let noted = |args: &str| {
        let args = format!("PRIME_MON_ARGS={args}");
        let options = ["PRIME_MON_SCRIPT=monitor", &args];
        let findings = good(LEAST, &options).plan.findings;
        let about = findings.iter().filter(|f| f.rule == Rule::Script);
        let messages: Vec<_> = about.map(|f| f.message.clone()).collect();
        let is_shown = messages.iter().any(|m| m.contains("s3cret"));
        assert!(!is_shown, "{messages:?}");
        messages.len() == 1
    };
    for args in [
        "-p s3cret",
        "--password=s3cret host",
        "-h filer --token s3cret",
        "https://me:s3cret@filer/api",
    ] {
        assert!(noted(args), "{args}");
    }
    for args in [
        "1",
        "-p 161 filer",
        "-d result -i 5",
        "-p /tmp/x",
        "http://filer:80/x",
    ] {
        assert!(!noted(args), "{args}");
    }
}

/// The operations that a server of version 4.2 need not have are tried before RUN.
#[test]
fn the_optional_operations_of_a_mix_are_in_the_plan() {
    let optional = |options: &[&str], folder: &Path| {
        let resolved = resolve(&sources(folder, LEAST, options)).unwrap();
        let plan = NfsPlan::of(&resolved.plan.driver).unwrap().clone();
        let names: Vec<&str> = plan.optional_ops.iter().map(|op| op.name()).collect();
        (plan.version, names.join(" "))
    };
    let all =
        "allocate deallocate seek read_plus copy clone getxattr setxattr listxattrs removexattr";
    for options in [
        &["BENCHMARK=nfs42-offload"][..],
        &["BENCHMARK=nfs42-offload", "NFS_VERSION=4.2"],
        &["DRIVER=nfs42"],
    ] {
        let expected = (NfsVersion::V42, all.to_owned());
        assert_eq!(
            optional(options, Path::new("/nowhere")),
            expected,
            "{options:?}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let mix = "SFS MIXFILE VERSION 2\nseek 10%\nopen 20%\nread 70%\n";
    std::fs::write(dir.path().join("mix"), mix).unwrap();
    let options = ["MIXFILE=mix", "NFS_VERSION=4.2"];
    assert_eq!(
        optional(&options, dir.path()),
        (NfsVersion::V42, "seek".to_owned())
    );
    let other = optional(&["NFS_VERSION=4.2"], Path::new("/nowhere"));
    assert_eq!(other, (NfsVersion::V42, String::new()));
}

//! The errors for bad texts: one plain sentence each.

use crate::{LEAST, bad, sources};
use filermark_config::{Sources, resolve};
use std::path::Path;

/// Every option that is wrong by itself, and the one message that it gives.
#[test]
fn one_wrong_option_gives_one_message() {
    let cases = [
        (
            "RUNTIM=5",
            "-o RUNTIM: there is no parameter RUNTIM; did you mean RUNTIME?",
        ),
        (
            "load=5",
            "-o load: there is no parameter load; did you mean LOAD?",
        ),
        (
            "ZZZZZZ=5",
            "-o ZZZZZZ: there is no parameter ZZZZZZ; 'filermark params'",
        ),
        (
            "RUNTIME=5k",
            "-o RUNTIME: RUNTIME=5k is not a number; give 0.1 to 604800 seconds",
        ),
        (
            "PROCS=0",
            "-o PROCS: PROCS=0 is out of bounds; give 1 to 100000 procs",
        ),
        (
            "BIOD_MAX_READS=33",
            "-o BIOD_MAX_READS: BIOD_MAX_READS=33 is out of bounds; give 0 to 32",
        ),
        ("LOAD=0", "-o LOAD: load '0' in LOAD is not valid"),
        ("LOAD=-5", "-o LOAD: load '-5' in LOAD is not valid"),
        ("LOAD=10.5", "-o LOAD: load '10.5' in LOAD is not valid"),
        (
            "LOAD=9999999999",
            "-o LOAD: load '9999999999' in LOAD is not valid",
        ),
        (
            "LOAD=7",
            "-o LOAD: load 7 on 8 procs is less than 1 op/s per proc; raise the load to 8",
        ),
        (
            "INCR_LOAD=1000000000",
            "-o INCR_LOAD: the last of 10 load points would be 9000000080",
        ),
        (
            "CLIENTS=a b A",
            "-o CLIENTS: CLIENTS names A twice; name every host once; PROCS says",
        ),
        ("CLIENTS=c[1-3,2]", "-o CLIENTS: CLIENTS names c2 twice"),
        (
            "CLIENTS=nv[01-16",
            "-o CLIENTS: 'nv[01-16' in CLIENTS has no closing bracket; write a name",
        ),
        (
            "CLIENTS=nv[01-6]",
            "-o CLIENTS: 'nv[01-6]' in CLIENTS has '01-6' in its brackets, whose ends",
        ),
        (
            "CLIENTS=-oProxyCommand=id",
            "-o CLIENTS: '-oProxyCommand=id' in CLIENTS has a client name that begins with '-'",
        ),
        (
            "CLIENTS=me@host",
            "-o CLIENTS: 'me@host' in CLIENTS has an invalid client name",
        ),
        (
            "CLIENTS=4",
            "-o CLIENTS: '4' in CLIENTS has a number where a client's name belongs",
        ),
        (
            "CLIENTS=[::1",
            "-o CLIENTS: '[::1' in CLIENTS has no closing bracket",
        ),
        ("CLIENTS=,", "-o CLIENTS: CLIENTS names no host"),
        (
            "CLIENTS=c[1-10001]",
            "-o CLIENTS: 'c[1-10001]' in CLIENTS stands for 10001 hosts; 10000 are the most",
        ),
        (
            "CLIENTS=c[1-9000] d[1-1001]",
            "-o CLIENTS: CLIENTS names more than 10000 hosts",
        ),
        (
            "LAUNCHER=rsh",
            "-o LAUNCHER: LAUNCHER=rsh is not one of the choices; choose one of: auto, local, ssh",
        ),
        (
            "LAUNCHER=slurm",
            "-o LAUNCHER: 'slurm' in CLIENTS stands for the nodes of a Slurm allocation, and SLURM_JOB_NODELIST is not set; run inside of one",
        ),
        (
            "LAUNCHER=connect",
            "-o LAUNCHER: LAUNCHER=connect needs keys to authenticate both sides, and SECRET_FILE is not set; make them: filermark agent --make-keys DIR",
        ),
        ("ON_LOST=stop", "-o ON_LOST: ON_LOST=stop is not one of"),
        (
            "AGENT_PORT=0",
            "-o AGENT_PORT: AGENT_PORT=0 is out of bounds",
        ),
        (
            "START_TIMEOUT=0",
            "-o START_TIMEOUT: START_TIMEOUT=0 is out of bounds",
        ),
        (
            "SSH_COMMAND=-F x",
            "-o SSH_COMMAND: SSH_COMMAND begins with an option",
        ),
        (
            "SRUN_COMMAND=--mpi",
            "-o SRUN_COMMAND: SRUN_COMMAND begins with an option",
        ),
        (
            "SSH_COMMAND=ssh a\0b",
            "-o SSH_COMMAND: SSH_COMMAND has a control character",
        ),
        (
            "PRIME_LISTEN=20049",
            "-o PRIME_LISTEN: PRIME_LISTEN=20049 is not an address with a port; give an address",
        ),
        (
            "PRIME_LISTEN=prime:20049",
            "-o PRIME_LISTEN: PRIME_LISTEN=prime:20049 is not an address with a port",
        ),
        (
            "PRIME_ADDRESS=prime:20049",
            "-o PRIME_ADDRESS: PRIME_ADDRESS=prime:20049 is neither a host name nor an address; give it without a port",
        ),
        (
            "PRIME_ADDRESS=--x",
            "-o PRIME_ADDRESS: PRIME_ADDRESS=--x is neither a host name",
        ),
        ("USER=-l", "-o USER: USER=-l begins with '-', as options do"),
        ("USER=a b", "-o USER: USER=a b is not a valid user name"),
        (
            "UNIX_USER=$(id)",
            "-o UNIX_USER: USER=$(id) is not a valid user name",
        ),
        (
            "EXEC_PATH=/bin/sh -c",
            "-o EXEC_PATH: EXEC_PATH=/bin/sh -c has a character that is special to the shell",
        ),
        (
            "EXEC_PATH=/tmp/$(id)",
            "-o EXEC_PATH: EXEC_PATH=/tmp/$(id) has a character",
        ),
        (
            "MNT_POINTS=a:/1 a:/2 a:/3",
            "-o MNT_POINTS: MNT_POINTS lists 3 mount points, PROCS is 8 and",
        ),
        (
            "MNT_POINTS=export",
            "-o MNT_POINTS: MNT_POINTS=export is not a mount point, and a file",
        ),
        (
            "MNT_POINTS=\\\\s\\share",
            "-o MNT_POINTS: mount point '\\\\s\\share' is a share of an SMB server, and NFS is",
        ),
        (
            "MNT_POINTS=::1:/x",
            "-o MNT_POINTS: mount point '::1:/x' has an IPv6 address without",
        ),
        ("NFS_VERSION=4.3", "-o NFS_VERSION: "),
        (
            "SUFFIX=a/b",
            "-o SUFFIX: SUFFIX=a/b cannot be the end of a file name",
        ),
        (
            "SUFFIX=..",
            "-o SUFFIX: SUFFIX=.. cannot be the end of a file name",
        ),
        (
            "DEBUG=3-99",
            "-o DEBUG: DEBUG=3-99: '99' is not a flag from 1 to 13",
        ),
        (
            "MIXFILE=none.mix",
            "-o MIXFILE: MIXFILE=none.mix does not exist (looked for result/none.mix",
        ),
        (
            "BENCHMARK=genral",
            "-o BENCHMARK: there is no benchmark 'genral'; known: general-nfs3",
        ),
        (
            "BENCHMARK_FILE=x.toml",
            "-o BENCHMARK_FILE: BENCHMARK_FILE=x.toml does not exist",
        ),
        (
            "DIR_COUNT=10000",
            "-o DIR_COUNT: DIR_COUNT=10000 is out of bounds; give 1 to 9999 directories",
        ),
        (
            "FILE_COUNT=0",
            "-o FILE_COUNT: FILE_COUNT=0 is out of bounds; give 1 to 100000 files",
        ),
        (
            "FILE_COUNT=100001",
            "-o FILE_COUNT: FILE_COUNT=100001 is out of bounds; give 1 to 100000 files",
        ),
        (
            "SYMLINK_COUNT=0",
            "-o SYMLINK_COUNT: SYMLINK_COUNT=0 is out of bounds; give 1 to 100000 links",
        ),
        (
            "NFS_GROUPS=1 x",
            "-o NFS_GROUPS: 'x' in NFS_GROUPS is not a group number",
        ),
        (
            "PRIME_MON_SCRIPT=./no",
            "-o PRIME_MON_SCRIPT: the program /nowhere/./no does not exist",
        ),
        (
            "CONNECTIONS=many",
            "-o CONNECTIONS: CONNECTIONS=many is neither 'proc' nor a whole",
        ),
    ];
    for (option, want) in cases {
        let got = bad(Path::new("/nowhere"), LEAST, &[option]);
        assert_eq!(got.len(), 1, "{option}: {got:#?}");
        assert!(got[0].starts_with(want), "{option}: {}", got[0]);
    }
}

#[test]
fn what_is_missing_is_reported_together() {
    let got = bad(Path::new("/nowhere"), "", &[]);
    let names = [
        "LOAD is not set",
        "PROCS is not set",
        "MNT_POINTS is not set",
    ];
    assert_eq!(got.len(), names.len(), "{got:#?}");
    for name in names {
        assert!(got.iter().any(|g| g.contains(name)), "{name}: {got:#?}");
    }
}

#[test]
fn options_that_contradict_each_other() {
    let port = ["MNT_POINTS=nfs://a:1/x", "NFS_PORT=2"];
    let got = bad(Path::new("/nowhere"), LEAST, &port);
    assert!(
        got[0].contains("NFS_PORT=2, but the URLs in MNT_POINTS name port 1"),
        "{got:?}"
    );
    for version in ["4.0", "4.1", "4.2"] {
        let datagrams = [&format!("NFS_VERSION={version}"), "TCP=off"];
        let got = bad(Path::new("/nowhere"), LEAST, &datagrams);
        let expected = format!("NFSv{version} needs connections");
        assert!(got[0].contains(&expected), "{got:?}");
    }
    for version in ["3", "4.0"] {
        for several in ["NCONNECT=2", "CLIENT_IDS=shared"] {
            let several = [&format!("NFS_VERSION={version}"), several];
            let got = bad(Path::new("/nowhere"), LEAST, &several);
            let expected = format!("NFSv{version} has no sessions that several connections");
            assert!(got[0].contains(&expected), "{got:?}");
        }
    }
    let both = ["NFS_VERSION=4.1", "NCONNECT=2", "CLIENT_IDS=shared"];
    let got = bad(Path::new("/nowhere"), LEAST, &both);
    assert!(
        got[0].contains("all connections of a thread are one client"),
        "{got:?}"
    );
    let version = ["NFS_VERSION=4.1", "BENCHMARK=nfs2-1997"];
    let got = bad(Path::new("/nowhere"), LEAST, &version);
    assert!(got[0].contains("is for NFS version 2"), "{got:?}");
    for version in ["3", "4.1"] {
        let other = [&format!("NFS_VERSION={version}"), "BENCHMARK=nfs42-offload"];
        let got = bad(Path::new("/nowhere"), LEAST, &other);
        assert!(got[0].contains("is for NFS version 4.2"), "{got:?}");
    }
    let ports = ["MNT_POINTS=nfs://a:1/x nfs://a:2/x", "PROCS=2"];
    let got = bad(Path::new("/nowhere"), LEAST, &ports);
    assert!(got[0].contains("different ports: 1, 2"), "{got:?}");
    let reserved = ["PROCS=2000", "LOAD=2000", "RESVPORT=on"];
    let got = bad(Path::new("/nowhere"), LEAST, &reserved);
    assert!(
        got[0].contains("2000 connections need more ports below 1024"),
        "{got:?}"
    );
    for (procs, connections, fits) in [
        (500, "proc", true),
        (501, "proc", false),
        (2000, "500", true),
        (2000, "501", false),
    ] {
        let (procs, load) = (format!("PROCS={procs}"), format!("LOAD={procs}"));
        let connections = format!("CONNECTIONS={connections}");
        let options = [&procs, &load, &connections, "RESVPORT=on"];
        let resolved = resolve(&sources(Path::new("/nowhere"), LEAST, &options));
        assert_eq!(resolved.is_ok(), fits, "{options:?}");
    }
    for (nconnect, fits) in [(5, true), (6, false)] {
        let nconnect = format!("NCONNECT={nconnect}");
        let options = [
            "NFS_VERSION=4.1",
            "CONNECTIONS=100",
            &nconnect,
            "RESVPORT=on",
        ];
        let resolved = resolve(&sources(Path::new("/nowhere"), LEAST, &options));
        assert_eq!(resolved.is_ok(), fits, "{options:?}");
    }
}

#[test]
fn agents_started_by_hand_need_existing_keys() {
    let dir = tempfile::tempdir().unwrap();
    let got = bad(dir.path(), LEAST, &["LAUNCHER=accept"]);
    assert_eq!(got.len(), 2, "{got:#?}");
    assert!(got[0].contains("PRIME_LISTEN is not set; give an address and a port"));
    assert!(got[1].contains("SECRET_FILE is not set; make them: filermark agent --make-keys"));
    let hand = ["LAUNCHER=accept", "PRIME_LISTEN=[::]:0", "SECRET_FILE=s"];
    let got = bad(dir.path(), LEAST, &hand);
    assert_eq!(got.len(), 2, "{got:#?}");
    assert!(got[0].contains("leaves the port open"), "{got:?}");
    let path = dir.path().join("s").display().to_string();
    let want = format!(
        "the key file {path} does not exist; make the files: filermark agent --make-keys DIR"
    );
    assert!(got[1].contains(&want), "{got:?}");
}

#[test]
fn procs_of_all_clients_are_counted() {
    let of = |clients: &str, procs: &str| {
        let options = [clients, procs, "LOAD=1000000", "INCR_LOAD="];
        resolve(&sources(Path::new("/nowhere"), LEAST, &options))
    };
    assert!(of("CLIENTS=c[1-1000]", "PROCS=100").is_ok());
    let wrong = of("CLIENTS=c[1-1000]", "PROCS=101").unwrap_err();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    let want = "-o PROCS: 101 procs on each of 1000 clients are 101000; 100000 are the most: set PROCS=100 or less";
    assert_eq!(wrong[0].to_string(), want);
}

#[test]
fn many_mistakes_in_a_list_are_reported_up_to_a_limit() {
    let list = |word: &str| format!("CLIENTS={}", format!("{word} ").repeat(100_000));
    let got = bad(Path::new("/nowhere"), LEAST, &[&list("a;b")]);
    assert!((1..=51).contains(&got.len()), "{}", got.len());
    let got = bad(Path::new("/nowhere"), LEAST, &[&list("c[1-10000]")]);
    assert!((1..=51).contains(&got.len()), "{}", got.len());
}

#[test]
fn mistakes_in_files_are_reported_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let write = |name: &str, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    write("mix", b"SFS MIXFILE VERSION 2\nread 50%\nroot 50%\n");
    write("blocks", b"read 64000000 100%\n");
    write("toml", b"name = 'x'\nversion = \"one\"\n");
    write("binary", &[0xff, 0xfe, 0x00]);
    let cases = [
        (
            "MIXFILE=mix",
            format!("{}:3:1: operation root belongs", path("mix")),
        ),
        (
            "BLOCK_FILE=blocks",
            format!("{}:1:1: '64000000' is not a size", path("blocks")),
        ),
        (
            "BENCHMARK_FILE=toml",
            format!("{}:2:11: invalid type", path("toml")),
        ),
        (
            "MIXFILE=binary",
            "-o MIXFILE: MIXFILE=binary is not UTF-8 text".into(),
        ),
        ("MIXFILE=.", "-o MIXFILE: MIXFILE=. is a directory".into()),
    ];
    for (option, want) in cases {
        let work = format!("WORK_DIR={}", dir.path().display());
        let got = bad(dir.path(), LEAST, &[option, &work]);
        assert_eq!(got.len(), 1, "{option}: {got:#?}");
        assert!(got[0].starts_with(&want), "{option}: {}", got[0]);
        assert!(!got[0].contains('\n'), "{}", got[0]);
    }
}

#[test]
fn an_own_benchmark_must_be_valid() {
    let dir = tempfile::tempdir().unwrap();
    let general = filermark_model::benchmark::SHIPPED[0].1;
    let text = general.replace("mb_per_op = 120.0", "mb_per_op = nan");
    std::fs::write(dir.path().join("own.toml"), text).unwrap();
    let got = bad(dir.path(), LEAST, &["BENCHMARK_FILE=own.toml"]);
    assert!(
        got[0].contains("fileset.mb_per_op = NaN is not within"),
        "{got:?}"
    );
    // Counts that the engine could not make, as for the parameters.
    for (old, new) in [
        ("dir_count = 30", "dir_count = 10000"),
        ("symlink_count = 20", "symlink_count = 0"),
        ("file_count = 100 ", "file_count = 0 "),
    ] {
        assert!(general.contains(old));
        std::fs::write(dir.path().join("own.toml"), general.replace(old, new)).unwrap();
        let got = bad(dir.path(), LEAST, &["BENCHMARK_FILE=own.toml"]);
        let want = format!("fileset.{} is not within 1 to", new.trim());
        assert!(got[0].contains(&want), "{got:?}");
    }
}

#[test]
fn a_missing_rc_file() {
    let error = Sources::from_rc(Some(Path::new("/nowhere/sfs_rc"))).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("/nowhere/sfs_rc: the rc file cannot be opened:"),
        "{message}"
    );
    let mut sources = Sources::from_rc(None).unwrap();
    let message = sources.set_option("RUNTIME").unwrap_err().to_string();
    assert!(
        message.starts_with("-o RUNTIME: there is no '='; write -o NAME=VALUE"),
        "{message}"
    );
}

/// An operation that the version does not have is refused with the plan.
#[test]
fn a_mix_has_only_operations_of_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let text = format!("SFS MIXFILE VERSION 2\n{text}\n");
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    write("copy", "copy 10%\nread 90%");
    write("lock", "lock 10%\nread 90%");
    write("both", "copy 10%\nopen 10%\nread 80%");
    for (mix, version, expected) in [
        (
            "copy",
            "3",
            "the mix has the operation copy, which NFSv3 does not have; set NFS_VERSION=4.2",
        ),
        (
            "both",
            "3",
            "the mix has the operations open and copy, which NFSv3 does not have; set \
             NFS_VERSION=4.2, or leave them out of the mix",
        ),
        (
            "both",
            "4.1",
            "the mix has the operation copy, which NFSv4.1 does not have; set NFS_VERSION=4.2, or \
             leave it out",
        ),
        (
            "copy",
            "4.1",
            "the mix has the operation copy, which NFSv4.1 does not have; set NFS_VERSION=4.2",
        ),
        (
            "lock",
            "3",
            "the mix has the operation lock, which NFSv3 does not have; set NFS_VERSION=4.0, 4.1 or 4.2",
        ),
    ] {
        let options = [format!("MIXFILE={mix}"), format!("NFS_VERSION={version}")];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let got = bad(dir.path(), LEAST, &options);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].contains(expected), "{got:?}");
    }
}

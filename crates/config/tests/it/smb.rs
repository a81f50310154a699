//! SMB in rc files: login, dialects, protection, and the sources of the password.

use crate::{LEAST, bad, good, sources};
use filermark_config::{explain, mount_point_count, resolve};
use filermark_model::benchmark::Protocol;
use filermark_model::plan::{Connections, DriverPlan, DriverSettings, IpChoice, SmbPlan};
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_model::{Benchmark, Op, RunPlan, Severity};
use std::path::Path;

const SMB1: &str = "FS_PROTOCOL=cifs\n";
const SMB2: &str = "FS_PROTOCOL=smb\n";
const LOGIN: &str = "USERNAME=me\nPASSWORD=geheim\n";
const SHARE: &str = "MNT_POINTS=\"\\\\srv\\share\"\n";
const LOAD: &str = "LOAD=80\nINCR_LOAD=80\nNUM_RUNS=10\nPROCS=8\n";

/// A run over SMB 2 and 3.
fn smb2(more: &str) -> String {
    format!("{SMB2}{LOAD}{SHARE}{LOGIN}{more}")
}

fn smb1(more: &str) -> String {
    format!("{SMB1}{LOAD}{SHARE}{LOGIN}{more}")
}

fn plan(rc: &str) -> RunPlan {
    good(rc, &[]).plan
}

fn driver(plan: &RunPlan) -> &SmbPlan {
    match &plan.driver {
        DriverPlan::Smb(smb) => smb,
        other => panic!("{other:?}"),
    }
}

fn errors(rc: &str) -> Vec<String> {
    bad(Path::new("/nowhere"), rc, &[])
}

#[test]
fn the_protocol_chooses_the_benchmark_and_the_benchmark_the_protocol() {
    let by = |line: &str| plan(&format!("{line}\n{LOAD}{SHARE}{LOGIN}"));
    let cases = [
        ("FS_PROTOCOL=cifs", "general-smb1", Protocol::Smb1),
        ("FS_PROTOCOL=CIFS", "general-smb1", Protocol::Smb1),
        ("BENCHMARK=general-smb1", "general-smb1", Protocol::Smb1),
        ("FS_PROTOCOL=smb", "general-smb2", Protocol::Smb2),
        ("BENCHMARK=general-smb2", "general-smb2", Protocol::Smb2),
        ("DRIVER=smb", "general-smb2", Protocol::Smb2),
    ];
    for (line, name, protocol) in cases {
        let plan = by(line);
        assert_eq!(plan.benchmark.name, name, "{line}");
        assert_eq!(plan.benchmark.protocol, protocol, "{line}");
        let both = (Dialect::Nt1, Dialect::Nt1);
        let smb1 = driver(&plan).dialects == both;
        assert_eq!(smb1, protocol == Protocol::Smb1, "{line}");
        assert!(plan.findings.iter().all(|f| f.severity == Severity::Note));
    }
    assert_eq!(plan(LEAST).benchmark.name, "general-nfs3");
    let nfs = plan(&format!("FS_PROTOCOL=nfs\n{LEAST}"));
    assert!(matches!(nfs.driver, DriverPlan::Nfs(_)));
}

#[test]
fn everything_given_is_in_the_plan() {
    let rc = smb2(
        "DOMAIN=LAB\nSMB_DIALECT=3.0-3.1.1\nSMB_SIGNING=aes-cmac\nSMB_ENCRYPTION=aes-128-ccm\n\
         SMB_PORT=4450\nBLOCK_SIZE=64\nBIOD_MAX_READS=4\nBIOD_MAX_WRITES=8\nCONNECTIONS=2\n\
         RPC_TIMEOUT_MS=1000\nCONNECT_TIMEOUT_MS=2000\nIPV6_ENABLE=off\n",
    );
    let plan = plan(&rc);
    let smb = driver(&plan);
    assert_eq!(smb.dialects, (Dialect::V300, Dialect::V311));
    assert_eq!(smb.signing, Signing::AesCmac);
    assert_eq!(smb.encryption, Encryption::Aes128Ccm);
    let auth = Auth::Ntlm {
        username: "me".into(),
        domain: "LAB".into(),
    };
    assert_eq!(smb.auth, auth);
    assert_eq!(smb.password.reveal(), Some("geheim"));
    assert_eq!((smb.port, smb.ip), (4450, IpChoice::V4));
    assert_eq!(smb.block_size_max, Some(65536));
    assert_eq!((smb.biod_max_reads, smb.biod_max_writes), (4, 8));
    assert_eq!(smb.connections, Connections::Shared(2));
    assert_eq!((smb.reply_timeout_ms, smb.connect_timeout_ms), (1000, 2000));
    let mount = &plan.clients[0].mounts[0];
    assert_eq!(
        (mount.host.as_str(), mount.path.as_str()),
        ("srv", "\\share")
    );
    let least = smb2("");
    let least = driver(&good(&least, &[]).plan).clone();
    assert_eq!(least.dialects, (Dialect::V202, Dialect::V311));
    assert_eq!((least.signing, least.encryption), Default::default());
    assert_eq!((least.port, least.ip), (445, IpChoice::Any));
}

#[test]
fn mount_points_as_the_seed_writes_them() {
    let shown = |rc: &str| -> Vec<String> {
        let plan = plan(rc);
        let mounts = plan.clients.iter().flat_map(|c| &c.mounts);
        mounts.map(ToString::to_string).collect()
    };
    let rc = format!(
        "{SMB1}{LOGIN}LOAD=100\nPROCS=3\nMNT_POINTS=\"\\\\testsys\\test1 \\\\testsys\\test2 //[::1]/test3/d\"\n"
    );
    let want = [r"\\testsys\test1", r"\\testsys\test2", r"\\[::1]\test3\d"];
    assert_eq!(shown(&rc), want);
    let rc = format!("{SMB2}{LOGIN}LOAD=100\nPROCS=1\nMNT_POINTS=smb://srv:4450/a%20b/c\n");
    assert_eq!(shown(&rc), [r"\\srv\a b\c"]);
    assert_eq!(driver(&plan(&rc)).port, 4450);

    let dir = tempfile::tempdir().unwrap();
    let text = "c1 \\\\s\\one \\\\s\\two\r\nc[2-3] //s/three \\\\s\\four\r\n";
    std::fs::write(dir.path().join("mounts"), text).unwrap();
    let rc = format!(
        "{SMB2}{LOGIN}LOAD=100\nPROCS=2\nCLIENTS=\"c1 c3\"\nLAUNCHER=local\nMNT_POINTS=mounts\n"
    );
    let sources = sources(dir.path(), &rc, &[]);
    assert_eq!(mount_point_count(&sources), 2);
    let plan = resolve(&sources).unwrap().plan;
    assert_eq!(plan.clients[0].mounts[1].to_string(), r"\\s\two");
    assert_eq!(plan.clients[1].mounts[0].to_string(), r"\\s\three");
}

#[test]
fn what_does_not_fit_is_reported_at_its_line() {
    // The line is added as the ninth.
    let at = "sfs_rc:9:1: ";
    let two = [
        ("MNT_POINTS=srv:/export", "is not a share of an SMB server"),
        (
            "FS_PROTOCOL=nfs\nBENCHMARK=general-smb2",
            "the benchmark general-smb2 is for SMB 2 and 3; leave FS_PROTOCOL or",
        ),
        (
            "FS_PROTOCOL=cifs\nBENCHMARK=general-smb2",
            "FS_PROTOCOL=cifs, but",
        ),
        (
            "DRIVER=nfs3",
            "DRIVER=nfs3, but the benchmark general-smb2 is for SMB 2 and 3",
        ),
        (
            "SMB_DIALECT=NT1",
            "SMB_DIALECT=NT1 does not fit a benchmark for SMB 2 and 3; leave it out, or set FS_PROTOCOL=cifs",
        ),
        ("SMB_DIALECT=NT1-3.1.1", "SMB1 is a benchmark of its own"),
        (
            "SMB_DIALECT=3.1",
            "names no dialect: '3.1'; choose of NT1, 2.0.2",
        ),
        (
            "SMB_DIALECT=3.1.1-2.1",
            "starts above its end; write SMB_DIALECT=2.1-3.1.1",
        ),
        (
            "SMB_SIGNING=aes-gmac\nSMB_DIALECT=2.1-3.0.2",
            "SMB_SIGNING=aes-gmac is not available with SMB 2.1-3.0.2; set SMB_DIALECT=3.1.1",
        ),
        (
            "SMB_SIGNING=hmac-sha256\nSMB_DIALECT=3.0",
            "SMB_SIGNING=hmac-sha256 is not available with SMB 3.0",
        ),
        (
            "SMB_SIGNING=maybe",
            "SMB_SIGNING=maybe is not one of the choices; choose one of: auto, off",
        ),
        (
            "SMB_ENCRYPTION=required\nSMB_DIALECT=2.0.2-2.1",
            "SMB_ENCRYPTION=required is not available with SMB 2.0.2-2.1; set SMB_DIALECT=3.0-3.1.1",
        ),
        (
            "SMB_ENCRYPTION=aes-256-gcm\nSMB_DIALECT=3.0",
            "is not available with SMB 3.0; set SMB_DIALECT=3.1.1",
        ),
        (
            "SMB_SIGNING=hmac-sha256\nSMB_DIALECT=2.1-3.0.2\nSMB_ENCRYPTION=required",
            "SMB_SIGNING=hmac-sha256 is not available with SMB 3.0-3.0.2",
        ),
        ("SMB_PORT=0", "SMB_PORT=0 is out of bounds"),
        ("SMB_AUTH=basic", "SMB_AUTH=basic is not one of the choices"),
        (
            "USERNAME=LAB\\me",
            "USERNAME=LAB\\me contains a backslash; write the part before it to DOMAIN",
        ),
        ("DOMAIN=a/b", "DOMAIN=a/b is not a valid name"),
        (
            "PASSWORD_FILE=nowhere.password",
            "PASSWORD_FILE=nowhere.password cannot be opened",
        ),
        ("MIXFILE=a.mix", "MIXFILE=a.mix does not exist"),
        ("TCP=off", "SMB works over TCP only"),
    ];
    for (line, want) in two {
        let got = errors(&smb2(line));
        assert_eq!(got.len(), 1, "{line}: {got:?}");
        assert!(
            got[0].starts_with(at) && got[0].contains(want),
            "{line}: {got:?}"
        );
    }
    let one = [
        (
            "SMB_DIALECT=3.1.1",
            "SMB_DIALECT=3.1.1 does not fit a benchmark for SMB1; leave it out, or set FS_PROTOCOL=smb",
        ),
        (
            "SMB_ENCRYPTION=required",
            "SMB_ENCRYPTION=required is not available with SMB NT1; leave it out: SMB1 has no encryption",
        ),
        (
            "SMB_SIGNING=aes-cmac",
            "SMB1 has one way only: set SMB_SIGNING=required",
        ),
    ];
    for (line, want) in one {
        let got = errors(&smb1(line));
        assert_eq!(got.len(), 1, "{line}: {got:?}");
        assert!(
            got[0].starts_with(at) && got[0].contains(want),
            "{line}: {got:?}"
        );
    }
}

#[test]
fn several_channels_need_a_user_and_a_dialect_that_has_them() {
    let four = plan(&smb2("SMB_CHANNELS=4\nSMB_CHANNELS_FEWER=on\n"));
    let smb = driver(&four);
    assert_eq!((smb.channels, smb.fewer_channels), (4, true));
    assert!(
        smb.describe()
            .summary
            .contains("each a session of 4 channels")
    );
    assert_eq!(smb.facts().nconnect, 4);
    let one = plan(&smb2("SMB_CHANNELS_FEWER=on\n"));
    assert!(!driver(&one).fewer_channels);
    assert!(warnings_of(&one).contains("no effect with one channel"));
    for (lines, expected) in [
        (
            "SMB_CHANNELS=2\nSMB_DIALECT=2.0.2-2.1\n",
            "has one connection only",
        ),
        ("SMB_CHANNELS=17\n", "SMB_CHANNELS"),
        ("SMB_CHANNELS=0\n", "SMB_CHANNELS"),
    ] {
        let got = errors(&smb2(lines));
        assert!(got[0].contains(expected), "{got:?}");
    }
    let got = errors(&smb1("SMB_CHANNELS=2\n"));
    assert!(got[0].contains("has one connection only"), "{got:?}");
    let guest = format!("FS_PROTOCOL=smb\n{LOAD}{SHARE}SMB_AUTH=guest\nSMB_CHANNELS=2\n");
    let got = errors(&guest);
    assert!(got[0].contains("has no key"), "{got:?}");
}

#[test]
fn who_logs_in_and_who_cannot() {
    let with = |lines: &str| format!("{SMB2}{LOAD}{SHARE}{lines}");
    let wrong = [
        ("", "parameters: USERNAME is not set, and NTLM needs one"),
        ("PASSWORD=geheim\n", "parameters: USERNAME is not set"),
        (
            "USERNAME=me\n",
            "sfs_rc:7:1: USERNAME has no password; write it to the first line",
        ),
        (
            "USERNAME=me\nPASSWORD=\n",
            "sfs_rc:7:1: USERNAME has no password",
        ),
        (
            "SMB_AUTH=guest\nUSERNAME=me\n",
            "sfs_rc:8:1: USERNAME is set, and SMB_AUTH=guest logs in without it",
        ),
        (
            "SMB_AUTH=anonymous\nPASSWORD=geheim\n",
            "sfs_rc:8:1: PASSWORD is set, and SMB_AUTH=anonymous",
        ),
        (
            "SMB_AUTH=anonymous\nSMB_SIGNING=required\n",
            "sfs_rc:8:1: SMB_SIGNING=required is not available with SMB_AUTH=anonymous: such a session has no key",
        ),
        (
            "SMB_AUTH=guest\nSMB_ENCRYPTION=aes-128-gcm\n",
            "sfs_rc:8:1: SMB_ENCRYPTION=aes-128-gcm is not available",
        ),
        (
            "SMB_AUTH=kerberos\nPASSWORD=geheim\n",
            "sfs_rc:8:1: PASSWORD is set, and USERNAME is not",
        ),
    ];
    for (lines, want) in wrong {
        let got = errors(&with(lines));
        assert_eq!(got.len(), 1, "{lines}: {got:?}");
        assert!(got[0].starts_with(want), "{lines}: {got:?}");
        assert!(!got[0].contains("geheim"));
    }
    let auth = |lines: &str| {
        let plan = plan(&with(lines));
        let smb = driver(&plan);
        (smb.auth.clone(), smb.password.is_given())
    };
    assert_eq!(auth("SMB_AUTH=guest\nDOMAIN=x\n"), (Auth::Guest, false));
    assert_eq!(auth("SMB_AUTH=anonymous\n"), (Auth::Anonymous, false));
    let kerberos = |username: &str| Auth::Kerberos {
        username: username.into(),
        domain: "LAB".into(),
    };
    let lines = "SMB_AUTH=kerberos\nDOMAIN=LAB\n";
    assert_eq!(auth(lines), (kerberos(""), false));
    let lines = format!("{lines}{LOGIN}");
    assert_eq!(auth(&lines), (kerberos("me"), true));
}

#[test]
fn a_protection_chooses_among_the_dialects() {
    let of = |lines: &str| driver(&plan(&smb2(lines))).dialects;
    assert_eq!(
        of("SMB_ENCRYPTION=required\n"),
        (Dialect::V300, Dialect::V311)
    );
    assert_eq!(of("SMB_SIGNING=aes-gmac\n"), (Dialect::V311, Dialect::V311));
    let narrowed = plan(&smb2("SMB_ENCRYPTION=aes-128-gcm\nSMB_DIALECT=2.1-3.1.1\n"));
    let note = narrowed.findings.iter().any(|f| {
        f.message == "of SMB_DIALECT=2.1-3.1.1 only 3.1.1 can protect messages as required"
    });
    assert!(note, "{:?}", narrowed.findings);
}

#[test]
fn parameters_of_the_other_protocol_are_noted() {
    let notes_of = |plan: &RunPlan| -> Vec<String> {
        let notes = plan
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Note);
        notes.map(|f| f.message.clone()).collect()
    };
    let notes = notes_of(&plan(&smb2(
        "NFS_PORT=2049\nSYMLINK_COUNT=5\nRESVPORT=on\n",
    )));
    for name in ["NFS_PORT=2049", "SYMLINK_COUNT=5", "RESVPORT=on"] {
        let want = format!("{name} has no effect with BENCHMARK=general-smb2");
        assert!(notes.contains(&want), "{notes:?}");
    }
    let plan = plan(&smb2("SYMLINK_COUNT=5\n"));
    assert_eq!(plan.benchmark.classic().unwrap().fileset.symlink_count, 0);
    let nfs = good(&format!("{LEAST}{LOGIN}SMB_PORT=445\n"), &[]).plan;
    let notes = notes_of(&nfs);
    for name in ["PASSWORD=(given)", "SMB_PORT=445"] {
        let want = format!("{name} has no effect with BENCHMARK=general-nfs3");
        assert!(notes.contains(&want), "{notes:?}");
    }
    let want = "USERNAME=me has no effect with SECURITY=sys, whose user is SFS_NFS_USER_ID";
    assert!(notes.iter().any(|note| note == want), "{notes:?}");
}

#[test]
fn where_the_password_comes_from() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("smb.password");
    std::fs::write(&file, "of the file\r\nsecond line\n").unwrap();
    let resolved = |rc: &str, environment: Option<&str>, options: &[&str]| {
        let mut sources = sources(dir.path(), rc, options);
        if let Some(word) = environment {
            sources.host.password = filermark_model::secret::Secret::new(word);
        }
        resolve(&sources).unwrap().plan
    };
    let rc = |lines: &str| format!("{SMB2}{LOAD}{SHARE}USERNAME=me\n{lines}");
    let word = |plan: &RunPlan| driver(plan).password.reveal().unwrap().to_owned();
    let environment = Some("of the environment");
    assert_eq!(
        word(&resolved(&rc(""), environment, &[])),
        "of the environment"
    );
    let plain = rc("PASSWORD=' of the rc file'\n");
    assert_eq!(word(&resolved(&plain, environment, &[])), " of the rc file");
    let both = resolved(&plain, environment, &["PASSWORD_FILE=smb.password"]);
    assert_eq!(word(&both), "of the file");
    let has_note =
        |plan: &RunPlan, text: &str| plan.findings.iter().any(|f| f.message.contains(text));
    assert!(has_note(
        &both,
        "PASSWORD has no effect: PASSWORD_FILE is set"
    ));

    use std::os::unix::fs::PermissionsExt;
    let mode = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        resolved(&rc("PASSWORD_FILE=smb.password\n"), None, &[])
    };
    assert!(has_note(
        &mode(0o644),
        "others can read PASSWORD_FILE=smb.password"
    ));
    assert!(!has_note(&mode(0o600), "others can read"));
}

#[test]
fn bad_password_files_are_reported_without_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let long = "geheim".repeat(50);
    let cases: [(&[u8], &str); 5] = [
        (b"", "has an empty first line"),
        (b"\ngeheim", "has an empty first line"),
        (b"geheim\xff", "is not UTF-8 text"),
        (
            b"gehe\x1bim",
            "the password of PASSWORD_FILE has a control character",
        ),
        (long.as_bytes(), "has more than 256 characters"),
    ];
    for (text, want) in cases {
        std::fs::write(dir.path().join("p"), text).unwrap();
        let rc = format!("{SMB2}{LOAD}{SHARE}USERNAME=me\nPASSWORD_FILE=p\n");
        let got = bad(dir.path(), &rc, &[]);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].contains(want) && !got[0].contains("geh"), "{got:?}");
    }
}

#[test]
fn a_password_is_shown_nowhere() {
    let mut sources = sources(Path::new("/nowhere"), &smb2(""), &[]);
    for option in [
        "PASSWORD=geheim",
        "WINDOWS_PASSWORD=geheim",
        "PASSWORD geheim",
    ] {
        let error = sources.set_option(option).unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
    }
    let error = sources
        .set_option("PASSWORD=geheim")
        .unwrap_err()
        .to_string();
    assert!(error.contains("PASSWORD_FILE") && error.contains("FILERMARK_PASSWORD"));
    sources.host.password = filermark_model::secret::Secret::new("geheim");
    assert!(!format!("{sources:?}").contains("geheim"));
    let resolved = resolve(&sources).unwrap();
    assert_eq!(driver(&resolved.plan).password.reveal(), Some("geheim"));
    let shown = format!("{resolved:?}{}", explain(&resolved, None));
    assert!(!shown.contains("geheim"), "{shown}");
    let json = serde_json::to_string(&resolved.plan).unwrap();
    assert!(!json.contains("geheim") && json.contains(r#"["PASSWORD","(given)"]"#));
    // Errors in lines around it do not show it either.
    for line in [
        "PASSWORD=\"geheim",
        "PASSWORD geheim",
        "PASSWORD=geheim geheim",
        "PASSWORD=ge\theim",
    ] {
        let got = errors(&format!("{SMB2}{LOAD}{SHARE}USERNAME=me\n{line}\n")).join("\n");
        assert!(!got.contains("heim"), "{got}");
    }
}

/// The definitions ship with the program.
#[test]
fn the_benchmarks_are_there() {
    for name in ["general-smb1", "general-smb2"] {
        assert!(Benchmark::shipped(name).is_ok(), "{name}");
    }
}

#[test]
fn another_mix_has_another_sequence() {
    let dir = tempfile::tempdir().unwrap();
    let head = "SFS MIXFILE VERSION 2\n";
    let write = |text: &str| std::fs::write(dir.path().join("my.mix"), text).unwrap();
    let rc = smb2("MIXFILE=my.mix\n");
    write(&format!(
        "{head}open 12.5%\nclose 12.5%\nread 55%\nquery_path 20%\n"
    ));
    let plan = resolve(&sources(dir.path(), &rc, &[])).unwrap().plan;
    assert_eq!(plan.benchmark.mix.percent(Op::Open), 12.5);
    let sequence = plan.benchmark.classic().unwrap().sequence.clone().unwrap();
    for (op, percent) in sequence.stationary_mix() {
        let wanted = plan.benchmark.mix.percent(op);
        assert!((percent - wanted).abs() < 1e-6, "{op}: {percent}");
    }
    assert!(warnings_of(&plan).contains("MIXFILE=my.mix (standard: not set)"));
    for (shares, want) in [
        (
            "open 20%\nclose 10%\nread 70%\n",
            "my.mix: everything that is opened is closed",
        ),
        (
            "read 100%\n",
            "my.mix: without the operations that the mix leaves out",
        ),
        (
            "getattr 100%\n",
            "my.mix:2:1: there is no operation of SMB 'getattr'",
        ),
    ] {
        write(&format!("{head}{shares}"));
        let got = bad(dir.path(), &rc, &[]);
        assert!(got.len() == 1 && got[0].contains(want), "{got:?}");
    }
}

fn warnings_of(plan: &RunPlan) -> String {
    let texts = plan.findings.iter().map(|f| f.message.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_own_definition_has_its_own_sequence() {
    let dir = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(dir.path().join("own.toml"), text).unwrap();
    let shipped = filermark_model::benchmark::SHIPPED;
    let text = shipped
        .iter()
        .find(|(n, _)| *n == "general-smb2")
        .unwrap()
        .1;
    let rc = format!("BENCHMARK_FILE=own.toml\n{LOAD}{SHARE}{LOGIN}");
    let general = Benchmark::shipped("general-smb2").unwrap();

    let drawn = text.replace("stream = 87,", "stream = 97,");
    write(&drawn.replace("name = \"general-smb2\"", "name = \"mine\""));
    let plan = resolve(&sources(dir.path(), &rc, &[])).unwrap().plan;
    assert_eq!(
        (plan.benchmark.name.as_str(), plan.benchmark.protocol),
        ("mine", Protocol::Smb2)
    );
    assert_eq!(plan.benchmark.mix, general.mix);
    let sequence = |b: &Benchmark| b.classic().unwrap().sequence.clone().unwrap();
    assert_ne!(sequence(&plan.benchmark), sequence(&general));

    let line = drawn
        .lines()
        .position(|l| l.contains("stream = 97"))
        .unwrap()
        + 1;
    write(&drawn.replace("stream = 97,", "strem = 97,"));
    let got = bad(dir.path(), &format!("FS_PROTOCOL=smb\n{rc}"), &[]);
    let want = format!("own.toml:{line}:10: there is no state 'strem'; did you mean stream?");
    assert!(got.len() == 1 && got[0].contains(&want), "{got:?}");
}

#[test]
fn the_null_driver_needs_neither_share_nor_user() {
    for (protocol, want) in [(SMB1, Protocol::Smb1), (SMB2, Protocol::Smb2)] {
        let plan = plan(&format!("{protocol}DRIVER=null\n{LOAD}"));
        assert_eq!(plan.driver, DriverPlan::NULL);
        assert_eq!(plan.benchmark.protocol, want);
        let not_standard = |f: &&filermark_model::Finding| f.severity > Severity::Note;
        let texts: Vec<_> = plan.findings.iter().filter(not_standard).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert_eq!(
            texts[0].message,
            "not standard: DRIVER=null (standard: smb)"
        );
    }
}

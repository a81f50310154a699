//! A run over SMB logs in, and its password does not appear on the links to agents, in the writes
//! of its processes, in their command lines and environments, or in the results.

use crate::load_guard::beside_others;
use crate::stopped::children;
use crate::sweep::{Ended, Sweep};
use filermark_link::frame::Deframer;
use filermark_testbed::{Samba, SambaOptions, Strace, available};
use rustix::process::Signal;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

/// NTOWFv1 of [`Samba::PASSWORD`] (MS-NLMP 3.3.1), the "NT hash".
const NT_HASH: [u8; 16] = [
    0xcf, 0x6e, 0x37, 0xb5, 0x2b, 0x06, 0x00, 0xbd, 0x82, 0x6f, 0x10, 0xa5, 0x2e, 0xf5, 0xd4, 0x59,
];

/// What an attacker would look for, as bytes and as base64 or hexadecimal text.
fn traces() -> Vec<Vec<u8>> {
    let word = Samba::PASSWORD;
    let utf16: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hex: String = NT_HASH.iter().map(|b| format!("{b:02x}")).collect();
    let upper = hex.to_ascii_uppercase();
    // Base64 of the nine bytes of the password, and of the hash's first fifteen.
    let base64 = ["U2VzYW1lLTch", "z243tSsGAL2CbxClLvXU"];
    let texts = base64.map(|text| text.as_bytes().to_vec());
    let all = [word.into(), utf16, NT_HASH.into(), hex.into(), upper.into()];
    all.into_iter().chain(texts).collect()
}

#[track_caller]
fn assert_unseen(bytes: &[u8], place: &str) {
    for trace in traces() {
        let seen = bytes.windows(trace.len()).any(|window| window == trace);
        assert!(!seen, "{place} has {:?}", String::from_utf8_lossy(&trace));
    }
}

/// Asserts that the run succeeded, and that its results and output do not contain the password.
#[track_caller]
fn assert_results(ended: &Ended) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    let point = ended.point(1);
    let stats = point.measured().expect("measured");
    assert!(stats.success_count() > 0 && stats.error_count() == 0);
    assert_unseen(ended.stdout.as_bytes(), "stdout");
    assert_unseen(ended.stderr.as_bytes(), "stderr");
    let results = ended.path("");
    let files = std::fs::read_dir(results).expect("the results");
    for file in files.map(|f| f.expect("a file").path()) {
        assert_unseen(&std::fs::read(&file).expect("read it"), "the results");
    }
}

/// A short run over SMB, with everything but the password.
fn sweep(samba: &Samba) -> Sweep {
    Sweep::short()
        .in_network_of(samba.sandbox())
        .set("FS_PROTOCOL", "smb")
        .set("MNT_POINTS", samba.mount_point(Samba::DATA))
        .set("SMB_PORT", samba.port())
        .set("USERNAME", Samba::USER)
        .set("LOAD", 20)
        .set("PROCS", 2)
        .unset("SYMLINK_COUNT")
}

/// The bytes of a link, and the messages in them.
fn messages(path: &Path, mut deframer: Deframer) -> Vec<u8> {
    let mut all = std::fs::read(path).expect("the link's bytes");
    assert!(!all.is_empty(), "{}", path.display());
    deframer.push(&all.clone());
    while let Some(frame) = deframer.next_frame().expect("frames") {
        let message: serde_json::Value = frame.decode().expect("a message");
        all.extend(message.to_string().into_bytes());
    }
    all
}

#[test]
fn no_byte_on_the_way_to_an_agent_has_the_password() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    // An ssh that records its data. The command is its last argument.
    let sweep = sweep(&samba)
        .set("PASSWORD_FILE", "smb.password")
        .set("CLIENTS", "elsewhere")
        .set("LAUNCHER", "ssh")
        .set("EXEC_PATH", crate::sweep::PROGRAM)
        .set("INSTALL", "off");
    let ssh = sweep.write_script(
        "ssh.sh",
        "for last; do :; done\ndir=${0%/*}\n\
         tee \"$dir/to_agent\" | sh -c \"$last\" | tee \"$dir/from_agent\"",
    );
    let password = sweep.write("smb.password", &format!("{}\n", Samba::PASSWORD));
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).expect("chmod");
    // The file is in the directory of the rc file.
    let sweep = sweep.set("SSH_COMMAND", ssh.display()).into_rc();
    let ended = sweep.run();
    assert_results(&ended);
    let actual = messages(&sweep.dir().join("to_agent"), Deframer::of_prime());
    let output_text = messages(&sweep.dir().join("from_agent"), Deframer::of_agent());
    let sealed = br#""password":{"key":"#;
    assert!(actual.windows(sealed.len()).any(|window| window == sealed));
    assert_unseen(&actual, "what the agent received");
    assert_unseen(&output_text, "what the agent sent");
}

/// strace's form of bytes.
fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!(r"\x{b:02x}")).collect()
}

#[test]
fn no_process_writes_the_password_or_has_it_where_others_look() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let sweep = sweep(&samba).env("FILERMARK_PASSWORD", Samba::PASSWORD);
    let file = sweep.dir().join("trace");
    if available(Strace::new(&file)).is_none() {
        return;
    }
    let calls = "trace=execve,write,writev,pwrite64,pwritev,sendto,sendmsg,sendmmsg";
    let file_name = file.display().to_string();
    let strace = [
        "strace", "-f", "-qq", "-xx", "-v", "-s", "200000", "-e", calls, "-o",
    ];
    let front = strace.into_iter().chain([file_name.as_str(), "--"]);
    let ended = sweep.through(front).run();
    assert_results(&ended);
    let trace = std::fs::read_to_string(&file).expect("a trace");
    let mut counts = [0; 2];
    for line in trace.lines() {
        let is_start = line.contains(" execve(");
        counts[usize::from(is_start)] += 1;
        // The first one is strace, which has the environment from this test.
        if is_start && counts[1] == 1 {
            assert!(line.contains(&in_hex(Samba::PASSWORD.as_bytes())));
            continue;
        }
        for trace in traces() {
            let shown = String::from_utf8_lossy(&trace).into_owned();
            assert!(!line.contains(&in_hex(&trace)), "{shown}: {}", &line[..60]);
        }
    }
    // Data that is not secret is found, so the password would be found, too.
    let user: Vec<u8> = Samba::USER
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert!(trace.contains(&in_hex(&user)), "no user logged in?");
    let [writes, starts] = counts;
    assert!(writes > 100 && starts >= 2, "{writes} {starts}");
}

#[test]
fn a_wrong_password_is_tried_once_however_many_clients_there_are() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    // A unique suffix: `stop` ends the agents of that name on this host.
    let sweep = sweep(&samba)
        .suffix("locked_out")
        .env("FILERMARK_PASSWORD", "not this one")
        .set("CLIENTS", "c1 c2 c3")
        .set("LAUNCHER", "local")
        .set("MNT_POINTS", share_each(&samba, 6));
    let failed = || {
        let logons = samba.logons().into_iter();
        logons.filter(|logon| !logon.succeeded()).count()
    };
    for (command, code) in [("run", 1), ("preflight", 1), ("stop", 1)] {
        let before = failed();
        let ended = sweep.clone().command(command).run();
        assert_eq!(ended.code, code, "{command}: {}", ended.stderr);
        assert_eq!(failed() - before, 1, "{command}: {}", ended.stderr);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("not this one"));
    }
}

/// The texts about clients that were not validated: in JSON, in `sfsval` and, each once, on the
/// console.
fn not_validated(sweep: &Sweep) -> Vec<String> {
    let ended = sweep.clone().command("validate").run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let json = sweep.clone().command("validate").arg("--json").run().json();
    let value = json["not_validated"].as_array().expect("a list").iter();
    let actual: Vec<_> = value
        .map(|t| t.as_str().expect("a sentence").to_owned())
        .collect();
    let console = format!("{}{}", ended.stdout, ended.stderr);
    let file = ended.file("sfsval");
    for one in &actual {
        assert_eq!(console.matches(one.as_str()).count(), 1, "{one}: {console}");
        assert!(
            file.contains(&format!("not validated: {one}\n")),
            "{one}: {file}"
        );
    }
    actual
}

/// A client that cannot be reached and one whose share is missing do not prevent the validation of
/// others with a password.
#[test]
fn a_client_that_cannot_be_validated_does_not_affect_others() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let base = sweep(&samba)
        .env("FILERMARK_PASSWORD", Samba::PASSWORD)
        .set("PROCS", 1)
        .set("INSTALL", "off");
    let (data, second) = (
        samba.mount_point(Samba::DATA),
        samba.mount_point(Samba::SECOND),
    );
    let unreachable = base
        .elsewhere()
        .set("CLIENTS", "absent localhost")
        .set("START_TIMEOUT", 15)
        .set("MNT_POINTS", format!("{data} {second}"));
    let missing = samba.mount_point("missing");
    let absent = base
        .elsewhere()
        .set("CLIENTS", "c1 c2")
        .set("LAUNCHER", "local")
        .set("MNT_POINTS", format!("{missing} {second}"));
    for (sweep, failed, validated) in [(unreachable, "absent", "localhost"), (absent, "c1", "c2")] {
        let actual = not_validated(&sweep);
        assert_eq!(actual.len(), 1, "{actual:?}");
        assert!(actual[0].contains(failed), "{actual:?}");
        let text = sweep.result("sfsval.s");
        let text = std::fs::read_to_string(&text).expect("sfsval");
        assert!(text.contains(&format!("On client {validated}\n")), "{text}");
    }
}

#[test]
fn after_a_refused_log_in_each_client_that_is_left_out_is_reported() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let sweep = sweep(&samba)
        .env("FILERMARK_PASSWORD", "not this one")
        .set("CLIENTS", "c1 c2 c3")
        .set("LAUNCHER", "local")
        .set("MNT_POINTS", share_each(&samba, 6));
    let actual = not_validated(&sweep);
    let failed = samba
        .logons()
        .into_iter()
        .filter(|l| !l.succeeded())
        .count();
    assert_eq!(failed, 2, "one for each of two commands");
    assert!(actual[0].contains("STATUS_LOGON_FAILURE"), "{actual:?}");
    for client in ["c2", "c3"] {
        let start = format!("client {client}: ");
        let left_out = actual.iter().filter(|t| t.starts_with(&start));
        let why = "not tried, since the server has refused the user at client c1: ";
        assert_eq!(
            left_out.filter(|t| t.contains(why)).count(),
            1,
            "{actual:?}"
        );
    }
}

/// Different places of the server, so that no client waits for another's claim.
fn share_each(samba: &Samba, count: usize) -> String {
    let shares = [Samba::DATA, Samba::SECOND, Samba::SMALL];
    let all = (0..count).map(|at| samba.mount_point(shares[at / 2 % shares.len()]));
    all.collect::<Vec<_>>().join(" ")
}

/// A process and its descendants.
fn family(of: u32) -> Vec<u32> {
    let mut all = vec![of];
    let mut at = 0;
    while at < all.len() {
        let started = children(all[at]).into_iter();
        all.extend(started.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()));
        at += 1;
    }
    all
}

/// How often each trace of the password is in the writable memory of a process.
fn in_memory(pid: u32) -> Vec<usize> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("its mappings");
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).expect("its memory");
    let traces = traces();
    let mut counts = vec![0; traces.len()];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let (from, to) = range.expect("a range");
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).expect("hexadecimal"));
        let mut bytes = vec![0; (to - from) as usize];
        // Pages of the kernel cannot be read.
        if memory.read_exact_at(&mut bytes, from).is_err() {
            continue;
        }
        for (count, trace) in counts.iter_mut().zip(&traces) {
            *count += memchr::memmem::find_iter(&bytes, trace).count();
        }
    }
    counts
}

/// In RUN each process has the password once, for later logins, and no data derived from it.
#[test]
fn memory_has_the_password_once_and_nothing_made_of_it() {
    let _turn = beside_others();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let sweep = sweep(&samba)
        .set("PASSWORD_FILE", "smb.password")
        .set("RUNTIME", 600);
    let password = sweep.write("smb.password", &format!("{}\n", Samba::PASSWORD));
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).expect("chmod");
    let mut started = sweep.into_rc().start();
    started.wait_for("op/s RUN");
    let mut seen = Vec::new();
    for pid in family(started.pid()) {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let counts = in_memory(pid);
        println!("{pid} {}: {counts:?}", name.trim());
        seen.push(counts);
    }
    started.signal(Signal::INT);
    started.wait();
    assert!(!seen.is_empty());
    for counts in &seen {
        let [word, made @ ..] = &counts[..] else {
            unreachable!("the password itself is a trace");
        };
        assert!(*word <= 1, "{seen:?}");
        assert!(made.iter().all(|count| *count == 0), "{seen:?}");
    }
    assert!(seen.iter().any(|counts| counts[0] == 1), "found at all");
}

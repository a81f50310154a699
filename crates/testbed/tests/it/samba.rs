//! smbd, tested with smbclient and smbstatus.

use crate::data;
use filermark_testbed::{
    Capture, Kdc, KernelSmbClient, Samba, SambaOptions, Sandbox, SmbEncryption, SmbGuests,
    SmbSession, SmbSigning, SmbStatus, available,
};
use std::io::Write;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs commands of smbclient as the user on a share.
fn smbclient(samba: &Samba, share: &str, dialect: &str, script: &str) -> Output {
    samba
        .smbclient(share, dialect)
        .args(["-c", script])
        .output()
        .expect("start smbclient")
}

fn text_of(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// A client that runs until its input ends, with an open file.
fn start_client(samba: &Samba, dialect: &str, more: &[&str]) -> Child {
    let mut child = samba
        .smbclient(Samba::DATA, dialect)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("start smbclient");
    let input = child.stdin.as_mut().expect("its input");
    input.write_all(b"open held\n").expect("write to smbclient");
    child
}

/// Waits until there are as many sessions, each with a share.
fn sessions(samba: &Samba, count: usize) -> SmbStatus {
    let start = Instant::now();
    loop {
        let status = samba.status().expect("smbstatus");
        // smbclient may connect to IPC$ before the share.
        let shares = status.trees.iter().filter(|tree| tree.share != "IPC$");
        if status.sessions.len() == count && shares.count() == count {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_goes_there_and_back_in_every_dialect() {
    let start = Instant::now();
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    eprintln!("smbd is up after {:.2?}", start.elapsed());
    let sent = data(1_000_000);
    let dir = samba.sandbox().dir();
    std::fs::write(dir.join("sent"), &sent).expect("write the source");
    for dialect in ["NT1", "SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"] {
        let script = format!(
            "lcd {}; put sent {dialect}; ls; get {dialect} back",
            dir.display()
        );
        let output = smbclient(&samba, Samba::DATA, dialect, &script);
        assert!(output.status.success(), "{dialect}: {}", text_of(&output));
        let listed = text_of(&output);
        let line = listed
            .lines()
            .find(|line| line.trim_start().starts_with(dialect));
        assert!(
            line.is_some_and(|line| line.contains(" 1000000 ")),
            "{listed}"
        );
        assert!(std::fs::read(dir.join("back")).expect("the file that was read") == sent);
        let there = samba.files(Samba::DATA).join(dialect);
        assert!(std::fs::read(there).expect("the server's file") == sent);
    }
    let logons = samba.logons();
    assert_eq!(logons.len(), 6, "{logons:?}");
    assert!(
        logons
            .iter()
            .all(|logon| logon.succeeded() && logon.user == Samba::USER)
    );
    assert_eq!(
        (logons[0].protocol.as_str(), logons[5].protocol.as_str()),
        ("SMB", "SMB2")
    );
}

#[test]
fn smbstatus_shows_dialect_signing_and_cipher() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    std::fs::write(samba.files(Samba::DATA).join("held"), b"x").expect("a file to hold");
    let wanted = [
        ("NT1", "sign", "HMAC-MD5", "-"),
        ("SMB2_02", "sign", "HMAC-SHA256", "-"),
        ("SMB3_02", "encrypt", "AES-128-CMAC", "AES-128-CCM"),
        ("SMB3_11", "encrypt", "AES-128-GMAC", "AES-128-GCM"),
    ];
    let clients: Vec<Child> = wanted
        .iter()
        .map(|(dialect, how, ..)| {
            start_client(&samba, dialect, &[&format!("--client-protection={how}")])
        })
        .collect();
    let status = sessions(&samba, wanted.len());
    for (dialect, how, signed, sealed) in wanted {
        let session = of_dialect(&status, dialect);
        assert_eq!(
            (session.signing.cipher.as_str(), session.user.as_str()),
            (signed, Samba::USER)
        );
        assert_eq!(session.encryption.cipher, sealed, "{how}");
        assert!(
            status
                .trees
                .iter()
                .any(|tree| tree.pid == session.pid && tree.share == Samba::DATA)
        );
    }
    for mut client in clients {
        drop(client.stdin.take());
        client.wait().expect("the client ends");
    }
    let held: Vec<&str> = status.files.iter().map(|file| file.name.as_str()).collect();
    assert!(held.contains(&"held"), "{status:?}");
}

fn of_dialect<'a>(status: &'a SmbStatus, dialect: &str) -> &'a SmbSession {
    let found = status
        .sessions
        .iter()
        .find(|session| session.dialect == dialect);
    found.unwrap_or_else(|| panic!("no {dialect} in {status:?}"))
}

#[test]
fn smbstatus_shows_what_the_server_requires() {
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        encryption: SmbEncryption::Required,
        dialects: ("SMB2_02", "SMB3_11"),
        ..SambaOptions::default()
    };
    let options = options
        .with("server smb3 encryption algorithms", "AES-256-GCM")
        .with(
            "server smb3 signing algorithms",
            "AES-128-CMAC, HMAC-SHA256",
        );
    let Some(mut samba) = available(Samba::start(options.clone())) else {
        return;
    };
    let mut client = start_client(&samba, "SMB3_11", &[]);
    let status = sessions(&samba, 1);
    let session = &status.sessions[0];
    assert_eq!(session.encryption.cipher, "AES-256-GCM", "{session:?}");
    assert_eq!(session.encryption.degree, "full", "{session:?}");
    assert_eq!(session.signing.cipher, "AES-128-CMAC", "{session:?}");
    drop(client.stdin.take());
    client.wait().expect("the client ends");

    let refused = smbclient(&samba, Samba::DATA, "NT1", "ls");
    assert!(
        !refused.status.success(),
        "NT1 was not refused: {}",
        text_of(&refused)
    );
    let refused = smbclient(&samba, Samba::DATA, "SMB2_10", "ls");
    let why = text_of(&refused);
    assert!(
        why.contains("NT_STATUS_ACCESS_DENIED"),
        "2.1 cannot encrypt, but: {why}"
    );

    // After a reload without encryption, the server accepts them.
    samba
        .reload(SambaOptions {
            encryption: SmbEncryption::Off,
            ..options
        })
        .expect("reload");
    let accepted = smbclient(&samba, Samba::DATA, "SMB2_10", "ls");
    assert!(accepted.status.success(), "{}", text_of(&accepted));
}

#[test]
fn each_share_refuses_what_it_is_configured_to_refuse() {
    let options = SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let big = samba.sandbox().dir().join("big");
    std::fs::write(&big, data(5 << 20)).expect("write the source");
    let put = format!("put {} big", big.display());
    for (share, dialect, script, reason) in [
        (
            Samba::READ_ONLY,
            "SMB3_11",
            put.as_str(),
            "NT_STATUS_ACCESS_DENIED",
        ),
        (
            Samba::READ_ONLY,
            "NT1",
            put.as_str(),
            "NT_STATUS_ACCESS_DENIED",
        ),
        (Samba::BOB, "SMB3_11", "ls", "NT_STATUS_ACCESS_DENIED"),
        (Samba::SMALL, "SMB3_11", put.as_str(), "NT_STATUS_DISK_FULL"),
        (Samba::SEALED, "SMB2_10", "ls", "NT_STATUS_ACCESS_DENIED"),
        ("missing", "SMB3_11", "ls", "NT_STATUS_BAD_NETWORK_NAME"),
        ("missing", "NT1", "ls", "NT_STATUS_BAD_NETWORK_NAME"),
    ] {
        let text = text_of(&smbclient(&samba, share, dialect, script));
        assert!(text.contains(reason), "{share} by {dialect}: {text}");
    }
    for (share, script) in [
        (Samba::SECOND, put.as_str()),
        (Samba::SEALED, "ls"),
        (Samba::DFS, "cd elsewhere; ls"),
    ] {
        let output = smbclient(&samba, share, "SMB3_11", script);
        assert!(output.status.success(), "{share}: {}", text_of(&output));
    }
    let guest = samba
        .bare_smbclient("SMB3_11")
        .args(["-U", "unknown%x", "//127.0.0.1/guest", "-c", "mkdir here"])
        .output()
        .expect("start smbclient");
    assert!(guest.status.success(), "{}", text_of(&guest));
    let anonymous = samba
        .bare_smbclient("NT1")
        .args(["-N", "-U", "", "//127.0.0.1/guest"])
        .args(["-c", &format!("mkdir mine; put {} mine/f", big.display())])
        .output()
        .expect("start smbclient");
    assert!(anonymous.status.success(), "{}", text_of(&anonymous));
    assert!(samba.files(Samba::GUEST).join("mine/f").is_file());
}

#[test]
fn a_wrong_password_is_one_attempt_in_the_log() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let output = samba
        .bare_smbclient("SMB3_11")
        .args(["-U", "alice%wrong", "//127.0.0.1/data", "-c", "ls"])
        .output()
        .expect("start smbclient");
    assert!(
        text_of(&output).contains("NT_STATUS_LOGON_FAILURE"),
        "{}",
        text_of(&output)
    );
    let logons = samba.logons();
    let [attempt] = logons.as_slice() else {
        panic!("{logons:?}");
    };
    assert_eq!(attempt.status, "NT_STATUS_WRONG_PASSWORD");
}

#[test]
fn a_connection_is_frozen_thawed_and_killed() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    std::fs::write(samba.files(Samba::DATA).join("held"), b"x").expect("a file to hold");
    let mut client = start_client(&samba, "SMB3_11", &[]);
    let pid = sessions(&samba, 1).sessions[0].pid;
    samba.freeze_connection(pid).expect("freeze");
    // Another connection is not affected.
    assert!(
        smbclient(&samba, Samba::DATA, "SMB3_11", "ls")
            .status
            .success()
    );
    samba.thaw_connection(pid).expect("thaw");
    samba.kill_connection(pid).expect("kill");
    let start = Instant::now();
    while !samba.status().expect("smbstatus").sessions.is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "the session stays"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(samba.kill_connection(pid).is_err());
    drop(client.stdin.take());
    client.wait().expect("the client ends");
}

/// smbclient's messages are decoded, decrypted, and their signatures checked.
#[test]
fn tshark_counts_times_and_decrypts() {
    // tshark does not support AES-GMAC.
    let options = SambaOptions::default().with(
        "server smb3 signing algorithms",
        "AES-128-CMAC, HMAC-SHA256",
    );
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let sent = samba.sandbox().dir().join("sent");
    std::fs::write(&sent, data(100)).expect("write the source");
    let script = format!("put {} a; ls; rename a b; del b", sent.display());
    for (dialect, how, write, find) in [
        ("NT1", "sign", "WRITE_ANDX", "TRANS2_FIND_FIRST2"),
        ("SMB2_02", "sign", "WRITE", "QUERY_DIRECTORY"),
        ("SMB3_11", "sign", "WRITE", "QUERY_DIRECTORY"),
        ("SMB3_11", "encrypt", "WRITE", "QUERY_DIRECTORY"),
    ] {
        let capture = Capture::start_smb(samba.sandbox(), samba.interface(), &[samba.port()]);
        let Some(capture) = available(capture) else {
            return;
        };
        let output = samba
            .smbclient(Samba::DATA, dialect)
            .args([&format!("--client-protection={how}"), "-c", &script])
            .output()
            .expect("start smbclient");
        assert!(output.status.success(), "{}", text_of(&output));
        let pcap = capture.stop().expect("the capture ends");
        let pcap = pcap.with_password(Samba::PASSWORD).expect("preferences");
        let case = format!("{dialect} {how}");
        assert_eq!(
            (pcap.malformed().expect("tshark"), pcap.dropped()),
            (0, 0),
            "{case}"
        );
        let calls = pcap.smb_calls().expect("tshark");
        assert_eq!(calls.get(write), Some(&1), "{case}: {calls:?}");
        assert!(
            calls.get(find).is_some_and(|count| *count >= 1),
            "{case}: {calls:?}"
        );
        for row in pcap.smb_times().expect("tshark") {
            assert_eq!(calls.get(&row.name), Some(&row.calls), "{case}: {row:?}");
            assert!(row.min_us > 1.0 && row.max_us < 5e6, "{case}: {row:?}");
        }
        let statuses = pcap.smb_statuses().expect("tshark");
        // STATUS_MORE_PROCESSING_REQUIRED, during the login.
        assert_eq!(statuses.get(&0xc000_0016), Some(&1), "{case}: {statuses:?}");
        let (good, bad) = pcap.smb_signatures().expect("tshark");
        let signed = how == "sign" && dialect != "NT1";
        assert!(
            bad == 0 && (good > 10) == signed,
            "{case}: {good} good, {bad} bad"
        );
        let encrypted = pcap.smb_encrypted().expect("tshark");
        assert_eq!(encrypted > 10, how == "encrypt", "{case}: {encrypted}");
    }
}

/// The kernel's client reads a file of the server, and smbd shows what the kernel wrote.
#[test]
fn the_kernel_mounts_the_same_share() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let files = samba.files(Samba::DATA);
    std::fs::write(files.join("there"), data(100_000)).expect("a file on the server");
    for (version, extra, dialect, cipher) in [
        ("3.1.1", "seal", "SMB3_11", "AES-128-GCM"),
        ("1.0", "sec=ntlmsspi", "NT1", "-"),
    ] {
        let client = KernelSmbClient::start(&samba, Samba::DATA, version, extra);
        let Some(mut client) = available(client) else {
            return;
        };
        let script = "cksum <there && dd if=there of=copy bs=10000 && ls";
        let done = client.run(script, Duration::from_secs(30)).expect("run");
        assert_eq!(done.status, 0, "{version}: {}", done.output);
        let copied = std::fs::read(files.join("copy")).expect("the copy");
        assert!(
            copied == data(100_000),
            "{version}: the data of the copy differs"
        );
        let status = samba.status().expect("smbstatus");
        let session = of_dialect(&status, dialect);
        assert_eq!(session.encryption.cipher, cipher, "{session:?}");
    }
}

#[test]
fn a_login_with_a_ticket_works_like_one_with_a_password() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(kdc) = available(Kdc::start_in(&sandbox)) else {
        return;
    };
    let samba = Samba::start_kerberos(&kdc, SambaOptions::default());
    let samba = available(samba).expect("smbd with a keytab");
    assert!(kdc.log_in(Samba::USER, "wrong").is_err());
    let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).expect("a ticket");
    let (name, value) = kdc.environment();
    for dialect in ["NT1", "SMB3_11"] {
        let output = samba
            .bare_smbclient(dialect)
            .env(name, &value)
            .env("KRB5CCNAME", &cache)
            .args(["--use-kerberos=required", "-I", "127.0.0.1"])
            .args(["//testbed/data", "-c", "ls"])
            .output()
            .expect("start smbclient");
        assert!(output.status.success(), "{dialect}: {}", text_of(&output));
    }
    assert!(
        smbclient(&samba, Samba::DATA, "SMB3_11", "ls")
            .status
            .success()
    );
    let logons = samba.logons();
    let methods: Vec<&str> = logons.iter().map(|logon| logon.method.as_str()).collect();
    assert_eq!(methods, ["krb5", "krb5", "NTLMv2"]);
    assert!(
        logons.iter().all(|logon| logon.user == Samba::USER),
        "{logons:?}"
    );
}

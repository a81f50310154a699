//! Signing and encryption, as shown by smbstatus and tshark.

use super::{ProtocolCase, assert_empty, assert_sound, readable, samba, sweep};
use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_testbed::{
    Capture, Samba, SambaOptions, SmbEncryption, SmbSession, SmbSigning, available,
};

/// Runs a sweep and reads the server's sessions while it is in RUN.
fn sessions_in_run(samba: &Samba, sweep: &Sweep) -> Vec<SmbSession> {
    let mut started = sweep.start();
    started.wait_for("op/s RUN");
    let status = samba.status().expect("smbstatus");
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert_sound(&ended);
    assert_empty(samba, Samba::DATA);
    assert!(!status.sessions.is_empty(), "{status:?}");
    status.sessions
}

/// Dialect, signing and encryption of the server, as shown by smbstatus.
#[track_caller]
fn assert_all(sessions: &[SmbSession], protocol_case: ProtocolCase, signing: &str, cipher: &str) {
    for session in sessions {
        let seen = (
            session.dialect.as_str(),
            session.signing.cipher.as_str(),
            session.encryption.cipher.as_str(),
        );
        assert_eq!(
            seen,
            (protocol_case.status_name(), signing, cipher),
            "{session:?}"
        );
        assert_eq!(session.user, Samba::USER);
    }
}

#[test]
fn a_server_that_demands_signatures_and_encryption_gets_them() {
    let _turn = beside_others();
    let demanding = |encryption| SambaOptions {
        signing: SmbSigning::Mandatory,
        encryption,
        ..SambaOptions::default()
    };
    let Some(mut samba) = samba(demanding(SmbEncryption::Off)) else {
        return;
    };
    for (protocol_case, signing) in [
        (ProtocolCase::Smb1, "HMAC-MD5"),
        (ProtocolCase::Smb202, "HMAC-SHA256"),
        (ProtocolCase::Smb311, "AES-128-GMAC"),
    ] {
        let run = sweep(&samba, Samba::DATA, protocol_case).set("RUNTIME", 2);
        let sessions = sessions_in_run(&samba, &run);
        assert_all(&sessions, protocol_case, signing, "-");
        assert!(
            sessions.iter().all(|s| s.signing.degree == "full"),
            "{sessions:?}"
        );
    }
    samba
        .reload(demanding(SmbEncryption::Required))
        .expect("reload");
    let run = sweep(&samba, Samba::DATA, ProtocolCase::Smb311).set("RUNTIME", 2);
    let sessions = sessions_in_run(&samba, &run);
    assert_all(
        &sessions,
        ProtocolCase::Smb311,
        "AES-128-GMAC",
        "AES-128-GCM",
    );
    assert!(
        sessions.iter().all(|s| s.encryption.degree == "full"),
        "{sessions:?}"
    );
}

#[test]
fn what_the_user_asks_for_is_done() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for (signing, encryption, signed, sealed) in [
        ("hmac-sha256", "off", "HMAC-SHA256", "-"),
        ("aes-cmac", "off", "AES-128-CMAC", "-"),
        ("aes-gmac", "off", "AES-128-GMAC", "-"),
        ("auto", "aes-128-ccm", "AES-128-GMAC", "AES-128-CCM"),
        ("auto", "aes-128-gcm", "AES-128-GMAC", "AES-128-GCM"),
        ("auto", "aes-256-ccm", "AES-128-GMAC", "AES-256-CCM"),
        ("auto", "aes-256-gcm", "AES-128-GMAC", "AES-256-GCM"),
    ] {
        let run = sweep(&samba, Samba::DATA, ProtocolCase::Smb311)
            .set("RUNTIME", 2)
            .set("SMB_SIGNING", signing)
            .set("SMB_ENCRYPTION", encryption);
        assert_all(
            &sessions_in_run(&samba, &run),
            ProtocolCase::Smb311,
            signed,
            sealed,
        );
    }
}

/// Only the share requires encryption; the session has none.
#[test]
fn a_sealed_share_is_measured() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let ended = sweep(&samba, Samba::SEALED, ProtocolCase::Smb311).succeed();
    assert_sound(&ended);
    assert_empty(&samba, Samba::SEALED);
}

/// tshark has the password and finds that every message is encrypted and well-formed inside, or is
/// signed with a correct signature.
#[test]
fn tshark_reads_what_is_sealed_and_checks_what_is_signed() {
    let _turn = beside_others();
    // tshark does not support AES-GMAC.
    let algorithms = "AES-128-CMAC, HMAC-SHA256";
    let options = readable().with("server smb3 signing algorithms", algorithms);
    let Some(samba) = samba(options) else {
        return;
    };
    for (protocol_case, signing, encryption) in [
        (ProtocolCase::Smb202, "required", "off"),
        (ProtocolCase::Smb311, "required", "off"),
        (ProtocolCase::Smb311, "auto", "aes-256-gcm"),
        (ProtocolCase::Smb311, "auto", "aes-128-ccm"),
    ] {
        let capture = Capture::start_smb(samba.sandbox(), samba.interface(), &[samba.port()]);
        let Some(capture) = available(capture) else {
            return;
        };
        let ended = sweep(&samba, Samba::DATA, protocol_case)
            .set("PROCS", 2)
            .set("INIT_WINDOW", 2)
            .set("FILESET_MB_PER_OP", 0.005)
            .set("SMB_SIGNING", signing)
            .set("SMB_ENCRYPTION", encryption)
            .succeed();
        assert_sound(&ended);
        let pcap = capture.stop().expect("the capture ends");
        let pcap = pcap.with_password(Samba::PASSWORD).expect("preferences");
        let case = format!("{protocol_case:?} {signing} {encryption}");
        assert_eq!(
            (pcap.malformed().expect("tshark"), pcap.dropped()),
            (0, 0),
            "{case}"
        );
        let calls: u64 = pcap.smb_calls().expect("tshark").values().sum();
        assert!(calls > 100, "{case}: {calls}");
        let (good, bad) = pcap.smb_signatures().expect("tshark");
        let sealed = pcap.smb_encrypted().expect("tshark");
        assert_eq!(bad, 0, "{case}");
        let both = if encryption == "off" { good } else { sealed };
        assert!(
            both > calls,
            "{case}: {good} signed, {sealed} sealed of {calls} calls"
        );
    }
}

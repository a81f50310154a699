//! Runs that cannot begin: one message, no files, and no second try with a wrong password.

use super::{PASSWORD, ProtocolCase, assert_empty, assert_secret, samba, sweep};
use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_testbed::{Samba, SambaOptions, SmbEncryption, SmbGuests, SmbSigning};

#[test]
fn a_wrong_password_is_tried_once() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for (done, case) in [ProtocolCase::Smb1, ProtocolCase::Smb311]
        .into_iter()
        .enumerate()
    {
        let ended = sweep(&samba, Samba::DATA, case)
            .set("PROCS", 8)
            .env(PASSWORD, "not-it")
            .fail(1);
        ended.assert_sentence(&[r"\\127.0.0.1\data", "STATUS_LOGON_FAILURE", "PASSWORD"]);
        assert!(!ended.stderr.contains("not-it"), "{}", ended.stderr);
        let logons = samba.logons();
        assert_eq!(logons.len(), done + 1, "{logons:?}");
        let last = logons.last().expect("an attempt");
        assert_eq!(last.status, "NT_STATUS_WRONG_PASSWORD");
        assert_empty(&samba, Samba::DATA);
    }
}

/// A server that accepts unknown users as guests: that is not the requested user.
#[test]
fn no_session_becomes_a_guest_session_unasked() {
    let _turn = beside_others();
    let options = SambaOptions {
        guests: SmbGuests::WrongPasswords,
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else {
        return;
    };
    let ended = sweep(&samba, Samba::GUEST, ProtocolCase::Smb311)
        .env(PASSWORD, "not-it")
        .fail(1);
    ended.assert_sentence(&["guest", "SMB_AUTH"]);
    assert_eq!(samba.logons().len(), 1, "{:?}", samba.logons());
}

#[test]
fn shares_that_cannot_be_used_are_distinguished() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        for (share, parts) in [
            (
                "missing",
                &[r"\\127.0.0.1\missing", "no share", "MNT_POINTS"][..],
            ),
            (Samba::BOB, &["STATUS_ACCESS_DENIED", r"\\127.0.0.1\bob"]),
            (Samba::READ_ONLY, &[r"\\127.0.0.1\readonly", "read-only"]),
        ] {
            let ended = sweep(&samba, share, case).fail(1);
            ended.assert_sentence(parts);
            assert_secret(&ended);
            assert_empty(&samba, Samba::DATA);
        }
    }
}

#[test]
fn a_referral_is_reported_in_plain_words() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let ended = sweep(&samba, Samba::DFS, ProtocolCase::Smb311)
        .set("MNT_POINTS", r"\\127.0.0.1\dfs\elsewhere")
        .fail(1);
    ended.assert_sentence(&["DFS", "MNT_POINTS"]);
}

/// The server's lowest and highest dialect, the requested dialect, and the message.
#[test]
fn a_dialect_that_the_server_refuses_is_reported_with_what_it_offers() {
    let _turn = beside_others();
    let between = |lowest, highest| SambaOptions {
        dialects: (lowest, highest),
        ..SambaOptions::default()
    };
    for (options, case, parts) in [
        (
            between("SMB2_02", "SMB3_11"),
            ProtocolCase::Smb1,
            &["SMB1", "FS_PROTOCOL=smb"][..],
        ),
        (
            between("SMB2_02", "SMB2_10"),
            ProtocolCase::Smb311,
            &["SMB_DIALECT"],
        ),
        (
            between("NT1", "NT1"),
            ProtocolCase::Smb311,
            &["FS_PROTOCOL=cifs"],
        ),
    ] {
        let Some(samba) = samba(options) else {
            return;
        };
        let ended = sweep(&samba, Samba::DATA, case).fail(1);
        ended.assert_sentence(parts);
        assert!(samba.logons().is_empty(), "{:?}", samba.logons());
    }
}

#[test]
fn protection_that_one_side_refuses_is_reported() {
    let _turn = beside_others();
    let signed = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let sealed = SambaOptions {
        encryption: SmbEncryption::Required,
        ..SambaOptions::default()
    };
    let plain = SambaOptions {
        encryption: SmbEncryption::Off,
        ..SambaOptions::default()
    };
    type Change = fn(Sweep) -> Sweep;
    let cases: [(SambaOptions, ProtocolCase, Change, &[&str]); 4] = [
        (
            signed,
            ProtocolCase::Smb311,
            |s| s.set("SMB_SIGNING", "off"),
            &["SMB_SIGNING"],
        ),
        (
            sealed.clone(),
            ProtocolCase::Smb202,
            |s| s,
            &["STATUS_ACCESS_DENIED"],
        ),
        (
            sealed,
            ProtocolCase::Smb311,
            |s| s.set("SMB_ENCRYPTION", "off"),
            &["encryption"],
        ),
        (
            plain,
            ProtocolCase::Smb311,
            |s| s.set("SMB_ENCRYPTION", "required"),
            &["SMB_ENCRYPTION"],
        ),
    ];
    for (options, case, change, parts) in cases {
        let Some(samba) = samba(options) else {
            return;
        };
        let ended = change(sweep(&samba, Samba::DATA, case)).fail(1);
        ended.assert_sentence(parts);
        assert!(samba.logons().len() <= 1, "{:?}", samba.logons());
    }
}

#[test]
fn a_file_set_that_does_not_fit_is_refused_before_init() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for case in [ProtocolCase::Smb1, ProtocolCase::Smb311] {
        // 39 TiB: more than the file system behind any share of a test has.
        let ended = sweep(&samba, Samba::DATA, case)
            .set("LOAD", 400)
            .set("FILESET_MB_PER_OP", 100_000)
            .fail(1);
        ended.assert_sentence(&[r"\\127.0.0.1\data", "are free", "SPACE_CHECK=off"]);
        assert_empty(&samba, Samba::DATA);
    }
}

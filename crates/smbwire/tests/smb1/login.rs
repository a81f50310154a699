//! Who gets in, and how messages are protected.

use crate::client::{Client, alice, settings, user};
use filermark_model::smb::{Encryption, Signing};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::ntlm::Anonymous;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb1::{Echo, Echoed, Logoff, TreeDisconnect, caps};
use filermark_testbed::{Samba, SambaOptions, SmbGuests, SmbSigning, available};

const LOGON_FAILURE: u32 = 0xC000_006D;

fn signed_by(signing: Signing) -> Settings {
    Settings {
        signing,
        ..settings(Samba::DATA)
    }
}

/// Says a few things, to see that numbers and signatures go on being right.
fn exchange(client: &mut Client) {
    for round in 0..5u8 {
        let answer = client.call(&Echo { data: &[round; 40] }).ok();
        let echoed = Echoed::read(&answer.reply()).expect("sound");
        assert_eq!((echoed.sequence, echoed.data), (1, &[round; 40][..]));
    }
    client.call(&TreeDisconnect).ok();
    client.call(&Logoff).ok();
}

#[test]
fn a_user_gets_in_unsigned_and_signed() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    for (signing, signed) in [
        (Signing::Auto, false),
        (Signing::Off, false),
        (Signing::Required, true),
    ] {
        let mut client = Client::new(&samba, signed_by(signing), alice()).expect("a session");
        let session = &client.session;
        assert_eq!(session.is_signed(), signed, "{signing:?}");
        assert!(session.capabilities & caps::LARGE_READX != 0);
        assert!(session.max_mpx > 1 && session.max_buffer > 4096);
        assert!(!session.guest && !session.in_dfs);
        let seen = samba.status().expect("smbstatus");
        eprintln!("{signing:?}: {session:?}\n{:?}", seen.sessions);
        exchange(&mut client);
    }
    let logons = samba.logons();
    assert_eq!(logons.len(), 3, "{logons:?}");
    for logon in logons {
        assert!(logon.succeeded(), "{logon:?}");
        assert_eq!((&*logon.protocol, &*logon.method), ("SMB", "NTLMv2"));
    }
}

#[test]
fn a_server_that_requires_signatures_gets_them() {
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let mut client = Client::new(&samba, signed_by(Signing::Auto), alice()).expect("a session");
    assert!(client.session.is_signed());
    exchange(&mut client);
    let refused = Client::new(&samba, signed_by(Signing::Off), alice());
    assert_eq!(refused.err(), Some(SetupError::Requires("signing")));
}

#[test]
fn what_the_dialect_does_not_have_is_an_error() {
    let options = SambaOptions {
        signing: SmbSigning::Disabled,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let refusal = |settings: Settings| {
        let error = Client::new(&samba, settings, alice()).err();
        error.expect("refused").to_string()
    };
    assert_eq!(
        refusal(signed_by(Signing::Required)),
        "signing cannot be used with NT1: the server does not offer it"
    );
    assert_eq!(
        refusal(signed_by(Signing::AesGmac)),
        "signing with AES-128-GMAC cannot be used with NT1: the dialect does not have it"
    );
    let sealed = Settings {
        encryption: Encryption::Required,
        ..settings(Samba::DATA)
    };
    assert_eq!(
        refusal(sealed),
        "encryption cannot be used with NT1: the dialect does not have it"
    );
}

#[test]
fn a_wrong_password_is_tried_once() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let refused = Client::new(&samba, settings(Samba::DATA), user(Samba::USER, "wrong"));
    assert_eq!(
        refused.err(),
        Some(SetupError::Refused {
            step: "SESSION_SETUP_ANDX",
            status: LOGON_FAILURE
        })
    );
    let logons = samba.logons();
    assert_eq!(logons.len(), 1, "{logons:?}");
    assert!(!logons[0].succeeded());
    let domain = user(r"ELSEWHERE\alice", Samba::PASSWORD);
    Client::new(&samba, settings(Samba::DATA), domain).expect("a session");
    assert_eq!(samba.logons()[1].domain, "ELSEWHERE");
}

#[test]
fn missing_and_forbidden_shares_have_different_errors() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    for (share, status) in [
        ("nowhere", 0xC000_00CC),
        (Samba::BOB, 0xC000_0022),
        ("IPC$", 0xC000_00CB),
    ] {
        let refused = Client::new(&samba, settings(share), alice());
        let step = "TREE_CONNECT_ANDX";
        assert_eq!(
            refused.err(),
            Some(SetupError::Refused { step, status }),
            "{share}"
        );
    }
    let client = Client::new(&samba, settings(Samba::DFS), alice()).expect("a session");
    assert!(client.session.in_dfs);
}

#[test]
fn guests_and_anonymous() {
    let options = SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let unknown = || user("unknown", "");
    let refused = Client::new(&samba, settings(Samba::GUEST), unknown());
    assert_eq!(refused.err(), Some(SetupError::GuestOnly));
    let allowed = |signing| Settings {
        guest_allowed: true,
        signing,
        ..settings(Samba::GUEST)
    };
    let mut guest = Client::new(&samba, allowed(Signing::Auto), unknown()).expect("a guest");
    assert!(guest.session.guest);
    exchange(&mut guest);
    let no_user = || Box::new(Anonymous::new());
    let mut anonymous = Client::new(&samba, allowed(Signing::Auto), no_user()).expect("anonymous");
    exchange(&mut anonymous);
    for who in [unknown(), no_user()] {
        let refused = Client::new(&samba, allowed(Signing::Required), who);
        assert!(matches!(refused.err(), Some(SetupError::Lacking { .. })));
    }
}

#[test]
fn a_server_without_smb1_is_an_error() {
    let options = SambaOptions {
        dialects: ("SMB2_02", "SMB3_11"),
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let refused = Client::new(&samba, settings(Samba::DATA), alice());
    assert_eq!(refused.err(), Some(SetupError::NoDialect));
}

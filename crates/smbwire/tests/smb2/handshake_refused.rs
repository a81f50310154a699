//! The handshake against a server that does what the tests say: who is let in, what is
//! refused and in which words.

use crate::fake::{Fake, Known, known};
use crate::handshake::{any, of, refused, sealed, shake, shake_as, signed};
use filermark_model::smb::{Encryption, Signing};
use filermark_smbwire::auth::{AuthError, Authenticator};
use filermark_smbwire::error::{DecodeError, SetupError};
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb2::*;
use filermark_smbwire::status;

#[test]
fn guests_and_anonymous_users_log_in_where_the_plan_permits_it() {
    let with = |flags: u16| Fake {
        session_flags: flags,
        ..Fake::default()
    };
    let allowed = Settings {
        guest_allowed: true,
        ..any()
    };
    assert_eq!(shake(with(1), any()).err(), Some(SetupError::GuestOnly));
    assert_eq!(shake(with(2), any()).err(), Some(SetupError::GuestOnly));
    let session = shake(with(1), allowed.clone()).expect("a guest");
    assert_eq!(
        (session.user, session.signing_name()),
        (User::Guest, "none")
    );
    let session = shake(with(2), allowed.clone()).expect("anonymous");
    assert_eq!(session.user, User::Anonymous);
    let session = shake_as(with(2), any(), Box::new(Known(None))).expect("anonymous");
    assert_eq!(session.user, User::Anonymous);
    for settings in [
        Settings {
            signing: Signing::Required,
            ..allowed.clone()
        },
        Settings {
            encryption: Encryption::Required,
            ..allowed.clone()
        },
    ] {
        let refusal = refused(with(1), settings);
        assert!(refusal.contains("as a guest or anonymously"), "{refusal}");
    }
    // A guest has no keys: nothing is validated, nothing encrypted.
    let server = Fake {
        revision: 0x0302,
        ..with(1)
    };
    assert!(shake(server, allowed.clone()).is_ok());
    let refusal = refused(with(5), allowed);
    assert!(refusal.contains("as a guest or anonymously"), "{refusal}");
}

#[test]
fn refusals_name_the_step() {
    let refuses = |command, status| Fake {
        refuses: Some((command, status)),
        ..Fake::default()
    };
    let refusal = |command, status| refused(refuses(command, status), any());
    assert_eq!(
        refusal(Command::SessionSetup, status::LOGON_FAILURE),
        "SESSION_SETUP: STATUS_LOGON_FAILURE"
    );
    assert_eq!(
        refusal(Command::SessionSetup, 0xC000_9999),
        "SESSION_SETUP: NTSTATUS 0xc0009999"
    );
    assert_eq!(
        refusal(Command::TreeConnect, status::BAD_NETWORK_NAME),
        "TREE_CONNECT: STATUS_BAD_NETWORK_NAME"
    );
    assert_eq!(
        refusal(Command::TreeConnect, status::ACCESS_DENIED),
        "TREE_CONNECT: STATUS_ACCESS_DENIED"
    );
    let server = refuses(Command::TreeConnect, status::PATH_NOT_COVERED);
    assert_eq!(shake(server, any()).err(), Some(SetupError::Dfs));
    let server = Fake {
        cipher: None,
        ..refuses(Command::TreeConnect, status::ACCESS_DENIED)
    };
    let refusal = refused(server, sealed(Encryption::Off));
    assert!(refusal.contains("requires encryption"), "{refusal}");
    let printer = Fake {
        share_type: 3,
        ..Fake::default()
    };
    assert!(refused(printer, any()).contains("a pipe or a printer"));
    let stingy = Fake {
        credits: 0,
        ..Fake::default()
    };
    assert!(refused(stingy, any()).contains("credits"));
    let bad_hash = Fake {
        hash: 2,
        ..Fake::default()
    };
    assert!(refused(bad_hash, any()).contains("the choice of a hash"));
}

#[test]
fn what_was_tampered_with_is_noticed() {
    let unsigned = |revision| Fake {
        signs: false,
        ..of(revision)
    };
    for revision in [0x0311, 0x0302, 0x0210] {
        let error = shake(unsigned(revision), signed(Signing::Required));
        let is_noticed = matches!(error, Err(SetupError::Tampered(_)));
        assert!(is_noticed, "{revision:#x}: {error:?}");
        // 3.1.1 always signs; the others sign what was asked under a signature.
        let error = shake(unsigned(revision), any());
        assert!(matches!(error, Err(SetupError::Tampered(_))), "{error:?}");
    }
    let changed = Fake {
        validated_revision: Some(0x0302),
        ..of(0x0210)
    };
    let error = shake(changed, any()).err();
    assert_eq!(error, Some(SetupError::Tampered("NEGOTIATE")));
    // A server that knows no such question says so under its signature.
    for unknown in [
        status::NOT_SUPPORTED,
        status::INVALID_DEVICE_REQUEST,
        status::FILE_CLOSED,
    ] {
        let old = Fake {
            refuses: Some((Command::Ioctl, unknown)),
            ..of(0x0210)
        };
        assert!(shake(old, any()).is_ok());
    }
    let closed = Fake {
        refuses: Some((Command::Ioctl, status::ACCESS_DENIED)),
        ..of(0x0210)
    };
    assert!(refused(closed, any()).starts_with("FSCTL_VALIDATE_NEGOTIATE_INFO"));
}

#[test]
fn what_answers_nothing_that_was_asked_is_refused() {
    let mut handshake = Handshake::new(any(), known());
    let mut out = Vec::new();
    handshake.first(&mut out).expect("a first message");
    let sound = Fake::default().answer(&out).remove(0);
    let changed = |at: usize, value: u8| {
        let mut message = sound.clone();
        message[at] = value;
        let mut handshake = Handshake::new(any(), known());
        handshake.first(&mut Vec::new()).expect("a first message");
        let error = handshake.reply(&message, &mut Vec::new());
        error.expect_err("refused").to_string()
    };
    assert!(changed(24, 9).contains("the message's id"));
    assert!(changed(16, 0).contains("the direction"));
    assert!(changed(0, 0xFF).contains("the protocol's mark"));
    assert!(changed(4, 65).contains("the header's size"));
    assert!(changed(12, 40).contains("the command"));
    assert!(handshake.reply(&sound, &mut out).is_ok());
    assert!(handshake.reply(&sound, &mut out).is_err(), "an old reply");
    let error = handshake.reply(&sound, &mut out);
    assert!(error.is_err(), "it is over");

    let mut handshake = Handshake::new(any(), known());
    handshake.first(&mut Vec::new()).expect("a first message");
    let cut = SetupError::Reply {
        step: "NEGOTIATE",
        error: DecodeError::TooShort,
    };
    assert_eq!(handshake.reply(&[], &mut out).err(), Some(cut));
    struct Speechless;
    impl Authenticator for Speechless {
        fn step(&mut self, _: &[u8]) -> Result<Vec<u8>, AuthError> {
            Err(AuthError::Library("no ticket".to_owned()))
        }
        fn session_key(&self) -> Option<&[u8]> {
            None
        }
    }
    let error = shake_as(Fake::default(), any(), Box::new(Speechless)).err();
    assert_eq!(error.map(|e| e.to_string()), Some("no ticket".to_owned()));
}

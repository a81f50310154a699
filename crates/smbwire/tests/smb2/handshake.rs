//! The handshake against a server that does what the tests say: what it agrees on.

use crate::fake::{Fake, SESSION, TREE, known};
use crate::wire::settings;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::auth::Authenticator;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::smb2::*;
use filermark_smbwire::status;

pub fn shake_as(
    mut server: Fake,
    settings: Settings,
    auth: Box<dyn Authenticator>,
) -> Result<Session, SetupError> {
    let mut handshake = Handshake::new(settings, auth);
    let mut out = Vec::new();
    handshake.first(&mut out)?;
    for _ in 0..10 {
        let request = std::mem::take(&mut out);
        let mut ready = None;
        for message in server.answer(&request) {
            assert!(ready.is_none() && out.is_empty(), "it waits for the reply");
            match handshake.reply(&message, &mut out)? {
                Next::Ready(session) => ready = Some(*session),
                Next::Send => assert!(!out.is_empty()),
                Next::Pending => assert!(out.is_empty()),
            }
        }
        if let Some(session) = ready {
            return Ok(session);
        }
    }
    panic!("it goes on for ever");
}

pub fn shake(server: Fake, settings: Settings) -> Result<Session, SetupError> {
    shake_as(server, settings, known())
}

pub fn any() -> Settings {
    settings("share")
}

pub fn signed(signing: Signing) -> Settings {
    Settings { signing, ..any() }
}

pub fn sealed(encryption: Encryption) -> Settings {
    Settings {
        encryption,
        ..any()
    }
}

/// The error without a session.
pub fn refused(server: Fake, settings: Settings) -> String {
    shake(server, settings).expect_err("no session").to_string()
}

pub fn of(revision: u16) -> Fake {
    Fake {
        revision,
        ..Fake::default()
    }
}

#[test]
fn every_dialect_leads_to_a_session() {
    for dialect in &Dialect::ALL[1..] {
        for pending in [false, true] {
            let server = Fake {
                pending,
                ..of(dialect.revision())
            };
            let session = shake(server, signed(Signing::Required)).expect("a session");
            assert_eq!((session.dialect, session.tree_id), (*dialect, TREE));
            assert_eq!(session.session_id, SESSION);
            assert_eq!(session.server_guid, [3; 16]);
            let most = match dialect {
                Dialect::V202 => [65_536; 3],
                _ => [1 << 20, 2 << 20, 3 << 20],
            };
            let limits = session.limits;
            let limits = [limits.transact_max, limits.read_max, limits.write_max];
            assert_eq!(limits, most);
            let asked = match dialect {
                Dialect::V311 => 4,
                _ => 5, // validated: 3.1.1 had been offered
            };
            assert_eq!(session.credits.next_message_id, asked);
            let granted = 10 * asked * if pending { 2 } else { 1 };
            assert_eq!(u64::from(session.credits.available), 1 + granted - asked);
        }
    }
}

#[test]
fn large_transfers_need_the_server_to_offer_them() {
    let server = Fake {
        capabilities: 0,
        ..Fake::default()
    };
    let session = shake(server, any()).expect("a session");
    assert!(!session.has_multi_credit() && !session.has_leases());
    assert_eq!(
        (session.limits.read_max, session.charge(8 << 20)),
        (65_536, 1)
    );
    let server = Fake {
        limits: [u32::MAX; 3],
        ..Fake::default()
    };
    let session = shake(server, any()).expect("a session");
    assert_eq!(
        (session.limits.read_max, session.charge(8 << 20)),
        (0x00FF_0000, 128)
    );
    let server = Fake {
        limits: [0; 3],
        ..Fake::default()
    };
    assert!(refused(server, any()).contains("the largest transfer"));
}

#[test]
fn dialects_are_agreed_on() {
    let server = Fake {
        refuses: Some((Command::Negotiate, status::NOT_SUPPORTED)),
        ..Fake::default()
    };
    assert_eq!(shake(server, any()).err(), Some(SetupError::NoDialect));
    let only_2 = Settings {
        dialects: (Dialect::Nt1, Dialect::V210),
        ..any()
    };
    assert_eq!(
        shake(of(0x0302), only_2).err(),
        Some(SetupError::WrongDialect(0x0302))
    );
    assert_eq!(
        shake(of(0x02FF), any()).err(),
        Some(SetupError::WrongDialect(0x02FF))
    );
    let only_1 = Settings {
        dialects: (Dialect::Nt1, Dialect::Nt1),
        ..any()
    };
    assert_eq!(shake(of(0x0202), only_1).err(), Some(SetupError::NoDialect));
}

#[test]
fn signing_is_as_it_is_asked_for_or_refused() {
    let name = |server: Fake, signing| shake(server, signed(signing)).map(|s| s.signing_name());
    let with = |number: Option<u16>| Fake {
        signing: number,
        ..Fake::default()
    };
    assert_eq!(name(with(Some(0)), Signing::HmacSha256), Ok("HMAC-SHA256"));
    assert_eq!(name(with(Some(2)), Signing::Required), Ok("AES-128-GMAC"));
    assert_eq!(name(with(None), Signing::Required), Ok("AES-128-CMAC"));
    assert_eq!(name(with(None), Signing::AesCmac), Ok("AES-128-CMAC"));
    assert_eq!(name(with(Some(2)), Signing::Auto), Ok("none"));
    let refusal = refused(with(None), signed(Signing::AesGmac));
    assert!(
        refusal.contains("the server does not offer it"),
        "{refusal}"
    );
    let refusal = refused(with(Some(0)), signed(Signing::AesGmac));
    assert!(
        refusal.contains("the choice of a signing algorithm"),
        "{refusal}"
    );
    let refusal = refused(of(0x0302), signed(Signing::HmacSha256));
    assert_eq!(
        refusal,
        "signing with HMAC-SHA256 cannot be used with 3.0.2: the dialect does not have it"
    );

    let required = Fake {
        security_mode: 3,
        ..Fake::default()
    };
    assert_eq!(name(required.clone(), Signing::Auto), Ok("AES-128-GMAC"));
    assert_eq!(
        name(required, Signing::Off),
        Err(SetupError::Requires("signing"))
    );
}

#[test]
fn encryption_is_as_it_is_asked_for_or_refused() {
    let name = |server: Fake, how| shake(server, sealed(how)).map(|s| s.cipher_name());
    let with = |number: u16| Fake {
        cipher: Some(number),
        ..Fake::default()
    };
    for (number, how, cipher) in [
        (1, Encryption::Aes128Ccm, "AES-128-CCM"),
        (2, Encryption::Required, "AES-128-GCM"),
        (3, Encryption::Aes256Ccm, "AES-256-CCM"),
        (4, Encryption::Aes256Gcm, "AES-256-GCM"),
    ] {
        assert_eq!(name(with(number), how), Ok(cipher));
    }
    assert_eq!(name(of(0x0300), Encryption::Required), Ok("AES-128-CCM"));
    assert_eq!(name(with(2), Encryption::Auto), Ok("none"));
    let none = || with(0);
    assert_eq!(name(none(), Encryption::Auto), Ok("none"));
    let refusal = refused(none(), sealed(Encryption::Required));
    assert!(
        refusal.starts_with("encryption cannot be used"),
        "{refusal}"
    );
    let refusal = refused(with(1), sealed(Encryption::Aes256Gcm));
    assert!(refusal.contains("the choice of a cipher"), "{refusal}");
    assert!(refused(with(9), any()).contains("the cipher"));

    let session = |server: Fake| Fake {
        session_flags: 4,
        ..server
    };
    let share = |server: Fake| Fake {
        share_flags: 0x8000,
        ..server
    };
    for demand in [session, share] {
        assert_eq!(name(demand(with(4)), Encryption::Auto), Ok("AES-256-GCM"));
        let off = Fake {
            cipher: None,
            ..demand(with(2))
        };
        assert_eq!(
            name(off, Encryption::Off),
            Err(SetupError::Requires("encryption"))
        );
        let refusal = refused(demand(none()), any());
        assert!(refusal.contains("no cipher in common"), "{refusal}");
    }
}

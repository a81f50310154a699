//! Users, guests, anonymous users and the shares they may use, against smbd; logging in again.

use crate::samba::{only, open, use_a_file};
use crate::wire::{Client, alice, anonymous, settings, user};
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb2::*;
use filermark_testbed::{Samba, SambaOptions, SmbEncryption, SmbGuests, available};

#[test]
fn users_guests_and_shares() {
    let options = SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    samba.sandbox().run(|| {
        let open = |settings, auth| Client::open(samba.address(), settings, auth);
        let refusal = |settings, auth| open(settings, auth).err().expect("refused").to_string();
        let wrong = refusal(settings(Samba::DATA), user(Samba::USER, "wrong"));
        assert_eq!(wrong, "SESSION_SETUP: STATUS_LOGON_FAILURE");
        let missing = refusal(settings("nothing"), alice());
        assert_eq!(missing, "TREE_CONNECT: STATUS_BAD_NETWORK_NAME");
        let closed = refusal(settings(Samba::BOB), alice());
        assert_eq!(closed, "TREE_CONNECT: STATUS_ACCESS_DENIED");
        let pipe = refusal(settings("IPC$"), alice());
        assert!(pipe.contains("a pipe or a printer"), "{pipe}");

        let guest = settings(Samba::GUEST);
        let unknown = || user("unknown", "x");
        let error = open(guest.clone(), unknown()).err();
        assert_eq!(error, Some(SetupError::GuestOnly));
        let guest = Settings {
            guest_allowed: true,
            ..guest
        };
        let mut client = open(guest.clone(), unknown()).expect("a guest");
        assert_eq!(client.session.user, User::Guest);
        use_a_file(&mut client, 100);
        let mut client = open(guest.clone(), anonymous()).expect("anonymous");
        assert_eq!(client.session.user, User::Anonymous);
        use_a_file(&mut client, 100);
        let signed = Settings {
            signing: Signing::Required,
            ..guest
        };
        let refusal = refusal(signed, unknown());
        assert!(refusal.contains("signing cannot be used"), "{refusal}");

        let mut client = open(settings(Samba::SEALED), alice()).expect("a sealed share");
        assert_eq!(client.session.cipher_name(), "AES-128-GCM");
        use_a_file(&mut client, 70_000);
        let client = open(settings(Samba::DFS), alice()).expect("a DFS root");
        assert!(client.session.share.is_dfs());
    });
}

#[test]
fn a_session_is_logged_in_again() {
    for required in [SmbEncryption::Offered, SmbEncryption::Required] {
        let options = SambaOptions {
            encryption: required,
            ..SambaOptions::default()
        };
        let Some(samba) = available(Samba::start(options)) else {
            return;
        };
        for dialect in &Dialect::ALL[1..] {
            for encryption in [Encryption::Auto, Encryption::Required] {
                let is_sealed =
                    required == SmbEncryption::Required || encryption == Encryption::Required;
                if is_sealed && *dialect < Dialect::V300 {
                    continue;
                }
                let settings = Settings {
                    encryption,
                    signing: Signing::Required,
                    ..only(*dialect)
                };
                log_in_again(&samba, settings);
            }
        }
    }
}

fn log_in_again(samba: &Samba, settings: Settings) {
    let mut client = open(samba, settings.clone()).expect("a session");
    use_a_file(&mut client, 100);
    let again = Handshake::again(&client.session, settings.clone(), alice());
    client.session = client.wire.shake(again).expect("the session again");
    use_a_file(&mut client, 100);
    let wrong = user(Samba::USER, "wrong");
    let again = Handshake::again(&client.session, settings, wrong);
    let refused = client.wire.shake(again).expect_err("a refusal");
    assert!(refused.to_string().contains("STATUS_LOGON_FAILURE"));
}

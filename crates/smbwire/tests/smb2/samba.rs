//! Sessions against smbd: every dialect, every way to sign and to encrypt, refusals.
//! smbstatus and tshark are the judges.

use crate::wire::{Client, alice, settings};
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb2::file::{access, disposition, options, share};
use filermark_smbwire::smb2::*;
use filermark_testbed::{Capture, Samba, SambaOptions, SmbEncryption, SmbSigning, available};

/// A session on a share of the server.
pub fn open(samba: &Samba, settings: Settings) -> Result<Client, SetupError> {
    samba
        .sandbox()
        .run(|| Client::open(samba.address(), settings, alice()))
}

pub fn only(dialect: Dialect) -> Settings {
    Settings {
        dialects: (dialect, dialect),
        ..settings(Samba::DATA)
    }
}

pub fn create(path: &str) -> CreateRequest<'_> {
    CreateRequest {
        path,
        access: access::GENERIC_READ | access::GENERIC_WRITE | access::DELETE,
        attributes: 0,
        share: share::ALL,
        disposition: disposition::OVERWRITE_IF,
        options: options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE,
        oplock: RequestedOplock::None,
        maximal_access: true,
    }
}

pub fn write(client: &mut Client, file: FileId, offset: u64, data: &[u8]) -> u32 {
    let charge = client.session.charge(data.len() as u32);
    let id = client.ask_with(charge, |session, out, id| {
        session.header(Command::Write, id, charge).encode(out);
        let write = WriteRequest {
            file,
            offset,
            write_through: false,
        };
        let open = write.begin(out);
        out.extend_from_slice(data);
        open.finish(out);
    });
    let (header, message) = client.answer(id);
    assert_eq!(header.status, 0);
    WriteResponse::decode(&message).expect("written").count
}

/// Makes a file, writes, reads it back, closes it; each answer is looked at.
pub fn use_a_file(client: &mut Client, length: u32) {
    let message = client.must(&create("a file"));
    let opened = CreateResponse::decode(&message).expect("an open");
    let file = opened.file;
    assert!(opened.maximal_access().expect("a context").is_some());
    let length = length.min(client.session.limits.write_max);
    let data: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
    assert_eq!(write(client, file, 10, &data), length);
    let read = ReadRequest {
        file,
        offset: 10,
        length,
        minimum: length,
    };
    let message = client.must(&read);
    assert!(ReadResponse::decode(&message).expect("data").data == data);
    EmptyResponse::decode(&client.must(&FlushRequest { file })).expect("flushed");
    let message = client.must(&CloseRequest { file, facts: true });
    let facts = CloseResponse::decode(&message).expect("closed").facts;
    assert_eq!(facts.expect("facts").end_of_file, 10 + u64::from(length));
    EmptyResponse::decode(&client.must(&EchoRequest)).expect("an echo");
}

/// One frame: create, flush, close.
fn use_a_compound(client: &mut Client) {
    let ids = [(); 3].map(|()| client.session.credits.take(1).expect("credits"));
    let mut out = Vec::new();
    let (session, file) = (&mut client.session, FileId::RELATED);
    let frame = session.begin(&mut out);
    let message = session.request(&mut out, ids[0], &create("a compound"));
    chain::next(&mut out, message);
    let message = session.related(&mut out, ids[1], &FlushRequest { file });
    chain::next(&mut out, message);
    let close = CloseRequest { file, facts: false };
    session.related(&mut out, ids[2], &close);
    session.protect(&mut out, frame);
    client.wire.send(&out);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let answers = client.answers();
        seen.extend(answers.iter().map(|(h, _)| (h.message_id, h.status)));
    }
    assert_eq!(seen, ids.map(|id| (id, 0)));
}

#[test]
fn every_dialect_signs_as_the_settings_require() {
    let options = SambaOptions::default().with(
        "server smb3 signing algorithms",
        "aes-128-cmac hmac-sha256", // those that tshark can check
    );
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let capture =
        Capture::start_smb(samba.sandbox(), samba.interface(), &[samba.port()]).expect("a capture");
    for dialect in &Dialect::ALL[1..] {
        for signing in [Signing::Auto, Signing::Off, Signing::Required] {
            let settings = Settings {
                signing,
                ..only(*dialect)
            };
            let mut client = open(&samba, settings).expect("a session");
            let expected = match (signing, dialect) {
                (Signing::Required, Dialect::V202 | Dialect::V210) => "HMAC-SHA256",
                (Signing::Required, _) => "AES-128-CMAC",
                _ => "none",
            };
            assert_eq!(client.session.signing_name(), expected, "{dialect}");
            assert_eq!(client.session.cipher_name(), "none");
            assert_eq!(client.session.dialect, *dialect);
            use_a_file(&mut client, 70_000);
            // tshark checks the first signature of a compound only, and takes the others
            // for wrong, smbd's as well; they are in the test below.
            if signing != Signing::Required {
                use_a_compound(&mut client);
            }
        }
    }
    let pcap = capture.stop().expect("stop");
    let pcap = pcap.with_password(Samba::PASSWORD).expect("preferences");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let (right, wrong) = pcap.smb_signatures().expect("tshark");
    assert!(right > 100 && wrong == 0, "{right} right, {wrong} wrong");
    let calls = pcap.smb_calls().expect("tshark");
    let seen = ["CREATE", "WRITE", "READ", "FLUSH", "CLOSE", "ECHO"].map(|c| calls[c]);
    assert_eq!(seen, [25, 15, 15, 25, 25, 15]);
    assert_eq!(calls["IOCTL"], 6, "3.0 and 3.0.2 are validated");
}

#[test]
fn every_signature_and_cipher_is_the_one_that_was_asked_for() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    for (signing, name) in [
        (Signing::HmacSha256, "HMAC-SHA256"),
        (Signing::AesCmac, "AES-128-CMAC"),
        (Signing::AesGmac, "AES-128-GMAC"),
        (Signing::Required, "AES-128-GMAC"),
    ] {
        let settings = Settings {
            signing,
            ..only(Dialect::V311)
        };
        let mut client = open(&samba, settings).expect("a session");
        assert_eq!(client.session.signing_name(), name);
        use_a_file(&mut client, 70_000);
        use_a_compound(&mut client);
        let status = samba.status().expect("smbstatus");
        assert_eq!(status.sessions[0].signing.cipher, name);
    }
    for (encryption, name) in [
        (Encryption::Aes128Ccm, "AES-128-CCM"),
        (Encryption::Aes128Gcm, "AES-128-GCM"),
        (Encryption::Aes256Ccm, "AES-256-CCM"),
        (Encryption::Aes256Gcm, "AES-256-GCM"),
        (Encryption::Required, "AES-128-GCM"),
    ] {
        let settings = Settings {
            encryption,
            ..only(Dialect::V311)
        };
        let mut client = open(&samba, settings).expect("a session");
        assert_eq!(client.session.cipher_name(), name);
        use_a_file(&mut client, 70_000);
        use_a_compound(&mut client);
        let status = samba.status().expect("smbstatus");
        assert_eq!(status.sessions[0].encryption.cipher, name);
    }
}

/// 3.0 and 3.0.2 have AES-128-CCM and AES-CMAC, and nothing else can be had there.
#[test]
fn dialects_lack_what_came_after_them() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    for dialect in [Dialect::V300, Dialect::V302] {
        let settings = Settings {
            encryption: Encryption::Required,
            ..only(dialect)
        };
        let mut client = open(&samba, settings).expect("a session");
        assert_eq!(client.session.cipher_name(), "AES-128-CCM");
        use_a_file(&mut client, 70_000);
    }
    let lacks = |settings: Settings| {
        let error = open(&samba, settings).err().expect("no session");
        assert!(matches!(error, SetupError::Lacking { .. }), "{error}");
        error.to_string()
    };
    let refusal = lacks(Settings {
        encryption: Encryption::Aes256Gcm,
        ..only(Dialect::V302)
    });
    let expected =
        "encryption with AES-256-GCM cannot be used with 3.0.2: the dialect does not have it";
    assert_eq!(refusal, expected);
    lacks(Settings {
        signing: Signing::AesGmac,
        ..only(Dialect::V300)
    });
    lacks(Settings {
        signing: Signing::AesCmac,
        ..only(Dialect::V210)
    });
    lacks(Settings {
        encryption: Encryption::Required,
        ..only(Dialect::V202)
    });
}

#[test]
fn a_server_that_offers_less_is_a_separate_error() {
    let options = SambaOptions {
        encryption: SmbEncryption::Off,
        dialects: ("SMB3_02", "SMB3_11"),
        ..SambaOptions::default()
    }
    .with("server smb3 signing algorithms", "aes-128-cmac");
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let refused = |settings: Settings| open(&samba, settings).err().expect("no session");
    assert_eq!(refused(only(Dialect::V210)), SetupError::NoDialect);
    let refusal = refused(Settings {
        encryption: Encryption::Required,
        ..only(Dialect::V311)
    });
    let expected = "encryption cannot be used with 3.1.1: the server does not offer it";
    assert_eq!(refusal.to_string(), expected);
    let refusal = refused(Settings {
        signing: Signing::AesGmac,
        ..only(Dialect::V311)
    });
    assert!(matches!(refusal, SetupError::Lacking { .. }), "{refusal}");
}

#[test]
fn what_a_server_requires_is_used_or_an_error() {
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let Some(samba) = available(Samba::start(options)) else {
        return;
    };
    let mut client = open(&samba, only(Dialect::V311)).expect("a session");
    assert_eq!(client.session.signing_name(), "AES-128-GMAC");
    use_a_file(&mut client, 70_000);
    let off = Settings {
        signing: Signing::Off,
        ..only(Dialect::V302)
    };
    let refusal = open(&samba, off).err();
    assert_eq!(refusal, Some(SetupError::Requires("signing")));

    let options = SambaOptions {
        encryption: SmbEncryption::Required,
        ..SambaOptions::default()
    };
    let samba = Samba::start(options).expect("smbd");
    for dialect in [Dialect::V300, Dialect::V311] {
        let mut client = open(&samba, only(dialect)).expect("a session");
        assert_ne!(client.session.cipher_name(), "none");
        use_a_file(&mut client, 70_000);
        use_a_compound(&mut client);
    }
    for settings in [
        Settings {
            encryption: Encryption::Off,
            ..only(Dialect::V311)
        },
        only(Dialect::V210),
    ] {
        let refusal = open(&samba, settings)
            .err()
            .expect("no session")
            .to_string();
        assert!(refusal.contains("requires encryption"), "{refusal}");
        assert!(refusal.contains("STATUS_ACCESS_DENIED"), "{refusal}");
    }
}

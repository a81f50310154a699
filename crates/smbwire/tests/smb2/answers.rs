//! What smbd refusal, read again; and its handshakes repeated with the same random bytes.

use crate::wire::{alice, settings};
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::smb2::create::lease;
use filermark_smbwire::smb2::notify::Changes;
use filermark_smbwire::smb2::oplock::LeaseBreakResponse;
use filermark_smbwire::smb2::query::*;
use filermark_smbwire::smb2::security::Descriptor;
use filermark_smbwire::smb2::*;
use filermark_smbwire::status;
use filermark_testbed::Samba;

/// Every answer by its name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let lines = include_str!("answers.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, digits) = line.split_once(' ').expect("a name");
            let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex");
            (name, (0..digits.len()).step_by(2).map(byte).collect())
        })
        .collect()
}

/// The answer with this name.
pub fn answer(name: &str) -> Vec<u8> {
    let mut all = all().into_iter();
    all.find(|(n, _)| *n == name).expect("a fixture").1
}

/// The settings of the handshake whose answers begin with this word.
pub fn settings_of(handshake: &str) -> Settings {
    let (dialect, encryption) = match handshake {
        "v202" => (Dialect::V202, Encryption::Auto),
        "v302" => (Dialect::V302, Encryption::Auto),
        "v311" => (Dialect::V311, Encryption::Auto),
        _ => (Dialect::V311, Encryption::Required),
    };
    let signing = match encryption {
        Encryption::Required => Signing::Auto,
        _ => Signing::Required,
    };
    Settings {
        dialects: (dialect, dialect),
        signing,
        encryption,
        ..settings(Samba::DATA)
    }
}

/// The answers of a handshake, in order.
pub fn handshake(name: &str) -> Vec<Vec<u8>> {
    let all = all().into_iter();
    let steps = ["negotiate", "challenge", "logged-in", "tree", "validate"];
    let is_step = |n: &str| steps.iter().any(|step| *n == format!("{name}-{step}"));
    all.filter(|(n, _)| is_step(n)).map(|(_, m)| m).collect()
}

fn play(settings: Settings, answers: &[Vec<u8>]) -> Result<Session, SetupError> {
    let mut handshake = Handshake::new(settings, alice());
    let mut out = Vec::new();
    handshake.first(&mut out)?;
    for answer in answers {
        if let Next::Ready(session) = handshake.reply(answer, &mut out)? {
            return Ok(*session);
        }
    }
    panic!("the answers are over");
}

/// The client's random bytes are the same: so are its proof, the keys and the signatures.
#[test]
fn handshakes_are_played_once_more() {
    for (name, dialect, signing, cipher) in [
        ("v202", Dialect::V202, "HMAC-SHA256", "none"),
        ("v302", Dialect::V302, "AES-128-CMAC", "none"),
        ("v311", Dialect::V311, "AES-128-GMAC", "none"),
        ("sealed", Dialect::V311, "none", "AES-128-GCM"),
    ] {
        let session = play(settings_of(name), &handshake(name)).expect(name);
        assert_eq!(session.dialect, dialect);
        assert_eq!(session.signing_name(), signing);
        assert_eq!(session.cipher_name(), cipher);
        assert_eq!(session.user, User::Known);
        assert_eq!(session.has_multi_credit(), dialect > Dialect::V202);
        let asked = session.credits.next_message_id;
        assert_eq!(asked, handshake(name).len() as u64);
        assert!(session.credits.available > 64, "{:?}", session.credits);
    }
}

/// One bit of what is signed or encrypted, or goes into the keys: it is noticed.
#[test]
fn a_changed_handshake_is_noticed() {
    for name in ["v302", "v311", "sealed"] {
        let sound = handshake(name);
        for step in [2, 3] {
            for at in (80..sound[step].len()).chain([40, 50]) {
                let mut answers = sound.clone();
                answers[step][at] ^= 1;
                let result = play(settings_of(name), &answers);
                assert!(result.is_err(), "{name}: answer {step}, byte {at}");
            }
        }
    }
    let mut answers = handshake("v311");
    let at = answers[0].len() - 60; // the server's salt
    answers[0][at] ^= 1;
    let result = play(settings_of("v311"), &answers).expect_err("it is noticed");
    assert_eq!(result, SetupError::Tampered("SESSION_SETUP"));
    // 3.0.2 notices later, by what the server says it has refusal.
    let mut answers = handshake("v302");
    answers[0][64 + 2] ^= 2; // that it requires signing
    let result = play(settings_of("v302"), &answers).expect_err("it is noticed");
    assert_eq!(result, SetupError::Tampered("NEGOTIATE"));
}

fn output(name: &str) -> Vec<u8> {
    let message = answer(name);
    let output = OutputResponse::decode(&message).expect(name).output;
    output.to_vec()
}

#[test]
fn opens_are_read() {
    let message = answer("create");
    let created = CreateResponse::decode(&message).expect("an open");
    assert_eq!(
        (created.oplock, created.lease()),
        (OplockLevel::None, Ok(None))
    );
    assert_eq!(created.maximal_access(), Ok(Some(0x001F_01FF)));
    assert_eq!(created.context(b"none"), Ok(None));
    let message = answer("create-oplock");
    let created = CreateResponse::decode(&message).expect("an open");
    assert_eq!(created.oplock, OplockLevel::Batch);
    let all = lease::READ | lease::HANDLE | lease::WRITE;
    for (name, key, epoch) in [("create-lease", 1, None), ("create-lease-2", 2, Some(2))] {
        let message = answer(name);
        let created = CreateResponse::decode(&message).expect("an open");
        let granted = created.lease().expect("sound").expect("a lease");
        assert_eq!((granted.key, granted.state), ([key; 16], all));
        assert_eq!(granted.epoch, epoch);
    }
    assert_eq!(
        CloseResponse::decode(&answer("close")),
        Ok(CloseResponse { facts: None })
    );
    let message = answer("read");
    let read = ReadResponse::decode(&message).expect("data");
    assert_eq!(read.data.len(), 100);
    assert_eq!(
        WriteResponse::decode(&answer("write")).map(|w| w.count),
        Ok(70_000)
    );
    for name in ["echo", "flush", "lock"] {
        assert_eq!(EmptyResponse::decode(&answer(name)), Ok(EmptyResponse));
    }
}

#[test]
fn facts_are_read() {
    let all = output("all");
    let all = AllInfo::decode(&all).expect("all");
    assert_eq!(StandardInfo::decode(&output("standard")), Ok(all.standard));
    assert_eq!(BasicInfo::decode(&output("basic")), Ok(all.basic));
    assert_eq!(internal(&output("internal")), Ok(all.internal));
    assert_eq!(text_of_utf16(all.name), "\\Äpfel und Birnen.txt");
    let facts = network_open(&output("network-open")).expect("facts");
    assert_eq!(facts.end_of_file, 105);
    let size = FsSizeInfo::decode(&output("fs-size"), FsClass::Size).expect("sizes");
    let full = output("fs-full-size");
    let full = FsSizeInfo::decode(&full, FsClass::FullSize).expect("sizes");
    assert_eq!((size.total, size.unit), (full.total, full.unit));
    assert!(FsSizeInfo::decode(&output("fs-size"), FsClass::Volume).is_err());
    let bytes = output("security");
    let descriptor = Descriptor::decode(&bytes).expect("a descriptor");
    let owner = descriptor.owner.expect("an owner").to_string();
    assert!(owner.starts_with("S-1-5-21-"), "{owner}");
    let dacl = descriptor.dacl.expect("rights");
    assert_eq!(dacl.entries().filter(Result::is_ok).count(), 3);
}

#[test]
fn lists_are_read() {
    let names = |name, class| -> Vec<String> {
        Entries::new(&output(name), class)
            .map(|entry| text_of_utf16(entry.expect("an entry").name))
            .collect()
    };
    assert_eq!(names("full", DirectoryClass::Full).len(), 10);
    assert_eq!(names("single", DirectoryClass::Full).len(), 1);
    for (name, class, count) in [
        ("both", DirectoryClass::Both, 3),
        ("id-both", DirectoryClass::IdBoth, 1),
        ("id-full", DirectoryClass::IdFull, 3),
    ] {
        let names = names(name, class);
        assert_eq!(names.len(), count, "{names:?}");
        let is_one = |n: &String| n.starts_with("file ") && n.ends_with(" größer");
        assert!(names.iter().all(is_one), "{names:?}");
    }
    let bytes = output("changes");
    let changes: Vec<_> = Changes::new(&bytes).map(Result::unwrap).collect();
    assert_eq!(changes.len(), 1);
    assert_eq!(text_of_utf16(changes[0].name), "new");
}

#[test]
fn breaks_and_failures_are_read() {
    let header = |name: &str| Header::decode(&answer(name)).expect("a header");
    assert!(header("oplock-break").is_break() && header("lease-break").is_break());
    assert!(!header("oplock-acknowledged").is_break());
    let broken = OplockBreak::decode(&answer("oplock-break"));
    assert_eq!(broken, OplockBreak::decode(&answer("oplock-acknowledged")));
    let Ok(OplockBreak::Lease {
        key,
        new,
        must_acknowledge,
        ..
    }) = OplockBreak::decode(&answer("lease-break"))
    else {
        panic!("no break of a lease");
    };
    assert_eq!(
        (key, new, must_acknowledge),
        ([1; 16], lease::READ | lease::HANDLE, true)
    );
    let answered = LeaseBreakResponse::decode(&answer("lease-acknowledged"));
    assert_eq!(answered.map(|a| (a.key, a.state)), Ok((key, new)));

    assert!(header("pending").is_interim());
    assert_ne!(header("pending").async_id, 0);
    assert_eq!(header("cancelled").status, status::CANCELLED);
    assert_eq!(header("lock-refused").status, status::LOCK_NOT_GRANTED);
    let message = answer("too-small");
    let error = ErrorResponse::decode(&message).expect("an error");
    assert_eq!(error.contexts().count(), 1);
    assert!(error.needed() > Some(20));
    let message = answer("lock-refused");
    let error = ErrorResponse::decode(&message).expect("an error");
    assert_eq!((error.needed(), error.contexts().count()), (None, 0));
}

//! What smbd refusal, read again; and the handshake repeated with the same random bytes.

use crate::client::{alice, settings};
use filermark_model::smb::Signing;
use filermark_smbwire::auth::Authenticator as _;
use filermark_smbwire::error::{DecodeError, SetupError};
use filermark_smbwire::frame::MARK;
use filermark_smbwire::ntlm::Anonymous;
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::smb1::info::*;
use filermark_smbwire::smb1::*;
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

fn with<T>(name: &str, read: impl FnOnce(&Reply<'_>) -> Result<T, DecodeError>) -> T {
    let bytes = answer(name);
    let reply = Reply::read(&bytes).expect("sound");
    read(&reply).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn with_data<T>(name: &str, read: impl FnOnce(Transaction<'_>) -> Result<T, DecodeError>) -> T {
    with(name, |reply| {
        read(Part::read(reply)?.whole().expect("one piece"))
    })
}

#[test]
fn answers_on_files() {
    let created = with("created", Created::read);
    assert_eq!(
        (created.action, created.size, created.directory),
        (2, 0, false)
    );
    assert!(created.fid != 0 && created.basic.created > 132_000_000_000_000_000);
    assert_eq!(with("written", Written::read).count, 5000);
    let read = answer("read");
    let reply = Reply::read(&read).expect("sound");
    assert_eq!(ReadData::read(&reply).expect("data").data, [7; 24]);
    let echo = answer("echoed");
    let reply = Reply::read(&echo).expect("sound");
    let echoed = Echoed::read(&reply).expect("sound");
    assert_eq!((echoed.sequence, echoed.data), (1, &b"echo"[..]));
    let broken = with("oplock-break", OplockBreak::read);
    assert_eq!(broken.level, 1);
    assert!(with("oplock-break", |r| Ok(r.header)).is_oplock_break());
    assert!(!with("locked", |r| Ok(r.header)).is_oplock_break());
    assert_eq!(with("cancelled", |r| Ok(r.header.status)), 0xC000_0120);
}

#[test]
fn answers_with_information() {
    let basic = with_data("file-basic", |a| BasicInfo::read(a.data));
    assert!(!basic.is_directory() && basic.written >= basic.created);
    let standard = with_data("file-standard", |a| StandardInfo::read(a.data));
    assert_eq!(
        (standard.size, standard.links, standard.directory),
        (5000, 1, false)
    );
    let all = answer("file-all");
    let reply = Reply::read(&all).expect("sound");
    let transaction = Part::read(&reply).expect("sound").whole().expect("one");
    let all = AllInfo::read(transaction.data).expect("sound");
    assert_eq!((all.basic, all.standard), (basic, standard));
    let size = with_data("fs-size", |a| FsSize::read(a.data));
    let full = with_data("fs-full-size", |a| FsSize::read_full(a.data));
    assert_eq!(size.total, full.total);
    with_data("security", |a| {
        let security = SecurityReply::read(&a)?;
        assert!(security.is_sound() && security.needed as usize == a.data.len());
        Ok(())
    });
    with_data("found-first", |a| {
        let head = FindFirstReply::read(&a)?;
        let mut entries = Entries::new(a.data, head.count);
        assert!(entries.next().expect("one")?.is_dot());
        assert!(entries.next().is_none());
        Ok(())
    });
}

/// Plays the answers that were recorded; what comes back is how it ended.
fn play(settings: Settings, names: [&str; 4]) -> Result<Session, SetupError> {
    let mut handshake = Handshake::new(settings, alice());
    let mut out = Vec::new();
    handshake.first(&mut out);
    for name in names {
        let length = u32::from_be_bytes(out[..MARK].try_into().expect("a mark"));
        assert_eq!(length as usize, out.len() - MARK);
        out.clear();
        if let Next::Ready(session) = handshake.reply(&answer(name), &mut out)? {
            return Ok(*session);
        }
    }
    panic!("no end")
}

const PLAIN: [&str; 4] = ["negotiated", "challenged", "logged-in", "tree"];
const SIGNED: [&str; 4] = [
    "signed-negotiated",
    "signed-challenged",
    "signed-logged-in",
    "signed-tree",
];

/// A session as it was recorded.
pub fn session(signed: bool) -> Session {
    let session = match signed {
        true => play(required(), SIGNED),
        false => play(settings(Samba::DATA), PLAIN),
    };
    session.expect("a session")
}

fn required() -> Settings {
    Settings {
        signing: Signing::Required,
        ..settings(Samba::DATA)
    }
}

/// The same chance makes the same key: smbd's signatures of then are right.
#[test]
fn a_handshake_is_played_again() {
    let session = play(settings(Samba::DATA), PLAIN).expect("a session");
    assert!(!session.is_signed() && session.max_mpx == 50);
    let mut session = play(required(), SIGNED).expect("a session");
    assert!(session.is_signed());
    let mut out = Vec::new();
    let expected = session.put(&mut out, 101, &Flush { fid: 1 });
    assert_eq!(expected, 5, "login 0 and 1, tree 2 and 3");
    let mut created = answer("signed-created");
    assert!(session.unprotect(&mut created, expected).is_ok());
    for wrong in [expected - 1, expected + 1, expected + 2] {
        let error = session.unprotect(&mut created, wrong);
        assert_eq!(error.err(), Some(DecodeError::Signature));
    }
    for at in [0, 14, 40, 102] {
        let mut forged = created.clone();
        forged[at] ^= 1;
        assert!(
            session.unprotect(&mut forged, expected).is_err(),
            "byte {at}"
        );
    }
    let mut unasked = answer("oplock-break");
    assert!(session.unprotect(&mut unasked, 0).is_ok());
}

#[test]
fn changed_logins_are_noticed() {
    for (name, step) in [
        ("signed-logged-in", "SESSION_SETUP_ANDX"),
        ("signed-tree", "TREE_CONNECT_ANDX"),
    ] {
        let mut handshake = Handshake::new(required(), alice());
        let mut out = Vec::new();
        handshake.first(&mut out);
        let error = SIGNED.into_iter().find_map(|at| {
            let mut message = answer(at);
            if at == name {
                *message.last_mut().expect("bytes") ^= 0x40;
            }
            handshake.reply(&message, &mut out).err()
        });
        assert_eq!(error, Some(SetupError::Tampered(step)));
    }
}

/// Bytes of NEGOTIATE's answer that change what comes of it.
#[test]
fn what_the_server_announces_decides() {
    const DIALECT: usize = 33;
    const MODE: usize = 35;
    const MPX: usize = 36;
    const CAPS: usize = 33 + 19;
    let ask = |signing, change: &dyn Fn(&mut Vec<u8>)| {
        let settings = Settings {
            signing,
            ..settings(Samba::DATA)
        };
        let mut handshake = Handshake::new(settings, alice());
        let mut out = Vec::new();
        handshake.first(&mut out);
        let mut message = answer("negotiated");
        change(&mut message);
        handshake.reply(&message, &mut out).map(drop)
    };
    assert_eq!(ask(Signing::Auto, &|_| {}), Ok(()));
    assert_eq!(ask(Signing::Auto, &|m| m[MPX] = 0), Ok(()));
    let none = |m: &mut Vec<u8>| m[DIALECT..DIALECT + 2].fill(0xFF);
    assert_eq!(ask(Signing::Auto, &none), Err(SetupError::NoDialect));
    let must = |m: &mut Vec<u8>| m[MODE] |= 0x0C;
    assert_eq!(
        ask(Signing::Off, &must),
        Err(SetupError::Requires("signing"))
    );
    let cannot = |m: &mut Vec<u8>| m[MODE] &= !0x0C;
    let error = ask(Signing::Required, &cannot).expect_err("cannot");
    assert!(matches!(
        error,
        SetupError::Lacking {
            wanted: "signing",
            ..
        }
    ));
    let old = |m: &mut Vec<u8>| m[CAPS + 3] &= 0x7F;
    let error = ask(Signing::Auto, &old).expect_err("old");
    assert!(error.to_string().contains("security tokens"), "{error}");
    let other = |m: &mut Vec<u8>| m[4] = 0x73;
    assert!(matches!(
        ask(Signing::Auto, &other),
        Err(SetupError::Reply { .. })
    ));
    let late = |m: &mut Vec<u8>| m[30] = 9;
    assert!(matches!(
        ask(Signing::Auto, &late),
        Err(SetupError::Reply { .. })
    ));
    let moved = |m: &mut Vec<u8>| m[5..9].copy_from_slice(&0xC000_0257_u32.to_le_bytes());
    assert_eq!(ask(Signing::Auto, &moved), Err(SetupError::Dfs));
}

/// An anonymous session is not signed even where the server could.
#[test]
fn an_anonymous_user_has_no_key() {
    let mut anonymous = Anonymous::new();
    assert!(anonymous.is_anonymous());
    anonymous.step(&[]).expect("first");
    assert_eq!(anonymous.session_key(), None);
}

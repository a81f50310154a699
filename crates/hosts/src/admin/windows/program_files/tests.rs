//! Programs that are placed on a fake server, and what must stay there.

use super::*;
use crate::admin::sftp::fake_server::FakeServer;
use filermark_link::build::MARK;

fn sha256(bytes: &[u8]) -> String {
    HashingReader::new(bytes).finish().expect("a hash").0
}

#[test]
fn a_damaged_copy_is_not_left() {
    let text = [MARK.as_bytes(), &[7; 100_000]].concat();
    let program = (&*sha256(&text), text.len() as u64);
    let server = FakeServer::default();
    let mut sftp = server.connect();
    upload(&mut sftp, "new", text.as_slice(), program, &|_| {}).expect("a good copy");
    assert_eq!(server.files(), [("new".into(), text.clone())]);
    server.remove("new");
    server.damage_writes();
    let why = upload(&mut sftp, "new", text.as_slice(), program, &|_| {}).unwrap_err();
    assert!(why.contains("another checksum"), "{why}");
    assert_eq!(server.files(), []);
}

#[test]
fn the_old_program_stays_if_the_new_one_cannot_be_placed() {
    let (old, new) = (format!("{MARK} old"), format!("{MARK} new"));
    let server = FakeServer::default();
    server.set_posix_rename(false);
    server.put("to", old.as_bytes());
    server.put("new", new.as_bytes());
    server.refuse_rename_of("new");
    let mut sftp = server.connect();
    let sha256 = sha256(new.as_bytes());
    let why = place_new(&mut sftp, ["new", "to", "aside"], "to", &sha256).unwrap_err();
    assert!(why.contains("in use"), "{why}");
    assert_eq!(server.files(), [("to".into(), old.clone().into_bytes())]);

    server.put("second", new.as_bytes());
    place_new(&mut sftp, ["second", "to", "aside"], "to", &sha256).unwrap();
    assert_eq!(server.files(), [("to".into(), new.into_bytes())]);

    // An old program that is running is named.
    server.put("third", old.as_bytes());
    server.refuse_removal_of("aside");
    let third = super::tests::sha256(old.as_bytes());
    let note = place_new(&mut sftp, ["third", "to", "aside"], "to", &third).unwrap();
    assert!(note.unwrap().contains("is now aside"));
    assert_eq!(server.files().len(), 2);
}

#[test]
fn a_file_that_another_program_has_put_there_meanwhile_stays() {
    let server = FakeServer::default();
    server.put("to", b"netmist");
    server.put("new", MARK.as_bytes());
    let names = ["new", "to", "aside"];
    let why = place_new(&mut server.connect(), names, "to", "0").unwrap_err();
    assert!(why.contains("to is not Filermark"), "{why}");
    assert_eq!(server.files(), [("to".into(), b"netmist".to_vec())]);

    // One that came after the last look, and was moved aside.
    server.put("aside", b"netmist");
    server.put("to", MARK.as_bytes());
    let why = settle_aside(&mut server.connect(), names, "to").unwrap_err();
    assert!(why.contains("to is not Filermark"), "{why}");
    let left = [
        ("new".into(), MARK.as_bytes().to_vec()),
        ("to".into(), b"netmist".to_vec()),
    ];
    assert_eq!(server.files(), left);
}

#[test]
fn a_file_that_cannot_be_read_is_closed() {
    let server = FakeServer::default();
    let mut long = MARK.as_bytes().to_vec();
    long.resize(40 << 15, 1);
    server.put("to", &long);
    server.put("new", MARK.as_bytes());
    server.refuse_reads_of("to");
    let mut sftp = server.connect();
    let why = place_new(&mut sftp, ["new", "to", "aside"], "to", "0").unwrap_err();
    assert!(why.contains("made up"), "{why}");
    assert_eq!(server.files(), [("to".into(), long)], "no new file is left");
    assert_eq!(server.open_count(), 0);
}

#[test]
fn an_old_program_is_read_up_to_its_mark() {
    let server = FakeServer::default();
    let mut long = MARK.as_bytes().to_vec();
    long.resize(256 << 15, 1);
    server.put("own", &long);
    let found = Attributes {
        len: long.len() as u64,
        ..Attributes::default()
    };
    let mut sftp = server.connect();
    assert_eq!(is_filermark(&mut sftp, "own", &found), Ok(true));
    let read = server.reads_count();
    assert!(read < 128, "{read} of 256 pieces");
    assert_eq!(server.open_count(), 0);
}

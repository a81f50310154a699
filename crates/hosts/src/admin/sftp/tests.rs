//! Dialogues with a server in memory, and bytes that are no dialogue.

use super::fake_server::FakeServer;
use super::*;

#[test]
fn what_is_not_sftp_is_refused() {
    for text in [
        "Microsoft Windows [Version 10.0]\r\n",
        "",
        "\0\0\0\u{1}\u{2}",
        "\0\0\0\u{5}\u{2}\0\0\0\u{3}\0\0",
    ] {
        let connected = Sftp::connect(text.as_bytes(), Vec::new());
        if let Ok(mut sftp) = connected {
            assert!(sftp.attributes("x").is_err());
            assert!(sftp.entries("x").is_err());
        }
    }
}

#[test]
fn fields_never_exceed_their_packet() {
    for len in 0..40_usize {
        for first in [0, 1, 0x80, 0xff] {
            let mut packet = vec![first; len];
            packet.truncate(len);
            let mut fields = Fields(&packet);
            let _ = fields.attributes();
            let _ = fields.text();
        }
    }
}

#[test]
fn a_file_is_read_in_pieces_and_can_be_closed_early() {
    let server = FakeServer::default();
    let bytes: Vec<u8> = (0..WINDOW * CHUNK_LEN * 4 + 77).map(|n| n as u8).collect();
    server.put("a", &bytes);
    let mut sftp = server.connect();
    let mut file = RemoteFile::open(&mut sftp, "a", bytes.len() as u64).unwrap();
    let mut found = Vec::new();
    file.read_to_end(&mut found).unwrap();
    file.close().unwrap();
    assert!(found == bytes);
    let on_the_way = server.answers_len_max();
    assert!(on_the_way <= WINDOW * (CHUNK_LEN + 100), "{on_the_way}");

    let mut file = RemoteFile::open(&mut sftp, "a", bytes.len() as u64).unwrap();
    let mut first = [0; 10];
    file.read_exact(&mut first).unwrap();
    assert_eq!(first, bytes[..10]);
    file.close().unwrap();
    // The answers that were on their way are not taken for others.
    assert!(sftp.attributes("a").unwrap().is_some());

    // A file that was shortened meanwhile.
    let mut file = RemoteFile::open(&mut sftp, "a", bytes.len() as u64 + 1).unwrap();
    let why = file.read_to_end(&mut found).unwrap_err();
    assert!(why.to_string().contains("is shorter"), "{why}");
}

#[test]
fn a_rename_replaces_with_and_without_the_extension() {
    for has_extension in [true, false] {
        let server = FakeServer::default();
        server.set_posix_rename(has_extension);
        for (name, text) in [("new", "new"), ("to", "old")] {
            server.put(name, text.as_bytes());
        }
        let mut sftp = server.connect();
        sftp.rename("new", "to", "aside").unwrap();
        assert_eq!(server.files(), [("to".into(), b"new".to_vec())]);
        // Without an old file, too.
        server.put("new", b"newer");
        server.remove("to");
        sftp.rename("new", "to", "aside").unwrap();
        assert_eq!(server.files(), [("to".into(), b"newer".to_vec())]);
    }
}

#[test]
fn a_rename_that_fails_leaves_the_old_file() {
    let server = FakeServer::default();
    server.set_posix_rename(false);
    for (name, text) in [("new", "new"), ("to", "old")] {
        server.put(name, text.as_bytes());
    }
    server.refuse_rename_of("new");
    let mut sftp = server.connect();
    sftp.rename("new", "to", "aside").unwrap_err();
    let left = [
        ("new".into(), b"new".to_vec()),
        ("to".into(), b"old".to_vec()),
    ];
    assert_eq!(server.files(), left);

    // The old file cannot get its name again: the message says where it is.
    server.refuse_rename_of("aside");
    let why = sftp.rename("new", "to", "aside").unwrap_err();
    assert!(why.contains("aside"), "{why}");
    let names: Vec<String> = server.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["aside", "new"]);
}

//! Requests byte by byte as MS-CIFS and MS-SMB lay them out, and how they are framed.

use filermark_smbwire::frame::MARK;
use filermark_smbwire::smb1::*;

const HEAD: Head = Head {
    tid: 0x1122,
    uid: 0x3344,
    pid: 0x0001_5566,
    mid: 0x7788,
    flags2: 0,
};

fn encoded<R: Request>(request: &R) -> Vec<u8> {
    let mut out = Vec::new();
    HEAD.put(&mut out, request);
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|c| c.to_digit(16).map(|d| d as u8))
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Words and bytes, without the header, which is as it should be.
fn body(command: Command, request: Vec<u8>) -> Vec<u8> {
    let header = Header::read(&request).expect("a header");
    assert_eq!(header.command, command.code());
    assert_eq!(
        (header.status, header.flags, header.flags2),
        (0, 0x18, 0xC841)
    );
    assert_eq!(
        (header.tid, header.uid, header.pid, header.mid),
        (0x1122, 0x3344, 0x1_5566, 0x7788)
    );
    // Of even length or not, words and bytes are as many as they say.
    let reply = Reply::read(&request).expect("sound");
    assert_eq!(
        HEADER + 1 + reply.words.len() + 2 + reply.bytes.len(),
        request.len()
    );
    request[HEADER..].to_vec()
}

#[test]
fn the_header_is_laid_out() {
    assert_eq!(
        encoded(&Flush { fid: 0x0203 }),
        hex(
            "ff534d42 05 00000000 18 41c8 0100 0000000000000000 0000 2211 6655 4433 8877
             01 0302 0000"
        )
    );
}

#[test]
fn small_requests() {
    let cases = [
        (
            Command::Close,
            encoded(&Close { fid: 7 }),
            "03 0700 ffffffff 0000",
        ),
        (
            Command::Echo,
            encoded(&Echo { data: b"ab" }),
            "01 0100 0200 6162",
        ),
        (
            Command::FindClose2,
            encoded(&FindClose { sid: 5 }),
            "01 0500 0000",
        ),
        (Command::NtCancel, encoded(&NtCancel), "00 0000"),
        (Command::TreeDisconnect, encoded(&TreeDisconnect), "00 0000"),
        (Command::LogoffAndx, encoded(&Logoff), "02 ff000000 0000"),
        (
            Command::DeleteDirectory,
            encoded(&DeleteDirectory {
                path: Path::of("d"),
            }),
            "00 0700 04 5c00 6400 0000",
        ),
        (
            Command::Delete,
            encoded(&Delete {
                path: Path {
                    dir: "d",
                    name: "f",
                },
            }),
            "01 0600 0b00 04 5c00 6400 5c00 6600 0000",
        ),
        (
            Command::Rename,
            encoded(&Rename {
                from: Path::of("a"),
                to: Path::of("b"),
            }),
            "01 1600 0f00 04 5c00 6100 0000 04 00 5c00 6200 0000",
        ),
        (
            Command::ReadAndx,
            encoded(&ReadAndx {
                fid: 9,
                offset: 0x0102_0304_0506_0708,
                count: 0x0002_0304,
            }),
            "0c ff000000 0900 08070605 0403 0000 02000000 0000 04030201 0000",
        ),
        (
            Command::LockingAndx,
            encoded(&OplockAck { fid: 9, level: 1 }),
            "08 ff000000 0900 02 01 00000000 0000 0000 0000",
        ),
    ];
    for (command, request, expected) in cases {
        assert_eq!(body(command, request), hex(expected), "{command:?}");
    }
}

#[test]
fn locks_have_ranges_of_64_bits() {
    let range = |offset, length| [Range { offset, length }];
    let request = encoded(&Locking {
        fid: 9,
        shared: true,
        timeout_ms: 500,
        pid: 0x5566,
        unlocks: &range(1, 2),
        locks: &range(0x0102_0304_0506_0708, 16),
    });
    assert_eq!(
        body(Command::LockingAndx, request),
        hex("08 ff000000 0900 11 00 f4010000 0100 0100 2800
             6655 0000 00000000 01000000 00000000 02000000
             6655 0000 04030201 08070605 00000000 10000000")
    );
}

#[test]
fn a_file_is_opened() {
    let request = encoded(&NtCreate {
        flags: 2,
        access: 0x0012_0089,
        attributes: 0x80,
        allocation: 0x1000,
        share: 3,
        disposition: 1,
        options: 0x40,
        path: Path {
            dir: "d",
            name: "f",
        },
    });
    assert_eq!(
        body(Command::NtCreateAndx, request),
        hex(
            "18 ff000000 00 0800 02000000 00000000 89001200 0010000000000000 80000000
             03000000 01000000 40000000 02000000 00 0b00
             00 5c00 6400 5c00 6600 0000"
        )
    );
}

#[test]
fn a_write_has_its_data_in_place() {
    let write = WriteAndx {
        fid: 9,
        offset: 0x0102_0304_0506_0708,
        write_through: true,
    };
    for length in [0usize, 5, 0x0001_0003] {
        let mut out = vec![0; MARK];
        let mark = write.begin(&HEAD, &mut out);
        out.resize(out.len() + length, 7);
        assert_eq!(mark.finish(&mut out), length);
        let words = hex("0e ff000000 0900 08070605 00000000 0100 0000");
        let at = MARK + HEADER;
        assert_eq!(out[at..at + 19], words);
        let number = |at: usize| usize::from(u16::from_le_bytes([out[at], out[at + 1]]));
        assert_eq!(number(at + 19) << 16 | number(at + 21), length);
        assert_eq!((number(at + 23), MARK + 64 + length), (64, out.len()));
        assert_eq!(number(at + 29), (length + 1) & 0xFFFF);
    }
}

/// Parameters and data of a transaction are aligned and where the words say.
#[test]
fn transactions_point_at_their_parts() {
    let path = Path::of("abc");
    let request = encoded(&QueryPath {
        path,
        level: 0x107,
        max_data: 0x400,
    });
    assert_eq!(
        body(Command::Transaction2, request),
        hex(
            "0f 1000 0000 1000 0004 00 00 0000 00000000 0000 1000 4400 0000 5400 01 00 0500
             1300 000000 0701 00000000 5c00 6100 6200 6300 0000"
        )
        .into_iter()
        .collect::<Vec<_>>()
    );
    let request = encoded(&SetFile {
        fid: 9,
        info: SetInfo::EndOfFile(0x0102),
    });
    assert_eq!(
        body(Command::Transaction2, request),
        hex(
            "0f 0600 0800 1000 0000 00 00 0000 00000000 0000 0600 4400 0800 4c00 01 00 0800
             1300 000000 0900 0401 0000 0000 0201000000000000"
        )
    );
    let request = encoded(&QuerySecurity {
        fid: 9,
        fields: 7,
        max_data: 0x1000,
    });
    assert_eq!(
        body(Command::NtTransact, request),
        hex(
            "13 00 0000 08000000 00000000 04000000 00100000 08000000 4c000000 00000000 00000000
             00 0600 0b00 000000 0900 0000 07000000"
        )
    );
    let watch = NotifyChange {
        fid: 9,
        filter: 3,
        tree: true,
        max_parameters: 64,
    };
    assert_eq!(
        body(Command::NtTransact, encoded(&watch)),
        hex(
            "17 00 0000 00000000 00000000 40000000 00000000 00000000 54000000 00000000 00000000
             04 0400 03000000 0900 01 00 0300 000000"
        )
    );
}

#[test]
fn a_new_name_has_its_length() {
    let info = SetInfo::Rename {
        replace: true,
        name: "xy",
    };
    let request = encoded(&SetFile { fid: 9, info });
    let data = &request[request.len() - 16..];
    assert_eq!(data, hex("01000000 00000000 04000000 7800 7900"));
}

#[test]
fn every_command_comes_back_from_its_code() {
    for command in Command::ALL {
        assert_eq!(Command::from_code(command.code()), Some(*command));
        assert!(!command.name().is_empty());
    }
    assert_eq!(Command::from_code(0x99), None);
}

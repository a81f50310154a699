//! Every request on files against smbd, unsigned and signed.

use crate::client::{Client, alice, settings};
use filermark_model::smb::Signing;
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb1::info::{AllInfo, BasicInfo, Entries, FsSize, StandardInfo, level};
use filermark_smbwire::smb1::*;
use filermark_testbed::{Samba, SambaOptions, available};

const NO_SUCH_FILE: u32 = 0xC000_0034;
/// CreateDisposition: what is there.
pub const OPEN: u32 = 1;
/// CreateDisposition: what is not there.
pub const CREATE: u32 = 2;

/// Does the same unsigned and signed.
pub fn both_ways(work: impl Fn(&Samba, &mut Client)) {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    for signing in [Signing::Off, Signing::Required] {
        let settings = Settings {
            signing,
            ..settings(Samba::DATA)
        };
        let mut client = Client::new(&samba, settings, alice()).expect("a session");
        work(&samba, &mut client);
        let mut left = std::fs::read_dir(samba.files(Samba::DATA)).expect("the share");
        assert!(left.next().is_none(), "something is left");
    }
}

/// Removes a file.
pub fn delete(client: &mut Client, path: Path<'_>) {
    client.call(&Delete { path }).ok();
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 31 + at / 251 + seed) as u8)
        .collect()
}

#[test]
fn data_go_there_and_back() {
    both_ways(|samba, client| {
        let path = Path::of("dätå ∞.bin");
        let file = client.open(path, CREATE, 0);
        assert_eq!((file.size, file.action, file.directory), (0, 2, false));
        let limits = client.session.limits;
        eprintln!("{limits:?}");
        for (offset, length) in [
            (0, 1),
            (1, limits.write_max),
            (100_000, 4096),
            (5 << 32, limits.write_max),
        ] {
            let data = pattern(length as usize, offset as usize);
            assert_eq!(client.write(file.fid, offset, &data), length);
            let mut back = Vec::new();
            while back.len() < data.len() {
                let left = (data.len() - back.len()) as u32;
                let at = offset + back.len() as u64;
                let piece = client.read(file.fid, at, left.min(limits.read_max));
                assert!(!piece.is_empty());
                back.extend(piece);
            }
            assert!(back == data, "{length} bytes at {offset}");
        }
        let end = (5 << 32) + u64::from(limits.write_max);
        assert!(
            client.read(file.fid, end, 4096).is_empty(),
            "behind the end"
        );
        assert_eq!(
            client.read(file.fid, 0, limits.read_max).len(),
            limits.read_max as usize
        );
        client.call(&Flush { fid: file.fid }).ok();
        client.close(file.fid);
        let host = samba.files(Samba::DATA).join("dätå ∞.bin");
        assert_eq!(std::fs::metadata(host).expect("on the host").len(), end);
        delete(client, path);
    });
}

#[test]
fn information_is_asked_for_and_set() {
    both_ways(|_, client| {
        let path = Path {
            dir: "sub",
            name: "file",
        };
        let dir = Path::of("sub");
        client.call(&CreateDirectory { path: dir }).ok();
        let fid = client.open(path, CREATE, 0).fid;
        client.write(fid, 0, &pattern(10_000, 0));
        let basic = BasicInfo {
            written: 132_000_000_000_000_000,
            attributes: 0x80,
            ..BasicInfo::default()
        };
        for info in [
            SetInfo::Basic(basic),
            SetInfo::EndOfFile(7777),
            SetInfo::Allocation(8192),
        ] {
            client.call(&SetFile { fid, info }).ok();
        }
        let query = |client: &mut Client, level| {
            let max_data = 1024;
            let request = QueryFile {
                fid,
                level,
                max_data,
            };
            client.call(&request).ok()
        };
        let answer = query(client, level::FILE_BASIC);
        let basic = BasicInfo::read(answer.transaction().data).expect("basic");
        assert_eq!(basic.written, 132_000_000_000_000_000);
        assert!(!basic.is_directory());
        let answer = query(client, level::FILE_STANDARD);
        let standard = StandardInfo::read(answer.transaction().data).expect("standard");
        assert_eq!((standard.size, standard.links), (7777, 1));
        let answer = query(client, level::FILE_ALL);
        let all = AllInfo::read(answer.transaction().data).expect("all");
        assert_eq!((all.basic, all.standard.size), (basic, 7777));
        assert!(
            text_of_utf16(all.name).ends_with("\\sub\\file"),
            "{}",
            text_of_utf16(all.name)
        );
        client.close(fid);
        let by_path = QueryPath {
            path,
            level: level::FILE_ALL,
            max_data: 1024,
        };
        let answer = client.call(&by_path).ok();
        let all = AllInfo::read(answer.transaction().data).expect("all");
        assert_eq!(all.standard.size, 7777);
        let missing = QueryPath {
            path: Path::of("missing"),
            ..by_path
        };
        assert_eq!(client.call(&missing).status(), NO_SUCH_FILE);
        let info = SetInfo::Basic(BasicInfo {
            attributes: 0x80,
            ..BasicInfo::default()
        });
        client.call(&SetPath { path, info }).ok();
        delete(client, path);
        client.call(&DeleteDirectory { path: dir }).ok();
    });
}

#[test]
fn sizes_of_the_file_system() {
    both_ways(|_, client| {
        let mut query = |level| {
            client
                .call(&QueryFs {
                    level,
                    max_data: 512,
                })
                .ok()
        };
        let answer = query(level::FS_SIZE);
        let size = FsSize::read(answer.transaction().data).expect("size");
        let answer = query(level::FS_FULL_SIZE);
        let full = FsSize::read_full(answer.transaction().data).expect("full size");
        assert_eq!(size.total, full.total);
        assert!(full.total > 0 && full.free <= full.total && full.available <= full.free);
    });
}

#[test]
fn names_change_and_go() {
    both_ways(|samba, client| {
        let fid = client.open(Path::of("one"), CREATE, 0).fid;
        client.close(fid);
        let (from, to) = (Path::of("one"), Path::of("two"));
        client.call(&Rename { from, to }).ok();
        let fid = client.open(to, OPEN, 0).fid;
        let info = SetInfo::Rename {
            replace: false,
            name: "three",
        };
        client.call(&SetFile { fid, info }).ok();
        assert!(samba.files(Samba::DATA).join("three").exists());
        let info = SetInfo::Disposition(true);
        client.call(&SetFile { fid, info }).ok();
        let answer = client.call(&QueryFile {
            fid,
            level: level::FILE_STANDARD,
            max_data: 64,
        });
        let answer = answer.ok();
        let standard = StandardInfo::read(answer.transaction().data).expect("standard");
        assert!(standard.delete_pending);
        client.close(fid);
        let missing = client.call(&Delete {
            path: Path::of("three"),
        });
        assert_eq!(missing.status(), NO_SUCH_FILE);
    });
}

#[test]
fn directories_are_read_in_pieces() {
    both_ways(|_, client| {
        let dir = Path::of("dir");
        client.call(&CreateDirectory { path: dir }).ok();
        let names: Vec<String> = (0..300)
            .map(|n| format!("entry number {n:03}.dat"))
            .collect();
        for name in &names {
            let path = Path { dir: "dir", name };
            let fid = client.open(path, CREATE, 0).fid;
            client.close(fid);
        }
        let mut found: Vec<(String, u32)> = Vec::new();
        let mut take = |data: &[u8], count: u16| {
            assert_eq!(Entries::new(data, count).count(), usize::from(count));
            for entry in Entries::new(data, count) {
                let entry = entry.expect("an entry");
                assert_eq!(entry.basic.is_directory(), entry.is_dot());
                if !entry.is_dot() {
                    found.push((text_of_utf16(entry.name), entry.index));
                }
            }
            found.last().cloned().expect("one at least")
        };
        let first = FindFirst {
            pattern: Path {
                dir: "dir",
                name: "*",
            },
            count: 1000,
            flags: 2 | 4,
            max_data: 8192,
        };
        let answer = client.call(&first).ok();
        let head = FindFirstReply::read(&answer.transaction()).expect("head");
        let mut last = take(answer.transaction().data, head.count);
        let mut end = head.end;
        let mut rounds = 1;
        while !end {
            let next = FindNext {
                sid: head.sid,
                count: 1000,
                resume_key: last.1,
                flags: 2 | 4 | 8,
                name: &last.0,
                max_data: 8192,
            };
            let answer = client.call(&next).ok();
            let next = FindNextReply::read(&answer.transaction()).expect("head");
            end = next.end;
            last = take(answer.transaction().data, next.count);
            rounds += 1;
        }
        assert!(rounds > 3, "{rounds}");
        found.sort();
        assert!(
            found.iter().map(|f| &f.0).eq(&names),
            "{} entries",
            found.len()
        );
        let some = FindFirst {
            pattern: Path {
                dir: "dir",
                name: "*1?.dat",
            },
            flags: 0,
            count: 5,
            ..first
        };
        let answer = client.call(&some).ok();
        let head = FindFirstReply::read(&answer.transaction()).expect("head");
        assert_eq!((head.count, head.end), (5, false));
        client.call(&FindClose { sid: head.sid }).ok();
        for name in &names {
            delete(client, Path { dir: "dir", name });
        }
        client.call(&DeleteDirectory { path: dir }).ok();
    });
}

#[test]
fn security_is_returned() {
    both_ways(|_, client| {
        let path = Path::of("secure");
        let fid = client.open(path, CREATE, 0).fid;
        let request = QuerySecurity {
            fid,
            fields: 7,
            max_data: 4096,
        };
        let answer = client.call(&request).ok();
        let security = SecurityReply::read(&answer.transaction()).expect("sound");
        assert!(security.is_sound());
        assert_eq!(security.needed as usize, security.descriptor.len());
        let answer = client.call(&QuerySecurity {
            max_data: 4,
            ..request
        });
        assert_eq!(answer.status(), 0xC000_0023);
        client.close(fid);
        delete(client, path);
    });
}

//! What clients have to do with one another: locks, oplocks, watches.

use crate::client::{Client, SHARE_ALL};
use crate::files::{CREATE, OPEN, both_ways, delete};
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb1::*;

const LOCK_NOT_GRANTED: u32 = 0xC000_0055;
const CANCELLED: u32 = 0xC000_0120;
/// CreateOptions: a directory.
const DIRECTORY: u32 = 1;

#[test]
fn ranges_are_locked_and_given_back() {
    both_ways(|samba, client| {
        let path = Path::of("locked");
        let fid = client.open(path, CREATE, 0).fid;
        let mut other = Client::alice(samba);
        let their = other.open(path, OPEN, 0).fid;
        let range = [Range {
            offset: 6 << 32,
            length: 100,
        }];
        let lock = Locking {
            fid,
            shared: false,
            timeout_ms: 0,
            pid: client.session.head(0).pid as u16,
            unlocks: &[],
            locks: &range,
        };
        client.call(&lock).ok();
        let theirs = Locking { fid: their, ..lock };
        let refused = other.call(&theirs).status();
        assert!(
            refused == LOCK_NOT_GRANTED || refused == 0xC000_0054,
            "{refused:#x}"
        );
        let unlock = Locking {
            unlocks: &range,
            locks: &[],
            ..lock
        };
        client.call(&unlock).ok();
        other.call(&theirs).ok();
        let back = Locking {
            unlocks: &range,
            locks: &[],
            ..theirs
        };
        other.call(&back).ok();
        other.close(their);
        client.close(fid);
        delete(client, path);
    });
}

/// An oplock is broken when another opens the file, and the acknowledgment lets it go on;
/// afterwards the numbers of signatures are still right.
#[test]
fn a_broken_oplock_is_given_back() {
    both_ways(|samba, client| {
        let path = Path::of("oplock");
        let answer = client.call(&NtCreate {
            flags: 2 | 4,
            access: 0x0012_019F,
            share: SHARE_ALL,
            disposition: CREATE,
            path,
            ..NtCreate::default()
        });
        let file = Created::read(&answer.ok().reply()).expect("open");
        assert_ne!(file.oplock, 0, "an oplock is granted");
        let mut other = Client::alice(samba);
        let opening = other.send(&NtCreate {
            access: 0x0012_019F,
            share: SHARE_ALL,
            disposition: OPEN,
            path,
            ..NtCreate::default()
        });
        let broken = client.receive_break();
        assert_eq!(broken.fid, file.fid);
        client.send(&OplockAck {
            fid: file.fid,
            level: broken.level,
        });
        let theirs = other.receive(opening).ok();
        let theirs = Created::read(&theirs.reply()).expect("open").fid;
        client
            .call(&Echo {
                data: b"still in step",
            })
            .ok();
        other.close(theirs);
        client.close(file.fid);
        delete(client, path);
    });
}

/// A watch ends with the first change, and one that is taken back ends with that.
#[test]
fn changes_are_reported_and_watches_taken_back() {
    both_ways(|samba, client| {
        let dir = client.open(Path::of(""), OPEN, DIRECTORY);
        assert!(dir.directory);
        let watch = NotifyChange {
            fid: dir.fid,
            filter: 0x17,
            tree: false,
            max_parameters: 4096,
        };
        let watching = client.send(&watch);
        let mut other = Client::alice(samba);
        let fid = other.open(Path::of("changed"), CREATE, 0).fid;
        let reported = client.receive(watching).ok();
        let changes = reported.transaction().parameters;
        assert!(
            text_of_utf16(&changes[12..]).starts_with("changed"),
            "{changes:02x?}"
        );
        other.close(fid);
        delete(&mut other, Path::of("changed"));
        drop(other);
        // What has happened since the answer comes at once.
        while client.call_or_cancel(&watch) != CANCELLED {}
        client
            .call(&Echo {
                data: b"still in step",
            })
            .ok();
        client.close(dir.fid);
    });
}

impl Client {
    /// Asks, takes it back at once, and gives the status of the answer.
    fn call_or_cancel(&mut self, watch: &NotifyChange) -> u32 {
        let sent = self.send(watch);
        self.send_as(sent.0, &NtCancel);
        self.receive(sent).status()
    }
}

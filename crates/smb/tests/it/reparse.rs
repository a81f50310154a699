//! Reparse points of every kind in what a run has left: they are not entered, what they
//! lead to is not opened, and they are named.
//!
//! Samba has none of these, so a proxy before it says that names are reparse points: the
//! attribute in directory listings, with the tag in the field that is the size of extended
//! attributes otherwise (MS-FSCC 2.4.8, 2.4.14; MS-CIFS 2.2.8.1.7), and in answers to
//! CREATE (MS-SMB2 2.2.14). What lies below such a name looks like the run's own: nothing
//! else than the attribute keeps it. The proxy notes each request that would lead to it.

use super::claim::{DIALECTS, claim, leave_behind, make, own, release, this_run};
use super::rig::{plan, samba};
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_testbed::{Direction, ProxiedMessage, ProxyAction, Samba, SambaOptions, SmbProxy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Tags (MS-FSCC 2.1.2.1), and one that is not assigned.
const NFS: u32 = 0x8000_0014;
const DEDUP: u32 = 0x8000_0013;
const MOUNT_POINT: u32 = 0xA000_0003;
const LX_SYMLINK: u32 = 0xA000_001D;
const UNKNOWN: u32 = 0x0000_7F42;

const REPARSE_POINT: u32 = 0x400;
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Where the proxy says that a name is a reparse point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReparseState {
    Everywhere,
    /// Not in listings.
    WhenOpened,
}

/// What the proxy has been asked.
#[derive(Default)]
struct Seen {
    /// Requests for what is below a reparse point, or for what it leads to.
    led: Vec<String>,
    /// Answers in which it has reported a name as one.
    reported: BTreeMap<&'static str, u32>,
}

/// Says of names that they are reparse points.
struct ReparseProxy {
    points: Vec<(&'static str, u32)>,
    reported: ReparseState,
    /// Requests that have a reparse point as their object, by connection and number.
    objects: BTreeMap<(usize, u64), &'static str>,
    /// SMB1: searches, by connection and number.
    searches: BTreeSet<(usize, u64)>,
    seen: Arc<Mutex<Seen>>,
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    let two = bytes.get(at..at + 2).unwrap_or(&[0; 2]);
    usize::from(u16::from_le_bytes(two.try_into().expect("two bytes")))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).unwrap_or(&[0; 4]);
    u32::from_le_bytes(four.try_into().expect("four bytes"))
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    let text = utf16(text);
    bytes.windows(text.len()).any(|window| window == text)
}

/// Marks the entries of a listing that have these names; what both protocols' classes have
/// in common begins each entry, the name lies behind it.
fn mark(entries: &mut [u8], name_at: usize, points: &[(&'static str, u32)]) -> Vec<&'static str> {
    const ATTRIBUTES: usize = 56;
    const NAME_BYTES: usize = 60;
    const TAG: usize = 64;
    let (mut at, mut marked) = (0, Vec::new());
    while at + name_at <= entries.len() {
        let length = u32_at(entries, at + NAME_BYTES) as usize;
        let name = entries.get(at + name_at..at + name_at + length);
        let found = points.iter().find(|(point, _)| name == Some(&utf16(point)));
        if let Some((point, tag)) = found {
            let attributes = u32_at(entries, at + ATTRIBUTES);
            put(entries, at + ATTRIBUTES, attributes | REPARSE_POINT);
            put(entries, at + TAG, *tag);
            marked.push(*point);
        }
        match u32_at(entries, at) as usize {
            0 => break,
            next => at += next,
        }
    }
    marked
}

impl ReparseProxy {
    fn receive(&mut self, passing: &ProxiedMessage<'_>) -> Vec<ProxyAction> {
        let mut message = passing.message.to_vec();
        let is_second = message.first() == Some(&0xFE);
        match (passing.way, is_second) {
            (Direction::ToServer, true) => self.request_two(passing.connection, &message),
            (Direction::ToServer, false) => self.request_one(passing.connection, &message),
            (Direction::ToClient, true) => self.reply_two(passing.connection, &mut message),
            (Direction::ToClient, false) => self.reply_one(passing.connection, &mut message),
        }
        vec![ProxyAction::Send(message)]
    }

    fn note(&self, led: String) {
        self.seen.lock().expect("not poisoned").led.push(led);
    }

    fn record(&self, point: &'static str) {
        let mut seen = self.seen.lock().expect("not poisoned");
        *seen.reported.entry(point).or_default() += 1;
    }

    /// A request names something: the reparse point itself, which is given then, or what is
    /// behind one.
    fn named(&self, request: &[u8], what: &str, is_itself: bool) -> Option<&'static str> {
        let mut object = None;
        for (point, _) in &self.points {
            if holds(request, &format!("{point}\\")) {
                self.note(format!("{what} below {point}"));
            } else if holds(request, point) {
                if !is_itself {
                    self.note(format!("{what} follows {point}"));
                }
                object = Some(*point);
            }
        }
        object
    }

    fn request_two(&mut self, connection: usize, message: &[u8]) {
        const CREATE: usize = 5;
        for part in parts(message) {
            let part = &message[part];
            if u16_at(part, 12) == CREATE {
                let options = u32_at(part, 64 + 40);
                let (at, bytes) = (u16_at(part, 64 + 44), u16_at(part, 64 + 46));
                let name = part.get(at..at + bytes).unwrap_or_default();
                let is_itself = options & OPEN_REPARSE_POINT != 0;
                if let Some(point) = self.named(name, "CREATE", is_itself) {
                    self.objects.insert((connection, number_of(part)), point);
                }
            }
        }
    }

    fn reply_two(&mut self, connection: usize, message: &mut [u8]) {
        const CREATE: usize = 5;
        const QUERY_DIRECTORY: usize = 14;
        for part in parts(message) {
            let part = &mut message[part];
            if u32_at(part, 8) != 0 {
                continue;
            }
            let object = self.objects.remove(&(connection, number_of(part)));
            match (u16_at(part, 12), object) {
                (CREATE, Some(point)) => {
                    let attributes = u32_at(part, 64 + 56);
                    put(part, 64 + 56, attributes | REPARSE_POINT);
                    self.record(point);
                }
                (QUERY_DIRECTORY, _) if self.reported == ReparseState::Everywhere => {
                    let at = u16_at(part, 64 + 2);
                    let entries = part.get_mut(at..).unwrap_or_default();
                    for point in mark(entries, 68, &self.points) {
                        self.record(point);
                    }
                }
                _ => {}
            }
        }
    }

    /// SMB1 has no way to ask for the reparse point itself but a search, and to remove it.
    fn request_one(&mut self, connection: usize, message: &[u8]) {
        const TRANS2: u8 = 0x32;
        const FIND: [usize; 2] = [1, 2];
        const REMOVES: [u8; 2] = [0x01, 0x06];
        let command = message.get(4).copied().unwrap_or(0);
        let key = (connection, u16_at(message, 30) as u64);
        let is_search = command == TRANS2 && FIND.contains(&u16_at(message, 61));
        if is_search {
            self.searches.insert(key);
        }
        let is_itself = is_search || REMOVES.contains(&command);
        self.named(message, &format!("command {command:#x}"), is_itself);
    }

    fn reply_one(&mut self, connection: usize, message: &mut [u8]) {
        let key = (connection, u16_at(message, 30) as u64);
        if !self.searches.remove(&key) || u32_at(message, 5) != 0 {
            return;
        }
        let (bytes, at) = (u16_at(message, 33 + 12), u16_at(message, 33 + 14));
        let entries = message.get_mut(at..at + bytes).unwrap_or_default();
        for point in mark(entries, 94, &self.points) {
            self.record(point);
        }
    }
}

/// An SMB2 message's number.
fn number_of(part: &[u8]) -> u64 {
    u64::from(u32_at(part, 24)) | u64::from(u32_at(part, 28)) << 32
}

/// Where each message of a compound begins and ends.
fn parts(message: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    loop {
        match u32_at(message, from + 20) as usize {
            0 => {
                parts.push(from..message.len());
                return parts;
            }
            next => parts.push(from..from + next),
        }
        from += u32_at(message, from + 20) as usize;
    }
}

/// A plan that goes past a proxy which says these lies.
fn forged(
    samba: &Samba,
    dialect: Dialect,
    points: &[(&'static str, u32)],
    reported: ReparseState,
) -> (SmbPlan, SmbProxy, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut forger = ReparseProxy {
        points: points.to_vec(),
        reported,
        objects: BTreeMap::new(),
        searches: BTreeSet::new(),
        seen: seen.clone(),
    };
    let server = samba.address();
    let script = move |passing: &ProxiedMessage<'_>| forger.receive(passing);
    let proxy = samba
        .sandbox()
        .run(|| SmbProxy::start(server, script).expect("a proxy"));
    let plan = SmbPlan {
        port: proxy.address().port(),
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        ..plan(samba, dialect)
    };
    (plan, proxy, seen)
}

#[test]
fn reparse_points_of_every_kind_are_named_and_not_entered() {
    const DIRS: [(&str, u32); 4] = [
        ("d0000", NFS),
        ("p000004", DEDUP),
        ("p000005", MOUNT_POINT),
        ("p000006", UNKNOWN),
    ];
    // A file that the server has made one, as deduplication does.
    const FILES: [(&str, u32); 2] = [("n000007", DEDUP), ("n000008", LX_SYMLINK)];
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    let run = dir.join("filermark.claimed");
    let points = [&DIRS[..], &FILES[..]].concat();
    for dialect in DIALECTS {
        for reported in [ReparseState::Everywhere, ReparseState::WhenOpened] {
            // SMB1 says it in listings only.
            if (dialect, reported) == (Dialect::Nt1, ReparseState::WhenOpened) {
                continue;
            }
            leave_behind(&dir, 3);
            let old = old_run();
            for path in ["p000004", "p000005", "p000006"] {
                own(&run, path, &old);
                make(&run, &format!("{path}/n000001"), b"kept");
            }
            make(&run, "p000001/n000008", b"x");
            let (plan, proxy, seen) = forged(&samba, dialect, &points, reported);
            let report = samba
                .sandbox()
                .run(|| claim(&plan, Samba::SECOND).expect("claimed"));
            let case = format!("{dialect} {reported:?}");
            let foreign = report.not_ours.join("\n");
            for (path, file) in [
                ("p000000/d0000", "f0000000001"),
                ("p000004", "n000001"),
                ("p000005", "n000001"),
                ("p000006", "n000001"),
            ] {
                assert!(run.join(path).join(file).exists(), "{case}: {path}");
                let line = format!(
                    r"filermark.claimed\{} (it is a link, or over SMB another reparse point)",
                    path.replace('/', "\\")
                );
                assert!(foreign.contains(&line), "{case}: {foreign}");
            }
            // Names of ours in a directory of ours: the reparse point itself goes.
            assert!(!run.join("p000001").exists(), "{case}");
            let seen = seen.lock().expect("not poisoned");
            assert_eq!(seen.led, [""; 0], "{case}");
            let reported: Vec<&str> = seen.reported.keys().copied().collect();
            assert!(reported.len() >= DIRS.len(), "{case}: {reported:?}");
            drop(seen);
            drop(proxy);
            std::fs::remove_dir_all(&run).expect("removed");
        }
    }
}

#[test]
fn a_run_directory_that_is_a_reparse_point_is_refused() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    let run = dir.join("filermark.claimed");
    for dialect in DIALECTS {
        leave_behind(&dir, 3);
        let points = [("filermark.claimed", UNKNOWN)];
        let (plan, _proxy, seen) = forged(&samba, dialect, &points, ReparseState::Everywhere);
        samba.sandbox().run(|| {
            let error = claim(&plan, Samba::SECOND)
                .expect_err("refused")
                .to_string();
            assert!(error.contains("reparse point"), "{dialect}: {error}");
            let released = release(&plan, Samba::SECOND);
            assert!(
                run.join("p000001/n000007").exists(),
                "{dialect}: {released:?}"
            );
        });
        let seen = seen.lock().expect("not poisoned");
        assert_eq!(seen.led, [""; 0], "{dialect}");
        assert!(!seen.reported.is_empty(), "{dialect}");
        std::fs::remove_dir_all(&run).expect("removed");
    }
}

/// An owner file or a marker that is a reparse point is not read.
#[test]
fn an_owner_file_that_is_a_reparse_point_is_ignored() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let dir = samba.files(Samba::SECOND);
    let run = dir.join("filermark.claimed");
    for dialect in [Dialect::V202, Dialect::V311] {
        leave_behind(&dir, 3);
        let points = [(filermark_engine::name::MARKER, LX_SYMLINK)];
        let (plan, _proxy, seen) = forged(&samba, dialect, &points, ReparseState::Everywhere);
        samba.sandbox().run(|| {
            let error = claim(&plan, Samba::SECOND)
                .expect_err("refused")
                .to_string();
            assert!(
                error.contains("was not written by Filermark"),
                "{dialect}: {error}"
            );
        });
        assert!(run.join("p000001/n000007").exists(), "{dialect}");
        let seen = seen.lock().expect("not poisoned");
        assert_eq!(seen.led, [""; 0], "{dialect}");
        std::fs::remove_dir_all(&run).expect("removed");
    }
}

fn old_run() -> filermark_engine::driver::Claim {
    filermark_engine::driver::Claim {
        run_id: "20250101-old".into(),
        ..this_run()
    }
}

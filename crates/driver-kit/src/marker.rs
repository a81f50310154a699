//! The texts that identify directories of Filermark. All drivers write the same texts, so
//! that one driver recognizes the directories of another.
//!
//! The *marker* is the file [`MARKER`](filermark_engine::name::MARKER) in the run
//! directory. It names the run that made it, and it is a lease: host, process, start, and
//! a heartbeat that one client of the run increments. The *owner file* has the same name in
//! every directory below that INIT makes: it has the path of its directory and the nonce of
//! the run.

use crate::nonces::Nonces;
use crate::process::{self, Process};
use filermark_engine::driver::{Claim, ShardSetup};
use filermark_engine::name::{Name, NameKind};
use filermark_engine::owner::OWNER_BYTES;

/// The most bytes of a marker that are read.
pub const MARKER_BYTES_MAX: u32 = 4096;
/// The size of a marker, in bytes, unless its names are very long.
const MARKER_BYTES: usize = 1024;

const SECOND_LINE: &str = "Filermark, a file-server benchmark, made this directory";
const OWNER_FIRST_LINE: &str = "Filermark made this directory for a run";

/// The contents of a marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// The run.
    pub run: String,
    /// The name of the directory that it was written for.
    pub path: String,
    /// The nonce in the owner files below; empty in a marker of Filermark 0.1.
    pub nonce: String,
    /// The process that renews it.
    pub process: Process,
    /// When the run directory was claimed, UTC.
    pub started: String,
    /// How often it was renewed.
    pub heartbeat: u64,
    /// What the run does with the directory.
    pub state: State,
    /// More than one client of the run uses the directory: when the process that renews the
    /// marker has ended, the run may still be under way.
    pub shared: bool,
}

/// What a run does with its directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It uses it.
    #[default]
    Running,
    /// It removes what an earlier run left; the nonce is that of the earlier run.
    Emptying,
    /// It is over, and its files are kept (KEEP=on).
    Ended,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Emptying => "emptying",
            Self::Ended => "ended",
        }
    }

    fn of(word: &str) -> Self {
        let known = [Self::Emptying, Self::Ended].into_iter();
        known
            .clone()
            .find(|state| state.as_str() == word)
            .unwrap_or_default()
    }
}

/// The result of reading a file with the marker's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerText {
    /// A marker.
    Marker(Box<Marker>),
    /// The beginning of one, or nothing: it was being written when its run was killed.
    Cut,
    /// A file that Filermark has not written.
    NotOurs,
}

impl Marker {
    /// The marker of a claim that this process makes now.
    pub fn new(claim: &Claim, process: Process, started: String) -> Self {
        Self {
            run: claim.run_id.clone(),
            path: claim.dir_name.clone(),
            nonce: claim.nonce(),
            process,
            started,
            heartbeat: 0,
            state: State::Running,
            shared: false,
        }
    }

    /// Its text: the run first, then an explanation for readers, then the lease.
    ///
    /// Fields that clients change while the run is under way are at the end, each at a fixed
    /// place. Clients write only the bytes that change, so that two clients can change
    /// different fields at the same moment. For any other change the whole text is written.
    pub fn text(&self) -> String {
        let state = self.state.as_str();
        let shared = if self.shared { "yes" } else { "no" };
        let lease = format!(
            "heartbeat: {:010}\nstate: {state:<8}\nshared: {shared:<3}\n",
            self.heartbeat
        );
        let text = format!(
            "{}\n{SECOND_LINE} for a run and owns\n\
             everything in it. If that run is no longer under way it can be deleted:\n\
             rm -r {path}\n\
             path: {path}\nnonce: {}\nhost: {}\nprocess: {}\nsystem: {}\nstarted: {}\n",
            self.run,
            self.nonce,
            self.process.host,
            self.process.number_text(),
            self.process.system,
            self.started,
            path = self.path,
        );
        padded(text, MARKER_BYTES - lease.len()) + &lease
    }

    /// Parses the bytes of a file.
    pub fn read(bytes: &[u8]) -> MarkerText {
        if bytes.iter().all(|byte| *byte == 0) {
            return MarkerText::Cut;
        }
        let lines = std::str::from_utf8(bytes).ok();
        let Some((run, rest)) = lines.and_then(|text| text.split_once('\n')) else {
            return MarkerText::NotOurs;
        };
        if !rest.starts_with(SECOND_LINE) {
            // Long enough that no other file begins like this.
            let is_cut = rest.len() >= "Filermark".len() && SECOND_LINE.starts_with(rest);
            return if is_cut {
                MarkerText::Cut
            } else {
                MarkerText::NotOurs
            };
        }
        let value = |name: &str| {
            let mut lines = rest.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or("").trim().to_owned()
        };
        MarkerText::Marker(Box::new(Self {
            run: run.trim().to_owned(),
            path: value("path"),
            nonce: value("nonce"),
            process: Process::of(&value("host"), &value("system"), &value("process")),
            started: value("started"),
            heartbeat: value("heartbeat").parse().unwrap_or(0),
            state: State::of(&value("state")),
            shared: value("shared") == "yes",
        }))
    }

    /// Whether only heartbeat, state and `shared` may differ.
    pub fn is_same_lease(&self, other: &Self) -> bool {
        let own = |marker: &Self| Self {
            heartbeat: 0,
            state: State::Running,
            shared: false,
            ..marker.clone()
        };
        own(self) == own(other)
    }

    /// Increments the heartbeat.
    pub fn count_up(&mut self) {
        self.heartbeat = self.heartbeat.wrapping_add(1) % 10_000_000_000;
    }

    /// Who made the claim, where and when, as a part of a sentence.
    pub fn who(&self) -> String {
        if self.process.host.is_empty() {
            return format!("run {}", self.run);
        }
        format!(
            "run {} (process {} on host {}, since {})",
            self.run, self.process.pid, self.process.host, self.started
        )
    }
}

/// The marker of a claim, as this process writes it.
pub fn marker_text(claim: &Claim) -> String {
    let process = Process::this().clone();
    Marker::new(claim, process, process::utc_now()).text()
}

/// The run that a marker names; `None`: not a marker.
pub fn marker_run(bytes: &[u8]) -> Option<String> {
    match Marker::read(bytes) {
        MarkerText::Marker(marker) => Some(marker.run),
        MarkerText::Cut | MarkerText::NotOurs => None,
    }
}

/// The text of the owner file of a directory. `path` is relative to the directory of the
/// mount point, with slashes: `filermark.SUFFIX/p000000/d0003`.
pub fn owner_text(path: &str, nonce: &str) -> String {
    let text = format!("{OWNER_FIRST_LINE}\npath: {path}\nnonce: {nonce}\n");
    padded(text, OWNER_BYTES)
}

/// The texts of the owner files of a classical file set, for drivers that write them like
/// other files: INIT identifies such a file by a number (see
/// [`owner_number`](filermark_engine::owner::owner_number)).
#[derive(Clone, Debug, Default)]
pub struct OwnerTexts {
    dir_name: String,
    /// For each proc of the shard, since mount points may have different ones.
    nonces: Vec<String>,
}

impl OwnerTexts {
    /// For the procs of a shard.
    pub fn of(setup: &ShardSetup, nonces: &Nonces) -> Self {
        let procs = setup.procs.iter();
        Self {
            dir_name: setup.claim.dir_name.clone(),
            nonces: procs
                .map(|proc| nonces.of(&proc.mount, &setup.claim))
                .collect(),
        }
    }

    /// Appends `length` bytes at `offset` of the owner file with this number to `out`, for a
    /// proc of the shard by its index.
    pub fn append(&self, proc: u32, number: u64, (offset, length): (u64, u32), out: &mut Vec<u8>) {
        let text = |name: Name| String::from_utf8_lossy(name.text().as_bytes()).into_owned();
        let proc_dir = text(Name::new(
            NameKind::ProcDir,
            (number >> 32) as u32 & 0x7fff_ffff,
        ));
        let mut path = format!("{}/{proc_dir}", self.dir_name);
        if let Some(dir) = (number as u32).checked_sub(1) {
            path.push('/');
            path.push_str(&text(Name::new(NameKind::Dir, dir)));
        }
        let nonce = self.nonces.get(proc as usize).map_or("", String::as_str);
        let whole = owner_text(&path, nonce);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = whole.as_bytes().get(from..).unwrap_or_default();
        let count = bytes.len().min(length as usize);
        out.extend_from_slice(&bytes[..count]);
        out.resize(out.len() + length as usize - count, b' ');
    }
}

/// Pads a text to a size with blanks before its last line end.
fn padded(mut text: String, size: usize) -> String {
    if text.len() < size {
        let blanks = size - text.len() - 1;
        text.extend(std::iter::repeat_n(' ', blanks));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_engine::owner::owner_number;

    fn claim() -> Claim {
        Claim {
            dir_name: "filermark.mine".to_owned(),
            run_id: "20260101-abc".to_owned(),
        }
    }

    #[test]
    fn markers_are_recognised_and_other_files_are_not() {
        let text = marker_text(&claim());
        assert_eq!(marker_run(text.as_bytes()).as_deref(), Some("20260101-abc"));
        assert!(text.contains("rm -r filermark.mine"));
        for foreign in [
            &b"my own words"[..],
            b"20260101-abc\n",
            b"\xff\xfe\n",
            b"x\ny\n",
            b"x\nFilermark is fine\n",
        ] {
            assert_eq!(Marker::read(foreign), MarkerText::NotOurs, "{foreign:?}");
        }
        let cut = text.len() - text.find("benchmark").unwrap();
        for cut in [&b""[..], &[0; 1024], &text.as_bytes()[..text.len() - cut]] {
            assert_eq!(Marker::read(cut), MarkerText::Cut, "{cut:?}");
        }
    }

    /// Also writes them into the directory FILERMARK_FUZZ_SEEDS, for ci/fuzz.
    #[test]
    fn a_marker_comes_back_as_it_was_and_keeps_its_size() {
        let process = Process::of("alpha", "boot 1 pid:[2]", "77 from 12345");
        let mut marker = Marker::new(&claim(), process, "2026-11-23 00:55:09 UTC".to_owned());
        let size = marker.text().len();
        let mut fixed = None;
        for (heartbeat, state, shared) in [
            (0, State::Running, false),
            (999, State::Emptying, true),
            (12, State::Ended, false),
        ] {
            (marker.heartbeat, marker.state, marker.shared) = (heartbeat, state, shared);
            marker.process.pid = heartbeat as u32;
            let text = marker.text();
            let place = |line: &str| text.find(line);
            let places = ["\nheartbeat: ", "\nstate: ", "\nshared: "].map(place);
            assert_eq!(*fixed.get_or_insert(places), places, "{text}");
            let read = Marker::read(text.as_bytes());
            assert_eq!(read, MarkerText::Marker(Box::new(marker.clone())));
            assert_eq!(text.len(), size);
            if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
                let corpus = std::path::Path::new(&corpus).join("marker");
                std::fs::create_dir_all(&corpus).unwrap();
                std::fs::write(corpus.join(format!("{heartbeat}")), &text).unwrap();
            }
            assert!(!text.contains("Timestamp("), "{text}");
        }
        marker.process.pid = 77;
        assert_eq!(
            marker.who(),
            "run 20260101-abc (process 77 on host alpha, since 2026-11-23 00:55:09 UTC)"
        );
    }

    #[test]
    fn an_owner_file_holds_path_and_nonce_in_one_size() {
        let whole = owner_text("filermark.mine/p000007/d0003", &claim().nonce());
        assert_eq!(whole.len(), OWNER_BYTES);
        assert!(whole.contains("path: filermark.mine/p000007/d0003\n"));
        let mut parts = Vec::new();
        let texts = OwnerTexts {
            dir_name: claim().dir_name,
            nonces: vec![claim().nonce()],
        };
        let number = owner_number(7, Some(3));
        texts.append(0, number, (0, 100), &mut parts);
        texts.append(0, number, (100, 412), &mut parts);
        assert_eq!(parts, whole.as_bytes());
        let longest = format!("filermark.{}/p000007/d0003", "x".repeat(245));
        assert_eq!(owner_text(&longest, &claim().nonce()).len(), OWNER_BYTES);
    }
}

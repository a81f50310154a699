//! Probe files: a small file with a random name and random contents, which shows whether
//! clients have the same file system. The agent that created one removes it: when ordered to,
//! when the prime is gone, and when it is dropped.

use filermark_engine::driver::StopFlag;
use filermark_link::facts::{Probe, ProbeOutcome};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// How long a file system may take to create, read or remove a small file.
const FILE_MAX: Duration = Duration::from_secs(10);
/// How long a missing file is searched for: directories may be cached.
const SEARCH_MAX: Duration = Duration::from_secs(4);
/// Interval between two searches.
const LOOK: Duration = Duration::from_millis(100);

/// The probe files to remove.
#[derive(Debug, Default)]
pub(crate) struct ProbeFiles(Vec<Probe>);

impl ProbeFiles {
    /// Creates them.
    pub fn create(&mut self, probes: Vec<Probe>) -> Vec<ProbeOutcome> {
        let create = |probe: Probe| {
            let outcome = made(&probe);
            if outcome == ProbeOutcome::Done {
                self.0.push(probe);
            }
            outcome
        };
        probes.into_iter().map(create).collect()
    }

    /// Removes these, its own or not.
    pub fn remove(&mut self, probes: Vec<Probe>) -> Vec<ProbeOutcome> {
        self.0.retain(|created| !probes.contains(created));
        probes.iter().map(removed).collect()
    }

    /// Removes all that are left.
    pub fn remove_all(&mut self) {
        for probe in self.0.drain(..) {
            if let ProbeOutcome::Failed { reason } = removed(&probe) {
                tracing::warn!(target: "filermark_clients", "left behind: {reason}");
            }
        }
    }
}

impl Drop for ProbeFiles {
    fn drop(&mut self) {
        self.remove_all();
    }
}

/// Why no file can be created in a directory: creates one and removes it.
pub(super) fn unwritable(dir: &str) -> Option<String> {
    let Some(probe) = Probe::random(dir) else {
        return Some("no random numbers".into());
    };
    match made(&probe) {
        ProbeOutcome::Done => match removed(&probe) {
            ProbeOutcome::Failed { reason } => Some(reason),
            ProbeOutcome::Done | ProbeOutcome::Missing => None,
        },
        ProbeOutcome::Failed { reason } => Some(reason),
        ProbeOutcome::Missing => Some("the directory does not exist".into()),
    }
}

fn made(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return invalid_message(probe);
    };
    let (place, token) = (path.clone(), probe.token.clone());
    let made = within(move |is_waited_for| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let written = file
            .write_all(token.as_bytes())
            .and_then(|()| file.sync_all());
        // A file that took too long, or is empty, would not be removed later.
        if written.is_err() || !is_waited_for() {
            let _ = std::fs::remove_file(&path);
        }
        written
    });
    outcome(&place, "create a file", made)
}

fn removed(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return invalid_message(probe);
    };
    let place = path.clone();
    match within(move |_| std::fs::remove_file(&path)) {
        Some(Err(e)) if e.kind() == ErrorKind::NotFound => ProbeOutcome::Done,
        removed => outcome(&place, "remove", removed),
    }
}

/// Searches for the files of another client.
pub(super) fn find(probes: &[Probe], stop: &StopFlag) -> Vec<ProbeOutcome> {
    let until = Instant::now() + SEARCH_MAX;
    let look = |probe: &Probe| {
        loop {
            let found = find_one(probe);
            if found != ProbeOutcome::Missing || Instant::now() >= until || stop.is_raised() {
                return found;
            }
            std::thread::sleep(LOOK);
        }
    };
    probes.iter().map(look).collect()
}

fn find_one(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return invalid_message(probe);
    };
    let (place, token) = (path.clone(), probe.token.clone());
    let read = within(move |_| {
        let mut bytes = Vec::new();
        let file = File::open(&path)?;
        file.take(token.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == token.as_bytes())
    });
    match read {
        // The contents may be incomplete yet.
        Some(Ok(false)) => ProbeOutcome::Missing,
        Some(Err(e)) if e.kind() == ErrorKind::NotFound => ProbeOutcome::Missing,
        read => outcome(&place, "read", read),
    }
}

fn outcome<T>(path: &Path, step: &str, done: Option<std::io::Result<T>>) -> ProbeOutcome {
    let path = path.display();
    match done {
        Some(Ok(_)) => ProbeOutcome::Done,
        Some(Err(e)) => ProbeOutcome::Failed {
            reason: format!("{path}: {step}: {e}"),
        },
        None => ProbeOutcome::Failed {
            reason: format!(
                "{path}: {step}: not done within {} s; check that the server of the file system is up",
                FILE_MAX.as_secs()
            ),
        },
    }
}

fn invalid_message(probe: &Probe) -> ProbeOutcome {
    ProbeOutcome::Failed {
        reason: format!("{:?} is not the name of a probe file", probe.name),
    }
}

/// Runs work that may hang on a thread; `None`: it hangs. The work can ask whether the result
/// is still needed.
fn within<T: Send + 'static>(
    work: impl FnOnce(&dyn Fn() -> bool) -> std::io::Result<T> + Send + 'static,
) -> Option<std::io::Result<T>> {
    let (sender, result) = sync_channel(1);
    let until = Instant::now() + FILE_MAX;
    let body = move || {
        let done = work(&|| Instant::now() < until);
        let _ = sender.send(done);
    };
    if let Err(e) = std::thread::Builder::new().name("probe".into()).spawn(body) {
        return Some(Err(e));
    }
    // Longer than the limit that the work knows, so that its result is received.
    result.recv_timeout(FILE_MAX + LOOK).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let list = std::fs::read_dir(dir).expect("a directory");
        list.map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_probe_is_created_found_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let probe = Probe::random(dir.path().to_str().unwrap()).unwrap();
        let probes = || vec![probe.clone()];
        let mut created = ProbeFiles::default();
        assert_eq!(created.create(probes()), [ProbeOutcome::Done]);
        assert_eq!(names(dir.path()), std::slice::from_ref(&probe.name));
        let stop = StopFlag::new();
        assert_eq!(find(&probes(), &stop), [ProbeOutcome::Done]);
        let other = Probe {
            token: "of another run".into(),
            ..probe.clone()
        };
        stop.raise();
        assert_eq!(find(&[other], &stop), [ProbeOutcome::Missing]);
        assert_eq!(created.remove(probes()), [ProbeOutcome::Done]);
        assert!(names(dir.path()).is_empty());
        assert_eq!(find(&probes(), &stop), [ProbeOutcome::Missing]);
        assert_eq!(
            created.remove(probes()),
            [ProbeOutcome::Done],
            "a missing file counts as removed"
        );
    }

    #[test]
    fn a_dropped_probe_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let probe = Probe::random(dir.path().to_str().unwrap()).unwrap();
        let mut created = ProbeFiles::default();
        created.create(vec![probe]);
        assert_eq!(names(dir.path()).len(), 1);
        drop(created);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn only_probes_are_changed() {
        let dir = tempfile::tempdir().unwrap();
        let keep = dir.path().join("keep");
        std::fs::write(&keep, "mine").unwrap();
        for name in ["keep", "../keep", ".filermark-probe-/../keep"] {
            let probe = Probe {
                dir: dir.path().to_str().unwrap().into(),
                name: name.into(),
                token: "mine".into(),
            };
            let mut created = ProbeFiles::default();
            for outcomes in [
                created.create(vec![probe.clone()]),
                created.remove(vec![probe]),
            ] {
                assert!(matches!(outcomes[0], ProbeOutcome::Failed { .. }), "{name}");
            }
        }
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), "mine");
    }

    #[test]
    fn the_reason_why_a_directory_is_not_writable_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(dir.path().to_str().unwrap()), None);
        assert!(names(dir.path()).is_empty());
        let missing_dir = dir.path().join("gone");
        let why = unwritable(missing_dir.to_str().unwrap()).expect("no such directory");
        assert!(why.contains("create a file"), "{why}");
    }
}

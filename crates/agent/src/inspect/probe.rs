//! Probe files: a small file with a random name and random words, by which clients
//! see whether they have the same file system. Whoever laid one removes it, whatever
//! happens: when told to, when the prime is gone, and when it is dropped.

use filermark_engine::driver::StopFlag;
use filermark_link::facts::{Probe, ProbeOutcome};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// How long a file system may take to make, read or remove a small file.
const FILE_MAX: Duration = Duration::from_secs(10);
/// How long is looked for a file that is not seen at once: caches of directories.
const SIGHT_MAX: Duration = Duration::from_secs(4);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// The probe files that are to be removed.
#[derive(Debug, Default)]
pub(crate) struct ProbeFiles(Vec<Probe>);

impl ProbeFiles {
    /// Makes them.
    pub fn lay(&mut self, probes: Vec<Probe>) -> Vec<ProbeOutcome> {
        let lay = |probe: Probe| {
            let outcome = made(&probe);
            if outcome == ProbeOutcome::Done {
                self.0.push(probe);
            }
            outcome
        };
        probes.into_iter().map(lay).collect()
    }

    /// Removes these, its own or not.
    pub fn remove(&mut self, probes: Vec<Probe>) -> Vec<ProbeOutcome> {
        self.0.retain(|laid| !probes.contains(laid));
        probes.iter().map(removed).collect()
    }

    /// Removes all that are left.
    pub fn remove_all(&mut self) {
        for probe in self.0.drain(..) {
            if let ProbeOutcome::Failed { reason } = removed(&probe) {
                tracing::warn!(target: "filermark_cluster", "left behind: {reason}");
            }
        }
    }
}

impl Drop for ProbeFiles {
    fn drop(&mut self) {
        self.remove_all();
    }
}

/// Why no file can be made in a directory: makes one and removes it again.
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
        ProbeOutcome::Missing => Some("the directory is not there".into()),
    }
}

fn made(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return nonsense(probe);
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
        // Nobody will come back for a file that took too long, or has nothing in it.
        if written.is_err() || !is_waited_for() {
            let _ = std::fs::remove_file(&path);
        }
        written
    });
    outcome(&place, "make a file", made)
}

fn removed(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return nonsense(probe);
    };
    let place = path.clone();
    match within(move |_| std::fs::remove_file(&path)) {
        Some(Err(e)) if e.kind() == ErrorKind::NotFound => ProbeOutcome::Done,
        removed => outcome(&place, "remove", removed),
    }
}

/// Looks for the files of another client.
pub(super) fn find(probes: &[Probe], stop: &StopFlag) -> Vec<ProbeOutcome> {
    let until = Instant::now() + SIGHT_MAX;
    let look = |probe: &Probe| {
        loop {
            let found = seen(probe);
            if found != ProbeOutcome::Missing || Instant::now() >= until || stop.is_raised() {
                return found;
            }
            std::thread::sleep(LOOK);
        }
    };
    probes.iter().map(look).collect()
}

fn seen(probe: &Probe) -> ProbeOutcome {
    let Some(path) = probe.path() else {
        return nonsense(probe);
    };
    let (place, token) = (path.clone(), probe.token.clone());
    let read = within(move |_| {
        let mut bytes = Vec::new();
        let file = File::open(&path)?;
        file.take(token.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == token.as_bytes())
    });
    match read {
        // Not all of it may be there yet.
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
                "{path}: {step}: not done within {} s; is the server of the file system up?",
                FILE_MAX.as_secs()
            ),
        },
    }
}

fn nonsense(probe: &Probe) -> ProbeOutcome {
    ProbeOutcome::Failed {
        reason: format!("{:?} is no name of a probe file", probe.name),
    }
}

/// Does something that may hang, on a thread; `None`: it does. The work may ask
/// whether it is still waited for.
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
    // Longer than the work believes: what it leaves must be taken in.
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
    fn a_probe_is_laid_seen_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let probe = Probe::random(dir.path().to_str().unwrap()).unwrap();
        let probes = || vec![probe.clone()];
        let mut laid = ProbeFiles::default();
        assert_eq!(laid.lay(probes()), [ProbeOutcome::Done]);
        assert_eq!(names(dir.path()), std::slice::from_ref(&probe.name));
        let stop = StopFlag::new();
        assert_eq!(find(&probes(), &stop), [ProbeOutcome::Done]);
        let other = Probe {
            token: "of another run".into(),
            ..probe.clone()
        };
        stop.raise();
        assert_eq!(find(&[other], &stop), [ProbeOutcome::Missing]);
        assert_eq!(laid.remove(probes()), [ProbeOutcome::Done]);
        assert!(names(dir.path()).is_empty());
        assert_eq!(find(&probes(), &stop), [ProbeOutcome::Missing]);
        assert_eq!(laid.remove(probes()), [ProbeOutcome::Done], "gone is gone");
    }

    #[test]
    fn whoever_forgets_a_probe_loses_it() {
        let dir = tempfile::tempdir().unwrap();
        let probe = Probe::random(dir.path().to_str().unwrap()).unwrap();
        let mut laid = ProbeFiles::default();
        laid.lay(vec![probe]);
        assert_eq!(names(dir.path()).len(), 1);
        drop(laid);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn only_probes_are_touched() {
        let dir = tempfile::tempdir().unwrap();
        let keep = dir.path().join("keep");
        std::fs::write(&keep, "mine").unwrap();
        for name in ["keep", "../keep", ".filermark-probe-/../keep"] {
            let probe = Probe {
                dir: dir.path().to_str().unwrap().into(),
                name: name.into(),
                token: "mine".into(),
            };
            let mut laid = ProbeFiles::default();
            for outcomes in [laid.lay(vec![probe.clone()]), laid.remove(vec![probe])] {
                assert!(matches!(outcomes[0], ProbeOutcome::Failed { .. }), "{name}");
            }
        }
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), "mine");
    }

    #[test]
    fn it_is_told_why_nothing_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(dir.path().to_str().unwrap()), None);
        assert!(names(dir.path()).is_empty());
        let gone = dir.path().join("gone");
        let why = unwritable(gone.to_str().unwrap()).expect("no such directory");
        assert!(why.contains("make a file"), "{why}");
    }
}

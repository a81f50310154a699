//! Claiming a run's directory on a server, and giving it back.
//!
//! The safety of other people's data is decided here: a directory is ours only if
//! our marker file is in it, and in it only names that the engine makes
//! ([`Name::parse`](filermark_engine::name::Name::parse)) are ever removed.
//! Everything blocks; nothing here is measured.

mod empty;

use crate::client::{ClientError, FileClient, Removal, Reply};
use crate::target::{Patience, Service, Target, explain, refused};
use empty::Emptied;
use filermark_engine::driver::{Claim, ClaimReport, DriverError, Reach};
use filermark_engine::marker::{MARKER_BYTES_MAX, marker_run, marker_text};
use filermark_engine::name::{MARKER, RUN_DIR_PREFIX};
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_onc::nfs3::{Failed, Fh, Ftype3, Nfsstat3, Sattr3};
use std::time::Duration;

/// Reaches `mount`, makes the run's directory and marks it as ours: what
/// [`Driver::claim`](filermark_engine::driver::Driver::claim) promises.
///
/// # Errors
/// Unreachable, refused, read-only, full, not ours: one sentence each.
pub fn claim(
    plan: &NfsPlan,
    mount: &MountPoint,
    claim: &Claim,
) -> Result<ClaimReport, DriverError> {
    let target = Target::resolve(mount, plan)?;
    claim_at(plan, &target, claim).map(|(report, _)| report)
}

/// [`claim`] on a target that is resolved already; also the directory's handle.
///
/// # Errors
/// As [`claim`].
pub fn claim_at(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
) -> Result<(ClaimReport, Fh), DriverError> {
    let mut claimant = Claimant::new(plan, target, claim)?;
    let (dir, fresh) = claimant.find_or_make()?;
    let found = if fresh {
        Found::Free(Emptied::default())
    } else {
        claimant.take_over(&dir)?
    };
    let Found::Free(emptied) = found else {
        return Ok((claimant.report(Emptied::default()), dir));
    };
    if let Err(error) = claimant.write_marker(&dir) {
        if fresh {
            claimant.undo(&dir);
        }
        return Err(error);
    }
    Ok((claimant.report(emptied), dir))
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](filermark_engine::driver::Driver::release) promises.
///
/// # Errors
/// The server could not be reached or refused, or the directory belongs to
/// another run by now; names what stays.
pub fn release(
    plan: &NfsPlan,
    mount: &MountPoint,
    claim: &Claim,
    reach: Reach,
) -> Result<ClaimReport, DriverError> {
    let target = Target::resolve(mount, plan).map_err(|mut error| {
        error.advice = format!("{}/{} stays; {}", mount.path, claim.dir_name, error.advice);
        error
    })?;
    release_at(plan, &target, claim, reach)
}

/// [`release`] on a target that is resolved already.
///
/// # Errors
/// As [`release`].
pub fn release_at(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
    reach: Reach,
) -> Result<ClaimReport, DriverError> {
    let mut claimant = Claimant::new(plan, target, claim)?;
    let emptied = match claimant.find()? {
        None => Emptied::default(),
        Some(dir) => claimant.give_back(&dir, reach)?,
    };
    target.unmount(plan);
    Ok(claimant.report(emptied))
}

/// One claim being made or given back.
struct Claimant<'a> {
    plan: &'a NfsPlan,
    target: &'a Target,
    claim: &'a Claim,
    nfs: FileClient,
    patience: Patience,
}

/// What the marker file of a directory says.
enum Marker {
    /// There is none.
    Missing,
    /// Somebody's own file of that name.
    NotOurs,
    /// The run that it names.
    Run(String),
}

/// What a directory that was there before has become.
enum Found {
    /// Ours, without a marker of this run.
    Free(Emptied),
    /// This run's already: another client was faster.
    Joined,
}

/// Looks for a marker that another client is about to write.
const MARKER_LOOKS: u32 = 20;
/// Between two of them.
const MARKER_PAUSE: Duration = Duration::from_millis(50);

impl<'a> Claimant<'a> {
    fn new(plan: &'a NfsPlan, target: &'a Target, claim: &'a Claim) -> Result<Self, DriverError> {
        let name = &claim.dir_name;
        // A name that led elsewhere would make us clear the wrong place.
        if !name.starts_with(RUN_DIR_PREFIX) || name.contains('/') || name.len() > 255 {
            return Err(DriverError {
                place: target.mount.to_string(),
                step: "claim the run's directory".to_owned(),
                reason: format!("{name:?} is no name for it"),
                advice: "use letters, digits, '.', '_' and '-' in the suffix".to_owned(),
            });
        }
        Ok(Self {
            plan,
            target,
            claim,
            nfs: target.file_client(plan),
            patience: Patience::of(plan),
        })
    }

    /// The run's directory, for error messages.
    fn place(&self) -> String {
        format!("{}/{}", self.target.mount, self.claim.dir_name)
    }

    /// Makes a call with patience; turns its failures into sentences, except the
    /// statuses in `wanted`.
    fn ask<O, F>(
        &mut self,
        step: &str,
        wanted: &[Nfsstat3],
        mut call: impl FnMut(&mut FileClient) -> Reply<O, F>,
    ) -> Result<Result<O, Nfsstat3>, DriverError> {
        let nfs = &mut self.nfs;
        let reply = self.patience.call(|| call(nfs));
        match reply {
            Ok(Ok(ok)) => Ok(Ok(ok)),
            Ok(Err(failed)) if wanted.contains(&failed.status) => Ok(Err(failed.status)),
            Ok(Err(failed)) => Err(self.refused(step, &failed)),
            Err(error) => Err(self.lost(step, &error)),
        }
    }

    fn refused<F>(&self, step: &str, failed: &Failed<F>) -> DriverError {
        refused(&self.place(), step, failed.status, self.plan)
    }

    fn lost(&self, step: &str, error: &ClientError) -> DriverError {
        let address = self.target.nfs_address;
        explain(&self.place(), step, Service::Nfs, address, error)
    }

    fn find(&mut self) -> Result<Option<Fh>, DriverError> {
        let (root, name) = (self.target.root, self.claim.dir_name.clone());
        let found = self.ask("look for the run's directory", &[Nfsstat3::Noent], |nfs| {
            nfs.lookup(&root, name.as_bytes())
        })?;
        let Ok(found) = found else { return Ok(None) };
        let step = "look at the run's directory";
        let attributes = match found.obj_attributes {
            Some(attributes) => attributes,
            None => match self.ask(step, &[], |nfs| nfs.getattr(&found.object))? {
                Ok(attributes) => attributes,
                Err(_) => return Ok(None),
            },
        };
        if attributes.ftype != Ftype3::Dir {
            return Err(self.not_ours(step, "it is not a directory".to_owned()));
        }
        Ok(Some(found.object))
    }

    fn not_ours(&self, step: &str, reason: String) -> DriverError {
        DriverError {
            place: self.place(),
            step: step.to_owned(),
            reason,
            advice: "Filermark leaves it alone: choose another suffix (-s), or move it away"
                .to_owned(),
        }
    }

    /// The directory, and whether it was made just now.
    fn find_or_make(&mut self) -> Result<(Fh, bool), DriverError> {
        if let Some(dir) = self.find()? {
            return Ok((dir, false));
        }
        let (root, name) = (self.target.root, self.claim.dir_name.clone());
        let made = self.ask("make the run's directory", &[Nfsstat3::Exist], |nfs| {
            nfs.mkdir(&root, name.as_bytes(), Sattr3::mode(0o755))
        })?;
        match made.map(|made| made.obj) {
            Ok(Some(dir)) => Ok((dir, true)),
            // The server gives no handle, or somebody else was faster (or our own
            // first call was executed and its answer lost).
            made => match self.find()? {
                Some(dir) => Ok((dir, made.is_ok())),
                None => Err(self.not_ours(
                    "make the run's directory",
                    "it was made and is gone again".to_owned(),
                )),
            },
        }
    }

    /// Takes back a directory that was made just now. Best effort.
    fn undo(&mut self, dir: &Fh) {
        let root = self.target.root;
        let _ = self.nfs.remove(Removal::File, dir, MARKER.as_bytes());
        let name = self.claim.dir_name.as_bytes();
        let _ = self.nfs.remove(Removal::Dir, &root, name);
    }

    /// Checks that a directory that was there before is ours, and empties it.
    fn take_over(&mut self, dir: &Fh) -> Result<Found, DriverError> {
        match self.marker_in_time(dir)? {
            Marker::Run(run) if run == self.claim.run_id => Ok(Found::Joined),
            Marker::Run(_) => self.empty(dir).map(Found::Free),
            Marker::NotOurs => Err(self.not_ours(
                "claim the run's directory",
                format!("the {MARKER} in it was not written by Filermark"),
            )),
            Marker::Missing => {
                let names = self.some_names(dir)?;
                if names.is_empty() {
                    return Ok(Found::Free(Emptied::default()));
                }
                Err(self.not_ours(
                    "claim the run's directory",
                    format!("it has no {MARKER} and is not empty ({})", names.join(", ")),
                ))
            }
        }
    }

    /// The marker; one that another client is writing at this moment is waited for a
    /// little.
    fn marker_in_time(&mut self, dir: &Fh) -> Result<Marker, DriverError> {
        for _ in 0..MARKER_LOOKS {
            let marker = self.read_marker(dir)?;
            let unwritten = match &marker {
                Marker::Run(_) => false,
                Marker::NotOurs => self.marker_is_empty(dir),
                Marker::Missing => !self.some_names(dir)?.is_empty(),
            };
            if !unwritten {
                return Ok(marker);
            }
            std::thread::sleep(MARKER_PAUSE);
        }
        self.read_marker(dir)
    }

    fn marker_is_empty(&mut self, dir: &Fh) -> bool {
        let found = self.nfs.lookup(dir, MARKER.as_bytes());
        let Ok(Ok(found)) = found else { return false };
        let size = |attr: Option<_>| attr.map(|a: filermark_onc::nfs3::Fattr3| a.size);
        size(found.obj_attributes) == Some(0)
    }

    fn read_marker(&mut self, dir: &Fh) -> Result<Marker, DriverError> {
        let step = "read the marker file";
        let found = self.ask(step, &[Nfsstat3::Noent], |nfs| {
            nfs.lookup(dir, MARKER.as_bytes())
        })?;
        let Ok(found) = found else {
            return Ok(Marker::Missing);
        };
        let read = self.ask(
            step,
            &[Nfsstat3::Isdir, Nfsstat3::Inval, Nfsstat3::Noent],
            |nfs| nfs.read(&found.object, 0, MARKER_BYTES_MAX),
        )?;
        Ok(match read.as_ref().map(|read| marker_run(&read.data)) {
            Ok(Some(run)) => Marker::Run(run),
            _ => Marker::NotOurs,
        })
    }

    fn write_marker(&mut self, dir: &Fh) -> Result<(), DriverError> {
        let step = "write the marker file";
        let attributes = Sattr3 {
            mode: Some(0o644),
            size: Some(0),
            ..Sattr3::default()
        };
        let made = self.ask(step, &[], |nfs| {
            nfs.create(dir, MARKER.as_bytes(), attributes)
        })?;
        let file = match made.map(|made| made.obj) {
            Ok(Some(file)) => file,
            _ => match self.ask(step, &[], |nfs| nfs.lookup(dir, MARKER.as_bytes()))? {
                Ok(found) => found.object,
                Err(status) => return Err(self.refused(step, &Failed::<()>::new(status))),
            },
        };
        let text = marker_text(self.claim);
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let offset = (text.len() - rest.len()) as u64;
            let wrote = self.ask(step, &[], |nfs| nfs.write(&file, offset, rest))?;
            let count = wrote.map_or(0, |wrote| wrote.count as usize);
            if count == 0 {
                return Err(DriverError {
                    place: self.place(),
                    step: step.to_owned(),
                    reason: "the server took none of its bytes".to_owned(),
                    advice: "is its disk full? Look at its log".to_owned(),
                });
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Empties and removes the directory if it is this run's.
    fn give_back(&mut self, dir: &Fh, reach: Reach) -> Result<Emptied, DriverError> {
        let step = "remove the run's directory";
        match self.read_marker(dir)? {
            Marker::Run(run) if run == self.claim.run_id => {}
            Marker::Run(run)
                if reach == Reach::Leftovers && run.starts_with(&self.claim.run_id) => {}
            Marker::Run(run) => {
                return Err(self.not_ours(step, format!("it belongs to run {run}")));
            }
            // A release that was cut between its two last steps.
            Marker::Missing if self.some_names(dir)?.is_empty() => {}
            Marker::NotOurs | Marker::Missing => {
                return Err(self.not_ours(step, format!("our {MARKER} in it is gone")));
            }
        }
        let others = |name: &String| name != MARKER;
        if reach == Reach::Rest && self.some_names(dir)?.iter().any(others) {
            return Ok(Emptied::default());
        }
        let emptied = self.empty(dir)?;
        // While something foreign stays, the marker stays too: the next run may
        // come back to the same directory.
        if !emptied.foreign.is_empty() {
            return Ok(emptied);
        }
        let (root, name) = (self.target.root, self.claim.dir_name.clone());
        let gone = &[Nfsstat3::Noent, Nfsstat3::Stale];
        let _ = self.ask("remove the marker file", gone, |nfs| {
            nfs.remove(Removal::File, dir, MARKER.as_bytes())
        })?;
        let _ = self.ask(step, gone, |nfs| {
            nfs.remove(Removal::Dir, &root, name.as_bytes())
        })?;
        Ok(emptied)
    }

    fn report(&self, emptied: Emptied) -> ClaimReport {
        ClaimReport {
            removed_count: emptied.removed_count,
            foreign: emptied.foreign,
            transfer_bytes: (self.target.rsize, self.target.wsize),
            space: self.target.space(),
            server_facts: self.target.facts(),
            lacking: self.target.warnings(),
        }
    }
}

//! Emptying a directory of what is ours: bounded in memory whatever its size,
//! many removals at a time, and at ease with entries that vanish meanwhile.

use super::Claimant;
use crate::client::Removal;
use filermark_engine::driver::DriverError;
use filermark_engine::name::{MARKER, Name};
use filermark_onc::nfs3::{Failed, Fh, Ftype3, Nfsstat3, Verf};

/// Foreign names that are told; more are only counted.
const FOREIGN_TOLD_MAX: usize = 20;
/// Answers to READDIR that are taken for one pass over a directory, and passes.
/// No sound server comes near: each pass leaves less than half of the entries
/// even where removing makes the server skip some.
const PARTS_MAX: usize = 1 << 20;
const PASSES_MAX: usize = 200;
/// Our own layout is three deep; deeper nesting is not ours.
const DEPTH_MAX: usize = 8;

/// What emptying came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Emptied {
    /// Objects that were removed.
    pub removed_count: u64,
    /// Names that are not ours, with their place.
    pub foreign: Vec<String>,
    foreign_untold: u64,
}

impl Emptied {
    fn leave(&mut self, place: String) {
        if self.foreign.contains(&place) {
            return;
        }
        if self.foreign.len() < FOREIGN_TOLD_MAX {
            self.foreign.push(place);
        } else {
            self.foreign_untold += 1;
        }
    }
}

const fn step_of(kind: Removal) -> &'static str {
    match kind {
        Removal::File => "remove leftovers",
        Removal::Dir => "remove leftover directories",
    }
}

/// A part of a directory: names, and where it goes on.
struct Part {
    names: Vec<Vec<u8>>,
    next: Option<(u64, Verf)>,
}

impl Claimant<'_> {
    /// Removes everything below `dir` that is ours, except the marker.
    pub(super) fn empty(&mut self, dir: &Fh) -> Result<Emptied, DriverError> {
        let mut emptied = Emptied::default();
        let place = self.claim.dir_name.clone();
        self.empty_dir(dir, &place, 0, &mut emptied)?;
        if emptied.foreign_untold > 0 {
            let more = format!("{place}: and {} more names", emptied.foreign_untold);
            emptied.foreign.push(more);
        }
        Ok(emptied)
    }

    /// One directory, pass by pass: removing entries while listing may make a
    /// server skip some, so it is listed again until nothing of ours turns up.
    /// Tells whether it is empty now (the marker aside).
    fn empty_dir(
        &mut self,
        dir: &Fh,
        place: &str,
        depth: usize,
        emptied: &mut Emptied,
    ) -> Result<bool, DriverError> {
        for _ in 0..PASSES_MAX {
            let before = emptied.removed_count;
            let mut left = 0u64;
            let mut from = Some((0, Verf::default()));
            for _ in 0..PARTS_MAX {
                let Some(start) = from else { break };
                let Some(part) = self.list_part(dir, start)? else {
                    break;
                };
                from = part.next;
                left += self.clear_part(dir, place, depth, &part.names, emptied)?;
            }
            if emptied.removed_count == before {
                return Ok(left == 0);
            }
        }
        Err(DriverError {
            place: format!("{}/{place}", self.target.mount),
            step: "remove leftovers".to_owned(),
            reason: format!("it does not become empty in {PASSES_MAX} passes"),
            advice: "is another run at work in it? Choose another suffix (-s)".to_owned(),
        })
    }

    /// Removes what is ours among `names`; tells how many entries stay.
    fn clear_part(
        &mut self,
        dir: &Fh,
        place: &str,
        depth: usize,
        names: &[Vec<u8>],
        emptied: &mut Emptied,
    ) -> Result<u64, DriverError> {
        let mut files = Vec::new();
        let mut dirs = Vec::new();
        let mut left = 0;
        for name in names {
            match Name::parse(name) {
                Some(ours) if ours.kind.is_dir() => dirs.push(name),
                Some(_) => files.push(name.as_slice()),
                None if depth == 0 && name == MARKER.as_bytes() => {}
                None => {
                    left += 1;
                    emptied.leave(told(place, name));
                }
            }
        }
        left += self.remove_row(Removal::File, dir, place, &files, emptied)?;
        let mut hollow = Vec::new();
        for name in dirs {
            if self.empty_below(dir, place, depth, name, emptied)? {
                hollow.push(name.as_slice());
            } else {
                left += 1;
            }
        }
        left += self.remove_row(Removal::Dir, dir, place, &hollow, emptied)?;
        Ok(left)
    }

    /// Empties the directory `name` in `dir`; tells whether it may be removed.
    fn empty_below(
        &mut self,
        dir: &Fh,
        place: &str,
        depth: usize,
        name: &[u8],
        emptied: &mut Emptied,
    ) -> Result<bool, DriverError> {
        if depth >= DEPTH_MAX {
            emptied.leave(told(place, name));
            return Ok(false);
        }
        let step = "look at a leftover";
        let found = self.ask(step, &[Nfsstat3::Noent], |nfs| nfs.lookup(dir, name))?;
        let Ok(found) = found else { return Ok(true) };
        let is_dir = match found.obj_attributes {
            Some(attributes) => attributes.ftype == Ftype3::Dir,
            // Then RMDIR will find out.
            None => true,
        };
        if !is_dir {
            emptied.leave(told(place, name));
            return Ok(false);
        }
        self.empty_dir(&found.object, &told(place, name), depth + 1, emptied)
    }

    /// Removes a row of names from a directory; tells how many stay: gone is
    /// gone, a name of ours that is something else is left, JUKEBOX is asked
    /// again, the rest is a failure.
    fn remove_row(
        &mut self,
        kind: Removal,
        dir: &Fh,
        place: &str,
        names: &[&[u8]],
        emptied: &mut Emptied,
    ) -> Result<u64, DriverError> {
        const LEFT: [Nfsstat3; 4] = [
            Nfsstat3::Isdir,
            Nfsstat3::Notdir,
            Nfsstat3::Notempty,
            Nfsstat3::Exist,
        ];
        let step = step_of(kind);
        let mut left = 0;
        let statuses = self.send_row(kind, dir, names)?;
        for (name, mut status) in names.iter().zip(statuses) {
            if status == Nfsstat3::Jukebox {
                let all = [&LEFT[..], &[Nfsstat3::Noent]].concat();
                let again = self.ask(step, &all, |nfs| nfs.remove(kind, dir, name))?;
                status = again.err().unwrap_or(Nfsstat3::Ok);
            }
            match status {
                Nfsstat3::Ok => emptied.removed_count += 1,
                Nfsstat3::Noent => {}
                status if LEFT.contains(&status) => {
                    left += 1;
                    emptied.leave(told(place, name));
                }
                status => return Err(self.refused(step, &Failed::<()>::new(status))),
            }
        }
        Ok(left)
    }

    /// Sends removals, many at a time; the status of each. After a lost connection
    /// those without an answer go again: what is gone by then answers
    /// NFS3ERR_NOENT, which is as good.
    fn send_row(
        &mut self,
        kind: Removal,
        dir: &Fh,
        names: &[&[u8]],
    ) -> Result<Vec<Nfsstat3>, DriverError> {
        let step = step_of(kind);
        let mut statuses = vec![None; names.len()];
        let mut open: Vec<usize> = (0..names.len()).collect();
        let mut attempt = 0;
        loop {
            let now: Vec<&[u8]> = open
                .iter()
                .filter_map(|&at| names.get(at).copied())
                .collect();
            let sent = self.nfs.remove_many(kind, dir, &now, |number, status| {
                let slot = open.get(number).and_then(|&at| statuses.get_mut(at));
                if let Some(slot) = slot {
                    *slot = Some(status);
                }
            });
            let before = open.len();
            open.retain(|&at| statuses.get(at).is_some_and(Option::is_none));
            match sent {
                Ok(()) => break,
                Err(error) if error.is_worth_a_retry() => {
                    attempt = if open.len() < before { 0 } else { attempt + 1 };
                    if attempt > self.plan.rpc_retries {
                        return Err(self.lost(step, &error));
                    }
                }
                Err(error) => return Err(self.lost(step, &error)),
            }
        }
        Ok(statuses.into_iter().flatten().collect())
    }

    /// The names from a cookie on; `None` if the cookie is no longer good (the
    /// next pass begins anew).
    fn list_part(&mut self, dir: &Fh, from: (u64, Verf)) -> Result<Option<Part>, DriverError> {
        let bytes = self.target.dir_bytes();
        let step = "list the run's directory";
        let gone = [
            Nfsstat3::BadCookie,
            Nfsstat3::NotSync,
            Nfsstat3::Noent,
            Nfsstat3::Stale,
        ];
        let wanted: &[Nfsstat3] = if from.0 == 0 { &gone[2..] } else { &gone };
        let listing = match self.ask(step, wanted, |nfs| nfs.readdir(dir, from, bytes))? {
            Ok(listing) => listing,
            Err(_) => return Ok(None),
        };
        let last = listing.entries.last().map(|entry| entry.cookie);
        let next = match last {
            // A cookie that leads to itself would never end.
            Some(cookie) if !listing.eof && cookie != from.0 => Some((cookie, listing.cookieverf)),
            _ => None,
        };
        let names = listing.entries.into_iter().map(|entry| entry.name);
        Ok(Some(Part {
            names: names.filter(|name| name != b"." && name != b"..").collect(),
            next,
        }))
    }

    /// A few of the names in a directory, for a message.
    pub(super) fn some_names(&mut self, dir: &Fh) -> Result<Vec<String>, DriverError> {
        const SHOWN: usize = 4;
        let mut from = Some((0, Verf::default()));
        for _ in 0..PARTS_MAX {
            let Some(start) = from else { break };
            let Some(part) = self.list_part(dir, start)? else {
                break;
            };
            if !part.names.is_empty() {
                let shown = part.names.iter().take(SHOWN);
                return Ok(shown.map(|name| printable(name)).collect());
            }
            from = part.next;
        }
        Ok(Vec::new())
    }
}

fn told(place: &str, name: &[u8]) -> String {
    format!("{place}/{}", printable(name))
}

/// A name for people: what is not printable is escaped.
fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).escape_debug().to_string()
}

//! READDIR.

use super::ops::{Common, Entries, ListedEntry};
use crate::validate::bench::Bench;
use crate::validate::listing::{self, name};
use crate::validate::text::{is_dot, shown};
use filermark_driver_kit::checks::{Outcome, Stop};

/// Size of an answer that holds a small directory, in bytes.
const LARGE: u32 = 8192;

/// Creates files in the check's directory, with the names of these numbers.
pub(in crate::validate) fn fill<V: Common>(b: &mut Bench<'_, V>, count: usize) -> Outcome {
    for number in 0..count {
        b.file(&name(number))?;
    }
    Ok(())
}

/// Requires every name of `wanted` exactly once, no other name, and "." and ".." at most once.
pub(in crate::validate) fn each_once<P>(
    wanted: impl Iterator<Item = Vec<u8>>,
    entries: &[ListedEntry<P>],
) -> Outcome {
    listing::each_once(wanted, entries.iter().map(|entry| &entry.name[..]))
}

/// All entries in answers of `count` bytes, and the number of answers.
pub(in crate::validate) fn in_parts<V: Common>(
    b: &mut Bench<'_, V>,
    dir: &V::Handle,
    count: u32,
) -> Result<(Entries<V>, usize), Stop> {
    let mut all = Vec::new();
    let mut from = V::START;
    for parts in 1..=2000 {
        let part = b.done("READDIR", |nfs| V::readdir(nfs, dir, from, count))?;
        let last = part.entries.last().map(|entry| entry.next);
        all.extend(part.entries);
        match last {
            _ if part.eof => return Ok((all, parts)),
            Some(next) => from = next,
            None => return Err(Stop::fail("READDIR: entries, or eof", "neither")),
        }
    }
    Err(Stop::fail("READDIR: an end", "none after 2000 answers"))
}

/// A directory of `entries` files in answers of `count` bytes.
pub(in crate::validate) fn all_once<V: Common>(
    b: &mut Bench<'_, V>,
    entries: usize,
    count: u32,
) -> Outcome {
    let dir = b.dir;
    fill(b, entries)?;
    let (listed, parts) = in_parts(b, &dir, count)?;
    each_once((0..entries).map(name), &listed)?;
    b.holds(
        parts > 1,
        &format!("more than one answer of {count} bytes for {entries} entries"),
        parts,
    )?;
    if !listed.iter().any(|entry| is_dot(&entry.name)) {
        b.note("'.' and '..' are not listed");
    }
    Ok(())
}

/// A directory that is listed in answers of `count` bytes goes on after any of its entries.
pub(in crate::validate) fn resume<V: Common>(b: &mut Bench<'_, V>, count: u32) -> Outcome {
    let dir = b.dir;
    fill(b, 30)?;
    let (all, _) = in_parts(b, &dir, count)?;
    for (at, entry) in all.iter().enumerate() {
        let part = b.done("READDIR from a cookie", |nfs| {
            V::readdir(nfs, &dir, entry.next, LARGE)
        })?;
        let wanted = all.get(at + 1).map(|next| shown(&next.name));
        let got = part.entries.first().map(|next| shown(&next.name));
        b.equal(
            &format!("the name after {}", shown(&entry.name)),
            wanted,
            got,
        )?;
    }
    Ok(())
}

pub(in crate::validate) fn empty<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let (entries, _) = in_parts(b, &dir, LARGE)?;
    each_once(std::iter::empty(), &entries)
}

pub(in crate::validate) fn fileids<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    let file = b.file(b"file")?;
    let wanted = [
        (&b"below"[..], b.facts(&below)?.fileid),
        (b"file", b.facts(&file)?.fileid),
        (b".", b.facts(&dir)?.fileid),
    ];
    let (entries, _) = in_parts(b, &dir, LARGE)?;
    for (name, fileid) in wanted {
        let listed = entries.iter().find(|entry| entry.name == name);
        match listed {
            Some(entry) => b.equal(&format!("fileid of {}", shown(name)), fileid, entry.fileid)?,
            None if name == b"." => {}
            None => {
                return Err(Stop::fail(
                    format!("{} to be listed", shown(name)),
                    "it is not",
                ));
            }
        }
    }
    Ok(())
}

pub(in crate::validate) fn notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("READDIR of a file", &[V::NOTDIR], |nfs| {
        V::readdir(nfs, &file, V::START, 4096)
    })
    .map(drop)
}

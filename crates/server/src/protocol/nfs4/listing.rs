//! READDIR (RFC 8881 section 18.23): as many entries as fit the client's limit.

use super::super::listing::max_listing;
use super::attributes::Source;
use super::compound::{Compound, Results};
use super::handles::{EXPORT_FILEID, Object, export_name};
use super::status;
use crate::memfs::{DirEntry, FsError, Listing};
use filermark_onc::nfs3::DirListWriter;
use filermark_onc::nfs4::*;
use std::sync::Arc;

/// Bytes of an entry besides its name: marker, cookie, lengths, and an empty set of attributes.
const ENTRY_BYTES: usize = 4 + 8 + 4 + 4 + 4;
/// The last cookie that version 4 does not use: `.` and `..` are not listed.
const RESERVED_COOKIES: u64 = 2;
/// Number, status and end of the results.
const FRAME_BYTES: u32 = 16;

impl Compound<'_> {
    /// The entries of a directory behind the cookie.
    fn list(&self, args: &ReaddirArgs, max_bytes: u32) -> Res<Listing> {
        let (dir, cookie) = (self.current()?, args.cookie);
        match self.must_be_dir(dir) {
            Err(Nfsstat4::Symlink) => return Err(Nfsstat4::Notdir),
            other => other?,
        }
        if (1..=RESERVED_COOKIES).contains(&cookie) {
            return Err(Nfsstat4::BadCookie);
        }
        let Object::File(id) = dir else {
            return Ok(self.list_root(cookie));
        };
        let verifier = (cookie != 0).then_some(u64::from_be_bytes(args.cookieverf));
        let mut left = max_bytes as usize;
        let take = |entry: &DirEntry| {
            let bytes = ENTRY_BYTES + entry.name.len();
            let is_first = left == max_bytes as usize;
            let fits = is_first || bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        };
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let from = cookie.max(RESERVED_COOKIES);
        let (_, listed) = fs.readdir(id, from, verifier, &cred, true, take);
        listed.map_err(|error| match error {
            FsError::BadCookie => Nfsstat4::NotSame,
            error => status(error),
        })
    }

    /// The root has one entry.
    fn list_root(&self, cookie: u64) -> Listing {
        let fs = &self.cx.shared.fs;
        let export = DirEntry {
            name: Arc::from(export_name()),
            cookie: RESERVED_COOKIES + 1,
            id: fs.root(),
            attr: fs.getattr(fs.root()).ok(),
        };
        let is_left = cookie < export.cookie;
        Listing {
            entries: is_left.then_some(export).into_iter().collect(),
            eof: true,
            verifier: EXPORT_FILEID,
        }
    }

    pub(super) fn readdir(&self, args: &ReaddirArgs, results: &mut Results<'_>) -> Nfsstat4 {
        let left = u32::try_from(self.space_left(results)).unwrap_or(u32::MAX);
        let max_bytes = args
            .maxcount
            .min(max_listing(&self.cx))
            .min(left.saturating_sub(FRAME_BYTES));
        let listed = self
            .source(args.attr_request)
            .and_then(|source| Ok((self.list(args, max_bytes)?, source)));
        let (listing, source) = match listed {
            Ok(listed) => listed,
            Err(status) => return results.fail(Operation::Readdir, status),
        };
        let mut fits = true;
        let mark = results.mark();
        let written = results.with(Operation::Readdir, |out| {
            fits = write(&listing, &source, args.attr_request, max_bytes, out);
        });
        if !fits {
            results.reset(mark);
            return results.fail(Operation::Readdir, Nfsstat4::Toosmall);
        }
        written
    }
}

/// Appends the results. `false`: no entry fits, though there is one.
fn write(
    listing: &Listing,
    source: &Source<'_>,
    want: Bitmap4,
    max_bytes: u32,
    out: &mut Vec<u8>,
) -> bool {
    let verifier = listing.verifier.to_be_bytes();
    let mut writer = DirListWriter::begin_v4(out, verifier, max_bytes);
    let all = listing.entries.iter().all(|entry| match &entry.attr {
        // It was removed since; there is no such moment, as the list is made under one lock.
        None => true,
        Some(attr) => source.with(want, (Object::File(entry.id), attr), |values| {
            writer.push(&Entry4 {
                cookie: entry.cookie,
                name: &entry.name,
                attrs: Fattr4::new(values),
            })
        }),
    });
    let is_stuck = writer.is_empty() && !(all && listing.eof);
    // What is too small for the end of the list, too.
    let is_too_small = (max_bytes as usize) < verifier.len() + 8;
    writer.finish(all && listing.eof);
    !is_stuck && !is_too_small
}

//! Calls of version 3 for files that clients of version 4 have delegations of: these are recalled first
//! (RFC 8881 section 10.2), and the caller tries again after NFS3ERR_JUKEBOX.

use super::context::{Caller, Shared};
use super::convert::file_id;
use crate::memfs::FileId;
use crate::nfs4::{FileUse, Undelegated};
use filermark_onc::nfs3::*;

impl Shared {
    /// The files that a call is about as far as delegations are concerned, and what it does with them.
    fn used_by(&self, args: &Args<'_>, caller: &Caller) -> Option<([Option<FileId>; 2], FileUse)> {
        let named = |place: &Diropargs3<'_>| {
            let dir = file_id(&place.dir).ok()?;
            let found = self.fs.lookup(dir, place.name, &caller.cred()).1;
            found.ok().map(|found| found.id)
        };
        let by_handle = |file: &FileHandle<'_>| [file_id(file).ok(), None];
        Some(match args {
            Args::Getattr(args) => (by_handle(&args.object), FileUse::Read),
            Args::Read(args) => (by_handle(&args.file), FileUse::Read),
            Args::Setattr(args) => (by_handle(&args.object), FileUse::Change),
            Args::Write(args) => (by_handle(&args.file), FileUse::Change),
            Args::Link(args) => (by_handle(&args.file), FileUse::Change),
            Args::Remove(args) => ([named(&args.object), None], FileUse::Change),
            Args::Rename(args) => ([named(&args.from), named(&args.to)], FileUse::Change),
            Args::Create(args) if matches!(args.how, Createhow3::Unchecked(_)) => {
                ([named(&args.location), None], FileUse::Change)
            }
            _ => return None,
        })
    }

    /// No delegation is in the way of a call, and none is granted while the result lives.
    ///
    /// # Errors
    /// JUKEBOX: delegations are recalled.
    pub(super) fn undelegated3(
        &self,
        args: &Args<'_>,
        caller: &Caller,
    ) -> Result<Option<Undelegated<'_>>, Nfsstat3> {
        let Some((files, wanted)) = self.used_by(args, caller) else {
            return Ok(None);
        };
        let now_ns = self.nfs4.clock.now_ns();
        let free = self.nfs4.files.undelegated(files, None, wanted, now_ns);
        free.map(Some).map_err(|recalls| {
            self.send_recalls(recalls);
            Nfsstat3::Jukebox
        })
    }
}

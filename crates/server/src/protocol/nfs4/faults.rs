//! The faults of the server as they hold for COMPOUNDs. A fault names a procedure of version 3, and holds
//! for the operation that does the same; or an operation that version 3 has no name for.

use super::super::context::{Peer, ReplyAction, Service};
use super::compound::{Compound, ServedCompound};
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_onc::nfs4::*;

/// The procedure of version 3 that does what this operation does.
fn same_in_v3(args: &Args<'_>) -> Option<Procedure> {
    Some(match args {
        Args::Getattr(_) => Procedure::Getattr,
        Args::Setattr(_) => Procedure::Setattr,
        Args::Lookup(_) => Procedure::Lookup,
        Args::Access(_) => Procedure::Access,
        Args::Readlink(_) => Procedure::Readlink,
        Args::Read(_) => Procedure::Read,
        Args::Write(_) => Procedure::Write,
        Args::Open(OpenArgs {
            openhow: Openflag4::Create(_),
            ..
        }) => Procedure::Create,
        Args::Create(args) => match args.objtype {
            Createtype4::Dir => Procedure::Mkdir,
            Createtype4::Lnk(_) => Procedure::Symlink,
            _ => Procedure::Mknod,
        },
        Args::Remove(_) => Procedure::Remove,
        Args::Rename(_) => Procedure::Rename,
        Args::Link(_) => Procedure::Link,
        Args::Readdir(args) if args.attr_request.has(Attribute::Filehandle) => {
            Procedure::Readdirplus
        }
        Args::Readdir(_) => Procedure::Readdir,
        Args::Commit(_) => Procedure::Commit,
        _ => return None,
    })
}

/// The same error in version 4.
fn status_in_v4(status: Nfsstat3) -> Nfsstat4 {
    match status {
        Nfsstat3::NotSync | Nfsstat3::Nodev | Nfsstat3::Remote => Nfsstat4::Serverfault,
        // The others have the same numbers in both versions; JUKEBOX is DELAY.
        status => Nfsstat4::from_u32(status.to_u32()),
    }
}

impl Compound<'_> {
    /// The error to answer this operation with instead of executing it.
    pub(super) fn injected(&mut self, args: &Args<'_>) -> Option<Nfsstat4> {
        let faults = &self.cx.shared.faults;
        let operation = args.operation();
        if self.served.delay.is_none() {
            self.served.delay = faults.operation_delay(operation);
        }
        if let Some(status) = faults.operation_error(operation) {
            self.cx.counters.errors_injected.add(1);
            return Some(status_in_v4(status));
        }
        self.injected_as_v3(args)
    }

    /// Only the first operation that version 3 has, too, is what the COMPOUND is about.
    fn injected_as_v3(&mut self, args: &Args<'_>) -> Option<Nfsstat4> {
        if self.served.procedure.is_some() {
            return None;
        }
        let procedure = same_in_v3(args)?;
        self.served.procedure = Some(procedure);
        let status = self.cx.shared.faults.error(procedure)?;
        self.cx.counters.errors_injected.add(1);
        Some(status_in_v4(status))
    }
}

impl Service {
    /// What is to happen with the reply to a COMPOUND.
    pub(super) fn verdict4(&self, served: &ServedCompound, peer: &Peer) -> ReplyAction {
        let faults = &self.shared.faults;
        let delay_ns = match (served.delay, served.procedure) {
            (Some(delay), _) => faults.delay_of_ns(delay),
            (None, Some(procedure)) => faults.delay_ns(procedure),
            (None, None) => faults.default_delay_ns(),
        };
        self.outcome(delay_ns, served.is_operation, peer)
    }
}

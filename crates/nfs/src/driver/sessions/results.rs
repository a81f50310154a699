//! The results of the operations, as those of the procedures of version 3.

use super::compounds::StateCall;
use super::state::Sessions;
use super::work_calls::Work;
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::readdir::ListingPart;
use crate::driver::reply::CallOutcome;
use filermark_onc::nfs3::{self, FileWcc, Nfsstat3, Procedure, WccData};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::DecodeError;

/// The results of a COMPOUND.
pub(super) type Results<'r> = CompoundRes<'r, Operation>;

/// Why the results of a call end early.
pub(super) enum Early {
    Status(Nfsstat4),
    Malformed(DecodeError),
}

impl From<Nfsstat4> for Early {
    fn from(status: Nfsstat4) -> Self {
        Self::Status(status)
    }
}

impl From<DecodeError> for Early {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl Core<Sessions> {
    /// Judges the call in this slot by its results behind SEQUENCE.
    pub(super) fn results(
        &mut self,
        slot: u32,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, DecodeError> {
        let call = self.calls.get(slot);
        let (kind, procedure) = (call.own.kind, call.procedure);
        let judged = match kind {
            Some(kind) => self.state_results(slot, kind, compound),
            None => self.operation_results(slot, procedure, compound),
        };
        match judged {
            Ok(outcome) => {
                compound.end()?;
                Ok(outcome)
            }
            Err(Early::Malformed(error)) => Err(error),
            Err(Early::Status(status)) => {
                let status = Nfsstat3::from_u32(status.to_u32());
                Ok(self.refused_results(slot, procedure, status))
            }
        }
    }

    /// The outcome of a call of which an operation was refused.
    fn refused_results(
        &mut self,
        slot: u32,
        procedure: Procedure,
        status: Nfsstat3,
    ) -> CallOutcome {
        let kind = self.calls.get(slot).own.kind;
        let refused = CallOutcome::Failed(status);
        if kind == Some(StateCall::Work(Work::Removexattr)) {
            let gone = Nfsstat3::from_u32(Nfsstat4::Noxattr.to_u32());
            return self.accept_replay(slot, refused, gone);
        }
        if kind.is_some() || is_later(status) {
            return refused;
        }
        match procedure {
            Procedure::Create | Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
                self.made(slot, Err(status))
            }
            Procedure::Remove | Procedure::Rmdir => {
                self.accept_replay(slot, refused, Nfsstat3::Noent)
            }
            Procedure::Rename => self.renamed(slot, refused),
            Procedure::Link => self.linked(slot, refused),
            Procedure::Readdir | Procedure::Readdirplus => {
                // NFS4ERR_NOT_SAME: the cookie verifier is not that of the directory.
                let is_other = status.to_u32() == Nfsstat4::NotSame.to_u32();
                let status = if is_other { Nfsstat3::NotSync } else { status };
                self.not_listed(slot, status)
            }
            _ => refused,
        }
    }

    fn state_results(
        &mut self,
        slot: u32,
        kind: StateCall,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        match kind {
            StateCall::Open(_) => {
                compound.read::<PutfhArgs<'_>>()??;
                let open = compound.read::<OpenArgs<'_>>()??;
                self.note_open(slot, &open);
                self.note_delegation(slot, &open.delegation, *compound);
                rest(compound)
            }
            StateCall::Confirm(key) => {
                compound.read::<PutfhArgs<'_>>()??;
                let stateid = compound.read::<OpenConfirmArgs>()??.open_stateid;
                self.confirmed(slot, key, stateid);
                Ok(CallOutcome::Ok)
            }
            StateCall::Layoutget(place, access) => {
                self.layoutget_results(slot, (place, access), compound)
            }
            StateCall::Getdeviceinfo(device) => self.getdeviceinfo_results(slot, device, compound),
            StateCall::CommitLayout(place) => self.layoutcommit_results(place, compound),
            StateCall::ReturnLayout(place, commits) => {
                self.return_results((place, commits), compound)?;
                Ok(CallOutcome::Ok)
            }
            StateCall::Close(_) | StateCall::CloseReturning(..) => {
                let is_at_close = match kind {
                    StateCall::CloseReturning(place, commits) => {
                        if !self.return_results((place, commits), compound)? {
                            return Ok(CallOutcome::Ok);
                        }
                        true
                    }
                    _ => compound.read::<PutfhArgs<'_>>()?.is_ok(),
                };
                let is_closed = is_at_close && compound.read::<CloseArgs>()?.is_ok();
                let is_later = matches!(compound.status, Nfsstat4::Delay | Nfsstat4::Grace);
                if !is_closed && is_later {
                    return Err(compound.status.into());
                }
                // A file that is not open any more needs no CLOSE.
                self.counters
                    .add_many(Tally::RefusedCloses, u64::from(!is_closed));
                Ok(CallOutcome::Ok)
            }
            StateCall::Work(work) => self.work_results(slot, work, compound),
            StateCall::Renew if self.own.has_sessions() => Ok(CallOutcome::Ok),
            StateCall::Renew => match compound.read::<RenewArgs>()? {
                // The lease is renewed; there are no callbacks.
                Ok(()) | Err(Nfsstat4::CbPathDown) => Ok(CallOutcome::Ok),
                Err(status) => Err(status.into()),
            },
            StateCall::Return(place) => {
                let returned = match compound.read::<PutfhArgs<'_>>()? {
                    Ok(()) => compound.read::<DelegreturnArgs>()?,
                    Err(status) => Err(status),
                };
                if let Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) = returned {
                    return Err(status.into());
                }
                self.delegreturn_ended(slot, place, returned);
                Ok(CallOutcome::Ok)
            }
            StateCall::Free(_) => match compound.read::<FreeStateidArgs>()? {
                Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => Err(status.into()),
                Ok(()) | Err(_) => Ok(CallOutcome::Ok),
            },
            // An owner that the server keeps ends with the lease.
            StateCall::ReleaseOwner { .. } => match compound.read::<ReleaseLockownerArgs<'_>>()? {
                Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => Err(status.into()),
                Ok(()) | Err(_) => Ok(CallOutcome::Ok),
            },
            StateCall::DestroySession => {
                compound.read::<DestroySessionArgs>()??;
                Ok(CallOutcome::Ok)
            }
            StateCall::DestroyClientid => {
                match compound.read::<DestroyClientidArgs>()? {
                    // The server does not know it any more.
                    Ok(()) | Err(Nfsstat4::StaleClientid) => {}
                    Err(status) => return Err(status.into()),
                }
                Ok(CallOutcome::Ok)
            }
        }
    }

    fn operation_results(
        &mut self,
        slot: u32,
        procedure: Procedure,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        compound.read::<PutfhArgs<'_>>()??;
        match procedure {
            Procedure::Null => Ok(CallOutcome::Ok),
            Procedure::Getattr | Procedure::Fsstat | Procedure::Fsinfo | Procedure::Pathconf => {
                getattr(compound)
            }
            Procedure::Setattr => {
                let set = compound.read::<SetattrArgs<'_>>()?;
                if set.status != Nfsstat4::Ok {
                    return Err(set.status.into());
                }
                rest(compound)?;
                Ok(self.resized(slot, CallOutcome::Ok))
            }
            Procedure::Access => {
                compound.read::<AccessArgs>()??;
                rest(compound)
            }
            Procedure::Readlink => {
                compound.read::<ReadlinkArgs>()??;
                Ok(CallOutcome::Ok)
            }
            Procedure::Lookup => {
                compound.read::<LookupArgs<'_>>()??;
                let object = compound.read::<GetfhArgs>()??.object;
                rest(compound)?;
                Ok(self.found(slot, Ok(object)))
            }
            Procedure::Create => self.created(slot, compound),
            Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
                compound.read::<CreateArgs<'_>>()??;
                self.made_with_handle(slot, compound)
            }
            Procedure::Remove | Procedure::Rmdir => {
                compound.read::<RemoveArgs<'_>>()??;
                Ok(CallOutcome::Ok)
            }
            Procedure::Rename => {
                compound.read::<SavefhArgs>()??;
                compound.read::<PutfhArgs<'_>>()??;
                compound.read::<RenameArgs<'_>>()??;
                Ok(self.renamed(slot, CallOutcome::Ok))
            }
            Procedure::Link => {
                compound.read::<SavefhArgs>()??;
                compound.read::<PutfhArgs<'_>>()??;
                compound.read::<LinkArgs<'_>>()??;
                rest(compound)?;
                Ok(self.linked(slot, CallOutcome::Ok))
            }
            Procedure::Read if self.calls.get(slot).own.is_plus => {
                let read = compound.read::<ReadPlusArgs>()??;
                Ok(self.has_read_plus(slot, &read))
            }
            Procedure::Read => {
                let read = compound.read::<ReadArgs>()??;
                Ok(self.has_read(slot, Ok(data_read(&read))))
            }
            Procedure::Write => {
                let written = compound.read::<WriteArgs<'_>>()??;
                rest(compound)?;
                Ok(self.has_written(slot, Ok(data_written(&written))))
            }
            Procedure::Commit => {
                let verf = compound.read::<CommitArgs>()??.writeverf;
                let file_wcc = WccData::default();
                Ok(self.has_committed(slot, Ok(nfs3::CommitOk { file_wcc, verf })))
            }
            Procedure::Readdir | Procedure::Readdirplus => {
                let listed = compound.read::<ReaddirArgs>()??;
                let mut part = ListingPart {
                    cookie: None,
                    eof: listed.eof,
                };
                for entry in listed.entries.iter() {
                    part.cookie = Some(entry.cookie);
                }
                Ok(self.listed(slot, listed.cookieverf, Ok(part)))
            }
        }
    }

    /// OPEN with creation: the file is open even if an operation after it has failed.
    fn created(&mut self, slot: u32, compound: &mut Results<'_>) -> Result<CallOutcome, Early> {
        let open = compound.read::<OpenArgs<'_>>()??;
        self.note_open(slot, &open);
        self.note_delegation(slot, &open.delegation, *compound);
        self.made_with_handle(slot, compound)
    }

    /// An object was created: its handle is that of GETFH, or is looked up.
    fn made_with_handle(
        &mut self,
        slot: u32,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let object = match compound.left() {
            0 => None,
            _ => compound.read::<GetfhArgs>()?.ok().map(|found| found.object),
        };
        rest(compound)?;
        Ok(self.made(slot, Ok(object)))
    }
}

/// The operation that was asked for was executed, whatever becomes of those behind it.
pub(super) fn rest(compound: &mut Results<'_>) -> Result<CallOutcome, Early> {
    for result in compound {
        result?;
    }
    Ok(CallOutcome::Ok)
}

fn getattr(compound: &mut Results<'_>) -> Result<CallOutcome, Early> {
    compound.read::<GetattrArgs>()??;
    Ok(CallOutcome::Ok)
}

fn data_read<'r>(read: &ReadOk<'r>) -> nfs3::ReadOk<'r> {
    nfs3::ReadOk {
        file_attributes: None,
        count: read.data.len() as u32,
        eof: read.eof,
        data: read.data,
    }
}

fn data_written(written: &WriteOk) -> nfs3::WriteOk {
    nfs3::WriteOk {
        file_wcc: FileWcc::default().file_wcc,
        count: written.count,
        committed: written.committed,
        verf: written.writeverf,
    }
}

/// Whether the call is sent again later.
fn is_later(status: Nfsstat3) -> bool {
    let number = status.to_u32();
    [Nfsstat4::Delay, Nfsstat4::Grace]
        .iter()
        .any(|later| later.to_u32() == number)
}

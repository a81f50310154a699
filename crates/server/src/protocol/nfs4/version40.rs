//! What only minor version 0 has: client IDs without sessions, operations that name their client by its ID or a
//! stateid, and owners that number their operations (RFC 7530 sections 9.1, 16.29, 16.33, 16.34 and 16.37).

use super::clients::{OPERATIONS_MAX, REPLY_OVERHEAD_BYTES};
use super::compound::{Compound, Results};
use super::handles::Object;
use crate::nfs4::{Client, ClientRequest, OwnerKey};
use filermark_onc::nfs4::*;
use std::sync::{Arc, PoisonError};

impl Compound<'_> {
    /// All operations of a COMPOUND.
    pub(super) fn without_session(
        &mut self,
        ops: CompoundArgs<'_, Operation>,
        mut results: Results<'_>,
    ) {
        if ops.left() > OPERATIONS_MAX as usize {
            results.finish_as(Nfsstat4::Resource);
            return;
        }
        self.response_bytes = (self.cx.options.rtmax + REPLY_OVERHEAD_BYTES) as usize;
        self.rest(ops, Nfsstat4::Resource, &mut results);
        results.finish();
    }

    /// Executes an operation: its client is found first, and its number is compared.
    pub(super) fn execute40(&mut self, args: &Args<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        match self.client_of(args) {
            Ok(client) => self.client40 = client,
            Err(status) => return results.fail(args.operation(), status),
        }
        let Some((key, seqid)) = self.numbered(args) else {
            return self.execute(args, results);
        };
        let owners = &self.cx.shared.nfs4.owners;
        let numbering = match owners.of(&key) {
            Ok(numbering) => numbering,
            Err(status) => return results.fail(args.operation(), status),
        };
        let mut numbering = numbering.lock().unwrap_or_else(PoisonError::into_inner);
        match numbering.check(seqid) {
            Err(status) => return results.fail(args.operation(), status),
            Ok(Some(kept)) => {
                self.served.is_repeated = true;
                if let Some(file) = kept.file {
                    self.set_current(Object::File(file));
                }
                return results.with(args.operation(), |out| out.extend_from_slice(kept.results));
            }
            Ok(None) => {}
        }
        let mark = results.mark();
        let status = self.execute(args, results);
        if status.uses_seqid() {
            let file = self.current().ok().and_then(|object| match object {
                Object::File(file) => Some(file),
                _ => None,
            });
            let reply = results.since(mark);
            numbering.executed(seqid, reply, file);
            let closed = match args {
                Args::Close(args) if status == Nfsstat4::Ok => Some(args.open_stateid.other),
                _ => None,
            };
            let owners = &self.cx.shared.nfs4.owners;
            owners.note_closed(&key, &mut numbering, closed);
            // One owner is locked at a time: two calls may name the same two in another order.
            drop(numbering);
            self.number_locks(args, reply, file);
        }
        status
    }

    /// LOCK with an open begins the numbers of the owner of the lock.
    fn number_locks(&self, args: &Args<'_>, reply: &[u8], file: Option<crate::memfs::FileId>) {
        if let (Args::Lock(args), Ok(client)) = (args, self.client())
            && let Locker4::New(new) = &args.locker
        {
            let key = OwnerKey {
                clientid: client.id,
                is_of_locks: true,
                owner: new.lock_owner.owner.into(),
            };
            if let Ok(numbering) = self.cx.shared.nfs4.owners.of(&key) {
                let mut numbering = numbering.lock().unwrap_or_else(PoisonError::into_inner);
                numbering.executed(new.lock_seqid, reply, file);
            }
        }
    }

    /// The client of an operation that has a client ID or a stateid.
    fn client_of(&self, args: &Args<'_>) -> Res<Option<Arc<Client>>> {
        match args {
            Args::Open(args) => self.with_id(args.owner.clientid),
            Args::Lockt(args) => self.with_id(args.owner.clientid),
            Args::ReleaseLockowner(args) => self.with_id(args.lock_owner.clientid),
            Args::Renew(args) => self.with_id(args.clientid),
            Args::Read(args) => self.with_state(&args.stateid),
            Args::Write(args) => self.with_state(&args.stateid),
            Args::Setattr(args) => self.with_state(&args.stateid),
            Args::Close(args) => self.with_state(&args.open_stateid),
            Args::OpenConfirm(args) => self.with_state(&args.open_stateid),
            Args::OpenDowngrade(args) => self.with_state(&args.open_stateid),
            Args::Locku(args) => self.with_state(&args.lock_stateid),
            Args::Lock(args) => match &args.locker {
                Locker4::Existing(existing) => self.with_state(&existing.lock_stateid),
                Locker4::New(new) => self.with_state(&new.open_stateid),
            },
            _ => Ok(None),
        }
    }

    fn with_id(&self, id: Clientid4) -> Res<Option<Arc<Client>>> {
        let clients = &self.cx.shared.nfs4.clients;
        clients.client(id, self.now_ns).map(Some)
    }

    /// The client of a stateid; none of the special ones.
    fn with_state(&self, stateid: &Stateid4) -> Res<Option<Arc<Client>>> {
        if matches!(*stateid, Stateid4::ANONYMOUS | Stateid4::READ_BYPASS) {
            return Ok(None);
        }
        let nfs4 = &self.cx.shared.nfs4;
        match nfs4.files.client_of(stateid) {
            Ok(client) => {
                client.renew(self.now_ns);
                Ok(Some(client))
            }
            // A CLOSE that is sent again.
            Err(status) => match nfs4.owners.of_closed(&stateid.other) {
                Some(key) => self.with_id(key.clientid),
                None => Err(status),
            },
        }
    }

    /// The owner that numbers an operation, and the number.
    fn numbered(&self, args: &Args<'_>) -> Option<(OwnerKey, u32)> {
        let nfs4 = &self.cx.shared.nfs4;
        let owner = |stateid: &Stateid4, is_of_locks: bool| {
            let owner = nfs4.files.owner_of(stateid).ok();
            let owner = owner.or_else(|| nfs4.owners.of_closed(&stateid.other));
            // The stateid of locks is none of an open: the operation itself refuses it.
            owner.filter(|key| key.is_of_locks == is_of_locks)
        };
        let of = |stateid: &Stateid4| owner(stateid, false);
        match args {
            Args::Open(args) => {
                let key = OwnerKey {
                    clientid: args.owner.clientid,
                    is_of_locks: false,
                    owner: args.owner.owner.into(),
                };
                Some((key, args.seqid))
            }
            Args::Close(args) => Some((of(&args.open_stateid)?, args.seqid)),
            Args::OpenConfirm(args) => Some((of(&args.open_stateid)?, args.seqid)),
            Args::OpenDowngrade(args) => Some((of(&args.open_stateid)?, args.seqid)),
            Args::Locku(args) => Some((owner(&args.lock_stateid, true)?, args.seqid)),
            Args::Lock(args) => match &args.locker {
                Locker4::Existing(existing) => {
                    Some((owner(&existing.lock_stateid, true)?, existing.lock_seqid))
                }
                Locker4::New(new) => Some((of(&new.open_stateid)?, new.open_seqid)),
            },
            _ => None,
        }
    }

    pub(super) fn setclientid(
        &self,
        args: &SetclientidArgs<'_>,
        results: &mut Results<'_>,
    ) -> Nfsstat4 {
        let request = ClientRequest {
            ownerid: args.client.ownerid,
            verifier: args.client.verifier,
            uid: self.cx.caller.uid,
            is_update: false,
        };
        let clients = &self.cx.shared.nfs4.clients;
        match clients.set_client(&request, self.now_ns) {
            Ok((clientid, setclientid_confirm)) => {
                results.result::<SetclientidArgs<'_>>(&Ok(SetclientidOk {
                    clientid,
                    setclientid_confirm,
                }))
            }
            // Where the other client is, is not kept.
            Err(Nfsstat4::ClidInuse) => {
                let address = Netaddr4 {
                    netid: b"",
                    addr: b"",
                };
                results.result::<SetclientidArgs<'_>>(&Err(Failed4::With(address)))
            }
            Err(status) => results.fail(Operation::Setclientid, status),
        }
    }

    pub(super) fn setclientid_confirm(
        &self,
        args: &SetclientidConfirmArgs,
    ) -> SetclientidConfirmRes {
        let (shared, uid) = (self.cx.shared, self.cx.caller.uid);
        let confirmed = (args.clientid, args.setclientid_confirm);
        let clients = &shared.nfs4.clients;
        if let Some(replaced) = clients.confirm_client(confirmed, uid, self.now_ns)? {
            for file in shared.nfs4.end_clients(&[replaced]) {
                shared.fs.release(file);
            }
        }
        Ok(())
    }

    pub(super) fn release_lockowner(&self, args: &ReleaseLockownerArgs<'_>) -> ReleaseLockownerRes {
        let (nfs4, client) = (&self.cx.shared.nfs4, self.client()?);
        let owner = args.lock_owner.owner;
        nfs4.files.release_owner(client, owner)?;
        nfs4.owners.forget(&OwnerKey {
            clientid: client.id,
            is_of_locks: true,
            owner: owner.into(),
        });
        Ok(())
    }
}

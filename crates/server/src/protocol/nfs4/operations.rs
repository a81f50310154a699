//! The switch over the operations.

use super::compound::{Compound, Results};
use filermark_onc::nfs4::*;

/// Appends the results of operations with results of one type.
macro_rules! switch {
    ($results:ident, $args:ident, else $rest:expr; $($variant:ident($name:pat) $type:ty => $res:expr;)*) => {
        match $args {
            $(Args::$variant($name) => $results.result::<$type>(&$res),)*
            _ => $rest,
        }
    };
}

impl Compound<'_> {
    /// Executes an operation and appends its results.
    pub(super) fn execute(&mut self, args: &Args<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        switch! { results, args, else self.in_place(args, results);
            Putfh(args) PutfhArgs<'_> => self.putfh(args);
            Putrootfh(_) PutrootfhArgs => self.putrootfh();
            Putpubfh(_) PutpubfhArgs => self.putrootfh();
            Savefh(_) SavefhArgs => self.savefh();
            Restorefh(_) RestorefhArgs => self.restorefh();
            Lookup(args) LookupArgs<'_> => self.lookup(args);
            Lookupp(_) LookuppArgs => self.lookupp();
            Access(args) AccessArgs => self.access(args);
            Setattr(args) SetattrArgs<'_> => self.setattr(args);
            Verify(args) VerifyArgs<'_> => self.verify(args);
            Nverify(args) NverifyArgs<'_> => self.nverify(args);
            Create(args) CreateArgs<'_> => self.create(args);
            Remove(args) RemoveArgs<'_> => self.remove(args);
            Rename(args) RenameArgs<'_> => self.rename(args);
            Link(args) LinkArgs<'_> => self.link(args);
            Open(args) OpenArgs<'_> => self.open(args);
            SetclientidConfirm(args) SetclientidConfirmArgs => self.setclientid_confirm(args);
            Renew(_) RenewArgs => self.client().map(drop);
            ReleaseLockowner(args) ReleaseLockownerArgs<'_> => self.release_lockowner(args);
            // OPEN has not asked for it.
            OpenConfirm(_) OpenConfirmArgs => Err(Nfsstat4::BadStateid);
            OpenDowngrade(args) OpenDowngradeArgs => self.open_downgrade(args);
            Close(args) CloseArgs => self.close(args);
            Delegreturn(args) DelegreturnArgs => self.delegreturn(args);
            Locku(args) LockuArgs => self.locku(args);
            Write(args) WriteArgs<'_> => self.write(args);
            Commit(_) CommitArgs => self.commit();
            Secinfo(args) SecinfoArgs<'_> => self.secinfo(args);
            SecinfoNoName(args) SecinfoNoNameArgs => self.secinfo_no_name(args);
            FreeStateid(args) FreeStateidArgs => self.free_stateid(args);
            CreateSession(args) CreateSessionArgs<'_> => self.create_session(args);
            BindConnToSession(args) BindConnToSessionArgs => self.bind_conn_to_session(args);
            DestroySession(args) DestroySessionArgs => self.destroy_session(args);
            DestroyClientid(args) DestroyClientidArgs => self.destroy_clientid(args);
            ReclaimComplete(args) ReclaimCompleteArgs => self.reclaim_complete(args);
            Allocate(args) AllocateArgs => self.allocate(args);
            Deallocate(args) DeallocateArgs => self.deallocate(args);
            Seek(args) SeekArgs => self.seek(args);
            Copy(args) CopyArgs<'_> => self.copy(args);
            OffloadCancel(args) OffloadCancelArgs => self.offload_cancel(args);
            OffloadStatus(args) OffloadStatusArgs => self.offload_status(args);
            Clone(args) CloneArgs => self.clone_range(args);
            Setxattr(args) SetxattrArgs<'_> => self.setxattr(args);
            Removexattr(args) RemovexattrArgs<'_> => self.removexattr(args);
        }
    }

    /// Those that append their results themselves, and those that are not supported.
    fn in_place(&mut self, args: &Args<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        match args {
            Args::Getfh(_) => self.getfh(results),
            Args::Getattr(args) => self.getattr(args, results),
            Args::Readlink(_) => self.readlink(results),
            Args::Readdir(args) => self.readdir(args, results),
            Args::Read(args) => self.read(args, results),
            Args::ReadPlus(args) => self.read_plus(args, results),
            Args::Getxattr(args) => self.getxattr(args, results),
            Args::Listxattrs(args) => self.listxattrs(args, results),
            Args::Lock(args) => self.lock(args, results),
            Args::Lockt(args) => self.lockt(args, results),
            Args::Setclientid(args) => self.setclientid(args, results),
            Args::ExchangeId(args) => self.exchange_id(args, results),
            Args::TestStateid(args) => {
                let tested = self.test_stateid(args);
                let res = match &tested {
                    Ok(codes) => Ok(TestStateidOk {
                        status_codes: xdr_array(codes),
                    }),
                    Err(status) => Err(*status),
                };
                results.result::<TestStateidArgs<'_>>(&res)
            }
            Args::Sequence(_) => results.fail(Operation::Sequence, Nfsstat4::SequencePos),
            other => results.fail(other.operation(), Nfsstat4::Notsupp),
        }
    }

    fn getfh(&self, results: &mut Results<'_>) -> Nfsstat4 {
        let handle = self.current().map(|object| object.handle());
        let found = handle.as_ref().map_err(|status| *status);
        let found = found.and_then(|handle| FileHandle4::new(handle).ok_or(Nfsstat4::Serverfault));
        match found {
            Ok(object) => results.result::<GetfhArgs>(&Ok(GetfhOk { object })),
            Err(status) => results.fail(Operation::Getfh, status),
        }
    }
}

/// As many items as were decoded, so never too many.
fn xdr_array(codes: &[Nfsstat4]) -> filermark_onc::xdr::Array<'_, Nfsstat4, MAX_STATEIDS> {
    filermark_onc::xdr::Array::new(codes).unwrap_or_default()
}

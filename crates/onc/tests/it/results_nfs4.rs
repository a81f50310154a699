//! The results of every operation of NFSv4, from a set of field values.

use filermark_onc::nfs4::*;
use filermark_onc::xdr::Array;

use crate::samples_nfs4::Pool4;

impl Pool4 {
    fn protect_r(&self) -> StateProtect4R<'_> {
        match self.choice % 3 {
            0 => StateProtect4R::None,
            1 => StateProtect4R::MachCred(self.protect_ops()),
            _ => StateProtect4R::Ssv(SsvProtInfo4 {
                ops: self.protect_ops(),
                hash_alg: 0,
                encr_alg: 1,
                ssv_len: self.words[0],
                window: self.words[1],
                handles: self.opaques(),
            }),
        }
    }

    fn dir_delegation(&self) -> GetDirDelegationOk {
        if self.choice % 2 == 1 {
            return GetDirDelegationOk::Unavail(self.flags[0]);
        }
        GetDirDelegationOk::Granted(GetDirDelegationGranted {
            cookieverf: self.verf,
            stateid: self.stateid(0),
            notification: Bitmap4::EMPTY.with_bit(1),
            child_attributes: self.bitmap(),
            dir_attributes: self.bitmap(),
        })
    }

    /// Results of an operation that succeeded.
    pub fn ok(&self, operation: Operation) -> Results<'_> {
        let (w, h, f) = (&self.words, &self.hypers, &self.flags);
        let stateid = self.stateid(0);
        match operation {
            Operation::Access => Results::Access(Ok(AccessOk {
                supported: w[0],
                access: w[1],
            })),
            Operation::Close => Results::Close(Ok(CloseOk {
                open_stateid: stateid,
            })),
            Operation::Commit => Results::Commit(Ok(CommitOk {
                writeverf: self.verf,
            })),
            Operation::Create => Results::Create(Ok(CreateOk {
                cinfo: self.cinfo(),
                attrset: self.bitmap(),
            })),
            Operation::Delegpurge => Results::Delegpurge(Ok(())),
            Operation::Delegreturn => Results::Delegreturn(Ok(())),
            Operation::Getattr => Results::Getattr(Ok(GetattrOk {
                obj_attributes: self.attrs(),
            })),
            Operation::Getfh => Results::Getfh(Ok(GetfhOk {
                object: self.handle(),
            })),
            Operation::Link => Results::Link(Ok(LinkOk {
                cinfo: self.cinfo(),
            })),
            Operation::Lock => Results::Lock(Ok(LockOk {
                lock_stateid: stateid,
            })),
            Operation::Lockt => Results::Lockt(Ok(())),
            Operation::Locku => Results::Locku(Ok(LockuOk {
                lock_stateid: stateid,
            })),
            Operation::Lookup => Results::Lookup(Ok(())),
            Operation::Lookupp => Results::Lookupp(Ok(())),
            Operation::Nverify => Results::Nverify(Ok(())),
            Operation::Open => Results::Open(Ok(OpenOk {
                stateid,
                cinfo: self.cinfo(),
                rflags: open_result::LOCKTYPE_POSIX,
                attrset: self.bitmap(),
                delegation: self.delegation(),
            })),
            Operation::Openattr => Results::Openattr(Ok(())),
            Operation::OpenConfirm => Results::OpenConfirm(Ok(OpenConfirmOk {
                open_stateid: stateid,
            })),
            Operation::OpenDowngrade => Results::OpenDowngrade(Ok(OpenDowngradeOk {
                open_stateid: stateid,
            })),
            Operation::Putfh => Results::Putfh(Ok(())),
            Operation::Putpubfh => Results::Putpubfh(Ok(())),
            Operation::Putrootfh => Results::Putrootfh(Ok(())),
            Operation::Read => Results::Read(Ok(ReadOk {
                eof: f[0],
                data: &self.data,
            })),
            Operation::Readdir => Results::Readdir(Ok(ReaddirOk {
                cookieverf: self.verf,
                entries: self.listing(),
                eof: f[0],
            })),
            Operation::Readlink => Results::Readlink(Ok(ReadlinkOk { link: self.text(1) })),
            Operation::Remove => Results::Remove(Ok(RemoveOk {
                cinfo: self.cinfo(),
            })),
            Operation::Rename => Results::Rename(Ok(RenameOk {
                source_cinfo: self.cinfo(),
                target_cinfo: self.cinfo(),
            })),
            Operation::Renew => Results::Renew(Ok(())),
            Operation::Restorefh => Results::Restorefh(Ok(())),
            Operation::Savefh => Results::Savefh(Ok(())),
            Operation::Secinfo => Results::Secinfo(Ok(self.secinfo())),
            Operation::Setclientid => Results::Setclientid(Ok(SetclientidOk {
                clientid: h[0],
                setclientid_confirm: self.verf,
            })),
            Operation::SetclientidConfirm => Results::SetclientidConfirm(Ok(())),
            Operation::Verify => Results::Verify(Ok(())),
            Operation::Write => Results::Write(Ok(WriteOk {
                count: w[0],
                committed: self.stable(),
                writeverf: self.verf,
            })),
            Operation::ReleaseLockowner => Results::ReleaseLockowner(Ok(())),
            Operation::BackchannelCtl => Results::BackchannelCtl(Ok(())),
            Operation::BindConnToSession => Results::BindConnToSession(Ok(BindConnToSessionOk {
                sessid: self.id16,
                dir: channel_dir::BOTH,
                use_conn_in_rdma_mode: f[1],
            })),
            Operation::ExchangeId => Results::ExchangeId(Ok(ExchangeIdOk {
                clientid: h[0],
                sequenceid: w[0],
                flags: exchgid::USE_PNFS_MDS,
                state_protect: self.protect_r(),
                server_owner: ServerOwner4 {
                    minor_id: h[1],
                    major_id: self.text(0),
                },
                server_scope: self.text(1),
                server_impl_id: self.impl_id(),
            })),
            Operation::CreateSession => Results::CreateSession(Ok(CreateSessionOk {
                sessionid: self.id16,
                sequence: w[0],
                flags: create_session::CONN_BACK_CHAN,
                fore_chan_attrs: self.channel(),
                back_chan_attrs: self.channel(),
            })),
            Operation::DestroySession => Results::DestroySession(Ok(())),
            Operation::FreeStateid => Results::FreeStateid(Ok(())),
            Operation::GetDirDelegation => Results::GetDirDelegation(Ok(self.dir_delegation())),
            Operation::Getdeviceinfo => Results::Getdeviceinfo(Ok(GetdeviceinfoOk {
                device_addr: self.content(),
                notification: Bitmap4::EMPTY.with_bit(1),
            })),
            Operation::Getdevicelist => Results::Getdevicelist(Ok(GetdevicelistOk {
                cookie: h[0],
                cookieverf: self.verf,
                deviceid_list: Array::new(&self.devices).expect("few"),
                eof: f[0],
            })),
            Operation::Layoutcommit => Results::Layoutcommit(Ok(LayoutcommitOk {
                newsize: f[2].then_some(h[0]),
            })),
            Operation::Layoutget => Results::Layoutget(Ok(LayoutgetOk {
                return_on_close: f[0],
                stateid,
                layout: self.layouts(),
            })),
            Operation::Layoutreturn => Results::Layoutreturn(Ok(LayoutreturnOk {
                stateid: f[2].then_some(stateid),
            })),
            Operation::SecinfoNoName => Results::SecinfoNoName(Ok(self.secinfo())),
            Operation::Sequence => Results::Sequence(Ok(SequenceOk {
                sessionid: self.id16,
                sequenceid: w[0],
                slotid: w[1],
                highest_slotid: w[2],
                target_highest_slotid: w[3],
                status_flags: seq4_status::LEASE_MOVED,
            })),
            Operation::SetSsv => Results::SetSsv(Ok(SetSsvOk {
                digest: self.text(1),
            })),
            Operation::TestStateid => Results::TestStateid(Ok(TestStateidOk {
                status_codes: Array::new(&self.statuses).expect("few"),
            })),
            Operation::WantDelegation => Results::WantDelegation(Ok(self.delegation())),
            Operation::DestroyClientid => Results::DestroyClientid(Ok(())),
            Operation::ReclaimComplete => Results::ReclaimComplete(Ok(())),
            Operation::Allocate => Results::Allocate(Ok(())),
            Operation::Copy => Results::Copy(Ok(CopyOk {
                response: self.written(),
                requirements: CopyRequirements4 {
                    consecutive: f[0],
                    synchronous: f[1],
                },
            })),
            Operation::CopyNotify => Results::CopyNotify(Ok(CopyNotifyOk {
                lease_time: self.time(0),
                stateid,
                source_server: self.source_server(),
            })),
            Operation::Deallocate => Results::Deallocate(Ok(())),
            Operation::IoAdvise => Results::IoAdvise(Ok(IoAdviseOk {
                hints: Bitmap4::EMPTY.with_bit(2),
            })),
            Operation::Layouterror => Results::Layouterror(Ok(())),
            Operation::Layoutstats => Results::Layoutstats(Ok(())),
            Operation::OffloadCancel => Results::OffloadCancel(Ok(())),
            Operation::OffloadStatus => Results::OffloadStatus(Ok(OffloadStatusOk {
                count: h[0],
                complete: f[2].then_some(Nfsstat4::Nospc),
            })),
            Operation::ReadPlus => Results::ReadPlus(Ok(ReadPlusOk {
                eof: f[0],
                contents: self.contents(),
            })),
            Operation::Seek => Results::Seek(Ok(SeekOk {
                eof: f[0],
                offset: h[0],
            })),
            Operation::WriteSame => Results::WriteSame(Ok(self.written())),
            Operation::Clone => Results::Clone(Ok(())),
            Operation::Getxattr => Results::Getxattr(Ok(GetxattrOk { value: &self.data })),
            Operation::Setxattr => Results::Setxattr(Ok(SetxattrOk {
                cinfo: self.cinfo(),
            })),
            Operation::Listxattrs => Results::Listxattrs(Ok(ListxattrsOk {
                cookie: h[0],
                names: self.names(),
                eof: f[0],
            })),
            Operation::Removexattr => Results::Removexattr(Ok(RemovexattrOk {
                cinfo: self.cinfo(),
            })),
            Operation::Setattr => Results::Setattr(SetattrRes {
                status: Nfsstat4::Ok,
                attrsset: self.bitmap(),
            }),
            Operation::Illegal => Results::Illegal(Err(Nfsstat4::OpIllegal)),
        }
    }

    /// Results of an operation that failed, with nothing beside the status.
    pub fn failed(&self, operation: Operation) -> Results<'_> {
        let status = self.failure();
        match operation {
            Operation::Access => Results::Access(Err(status)),
            Operation::Close => Results::Close(Err(status)),
            Operation::Commit => Results::Commit(Err(status)),
            Operation::Create => Results::Create(Err(status)),
            Operation::Delegpurge => Results::Delegpurge(Err(status)),
            Operation::Delegreturn => Results::Delegreturn(Err(status)),
            Operation::Getattr => Results::Getattr(Err(status)),
            Operation::Getfh => Results::Getfh(Err(status)),
            Operation::Link => Results::Link(Err(status)),
            Operation::Lock => Results::Lock(Err(Failed4::Status(status))),
            Operation::Lockt => Results::Lockt(Err(Failed4::Status(status))),
            Operation::Locku => Results::Locku(Err(status)),
            Operation::Lookup => Results::Lookup(Err(status)),
            Operation::Lookupp => Results::Lookupp(Err(status)),
            Operation::Nverify => Results::Nverify(Err(status)),
            Operation::Open => Results::Open(Err(status)),
            Operation::Openattr => Results::Openattr(Err(status)),
            Operation::OpenConfirm => Results::OpenConfirm(Err(status)),
            Operation::OpenDowngrade => Results::OpenDowngrade(Err(status)),
            Operation::Putfh => Results::Putfh(Err(status)),
            Operation::Putpubfh => Results::Putpubfh(Err(status)),
            Operation::Putrootfh => Results::Putrootfh(Err(status)),
            Operation::Read => Results::Read(Err(status)),
            Operation::Readdir => Results::Readdir(Err(status)),
            Operation::Readlink => Results::Readlink(Err(status)),
            Operation::Remove => Results::Remove(Err(status)),
            Operation::Rename => Results::Rename(Err(status)),
            Operation::Renew => Results::Renew(Err(status)),
            Operation::Restorefh => Results::Restorefh(Err(status)),
            Operation::Savefh => Results::Savefh(Err(status)),
            Operation::Secinfo => Results::Secinfo(Err(status)),
            Operation::Setclientid => Results::Setclientid(Err(Failed4::Status(status))),
            Operation::SetclientidConfirm => Results::SetclientidConfirm(Err(status)),
            Operation::Verify => Results::Verify(Err(status)),
            Operation::Write => Results::Write(Err(status)),
            Operation::ReleaseLockowner => Results::ReleaseLockowner(Err(status)),
            Operation::BackchannelCtl => Results::BackchannelCtl(Err(status)),
            Operation::BindConnToSession => Results::BindConnToSession(Err(status)),
            Operation::ExchangeId => Results::ExchangeId(Err(status)),
            Operation::CreateSession => Results::CreateSession(Err(status)),
            Operation::DestroySession => Results::DestroySession(Err(status)),
            Operation::FreeStateid => Results::FreeStateid(Err(status)),
            Operation::GetDirDelegation => Results::GetDirDelegation(Err(status)),
            Operation::Getdeviceinfo => Results::Getdeviceinfo(Err(Failed4::Status(status))),
            Operation::Getdevicelist => Results::Getdevicelist(Err(status)),
            Operation::Layoutcommit => Results::Layoutcommit(Err(status)),
            Operation::Layoutget => Results::Layoutget(Err(Failed4::Status(status))),
            Operation::Layoutreturn => Results::Layoutreturn(Err(status)),
            Operation::SecinfoNoName => Results::SecinfoNoName(Err(status)),
            Operation::Sequence => Results::Sequence(Err(status)),
            Operation::SetSsv => Results::SetSsv(Err(status)),
            Operation::TestStateid => Results::TestStateid(Err(status)),
            Operation::WantDelegation => Results::WantDelegation(Err(status)),
            Operation::DestroyClientid => Results::DestroyClientid(Err(status)),
            Operation::ReclaimComplete => Results::ReclaimComplete(Err(status)),
            Operation::Allocate => Results::Allocate(Err(status)),
            Operation::Copy => Results::Copy(Err(Failed4::Status(status))),
            Operation::CopyNotify => Results::CopyNotify(Err(status)),
            Operation::Deallocate => Results::Deallocate(Err(status)),
            Operation::IoAdvise => Results::IoAdvise(Err(status)),
            Operation::Layouterror => Results::Layouterror(Err(status)),
            Operation::Layoutstats => Results::Layoutstats(Err(status)),
            Operation::OffloadCancel => Results::OffloadCancel(Err(status)),
            Operation::OffloadStatus => Results::OffloadStatus(Err(status)),
            Operation::ReadPlus => Results::ReadPlus(Err(status)),
            Operation::Seek => Results::Seek(Err(status)),
            Operation::WriteSame => Results::WriteSame(Err(status)),
            Operation::Clone => Results::Clone(Err(status)),
            Operation::Getxattr => Results::Getxattr(Err(status)),
            Operation::Setxattr => Results::Setxattr(Err(status)),
            Operation::Listxattrs => Results::Listxattrs(Err(status)),
            Operation::Removexattr => Results::Removexattr(Err(status)),
            Operation::Setattr => Results::Setattr(SetattrRes {
                status,
                attrsset: Bitmap4::EMPTY,
            }),
            Operation::Illegal => Results::Illegal(Err(Nfsstat4::OpIllegal)),
        }
    }

    /// Failures with something beside the status.
    pub fn failed_with(&self) -> [Results<'_>; 6] {
        let denied = LockDenied4 {
            offset: self.hypers[0],
            length: self.hypers[1],
            locktype: NfsLockType4::Read,
            owner: self.owner(),
        };
        let requirements = CopyRequirements4 {
            consecutive: self.flags[0],
            synchronous: self.flags[1],
        };
        [
            Results::Lock(Err(Failed4::With(denied))),
            Results::Lockt(Err(Failed4::With(denied))),
            Results::Setclientid(Err(Failed4::With(self.netaddr()))),
            Results::Copy(Err(Failed4::With(requirements))),
            Results::Layoutget(Err(Failed4::With(self.flags[0]))),
            Results::Getdeviceinfo(Err(Failed4::With(self.words[0]))),
        ]
    }
}

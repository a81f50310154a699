//! The arguments of every operation of NFSv4, from a set of field values.

use filermark_onc::nfs4::*;
use filermark_onc::xdr::Array;

use crate::samples_nfs4::Pool4;

impl Pool4 {
    fn createhow(&self) -> Openflag4<'_> {
        match self.choice % 5 {
            0 => Openflag4::NoCreate,
            1 => Openflag4::Create(Createhow4::Unchecked(self.attrs())),
            2 => Openflag4::Create(Createhow4::Guarded(self.attrs())),
            3 => Openflag4::Create(Createhow4::Exclusive(self.verf)),
            _ => Openflag4::Create(Createhow4::Exclusive41(Creatverfattr {
                verf: self.verf,
                attrs: self.attrs(),
            })),
        }
    }

    fn claim(&self) -> OpenClaim4<'_> {
        match self.choice % 7 {
            0 => OpenClaim4::Null(self.text(0)),
            1 => OpenClaim4::Previous(OpenDelegationType4::Write),
            2 => OpenClaim4::DelegateCur(OpenClaimDelegateCur4 {
                delegate_stateid: self.stateid(1),
                file: self.text(0),
            }),
            3 => OpenClaim4::DelegatePrev(self.text(0)),
            4 => OpenClaim4::Fh,
            5 => OpenClaim4::DelegCurFh(self.stateid(1)),
            _ => OpenClaim4::DelegPrevFh,
        }
    }

    fn objtype(&self) -> Createtype4<'_> {
        let spec = Specdata4 {
            specdata1: self.words[0],
            specdata2: self.words[1],
        };
        match self.choice % 6 {
            0 => Createtype4::Dir,
            1 => Createtype4::Lnk(self.text(1)),
            2 => Createtype4::Blk(spec),
            3 => Createtype4::Chr(spec),
            4 => Createtype4::Sock,
            _ => Createtype4::Fifo,
        }
    }

    fn locker(&self) -> Locker4<'_> {
        if self.choice.is_multiple_of(2) {
            return Locker4::New(OpenToLockOwner4 {
                open_seqid: self.words[0],
                open_stateid: self.stateid(0),
                lock_seqid: self.words[1],
                lock_owner: self.owner(),
            });
        }
        Locker4::Existing(ExistLockOwner4 {
            lock_stateid: self.stateid(0),
            lock_seqid: self.words[1],
        })
    }

    fn protect_a(&self) -> StateProtect4A<'_> {
        match self.choice % 3 {
            0 => StateProtect4A::None,
            1 => StateProtect4A::MachCred(self.protect_ops()),
            _ => StateProtect4A::Ssv(SsvSpParms4 {
                ops: self.protect_ops(),
                hash_algs: self.opaques(),
                encr_algs: self.opaques(),
                window: self.words[0],
                num_gss_handles: self.words[1],
            }),
        }
    }

    fn layoutreturn(&self) -> Layoutreturn4<'_> {
        match self.choice % 3 {
            0 => Layoutreturn4::File(LayoutreturnFile4 {
                offset: self.hypers[0],
                length: self.hypers[1],
                stateid: self.stateid(0),
                body: self.text(2),
            }),
            1 => Layoutreturn4::Fsid,
            _ => Layoutreturn4::All,
        }
    }

    /// Arguments of an operation.
    pub fn args(&self, operation: Operation) -> Args<'_> {
        let (w, h, f) = (&self.words, &self.hypers, &self.flags);
        let (stateid, other) = (self.stateid(0), self.stateid(1));
        let name = self.text(0);
        match operation {
            Operation::Access => Args::Access(AccessArgs { access: w[0] }),
            Operation::Close => Args::Close(CloseArgs {
                seqid: w[0],
                open_stateid: stateid,
            }),
            Operation::Commit => Args::Commit(CommitArgs {
                offset: h[0],
                count: w[0],
            }),
            Operation::Create => Args::Create(CreateArgs {
                objtype: self.objtype(),
                objname: name,
                createattrs: self.attrs(),
            }),
            Operation::Delegpurge => Args::Delegpurge(DelegpurgeArgs { clientid: h[0] }),
            Operation::Delegreturn => Args::Delegreturn(DelegreturnArgs {
                deleg_stateid: stateid,
            }),
            Operation::Getattr => Args::Getattr(GetattrArgs {
                attr_request: self.bitmap(),
            }),
            Operation::Getfh => Args::Getfh(GetfhArgs {}),
            Operation::Link => Args::Link(LinkArgs { newname: name }),
            Operation::Lock => Args::Lock(LockArgs {
                locktype: NfsLockType4::Write,
                reclaim: f[0],
                offset: h[0],
                length: h[1],
                locker: self.locker(),
            }),
            Operation::Lockt => Args::Lockt(LocktArgs {
                locktype: NfsLockType4::Read,
                offset: h[0],
                length: h[1],
                owner: self.owner(),
            }),
            Operation::Locku => Args::Locku(LockuArgs {
                locktype: NfsLockType4::Writew,
                seqid: w[0],
                lock_stateid: stateid,
                offset: h[0],
                length: h[1],
            }),
            Operation::Lookup => Args::Lookup(LookupArgs { objname: name }),
            Operation::Lookupp => Args::Lookupp(LookuppArgs {}),
            Operation::Nverify => Args::Nverify(NverifyArgs {
                obj_attributes: self.attrs(),
            }),
            Operation::Open => Args::Open(OpenArgs {
                seqid: w[0],
                share_access: share::BOTH | share::WANT_NO_DELEG,
                share_deny: 0,
                owner: self.owner(),
                openhow: self.createhow(),
                claim: self.claim(),
            }),
            Operation::Openattr => Args::Openattr(OpenattrArgs { createdir: f[0] }),
            Operation::OpenConfirm => Args::OpenConfirm(OpenConfirmArgs {
                open_stateid: stateid,
                seqid: w[0],
            }),
            Operation::OpenDowngrade => Args::OpenDowngrade(OpenDowngradeArgs {
                open_stateid: stateid,
                seqid: w[0],
                share_access: share::READ,
                share_deny: 0,
            }),
            Operation::Putfh => Args::Putfh(PutfhArgs {
                object: self.handle(),
            }),
            Operation::Putpubfh => Args::Putpubfh(PutpubfhArgs {}),
            Operation::Putrootfh => Args::Putrootfh(PutrootfhArgs {}),
            Operation::Read => Args::Read(ReadArgs {
                stateid,
                offset: h[0],
                count: w[0],
            }),
            Operation::Readdir => Args::Readdir(ReaddirArgs {
                cookie: h[0],
                cookieverf: self.verf,
                dircount: w[0],
                maxcount: w[1],
                attr_request: self.bitmap(),
            }),
            Operation::Readlink => Args::Readlink(ReadlinkArgs {}),
            Operation::Remove => Args::Remove(RemoveArgs { target: name }),
            Operation::Rename => Args::Rename(RenameArgs {
                oldname: name,
                newname: self.text(1),
            }),
            Operation::Renew => Args::Renew(RenewArgs { clientid: h[0] }),
            Operation::Restorefh => Args::Restorefh(RestorefhArgs {}),
            Operation::Savefh => Args::Savefh(SavefhArgs {}),
            Operation::Secinfo => Args::Secinfo(SecinfoArgs { name }),
            Operation::Setattr => Args::Setattr(SetattrArgs {
                stateid,
                obj_attributes: self.attrs(),
            }),
            Operation::Setclientid => Args::Setclientid(SetclientidArgs {
                client: self.client(),
                callback: CbClient4 {
                    cb_program: 0x4000_0000,
                    cb_location: self.netaddr(),
                },
                callback_ident: w[0],
            }),
            Operation::SetclientidConfirm => Args::SetclientidConfirm(SetclientidConfirmArgs {
                clientid: h[0],
                setclientid_confirm: self.verf,
            }),
            Operation::Verify => Args::Verify(VerifyArgs {
                obj_attributes: self.attrs(),
            }),
            Operation::Write => Args::Write(WriteArgs {
                stateid,
                offset: h[0],
                stable: self.stable(),
                data: &self.data,
            }),
            Operation::ReleaseLockowner => Args::ReleaseLockowner(ReleaseLockownerArgs {
                lock_owner: self.owner(),
            }),
            Operation::BackchannelCtl => Args::BackchannelCtl(BackchannelCtlArgs {
                cb_program: 0x4000_0000,
                sec_parms: self.sec_parms(),
            }),
            Operation::BindConnToSession => Args::BindConnToSession(BindConnToSessionArgs {
                sessid: self.id16,
                dir: channel_dir::BACK_OR_BOTH,
                use_conn_in_rdma_mode: f[1],
            }),
            Operation::ExchangeId => Args::ExchangeId(ExchangeIdArgs {
                clientowner: self.client(),
                flags: exchgid::SUPP_MOVED_REFER,
                state_protect: self.protect_a(),
                client_impl_id: self.impl_id(),
            }),
            Operation::CreateSession => Args::CreateSession(CreateSessionArgs {
                clientid: h[0],
                sequence: w[0],
                flags: create_session::CONN_BACK_CHAN,
                fore_chan_attrs: self.channel(),
                back_chan_attrs: self.channel(),
                cb_program: 0x4000_0000,
                sec_parms: self.sec_parms(),
            }),
            Operation::DestroySession => Args::DestroySession(DestroySessionArgs {
                sessionid: self.id16,
            }),
            Operation::FreeStateid => Args::FreeStateid(FreeStateidArgs { stateid }),
            Operation::GetDirDelegation => Args::GetDirDelegation(GetDirDelegationArgs {
                signal_deleg_avail: f[0],
                notification_types: Bitmap4::EMPTY.with_bit(1),
                child_attr_delay: self.time(0),
                dir_attr_delay: self.time(1),
                child_attributes: self.bitmap(),
                dir_attributes: self.bitmap(),
            }),
            Operation::Getdeviceinfo => Args::Getdeviceinfo(GetdeviceinfoArgs {
                device_id: self.id16,
                layout_type: 77,
                maxcount: w[0],
                notify_types: Bitmap4::EMPTY.with_bit(1),
            }),
            Operation::Getdevicelist => Args::Getdevicelist(GetdevicelistArgs {
                layout_type: 77,
                maxdevices: w[0],
                cookie: h[0],
                cookieverf: self.verf,
            }),
            Operation::Layoutcommit => Args::Layoutcommit(LayoutcommitArgs {
                offset: h[0],
                length: h[1],
                reclaim: f[0],
                stateid,
                last_write_offset: f[2].then_some(h[2]),
                time_modify: f[3].then(|| self.time(0)),
                layoutupdate: self.content(),
            }),
            Operation::Layoutget => Args::Layoutget(LayoutgetArgs {
                signal_layout_avail: f[0],
                layout_type: 77,
                iomode: self.iomode(),
                offset: h[0],
                length: h[1],
                minlength: h[2],
                stateid,
                maxcount: w[0],
            }),
            Operation::Layoutreturn => Args::Layoutreturn(LayoutreturnArgs {
                reclaim: f[0],
                layout_type: 77,
                iomode: self.iomode(),
                layoutreturn: self.layoutreturn(),
            }),
            Operation::SecinfoNoName => Args::SecinfoNoName(SecinfoNoNameArgs {
                style: SecinfoStyle4::Parent,
            }),
            Operation::Sequence => Args::Sequence(SequenceArgs {
                sessionid: self.id16,
                sequenceid: w[0],
                slotid: w[1],
                highest_slotid: w[2],
                cachethis: f[0],
            }),
            Operation::SetSsv => Args::SetSsv(SetSsvArgs {
                ssv: name,
                digest: self.text(1),
            }),
            Operation::TestStateid => Args::TestStateid(TestStateidArgs {
                stateids: Array::new(&self.stateids).expect("few"),
            }),
            Operation::WantDelegation => Args::WantDelegation(WantDelegationArgs {
                want: share::WANT_ANY_DELEG,
                claim: [
                    DelegClaim4::Fh,
                    DelegClaim4::DelegPrevFh,
                    DelegClaim4::Previous(OpenDelegationType4::Read),
                ][self.choice % 3],
            }),
            Operation::DestroyClientid => {
                Args::DestroyClientid(DestroyClientidArgs { clientid: h[0] })
            }
            Operation::ReclaimComplete => {
                Args::ReclaimComplete(ReclaimCompleteArgs { one_fs: f[0] })
            }
            Operation::Allocate => Args::Allocate(AllocateArgs {
                stateid,
                offset: h[0],
                length: h[1],
            }),
            Operation::Copy => Args::Copy(CopyArgs {
                src_stateid: stateid,
                dst_stateid: other,
                src_offset: h[0],
                dst_offset: h[1],
                count: h[2],
                consecutive: f[0],
                synchronous: f[1],
                source_server: self.source_server(),
            }),
            Operation::CopyNotify => Args::CopyNotify(CopyNotifyArgs {
                src_stateid: stateid,
                destination_server: self.netloc(),
            }),
            Operation::Deallocate => Args::Deallocate(DeallocateArgs {
                stateid,
                offset: h[0],
                length: h[1],
            }),
            Operation::IoAdvise => Args::IoAdvise(IoAdviseArgs {
                stateid,
                offset: h[0],
                count: h[1],
                hints: Bitmap4::EMPTY.with_bit(2),
            }),
            Operation::Layouterror => Args::Layouterror(LayouterrorArgs {
                offset: h[0],
                length: h[1],
                stateid,
                errors: Array::new(&self.errors).expect("few"),
            }),
            Operation::Layoutstats => Args::Layoutstats(LayoutstatsArgs {
                offset: h[0],
                length: h[1],
                stateid,
                read: self.io(2),
                write: self.io(4),
                device_id: self.id16,
                layoutupdate: self.content(),
            }),
            Operation::OffloadCancel => Args::OffloadCancel(OffloadCancelArgs { stateid }),
            Operation::OffloadStatus => Args::OffloadStatus(OffloadStatusArgs { stateid }),
            Operation::ReadPlus => Args::ReadPlus(ReadPlusArgs {
                stateid,
                offset: h[0],
                count: w[0],
            }),
            Operation::Seek => Args::Seek(SeekArgs {
                stateid,
                offset: h[0],
                what: DataContent4::Hole,
            }),
            Operation::WriteSame => Args::WriteSame(WriteSameArgs {
                stateid,
                stable: self.stable(),
                adb: AppDataBlock4 {
                    offset: h[0],
                    block_size: h[1],
                    block_count: h[2],
                    reloff_blocknum: h[3],
                    block_num: w[0],
                    reloff_pattern: h[4],
                    pattern: &self.data,
                },
            }),
            Operation::Clone => Args::Clone(CloneArgs {
                src_stateid: stateid,
                dst_stateid: other,
                src_offset: h[0],
                dst_offset: h[1],
                count: h[2],
            }),
            Operation::Getxattr => Args::Getxattr(GetxattrArgs { name }),
            Operation::Setxattr => Args::Setxattr(SetxattrArgs {
                option: SetxattrOption4::Create,
                name,
                value: &self.data,
            }),
            Operation::Listxattrs => Args::Listxattrs(ListxattrsArgs {
                cookie: h[0],
                maxcount: w[0],
            }),
            Operation::Removexattr => Args::Removexattr(RemovexattrArgs { name }),
            Operation::Illegal => Args::Illegal(IllegalArgs {}),
        }
    }
}

//! Answers of a server, for the tests of this module.

use filermark_onc::nfs4::*;

pub(super) const SESSION: Sessionid4 = *b"session number 1";
pub(super) const CLIENT: Clientid4 = 0x0102_0304_0506_0708;

pub(super) const GRANTED: ChannelAttrs4 = ChannelAttrs4 {
    headerpadsize: 0,
    maxrequestsize: 70_000,
    maxresponsesize: 80_000,
    maxresponsesize_cached: 2_000,
    maxoperations: 12,
    maxrequests: 30,
    rdma_ird: None,
};

/// The results of a COMPOUND.
pub(super) fn results(write: impl FnOnce(&mut CompoundResWriter<'_, Operation>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compound = CompoundResWriter::begin(&mut out, b"");
    write(&mut compound);
    compound.finish();
    out
}

/// A COMPOUND that failed in this operation.
pub(super) fn failed(operation: Operation, status: Nfsstat4) -> Vec<u8> {
    results(|compound| {
        compound.fail(operation, status);
    })
}

/// A COMPOUND that failed before its first operation.
pub(super) fn refused(status: Nfsstat4) -> Vec<u8> {
    let mut out = Vec::new();
    CompoundResWriter::<Operation>::begin(&mut out, b"").finish_as(status);
    out
}

pub(super) fn exchange_id() -> Vec<u8> {
    results(|compound| {
        compound.result::<ExchangeIdArgs<'_>>(&Ok(ExchangeIdOk {
            clientid: CLIENT,
            sequenceid: 7,
            flags: exchgid::USE_NON_PNFS,
            state_protect: StateProtect4R::None,
            server_owner: ServerOwner4 {
                minor_id: 5,
                major_id: b"server",
            },
            server_scope: b"scope",
            server_impl_id: Some(NfsImplId4 {
                domain: b"example.org",
                name: b"server 1.2",
                date: Nfstime4::default(),
            }),
        }));
    })
}

pub(super) fn create_session(sequence: u32, fore_chan_attrs: ChannelAttrs4) -> Vec<u8> {
    results(|compound| {
        compound.result::<CreateSessionArgs<'_>>(&Ok(CreateSessionOk {
            sessionid: SESSION,
            sequence,
            flags: 0,
            fore_chan_attrs,
            back_chan_attrs: GRANTED,
        }));
    })
}

pub(super) fn sequence_ok(sequenceid: u32, slotid: u32) -> SequenceOk {
    SequenceOk {
        sessionid: SESSION,
        sequenceid,
        slotid,
        highest_slotid: 29,
        target_highest_slotid: 29,
        status_flags: 0,
    }
}

pub(super) fn reclaim_complete(sequenceid: u32, lease_time: u32) -> Vec<u8> {
    results(|compound| {
        compound.result::<SequenceArgs>(&Ok(sequence_ok(sequenceid, 0)));
        compound.result::<ReclaimCompleteArgs>(&Ok(()));
        compound.result::<PutrootfhArgs>(&Ok(()));
        let values = Attributes {
            lease_time: Some(lease_time),
            ..Attributes::default()
        };
        compound.result::<GetattrArgs>(&Ok(GetattrOk {
            obj_attributes: Fattr4::new(&values),
        }));
    })
}

pub(super) fn setclientid(clientid: Clientid4) -> Vec<u8> {
    results(|compound| {
        compound.result::<SetclientidArgs<'_>>(&Ok(SetclientidOk {
            clientid,
            setclientid_confirm: [9; 8],
        }));
    })
}

pub(super) fn setclientid_confirm(lease_s: u32) -> Vec<u8> {
    let values = Attributes {
        lease_time: Some(lease_s),
        ..Attributes::default()
    };
    results(|compound| {
        compound.result::<SetclientidConfirmArgs>(&Ok(()));
        compound.result::<PutrootfhArgs>(&Ok(()));
        compound.result::<GetattrArgs>(&Ok(GetattrOk {
            obj_attributes: Fattr4::new(&values),
        }));
    })
}

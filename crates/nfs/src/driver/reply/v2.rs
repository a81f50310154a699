//! Replies of version 2, told to the driver as version 3's.

use super::super::core::Core;
use super::{CallOutcome, verdict};
use crate::version2;
use filermark_onc::nfs2::{
    AttrstatRes, DiropRes, ReadRes, ReaddirRes, ReadlinkRes, StatRes, StatfsRes,
};
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

impl Core {
    /// What the results behind a reply's header mean for the call in this slot.
    pub(super) fn judge_v2(
        &mut self,
        slot: u32,
        d: &mut Decoder<'_>,
    ) -> Result<CallOutcome, DecodeError> {
        let call = self.calls.get(slot);
        let (procedure, offset, length) = (call.procedure, call.offset, call.length);
        Ok(match procedure {
            Procedure::Getattr => verdict(&version2::getattr(AttrstatRes::decode(d)?)),
            Procedure::Setattr => verdict(&version2::setattr(AttrstatRes::decode(d)?)),
            Procedure::Readlink => verdict(&version2::readlink(ReadlinkRes::decode(d)?)),
            Procedure::Fsstat => verdict(&version2::statfs(StatfsRes::decode(d)?)),
            Procedure::Lookup => self.found(slot, version2::lookup(DiropRes::decode(d)?)),
            Procedure::Create | Procedure::Mkdir => {
                self.made(slot, version2::create(DiropRes::decode(d)?))
            }
            Procedure::Symlink => self.made(slot, version2::symlink(StatRes::decode(d)?)),
            Procedure::Remove | Procedure::Rmdir => {
                let verdict = verdict(&version2::remove(StatRes::decode(d)?));
                self.accept_replay(slot, verdict, Nfsstat3::Noent)
            }
            Procedure::Rename => {
                let verdict = verdict(&version2::rename(StatRes::decode(d)?));
                self.renamed(slot, verdict)
            }
            Procedure::Link => {
                let verdict = verdict(&version2::link(StatRes::decode(d)?));
                self.linked(slot, verdict)
            }
            Procedure::Read => self.has_read(slot, version2::read(ReadRes::decode(d)?, offset)),
            Procedure::Write => {
                self.has_written(slot, version2::write(AttrstatRes::decode(d)?, length))
            }
            Procedure::Readdir => self.has_listed_v2(slot, ReaddirRes::decode(d)?),
            // Sent as NULL, if at all.
            _ => CallOutcome::Ok,
        })
    }
}

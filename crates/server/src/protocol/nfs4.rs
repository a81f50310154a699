//! NFS version 4, minor versions 1 and 2 (RFC 8881, 7862): NULL and COMPOUND, from call to reply.
//!
//! | part | what |
//! |---|---|
//! | `compound` | the rules of a COMPOUND and of its session, and the reply cache |
//! | `operations` | the switch over the operations |
//! | `clients` | EXCHANGE_ID to DESTROY_CLIENTID |
//! | `handles` | current and saved file handle, the root above the export |
//! | `attributes`, `set_attributes` | values of attributes in both directions |
//! | `objects`, `names`, `listing` | what is done with objects and names |
//! | `opens`, `locks`, `transfer`, `ranges` | what is done with open files |

mod attributes;
mod clients;
mod compound;
mod faults;
mod handles;
mod listing;
mod locks;
mod names;
mod objects;
mod opens;
mod operations;
mod ranges;
mod read_plus;
mod set_attributes;
mod stateids;
#[cfg(test)]
mod tests;
mod transfer;
mod xattrs;

use super::answer::{PROC_UNAVAIL, Refusal, reply};
use super::context::{Peer, ReplyAction, Service, caller};
use crate::memfs::FsError;
use compound::Call;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::{CompoundArgs, Nfsstat4, Operation, PROC_COMPOUND, PROC_NULL};
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::Decoder;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of a request that its digest looks at: those in front of the data of a WRITE.
const DIGEST_BYTES: usize = 512;

/// The status for an error of the file system.
fn status(error: FsError) -> Nfsstat4 {
    match error {
        FsError::BeyondEnd => Nfsstat4::Nxio,
        FsError::NoXattr => Nfsstat4::Noxattr,
        // The others have the numbers of version 3.
        error => Nfsstat4::from_u32(super::convert::status(error).to_u32()),
    }
}

/// Bytes of SEQUENCE, with its number.
const SEQUENCE_BYTES: usize = 4 + 16 + 4 + 4 + 4 + 4;

/// Distinguishes a request from another one with the same slot and sequence number: by its user and its
/// operations. SEQUENCE is left out, since the highest slot in use may have changed in a retry.
fn digest(uid: u32, args: &[u8], tag_bytes: usize) -> u64 {
    let front = 4 + tag_bytes.next_multiple_of(4) + 4 + 4 + SEQUENCE_BYTES;
    let rest = args.get(front..).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (uid, rest.len(), &rest[..rest.len().min(DIGEST_BYTES)]).hash(&mut hasher);
    hasher.finish()
}

impl Service {
    pub(super) fn nfs4(
        &mut self,
        record: &[u8],
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<ReplyAction, Refusal> {
        match call.proc {
            PROC_NULL | PROC_COMPOUND if self.loses_call() => Ok(ReplyAction::Lose),
            PROC_NULL => {
                self.counters.nfs4_null.add(1);
                reply(out, call.xid, |_| {});
                Ok(self.verdict(Procedure::Null, peer))
            }
            PROC_COMPOUND => {
                let caller = caller(call)?;
                let bytes = d.rest();
                let args = CompoundArgs::<Operation>::decode(d)?;
                let digest = digest(caller.uid, bytes, args.tag.len());
                self.counters.compounds.add(1);
                let call = Call {
                    xid: call.xid,
                    request_bytes: record.len(),
                    digest,
                };
                let served = compound::serve(self.context(&caller, peer), call, args, out);
                if served.is_repeated {
                    self.counters.duplicates_answered.add(1);
                }
                Ok(self.verdict4(&served, peer))
            }
            _ => Err(PROC_UNAVAIL),
        }
    }
}

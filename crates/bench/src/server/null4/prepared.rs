//! Replies to GETATTR that are copies of prepared ones, as those of the server of version 3 are: this
//! measures clients, so a reply must cost next to nothing.

use super::{Canned, DIR, FILE};
use filermark_onc::nfs4::*;
use filermark_onc::rpc::{CallHeader, OpaqueAuth};
use filermark_onc::xdr::{self, DecodeError};
use std::ops::Range;

/// Offsets in the arguments of a COMPOUND of SEQUENCE, PUTFH and GETATTR, with an empty tag and a handle of
/// the common length.
const TAG_LENGTH: usize = 0;
const COUNT: usize = 8;
const SEQUENCE: usize = 12;
/// Session, sequence number and slot, which are the same in the result.
const CALLED: Range<usize> = 16..40;
const PUTFH: usize = 48;
const HANDLE_LENGTH: usize = 52;
const HANDLE: Range<usize> = 56..88;
const GETATTR: usize = 88;
/// The first word of the attributes that are asked for.
const ATTRIBUTES: usize = 96;
/// Attributes that the prepared results do not have: limits of the server.
const LIMITS: u32 = 1 << Attribute::LeaseTime.to_u32() | 1 << Attribute::Maxread.to_u32();

/// Offsets in a reply with its mark.
const XID: Range<usize> = 4..8;
const RETURNED: Range<usize> = 48..72;

/// The prepared replies.
#[derive(Default)]
pub(super) struct Prepared {
    dir: Vec<u8>,
    file: Vec<u8>,
}

impl Prepared {
    /// As `canned`, which has none yet, answers such calls.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn new(canned: &Canned) -> Result<Self, DecodeError> {
        let reply = |handle: &[u8; 32]| {
            let mut out = Vec::new();
            canned.answer(&call(0, [0; 16], handle), &mut out)?;
            Ok(out)
        };
        Ok(Self {
            dir: reply(&DIR)?,
            file: reply(&FILE)?,
        })
    }

    /// Appends the reply to the call with these arguments; `false`: there is none prepared.
    #[inline]
    pub(super) fn append(&self, xid: u32, args: &[u8], out: &mut Vec<u8>) -> bool {
        let word = |at: usize| {
            let word = args.get(at..).and_then(<[u8]>::first_chunk);
            word.map(|word| u32::from_be_bytes(*word))
        };
        let is_getattr = word(TAG_LENGTH) == Some(0)
            && word(COUNT) == Some(3)
            && word(SEQUENCE) == Some(Operation::Sequence.to_u32())
            && word(PUTFH) == Some(Operation::Putfh.to_u32())
            && word(HANDLE_LENGTH) == Some(DIR.len() as u32)
            && word(GETATTR) == Some(Operation::Getattr.to_u32())
            && word(ATTRIBUTES).is_some_and(|asked| asked & LIMITS == 0);
        let block = match args.get(HANDLE) {
            Some(handle) if is_getattr && handle == FILE => &self.file,
            Some(_) if is_getattr => &self.dir,
            _ => return false,
        };
        let Some(called) = args.get(CALLED).filter(|_| block.len() >= RETURNED.end) else {
            return false;
        };
        let start = out.len();
        out.extend_from_slice(block);
        let reply = &mut out[start..];
        reply[XID].copy_from_slice(&xid.to_be_bytes());
        reply[RETURNED].copy_from_slice(called);
        true
    }
}

/// The record of a call, without its mark.
fn call(xid: u32, sessionid: Sessionid4, handle: &[u8; 32]) -> Vec<u8> {
    let mut record = Vec::new();
    let header = CallHeader {
        xid,
        prog: PROGRAM,
        vers: VERSION,
        proc: PROC_COMPOUND,
        cred: OpaqueAuth::NONE,
        verf: OpaqueAuth::NONE,
    };
    xdr::append(&mut record, &header);
    let mut compound = CompoundWriter::<Operation>::begin(&mut record, b"", 1);
    let sequence = SequenceArgs {
        sessionid,
        sequenceid: 7,
        slotid: 3,
        highest_slotid: 3,
        cachethis: false,
    };
    let attr_request = Bitmap4::of(&[Attribute::Type, Attribute::Mode]);
    compound.op(&sequence);
    if let Some(object) = FileHandle4::new(handle) {
        compound.op(&PutfhArgs { object });
    }
    compound.op(&GetattrArgs { attr_request });
    compound.finish();
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prepared reply is the one that is made for each call.
    #[test]
    fn a_prepared_reply_is_that_of_the_call() {
        let (slow, fast) = (Canned::unprepared(), Canned::new());
        for handle in [DIR, FILE] {
            let call = call(0x1234_5678, [9; 16], &handle);
            let (mut made, mut copied) = (Vec::new(), Vec::new());
            slow.answer(&call, &mut made).expect("a call");
            fast.answer(&call, &mut copied).expect("a call");
            assert_eq!(made, copied);
            let mut d = xdr::Decoder::new(&call);
            CallHeader::decode(&mut d).expect("a header");
            copied.clear();
            assert!(fast.prepared.append(0x1234_5678, d.rest(), &mut copied));
            assert_eq!(made, copied);
        }
    }
}

//! Prebuilt call headers: everything of a call that doesn't change on a connection is one block of bytes.
//!
//! A call costs one copy of the block, two patches (xid, procedure), the arguments, and the record mark.
//! Allocates only when the output vector's capacity runs out.

use crate::record::OpenRecord;
use crate::rpc::{Call, CallHeader, OpaqueAuth};
use crate::xdr::{self, Encoder};

const XID: usize = 4;
const PROC: usize = 24;

/// The header of every call of one program with one credential, record mark in front.
#[derive(Debug, Clone)]
pub struct CallTemplate {
    bytes: Box<[u8]>,
}

impl CallTemplate {
    /// A template for version `vers` of `prog`, called with `cred`.
    pub fn new(prog: u32, vers: u32, cred: OpaqueAuth<'_>) -> Self {
        let mut bytes = vec![0; XID];
        let header = CallHeader {
            xid: 0,
            prog,
            vers,
            proc: 0,
            cred,
            verf: OpaqueAuth::NONE,
        };
        xdr::append(&mut bytes, &header);
        Self {
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// Length of mark and header together, in bytes.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a template has a header.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Appends the header; append the arguments next, then [`OpenRecord::finish`].
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>, xid: u32, proc: u32) -> OpenRecord {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        if let Some(header) = out.get_mut(start..start + PROC + 4) {
            header[XID..XID + 4].copy_from_slice(&xid.to_be_bytes());
            header[PROC..PROC + 4].copy_from_slice(&proc.to_be_bytes());
        }
        OpenRecord::at(start)
    }

    /// Appends a whole call; the arguments say which procedure. Returns the record's length in bytes, without the mark.
    #[inline]
    pub fn call<A: Call>(&self, out: &mut Vec<u8>, xid: u32, args: &A) -> usize {
        let record = self.begin(out, xid, A::PROC);
        args.encode(&mut Encoder::new(out));
        record.finish(out)
    }
}

//! Canned replies: every procedure succeeds at once and nothing is stored except the
//! directories of runs ([`runs`]), without which no run could start.
//!
//! This measures clients, so it must cost next to nothing: each reply is one copy of a
//! prepared block with the xid patched in. The contents of the blocks are in the files of the
//! procedures, beside the replies from the file system.

pub(super) mod runs;
pub(super) mod sample;
pub(super) mod v2_handles;

use super::answer::{Refusal, put, reply};
use crate::options::ServerOptions;
use crate::stats::Counters;
use filermark_onc::nfs3::{FileHandle, Ftype3, GetattrOk, GetattrRes, Nfsstat3, Procedure};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::ReplyHeader;
use filermark_onc::xdr::{self, Decode, Decoder, Encode, Encoder};
use runs::Runs;
use sample::attributes;
pub(super) use sample::root;
use std::sync::Arc;

/// Offset of the xid in a reply: after the record mark.
const XID: usize = 4;

/// The prepared replies, record mark in front.
#[derive(Debug)]
pub(super) struct Replies {
    blocks: [Box<[u8]>; Procedure::COUNT],
    getattr_dir: Box<[u8]>,
    getattr_link: Box<[u8]>,
    /// READ's results up to the count.
    read_front: Box<[u8]>,
    pub(super) capacity_bytes: u64,
    pub(super) rtmax: u32,
    pub(super) wtmax: u32,
    pub(super) runs: Arc<Runs>,
}

fn block(results: impl FnOnce(&mut Vec<u8>)) -> Box<[u8]> {
    let mut bytes = Vec::new();
    reply(&mut bytes, 0, results);
    bytes.into()
}

fn getattr(ftype: Ftype3) -> Box<[u8]> {
    let obj_attributes = attributes(ftype);
    block(|out| put(out, &GetattrRes::Ok(GetattrOk { obj_attributes })))
}

impl Replies {
    /// Both transports have the same runs. `prepared` appends the results of a procedure.
    pub(super) fn new(
        options: &ServerOptions,
        runs: &Arc<Runs>,
        prepared: fn(Procedure, &ServerOptions, &mut Vec<u8>),
    ) -> Replies {
        let mut blocks: [Box<[u8]>; Procedure::COUNT] = Default::default();
        for (bytes, procedure) in blocks.iter_mut().zip(Procedure::ALL) {
            *bytes = block(|out| prepared(*procedure, options, out));
        }
        let mut read_front = Vec::new();
        put(&mut read_front, &Nfsstat3::Ok);
        put(&mut read_front, &Some(attributes(Ftype3::Reg)));
        Replies {
            blocks,
            getattr_dir: getattr(Ftype3::Dir),
            getattr_link: getattr(Ftype3::Lnk),
            read_front: read_front.into(),
            capacity_bytes: options.capacity_bytes,
            rtmax: options.rtmax,
            wtmax: options.wtmax,
            runs: runs.clone(),
        }
    }

    /// Appends the reply that is prepared for this procedure.
    #[inline]
    pub(super) fn append(&self, procedure: Procedure, xid: u32, out: &mut Vec<u8>) {
        copy(&self.blocks[procedure as usize], xid, out);
    }

    /// GETATTR's reply for a handle of a directory or a link; files have the prepared one.
    #[inline]
    pub(super) fn getattr(&self, object: &FileHandle<'_>) -> Option<&[u8]> {
        match object.as_bytes().last() {
            Some(kind) if *kind == Ftype3::Dir as u8 => Some(&self.getattr_dir),
            Some(kind) if *kind == Ftype3::Lnk as u8 => Some(&self.getattr_link),
            _ => None,
        }
    }
}

/// Appends a prepared reply with this xid.
#[inline]
fn copy(block: &[u8], xid: u32, out: &mut Vec<u8>) {
    let start = out.len() + XID;
    out.extend_from_slice(block);
    out[start..start + 4].copy_from_slice(&xid.to_be_bytes());
}

/// A request to the canned server: only procedures that use its arguments decode them.
pub(super) struct Request<'a, 'd> {
    pub(super) replies: &'a Replies,
    pub(super) counters: &'a Counters,
    pub(super) xid: u32,
    pub(super) args: &'a mut Decoder<'d>,
    pub(super) out: &'a mut Vec<u8>,
}

impl<'d> Request<'_, 'd> {
    /// The arguments, which must end the message.
    #[inline]
    pub(super) fn args<T: Decode<'d>>(&mut self) -> Result<T, Refusal> {
        Ok(xdr::finish(self.args)?)
    }

    /// Appends a reply with these results.
    #[inline]
    pub(super) fn reply<T: Encode>(&mut self, results: &T) {
        reply(self.out, self.xid, |out| put(out, results));
    }

    /// Appends a prepared reply.
    #[inline]
    pub(super) fn copy(&mut self, block: &[u8]) {
        copy(block, self.xid, self.out);
    }

    /// Appends READ's reply with so many zeroes.
    #[inline]
    pub(super) fn copy_read(&mut self, count: u32) {
        let open = OpenRecord::begin(self.out);
        ReplyHeader::encode_success(self.out, self.xid);
        self.out.extend_from_slice(&self.replies.read_front);
        let mut e = Encoder::new(self.out);
        e.u32(count);
        e.bool(false);
        e.opaque_in_place(count);
        open.finish(self.out);
    }
}

//! ONC RPC, portmapper, rpcbind, MOUNT, NFSv2, NFSv3 and NFSv4 as codecs without I/O: bytes in, bytes out.
//!
//! This crate has wire formats and nothing else: no sockets, no clock, no threads, no retries. The
//! client driver, the protocol validator and the embedded server share it, so every message can be
//! encoded *and* decoded. What it promises:
//!
//! * **No allocation on the hot path.** Calls are appended to a `Vec<u8>` the caller owns
//!   ([`template::CallTemplate`]); results borrow from the receive buffer.
//! * **No trust in the wire.** Every length is checked against a limit and against the bytes that are
//!   there; no input makes a decoder panic, loop for ever or reserve memory. An error is a
//!   [`xdr::DecodeError`]: the offset, the field, and the value found.
//! * **RFC names.** Structures and fields are called what the RFCs call them (in Rust's letter case).
//!
//! | module | standard |
//! |---|---|
//! | [`xdr`], the crate `filermark-xdr` | RFC 4506 |
//! | [`rpc`], [`record`], [`template`] | RFC 5531 (record marking: section 11) |
//! | [`portmap`], [`rpcbind`] | RFC 1833 |
//! | [`mount`] | RFC 1813, appendix I |
//! | [`nfs3`] | RFC 1813 |
//! | [`mount1`] | RFC 1094, appendix A |
//! | [`nfs2`] | RFC 1094 |
//! | [`nfs4`] | RFC 7530, 7531, 8881, 5662, 7862, 7863, 8276, 8435 |
//!
//! A call and its reply, both ends:
//!
//! ```
//! use filermark_onc::nfs3::{Fh, GetattrArgs, GetattrRes, Nfsstat3, Failed, PROGRAM, VERSION};
//! use filermark_onc::rpc::{AuthSys, CallHeader, ReplyHeader};
//! use filermark_onc::record::RecordReader;
//! use filermark_onc::template::CallTemplate;
//! use filermark_onc::xdr::{self, Decode, Decoder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The client: one template per connection, one memcpy per call.
//! let cred = AuthSys::new(0, b"client", 1000, 1000, &[]).to_body();
//! let template = CallTemplate::new(PROGRAM, VERSION, cred.as_auth());
//! let root = Fh::new(b"root handle").ok_or("handle too long")?;
//! let mut wire = Vec::with_capacity(4096);
//! template.call(&mut wire, 7, &GetattrArgs { object: root.handle() });
//!
//! // The server: split records off the stream, decode header and arguments in place.
//! let mut reader = RecordReader::new(1 << 20);
//! let mut input = &wire[..];
//! let record = reader.next_record(&mut input)?.ok_or("incomplete")?;
//! let mut d = Decoder::new(record);
//! let call = CallHeader::decode(&mut d)?;
//! let args = GetattrArgs::decode(&mut d)?;
//! assert_eq!((call.xid, args.object.as_bytes()), (7, &b"root handle"[..]));
//! let mut reply = Vec::new();
//! ReplyHeader::encode_success(&mut reply, call.xid);
//! let stale: GetattrRes = Err(Failed { status: Nfsstat3::Stale, info: () });
//! xdr::append(&mut reply, &stale);
//!
//! // The client again.
//! let mut d = Decoder::new(&reply);
//! let header = ReplyHeader::decode(&mut d)?;
//! header.check()?;
//! let res: GetattrRes = xdr::finish(&mut d)?;
//! assert_eq!(res.unwrap_err().status.name(), "NFS3ERR_STALE");
//! # Ok(())
//! # }
//! ```

#[macro_use]
mod macros;

pub mod fuzzing;
pub mod handle;
pub mod mount;
pub mod mount1;
pub mod nfs2;
pub mod nfs3;
pub mod nfs4;
pub mod portmap;
pub mod record;
pub mod rpc;
pub mod rpcbind;
pub mod template;

/// XDR, a crate of its own.
pub use filermark_xdr as xdr;

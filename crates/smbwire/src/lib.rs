//! SMB1 (NT LM 0.12), SMB 2.0.2 to 3.1.1, NTLM and SPNEGO as codecs: bytes in, bytes out.
//!
//! It uses no sockets and no clock, and gets random bytes from its caller. Lengths and
//! offsets from the wire are never trusted: every decoder borrows from its input and fails
//! at the end of it.
//!
//! | module | contents |
//! |---|---|
//! | `bytes` | little-endian reading and writing |
//! | `frame` | the four bytes before a message on direct TCP |
//! | `error` | errors of decoding and of session setup |
//! | `status` | NTSTATUS by name |
//! | `auth` | the interface between a session's setup and authentication |
//! | `ntlm`, `spnego` | NTLMv2 and its wrapping |
//! | `smb1`, `smb2` | the two protocols, with their handshakes |
//! | `request`, `codec` | one request type for both, and the interface of their codecs |
//! | `crypto` | keys, signatures, encryption of SMB 2 and 3 |

pub mod auth;
pub mod bytes;
pub mod codec;
pub mod crypto;
pub mod error;
pub mod frame;
pub mod ntlm;
pub mod request;
pub mod settings;
pub mod smb1;
pub mod smb2;
pub mod spnego;
pub mod status;

//! SMB1 as NT LM 0.12 (MS-CIFS, MS-SMB): Unicode, NT status codes, extended security.
//!
//! | module | contents |
//! |---|---|
//! | `header` | the 32 bytes before everything, commands |
//! | `writer` | how a request is put together in a buffer |
//! | `request` | files, directories and sessions: requests |
//! | `trans` | TRANSACTION2 and NT_TRANSACT: requests |
//! | `transfer` | WRITE_ANDX with its data in place, READ_ANDX, LOCKING_ANDX |
//! | `reply` | answers, borrowed from the message |
//! | `pieces` | answers to transactions, which may come in several messages |
//! | `info` | levels of information about files and file systems |
//! | `setup` | NEGOTIATE, SESSION_SETUP_ANDX, TREE_CONNECT_ANDX |
//! | `handshake` | from a fresh connection to a session with a tree |
//! | `session` | marks, numbers and signatures of a session's messages |
//! | `codec` | the requests that both protocols share, as messages of this one |
//!
//! Requests append to a buffer and allocate nothing of their own; answers borrow. Nothing
//! here chains commands: every AndX block ends the chain.

pub(crate) mod codec;
pub mod fuzzing;
mod handshake;
mod header;
pub mod info;
mod pieces;
mod reply;
mod request;
mod session;
mod setup;
#[cfg(test)]
mod tests;
mod trans;
mod transfer;
mod writer;

pub use handshake::Handshake;
pub use header::{Command, HEADER, Header, flags, flags2};
pub use pieces::{Part, Pieces, Transaction};
pub use reply::{
    Created, Echoed, FindFirstReply, FindNextReply, OplockBreak, ReadData, Reply, SecurityReply,
    Written,
};
pub use request::{
    Close, CreateDirectory, Delete, DeleteDirectory, Echo, FindClose, Flush, Logoff, NtCancel,
    NtCreate, Rename, TreeDisconnect,
};
pub use session::{Session, Signer};
pub use setup::{Negotiated, caps};
pub use trans::{
    FindFirst, FindNext, NotifyChange, QueryFile, QueryFs, QueryPath, QuerySecurity, SetFile,
    SetInfo, SetPath,
};
pub use transfer::{Locking, OplockAck, Range, ReadAndx, WriteAndx, WriteMark, lock_type};
pub use writer::{Head, Path, Request, Writer};

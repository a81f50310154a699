//! The embedded NFS server, versions 2, 3 and 4.0 to 4.2: an in-memory file system behind the shared codecs.
//!
//! It is the server of the demo, and in tests the peer whose replies are known: it counts the
//! requests exactly, and injects delays, errors, lost replies and lost connections in known
//! amounts. It does not depend on the engine, the drivers or the command line, and prints nothing.
//!
//! | part | knows |
//! |---|---|
//! | [`memfs`] | inodes, names, permissions, space; no bytes |
//! | `nfs4` | clients, sessions, opens and locks of NFSv4; no messages |
//! | `protocol` | records and datagrams in, replies out; no sockets, no threads |
//! | `event_loop` | sockets, timers, TLS; nothing of what is in a record |
//! | `faults` | which request is to go wrong, and how |
//!
//! ```
//! use filermark_server::{Server, ServerOptions};
//!
//! let server = Server::start(ServerOptions::default())?;
//! let address = server.addrs()[0];
//! // mount -o vers=3,tcp,port=PORT,mountport=PORT,nolock 127.0.0.1:/export /mnt
//! assert!(address.port() != 0);
//! assert_eq!(server.stats().nfs_total(), 0);
//! server.stop();
//! # Ok::<(), filermark_server::ServerError>(())
//! ```

mod event_loop;
mod faults;
mod lateness;
pub mod memfs;
mod nfs4;
mod options;
mod protocol;
mod server;
mod stats;
mod sys;

pub use faults::{
    CapacitySpec, DelayDistribution, DelaySpec, DropSpec, ErrorRule, ErrorSpec, Faulted, HitRate,
    Late, SpecError, StopSpec, UnstableSpec,
};
pub use filermark_onc::nfs2::Procedure as Procedure2;
pub use filermark_onc::nfs3::Procedure;
pub use filermark_onc::nfs4::Operation as Operation4;
pub use filermark_tls::ServerFiles as TlsFiles;
pub use lateness::Lateness;
pub use options::{Delegations, EXPORT, MAX_TRANSFER, ServerError, ServerOptions};
pub use server::{RunningServer, Server};
pub use stats::ServerStats;

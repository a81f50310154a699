//! State that the RPC programs use: shared by all threads, of one thread, and of the caller.

use super::answer::Refusal;
use super::cache::{ReplyCache, Session};
use super::mounts::Mounts;
use super::null::Replies;
use crate::faults::Faults;
use crate::memfs::{Cred, FsConfig, MemFs};
use crate::nfs4::{Clock, DelegationCounts, Outlet, State4};
use crate::options::{Delegations, ServerOptions};
use crate::stats::Counters;
use filermark_onc::nfs3::Procedure;
use filermark_onc::rpc::{AuthFlavor, AuthStat, CallHeader, Gids};
use filermark_tls::ServerTls;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// What all threads of one server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    pub(crate) faults: Faults,
    pub(super) fs: MemFs,
    /// Clients, sessions, opens and locks of version 4.
    pub(super) nfs4: State4,
    /// The options as they hold over UDP.
    pub(super) udp_options: ServerOptions,
    pub(super) null_udp: Replies,
    /// Identifies this file system (`fsid`).
    pub(super) fsid: u64,
    pub(super) cache: ReplyCache,
    pub(super) mounts: Mounts,
    pub(super) null: Replies,
    /// What connections with TLS need; `None`: there are none.
    pub(crate) tls: Option<ServerTls>,
    /// Connections of all threads.
    pub(crate) connection_count: AtomicUsize,
    /// Bytes of requests that have come in part, of all threads.
    pub(crate) partial_bytes: AtomicU64,
}

/// Requests that have come in part may always take so much.
const PARTIAL_BYTES_MIN: u64 = 16 << 20;
/// Or so many of the largest records.
const PARTIAL_RECORDS_MIN: u64 = 16;

impl Shared {
    /// Changes refused for want of space.
    pub(crate) fn no_space_count(&self) -> u64 {
        self.fs.no_space_count()
    }

    /// What was done with delegations so far.
    pub(crate) fn delegation_counts(&self) -> &DelegationCounts {
        self.nfs4.files.delegation_counts()
    }

    /// Whether connections are to have a way for callbacks: recalls, and the ends of copies.
    pub(crate) fn has_callbacks(&self) -> bool {
        !self.options.null
    }

    /// Whether files may have delegations.
    pub(crate) fn delegates(&self) -> bool {
        self.options.delegations != Delegations::Off && !self.options.null
    }

    /// Most bytes that requests may take that have come in part.
    pub(crate) fn partial_bytes_max(&self) -> u64 {
        let least = PARTIAL_BYTES_MIN.max(PARTIAL_RECORDS_MIN * self.max_record() as u64);
        least.max(self.options.capacity_bytes / 4)
    }

    /// Whether version 4 is served: over streams, and not with canned replies.
    pub(super) fn has_version4(&self, peer: &Peer) -> bool {
        !self.options.null && !peer.is_datagram()
    }

    /// What was chosen, as it holds for this client's transport.
    pub(super) fn options_for(&self, peer: &Peer) -> &ServerOptions {
        if peer.is_datagram() {
            &self.udp_options
        } else {
            &self.options
        }
    }

    pub(super) fn null_for(&self, peer: &Peer) -> &Replies {
        if peer.is_datagram() {
            &self.null_udp
        } else {
            &self.null
        }
    }

    /// The largest record that is accepted, in bytes: the largest WRITE, or a long symlink, and
    /// its header.
    pub(crate) fn max_record(&self) -> usize {
        self.options.wtmax as usize + 128 * 1024
    }

    /// A server that starts at `started_ns` on the monotonic clock; `prepared` has the canned results of a
    /// procedure.
    pub(super) fn start(
        options: ServerOptions,
        started_ns: u64,
        prepared: fn(Procedure, &ServerOptions, &mut Vec<u8>),
    ) -> Shared {
        let fs = MemFs::new(FsConfig {
            capacity_bytes: options.capacity_bytes,
            max_files: options.max_files,
            read_only: options.read_only,
            ..FsConfig::default()
        });
        let (udp_options, runs) = (options.over_udp(), Arc::default());
        Shared {
            faults: Faults::new(&options, started_ns),
            nfs4: State4::new(
                fs.write_verifier(),
                options.capacity_bytes / 4,
                Clock::System,
            ),
            fsid: fs.write_verifier(),
            null: Replies::new(&options, &runs, prepared),
            null_udp: Replies::new(&udp_options, &runs, prepared),
            udp_options,
            fs,
            options,
            cache: ReplyCache::default(),
            mounts: Mounts::default(),
            tls: None,
            connection_count: AtomicUsize::new(0),
            partial_bytes: AtomicU64::new(0),
        }
    }
}

/// The other end of one connection, or the sender of one datagram.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The client.
    pub(crate) client: IpAddr,
    /// Its port over UDP; `None` over TCP.
    pub(crate) udp_port: Option<u16>,
    /// The address of ours that it chose.
    pub(crate) local: SocketAddr,
    /// Stands for the connection in the reply cache; one for all datagrams of a socket.
    pub(crate) session: Arc<Session>,
    /// TLS protects the connection.
    pub(crate) is_secured: bool,
    /// The way to send callbacks; `None`: there are none on this connection.
    pub(crate) outlet: Option<Arc<Outlet>>,
}

impl Peer {
    pub(super) fn is_datagram(&self) -> bool {
        self.udp_port.is_some()
    }
}

/// What is to happen with the reply that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyAction {
    /// Send it.
    Send,
    /// Send it twice, where it travels in datagrams.
    SendTwice,
    /// Send it when so many ns have passed since the request came.
    Later(u64),
    /// Lose it.
    Lose,
    /// There is none: the message was itself a reply, to a callback.
    Nothing,
    /// Send it; TLS begins behind it.
    StartTls,
    /// The bytes were no RPC call: close the connection; drop the datagram.
    Close,
}

/// The caller, with the groups by value.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) gids: Gids,
}

impl Caller {
    pub(super) fn cred(&self) -> Cred<'_> {
        Cred {
            uid: self.uid,
            gid: self.gid,
            groups: self.gids.as_slice(),
        }
    }
}

/// One thread's way to the server.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<Counters>,
    pub(super) scratch: Vec<u8>,
}

/// What a procedure works with.
pub(super) struct Context<'a> {
    pub(super) shared: &'a Shared,
    pub(super) counters: &'a Counters,
    pub(super) caller: &'a Caller,
    /// As they hold for the client's transport.
    pub(super) options: &'a ServerOptions,
    pub(super) scratch: &'a mut Vec<u8>,
    /// The way to send callbacks to the client of the connection.
    pub(super) outlet: Option<&'a Arc<Outlet>>,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>, counters: Arc<Counters>) -> Service {
        Service {
            shared,
            counters,
            scratch: Vec::new(),
        }
    }

    /// The context of a procedure that this caller calls over this connection.
    pub(super) fn context<'a>(&'a mut self, caller: &'a Caller, peer: &'a Peer) -> Context<'a> {
        Context {
            shared: &self.shared,
            counters: &self.counters,
            caller,
            options: self.shared.options_for(peer),
            scratch: &mut self.scratch,
            outlet: peer.outlet.as_ref(),
        }
    }
}

/// The caller's identity; with AUTH_NONE the anonymous one.
pub(super) fn caller(call: &CallHeader<'_>) -> Result<Caller, Refusal> {
    match call.cred.flavor {
        AuthFlavor::None => {
            let anonymous = Cred::ANONYMOUS;
            Ok(Caller {
                uid: anonymous.uid,
                gid: anonymous.gid,
                gids: Gids::default(),
            })
        }
        AuthFlavor::Sys => match call.cred.auth_sys() {
            Ok(sys) => Ok(Caller {
                uid: sys.uid,
                gid: sys.gid,
                gids: sys.gids,
            }),
            Err(_) => Err(Refusal::Auth(AuthStat::BadCred)),
        },
        _ => Err(Refusal::Auth(AuthStat::BadCred)),
    }
}

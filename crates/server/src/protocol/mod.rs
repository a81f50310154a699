//! From a record to its reply: programs, versions, procedures, and the faults on the way.
//!
//! Knows the codecs and the file system; knows neither sockets nor threads. Whatever comes
//! in, something defined comes out.

// Results are the codecs' own: attributes beside the status, encoded where they stand.
#![allow(clippy::result_large_err)]

mod cache;
mod change;
mod convert;
mod listing;
mod look;
mod mount;
mod nfs;
mod nfs2;
mod null;
mod portmap;

pub(crate) use cache::Session;

use crate::faults::Faults;
use crate::memfs::{Cred, FsConfig, MemFs};
use crate::options::ServerOptions;
use crate::stats::Counters;
use cache::ReplyCache;
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{
    AcceptStat, AuthFlavor, AuthStat, CallError, CallHeader, Gids, RejectStat, ReplyHeader,
};
use filermark_onc::xdr::{self, Decoder, Encode};
use filermark_onc::{mount as mnt, mount1, nfs2 as v2, nfs3, portmap as pmap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// What all threads of one server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    pub(crate) faults: Faults,
    fs: MemFs,
    /// The options as they hold over UDP.
    udp_options: ServerOptions,
    null_udp: null::Replies,
    /// Tells this file system from others (`fsid`).
    fsid: u64,
    cache: ReplyCache,
    mounts: mount::Mounts,
    null: null::Replies,
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

    /// Most bytes that requests may take that have come in part.
    pub(crate) fn partial_bytes_max(&self) -> u64 {
        let least = PARTIAL_BYTES_MIN.max(PARTIAL_RECORDS_MIN * self.max_record() as u64);
        least.max(self.options.capacity_bytes / 4)
    }

    /// `started_ns`: now, on the monotonic clock.
    pub(crate) fn new(options: ServerOptions, started_ns: u64) -> Shared {
        let fs = MemFs::new(FsConfig {
            capacity_bytes: options.capacity_bytes,
            max_files: options.max_files,
            read_only: options.read_only,
            ..FsConfig::default()
        });
        let (udp_options, runs) = (options.over_udp(), Arc::default());
        Shared {
            faults: Faults::new(&options, started_ns),
            fsid: fs.write_verifier(),
            null: null::Replies::new(&options, &runs),
            null_udp: null::Replies::new(&udp_options, &runs),
            udp_options,
            fs,
            options,
            cache: ReplyCache::default(),
            mounts: mount::Mounts::default(),
            connection_count: AtomicUsize::new(0),
            partial_bytes: AtomicU64::new(0),
        }
    }

    /// What was chosen, as it holds for this client's transport.
    fn options_for(&self, peer: &Peer) -> &ServerOptions {
        if peer.is_datagram() {
            &self.udp_options
        } else {
            &self.options
        }
    }

    fn null_for(&self, peer: &Peer) -> &null::Replies {
        if peer.is_datagram() {
            &self.null_udp
        } else {
            &self.null
        }
    }

    /// The largest record that is taken, in bytes: a largest WRITE, or a long symlink, with
    /// room for its header.
    pub(crate) fn max_record(&self) -> usize {
        self.options.wtmax as usize + 128 * 1024
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
}

impl Peer {
    fn is_datagram(&self) -> bool {
        self.udp_port.is_some()
    }
}

/// Bytes in front of every reply, which datagrams leave out.
pub(crate) const RECORD_MARK: usize = 4;
/// The most bytes in a datagram over IPv4: 65,535 without the headers of IP and UDP.
pub(crate) const MAX_DATAGRAM: usize = 65_507;

/// What is to happen with the reply that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send it.
    Send,
    /// Send it twice, where it travels in datagrams.
    Twice,
    /// Send it when so many ns have passed since the request came.
    Later(u64),
    /// Lose it.
    Lose,
    /// The bytes were no RPC call: close the connection; drop the datagram.
    Close,
}

/// Who asks, with the groups by value.
#[derive(Debug)]
struct Caller {
    uid: u32,
    gid: u32,
    gids: Gids,
}

impl Caller {
    fn cred(&self) -> Cred<'_> {
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
    scratch: Vec<u8>,
}

/// A refusal on the RPC level.
enum Refusal {
    Accept(AcceptStat),
    Auth(AuthStat),
}

impl From<xdr::DecodeError> for Refusal {
    fn from(_: xdr::DecodeError) -> Refusal {
        Refusal::Accept(AcceptStat::GarbageArgs)
    }
}

const PROC_UNAVAIL: Refusal = Refusal::Accept(AcceptStat::ProcUnavail);

fn put<T: Encode + ?Sized>(out: &mut Vec<u8>, value: &T) {
    xdr::append(out, value);
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>, counters: Arc<Counters>) -> Service {
        Service {
            shared,
            counters,
            scratch: Vec::new(),
        }
    }

    /// Serves one record; appends the reply, with its mark, to `out`.
    #[inline]
    pub(crate) fn serve(&mut self, record: &[u8], peer: &Peer, out: &mut Vec<u8>) -> Verdict {
        let mut d = Decoder::new(record);
        match CallHeader::decode(&mut d) {
            Ok(call) => self.call(record, &call, &mut d, peer, out),
            Err(error) => self.refuse_header(&error, peer, out),
        }
    }

    fn refuse_header(&self, error: &CallError, peer: &Peer, out: &mut Vec<u8>) -> Verdict {
        self.counters.refused.add(1);
        let malformed = matches!(error, CallError::Malformed { .. });
        let reply = match error.reply() {
            // Anybody can send datagrams in anybody's name: what is no call gets no answer.
            Some(reply) if !(malformed && peer.is_datagram()) => reply,
            _ => return Verdict::Close,
        };
        let open = OpenRecord::begin(out);
        put(out, &reply);
        open.finish(out);
        Verdict::Send
    }

    fn call(
        &mut self,
        record: &[u8],
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let start = out.len();
        let served = match call.prog {
            nfs3::PROGRAM if call.vers == nfs3::VERSION => self.nfs(record, call, d, peer, out),
            nfs3::PROGRAM if call.vers == v2::VERSION => self.nfs2(record, call, d, peer, out),
            nfs3::PROGRAM => Err(mismatch(v2::VERSION, nfs3::VERSION)),
            mnt::PROGRAM if matches!(call.vers, mount1::VERSION | mnt::VERSION) => {
                self.mount(call, d, peer, out)
            }
            mnt::PROGRAM => Err(mismatch(mount1::VERSION, mnt::VERSION)),
            pmap::PROGRAM if self.shared.options.portmap => self.portmap(call, d, peer, out),
            _ => Err(Refusal::Accept(AcceptStat::ProgUnavail)),
        };
        let too_long = peer.is_datagram() && out.len() - start > RECORD_MARK + MAX_DATAGRAM;
        let served = if too_long {
            Err(Refusal::Accept(AcceptStat::SystemErr))
        } else {
            served
        };
        served.unwrap_or_else(|refusal| {
            self.counters.refused.add(1);
            out.truncate(start);
            let open = OpenRecord::begin(out);
            put(
                out,
                &match refusal {
                    Refusal::Accept(stat) => ReplyHeader::accepted(call.xid, stat),
                    Refusal::Auth(stat) => {
                        ReplyHeader::denied(call.xid, RejectStat::AuthError(stat))
                    }
                },
            );
            open.finish(out);
            Verdict::Send
        })
    }
}

fn mismatch(low: u32, high: u32) -> Refusal {
    Refusal::Accept(AcceptStat::ProgMismatch { low, high })
}

/// The caller's identity; who has none is nobody.
fn caller(call: &CallHeader<'_>) -> Result<Caller, Refusal> {
    match call.cred.flavor {
        AuthFlavor::None => {
            let nobody = Cred::NOBODY;
            Ok(Caller {
                uid: nobody.uid,
                gid: nobody.gid,
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
        _ => Err(Refusal::Auth(AuthStat::TooWeak)),
    }
}

/// Appends a successful reply around what `results` appends.
fn reply(out: &mut Vec<u8>, xid: u32, results: impl FnOnce(&mut Vec<u8>)) {
    let open = OpenRecord::begin(out);
    ReplyHeader::encode_success(out, xid);
    results(out);
    open.finish(out);
}

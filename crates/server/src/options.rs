//! Options of a server, and the errors with which its start fails.

use crate::faults::{
    CapacitySpec, DelaySpec, DropSpec, ErrorSpec, SpecError, StopSpec, UnstableSpec,
};
use filermark_onc::nfs4::Operation;
use filermark_tls::{FileError, ServerFiles};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use thiserror::Error;

/// The largest transfer over UDP, in bytes: a datagram ends at 64 KiB, and servers announce the half.
pub(crate) const MAX_UDP_TRANSFER: u32 = 32 << 10;

/// Path of the one export.
pub const EXPORT: &str = "/export";

/// The largest transfer a server may announce, in bytes.
pub const MAX_TRANSFER: u32 = 4 << 20;

/// Which delegations the server grants to clients of NFSv4.1 and NFSv4.2 that can be called back
/// (RFC 8881 section 10.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delegations {
    /// None.
    #[default]
    Off,
    /// Of files that are opened for reading.
    Read,
    /// Also of files that are opened for writing.
    Write,
}

impl FromStr for Delegations {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Delegations, SpecError> {
        match text {
            "off" => Ok(Delegations::Off),
            "read" => Ok(Delegations::Read),
            "write" => Ok(Delegations::Write),
            _ => Err(SpecError {
                item: text.to_owned(),
                problem: "no kind of delegations".to_owned(),
                hint: "off, read or write",
            }),
        }
    }
}

/// Everything that can be chosen about a server. Start from the default:
///
/// ```
/// let options = filermark_server::ServerOptions {
///     delay: "READ=5ms".parse()?,
///     threads: 2,
///     ..Default::default()
/// };
/// # Ok::<(), filermark_server::SpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes a free one. All programs answer on every address.
    pub listen: Vec<SocketAddr>,
    /// Take requests in datagrams (UDP) too, at the same ports.
    pub udp: bool,
    /// Threads, each with its share of the connections; at least 1.
    pub threads: usize,
    /// Canned successful replies at once, no file system: measures clients.
    pub null: bool,
    /// Answer the portmapper's and rpcbind's questions too.
    pub portmap: bool,
    /// Replies held back.
    pub delay: DelaySpec,
    /// Delays are served one after the other, as by a single disk: under load, requests queue.
    pub queue: bool,
    /// The most operations per second; beyond that they queue.
    pub capacity_ops: Option<CapacitySpec>,
    /// Times in which the server serves no requests.
    pub stop: Option<StopSpec>,
    /// Requests answered with an error instead of being done.
    pub errors: ErrorSpec,
    /// Connections and replies lost.
    pub drop: DropSpec,
    /// Writes that need a COMMIT; changing write verifiers.
    pub unstable: UnstableSpec,
    /// Most bytes that one READ, WRITE or COPY transfers, whatever count it requests.
    pub short: Option<u32>,
    /// Operations of version 4 that are answered NFS4ERR_NOTSUPP.
    pub not_offered: Vec<Operation>,
    /// Largest READ in bytes (FSINFO `rtmax`).
    pub rtmax: u32,
    /// Preferred READ in bytes (FSINFO `rtpref`).
    pub rtpref: u32,
    /// Largest WRITE in bytes (FSINFO `wtmax`).
    pub wtmax: u32,
    /// Preferred WRITE in bytes (FSINFO `wtpref`).
    pub wtpref: u32,
    /// Which delegations version 4 grants.
    pub delegations: Delegations,
    /// RPC-with-TLS (RFC 9289) over TCP, with these files; `None`: it is not offered.
    pub tls: Option<ServerFiles>,
    /// Refuse NFS calls in the clear with AUTH_TOOWEAK; NULL is always answered, as is MOUNT.
    pub tls_only: bool,
    /// Refuse every change with NFS3ERR_ROFS.
    pub read_only: bool,
    /// Refuse every MNT with MNT3ERR_ACCES.
    pub refuse_mount: bool,
    /// Bytes that fit, of content, names and inodes by what they take in memory; beyond that
    /// NFS3ERR_NOSPC. A quarter of it is the limit of requests that have come in part.
    pub capacity_bytes: u64,
    /// Connections at once; beyond that new ones are closed.
    pub connections_max: usize,
    /// Files that fit; beyond that NFS3ERR_NOSPC.
    pub max_files: u64,
    /// Where the random faults start from.
    pub seed: u64,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
            udp: true,
            threads: 2,
            null: false,
            portmap: false,
            delay: DelaySpec::default(),
            queue: false,
            capacity_ops: None,
            stop: None,
            errors: ErrorSpec::default(),
            drop: DropSpec::default(),
            unstable: UnstableSpec::default(),
            short: None,
            not_offered: Vec::new(),
            rtmax: 1 << 20,
            rtpref: 1 << 20,
            wtmax: 1 << 20,
            wtpref: 1 << 20,
            delegations: Delegations::Off,
            tls: None,
            tls_only: false,
            read_only: false,
            refuse_mount: false,
            capacity_bytes: 4 << 30,
            connections_max: 20_000,
            max_files: 4 << 20,
            seed: 1,
        }
    }
}

impl ServerOptions {
    /// These options with transfers that fit into datagrams.
    pub(crate) fn over_udp(&self) -> ServerOptions {
        let fit = |bytes: u32| bytes.min(MAX_UDP_TRANSFER);
        ServerOptions {
            rtmax: fit(self.rtmax),
            rtpref: fit(self.rtpref),
            wtmax: fit(self.wtmax),
            wtpref: fit(self.wtpref),
            ..self.clone()
        }
    }

    /// Checks that the values are in range and fit together.
    ///
    /// # Errors
    /// [`ServerError::Options`] with a sentence on the first fault.
    pub fn check(&self) -> Result<(), ServerError> {
        let refuse = |problem: String| Err(ServerError::Options { problem });
        if self.listen.is_empty() {
            return refuse("no address to listen on; give one, for example 127.0.0.1:2049".into());
        }
        if !(1..=1024).contains(&self.threads) {
            return refuse(format!("{} threads; choose 1 to 1024", self.threads));
        }
        for (name, max, preferred) in [
            ("read", self.rtmax, self.rtpref),
            ("write", self.wtmax, self.wtpref),
        ] {
            if !(512..=MAX_TRANSFER).contains(&max) {
                return refuse(format!(
                    "the maximum {name} size is {max} bytes; choose 512 to {MAX_TRANSFER}"
                ));
            }
            if preferred == 0 || preferred > max {
                return refuse(format!(
                    "the preferred {name} size is {preferred} bytes; choose 1 to the maximum, {max}"
                ));
            }
        }
        if self.tls_only && self.tls.is_none() {
            return refuse("TLS alone needs a certificate; give one, with its key".into());
        }
        if self.short == Some(0) {
            return refuse("short transfers of 0 bytes make no progress; choose 1 or more".into());
        }
        Ok(())
    }
}

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The options contradict themselves.
    #[error("options of the server: {problem}")]
    Options {
        /// What, and what to choose.
        problem: String,
    },
    /// The socket cannot be bound or cannot listen.
    #[error(
        "cannot listen on {address}: {source}; choose another address or port, or end the process that uses it"
    )]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The UDP socket cannot be bound.
    #[error(
        "cannot receive datagrams (UDP) on {address}: {source}; choose another port, end the process \
         that uses it, or serve TCP only (--no-udp)"
    )]
    Datagrams {
        /// Which.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A file of certificates or keys cannot be used.
    #[error(
        "{source}; give PEM files that this user can read: a certificate and its own key, and for \
         --tls-client-ca the certificates of authorities"
    )]
    Tls {
        /// Which, and why.
        source: FileError,
    },
    /// The system gave no event queue, wake-up or thread.
    #[error("cannot {step}: {source}; check the limit of open files (ulimit -n) and free memory")]
    System {
        /// What was tried.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

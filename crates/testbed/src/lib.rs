//! Third-party servers, clients and a protocol decoder, and file systems that are
//! full, read-only, slow or faulty, for tests.
//!
//! Everything runs in separate namespaces (network, processes, mounts): no port,
//! file system or service of the host is used, and the kernel removes everything
//! when the test ends in any way. The README of this crate describes how to use
//! it in a test.
//!
//! This crate starts programs and reads their output. It must not depend on
//! Filermark's other crates, which are tested against it.
//!
//! Root is needed (namespaces, tap interfaces, file handles), and the Debian
//! packages of `ci/apt-packages`. If one of these is missing a fixture returns
//! [`Error::Unavailable`], and [`available`] turns that into a skipped test, or
//! into a failed one under `./test`.

mod browser;
mod capture;
mod counting;
mod daemon;
mod error;
mod export;
mod faulty;
mod ganesha;
mod hostile;
mod hosts;
mod kdc;
mod kernel;
mod kernel_security;
mod kernel_smb;
mod linux;
mod loss;
mod mounts;
mod netem;
mod nfs_counts;
mod openssl;
mod processes;
mod program_file;
mod proxy;
mod samba;
mod sandbox;
mod slurm;
mod smb_wire;
mod snmpd;
mod strace;
mod switch;
mod tools;
mod uml;
mod wine;

pub use browser::{Browser, Scheme, Seen};
pub use capture::{Capture, Pcap, ProcedureTimes};
pub use counting::Counting;
pub use error::{Error, Result, available};
pub use export::{Export, KerberosExport, NfsVersion, ServerOptions};
pub use faulty::{Faulty, FaultyOptions, Kind};
pub use ganesha::{Fsal, Ganesha};
pub use hostile::{Hostile, Replies};
pub use hosts::Hosts;
pub use kdc::Kdc;
pub use kernel::{ClientOptions, KernelClient, KernelServer, ScriptOutput};
pub use kernel_security::{KernelSecurity, TlshdFiles};
pub use kernel_smb::KernelSmbClient;
pub use linux::Kernel;
pub use loss::{Dropped, Loss, Lost};
pub use mounts::{Mounts, Scratch};
pub use netem::NetemCounts;
pub use nfs_counts::NfsCounts;
pub use openssl::{OpensslProxy, TlsFiles, openssl_client};
pub use processes::Process;
pub use program_file::{copy_program, write_program};
pub use proxy::{Direction, FakeSmb, NfsProxy, ProxiedMessage, ProxyAction, SmbProxy};
pub use samba::{
    Logon, Samba, SambaOptions, SmbEncryption, SmbGuests, SmbOpenFile, SmbProtection, SmbSession,
    SmbSigning, SmbStatus, SmbTree,
};
pub use sandbox::Sandbox;
pub use slurm::Slurm;
pub use smb_wire::SmbTimes;
pub use snmpd::Snmpd;
pub use strace::{Call, Strace};
pub use switch::{SflowOptions, Switch};
pub use tools::BUSY_LIMIT;
pub use wine::Wine;

//! Real servers, a real client and a real protocol decoder, and file systems
//! that are full, read-only, slow or broken, for tests.
//!
//! Everything runs in namespaces of its own (network, processes, mounts): no
//! port, file system or service of the host is touched, and when the test
//! ends, however it ends, the kernel takes all of it away. See the README of
//! this crate for how to use it from a test.
//!
//! This room starts programs and reads their output. It must not know
//! Filermark's own crates: it is the outside world they are judged against.
//!
//! Root is needed (namespaces, tap interfaces, file handles), and the Debian
//! packages of `ci/apt-packages`. Where one of these is missing a fixture
//! returns [`Error::Unavailable`], and [`available`] turns that into a skipped
//! test, or into a failed one under `./test`.

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
mod kernel_smb;
mod loss;
mod mounts;
mod netem;
mod nfs_counts;
mod processes;
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

pub use browser::{Browser, Scheme, Seen};
pub use capture::{Capture, Pcap, ProcedureTimes};
pub use counting::Counting;
pub use error::{Error, Result, available};
pub use export::{Export, NfsVersion, ServerOptions};
pub use faulty::{Faulty, FaultyOptions, Kind};
pub use ganesha::{Fsal, Ganesha};
pub use hostile::{Hostile, Replies};
pub use hosts::Hosts;
pub use kdc::Kdc;
pub use kernel::{ClientOptions, KernelClient, KernelServer, ScriptOutput};
pub use kernel_smb::KernelSmbClient;
pub use loss::{Dropped, Loss, Lost};
pub use mounts::{Mounts, Scratch};
pub use netem::NetemCounts;
pub use nfs_counts::NfsCounts;
pub use processes::Process;
pub use proxy::{
    Direction, Direction as SmbWay, FakeSmb, NfsProxy, ProxiedMessage,
    ProxiedMessage as SmbPassing, ProxyAction, ProxyAction as SmbAct, SmbProxy,
};
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

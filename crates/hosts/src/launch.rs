//! How agents are started on their hosts.
//!
//! A launcher starts the agent of one client and returns two byte streams to it, and a handle.
//! It does not know the protocol on the streams. Several clients are started in parallel; no
//! launch takes longer than
//! [`LaunchPlan::start_timeout`](filermark_model::launch::LaunchPlan::start_timeout).

mod accept;
mod connect;
pub mod explain;
mod mixed;
mod pending_agents;
pub mod process;
mod remote;
pub(crate) mod slurm;
mod srun;
pub mod ssh;
pub mod tag;
#[cfg(all(test, unix))]
mod tests;
pub(crate) mod windows;

pub use accept::AcceptLauncher;
pub use connect::ConnectLauncher;
pub use mixed::MixedLauncher;
pub use remote::AGENT_PORT;
pub use slurm::SlurmLauncher;

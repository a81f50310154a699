//! How agents come to be on their hosts.
//!
//! A launcher starts the agent of one client and gives the prime two byte streams to
//! it, and a leash. What is said over the streams is not its affair. It may take its
//! time (several clients are started side by side), but never longer than
//! [`LaunchPlan::start_timeout`](filermark_model::launch::LaunchPlan::start_timeout).

mod accept;
mod connect;
pub mod explain;
#[cfg(test)]
mod manual_tests;
mod mixed;
mod pending_agents;
pub mod process;
mod remote;
pub(crate) mod slurm;
#[cfg(test)]
mod slurm_tests;
mod srun;
pub mod ssh;
pub mod tag;

pub use accept::AcceptLauncher;
pub use connect::ConnectLauncher;
pub use mixed::MixedLauncher;
pub use remote::AGENT_PORT;
pub use slurm::SlurmLauncher;

//! The data about one client for its checks.

use crate::launch::ssh::SshClient;
use crate::preflight::needs::Needs;
use filermark_link::clocks::ClockOffset;
use filermark_link::facts::HostFacts;
use filermark_model::launch::HostPlan;
use filermark_model::plan::DriverPlan;

/// The data about one client for its checks.
pub(in crate::preflight) struct Client<'a> {
    pub at: usize,
    pub name: &'a str,
    pub host: &'a HostPlan,
    pub ssh: &'a SshClient,
    pub driver: &'a DriverPlan,
    pub facts: &'a HostFacts,
    pub needs: Needs,
    pub clock: Option<ClockOffset>,
    pub has_clock_service: bool,
    /// It is the only client.
    pub is_alone: bool,
}

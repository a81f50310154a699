//! What the program has to know of a driver's settings: facts, texts, operations, counters.
//! Only the file of a driver's settings and the driver's own crate know which driver it is.

use super::network::{Connections, IpChoice, Transport};
use crate::benchmark::CommitPolicy;
use crate::counter::CounterDecl;
use crate::mix::Mix;
use crate::op::{Op, OpSet};
use crate::secret::Secret;
use crate::units::Nanos;

/// Fields of a part of the plan in the words of the parameters that set them: (field, words).
pub type Labels = &'static [(&'static str, &'static str)];

/// What can always be done about operations that a driver does not have.
pub(crate) const fn leave_out(missing: &[Op]) -> &'static str {
    match missing {
        [_] => "leave it out of the mix",
        _ => "leave them out of the mix",
    }
}

/// The settings of a driver, as a plan has them.
pub trait DriverSettings {
    /// What the driver does with these settings.
    fn facts(&self) -> DriverFacts;

    /// The driver and its settings in text.
    fn describe(&self) -> DriverText;

    /// The operations of a mix that it can do.
    fn ops(&self) -> OpSet;

    /// Takes note of the operations that a run has.
    fn note_mix(&mut self, _mix: &Mix) {}

    /// What to do where a mix has operations, `missing`, that it cannot do. `all` are those of the mix.
    fn advice_without(&self, missing: &[Op], _all: &[Op]) -> String {
        leave_out(missing).to_owned()
    }

    /// What it counts beside the operations, in the order of the findings.
    fn counters(&self) -> &'static [CounterDecl] {
        &[]
    }

    /// The fields in the words of the parameters.
    fn labels(&self) -> Labels {
        &[]
    }

    /// The fields that say where and as whom the work is done, not what it is.
    fn places(&self) -> &'static [&'static str] {
        &[]
    }

    /// The password that it logs in with, where it does.
    fn password(&self) -> Option<&Secret> {
        None
    }

    /// Sets the password, which plans come without. Ignored by a driver that has none.
    fn set_password(&mut self, _password: Secret) {}
}

/// What a driver works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Nothing: it answers every operation itself.
    #[default]
    Nothing,
    /// File systems that the client host has mounted.
    Mounted,
    /// Servers, by a network protocol that it speaks itself, so that any client can reach any
    /// mount point by its name.
    Server,
}

/// What a driver does with its settings. The default is a driver that works on nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriverFacts {
    /// What it works on.
    pub target: Target,
    /// An operation blocks its thread: every proc has a thread of its own.
    pub blocks: bool,
    /// A cache of the client host may answer reads.
    pub host_cache: bool,
    /// Users log in to the servers; accounts may be locked after a few wrong passwords.
    pub logs_in: bool,
    /// Names that differ only in case are the same.
    pub ignores_case: bool,
    /// Files that an earlier run with the same suffix kept are used again.
    pub reuses_kept: bool,
    /// fsync is never called.
    pub no_fsync: bool,
    /// Open files of a proc: those that it cannot do without, and those with which it works
    /// best. Drivers of servers have connections instead.
    pub open_files_per_proc: (u64, u64),
    /// Open files of the driver beside those of its procs.
    pub open_files_reserved: u64,
    /// What carries its calls; `None`: it uses no network itself.
    pub transport: Option<Transport>,
    /// The address family that the plan sets; `None`: it uses no network itself.
    pub ip: Option<IpChoice>,
    /// The port by which its servers are reached; `None`: it uses no network itself.
    pub port: Option<u16>,
    /// The port that distinguishes its servers from others of the same hosts; `None`: it is the
    /// standard one.
    pub own_port: Option<u16>,
    /// It calls from source ports below 1024.
    pub reserved_ports: bool,
    /// How procs share connections, where it makes any.
    pub connections: Option<Connections>,
    /// How many connections each of these is, where it is more than one.
    pub nconnect: u32,
    /// BIOD_MAX_READS and BIOD_MAX_WRITES.
    pub biods: (u32, u32),
    /// When COMMIT is called, where the protocol has it.
    pub commit: Option<CommitPolicy>,
    /// The first wait for a reply before a call is sent again on the same socket; `None`:
    /// that is not done.
    pub resend_after: Option<Nanos>,
    /// The protocol for which its servers can be validated; `None`: there is none.
    pub validates: Option<&'static str>,
    /// Whether transfers are to go to the data servers of layouts (pNFS).
    pub uses_layouts: bool,
    /// Whether delegations that the server grants are kept.
    pub keeps_delegations: bool,
    /// What else may help where a service of its servers does not answer: the service, a
    /// sentence.
    pub service_advice: &'static [(&'static str, &'static str)],
    /// The command that shows whether a service answers; `{host}` and `{port}` stand for
    /// those of the server.
    pub service_command: &'static str,
    /// The command that shows what a server exports, where any user can run one.
    pub export_command: Option<&'static str>,
    /// The directory `/` of a server is the root of its name space: it often has only the exports.
    pub has_name_space_root: bool,
    /// The parameter that names the user on the servers.
    pub user_parameter: &'static str,
}

/// A driver with its settings, in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverText {
    /// The driver in a line, as `filermark plan` has it.
    pub summary: String,
    /// The protocol, as `NFSv3` or `SMB 3.1.1`; empty where there is none.
    pub protocol: String,
    /// Settings that have rows of their own: (name, value).
    pub rows: Vec<(&'static str, String)>,
    /// The user on the servers.
    pub user: String,
    /// The ports of the servers that a firewall has to let through.
    pub ports: String,
}

impl DriverText {
    /// A driver of which there is no more to say than this line.
    pub fn of(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            protocol: String::new(),
            rows: Vec::new(),
            user: "this user".to_owned(),
            ports: String::new(),
        }
    }
}

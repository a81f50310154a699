//! Agents that Slurm starts: one `srun` for all of them. They connect to the prime over TLS,
//! with a secret of this launch that they read from their standard input.

use super::accept::AcceptedAgentHandle;
use super::pending_agents::{ClientIdentifiedBy, NoConnectReason, PendingAgents};
use super::remote::{RemoteAgentHandle, bind, launched};
use super::srun::{Srun, command};
use super::tag::RunTag;
use filermark_link::own_host::addresses::own_addresses;
use filermark_link::secure::acceptor::{AcceptLimits, Acceptor};
use filermark_link::secure::dial::HostPort;
use filermark_link::secure::hello::Invitation;
use filermark_link::secure::{Identity, LinkRole, PublicKey, Secret, SecretError};
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long srun may take to exit when there is no agent.
const GIVE_UP_MAX: Duration = Duration::from_millis(200);

/// Starts all agents of a plan that use Slurm (`LauncherKind::Slurm`) when the first of them is
/// launched. Serves one run: when all are released, `srun` is ended.
pub struct SlurmLauncher {
    plan: LaunchPlan,
    job_name: String,
    limit: Duration,
    job: Mutex<Option<Result<Arc<SlurmJob>, String>>>,
}

/// The name of a run's job and step.
pub(crate) fn job_name(tag: &RunTag) -> String {
    format!("filermark-{tag}")
}

/// The agents of one `srun`.
struct SlurmJob {
    pending: Arc<PendingAgents>,
    srun: Srun,
    /// Closed with the job.
    _acceptor: Acceptor,
    /// The addresses that agents were given, for messages.
    reported: String,
    /// Agents that are waited for or used.
    held_count: Mutex<usize>,
}

impl SlurmLauncher {
    /// For this plan; nothing is started yet.
    pub fn new(plan: &LaunchPlan) -> Self {
        Self {
            plan: plan.clone(),
            job_name: "filermark".into(),
            limit: Duration::from_nanos(plan.start_timeout.0),
            job: Mutex::default(),
        }
    }

    /// Names its job after the run, so that `stop` finds it.
    #[must_use]
    pub fn of_run(mut self, tag: &RunTag) -> Self {
        self.job_name = job_name(tag);
        self
    }

    /// The job, started by the first call; each call needs one [`SlurmJob::release_one`].
    fn hold_job(&self) -> Result<Arc<SlurmJob>, String> {
        let mut job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        let job = job
            .get_or_insert_with(|| SlurmJob::start(&self.plan, &self.job_name).map(Arc::new))
            .clone()?;
        *job.held() += 1;
        Ok(job)
    }
}

impl Launcher for SlurmLauncher {
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let job = self.hold_job()?;
        let taken = job
            .pending
            .take(client, self.limit, || job.srun.exit_text());
        let (slot, secured) = taken.map_err(|absent| {
            let message = job.describe(&absent, &host.client, self.limit);
            job.release_one(Duration::ZERO);
            message
        })?;
        let handle = SlurmAgentHandle {
            node: host.client.clone(),
            slot: AcceptedAgentHandle {
                link: RemoteAgentHandle(secured.hold.clone()),
                pending: job.pending.clone(),
                slot,
            },
            job: Some(job),
        };
        launched(secured, Box::new(handle))
    }

    /// A job that waits in Slurm's queue would start agents that are not needed any more.
    fn give_up(&self, limit: Duration) {
        let given_up = Some(Err("all agents were released".into()));
        let job = {
            let mut job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *job, given_up)
        };
        if let Some(Ok(job)) = job {
            job.pending.close();
            job.srun.end(limit.min(GIVE_UP_MAX));
        }
    }
}

impl SlurmJob {
    fn start(plan: &LaunchPlan, job_name: &str) -> Result<Self, String> {
        let since = Instant::now();
        let hosts = plan.hosts.iter().enumerate();
        let hosts: Vec<_> = hosts
            .filter(|(_, host)| host.launcher == LauncherKind::Slurm)
            .collect();
        let nodes: Vec<_> = hosts.iter().map(|(_, host)| *host).collect();
        let command = command(plan, &nodes, job_name)?;
        // The agents get their own secret, and only the public key of the prime.
        let message = |e: SecretError| e.to_string();
        let [own, secret] = [Secret::random(), Secret::random()];
        let (own, secret) = (own.map_err(message)?, secret.map_err(message)?);
        let keys = (PublicKey::of(&own)?, PublicKey::of(&secret)?);
        let identity = Identity::new(&own, LinkRole::Prime, [keys.1])?;
        let listener = bind(plan, 0)?;
        let clients = hosts
            .iter()
            .map(|(number, host)| (*number, host.client.as_str()));
        let pending = Arc::new(PendingAgents::new(clients, ClientIdentifiedBy::Name));
        pending.begin_at(since);
        let inside = pending.clone();
        let receive = move |tcp, peer| inside.receive(&identity, tcp, peer);
        let acceptor = Acceptor::open(listener, AcceptLimits::PRIME, Arc::new(receive))
            .map_err(|e| format!("cannot listen for agents: {e}"))?;
        let invitation = invitation(plan, &nodes, (secret, keys.0), &acceptor)?;
        let addresses: Vec<_> = invitation.addresses.iter().map(|a| a.as_str()).collect();
        let reported = format!("{} port {}", addresses.join(", "), invitation.port);
        Ok(Self {
            pending,
            srun: Srun::start(&command, &invitation.to_line())?,
            _acceptor: acceptor,
            reported,
            held_count: Mutex::new(0),
        })
    }

    fn held(&self) -> std::sync::MutexGuard<'_, usize> {
        self.held_count
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// One agent fewer; after the last one, `srun` is given `limit` to exit.
    fn release_one(&self, limit: Duration) {
        let is_last = {
            let mut held = self.held();
            *held = held.saturating_sub(1);
            *held == 0
        };
        if is_last {
            self.pending.close();
            self.srun.end(limit);
        }
    }

    fn describe(&self, absent: &NoConnectReason, node: &str, limit: Duration) -> String {
        match absent {
            NoConnectReason::Aborted(reason) => reason.clone(),
            NoConnectReason::NotExpected => "is not a client that Slurm starts".into(),
            NoConnectReason::TimedOut if self.srun.is_queued() => format!(
                "Slurm has not allocated the nodes within {limit:.0?} ({}); run inside an allocation (salloc, sbatch), or raise START_TIMEOUT",
                self.srun.last_lines()
            ),
            NoConnectReason::TimedOut => format!(
                "its agent did not connect to {} within {limit:.0?}{}; check that {node} can connect to that address; PRIME_ADDRESS and PRIME_LISTEN set another one",
                self.reported,
                match self.srun.complaints(node).as_str() {
                    "" => String::new(),
                    lines => format!(" (srun: {lines})"),
                }
            ),
        }
    }
}

/// The address in the plan, or all addresses of this host.
fn invitation(
    plan: &LaunchPlan,
    nodes: &[&HostPlan],
    (secret, prime): (Secret, PublicKey),
    acceptor: &Acceptor,
) -> Result<Invitation, String> {
    let port = acceptor.address().port();
    if let Some(address) = &plan.prime_address {
        let address = HostPort::parse(address, port).map_err(|e| format!("PRIME_ADDRESS: {e}"))?;
        return Ok(Invitation {
            secret,
            prime,
            port: address.port,
            addresses: vec![address.host],
        });
    }
    let listens = acceptor.address().ip();
    let addresses = if listens.is_unspecified() {
        let names: Vec<_> = nodes.iter().map(|host| host.client.as_str()).collect();
        own_addresses(&names, plan.ip)
    } else {
        filermark_link::secure::hello::HostName::parse(&listens.to_string())
            .into_iter()
            .collect()
    };
    if addresses.is_empty() {
        return Err(
            "this host has no address that agents could connect to; set PRIME_ADDRESS".into(),
        );
    }
    Ok(Invitation {
        secret,
        prime,
        port,
        addresses,
    })
}

/// The handle of one of Slurm's agents; the last one ends `srun`.
struct SlurmAgentHandle {
    node: String,
    slot: AcceptedAgentHandle,
    job: Option<Arc<SlurmJob>>,
}

impl AgentHandle for SlurmAgentHandle {
    fn final_output(&mut self) -> Option<String> {
        let link = self.slot.final_output();
        let srun = self.job.as_ref().map(|job| job.srun.complaints(&self.node));
        let srun = srun.filter(|lines| !lines.is_empty());
        match (link, srun) {
            (Some(link), Some(srun)) => Some(format!("{link}; srun: {srun}")),
            (link, srun) => link.or(srun.map(|srun| format!("srun: {srun}"))),
        }
    }

    fn release(&mut self, limit: Duration) {
        let since = Instant::now();
        self.slot.release(limit);
        if let Some(job) = self.job.take() {
            job.release_one(limit.saturating_sub(since.elapsed()));
        }
    }
}

impl Drop for SlurmAgentHandle {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            job.release_one(Duration::ZERO);
        }
    }
}

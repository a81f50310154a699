//! Agents that Slurm starts: one `srun` for all of them. They come to us over TLS,
//! with a secret of this one launch that they read from their standard input.

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

/// How long srun may take to end by itself when there is no agent.
const GIVE_UP_MAX: Duration = Duration::from_millis(200);

/// Starts all agents of a plan that are Slurm's (`LauncherKind::Slurm`) when the first
/// of them is asked for. Serves one run: when all were let go, `srun` is ended.
pub struct SlurmLauncher {
    plan: LaunchPlan,
    job_name: String,
    limit: Duration,
    job: Mutex<Option<Result<Arc<SlurmJob>, String>>>,
}

/// What a run's job and its step are called.
pub(crate) fn job_name(tag: &RunTag) -> String {
    format!("filermark-{tag}")
}

/// The agents of one `srun`.
struct SlurmJob {
    pending: Arc<PendingAgents>,
    srun: Srun,
    /// Closed with the job.
    _acceptor: Acceptor,
    /// Where agents are told to come, for messages.
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

    /// Its job is known by the run, so that `stop` finds it.
    #[must_use]
    pub fn of_run(mut self, tag: &RunTag) -> Self {
        self.job_name = job_name(tag);
        self
    }

    /// The one job, started if need be; held until [`Job::let_one_go`].
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
        let came = job
            .pending
            .take(client, self.limit, || job.srun.exit_text());
        let (seat, secured) = came.map_err(|absent| {
            let words = job.describe(&absent, &host.client, self.limit);
            job.let_one_go(Duration::ZERO);
            words
        })?;
        let leash = SlurmAgentHandle {
            node: host.client.clone(),
            slot: AcceptedAgentHandle {
                link: RemoteAgentHandle(secured.hold.clone()),
                pending: job.pending.clone(),
                slot: seat,
            },
            job: Some(job),
        };
        launched(secured, Box::new(leash))
    }

    /// A job that waits in Slurm's queue would start agents that nobody waits for.
    fn give_up(&self, limit: Duration) {
        let given_up = Some(Err("all agents were let go".into()));
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
        // The agents are told their own secret, and of the prime's the public key only.
        let words = |e: SecretError| e.to_string();
        let [own, secret] = [Secret::random(), Secret::random()];
        let (own, secret) = (own.map_err(words)?, secret.map_err(words)?);
        let keys = (PublicKey::of(&own)?, PublicKey::of(&secret)?);
        let identity = Identity::new(&own, LinkRole::Prime, [keys.1])?;
        let listener = bind(plan, 0)?;
        let clients = hosts
            .iter()
            .map(|(number, host)| (*number, host.client.as_str()));
        let seats = Arc::new(PendingAgents::new(clients, ClientIdentifiedBy::Name));
        seats.begin_at(since);
        let inside = seats.clone();
        let receive = move |tcp, peer| inside.receive(&identity, tcp, peer);
        let door = Acceptor::open(listener, AcceptLimits::PRIME, Arc::new(receive))
            .map_err(|e| format!("cannot wait for agents: {e}"))?;
        let invitation = invitation(plan, &nodes, (secret, keys.0), &door)?;
        let addresses: Vec<_> = invitation.addresses.iter().map(|a| a.as_str()).collect();
        let told = format!("{} port {}", addresses.join(", "), invitation.port);
        Ok(Self {
            pending: seats,
            srun: Srun::start(&command, &invitation.to_line())?,
            _acceptor: door,
            reported: told,
            held_count: Mutex::new(0),
        })
    }

    fn held(&self) -> std::sync::MutexGuard<'_, usize> {
        self.held_count
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// One agent fewer; after the last one, `srun` is given `limit` to end by itself.
    fn let_one_go(&self, limit: Duration) {
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
            NoConnectReason::Hopeless(reason) => reason.clone(),
            NoConnectReason::NoSeat => "is not one of those that Slurm starts".into(),
            NoConnectReason::TimedOut if self.srun.is_queued() => format!(
                "Slurm has not given its nodes within {limit:.0?} ({}); run inside an allocation (salloc, sbatch), or raise START_TIMEOUT",
                self.srun.last_lines()
            ),
            NoConnectReason::TimedOut => format!(
                "its agent did not connect to {} within {limit:.0?}{}; can {node} connect to this host there? PRIME_ADDRESS and PRIME_LISTEN name another address",
                self.reported,
                match self.srun.complaints(node).as_str() {
                    "" => String::new(),
                    lines => format!(" (srun: {lines})"),
                }
            ),
        }
    }
}

/// The address that the plan names, or all that this host has.
fn invitation(
    plan: &LaunchPlan,
    nodes: &[&HostPlan],
    (secret, prime): (Secret, PublicKey),
    door: &Acceptor,
) -> Result<Invitation, String> {
    let port = door.address().port();
    if let Some(said) = &plan.prime_address {
        let said = HostPort::parse(said, port).map_err(|e| format!("PRIME_ADDRESS: {e}"))?;
        return Ok(Invitation {
            secret,
            prime,
            port: said.port,
            addresses: vec![said.host],
        });
    }
    let listens = door.address().ip();
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
            "this host has no address that agents could connect to; name one with PRIME_ADDRESS"
                .into(),
        );
    }
    Ok(Invitation {
        secret,
        prime,
        port,
        addresses,
    })
}

/// Holds one of Slurm's agents, and with the others `srun`.
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
            job.let_one_go(limit.saturating_sub(since.elapsed()));
        }
    }
}

impl Drop for SlurmAgentHandle {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            job.let_one_go(Duration::ZERO);
        }
    }
}

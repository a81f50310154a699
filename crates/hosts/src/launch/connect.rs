//! Agents that were started by hand and listen: the prime connects to each.

use super::remote::{RemoteAgentHandle, launched, prime_keys};
use filermark_link::secure::connect::INTRODUCTION_MAX;
use filermark_link::secure::dial::{HostPort, dial};
use filermark_link::secure::hello::{HelloLine, HostName, read_line, write_line};
use filermark_link::secure::keys::{PrimeKeys, client_file};
use filermark_link::secure::{Identity, SecureError, SecureStream, secure_client};
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::IpChoice;
use std::time::{Duration, Instant};

/// How long the connection to an agent that does not listen yet, or still cleans up after
/// another run, is retried.
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// Connects to listening agents (`LauncherKind::Connect`).
pub struct ConnectLauncher {
    keys: PrimeKeys,
    ip: IpChoice,
    limit: Duration,
}

impl ConnectLauncher {
    /// For this plan.
    ///
    /// # Errors
    /// The plan has no key file, or an invalid one.
    pub fn new(plan: &LaunchPlan) -> Result<Self, String> {
        let is_kind = |launcher: &LauncherKind| matches!(launcher, LauncherKind::Connect(_));
        Ok(Self {
            keys: prime_keys(plan, is_kind)?,
            ip: plan.ip,
            limit: Duration::from_nanos(plan.start_timeout.0),
        })
    }

    /// Connects, and retries errors that may be temporary.
    fn call(&self, to: &HostPort, identity: &Identity) -> Result<SecureStream, SecureError> {
        let since = Instant::now();
        let mut earlier = None;
        loop {
            let left = self.limit.saturating_sub(since.elapsed());
            let error = match (self.attempt(to, identity, left), earlier) {
                (Ok(secured), _) => return Ok(secured),
                // The rest of the time was too short: the answer before says more.
                (Err(SecureError::TimedOut(_)), Some(answer)) => return Err(answer),
                (Err(error), _) => error,
            };
            let is_temporary = matches!(
                error,
                SecureError::Refused | SecureError::Closed | SecureError::Rejected(_)
            );
            if !is_temporary || since.elapsed() + PAUSE >= self.limit.min(RETRY_MAX) {
                return Err(error);
            }
            earlier = Some(error);
            std::thread::sleep(PAUSE);
        }
    }

    fn attempt(
        &self,
        to: &HostPort,
        identity: &Identity,
        limit: Duration,
    ) -> Result<SecureStream, SecureError> {
        let deadline = Instant::now() + limit;
        let tcp = dial(to, self.ip, limit)?;
        let left = || deadline.saturating_duration_since(Instant::now());
        let secured = secure_client(tcp, identity, left().min(INTRODUCTION_MAX))?;
        match read_line(&secured, Instant::now() + left().min(INTRODUCTION_MAX))? {
            HelloLine::Agent(_) => write_line(&secured, &HelloLine::Welcome)?,
            HelloLine::Refused(why) => return Err(SecureError::Rejected(why)),
            HelloLine::Welcome => return Err(SecureError::Malformed("it is from a prime".into())),
        }
        Ok(secured)
    }

    fn describe(&self, to: &HostPort, error: &SecureError) -> String {
        let file = client_file(to.host.as_str());
        let start = format!(
            "start it on {} with: filermark agent --listen {}:{} --secret-file {file}",
            to.host,
            if self.ip == IpChoice::V6 || to.host.as_str().contains(':') {
                "[::]"
            } else {
                "0.0.0.0"
            },
            to.port
        );
        let advice = match error {
            SecureError::WrongKey | SecureError::KeyRefused => format!(
                "copy {file}, made together with SECRET_FILE, to {} and start the agent again",
                to.host
            ),
            SecureError::Rejected(_) => "".into(),
            SecureError::TimedOut(_) | SecureError::NoRoute => {
                format!(
                    "check that {} is up and that no firewall blocks port {}",
                    to.host, to.port
                )
            }
            SecureError::NoAddress { .. } => "check the name, or use the address".into(),
            _ => start,
        };
        let end = if advice.is_empty() { "" } else { "; " };
        format!("cannot connect to its agent at {to}: {error}{end}{advice}")
    }
}

impl Launcher for ConnectLauncher {
    fn launch(&self, _client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let LauncherKind::Connect(port) = host.launcher else {
            return Err(format!(
                "is started by {}; the prime does not connect to it",
                host.launcher
            ));
        };
        let name = host.client.trim_matches(['[', ']']);
        let name = HostName::parse(name).map_err(|e| format!("cannot be connected to: {e}"))?;
        let to = HostPort { host: name, port };
        // Accepts the key of this client only, not that of another client.
        let identity = self.keys.identity_for(&host.client)?;
        let secured = self
            .call(&to, &identity)
            .map_err(|e| self.describe(&to, &e))?;
        let handle = Box::new(RemoteAgentHandle(secured.hold.clone()));
        launched(secured, handle)
    }
}

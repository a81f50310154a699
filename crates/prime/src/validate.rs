//! `validate` on client hosts.
//!
//! One client after the other, one mount point after the other: checks of two clients in
//! the same run directory would disturb each other.

use filermark_engine::driver::{Claim, StopFlag};
use filermark_hosts::preflight::StartAgents;
use filermark_link::agents::{AgentEvent, Agents, OrderError};
use filermark_link::facts::{
    InspectFacts, InspectRequest, NotChecked, Validation, ValidationFacts,
};
use filermark_link::identity;
use filermark_link::message::{Order, Report};
use filermark_model::launch::{LaunchPlan, OnLost};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::secret::Secret;
use filermark_model::{Nanos, RunPlan};

/// How long a client may take for one mount point: every check has limits of its own.
const MOUNT_MAX: Nanos = Nanos::from_secs(3_600);

/// Why the mount points after this one are not validated; `None`: they are. Level 1 ends
/// with the first failure. A password that was refused is not tried again, since servers
/// lock accounts after a few wrong ones.
pub fn why_skip_rest(
    checked: &Result<Validation, NotChecked>,
    driver: &DriverPlan,
    first_only: bool,
    place: &str,
) -> Option<String> {
    let (failed, user_is_refused) = match checked {
        Ok(validation) => (!validation.is_success, validation.user_is_refused),
        Err(why) => (true, why.user_is_refused),
    };
    let has_password = driver.password().is_some_and(Secret::is_given);
    if user_is_refused && has_password {
        return Some(format!(
            "not tried, since the server has refused the user at {place}; a wrong password is tried once only"
        ));
    }
    (first_only && failed)
        .then(|| format!("not tried, since level 1 ended with a failure at {place}"))
}

/// What is to be validated, and how.
pub struct ValidateOptions<'a> {
    /// The plan; its clients have the mount points.
    pub plan: &'a RunPlan,
    /// Where the agents are to be.
    pub launch: &'a LaunchPlan,
    /// The run's directory on the servers, and who claims it.
    pub claim: Claim,
    /// Stop at the first failure.
    pub first_only: bool,
    /// Raised when the user asks to stop.
    pub stop: StopFlag,
    /// Starts agents.
    pub board: StartAgents<'a>,
    /// Called before each mount point of each client, and after it.
    pub observe: &'a mut dyn FnMut(&str, &MountPoint, Option<&Validation>),
}

/// One mount point of one client.
pub struct Validated {
    /// The client.
    pub client: String,
    /// The mount point.
    pub mount: MountPoint,
    /// The result.
    pub validation: Validation,
}

/// The results of all clients.
#[derive(Default)]
pub struct Outcome {
    /// What was validated.
    pub done: Vec<Validated>,
    /// Why mount points could not be validated; each text names the client.
    pub errors: Vec<String>,
    /// Mount points that were skipped after another failure, with the reason.
    pub skipped: Vec<String>,
}

impl Outcome {
    /// All mount points that were not validated, with the reason.
    pub fn not_validated(&self) -> impl Iterator<Item = &String> {
        self.errors.iter().chain(&self.skipped)
    }
}

/// Validates the mount points of all clients.
pub fn validate(options: ValidateOptions<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let board = match (options.board)(options.launch) {
        Ok(board) => board,
        Err(reason) => {
            outcome.errors.push(reason);
            return outcome;
        }
    };
    let stop = options.stop.clone();
    let mut agents = Agents::new(board, options.launch, identity::own_hello(), stop);
    let connected = agents.wait_hello(options.launch.start_timeout, &mut |_, _| {});
    if !matches!(connected, Err(OrderError::Stopped)) {
        let losses = agents.losses().iter();
        outcome.errors.extend(losses.map(ToString::to_string));
        ValidationRound {
            options,
            agents: &mut agents,
            outcome: &mut outcome,
        }
        .go();
    }
    agents.dismiss();
    outcome
}

struct ValidationRound<'a, 'o> {
    options: ValidateOptions<'o>,
    agents: &'a mut Agents,
    outcome: &'a mut Outcome,
}

impl ValidationRound<'_, '_> {
    fn go(mut self) {
        let mut over = None;
        for at in self.agents.living() {
            let Some(client) = self.options.plan.clients.get(at) else {
                continue;
            };
            let (name, mut mounts) = (client.name.clone(), client.mounts.clone());
            mounts.sort();
            mounts.dedup();
            for mount in mounts {
                if self.options.stop.is_raised() {
                    over.get_or_insert_with(|| "stopped on request".to_owned());
                }
                let place = format!("client {name}: {mount}");
                if let Some(why) = &over {
                    self.outcome.skipped.push(format!("{place}: {why}"));
                    continue;
                }
                let checked = self.ask(at, &name, &mount);
                let options = &self.options;
                over = why_skip_rest(&checked, &options.plan.driver, options.first_only, &place);
                self.take(checked, &name, mount);
            }
        }
    }

    fn take(&mut self, checked: Result<Validation, NotChecked>, name: &str, mount: MountPoint) {
        match checked {
            Ok(validation) => {
                (self.options.observe)(name, &mount, Some(&validation));
                self.outcome.done.push(Validated {
                    client: name.to_owned(),
                    mount,
                    validation,
                });
            }
            Err(NotChecked { reason, .. }) => {
                let error = match reason.contains(name) {
                    true => reason,
                    false => format!("client {name}: {mount}: {reason}"),
                };
                self.outcome.errors.push(error);
            }
        }
    }

    fn ask(
        &mut self,
        at: usize,
        client: &str,
        mount: &MountPoint,
    ) -> Result<Validation, NotChecked> {
        (self.options.observe)(client, mount, None);
        let (plan, claim) = (self.options.plan, &self.options.claim);
        let order = |_: usize| {
            Order::Inspect(Box::new(InspectRequest::Validate {
                driver: Box::new(plan.driver.clone()),
                mount: mount.clone(),
                dir_name: claim.dir_name.clone(),
                run_id: format!("{} {client}", claim.run_id),
                first_only: self.options.first_only,
                password: None,
            }))
        };
        let mut found = None;
        let mut take = |_: Nanos, event: AgentEvent<'_>| {
            if let AgentEvent::Answer(_, Report::Inspected(facts)) = event
                && let InspectFacts::Validated(facts) = *facts
            {
                found = Some(facts);
            }
        };
        let asked = self
            .agents
            .order(&[at], &order, MOUNT_MAX, OnLost::Continue, &mut take);
        let reason = match (found, asked) {
            (Some(ValidationFacts::Done(validation)), _) => return Ok(validation),
            (Some(ValidationFacts::Failed(why)), _) => return Err(why),
            (None, Ok(())) => "no answer".to_owned(),
            (None, Err(OrderError::Stopped)) => "stopped on request".to_owned(),
            (None, Err(e)) => e.to_string(),
        };
        Err(reason.into())
    }
}

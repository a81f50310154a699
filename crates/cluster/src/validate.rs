//! `validate` on client hosts: what an agent is asked, what it has found, and the prime's
//! round through the clients.
//!
//! One client after the other, one mount point after the other: the checks of two clients
//! in the same run directory would meet each other.

use crate::agents::{Agents, Heard, OrderError};
use crate::identity;
use crate::message::{Order, Report};
use crate::preflight::Board;
use crate::preflight::facts::{InspectFacts, InspectRequest};
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::validation::{self, CheckResult, Level, Verdict};
use filermark_model::launch::{LaunchPlan, OnLost};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::secret::Secret;
use filermark_model::{Nanos, RunPlan};
use filermark_smb::login::Refusals;
use serde::{Deserialize, Serialize};

/// How long a client may take for one mount point: every check has limits of its own.
const MOUNT_MAX: Nanos = Nanos::from_secs(3_600);

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Its name: "lookup.noent".
    pub id: String,
    /// The procedure or operation that it is about.
    pub procedure: String,
    /// The dialect, where a protocol has several.
    pub dialect: Option<String>,
    /// What is right.
    pub title: String,
    /// How it came out.
    pub verdict: CheckVerdict,
    /// What else was seen.
    pub notes: Vec<String>,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// All of that for people, in lines.
    pub text: String,
}

/// How a check came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// As the specification demands.
    Pass,
    /// Otherwise.
    Fail {
        /// What should have been.
        expected: String,
        /// What was.
        got: String,
        /// Where it is written.
        section: String,
    },
    /// It could not be tried.
    Skipped {
        /// Why not.
        why: String,
    },
}

/// What came of one mount point on one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The protocol: "NFSv3".
    pub protocol: String,
    /// Nothing failed, everything ran, and nothing stays.
    pub is_success: bool,
    /// In one line.
    pub summary: String,
    /// Everything, for people.
    pub text: String,
    /// The checks that ran, in order.
    pub checks: Vec<Checked>,
    /// The server has refused the user.
    pub user_is_refused: bool,
}

/// A validation, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ValidationFacts {
    /// It was carried out.
    Done(Validation),
    /// It could not be.
    Failed(NotChecked),
}

/// Why there is no validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotChecked {
    /// In one sentence.
    pub reason: String,
    /// The server has refused the user.
    pub user_is_refused: bool,
}

impl From<String> for NotChecked {
    fn from(reason: String) -> Self {
        Self {
            reason,
            user_is_refused: false,
        }
    }
}

/// Why the mount points that follow are not validated, after what came of one; `None`: they
/// are. Level 1 ends with the first failure. A password that was refused is not tried again:
/// accounts are locked after a few wrong ones.
pub fn why_over(
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

impl From<&CheckResult> for Checked {
    fn from(result: &CheckResult) -> Self {
        let verdict = match &result.verdict {
            Verdict::Pass => CheckVerdict::Pass,
            Verdict::Fail {
                expected,
                got,
                section,
            } => CheckVerdict::Fail {
                expected: expected.clone(),
                got: got.clone(),
                section: section.clone(),
            },
            Verdict::Skipped { why } => CheckVerdict::Skipped { why: why.clone() },
        };
        Self {
            id: result.id.into(),
            procedure: result.procedure.into(),
            dialect: result.dialect.map(Into::into),
            title: result.title.into(),
            verdict,
            notes: result.notes.clone(),
            elapsed_ns: u64::try_from(result.elapsed.as_nanos()).unwrap_or(u64::MAX),
            text: result.render_text(),
        }
    }
}

impl Validation {
    fn new(report: &validation::Report, user_is_refused: bool) -> Self {
        Self {
            user_is_refused,
            protocol: report.protocol.into(),
            is_success: report.is_success(),
            summary: report.summary(),
            text: report.render_text(),
            checks: report.results.iter().map(Checked::from).collect(),
        }
    }

    /// How many checks came out so.
    pub fn count(&self, which: impl Fn(&CheckVerdict) -> bool) -> usize {
        self.checks.iter().filter(|c| which(&c.verdict)).count()
    }
}

/// Runs the checks of the driver's protocol at a mount point, from this host; `hear` is
/// told of each as it ends.
///
/// # Errors
/// Nothing could be checked.
pub fn check_here(
    driver: &DriverPlan,
    mount: &MountPoint,
    claim: &Claim,
    first_only: bool,
    stop: &StopFlag,
    hear: &mut dyn FnMut(&CheckResult),
) -> Result<Validation, NotChecked> {
    let level = match first_only {
        true => Level::First,
        false => Level::All,
    };
    let mut hear = |result: &CheckResult| hear(result);
    let refusals = Refusals::default();
    let report = match driver {
        DriverPlan::Nfs(nfs) => {
            filermark_nfs::validate::validate(nfs, mount, claim, level, stop, &mut hear)
        }
        DriverPlan::Smb(smb) => {
            let refusals = &refusals;
            filermark_smb::validate::validate(smb, mount, claim, level, stop, refusals, &mut hear)
        }
        DriverPlan::Posix(_) | DriverPlan::Null => {
            return Err("there is no protocol to validate".to_owned().into());
        }
    };
    match report {
        Ok(report) => Ok(Validation::new(&report, refusals.is_refused())),
        Err(e) => Err(NotChecked {
            reason: e.to_string(),
            user_is_refused: refusals.is_refused(),
        }),
    }
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
    /// Raised when the user wishes to stop.
    pub stop: StopFlag,
    /// Starts agents.
    pub board: Board<'a>,
    /// Told before each mount point of each client, and after it.
    pub observe: &'a mut dyn FnMut(&str, &MountPoint, Option<&Validation>),
}

/// One mount point of one client.
pub struct Validated {
    /// The client.
    pub client: String,
    /// The mount point.
    pub mount: MountPoint,
    /// What came of it.
    pub validation: Validation,
}

/// What came of all clients.
#[derive(Default)]
pub struct Outcome {
    /// What was validated.
    pub done: Vec<Validated>,
    /// What could not be, in sentences that name the client.
    pub troubles: Vec<String>,
    /// What was left out after a failure elsewhere, in the same way.
    pub skipped: Vec<String>,
}

impl Outcome {
    /// All that was not validated, and why.
    pub fn not_validated(&self) -> impl Iterator<Item = &String> {
        self.troubles.iter().chain(&self.skipped)
    }
}

/// Goes round the clients that have mount points.
pub fn validate(options: ValidateOptions<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let board = match (options.board)(options.launch) {
        Ok(board) => board,
        Err(reason) => {
            outcome.troubles.push(reason);
            return outcome;
        }
    };
    let stop = options.stop.clone();
    let mut agents = Agents::new(board, options.launch, identity::own_hello(), stop);
    let greeted = agents.greet(options.launch.start_timeout, &mut |_, _| {});
    if !matches!(greeted, Err(OrderError::Stopped)) {
        let losses = agents.losses().iter();
        outcome.troubles.extend(losses.map(ToString::to_string));
        Round {
            options,
            agents: &mut agents,
            outcome: &mut outcome,
        }
        .go();
    }
    agents.dismiss();
    outcome
}

struct Round<'a, 'o> {
    options: ValidateOptions<'o>,
    agents: &'a mut Agents,
    outcome: &'a mut Outcome,
}

impl Round<'_, '_> {
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
                over = why_over(&checked, &options.plan.driver, options.first_only, &place);
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
                let trouble = match reason.contains(name) {
                    true => reason,
                    false => format!("client {name}: {mount}: {reason}"),
                };
                self.outcome.troubles.push(trouble);
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
        let mut take = |_: Nanos, heard: Heard<'_>| {
            if let Heard::Answer(_, Report::Inspected(facts)) = heard
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
            (None, Ok(())) => "it gave no answer".to_owned(),
            (None, Err(OrderError::Stopped)) => "stopped on request".to_owned(),
            (None, Err(e)) => e.to_string(),
        };
        Err(reason.into())
    }
}

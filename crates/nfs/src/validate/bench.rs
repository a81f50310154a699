//! The bench of a check in any version of NFS: a client, a directory, and messages with the
//! expected and the received answer.

use super::dir_cleaner::DirCleaner;
use super::text::no_answer;
use crate::client::{AnyFh, ClientError};
use crate::target::{JukeboxRetries, Target};
use filermark_driver_kit::checks::{self, Check, Outcome, Stop, Suite, same};
use filermark_driver_kit::validation::CheckResult;
use filermark_engine::name::NameText;
use filermark_model::plan::NfsPlan;
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use std::fmt::{self, Debug, Display};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// A version of NFS: the parts that differ between the checks of versions.
pub(super) trait Version: Sized + 'static {
    /// Its client.
    type Client;
    /// Its file handles.
    type Handle: Copy;
    /// Its procedures, with those of MOUNT if they are checked.
    type Procedure: Copy + 'static;
    /// Its statuses.
    type Status: Copy + PartialEq + Display + Refused<Status = Self::Status> + 'static;
    /// What its checks are run with beside each other: minor versions.
    type Dialect: Copy + PartialOrd + 'static;
    /// Its name: "NFSv3".
    const NAME: &'static str;
    /// The status of success.
    const OK: Self::Status;
    /// The status for a handle whose file was removed.
    const STALE: Self::Status;
    /// Whether a status means that a handle has no object.
    fn is_gone(status: Self::Status) -> bool;

    /// A handle of any version as one of this version.
    fn handle(handle: &AnyFh) -> Self::Handle;
    /// A client for the target, not yet connected.
    fn client(target: &Target, plan: &NfsPlan) -> Self::Client;
    /// Gives up what a check holds on the server, before its directory is removed.
    fn leave(_client: &mut Self::Client) {}
    /// NULL.
    fn null(client: &mut Self::Client) -> Result<(), ClientError>;
    /// A procedure's name.
    fn name_of(procedure: Self::Procedure) -> &'static str;
    /// Where a procedure is specified.
    fn section_of(procedure: Self::Procedure) -> String;
    /// Where it is required: in `rule` if there is one, else where the procedure is specified.
    fn required_by(
        procedure: Self::Procedure,
        rule: Option<&'static str>,
        _dialect: Self::Dialect,
    ) -> String {
        rule.map_or_else(|| Self::section_of(procedure), str::to_owned)
    }
}

/// A failure of a procedure, instead of results.
pub(super) trait Refused {
    /// The version's statuses.
    type Status;
    /// The status.
    fn status(&self) -> Self::Status;
    /// Whether the same call may succeed later.
    fn is_for_later(&self) -> bool {
        false
    }
}

/// The answer to a call: results, a failure of the procedure, or an error of the client.
pub(super) type Answer<O, D> = Result<Result<O, D>, ClientError>;

/// How a call with unusual arguments was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal<S> {
    /// By the procedure.
    Status(S),
    /// By the RPC layer: the arguments could not be decoded.
    GarbageArgs,
}

impl<S: Display> Display for Refusal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => Display::fmt(status, f),
            Self::GarbageArgs => f.write_str("GARBAGE_ARGS"),
        }
    }
}

/// The server under test and the state of the current check.
pub(super) struct Bench<'a, V: Version> {
    pub(super) plan: &'a NfsPlan,
    pub(super) target: &'a Target,
    pub(super) nfs: V::Client,
    /// The directory of the current check.
    pub(super) dir: V::Handle,
    jukebox: JukeboxRetries,
    notes: Vec<String>,
    dir_cleaner: DirCleaner<'a>,
    /// The name and handle of `dir`, while a check has one.
    made_dir: Option<(NameText, AnyFh)>,
}

impl<'a, V: Version> Bench<'a, V> {
    pub(super) fn new(plan: &'a NfsPlan, target: &'a Target, run_dir: AnyFh) -> Self {
        Self {
            plan,
            target,
            nfs: V::client(target, plan),
            dir: V::handle(&target.root),
            jukebox: JukeboxRetries::of(plan),
            notes: Vec::new(),
            dir_cleaner: DirCleaner::new(plan, target, run_dir),
            made_dir: None,
        }
    }

    /// Adds a note: something to report that is not a failure.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The answer to a call, after those that ask to call again later.
    pub(super) fn ask<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, D>, Stop> {
        let (nfs, jukebox) = (&mut self.nfs, self.jukebox);
        let reply = jukebox.until(|| call(nfs), is_settled);
        reply.map_err(|error| no_answer(what, &error))
    }

    /// The answer to a call by a client that is not the bench's own.
    pub(super) fn ask_other<O, D: Refused<Status = V::Status>>(
        &self,
        what: &str,
        call: impl FnMut() -> Answer<O, D>,
    ) -> Result<Result<O, D>, Stop> {
        let reply = self.jukebox.until(call, is_settled);
        reply.map_err(|error| no_answer(what, &error))
    }

    /// The results of a call that must succeed.
    pub(super) fn done<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<O, Stop> {
        let answer = self.ask(what, call)?;
        answer.map_err(|denial| Stop::fail(format!("{what}: {}", V::OK), denial.status()))
    }

    /// The results or the status of a call, for checks that accept both.
    pub(super) fn either<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, V::Status>, Stop> {
        let answer = self.ask(what, call)?;
        Ok(answer.map_err(|denial| denial.status()))
    }

    /// A call that must be refused with one of these.
    pub(super) fn refused<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        wanted: &[V::Status],
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<V::Status, Stop> {
        match self.either(what, call)? {
            Err(status) if wanted.contains(&status) => Ok(status),
            other => {
                let got = other.err().unwrap_or(V::OK);
                Err(Stop::fail(format!("{what}: {}", names_of(wanted)), got))
            }
        }
    }

    /// The results or the refusal of a call with unusual arguments, which a server may be
    /// unable to decode.
    pub(super) fn either_odd<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, Refusal<V::Status>>, Stop> {
        let nfs = &mut self.nfs;
        match self.jukebox.until(|| call(nfs), is_settled) {
            Ok(answer) => Ok(answer.map_err(|denial| Refusal::Status(denial.status()))),
            Err(ClientError::Refused {
                refusal: RpcRefusal::Accepted(AcceptStat::GarbageArgs),
                ..
            }) => Ok(Err(Refusal::GarbageArgs)),
            Err(error) => Err(no_answer(what, &error)),
        }
    }

    /// A call that must be refused, usually with one of `usual`. Another refusal is only a note,
    /// because the RFC specifies none for the case.
    pub(super) fn refused_somehow<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        usual: &[V::Status],
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<(), Stop> {
        let names = names_of(usual);
        match self.either_odd(what, call)? {
            Err(Refusal::Status(status)) if usual.contains(&status) => {}
            Err(refusal) => self.note(format!("{what}: {refusal}; {names} is usual")),
            Ok(_) => return Err(Stop::fail(format!("{what}: {names}"), V::OK)),
        }
        Ok(())
    }

    /// The handle must become stale. Servers may keep a removed file for a short time while they
    /// have it open.
    pub(super) fn becomes_stale<O, D: Refused<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<(), Stop> {
        const WAIT_MAX: Duration = Duration::from_secs(3);
        let begun = Instant::now();
        let mut waited = false;
        loop {
            match self.either(what, &mut call)? {
                Err(status) if V::is_gone(status) => break,
                Ok(_) if begun.elapsed() < WAIT_MAX => waited = true,
                other => {
                    let got = other.err().unwrap_or(V::OK);
                    return Err(Stop::fail(format!("{what}: {}", V::STALE), got));
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if waited {
            let ms = begun.elapsed().as_millis();
            self.note(format!("{what} still succeeds for {ms} ms"));
        }
        Ok(())
    }

    /// Two values that must be equal.
    pub(super) fn equal<T: PartialEq + Debug>(&self, what: &str, expected: T, got: T) -> Outcome {
        same(what, expected, got)
    }

    /// A condition that must hold.
    pub(super) fn holds(&self, fact: bool, expected: &str, got: impl Display) -> Result<(), Stop> {
        if fact {
            return Ok(());
        }
        Err(Stop::fail(expected, got))
    }
}

impl<V: Version> checks::Bench for Bench<'_, V> {
    fn enter(&mut self, number: u32) -> Outcome {
        let (name, dir) = self.dir_cleaner.enter(number)?;
        self.dir = V::handle(&dir);
        self.made_dir = Some((name, dir));
        Ok(())
    }

    fn leave(&mut self, _is_done: bool) {
        V::leave(&mut self.nfs);
        if let Some((name, dir)) = self.made_dir.take()
            && let Err(Stop::Fail { expected, got }) = self.dir_cleaner.leave(&name, &dir)
        {
            self.note(format!("cleaning up: {expected}: {got}"));
        }
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn lost(&mut self, result: &CheckResult, goes_on: bool) -> Option<String> {
        if !result.is_failure() || !goes_on {
            return None;
        }
        let error = V::null(&mut self.nfs).err()?;
        error
            .is_worth_a_retry()
            .then(|| format!("the server does not answer after {}: {error}", result.id))
    }
}

/// The checks of a version.
pub(super) struct Of<V>(PhantomData<V>);

impl<V: Version> Suite for Of<V> {
    type Bench<'a> = Bench<'a, V>;
    type About = V::Procedure;
    type Rule = &'static str;
    type Dialect = V::Dialect;

    fn name_of(procedure: V::Procedure) -> &'static str {
        V::name_of(procedure)
    }

    fn dialect_name(_dialect: V::Dialect) -> Option<&'static str> {
        None
    }

    fn section_of(check: &Check<Self>, dialect: V::Dialect) -> String {
        V::required_by(check.about, check.rule, dialect)
    }
}

/// Whether the answer is final and the call need not be repeated.
fn is_settled<O, D: Refused>(answer: &Result<O, D>) -> bool {
    !answer.as_ref().is_err_and(D::is_for_later)
}

/// Statuses as text for messages.
fn names_of(statuses: &[impl Display]) -> String {
    let names: Vec<String> = statuses.iter().map(ToString::to_string).collect();
    names.join(" or ")
}

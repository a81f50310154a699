//! What a check works with, in any version of NFS: a client, a directory of its own,
//! and words for what should have come and what came.

use crate::client::ClientError;
use crate::target::{Patience, Target};
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::Fh;
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use std::fmt::{self, Debug, Display};
use std::time::{Duration, Instant};

/// Why a check ends before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The server did what it must not do.
    Fail { expected: String, got: String },
    /// The check cannot be tried.
    Skip(String),
}

impl Stop {
    pub(super) fn fail(expected: impl Display, got: impl Display) -> Self {
        Self::Fail {
            expected: expected.to_string(),
            got: got.to_string(),
        }
    }
}

/// A version of NFS, as far as checks differ by it.
pub(super) trait Version: Sized + 'static {
    /// Speaks it.
    type Client;
    /// Its procedures (those of MOUNT among them where they are checked).
    type Procedure: Copy + 'static;
    /// Its statuses.
    type Status: Copy + PartialEq + Display + 'static;
    /// Its name: "NFSv3".
    const NAME: &'static str;
    /// The status of what succeeds.
    const OK: Self::Status;
    /// The status for a handle whose file is gone.
    const STALE: Self::Status;
    /// Whether a status says that there is nothing behind a handle.
    fn is_gone(status: Self::Status) -> bool;

    /// A client for the target, not yet connected.
    fn client(target: &Target, plan: &NfsPlan) -> Self::Client;
    /// NULL.
    fn null(client: &mut Self::Client) -> Result<(), ClientError>;
    /// A procedure's name.
    fn name_of(procedure: Self::Procedure) -> &'static str;
    /// Where a procedure is specified.
    fn section_of(procedure: Self::Procedure) -> String;
}

/// What comes instead of results.
pub(super) trait Denial {
    /// The version's statuses.
    type Status;
    /// The status.
    fn status(&self) -> Self::Status;
    /// Whether the same call may succeed in a moment.
    fn is_for_later(&self) -> bool {
        false
    }
}

/// What a call brings: results, or a denial by the procedure, or nothing of the kind.
pub(super) type Answer<O, D> = Result<Result<O, D>, ClientError>;

/// How a call with odd arguments was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal<S> {
    /// By the procedure.
    Status(S),
    /// Before it: the arguments could not be decoded.
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

/// The server in front of the checks.
pub(super) struct Bench<'a, V: Version> {
    pub(super) plan: &'a NfsPlan,
    pub(super) target: &'a Target,
    pub(super) nfs: V::Client,
    /// The present check's own directory.
    pub(super) dir: Fh,
    patience: Patience,
    notes: Vec<String>,
}

impl<'a, V: Version> Bench<'a, V> {
    pub(super) fn new(plan: &'a NfsPlan, target: &'a Target) -> Self {
        Self {
            plan,
            target,
            nfs: V::client(target, plan),
            dir: target.root,
            patience: Patience::of(plan),
            notes: Vec::new(),
        }
    }

    /// Why the server cannot be reached any more, if so.
    pub(super) fn server_gone(&mut self) -> Option<ClientError> {
        V::null(&mut self.nfs)
            .err()
            .filter(ClientError::is_worth_a_retry)
    }

    /// Something worth telling that is no failure.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn ask<O, D: Denial<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, D>, Stop> {
        let nfs = &mut self.nfs;
        let reply = self.patience.until(|| call(nfs), is_settled);
        reply.map_err(|error| no_answer(what, &error))
    }

    /// The results of a call that has to succeed.
    pub(super) fn done<O, D: Denial<Status = V::Status>>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<O, Stop> {
        let answer = self.ask(what, call)?;
        answer.map_err(|denial| Stop::fail(format!("{what}: {}", V::OK), denial.status()))
    }

    /// Either outcome of a call, for checks that judge themselves.
    pub(super) fn either<O, D: Denial<Status = V::Status>>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, V::Status>, Stop> {
        let answer = self.ask(what, call)?;
        Ok(answer.map_err(|denial| denial.status()))
    }

    /// A call that has to be refused with one of these.
    pub(super) fn refused<O, D: Denial<Status = V::Status>>(
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

    /// Either outcome of a call with odd arguments, which a server may also be
    /// unable to decode.
    pub(super) fn either_odd<O, D: Denial<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<Result<O, Refusal<V::Status>>, Stop> {
        let nfs = &mut self.nfs;
        match self.patience.until(|| call(nfs), is_settled) {
            Ok(answer) => Ok(answer.map_err(|denial| Refusal::Status(denial.status()))),
            Err(ClientError::Refused {
                refusal: RpcRefusal::Accepted(AcceptStat::GarbageArgs),
                ..
            }) => Ok(Err(Refusal::GarbageArgs)),
            Err(error) => Err(no_answer(what, &error)),
        }
    }

    /// A call that has to be refused, in one of the ways in `usual`; another way
    /// is only worth a note, for the RFC does not name one for this case.
    pub(super) fn refused_somehow<O, D: Denial<Status = V::Status>>(
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

    /// The handle has to become stale. Servers may keep a removed file for a
    /// moment while they still have it open themselves.
    pub(super) fn becomes_stale<O, D: Denial<Status = V::Status>>(
        &mut self,
        what: &str,
        mut call: impl FnMut(&mut V::Client) -> Answer<O, D>,
    ) -> Result<(), Stop> {
        const MOMENT: Duration = Duration::from_secs(3);
        let begun = Instant::now();
        let mut waited = false;
        loop {
            match self.either(what, &mut call)? {
                Err(status) if V::is_gone(status) => break,
                Ok(_) if begun.elapsed() < MOMENT => waited = true,
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

    /// Two things that have to be the same.
    pub(super) fn equal<T: PartialEq + Debug>(
        &self,
        what: &str,
        expected: T,
        got: T,
    ) -> Result<(), Stop> {
        if expected == got {
            return Ok(());
        }
        Err(Stop::fail(
            format!("{what}: {expected:?}"),
            format!("{got:?}"),
        ))
    }

    /// Something that has to hold.
    pub(super) fn holds(&self, fact: bool, expected: &str, got: impl Display) -> Result<(), Stop> {
        if fact {
            return Ok(());
        }
        Err(Stop::fail(expected, got))
    }
}

/// Whether waiting would change nothing.
fn is_settled<O, D: Denial>(answer: &Result<O, D>) -> bool {
    !answer.as_ref().is_err_and(D::is_for_later)
}

/// Statuses for a sentence.
fn names_of(statuses: &[impl Display]) -> String {
    let names: Vec<String> = statuses.iter().map(ToString::to_string).collect();
    names.join(" or ")
}

/// "." or "..".
pub(super) fn is_dot(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

pub(super) fn no_answer(what: &str, error: &ClientError) -> Stop {
    Stop::fail(format!("{what}: an answer"), error)
}

/// A name for people.
pub(super) fn shown(name: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = name.escape_ascii().to_string();
    match text.get(..SHOWN) {
        Some(front) if text.len() > SHOWN => format!("'{front}...' ({} bytes)", name.len()),
        _ => format!("'{text}'"),
    }
}

/// Bytes that tell their place, so that none is right by chance.
pub(super) fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(step).collect()
}

/// Compares data, and tells where it differs.
pub(super) fn same_bytes(offset: u64, wanted: &[u8], got: &[u8]) -> Result<(), Stop> {
    if wanted == got {
        return Ok(());
    }
    let expected = format!("{} bytes at {offset}, as written", wanted.len());
    let place = wanted.iter().zip(got).position(|(a, b)| a != b);
    Err(match place {
        Some(place) => Stop::fail(
            expected,
            format!(
                "{} bytes, the first wrong one at {} ({:#04x} instead of {:#04x})",
                got.len(),
                offset + place as u64,
                got.get(place).copied().unwrap_or_default(),
                wanted.get(place).copied().unwrap_or_default(),
            ),
        ),
        None => Stop::fail(expected, format!("{} bytes", got.len())),
    })
}

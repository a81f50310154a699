//! The little languages of `--error`, `--drop` and `--unstable`, and what they share with that of `--delay`.

use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_onc::nfs4::{Nfsstat4, Operation};
use std::str::FromStr;
use thiserror::Error;

/// The longest time, in ns: distributions of delays without an upper end are cut here.
pub(super) const MAX_NS: u64 = 3_600_000_000_000;

/// What is wrong with a fault specification, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{item:?}: {problem}; {hint}")]
pub struct SpecError {
    /// The part of it that cannot be read.
    pub item: String,
    /// Why.
    pub problem: String,
    /// A form that would work.
    pub hint: &'static str,
}

/// How many of the requests a rule hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HitRate {
    /// Every one.
    All,
    /// The first so many.
    First(u64),
    /// Each time so many have come, the last of them.
    Every(u64),
    /// Each with this probability, 0 to 1; drawn from the seed.
    Fraction(f64),
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faulted {
    /// A procedure of version 3, and what does the same in the other versions.
    Procedure(Procedure),
    /// An operation of version 4 that no procedure of version 3 has the name of.
    Operation(Operation),
}

/// One rule of `--error`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorRule {
    /// Which requests.
    pub of: Faulted,
    /// What they are answered; the operation is not done. (For an operation of version 4 it has the number
    /// of a status of that version.)
    pub status: Nfsstat3,
    /// How many of them.
    pub share: HitRate,
}

/// `--error`: `READ=NFS3ERR_IO@1%,CREATE=NFS3ERR_JUKEBOX@3` (1 % of the READs, the first
/// three CREATEs), `COPY=NFS4ERR_IO@1%`; without `@` all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorSpec {
    /// Asked in this order; the first hit counts.
    pub rules: Vec<ErrorRule>,
}

/// `--drop`: `conn@N` does the first N requests of each connection, then closes it before
/// the reply to the N-th is sent; `reply@1%`, `reply@1/50` or `reply@3` does the request and loses the
/// reply; `call@1%` loses the call before anything is done; `copy@1%` sends a reply twice, over UDP only;
/// `late@1%:3s` sends it that much later.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DropSpec {
    /// N of `conn@N`.
    pub connection_after: Option<u64>,
    /// Which calls are lost.
    pub call: Option<HitRate>,
    /// Which replies are lost.
    pub reply: Option<HitRate>,
    /// Which replies are sent twice, over UDP.
    pub copy: Option<HitRate>,
    /// Which replies are late, and how much.
    pub late: Option<Late>,
}

/// Replies held back beside `--delay`, for longer than a client's time-out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// Which.
    pub share: HitRate,
    /// How long, in ns.
    pub ns: u64,
}

/// `--unstable`: `on` answers WRITE with UNSTABLE where the client allows it; `verf@N` also
/// changes the write verifier after every N WRITEs, as restarts would; `lose@N` also takes back
/// what was not committed. (A client that sends N or more WRITEs per COMMIT would never see the
/// same verifier twice: choose N well above.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnstableSpec {
    /// Answer UNSTABLE.
    pub enabled: bool,
    /// N of `verf@N` and `lose@N`.
    pub verifier_every: Option<u64>,
    /// What was not committed is lost when the verifier changes.
    pub loses: bool,
}

/// Where a part was found, for errors.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) text: &'a str,
    pub(super) hint: &'static str,
}

impl Item<'_> {
    pub(super) fn error(&self, problem: impl Into<String>) -> SpecError {
        SpecError {
            item: self.text.to_owned(),
            problem: problem.into(),
            hint: self.hint,
        }
    }

    /// Sets the value of a kind that may be given only once.
    fn set_once<T>(&self, slot: &mut Option<T>, value: T) -> Result<(), SpecError> {
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(self.error("this kind is given twice")),
        }
    }

    pub(super) fn faulted(&self, name: &str) -> Result<Faulted, SpecError> {
        let mut procedures = Procedure::ALL.iter();
        if let Some(found) = procedures.find(|p| p.name().eq_ignore_ascii_case(name)) {
            return Ok(Faulted::Procedure(*found));
        }
        let mut operations = Operation::ALL.iter();
        match operations.find(|o| o.name().eq_ignore_ascii_case(name)) {
            Some(Operation::Sequence | Operation::Illegal) => Err(self.error(format!(
                "{name:?} cannot be named: it prepares other operations"
            ))),
            Some(found) => Ok(Faulted::Operation(*found)),
            None => Err(self.error(format!(
                "{name:?} is neither a procedure of NFSv3 (NULL, GETATTR, READ ...) nor an operation of \
                 NFSv4 (OPEN, CLOSE, COPY ...)"
            ))),
        }
    }

    fn status(&self, of: Faulted, name: &str) -> Result<Nfsstat3, SpecError> {
        let mut of_v3 = Nfsstat3::ALL
            .iter()
            .filter(|status| **status != Nfsstat3::Ok);
        if let Some(found) = of_v3.find(|s| s.name().eq_ignore_ascii_case(name)) {
            return Ok(*found);
        }
        if let Faulted::Procedure(_) = of {
            return Err(self.error(format!(
                "{name:?} is not an error of NFSv3 (NFS3ERR_IO, NFS3ERR_JUKEBOX ...)"
            )));
        }
        let mut of_v4 = Nfsstat4::ALL
            .iter()
            .filter(|status| **status != Nfsstat4::Ok);
        match of_v4.find(|s| s.name().eq_ignore_ascii_case(name)) {
            Some(found) => Ok(Nfsstat3::from_u32(found.to_u32())),
            None => Err(self.error(format!(
                "{name:?} is not an error of NFSv4 (NFS4ERR_IO, NFS4ERR_DELAY ...)"
            ))),
        }
    }

    pub(super) fn count(&self, text: &str) -> Result<u64, SpecError> {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.ok_or_else(|| self.error(format!("{text:?} is not a whole number above 0")))
    }

    fn share(&self, text: &str) -> Result<HitRate, SpecError> {
        if let Some(every) = text.strip_prefix("1/") {
            return self.count(every).map(HitRate::Every);
        }
        if !text.ends_with('%') {
            return self.count(text).map(HitRate::First);
        }
        self.percentage(text).map(HitRate::Fraction)
    }

    /// A percentage as a share of 1.
    pub(super) fn percentage(&self, text: &str) -> Result<f64, SpecError> {
        let percent = text.strip_suffix('%').and_then(|p| p.trim().parse().ok());
        match percent.filter(|percent| (0.0..=100.0).contains(percent)) {
            Some(percent) => Ok(percent / 100.0),
            None => Err(self.error(format!("{text:?} is not a percentage from 0% to 100%"))),
        }
    }

    /// A number from 0 to `max`.
    pub(super) fn number(&self, text: &str, max: f64) -> Result<f64, SpecError> {
        let number = text.parse().ok().filter(|n| (0.0..=max).contains(n));
        number.ok_or_else(|| self.error(format!("{text:?} is not a number from 0 to {max}")))
    }

    pub(super) fn time_ns(&self, text: &str) -> Result<u64, SpecError> {
        let text = text.trim();
        let unit_at = text
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let ns = match unit {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(self.error(format!("the time {text:?} has no unit (ns, us, ms, s)"))),
        };
        let number: Option<f64> = number.trim().parse().ok();
        let time = number
            .map(|number| number * ns)
            .filter(|t| (0.0..=MAX_NS as f64).contains(t));
        time.map(|time| time.round() as u64)
            .ok_or_else(|| self.error(format!("{text:?} is not a time from 0 to 3600s")))
    }
}

pub(super) fn items<'a>(hint: &'static str, text: &'a str) -> impl Iterator<Item = Item<'a>> {
    text.split(',')
        .map(str::trim)
        .map(move |text| Item { text, hint })
}

impl FromStr for ErrorSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<ErrorSpec, SpecError> {
        let hint = "write for example READ=NFS3ERR_IO@1% (1 % of the READs), \
                    CREATE=NFS3ERR_JUKEBOX@3 (the first three CREATEs) or COPY=NFS4ERR_IO@1/50 \
                    (every 50th COPY)";
        let mut spec = ErrorSpec::default();
        for item in items(hint, text) {
            let (name, rest) = item
                .text
                .split_once('=')
                .ok_or_else(|| item.error("PROCEDURE=STATUS is missing"))?;
            let (status, share) = match rest.split_once('@') {
                Some((status, share)) => (status, item.share(share.trim())?),
                None => (rest, HitRate::All),
            };
            let of = item.faulted(name.trim())?;
            let status = item.status(of, status.trim())?;
            spec.rules.push(ErrorRule { of, status, share });
        }
        // The reply to NULL has no status, so it cannot carry an error.
        match spec
            .rules
            .iter()
            .find(|rule| rule.of == Faulted::Procedure(Procedure::Null))
        {
            Some(_) => Err(Item { text, hint }.error("NULL cannot fail: its reply has no status")),
            None => Ok(spec),
        }
    }
}

impl FromStr for DropSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<DropSpec, SpecError> {
        let hint = "give each kind once: conn@1000 (close each connection after 1000 calls), reply@1%, \
                    reply@3 or reply@1/50 (lose replies), call@1% (lose calls), copy@1% (send replies \
                    twice over UDP) or late@1%:3s (send replies later)";
        let mut spec = DropSpec::default();
        for item in items(hint, text) {
            match item.text.split_once('@') {
                Some(("conn", count)) => {
                    let count = item.count(count)?;
                    if count < 2 {
                        return Err(
                            item.error("with conn@1 no call would be answered; choose 2 or more")
                        );
                    }
                    item.set_once(&mut spec.connection_after, count)?;
                }
                Some(("reply", share)) => item.set_once(&mut spec.reply, item.share(share)?)?,
                Some(("call", share)) => item.set_once(&mut spec.call, item.share(share)?)?,
                Some(("copy", share)) => item.set_once(&mut spec.copy, item.share(share)?)?,
                Some(("late", late)) => {
                    let (share, time) = late
                        .split_once(':')
                        .ok_or_else(|| item.error("the time after the share is missing"))?;
                    let (share, ns) = (item.share(share)?, item.time_ns(time)?);
                    item.set_once(&mut spec.late, Late { share, ns })?;
                }
                _ => {
                    return Err(item.error(
                        "not one of conn@N, reply@SHARE, call@SHARE, copy@SHARE, late@SHARE:TIME",
                    ));
                }
            }
        }
        Ok(spec)
    }
}

impl FromStr for UnstableSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<UnstableSpec, SpecError> {
        let hint = "write on, verf@1000 (a new write verifier after every 1000 WRITEs) or lose@1000 \
                    (in addition, data that is not committed is lost)";
        let item = Item {
            text: text.trim(),
            hint,
        };
        let parts = item.text.split_once('@');
        let verifier_every = match parts {
            Some(("verf" | "lose", count)) => Some(item.count(count)?),
            None if matches!(item.text, "" | "on") => None,
            None if item.text == "off" => return Ok(UnstableSpec::default()),
            _ => return Err(item.error("not one of on, off, verf@N, lose@N")),
        };
        Ok(UnstableSpec {
            enabled: true,
            verifier_every,
            loses: matches!(parts, Some(("lose", _))),
        })
    }
}

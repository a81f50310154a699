//! Faulty servers, by a proxy between `filermark run` and a correct server: a table of faults and
//! of the required outcomes of the run. No row may end VALID unless every figure is right.
//!
//! `nfs` is a proxy of the embedded server, `smb` of Samba.

mod nfs;
mod nfs_data;
mod smb;
mod smb_data;

use crate::load_guard::OF_THE_MACHINE;
use crate::sweep::{Ended, Sweep};
use filermark_model::{Rule, Severity};
use filermark_results::{Outcome, RunRecord};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// How many rows of all tests run at the same time; each makes little load and waits for most of
/// its time.
const BESIDE: usize = 8;

/// Lengths of RUN. A run has too few operations for its fault if the machine is slow: then the row
/// is run again with the next length.
const RUNTIMES_SECS: [u64; 4] = [3, 12, 48, 192];

/// When the faults begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// With its first reply.
    AtOnce,
    /// In INIT, after some objects were made.
    InInit,
    /// In RUN.
    InRun,
}

/// The required outcome of a run.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// VALID, and the counts are those of the proxy. (On a busy machine the point may be INVALID by
    /// rules about the generator; these are ignored.)
    Right,
    /// Right, or reported by one of these rules if the procs received faulty replies: INVALID, or a
    /// warning if there were too few of them.
    RightOr(&'static [Rule]),
    /// It ends normally (0; 4 if no point counts; 1 if a point failed), and one of these rules makes
    /// it INVALID.
    Invalid(&'static [Rule]),
    /// It fails with exit code 1, and this text is on stderr.
    Fails(&'static [&'static str]),
}

impl Expect {
    /// Reply timeouts. A server that answers may be slow on a machine with shared processors. A
    /// server that does not answer has the timeout `broken_ms`, some twenty times.
    const fn timeout_ms(self, broken_ms: u64) -> u64 {
        match self {
            Self::Right | Self::RightOr(_) => 60_000,
            Self::Invalid(_) | Self::Fails(_) => broken_ms,
        }
    }
}

/// The state that a proxy and its test share.
#[derive(Debug, Default)]
pub struct ProxyState {
    /// The faults have begun.
    pub wrong: AtomicBool,
    /// Objects that the client has made until now.
    pub made: AtomicU64,
    /// Replies to operations that only RUN has, passed on by the proxy.
    pub replies_of_run: AtomicU64,
}

impl ProxyState {
    /// The state at the start of a run.
    fn reset(&self, begins: Begins) {
        let at_once = begins == Begins::AtOnce;
        self.wrong.store(at_once, Ordering::Relaxed);
        self.made.store(0, Ordering::Relaxed);
        self.replies_of_run.store(0, Ordering::Relaxed);
    }

    /// Counts replies of kinds that only RUN has: the faults begin after a number of good ones.
    pub fn run_replied(&self, begins: Begins, count: u64, good_count: u64) {
        let before = self.replies_of_run.fetch_add(count, Ordering::Relaxed);
        if begins == Begins::InRun && before + count > good_count {
            self.wrong.store(true, Ordering::Relaxed);
        }
    }

    /// Counts objects that the client has made: after some of them INIT is under way.
    pub fn object_made(&self, begins: Begins) {
        const SOME: u64 = 12;
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        if begins == Begins::InInit && made >= SOME {
            self.wrong.store(true, Ordering::Relaxed);
        }
    }
}

/// One row: a run through a proxy.
pub struct Row {
    /// The fault.
    pub name: String,
    pub begins: Begins,
    pub expect: Expect,
    pub sweep: Sweep,
    pub state: Arc<ProxyState>,
    /// Operations that occur only in RUN, with one call each.
    pub only_in_run: &'static [filermark_model::Op],
    /// The most replies of these kinds that belong to no operation.
    pub other_count: u64,
    /// Kept until the run has ended.
    pub proxy: Box<dyn Send>,
}

/// A place among the rows that run at the same time.
struct Place;

/// The rows that are running.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Place {
    fn wait() -> Self {
        let (running, one_ended) = &RUNNING;
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = one_ended
            .wait_while(running, |running| *running >= BESIDE)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (running, one_ended) = &RUNNING;
        *running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        one_ended.notify_one();
    }
}

/// Runs all rows, some at the same time; panics with a list of those with another outcome.
#[track_caller]
pub fn run_all(rows: Vec<Row>) {
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for row in rows {
            let wrong = &wrong;
            scope.spawn(move || {
                let _place = Place::wait();
                let why = row.run();
                drop(row.proxy);
                println!("{}: {}", row.name, why.as_deref().unwrap_or("as expected"));
                if let Some(why) = why {
                    let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    wrong.push(format!("{} ({:?}): {why}", row.name, row.begins));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(
        wrong.is_empty(),
        "{} rows ended otherwise:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

impl Row {
    /// The deviations from the required outcome.
    fn run(&self) -> Option<String> {
        let mut deviations = None;
        for runtime_secs in RUNTIMES_SECS {
            self.state.reset(self.begins);
            let suffix = format!("{}-{runtime_secs}", self.sweep.name());
            let sweep = self.sweep.clone().suffix(&suffix);
            let ended = sweep.set("RUNTIME", runtime_secs).run();
            let record = ended.path(&format!("{suffix}.run.jsonl"));
            let record = filermark_results::read_record(&record).ok();
            let why = self.judge(&ended, record.as_ref()).err()?;
            deviations = Some(format!(
                "{why}\n  exit code {}\n{}",
                ended.code, ended.stderr
            ));
            if !record.is_some_and(|record| self.is_too_short(&record)) {
                break;
            }
            println!("{}: {runtime_secs} s were too short: {why}", self.name);
        }
        deviations
    }

    /// Whether a run is no evidence, because the machine was slow: the faults never began, or the
    /// run had few operations and the record has nothing against it but that.
    fn is_too_short(&self, record: &RunRecord) -> bool {
        if self.begins != Begins::InRun || !is_complete(record) {
            return false;
        }
        if !self.state.wrong.load(Ordering::Relaxed) {
            return true;
        }
        let point = &record.points[0];
        let slow = point.measured().is_some_and(|stats| {
            let wanted = point.load.requested.0 * RUNTIMES_SECS[0] as f64;
            stats.error_count() == 0 && (stats.success_count() as f64) < wanted
        });
        let of_the_machine = |(rule, _): &(Rule, String)| OF_THE_MACHINE.contains(rule);
        !matches!(self.expect, Expect::Right)
            && slow
            && invalidating(record).iter().all(of_the_machine)
    }

    fn judge(&self, ended: &Ended, record: Option<&RunRecord>) -> Result<(), String> {
        for word in ["panicked", "RUST_BACKTRACE", "overflow"] {
            if ended.stderr.contains(word) {
                return Err(format!("{word:?} on stderr"));
            }
        }
        if !self.state.wrong.load(Ordering::Relaxed) {
            return Err("the server never did wrong".into());
        }
        match self.expect {
            Expect::Right => self.right(ended, record.ok_or("no record")?),
            Expect::Invalid(rules) => broken(ended, record.ok_or("no record")?, rules),
            Expect::RightOr(rules) => {
                let record = record.ok_or("no record")?;
                let warned = |_| match is_complete(record) && is_warned(record, rules) {
                    true => Ok(()),
                    false => self.right(ended, record),
                };
                broken(ended, record, rules).or_else(warned)
            }
            Expect::Fails(words) => {
                if record.is_some_and(is_valid) {
                    return Err("the record is VALID".into());
                }
                match words.iter().find(|word| !ended.stderr.contains(**word)) {
                    _ if ended.code != 1 => Err("the exit code has to be 1".into()),
                    Some(word) => Err(format!("no {word:?} on stderr")),
                    None => Ok(()),
                }
            }
        }
    }

    fn right(&self, ended: &Ended, record: &RunRecord) -> Result<(), String> {
        // 4: the one point does not count, for a reason that is checked below.
        if !matches!(ended.code, 0 | 4) || !is_complete(record) {
            return Err("it has to come to its end".into());
        }
        let invalid = invalidating(record);
        if let Some((rule, message)) = invalid
            .iter()
            .find(|(rule, _)| !OF_THE_MACHINE.contains(rule))
        {
            return Err(format!("{rule}: {message}"));
        }
        let stats = record.points[0].measured().ok_or("no figures")?;
        if stats.error_count() > 0 {
            return Err(format!("errors: {:?}", stats.errors));
        }
        let sum = |of: fn(&filermark_model::OpStats) -> u64| -> u64 {
            let ops = self.only_in_run.iter().filter_map(|op| stats.op(*op));
            ops.map(of).sum()
        };
        // There is no WARMUP. So each reply is that of an operation that ended in RUN, or was
        // intended in RUN and ended after it: the record has both.
        let counted = sum(|op| op.success_count + op.late_count);
        // Other replies that the proxy may have seen: those of calls without an operation; those that
        // were lost with a connection, whose calls were sent again; those after the timeout.
        let again = *stats.counters.get("retransmits").unwrap_or(&0);
        let beyond = self.other_count + again + sum(|op| op.open_count);
        let passed = self.state.replies_of_run.load(Ordering::Relaxed);
        println!(
            "{}: {counted} in the record, {passed} passed by, {again} again",
            self.name
        );
        match counted > 0 && (counted..=counted + beyond).contains(&passed) {
            true => Ok(()),
            false => Err(format!(
                "{counted} in the record, {passed} passed by, at most {beyond} beside them"
            )),
        }
    }
}

/// It was complete, and one of these rules makes it INVALID.
fn broken(ended: &Ended, record: &RunRecord, rules: &[Rule]) -> Result<(), String> {
    if !matches!(ended.code, 0 | 1 | 4) {
        return Err("not an exit code of a run that came to its end".into());
    }
    let broken = invalidating(record);
    match broken.iter().any(|(rule, _)| rules.contains(rule)) {
        true => Ok(()),
        false => Err(format!("none of {rules:?} but {broken:?}")),
    }
}

/// Whether one of these rules warns of a load point.
fn is_warned(record: &RunRecord, rules: &[Rule]) -> bool {
    let mut found = record.points.iter().flat_map(|point| &point.findings);
    found.any(|f| f.severity == Severity::Warning && rules.contains(&f.rule))
}

/// The findings that make a run or a point of it INVALID.
fn invalidating(record: &RunRecord) -> Vec<(Rule, String)> {
    let points = record.points.iter().flat_map(|point| &point.findings);
    let end = record.end.iter().flat_map(|end| &end.findings);
    points
        .chain(end)
        .filter(|finding| finding.severity == Severity::Invalid)
        .map(|finding| (finding.rule, finding.message.clone()))
        .collect()
}

fn is_complete(record: &RunRecord) -> bool {
    record
        .end
        .as_ref()
        .is_some_and(|end| matches!(end.outcome, Outcome::Complete))
}

fn is_valid(record: &RunRecord) -> bool {
    is_complete(record)
        && invalidating(record).is_empty()
        && record.points.len() == record.run.plan.points.len()
        && record.points.iter().all(|point| point.is_valid())
}

//! The agent's part of the run directory's lease: it reports the reason why a claim waits,
//! renews the markers, and checks whether its procs' directories can be created.
//!
//! Each mount point has its own thread, from its claim on: a slow one does not let the leases
//! of the others expire. If another client of the run has written a marker, this agent reads
//! it, and renews it when no other agent does.

use super::streams::Reports;
use filermark_driver_kit::claim::lease::{
    self, HEARTBEAT, LeaseWatch, OTHERS_LOOK, STAND_IN, UNSEEN_MAX,
};
use filermark_driver_kit::claim::{ClaimRole, RenewResult};
use filermark_driver_kit::driver::{ClaimReport, Driver};
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_engine::file_action::tree_name;
use filermark_engine::interrupt_guard;
use filermark_engine::name::{Name, NameKind};
use filermark_link::message::Report;
use filermark_model::RunPlan;
use filermark_model::plan::MountPoint;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A waiting claim: it can be stopped, and its reason is reported to the prime.
pub(super) struct WaitReporter<'a> {
    pub reports: &'a Reports,
    pub stop: &'a StopFlag,
}

impl LeaseWatch for WaitReporter<'_> {
    fn pause(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        !self.stop.is_raised()
    }

    fn waiting(&self, sentence: &str) {
        self.reports.send(&Report::Waiting {
            sentence: sentence.to_owned(),
        });
    }
}

/// How long a renewal in progress is awaited when the lease ends.
const END_MAX: Duration = Duration::from_secs(2);

/// The lease of a run directory, on this agent: renewed on its own thread until it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pub mount: MountPoint,
    known: Arc<Mutex<LeaseStatus>>,
    /// Ends the thread.
    until: Sender<()>,
    /// Stops a renewal in progress.
    renew_stop: StopFlag,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// The state of the lease.
#[derive(Debug)]
struct LeaseStatus {
    /// Another run has taken the directory over: a message.
    lost: Option<String>,
    /// When the marker was last read as this run's and renewed ([`lease::now`]).
    seen: Duration,
}

/// Renews a lease, on its thread.
struct LeaseThread {
    driver: Arc<dyn Driver>,
    claim: Claim,
    mount: MountPoint,
    known: Arc<Mutex<LeaseStatus>>,
    /// Another client's heartbeat, and since when it has not changed.
    other: Option<(u64, Duration)>,
    /// This process renews the marker.
    is_own: bool,
}

impl Lease {
    /// Begins with a directory that was just claimed. If another run takes it over, `stop` is
    /// raised, so that nothing more is done there.
    pub fn begin(
        driver: Arc<dyn Driver>,
        claim: &Claim,
        mount: &MountPoint,
        stop: StopFlag,
    ) -> std::io::Result<Self> {
        let (until, wake) = channel::<()>();
        let (running, ended) = channel::<()>();
        let known = Arc::new(Mutex::new(LeaseStatus {
            lost: None,
            seen: lease::now(),
        }));
        let holder = LeaseThread::new(driver, claim, mount, known.clone());
        let renew_stop = StopFlag::new();
        let interrupt_flag = renew_stop.clone();
        let hold = move || {
            // Dropped last: when it is disconnected, the holder has been dropped.
            let _running = running;
            let mut holder = holder;
            let _guard = interrupt_guard::interrupt_on(&interrupt_flag);
            while wake.recv_timeout(holder.pause()) == Err(RecvTimeoutError::Timeout) {
                // The operations of the run will report such a failure too.
                if let Err(e) = holder.read_marker(lease::now()) {
                    tracing::debug!(target: "filermark_clients", "heartbeat: {e}");
                }
                if holder.is_lost() {
                    stop.raise();
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("agent-lease".into());
        thread.spawn(hold)?;
        Ok(Self {
            mount: mount.clone(),
            known,
            until,
            renew_stop,
            ended,
        })
    }

    /// Why it is lost, if it is.
    pub fn lost(&self) -> Option<String> {
        lock(&self.known).lost.clone()
    }

    /// [`Self::lost`], after reading the marker again. If that fails, and the last successful
    /// reading is so long ago that another run may have taken the directory over, the lease
    /// counts as lost too.
    pub fn lost_by_now(&self, driver: &Arc<dyn Driver>, claim: &Claim) -> Option<String> {
        if let Some(lost) = self.lost() {
            return Some(lost);
        }
        let mut holder = LeaseThread::new(driver.clone(), claim, &self.mount, self.known.clone());
        let lost = holder.lost_by(&lease::now);
        // If the reading itself found it, it has been reported.
        if let (Some(lost), false) = (&lost, holder.is_lost()) {
            tracing::warn!(
                target: "filermark_clients",
                "{lost}; `filermark stop` removes later what is this run's"
            );
        }
        lost
    }

    /// Ends it. A renewal in progress is awaited for a short time: over SMB it keeps the marker
    /// from being removed. A server that does not answer does not delay the end.
    pub fn end(self) {
        let Self {
            until,
            renew_stop,
            ended,
            ..
        } = self;
        drop(until);
        renew_stop.raise();
        let _ = ended.recv_timeout(END_MAX);
    }
}

impl LeaseThread {
    fn new(
        driver: Arc<dyn Driver>,
        claim: &Claim,
        mount: &MountPoint,
        known: Arc<Mutex<LeaseStatus>>,
    ) -> Self {
        Self {
            driver,
            claim: claim.clone(),
            mount: mount.clone(),
            known,
            other: None,
            is_own: false,
        }
    }

    /// Until the next reading. The first one shows whether another client renews the marker.
    fn pause(&self) -> Duration {
        match self.is_own {
            true => HEARTBEAT,
            false => OTHERS_LOOK,
        }
    }

    fn is_lost(&self) -> bool {
        lock(&self.known).lost.is_some()
    }

    /// Why nothing may be removed, after reading the marker: see [`Lease::lost_by_now`].
    fn lost_by(&mut self, clock: &dyn Fn() -> Duration) -> Option<String> {
        let why = match self.read_marker(clock()) {
            Ok(true) => return lock(&self.known).lost.clone(),
            Ok(false) => "its marker is gone".to_owned(),
            Err(e) => format!("its marker cannot be read ({e})"),
        };
        let LeaseStatus { lost, seen } = &*lock(&self.known);
        let unseen = clock().saturating_sub(*seen);
        if lost.is_some() || unseen < UNSEEN_MAX {
            return lost.clone();
        }
        Some(format!(
            "{}/{}: nothing is removed: {why}, and was last read {} s ago; another run may have \
             taken the directory over",
            self.mount,
            self.claim.dir_name,
            unseen.as_secs()
        ))
    }

    /// Reads the marker, and renews it if that is this agent's task; returns whether there is
    /// one.
    fn read_marker(&mut self, now: Duration) -> Result<bool, DriverError> {
        let role = match self.other {
            Some((heartbeat, since)) if now.saturating_sub(since) >= STAND_IN => {
                ClaimRole::StandIn(heartbeat)
            }
            _ => ClaimRole::Own,
        };
        match self.driver.renew(&self.mount, &self.claim, role)? {
            RenewResult::Done => {
                (self.other, self.is_own) = (None, true);
                lock(&self.known).seen = now;
            }
            RenewResult::ByAnother(heartbeat) => {
                self.is_own = false;
                match self.other {
                    Some((before, _)) if before == heartbeat => {}
                    before => {
                        self.other = Some((heartbeat, now));
                        // It is not known since when the first one has not changed.
                        if before.is_some() {
                            lock(&self.known).seen = now;
                        }
                    }
                }
            }
            RenewResult::Missing => return Ok(false),
            RenewResult::TakenOver(who) => {
                let sentence = format!(
                    "{}/{}: another run has taken the run's directory over: {who}; choose \
                     another suffix (-s) for one of the two",
                    self.mount, self.claim.dir_name
                );
                tracing::error!(target: "filermark_clients", "{sentence}");
                lock(&self.known).lost = Some(sentence);
            }
        }
        Ok(true)
    }
}

fn lock(known: &Mutex<LeaseStatus>) -> MutexGuard<'_, LeaseStatus> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why procs of a client cannot create their directories: those of an earlier run still exist,
/// because they contain foreign objects. `None`: they can.
pub(super) fn blocking_dirs(
    plan: &RunPlan,
    client: u32,
    mount: &MountPoint,
    (claim, found): (&Claim, &ClaimReport),
) -> Option<String> {
    if found.occupied.is_empty() {
        return None;
    }
    let procs = plan.procs_of(client as usize).into_iter();
    let here = procs.filter(|(_, at)| at == mount);
    let needed: BTreeSet<String> = here.map(|(number, _)| dir_of(plan, number)).collect();
    let taken: Vec<&str> = (found.occupied.iter().map(String::as_str))
        .filter(|name| needed.contains(*name))
        .take(4)
        .collect();
    (!taken.is_empty()).then(|| {
        format!(
            "{mount}/{}: {} is in the way of this run, because of foreign objects in it: {}; \
             move them away, or choose another suffix (-s)",
            claim.dir_name,
            taken.join(", "),
            found.not_ours.join(", ")
        )
    })
}

/// The directory of a proc in the run directory.
fn dir_of(plan: &RunPlan, number: u32) -> String {
    let component = plan.proc(number).and_then(|proc| {
        let composite = plan.benchmark.composite()?;
        composite.components.get(proc.component as usize)
    });
    match component {
        Some(component) => {
            let workload = &component.workload;
            let shared = plan.fileset.sharing || workload.attributes.sharemode;
            tree_name(number, &workload.name, shared)
        }
        None => {
            let name = Name::new(NameKind::ProcDir, number).text();
            String::from_utf8_lossy(name.as_bytes()).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_driver_kit::claim::lease::WATCH;
    use filermark_driver_kit::driver::ReleaseScope;
    use filermark_engine::driver::{Capabilities, LoadDriver, ShardDriver, ShardSetup};
    use filermark_engine::null::NullDriver;
    use std::collections::VecDeque;

    /// When the lease began.
    const BEGAN: Duration = Duration::from_secs(1000);

    /// Returns the given results of renewals, and records the role of each call.
    #[derive(Default)]
    struct ScriptedLease {
        answers: Mutex<VecDeque<RenewResult>>,
        roles: Mutex<Vec<ClaimRole>>,
    }

    impl Driver for ScriptedLease {
        fn name(&self) -> &'static str {
            "scripted"
        }
        fn claim_watched(
            &self,
            _: &MountPoint,
            _: &Claim,
            _: &dyn LeaseWatch,
        ) -> Result<ClaimReport, DriverError> {
            Ok(ClaimReport::default())
        }
        fn release_watched(
            &self,
            _: &MountPoint,
            _: &Claim,
            _: ReleaseScope,
            _: &dyn LeaseWatch,
        ) -> Result<ClaimReport, DriverError> {
            Ok(ClaimReport::default())
        }
        fn renew(
            &self,
            _: &MountPoint,
            _: &Claim,
            role: ClaimRole,
        ) -> Result<RenewResult, DriverError> {
            self.roles.lock().unwrap().push(role);
            let next = self.answers.lock().unwrap().pop_front();
            next.ok_or_else(|| DriverError {
                place: "h:/e".into(),
                step: "renew".into(),
                reason: "silent".into(),
                advice: String::new(),
            })
        }
    }

    impl LoadDriver for ScriptedLease {
        fn capabilities(&self) -> Capabilities {
            NullDriver.capabilities()
        }
        fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
            NullDriver.open_shard(setup)
        }
        fn status_text(&self, code: u32) -> String {
            code.to_string()
        }
        fn fatal_advice(&self, _: u32) -> Option<&'static str> {
            None
        }
    }

    fn mount() -> MountPoint {
        MountPoint {
            host: "h".into(),
            path: "/e".into(),
        }
    }

    fn claim() -> Claim {
        Claim {
            dir_name: "filermark.s".into(),
            run_id: "ours".into(),
        }
    }

    fn holder(answers: impl IntoIterator<Item = RenewResult>) -> (Arc<ScriptedLease>, LeaseThread) {
        let driver = Arc::new(ScriptedLease {
            answers: Mutex::new(answers.into_iter().collect()),
            ..ScriptedLease::default()
        });
        let known = LeaseStatus {
            lost: None,
            seen: BEGAN,
        };
        let known = Arc::new(Mutex::new(known));
        let holder = LeaseThread::new(driver.clone(), &claim(), &mount(), known);
        (driver, holder)
    }

    #[test]
    fn another_client_renews_before_the_run_counts_as_dead() {
        let by = RenewResult::ByAnother;
        let (driver, mut holder) = holder([by(7), by(8), by(8), by(8), RenewResult::Done]);
        // The client that renews it dies right after its renewal to 8, before the first of
        // these readings that finds it.
        let mut stood_in = None;
        for read_marker in 1..=5 {
            assert_eq!(holder.pause(), OTHERS_LOOK, "from the first reading on");
            let now = BEGAN + OTHERS_LOOK * read_marker;
            assert!(holder.read_marker(now).is_ok() && !holder.is_lost());
            if holder.other.is_none() {
                stood_in = Some(now - (BEGAN + OTHERS_LOOK));
            }
        }
        assert_eq!(holder.pause(), HEARTBEAT, "the marker is its own now");
        assert!(stood_in.is_some_and(|after| after < WATCH), "{stood_in:?}");
        let roles = driver.roles.lock().unwrap();
        assert_eq!(roles.last(), Some(&ClaimRole::StandIn(8)));
        assert!(
            roles[..4].iter().all(|role| *role == ClaimRole::Own),
            "{roles:?}"
        );
    }

    #[test]
    fn a_lost_lease_is_reported_with_directory_and_run() {
        let who = "run other (process 7 on host h9, since then)".to_owned();
        let (_, mut holder) = holder([RenewResult::Done, RenewResult::TakenOver(who)]);
        assert_eq!(holder.read_marker(BEGAN), Ok(true));
        assert!(!holder.is_lost());
        assert_eq!(holder.read_marker(BEGAN), Ok(true));
        assert!(holder.is_lost());
        assert!(
            holder.read_marker(BEGAN).is_err(),
            "the server does not answer"
        );
        let lost = lock(&holder.known).lost.clone().expect("a sentence");
        for part in [
            "h:/e/filermark.s",
            "run other (process 7 on host h9",
            "(-s)",
        ] {
            assert!(lost.contains(part), "{part} in {lost}");
        }
    }

    /// CLEANUP removes by name, so it reads the marker first, whenever the last reading was.
    #[test]
    fn a_marker_that_cannot_be_read_before_clean_up_counts_as_lost() {
        let at = |after: Duration| move || BEGAN + after;
        let (driver, mut holder) = holder([RenewResult::Done]);
        assert_eq!(holder.lost_by(&at(HEARTBEAT)), None);
        assert_eq!(
            driver.roles.lock().unwrap().len(),
            1,
            "it has read the marker"
        );
        // No other run can have it yet.
        let early = HEARTBEAT + UNSEEN_MAX - Duration::from_nanos(1);
        assert_eq!(holder.lost_by(&at(early)), None);
        let late = HEARTBEAT + UNSEEN_MAX;
        let lost = holder
            .lost_by(&at(late))
            .expect("there was no answer for a long time");
        for part in [
            "h:/e/filermark.s: nothing is removed",
            "silent",
            "last read 20 s ago",
        ] {
            assert!(lost.contains(part), "{part} in {lost}");
        }
        // The next reading may find it again.
        driver.answers.lock().unwrap().push_back(RenewResult::Done);
        assert_eq!(holder.lost_by(&at(late)), None);
    }

    #[test]
    fn a_marker_that_is_not_renewed_does_not_count_as_read() {
        let by = RenewResult::ByAnother;
        let (_, mut holder) = holder([RenewResult::Missing, by(3), by(3), by(4), by(4)]);
        let seen = |holder: &LeaseThread| lock(&holder.known).seen;
        for (reading, answer, last) in [(1, false, 0), (2, true, 0), (3, true, 0), (4, true, 4)] {
            assert_eq!(
                holder.read_marker(BEGAN + OTHERS_LOOK * reading),
                Ok(answer)
            );
            assert_eq!(
                seen(&holder),
                BEGAN + OTHERS_LOOK * last,
                "reading {reading}"
            );
        }
        assert_eq!(holder.read_marker(BEGAN + OTHERS_LOOK * 5), Ok(true));
        assert_eq!(seen(&holder), BEGAN + OTHERS_LOOK * 4);
        let (_, mut gone) = self::holder([RenewResult::Missing, RenewResult::Missing]);
        assert_eq!(gone.lost_by(&|| BEGAN), None);
        let lost = gone.lost_by(&|| BEGAN + UNSEEN_MAX);
        assert!(lost.is_some_and(|lost| lost.contains("its marker is gone")));
    }

    #[test]
    fn a_lease_ends_on_request() {
        let (driver, _) = holder([]);
        let lease = Lease::begin(driver, &claim(), &mount(), StopFlag::new()).expect("a thread");
        assert_eq!(lease.lost(), None);
        let known = Arc::downgrade(&lease.known);
        lease.end();
        assert!(known.upgrade().is_none(), "the thread has ended");
    }
}

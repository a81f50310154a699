//! Which tests run alone: a test of rates and times runs alone, the others run in parallel. Names
//! of the former begin with [`ALONE`]: `./test` runs them last, one by one, and all others before
//! them.

use filermark_model::{Finding, Rule};
use filermark_testbed::Pcap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::new(());

/// Prefix of the names of tests that run alone; `ci/queue-test` selects by it.
const ALONE: &str = "alone_";

/// For a test whose figures other load would affect.
#[track_caller]
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // The test harness names a test's thread by the test, or runs all of them in `main`.
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    let (_, test) = name.rsplit_once("::").unwrap_or(("", name));
    let is_named = test.starts_with(ALONE) || test == "main";
    assert!(is_named, "the name of {name} has to begin with {ALONE}");
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// For all others.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Share of the processors' time that is idle while a test measures on a quiet machine.
const IDLE_MIN: f64 = 0.3;

/// Watches what the rest of the machine does while a test measures rates or times.
pub struct Machine {
    before: CpuTime,
}

impl Machine {
    /// Begins to watch.
    pub fn watch() -> Self {
        let before = CpuTime::now();
        Self { before }
    }

    /// Panics with the error, unless the machine was too busy for correct rates and times: then it
    /// prints that nothing was checked.
    #[track_caller]
    pub fn judge(&self, measured: Result<(), String>) {
        let Err(off) = measured else { return };
        let idle = CpuTime::now().idle_share_since(&self.before);
        assert!(idle < IDLE_MIN, "the processors were {idle:.2} idle: {off}");
        println!("not judged, the processors were {idle:.2} idle: {off}");
    }
}

/// Measures rates or times that other load of the machine can affect.
#[track_caller]
pub fn when_quiet(measure: impl FnOnce() -> Result<(), String>) {
    let machine = Machine::watch();
    machine.judge(measure());
}

/// Rules about the machine that a test runs on, which may be busy. All others are about the server,
/// the data or the program, and hold on any machine.
pub const OF_THE_MACHINE: &[Rule] = &[
    Rule::GeneratorStalled,
    Rule::GeneratorBusy,
    Rule::Lateness,
    Rule::AchievedRate,
    Rule::ProcRate,
    Rule::MixDeviation,
    Rule::ResponseLimit,
    Rule::Saturated,
];

/// The findings of a load point that a busy machine explains, for [`when_quiet`]. Panics if there
/// are other findings against it.
#[track_caller]
pub fn valid(findings: &[Finding]) -> Result<(), String> {
    let (of_the_machine, others): (Vec<&Finding>, Vec<&Finding>) = findings
        .iter()
        // In the classical benchmarks a missed rate is a warning.
        .filter(|finding| finding.invalidates() || finding.rule == Rule::AchievedRate)
        .partition(|finding| OF_THE_MACHINE.contains(&finding.rule));
    assert!(others.is_empty(), "{others:?}");
    match of_the_machine.is_empty() {
        true => Ok(()),
        false => Err(format!("{of_the_machine:?}")),
    }
}

#[test]
fn only_findings_of_the_machine_are_excused() {
    use filermark_model::Severity;
    let finding = |rule, severity| Finding::new(rule, severity, "why");
    let slow = finding(Rule::AchievedRate, Severity::Invalid);
    let noted = finding(Rule::DataVerify, Severity::Note);
    assert_eq!(valid(std::slice::from_ref(&noted)), Ok(()));
    assert!(valid(&[slow.clone(), noted]).is_err());
    for rule in [Rule::DataVerify, Rule::Errors, Rule::DataUnchecked] {
        let both = [slow.clone(), finding(rule, Severity::Invalid)];
        let judged = std::panic::catch_unwind(|| valid(&both));
        assert!(judged.is_err(), "{rule}");
    }
}

/// Time of all processors since the machine began, in ticks: proc(5), /proc/stat.
struct CpuTime {
    idle: u64,
    all: u64,
}

impl CpuTime {
    fn now() -> Self {
        const IDLE: usize = 3;
        const TO_STEAL: usize = 8;
        let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
        let line = text.lines().next().unwrap_or_default();
        let ticks = line.split_ascii_whitespace().skip(1).take(TO_STEAL);
        let ticks: Vec<u64> = ticks.map(|t| t.parse().expect("ticks")).collect();
        Self {
            idle: ticks[IDLE],
            all: ticks.iter().sum(),
        }
    }

    fn idle_share_since(&self, before: &Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.idle.saturating_sub(before.idle) as f64 / all as f64
    }
}

/// For [`when_quiet`]: `Err` when packets came too fast for the capture, which is no error of
/// their sender.
pub fn whole(pcap: &Pcap) -> Result<(), String> {
    match pcap.dropped() {
        0 => Ok(()),
        lost => Err(format!("{lost} packets are not in the capture")),
    }
}

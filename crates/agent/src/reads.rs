//! Where the bytes come from that a client reads in RUN: what the system counts for each mount
//! point at the beginning and at the end of RUN, compared with what the operations read.

use super::clock_check::wait_until;
use filermark_driver_kit::driver::{Driver, FetchedBytes};
use filermark_engine::clock::Clock;
use filermark_engine::shard::{RunTimes, Timetable};
use filermark_link::client_reads::{read_bytes, unread};
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::plan::MountPoint;
use filermark_model::{Nanos, PointStats, RunPlan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longest wait for the last reading.
const READING_MAX: Duration = Duration::from_secs(5);

/// A reading is late when this part of RUN has passed since: as much as may come from the client's
/// memory without a warning (a tenth), since what is fetched until then is missed or added.
const LATE_DIVISOR: u64 = 10;

/// Length of the name of a counter, in hexadecimal digits.
const SOURCE_CHARS: usize = 16;

/// The counters to read.
pub(super) struct CounterSource {
    pub plan: Arc<RunPlan>,
    /// The index of the client in the plan.
    pub client: usize,
    pub driver: Arc<dyn Driver>,
    pub mounts: Vec<MountPoint>,
}

/// The counters of each open mount point at one instant.
type CounterSnapshot = Vec<(MountPoint, FetchedBytes)>;

/// Two readings.
struct Readings {
    snapshots: [CounterSnapshot; 2],
    late: Option<Late>,
}

/// Readings that are too late for RUN's length.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Late {
    /// How late the later of them was, relative to the edge of RUN.
    by: Nanos,
    /// The part of RUN that had passed at the first one: what was fetched then is not counted.
    missed: f64,
}

/// Two readings made on a thread: at the beginning and at the end of RUN.
pub(super) struct CounterSampler {
    sampled: Arc<CounterSource>,
    readings: Result<Receiver<Readings>, std::io::Error>,
    /// Closed when the phase is over.
    phase: Option<Sender<()>>,
}

impl CounterSource {
    fn read(&self) -> CounterSnapshot {
        let of = |mount: &MountPoint| Some((mount.clone(), self.driver.fetched(mount)?));
        self.mounts.iter().filter_map(of).collect()
    }

    fn client_name(&self) -> &str {
        let client = self.plan.clients.get(self.client);
        client.map_or("", |c| &c.name)
    }
}

impl CounterSampler {
    /// Reads at the beginning and at the end of RUN. `None`: the driver sends requests to the
    /// server itself, and no cache of this host can answer them.
    pub fn begin(sampled: CounterSource, clock: &Clock, timetable: Timetable) -> Option<Self> {
        if !sampled.plan.driver.facts().host_cache {
            return None;
        }
        let (sender, readings) = channel();
        let (phase, over) = channel::<()>();
        let sampled = Arc::new(sampled);
        let (theirs, clock) = (sampled.clone(), clock.clone());
        let work = move || {
            if !wait_until(&clock, || timetable.times().run_start, &over) {
                return;
            }
            let first = theirs.read();
            let first_at = clock.now();
            wait_until(&clock, || timetable.times().run_end, &over);
            let snapshots = [first, theirs.read()];
            let late = lateness(timetable.times(), [first_at, clock.now()]);
            let _ = sender.send(Readings { snapshots, late });
        };
        let thread = std::thread::Builder::new().name("agent-reads".into());
        Some(Self {
            sampled,
            readings: thread.spawn(work).map(|_| readings),
            phase: Some(phase),
        })
    }

    /// The result, after the end of RUN, with an entry for each mount point, even if it only
    /// states that the bytes are not known, and why.
    pub fn finish(mut self, stats: &PointStats) -> Vec<ClientReads> {
        self.phase.take();
        let name = self.sampled.client_name();
        let read_bytes = read_bytes(&self.sampled.plan, self.sampled.client, stats);
        let readings = match &self.readings {
            Ok(readings) => readings
                .recv_timeout(READING_MAX)
                .map_err(|_| "the counters were not read in time".to_owned()),
            Err(e) => Err(format!(
                "the thread that reads the counters was not started: {e}"
            )),
        };
        let mounts = &self.sampled.mounts;
        match readings {
            Ok(readings) => combined(name, mounts, &readings, &read_bytes),
            Err(reason) => mounts
                .iter()
                .map(|mount| unread(name, mount, &reason, &read_bytes))
                .collect(),
        }
    }
}

/// An entry for each counter, with all mount points that share it.
fn combined(
    client: &str,
    mounts: &[MountPoint],
    readings: &Readings,
    read_bytes: &BTreeMap<MountPoint, u64>,
) -> Vec<ClientReads> {
    let host = kernel_id(client);
    let [before, after] = &readings.snapshots;
    let of = |reading: &CounterSnapshot, mount: &MountPoint| {
        let found = reading.iter().find(|(m, _)| m == mount);
        found.map(|(_, fetched)| fetched.clone())
    };
    let mut all: BTreeMap<String, ClientReads> = BTreeMap::new();
    let mut others = Vec::new();
    for mount in mounts {
        let (Some(first), Some(last)) = (of(before, mount), of(after, mount)) else {
            let reason = "the mount point was not open in RUN";
            others.push(unread(client, mount, reason, read_bytes));
            continue;
        };
        let entry = all.entry(first.source.clone()).or_insert_with(|| {
            let late = readings
                .late
                .filter(|_| first.counter != ReadCounter::Memory);
            let fetched = between(&first, &last);
            ClientReads {
                client: client.to_owned(),
                mounts: Vec::new(),
                file_system: first.file_system,
                counter: first.counter,
                read_bytes: 0,
                fetched_bytes: fetched.as_ref().ok().copied(),
                source: source_id(&host, &first.source),
                unknown: fetched.err().or_else(|| late.map(late_text)),
            }
        });
        entry.mounts.push(mount.to_string());
        entry.read_bytes += read_bytes.get(mount).copied().unwrap_or(0);
    }
    if let Some(late) = readings.late {
        let counted = all
            .values_mut()
            .filter(|e| e.counter != ReadCounter::Memory);
        counted.for_each(|entry| late.raise(entry));
    }
    all.into_values().chain(others).collect()
}

impl Late {
    /// Adds what may have been fetched before the first reading: as much as was read until then,
    /// which is taken to be as much per second as in all of RUN. So what came from the client's
    /// memory is not overestimated. A late last reading does not overestimate it either.
    fn raise(self, entry: &mut ClientReads) {
        let missed = (entry.read_bytes as f64 * self.missed) as u64;
        let fetched = entry.fetched_bytes.as_mut();
        fetched
            .into_iter()
            .for_each(|f| *f = f.saturating_add(missed));
    }
}

/// How late the readings at the edges of RUN were, if that is too late for RUN's length.
fn lateness(times: RunTimes, [first, last]: [Nanos; 2]) -> Option<Late> {
    let run = times.run_end.since(times.run_start);
    let missed = first.since(times.run_start);
    let by = missed.max(last.since(times.run_end));
    (by.0 > run.0 / LATE_DIVISOR).then(|| Late {
        by,
        missed: (missed.0 as f64 / run.0.max(1) as f64).min(1.0),
    })
}

/// The increase of a counter from the first reading to the last, or why that is not known.
fn between(first: &FetchedBytes, last: &FetchedBytes) -> Result<u64, String> {
    if first.counter == ReadCounter::Unknown {
        return Err("no counter exists for this file system".into());
    }
    let fetched = match (first.bytes, last.bytes) {
        (None, _) => Err("its counter could not be read when RUN began"),
        (_, None) => Err("its counter could not be read when RUN ended"),
        (Some(first), Some(last)) => last
            .checked_sub(first)
            .ok_or("its counter decreased: the file system was perhaps mounted again"),
    };
    fetched.map_err(str::to_owned)
}

fn late_text(late: Late) -> String {
    format!(
        "its counter was read {:.1} s late, since the host was busy, and RUN is short for that; \
         raise RUNTIME",
        late.by.as_secs_f64()
    )
}

/// Identifies the kernel that counts: agents on one host share it, in containers too. If it has
/// no identifier, the client's name is used.
fn kernel_id(client: &str) -> String {
    let id = filermark_system::read_proc("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| client.to_owned(), |id| id.trim().to_owned())
}

/// Identifies a counter of a kernel, without disclosing more of it than is needed.
fn source_id(kernel: &str, source: &str) -> String {
    let mut id = filermark_results::record::sha256(format!("{kernel}\n{source}").as_bytes());
    id.truncate(SOURCE_CHARS);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::DriverPlan;

    fn mount(path: &str) -> MountPoint {
        MountPoint {
            host: "localhost".into(),
            path: path.into(),
        }
    }

    fn fetched(source: &str, bytes: Option<u64>) -> FetchedBytes {
        FetchedBytes {
            source: source.into(),
            file_system: "ext4".into(),
            counter: ReadCounter::Block,
            bytes,
        }
    }

    fn in_time(snapshots: [CounterSnapshot; 2]) -> Readings {
        Readings {
            snapshots,
            late: None,
        }
    }

    #[test]
    fn a_counter_that_was_read_late_gives_the_most_that_was_fetched() {
        let ms = |n: u64| Nanos(n * 1_000_000);
        let times = RunTimes {
            warmup_start: ms(0),
            run_start: ms(1_000),
            run_end: ms(3_000),
        };
        assert_eq!(lateness(times, [ms(1_200), ms(3_200)]), None);
        let late = |by, missed| Some(Late { by: ms(by), missed });
        assert_eq!(lateness(times, [ms(1_500), ms(3_000)]), late(500, 0.25));
        assert_eq!(lateness(times, [ms(1_000), ms(3_500)]), late(500, 0.0));
        assert_eq!(lateness(times, [ms(9_000), ms(9_000)]), late(8_000, 1.0));
        // RUN was ended before.
        assert_eq!(lateness(times, [ms(900), ms(2_000)]), None);
        let of = |counter, late| {
            let reading = |bytes| {
                let fetched = FetchedBytes {
                    counter,
                    ..fetched("a", Some(bytes))
                };
                vec![(mount("/a"), fetched)]
            };
            let readings = Readings {
                snapshots: [reading(1), reading(8)],
                late,
            };
            let read = BTreeMap::from([(mount("/a"), 100)]);
            combined("h", &[mount("/a")], &readings, &read).remove(0)
        };
        // At most so much was fetched.
        let entry = of(ReadCounter::Nfs, late(1_500, 0.25));
        assert_eq!(entry.fetched_bytes, Some(7 + 25));
        let reason = entry.unknown.unwrap_or_default();
        assert!(reason.contains("read 1.5 s late"), "{reason}");
        let entry = of(ReadCounter::Memory, late(1_500, 0.25));
        assert_eq!((entry.fetched_bytes, entry.unknown), (Some(7), None));
    }

    #[test]
    fn mount_points_with_one_counter_are_combined() {
        let reading = |disk, other| {
            vec![
                (mount("/a"), fetched("disk", Some(disk))),
                (mount("/b"), fetched("disk", Some(disk + 1))),
                (mount("/c"), fetched("other", other)),
            ]
        };
        let read = BTreeMap::from([(mount("/a"), 100), (mount("/b"), 50), (mount("/c"), 7)]);
        let mounts = ["/a", "/b", "/c", "/d"].map(mount);
        let all = combined(
            "h",
            &mounts,
            &in_time([reading(1_000, Some(9)), reading(1_060, Some(3))]),
            &read,
        );
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].mounts, ["localhost:/a", "localhost:/b"]);
        assert_eq!((all[0].read_bytes, all[0].fetched_bytes), (150, Some(60)));
        assert_eq!(all[0].memory_bytes(), Some(90));
        assert_eq!(all[0].source.len(), SOURCE_CHARS);
        assert_ne!(all[0].source, all[1].source);
        assert_eq!((all[1].read_bytes, all[1].fetched_bytes), (7, None));
        let reason = |at: usize| all[at].unknown.as_deref().unwrap_or("");
        assert!(reason(1).contains("decreased"), "{}", reason(1));
        assert!(reason(2).contains("was not open"), "{}", reason(2));
        // The same counter has the same identifier, whichever client reports it.
        let first = combined(
            "h",
            &mounts[..1],
            &in_time([reading(1, None), reading(1, None)]),
            &read,
        );
        assert_eq!(first[0].source, all[0].source);
        let gone = combined(
            "h",
            &mounts,
            &in_time([reading(1, None), Vec::new()]),
            &read,
        );
        assert!(
            gone.iter()
                .all(|r| r.fetched_bytes.is_none() && r.unknown.is_some())
        );
        assert_eq!(gone.len(), 4);
    }

    #[test]
    fn a_missing_reading_is_reported_with_its_reason() {
        let mut plan = filermark_results::testing::composite::composite_record()
            .run
            .plan;
        plan.clients.truncate(1);
        let mounts: Vec<MountPoint> = plan.clients[0].mounts.clone();
        let sampled = |plan: &RunPlan| CounterSource {
            plan: Arc::new(plan.clone()),
            client: 0,
            driver: Arc::new(filermark_engine::null::NullDriver),
            mounts: mounts.clone(),
        };
        let clock = Clock::real();
        let never = filermark_engine::shard::RunTimes {
            warmup_start: Nanos::ZERO,
            run_start: Nanos::MAX,
            run_end: Nanos::MAX,
        };
        let begun = CounterSampler::begin(sampled(&plan), &clock, never.into()).expect("mounted");
        let reads = begun.finish(&PointStats::default());
        assert_eq!(reads.len(), mounts.len());
        let reason = reads[0].unknown.as_deref();
        assert_eq!(reason, Some("the counters were not read in time"));
        plan.driver = DriverPlan::NULL;
        assert!(CounterSampler::begin(sampled(&plan), &clock, never.into()).is_none());
    }
}

//! Where the bytes come from that a client reads in RUN: what the system counts for
//! each mount point when RUN begins and when it ends, held against what operations
//! have read.

use crate::clock_check::wait_until;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Driver, Fetched};
use filermark_engine::shard::Timetable;
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::{PointStats, RunPlan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longest wait for the last reading.
const READING_MAX: Duration = Duration::from_secs(5);

/// Length of the name of a counter, in hexadecimal digits.
const SOURCE_CHARS: usize = 16;

/// Whose counters are read.
pub(super) struct Sampled {
    pub plan: Arc<RunPlan>,
    /// Which client of it.
    pub client: usize,
    pub driver: Arc<dyn Driver>,
    pub mounts: Vec<MountPoint>,
}

/// What was counted for each mount point at one instant; one that was not open is not
/// among them.
type Reading = Vec<(MountPoint, Fetched)>;

/// Two readings that are being made on a thread: when RUN began, and when it ended.
pub(super) struct Reads {
    sampled: Arc<Sampled>,
    readings: Result<Receiver<[Reading; 2]>, std::io::Error>,
    /// Closed when the phase is over.
    phase: Option<Sender<()>>,
}

impl Sampled {
    fn read(&self) -> Reading {
        let of = |mount: &MountPoint| Some((mount.clone(), self.driver.fetched(mount)?));
        self.mounts.iter().filter_map(of).collect()
    }

    fn client_name(&self) -> &str {
        let client = self.plan.clients.get(self.client);
        client.map_or("", |c| &c.name)
    }
}

impl Reads {
    /// Will read at the beginning and at the end of RUN. `None`: the driver speaks to the
    /// server itself, and no cache of this host can answer.
    pub fn begin(sampled: Sampled, clock: &Clock, timetable: Timetable) -> Option<Self> {
        if !matches!(sampled.plan.driver, DriverPlan::Posix(_)) {
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
            wait_until(&clock, || timetable.times().run_end, &over);
            let _ = sender.send([first, theirs.read()]);
        };
        let thread = std::thread::Builder::new().name("agent-reads".into());
        Some(Self {
            sampled,
            readings: thread.spawn(work).map(|_| readings),
            phase: Some(phase),
        })
    }

    /// What came of it, now that RUN has ended: of each mount point something, if only
    /// that it is not known, and why.
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
            Err(why) => mounts
                .iter()
                .map(|mount| unread(name, mount, &why, &read_bytes))
                .collect(),
        }
    }
}

/// Bytes that a client's operations have read below each of its mount points.
fn read_bytes(plan: &RunPlan, client: usize, stats: &PointStats) -> BTreeMap<MountPoint, u64> {
    let procs: BTreeMap<u32, MountPoint> = plan.procs_of(client).into_iter().collect();
    let mut bytes: BTreeMap<MountPoint, u64> = BTreeMap::new();
    for proc in &stats.proc_ops {
        if let Some(mount) = procs.get(&proc.proc) {
            let sum = bytes.entry(mount.clone()).or_default();
            for op in &proc.ops {
                *sum = sum.saturating_add(op.read_bytes);
            }
        }
    }
    bytes
}

/// What an agent says of its reads, as the prime keeps it: under the client's own name, and
/// with the bytes read that its figures have. So nobody adds reads that were not made, or
/// leaves mount points out. What the prime cannot know is what the kernel has counted.
pub(crate) fn attributed(
    plan: &RunPlan,
    client: usize,
    stats: &PointStats,
    said: Vec<ClientReads>,
) -> Vec<ClientReads> {
    let name = plan.clients.get(client).map_or("", |c| &c.name);
    let mut unsaid = match plan.driver {
        DriverPlan::Posix(_) => read_bytes(plan, client, stats),
        _ => BTreeMap::new(),
    };
    let mut all = Vec::with_capacity(said.len());
    for reads in said {
        let mut read = 0u64;
        unsaid.retain(|mount, bytes| {
            let is_its = reads.mounts.contains(&mount.to_string());
            if is_its {
                read = read.saturating_add(*bytes);
            }
            !is_its
        });
        all.push(ClientReads {
            client: name.to_owned(),
            read_bytes: read,
            ..reads
        });
    }
    let why = "the client does not say it";
    let left: Vec<_> = unsaid
        .keys()
        .map(|mount| unread(name, mount, why, &unsaid))
        .collect();
    all.extend(left);
    all
}

/// An entry for each counter, with all mount points that share it.
fn combined(
    client: &str,
    mounts: &[MountPoint],
    [before, after]: &[Reading; 2],
    read_bytes: &BTreeMap<MountPoint, u64>,
) -> Vec<ClientReads> {
    let host = kernel_id(client);
    let of = |reading: &Reading, mount: &MountPoint| {
        let found = reading.iter().find(|(m, _)| m == mount);
        found.map(|(_, fetched)| fetched.clone())
    };
    let mut all: BTreeMap<String, ClientReads> = BTreeMap::new();
    let mut others = Vec::new();
    for mount in mounts {
        let (Some(first), Some(last)) = (of(before, mount), of(after, mount)) else {
            let why = "the mount point was not open in RUN";
            others.push(unread(client, mount, why, read_bytes));
            continue;
        };
        let entry = all.entry(first.source.clone()).or_insert_with(|| {
            let fetched = between(&first, &last);
            ClientReads {
                client: client.to_owned(),
                mounts: Vec::new(),
                file_system: first.file_system,
                counter: first.counter,
                read_bytes: 0,
                fetched_bytes: fetched.ok(),
                source: source_id(&host, &first.source),
                unknown: fetched.err().map(str::to_owned),
            }
        });
        entry.mounts.push(mount.to_string());
        entry.read_bytes += read_bytes.get(mount).copied().unwrap_or(0);
    }
    all.into_values().chain(others).collect()
}

/// What a counter counted from the first reading to the last, or why that is not known.
fn between(first: &Fetched, last: &Fetched) -> Result<u64, &'static str> {
    if first.counter == ReadCounter::Unknown {
        return Err("nothing counts that there");
    }
    match (first.bytes, last.bytes) {
        (None, _) => Err("its counter could not be read when RUN began"),
        (_, None) => Err("its counter could not be read when RUN ended"),
        (Some(first), Some(last)) => {
            let fetched = last.checked_sub(first);
            fetched.ok_or("its counter went back: it was mounted again, perhaps")
        }
    }
}

/// A mount point of which nothing is known but what operations have read.
fn unread(
    client: &str,
    mount: &MountPoint,
    why: &str,
    read_bytes: &BTreeMap<MountPoint, u64>,
) -> ClientReads {
    ClientReads {
        client: client.to_owned(),
        mounts: vec![mount.to_string()],
        file_system: "mounted".to_owned(),
        counter: ReadCounter::Unknown,
        read_bytes: read_bytes.get(mount).copied().unwrap_or(0),
        fetched_bytes: None,
        source: String::new(),
        unknown: Some(why.to_owned()),
    }
}

/// Names the kernel that counts: agents on one host share it, in containers too. Where
/// it has no name, it is this client's own.
fn kernel_id(client: &str) -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| client.to_owned(), |id| id.trim().to_owned())
}

/// Names a counter of a kernel, without telling more of it than is needed.
fn source_id(kernel: &str, source: &str) -> String {
    let mut id = filermark_results::record::sha256(format!("{kernel}\n{source}").as_bytes());
    id.truncate(SOURCE_CHARS);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Nanos;

    fn mount(path: &str) -> MountPoint {
        MountPoint {
            host: "localhost".into(),
            path: path.into(),
        }
    }

    fn fetched(source: &str, bytes: Option<u64>) -> Fetched {
        Fetched {
            source: source.into(),
            file_system: "ext4".into(),
            counter: ReadCounter::Block,
            bytes,
        }
    }

    #[test]
    fn mount_points_with_one_counter_are_taken_together() {
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
            &[reading(1_000, Some(9)), reading(1_060, Some(3))],
            &read,
        );
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].mounts, ["localhost:/a", "localhost:/b"]);
        assert_eq!((all[0].read_bytes, all[0].fetched_bytes), (150, Some(60)));
        assert_eq!(all[0].memory_bytes(), Some(90));
        assert_eq!(all[0].source.len(), SOURCE_CHARS);
        assert_ne!(all[0].source, all[1].source);
        assert_eq!((all[1].read_bytes, all[1].fetched_bytes), (7, None));
        let why = |at: usize| all[at].unknown.as_deref().unwrap_or("");
        assert!(why(1).contains("went back"), "{}", why(1));
        assert!(why(2).contains("was not open"), "{}", why(2));
        // The same counter has the same name, whichever client reports it.
        let first = combined(
            "h",
            &mounts[..1],
            &[reading(1, None), reading(1, None)],
            &read,
        );
        assert_eq!(first[0].source, all[0].source);
        let gone = combined("h", &mounts, &[reading(1, None), Vec::new()], &read);
        assert!(
            gone.iter()
                .all(|r| r.fetched_bytes.is_none() && r.unknown.is_some())
        );
        assert_eq!(gone.len(), 4);
    }

    /// An agent says that it read much where it read little, and nothing where it read much.
    #[test]
    fn the_bytes_read_are_those_of_the_figures() {
        let record = filermark_results::testing::composite::composite_record();
        let mut plan = record.run.plan.clone();
        plan.driver = DriverPlan::Posix(filermark_model::plan::PosixPlan::default());
        let client = plan.procs[0].client as usize;
        plan.clients[client].mounts = vec![mount("/a"), mount("/b")];
        for (number, proc) in plan.procs.iter_mut().enumerate() {
            proc.mount = mount(if number == 0 { "/a" } else { "/b" });
        }
        let stats = record.points[0].measured().expect("figures").clone();
        let told = read_bytes(&plan, client, &stats);
        let (a, b) = (told[&mount("/a")], told[&mount("/b")]);
        assert!(a > 0 && b > 0, "{told:?}");
        let said = vec![ClientReads {
            client: "somebody else".into(),
            read_bytes: u64::MAX,
            fetched_bytes: Some(u64::MAX),
            unknown: None,
            ..unread("x", &mount("/a"), "", &BTreeMap::new())
        }];
        let kept = attributed(&plan, client, &stats, said.clone());
        let kept: Vec<_> = kept
            .iter()
            .map(|r| {
                (
                    r.client == plan.clients[client].name,
                    &r.mounts[0],
                    r.read_bytes,
                    r.fetched_bytes,
                )
            })
            .collect();
        let names = [mount("/a"), mount("/b")].map(|mount| mount.to_string());
        assert_eq!(
            kept,
            [
                (true, &names[0], a, Some(u64::MAX)),
                (true, &names[1], b, None)
            ]
        );
        // Drivers that speak to servers themselves say nothing of it.
        plan.driver = DriverPlan::Null;
        assert!(attributed(&plan, client, &stats, Vec::new()).is_empty());
    }

    #[test]
    fn a_reading_that_is_not_made_is_told_with_its_reason() {
        let mut plan = filermark_results::testing::composite::composite_record()
            .run
            .plan;
        plan.clients.truncate(1);
        let mounts: Vec<MountPoint> = plan.clients[0].mounts.clone();
        let sampled = |plan: &RunPlan| Sampled {
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
        let begun = Reads::begin(sampled(&plan), &clock, never.into()).expect("mounted");
        let told = begun.finish(&PointStats::default());
        assert_eq!(told.len(), mounts.len());
        let why = told[0].unknown.as_deref();
        assert_eq!(why, Some("the counters were not read in time"));
        plan.driver = DriverPlan::Null;
        assert!(Reads::begin(sampled(&plan), &clock, never.into()).is_none());
    }
}

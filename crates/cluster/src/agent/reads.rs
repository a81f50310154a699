//! Where the bytes come from that a client reads in RUN: what the system counts for
//! each mount point when RUN begins and when it ends, held against what operations
//! have read.

use crate::clock_check::wait_until;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Driver, Fetched};
use filermark_engine::shard::Timetable;
use filermark_model::client_reads::ClientReads;
use filermark_model::plan::MountPoint;
use filermark_model::{PointStats, RunPlan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longest wait for the last reading.
const READING_MAX: Duration = Duration::from_secs(5);

/// Whose counters are read.
pub(super) struct Sampled {
    pub plan: Arc<RunPlan>,
    /// Which client of it.
    pub client: usize,
    pub driver: Arc<dyn Driver>,
    pub mounts: Vec<MountPoint>,
}

/// What was counted when RUN began, and when it ended.
type Readings = [Vec<(MountPoint, Fetched)>; 2];

/// Two readings that are being made on a thread.
pub(super) struct Reads {
    sampled: Arc<Sampled>,
    readings: Receiver<Readings>,
    /// Its end tells the thread that the phase is over.
    phase: Option<Sender<()>>,
}

impl Sampled {
    fn read(&self) -> Vec<(MountPoint, Fetched)> {
        let of = |mount: &MountPoint| Some((mount.clone(), self.driver.fetched(mount)?));
        self.mounts.iter().filter_map(of).collect()
    }

    /// Bytes that operations have read below each mount point.
    fn read_bytes(&self, stats: &PointStats) -> BTreeMap<MountPoint, u64> {
        let procs: BTreeMap<u32, MountPoint> =
            self.plan.procs_of(self.client).into_iter().collect();
        let mut bytes: BTreeMap<MountPoint, u64> = BTreeMap::new();
        for proc in &stats.proc_ops {
            if let Some(mount) = procs.get(&proc.proc) {
                let sum = bytes.entry(mount.clone()).or_default();
                *sum += proc.ops.iter().map(|o| o.read_bytes).sum::<u64>();
            }
        }
        bytes
    }
}

impl Reads {
    /// Will read at the beginning and at the end of RUN.
    pub fn begin(sampled: Sampled, clock: &Clock, timetable: Timetable) -> Self {
        let (sender, readings) = channel();
        let (phase, over) = channel::<()>();
        let sampled = Arc::new(sampled);
        let (theirs, clock) = (sampled.clone(), clock.clone());
        let work = move || {
            if !wait_until(&clock, || timetable.times().run_start, &over) {
                return;
            }
            let first = theirs.read();
            if first.is_empty() {
                return;
            }
            wait_until(&clock, || timetable.times().run_end, &over);
            let _ = sender.send([first, theirs.read()]);
        };
        // Without a thread the channel ends: then nothing is known.
        let _ = std::thread::Builder::new()
            .name("agent-reads".into())
            .spawn(work);
        Self {
            sampled,
            readings,
            phase: Some(phase),
        }
    }

    /// What came of it, now that RUN has ended.
    pub fn finish(mut self, stats: &PointStats) -> Vec<ClientReads> {
        self.phase.take();
        let Ok(readings) = self.readings.recv_timeout(READING_MAX) else {
            return Vec::new();
        };
        let client = self.sampled.plan.clients.get(self.sampled.client);
        let name = client.map_or("", |c| &c.name);
        combined(name, &readings, &self.sampled.read_bytes(stats))
    }
}

/// An entry for each counter, with all mount points that share it.
fn combined(
    client: &str,
    [before, after]: &Readings,
    read_bytes: &BTreeMap<MountPoint, u64>,
) -> Vec<ClientReads> {
    let mut all: BTreeMap<&str, ClientReads> = BTreeMap::new();
    for (mount, first) in before {
        let last = after.iter().find(|(m, _)| m == mount).map(|(_, last)| last);
        let entry = all.entry(&first.source).or_insert_with(|| ClientReads {
            client: client.to_owned(),
            mounts: Vec::new(),
            file_system: first.file_system.clone(),
            counter: first.counter,
            read_bytes: 0,
            // A counter that goes back was begun anew: mounted again, perhaps.
            fetched_bytes: first
                .bytes
                .zip(last.and_then(|last| last.bytes))
                .and_then(|(first, last)| last.checked_sub(first)),
        });
        entry.mounts.push(mount.to_string());
        entry.read_bytes += read_bytes.get(mount).copied().unwrap_or(0);
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::client_reads::ReadCounter;

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
        let all = combined(
            "h",
            &[reading(1_000, Some(9)), reading(1_060, Some(3))],
            &read,
        );
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].mounts, ["localhost:/a", "localhost:/b"]);
        assert_eq!((all[0].read_bytes, all[0].fetched_bytes), (150, Some(60)));
        assert_eq!(all[0].memory_bytes(), Some(90));
        assert_eq!(
            (all[1].read_bytes, all[1].fetched_bytes),
            (7, None),
            "begun anew"
        );
        let gone = combined("h", &[reading(1, None), Vec::new()], &read);
        assert!(gone.iter().all(|r| r.fetched_bytes.is_none()));
    }
}

//! The contract between the engine and a driver.
//!
//! A [`LoadDriver`] implements one protocol. Per load-making thread (shard) it opens a
//! [`ShardDriver`], which carries out the requests of all procs of that shard.
//! Submitting has three results (done, queued, busy) and is separate
//! from [`ShardDriver::flush`], so that batching is part of the contract: what
//! is due in one turn of the loop is sent together. Socket drivers return
//! `Queued` and complete in [`ShardDriver::poll`]; blocking drivers return
//! `Done` and only sleep in `poll`. One proc loop serves both.
//!
//! Objects are named by numbers: `ObjectId` counts per proc, and what a driver
//! keeps for one (a file handle, a path) is internal to it. Object 0 of every
//! proc is the proc's own directory, below the run directory.

pub use crate::action::{Action, DirRef, ObjectId, PROC_DIR, Subject};
pub use crate::v4_action::V4Action;

use crate::clock::Clock;
use crate::data::DataSource;
use filermark_model::plan::MountPoint;
use filermark_model::{Nanos, OpSet, WorkloadObject};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of this contract.
pub const DRIVER_API: u32 = 1;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The engine's number for it; comes back in the completion.
    pub token: u32,
    /// The proc of the request: index into [`ShardSetup::procs`].
    pub proc: u32,
    /// What is to be done.
    pub action: Action,
}

/// The result of a submission.
#[derive(Clone, Copy, Debug)]
pub enum Submit {
    /// It is done already; no completion follows.
    Done(Outcome),
    /// It is under way; `poll` will return a completion with its token.
    Queued,
    /// The queue is full; try again after the next `poll`.
    Busy,
}

/// How a logical operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It succeeded.
    Ok,
    /// The server refused it; the number is the protocol's (NFS3ERR_...).
    Refused(u32),
    /// No reply in time, after all retries.
    TimedOut,
    /// The connection was lost and could not be established again.
    Disconnected,
    /// The reply could not be decoded.
    Garbage,
    /// Data read was not what had been written.
    Corrupt,
    /// The file ended before data that had been written.
    Lost,
    /// It was never sent: there was no object that it could work on. Set by
    /// the engine, never by a driver.
    NoObject,
}

/// The outcome of a logical operation.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// When its first byte was handed to the system.
    pub sent: Nanos,
    /// When its last reply had arrived at this host (not when it was read, where
    /// the system reports the difference).
    pub done: Nanos,
    /// Physical operations that it took (those the protocol's table credits:
    /// COMMITs and resends are not among them).
    pub physical: u32,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// READDIR: the listing is complete. READ: the end of the file was reached.
    pub end: bool,
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The token of the request.
    pub token: u32,
    /// Its outcome.
    pub outcome: Outcome,
}

/// What a driver can do.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// The operations of a mix that it can carry out.
    pub ops: OpSet,
    /// Whether requests block the thread (then every proc gets its own).
    pub blocking: bool,
    /// Most shards per agent that make sense; `None`: as many as there are cores.
    pub shards_max: Option<u32>,
}

/// A failure that ends the phase, in one plain sentence with its place and
/// what to try.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{place}: {step}: {reason}{}", if advice.is_empty() { String::new() } else { format!("; {advice}") })]
pub struct DriverError {
    /// Host, or host and path.
    pub place: String,
    /// What was being done.
    pub step: String,
    /// What went wrong.
    pub reason: String,
    /// The next thing to try; may be empty.
    pub advice: String,
}

/// A request to stop, shared by all threads of an agent.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }
    /// Requests the stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Withdraws the request (before CLEANUP).
    pub fn lower(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
    /// Whether a stop is requested.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The run's own directory below a mount point.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, beginning with [`crate::name::RUN_DIR_PREFIX`].
    pub dir_name: String,
    /// Identifies the run; the first line of the marker file.
    pub run_id: String,
}

impl Claim {
    /// The contents of the owner files of this run's directories: equal for all clients of
    /// the run and different for every run, since its identity contains its start in
    /// nanoseconds (FNV-1a, 128 bits).
    pub fn nonce(&self) -> String {
        const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let hash = self.run_id.bytes().fold(OFFSET, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(PRIME)
        });
        format!("{hash:032x}")
    }
}

/// What a shard serves.
#[derive(Clone, Debug)]
pub struct ShardSetup {
    /// Its number.
    pub shard: u32,
    /// Shards of this agent.
    pub shard_count: u32,
    /// The agent's clock.
    pub clock: Clock,
    /// The contents of files.
    pub data: Arc<DataSource>,
    /// Its procs.
    pub procs: Vec<ProcSetup>,
    /// The run's directory.
    pub claim: Claim,
    /// Raised when all work is to end soon.
    pub stop: StopFlag,
}

/// One proc of a shard.
#[derive(Clone, Debug)]
pub struct ProcSetup {
    /// Its number in the whole run.
    pub number: u32,
    /// What it works on.
    pub mount: MountPoint,
    /// Composites: the tree that it works in.
    pub tree: Option<Arc<TreeSetup>>,
}

/// The tree of a proc of a composite benchmark.
#[derive(Debug)]
pub struct TreeSetup {
    /// Which component, from 0.
    pub component: u32,
    /// Name of its top directory in the run's directory.
    pub name: String,
    /// What is done in it.
    pub workload: Arc<WorkloadObject>,
    /// Contents of its files, if they are not an earlier run's.
    pub data: Arc<DataSource>,
}

/// The driver of one protocol, as the engine uses it.
pub trait LoadDriver: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// INIT is over: makes stable what the file system still has to write of it, so
    /// that it does not write during the measurement. Blocking.
    ///
    /// # Errors
    /// The error of the file system.
    fn settle(&self, _mount: &MountPoint, _claim: &Claim) -> Result<(), DriverError> {
        Ok(())
    }

    /// Whether there is a cache of this host between an operation and the file system,
    /// which [`ShardDriver::drop_caches`] is to empty before each WARMUP.
    fn drops_caches(&self) -> bool {
        false
    }

    /// Connects for the procs of one shard. Called on the shard's own thread.
    ///
    /// # Errors
    /// The first connection or mount that failed.
    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError>;

    /// The name of a refusal's number, for people (`NFS3ERR_NOSPC`, ...).
    fn status_text(&self, code: u32) -> String;

    /// Whether a refusal means that the run cannot continue (disk full,
    /// read-only, stale root), with the advice to give.
    fn fatal_advice(&self, code: u32) -> Option<&'static str>;
}

/// One shard's use of a driver. Stays on its thread.
pub trait ShardDriver {
    /// Takes a request. Never blocks unless the driver is a blocking one.
    fn submit(&mut self, request: &Request) -> Submit;

    /// When the last call ended in which this thread waited for the file system to begin an
    /// operation that is [`Submit::Queued`] (to open its file); asked for where procs have a depth.
    fn waited_until(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Sends what was queued, one write per connection.
    fn flush(&mut self);

    /// Waits for completions, not longer than `deadline`, and appends them to
    /// `done`. Returns as soon as there is one. A deadline in the past polls.
    ///
    /// # Errors
    /// Only errors that make the whole shard useless; single failures are completions.
    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError>;

    /// A phase was broken off and what was under way has not ended in time: the driver ends it now, and
    /// sends no more of it. What the server has received it may still carry out.
    fn break_off(&mut self) {}

    /// No phase is under way: does what the server needs to keep the state of this shard (leases), and
    /// does not wait for replies. Returns after how long it is to be called again, if no phase begins
    /// before; `None`: the server keeps nothing that ends by itself. The time between two phases has no
    /// limit: other clients may fill for longer than a lease.
    fn keep_alive(&mut self) -> Option<Nanos> {
        None
    }

    /// Removes the files of its procs from this host's cache; returns how many. Blocking.
    ///
    /// # Errors
    /// The trees cannot be listed.
    fn drop_caches(&mut self) -> Result<u64, DriverError> {
        Ok(0)
    }

    /// RUN is over: requests the server to make unstable writes stable, and waits for
    /// that until `deadline`. What it does not confirm is counted. No other events of this
    /// time are counted: they are not part of RUN.
    ///
    /// # Errors
    /// Only errors that make the whole shard useless; what was not confirmed is counted.
    fn make_stable(&mut self, _deadline: Nanos) -> Result<(), DriverError> {
        Ok(())
    }

    /// How many clients the server has of this shard: it may keep them if the shard's thread ends without
    /// [`Self::end`].
    fn clients(&self) -> u64 {
        0
    }

    /// The shard is not used any more: ends what the server keeps for it (sessions, open
    /// files), as far as the server answers until `deadline`. Also after a request to stop. Returns how
    /// many clients the server may keep: those that it did not say to have dropped.
    fn end(&mut self, _deadline: Nanos) -> u64 {
        0
    }

    /// Adds its counters since the last call to `into` and resets them.
    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>);

    /// Largest read and write transfer in use, in bytes.
    fn transfer_bytes(&self) -> (u32, u32);

    /// Forgets what it keeps for the objects of a proc from this number on.
    fn forget_objects(&mut self, proc: u32, from: ObjectId);
}

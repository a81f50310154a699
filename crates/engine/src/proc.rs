//! One proc: its identity, its random stream, its schedule, its figures; and what
//! it is told to do for an operation. What it works on is its slice.

use crate::driver::Action;
use crate::schedule::Schedule;
use crate::slice::Slice;
use crate::slice::classic::PoolId;
use crate::slice::tree::TreeHold;
use filermark_model::mix::MixSampler;
use filermark_model::stats::{ProcOp, ProcStats};
use filermark_model::{Mix, Nanos, Op, Rng};

/// What must be put right when an operation's outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Nothing.
    None,
    /// A name was to be made.
    Make(PoolId, u16),
    /// A name was to be removed.
    Unmake(PoolId, u16),
    /// A small file was to move from one name to another.
    Move(u16, u16),
    /// Bytes were to be appended to a file: index, offset, length.
    Append(u32, u32, u32),
    /// A directory was being listed.
    Listing,
    /// Something in a proc's own tree.
    Tree(TreeHold),
}

/// What a proc is to do for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The operation itself.
    Measured(Action, Hold),
    /// First something outside of the mix, because its object is missing.
    Prepare(Action, Hold),
    /// Nothing: all objects of the kind are in flight (open pacing), or there are none.
    Impossible,
}

/// What operations a shard's procs draw.
#[derive(Clone, Debug)]
pub struct Operations {
    mix: Mix,
    sampler: MixSampler,
}

impl Operations {
    /// Drawn by the shares of `mix`.
    pub fn new(mix: &Mix) -> Self {
        Self {
            mix: mix.clone(),
            sampler: mix.sampler(),
        }
    }

    /// The mix that operations are drawn from.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Draws an operation.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Op {
        self.sampler.draw(rng)
    }
}

/// One proc.
#[derive(Debug)]
pub struct Proc {
    /// Its number in the whole run.
    pub number: u32,
    /// Its random stream.
    pub rng: Rng,
    /// Its intended starts.
    pub schedule: Schedule,
    /// Operations under way.
    pub in_flight: u32,
    /// Whether it waits in the timer queue.
    pub queued: bool,
    /// Its figures.
    pub stats: ProcStats,
    /// Since when it could have started another operation.
    pub free_since: Nanos,
    /// What it works on.
    pub slice: Slice,
    /// Its figures per operation, in the order of the mix; empty where nobody asks.
    pub ops: Vec<ProcOp>,
    /// Operations that ended since it began, WARMUP included.
    pub ended_count: u64,
}

impl Proc {
    /// A proc that has nothing to do yet.
    pub fn new(number: u32, seed: u64, schedule: Schedule, slice: Slice) -> Self {
        Self {
            number,
            rng: Rng::new(seed, u64::from(number)),
            schedule,
            in_flight: 0,
            queued: false,
            stats: ProcStats {
                proc: number,
                ..ProcStats::default()
            },
            free_since: Nanos::ZERO,
            slice,
            ops: Vec::new(),
            ended_count: 0,
        }
    }

    /// RUN begins: forgets its figures.
    pub fn begin_run(&mut self) {
        self.stats = ProcStats {
            proc: self.number,
            ..ProcStats::default()
        };
        for op in &mut self.ops {
            *op = no_figures(op.op);
        }
    }

    /// Keeps figures per operation from now on, for these.
    pub fn keep_ops(&mut self, mix: &Mix) {
        self.ops = mix.shares().iter().map(|(op, _)| no_figures(*op)).collect();
    }
}

fn no_figures(op: Op) -> ProcOp {
    ProcOp {
        op,
        success_count: 0,
        error_count: 0,
        read_bytes: 0,
        written_bytes: 0,
        service_sum_ns: 0,
    }
}

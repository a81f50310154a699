//! The null driver: every operation succeeds at once. Measures the generator.

use crate::clock::Clock;
use crate::driver::*;
use crate::file_action::FileAction;
use filermark_model::plan::NullCounter;
use filermark_model::{Nanos, OpSet};
use std::collections::BTreeMap;

/// Answers everything at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDriver;

impl LoadDriver for NullDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ops: OpSet::ALL,
            blocking: false,
            shards_max: None,
        }
    }

    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
        Ok(Box::new(NullShard {
            clock: setup.clock,
            done_count: 0,
        }))
    }

    fn status_text(&self, code: u32) -> String {
        format!("status {code}")
    }

    fn fatal_advice(&self, _: u32) -> Option<&'static str> {
        None
    }
}

/// Bytes that an operation on a mounted file would move: read, written.
fn bytes_of(action: FileAction) -> (u64, u64) {
    match action {
        FileAction::Read { length, .. } | FileAction::MmapRead { length, .. } => {
            (u64::from(length), 0)
        }
        FileAction::Write { length, .. } | FileAction::MmapWrite { length, .. } => {
            (0, u64::from(length))
        }
        FileAction::Rmw { length, .. } => (u64::from(length), u64::from(length)),
        FileAction::ReadFile { size, .. } => (size, 0),
        FileAction::WriteFile { size, .. } => (0, size),
        FileAction::Copy { size, .. } => (size, size),
        FileAction::Create { .. }
        | FileAction::Mkdir { .. }
        | FileAction::Rmdir { .. }
        | FileAction::Unlink { .. }
        | FileAction::Rename { .. }
        | FileAction::Truncate { .. }
        | FileAction::Lock { .. }
        | FileAction::Access { .. }
        | FileAction::Stat { .. }
        | FileAction::Chmod { .. }
        | FileAction::Readdir { .. }
        | FileAction::Statfs { .. }
        | FileAction::Pathconf { .. }
        | FileAction::Custom { .. }
        | FileAction::MakeTree
        | FileAction::RemoveTree
        | FileAction::MakeDirs { .. }
        | FileAction::RemoveDirs { .. }
        | FileAction::Fill { .. } => (0, 0),
    }
}

struct NullShard {
    clock: Clock,
    done_count: u64,
}

impl ShardDriver for NullShard {
    #[inline]
    fn submit(&mut self, request: &Request) -> Submit {
        let (read_bytes, written_bytes) = if let Action::Read { length, .. }
        | Action::V4(V4Action::ReadPlus { length, .. }) =
            request.action
        {
            (u64::from(length), 0)
        } else if let Action::Write { length, .. } = request.action {
            (0, u64::from(length))
        } else if let Action::File(action) = request.action {
            bytes_of(action)
        } else {
            (0, 0)
        };
        self.done_count += 1;
        let sent = self.clock.now();
        Submit::Done(Outcome {
            status: Status::Ok,
            sent,
            done: self.clock.now(),
            physical: 1,
            read_bytes,
            written_bytes,
            end: true,
        })
    }

    fn flush(&mut self) {}

    fn poll(&mut self, deadline: Nanos, _: &mut Vec<Completion>) -> Result<(), DriverError> {
        self.clock.sleep_until(deadline);
        Ok(())
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        *into.entry(NullCounter::Answered.name().into()).or_default() +=
            std::mem::take(&mut self.done_count);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        (1 << 20, 1 << 20)
    }

    fn forget_objects(&mut self, _: u32, _: ObjectId) {}
}

//! NFSv4.1 compared with NFSv3 in turns: the same operations on one connection, which is one session,
//! against servers with canned replies in another process.

use super::nfs_shard::{FILE, FILE_NUMBER, SaturatedShard};
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::{Bars, Contender, compare};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_model::Nanos;

const WINDOW: Nanos = Nanos::from_millis(500);
/// The file, in bytes: small, so that the processor's caches hold it on both sides.
const FILE_BYTES: u64 = 1 << 20;
/// Length of a transfer, in bytes.
const LENGTH: u32 = 64 << 10;
/// As many calls as the session has slots.
const SLOTS: u32 = 64;
/// Transfers under way.
const DEPTH: u32 = 8;
/// A COMPOUND has more bytes and more to check than a call of version 3.
const GETATTR: Bars = Bars {
    cpu_at_most: None,
    rate_at_least: Some(0.8),
};
/// Of a transfer the data is the most.
const TRANSFER: Bars = Bars {
    cpu_at_most: Some(1.15),
    rate_at_least: None,
};

/// What is measured: its name, the operation, how many are under way, the size of the file in bytes.
fn work() -> [(&'static str, Action, u32, u64, Bars); 3] {
    let (object, file, offset, length) = (FILE, FILE_NUMBER, 0, LENGTH);
    let getattr = Action::Getattr { object: PROC_DIR };
    let read = Action::Read {
        object,
        file,
        offset,
        length,
    };
    let write = Action::Write {
        object,
        file,
        offset,
        length,
    };
    [
        ("GETATTR x 64", getattr, SLOTS, 0, GETATTR),
        ("READ 64 KiB x 8", read, DEPTH, FILE_BYTES, TRANSFER),
        ("WRITE 64 KiB x 8", write, DEPTH, FILE_BYTES, TRANSFER),
    ]
}

/// GETATTR, READ and WRITE.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let v3 = ServerProcess::start(ServerSpec::default())?;
    let v4 = ServerProcess::start(ServerSpec {
        has_sessions: true,
        ..ServerSpec::default()
    })?;
    let mut measured = Measured::default();
    for (of, action, depth, file_bytes, bars) in work() {
        let turn = |server| SaturatedShard::turn(server, (1, depth), (action, file_bytes), WINDOW);
        let mut allocations = Vec::new();
        let contenders = vec![
            Contender::filermark(|| {
                let (turn, each) = turn(&v4)?;
                allocations.push(each);
                Ok(turn)
            }),
            Contender::other("NFSv3", bars, || Ok(turn(&v3)?.0)),
        ];
        let of = format!("NFSv4.1, {of}");
        measured.add(compare(&of, "op/s", rounds, contenders)?);
        let allocated = Figure::new(format!("{of}: allocations"), "per op", allocations);
        measured.add(allocated.bar(Bar::AtMost(0.0)));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::nfs_shard::Place;
    use crate::server::null4;

    #[test]
    fn each_operation_succeeds_over_a_session() {
        let address = null4::start().expect("a port");
        for (of, action, depth, file_bytes, _) in work() {
            let place = Place::canned(address, true, Vec::new());
            let opened = SaturatedShard::open(&place, (1, depth), action, file_bytes);
            let mut shard = opened.unwrap_or_else(|error| panic!("{of}: {error}"));
            let mut count = 0;
            while count < 200 {
                count += shard.keep_up(Nanos::ZERO).expect(of);
            }
            shard.drain().expect(of);
        }
    }
}

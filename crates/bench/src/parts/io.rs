//! READ and WRITE of one connection, against a server with canned replies in another process: the
//! driver, a bare loop of the same calls, and fio's nfs engine where it is installed.

use super::bare_nfs::{BareLoop, Call};
use super::fio::{self, Fio};
use super::nfs_shard::{FILE, FILE_NUMBER, SaturatedShard};
use crate::cpu;
use crate::measured::{Measured, MeasuredOrReason};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::{Bars, Comparison, Contender, Turn, compare};
use filermark_engine::driver::Action;
use filermark_model::Nanos;
use std::time::Duration;

const WARMUP: Nanos = Nanos::from_millis(200);
const WINDOW: Nanos = Nanos::from_millis(500);
/// The file, in bytes: small, so that the processor's caches hold it on both sides.
const FILE_BYTES: u64 = 1 << 20;
/// Name, length of a transfer in bytes, calls under way.
const CASES: [(&str, u32, u32); 4] = [
    ("4 KiB x 1", 4 << 10, 1),
    ("4 KiB x 32", 4 << 10, 32),
    ("64 KiB x 8", 64 << 10, 8),
    ("64 KiB x 1", 64 << 10, 1),
];
/// The bare loop decodes nothing, and sends the same data with every WRITE.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.6),
    rate_at_least: Some(0.7),
};
const OF_FIO: Bars = Bars {
    cpu_at_most: Some(1.0),
    rate_at_least: Some(1.0),
};

/// Measures reads and writes.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let server = ServerProcess::start(ServerSpec::default())?;
    let has_fio = fio::has_engine("nfs");
    if !has_fio {
        eprintln!("no fio with the nfs engine is installed (Debian's fio has none)");
    }
    let mut measured = Measured::default();
    for write in [false, true] {
        for (case, length, depth) in CASES {
            let operation = if write { "WRITE" } else { "READ" };
            let of = format!("{operation} {case}");
            measured.add(transfers(
                &server,
                &of,
                (write, length, depth),
                (has_fio, rounds),
            )?);
        }
    }
    Ok(measured)
}

fn transfers(
    server: &ServerProcess,
    of: &str,
    (write, length, depth): (bool, u32, u32),
    (has_fio, rounds): (bool, u32),
) -> Result<Comparison, String> {
    let (object, file, offset) = (FILE, FILE_NUMBER, 0);
    let (action, call) = match write {
        true => (
            Action::Write {
                object,
                file,
                offset,
                length,
            },
            Call::Write(length),
        ),
        false => (
            Action::Read {
                object,
                file,
                offset,
                length,
            },
            Call::Read(length),
        ),
    };
    let mut contenders = vec![
        Contender::filermark(|| {
            let work = (action, FILE_BYTES);
            let (turn, _) = SaturatedShard::turn(server, (1, depth), work, WINDOW)?;
            Ok(turn)
        }),
        Contender::other("bare loop", OF_BARE, || {
            let mut bare = BareLoop::open(server.address, (1, depth), call)?;
            bare.keep_up(Duration::from_nanos(WARMUP.0))?;
            let window = Duration::from_nanos(WINDOW.0);
            Turn::measure(cpu::process_ns, || Ok(bare.keep_up(window)? as f64))
        }),
    ];
    if has_fio {
        contenders.push(Contender::other("fio nfs", OF_FIO, || {
            fio_turn(server, write, length, depth)
        }));
    }
    compare(of, "op/s", rounds, contenders)
}

fn fio_turn(server: &ServerProcess, write: bool, length: u32, depth: u32) -> Result<Turn, String> {
    let port = server.address.port();
    let mut fio = Fio::new("nfs", write, length, Duration::from_nanos(WINDOW.0));
    fio.arg(format!(
        "--nfs_url=nfs://127.0.0.1/export?nfsport={port}&mountport={port}"
    ));
    fio.arg(format!("--iodepth={depth}"));
    fio.arg(format!("--filesize={FILE_BYTES}"));
    fio.arg(format!("--size={FILE_BYTES}"));
    fio.arg("--filename=fio");
    fio.turn()
}

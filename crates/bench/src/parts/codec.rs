//! Single steps of the hot path.

use crate::figure::{Figure, Figures};
use crate::measured::{Measured, MeasuredOrReason};
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, History, SECTOR, VerifyLevel};
use filermark_engine::sys::thread_cpu;
use filermark_model::{Benchmark, Latency, Nanos, Rng};
use filermark_onc::nfs3::{
    self, Fattr3, Fh, FileHandle, Ftype3, GetattrArgs, GetattrOk, GetattrRes, Nfstime3, ReadArgs,
    ReadOk, ReadRes, Specdata3, StableHow, WccData, WriteArgs, WriteOk, WriteRes,
};
use filermark_onc::record::{OpenRecord, whole_record};
use filermark_onc::rpc::{AuthSys, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{self, Decode, Decoder, Encode};
use std::hint::black_box;
use std::sync::Arc;

const COUNT: u32 = 200_000;
const DATA: usize = 8192;
/// Making file contents compared with copying as many bytes: both write each byte once. The rate of
/// a single thread that never waits follows from its processor time.
const OF_MEMCPY: Bars = Bars {
    cpu_at_most: Some(2.5),
    rate_at_least: None,
};
/// A common length of file handles, in bytes.
const HANDLE: [u8; 32] = [7; 32];
const RECORD_MAX: usize = 1 << 20;

/// Encoding, decoding, clock, histogram, draws, contents.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let mut measured = contents(rounds)?;
    measured.add(calls(rounds)?);
    measured.add(replies(rounds)?);
    measured.add(engine_steps(rounds)?);
    measured.add(figure(
        "compare a sector of a reply",
        compare_sample(rounds),
    ));
    Ok(measured)
}

/// Making file contents compared with copying as many bytes.
fn contents(rounds: u32) -> MeasuredOrReason {
    let data = DataSource::new(1, VerifyLevel::Sample);
    let mut measured = Measured::default();
    for (size, len) in [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20)] {
        let count = (COUNT as usize * DATA / len / 8) as u32;
        let source = vec![1u8; len];
        let (mut out, mut copied) = (vec![0u8; len], vec![0u8; len]);
        let mut appended = Vec::with_capacity(len);
        let mut copy = || {
            turn_of(count, |_| {
                copied.copy_from_slice(black_box(&source));
                black_box(&mut copied);
            })
        };
        let fill = || {
            turn_of(count, |n| {
                data.fill(u64::from(n), 0, 1, &mut out);
                black_box(&mut out);
            })
        };
        let contenders = vec![
            Contender::filermark(fill),
            Contender::other("memcpy", OF_MEMCPY, &mut copy),
        ];
        let of = format!("make {size} of file data in place");
        measured.add(compare(&of, "1/s", rounds, contenders)?);
        let append = || {
            turn_of(count, |n| {
                appended.clear();
                data.append(u64::from(n), 0, 1, len, &mut appended);
                black_box(&mut appended);
            })
        };
        let contenders = vec![
            Contender::filermark(append),
            Contender::other("memcpy", OF_MEMCPY, &mut copy),
        ];
        let of = format!("append {size} of file data");
        measured.add(compare(&of, "1/s", rounds, contenders)?);
    }
    Ok(measured)
}

/// This number of calls of a step on this thread.
fn turn_of(count: u32, step: impl FnMut(u32)) -> Result<Turn, String> {
    Turn::measure(
        || thread_cpu().0,
        || {
            (0..count).for_each(step);
            Ok(f64::from(count))
        },
    )
}

/// Nanoseconds for a sector of a reply to be compared, per round.
pub(super) fn compare_sample(rounds: u32) -> Vec<f64> {
    let data = Arc::new(DataSource::new(1, VerifyLevel::All));
    let mut history = History::new(data.clone(), 64);
    let mut reply = vec![0; DATA];
    data.fill(7, 0, 0, &mut reply);
    time(rounds, |n| {
        let from = n as usize * SECTOR % DATA;
        let since = history.begin_read();
        let sector = black_box(&reply[from..from + SECTOR]);
        let _ = black_box(history.check(since, 7, from as u64, sector));
    })
}

/// Nanoseconds of processor time per call of `step`, per round.
fn time(rounds: u32, mut step: impl FnMut(u32)) -> Vec<f64> {
    let mut once = || {
        let began = thread_cpu();
        (0..COUNT).for_each(&mut step);
        thread_cpu().since(began).0 as f64 / f64::from(COUNT)
    };
    once();
    (0..rounds).map(|_| once()).collect()
}

fn figure(name: &str, rounds: Vec<f64>) -> Figure {
    Figure::new(name, "ns", rounds)
}

fn calls(rounds: u32) -> Figures {
    let cred = AuthSys::new(0, b"client", 1000, 1000, &[]).to_body();
    let template = CallTemplate::new(nfs3::PROGRAM, nfs3::VERSION, cred.as_auth());
    let fh = Fh::new(&HANDLE).ok_or("a handle too long")?;
    let file = fh.handle();
    let data = vec![1u8; DATA];
    let mut out = Vec::with_capacity(DATA * 2);
    let mut each = |name: &str, call: &mut dyn FnMut(&mut Vec<u8>, u32)| {
        let took = time(rounds, |xid| {
            out.clear();
            call(&mut out, xid);
            black_box(&out);
        });
        figure(name, took)
    };
    Ok(vec![
        each("encode GETATTR call", &mut |out, xid| {
            template.call(out, xid, &GetattrArgs { object: file });
        }),
        each("encode READ 8K call", &mut |out, xid| {
            template.call(out, xid, &read_args(file));
        }),
        each("encode WRITE 8K call", &mut |out, xid| {
            template.call(out, xid, &write_args(file, &data));
        }),
    ])
}

fn read_args(file: FileHandle<'_>) -> ReadArgs<'_> {
    ReadArgs {
        file,
        offset: 65_536,
        count: DATA as u32,
    }
}

fn write_args<'a>(file: FileHandle<'a>, data: &'a [u8]) -> WriteArgs<'a> {
    WriteArgs {
        file,
        offset: 65_536,
        count: data.len() as u32,
        stable: StableHow::Unstable,
        data,
    }
}

fn replies(rounds: u32) -> Figures {
    let attributes = attributes();
    let data = vec![1u8; DATA];
    let getattr: GetattrRes = Ok(GetattrOk {
        obj_attributes: attributes,
    });
    let read: ReadRes<'_> = Ok(ReadOk {
        file_attributes: Some(attributes),
        count: DATA as u32,
        eof: false,
        data: &data,
    });
    let write: WriteRes = Ok(WriteOk {
        file_wcc: WccData {
            before: None,
            after: Some(attributes),
        },
        count: DATA as u32,
        committed: StableHow::FileSync,
        verf: [1; 8],
    });
    Ok(vec![
        decoding("decode GETATTR reply", rounds, &reply(&getattr), |d| {
            xdr::finish::<GetattrRes>(d).is_ok()
        })?,
        decoding("decode READ 8K reply", rounds, &reply(&read), |d| {
            xdr::finish::<ReadRes<'_>>(d).is_ok()
        })?,
        decoding("decode WRITE 8K reply", rounds, &reply(&write), |d| {
            xdr::finish::<WriteRes>(d).is_ok()
        })?,
    ])
}

fn attributes() -> Fattr3 {
    let time = Nfstime3 {
        seconds: 1,
        nseconds: 2,
    };
    Fattr3 {
        ftype: Ftype3::Reg,
        mode: 0o644,
        nlink: 1,
        uid: 0,
        gid: 0,
        size: 1 << 20,
        used: 1 << 20,
        rdev: Specdata3 {
            specdata1: 0,
            specdata2: 0,
        },
        fsid: 1,
        fileid: 2,
        atime: time,
        mtime: time,
        ctime: time,
    }
}

/// A reply with its record mark.
fn reply(results: &impl Encode) -> Vec<u8> {
    let mut out = Vec::new();
    let record = OpenRecord::begin(&mut out);
    ReplyHeader::encode_success(&mut out, 7);
    xdr::append(&mut out, results);
    record.finish(&mut out);
    out
}

/// From the record mark to the results.
fn decoding(
    name: &str,
    rounds: u32,
    bytes: &[u8],
    results: impl Fn(&mut Decoder<'_>) -> bool,
) -> Result<Figure, String> {
    let decode = || -> Option<bool> {
        let record = whole_record(black_box(bytes), RECORD_MAX).ok()??.record;
        let mut d = Decoder::new(record);
        ReplyHeader::decode(&mut d).ok()?.check().ok()?;
        Some(results(&mut d))
    };
    if decode() != Some(true) {
        return Err(format!("{name}: it does not decode"));
    }
    let took = time(rounds, |_| {
        black_box(decode());
    });
    Ok(figure(name, took))
}

fn engine_steps(rounds: u32) -> Figures {
    let clock = Clock::real();
    let mut rng = Rng::new(1, 1);
    let benchmark = Benchmark::shipped("general-nfs3").map_err(|e| e.to_string())?;
    let mixes = benchmark.mix.sampler();
    // Spread over two decades.
    let latencies: Vec<Nanos> = (0..4096)
        .map(|_| Nanos((rng.exponential() * 100_000.0) as u64))
        .collect();
    let mut histogram = Latency::new();
    let recorded = time(rounds, |n| {
        histogram.record(latencies[n as usize % latencies.len()]);
    });
    let read = time(rounds, |_| {
        black_box(clock.now());
    });
    let drawn = time(rounds, |_| {
        black_box(mixes.draw(&mut rng));
    });
    let classic = benchmark.classic().ok_or("a classical benchmark")?;
    let sized = time(rounds, |_| {
        black_box(classic.read_sizes.draw(&mut rng));
    });
    black_box(histogram.count());
    Ok(vec![
        figure("record a latency", recorded),
        figure("read the clock", read),
        figure("draw an operation of the mix", drawn),
        figure("draw a transfer size", sized),
    ])
}

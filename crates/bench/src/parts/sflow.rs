//! Collecting sFlow: decoding, rates and the log; from memory and from a socket.

use crate::cpu::{process_ns, resident_bytes};
use crate::figure::{Bar, Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use filermark_energy_data::log::{LogLine, LogWriter, PortSample, Traffic};
use filermark_energy_data::setup::{Setup, SflowSetup};
use filermark_energy_data::sflow::{Collector, PortOptions, TrafficSample};
use filermark_energy_meters::collect::Collection;
use filermark_engine::sys::thread_cpu;
use filermark_results::Timestamp;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

/// Agents, and interfaces of each.
const AGENTS: u32 = 64;
const INTERFACES: u32 = 100;
/// Counter samples of a datagram, which has about 1,400 bytes with them.
const SAMPLES: u32 = 10;
/// Samples of each interface, from memory.
const TURNS: u32 = 200;
/// Samples of a line of the log.
const LINE: usize = 4096;
/// Datagrams per second that are sent to the socket, and of a burst; number of bursts.
const PACE: u64 = 100_000;
const BURST: u64 = 500;
const BURSTS: u64 = 400;
/// What is required (docs/src/howto/collect-energy.md), per second and core.
const REQUIRED: f64 = 100_000.0;

/// From memory, then from a socket.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    figures_only(both(rounds))
}

fn both(rounds: u32) -> Figures {
    let mut memory = Vec::new();
    let before = resident_bytes();
    let mut held = 0;
    for _ in 0..rounds {
        let (per_s, resident) = from_memory()?;
        memory.push(per_s);
        held = held.max(resident.saturating_sub(before));
    }
    let (mut socket, mut lost) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (per_s, share) = from_socket()?;
        socket.push(per_s);
        lost.push(share);
    }
    Ok(vec![
        Figure::new(
            "datagrams of 10 counter samples, decoded and logged, from memory",
            "1/s per core",
            memory,
        )
        .bar(Bar::AtLeast(REQUIRED)),
        Figure::new(
            "memory with 64 agents of 100 interfaces",
            "MiB",
            vec![held as f64 / 1_048_576.0],
        )
        .bar(Bar::AtMost(64.0)),
        Figure::new(
            "from a socket, all threads except the sender",
            "1/s per core",
            socket,
        )
        .bar(Bar::AtLeast(REQUIRED)),
        Figure::new("from a socket at 100,000/s: lost", "%", lost),
    ])
}

/// A datagram of an agent with the counters of some interfaces after this number of turns.
fn datagram(agent: u32, sequence: u32, first: u32, turn: u32, out: &mut Vec<u8>) {
    out.clear();
    let mut word = |value: u32| out.extend_from_slice(&value.to_be_bytes());
    for value in [5, 1, 0x0a00_0000 + agent, 0, sequence, turn * 1000, SAMPLES] {
        word(value);
    }
    for port in first..first + SAMPLES {
        for value in [2, 108, turn, port, 1, 1, 88, port, 6, 2, 0x540b_e400, 1, 3] {
            word(value);
        }
        for value in [turn, turn * 1000, turn * 1000, 0, 0, 0, 0, 0] {
            word(value);
        }
        for value in [turn, turn * 2000, turn * 2000, 0, 0, 0, 0, 0] {
            word(value);
        }
    }
}

/// Datagrams per second and core, and the memory in use at the end.
fn from_memory() -> Result<(f64, u64), String> {
    let mut collector = Collector::new(PortOptions::default());
    let mut log = LogWriter::new(io::sink(), Path::new("nowhere"));
    let mut numbers: HashMap<(IpAddr, u32), u32> = HashMap::new();
    let mut samples: Vec<TrafficSample> = Vec::new();
    let mut buffer = Vec::new();
    let (mut cpu_ns, mut count) = (0, 0u64);
    for turn in 1..=TURNS {
        let at = Timestamp::from_unix_seconds(1e9 + f64::from(turn));
        for agent in 0..AGENTS {
            let from = IpAddr::from([10, 0, 0, agent as u8]);
            for part in 0..INTERFACES / SAMPLES {
                let sequence = turn * (INTERFACES / SAMPLES) + part;
                datagram(agent, sequence, part * SAMPLES + 1, turn, &mut buffer);
                let began = thread_cpu();
                let taken = collector.datagram(at, from, &buffer, &mut |s| samples.push(s));
                taken.map_err(|e| e.to_string())?;
                if samples.len() >= LINE {
                    write(&mut log, &mut numbers, &mut samples)?;
                }
                cpu_ns += thread_cpu().since(began).0;
                count += 1;
            }
        }
    }
    let all = u64::from(TURNS * AGENTS * INTERFACES / SAMPLES);
    if collector.ports.counts().datagrams != all || collector.ports.counts().lost > 0 {
        return Err(format!("{:?}", collector.ports.counts()));
    }
    Ok((count as f64 / (cpu_ns as f64 / 1e9), resident_bytes()))
}

fn write(
    log: &mut LogWriter<io::Sink>,
    numbers: &mut HashMap<(IpAddr, u32), u32>,
    samples: &mut Vec<TrafficSample>,
) -> Result<(), String> {
    let Some(at) = samples.first().map(|sample| sample.at) else {
        return Ok(());
    };
    let lines = samples.drain(..).map(|sample| {
        let next = numbers.len() as u32;
        let number = numbers
            .entry((sample.agent, sample.if_index))
            .or_insert(next);
        PortSample::of(&sample, *number, at)
    });
    let line = LogLine::Traffic(Traffic {
        source: 0,
        at,
        tag: None,
        samples: lines.collect(),
    });
    log.line(&line).map_err(|e| e.to_string())
}

/// Datagrams per second and core, and the percentage that was lost.
fn from_socket() -> Result<(f64, f64), String> {
    let setup = Setup {
        sflow: Some(SflowSetup::new(SocketAddr::from(([127, 0, 0, 1], 0)))),
        ..Setup::default()
    };
    let log = std::env::temp_dir().join(format!("filermark-bench-{}.jsonl", std::process::id()));
    let collecting = Collection::start(&setup, &log, "0").map_err(|e| e.to_string())?;
    let fed = feed(&collecting);
    let ended = collecting.stop();
    let _ = std::fs::remove_file(&log);
    let (per_s, lost) = fed?;
    ended.map_err(|e| e.to_string())?;
    Ok((per_s, lost))
}

fn feed(collecting: &Collection) -> Result<(f64, f64), String> {
    let address = collecting
        .listens()
        .ok_or("the collector does not listen")?;
    let sender = UdpSocket::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    sender.connect(address).map_err(|e| e.to_string())?;
    let (process, own) = (process_ns(), thread_cpu());
    let began = Instant::now();
    let mut buffer = Vec::new();
    let parts = INTERFACES / SAMPLES;
    let mut count: u32 = 0;
    for burst in 0..BURSTS {
        let due = Duration::from_nanos(burst * BURST * 1_000_000_000 / PACE);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        for _ in 0..BURST {
            let part = count % parts;
            let agent = count / parts % AGENTS;
            let turn = count / parts / AGENTS + 1;
            datagram(
                agent,
                turn * parts + part,
                part * SAMPLES + 1,
                turn,
                &mut buffer,
            );
            // The kernel drops what does not fit into its buffer, as a network would.
            let _ = sender.send(&buffer);
            count += 1;
        }
    }
    let own_ns = thread_cpu().since(own).0;
    // For the data that is still in the socket, and the counts of the last second.
    std::thread::sleep(Duration::from_millis(1500));
    let spent_ns = process_ns().saturating_sub(process).saturating_sub(own_ns);
    let (received, _) = collecting.snapshot().datagrams;
    let lost = 100.0 * (1.0 - received as f64 / f64::from(count));
    Ok((received as f64 / (spent_ns.max(1) as f64 / 1e9), lost))
}

//! The interfaces of the system that receive and send: io_uring and the reactor.

use super::embedded::{World, all_ok, fill, read_file, remove_file, work};
use super::*;
use filermark_driver_kit::sockets::SystemCalls;
use filermark_net::{SENDS_MAX, SocketEngine};
use filermark_server::ServerOptions;
use std::io;

const ENGINES: [SocketEngine; 2] = [SocketEngine::Ring, SocketEngine::Reactor];

/// Runs a test on both. Without io_uring in this build, only the other is tested.
fn on_both(test: impl Fn(SocketEngine)) {
    for engine in ENGINES {
        let is_missing = |e: io::Error| e.kind() == io::ErrorKind::Unsupported;
        if engine.ring().err().is_some_and(is_missing) {
            continue;
        }
        SocketEngine::prescribe(Some(engine));
        test(engine);
        SocketEngine::prescribe(None);
    }
}

fn world(procs: u32) -> World {
    World::new(
        ServerOptions::default(),
        |plan| {
            plan.rpc_timeout_ms = 10_000;
            plan.connections = Connections::PerProc;
        },
        procs,
    )
}

fn since(now: SystemCalls, before: SystemCalls) -> (u64, u64) {
    (now.writes - before.writes, now.reads - before.reads)
}

/// One call on each of many connections: with io_uring a send is for several, and none receives.
#[test]
fn system_calls_are_counted_for_each_engine() {
    const PROCS: u32 = 10;
    on_both(|engine| {
        let world = world(PROCS);
        let mut bench = world.bench();
        for _ in 0..3 {
            let before = bench.shard.io.system_calls;
            for proc in 0..PROCS {
                bench.submit(proc, getattr_of(PROC_DIR));
            }
            all_ok(&bench.wait(PROCS as usize));
            let (writes, reads) = since(bench.shard.io.system_calls, before);
            match engine {
                SocketEngine::Ring => {
                    let sends = u64::from(PROCS).div_ceil(SENDS_MAX as u64);
                    assert_eq!((writes, reads), (sends, 0));
                }
                _ => {
                    assert_eq!(writes, u64::from(PROCS));
                    assert!(reads >= u64::from(PROCS), "{reads} reads");
                }
            }
        }
        assert!(bench.shard.conns.iter().all(|c| c.buffer_bytes() == 0));
    });
}

fn getattr_of(object: ObjectId) -> Action {
    Action::Getattr { object }
}

/// Data is right on both, whatever its length; long replies are read to where they belong, by a
/// connection that has left the ring.
#[test]
fn long_replies_are_read_by_the_reactor_and_data_is_right() {
    on_both(|engine| {
        let world = world(3);
        let mut bench = world.bench();
        bench.submit(0, fill(0, 4096));
        all_ok(&bench.wait(1));
        let before = bench.shard.io.system_calls;
        bench.submit(0, read_file(0, 0, 4096));
        all_ok(&bench.wait(1));
        let (_, reads) = since(bench.shard.io.system_calls, before);
        assert_eq!(reads == 0, engine == SocketEngine::Ring, "{reads} reads");
        bench.submit(0, fill(1, 70_001));
        all_ok(&bench.wait(1));
        bench.submit(0, read_file(1, 0, 70_001));
        all_ok(&bench.wait(1));
        let before = bench.shard.io.system_calls;
        bench.submit(0, getattr_of(PROC_DIR));
        all_ok(&bench.wait(1));
        let (_, reads) = since(bench.shard.io.system_calls, before);
        assert!(reads > 0, "it goes on with the reactor");
        for number in 0..2 {
            bench.submit(0, remove_file(number));
        }
        all_ok(&bench.wait(2));
        work(&mut bench, 3);
        assert!(bench.shard.conns.iter().all(|c| c.buffer_bytes() == 0));
    });
}

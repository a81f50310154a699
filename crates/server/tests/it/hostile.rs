//! Bytes that no client would send.

use crate::client::{Client, server};
use filermark_onc::nfs3::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    let server = server(|_| ());
    let (mut good, root) = Client::mounted(&server);
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 64],
        &[0x80, 0, 0, 4, 0, 0, 0, 1],
    ] {
        let mut bad = Client::connect(server.addrs()[0]);
        bad.send(garbage);
        let _ = bad.stream.shutdown(std::net::Shutdown::Write);
        while bad.receive().is_some() {}
    }
    assert!(good.getattr(root).is_ok());
    // A reply sent to the server is no call, and no answer is expected.
    let mut bad = Client::connect(server.addrs()[0]);
    bad.send(&[0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(bad.receive(), None);
}

#[test]
fn damaged_calls_never_stop_the_server() {
    let server = server(|_| ());
    let (mut good, root) = Client::mounted(&server);
    let file = good.create(root, "f");
    let location = Diropargs3 {
        dir: root.handle(),
        name: b"name",
    };
    let calls = [
        good.bytes_of(&WriteArgs {
            file: file.handle(),
            offset: u64::MAX - 2,
            count: 4,
            stable: StableHow::Unstable,
            data: b"data",
        }),
        good.bytes_of(&CreateArgs {
            location,
            how: Createhow3::Guarded(Sattr3::mode(0o7777)),
        }),
        good.bytes_of(&ReaddirplusArgs {
            dir: root.handle(),
            cookie: 0,
            cookieverf: [0; 8],
            dircount: 0,
            maxcount: 0,
        }),
        good.bytes_of(&RenameArgs {
            from: location,
            to: location,
        }),
    ];
    let good = std::cell::RefCell::new(good);
    let damage = prop::collection::vec((0..400usize, any::<u8>()), 1..4);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        cases: 400,
        ..Config::default()
    });
    let case = (0..calls.len(), damage);
    let outcome = runner.run(&case, |(which, damage)| {
        let mut record = calls[which].clone();
        for (at, byte) in damage {
            let at = 4 + at % (record.len() - 4); // not the mark: that only ends the connection
            record[at] = byte;
        }
        let mut bad = Client::connect(server.addrs()[0]);
        bad.send(&record);
        let _ = bad.stream.shutdown(std::net::Shutdown::Write);
        while bad.receive().is_some() {}
        prop_assert!(good.borrow_mut().getattr(root).is_ok());
        Ok(())
    });
    outcome.expect("the server answers on");
}

/// Seen in version 0.1: 300 of them took 273 MB.
#[test]
fn requests_that_come_in_part_are_bounded() {
    let server = server(|o| (o.capacity_bytes, o.threads) = (64 << 20, 1));
    let (mut good, root) = Client::mounted(&server);
    let mut half = vec![0; 900_000];
    half[..4].copy_from_slice(&(1u32 << 31 | 1_000_000).to_be_bytes());
    // 54 MB, where 18 MiB are the limit.
    let crowd: Vec<_> = (0..60)
        .map(|_| {
            let client = Client::connect(server.addrs()[0]);
            // It may be closed while it is sent.
            let _ = std::io::Write::write_all(&mut &client.stream, &half);
            client
        })
        .collect();
    // Read first to last by one thread: the answer comes behind all of them.
    assert!(good.getattr(root).is_ok());
    let began = std::time::Instant::now();
    while server.stats().connections_stalled < 38 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", server.stats());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(good.getattr(root).is_ok());
    drop(crowd);
}

#[test]
fn connections_beyond_the_limit_are_closed_and_counted() {
    let server = server(|o| o.connections_max = 3);
    let (mut good, root) = Client::mounted(&server);
    let began = std::time::Instant::now();
    let mut crowd = Vec::new();
    while server.stats().connections_refused < 5 {
        crowd.push(Client::connect(server.addrs()[0]));
        assert!(began.elapsed().as_secs() < 60, "{:?}", server.stats());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(server.stats().connections <= 3);
    assert!(good.getattr(root).is_ok());
    // Closed connections free their slots.
    drop(crowd);
    let before = server.stats().connections;
    while server.stats().connections == before {
        let _later = Client::connect(server.addrs()[0]);
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(began.elapsed().as_secs() < 60, "{:?}", server.stats());
    }
}

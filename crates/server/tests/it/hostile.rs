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

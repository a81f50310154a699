//! The scripted SMB server, and the proxy in front of smbd.

use filermark_testbed::{
    Capture, Direction, FakeSmb, ProxyAction, Samba, SambaOptions, SmbProxy, available,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

/// A connection to a fake server on this thread's loopback.
fn connect(fake: &FakeSmb) -> TcpStream {
    let stream = TcpStream::connect(fake.address()).expect("connect");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    stream
}

fn send(stream: &mut TcpStream, message: &[u8]) {
    let mut bytes = (message.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(message);
    stream.write_all(&bytes).expect("send");
}

#[test]
fn a_fake_server_answers_as_scripted_and_then_closes() {
    let fake = FakeSmb::answering(vec![b"one".to_vec(), b"two".to_vec()]).expect("a fake server");
    for _ in 0..2 {
        let mut stream = connect(&fake);
        for _ in 0..3 {
            send(&mut stream, b"anything");
        }
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("read");
        assert_eq!(all, b"\0\0\0\x03one\0\0\0\x03two");
    }
}

#[test]
fn a_fake_server_delays_repeats_and_sends_invalid_bytes() {
    let fake = FakeSmb::start(|received| {
        assert_eq!(
            (received.connection, received.way),
            (0, Direction::ToServer)
        );
        let time = Duration::from_millis(60);
        match received.nth {
            0 => vec![ProxyAction::Later(time, b"late".to_vec())],
            1 => vec![ProxyAction::Send(received.message.to_vec()); 2],
            _ => vec![
                ProxyAction::Raw(vec![0x85, 0xff, 0xff, 0xff]),
                ProxyAction::Close,
            ],
        }
    });
    let fake = fake.expect("a fake server");
    let mut stream = connect(&fake);
    let start = Instant::now();
    for message in [b"a", b"b", b"c"] {
        send(&mut stream, message);
    }
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("read");
    assert_eq!(all, b"\0\0\0\x04late\0\0\0\x01b\0\0\0\x01b\x85\xff\xff\xff");
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[test]
fn a_silent_fake_server_sends_nothing_and_closes_when_dropped() {
    let fake = FakeSmb::silent().expect("a fake server");
    let mut stream = connect(&fake);
    send(&mut stream, b"hello");
    let limit = Some(Duration::from_millis(50));
    stream.set_read_timeout(limit).expect("a limit");
    assert!(stream.read(&mut [0]).is_err());
    drop(fake);
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn a_proxy_delays_changes_and_cuts() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let (sandbox, server) = (samba.sandbox(), samba.address());
    let client = |port: u16| {
        let mut command = samba.smbclient(Samba::DATA, "SMB3_11");
        // The last -p takes effect.
        command.args(["-p", &port.to_string(), "-c", "ls"]);
        command.output().expect("start smbclient")
    };
    let delay = Duration::from_millis(30);
    let proxy = sandbox.run(|| SmbProxy::delaying(server, delay).expect("a proxy"));
    let port = proxy.address().port();
    let capture = Capture::start_smb(sandbox, "lo", &[port]);
    let capture = available(capture).expect("a capture");
    assert!(client(port).status.success());
    let times = capture
        .stop()
        .expect("it ends")
        .smb_times()
        .expect("tshark");
    assert!(times.iter().any(|row| row.name == "CREATE"), "{times:?}");
    assert!(times.iter().all(|row| row.min_us >= 30e3), "{times:?}");

    // One bit of a signature is wrong: the client gives up.
    let corrupt = |message: &[u8]| {
        let mut message = message.to_vec();
        if let Some(last) = message.get_mut(48) {
            *last ^= 1;
        }
        message
    };
    let changed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&changed);
    let proxy = sandbox.run(|| {
        SmbProxy::start(server, move |received| {
            // The fourth answer is that of TREE_CONNECT, the first that is signed.
            if received.way == Direction::ToClient && received.nth == 3 {
                count.fetch_add(1, Ordering::Relaxed);
                return vec![ProxyAction::Send(corrupt(received.message))];
            }
            vec![ProxyAction::Send(received.message.to_vec())]
        })
        .expect("a proxy")
    });
    assert!(!client(proxy.address().port()).status.success());
    assert_eq!(changed.load(Ordering::Relaxed), 1);

    let proxy = sandbox.run(|| {
        SmbProxy::start(server, |received| match (received.way, received.nth) {
            (Direction::ToServer, 5) => vec![ProxyAction::Close],
            _ => vec![ProxyAction::Send(received.message.to_vec())],
        })
        .expect("a proxy")
    });
    let output = client(proxy.address().port());
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("NT_STATUS_CONNECTION_"), "{stdout}");
}

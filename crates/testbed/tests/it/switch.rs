//! The switch with sFlow.

use filermark_testbed::{Sandbox, SflowOptions, Switch, available};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

#[test]
fn a_transfer_goes_through_the_switch_and_is_reported_by_sflow() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(switch) = available(Switch::start_in(&sandbox)) else {
        return;
    };
    let address = SocketAddr::from((Switch::address(Switch::SERVER), 2000));
    let listener = switch.run(Switch::SERVER, || TcpListener::bind(address));
    let listener = listener.expect("the host").expect("a port");
    let before = switch.bytes(Switch::SERVER).expect("counts");
    let collector = sandbox.run(|| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let limit = Some(Duration::from_secs(20));
    collector.set_read_timeout(limit).expect("a limit");
    let options = SflowOptions {
        polling_s: 1,
        sampling: 64,
    };
    switch
        .send_sflow_to(collector.local_addr().expect("an address"), options)
        .expect("sFlow is on");
    let size = 20 << 20;
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(limit).expect("a limit");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("all of it");
        all.len()
    });
    let send = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(20))?;
        stream.set_write_timeout(limit)?;
        stream.write_all(&vec![7; size])
    };
    let sent = switch.run(Switch::CLIENT, send).expect("the host");
    sent.expect("sent");
    assert_eq!(server.join().expect("the server"), size);
    let after = switch.bytes(Switch::SERVER).expect("counts");
    let to_server = after.1 - before.1;
    // With the headers of packets of 1448 bytes.
    let share = to_server as f64 / size as f64;
    assert!((1.03..1.10).contains(&share), "{to_server} bytes");
    let mut buffer = [0; 2048];
    let (length, from) = collector.recv_from(&mut buffer).expect("a datagram");
    assert!(from.ip().is_loopback());
    assert_eq!(buffer[..4], [0, 0, 0, 5], "version 5, {length} bytes");
    assert!(switch.if_index(Switch::SERVER).expect("a number") > 0);
    switch.stop_sflow().expect("sFlow is off");
}

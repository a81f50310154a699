use crate::client::{ClientError, NFS_V3, RpcClient, RpcOptions};
use filermark_model::plan::Transport;
use filermark_onc::nfs3::NullArgs;
use filermark_onc::rpc::{AuthBody, ReplyHeader, peek_xid};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(250);

fn options() -> RpcOptions {
    RpcOptions {
        transport: Transport::Udp,
        udp_timeout: FIRST,
        reply_timeout: FIRST * 4,
        retries: 3,
        ..RpcOptions::default()
    }
}

fn client(address: SocketAddr, options: RpcOptions) -> RpcClient {
    RpcClient::new(address, NFS_V3, AuthBody::NONE, options)
}

/// A server that answers each datagram with those that `answers` makes of its
/// number and xid; it ends after so many.
fn server(
    datagrams: usize,
    mut answers: impl FnMut(usize, u32) -> Vec<Vec<u8>> + Send + 'static,
) -> (SocketAddr, std::thread::JoinHandle<Vec<u32>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("bound");
    let serve = move || {
        let mut xids = Vec::new();
        let mut buffer = [0; 4096];
        for number in 0..datagrams {
            let (len, peer) = socket.recv_from(&mut buffer).expect("came");
            let xid = peek_xid(&buffer[..len]).expect("a call");
            xids.push(xid);
            for answer in answers(number, xid) {
                socket.send_to(&answer, peer).expect("sent");
            }
        }
        xids
    };
    (address, std::thread::spawn(serve))
}

fn success(xid: u32) -> Vec<u8> {
    let mut out = Vec::new();
    ReplyHeader::encode_success(&mut out, xid);
    out
}

#[test]
fn a_call_goes_again_until_it_is_answered() {
    let (address, server) = server(3, |number, xid| match number {
        0 => Vec::new(),
        // Noise and another call's answer are passed over.
        1 => vec![vec![1], success(xid ^ 1)],
        _ => vec![success(xid), success(xid)],
    });
    let began = Instant::now();
    client(address, options())
        .call(&NullArgs {})
        .expect("answered");
    assert!(began.elapsed() >= FIRST * 3);
    let xids = server.join().expect("no panic");
    assert!(xids.iter().all(|xid| *xid == xids[0]));
}

#[test]
fn the_late_answer_to_the_call_before_is_no_answer() {
    let (address, _server) = server(2, |_, xid| vec![success(xid), success(xid)]);
    let mut client = client(address, options());
    client.call(&NullArgs {}).expect("answered");
    client.call(&NullArgs {}).expect("answered");
}

#[test]
fn silence_ends_after_all_tries_and_reports_how_many() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("bound");
    let began = Instant::now();
    let error = client(address, options())
        .call(&NullArgs {})
        .expect_err("silence");
    assert!(
        matches!(error, ClientError::Silent { sent: 4, .. }),
        "{error}"
    );
    assert!(began.elapsed() >= FIRST * (1 + 2 + 4 + 4));
    assert!(error.is_unreachable() && error.is_worth_a_retry());
    // Without retries it still goes again while there is time.
    let one = RpcOptions {
        retries: 0,
        ..options()
    };
    let error = client(address, one)
        .call(&NullArgs {})
        .expect_err("silence");
    assert!(
        matches!(error, ClientError::Silent { sent: 3, .. }),
        "{error}"
    );
}

#[test]
#[cfg_attr(
    windows,
    ignore = "Wine 8 does not report a closed port to a read that waits"
)]
fn a_closed_port_is_an_error_at_once_without_retries() {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let one = RpcOptions {
        retries: 0,
        reply_timeout: Duration::from_secs(60),
        udp_timeout: Duration::from_secs(60),
        ..options()
    };
    let began = Instant::now();
    let error = client(address, one).call(&NullArgs {}).expect_err("closed");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(
        matches!(error, ClientError::PortUnreachable { .. }),
        "{error}"
    );
}

#[test]
fn many_calls_go_a_few_at_a_time_and_the_lost_ones_again() {
    let (address, server) = server(22, |number, xid| match number {
        3 | 5 => Vec::new(),
        _ => vec![success(xid)],
    });
    let mut seen = [0; 20];
    client(address, options())
        .call_many(&[NullArgs {}; 20], |number, ()| seen[number] += 1)
        .expect("all answered");
    assert_eq!(seen, [1; 20]);
    let xids = server.join().expect("no panic");
    assert_eq!(
        (xids[3], xids[5]),
        (xids[8], xids[9]),
        "after the first eight"
    );
}

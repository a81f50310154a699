//! One blocking UDP socket: calls go again until they are answered or it is enough.

use super::{ClientError, RpcOptions};
use filermark_engine::interrupt_guard;
use filermark_net::{BufferSizes, ConnectOptions, connect_datagrams, raise_buffers};
use filermark_onc::rpc::peek_xid;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The largest datagram.
const DATAGRAM_BYTES: usize = 1 << 16;
/// Space for the answers to all calls that are in flight together.
const BUFFERS: BufferSizes = BufferSizes {
    receive: 1 << 20,
    send: 1 << 20,
};
/// No wait is shorter.
const MOMENT: Duration = Duration::from_millis(1);

/// A socket with one peer.
#[derive(Debug)]
pub(super) struct DatagramLink {
    address: SocketAddr,
    socket: UdpSocket,
    input: Box<[u8]>,
}

/// What a wait for an answer brought.
enum WaitOutcome {
    /// So many bytes.
    Datagram(usize),
    /// The time is over.
    Timeout,
    /// The port is closed.
    Unreachable,
}

impl DatagramLink {
    /// A socket for this address; with `resvport`, from a reserved source port.
    pub(super) fn open(address: SocketAddr, resvport: bool) -> Result<Self, ClientError> {
        let options = ConnectOptions {
            reserved_port: resvport,
        };
        let socket = connect_datagrams(address, options).map_err(|source| match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::AddrInUse if resvport => {
                ClientError::ReservedPort { source }
            }
            _ => ClientError::Connect { address, source },
        })?;
        // Smaller ones do, only slower.
        let _ = raise_buffers(&socket, BUFFERS);
        Ok(Self {
            address,
            socket,
            input: vec![0; DATAGRAM_BYTES].into_boxed_slice(),
        })
    }

    /// Sends `calls` and hands every answer to `each` with the number of its call.
    /// What is not answered goes again, each time after twice the wait. Answers to
    /// anything else, and what is no answer, are passed over.
    pub(super) fn exchange(
        &mut self,
        options: &RpcOptions,
        calls: &[Vec<u8>],
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<(), ClientError> {
        let began = Instant::now();
        let mut open: Vec<usize> = (0..calls.len()).collect();
        let mut wait = options
            .udp_timeout
            .clamp(MOMENT, options.reply_timeout.max(MOMENT));
        let mut sent = 0;
        loop {
            sent += 1;
            let mut unreachable = false;
            for call in open.iter().filter_map(|number| calls.get(*number)) {
                unreachable |= self.send(call)?;
            }
            let until = Instant::now() + wait;
            while !open.is_empty() {
                if interrupt_guard::stop_requested() {
                    return Err(ClientError::Stopped);
                }
                match self.receive(until.min(Instant::now() + interrupt_guard::LOOK))? {
                    WaitOutcome::Timeout if Instant::now() < until => {}
                    WaitOutcome::Timeout => break,
                    WaitOutcome::Unreachable => unreachable = true,
                    WaitOutcome::Datagram(len) => {
                        let answer = self.input.get(..len).unwrap_or_default();
                        let xid = peek_xid(answer);
                        let of = |number: &usize| {
                            xid.is_some() && calls.get(*number).and_then(|c| peek_xid(c)) == xid
                        };
                        if let Some(at) = open.iter().position(of) {
                            each(open.remove(at), answer);
                        }
                    }
                }
                // Waiting for a closed port is useless, unless the server may come back.
                if unreachable && sent > options.retries {
                    break;
                }
            }
            if open.is_empty() {
                return Ok(());
            }
            let (address, waited) = (self.address, began.elapsed());
            match unreachable {
                true if sent > options.retries => {
                    return Err(ClientError::PortUnreachable { address });
                }
                false if sent > options.retries && waited >= options.reply_timeout => {
                    return Err(ClientError::Silent {
                        address,
                        waited,
                        sent,
                    });
                }
                _ => {}
            }
            tracing::debug!(target: "filermark_nfs::rpc", %address, calls = open.len(), "sending again");
            wait = (wait * 2).min(options.reply_timeout).max(MOMENT);
        }
    }

    /// Whether the system reports the port as closed.
    fn send(&self, call: &[u8]) -> Result<bool, ClientError> {
        let mut unreachable = false;
        // The error of an earlier datagram is returned instead of sending this one.
        for _ in 0..2 {
            match self.socket.send(call) {
                Ok(_) => break,
                Err(error) => unreachable |= self.judge(error)?,
            }
        }
        Ok(unreachable)
    }

    fn receive(&mut self, until: Instant) -> Result<WaitOutcome, ClientError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(WaitOutcome::Timeout);
        }
        let came = self
            .socket
            .set_read_timeout(Some(left.max(MOMENT)))
            .and_then(|()| self.socket.recv(&mut self.input));
        match came {
            Ok(len) => Ok(WaitOutcome::Datagram(len)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(WaitOutcome::Timeout)
            }
            Err(error) => self.judge(error).map(|unreachable| match unreachable {
                true => WaitOutcome::Unreachable,
                false => WaitOutcome::Datagram(0),
            }),
        }
    }

    /// `true`: this error means a closed port; `false`: it means nothing; other errors are returned.
    fn judge(&self, source: io::Error) -> Result<bool, ClientError> {
        let address = self.address;
        match source.kind() {
            // Windows calls it a reset connection.
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Ok(true),
            // A packet filter on this host: lost, as on the way.
            ErrorKind::Interrupted | ErrorKind::PermissionDenied => Ok(false),
            _ => Err(ClientError::Broken { address, source }),
        }
    }
}

#[cfg(test)]
mod tests;

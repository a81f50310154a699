//! Starting and stopping: options to threads.

use crate::event_loop::{EventLoop, Inbox, bind_datagrams, listen};
use crate::lateness::{self, Lateness};
use crate::options::{ServerError, ServerOptions};
use crate::protocol::{Service, Shared};
use crate::stats::{Counters, ServerStats};
use crate::sys::{now_ns, sockets_of_an_address};
use filermark_net::Reactor;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The way to a [`RunningServer`].
#[derive(Debug)]
pub struct Server;

/// A server that answers until it is stopped or dropped.
#[derive(Debug)]
pub struct RunningServer {
    addrs: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    inboxes: Vec<Arc<Inbox>>,
    counters: Vec<Arc<Counters>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The name of the protocol in ALPN (RFC 9289 section 5.2).
const ALPN: &[u8] = b"sunrpc";
/// Attempts to find a port that is free for TCP and UDP.
const PORT_ATTEMPTS: usize = 32;

/// Opens both transports on one port: the real address, the listener, and the given number of
/// sockets for datagrams.
fn open(
    address: SocketAddr,
    sockets: Option<usize>,
) -> Result<(SocketAddr, TcpListener, Vec<UdpSocket>), ServerError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let listener = listen(address)?;
        let local = listener
            .local_addr()
            .map_err(|source| ServerError::Listen { address, source })?;
        let bound = (0..sockets.unwrap_or(0)).map(|_| bind_datagrams(local));
        match bound.collect::<std::io::Result<Vec<_>>>() {
            Ok(sockets) => return Ok((local, listener, sockets)),
            Err(error)
                if address.port() == 0
                    && error.kind() == ErrorKind::AddrInUse
                    && attempts < PORT_ATTEMPTS => {}
            Err(source) => {
                let address = local;
                return Err(ServerError::Datagrams { address, source });
            }
        }
    }
}

impl Server {
    /// Starts a server with an empty file system. When this returns it is listening.
    ///
    /// # Errors
    /// [`ServerError`]: options that contradict themselves, certificates that cannot be used, an address that cannot be had, or
    /// a system out of files or threads.
    pub fn start(options: ServerOptions) -> Result<RunningServer, ServerError> {
        options.check()?;
        let tls = options.tls.as_ref().map(|files| files.read(ALPN));
        let tls = tls
            .transpose()
            .map_err(|source| ServerError::Tls { source })?;
        let threads = options.threads;
        // Where a system does not share an address, the first thread serves all of UDP.
        let udp = options.udp.then_some(sockets_of_an_address(threads));
        let (mut addrs, mut listeners) = (Vec::new(), Vec::new());
        let mut datagrams: Vec<Vec<UdpSocket>> = (0..threads).map(|_| Vec::new()).collect();
        for address in &options.listen {
            let (local, listener, sockets) = open(*address, udp)?;
            addrs.push(local);
            listeners.push(listener);
            for (thread, socket) in datagrams.iter_mut().zip(sockets) {
                thread.push(socket);
            }
        }
        let (inboxes, reactors) = (0..threads)
            .map(|_| Inbox::with_reactor())
            .collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        let mut shared = Shared::new(options, now_ns());
        shared.tls = tls;
        let shared = Arc::new(shared);
        let mut server = RunningServer {
            addrs,
            shared: shared.clone(),
            stop: Arc::default(),
            inboxes,
            counters: Vec::new(),
            threads: Vec::new(),
        };
        let mut listeners = Some(listeners);
        for (index, (reactor, datagrams)) in reactors.into_iter().zip(datagrams).enumerate() {
            // Dropping the server on an error stops the threads that run already.
            server.spawn(
                (index, reactor),
                &shared,
                listeners.take().unwrap_or_default(),
                datagrams,
            )?;
        }
        Ok(server)
    }
}

impl RunningServer {
    fn spawn(
        &mut self,
        (index, reactor): (usize, Reactor),
        shared: &Arc<Shared>,
        listeners: Vec<TcpListener>,
        datagrams: Vec<UdpSocket>,
    ) -> Result<(), ServerError> {
        let counters = Arc::new(Counters::default());
        let service = Service::new(shared.clone(), counters.clone());
        let event_loop = EventLoop::new(
            service,
            (&self.inboxes, index),
            reactor,
            listeners,
            datagrams,
            self.stop.clone(),
        )?;
        let thread = std::thread::Builder::new()
            .name(format!("nfsd-{index}"))
            .spawn(move || event_loop.run())
            .map_err(|source| ServerError::System {
                step: "start a thread",
                source,
            })?;
        self.counters.push(counters);
        self.threads.push(thread);
        Ok(())
    }

    /// Where it listens, in the order of the options, with real ports.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// What it has done so far. A request is counted before its reply is sent, so a client that
    /// has all its replies finds exactly its own figures here.
    pub fn stats(&self) -> ServerStats {
        let mut stats = ServerStats::default();
        for counters in &self.counters {
            stats.add(counters);
        }
        stats.no_space = self.shared.no_space_count();
        let delegations = self.shared.delegation_counts();
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        stats.delegations_read = get(&delegations.read);
        stats.delegations_write = get(&delegations.write);
        stats.delegations_recalled = get(&delegations.recalled);
        stats.delegations_returned = get(&delegations.returned);
        stats.delegations_revoked = get(&delegations.revoked);
        stats
    }

    /// How exactly replies that were held back have left so far; `None` where there were none.
    pub fn lateness(&self) -> Option<Lateness> {
        lateness::of(self.counters.iter().map(|counters| &counters.lateness))
    }

    /// Closes all connections and ends; returns the final figures.
    pub fn stop(mut self) -> ServerStats {
        self.end();
        self.stats()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        for inbox in &self.inboxes {
            inbox.wake();
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.end();
    }
}

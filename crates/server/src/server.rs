//! Starting and stopping: options to threads.

use crate::options::{ServerError, ServerOptions};
use crate::protocol::{Service, Shared};
use crate::reactor::{Inbox, Reactor, listen};
use crate::stats::{Counters, ServerStats};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a server with an empty file system. When this returns it is listening.
    ///
    /// # Errors
    /// [`ServerError`]: options that contradict themselves, an address that cannot be had, or
    /// a system out of files or threads.
    pub fn start(options: ServerOptions) -> Result<RunningServer, ServerError> {
        options.check()?;
        let listeners = options
            .listen
            .iter()
            .map(|a| listen(*a))
            .collect::<Result<Vec<_>, _>>()?;
        let addrs = listeners.iter().zip(&options.listen);
        let addrs = addrs
            .map(|(listener, address)| {
                let address = *address;
                listener
                    .local_addr()
                    .map_err(|source| ServerError::Listen { address, source })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let threads = options.threads;
        let inboxes = (0..threads)
            .map(|_| Inbox::new().map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let mut server = RunningServer {
            addrs,
            stop: Arc::default(),
            inboxes,
            counters: Vec::new(),
            threads: Vec::new(),
        };
        let shared = Arc::new(Shared::new(options));
        let mut listeners = Some(listeners);
        for index in 0..threads {
            // Dropping the server on an error stops the threads that run already.
            server.spawn(index, &shared, listeners.take().unwrap_or_default())?;
        }
        Ok(server)
    }
}

impl RunningServer {
    fn spawn(
        &mut self,
        index: usize,
        shared: &Arc<Shared>,
        listeners: Vec<std::net::TcpListener>,
    ) -> Result<(), ServerError> {
        let counters = Arc::new(Counters::default());
        let service = Service::new(shared.clone(), counters.clone());
        let reactor = Reactor::new(service, &self.inboxes, index, listeners, self.stop.clone())?;
        let thread = std::thread::Builder::new()
            .name(format!("nfsd-{index}"))
            .spawn(move || reactor.run())
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
        stats
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

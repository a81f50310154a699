//! The threads of a fake server or a proxy: one that accepts connections, and for each
//! direction of a connection one that reads and one that writes.

use super::{Direction, ProxiedMessage, ProxyAction};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Length of the header of each message.
const HEADER: usize = 4;
/// The bit of RPC's record mark for the last fragment of a record.
const LAST: u32 = 1 << 31;
/// The longest RPC record that is accepted; a longer one is an error of the client.
const MAX_RECORD: usize = 64 << 20;

/// The header of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A zero and the length in three bytes.
    Smb,
    /// The length of the fragment, with a bit for the last one of a record.
    Rpc,
}

/// Interval at which a fixture checks for new connections.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(1);

type Script = dyn FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send;

/// The state that all threads of one fixture share.
struct Shared {
    framing: Framing,
    script: Mutex<Box<Script>>,
    open: Mutex<Vec<TcpStream>>,
    over: (Mutex<bool>, Condvar),
}

impl Shared {
    /// Waits, at most until the end of the fixture; false if it has ended.
    fn sleep(&self, time: Duration) -> bool {
        let over = self.over.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.1.wait_timeout_while(over, time, |over| !*over);
        let (over, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*over
    }

    fn actions(&self, message: &ProxiedMessage<'_>) -> Vec<ProxyAction> {
        // The mutex is poisoned if the script has panicked, which fails the test.
        match self.script.lock() {
            Ok(mut script) => script(message),
            Err(_) => vec![ProxyAction::Close],
        }
    }
}

/// The port and its connections; closed when dropped.
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listener({})", self.address)
    }
}

impl Listener {
    pub(super) fn start(
        script: Box<Script>,
        framing: Framing,
        server: Option<SocketAddr>,
    ) -> std::io::Result<Listener> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            framing,
            script: Mutex::new(script),
            open: Mutex::default(),
            over: Default::default(),
        });
        let own = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, server, &own));
        Ok(Listener {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    pub(super) fn cut(&self) {
        let mut open = self.shared.open.lock();
        let open = open.as_mut().map(|open| std::mem::take(&mut **open));
        for stream in open.unwrap_or_default() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let (over, changed) = &self.shared.over;
        *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.cut();
    }
}

/// Accepts connections until the end of the fixture. It polls: a thread in another
/// network could not connect in order to end a blocking accept.
fn accept(listener: &TcpListener, server: Option<SocketAddr>, shared: &Arc<Shared>) {
    let mut connection = 0;
    while shared.sleep(ACCEPT_INTERVAL) {
        let Ok((client, _)) = listener.accept() else {
            continue;
        };
        // Without a server, the client's connection is closed immediately.
        if let Err(error) = serve(connection, client, server, shared) {
            eprintln!("testbed: connection {connection} of a proxy: {error}");
        }
        connection += 1;
    }
}

/// Starts the threads of one connection.
fn serve(
    connection: usize,
    client: TcpStream,
    server: Option<SocketAddr>,
    shared: &Arc<Shared>,
) -> std::io::Result<()> {
    let to_client = writer(&client, shared)?;
    let Some(server) = server else {
        let side = ProxyDirection::new(
            connection,
            Direction::ToServer,
            &to_client,
            &to_client,
            shared,
        );
        thread::spawn(move || side.relay(client));
        return Ok(());
    };
    let server = TcpStream::connect(server)?;
    let to_server = writer(&server, shared)?;
    let up = ProxyDirection::new(
        connection,
        Direction::ToServer,
        &to_server,
        &to_client,
        shared,
    );
    let down = ProxyDirection::new(
        connection,
        Direction::ToClient,
        &to_client,
        &to_server,
        shared,
    );
    thread::spawn(move || up.relay(client));
    thread::spawn(move || down.relay(server));
    Ok(())
}

/// A command for a writer.
enum Order {
    /// Writes bytes, not before a time.
    Bytes(Instant, Vec<u8>),
    /// Closes the stream.
    End,
}

/// Starts a thread that writes to a stream, in order.
fn writer(stream: &TcpStream, shared: &Arc<Shared>) -> std::io::Result<Sender<Order>> {
    stream.set_nodelay(true)?;
    let mut stream = stream.try_clone()?;
    if let Ok(mut open) = shared.open.lock() {
        open.push(stream.try_clone()?);
    }
    let (sender, receiver): (_, Receiver<Order>) = channel();
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        while let Ok(Order::Bytes(due, bytes)) = receiver.recv() {
            let wait = due.saturating_duration_since(Instant::now());
            if !shared.sleep(wait) || stream.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    });
    Ok(sender)
}

/// One direction of one connection.
struct ProxyDirection {
    connection: usize,
    way: Direction,
    onward: Sender<Order>,
    back: Sender<Order>,
    shared: Arc<Shared>,
}

impl ProxyDirection {
    fn new(
        connection: usize,
        way: Direction,
        onward: &Sender<Order>,
        back: &Sender<Order>,
        shared: &Arc<Shared>,
    ) -> ProxyDirection {
        ProxyDirection {
            connection,
            way,
            onward: onward.clone(),
            back: back.clone(),
            shared: Arc::clone(shared),
        }
    }

    /// Reads messages until the end of the stream, and performs the script's actions for each.
    fn relay(self, mut from: TcpStream) {
        let mut nth = 0;
        let framing = self.shared.framing;
        while let Some(message) = framing.read(&mut from) {
            let received = ProxiedMessage {
                connection: self.connection,
                nth,
                way: self.way,
                message: &message,
            };
            nth += 1;
            let actions = self.shared.actions(&received);
            if !actions.into_iter().all(|action| self.perform(action)) {
                break;
            }
        }
        let _ = self.onward.send(Order::End);
        let _ = self.back.send(Order::End);
    }

    /// Performs an action; false if the connection ends.
    fn perform(&self, action: ProxyAction) -> bool {
        let now = Instant::now();
        let framed = |message: &[u8]| self.shared.framing.framed(message);
        let send = |to: &Sender<Order>, due, bytes| to.send(Order::Bytes(due, bytes)).is_ok();
        match action {
            ProxyAction::Send(message) => send(&self.onward, now, framed(&message)),
            ProxyAction::Back(message) => send(&self.back, now, framed(&message)),
            ProxyAction::Later(time, message) => send(&self.onward, now + time, framed(&message)),
            ProxyAction::Raw(bytes) => send(&self.onward, now, bytes),
            ProxyAction::Sleep(time) => self.shared.sleep(time),
            ProxyAction::Close => false,
        }
    }
}

impl Framing {
    /// A message with its header.
    fn framed(self, message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let header = match self {
            Framing::Smb => length & 0x00ff_ffff,
            Framing::Rpc => length | LAST,
        };
        [&header.to_be_bytes(), message].concat()
    }

    /// The next message; `None` at the end of the stream, and for invalid data.
    fn read(self, from: &mut TcpStream) -> Option<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let mut header = [0; HEADER];
            from.read_exact(&mut header).ok()?;
            let header = u32::from_be_bytes(header);
            let (length, last) = match self {
                Framing::Smb => (header, true),
                Framing::Rpc => (header & !LAST, header & LAST != 0),
            };
            let wanted = message.len().checked_add(usize::try_from(length).ok()?)?;
            if (self == Framing::Smb && header >> 24 != 0) || wanted > MAX_RECORD {
                return None;
            }
            from.take(u64::from(length))
                .read_to_end(&mut message)
                .ok()?;
            if message.len() != wanted {
                return None;
            }
            if last {
                return Some(message);
            }
        }
    }
}

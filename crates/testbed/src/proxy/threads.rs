//! The threads behind a fake and a proxy: one that takes connections, and for each way of
//! a connection one that reads and one that writes.

use super::{Direction, ProxiedMessage, ProxyAction};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes before each message.
const MARK: usize = 4;
/// The bit of a mark of RPC that says: this fragment is the record's last.
const LAST: u32 = 1 << 31;
/// The longest record of RPC that is taken; a client that means more is wrong.
const MAX_RECORD: usize = 64 << 20;

/// What stands before each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A zero and the length in three bytes.
    Smb,
    /// The length of the fragment, with a bit for the last one of a record.
    Rpc,
}

/// How often a fixture looks for new connections.
const ACCEPT_EVERY: Duration = Duration::from_millis(1);

type Script = dyn FnMut(&ProxiedMessage<'_>) -> Vec<ProxyAction> + Send;

/// What all threads of one fixture know.
struct Shared {
    framing: Framing,
    script: Mutex<Box<Script>>,
    open: Mutex<Vec<TcpStream>>,
    over: (Mutex<bool>, Condvar),
}

impl Shared {
    /// Waits, but not beyond the end of the fixture; false if that has come.
    fn sleep(&self, time: Duration) -> bool {
        let over = self.over.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.1.wait_timeout_while(over, time, |over| !*over);
        let (over, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*over
    }

    fn ask(&self, passing: &ProxiedMessage<'_>) -> Vec<ProxyAction> {
        // A script that panicked has failed its test already.
        match self.script.lock() {
            Ok(mut script) => script(passing),
            Err(_) => vec![ProxyAction::Close],
        }
    }
}

/// The port, and what hangs on it; all gone when dropped.
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
        let (over, told) = &self.shared.over;
        *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.cut();
    }
}

/// Takes connections to the end of the fixture. It looks every now and then: woken by a
/// connection it cannot be, from a thread that is in another network.
fn accept(listener: &TcpListener, server: Option<SocketAddr>, shared: &Arc<Shared>) {
    let mut connection = 0;
    while shared.sleep(ACCEPT_EVERY) {
        let Ok((client, _)) = listener.accept() else {
            continue;
        };
        // A server that is not there shows as a connection that ends at once.
        if let Err(error) = serve(connection, client, server, shared) {
            eprintln!("testbed: a proxy's connection {connection}: {error}");
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

/// What a writer does next.
enum Order {
    /// Bytes, not before a time.
    Bytes(Instant, Vec<u8>),
    /// The end of what goes this way.
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

/// One way of one connection.
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

    /// Reads messages to the end of the stream, and does about each what the script says.
    fn relay(self, mut from: TcpStream) {
        let mut nth = 0;
        let framing = self.shared.framing;
        while let Some(message) = framing.read(&mut from) {
            let passing = ProxiedMessage {
                connection: self.connection,
                nth,
                way: self.way,
                message: &message,
            };
            nth += 1;
            let acts = self.shared.ask(&passing);
            if !acts.into_iter().all(|act| self.perform(act)) {
                break;
            }
        }
        let _ = self.onward.send(Order::End);
        let _ = self.back.send(Order::End);
    }

    /// Whether the connection goes on.
    fn perform(&self, act: ProxyAction) -> bool {
        let now = Instant::now();
        let framed = |message: &[u8]| self.shared.framing.framed(message);
        let send = |to: &Sender<Order>, due, bytes| to.send(Order::Bytes(due, bytes)).is_ok();
        match act {
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
    /// A message with its mark.
    fn framed(self, message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let mark = match self {
            Framing::Smb => length & 0x00ff_ffff,
            Framing::Rpc => length | LAST,
        };
        [&mark.to_be_bytes(), message].concat()
    }

    /// The next message; `None` at the end of the stream, and when it is not made of
    /// messages.
    fn read(self, from: &mut TcpStream) -> Option<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let mut mark = [0; MARK];
            from.read_exact(&mut mark).ok()?;
            let mark = u32::from_be_bytes(mark);
            let (length, last) = match self {
                Framing::Smb => (mark, true),
                Framing::Rpc => (mark & !LAST, mark & LAST != 0),
            };
            let wanted = message.len().checked_add(usize::try_from(length).ok()?)?;
            if (self == Framing::Smb && mark >> 24 != 0) || wanted > MAX_RECORD {
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

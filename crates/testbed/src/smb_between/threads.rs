//! The threads behind a fake and a proxy: one that takes connections, and for each way of
//! a connection one that reads and one that writes.

use super::{SmbAct, SmbPassing, SmbWay};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes before each message: a zero and the length.
const MARK: usize = 4;

/// How often a fixture looks for new connections.
const ACCEPT_EVERY: Duration = Duration::from_millis(1);

type Script = dyn FnMut(&SmbPassing<'_>) -> Vec<SmbAct> + Send;

/// What all threads of one fixture know.
struct Shared {
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

    fn ask(&self, passing: &SmbPassing<'_>) -> Vec<SmbAct> {
        // A script that panicked has failed its test already.
        match self.script.lock() {
            Ok(mut script) => script(passing),
            Err(_) => vec![SmbAct::Close],
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
        server: Option<SocketAddr>,
    ) -> std::io::Result<Listener> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
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
        let side = Side::new(connection, SmbWay::ToServer, &to_client, &to_client, shared);
        thread::spawn(move || side.relay(client));
        return Ok(());
    };
    let server = TcpStream::connect(server)?;
    let to_server = writer(&server, shared)?;
    let up = Side::new(connection, SmbWay::ToServer, &to_server, &to_client, shared);
    let down = Side::new(connection, SmbWay::ToClient, &to_client, &to_server, shared);
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
struct Side {
    connection: usize,
    way: SmbWay,
    onward: Sender<Order>,
    back: Sender<Order>,
    shared: Arc<Shared>,
}

impl Side {
    fn new(
        connection: usize,
        way: SmbWay,
        onward: &Sender<Order>,
        back: &Sender<Order>,
        shared: &Arc<Shared>,
    ) -> Side {
        Side {
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
        while let Some(message) = read_message(&mut from) {
            let passing = SmbPassing {
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
    fn perform(&self, act: SmbAct) -> bool {
        let now = Instant::now();
        let send = |to: &Sender<Order>, due, bytes| to.send(Order::Bytes(due, bytes)).is_ok();
        match act {
            SmbAct::Send(message) => send(&self.onward, now, framed(&message)),
            SmbAct::Back(message) => send(&self.back, now, framed(&message)),
            SmbAct::Later(time, message) => send(&self.onward, now + time, framed(&message)),
            SmbAct::Raw(bytes) => send(&self.onward, now, bytes),
            SmbAct::Sleep(time) => self.shared.sleep(time),
            SmbAct::Close => false,
        }
    }
}

/// A message with its mark.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX) & 0x00ff_ffff;
    [&length.to_be_bytes(), message].concat()
}

/// The next message; `None` at the end of the stream, and when it is not made of
/// messages.
fn read_message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut mark = [0; MARK];
    from.read_exact(&mut mark).ok()?;
    if mark[0] != 0 {
        return None;
    }
    let mut message = Vec::new();
    let length = u64::from(u32::from_be_bytes(mark));
    from.take(length).read_to_end(&mut message).ok()?;
    (message.len() as u64 == length).then_some(message)
}

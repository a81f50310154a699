//! The peer: a server of sessions with scripted answers.

use super::session::{MESSAGE, Message};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How the server handles a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// Executes it and replies.
    Reply(Message),
    /// Executes it and keeps the reply.
    Keep(Message),
    /// Makes its own call.
    Call(u32),
    /// Sends bytes that are no message.
    Garbage,
    /// Closes the connection.
    Close,
}

/// What the server has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Calls that arrived, without those that arrived again after their execution.
    calls: usize,
    /// Set-ups that began.
    pub(super) set_ups: usize,
    /// Calls that were executed: the number of their first transmission.
    pub(super) executed: Vec<usize>,
    /// Calls that arrived again after their execution.
    pub(super) replayed: Vec<usize>,
    /// Answers to calls of its own.
    pub(super) answered: Vec<u32>,
    /// The highest slot in use, plus one.
    pub(super) most_at_once: u8,
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The server's data for each slot: the number of the last call, and its index.
type Cache = Vec<Option<(u16, usize)>>;

struct Script<F> {
    slots: u8,
    accepts: bool,
    /// Set-ups that are not answered, by their number.
    silent: &'static [usize],
    /// Calls until now, without replays.
    nth: usize,
    script: F,
    seen: Arc<Mutex<Seen>>,
    cache: Cache,
}

impl Peer {
    /// Accepts all clients with this number of slots; `script` decides about the nth call.
    pub(super) fn start(
        slots: u8,
        script: impl FnMut(usize, Message) -> Vec<Answer> + Send + 'static,
    ) -> Self {
        Self::with(slots, true, &[], script)
    }

    /// The same, without an answer to the set-ups with these numbers.
    pub(super) fn silent_at(
        silent: &'static [usize],
        script: impl FnMut(usize, Message) -> Vec<Answer> + Send + 'static,
    ) -> Self {
        Self::with(2, true, silent, script)
    }

    /// Refuses every connection.
    pub(super) fn refusing() -> Self {
        Self::with(0, false, &[], |_, _| Vec::new())
    }

    /// Accepts and closes every connection.
    pub(super) fn closing() -> Self {
        Self::run(drop, Arc::default())
    }

    fn with(
        slots: u8,
        accepts: bool,
        silent: &'static [usize],
        script: impl FnMut(usize, Message) -> Vec<Answer> + Send + 'static,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut script = Script {
            slots,
            accepts,
            silent,
            nth: 0,
            script,
            seen: seen.clone(),
            cache: vec![None; slots.into()],
        };
        Self::run(move |stream| script.serve(stream), seen)
    }

    fn run(mut serve: impl FnMut(TcpStream) + Send + 'static, seen: Arc<Mutex<Seen>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if over.load(Ordering::Acquire) {
                    return;
                }
                serve(stream);
            }
        });
        Self {
            address,
            seen,
            is_over,
            thread: Some(thread),
        }
    }

    /// How many calls have arrived, without those that arrived again after their execution.
    pub(super) fn call_count(&self) -> usize {
        self.seen.lock().expect("no panic").calls
    }

    /// How many set-ups have begun.
    pub(super) fn set_up_count(&self) -> usize {
        self.seen.lock().expect("no panic").set_ups
    }

    /// Takes what it has seen until now.
    pub(super) fn end(&self) -> Seen {
        std::mem::take(&mut self.seen.lock().expect("no panic"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // It may be serving a connection that is still open; then it ends with that.
        let _ = TcpStream::connect(self.address);
        drop(self.thread.take());
    }
}

impl<F: FnMut(usize, Message) -> Vec<Answer>> Script<F> {
    /// Serves one connection to its end.
    fn serve(&mut self, mut stream: TcpStream) {
        let mut bytes = [0; MESSAGE];
        while stream.read_exact(&mut bytes).is_ok() {
            let mut out = Vec::new();
            let goes_on = self.take(Message::read(&bytes), &mut out);
            if stream.write_all(&out).is_err() || !goes_on {
                return;
            }
        }
    }

    /// Whether the connection goes on.
    fn take(&mut self, message: Message, out: &mut Vec<u8>) -> bool {
        let mut seen = self.seen.lock().expect("no panic");
        match message.kind {
            b'E' => {
                seen.set_ups += 1;
                if self.silent.contains(&(seen.set_ups - 1)) {
                    return true;
                }
                let kind = if self.accepts { b'e' } else { b'x' };
                Message::new(kind).put(out);
                true
            }
            b'C' => {
                let slot = self.slots;
                Message {
                    slot,
                    ..Message::new(b'c')
                }
                .put(out);
                true
            }
            b'b' => {
                seen.answered.push(message.token);
                true
            }
            _ => {
                drop(seen);
                self.call(message, out)
            }
        }
    }

    fn call(&mut self, message: Message, out: &mut Vec<u8>) -> bool {
        let kept = self.cache[usize::from(message.slot)];
        if let Some((number, nth)) = kept
            && number == message.number
        {
            self.seen.lock().expect("no panic").replayed.push(nth);
            Message {
                kind: b's',
                ..message
            }
            .put(out);
            return true;
        }
        let nth = self.nth;
        self.nth += 1;
        self.seen.lock().expect("no panic").calls += 1;
        let mut goes_on = true;
        for answer in (self.script)(nth, message) {
            match answer {
                Answer::Reply(call) | Answer::Keep(call) => {
                    let mut seen = self.seen.lock().expect("no panic");
                    seen.executed.push(nth);
                    seen.most_at_once = seen.most_at_once.max(call.slot + 1);
                    self.cache[usize::from(call.slot)] = Some((call.number, nth));
                    if let Answer::Reply(_) = answer {
                        Message { kind: b's', ..call }.put(out);
                    }
                }
                Answer::Call(token) => Message {
                    token,
                    ..Message::new(b'B')
                }
                .put(out),
                Answer::Garbage => out.extend_from_slice(&[0; MESSAGE]),
                Answer::Close => goes_on = false,
            }
        }
        goes_on
    }
}

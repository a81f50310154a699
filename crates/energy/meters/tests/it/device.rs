//! A device on a loopback port: a thread that serves one connection after another.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server; ends with the test.
pub struct Device {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Device {
    /// Gives every connection to `serve`, one at a time.
    pub fn start(serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        Self::start_at(0, serve)
    }

    /// As [`start`](Self::start), at a port in a network namespace of the test.
    pub fn start_at(port: u16, serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let ended = Arc::new(AtomicBool::new(false));
        let (count, end) = (Arc::clone(&connections), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                // Data that a test does not read must not block the device for ever.
                stream
                    .set_read_timeout(Some(Duration::from_secs(30)))
                    .and_then(|()| stream.set_write_timeout(Some(Duration::from_secs(30))))
                    .expect("timeouts");
                serve(stream);
            }
        });
        Self {
            address,
            connections,
            ended,
            thread: Some(thread),
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        let woken = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take()
            && woken.is_ok()
            && !std::thread::panicking()
        {
            thread.join().expect("the device");
        }
    }
}

/// Commands and answers of a meter of the WT300 family, from the manual of its commands;
/// written by hand, not a capture.
#[derive(Clone)]
pub struct Wattmeter {
    /// What has been set up, `ITEM1` first.
    pub items: Arc<Mutex<Vec<String>>>,
    /// The answer to a query for the values; by the items where there is none.
    pub answer: Arc<Mutex<Option<String>>>,
    /// Whether it has the option for harmonics.
    pub harmonics: bool,
}

impl Wattmeter {
    pub fn new() -> Self {
        Self {
            items: Arc::default(),
            answer: Arc::default(),
            harmonics: true,
        }
    }

    /// Serves a connection until the other side ends it.
    pub fn serve(&self, stream: TcpStream) {
        let mut writer = stream.try_clone().expect("a second handle");
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if let Some(answer) = self.answer(&line)
                && writer
                    .write_all(format!("{answer}\r\n").as_bytes())
                    .is_err()
            {
                return;
            }
        }
    }

    /// Its answer to a line, if any.
    pub fn answer(&self, line: &str) -> Option<String> {
        let mut items = self.items.lock().expect("items");
        if line == "*IDN?" {
            return Some("YOKOGAWA,WT310E,C2PG12345E,F1.04".into());
        }
        if line == ":NUMERIC:NORMAL:CLEAR ALL" {
            items.clear();
        } else if let Some(count) = line.strip_prefix(":NUMERIC:NORMAL:NUMBER ") {
            items.resize(count.parse().expect("a number"), "NONE".into());
        } else if let Some(item) = line.strip_prefix(":NUMERIC:NORMAL:ITEM") {
            if item == "1?" {
                return items.first().cloned();
            }
            let (number, what) = item.split_once(' ').expect("an item");
            let number: usize = number.parse().expect("a number");
            // An input or an option that is missing: the item does not change.
            let known = what.ends_with(",1") && (self.harmonics || !what.starts_with("UTHD"));
            if known {
                items[number - 1] = what.into();
            }
        } else if line == ":NUMERIC:NORMAL:VALUE?" {
            let answer = self.answer.lock().expect("an answer").clone();
            return Some(answer.unwrap_or_else(|| values(&items)));
        }
        None
    }
}

fn values(items: &[String]) -> String {
    let of = |item: &String| match item.as_str() {
        "P,1" => "535.20E+00",
        "U,1" => "230.10E+00",
        "I,1" => "2.3410E+00",
        "S,1" => "538.66E+00",
        "LAMBDA,1" => "0.9936E+00",
        "FU,1" => "49.998E+00",
        "UTHD,1" => "1.85E+00",
        _ => "NAN",
    };
    items.iter().map(of).collect::<Vec<_>>().join(",")
}

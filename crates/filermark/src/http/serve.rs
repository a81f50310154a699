//! The server: one thread accepts, one short-lived thread answers each connection.

use super::{Body, Listen, NextLines, Request, Response, Token};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most connections at a time.
const CONNECTIONS_MAX: usize = 8;
/// Most of them that are streams of lines: others stay for short answers.
const STREAMS_MAX: usize = 4;
/// Interval at which a stream without lines checks for the end, its reader's or the server's.
const STREAM_CHECK: Duration = Duration::from_millis(500);
/// Longest wait at the end for streams to be sent.
const STREAMS_END_MAX: Duration = Duration::from_secs(2);
/// Most bytes and headers of a request.
const REQUEST_LEN_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// Time limits of reading a request, and of writing an answer.
const READ_MAX: Duration = Duration::from_secs(5);
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Pause after an error of the listener, for example too many open files.
const PAUSE: Duration = Duration::from_millis(200);
/// Stack of a thread.
const STACK_LEN: usize = 256 << 10;

/// Answers requests.
type Answer = dyn Fn(&Request) -> Response + Send + Sync;

/// A server; it ends when this is dropped.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    answer: Box<Answer>,
    token: Option<Token>,
    is_local: bool,
    connection_count: AtomicUsize,
    stream_count: AtomicUsize,
    ending: AtomicBool,
}

impl HttpServer {
    /// Listens and answers requests.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn start(
        listen: Listen,
        token: Option<Token>,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen.0)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            token,
            is_local: listen.is_local(),
            connection_count: AtomicUsize::new(0),
            stream_count: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("http".into())
            .stack_size(STACK_LEN)
            .spawn(move || accept(&listener, &its))?;
        Ok(Self {
            address,
            shared,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        // Wakes the thread that accepts; it is not waited for if that fails.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(match own {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        let woken = TcpStream::connect_timeout(&own, Duration::from_secs(1));
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
        // The last lines of streams.
        let until = Instant::now() + STREAMS_END_MAX;
        while self.shared.stream_count.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.ending.load(Ordering::Acquire) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if shared.connection_count.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            // The socket's buffer has space for this.
            let busy = Response::text(503, "too many connections; try again");
            let _ = stream
                .set_nonblocking(true)
                .and_then(|()| (&stream).write_all(encode(&busy, false).as_bytes()));
            shared.connection_count.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let its = Arc::clone(shared);
        let started = std::thread::Builder::new()
            .name("http-answer".into())
            .stack_size(STACK_LEN)
            .spawn(move || {
                // A client that has gone is no error.
                let _ = its.serve(&stream);
                its.connection_count.fetch_sub(1, Ordering::AcqRel);
            });
        if started.is_err() {
            shared.connection_count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let head = read_head(stream, Instant::now() + READ_MAX)?;
        let (response, head_only) = self.respond(&head);
        match response.body {
            Body::Lines(_) if !head_only => self.send_lines(stream, response)?,
            _ => send(stream, &encode(&response, head_only))?,
        }
        stream.shutdown(std::net::Shutdown::Write)
    }

    /// Sends lines as they come, until their end, the reader's or the server's.
    fn send_lines(&self, stream: &TcpStream, response: Response) -> io::Result<()> {
        let others = self.stream_count.fetch_add(1, Ordering::AcqRel);
        let sent = match others < STREAMS_MAX {
            true => self.send_each(stream, response),
            false => {
                let busy = Response::text(503, "too many readers of a stream; try again");
                send(stream, &encode(&busy, false))
            }
        };
        self.stream_count.fetch_sub(1, Ordering::AcqRel);
        sent
    }

    fn send_each(&self, stream: &TcpStream, response: Response) -> io::Result<()> {
        send(stream, &encode(&response, true))?;
        let Body::Lines(mut lines) = response.body else {
            return Ok(());
        };
        loop {
            match lines.next(STREAM_CHECK) {
                NextLines::Text(text) => send(stream, &text)?,
                NextLines::End => return Ok(()),
                NextLines::Wait if self.ending.load(Ordering::Acquire) => return Ok(()),
                NextLines::Wait if has_gone(stream) => return Ok(()),
                NextLines::Wait => {}
            }
        }
    }

    /// The answer to a request, and whether only its head is wanted.
    fn respond(&self, head: &[u8]) -> (Response, bool) {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        if !matches!(parsed.parse(head), Ok(httparse::Status::Complete(_))) {
            return (Response::text(400, "this is no HTTP/1.1 request"), false);
        }
        let head_only = parsed.method == Some("HEAD");
        let header = |name: &str| {
            let found = parsed
                .headers
                .iter()
                .find(|h| h.name.eq_ignore_ascii_case(name));
            found
                .and_then(|h| std::str::from_utf8(h.value).ok())
                .unwrap_or_default()
        };
        if !self.is_permitted(header("authorization"), header("host")) {
            let mut response =
                Response::text(401, "a token is needed: Authorization: Bearer TOKEN");
            response.headers = &[("WWW-Authenticate", "Bearer realm=\"filermark\"")];
            if self.token.is_none() {
                response = Response::text(403, "the header Host names another host");
            }
            return (response, head_only);
        }
        if !matches!(parsed.method, Some("GET" | "HEAD")) {
            let mut response = Response::text(405, "only GET and HEAD are answered");
            response.headers = &[("Allow", "GET, HEAD")];
            return (response, head_only);
        }
        let path = parsed.path.unwrap_or_default();
        let request = Request {
            path: path.split('?').next().unwrap_or_default().to_owned(),
            accept: header("accept").to_owned(),
        };
        ((self.answer)(&request), head_only)
    }

    /// With a token: it has to be given. Without one: the request has to name this host, so that a
    /// page of another host cannot read this one by a name that leads here.
    fn is_permitted(&self, authorization: &str, host: &str) -> bool {
        let Some(token) = &self.token else {
            return self.is_local && (host.is_empty() || is_own_name(host));
        };
        let (scheme, given) = authorization.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && token.agrees(given.trim())
    }
}

/// `localhost` or a loopback address, with or without a port.
fn is_own_name(host: &str) -> bool {
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    host.parse::<SocketAddr>()
        .is_ok_and(|a| is_loopback(a.ip()))
        || without_port.parse().is_ok_and(is_loopback)
        || without_port.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
}

/// Reads to the empty line, within the limits.
fn read_head(mut stream: &TcpStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < REQUEST_LEN_MAX {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut part)? {
            0 => break,
            len => head.extend_from_slice(&part[..len]),
        }
    }
    Ok(head)
}

/// Whether the reader has closed its connection; what it sends after the request is ignored.
fn has_gone(mut stream: &TcpStream) -> bool {
    let mut part = [0; 1024];
    let read = stream
        .set_nonblocking(true)
        .and_then(|()| stream.read(&mut part));
    let blocks = stream.set_nonblocking(false);
    match read {
        Ok(len) => len == 0 || blocks.is_err(),
        Err(e) => e.kind() != io::ErrorKind::WouldBlock || blocks.is_err(),
    }
}

/// Sends a text within the limit.
fn send(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    let until = Instant::now() + WRITE_MAX;
    let mut text = text.as_bytes();
    while !text.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        let len = stream.write(text)?;
        if len == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        text = &text[len..];
    }
    Ok(())
}

/// The time that is left; it is not zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn encode(response: &Response, head_only: bool) -> String {
    let reason = match response.status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    };
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n",
        response.status, response.content_type,
    );
    if let Body::Text(body) = &response.body {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (name, value) in response.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    if let (Body::Text(body), false) = (&response.body, head_only) {
        text.push_str(body);
    }
    text
}

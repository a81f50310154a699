//! The client: asks a server of this program for lines, which it reads as they come.

use super::Token;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Time limits of connecting, and of sending the request and reading the head of the answer.
const CONNECT_MAX: Duration = Duration::from_secs(5);
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Most bytes and headers of the head of an answer.
const HEAD_LEN_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// Longest name of a host.
const HOST_LEN_MAX: usize = 255;

/// The server of a run: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// A name or an address, without brackets.
    host: String,
    port: u16,
}

impl ServerUrl {
    /// `PORT` (of 127.0.0.1) or `http://HOST:PORT`, with or without a path.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(port) = text.parse::<u16>()
            && port > 0
        {
            let host = "127.0.0.1".to_owned();
            return Ok(Self { host, port });
        }
        Self::parse_url(text).ok_or_else(|| {
            "give the port of `run --metrics PORT`, or its address, such as 9464 or \
             http://127.0.0.1:9464 (there is no https)"
                .to_owned()
        })
    }

    fn parse_url(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let pair = rest.split(['/', '?', '#']).next()?;
        let (host, port) = pair.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let is_fine = match inner {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
                (1..=HOST_LEN_MAX).contains(&host.len()) && host.bytes().all(allowed)
            }
        };
        let host = inner.unwrap_or(host).to_owned();
        is_fine.then_some(Self { host, port })
    }

    /// The port, for messages.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as in an address.
    fn pair(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::from(ErrorKind::NotFound);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_MAX) {
                Ok(stream) => return Ok(stream),
                Err(e) => last = e,
            }
        }
        Err(last)
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.pair())
    }
}

/// Why there are no lines.
#[derive(Debug)]
pub enum GetError {
    /// There is no connection, or it has failed.
    Connection(io::Error),
    /// The answer is no HTTP.
    NotHttp,
    /// The status is not 200.
    Status(u16),
}

impl From<io::Error> for GetError {
    fn from(e: io::Error) -> Self {
        Self::Connection(e)
    }
}

/// The lines of an answer. A read waits up to the time that was given, then fails with
/// [`ErrorKind::WouldBlock`] or [`ErrorKind::TimedOut`].
pub struct Lines {
    stream: TcpStream,
    /// What came with the head.
    first: Vec<u8>,
}

impl Read for Lines {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        if self.first.is_empty() {
            return self.stream.read(part);
        }
        let len = part.len().min(self.first.len());
        part[..len].copy_from_slice(&self.first[..len]);
        self.first.drain(..len);
        Ok(len)
    }
}

/// Asks for the lines at a path; `wait`: the longest wait of a read for more of them.
///
/// # Errors
/// There is no connection, or another answer.
pub fn get_lines(
    url: &ServerUrl,
    path: &str,
    token: Option<&Token>,
    wait: Duration,
) -> Result<Lines, GetError> {
    let mut stream = url.connect()?;
    stream.set_write_timeout(Some(HEAD_MAX))?;
    let pair = url.pair();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {pair}\r\nConnection: close\r\n");
    stream.write_all(head.as_bytes())?;
    if let Some(token) = token {
        stream.write_all(token.header().as_bytes())?;
    }
    stream.write_all(b"\r\n")?;
    let (status, first) = read_head(&mut stream)?;
    if status != 200 {
        return Err(GetError::Status(status));
    }
    stream.set_read_timeout(Some(wait))?;
    Ok(Lines { stream, first })
}

/// The status, and what came after the head.
fn read_head(stream: &mut TcpStream) -> Result<(u16, Vec<u8>), GetError> {
    let until = Instant::now() + HEAD_MAX;
    let mut text = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(ErrorKind::TimedOut).into());
        }
        stream.set_read_timeout(Some(left))?;
        let len = match stream.read(&mut part) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::from(ErrorKind::TimedOut).into());
            }
            read => read?,
        };
        text.extend_from_slice(&part[..len]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&text) {
            Ok(httparse::Status::Complete(at)) => {
                let status = response.code.ok_or(GetError::NotHttp)?;
                return Ok((status, text.split_off(at)));
            }
            Ok(httparse::Status::Partial) if len > 0 && text.len() < HEAD_LEN_MAX => {}
            _ => return Err(GetError::NotHttp),
        }
    }
}

//! Where the server listens, and the token that requests from other hosts need.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use zeroize::Zeroizing;

/// Lengths of a token, in characters.
const TOKEN_LEN: std::ops::RangeInclusive<usize> = 16..=256;

/// Address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

impl Listen {
    /// A port of 127.0.0.1; 0: a free one.
    pub fn local(port: u16) -> Self {
        Self(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    /// `PORT` (of 127.0.0.1) or `ADDR:PORT`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        if let Ok(port) = port.parse::<u16>() {
            return Ok(Self::local(port));
        }
        text.parse().map(Self).map_err(|_| {
            "give a port, or an address and a port, such as 9464, 10.0.0.7:9464 or [::1]:9464"
                .to_owned()
        })
    }

    /// Whether only this host can reach it.
    pub fn is_local(self) -> bool {
        self.0.ip().is_loopback()
    }
}

/// The token of `Authorization: Bearer`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Checks a token; white space around it is ignored.
    ///
    /// # Errors
    /// It has another length, or other characters than printable ASCII without spaces.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (least, most) = (TOKEN_LEN.start(), TOKEN_LEN.end());
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !printable || !TOKEN_LEN.contains(&text.len()) {
            return Err(format!(
                "a token has {least} to {most} printable ASCII characters without spaces; \
                 make one: openssl rand -hex 24"
            ));
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// The file cannot be read, or has no token.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = Zeroizing::new(String::new());
        let most = *TOKEN_LEN.end() as u64 + 64;
        std::fs::File::open(path)
            .and_then(|file| file.take(most).read_to_string(&mut text))
            .map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
        Self::new(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// The header of a request that gives it, with its line end.
    pub fn header(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Authorization: Bearer {}\r\n", *self.0))
    }

    /// Compares in a time that does not depend on how many characters agree.
    pub fn agrees(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let pairs = own.iter().zip(given);
        let difference = pairs.fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
        own.len() == given.len() && difference == 0
    }
}

//! The introduction before the messages of prime and agent: the names of the agent, whether it
//! is accepted, and the invitation of an agent. One line each, with a length limit.
//!
//! ```text
//! filermark-agent NAME...                    agent to prime: the names that it goes by
//! filermark-welcome                          prime to agent: begin
//! filermark-refused SENTENCE                 either to the other: no, and why
//! filermark-invitation SECRET PRIMEKEY PORT ADDRESS...
//!                                            to an agent, on its standard input
//! ```

use super::secret::Secret;
use super::{Identity, LinkRole, PublicKey, SecureError, SecureStream};
use filermark_model::text::one_line;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Longest line between prime and agent, in bytes, with its end.
pub const LINE_LEN_MAX: usize = 512;
/// Longest invitation, in bytes, with its end.
pub const INVITATION_LEN_MAX: usize = 4096;
/// Names of an agent at most.
pub const NAMES_MAX: usize = 4;
/// Longest name of a host, in bytes.
pub const NAME_LEN_MAX: usize = 253;
/// Addresses of an invitation at most.
pub const ADDRESSES_MAX: usize = 12;

const AGENT: &str = "filermark-agent";
const WELCOME: &str = "filermark-welcome";
const REFUSED: &str = "filermark-refused";
const INVITATION: &str = "filermark-invitation";

/// The name of a host: as in the rc file, the host's own name, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// # Errors
    /// It is not valid: the reason.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-:%[]".contains(c);
        if text.is_empty() || text.len() > NAME_LEN_MAX {
            Err("a host name has 1 to 253 characters")
        } else if !text.chars().all(allowed) {
            Err("a host name has letters, digits and ._- only")
        } else if text.starts_with('-') {
            Err("a host name does not begin with -")
        } else {
            Ok(Self(text.into()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A line of the introduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloLine {
    /// The agent's names, the preferred one first; at least one.
    Agent(Vec<HostName>),
    /// The prime accepts the agent.
    Welcome,
    /// A rejection, with the reason.
    Refused(String),
}

impl HelloLine {
    /// Parses a line without its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, &'static str> {
        if line.len() >= LINE_LEN_MAX {
            return Err("it is too long");
        }
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            AGENT => {
                let names: Vec<_> = rest
                    .split(' ')
                    .map(HostName::parse)
                    .collect::<Result<_, _>>()?;
                if names.len() > NAMES_MAX {
                    return Err("it has too many names");
                }
                Ok(Self::Agent(names))
            }
            WELCOME if rest.is_empty() => Ok(Self::Welcome),
            REFUSED => {
                // A replaced character is longer than a control character.
                let mut text = one_line(rest);
                text.truncate(text.floor_char_boundary(LINE_LEN_MAX - REFUSED.len() - 2));
                Ok(Self::Refused(text))
            }
            _ => Err("it begins with another word"),
        }
    }

    /// The line with its end; never longer than [`LINE_LEN_MAX`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut line = match self {
            Self::Agent(names) => {
                let mut line = AGENT.to_string();
                for name in names.iter().take(NAMES_MAX) {
                    // Names that do not fit are left out; one always fits.
                    if line.len() + name.0.len() + 2 <= LINE_LEN_MAX {
                        line.push(' ');
                        line.push_str(&name.0);
                    }
                }
                line
            }
            Self::Welcome => WELCOME.to_string(),
            Self::Refused(sentence) => {
                let mut line = format!("{REFUSED} {}", one_line(sentence));
                line.truncate(line.floor_char_boundary(LINE_LEN_MAX - 1));
                line
            }
        };
        line.push('\n');
        line.into_bytes()
    }
}

/// Says a line.
///
/// # Errors
/// The connection ended.
pub fn write_line(secured: &SecureStream, line: &HelloLine) -> Result<(), SecureError> {
    // One line always fits into the socket's buffer: this does not block.
    (&secured.stream).write_all(&line.to_bytes())?;
    Ok(())
}

/// Sends a rejection, and waits until it has been sent.
pub fn refuse(secured: &SecureStream, sentence: String) {
    let _ = write_line(secured, &HelloLine::Refused(sentence));
    let _ = secured.stream.shutdown(Shutdown::Write);
}

/// Reads a line until the deadline; no further byte is consumed.
///
/// # Errors
/// The connection ended, the deadline passed, or the line is not valid.
pub fn read_line(secured: &SecureStream, deadline: Instant) -> Result<HelloLine, SecureError> {
    let since = Instant::now();
    let mut line = Vec::new();
    let mut byte = [0];
    let line = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SecureError::TimedOut(since.elapsed()));
        }
        secured.stream.set_read_timeout(Some(left))?;
        match (&secured.stream).read(&mut byte) {
            Ok(0) => return Err(ended(secured)),
            Ok(_) if byte[0] == b'\n' => break line,
            Ok(_) => line.push(byte[0]),
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if line.len() >= LINE_LEN_MAX {
            return Err(SecureError::Malformed("it is too long".into()));
        }
    };
    secured.stream.set_read_timeout(None)?;
    HelloLine::parse(&line).map_err(|reason| SecureError::Malformed(reason.into()))
}

fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// The end of the stream, with the reason from the relay.
fn ended(secured: &SecureStream) -> SecureError {
    secured.hold.wait_ended(Duration::from_millis(200));
    match secured.hold.failure_text() {
        Some(_) if secured.hold.was_refused() => SecureError::KeyRefused,
        Some(reason) => SecureError::Io(reason),
        None => SecureError::Closed,
    }
}

/// The addresses of the prime for an agent, the secret of the agent, and the key of the prime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The secret of the agents of this run.
    pub secret: Secret,
    /// The public key of the prime of this run.
    pub prime: PublicKey,
    /// The port of the prime.
    pub port: u16,
    /// Names or addresses of the prime, to be tried in turn; at least one.
    pub addresses: Vec<HostName>,
}

impl Invitation {
    /// Parses a line without its end.
    ///
    /// # Errors
    /// What is wrong with it; never its contents.
    pub fn parse(line: &[u8]) -> Result<Self, &'static str> {
        if line.len() >= INVITATION_LEN_MAX {
            return Err("it is too long");
        }
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
        let mut reason = text.trim_end_matches('\r').split(' ');
        if reason.next() != Some(INVITATION) {
            return Err("it begins with another word");
        }
        let secret = Secret::parse(reason.next().unwrap_or_default())
            .map_err(|_| "its secret is not valid or weak")?;
        let prime = PublicKey::parse(reason.next().unwrap_or_default())
            .map_err(|_| "the key of the prime is not valid")?;
        let port = reason.next().and_then(|port| port.parse().ok());
        let port = port.filter(|p| *p != 0).ok_or("its port is not valid")?;
        let addresses: Vec<_> = reason.map(HostName::parse).collect::<Result<_, _>>()?;
        if addresses.is_empty() || addresses.len() > ADDRESSES_MAX {
            return Err("it has no addresses, or too many");
        }
        Ok(Self {
            secret,
            prime,
            port,
            addresses,
        })
    }

    /// The identity of an invited agent, which accepts this prime only.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn identity(&self) -> Result<Identity, String> {
        Identity::new(&self.secret, LinkRole::Agent, [self.prime])
    }

    /// The line with its end. It contains the secret: for a pipe, not for a log.
    pub fn to_line(&self) -> Zeroizing<String> {
        // Allocated once: a growing buffer would leave copies of the secret in memory.
        let mut line = Zeroizing::new(String::with_capacity(INVITATION_LEN_MAX));
        for part in [INVITATION, " ", &self.secret.to_hex()] {
            line.push_str(part);
        }
        line.push_str(&format!(" {} {}", self.prime, self.port));
        for address in self.addresses.iter().take(ADDRESSES_MAX) {
            line.push(' ');
            line.push_str(address.as_str());
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(names: &[&str]) -> Vec<HostName> {
        names.iter().map(|n| HostName::parse(n).unwrap()).collect()
    }

    /// Also writes them to the directory in FILERMARK_FUZZ_SEEDS, for ci/fuzz.
    #[test]
    fn lines_are_parsed_as_they_were_encoded() {
        let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS").map(std::path::PathBuf::from);
        let seed = |name: &str, line: &[u8]| {
            if let Some(corpus) = &corpus {
                let dir = corpus.join("introduction");
                std::fs::create_dir_all(&dir).unwrap();
                std::fs::write(dir.join(name), line).unwrap();
            }
        };
        let lines = [
            (
                "agent",
                HelloLine::Agent(names(&["n1", "n1.lab.example", "::1"])),
            ),
            ("welcome", HelloLine::Welcome),
            (
                "refused",
                HelloLine::Refused("no client of that name".into()),
            ),
        ];
        for (name, line) in lines {
            let bytes = line.to_bytes();
            let (end, text) = bytes.split_last().unwrap();
            assert_eq!(*end, b'\n');
            assert_eq!(HelloLine::parse(text), Ok(line));
            seed(name, text);
        }
        let prime = PublicKey::of(&Secret::random().unwrap()).unwrap();
        let invitation = Invitation {
            secret: Secret::random().unwrap(),
            prime,
            port: 4711,
            addresses: names(&["10.0.0.1", "fe80::1%eth0", "prime"]),
        };
        let line = invitation.to_line();
        let text = line.strip_suffix('\n').unwrap();
        assert_eq!(Invitation::parse(text.as_bytes()), Ok(invitation));
        seed("invitation", text.as_bytes());
    }

    #[test]
    fn invalid_lines_are_refused() {
        for wrong in [
            "",
            "filermark-agent",
            "filermark-agent ",
            "filermark-agent a  b",
            "filermark-agent a\tb",
            "filermark-agent -o",
            "filermark-agent a b c d e",
            "filermark-agent ä",
            "filermark-welcome you",
            "GET / HTTP/1.1",
        ] {
            assert!(HelloLine::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert!(HelloLine::parse(&[b'x'; LINE_LEN_MAX]).is_err());
        let secret = "00112233445566778899aabbccddeeff";
        let keys = format!("{secret} {secret}{secret}");
        for wrong in [
            String::new(),
            "filermark-invitation".into(),
            format!("filermark-invitation {keys}"),
            format!("filermark-invitation {secret} 1 a"),
            format!("filermark-invitation {keys} 1"),
            format!("filermark-invitation {keys} 0 a"),
            format!("filermark-invitation {keys} 70000 a"),
            format!("filermark-invitation {} 1 a", &keys[..90]),
            format!("filermark-invitation {} 1 a", &keys[3..]),
            format!("filermark-invitation {keys} 1{}", " a".repeat(13)),
            format!("filermark-invitation {keys} 1 a;b"),
        ] {
            assert!(Invitation::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn lines_are_within_the_limit_and_messages_are_one_line() {
        let long = names(&[&"x".repeat(253), &"y".repeat(253), "z"]);
        let line = HelloLine::Agent(long).to_bytes();
        assert!(line.len() <= LINE_LEN_MAX);
        assert!(
            matches!(HelloLine::parse(&line[..line.len() - 1]), Ok(HelloLine::Agent(n)) if n.len() == 2)
        );
        let line = HelloLine::Refused(format!("two\nlines {}", "ä".repeat(600))).to_bytes();
        assert!(line.len() <= LINE_LEN_MAX);
        assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
    }

    proptest! {
        #[test]
        fn no_bytes_make_them_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = HelloLine::parse(&bytes);
            let _ = Invitation::parse(&bytes);
        }

        #[test]
        fn no_text_makes_them_panic(text in "filermark-(agent|refused|invitation) \\PC{0,80}") {
            if let Ok(line) = HelloLine::parse(text.as_bytes()) {
                let bytes = line.to_bytes();
                prop_assert_eq!(HelloLine::parse(&bytes[..bytes.len() - 1]), Ok(line));
            }
        }
    }
}

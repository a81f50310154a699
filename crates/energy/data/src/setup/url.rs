//! Parses the URLs of sources: `scheme://[user@]host[:port][/path][?key=value]`.
//!
//! Stricter than RFC 3986 on purpose: unknown parts are refused, not ignored.

use std::net::Ipv6Addr;

/// Longest source, in bytes.
pub(super) const TEXT_LEN_MAX: usize = 4096;
/// Longest name of a host (RFC 1035).
const HOST_LEN_MAX: usize = 253;

/// The parts of a URL after `scheme://`.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// The part before `@`, decoded.
    pub user: Option<String>,
    /// Name or address; of IPv6 without brackets.
    pub host: String,
    /// The port, if it is given.
    pub port: Option<u16>,
    /// From the first `/`; empty without one.
    pub path: &'a str,
    query: Vec<(&'a str, String)>,
}

impl<'a> Parts<'a> {
    /// Parses the part after `scheme://`.
    ///
    /// # Errors
    /// What is wrong and what to write instead.
    pub fn new(rest: &'a str) -> Result<Self, String> {
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let slash = before.find('/').unwrap_or(before.len());
        let (authority, path) = before.split_at(slash);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user_of(user)?), host),
            None => (None, authority),
        };
        let (host, port) = host_and_port(host)?;
        if let Some(bad) = path.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(format!(
                "the path has the character {bad:?}; write it percent-encoded, as %20"
            ));
        }
        let query = pairs(query)?;
        Ok(Self {
            user,
            host,
            port,
            path,
            query,
        })
    }

    /// Takes the value of a key out of the query.
    pub fn take(&mut self, key: &str) -> Option<String> {
        let at = self.query.iter().position(|(known, _)| *known == key)?;
        Some(self.query.swap_remove(at).1)
    }

    /// Checks that the query has no other keys than those that were taken.
    ///
    /// # Errors
    /// The unknown key, and the known ones.
    pub fn finish(&self, known: &str) -> Result<(), String> {
        match self.query.first() {
            None => Ok(()),
            Some((key, _)) if known.is_empty() => {
                Err(format!("\"{key}\" is not known here: nothing may follow ?"))
            }
            Some((key, _)) => Err(format!(
                "\"{key}\" is not known here; allowed after ? are {known}"
            )),
        }
    }
}

fn user_of(text: &str) -> Result<String, String> {
    if text.contains(':') {
        return Err(
            "a password is not allowed in a URL: write it into a file that only you can read, \
             and add ?password-file=FILE, or set FILERMARK_METER_PASSWORD"
                .into(),
        );
    }
    let user = decode(text)?;
    if user.is_empty() || user.chars().any(char::is_control) {
        return Err("the part before @ is not a valid user; leave @ out, or name a user".into());
    }
    Ok(user)
}

fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((host, port)) = rest.split_once(']') else {
            return Err("a bracket is not closed; write an IPv6 address as [fe80::1]".into());
        };
        if host.parse::<Ipv6Addr>().is_err() {
            return Err(format!("[{host}] is not an IPv6 address"));
        }
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            None => return Err("after ] comes :PORT or nothing".into()),
            some => some,
        };
        (host, port)
    } else {
        if text.matches(':').count() > 1 {
            return Err("write an IPv6 address in brackets: [fe80::1]".into());
        }
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() {
        return Err("no host is named; write it after //, as scpi://meter.example".into());
    }
    if host.len() > HOST_LEN_MAX || !host.chars().all(fits) {
        return Err("the host is neither a name nor an address".into());
    }
    let port = match port {
        None => None,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => Some(port),
            _ => return Err("the port is a number from 1 to 65535".into()),
        },
    };
    Ok((host.to_owned(), port))
}

fn pairs(query: &str) -> Result<Vec<(&str, String)>, String> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("\"{pair}\" has no value; write {pair}=VALUE"));
        };
        if found.iter().any(|(known, _)| *known == key) {
            return Err(format!("\"{key}\" occurs twice"));
        }
        let value = decode(value)?;
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err(format!("\"{key}\" has no valid value"));
        }
        found.push((key, value));
    }
    Ok(found)
}

/// `%41` is `A`.
fn decode(text: &str) -> Result<String, String> {
    let bad = || format!("\"{text}\": after % come two hexadecimal digits; a % itself is %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(bad());
        };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// The inverse of [`decode`]: reserved characters are percent-encoded.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The host as it is written in a URL.
pub(super) fn host(text: &str) -> String {
    if text.contains(':') {
        format!("[{text}]")
    } else {
        text.to_owned()
    }
}

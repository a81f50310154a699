//! RPC-with-TLS (RFC 9289) by Python's `ssl`, which is OpenSSL: the other implementation. A proxy in front of
//! a server without TLS, and a client that makes a few calls.

use crate::tools::need;
use crate::{Error, Result};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROXY: &str = include_str!("openssl/proxy.py");
const CLIENT: &str = include_str!("openssl/client.py");

/// The files of one end.
#[derive(Debug, Clone, Copy)]
pub struct TlsFiles<'a> {
    /// Its certificate and private key (PEM).
    pub own: Option<(&'a Path, &'a Path)>,
    /// Certificates of the authorities that it trusts (PEM).
    pub authorities: Option<&'a Path>,
}

impl TlsFiles<'_> {
    fn args(&self, command: &mut Command) {
        if let Some((certificate, key)) = self.own {
            command.arg("--cert").arg(certificate).arg("--key").arg(key);
        }
        if let Some(authorities) = self.authorities {
            command.arg("--ca").arg(authorities);
        }
    }
}

fn python(script: &str) -> Result<Command> {
    need(&[("python3", "python3")])?;
    let mut command = Command::new("python3");
    command.arg("-c").arg(script);
    Ok(command)
}

/// A server that ends TLS and passes calls and replies on in the clear, on 127.0.0.1 in the network of the
/// thread that starts it. It asks clients for a certificate where it has authorities.
#[derive(Debug)]
pub struct OpensslProxy {
    child: Child,
    address: SocketAddr,
}

impl OpensslProxy {
    /// Starts it in front of this server.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without Python; otherwise what failed.
    pub fn start(files: TlsFiles<'_>, backend: SocketAddr) -> Result<OpensslProxy> {
        let mut command = python(PROXY)?;
        files.args(&mut command);
        command.arg(backend.ip().to_string());
        command.arg(backend.port().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Error::io("start python3"))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(Error::io("read the port of the proxy"))?;
        }
        let Ok(port) = line.trim().parse::<u16>() else {
            let _ = child.kill();
            let _ = child.wait();
            let reason = std::io::Error::other(format!("it printed {line:?}"));
            return Err(Error::io("start the proxy")(reason));
        };
        let address = ([127, 0, 0, 1], port).into();
        Ok(OpensslProxy { child, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for OpensslProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls a server over TLS: the call with AUTH_TLS, the handshake, `calls` NULL calls, and another call
/// with AUTH_TLS. Returns a line for each of these.
///
/// # Errors
///
/// [`Error::Unavailable`] without Python; otherwise what failed, with the output.
pub fn openssl_client(
    files: TlsFiles<'_>,
    server: SocketAddr,
    name: &str,
    calls: u32,
) -> Result<Vec<String>> {
    let mut command = python(CLIENT)?;
    files.args(&mut command);
    command.arg(server.ip().to_string());
    command.arg(server.port().to_string());
    command.arg(name).arg(calls.to_string());
    let output = command.output().map_err(Error::io("start python3"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

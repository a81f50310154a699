//! A small blocking client of SMB2: what the load driver does, one request at a time.

use filermark_model::secret::Secret;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::auth::Authenticator;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::frame::{self, Front, MARK};
use filermark_smbwire::ntlm::{Anonymous, Identity, Ntlm};
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::smb2::{Handshake, Header, Messages, Request, Session};
use filermark_smbwire::status;
use filermark_testbed::Samba;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A wait that no sound server needs.
const LIMIT: Duration = Duration::from_secs(20);

/// A connection to the server under test.
pub struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Wire {
    pub fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&server, LIMIT).expect("connect");
        stream.set_read_timeout(Some(LIMIT)).expect("timeout");
        stream.set_nodelay(true).expect("no delay");
        Self {
            stream,
            received: Vec::new(),
        }
    }

    pub fn send(&mut self, frames: &[u8]) {
        self.stream.write_all(frames).expect("send");
    }

    /// The next message, without its mark.
    pub fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        loop {
            match frame::front(&self.received, 1 << 24).expect("a mark") {
                Front::Complete(length) => {
                    let message = self.received[MARK..MARK + length].to_vec();
                    self.received.drain(..MARK + length);
                    return Ok(message);
                }
                Front::Incomplete(_) => {
                    let mut bytes = [0; 65_536];
                    let read = self.stream.read(&mut bytes)?;
                    if read == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    self.received.extend_from_slice(&bytes[..read]);
                }
            }
        }
    }

    pub fn shake(&mut self, mut handshake: Handshake) -> Result<Session, SetupError> {
        let mut out = Vec::new();
        handshake.first(&mut out)?;
        loop {
            self.send(&out);
            out.clear();
            let message = self.receive().expect("a reply to a handshake");
            match handshake.reply(&message, &mut out)? {
                Next::Ready(session) => return Ok(*session),
                Next::Send => assert!(!out.is_empty()),
                Next::Pending => assert!(out.is_empty()),
            }
        }
    }
}

/// A session on a connection of its own.
pub struct Client {
    pub wire: Wire,
    pub session: Session,
}

impl Client {
    pub fn open(
        server: SocketAddr,
        settings: Settings,
        auth: Box<dyn Authenticator>,
    ) -> Result<Self, SetupError> {
        let mut wire = Wire::connect(server);
        let session = wire.shake(Handshake::new(settings, auth))?;
        Ok(Self { wire, session })
    }

    /// Sends one request.
    pub fn ask<R: Request>(&mut self, request: &R) -> u64 {
        let charge = self.session.charge(request.charged_bytes());
        self.ask_with(charge, |session, out, id| {
            session.request(out, id, request);
        })
    }

    pub fn ask_with(&mut self, charge: u16, put: impl Fn(&Session, &mut Vec<u8>, u64)) -> u64 {
        let id = self.session.credits.take(charge).expect("credits");
        let mut out = Vec::new();
        let frame = self.session.begin(&mut out);
        put(&self.session, &mut out, id);
        self.session.protect(&mut out, frame);
        self.wire.send(&out);
        id
    }

    /// Takes a request back.
    pub fn cancel(&mut self, message_id: u64, async_id: Option<u64>) {
        let mut out = Vec::new();
        let frame = self.session.begin(&mut out);
        self.session.cancel(&mut out, message_id, async_id);
        self.session.protect(&mut out, frame);
        self.wire.send(&out);
    }

    /// The messages of the next frame.
    pub fn answers(&mut self) -> Vec<(Header, Vec<u8>)> {
        let mut bytes = self.wire.receive().expect("a reply");
        let plain = self.session.unprotect(&mut bytes).expect("a sound reply");
        let all: Vec<_> = Messages::new(plain)
            .map(|m| m.map(|(header, message)| (header, message.to_vec())))
            .collect::<Result<_, _>>()
            .expect("sound messages");
        for (header, _) in &all {
            self.session.credits.grant(header.credits);
        }
        all
    }

    /// The final answer to a request.
    pub fn answer(&mut self, id: u64) -> (Header, Vec<u8>) {
        loop {
            for (header, message) in self.answers() {
                if header.message_id == id && !header.is_interim() {
                    return (header, message);
                }
            }
        }
    }

    /// Sends a request, which must succeed, and gives the message of its answer.
    #[track_caller]
    pub fn must<R: Request>(&mut self, request: &R) -> Vec<u8> {
        let (header, message) = self.call(request);
        assert_eq!(status::text(header.status), "STATUS_SUCCESS");
        message
    }

    /// Sends a request, and gives what its status is called.
    pub fn status<R: Request>(&mut self, request: &R) -> String {
        status::text(self.call(request).0.status)
    }

    /// Sends a request and takes its answer.
    pub fn call<R: Request>(&mut self, request: &R) -> (Header, Vec<u8>) {
        let id = self.ask(request);
        self.answer(id)
    }
}

pub fn settings(share: &str) -> Settings {
    Settings {
        dialects: (Dialect::V202, Dialect::V311),
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        server: "127.0.0.1".to_owned(),
        share: share.to_owned(),
        guest_allowed: false,
        client_guid: *b"filermark guid 1",
        random: *b"thirty-two bytes of poor chance!",
    }
}

/// The user of the test bed.
pub fn alice() -> Box<dyn Authenticator> {
    user(Samba::USER, Samba::PASSWORD)
}

pub fn user(name: &str, password: &str) -> Box<dyn Authenticator> {
    Box::new(Ntlm::new(Identity {
        username: name.to_owned(),
        password: Secret::new(password),
        domain: String::new(),
        workstation: String::new(),
        server: "127.0.0.1".to_owned(),
        random: [7; 32],
        filetime: 0,
    }))
}

pub fn anonymous() -> Box<dyn Authenticator> {
    Box::new(Anonymous::new())
}

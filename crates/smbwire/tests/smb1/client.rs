//! A small blocking client, one request at a time: what the codecs are tried with.

use filermark_model::secret::Secret;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::auth::Authenticator;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::frame;
use filermark_smbwire::ntlm::{Identity, Ntlm};
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::smb1::*;
use filermark_testbed::Samba;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Every right (MS-SMB2 2.2.13.1).
pub const ALL: u32 = 0x001F_01FF;
/// Others may read, write and delete.
pub const SHARE_ALL: u32 = 7;

/// Settings for a share of Samba's.
pub fn settings(share: &str) -> Settings {
    Settings {
        dialects: (Dialect::Nt1, Dialect::Nt1),
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        server: "127.0.0.1".into(),
        share: share.into(),
        guest_allowed: false,
        client_guid: [1; 16],
        random: [2; 32],
    }
}

/// A user with a password.
pub fn user(name: &str, password: &str) -> Box<dyn Authenticator> {
    let mut random = [0; 32];
    for (at, byte) in random.iter_mut().enumerate() {
        *byte = (at * 37 + 11) as u8;
    }
    Box::new(Ntlm::new(Identity {
        username: name.into(),
        password: Secret::new(password),
        domain: String::new(),
        workstation: "TESTER".into(),
        server: "127.0.0.1".into(),
        random,
        filetime: 0,
    }))
}

/// The fixture's user.
pub fn alice() -> Box<dyn Authenticator> {
    user(Samba::USER, Samba::PASSWORD)
}

/// A message of the server, and how to look into it.
#[derive(Debug)]
pub struct Answer(pub Vec<u8>);

impl Answer {
    pub fn reply(&self) -> Reply<'_> {
        Reply::read(&self.0).expect("a sound answer")
    }
    pub fn status(&self) -> u32 {
        self.reply().header.status
    }
    /// The same answer, which says success.
    pub fn ok(self) -> Self {
        assert_eq!(self.status(), 0, "{:#010x}", self.status());
        self
    }
    pub fn transaction(&self) -> Transaction<'_> {
        let part = Part::read(&self.reply()).expect("a transaction's answer");
        part.whole().expect("in one piece")
    }
}

#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    pub session: Session,
    mid: u16,
    /// Oplocks that the server broke on the way.
    pub breaks: Vec<OplockBreak>,
}

fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut mark = [0; frame::MARK];
    stream.read_exact(&mut mark).expect("a mark");
    let length = u32::from_be_bytes(mark) as usize;
    assert!(length <= frame::LENGTH_MAX, "{mark:?}");
    let mut message = vec![0; length];
    stream.read_exact(&mut message).expect("a message");
    message
}

impl Client {
    /// A session, or why there is none.
    pub fn new(
        samba: &Samba,
        settings: Settings,
        authenticator: Box<dyn Authenticator>,
    ) -> Result<Self, SetupError> {
        let address = samba.address();
        let stream = samba.sandbox().run(|| TcpStream::connect(address));
        let mut stream = stream.expect("connect to smbd");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream.set_write_timeout(Some(LIMIT)).expect("a limit");
        stream.set_nodelay(true).expect("no delay");
        let mut handshake = Handshake::new(settings, authenticator);
        let mut out = Vec::new();
        handshake.first(&mut out);
        loop {
            stream.write_all(&out).expect("send");
            out.clear();
            let message = receive(&mut stream);
            match handshake.reply(&message, &mut out)? {
                Next::Send => {}
                Next::Pending => panic!("nothing to wait for in SMB1"),
                Next::Ready(session) => {
                    return Ok(Self {
                        stream,
                        session: *session,
                        mid: 100,
                        breaks: Vec::new(),
                    });
                }
            }
        }
    }

    /// The fixture's user on its share.
    pub fn alice(samba: &Samba) -> Self {
        Self::new(samba, settings(Samba::DATA), alice()).expect("a session")
    }

    /// Sends a request; its mid and the number of its answer come back.
    pub fn send<R: Request>(&mut self, request: &R) -> (u16, u32) {
        self.mid += 1;
        let mut out = Vec::new();
        let number = self.session.put(&mut out, self.mid, request);
        self.stream.write_all(&out).expect("send");
        (self.mid, number)
    }

    /// Sends a request under another one's number.
    pub fn send_as<R: Request>(&mut self, mid: u16, request: &R) {
        let mut out = Vec::new();
        self.session.put(&mut out, mid, request);
        self.stream.write_all(&out).expect("send");
    }

    /// The next message that is no break of an oplock, checked.
    pub fn receive(&mut self, (mid, number): (u16, u32)) -> Answer {
        loop {
            let mut message = receive(&mut self.stream);
            let checked = self.session.unprotect(&mut message, number);
            let reply = Reply::read(checked.expect("a signature")).expect("sound");
            if reply.header.is_oplock_break() {
                let broken = OplockBreak::read(&reply).expect("a sound break");
                self.breaks.push(broken);
                continue;
            }
            assert!(reply.header.is_reply());
            assert_eq!(reply.header.mid, mid);
            return Answer(message);
        }
    }

    /// Waits for the break of an oplock.
    pub fn receive_break(&mut self) -> OplockBreak {
        let mut message = receive(&mut self.stream);
        let checked = self.session.unprotect(&mut message, 0).expect("unsigned");
        let reply = Reply::read(checked).expect("sound");
        assert!(reply.header.is_oplock_break(), "{:?}", reply.header);
        OplockBreak::read(&reply).expect("a sound break")
    }

    pub fn call<R: Request>(&mut self, request: &R) -> Answer {
        let sent = self.send(request);
        self.receive(sent)
    }

    /// Opens or makes a file.
    pub fn open(&mut self, path: Path<'_>, disposition: u32, options: u32) -> Created {
        let answer = self.call(&NtCreate {
            access: ALL,
            share: SHARE_ALL,
            disposition,
            options,
            path,
            ..NtCreate::default()
        });
        Created::read(&answer.ok().reply()).expect("an open file")
    }

    pub fn write(&mut self, fid: u16, offset: u64, data: &[u8]) -> u32 {
        self.mid += 1;
        let mut out = Vec::new();
        let frame_start = self.session.begin(&mut out);
        let request = WriteAndx {
            fid,
            offset,
            write_through: false,
        };
        let mark = request.begin(&self.session.head(self.mid), &mut out);
        out.extend_from_slice(data);
        assert_eq!(mark.finish(&mut out), data.len());
        let number = self.session.protect(&mut out, frame_start);
        self.stream.write_all(&out).expect("send");
        let answer = self.receive((self.mid, number)).ok();
        Written::read(&answer.reply()).expect("a count").count
    }

    pub fn read(&mut self, fid: u16, offset: u64, count: u32) -> Vec<u8> {
        let answer = self.call(&ReadAndx { fid, offset, count }).ok();
        let read = ReadData::read(&answer.reply()).expect("data");
        read.data.to_vec()
    }

    pub fn close(&mut self, fid: u16) {
        self.call(&Close { fid }).ok();
    }
}

//! From a fresh connection to a session with a tree, without I/O: NEGOTIATE,
//! SESSION_SETUP_ANDX as often as the proof takes, TREE_CONNECT_ANDX.

use super::header::{Command, flags2};
use super::reply::Reply;
use super::session::{Session, Signer};
use super::setup::{
    Negotiate, Negotiated, SessionAnswer, SessionSetup, TreeAnswer, TreeConnect, caps,
};
use super::writer::Request;
use crate::auth::{AuthError, Authenticator};
use crate::error::{DecodeError, SetupError};
use crate::settings::{Next, Settings, TransferLimits};
use crate::status;
use filermark_model::smb::{Dialect, Encryption, Signing};
use std::fmt;

/// STATUS_PATH_NOT_COVERED: the server refers elsewhere.
const PATH_NOT_COVERED: u32 = 0xC000_0257;
/// Bytes of a WRITE_ANDX or READ_ANDX around its data, rounded up.
const AROUND_DATA: u32 = 64;
/// Bytes of a transaction around its data.
const AROUND_TRANSACTION: u32 = 128;
/// Data of a large READ_ANDX or WRITE_ANDX: what every server takes that takes large
/// ones at all. Beyond 64 KiB the specification leaves it to the server.
const LARGE: u32 = 60 << 10;

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Negotiate,
    SessionSetup,
    TreeConnect,
}

impl Stage {
    const fn command(self) -> Command {
        match self {
            Self::Negotiate => Command::Negotiate,
            Self::SessionSetup => Command::SessionSetupAndx,
            Self::TreeConnect => Command::TreeConnectAndx,
        }
    }
}

/// Sets a session up.
pub struct Handshake {
    settings: Settings,
    authenticator: Box<dyn Authenticator>,
    stage: Stage,
    mid: u16,
    /// Whether messages are to be signed.
    sign: bool,
    /// The number that the answer to come is signed with, once there is a signer.
    expected: u32,
    /// The session key of NEGOTIATE's reply, to be sent back.
    session_key: u32,
    session: Session,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("stage", &self.stage)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Handshake {
    /// A handshake before its first message.
    pub fn new(settings: Settings, authenticator: Box<dyn Authenticator>) -> Self {
        Self {
            settings,
            authenticator,
            stage: Stage::Negotiate,
            mid: 0,
            sign: false,
            expected: 0,
            session_key: 0,
            session: Session {
                uid: 0,
                tid: 0,
                max_mpx: 1,
                max_buffer: 0,
                capabilities: 0,
                limits: TransferLimits {
                    read_max: 0,
                    write_max: 0,
                    transact_max: 0,
                },
                guest: false,
                in_dfs: false,
                signer: None,
                flags2: 0,
            },
        }
    }

    /// What is being asked for, for messages: `NEGOTIATE`.
    pub const fn step(&self) -> &'static str {
        self.stage.command().name()
    }

    /// Appends the first message, framed.
    pub fn first(&mut self, out: &mut Vec<u8>) {
        self.send(out, &Negotiate);
    }

    /// Takes a message of the server (without its mark) and appends the next one, framed.
    ///
    /// # Errors
    /// The server refuses, its reply is not valid, or it does not have what the settings require.
    pub fn reply(
        &mut self,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let reply = Reply::read(message).map_err(|e| self.bad(e))?;
        let header = &reply.header;
        if !header.is_reply() || header.command != self.stage.command().code() {
            return Err(self.bad(DecodeError::Bad("the command")));
        }
        if header.mid != self.mid {
            return Err(self.bad(DecodeError::Bad("the number of the request")));
        }
        match self.stage {
            Stage::Negotiate => self.negotiated(&reply, out),
            Stage::SessionSetup => self.session_answered(&reply, out),
            Stage::TreeConnect => self.tree_answered(&reply),
        }
    }

    fn bad(&self, error: DecodeError) -> SetupError {
        let step = self.step();
        SetupError::Reply { step, error }
    }

    fn refused(&self, reply: &Reply<'_>) -> SetupError {
        match reply.header.status {
            PATH_NOT_COVERED => SetupError::Dfs,
            status => SetupError::Refused {
                step: self.step(),
                status,
            },
        }
    }

    /// Appends a request of the handshake, framed, and signed once there is a key.
    fn send<R: Request>(&mut self, out: &mut Vec<u8>, request: &R) {
        self.mid += 1;
        self.expected = self.session.put(out, self.mid, request);
    }

    fn negotiated(
        &mut self,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        if reply.header.status != status::SUCCESS {
            return Err(self.refused(reply));
        }
        let theirs = Negotiated::read(reply)
            .map_err(|e| self.bad(e))?
            .ok_or(SetupError::NoDialect)?;
        for (needed, wanted) in [
            (caps::EXTENDED_SECURITY, "the login with security tokens"),
            (caps::UNICODE, "Unicode"),
            (caps::NT_SMBS, "NT_CREATE_ANDX"),
            (caps::STATUS32, "NTSTATUS"),
            (caps::LARGE_FILES, "64-bit offsets"),
        ] {
            if theirs.capabilities & needed == 0 {
                return Err(lacking(wanted, SERVER_LACKS));
            }
        }
        self.sign = wants_signing(&self.settings, &theirs)?;
        if self.sign {
            self.session.flags2 |= flags2::SIGNED;
            if self.settings.signing == Signing::Required {
                self.session.flags2 |= flags2::SIGNING_REQUIRED;
            }
        }
        self.session.max_mpx = theirs.max_mpx.max(1);
        self.session.max_buffer = theirs.max_buffer;
        self.session.capabilities = theirs.capabilities;
        self.session.limits = limits(&theirs, self.sign);
        self.session_key = theirs.session_key;
        self.stage = Stage::SessionSetup;
        self.log_in(theirs.token, out)?;
        Ok(Next::Send)
    }

    /// One leg of the proof.
    fn log_in(&mut self, theirs: &[u8], out: &mut Vec<u8>) -> Result<(), SetupError> {
        let token = self.authenticator.step(theirs)?;
        if token.len() > usize::from(u16::MAX) - 64 {
            // Tickets of users with very many groups.
            return Err(AuthError::Token("the answer to it is too long for SMB1").into());
        }
        let setup = SessionSetup {
            max_mpx: self.session.max_mpx,
            session_key: self.session_key,
            capabilities: caps::OURS & self.session.capabilities,
            token: &token,
        };
        self.send(out, &setup);
        Ok(())
    }

    fn session_answered(
        &mut self,
        reply: &Reply<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let more = match reply.header.status {
            status::SUCCESS => false,
            status::MORE_PROCESSING_REQUIRED => true,
            _ => return Err(self.refused(reply)),
        };
        let answer = SessionAnswer::read(reply).map_err(|e| self.bad(e))?;
        self.session.uid = reply.header.uid;
        if more {
            self.log_in(answer.token, out)?;
            return Ok(Next::Send);
        }
        self.session.guest = answer.guest;
        if answer.guest && !self.settings.guest_allowed {
            return Err(SetupError::GuestOnly);
        }
        if !answer.token.is_empty() && !self.authenticator.step(answer.token)?.is_empty() {
            return Err(
                AuthError::Token("it ends the login before the exchange is complete").into(),
            );
        }
        self.begin_signing(reply)?;
        self.stage = Stage::TreeConnect;
        let (server, share) = (self.settings.server.clone(), self.settings.share.clone());
        self.send(
            out,
            &TreeConnect {
                server: &server,
                share: &share,
            },
        );
        Ok(Next::Send)
    }

    /// Takes the key, and checks the answer that ended the login with it.
    fn begin_signing(&mut self, reply: &Reply<'_>) -> Result<(), SetupError> {
        let has_no_key = self.session.guest || self.authenticator.is_anonymous();
        if !self.sign || has_no_key {
            if self.settings.signing == Signing::Required {
                return Err(lacking(
                    "signing",
                    "guests and anonymous users have no key for it",
                ));
            }
            self.session.flags2 &= !(flags2::SIGNED | flags2::SIGNING_REQUIRED);
            return Ok(());
        }
        let signer = self.authenticator.session_key().and_then(Signer::new);
        let signer = signer.ok_or(AuthError::Token("it yields no key for signing"))?;
        signer
            .verify(reply.message, Signer::LOGIN_ANSWER)
            .map_err(|_| SetupError::Tampered("SESSION_SETUP_ANDX"))?;
        self.session.signer = Some(signer);
        Ok(())
    }

    fn tree_answered(&mut self, reply: &Reply<'_>) -> Result<Next<Session>, SetupError> {
        if let Some(signer) = &self.session.signer {
            signer
                .verify(reply.message, self.expected)
                .map_err(|_| SetupError::Tampered("TREE_CONNECT_ANDX"))?;
        }
        if reply.header.status != status::SUCCESS {
            return Err(self.refused(reply));
        }
        let answer = TreeAnswer::read(reply).map_err(|e| self.bad(e))?;
        self.session.tid = reply.header.tid;
        self.session.in_dfs = answer.in_dfs;
        let ready = Session {
            signer: self.session.signer.take(),
            ..self.session
        };
        Ok(Next::Ready(Box::new(ready)))
    }
}

/// Why not, where the dialect has it.
const SERVER_LACKS: &str = "the server does not offer it";

const fn lacking(wanted: &'static str, lacks: &'static str) -> SetupError {
    SetupError::Lacking {
        wanted,
        dialect: Dialect::Nt1,
        lacks,
    }
}

/// Whether to sign, as both sides wish and can.
fn wants_signing(settings: &Settings, theirs: &Negotiated<'_>) -> Result<bool, SetupError> {
    const HAS_NOT: &str = "the dialect does not have it";
    match settings.encryption {
        Encryption::Auto | Encryption::Off => {}
        _ => return Err(lacking("encryption", HAS_NOT)),
    }
    match settings.signing {
        Signing::Off if theirs.must_sign() => Err(SetupError::Requires("signing")),
        Signing::Off => Ok(false),
        Signing::Auto => Ok(theirs.must_sign()),
        Signing::Required if theirs.can_sign() => Ok(true),
        Signing::Required => Err(lacking("signing", SERVER_LACKS)),
        Signing::HmacSha256 => Err(lacking("signing with HMAC-SHA256", HAS_NOT)),
        Signing::AesCmac => Err(lacking("signing with AES-128-CMAC", HAS_NOT)),
        Signing::AesGmac => Err(lacking("signing with AES-128-GMAC", HAS_NOT)),
    }
}

/// How large transfers may be.
fn limits(theirs: &Negotiated<'_>, signed: bool) -> TransferLimits {
    let plain = theirs.max_buffer.saturating_sub(AROUND_DATA);
    // Whole pages where at least one fits.
    let plain = match plain {
        0..0x1000 => plain.max(1),
        _ => plain & !0xFFF,
    };
    let has = |bit| theirs.capabilities & bit != 0;
    TransferLimits {
        read_max: if has(caps::LARGE_READX) {
            LARGE
        } else {
            plain.min(LARGE)
        },
        // Servers check signatures in a buffer of the plain size (MS-SMB 3.2.4.15).
        write_max: match has(caps::LARGE_WRITEX) && !signed {
            true => LARGE,
            false => plain.min(LARGE),
        },
        transact_max: theirs
            .max_buffer
            .saturating_sub(AROUND_TRANSACTION)
            .clamp(1, LARGE),
    }
}

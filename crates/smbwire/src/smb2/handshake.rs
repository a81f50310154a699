//! From a new connection to a session and its tree: NEGOTIATE, SESSION_SETUP, TREE_CONNECT,
//! and, where a server that was offered 3.x has chosen less than 3.1.1, the check that the
//! negotiation was not changed (MS-SMB2 3.2.4.2, 3.2.5.2 to 3.2.5.5).
//!
//! It has no sockets: what is appended is sent, what comes is handed to
//! [`Handshake::reply`]. It logs in once and never again of its own accord.

mod bind;
mod choose;
pub(super) mod fuzzing;
mod negotiate;
mod setup;
mod tree;

use super::header::{self, Command, Header, flags};
use super::session::{CREDITS_ASKED, Session};
use super::{Credits, Messages, Request, Response};
use crate::auth::Authenticator;
use crate::crypto::seal::TRANSFORM_ID;
use crate::crypto::{Keys, Preauth};
use crate::error::{DecodeError, SetupError};
use crate::frame;
use crate::settings::{Next, Settings};
use crate::status;
use negotiate::Negotiated;

/// A handshake that is under way.
pub struct Handshake {
    settings: Settings,
    auth: Box<dyn Authenticator>,
    step: Step,
    /// Message id of the request whose reply is waited for.
    asked: u64,
    credits: Credits,
    preauth: Preauth,
    /// What was agreed on, once it is.
    negotiated: Option<Negotiated>,
    /// The session, as far as it has come; from the start in a new login.
    session: Option<Session>,
    session_id: u64,
    /// The session is to have several channels.
    has_channels: bool,
    /// The session that the connection is to be bound to.
    base: Option<Box<Session>>,
}

/// Which reply is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Negotiate,
    Setup,
    MoreProcessing,
    Tree,
    Validate,
    Done,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Negotiate => "NEGOTIATE",
            Self::Setup => "SESSION_SETUP",
            Self::MoreProcessing => "SESSION_SETUP of a session that has expired",
            Self::Tree => "TREE_CONNECT",
            Self::Validate => "FSCTL_VALIDATE_NEGOTIATE_INFO",
            Self::Done => "a handshake that is over",
        }
    }
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handshake({:?})", self.step)
    }
}

impl Handshake {
    /// On a new connection.
    pub fn new(settings: Settings, auth: Box<dyn Authenticator>) -> Self {
        Self {
            settings,
            auth,
            step: Step::Negotiate,
            asked: 0,
            credits: Credits::NEW,
            preauth: Preauth::new(),
            negotiated: None,
            session: None,
            session_id: 0,
            has_channels: false,
            base: None,
        }
    }

    /// A new login of a session that has expired (STATUS_NETWORK_SESSION_EXPIRED), on its
    /// connection, with its keys and its tree. Nothing else may be under way on the session
    /// until the new one is ready, which takes its place.
    pub fn again(session: &Session, settings: Settings, auth: Box<dyn Authenticator>) -> Self {
        Self {
            step: Step::MoreProcessing,
            credits: session.credits,
            session_id: session.session_id,
            session: Some(session.fork()),
            ..Self::new(settings, auth)
        }
    }

    /// Appends the first frame.
    ///
    /// # Errors
    /// No dialect is left to offer, or (in a new login) the user cannot be proved.
    pub fn first(&mut self, out: &mut Vec<u8>) -> Result<(), SetupError> {
        match self.step {
            Step::MoreProcessing => {
                let token = self.session()?.token.clone();
                self.send_token(&token, out)
            }
            _ => self.send_negotiate(out),
        }
    }

    /// Takes a message (without the frame's mark) and goes on. After an error there is
    /// nothing more to be had of it.
    ///
    /// # Errors
    /// There is no way to a session.
    pub fn reply(
        &mut self,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let result = self.take(message, out);
        if let Err(_) | Ok(Next::Ready(_)) = result {
            self.step = Step::Done;
        }
        result
    }

    fn take(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<Next<Session>, SetupError> {
        let was_sealed = message.starts_with(&TRANSFORM_ID);
        let mut copy = message.to_vec();
        let message = self.opened(&mut copy)?;
        let (header, message) = match Messages::new(message).next() {
            Some(Ok(first)) => first,
            Some(Err(error)) => return Err(self.bad(error)),
            None => return Err(self.bad(DecodeError::TooShort)),
        };
        self.check(&header)?;
        self.credits.grant(header.credits);
        if header.is_interim() {
            return Ok(Next::Pending);
        }
        match self.step {
            Step::Negotiate => self.on_negotiate(&header, message, out),
            Step::Setup => self.on_setup(&header, message, out),
            Step::MoreProcessing => self.on_again(&header, message, was_sealed, out),
            Step::Tree => self.on_tree_connect(&header, message, out),
            Step::Validate => self.on_validate(&header, message),
            Step::Done => Err(self.bad(DecodeError::Bad("the message"))),
        }
    }

    /// Decrypts what is encrypted, and checks the signatures of what the session has asked.
    fn opened<'a>(&mut self, message: &'a mut [u8]) -> Result<&'a [u8], SetupError> {
        let step = self.step;
        let Some(session) = &mut self.session else {
            return Ok(message);
        };
        if step == Step::MoreProcessing && message.starts_with(&header::PROTOCOL_ID) {
            return Ok(message); // it checks them itself
        }
        session.unprotect(message).map_err(|error| match error {
            DecodeError::Signature | DecodeError::Sealed => SetupError::Tampered(step.name()),
            error => SetupError::Reply {
                step: step.name(),
                error,
            },
        })
    }

    /// That it answers what was asked.
    fn check(&self, header: &Header) -> Result<(), SetupError> {
        if header.flags & flags::SERVER_TO_REDIR == 0 {
            return Err(self.bad(DecodeError::Bad("the direction of the message")));
        }
        if header.message_id != self.asked {
            return Err(self.bad(DecodeError::Bad("the message's id")));
        }
        Ok(())
    }

    /// Appends a request that no session protects yet; in a new login, the session does.
    fn send<R: Request>(&mut self, out: &mut Vec<u8>, request: &R) -> Result<(), SetupError> {
        let header = Header {
            session_id: match R::COMMAND {
                Command::Negotiate => 0,
                _ => self.session_id,
            },
            credits: CREDITS_ASKED,
            credit_charge: 0,
            ..Header::request(R::COMMAND, self.next_id()?)
        };
        let Some(session) = &mut self.session else {
            let frame = frame::begin(out);
            let message = header::append(out, &header, request);
            if header.session_id != 0 {
                self.sign_by_base(out.get_mut(message..).unwrap_or_default());
            }
            self.preauth.add(out.get(message..).unwrap_or_default());
            frame::finish(out, frame);
            return Ok(());
        };
        let frame = session.begin(out);
        let message = header::append(out, &header, request);
        if let (None, Some(signer)) = (&session.protection.seal, &session.protection.signer) {
            // Also where nothing else is signed: it is the login that is to be believed.
            signer.sign(out.get_mut(message..).unwrap_or_default());
        }
        session.protect(out, frame);
        Ok(())
    }

    /// Appends a request as the session protects it.
    fn send_protected<R: Request>(
        &mut self,
        out: &mut Vec<u8>,
        request: &R,
    ) -> Result<(), SetupError> {
        let id = self.next_id()?;
        let session = self.session_mut()?;
        let frame = session.begin(out);
        session.request(out, id, request);
        session.protect(out, frame);
        Ok(())
    }

    fn next_id(&mut self) -> Result<u64, SetupError> {
        let none = self.bad(DecodeError::Bad("the number of credits granted (none)"));
        self.asked = self.credits.take(1).ok_or(none)?;
        Ok(self.asked)
    }

    /// Gives the session away.
    fn ready(&mut self) -> Result<Next<Session>, SetupError> {
        let over = self.bad(DecodeError::Bad("the message"));
        let mut session = self.session.take().ok_or(over)?;
        session.credits = self.credits;
        if let Some(agreed) = &self.negotiated {
            session.protection.sign = agreed.sign && session.protection.signer.is_some();
        }
        Ok(Next::Ready(Box::new(session)))
    }

    fn negotiated(&self) -> Result<&Negotiated, SetupError> {
        let none = self.bad(DecodeError::Bad("the message"));
        self.negotiated.as_ref().ok_or(none)
    }

    fn session(&self) -> Result<&Session, SetupError> {
        let none = self.bad(DecodeError::Bad("the message"));
        self.session.as_ref().ok_or(none)
    }

    fn session_mut(&mut self) -> Result<&mut Session, SetupError> {
        let none = self.bad(DecodeError::Bad("the message"));
        self.session.as_mut().ok_or(none)
    }

    const fn bad(&self, error: DecodeError) -> SetupError {
        SetupError::Reply {
            step: self.step.name(),
            error,
        }
    }

    const fn refused(&self, status: u32) -> SetupError {
        SetupError::Refused {
            step: self.step.name(),
            status,
        }
    }
}

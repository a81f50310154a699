//! Several connections of one session (MS-SMB2 3.2.4.2.3, 3.2.5.3.3): the first one sets the
//! session up, the others are bound to it. Each has a key of its own for signatures; the
//! tree, the open files and the keys of the encryption are the session's.

use super::super::negotiate::capability;
use super::super::session::User;
use super::choose;
use super::negotiate::Negotiated;
use super::*;
use crate::crypto::{Keys, Signer};
use filermark_model::smb::Dialect;

impl Handshake {
    /// The session is to have several channels: see [`Handshake::bind`].
    #[must_use]
    pub fn with_channels(mut self) -> Self {
        self.has_channels = true;
        self
    }

    /// On a new connection that is to be another channel of a session. The settings are those
    /// of the session, also its identity of the client.
    pub fn bind(base: &Session, settings: Settings, auth: Box<dyn Authenticator>) -> Self {
        Self {
            session_id: base.session_id,
            has_channels: true,
            base: Some(Box::new(base.fork())),
            ..Self::new(settings, auth)
        }
    }

    /// What the client says that it can.
    pub(super) fn capabilities(&self, dialects: &[Dialect]) -> u32 {
        let channels = match self.has_channels {
            true => capability::MULTI_CHANNEL,
            false => 0,
        };
        choose::capabilities(&self.settings, dialects) | channels
    }

    /// On a connection that is to be bound: that the server is that of the session, and that
    /// both have agreed on the same.
    pub(super) fn check_channels(&self, agreed: &Negotiated) -> Result<(), SetupError> {
        let Some(base) = &self.base else {
            return Ok(());
        };
        let limits = (&agreed.limits, &base.limits);
        let lower = limits.0.read_max < limits.1.read_max
            || limits.0.write_max < limits.1.write_max
            || limits.0.transact_max < limits.1.transact_max;
        let signer = base.protection.signer.as_ref();
        let sealer = base.protection.seal.as_ref().map(|(sealer, _)| sealer);
        let why = if agreed.server_guid != base.server_guid {
            "another server answers there"
        } else if agreed.dialect != base.dialect {
            "the server chose another dialect than for the session"
        } else if signer.is_some_and(|signer| signer.algorithm() != agreed.signing) {
            "the server chose another signing algorithm than for the session"
        } else if sealer.is_some_and(|sealer| Some(sealer.cipher()) != agreed.cipher) {
            "the server chose another cipher than for the session"
        } else if lower {
            "the server allows smaller transfers than those of the session"
        } else {
            return Ok(());
        };
        Err(SetupError::Unbindable(why))
    }

    /// Signs a request of a connection that is being bound: with the key of the session.
    pub(super) fn sign_by_base(&self, message: &mut [u8]) {
        let base = self.base.as_ref();
        if let Some(signer) = base.and_then(|base| base.protection.signer.as_ref()) {
            signer.sign(message);
        }
    }

    /// Checks the signature of a reply that does not end the login, where it has one.
    pub(super) fn check_by_base(&self, header: &Header, message: &[u8]) -> Result<(), SetupError> {
        let base = self.base.as_ref();
        let signer = base.and_then(|base| base.protection.signer.as_ref());
        match signer {
            Some(signer)
                if header.flags & flags::SIGNED != 0 && !signer.verify(&mut message.to_vec()) =>
            {
                Err(SetupError::Tampered(self.step.name()))
            }
            _ => Ok(()),
        }
    }

    /// The user is proved on a connection that is being bound, whose last reply this is.
    pub(super) fn bound(
        &mut self,
        user: User,
        header: &Header,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let over = self.bad(DecodeError::Bad("the message"));
        let mut session = *self.base.take().ok_or(over)?;
        let agreed = self.negotiated()?;
        let (User::Known, Some(key)) = (user, self.auth.session_key()) else {
            return Err(SetupError::GuestOnly);
        };
        if header.flags & flags::SIGNED == 0 {
            return Err(SetupError::Tampered(
                "SESSION_SETUP, whose last reply is not signed",
            ));
        }
        let keys = Keys::derive(agreed.dialect, agreed.cipher, key, &self.preauth);
        session.protection.signer = Some(Signer::new(agreed.signing, &keys.signing));
        self.check_last(header, message, &session)?;
        let is_checked = agreed.dialect >= Dialect::V311;
        // What follows is signed wherever there is a key, as on the first connection.
        session.protection.sign = true;
        self.session = Some(session);
        if is_checked {
            return self.ready();
        }
        let offered = choose::dialects(&self.settings);
        self.step = Step::Validate;
        self.send_validate(&offered, out)?;
        Ok(Next::Send)
    }
}

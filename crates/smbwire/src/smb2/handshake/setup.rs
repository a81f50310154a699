//! SESSION_SETUP: proving the user, and what keys come of it.

use super::super::session::{Marks, Protection, Share, User};
use super::super::setup::{SessionSetupRequest, SessionSetupResponse, session_flag};
use super::choose::{self, GUEST_LACKS};
use super::*;
use crate::auth::AuthError;
use crate::crypto::{Opener, Sealer, Signer};
use filermark_model::smb::{Dialect, Encryption};

impl Handshake {
    /// Passes the server's token to the authenticator, and sends its answer.
    pub(super) fn send_token(&mut self, token: &[u8], out: &mut Vec<u8>) -> Result<(), SetupError> {
        let ours = self.auth.step(token)?;
        if ours.len() > usize::from(u16::MAX) {
            let why = "the security token of the client is longer than 65535 bytes";
            return Err(AuthError::Library(why.to_owned()).into());
        }
        let security_mode = choose::mode(self.settings.signing) as u8;
        let request = SessionSetupRequest {
            binds: self.base.is_some(),
            security_mode,
            capabilities: 0,
            previous_session: 0,
            token: &ours,
        };
        self.send(out, &request)
    }

    pub(super) fn on_setup(
        &mut self,
        header: &Header,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let is_last = match header.status {
            status::MORE_PROCESSING_REQUIRED => false,
            status::SUCCESS => true,
            _ => return Err(self.setup_refused(header.status)),
        };
        let answer = SessionSetupResponse::decode(message).map_err(|e| self.bad(e))?;
        if self.session_id != 0 && header.session_id != self.session_id {
            return Err(self.bad(DecodeError::Bad("the session")));
        }
        self.session_id = header.session_id;
        if !is_last {
            self.check_by_base(header, message)?;
            self.preauth.add(message);
            self.send_token(answer.token, out)?;
            return Ok(Next::Send);
        }
        let user = self.user(&answer)?;
        if !answer.token.is_empty() {
            match (self.auth.step(answer.token), user) {
                (Err(error), User::Known) => return Err(error.into()),
                // The last word to a guest proves nothing.
                (Ok(_), _) | (Err(_), _) => {}
            }
        }
        if self.base.is_some() {
            return self.bound(user, header, message, out);
        }
        let session = self.open(user, &answer)?;
        self.check_last(header, message, &session)?;
        self.session = Some(session);
        self.step = Step::Tree;
        self.send_tree_connect(out)?;
        Ok(Next::Send)
    }

    fn setup_refused(&self, status: u32) -> SetupError {
        let sealable = self.negotiated.as_ref().is_some_and(|n| n.cipher.is_some());
        match status {
            status::ACCESS_DENIED if !sealable => SetupError::Refused {
                step: "SESSION_SETUP (a server that requires encryption \
         also refuses like this, and this session is not encrypted)",
                status,
            },
            _ => self.refused(status),
        }
    }

    /// Who the server takes the user for, and whether that will do.
    fn user(&self, answer: &SessionSetupResponse<'_>) -> Result<User, SetupError> {
        let is_guest = answer.flags & session_flag::IS_GUEST != 0;
        let is_null = answer.flags & session_flag::IS_NULL != 0;
        match (is_guest, is_null || self.auth.is_anonymous()) {
            (_, true) if self.auth.is_anonymous() => Ok(User::Anonymous),
            (true, _) | (_, true) if !self.settings.guest_allowed => Err(SetupError::GuestOnly),
            (_, true) => Ok(User::Anonymous),
            (true, false) => Ok(User::Guest),
            (false, false) => Ok(User::Known),
        }
    }

    /// The session, with its keys and without a tree.
    fn open(&self, user: User, answer: &SessionSetupResponse<'_>) -> Result<Session, SetupError> {
        let agreed = self.negotiated()?;
        let key = match user {
            User::Known => self.auth.session_key(),
            User::Guest | User::Anonymous => None,
        };
        let keys = key.map(|k| Keys::derive(agreed.dialect, agreed.cipher, k, &self.preauth));
        let wants_seal = choose::wanted_encryption(self.settings.encryption);
        let wants_sign = choose::wanted_signing(self.settings.signing);
        if let (None, Some(wanted)) = (&keys, wants_seal.or(wants_sign)) {
            return Err(choose::lacking(wanted, agreed.dialect, GUEST_LACKS));
        }
        let mut session = Session {
            dialect: agreed.dialect,
            session_id: self.session_id,
            tree_id: 0,
            limits: agreed.limits,
            credits: self.credits,
            server_guid: agreed.server_guid,
            capabilities: agreed.usable_capabilities(),
            share: Share {
                flags: 0,
                capabilities: 0,
                maximal_access: 0,
            },
            user,
            protection: Protection {
                signer: keys
                    .as_ref()
                    .map(|keys| Signer::new(agreed.signing, &keys.signing)),
                // The rest of the handshake is signed wherever there is a key.
                sign: keys.is_some(),
                seal: None,
            },
            token: agreed.token.clone(),
            marks: Marks::default(),
        };
        let demanded = answer.flags & session_flag::ENCRYPT_DATA != 0;
        if demanded || wants_seal.is_some() {
            session.protection.seal = Some(self.seal(keys.as_ref())?);
        }
        Ok(session)
    }

    /// Both ends of the encryption, where there can be one.
    pub(super) fn seal(&self, keys: Option<&Keys>) -> Result<(Sealer, Opener), SetupError> {
        let agreed = self.negotiated()?;
        if self.settings.encryption == Encryption::Off {
            return Err(SetupError::Requires("encryption"));
        }
        let wanted = "encryption (which the server requires)";
        let keys = keys.ok_or(choose::lacking(wanted, agreed.dialect, GUEST_LACKS))?;
        let lacks = "client and server have no cipher in common";
        let cipher = agreed
            .cipher
            .ok_or(choose::lacking(wanted, agreed.dialect, lacks))?;
        Ok((
            Sealer::new(cipher, &keys.client_to_server),
            Opener::new(cipher, &keys.server_to_client),
        ))
    }

    /// The keys once more, for a share that requires encryption.
    pub(super) fn keys(&self, user: User) -> Result<Option<Keys>, SetupError> {
        let agreed = self.negotiated()?;
        Ok(match user {
            User::Known => self
                .auth
                .session_key()
                .map(|k| Keys::derive(agreed.dialect, agreed.cipher, k, &self.preauth)),
            User::Guest | User::Anonymous => None,
        })
    }

    /// The signature of the reply that ends the login (MS-SMB2 3.2.5.3.1): who changed the
    /// messages before it cannot make it.
    pub(super) fn check_last(
        &self,
        header: &Header,
        message: &[u8],
        session: &Session,
    ) -> Result<(), SetupError> {
        let Some(signer) = &session.protection.signer else {
            return Ok(());
        };
        let agreed = self.negotiated()?;
        let is_signed = header.flags & flags::SIGNED != 0;
        let must_be = agreed.sign || agreed.dialect == Dialect::V311;
        match is_signed {
            true if signer.verify(&mut message.to_vec()) => Ok(()),
            false if !must_be => Ok(()),
            true => Err(SetupError::Tampered("SESSION_SETUP")),
            false => Err(SetupError::Tampered(
                "SESSION_SETUP, whose last reply is not signed",
            )),
        }
    }

    /// A reply in a new login of a session that was there. One that came encrypted is the
    /// server's; another one has to be signed, where it says that the login is done.
    pub(super) fn on_again(
        &mut self,
        header: &Header,
        message: &[u8],
        was_sealed: bool,
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let is_last = match header.status {
            status::MORE_PROCESSING_REQUIRED => false,
            status::SUCCESS => true,
            _ => return Err(self.refused(header.status)),
        };
        let answer = SessionSetupResponse::decode(message).map_err(|e| self.bad(e))?;
        let signer = self
            .session
            .as_ref()
            .and_then(|s| s.protection.signer.as_ref());
        if let (Some(signer), false) = (signer, was_sealed) {
            let is_signed = header.flags & flags::SIGNED != 0;
            if (is_signed || is_last) && !signer.verify(&mut message.to_vec()) {
                return Err(SetupError::Tampered(self.step.name()));
            }
        }
        if !is_last {
            self.send_token(answer.token, out)?;
            return Ok(Next::Send);
        }
        if !answer.token.is_empty() {
            self.auth.step(answer.token)?;
        }
        self.ready()
    }
}

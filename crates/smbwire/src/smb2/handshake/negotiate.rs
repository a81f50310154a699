//! NEGOTIATE: what is offered, and what the server has chosen of it.

use super::super::contexts::Offers;
use super::super::negotiate::{NegotiateRequest, NegotiateResponse, capability, security_mode};
use super::choose;
use super::*;
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::settings::TransferLimits;
use filermark_model::smb::{Dialect, Signing};

/// Bytes of a transfer where the server has not got larger ones (MS-SMB2 3.2.5.2).
const SMALL_TRANSFER: u32 = 65_536;
/// Bytes of the largest transfer that fits a frame, in whole credits.
const LARGEST_TRANSFER: u32 = 0x00FF_0000;
/// A server that takes less is none.
const LEAST_TRANSFER: u32 = 4096;

/// What both sides have agreed on.
#[derive(Clone, Debug)]
pub(super) struct Negotiated {
    pub dialect: Dialect,
    /// The server's, as received.
    pub server_guid: [u8; 16],
    pub capabilities: u32,
    pub security_mode: u16,
    pub limits: TransferLimits,
    pub signing: SigningAlgorithm,
    /// Whether every message is signed.
    pub sign: bool,
    /// The cipher at hand.
    pub cipher: Option<Cipher>,
    pub token: Box<[u8]>,
}

impl Negotiated {
    /// What the server can, as far as the dialect has it.
    pub fn usable_capabilities(&self) -> u32 {
        match self.dialect {
            Dialect::V202 => self.capabilities & capability::DFS,
            _ => self.capabilities,
        }
    }
}

impl Handshake {
    pub(super) fn send_negotiate(&mut self, out: &mut Vec<u8>) -> Result<(), SetupError> {
        let settings = self.settings.clone();
        let dialects = choose::dialects(&settings);
        if dialects.is_empty() {
            return Err(SetupError::NoDialect);
        }
        let only_oldest = dialects == [Dialect::V202];
        self.send(
            out,
            &NegotiateRequest {
                dialects: &dialects,
                security_mode: choose::mode(settings.signing),
                capabilities: self.capabilities(&dialects),
                client_guid: match only_oldest {
                    true => [0; 16],
                    false => settings.client_guid,
                },
                offers: Offers {
                    salt: &settings.random,
                    ciphers: choose::ciphers(settings.encryption),
                    signing: choose::signing(settings.signing),
                    server: &settings.server,
                },
            },
        )
    }

    pub(super) fn on_negotiate(
        &mut self,
        header: &Header,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        match header.status {
            status::SUCCESS => {}
            status::NOT_SUPPORTED => return Err(SetupError::NoDialect),
            _ => return Err(self.refused(header.status)),
        }
        let answer = NegotiateResponse::decode(message).map_err(|e| self.bad(e))?;
        self.preauth.add(message);
        let agreed = self.agreed(&answer)?;
        self.check_channels(&agreed)?;
        self.negotiated = Some(agreed);
        self.step = Step::Setup;
        self.send_token(answer.token, out)?;
        Ok(Next::Send)
    }

    fn agreed(&self, answer: &NegotiateResponse<'_>) -> Result<Negotiated, SetupError> {
        let dialect = Dialect::from_revision(answer.revision)
            .filter(|d| choose::dialects(&self.settings).contains(d))
            .ok_or(SetupError::WrongDialect(answer.revision))?;
        if dialect == Dialect::V311 {
            self.check_choices(answer)?;
        }
        let wanted = self.settings.signing;
        let required = answer.security_mode & security_mode::SIGNING_REQUIRED != 0;
        if required && wanted == Signing::Off {
            return Err(SetupError::Requires("signing"));
        }
        Ok(Negotiated {
            dialect,
            server_guid: answer.server_guid,
            capabilities: answer.capabilities,
            security_mode: answer.security_mode,
            limits: limits(dialect, answer).map_err(|e| self.bad(e))?,
            signing: choose::signing_in(wanted, dialect, answer)?,
            sign: required || choose::wanted_signing(wanted).is_some(),
            cipher: choose::cipher_in(self.settings.encryption, dialect, answer)?,
            token: answer.token.into(),
        })
    }

    /// That the server has chosen nothing that was not offered (MS-SMB2 3.2.5.2).
    fn check_choices(&self, answer: &NegotiateResponse<'_>) -> Result<(), SetupError> {
        let choices = &answer.choices;
        if !choices.sha_512 {
            return Err(self.bad(DecodeError::Bad("the choice of a hash")));
        }
        let offered = choose::ciphers(self.settings.encryption);
        if choices.cipher.is_some_and(|c| !offered.contains(&c)) {
            return Err(self.bad(DecodeError::Bad("the choice of a cipher")));
        }
        let offered = choose::signing(self.settings.signing);
        if choices.signing.is_some_and(|s| !offered.contains(&s)) {
            return Err(self.bad(DecodeError::Bad("the choice of a signing algorithm")));
        }
        Ok(())
    }
}

fn limits(dialect: Dialect, answer: &NegotiateResponse<'_>) -> Result<TransferLimits, DecodeError> {
    let large = dialect > Dialect::V202 && answer.capabilities & capability::LARGE_MTU != 0;
    let most = if large {
        LARGEST_TRANSFER
    } else {
        SMALL_TRANSFER
    };
    let [read_max, write_max, transact_max] =
        [answer.max_read, answer.max_write, answer.max_transact].map(|max| max.min(most));
    match read_max.min(write_max).min(transact_max) {
        0..LEAST_TRANSFER => Err(DecodeError::Bad("the largest transfer")),
        _ => Ok(TransferLimits {
            read_max,
            write_max,
            transact_max,
        }),
    }
}

//! The exchange from the client's side (MS-NLMP 3.1.5), as a mechanism of SPNEGO.

use super::Identity;
use super::av::target_info;
use super::keys::{Key, Side, answers, exchanged, hmac_md5, ntowf_v2, sign_first};
use super::message::{Authenticate, Challenge, flag, negotiate, put_mic};
use crate::auth::{AuthError, Authenticator};
use crate::bytes::same;
use crate::spnego::{Mech, Mechanism, Spnego};
use std::fmt;

/// NTLM without its wrapping. One try only: after a refusal nothing is sent again.
pub struct Client {
    /// `None`: anonymous.
    identity: Option<Identity>,
    stage: Stage,
}

enum Stage {
    Start,
    /// An answer was not valid: nothing more is sent.
    Failed,
    /// NEGOTIATE is sent: these bytes.
    Asked(Vec<u8>),
    /// AUTHENTICATE is sent.
    Done {
        key: Option<Key>,
        exchange: bool,
    },
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Nothing is sent yet; without an identity the login is anonymous.
    pub const fn new(identity: Option<Identity>) -> Self {
        Self {
            identity,
            stage: Stage::Start,
        }
    }

    fn answer(&mut self, asked: &[u8], challenge: &[u8]) -> Result<Vec<u8>, AuthError> {
        let theirs = Challenge::read(challenge)?;
        if theirs.flags & flag::NEEDED != flag::NEEDED {
            return Err(AuthError::Token(
                "its NTLM is too old; NTLMv2 with Unicode, extended session security and 128-bit keys is required",
            ));
        }
        let flags = theirs.flags & flag::ASKED | flag::VERSION;
        match &self.identity {
            None => {
                self.stage = Stage::Done {
                    key: None,
                    exchange: false,
                };
                anonymous(flags)
            }
            Some(identity) => {
                let (message, key) = authenticate(identity, &theirs, flags, [asked, challenge])?;
                self.stage = Stage::Done {
                    key: Some(key),
                    exchange: flags & flag::KEY_EXCHANGE != 0,
                };
                Ok(message)
            }
        }
    }

    fn signature(&self, side: Side, data: &[u8]) -> Option<[u8; 16]> {
        match &self.stage {
            Stage::Done {
                key: Some(key),
                exchange,
            } => Some(sign_first(key, side, *exchange, data)),
            _ => None,
        }
    }
}

/// AUTHENTICATE of an anonymous user (3.2.5.1.2): one zero byte as LM response, and no key.
fn anonymous(flags: u32) -> Result<Vec<u8>, AuthError> {
    Authenticate {
        lm: &[0],
        nt: &[],
        domain: "",
        user: "",
        workstation: "",
        key: &[],
        flags: flags & !flag::KEY_EXCHANGE | flag::ANONYMOUS,
    }
    .write()
}

/// AUTHENTICATE of a user, and the session's key.
fn authenticate(
    identity: &Identity,
    theirs: &Challenge<'_>,
    flags: u32,
    before: [&[u8]; 2],
) -> Result<(Vec<u8>, Key), AuthError> {
    let (user, domain) = identity.names();
    let info = target_info(theirs.info, &identity.server)?;
    let [client, exported] = parts_of(&identity.random);
    let mut client_challenge = [0; 8];
    client_challenge.copy_from_slice(&client[..8]);
    let ntowf = ntowf_v2(identity.password.reveal().unwrap_or_default(), user, domain);
    let time = info.timestamp.unwrap_or(identity.filetime);
    let mut answers = answers(
        &ntowf,
        &theirs.challenge,
        &client_challenge,
        time,
        &info.pairs,
    );
    let (session, sent) = match flags & flag::KEY_EXCHANGE != 0 {
        true => (exported, Some(exchanged(&answers.base_key, &exported))),
        false => (answers.base_key, None),
    };
    if info.timestamp.is_some() {
        answers.lm.fill(0);
    }
    let mut message = Authenticate {
        lm: &answers.lm,
        nt: &answers.nt,
        domain,
        user,
        workstation: &identity.workstation,
        key: sent.as_ref().map(|k| &k[..]).unwrap_or_default(),
        flags,
    }
    .write()?;
    if info.timestamp.is_some() {
        let [asked, challenge] = before;
        let mic = hmac_md5(&session, &[asked, challenge, &message]);
        put_mic(&mut message, &mic);
    }
    Ok((message, session))
}

/// Random bytes for the client's challenge, and for the session's key.
fn parts_of(random: &[u8; 32]) -> [Key; 2] {
    let mut parts = [Key::default(); 2];
    for (part, bytes) in parts.iter_mut().zip(random.chunks_exact(16)) {
        part.copy_from_slice(bytes);
    }
    parts
}

impl Mechanism for Client {
    fn mechs(&self) -> &'static [Mech] {
        &[Mech::Ntlm]
    }

    fn name(&self) -> &'static str {
        "NTLM"
    }

    fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, AuthError> {
        match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Start => {
                let message = negotiate(flag::ASKED);
                self.stage = Stage::Asked(message.clone());
                Ok(Some(message))
            }
            Stage::Asked(asked) => self.answer(&asked, token).map(Some),
            ended => {
                self.stage = ended;
                Err(AuthError::Token(
                    "it continues after the exchange is complete",
                ))
            }
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done { .. })
    }

    fn sign(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        self.signature(Side::Client, data).map(|s| s.to_vec())
    }

    fn verify(&mut self, data: &[u8], mic: &[u8]) -> Option<bool> {
        let ours = self.signature(Side::Server, data)?;
        Some(same(&ours, mic))
    }

    fn session_key(&self) -> Option<&[u8]> {
        match &self.stage {
            Stage::Done { key: Some(key), .. } => Some(key),
            _ => None,
        }
    }

    fn is_anonymous(&self) -> bool {
        self.identity.is_none()
    }
}

/// NTLMv2 in SPNEGO for a user; a guest is a user without a password.
#[derive(Debug)]
pub struct Ntlm(Spnego<Client>);

impl Ntlm {
    /// Ready for the server's first token.
    pub const fn new(identity: Identity) -> Self {
        Self(Spnego::new(Client::new(Some(identity))))
    }
}

/// An anonymous session by NTLM in SPNEGO.
#[derive(Debug)]
pub struct Anonymous(Spnego<Client>);

impl Anonymous {
    /// Ready for the server's first token.
    pub const fn new() -> Self {
        Self(Spnego::new(Client::new(None)))
    }
}

impl Default for Anonymous {
    fn default() -> Self {
        Self::new()
    }
}

macro_rules! authenticator {
    ($name:ident) => {
        impl Authenticator for $name {
            fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
                self.0.step(token)
            }
            fn session_key(&self) -> Option<&[u8]> {
                self.0.session_key()
            }
            fn is_anonymous(&self) -> bool {
                self.0.is_anonymous()
            }
        }
    };
}

authenticator!(Ntlm);
authenticator!(Anonymous);

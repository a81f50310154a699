//! SPNEGO (RFC 4178, MS-SPNG): the wrapping in which both sides agree on a mechanism.
//!
//! `der` reads and writes the few forms of ASN.1 that occur, `token` the two kinds of
//! tokens; here is the exchange itself, the same for every [`Mechanism`]. Nothing here
//! knows what a mechanism proves, or how.

mod der;
pub mod fuzzing;
#[cfg(test)]
mod tests;
mod token;

pub use token::{Mech, NegState, Offer, Response, init, mech_list, response};

use crate::auth::{AuthError, Authenticator};

/// Rounds after which an exchange is given up: NTLM takes two, Kerberos one or two.
const ROUNDS_MAX: u32 = 8;

/// What SPNEGO wraps: proves the user in tokens of its own.
pub trait Mechanism: Send {
    /// Its names on the wire, the preferred one first; never empty.
    fn mechs(&self) -> &'static [Mech];

    /// Its name for people: `NTLM`.
    fn name(&self) -> &'static str;

    /// Takes the server's token (empty at first) and gives ours, if there is one more.
    ///
    /// # Errors
    /// The token is malformed, or the exchange cannot continue.
    fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, AuthError>;

    /// Whether it has done its part: keys are there, or never will be.
    fn is_done(&self) -> bool;

    /// Signs the list of mechanisms (RFC 4178 5); `None` if it has no key to do it with.
    fn sign(&mut self, data: &[u8]) -> Option<Vec<u8>>;

    /// Whether the server signed the list of mechanisms with the key both have;
    /// `None` without a key.
    fn verify(&mut self, data: &[u8], mic: &[u8]) -> Option<bool>;

    /// The key of the session, once it is there.
    fn session_key(&self) -> Option<&[u8]>;

    /// Whether the user is anonymous.
    fn is_anonymous(&self) -> bool {
        false
    }
}

/// A mechanism in SPNEGO.
///
/// The last token of the server may be handed to `step` as well (it may carry a proof of
/// the server); what comes back then is empty.
#[derive(Debug)]
pub struct Spnego<M> {
    mechanism: M,
    rounds: u32,
    /// Our signature of the list of mechanisms is on its way.
    signed: bool,
    finished: bool,
}

impl<M: Mechanism> Spnego<M> {
    /// An exchange before its first token.
    pub const fn new(mechanism: M) -> Self {
        Self {
            mechanism,
            rounds: 0,
            signed: false,
            finished: false,
        }
    }

    /// The mechanism.
    pub const fn mechanism(&self) -> &M {
        &self.mechanism
    }

    fn first(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let ours = self.mechanism.mechs();
        if !token.is_empty() {
            let offer = Offer::read(token)?;
            if !ours.iter().any(|m| offer.has(*m)) {
                return Err(AuthError::Mechanism {
                    wanted: self.mechanism.name(),
                    offered: offer.to_string(),
                });
            }
        }
        let inner = self.mechanism.step(&[])?;
        Ok(init(ours, &inner.unwrap_or_default()))
    }

    fn go_on(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let theirs = Response::read(token)?;
        if theirs.state == Some(NegState::Reject) {
            return Err(AuthError::Token("it refuses the login"));
        }
        if theirs
            .mech
            .is_some_and(|m| !self.mechanism.mechs().contains(&m))
        {
            return Err(AuthError::Token(
                "it chooses a mechanism that was not offered",
            ));
        }
        let mut inner = None;
        if let Some(token) = theirs.token.filter(|_| !self.mechanism.is_done()) {
            inner = self.mechanism.step(token)?;
        }
        let done = self.mechanism.is_done();
        let list = mech_list(self.mechanism.mechs());
        if let Some(mic) = theirs.mic
            && (!done || self.mechanism.verify(&list, mic) == Some(false))
        {
            return Err(AuthError::Token(
                "its signature of the list of mechanisms is wrong",
            ));
        }
        if theirs.state == Some(NegState::Completed) {
            if !done || inner.is_some() {
                return Err(AuthError::Token(
                    "it ends the exchange before it is complete",
                ));
            }
            self.finished = true;
            return Ok(Vec::new());
        }
        let mic = match done && !self.signed {
            true => self.mechanism.sign(&list),
            false => None,
        };
        self.signed |= mic.is_some();
        if inner.is_none() && mic.is_none() {
            return Err(AuthError::Token(
                "it requests another token after the last one",
            ));
        }
        Ok(response(inner.as_deref(), mic.as_deref()))
    }
}

impl<M: Mechanism> Authenticator for Spnego<M> {
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        if self.finished || self.rounds >= ROUNDS_MAX {
            return Err(AuthError::Token(
                "it continues after the exchange is complete",
            ));
        }
        self.rounds += 1;
        match self.rounds {
            1 => self.first(token),
            _ => self.go_on(token),
        }
    }

    fn session_key(&self) -> Option<&[u8]> {
        self.mechanism.session_key()
    }

    fn is_anonymous(&self) -> bool {
        self.mechanism.is_anonymous()
    }
}

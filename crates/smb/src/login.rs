//! Logins: the settings of a handshake, for driver, claims and validator, and the messages
//! for its failures.
//!
//! Once the server has refused the user, no part of this process tries again: accounts are
//! locked after a few wrong passwords.

use crate::driver::window::{Credits, Multiplex, Window};
use crate::kerberos::Credentials;
use crate::target::Target;
use filermark_engine::driver::DriverError;
use filermark_model::Nanos;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Auth, Dialect};
use filermark_smbwire::auth::{AuthError, Authenticator};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::ntlm;
use filermark_smbwire::settings::{Next, Settings, TransferLimits};
use filermark_smbwire::{smb1, smb2};
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tickets older than this are renewed before a login: servers end sessions when their
/// tickets expire.
const TICKETS_FRESH: Duration = Duration::from_secs(60);
/// So long after a successful login, others log in without a trial.
const OPEN_FOR: Nanos = Nanos::from_secs(2);

/// The user name of a guest.
const GUEST: &str = "guest";

/// That the server has refused the user, or the KDC has; shared by all logins of a
/// process's driver.
#[derive(Clone, Debug, Default)]
pub struct LoginRefusals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    refused: AtomicBool,
    /// After a loss: one login is trying whether the server still accepts the user.
    trial: AtomicBool,
    /// Until when all may log in again without a trial, in nanoseconds of the
    /// agent's clock.
    open_until_ns: AtomicU64,
    /// Kerberos' tickets and when they were obtained, or why there are none.
    tickets: Mutex<Option<(Instant, Result<Credentials, AuthError>)>>,
}

/// The login of a user on a share.
#[derive(Debug)]
pub struct Login {
    /// The mount point as the user names it.
    pub place: String,
    plan: SmbPlan,
    server: String,
    share: String,
    refusals: LoginRefusals,
}

/// A handshake of either protocol.
pub enum Handshake {
    /// SMB1.
    Smb1(Box<smb1::Handshake>),
    /// SMB2 and 3.
    Smb2(Box<smb2::Handshake>),
}

/// A session of either protocol, with its tree.
#[derive(Debug)]
pub enum Session {
    /// SMB1.
    Smb1(Box<smb1::Session>),
    /// SMB2 and 3.
    Smb2(Box<smb2::Session>),
}

impl LoginRefusals {
    /// Whether the server, or the KDC, has refused the user; not where there is no library,
    /// or no KDC to ask.
    pub fn is_refused(&self) -> bool {
        let tickets = &self.0.tickets;
        let tickets = tickets.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.refused.load(Ordering::Relaxed)
            || matches!(&*tickets, Some((_, Err(AuthError::Refused(_)))))
    }

    /// The server has refused the user: no login is tried again.
    pub(crate) fn refuse(&self) {
        self.0.refused.store(true, Ordering::Relaxed);
    }
}

impl Login {
    /// The login on a target's share.
    pub fn new(target: &Target, plan: &SmbPlan, refusals: &LoginRefusals) -> Self {
        Self {
            place: target.mount.to_string(),
            plan: plan.clone(),
            server: target.mount.host.clone(),
            share: target.share.clone(),
            refusals: refusals.clone(),
        }
    }

    /// Whether to log in again after a loss: one login is the trial, since the password may
    /// have changed meanwhile, and hundreds of wrong ones at once lock an account.
    /// `Some(true)`: this one is the trial; `None`: another one is being tried.
    pub(crate) fn try_again(&self, now: Nanos) -> Option<bool> {
        let shared = &self.refusals.0;
        if now.0 < shared.open_until_ns.load(Ordering::Relaxed) {
            return Some(false);
        }
        let is_busy = shared.trial.swap(true, Ordering::Relaxed);
        (!is_busy).then_some(true)
    }

    /// The server has accepted the user.
    pub(crate) fn let_in(&self, now: Nanos) {
        let until = now + OPEN_FOR;
        let shared = &self.refusals.0;
        shared.open_until_ns.store(until.0, Ordering::Relaxed);
        self.end_trial();
    }

    /// The trial has an answer, or its connection is gone.
    pub(crate) fn end_trial(&self) {
        self.refusals.0.trial.store(false, Ordering::Relaxed);
    }

    /// Whether trying again cannot help: the server has refused the user or the settings.
    /// Anything else may be a server that is just starting.
    pub(crate) fn is_final(error: &SetupError) -> bool {
        match error {
            SetupError::Refused { .. } => is_refusal_of_user(error),
            SetupError::Reply { .. } => false,
            _ => true,
        }
    }

    /// A handshake that has not begun.
    ///
    /// # Errors
    /// The user was refused before; no random bytes; no Kerberos.
    pub fn handshake(&self) -> Result<Handshake, SetupError> {
        let (settings, who) = self.parts()?;
        Ok(match self.plan.dialects.0 {
            Dialect::Nt1 => Handshake::Smb1(Box::new(smb1::Handshake::new(settings, who))),
            _ => Handshake::Smb2(Box::new(smb2::Handshake::new(settings, who))),
        })
    }

    /// A handshake for one of several connections of a session, which state the same identity
    /// of the client; `session`: to bind the connection to it, else it sets the session up.
    ///
    /// # Errors
    /// As [`Login::handshake`].
    pub(crate) fn channel(
        &self,
        client_guid: [u8; 16],
        session: Option<&smb2::Session>,
    ) -> Result<Handshake, SetupError> {
        let (settings, who) = self.parts()?;
        let settings = Settings {
            client_guid,
            ..settings
        };
        let handshake = match session {
            Some(session) => smb2::Handshake::bind(session, settings, who),
            None => smb2::Handshake::new(settings, who).with_channels(),
        };
        Ok(Handshake::Smb2(Box::new(handshake)))
    }

    fn parts(&self) -> Result<(Settings, Box<dyn Authenticator>), SetupError> {
        if self.refusals.0.refused.load(Ordering::Relaxed) {
            let reason = "the server has refused the user before; the login is not tried again, since accounts are locked after a few wrong passwords";
            return Err(AuthError::Library(reason.into()).into());
        }
        if matches!(self.plan.auth, Auth::Ntlm { .. }) && !self.plan.password.is_given() {
            let reason = "no password is set: set PASSWORD_FILE, PASSWORD or FILERMARK_PASSWORD";
            return Err(AuthError::Library(reason.into()).into());
        }
        let mut random = [0; 32];
        let mut client_guid = [0; 16];
        let system = SystemRandom::new();
        if system.fill(&mut random).is_err() || system.fill(&mut client_guid).is_err() {
            return Err(AuthError::Library("the system returns no random bytes".into()).into());
        }
        let settings = Settings {
            dialects: self.plan.dialects,
            signing: self.plan.signing,
            encryption: self.plan.encryption,
            server: self.server.clone(),
            share: self.share.clone(),
            guest_allowed: matches!(self.plan.auth, Auth::Guest | Auth::Anonymous),
            client_guid,
            random,
        };
        let who = self.authenticator(random)?;
        Ok((settings, who))
    }

    /// A handshake that proves the user anew in a session that has expired. Only what the
    /// server has let in before is tried.
    ///
    /// # Errors
    /// As [`Login::handshake`].
    pub fn handshake_again(&self, session: &smb2::Session) -> Result<Handshake, SetupError> {
        let (settings, who) = self.parts()?;
        let again = smb2::Handshake::again(session, settings, who);
        Ok(Handshake::Smb2(Box::new(again)))
    }

    fn authenticator(&self, random: [u8; 32]) -> Result<Box<dyn Authenticator>, AuthError> {
        let ntlm = |username: &str, domain: &str| {
            ntlm::Ntlm::new(ntlm::Identity {
                username: username.to_owned(),
                domain: domain.to_owned(),
                password: self.plan.password.clone(),
                workstation: String::new(),
                server: self.server.clone(),
                random,
                filetime: 0,
            })
        };
        Ok(match &self.plan.auth {
            Auth::Ntlm { username, domain } => Box::new(ntlm(username, domain)),
            Auth::Guest => Box::new(ntlm(GUEST, "")),
            Auth::Anonymous => Box::new(ntlm::Anonymous::default()),
            Auth::Kerberos { username, domain } => {
                let tickets = self.tickets(username, domain)?;
                Box::new(tickets.authenticator(&self.server)?)
            }
        })
    }

    /// Kerberos' tickets: asked for once for hundreds of sessions, and again when they may
    /// have run out meanwhile. What was refused is not asked for again.
    fn tickets(&self, username: &str, domain: &str) -> Result<Credentials, AuthError> {
        let known = &self.refusals.0.tickets;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((_, Err(refused))) => return Err(refused.clone()),
            Some((since, Ok(tickets))) if since.elapsed() < TICKETS_FRESH => {
                return Ok(tickets.clone());
            }
            _ => {}
        }
        let tickets = Credentials::obtain(username, domain, &self.plan.password);
        *known = Some((Instant::now(), tickets.clone()));
        tickets
    }

    /// The message for a failed handshake, with advice. A user
    /// that was refused is not tried again from now on.
    pub fn explain(&self, error: &SetupError) -> DriverError {
        if is_refusal_of_user(error) {
            self.refusals.refuse();
        }
        DriverError {
            place: self.place.clone(),
            step: "set an SMB session up".into(),
            reason: error.to_string(),
            advice: match (&self.plan.auth, is_refusal_of_user(error)) {
                (Auth::Guest, true) => "the server accepts no guests: log in as a user",
                (Auth::Anonymous, true) => {
                    "the server accepts no anonymous users: log in as a user"
                }
                _ => advice(error, self.plan.dialects),
            }
            .into(),
        }
    }
}

/// Whether the server has refused the user.
fn is_refusal_of_user(error: &SetupError) -> bool {
    match error {
        SetupError::GuestOnly => true,
        SetupError::Refused { step, status } => {
            step.contains("SESSION_SETUP") && LOGON_REFUSALS.contains(status)
        }
        _ => false,
    }
}

/// Statuses with which servers refuse a user (MS-ERREF 2.3.1).
const LOGON_REFUSALS: &[u32] = &[
    0xC000_006D, // LOGON_FAILURE
    0xC000_006A, // WRONG_PASSWORD
    0xC000_0064, // NO_SUCH_USER
    0xC000_006E, // ACCOUNT_RESTRICTION
    0xC000_006F, // INVALID_LOGON_HOURS
    0xC000_0070, // INVALID_WORKSTATION
    0xC000_0071, // PASSWORD_EXPIRED
    0xC000_0072, // ACCOUNT_DISABLED
    0xC000_015B, // LOGON_TYPE_NOT_GRANTED
    0xC000_0193, // ACCOUNT_EXPIRED
    0xC000_0224, // PASSWORD_MUST_CHANGE
    0xC000_0234, // ACCOUNT_LOCKED_OUT
    0xC000_0022, // ACCESS_DENIED
    0xC000_018B, // NO_TRUST_SAM_ACCOUNT
    0xC000_0413, // AUTHENTICATION_FIREWALL_FAILED
];

fn advice(error: &SetupError, dialects: (Dialect, Dialect)) -> &'static str {
    match error {
        SetupError::Refused { step, status } if step.contains("SESSION_SETUP") => match *status {
            0xC000_006D | 0xC000_006A | 0xC000_0064 => {
                "check USERNAME, PASSWORD and DOMAIN; it was tried once and is not tried again"
            }
            0xC000_0234 => "the account is locked: have it unlocked before the next attempt",
            0xC000_0072 => "the account is disabled: have it enabled, or use another user",
            0xC000_0071 | 0xC000_0224 => "the password has expired: set a new one",
            0xC000_0022 => {
                "the server does not allow this session: check whether it requires encryption or signing (SMB_ENCRYPTION, SMB_SIGNING) or a newer dialect, or use another user"
            }
            _ => "see the server's log",
        },
        SetupError::Refused {
            status: 0xC000_00CC,
            ..
        } => "there is no share of this name: check MNT_POINTS (smbclient -L lists the shares)",
        SetupError::Refused {
            status: 0xC000_0022,
            ..
        } => {
            "the user has no access to this share, or it requires encryption (SMB_ENCRYPTION, SMB_DIALECT 3.0 or later): use another user, or have access granted"
        }
        SetupError::NoDialect | SetupError::WrongDialect(_) => match dialects.1 {
            Dialect::Nt1 => {
                "SMB1 is disabled on the server: measure it with FS_PROTOCOL=smb, or enable NT1 there"
            }
            _ => "widen SMB_DIALECT, or set FS_PROTOCOL=cifs for an old server that has SMB1 only",
        },
        SetupError::Requires("signing") => "set SMB_SIGNING=auto or required",
        SetupError::Requires(_) => "set SMB_ENCRYPTION=auto or required",
        // No setting adds large files, Unicode or NT_CREATE_ANDX to a server of SMB1;
        // signing and encryption have settings.
        SetupError::Lacking {
            dialect: Dialect::Nt1,
            wanted,
            ..
        } if !wanted.contains("signing") && !wanted.contains("encryption") => {
            "this SMB1 server is too old for Filermark: measure it with FS_PROTOCOL=smb if it has SMB 2 or 3, or enable the missing feature there (in Samba: large readwrite, unicode, nt pipe support)"
        }
        SetupError::Unbindable(_) => {
            "give one address of one server in MNT_POINTS, or set SMB_CHANNELS=1"
        }
        SetupError::Lacking { .. } => "change SMB_SIGNING, SMB_ENCRYPTION or SMB_DIALECT",
        SetupError::Dfs => "give the share on the server that has it in MNT_POINTS",
        SetupError::GuestOnly => "check USERNAME and DOMAIN, or set SMB_AUTH=guest",
        SetupError::Auth(_) | SetupError::Reply { .. } | SetupError::Tampered(_) => "",
        SetupError::Refused { .. } => "see the server's log",
    }
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Smb1(_) => "SMB1",
            Self::Smb2(_) => "SMB2",
        })
    }
}

impl Handshake {
    /// Appends the first message, framed.
    ///
    /// # Errors
    /// There is nothing to offer, or the user cannot be proved.
    pub fn first(&mut self, out: &mut Vec<u8>) -> Result<(), SetupError> {
        match self {
            Self::Smb1(smb1) => {
                smb1.first(out);
                Ok(())
            }
            Self::Smb2(smb2) => smb2.first(out),
        }
    }

    /// Takes a whole message and goes on.
    ///
    /// # Errors
    /// There is no session to be had.
    pub fn reply(
        &mut self,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        Ok(match self {
            Self::Smb1(smb1) => match smb1.reply(message, out)? {
                Next::Send => Next::Send,
                Next::Pending => Next::Pending,
                Next::Ready(session) => Next::Ready(Box::new(Session::Smb1(session))),
            },
            Self::Smb2(smb2) => match smb2.reply(message, out)? {
                Next::Send => Next::Send,
                Next::Pending => Next::Pending,
                Next::Ready(session) => Next::Ready(Box::new(Session::Smb2(session))),
            },
        })
    }
}

impl Session {
    /// How large its transfers may be.
    pub fn limits(&self) -> TransferLimits {
        match self {
            Self::Smb1(smb1) => smb1.limits,
            Self::Smb2(smb2) => smb2.limits,
        }
    }

    /// Its messages under way: none yet.
    pub(crate) fn window(&self) -> Window {
        match self {
            Self::Smb1(smb1) => Window::Smb1(Multiplex::new(smb1.max_mpx)),
            Self::Smb2(smb2) => Window::Smb2(Credits::new(
                smb2.credits.next_message_id,
                smb2.credits.available,
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_refused_by_a_server_or_a_kdc_and_by_no_missing_library() {
        let of_tickets = |error: AuthError| {
            let refusals = LoginRefusals::default();
            *refusals.0.tickets.lock().unwrap() = Some((Instant::now(), Err(error)));
            refusals.is_refused()
        };
        assert!(of_tickets(AuthError::Refused("preauthentication".into())));
        assert!(!of_tickets(AuthError::Library("no library".into())));
        let refusals = LoginRefusals::default();
        assert!(!refusals.is_refused());
        refusals.refuse();
        assert!(refusals.is_refused());
    }
}

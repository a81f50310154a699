//! From a mount point to a session: the addresses one after another, then the handshake,
//! once.

use super::advice;
use super::error::ClientError;
use super::offered::{dialects_offered, names_of};
use super::raw::{Raw, RawSession};
use super::wire::Wire;
use crate::login::{Login, LoginRefusals, Session};
use crate::target::Target;
use filermark_engine::driver::DriverError;
use filermark_model::plan::SmbPlan;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::Next;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The longest message before a session is there, in bytes.
const SETUP_MESSAGE_MAX: usize = 256 << 10;
/// Messages of one handshake: no way of logging in needs nearly as many.
const MESSAGES_MAX: usize = 64;

/// Why there is no session at an address.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// No connection, or it ended.
    Wire {
        error: ClientError,
        /// Before the server had sent anything.
        is_silent: bool,
    },
    /// The server refuses the session.
    Setup(SetupError),
}

/// A plan's milliseconds.
pub(super) const fn ms(count: u32) -> Duration {
    Duration::from_millis(count as u64)
}

/// Tries the addresses of a target; returns the first session.
pub(super) fn connect(
    target: &Target,
    plan: &SmbPlan,
    refusals: &LoginRefusals,
) -> Result<(Raw, SocketAddr), DriverError> {
    let login = Login::new(target, plan, refusals);
    let mut first = None;
    for address in target.addresses(plan)? {
        match session_at(address, &login, plan) {
            Ok(raw) => return Ok((raw, address)),
            // The server's answer is the same at all of its addresses.
            Err(ConnectError::Setup(error)) => return Err(refused(&login, plan, address, &error)),
            Err(ConnectError::Wire { error, is_silent }) => {
                first.get_or_insert((address, error, is_silent));
            }
        }
    }
    Err(match first {
        Some((address, error, is_silent)) => {
            let offered = match is_silent && error.is_end() {
                true => dialects_offered(address, plan),
                false => Vec::new(),
            };
            let mut error = advice::unreachable(&login.place, address, &error);
            // Some servers close the connection instead of refusing a dialect.
            let (low, high) = plan.dialects;
            if !offered.is_empty() && !offered.iter().any(|d| (low..=high).contains(d)) {
                let refusal = login.explain(&SetupError::NoDialect);
                error.reason = format!(
                    "{} ({}); {}",
                    refusal.reason,
                    error.reason,
                    offers(&offered)
                );
                error.advice = refusal.advice;
            }
            error
        }
        None => advice::no_address(&login.place),
    })
}

/// The error of a refused handshake; without a dialect in common, with those of the server.
fn refused(login: &Login, plan: &SmbPlan, address: SocketAddr, error: &SetupError) -> DriverError {
    let mut refusal = login.explain(error);
    if matches!(error, SetupError::NoDialect | SetupError::WrongDialect(_)) {
        let offered = dialects_offered(address, plan);
        refusal.reason = format!("{}; {}", refusal.reason, offers(&offered));
    }
    refusal.step = format!("{} with {address}", refusal.step);
    refusal
}

fn offers(offered: &[filermark_model::smb::Dialect]) -> String {
    match offered {
        [] => "it accepts none of the dialects, each offered alone".to_owned(),
        all => format!("it offers {}", names_of(all)),
    }
}

/// A connection and a handshake at one address.
///
/// # Errors
/// No connection, or the server refuses the session; nothing of that is stored.
pub(crate) fn session_at(
    address: SocketAddr,
    login: &Login,
    plan: &SmbPlan,
) -> Result<Raw, ConnectError> {
    let mut handshake = login.handshake().map_err(ConnectError::Setup)?;
    let lost = |is_silent| move |error| ConnectError::Wire { error, is_silent };
    let limit = ms(plan.connect_timeout_ms);
    let mut wire = Wire::connect(address, limit, SETUP_MESSAGE_MAX).map_err(lost(false))?;
    let until = Instant::now() + limit;
    let (mut out, mut message) = (Vec::new(), Vec::new());
    handshake.first(&mut out).map_err(ConnectError::Setup)?;
    for count in 0..MESSAGES_MAX {
        if !out.is_empty() {
            wire.send(&out, limit).map_err(lost(count == 0))?;
            out.clear();
        }
        let left = until.saturating_duration_since(Instant::now());
        let late = || ClientError::TimedOut {
            address,
            waited: limit,
        };
        let came = wire.receive(&mut message, left).map_err(lost(count == 0))?;
        if !came {
            return Err(lost(count == 0)(late()));
        }
        match handshake
            .reply(&message, &mut out)
            .map_err(ConnectError::Setup)?
        {
            Next::Send | Next::Pending => {}
            Next::Ready(session) => {
                let limit = ms(plan.reply_timeout_ms);
                return Ok(match *session {
                    Session::Smb1(session) => Raw::Smb1(RawSession::new(*session, wire, limit)),
                    Session::Smb2(session) => Raw::Smb2(RawSession::new(*session, wire, limit)),
                });
            }
        }
    }
    let source = filermark_smbwire::error::DecodeError::Bad("the number of steps of the login");
    Err(lost(false)(ClientError::Garbage { address, source }))
}

/// Only connects, for a look at a server; how long it took.
///
/// # Errors
/// Refused, or no answer in the plan's time.
pub fn try_connection(address: SocketAddr, plan: &SmbPlan) -> Result<Duration, ClientError> {
    let began = Instant::now();
    Wire::connect(address, ms(plan.connect_timeout_ms), SETUP_MESSAGE_MAX).map(|_| began.elapsed())
}

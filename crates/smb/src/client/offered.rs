//! Which dialects a server has: NEGOTIATE with each of them alone, without logging in.

use super::connect::ms;
use super::wire::Wire;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::ntlm::Anonymous;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb2::negotiate::NegotiateResponse;
use filermark_smbwire::smb2::{Header, Response};
use filermark_smbwire::{smb1, smb2, status};
use std::net::SocketAddr;
use std::time::Duration;

/// The longest answer to NEGOTIATE, in bytes.
const ANSWER_MAX: usize = 64 << 10;
/// Longest wait for each, in milliseconds.
const WAIT_MS_MAX: u32 = 2_000;

/// The dialects that the server at an address takes, rising. Takes a connection for each;
/// one that does not come about counts as a no.
pub fn dialects_offered(address: SocketAddr, plan: &SmbPlan) -> Vec<Dialect> {
    let limit = ms(plan.connect_timeout_ms.min(WAIT_MS_MAX));
    let all = Dialect::ALL.into_iter();
    all.filter(|dialect| takes(address, *dialect, limit).unwrap_or(false))
        .collect()
}

/// Names of dialects as in a sentence: `2.0.2, 2.1 and 3.0`.
pub fn names_of(dialects: &[Dialect]) -> String {
    let names: Vec<&str> = dialects.iter().map(|d| d.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, front)) => format!("{} and {last}", front.join(", ")),
        None => String::new(),
    }
}

/// `None`: there was no sound answer.
fn takes(address: SocketAddr, dialect: Dialect, limit: Duration) -> Option<bool> {
    let settings = Settings {
        dialects: (dialect, dialect),
        signing: Signing::Auto,
        encryption: Encryption::Auto,
        server: address.ip().to_string(),
        share: String::new(),
        guest_allowed: true,
        // No session follows, so the identity of the client is not needed.
        client_guid: [1; 16],
        random: [1; 32],
    };
    let anonymous = Box::new(Anonymous::default());
    let mut out = Vec::new();
    match dialect {
        Dialect::Nt1 => smb1::Handshake::new(settings, anonymous).first(&mut out),
        _ => smb2::Handshake::new(settings, anonymous)
            .first(&mut out)
            .ok()?,
    }
    let mut wire = Wire::connect(address, limit, ANSWER_MAX).ok()?;
    wire.send(&out, limit).ok()?;
    let mut message = Vec::new();
    if !wire.receive(&mut message, limit).ok()? {
        return None;
    }
    match dialect {
        Dialect::Nt1 => {
            let reply = smb1::Reply::read(&message).ok()?;
            let answer = smb1::Negotiated::read(&reply).ok()?;
            Some(reply.header.status == status::SUCCESS && answer.is_some())
        }
        _ => {
            if Header::decode(&message).ok()?.status != status::SUCCESS {
                return Some(false);
            }
            let answer = NegotiateResponse::decode(&message).ok()?;
            Some(answer.revision == dialect.revision())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_listed_in_a_sentence() {
        assert_eq!(names_of(&[]), "");
        assert_eq!(names_of(&[Dialect::Nt1]), "NT1");
        assert_eq!(
            names_of(&Dialect::ALL),
            "NT1, 2.0.2, 2.1, 3.0, 3.0.2 and 3.1.1"
        );
    }
}

//! What can go wrong with Kerberos, a sentence each, and what to do.

use filermark_gss::{Cause, Failure, NoLibrary, TicketError};
use filermark_onc::rpc::{GSS_VERSION, RejectStat, RpcRefusal};
use filermark_onc::xdr::DecodeError;
use std::net::IpAddr;

/// Why calls cannot be protected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecurityError {
    /// There is no library; the text says what to do.
    #[error("{0}")]
    NoLibrary(NoLibrary),
    /// There are no tickets of the user.
    #[error("Kerberos: no ticket for {user}: {failure}")]
    NoTicket {
        /// The user's principal, or "the caller".
        user: String,
        /// In the library's words.
        failure: Failure,
    },
    /// There is no ticket for the server, or it did not prove itself.
    #[error("Kerberos: nfs/{server}: {failure}")]
    Server {
        /// The server's name.
        server: String,
        /// In the library's words.
        failure: Failure,
    },
    /// The server does not take the ticket.
    #[error(
        "the server does not accept the ticket for nfs/{server} (GSS status {major:#x}, Kerberos {minor:#x})"
    )]
    NotAccepted {
        /// The server's name.
        server: String,
        /// `gss_major`.
        major: u32,
        /// `gss_minor`.
        minor: u32,
    },
    /// The server has no RPCSEC_GSS, or not for this user.
    #[error("the server refuses RPCSEC_GSS, version {GSS_VERSION}: {text}", text = refusal(.0))]
    NotOffered(RpcRefusal),
    /// The server answers the first call as a NULL call.
    #[error("the server has no RPCSEC_GSS: it answers the first call of a context without results")]
    Ignored,
    /// The exchange of tokens does not end.
    #[error("the exchange of tokens with the server does not come to an end")]
    Endless,
    /// The server's reply to a token, or a protected reply, cannot be decoded.
    #[error("the server's message of RPCSEC_GSS is malformed: {0}")]
    Malformed(DecodeError),
    /// A reply is not signed or encrypted as it must be.
    #[error("a reply is not protected as it must be: {0}")]
    Unprotected(String),
    /// The library cannot protect a call.
    #[error("Kerberos: a call cannot be signed or encrypted: {0}")]
    Library(Failure),
}

/// Why a call was not executed. The advice of an AUTH_ERROR is about AUTH_SYS and is left out.
fn refusal(why: &RpcRefusal) -> String {
    match why {
        RpcRefusal::Denied(RejectStat::AuthError(stat)) => format!("AUTH_ERROR {stat}"),
        _ => why.to_string(),
    }
}

impl From<TicketError> for SecurityError {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::NoLibrary(error) => Self::NoLibrary(error),
            TicketError::NoUser => Self::NoTicket {
                user: "the caller".to_owned(),
                failure: Failure::new("a password needs a user"),
            },
            TicketError::NoTicket { principal, failure } => Self::NoTicket {
                user: principal.unwrap_or_else(|| "the caller".to_owned()),
                failure,
            },
        }
    }
}

impl SecurityError {
    /// What to do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NoLibrary(_) => "SECURITY=sys works without it",
            Self::NoTicket { failure, .. } => advice_for_ticket(failure.cause()),
            Self::Server { server, failure } => advice_for_server(server, failure.cause()),
            Self::NotAccepted { .. } => {
                "see the server's log; check that its key table has the present key of this principal, and \
                 that the clocks of client, server and KDC agree"
            }
            Self::NotOffered(_) | Self::Ignored => {
                "enable Kerberos on the server (sec=krb5, krb5i or krb5p on the export, and a key table), or \
                 set SECURITY=sys"
            }
            Self::Endless | Self::Malformed(_) | Self::Unprotected(_) => {
                "check that nothing between client and server changes messages, and see the server's log"
            }
            Self::Library(_) => "get a new ticket with kinit, and see what klist shows",
        }
    }
}

const NO_KDC: &str = "check that the KDC runs, and its address in krb5.conf ([realms]) or DNS, from this client host";
const NO_REALM: &str = "check DOMAIN (the realm), and the realms and the default realm in krb5.conf of this client host";
const CLOCKS: &str = "set the clocks of client, server and KDC to the same time";
const EXPIRED: &str = "get a new ticket with kinit; tickets from a key table (KRB5_CLIENT_KTNAME) are renewed during a run";

fn advice_for_ticket(cause: Cause) -> &'static str {
    match cause {
        Cause::UserRefused => {
            "check USERNAME, DOMAIN (the realm) and the key table; klist shows the tickets there are"
        }
        Cause::UnknownRealm => NO_REALM,
        Cause::NoKdc => NO_KDC,
        Cause::ClockSkew => CLOCKS,
        Cause::Expired => EXPIRED,
        Cause::NoTicket | Cause::UnknownService | Cause::Other => {
            "get a ticket with kinit on every client host, as the user that runs Filermark there, or give \
             a key table in the environment (KRB5_CLIENT_KTNAME); USERNAME and DOMAIN (the realm), if set, \
             must be those of the ticket (klist)"
        }
    }
}

fn advice_for_server(server: &str, cause: Cause) -> &'static str {
    match cause {
        Cause::UnknownService | Cause::Other if server.parse::<IpAddr>().is_ok() => {
            "tickets are issued for names: give the server's name instead of its address in MNT_POINTS"
        }
        Cause::UnknownService => {
            "give the server's name in MNT_POINTS as in its principal (klist -k on the server shows it), or \
             create the principal on the KDC and add it to the server's key table"
        }
        Cause::UnknownRealm => NO_REALM,
        Cause::NoKdc => NO_KDC,
        Cause::ClockSkew => CLOCKS,
        Cause::Expired | Cause::NoTicket => EXPIRED,
        Cause::UserRefused | Cause::Other => {
            "check krb5.conf of this client host, and the server's name in MNT_POINTS"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::rpc::AuthStat;

    #[test]
    fn an_address_has_its_own_advice() {
        let of = |server: &str| SecurityError::Server {
            server: server.to_owned(),
            failure: Failure::new("not found"),
        };
        let address = of("192.0.2.1");
        assert_eq!(address.to_string(), "Kerberos: nfs/192.0.2.1: not found");
        assert!(address.advice().contains("tickets are issued for names"));
        assert!(!of("server").advice().contains("tickets are issued"));
    }

    #[test]
    fn a_refused_flavor_has_no_advice_for_auth_sys() {
        let why = RpcRefusal::Denied(RejectStat::AuthError(AuthStat::BadCred));
        let error = SecurityError::NotOffered(why);
        assert_eq!(
            error.to_string(),
            "the server refuses RPCSEC_GSS, version 1: AUTH_ERROR AUTH_BADCRED"
        );
        assert!(error.advice().contains("enable Kerberos"));
    }

    #[test]
    fn a_missing_library_names_what_works() {
        let windows = SecurityError::NoLibrary(NoLibrary::Windows);
        assert!(!windows.to_string().contains("libgssapi"), "{windows}");
        assert!(windows.advice().contains("SECURITY=sys"));
    }
}

//! The sentences for everything that can fail on a share, with the next thing to try.

use super::error::{ClientError, Failure};
use filermark_engine::driver::DriverError;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::Auth;
use filermark_smbwire::status;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// No session came about, for want of a connection.
pub(crate) fn unreachable(place: &str, address: SocketAddr, error: &ClientError) -> DriverError {
    DriverError {
        place: place.to_owned(),
        step: format!("set an SMB session up with {address}"),
        reason: reason(address, error),
        advice: advice(error).into(),
    }
}

/// The server has no address.
pub(crate) fn no_address(place: &str) -> DriverError {
    DriverError {
        place: place.to_owned(),
        step: "find the server's address".into(),
        reason: "it has none".into(),
        advice: "check the name in MNT_POINTS".into(),
    }
}

/// Something was not done.
pub(crate) fn explain(place: &str, step: &str, failure: &Failure, plan: &SmbPlan) -> DriverError {
    let (reason, advice) = match failure {
        Failure::Refused { step, status } => (
            format!("the server answered {} to {step}", status::text(*status)),
            refusal_advice(*status, plan),
        ),
        Failure::ConnectionLost { error, .. } => (error.to_string(), advice(error).to_owned()),
    };
    DriverError {
        place: place.to_owned(),
        step: step.to_owned(),
        reason,
        advice,
    }
}

/// What happened; the address is in the step already.
fn reason(address: SocketAddr, error: &ClientError) -> String {
    let text = error.to_string();
    let own = [
        format!("cannot connect to {address}: "),
        format!("{address}: "),
        format!("{address} "),
    ];
    let rest = own.iter().find_map(|front| text.strip_prefix(front));
    match rest {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn advice(error: &ClientError) -> &'static str {
    match error {
        ClientError::Connect { source, .. } => match source.kind() {
            ErrorKind::ConnectionRefused => {
                "is an SMB server running there, and is SMB_PORT its port (445 as a rule)?"
            }
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                "is the host up, and is there a route to it (IPv6 without a route: IPV6_ENABLE=off)?"
            }
            _ => "check address, route and firewall",
        },
        ClientError::Stopped => "",
        ClientError::ConnectTimedOut { .. } => {
            "is the host up, or does a firewall drop the packets?"
        }
        ClientError::TimedOut { .. } => {
            "is the server overloaded, or is something else listening on this port?"
        }
        ClientError::Broken { .. } | ClientError::Closed { .. } => {
            "was the server stopped, or does it turn this client away (hosts allow, a dialect switched off)? See its log"
        }
        ClientError::Frame { .. } | ClientError::Garbage { .. } => {
            "is something else than an SMB server listening there? Check SMB_PORT"
        }
        ClientError::NoCredits { .. } => "is the server overloaded? See its log",
    }
}

fn refusal_advice(status: u32, plan: &SmbPlan) -> String {
    let user = match &plan.auth {
        Auth::Ntlm { username, .. } | Auth::Kerberos { username, .. } if !username.is_empty() => {
            format!("user {username}")
        }
        Auth::Guest => "a guest".to_owned(),
        Auth::Anonymous => "an anonymous user".to_owned(),
        Auth::Ntlm { .. } | Auth::Kerberos { .. } => "this user".to_owned(),
    };
    match status {
        status::ACCESS_DENIED | status::NETWORK_ACCESS_DENIED | status::PRIVILEGE_NOT_HELD => {
            format!(
                "{user} may not do this there: is the share read-only? Give the right to make, \
                 write and remove files (by the share and by the file system beneath), or name \
                 another user (USERNAME)"
            )
        }
        status::MEDIA_WRITE_PROTECTED => {
            "the share is read-only: let it be written to on the server".to_owned()
        }
        status::DISK_FULL => "the share's file system is full: make room there".to_owned(),
        status::QUOTA_EXCEEDED => format!("the quota of {user} is used up: raise it or make room"),
        status::OBJECT_PATH_NOT_FOUND
        | status::OBJECT_PATH_INVALID
        | status::OBJECT_NAME_NOT_FOUND
        | status::NOT_A_DIRECTORY => {
            "the share has no such directory: make it, or correct MNT_POINTS".to_owned()
        }
        status::SHARING_VIOLATION | status::FILE_LOCK_CONFLICT | status::DELETE_PENDING => {
            "some program has it open: end that, or choose another suffix (-s)".to_owned()
        }
        status::CANNOT_DELETE => {
            "it has the read-only attribute, or some program has it mapped".to_owned()
        }
        status::PATH_NOT_COVERED | status::DFS_EXIT_PATH_FOUND => {
            "it is elsewhere in a DFS tree: name the share on the server that has it in MNT_POINTS"
                .to_owned()
        }
        status::NETWORK_NAME_DELETED
        | status::BAD_NETWORK_NAME
        | status::USER_SESSION_DELETED
        | status::NETWORK_SESSION_EXPIRED
        | status::FILE_CLOSED => {
            "was the share or the session taken away meanwhile? See the server's log, and run \
             again"
                .to_owned()
        }
        status::TOO_MANY_OPENED_FILES | status::INSUFFICIENT_RESOURCES | status::NO_MEMORY => {
            "the server is at its limits: see its log".to_owned()
        }
        _ => "see the server's log".to_owned(),
    }
}

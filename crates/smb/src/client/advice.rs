//! Messages for everything that can fail on a share, with advice.

use super::error::{ClientError, Failure};
use filermark_engine::driver::DriverError;
use filermark_model::plan::SmbPlan;
use filermark_model::smb::Auth;
use filermark_smbwire::status;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// There is no session, because there is no connection.
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
        step: "look up the server's address".into(),
        reason: "the name has no address".into(),
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
                "check that an SMB server runs there, and SMB_PORT (usually 445)"
            }
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                "check that the host is up and that there is a route to it (without a route for IPv6: IPV6_ENABLE=off)"
            }
            _ => "check address, route and firewall",
        },
        ClientError::Stopped => "",
        ClientError::ConnectTimedOut { .. } => {
            "check that the host is up and that no firewall drops the packets"
        }
        ClientError::TimedOut { .. } => {
            "check whether the server is overloaded, or another program listens on this port"
        }
        ClientError::Broken { .. } | ClientError::Closed { .. } => {
            "check in the server's log whether it was stopped or refuses this client (hosts allow, a disabled dialect)"
        }
        ClientError::Frame { .. } | ClientError::Garbage { .. } => {
            "check SMB_PORT: another program than an SMB server may listen there"
        }
        ClientError::NoCredits { .. } => "check in the server's log whether it is overloaded",
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
                "{user} has no permission for this: check whether the share is read-only; permit the \
                 user to create, write and remove files (in the share and in its file system), or \
                 set another user (USERNAME)"
            )
        }
        status::MEDIA_WRITE_PROTECTED => {
            "the share is read-only: make it writable on the server".to_owned()
        }
        status::DISK_FULL => "the share's file system is full: free some space there".to_owned(),
        status::QUOTA_EXCEEDED => format!("the quota of {user} is used up: raise it or free some space"),
        status::OBJECT_PATH_NOT_FOUND
        | status::OBJECT_PATH_INVALID
        | status::OBJECT_NAME_NOT_FOUND
        | status::NOT_A_DIRECTORY => {
            "the share has no such directory: create it, or correct MNT_POINTS".to_owned()
        }
        status::SHARING_VIOLATION | status::FILE_LOCK_CONFLICT | status::DELETE_PENDING => {
            "another program has it open: end that program, or choose another suffix (-s)".to_owned()
        }
        status::CANNOT_DELETE => {
            "it has the read-only attribute, or a program has it mapped: clear the attribute or end the program".to_owned()
        }
        status::PATH_NOT_COVERED | status::DFS_EXIT_PATH_FOUND => {
            "a DFS tree has it on another server: give the share on that server in MNT_POINTS"
                .to_owned()
        }
        status::NETWORK_NAME_DELETED
        | status::BAD_NETWORK_NAME
        | status::USER_SESSION_DELETED
        | status::NETWORK_SESSION_EXPIRED
        | status::FILE_CLOSED => {
            "check in the server's log why it removed the share or the session, and run \
             again"
                .to_owned()
        }
        status::TOO_MANY_OPENED_FILES | status::INSUFFICIENT_RESOURCES | status::NO_MEMORY => {
            "the server is at a limit of its resources: see its log".to_owned()
        }
        _ => "see the server's log".to_owned(),
    }
}

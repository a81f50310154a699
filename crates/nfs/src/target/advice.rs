//! Messages for everything that can fail up to a mounted export, with advice.

use crate::client::ClientError;
use crate::starttls;
use crate::version2;
use filermark_engine::driver::DriverError;
use filermark_model::plan::{NfsPlan, NfsVersion};
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::rpc::{AcceptStat, AuthStat, RejectStat, RpcRefusal};
use std::fmt;
use std::net::SocketAddr;

/// The service that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Portmapper,
    Mount,
    Nfs,
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portmapper => "portmapper",
            Self::Mount => "MOUNT program",
            Self::Nfs => "NFS program",
        })
    }
}

impl Service {
    const fn refused_connection(self) -> &'static str {
        match self {
            Self::Portmapper => {
                "check that rpcbind runs there; for a server without it set NFS_PORT and MOUNT_PORT"
            }
            Self::Mount => "check that mountd runs on the server, and MOUNT_PORT",
            Self::Nfs => "check that an NFS server runs there, and NFS_PORT (usually 2049)",
        }
    }
}

impl Service {
    const fn unreachable_port(self) -> &'static str {
        match self {
            Self::Portmapper => {
                "check that rpcbind runs there; for a server without it set NFS_PORT and MOUNT_PORT"
            }
            Self::Mount => "check that mountd on the server accepts UDP, and MOUNT_PORT",
            Self::Nfs => {
                "check that the server serves NFS over UDP (many do not), and NFS_PORT; TCP=on uses TCP"
            }
        }
    }
}

/// The error of a call without an answer.
pub(crate) fn explain(
    place: &impl fmt::Display,
    step: &str,
    service: Service,
    address: SocketAddr,
    error: &ClientError,
) -> DriverError {
    DriverError {
        place: place.to_string(),
        step: format!("{step} ({service} at {address})"),
        reason: reason(address, error),
        advice: advice(service, error).to_owned(),
    }
}

/// What happened; the address is in the step already.
fn reason(address: SocketAddr, error: &ClientError) -> String {
    let text = error.to_string();
    let own = [
        format!("cannot connect to {address}: "),
        format!("{address} gave no session: "),
        format!("{address}: "),
        format!("{address} "),
    ];
    match own
        .iter()
        .find_map(|front| text.strip_prefix(front.as_str()))
    {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn advice(service: Service, error: &ClientError) -> &'static str {
    use std::io::ErrorKind;
    match error {
        ClientError::Connect { source, .. } => match source.kind() {
            ErrorKind::ConnectionRefused => service.refused_connection(),
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                "check that the host is up and that there is a route to it (without a route for IPv6: IPV6_ENABLE=off)"
            }
            _ => "check address, route and firewall",
        },
        ClientError::Stopped => "",
        ClientError::PortUnreachable { .. } => service.unreachable_port(),
        ClientError::Silent { .. } => {
            "check that the server serves it over UDP and that no firewall drops the packets; TCP=on uses TCP"
        }
        ClientError::ConnectTimedOut { .. } => {
            "check that the host is up and that no firewall drops the packets"
        }
        ClientError::ReservedPort { source } => match source.kind() {
            ErrorKind::PermissionDenied => {
                "run as root or with CAP_NET_BIND_SERVICE, or set RESVPORT=off and export with 'insecure'"
            }
            _ => {
                "use fewer connections (CONNECTIONS), or set RESVPORT=off and export with 'insecure'"
            }
        },
        ClientError::TimedOut { .. } => match service {
            Service::Portmapper => {
                "check whether it is overloaded, or another program listens on this port"
            }
            Service::Mount | Service::Nfs => {
                "check whether the server is busy or in its grace period, or another program listens on this port"
            }
        },
        ClientError::Broken { .. } | ClientError::Closed { .. } => {
            "check in the server's log whether it was stopped or refuses this client (TCP wrappers, firewall, unprivileged port: try RESVPORT=on)"
        }
        ClientError::Record { .. } | ClientError::Garbage { .. } | ClientError::WrongXid { .. } => {
            match service {
                Service::Portmapper => {
                    "another program than a portmapper may listen there; for a server without one set NFS_PORT and MOUNT_PORT"
                }
                Service::Mount => "check MOUNT_PORT: another program than mountd may listen there",
                Service::Nfs => {
                    "check NFS_PORT: another program than an NFS server may listen there"
                }
            }
        }
        ClientError::Refused { refusal, .. } => refusal_advice(service, refusal),
        ClientError::TlsFile { source } => starttls::file_advice(source),
        ClientError::Tls { source, .. } => starttls::advice(source),
        ClientError::TlsCut { .. } => {
            "check that the server has TLS (Linux: tlshd runs, its log says why it failed), or set TLS=off"
        }
        ClientError::Kerberos { error, .. } => error.advice(),
        // The refusal has it.
        ClientError::NoSession { .. } => "",
    }
}

fn refusal_advice(service: Service, refusal: &RpcRefusal) -> &'static str {
    match (refusal, service) {
        (RpcRefusal::Accepted(AcceptStat::ProgMismatch { .. }), Service::Nfs) => {
            "enable this version on the server (version 3: vers3=y, Protocols = 3; most servers no longer have version 2), or choose another (NFS_VERSION=4.1, BENCHMARK)"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgMismatch { .. }), Service::Mount) => {
            "enable the NFS version that belongs to it on the server (NFS 3 for MOUNT 3, NFS 2 for MOUNT 1)"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgUnavail), Service::Nfs) => {
            "check NFS_PORT, and that this version of NFS is enabled on the server; for a server without version 3 set NFS_VERSION=4.1"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgUnavail), Service::Mount) => {
            "check MOUNT_PORT (equal to NFS_PORT on servers with one port for all programs)"
        }
        // The refusal has it.
        (RpcRefusal::Denied(RejectStat::AuthError(AuthStat::TooWeak)), _) => "",
        (RpcRefusal::Denied(RejectStat::AuthError(_)), _) => {
            "check that the export allows this client with the flavor of SECURITY (sec=)"
        }
        _ => "see the server's log",
    }
}

/// The error of a procedure that the server refused.
pub(crate) fn refused(
    place: &impl fmt::Display,
    step: impl Into<String>,
    status: Nfsstat3,
    plan: &NfsPlan,
) -> DriverError {
    let status_text = version2::status_text(plan.version, status);
    let advice = match plan.version {
        NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => {
            nfs4_advice(Nfsstat4::from_u32(status.to_u32()))
        }
        _ => None,
    };
    DriverError {
        place: place.to_string(),
        step: step.into(),
        reason: format!("the server answered {status_text}"),
        advice: match Nfsstat4::from_u32(status.to_u32()) {
            Nfsstat4::Wrongsec => security_advice(plan),
            Nfsstat4::Rofs | Nfsstat4::Access | Nfsstat4::Perm
                if plan.version.has_state() && is_below_root(&place.to_string()) =>
            {
                "this is the root of the server's name space, which often has only the exports: name \
                 one of them, as host:/export"
                    .to_owned()
            }
            _ => advice.map_or_else(|| status_advice(status, plan), str::to_owned),
        },
    }
}

/// Whether a place is the directory `/` of a server, or something in it.
fn is_below_root(place: &str) -> bool {
    place.ends_with(":/") || place.contains("://")
}

/// Advice for a status that version 3 does not have.
fn nfs4_advice(status: Nfsstat4) -> Option<&'static str> {
    let is_known_in_v3 = !matches!(Nfsstat3::from_u32(status.to_u32()), Nfsstat3::Unknown(_));
    match status {
        _ if is_known_in_v3 => None,
        other => Some(other.advice()),
    }
}

/// Advice for an export that does not allow the security of the plan.
pub(super) fn security_advice(plan: &NfsPlan) -> String {
    let word = plan.security.name();
    let tls = match plan.tls {
        None => "; set TLS=on or mtls if the export requires TLS (xprtsec)",
        Some(_) => "",
    };
    format!(
        "export the path with sec={word}, or set SECURITY to what the export requires (SECURITY={word} is \
         used: sys, krb5, krb5i, krb5p){tls}"
    )
}

/// Advice for a status with which the server refused an operation of the plan's user.
fn status_advice(status: Nfsstat3, plan: &NfsPlan) -> String {
    let (uid, gid) = (plan.uid, plan.gid);
    match status {
        Nfsstat3::Acces | Nfsstat3::Perm if plan.security.is_kerberos() => {
            "the user of the ticket has no permission for this: give that user write permission on the \
             exported directory, and check that the server maps the principal to a user (idmapd.conf)"
                .to_owned()
        }
        Nfsstat3::Acces | Nfsstat3::Perm => format!(
            "uid {uid} gid {gid} has no permission for this: give it write permission on the \
             exported directory, use other ids (SFS_NFS_USER_ID, SFS_NFS_GROUP_ID), or export \
             with no_root_squash if they are 0"
        ),
        Nfsstat3::Xdev => "another file system is mounted or exported inside that directory: \
             unmount it on the server, or choose another suffix (-s)"
            .to_owned(),
        Nfsstat3::Rofs => "the export is read-only: export it read-write".to_owned(),
        Nfsstat3::Nospc => "the server's disk is full: free some space there".to_owned(),
        Nfsstat3::Dquot => {
            format!("the quota of uid {uid} is used up: raise it or free some space")
        }
        Nfsstat3::Stale | Nfsstat3::Badhandle => {
            "check whether the export or its disk was changed meanwhile, and run again".to_owned()
        }
        other => other.advice().to_owned(),
    }
}

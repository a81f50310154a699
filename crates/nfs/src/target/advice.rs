//! The sentences for everything that can fail on the way to a mounted export.

use crate::client::ClientError;
use crate::version2;
use filermark_engine::driver::DriverError;
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::rpc::{AcceptStat, AuthStat, RejectStat, RpcRefusal};
use std::fmt;
use std::net::SocketAddr;

/// Whom we are talking to.
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
                "is rpcbind running there? For a server without one give NFS_PORT and MOUNT_PORT"
            }
            Self::Mount => "is the server's mountd running, and is MOUNT_PORT its port?",
            Self::Nfs => {
                "is an NFS server running there, and is NFS_PORT its port (2049 as a rule)?"
            }
        }
    }
}

impl Service {
    const fn unreachable_port(self) -> &'static str {
        match self {
            Self::Portmapper => {
                "is rpcbind running there? For a server without one give NFS_PORT and MOUNT_PORT"
            }
            Self::Mount => "does the server's mountd take UDP, and is MOUNT_PORT its port?",
            Self::Nfs => {
                "does the server serve NFS over UDP (many do not by now), and is NFS_PORT its port? TCP=on goes over TCP"
            }
        }
    }
}

/// The sentence for a call that got no answer.
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
                "is the host up, and is there a route to it (IPv6 without a route: IPV6_ENABLE=off)?"
            }
            _ => "check address, route and firewall",
        },
        ClientError::Stopped => "",
        ClientError::PortUnreachable { .. } => service.unreachable_port(),
        ClientError::Silent { .. } => {
            "does the server serve it over UDP, or does a firewall drop the packets? TCP=on goes over TCP"
        }
        ClientError::ConnectTimedOut { .. } => {
            "is the host up, or does a firewall drop the packets?"
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
            Service::Portmapper => "is it overloaded, or is something else listening on this port?",
            Service::Mount | Service::Nfs => {
                "is the server busy or still in its grace period, or is something else listening on this port?"
            }
        },
        ClientError::Broken { .. } | ClientError::Closed { .. } => {
            "was the server stopped, or does it turn this client away (TCP wrappers, firewall, unprivileged port: try RESVPORT=on)? Look at its log"
        }
        ClientError::Record { .. } | ClientError::Garbage { .. } | ClientError::WrongXid { .. } => {
            match service {
                Service::Portmapper => "is something else than a portmapper listening there?",
                Service::Mount => "is something else than mountd listening there? Check MOUNT_PORT",
                Service::Nfs => {
                    "is something else than an NFS server listening there? Check NFS_PORT"
                }
            }
        }
        ClientError::Refused { refusal, .. } => refusal_advice(service, refusal),
    }
}

fn refusal_advice(service: Service, refusal: &RpcRefusal) -> &'static str {
    match (refusal, service) {
        (RpcRefusal::Accepted(AcceptStat::ProgMismatch { .. }), Service::Nfs) => {
            "switch this version on at the server (version 3: vers3=y, Protocols = 3; version 2 is gone from most), or choose another (NFS_VERSION, BENCHMARK)"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgMismatch { .. }), Service::Mount) => {
            "switch the version of NFS on at the server that this one goes with (MOUNT 3 with NFS 3, 1 with 2)"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgUnavail), Service::Nfs) => {
            "check NFS_PORT, and that the server has this version of NFS switched on"
        }
        (RpcRefusal::Accepted(AcceptStat::ProgUnavail), Service::Mount) => {
            "check MOUNT_PORT (servers with one port for all have it equal to NFS_PORT)"
        }
        (RpcRefusal::Denied(RejectStat::AuthError(AuthStat::TooWeak)), _) => {
            "try RESVPORT=on, and check that the export allows this client with sec=sys"
        }
        (RpcRefusal::Denied(RejectStat::AuthError(_)), _) => {
            "check that the export allows this client, with sec=sys"
        }
        _ => "look at the server's log",
    }
}

/// The sentence for a procedure that the server refused.
pub(crate) fn refused(
    place: &impl fmt::Display,
    step: impl Into<String>,
    status: Nfsstat3,
    plan: &NfsPlan,
) -> DriverError {
    let status_text = version2::status_text(plan.version, status);
    DriverError {
        place: place.to_string(),
        step: step.into(),
        reason: format!("the server answered {status_text}"),
        advice: status_advice(status, (plan.uid, plan.gid)),
    }
}

/// What to try when the server refuses to let `ids` (uid, gid) do something.
fn status_advice(status: Nfsstat3, (uid, gid): (u32, u32)) -> String {
    match status {
        Nfsstat3::Acces | Nfsstat3::Perm => format!(
            "uid {uid} gid {gid} may not do this there: give them write permission on the \
             exported directory, choose others (SFS_NFS_USER_ID, SFS_NFS_GROUP_ID), or export \
             with no_root_squash if they are 0"
        ),
        Nfsstat3::Xdev => "another file system is mounted or exported inside of that directory: \
             unmount it on the server, or choose another suffix (-s)"
            .to_owned(),
        Nfsstat3::Rofs => "the export is read-only: export it read-write".to_owned(),
        Nfsstat3::Nospc => "the server's disk is full: make room there".to_owned(),
        Nfsstat3::Dquot => format!("the quota of uid {uid} is used up: raise it or make room"),
        Nfsstat3::Stale | Nfsstat3::Badhandle => {
            "was the export remade or its disk changed meanwhile? Run again".to_owned()
        }
        other => other.advice().to_owned(),
    }
}

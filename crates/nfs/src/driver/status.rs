//! The numbers of refusals: NFSv3 statuses have their own numbers; those of the RPC layer
//! and of the driver are above them.

use crate::version2;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::rpc::{AcceptStat, AuthStat, RejectStat, RpcRefusal};

const ACCEPTED: u32 = 0x8000_0000;
const RPC_MISMATCH: u32 = 0x8000_0100;
const AUTH_ERROR: u32 = 0x8001_0000;
const AUTH_ERROR_LAST: u32 = 0x8001_ffff;
/// The object was not created, so it has no handle.
pub(crate) const NO_HANDLE: u32 = 0x8002_0000;
/// NFSv2 has no such procedure, or the offset is too large for it.
pub(crate) const NOT_IN_V2: u32 = 0x8002_0002;
/// The write verifier changed after every repetition.
pub(crate) const VERIFIER_KEEPS_CHANGING: u32 = 0x8002_0001;

/// This version of NFS does not have the operation.
pub(crate) const NOT_IN_VERSION: u32 = 0x8002_0003;
/// The server copies after its reply, although that was not allowed.
pub(crate) const ASYNCHRONOUS_COPY: u32 = 0x8002_0004;
/// The write verifier changed between a COPY and its COMMIT.
pub(crate) const COPY_LOST: u32 = 0x8002_0005;

/// The number of a refusal by the RPC layer.
pub(crate) fn rpc_code(refusal: RpcRefusal) -> u32 {
    match refusal {
        RpcRefusal::Accepted(stat) => {
            ACCEPTED
                + match stat {
                    AcceptStat::Success => 0,
                    AcceptStat::ProgUnavail => 1,
                    AcceptStat::ProgMismatch { .. } => 2,
                    AcceptStat::ProcUnavail => 3,
                    AcceptStat::GarbageArgs => 4,
                    AcceptStat::SystemErr => 5,
                }
        }
        RpcRefusal::Denied(RejectStat::RpcMismatch { .. }) => RPC_MISMATCH,
        RpcRefusal::Denied(RejectStat::AuthError(why)) => AUTH_ERROR + why.to_u32().min(0xffff),
    }
}

/// The text for a refusal's number.
pub(crate) fn text(version: NfsVersion, code: u32) -> String {
    const STATS: [&str; 5] = [
        "PROG_UNAVAIL",
        "PROG_MISMATCH",
        "PROC_UNAVAIL",
        "GARBAGE_ARGS",
        "SYSTEM_ERR",
    ];
    match code {
        NO_HANDLE => "no handle: the object was not created or not found earlier".to_owned(),
        VERIFIER_KEEPS_CHANGING => "the write verifier changed after every retry".to_owned(),
        NOT_IN_V2 => "NFSv2 has no such procedure, or the file would end beyond 2 GiB".to_owned(),
        NOT_IN_VERSION => "this version of NFS does not have the operation".to_owned(),
        ASYNCHRONOUS_COPY => {
            "COPY goes on after its reply, although it was asked to be synchronous".to_owned()
        }
        COPY_LOST => "the write verifier changed between COPY and COMMIT".to_owned(),
        RPC_MISMATCH => "RPC_MISMATCH".to_owned(),
        AUTH_ERROR..=AUTH_ERROR_LAST => {
            format!("AUTH_ERROR {}", AuthStat::from_u32(code - AUTH_ERROR))
        }
        ACCEPTED.. => match STATS.get((code - ACCEPTED).wrapping_sub(1) as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("refusal {code:#x}"),
        },
        _ => version2::status_text(version, Nfsstat3::from_u32(code)),
    }
}

/// What to do, for refusals that end the run.
pub(crate) fn fatal_advice(code: u32) -> Option<&'static str> {
    let status = Nfsstat3::from_u32(code);
    match status {
        Nfsstat3::Nospc
        | Nfsstat3::Dquot
        | Nfsstat3::Rofs
        | Nfsstat3::Stale
        | Nfsstat3::Badhandle
        | Nfsstat3::Acces
        | Nfsstat3::Perm => return Some(status.advice()),
        _ => {}
    }
    match code {
        AUTH_ERROR..=AUTH_ERROR_LAST => Some(AuthStat::from_u32(code - AUTH_ERROR).advice()),
        RPC_MISMATCH => Some("the server does not support version 2 of RPC; check the port"),
        VERIFIER_KEEPS_CHANGING => {
            Some("the server seems to restart again and again; check its log")
        }
        ACCEPTED..RPC_MISMATCH if code - ACCEPTED <= 3 => Some(
            "the program on this port does not serve this version of NFS; check NFS_PORT and \
             that the version is enabled on the server",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_refusal_has_its_own_text() {
        let refusals = [
            RpcRefusal::Accepted(AcceptStat::ProgMismatch { low: 4, high: 4 }),
            RpcRefusal::Accepted(AcceptStat::GarbageArgs),
            RpcRefusal::Accepted(AcceptStat::SystemErr),
            RpcRefusal::Denied(RejectStat::RpcMismatch { low: 3, high: 3 }),
            RpcRefusal::Denied(RejectStat::AuthError(AuthStat::TooWeak)),
            RpcRefusal::Denied(RejectStat::AuthError(AuthStat::Unknown(u32::MAX))),
        ];
        let texts: Vec<_> = refusals
            .into_iter()
            .map(|r| text(NfsVersion::V3, rpc_code(r)))
            .collect();
        assert_eq!(texts[0], "PROG_MISMATCH");
        assert_eq!(texts[1], "GARBAGE_ARGS");
        assert_eq!(texts[2], "SYSTEM_ERR");
        assert_eq!(texts[3], "RPC_MISMATCH");
        assert!(texts[4].contains("AUTH_TOOWEAK"), "{}", texts[4]);
        assert!(texts[5].contains("65535"), "{}", texts[5]);
        assert_eq!(text(NfsVersion::V3, 28), "NFS3ERR_NOSPC");
        assert_eq!(text(NfsVersion::V2, 28), "NFSERR_NOSPC");
        assert!(fatal_advice(28).is_some() && fatal_advice(2).is_none());
        assert!(fatal_advice(rpc_code(refusals[4])).is_some_and(|a| a.contains("RESVPORT")));
        assert!(fatal_advice(rpc_code(refusals[0])).is_some_and(|a| a.contains("NFS_PORT")));
        assert!(fatal_advice(rpc_code(refusals[1])).is_none());
        assert!(fatal_advice(NO_HANDLE).is_none());
        for code in (0..300).map(|n| 0x8000_0000 + n) {
            assert!(!text(NfsVersion::V2, code).is_empty());
        }
    }
}

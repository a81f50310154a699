//! Shared parts of the checks of the RPC layer: unusual calls on separate connections.

use crate::client::{ClientError, Program, RpcClient, nfs_program};
use crate::target::{Target, credential, nfs_options};
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::{NfsPlan, Transport};
use filermark_onc::rpc::{AcceptStat, AuthBody, AuthSys, RpcRefusal};

/// A program from the range for private use (RFC 5531 section 8.3), which no server has.
pub(super) const UNKNOWN_PROGRAM: Program = Program {
    prog: 0x2fff_f0f0,
    vers: 1,
};

/// A separate connection to the NFS program: a server may close it after an unusual call.
pub(super) fn own_connection(plan: &NfsPlan, target: &Target) -> RpcClient {
    connection_as(plan, target, credential(plan))
}

/// A separate connection with other credentials.
pub(super) fn connection_as(plan: &NfsPlan, target: &Target, who: AuthBody) -> RpcClient {
    let program = nfs_program(plan.version);
    RpcClient::new(
        target.nfs_address,
        program,
        who,
        nfs_options(plan, &target.mount),
    )
}

/// A user that is not ours, root or the anonymous user: the uid and the credentials.
pub(super) fn other_user(plan: &NfsPlan) -> (u32, AuthBody) {
    let other = |own: u32| if own == 54_321 { 54_322 } else { 54_321 };
    let (uid, gid) = (other(plan.uid), other(plan.gid));
    let name = plan.machine_name.as_bytes();
    (uid, AuthSys::new(0, name, uid, gid, &[]).to_body())
}

/// Skips the check over UDP, which has no record marking.
pub(super) fn needs_tcp(plan: &NfsPlan) -> Result<(), Stop> {
    match plan.transport {
        Transport::Tcp => Ok(()),
        Transport::Udp => Err(Stop::Skip("there are no fragments over UDP".to_owned())),
    }
}

/// The call must be accepted by the RPC layer and not executed, with the status `wanted`.
pub(super) fn refused_by_rpc(
    rpc: &mut RpcClient,
    what: &str,
    call: (Program, u32, &[u8]),
    wanted: &str,
) -> Result<AcceptStat, Stop> {
    let (program, procedure, args) = call;
    match rpc.call_raw(program, procedure, args) {
        Err(ClientError::Refused {
            refusal: RpcRefusal::Accepted(stat),
            ..
        }) if stat.name() == wanted => Ok(stat),
        Err(error) => Err(Stop::fail(format!("{what}: {wanted}"), error)),
        Ok(_) => Err(Stop::fail(format!("{what}: {wanted}"), "SUCCESS")),
    }
}

/// A version that the NFS program does not have: PROG_MISMATCH, with a range that includes the
/// version in use.
pub(super) fn refused_version(rpc: &mut RpcClient, asked: u32) -> Result<(), Stop> {
    let ours = rpc.program();
    let program = Program {
        vers: asked,
        ..ours
    };
    let what = format!("NFS version {asked}");
    let stat = refused_by_rpc(rpc, &what, (program, 0, &[]), "PROG_MISMATCH")?;
    let AcceptStat::ProgMismatch { low, high } = stat else {
        return Ok(());
    };
    let range = low..=high;
    if range.contains(&ours.vers) && !range.contains(&asked) {
        return Ok(());
    }
    let expected = format!("a range with {} and without {asked} in it", ours.vers);
    Err(Stop::fail(expected, format!("{low} to {high}")))
}

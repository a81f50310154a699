//! Claiming a run's directory on a share, and giving it back.
//!
//! The rules are [`filermark_driver_kit::claim`]'s; what they need of a share is in `backend`.
//! Everything blocks; nothing here is measured.

mod backend;

use crate::client::Client;
use crate::login::LoginRefusals;
use crate::target::Target;
use backend::Share;
use filermark_driver_kit::claim::lease::{LeaseWatch, SystemWatch};
use filermark_driver_kit::claim::{self, ClaimRole, Emptied, RenewResult};
use filermark_driver_kit::driver::{ClaimReport, ReleaseScope};
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::survey::Space;
use std::net::SocketAddr;

/// Reaches `mount`, makes the run's directory and marks it as ours: what
/// [`Driver::claim`](filermark_driver_kit::driver::Driver::claim) promises. Also tells at
/// which address the server was reached.
///
/// # Errors
/// Unreachable, refused, read-only, full, not ours: one sentence each.
pub fn claim(
    plan: &SmbPlan,
    mount: &MountPoint,
    claim: &Claim,
    refusals: &LoginRefusals,
    watch: &dyn LeaseWatch,
) -> Result<(ClaimReport, SocketAddr), DriverError> {
    let target = Target::of(mount)?;
    let (mut client, address) = Client::connect(&target, plan, refusals)?;
    let mut share = Share::new(&mut client, plan, &target, claim);
    let claimed = claim::claim(&mut share, claim, false, watch);
    let report = claimed.map(|claimed| ClaimReport {
        nonce: claimed.nonce,
        ..report(&mut client, plan, &target, claimed.emptied)
    });
    client.files().log_off();
    Ok((report?, address))
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](filermark_driver_kit::driver::Driver::release) promises.
///
/// # Errors
/// The server could not be reached or refused, or the directory belongs to another run
/// by now; names what stays.
pub fn release(
    plan: &SmbPlan,
    mount: &MountPoint,
    claim: &Claim,
    reach: ReleaseScope,
    refusals: &LoginRefusals,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let target = Target::of(mount)?;
    let (mut client, _) = Client::connect(&target, plan, refusals).map_err(|mut error| {
        let stays = format!(r"{}\{} stays", mount, claim.dir_name);
        error.advice = match error.advice.is_empty() {
            true => stays,
            false => format!("{stays}; {}", error.advice),
        };
        error
    })?;
    let mut share = Share::new(&mut client, plan, &target, claim);
    let released = claim::release(&mut share, claim, reach, watch);
    let report = released.map(|emptied| report(&mut client, plan, &target, emptied));
    client.files().log_off();
    report
}

/// The space of the file system behind a mount point: what
/// [`Driver::space`](filermark_driver_kit::driver::Driver::space) promises.
///
/// # Errors
/// The server could not be reached, or refused.
pub fn space(
    plan: &SmbPlan,
    mount: &MountPoint,
    refusals: &LoginRefusals,
) -> Result<Option<Space>, DriverError> {
    let target = Target::of(mount)?;
    let (mut client, _) = Client::connect(&target, plan, refusals)?;
    // A server that does not state it is no error.
    let space = client.files().space(&target.dir).ok();
    client.files().log_off();
    Ok(space.map(Into::into))
}

/// Renews the marker: what [`Driver::renew`](filermark_driver_kit::driver::Driver::renew)
/// promises.
///
/// # Errors
/// The server could not be reached or refused.
pub fn renew(
    plan: &SmbPlan,
    mount: &MountPoint,
    claim: &Claim,
    turn: ClaimRole,
    refusals: &LoginRefusals,
) -> Result<RenewResult, DriverError> {
    let target = Target::of(mount)?;
    let (mut client, _) = Client::connect(&target, plan, refusals)?;
    let mut share = Share::new(&mut client, plan, &target, claim);
    let renewed = claim::renew(&mut share, claim, turn, &SystemWatch);
    client.files().log_off();
    renewed
}

/// What a claim tells of the server.
pub(crate) fn report(
    client: &mut Client,
    plan: &SmbPlan,
    target: &Target,
    emptied: Emptied,
) -> ClaimReport {
    let limits = client.limits();
    let most = plan.block_size_max.unwrap_or(u32::MAX);
    let files = client.files();
    // What a server does not tell stays unknown.
    let space = files.space(&target.dir).ok();
    let mut facts = vec![("smb address".to_owned(), files.peer().to_string())];
    facts.extend(files.server_facts());
    if let Some(space) = space {
        facts.push(("total bytes".to_owned(), space.total.to_string()));
        facts.push(("free bytes".to_owned(), space.free.to_string()));
    }
    ClaimReport {
        removed_count: emptied.removed_count,
        not_ours: emptied.not_ours,
        not_removed: emptied.not_removed,
        occupied: emptied.occupied,
        nonce: String::new(),
        transfer_bytes: (limits.read_max.min(most), limits.write_max.min(most)),
        space: space.map(Into::into),
        lacking: Vec::new(),
        server_facts: facts,
    }
}

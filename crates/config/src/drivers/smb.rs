//! Parameters of the SMB driver: dialects and protection, login, calls.

mod dialects;
mod login;
mod parameters;
mod password;

use super::entry::{DriverParams, DriverRequest};
use crate::mounts::SHARES;
use crate::network;
use crate::params;
use crate::reading::Reading;
use filermark_model::plan::{DriverPlan, SmbPlan};
use filermark_model::smb::{Auth, Dialect};
use filermark_model::{Rule, Severity};

/// What it adds to the parameters. USERNAME, PASSWORD and DOMAIN are declared among those of 2008
/// (`params/classic.rs`).
pub(super) static DRIVER: DriverParams = DriverParams {
    title: "SMB",
    letter: 's',
    parameters: parameters::PARAMETERS,
    mounts: Some(&SHARES),
    must_be_set: "USERNAME, write the password to the first line of a\n\
         # file that only its owner can read (PASSWORD_FILE)",
    refuse,
    ..DriverParams::new(SmbPlan::DRIVER, settings)
};

/// Refuses UDP and RPC-with-TLS, which SMB does not have.
fn refuse(r: &mut Reading<'_>) {
    let values = r.values;
    if values.given(&params::TCP).is_some() && !values.get(&params::TCP) {
        let message = "SMB works over TCP only".to_owned();
        let hint = "set TCP=on or leave it out";
        r.refuse(&params::TCP, message, hint);
    }
    super::nfs::tls::refuse(
        r,
        "TLS protects NFS (RPC-with-TLS), and the benchmark is over SMB",
        "leave TLS out; SMB has its own encryption: SMB_ENCRYPTION=required",
    );
}

fn settings(r: &mut Reading<'_>, request: &DriverRequest<'_>) -> DriverPlan {
    DriverPlan::Smb(smb(r, request))
}

fn smb(r: &mut Reading<'_>, request: &DriverRequest<'_>) -> SmbPlan {
    let (protocol, layout) = (request.protocol, request.layout);
    let values = r.values;
    let port = values.get(&parameters::SMB_PORT);
    let given = values.given(&parameters::SMB_PORT).map(|_| port);
    let signing = values.get(&parameters::SMB_SIGNING);
    let encryption = values.get(&parameters::SMB_ENCRYPTION);
    let login = login::login(r);
    login::without_key(r, &login.auth, signing, encryption);
    let dialects = dialects::dialects(r, protocol, signing, encryption);
    let (channels, fewer_channels) = channels(r, dialects.1, &login.auth);
    SmbPlan {
        dialects,
        signing,
        encryption,
        auth: login.auth,
        password: login.password,
        port: network::port(r, &parameters::SMB_PORT, given, layout).unwrap_or(port),
        ip: network::ip(r, layout),
        block_size_max: network::block_size_max(values),
        biod_max_reads: values.get(&params::BIOD_MAX_READS),
        biod_max_writes: values.get(&params::BIOD_MAX_WRITES),
        connections: values.get(&params::CONNECTIONS),
        channels,
        fewer_channels,
        reply_timeout_ms: values.get(&params::RPC_TIMEOUT_MS),
        connect_timeout_ms: values.get(&params::CONNECT_TIMEOUT_MS),
    }
}

/// SMB_CHANNELS and SMB_CHANNELS_FEWER, for a session of this dialect at most.
fn channels(r: &mut Reading<'_>, highest: Dialect, auth: &Auth) -> (u32, bool) {
    let channels = r.values.get(&parameters::SMB_CHANNELS);
    let fewer = r.values.get(&parameters::SMB_CHANNELS_FEWER);
    if channels > 1 && highest < Dialect::V300 {
        r.refuse(
            &parameters::SMB_CHANNELS,
            format!("a session of {highest} has one connection only"),
            "allow SMB 3.0 or later (SMB_DIALECT), or set the number of connections by CONNECTIONS",
        );
    } else if channels > 1 && matches!(auth, Auth::Guest | Auth::Anonymous) {
        r.refuse(
            &parameters::SMB_CHANNELS,
            "a session without a user has no key that other connections could be bound with"
                .to_owned(),
            "log in as a user, or set the number of connections by CONNECTIONS",
        );
    }
    if fewer && channels == 1 {
        let text = "SMB_CHANNELS_FEWER has no effect with one channel".to_owned();
        r.reports.note(Rule::NotStandard, Severity::Note, text);
    }
    (channels, fewer && channels > 1)
}

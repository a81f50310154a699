//! Parameters of the SMB driver: dialects and protection, who logs in, how calls go.

mod dialects;
mod login;
mod password;

use crate::layout::Layout;
use crate::network;
use crate::params;
use crate::reading::Reading;
use filermark_model::benchmark::Protocol;
use filermark_model::plan::SmbPlan;

/// Resolves them.
pub(crate) fn smb(r: &mut Reading<'_>, protocol: Protocol, layout: Option<&Layout>) -> SmbPlan {
    let values = r.values;
    let port = values.get(&params::SMB_PORT);
    let given = values.given(&params::SMB_PORT).map(|_| port);
    let signing = values.get(&params::SMB_SIGNING);
    let encryption = values.get(&params::SMB_ENCRYPTION);
    let login = login::login(r);
    login::without_key(r, &login.auth, signing, encryption);
    SmbPlan {
        dialects: dialects::dialects(r, protocol, signing, encryption),
        signing,
        encryption,
        auth: login.auth,
        password: login.password,
        port: network::port(r, &params::SMB_PORT, given, layout).unwrap_or(port),
        ip: network::ip(r, layout),
        block_size_max: network::block_size_max(values),
        biod_max_reads: values.get(&params::BIOD_MAX_READS),
        biod_max_writes: values.get(&params::BIOD_MAX_WRITES),
        connections: values.get(&params::CONNECTIONS),
        reply_timeout_ms: values.get(&params::RPC_TIMEOUT_MS),
        connect_timeout_ms: values.get(&params::CONNECT_TIMEOUT_MS),
    }
}

//! Parameters of the SMB driver: dialects and protection, who logs in, how calls go.

mod dialects;
mod login;
mod password;

use crate::layout::Layout;
use crate::network;
use crate::reading::Reading;
use filermark_model::benchmark::Protocol;
use filermark_model::plan::SmbPlan;

/// The port of direct TCP (MS-SMB2 2.1).
const PORT: u16 = 445;

/// Resolves them.
pub(crate) fn smb(r: &mut Reading<'_>, protocol: Protocol, layout: Option<&Layout>) -> SmbPlan {
    let values = r.values;
    let int = |name: &str| values.int32(name).unwrap_or_default();
    let signing = dialects::signing(values);
    let encryption = dialects::encryption(values);
    let login = login::login(r);
    login::without_key(r, &login.auth, signing, encryption);
    SmbPlan {
        dialects: dialects::dialects(r, protocol, signing, encryption),
        signing,
        encryption,
        auth: login.auth,
        password: login.password,
        port: network::port(r, "SMB_PORT", layout).unwrap_or(PORT),
        ip: network::ip(r, layout),
        block_size_max: network::block_size_max(values),
        biod_max_reads: int("BIOD_MAX_READS"),
        biod_max_writes: int("BIOD_MAX_WRITES"),
        connections: network::connections(values),
        reply_timeout_ms: int("RPC_TIMEOUT_MS"),
        connect_timeout_ms: int("CONNECT_TIMEOUT_MS"),
    }
}

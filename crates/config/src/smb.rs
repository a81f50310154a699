//! Parameters of the SMB driver: dialects and protection, who logs in, how calls go.

mod dialects;
mod login;
mod password;

use crate::error::ConfigError;
use crate::given::Values;
use crate::layout::Layout;
use crate::network;
use crate::sources::Sources;
use filermark_model::Finding;
use filermark_model::benchmark::Protocol;
use filermark_model::plan::SmbPlan;

/// The port of direct TCP (MS-SMB2 2.1).
const PORT: u16 = 445;

/// Resolves them.
pub(crate) fn smb(
    values: &Values,
    sources: &Sources,
    protocol: Protocol,
    layout: Option<&Layout>,
    findings: &mut Vec<Finding>,
    errors: &mut Vec<ConfigError>,
) -> SmbPlan {
    let int = |name: &str| values.int32(name).unwrap_or_default();
    let signing = dialects::signing(values);
    let encryption = dialects::encryption(values);
    let login = login::login(values, sources, findings, errors);
    login::without_key(values, &login.auth, signing, encryption, errors);
    SmbPlan {
        dialects: dialects::dialects(values, protocol, signing, encryption, findings, errors),
        signing,
        encryption,
        auth: login.auth,
        password: login.password,
        port: network::port("SMB_PORT", layout, values, errors).unwrap_or(PORT),
        ip: network::ip(values, layout, findings),
        block_size_max: network::block_size_max(values),
        biod_max_reads: int("BIOD_MAX_READS"),
        biod_max_writes: int("BIOD_MAX_WRITES"),
        connections: network::connections(values),
        reply_timeout_ms: int("RPC_TIMEOUT_MS"),
        connect_timeout_ms: int("CONNECT_TIMEOUT_MS"),
    }
}

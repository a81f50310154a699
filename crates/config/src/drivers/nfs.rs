//! Parameters of the NFS driver.

pub(crate) mod tls;

use super::entry::{DriverParams, DriverRequest, VersionChoice};
use crate::error::quoted;
use crate::given::Values;
use crate::mounts::EXPORTS;
use crate::network;
use crate::params::{self, Param};
use crate::plan::common::is_idle;
use crate::reading::{Reading, Reports};
use filermark_model::benchmark::Protocol;
use filermark_model::plan::{
    ClientIds, Connections, DelegationUse, DriverPlan, LayoutUse, NfsPlan, NfsSecurity, NfsVersion,
    Transport,
};
use filermark_model::{Benchmark, Rule, Severity};

/// RFC 5531, appendix A: supplementary groups in AUTH_SYS.
const GROUPS_MAX: usize = 16;
/// RFC 5531, appendix A: bytes of the machine name in AUTH_SYS.
const MACHINE_NAME_BYTES_MAX: usize = 255;
/// Bytes of a user's name and of a realm.
const KERBEROS_NAME_BYTES_MAX: usize = 255;
/// Connections with a reserved source port: the engine takes ports from 512 to 1023,
/// less some that are in use.
const RESVPORTS_MAX: u32 = 500;

/// What it adds to the parameters. All but those of TLS are declared among those of 2008 and Filermark's
/// own (`params/classic.rs`, `params/filermark.rs`).
pub(super) static DRIVER: DriverParams = DriverParams {
    title: "NFS",
    letter: 'n',
    parameters: tls::PARAMETERS,
    mounts: Some(&EXPORTS),
    version: Some(VersionChoice {
        parameter: &params::NFS_VERSION.declaration,
        protocol: version,
        fits: |values, protocol| values.get(&params::NFS_VERSION) == protocol.nfs_version(),
    }),
    ..DriverParams::new(NfsPlan::DRIVER, settings)
};

/// NFS_VERSION, where it is given.
fn version(values: &Values) -> Option<Protocol> {
    values.given(&params::NFS_VERSION)?;
    match values.get(&params::NFS_VERSION) {
        Some(NfsVersion::V2) => Some(Protocol::Nfs2),
        // Versions 4.0, 4.1 and 4.2 do the operations of version 3.
        _ => Some(Protocol::Nfs3),
    }
}

fn settings(r: &mut Reading<'_>, request: &DriverRequest<'_>) -> DriverPlan {
    DriverPlan::Nfs(nfs(r, request))
}

fn nfs(r: &mut Reading<'_>, request: &DriverRequest<'_>) -> NfsPlan {
    let (benchmark, layout) = (request.benchmark, request.layout);
    let (values, sources) = (r.values, r.sources);
    let connections = values.get(&params::CONNECTIONS);
    let resvport = values.get(&params::RESVPORT);
    let wanted = match connections {
        Connections::PerProc => layout.map_or(0, |l| l.procs_per_client),
        Connections::Shared(n) => n,
    };
    let wanted = wanted.saturating_mul(values.get(&params::NCONNECT));
    if resvport && wanted > RESVPORTS_MAX {
        r.refuse(&params::RESVPORT,
            format!(
                "{wanted} connections need more ports below 1024 than there are; \
                 {RESVPORTS_MAX} may be had"
            ),
            "share connections (e.g. CONNECTIONS=16), or export with 'insecure' and set RESVPORT=off",
        );
    }
    let protocol = benchmark.map(|b| b.protocol);
    let version = protocol.and_then(Protocol::nfs_version).unwrap_or_default();
    // It does the operations of version 3, so benchmarks of that are its benchmarks.
    let version = match (version, values.get(&params::NFS_VERSION)) {
        (NfsVersion::V3, Some(asked)) if asked.has_state() => asked,
        _ => version,
    };
    let transport = match values.get(&params::TCP) {
        true => Transport::Tcp,
        false => Transport::Udp,
    };
    if version.has_state() && transport == Transport::Udp {
        r.refuse(
            &params::TCP,
            format!(
                "NFSv{} needs connections and is not sent over UDP (RFC 7530 section 3.1, RFC 8881 section 2.9.1)",
                version.name()
            ),
            // A benchmark of version 4 is not run over version 3.
            match protocol.and_then(Protocol::nfs_version) {
                Some(own) if own.has_state() => "leave TCP=off out, or choose a benchmark of NFSv3",
                _ => "leave TCP=off out, or set NFS_VERSION=3",
            },
        );
    }
    let (client_ids, nconnect) = clients(r, version);
    let (security, username, realm) = security(r, version, transport);
    let tls = tls::settings(r, transport);
    let is_in_clear = tls.is_none() && security.is_sys();
    let classic = benchmark.and_then(Benchmark::classic);
    let block_kib = benchmark.and_then(|b| b.standard.block_size_kib);
    let asked = network::block_size_max(values).or(block_kib.map(|kib| kib.saturating_mul(1024)));
    let block_size_max = cut(&mut r.reports, asked, version, transport);
    NfsPlan {
        version,
        transport,
        udp_timeout_ms: values.get(&params::UDP_TIMEOUT_MS),
        security,
        username,
        realm,
        uid: values
            .get(&params::SFS_NFS_USER_ID)
            .unwrap_or(sources.host.uid),
        gid: values
            .get(&params::SFS_NFS_GROUP_ID)
            .unwrap_or(sources.host.gid),
        gids: groups(r),
        machine_name: machine_name(r),
        resvport,
        block_size_max,
        biod_max_reads: values.get(&params::BIOD_MAX_READS),
        biod_max_writes: values.get(&params::BIOD_MAX_WRITES),
        commit: classic.and_then(|c| c.commit).unwrap_or_default(),
        // Those of the mix are known when MIXFILE was read.
        optional_ops: Vec::new(),
        nfs_port: network::port(r, &params::NFS_PORT, values.get(&params::NFS_PORT), layout),
        mount_port: values.get(&params::MOUNT_PORT),
        portmap_port: values.get(&params::PORTMAP_PORT),
        ip: network::ip(r, layout),
        tls,
        delegations: delegations(r, version),
        layouts: layouts(r, version, is_in_clear),
        connections,
        client_ids,
        nconnect,
        rpc_timeout_ms: values.get(&params::RPC_TIMEOUT_MS),
        rpc_retries: values.get(&params::RPC_RETRIES),
        connect_timeout_ms: values.get(&params::CONNECT_TIMEOUT_MS),
        jukebox_delay_ms: values.get(&params::JUKEBOX_DELAY_MS),
        jukebox_retries: values.get(&params::JUKEBOX_RETRIES),
    }
}

/// DELEGATIONS. Versions 2 and 3 have none, and over 4.0 no address for callbacks is sent.
fn delegations(r: &mut Reading<'_>, version: NfsVersion) -> DelegationUse {
    let asked = r.values.get(&params::DELEGATIONS);
    let may_have = matches!(version, NfsVersion::V41 | NfsVersion::V42);
    if !asked.is_refuse() && !may_have {
        r.refuse(
            &params::DELEGATIONS,
            format!("no delegations are used over NFSv{}", version.name()),
            "set NFS_VERSION=4.1 or 4.2, or leave DELEGATIONS out",
        );
    }
    asked
}

/// CLIENT_IDS and NCONNECT. Earlier versions have no sessions, which connections could be bound to.
fn clients(r: &mut Reading<'_>, version: NfsVersion) -> (ClientIds, u32) {
    let client_ids = r.values.get(&params::CLIENT_IDS);
    let nconnect = r.values.get(&params::NCONNECT);
    let may_share = matches!(version, NfsVersion::V41 | NfsVersion::V42);
    if !client_ids.is_connection() && !may_share {
        r.refuse(
            &params::CLIENT_IDS,
            format!(
                "NFSv{} has no sessions that several connections can have in common",
                version.name()
            ),
            "set NFS_VERSION=4.1 or 4.2, or leave CLIENT_IDS out",
        );
    }
    if nconnect > 1 && !may_share {
        r.refuse(
            &params::NCONNECT,
            format!(
                "NFSv{} has no sessions that several connections can have in common",
                version.name()
            ),
            "set NFS_VERSION=4.1 or 4.2, or set the number of connections by CONNECTIONS",
        );
    }
    if nconnect > 1 && !client_ids.is_connection() {
        r.refuse(
            &params::NCONNECT,
            "with CLIENT_IDS=shared all connections of a thread are one client".to_owned(),
            "set the number of connections by CONNECTIONS, or leave CLIENT_IDS out",
        );
    }
    (client_ids, nconnect)
}

/// LAYOUTS. Data servers are called in the clear, with the user of the layout (RFC 8435 section 2.2).
fn layouts(r: &mut Reading<'_>, version: NfsVersion, is_in_clear: bool) -> LayoutUse {
    let asked = r.values.get(&params::LAYOUTS);
    let may_have = matches!(version, NfsVersion::V41 | NfsVersion::V42);
    if asked.is_refuse() {
        return asked;
    }
    if !may_have {
        r.refuse(
            &params::LAYOUTS,
            format!("NFSv{} has no layouts", version.name()),
            "set NFS_VERSION=4.1 or 4.2, or leave LAYOUTS out",
        );
    } else if !is_in_clear {
        r.refuse(
            &params::LAYOUTS,
            "data servers are called with AUTH_SYS and without TLS, as the layouts name the users"
                .to_owned(),
            "leave TLS and SECURITY out, or leave LAYOUTS out",
        );
    }
    asked
}

/// SECURITY, and the user and realm of Kerberos.
fn security(
    r: &mut Reading<'_>,
    version: NfsVersion,
    transport: Transport,
) -> (NfsSecurity, String, String) {
    let values = r.values;
    let security = values.get(&params::SECURITY);
    let names: [&Param<Option<String>>; 2] = [&params::USERNAME, &params::DOMAIN];
    if security.is_sys() {
        let given = names.into_iter().filter_map(|name| values.given(name));
        for given in given.filter(|given| !is_idle(given)) {
            let text = format!(
                "{} has no effect with SECURITY=sys, whose user is SFS_NFS_USER_ID",
                given.shown()
            );
            r.reports.note(Rule::NotStandard, Severity::Note, text);
        }
        return (security, String::new(), String::new());
    }
    let word = security.name();
    if version == NfsVersion::V2 {
        r.refuse(
            &params::SECURITY,
            format!(
                "SECURITY={word} is for versions 3, 4.0, 4.1 and 4.2 of NFS, not for version 2"
            ),
            "leave SECURITY out, or set another NFS_VERSION",
        );
    }
    if transport == Transport::Udp {
        r.refuse(
            &params::SECURITY,
            format!("SECURITY={word} works over TCP only"),
            "leave TCP=off or SECURITY out",
        );
    }
    let [username, realm] = names.map(|parameter| {
        let name = values.get(parameter).unwrap_or_default();
        if name.len() > KERBEROS_NAME_BYTES_MAX || name.contains(['\0', '\\']) {
            let message = format!("{} is not a name of Kerberos", parameter.name);
            let hint =
                "write USERNAME as in the principal (without the realm), and the realm to DOMAIN";
            r.refuse(parameter, message, hint);
        }
        name
    });
    if username.is_empty() && !realm.is_empty() {
        r.refuse(
            &params::DOMAIN,
            format!("DOMAIN={realm} has no effect without USERNAME"),
            "set USERNAME to the user of that realm, or leave DOMAIN out: then the tickets are those of the \
             owner of the cache",
        );
    }
    (security, username, realm)
}

/// The most that a READ or WRITE carries, in bytes, and why; `None`: the server determines it.
const fn transfer_limit(version: NfsVersion, transport: Transport) -> Option<(u32, &'static str)> {
    let why = match version {
        NfsVersion::V2 => "NFS version 2 carries no more (RFC 1094, MAXDATA)",
        NfsVersion::V3 | NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => {
            "over UDP Filermark sends no more, as kernels do"
        }
    };
    match version.transfer_bytes_max(transport) {
        Some(limit) => Some((limit, why)),
        None => None,
    }
}

/// Limits the largest transfer that is requested, with a note where it is less.
fn cut(
    reports: &mut Reports,
    asked: Option<u32>,
    version: NfsVersion,
    transport: Transport,
) -> Option<u32> {
    let (Some(bytes), Some((limit, why))) = (asked, transfer_limit(version, transport)) else {
        return asked;
    };
    if bytes > limit {
        let text = format!(
            "BLOCK_SIZE={} is reduced to {}: {why}",
            bytes >> 10,
            limit >> 10
        );
        reports.note(Rule::NotStandard, Severity::Note, text);
    }
    Some(bytes.min(limit))
}

fn groups(r: &mut Reading<'_>) -> Vec<u32> {
    let words = r.values.get(&params::NFS_GROUPS);
    let mut report = |message: String| {
        let hint = "give group numbers with blanks between them, 16 at most";
        r.refuse(&params::NFS_GROUPS, message, hint);
    };
    if words.len() > GROUPS_MAX {
        report(format!(
            "NFS_GROUPS lists {} groups; AUTH_SYS carries {GROUPS_MAX}",
            words.len()
        ));
    }
    let mut groups = Vec::new();
    for word in words {
        match word.parse() {
            Ok(gid) => groups.push(gid),
            Err(_) => report(format!(
                "'{}' in NFS_GROUPS is not a group number",
                quoted(&word)
            )),
        }
    }
    groups
}

fn machine_name(r: &mut Reading<'_>) -> String {
    let (values, sources) = (r.values, r.sources);
    let Some(name) = values.get(&params::MACHINE_NAME) else {
        let name = sources.host.name.chars().filter(char::is_ascii);
        return name.take(MACHINE_NAME_BYTES_MAX).collect();
    };
    if name.len() > MACHINE_NAME_BYTES_MAX {
        r.refuse(
            &params::MACHINE_NAME,
            format!(
                "MACHINE_NAME has {} bytes; AUTH_SYS carries {MACHINE_NAME_BYTES_MAX}",
                name.len()
            ),
            "shorten it",
        );
    }
    name
}

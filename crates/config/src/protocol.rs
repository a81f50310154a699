//! Which protocol a classical run speaks: FS_PROTOCOL, BENCHMARK, BENCHMARK_FILE and
//! DRIVER say it, each for itself, and have to agree.

use crate::error::quoted;
use crate::given::Values;
use crate::params::{self, DriverName, FsProtocol, Parameter};
use crate::reading::Reading;
use filermark_model::Benchmark;
use filermark_model::benchmark::Protocol;

/// What people call a protocol.
pub(crate) const fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Nfs2 => "NFS version 2",
        Protocol::Nfs3 => "NFS version 3",
        Protocol::Smb1 => "SMB1",
        Protocol::Smb2 => "SMB 2 and 3",
        Protocol::Posix => "a mounted file system",
    }
}

/// Whether it is SMB, of either generation.
pub(crate) const fn is_smb(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Smb1 | Protocol::Smb2)
}

/// What FS_PROTOCOL says, where it is given.
fn given(values: &Values) -> Option<Protocol> {
    values.given(&params::FS_PROTOCOL)?;
    match values.get(&params::FS_PROTOCOL) {
        FsProtocol::Cifs => Some(Protocol::Smb1),
        FsProtocol::Smb => Some(Protocol::Smb2),
        FsProtocol::Nfs => Some(match nfs_version(values) {
            Some(2) => Protocol::Nfs2,
            _ => Protocol::Nfs3,
        }),
    }
}

/// NFS_VERSION, where it is given.
fn nfs_version(values: &Values) -> Option<u32> {
    values.given(&params::NFS_VERSION)?;
    values.get(&params::NFS_VERSION)
}

/// The name of the benchmark: BENCHMARK, or that of the protocol.
pub(crate) fn benchmark_name(values: &Values) -> String {
    if values.given(&params::BENCHMARK).is_some() {
        return values.get(&params::BENCHMARK);
    }
    let by_driver = || match (values.get(&params::DRIVER), nfs_version(values)) {
        (Some(DriverName::Smb), _) => Protocol::Smb2,
        (Some(DriverName::Nfs2), _) | (_, Some(2)) => Protocol::Nfs2,
        (Some(DriverName::Nfs3 | DriverName::Posix | DriverName::Null) | None, _) => Protocol::Nfs3,
    };
    match given(values).unwrap_or_else(by_driver) {
        Protocol::Smb1 => "general-smb1",
        Protocol::Smb2 => "general-smb2",
        Protocol::Nfs2 => "nfs2-1997",
        Protocol::Nfs3 | Protocol::Posix => "general-nfs3",
    }
    .to_owned()
}

/// The protocol of a run; where its definition is wrong, as has been told, the one that
/// is probably meant.
pub(crate) fn of(values: &Values, definition: Option<&Benchmark>) -> Protocol {
    if let Some(definition) = definition {
        return definition.protocol;
    }
    given(values).unwrap_or_else(|| match benchmark_name(values).as_str() {
        "general-smb1" => Protocol::Smb1,
        "general-smb2" => Protocol::Smb2,
        name if name.starts_with("nfs2-") => Protocol::Nfs2,
        _ => Protocol::Nfs3,
    })
}

/// What does not fit the protocol of the definition.
pub(crate) fn refuse(r: &mut Reading<'_>, definition: &Benchmark) {
    let values = r.values;
    let is = definition.protocol;
    let of = format!(
        "the benchmark {} is for {}",
        quoted(&definition.name),
        name(is)
    );
    let mut error = |parameter: &Parameter, hint: &str| {
        let shown = values.given(parameter).map(|g| g.shown());
        let message = format!("{}, but {of}", shown.unwrap_or_default());
        r.refuse(parameter, message, hint);
    };
    let nfs = is.nfs_version();
    let wanted = given(values).filter(|_| !values.is_bad(&params::FS_PROTOCOL));
    if wanted.is_some_and(|w| w != is && (nfs.is_none() || w.nfs_version().is_none())) {
        error(
            &params::FS_PROTOCOL,
            "leave FS_PROTOCOL or the benchmark out",
        );
    }
    let version = nfs_version(values).filter(|_| !values.is_bad(&params::NFS_VERSION));
    if version.is_some_and(|v| nfs.is_some_and(|is| is.number() != v)) {
        error(
            &params::NFS_VERSION,
            "leave NFS_VERSION or the benchmark out: every benchmark has its version",
        );
    }
    let fits = match values.get(&params::DRIVER) {
        Some(DriverName::Nfs2) => is == Protocol::Nfs2,
        Some(DriverName::Nfs3) => is == Protocol::Nfs3,
        Some(DriverName::Smb) => is_smb(is),
        Some(DriverName::Posix | DriverName::Null) | None => true,
    };
    if !fits {
        error(
            &params::DRIVER,
            "leave DRIVER out: it follows from the benchmark",
        );
    }
    if is == Protocol::Posix {
        let hint = "write it as a composite: [[benchmark]] and [[workload]] tables";
        let message = format!("{of}, which classical benchmarks do not work on");
        r.refuse(&params::BENCHMARK_FILE, message, hint);
    }
}

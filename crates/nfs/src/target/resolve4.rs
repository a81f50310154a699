//! The steps of version 4: session or client ID, look-up of the path from the root, attributes. There is no portmapper
//! and no MOUNT.

use super::advice::{Service, explain, refused};
use super::datagrams::{block_limit, has_version};
use super::negotiate::negotiate;
use super::resolve::{Failure, JukeboxRetries};
use super::session::SessionFacts;
use super::{Target, credential, flavor, mount_options, nfs_options};
use crate::client::{
    AnyFh, ClientError, FileSystemFacts, FoundObject, Nfs4Client, Program, Reply4, RpcClient,
    to_v3_status,
};
use crate::version4::SessionRefusal;
use filermark_engine::driver::DriverError;
use filermark_model::plan::{MinorVersion, MountPoint, NfsPlan, Transport};
use filermark_onc::nfs3::{Fattr3, Ftype3, Verf};
use filermark_onc::nfs4::{
    CompoundRes, CompoundWriter, Nfsstat4, Operation, PROC_COMPOUND, PROGRAM, PutrootfhArgs,
    VERSION,
};
use filermark_onc::xdr::Decoder;
use std::net::{IpAddr, SocketAddr};

/// Names that a sentence lists.
const NAMES_SHOWN: usize = 8;
/// Most parts of a path.
const PARTS_MAX: usize = 64;
/// Size of the listing from which names are suggested, in bytes.
const LISTING_BYTES: u32 = 8192;

/// Reaches a mount point over version 4.
pub(super) fn resolve_at(
    mount: &MountPoint,
    plan: &NfsPlan,
    minor: MinorVersion,
    ip: IpAddr,
) -> Result<Target, Failure> {
    if plan.transport == Transport::Udp {
        return Err(Failure::everywhere(DriverError {
            place: mount.host.clone(),
            step: format!("mount {}", mount.path),
            reason: format!(
                "NFSv{} needs a connection and is not sent over UDP (RFC 7530 section 3.1, RFC 8881 section 2.9.1)",
                minor.name()
            ),
            advice: "set TCP=on".to_owned(),
        }));
    }
    let address = SocketAddr::new(ip, plan.port_without_portmapper());
    let options = nfs_options(plan, &mount.host);
    let mut nfs = Nfs4Client::new(minor, address, credential(plan), options);
    let up = match nfs.session() {
        Ok(up) => up.clone(),
        Err(error) => return Err(no_session(mount, plan, minor, address, &error)),
    };
    let found = walk(mount, plan, &mut nfs)?;
    let root = found.object;
    let facts = file_system(mount, plan, &mut nfs, &root)?;
    let info = facts.fsinfo;
    let block = block_limit(plan);
    Ok(Target {
        mount: mount.clone(),
        nfs_address: address,
        mount_address: address,
        transport: plan.transport,
        mount_transport: plan.transport,
        mtu: None,
        root,
        root_attributes: info.obj_attributes.or(found.attributes),
        auth_flavors: vec![flavor(plan)],
        rsize: negotiate(info.rtpref, info.rtmax, info.rtmult, block),
        wsize: negotiate(info.wtpref, info.wtmax, info.wtmult, block),
        session: Some(SessionFacts::of(
            &up,
            facts.supported,
            facts.has_flexible_files,
        )),
        fsstat: Some(facts.fsstat),
        pathconf: facts.pathconf,
        tls: nfs.rpc().tls_description(),
        fsinfo: info,
    })
}

/// The failure of a session, with what the server offers where it does not offer the version.
fn no_session(
    mount: &MountPoint,
    plan: &NfsPlan,
    minor: MinorVersion,
    address: SocketAddr,
    error: &ClientError,
) -> Failure {
    let version = format!("NFSv{}", minor.name());
    let step = match minor.has_sessions() {
        true => format!("set up a session of {version}"),
        false => format!("set up a client ID of {version}"),
    };
    let explained = explain(&mount.host, &step, Service::Nfs, address, error);
    let ClientError::NoSession { refusal, .. } = error else {
        return Failure::here(explained);
    };
    let offered = match refusal {
        SessionRefusal::NoMinorVersion(_) | SessionRefusal::NoVersion4 { .. } => {
            offered(plan, minor, address)
        }
        _ => return Failure::everywhere(explained),
    };
    let reason = match offered.as_slice() {
        [] => format!("the server does not offer {version}, nor another version on this port"),
        versions => format!(
            "the server does not offer {version}; it offers {}",
            versions.join(", ")
        ),
    };
    let known = offered.iter().rev().find_map(|offered| match *offered {
        "NFSv4.2" => Some("4.2"),
        "NFSv4.1" => Some("4.1"),
        "NFSv4.0" => Some("4.0"),
        "NFSv3" => Some("3"),
        "NFSv2" => Some("2"),
        _ => None,
    });
    let advice = match known {
        Some(other) => format!("enable {version} on the server, or set NFS_VERSION={other}"),
        None => format!("enable {version} on the server"),
    };
    Failure::everywhere(DriverError {
        reason,
        advice,
        ..explained
    })
}

/// The versions of NFS that a server answers at this port which does not offer `minor`.
fn offered(plan: &NfsPlan, minor: MinorVersion, address: SocketAddr) -> Vec<&'static str> {
    let mut offered = Vec::new();
    for (vers, name) in [(2, "NFSv2"), (3, "NFSv3")] {
        let program = Program {
            prog: PROGRAM,
            vers,
        };
        if has_version(address, program, mount_options(plan)) {
            offered.push(name);
        }
    }
    for (number, name) in [(0, "NFSv4.0"), (1, "NFSv4.1"), (2, "NFSv4.2")] {
        if number != minor.number() && has_minor_version(plan, address, number) {
            offered.push(name);
        }
    }
    offered
}

/// Whether a server answers a COMPOUND of this minor version, be it with another error.
fn has_minor_version(plan: &NfsPlan, address: SocketAddr, number: u32) -> bool {
    let program = Program {
        prog: PROGRAM,
        vers: VERSION,
    };
    let mut args = Vec::new();
    let mut compound = CompoundWriter::<Operation>::begin(&mut args, b"", number);
    compound.op(&PutrootfhArgs {});
    compound.finish();
    let options = mount_options(plan);
    let mut rpc = RpcClient::new(address, program, credential(plan), options);
    let Ok(results) = rpc.call_raw(program, PROC_COMPOUND, &args) else {
        return false;
    };
    let compound = CompoundRes::<Operation>::decode(&mut Decoder::new(results));
    compound.is_ok_and(|compound| compound.status != Nfsstat4::MinorVersMismatch)
}

/// Calls again while the server is not ready.
fn settled<T>(plan: &NfsPlan, call: impl FnMut() -> Reply4<T>) -> Reply4<T> {
    let is_settled = |answer: &Result<T, Nfsstat4>| !matches!(answer, Err(Nfsstat4::Delay));
    JukeboxRetries::of(plan).until(call, is_settled)
}

/// Looks the path up from the server's root, name by name.
fn walk(mount: &MountPoint, plan: &NfsPlan, nfs: &mut Nfs4Client) -> Result<FoundObject, Failure> {
    let step = format!("look up {}", mount.path);
    let address = nfs.rpc().address();
    let lost = |error: &ClientError| {
        Failure::here(explain(&mount.host, &step, Service::Nfs, address, error))
    };
    let failed = |operation: &str, status| {
        let mut error = refused(&mount.host, step.clone(), to_v3_status(status), plan);
        error.reason.push_str(&format!(" to {operation}"));
        Failure::everywhere(error)
    };
    let root = settled(plan, || nfs.root()).map_err(|error| lost(&error))?;
    let mut at = root.map_err(|status| failed("PUTROOTFH", status))?;
    let mut walked = String::from("/");
    let parts = mount.path.split('/').filter(|part| !part.is_empty());
    for part in parts.take(PARTS_MAX) {
        let dir = at.object;
        let found = settled(plan, || nfs.lookup(&dir, part.as_bytes()));
        at = match found.map_err(|error| lost(&error))? {
            Ok(found) => found,
            Err(Nfsstat4::Noent) => {
                return Err(Failure::everywhere(DriverError {
                    place: mount.host.clone(),
                    step,
                    reason: format!("{walked} on the server has no '{part}' (NFS4ERR_NOENT)"),
                    advice: suggestion(nfs, &dir, &walked, part),
                }));
            }
            Err(status) => return Err(failed(&format!("LOOKUP of '{part}'"), status)),
        };
        if walked.len() > 1 {
            walked.push('/');
        }
        walked.push_str(part);
    }
    match &at.attributes {
        Some(Fattr3 { ftype, .. }) if *ftype != Ftype3::Dir => {
            Err(Failure::everywhere(DriverError {
                place: mount.host.clone(),
                step,
                reason: format!("{walked} on the server is not a directory"),
                advice: "give the path of a directory in MNT_POINTS".to_owned(),
            }))
        }
        _ => Ok(at),
    }
}

/// The names in a directory in which a name was not found, and the one that was probably meant.
fn suggestion(nfs: &mut Nfs4Client, dir: &AnyFh, walked: &str, part: &str) -> String {
    let listed = nfs.readdir(dir, (0, Verf::default()), LISTING_BYTES);
    let Ok(Ok(listed)) = listed else {
        return "check the path: version 4 has paths from the server's root, which may differ from those \
                of version 3 (pseudo, fsid=0)"
            .to_owned();
    };
    let names = listed.entries.iter();
    let names: Vec<String> = names
        .map(|entry| String::from_utf8_lossy(&entry.name).into_owned())
        .collect();
    if names.is_empty() {
        return match walked {
            "/" => "/ is empty: export a path for version 4 on the server".to_owned(),
            _ => format!("{walked} is empty: make the directory there, or correct MNT_POINTS"),
        };
    }
    let meant = filermark_model::text::nearest(part, names.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |near| format!("did you mean {near}? "));
    let shown = names.iter().take(NAMES_SHOWN).map(String::as_str);
    let more = match names.len() > NAMES_SHOWN {
        true => " and more",
        false => "",
    };
    let shown = shown.collect::<Vec<_>>().join(", ");
    format!("{meant}{walked} has {shown}{more}")
}

fn file_system(
    mount: &MountPoint,
    plan: &NfsPlan,
    nfs: &mut Nfs4Client,
    root: &AnyFh,
) -> Result<FileSystemFacts, Failure> {
    let address = nfs.rpc().address();
    match settled(plan, || nfs.file_system(root)) {
        Ok(Ok(facts)) => Ok(facts),
        Ok(Err(status)) => Err(Failure::everywhere(refused(
            mount,
            format!("GETATTR (NFS program at {address})"),
            to_v3_status(status),
            plan,
        ))),
        Err(error) => Err(Failure::here(explain(
            &mount.host,
            &format!("read the properties of {}", mount.path),
            Service::Nfs,
            address,
            &error,
        ))),
    }
}

//! MOUNT version 1.

use super::ops::{Bench, Check, Outcome, about_mount};
use crate::client::{ClientError, RpcClient, mount_program, narrow};
use crate::target::{credential, mount_options};
use crate::validate::text::{no_answer, shown};
use crate::validate::wire::refused_by_rpc;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::mount::*;
use filermark_onc::mount1;
use filermark_onc::nfs2::Nfsstat;
use filermark_onc::nfs3::{Fh, FileHandle};

checks! { CHECKS: Check =>
    "mount.null", about_mount(Procedure::Null), "returns an empty reply" => null;
    "mount.proc_unavail", about_mount(Procedure::Null), "procedure 99 answers PROC_UNAVAIL" => proc_unavail, by "RFC 5531 section 9";
    "mnt.root", about_mount(Procedure::Mnt), "returns the handle of the exported directory" => root;
    "mnt.not_exported", about_mount(Procedure::Mnt), "a path that is not exported answers an errno" => not_exported;
    "dump.listed", about_mount(Procedure::Dump), "lists clients and the directories that they mounted" => listed;
    "umnt.done", about_mount(Procedure::Umnt), "removes a mount from the list; the handle stays valid" => umnt;
    "umntall.done", about_mount(Procedure::Umntall), "removes all mounts of this client from the list" => umntall;
    "export.listed", about_mount(Procedure::Export), "lists the directory that is mounted" => exports;
}

/// A connection to the MOUNT program.
fn connection(b: &Bench<'_>) -> RpcClient {
    RpcClient::new(
        b.target.mount_address,
        mount_program(b.plan.version),
        credential(b.plan),
        mount_options(b.plan),
    )
}

/// The results of a call, which must be answered and decodable.
fn answered<T>(what: &str, answer: Result<T, ClientError>) -> Result<T, Stop> {
    answer.map_err(|error| no_answer(what, &error))
}

fn null(b: &mut Bench<'_>) -> Outcome {
    answered("NULL of MOUNT", connection(b).call(&NullArgs {}))
}

fn proc_unavail(b: &mut Bench<'_>) -> Outcome {
    let call = (mount_program(b.plan.version), 99, &[][..]);
    let what = "procedure 99 of MOUNT";
    refused_by_rpc(&mut connection(b), what, call, "PROC_UNAVAIL").map(drop)
}

fn mnt(rpc: &mut RpcClient, path: &str) -> Result<Result<Fh, Nfsstat>, Stop> {
    let dirpath = path.as_bytes();
    let answer = rpc.call(&mount1::MntArgs { dirpath });
    let answer = answered(&format!("MNT of {path}"), answer)?;
    Ok(answer.map(|ok| FileHandle::from(ok.directory).to_fh()))
}

/// MNT of the target's directory.
fn mnt_own(b: &Bench<'_>, rpc: &mut RpcClient) -> Result<Fh, Stop> {
    let path = &b.target.mount.path;
    let fail = |status| Stop::fail(format!("MNT of {path}: {}", Nfsstat::Ok), status);
    mnt(rpc, path)?.map_err(fail)
}

fn root(b: &mut Bench<'_>) -> Outcome {
    let ours = narrow(&b.target.root);
    let again = mnt_own(b, &mut connection(b))?;
    let (wanted, is) = (b.attributes(&ours)?, b.attributes(&again)?);
    b.equal(
        "fileid, fsid and type of the returned handle",
        (wanted.fileid, wanted.fsid, wanted.ftype),
        (is.fileid, is.fsid, is.ftype),
    )?;
    b.equal(
        "type of the returned handle",
        filermark_onc::nfs2::Ftype::Dir,
        is.ftype,
    )?;
    if ours != again {
        b.note("a second MNT returns a different handle of the same directory");
    }
    Ok(())
}

fn not_exported(b: &mut Bench<'_>) -> Outcome {
    let path = "/filermark.no.such.export";
    match mnt(&mut connection(b), path)? {
        Err(Nfsstat::Acces | Nfsstat::Noent) => {}
        Err(status) => b.note(format!(
            "MNT of {path}: {status}; ENOENT or EACCES is usual"
        )),
        Ok(_) => {
            return Err(Stop::fail(
                format!("MNT of {path}: an errno other than 0"),
                "a handle",
            ));
        }
    }
    Ok(())
}

/// The directories that a DUMP lists.
fn dump(rpc: &mut RpcClient) -> Result<Vec<Vec<u8>>, Stop> {
    let list = answered("DUMP", rpc.call(&DumpArgs {}))?;
    Ok(list.iter().map(|entry| entry.directory.to_vec()).collect())
}

/// The list is only a hint; some servers keep none.
fn listed(b: &mut Bench<'_>) -> Outcome {
    let mut rpc = connection(b);
    mnt_own(b, &mut rpc)?;
    let path = b.target.mount.path.as_bytes();
    if !dump(&mut rpc)?.iter().any(|dir| dir == path) {
        b.note(format!(
            "DUMP does not list {} after its MNT: no list is kept",
            shown(path)
        ));
    }
    Ok(())
}

fn umnt(b: &mut Bench<'_>) -> Outcome {
    let mut rpc = connection(b);
    let root = mnt_own(b, &mut rpc)?;
    let dirpath = b.target.mount.path.as_bytes();
    answered("UMNT", rpc.call(&UmntArgs { dirpath }))?;
    // NFS is stateless: the handle stays valid.
    b.attributes(&root)?;
    let what = "UMNT of what was not mounted";
    answered(
        what,
        rpc.call(&UmntArgs {
            dirpath: b"/filermark.no.such.export",
        }),
    )
}

fn umntall(b: &mut Bench<'_>) -> Outcome {
    let mut rpc = connection(b);
    let root = mnt_own(b, &mut rpc)?;
    answered("UMNTALL", rpc.call(&UmntallArgs {}))?;
    b.attributes(&root).map(drop)
}

/// Whether `path` is `export` or below it.
fn is_within(path: &[u8], export: &[u8]) -> bool {
    let export = export.strip_suffix(b"/").unwrap_or(export);
    match path.strip_prefix(export) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

fn exports(b: &mut Bench<'_>) -> Outcome {
    let mut rpc = connection(b);
    let list = answered("EXPORT", rpc.call(&ExportArgs {}))?;
    let dirs: Vec<Vec<u8>> = list.iter().map(|node| node.dir.to_vec()).collect();
    let path = b.target.mount.path.as_bytes();
    if !dirs.iter().any(|dir| is_within(path, dir)) {
        // Some servers list only what the client may mount.
        b.note(format!(
            "EXPORT lists {} directories, and {} is in none of them",
            dirs.len(),
            shown(path)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_path_is_within_whole_names_only() {
        assert!(is_within(b"/srv/a", b"/srv/a"));
        assert!(is_within(b"/srv/a/b", b"/srv/a/"));
        assert!(is_within(b"/srv", b"/"));
        assert!(!is_within(b"/srv/ab", b"/srv/a"));
        assert!(!is_within(b"/srv", b"/srv/a"));
    }
}

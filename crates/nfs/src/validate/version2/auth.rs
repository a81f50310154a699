//! Credentials and permissions.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::client::{ClientError, Nfs2Client};
use crate::target::nfs_options;
use crate::validate::text::no_answer;
use crate::validate::wire::{connection_as, other_user};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::{GetattrArgs, Nfsstat, NullArgs, Procedure, Sattr};
use filermark_onc::rpc::{AuthBody, RejectStat, RpcRefusal};

checks! { CHECKS: Check =>
    "auth.none", nfs(Procedure::Null), "NULL needs no credentials" => none, by "RFC 1094 section 3.4";
    "auth.none_else", nfs(Procedure::Getattr), "GETATTR without credentials is answered, or refused as unauthenticated" => none_else, by "RFC 1094 section 3.4";
    "auth.others", nfs(Procedure::Read), "mode 600 denies access to other users: NFSERR_ACCES" => others, by "RFC 1094 section 3.3";
}

fn none(b: &mut Bench<'_>) -> Outcome {
    let mut rpc = connection_as(b.plan, b.target, AuthBody::NONE);
    let answer = rpc.call(&NullArgs {});
    answer.map_err(|error| no_answer("NULL with AUTH_NONE", &error))
}

/// Without credentials the server uses an anonymous user, or requires credentials.
fn none_else(b: &mut Bench<'_>) -> Outcome {
    let what = "GETATTR with AUTH_NONE";
    let dir = b.dir;
    let fileid = b.attributes(&dir)?.fileid;
    let mut rpc = connection_as(b.plan, b.target, AuthBody::NONE);
    let file = super::rpc::wire_handle(&dir)?;
    match rpc.call(&GetattrArgs { file }) {
        Ok(Ok(ok)) => b.equal(&format!("{what}: fileid"), fileid, ok.attributes.fileid),
        Ok(Err(Nfsstat::Acces | Nfsstat::Perm)) => Ok(()),
        Ok(Err(status)) => {
            b.note(format!("{what}: {status}"));
            Ok(())
        }
        Err(ClientError::Refused {
            refusal: RpcRefusal::Denied(RejectStat::AuthError(why)),
            ..
        }) => {
            b.note(format!("{what}: {why}"));
            Ok(())
        }
        Err(error) => Err(no_answer(what, &error)),
    }
}

/// Servers may map all users to one. The owner of a file that the other user creates shows
/// it, and only then may that user access the file.
fn others(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file_with(b"private", b"mine")?;
    b.done("SETATTR", |nfs| nfs.setattr(&file, Sattr::mode(0o600)))?;
    b.done("SETATTR", |nfs| nfs.setattr(&dir, Sattr::mode(0o777)))?;
    let (uid, other) = other_user(b.plan);
    let mut nfs = Nfs2Client::new(
        b.target.nfs_address,
        other,
        nfs_options(b.plan, &b.target.mount),
    );
    let made = nfs
        .create(&dir, b"theirs", Sattr::mode(0o644))
        .map_err(|error| no_answer("CREATE by another user", &error))?;
    let owner = b.attributes(&file)?.uid;
    let is_mapped = made.is_ok_and(|(_, theirs)| theirs.uid == owner);
    let read = nfs
        .read(&file, 0, 4)
        .map_err(|error| no_answer("READ by another user", &error))?;
    let write = nfs
        .write(&file, 0, b"none")
        .map_err(|error| no_answer("WRITE by another user", &error))?;
    for (what, outcome) in [("READ", read.map(drop)), ("WRITE", write.map(drop))] {
        match outcome {
            Err(Nfsstat::Acces) => {}
            Err(status) => b.note(format!(
                "{what} by uid {uid}: {status}; NFSERR_ACCES is usual"
            )),
            Ok(()) if is_mapped => b.note(format!(
                "uid {uid} may {what} a file of mode 600: identities are mapped"
            )),
            Ok(()) => {
                return Err(Stop::fail(
                    format!("{what} by uid {uid} of a file of uid {owner}, mode 600: NFSERR_ACCES"),
                    Nfsstat::Ok,
                ));
            }
        }
    }
    Ok(())
}

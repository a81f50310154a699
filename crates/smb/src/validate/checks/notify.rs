//! CHANGE_NOTIFY: changes of a directory are reported, and the request can be cancelled.

use crate::validate::bench::{Bench, Judge, names_of};
use crate::validate::session::{Open, Ticket};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_smbwire::smb2::FileId;
use filermark_smbwire::status;
use std::time::Duration;

const NOTIFY: super::rules::Rule = ("MS-CIFS 2.2.7.4", "MS-SMB2 3.3.5.19");

checks! { CHECKS: Check =>
    "notify.told", "CHANGE_NOTIFY", "a new name and a removed name are reported" => reported, by NOTIFY;
    "notify.cancel", "CHANGE_NOTIFY", "a cancelled request answers CANCELLED" => cancel, by NOTIFY;
    "notify.close", "CHANGE_NOTIFY", "a close ends the request: NOTIFY_CLEANUP" => close, by NOTIFY;
    "notify.file", "CHANGE_NOTIFY", "a request for a file answers INVALID_PARAMETER" => of_file, by NOTIFY;
}

/// How long nothing may come where nothing happens.
const QUIET: Duration = Duration::from_millis(200);
/// Maximum of names to create until one is reported.
const NAMES_MAX: u32 = 4;
/// Actions (MS-FSCC 2.7.1).
const ADDED: u32 = 1;
const REMOVED: u32 = 2;

/// The check's directory, open and watched.
fn watch(b: &mut Bench<'_>) -> Result<(FileId, Ticket), Stop> {
    let path = b.dir.clone();
    let dir = b
        .smb
        .open(&Open::dir(&path))
        .done("OPEN of a directory")?
        .file;
    let ticket = b.smb.calls().send_watch(dir).done("CHANGE_NOTIFY")?;
    // A server that has much to do may be late with it.
    let promised = b.smb.calls().wait_promise(ticket).done("CHANGE_NOTIFY")?;
    match b
        .smb
        .calls()
        .wait_watch(ticket, QUIET)
        .either("CHANGE_NOTIFY")?
    {
        Ok(None) => {}
        Ok(Some(changes)) => {
            return Err(Stop::fail(
                "CHANGE_NOTIFY: no answer yet",
                format!("{changes:?}"),
            ));
        }
        Err(status @ (status::NOT_SUPPORTED | status::NOT_IMPLEMENTED)) => {
            return Err(Stop::skip(format!(
                "the server does not report changes: {}",
                status::text(status)
            )));
        }
        Err(status) => {
            return Err(Stop::fail(
                "CHANGE_NOTIFY: no answer yet",
                status::text(status),
            ));
        }
    }
    match promised {
        Some(false) => Err(Stop::fail("CHANGE_NOTIFY: STATUS_PENDING", "nothing")),
        _ => Ok((dir, ticket)),
    }
}

/// Creates names until one is reported, then removes one. A server may answer STATUS_PENDING before it
/// watches the directory (smbd does); a name that is created in between is not reported.
fn reported(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (dir, mut ticket) = watch(b)?;
    let limit = b.smb.limit();
    for number in 0..NAMES_MAX {
        let path = b.path(&format!("news{number}"));
        let files = b.other()?.client().files();
        let file = files.create_new(&path).done("OPEN of a new file")?;
        files.close(file).done("CLOSE")?;
        let names: Vec<String> = (0..=number).map(|n| format!("news{n}")).collect();
        match is_reported(b, ticket, ADDED, &names, limit / NAMES_MAX)? {
            Some(true) => return removed(b, dir),
            Some(false) => ticket = b.smb.calls().send_watch(dir).done("CHANGE_NOTIFY")?,
            None => {}
        }
    }
    Err(Stop::fail(
        format!("CHANGE_NOTIFY: action {ADDED} for one of {NAMES_MAX} new names"),
        "no answer, or other changes",
    ))
}

fn removed(b: &mut Bench<'_>, dir: FileId) -> Result<(), Stop> {
    let mut ticket = b.smb.calls().send_watch(dir).done("CHANGE_NOTIFY")?;
    // Names that are reported late come before the removal.
    for _ in 0..NAMES_MAX {
        let late = b.smb.calls().wait_watch(ticket, QUIET);
        if late.done("CHANGE_NOTIFY")?.is_none() {
            break;
        }
        ticket = b.smb.calls().send_watch(dir).done("CHANGE_NOTIFY")?;
    }
    let name = "news0".to_owned();
    let path = b.path(&name);
    let files = b.other()?.client().files();
    files.remove_file(&path).done("removing it")?;
    let limit = b.smb.limit();
    match is_reported(b, ticket, REMOVED, &[name], limit)? {
        Some(true) => Ok(()),
        other => Err(Stop::fail(
            format!("CHANGE_NOTIFY: action {REMOVED} for news0"),
            other.map_or("no answer", |_| "other changes"),
        )),
    }
}

/// Whether the reported changes have this action for one of the names; `None`: nothing is
/// reported within the limit.
fn is_reported(
    b: &mut Bench<'_>,
    ticket: Ticket,
    action: u32,
    names: &[String],
    limit: Duration,
) -> Result<Option<bool>, Stop> {
    let changes = b.smb.calls().wait_watch(ticket, limit);
    match changes.either("CHANGE_NOTIFY")? {
        Ok(None) => Ok(None),
        // Too many for the response: the client has to list the directory itself.
        Ok(Some(changes)) if changes.is_empty() => {
            b.note("the server reports a change without its name");
            Ok(Some(true))
        }
        Ok(Some(changes)) => Ok(Some(
            changes
                .iter()
                .any(|t| t.action == action && names.contains(&t.name)),
        )),
        Err(status) => Err(Stop::fail(
            "CHANGE_NOTIFY: STATUS_SUCCESS",
            status::text(status),
        )),
    }
}

/// The status that ends the wait has to be one of these.
fn ends(b: &mut Bench<'_>, ticket: Ticket, what: &str, wanted: &[u32]) -> Result<(), Stop> {
    let limit = b.smb.limit();
    let came = b.smb.calls().wait_status(ticket, limit).done(what)?;
    match came {
        Some(status) if wanted.contains(&status) => Ok(()),
        other => Err(Stop::fail(
            format!("{what}: {}", names_of(wanted)),
            other.map_or_else(|| "no answer".to_owned(), status::text),
        )),
    }
}

fn cancel(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (_, ticket) = watch(b)?;
    b.smb.calls().cancel(ticket).done("CANCEL")?;
    ends(
        b,
        ticket,
        "CHANGE_NOTIFY that is cancelled",
        &[status::CANCELLED],
    )?;
    b.smb.echo().done("ECHO afterwards")
}

fn close(b: &mut Bench<'_>) -> Result<(), Stop> {
    let (dir, ticket) = watch(b)?;
    b.smb.close(dir).done("CLOSE")?;
    // SMB1 says CANCELLED in places.
    let wanted: &[u32] = match b.is_smb1() {
        true => &[status::NOTIFY_CLEANUP, status::CANCELLED, status::SUCCESS],
        false => &[status::NOTIFY_CLEANUP],
    };
    ends(b, ticket, "CHANGE_NOTIFY of a closed directory", wanted)
}

fn of_file(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let ticket = b.smb.calls().send_watch(file).done("CHANGE_NOTIFY")?;
    ends(
        b,
        ticket,
        "CHANGE_NOTIFY of a file",
        &[status::INVALID_PARAMETER],
    )
}

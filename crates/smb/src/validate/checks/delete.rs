//! What goes when it is closed: by SET_FILE, by the open itself.

use super::rules::{OPEN, SET};
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{AttributeSet, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_smbwire::smb2::file::{access, options};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "delete.disposition", "SET_FILE", "a file marked for deletion is removed by the last close" => disposition, by SET;
    "delete.pending", "SET_FILE", "new opens of a file marked for deletion answer DELETE_PENDING" => pending, by SET;
    "delete.undone", "SET_FILE", "a file stays if the mark for deletion is cleared" => undone, by SET;
    "delete.on_close", "CLOSE", "a file opened with DELETE_ON_CLOSE is removed by the close" => on_close, by OPEN;
    "delete.on_close_shared", "CLOSE", "with DELETE_ON_CLOSE a file stays while others have it open" => on_close_shared, by OPEN;
    "delete.on_close_access", "OPEN", "DELETE_ON_CLOSE needs the right to delete" => on_close_access, by OPEN;
    "delete.dir", "SET_FILE", "an empty directory is removed" => dir, by SET;
    "delete.full_dir", "SET_FILE", "a directory with entries answers DIRECTORY_NOT_EMPTY" => full_dir, by SET;
}

fn disposition(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Delete(true))
        .done("SET_FILE: delete")?;
    same(
        "QUERY_FILE: is marked for deletion",
        true,
        b.facts(file)?.delete_pending,
    )?;
    b.reads_back(file, 0, b"some")?;
    b.smb.close(file).done("CLOSE")?;
    same("the name is there", false, b.is_there("file")?)?;
    // The name is free at once.
    b.put("file", b"another")
}

fn pending(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let path = b.path("file");
    let second = b
        .other()?
        .open(&Open::file(&path))
        .done("OPEN by another session")?
        .file;
    b.smb
        .calls()
        .set(file, &AttributeSet::Delete(true))
        .done("SET_FILE: delete")?;
    b.smb.close(file).done("CLOSE")?;
    let wanted = [status::DELETE_PENDING];
    let again = b.smb.open(&Open::file(&path));
    again.refused("OPEN of a file that is going", &wanted)?;
    let other = b.other()?;
    other
        .read(second, 0, 4)
        .done("READ by who has it open still")?;
    other.close(second).done("the last CLOSE")?;
    same("the name is there", false, b.is_there("file")?)
}

fn undone(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Delete(true))
        .done("SET_FILE: delete")?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Delete(false))
        .done("SET_FILE: do not delete")?;
    same(
        "QUERY_FILE: is marked for deletion",
        false,
        b.facts(file)?.delete_pending,
    )?;
    b.smb.close(file).done("CLOSE")?;
    same("the name is there", true, b.is_there("file")?)
}

const REMOVING: u32 = options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE;

fn on_close(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", b"some")?;
    let path = b.path("file");
    let open = Open::file(&path).with(REMOVING);
    let file = b.smb.open(&open).done("OPEN that removes on close")?.file;
    b.reads_back(file, 0, b"some")?;
    b.smb.close(file).done("CLOSE")?;
    same("the name is there", false, b.is_there("file")?)
}

fn on_close_shared(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", b"some")?;
    let path = b.path("file");
    let second = b
        .other()?
        .open(&Open::file(&path))
        .done("OPEN by another session")?
        .file;
    let open = Open::file(&path).with(REMOVING);
    let file = b.smb.open(&open).done("OPEN that removes on close")?.file;
    b.smb.close(file).done("CLOSE")?;
    let wanted = [status::DELETE_PENDING];
    let again = b.smb.open(&Open::file(&path));
    again.refused("OPEN of a file that is going", &wanted)?;
    let other = b.other()?;
    let got = other
        .read(second, 0, 4)
        .done("READ by who has it open still")?;
    same("READ: bytes", b"some".to_vec(), got)?;
    other.close(second).done("the last CLOSE")?;
    same("the name is there", false, b.is_there("file")?)
}

fn on_close_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", b"some")?;
    let path = b.path("file");
    let open = Open::file(&path)
        .with(REMOVING)
        .rights(access::READ_DATA | access::READ_ATTRIBUTES);
    let what = "OPEN that removes on close without DELETE";
    match b.smb.open(&open).either(what)? {
        Err(status::ACCESS_DENIED | status::INVALID_PARAMETER) => {}
        Err(status) => {
            return Err(Stop::fail(
                format!("{what}: STATUS_ACCESS_DENIED"),
                status::text(status),
            ));
        }
        Ok(_) => {
            return Err(Stop::fail(
                format!("{what}: STATUS_ACCESS_DENIED"),
                "STATUS_SUCCESS",
            ));
        }
    }
    same("the name is there", true, b.is_there("file")?)
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("below");
    let dir = b
        .smb
        .open(&Open::new_dir(&path))
        .done("OPEN of a new directory")?
        .file;
    b.smb
        .calls()
        .set(dir, &AttributeSet::Delete(true))
        .done("SET_FILE: delete a directory")?;
    b.smb.close(dir).done("CLOSE")?;
    same("the name is there", false, b.is_there("below")?)
}

fn full_dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("below");
    let dir = b
        .smb
        .open(&Open::new_dir(&path))
        .done("OPEN of a new directory")?
        .file;
    b.put(r"below\file", b"some")?;
    let wanted = [status::DIRECTORY_NOT_EMPTY];
    let set = b.smb.calls().set(dir, &AttributeSet::Delete(true));
    set.refused("SET_FILE: delete a full directory", &wanted)?;
    b.smb.close(dir).done("CLOSE")?;
    same("the file in it is there", true, b.is_there(r"below\file")?)
}

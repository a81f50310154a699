//! OPEN by every disposition, and what it answers where nothing is, or something.

use super::rules::OPEN;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_smbwire::smb2::file::{action, disposition};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "open.there", "OPEN", "opens an existing file and returns its attributes" => there, by OPEN;
    "open.missing", "OPEN", "a missing name answers OBJECT_NAME_NOT_FOUND" => missing, by OPEN;
    "open.no_way", "OPEN", "a missing parent directory answers OBJECT_PATH_NOT_FOUND" => no_way, by OPEN;
    "open.create", "OPEN", "CREATE creates an empty file" => create, by OPEN;
    "open.collision", "OPEN", "CREATE of an existing name answers OBJECT_NAME_COLLISION" => collision, by OPEN;
    "open.open_if", "OPEN", "OPEN_IF opens a file or creates it" => open_if, by OPEN;
    "open.overwrite", "OPEN", "OVERWRITE truncates a file and creates none" => overwrite, by OPEN;
    "open.overwrite_if", "OPEN", "OVERWRITE_IF truncates a file or creates it" => overwrite_if, by OPEN;
    "open.supersede", "OPEN", "SUPERSEDE replaces a file or creates it" => supersede, by OPEN;
    "open.dir", "OPEN", "directories are created and opened as directories" => dir, by OPEN;
}

/// Opens with a disposition; what the server says it did, and the size.
fn opens(b: &mut Bench<'_>, name: &str, how: u32, what: &str) -> Result<(u32, u64), Stop> {
    let path = b.path(name);
    let opened = b.smb.open(&Open::file(&path).by(how)).done(what)?;
    b.smb.close(opened.file).done("CLOSE")?;
    Ok((opened.action, opened.size))
}

pub(super) fn refused(
    b: &mut Bench<'_>,
    open: &Open<'_>,
    what: &str,
    wanted: &[u32],
) -> Result<u32, Stop> {
    b.smb.open(open).refused(what, wanted)
}

/// What a name of the check's directory holds has to be this.
fn holds(b: &mut Bench<'_>, name: &str, data: &[u8]) -> Result<(), Stop> {
    let file = b.open(name)?.file;
    b.has_size(file, data.len() as u64)?;
    b.reads_back(file, 0, data)?;
    b.smb.close(file).done("CLOSE")
}

fn there(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &pattern(1234, 1))?;
    let opened = b.open("file")?;
    same("OPEN: the action", action::OPENED, opened.action)?;
    same("OPEN: the size", 1234, opened.size)?;
    same("OPEN: is a directory", false, opened.is_dir())
}

fn missing(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("nothing");
    let wanted = [status::OBJECT_NAME_NOT_FOUND];
    refused(b, &Open::file(&path), "OPEN of nothing", &wanted)?;
    same("the name is there", false, b.is_there("nothing")?)
}

fn no_way(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path(r"nothing\file");
    let wanted = [status::OBJECT_PATH_NOT_FOUND];
    refused(
        b,
        &Open::file(&path),
        "OPEN in a missing directory",
        &wanted,
    )?;
    let make = Open::new_file(&path);
    refused(
        b,
        &make,
        "OPEN to make a file in a missing directory",
        &wanted,
    )
    .map(drop)
}

fn create(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("new");
    let opened = b.smb.open(&Open::new_file(&path)).done("OPEN by CREATE")?;
    same("OPEN: the action", action::CREATED, opened.action)?;
    same("OPEN: the size", 0, opened.size)?;
    same("the name is there", true, b.is_there("new")?)?;
    b.write(opened.file, 0, b"written at once")?;
    b.reads_back(opened.file, 0, b"written at once")
}

fn collision(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(100, 2);
    b.put("file", &data)?;
    let path = b.path("file");
    let wanted = [status::OBJECT_NAME_COLLISION];
    refused(
        b,
        &Open::new_file(&path),
        "OPEN by CREATE of a file",
        &wanted,
    )?;
    holds(b, "file", &data)?;
    let dir = b.dir.clone();
    let make = Open::new_dir(&dir);
    refused(b, &make, "OPEN by CREATE of a directory", &wanted).map(drop)
}

fn open_if(b: &mut Bench<'_>) -> Result<(), Stop> {
    let how = disposition::OPEN_IF;
    let made = opens(b, "file", how, "OPEN by OPEN_IF of nothing")?;
    same(
        "OPEN_IF of nothing: action and size",
        (action::CREATED, 0),
        made,
    )?;
    let data = pattern(50, 3);
    b.put("file", &data)?;
    let there = opens(b, "file", how, "OPEN by OPEN_IF of a file")?;
    same(
        "OPEN_IF of a file: action and size",
        (action::OPENED, 50),
        there,
    )?;
    holds(b, "file", &data)
}

fn overwrite(b: &mut Bench<'_>) -> Result<(), Stop> {
    let how = disposition::OVERWRITE;
    let path = b.path("file");
    let wanted = [status::OBJECT_NAME_NOT_FOUND];
    refused(
        b,
        &Open::file(&path).by(how),
        "OPEN by OVERWRITE of nothing",
        &wanted,
    )?;
    same("the name is there", false, b.is_there("file")?)?;
    b.put("file", &pattern(50, 4))?;
    let cut = opens(b, "file", how, "OPEN by OVERWRITE of a file")?;
    same("OVERWRITE: action and size", (action::OVERWRITTEN, 0), cut)?;
    holds(b, "file", &[])
}

fn overwrite_if(b: &mut Bench<'_>) -> Result<(), Stop> {
    let how = disposition::OVERWRITE_IF;
    let made = opens(b, "file", how, "OPEN by OVERWRITE_IF of nothing")?;
    same(
        "OVERWRITE_IF of nothing: action and size",
        (action::CREATED, 0),
        made,
    )?;
    b.put("file", &pattern(50, 5))?;
    let cut = opens(b, "file", how, "OPEN by OVERWRITE_IF of a file")?;
    same(
        "OVERWRITE_IF of a file: action and size",
        (action::OVERWRITTEN, 0),
        cut,
    )?;
    holds(b, "file", &[])
}

fn supersede(b: &mut Bench<'_>) -> Result<(), Stop> {
    let how = disposition::SUPERSEDE;
    let made = opens(b, "file", how, "OPEN by SUPERSEDE of nothing")?;
    same(
        "SUPERSEDE of nothing: action and size",
        (action::CREATED, 0),
        made,
    )?;
    b.put("file", &pattern(50, 6))?;
    let (did, size) = opens(b, "file", how, "OPEN by SUPERSEDE of a file")?;
    same("SUPERSEDE of a file: size", 0, size)?;
    match did {
        action::SUPERSEDED => {}
        action::OVERWRITTEN => {
            b.note("SUPERSEDE returns the action overwritten (3), not superseded (0)")
        }
        other => return Err(Stop::fail("SUPERSEDE: action 0", other)),
    }
    holds(b, "file", &[])
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("below");
    let made = b
        .smb
        .open(&Open::new_dir(&path))
        .done("OPEN to make a directory")?;
    same("OPEN: the action", action::CREATED, made.action)?;
    same("OPEN: is a directory", true, made.is_dir())?;
    b.smb.close(made.file).done("CLOSE of a directory")?;
    let opened = b.smb.open(&Open::dir(&path)).done("OPEN of a directory")?;
    same("OPEN: the action", action::OPENED, opened.action)?;
    same("OPEN: is a directory", true, opened.is_dir())?;
    // An open with neither option accepts both.
    let either = Open::dir(&path).with(0);
    let opened = b
        .smb
        .open(&either)
        .done("OPEN of a directory, without DIRECTORY_FILE")?;
    same("OPEN: is a directory", true, opened.is_dir())
}

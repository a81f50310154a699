//! OPEN of what it cannot be, by names and numbers that there are not.

use super::open::refused;
use super::rules::OPEN;
use crate::validate::bench::Bench;
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::file::{attributes, options};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "open.is_a_directory", "OPEN", "a directory opened as a file answers FILE_IS_A_DIRECTORY" => is_a_directory, by OPEN;
    "open.not_a_directory", "OPEN", "a file opened as a directory answers NOT_A_DIRECTORY" => not_a_directory, by OPEN;
    "open.in_a_file", "OPEN", "a path below a file is refused" => in_a_file, by OPEN;
    "open.bad_name", "OPEN", "invalid characters in a name answer OBJECT_NAME_INVALID" => bad_name, by OPEN;
    "open.bad_disposition", "OPEN", "an unknown disposition answers INVALID_PARAMETER" => bad_disposition, by OPEN;
    "open.bad_options", "OPEN", "options for both file and directory answer INVALID_PARAMETER" => bad_options, by OPEN;
    "open.leading_backslash", "OPEN", "a path that begins with a backslash answers INVALID_PARAMETER" => leading_backslash, by OPEN, from Dialect::V202;
}

fn is_a_directory(b: &mut Bench<'_>) -> Result<(), Stop> {
    let dir = b.dir.clone();
    let wanted = [status::FILE_IS_A_DIRECTORY];
    let open = Open::dir(&dir).with(options::NON_DIRECTORY_FILE);
    refused(b, &open, "OPEN of a directory as a file", &wanted).map(drop)
}

fn not_a_directory(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path("file");
    let wanted = [status::NOT_A_DIRECTORY];
    refused(
        b,
        &Open::dir(&path),
        "OPEN of a file as a directory",
        &wanted,
    )
    .map(drop)
}

fn in_a_file(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path(r"file\below");
    let wanted = [status::OBJECT_PATH_NOT_FOUND, status::NOT_A_DIRECTORY];
    refused(b, &Open::file(&path), "OPEN below a file", &wanted).map(drop)
}

fn bad_name(b: &mut Bench<'_>) -> Result<(), Stop> {
    let wanted = [status::OBJECT_NAME_INVALID];
    for name in ["a*b", "a?b", "a<b", "a>b", "a\"b", "a|b"] {
        let path = b.path(name);
        let make = Open::new_file(&path);
        refused(b, &make, &format!("OPEN to make {name}"), &wanted)?;
    }
    Ok(())
}

fn bad_disposition(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("file");
    let wanted = [status::INVALID_PARAMETER];
    let open = Open::file(&path).by(9);
    refused(b, &open, "OPEN by disposition 9", &wanted).map(drop)
}

fn bad_options(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("file");
    let wanted = [status::INVALID_PARAMETER];
    let both = options::DIRECTORY_FILE | options::NON_DIRECTORY_FILE;
    let open = Open::new_file(&path)
        .with(both)
        .attributes(attributes::NORMAL);
    refused(b, &open, "OPEN as file and as directory", &wanted).map(drop)
}

fn leading_backslash(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = format!(r"\{}", b.path("file"));
    let wanted = [status::INVALID_PARAMETER];
    refused(
        b,
        &Open::file(&path),
        "OPEN with a backslash in front",
        &wanted,
    )
    .map(drop)
}

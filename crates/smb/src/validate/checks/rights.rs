//! What an open may do: by the access it asked for, by the file's attributes.

use super::rules::{OPEN, READ, WRITE};
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{AttributeSet, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_smbwire::smb2::file::{access, attributes, options};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "open.no_access", "OPEN", "an open without any right permits nothing" => no_access, by OPEN;
    "open.readonly_file", "OPEN", "the read-only attribute prevents writing and removal" => readonly_file, by OPEN;
    "open.attributes", "OPEN", "attributes of a new file are kept" => kept_attributes, by OPEN;
    "open.maximum_allowed", "OPEN", "MAXIMUM_ALLOWED grants all rights that the user has" => maximum_allowed, by OPEN;
    "read.access", "READ", "needs the right to read" => read_access, by READ;
    "write.access", "WRITE", "needs the right to write" => write_access, by WRITE;
    "set.access", "SET_FILE", "the size needs the right to write" => set_access, by super::rules::SET;
}

const LOOK: u32 = access::READ_ATTRIBUTES | access::SYNCHRONIZE;

fn no_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path("file");
    let what = "OPEN with DesiredAccess 0";
    match b.smb.open(&Open::file(&path).rights(0)).either(what)? {
        Err(status::ACCESS_DENIED) => Ok(()),
        Err(status) => Err(Stop::fail(
            format!("{what}: STATUS_ACCESS_DENIED"),
            status::text(status),
        )),
        // Harmless, as long as it permits nothing.
        Ok(opened) => {
            b.note(format!(
                "{what} succeeds; MS-FSA 2.1.5.1 has STATUS_ACCESS_DENIED"
            ));
            let read = b.smb.read(opened.file, 0, 1);
            read.refused(
                "READ by an open without any right",
                &[status::ACCESS_DENIED],
            )?;
            let write = b.smb.write(opened.file, 0, b"x");
            write
                .refused(
                    "WRITE by an open without any right",
                    &[status::ACCESS_DENIED],
                )
                .map(drop)
        }
    }
}

fn readonly_file(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("file");
    let make = Open::new_file(&path).attributes(attributes::READONLY);
    let made = b.smb.open(&make).done("OPEN of a new read-only file")?;
    // Its maker may write all the same.
    b.write(made.file, 0, b"first")?;
    b.smb.close(made.file).done("CLOSE")?;
    let facts = b.smb.calls().query_path(&path).done("QUERY_PATH")?;
    if facts.attributes & attributes::READONLY == 0 {
        return Err(Stop::skip("the server keeps no read-only attribute"));
    }
    let write = Open::file(&path).rights(LOOK | access::WRITE_DATA);
    b.smb
        .open(&write)
        .refused("OPEN to write a read-only file", &[status::ACCESS_DENIED])?;
    let remove = Open::file(&path)
        .rights(LOOK | access::DELETE)
        .with(options::NON_DIRECTORY_FILE | options::DELETE_ON_CLOSE);
    b.smb
        .open(&remove)
        .refused("OPEN to remove a read-only file", &[status::CANNOT_DELETE])?;
    let change = Open::file(&path).rights(LOOK | access::WRITE_ATTRIBUTES);
    let file = b.smb.open(&change).done("OPEN to change attributes")?.file;
    let normal = AttributeSet::Basic([0; 4], attributes::NORMAL);
    b.smb
        .calls()
        .set(file, &normal)
        .done("SET_FILE: attributes")?;
    let open = b.smb.open(&write).done("OPEN to write it once it is not")?;
    b.smb.close(open.file).done("CLOSE")
}

fn kept_attributes(b: &mut Bench<'_>) -> Result<(), Stop> {
    for (name, wanted) in [
        ("hidden", attributes::HIDDEN),
        ("system", attributes::SYSTEM),
        ("archive", attributes::ARCHIVE),
    ] {
        let path = b.path(name);
        let make = Open::new_file(&path).attributes(wanted);
        let made = b.smb.open(&make).done("OPEN of a new file")?;
        let got = b.facts(made.file)?.attributes;
        if got & wanted == 0 {
            b.note(format!(
                "a new {name} file is not {name} (attributes {got:#x})"
            ));
        }
        same("QUERY_FILE: is a directory", 0, got & attributes::DIRECTORY)?;
    }
    Ok(())
}

fn maximum_allowed(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", b"some")?;
    let path = b.path("file");
    let open = Open::file(&path).rights(access::MAXIMUM_ALLOWED);
    let file = b.smb.open(&open).done("OPEN by MAXIMUM_ALLOWED")?.file;
    b.reads_back(file, 0, b"some")?;
    b.write(file, 0, b"more")?;
    b.reads_back(file, 0, b"more")
}

fn read_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &pattern(100, 1))?;
    let path = b.path("file");
    let open = Open::file(&path).rights(LOOK | access::WRITE_DATA);
    let file = b.smb.open(&open).done("OPEN to write only")?.file;
    b.smb.read(file, 0, 10).refused(
        "READ by an open that may only write",
        &[status::ACCESS_DENIED],
    )?;
    b.write(file, 0, b"but this")
}

fn write_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(100, 1);
    b.put("file", &data)?;
    let path = b.path("file");
    let open = Open::file(&path).rights(LOOK | access::READ_DATA);
    let file = b.smb.open(&open).done("OPEN to read only")?.file;
    b.smb.write(file, 0, b"no").refused(
        "WRITE by an open that may only read",
        &[status::ACCESS_DENIED],
    )?;
    b.reads_back(file, 0, &data)
}

fn set_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &pattern(100, 1))?;
    let path = b.path("file");
    let open = Open::file(&path).rights(LOOK | access::READ_DATA);
    let file = b.smb.open(&open).done("OPEN to read only")?.file;
    b.smb.calls().set(file, &AttributeSet::Size(10)).refused(
        "SET_FILE: size by an open that may only read",
        &[status::ACCESS_DENIED],
    )?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Delete(true))
        .refused(
            "SET_FILE: delete by an open without that right",
            &[status::ACCESS_DENIED],
        )?;
    b.has_size(file, 100)
}

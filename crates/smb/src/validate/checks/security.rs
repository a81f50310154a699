//! QUERY_SECURITY: a security descriptor that makes sense.

use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_smbwire::smb2::file::access;
use filermark_smbwire::smb2::security::{Descriptor, part};
use filermark_smbwire::status;

const RULE: super::rules::Rule = ("MS-CIFS 2.2.7.6", "MS-SMB2 3.3.5.20.3, MS-DTYP 2.4.6");

checks! { CHECKS: Check =>
    "query_security.sound", "QUERY_SECURITY", "returns a valid owner, group and access list" => sound, by RULE;
    "query_security.parts", "QUERY_SECURITY", "returns the requested parts only" => parts, by RULE;
    "query_security.access", "QUERY_SECURITY", "needs the right to read it" => denied, by RULE;
    "query_security.no_room", "QUERY_SECURITY", "a buffer that is too small answers BUFFER_TOO_SMALL" => buffer_too_small, by RULE;
}

const MOST: u32 = 16 << 10;
const ALL: u32 = part::OWNER | part::GROUP | part::DACL;
/// SE_SELF_RELATIVE.
const SELF_RELATIVE: u16 = 0x8000;

fn ask(b: &mut Bench<'_>, parts: u32) -> Result<Vec<u8>, Stop> {
    let file = b.make("file", &[])?;
    let answer = b.smb.calls().query_security(file, parts, MOST);
    match answer.either("QUERY_SECURITY")? {
        Ok(bytes) => Ok(bytes),
        Err(status @ (status::NOT_SUPPORTED | status::INVALID_DEVICE_REQUEST)) => {
            Err(Stop::skip(format!(
                "the server has no security descriptors: {}",
                status::text(status)
            )))
        }
        Err(status) => Err(Stop::fail(
            "QUERY_SECURITY: STATUS_SUCCESS",
            status::text(status),
        )),
    }
}

fn read(bytes: &[u8]) -> Result<Descriptor<'_>, Stop> {
    let read = Descriptor::decode(bytes);
    read.map_err(|error| Stop::fail("QUERY_SECURITY: a security descriptor", error))
}

fn sound(b: &mut Bench<'_>) -> Result<(), Stop> {
    let bytes = ask(b, ALL)?;
    let descriptor = read(&bytes)?;
    same(
        "QUERY_SECURITY: is self-relative",
        true,
        descriptor.control & SELF_RELATIVE != 0,
    )?;
    for (what, sid) in [
        ("an owner", descriptor.owner),
        ("a group", descriptor.group),
    ] {
        if sid.is_none() {
            return Err(Stop::fail(format!("QUERY_SECURITY: {what}"), "none"));
        }
    }
    let Some(list) = descriptor.dacl else {
        b.note("there is no access list: all users have all rights");
        return Ok(());
    };
    for entry in list.entries() {
        let entry = entry.map_err(|error| Stop::fail("QUERY_SECURITY: an access list", error))?;
        if entry.who.is_some_and(|who| who.numbers().count() == 0) {
            return Err(Stop::fail(
                "QUERY_SECURITY: entries with a security identifier",
                "none",
            ));
        }
    }
    Ok(())
}

fn parts(b: &mut Bench<'_>) -> Result<(), Stop> {
    let bytes = ask(b, part::OWNER)?;
    let descriptor = read(&bytes)?;
    let has = (
        descriptor.owner.is_some(),
        descriptor.group.is_some(),
        descriptor.dacl.is_some(),
    );
    same(
        "QUERY_SECURITY of the owner: owner, group, access list",
        (true, false, false),
        has,
    )
}

fn denied(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path("file");
    let open = Open::file(&path).rights(access::READ_DATA | access::READ_ATTRIBUTES);
    let file = b.smb.open(&open).done("OPEN without READ_CONTROL")?.file;
    let answer = b.smb.calls().query_security(file, ALL, MOST);
    let wanted = [status::ACCESS_DENIED];
    answer
        .refused("QUERY_SECURITY without READ_CONTROL", &wanted)
        .map(drop)
}

fn buffer_too_small(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let answer = b.smb.calls().query_security(file, ALL, 8);
    let wanted = [status::BUFFER_TOO_SMALL];
    answer
        .refused("QUERY_SECURITY with a buffer of 8 bytes", &wanted)
        .map(drop)
}

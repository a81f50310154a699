//! CLOSE and FLUSH, and calls on what is closed.

use super::rules::CLOSE;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{AttributeSet, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::FileId;
use filermark_smbwire::smb2::file::access;
use filermark_smbwire::status;

const FLUSH: super::rules::Rule = ("MS-CIFS 2.2.4.6", "MS-SMB2 3.3.5.11");

checks! { CHECKS: Check =>
    "close.ends", "CLOSE", "calls on a closed handle answer FILE_CLOSED" => ends, by CLOSE;
    "close.twice", "CLOSE", "a second CLOSE answers FILE_CLOSED" => twice, by CLOSE;
    "close.unknown", "CLOSE", "an unknown handle is refused" => unknown, by CLOSE;
    "close.facts", "CLOSE", "returns size and times if they are requested" => facts, by CLOSE, from Dialect::V202;
    "flush.done", "FLUSH", "succeeds, and the data is unchanged" => flush, by FLUSH;
    "flush.closed", "FLUSH", "a closed handle answers FILE_CLOSED" => flush_closed, by FLUSH;
    "flush.access", "FLUSH", "needs the right to write" => flush_access, by FLUSH, from Dialect::V202;
}

/// What answers a call on no open: SMB2's, and SMB1's STATUS_SMB_BAD_FID among others.
pub(super) const NO_OPEN: [u32; 3] = [status::FILE_CLOSED, status::INVALID_HANDLE, SMB_BAD_FID];
/// STATUS_SMB_BAD_FID (MS-CIFS 2.2.2.4).
const SMB_BAD_FID: u32 = 0x0006_0001;

fn wanted(b: &Bench<'_>) -> &'static [u32] {
    match b.is_smb1() {
        true => &NO_OPEN,
        false => &NO_OPEN[..1],
    }
}

/// A handle that was closed a moment ago.
fn closed(b: &mut Bench<'_>) -> Result<FileId, Stop> {
    let file = b.make("file", &pattern(100, 1))?;
    b.smb.close(file).done("CLOSE")?;
    Ok(file)
}

fn ends(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = closed(b)?;
    let wanted = wanted(b);
    b.smb
        .read(file, 0, 10)
        .refused("READ of what is closed", wanted)?;
    b.smb
        .write(file, 0, b"x")
        .refused("WRITE to what is closed", wanted)?;
    let facts = b.smb.calls().query_file(file);
    facts.refused("QUERY_FILE of what is closed", wanted)?;
    let set = b.smb.calls().set(file, &AttributeSet::Size(1));
    set.refused("SET_FILE of what is closed", wanted).map(drop)
}

fn twice(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = closed(b)?;
    let wanted = wanted(b);
    let again = b.smb.close(file);
    again.refused("the second CLOSE", wanted).map(drop)
}

fn unknown(b: &mut Bench<'_>) -> Result<(), Stop> {
    let wanted = wanted(b);
    let file = FileId {
        persistent: 0x7A7A_0000_0000_7A7A,
        volatile: 0x0000_7A7A_0000_7A7A,
    };
    b.smb
        .close(file)
        .refused("CLOSE of no handle", wanted)
        .map(drop)
}

fn facts(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &pattern(4321, 1))?;
    let closed = b
        .smb
        .close_with_attributes(file, true)
        .done("CLOSE with attributes")?;
    let Some(closed) = closed else {
        return Err(Stop::fail("CLOSE: size and times", "none"));
    };
    same("CLOSE: size", 4321, closed.size)?;
    same(
        "CLOSE: a time of the last write",
        true,
        closed.times[2] != 0,
    )?;
    let file = b.open("file")?.file;
    let closed = b.smb.close_with_attributes(file, false).done("CLOSE")?;
    same(
        "CLOSE without attributes: returns none",
        true,
        closed.is_none(),
    )
}

fn flush(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(10_000, 2);
    let file = b.make("file", &data)?;
    b.smb.calls().flush(file).done("FLUSH")?;
    b.smb.calls().flush(file).done("FLUSH with nothing to do")?;
    b.reads_back(file, 0, &data)
}

fn flush_closed(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = closed(b)?;
    let wanted = wanted(b);
    let flushed = b.smb.calls().flush(file);
    flushed.refused("FLUSH of what is closed", wanted).map(drop)
}

fn flush_access(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path("file");
    let open = Open::file(&path).rights(access::READ_DATA | access::READ_ATTRIBUTES);
    let file = b.smb.open(&open).done("OPEN to read only")?.file;
    let flushed = b.smb.calls().flush(file);
    flushed
        .refused(
            "FLUSH by an open that may only read",
            &[status::ACCESS_DENIED],
        )
        .map(drop)
}

//! QUERY_FILE, QUERY_PATH and QUERY_FS: the returned values are right.

use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{Facts, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::file::attributes;
use filermark_smbwire::smb2::{FileClass, Query, QueryInfoRequest};
use filermark_smbwire::status;
use std::time::{Duration, SystemTime};

const FILE: super::rules::Rule = ("MS-CIFS 2.2.6.8", "MS-SMB2 3.3.5.20.1");
const PATH: super::rules::Rule = ("MS-CIFS 2.2.6.6", "MS-SMB2 3.3.5.20.1");
const FS: super::rules::Rule = ("MS-CIFS 2.2.6.4", "MS-SMB2 3.3.5.20.2");

checks! { CHECKS: Check =>
    "query_file.size", "QUERY_FILE", "size and allocation follow each write at once" => size, by FILE;
    "query_file.dir", "QUERY_FILE", "a directory is reported as a directory" => dir, by FILE;
    "query_file.times", "QUERY_FILE", "the times of a new file are current" => times, by FILE;
    "query_file.bad_class", "QUERY_FILE", "an unknown class is refused" => bad_class, by FILE;
    "query_file.no_room", "QUERY_FILE", "a buffer that is too small answers INFO_LENGTH_MISMATCH" => buffer_too_small, by FILE, from Dialect::V202;
    "query_path.agrees", "QUERY_PATH", "returns the values of QUERY_FILE" => agrees, by PATH;
    "query_path.missing", "QUERY_PATH", "an unknown name answers OBJECT_NAME_NOT_FOUND" => missing, by PATH;
    "query_path.no_way", "QUERY_PATH", "a missing directory answers OBJECT_PATH_NOT_FOUND" => no_way, by PATH;
    "query_fs.sizes", "QUERY_FS", "free space is not more than the total" => fs_sizes, by FS;
}

fn size(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    for wanted in [1, 1000, 70_001, 300_000] {
        b.write(file, wanted - 1, b"x")?;
        b.has_size(file, wanted)?;
    }
    let facts = b.facts(file)?;
    same("QUERY_FILE: is a directory", false, facts.directory)?;
    same(
        "QUERY_FILE: is marked for deletion",
        false,
        facts.delete_pending,
    )?;
    same("QUERY_FILE: links", 1, facts.links)
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.dir.clone();
    let file = b
        .smb
        .open(&Open::dir(&path))
        .done("OPEN of a directory")?
        .file;
    let facts = b.facts(file)?;
    same("QUERY_FILE: is a directory", true, facts.directory)?;
    let is_marked = facts.attributes & attributes::DIRECTORY != 0;
    same("QUERY_FILE: attribute of a directory", true, is_marked)
}

/// 100 ns from 1601 to 1970.
const EPOCH: u64 = 116_444_736_000_000_000;
/// Clocks that are further apart than this make the check of no use.
const APART: Duration = Duration::from_secs(24 * 3600);

fn times(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let facts = b.facts(file)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = EPOCH + (now.unwrap_or_default().as_nanos() / 100) as u64;
    for (what, time) in ["created", "read", "written", "changed"]
        .iter()
        .zip(facts.times)
    {
        if time == 0 {
            return Err(Stop::fail(format!("a time when it was {what}"), 0));
        }
        if time.abs_diff(now) > (APART.as_nanos() / 100) as u64 {
            b.note(format!(
                "the time when it was {what} is more than a day from this machine's"
            ));
        }
    }
    Ok(())
}

/// SMB1's STATUS_OS2_INVALID_LEVEL (MS-CIFS 2.2.2.4), and the other statuses for it.
const NO_LEVEL: [u32; 4] = [
    status::INVALID_INFO_CLASS,
    0x007C_0001,
    status::INVALID_LEVEL,
    status::NOT_SUPPORTED,
];

fn bad_class(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let wanted: &[u32] = match b.is_smb1() {
        true => &NO_LEVEL,
        false => &NO_LEVEL[..1],
    };
    let asked = b.smb.calls().query_nonsense(file);
    asked
        .refused("QUERY_FILE of an unknown class", wanted)
        .map(drop)
}

fn buffer_too_small(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let Some(smb2) = b.smb.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    let request = QueryInfoRequest {
        file,
        query: Query::File(FileClass::Basic),
        max_output: 8,
    };
    let answer = smb2.ask(&request).map(drop);
    let wanted = [status::INFO_LENGTH_MISMATCH];
    answer
        .refused("QUERY_FILE with a buffer of 8 bytes", &wanted)
        .map(drop)
}

fn agrees(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &pattern(5555, 1))?;
    b.smb.close(file).done("CLOSE")?;
    let file = b.open("file")?.file;
    let wanted = b.facts(file)?;
    let path = b.path("file");
    let got = b.smb.calls().query_path(&path).done("QUERY_PATH")?;
    // The look itself may move the time of the last access.
    let without = |facts: Facts| Facts {
        times: [facts.times[0], 0, facts.times[2], facts.times[3]],
        ..facts
    };
    same("QUERY_PATH", without(wanted), without(got))
}

fn missing(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("nothing");
    let wanted = [status::OBJECT_NAME_NOT_FOUND];
    let asked = b.smb.calls().query_path(&path);
    asked
        .refused("QUERY_PATH of a missing name", &wanted)
        .map(drop)
}

fn no_way(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path(r"nothing\file");
    let wanted = [status::OBJECT_PATH_NOT_FOUND];
    let asked = b.smb.calls().query_path(&path);
    asked
        .refused("QUERY_PATH in a missing directory", &wanted)
        .map(drop)
}

fn fs_sizes(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let fs = b.smb.calls().query_fs(file).done("QUERY_FS")?;
    if fs.total == 0 || fs.available > fs.total || fs.free > fs.total {
        return Err(Stop::fail(
            "QUERY_FS: sizes, free not more than total",
            format!(
                "total {}, free {}, for this user {}",
                fs.total, fs.free, fs.available
            ),
        ));
    }
    match fs.name_max {
        Some(most) if most < 12 => Err(Stop::fail("QUERY_FS: names of 12 characters", most)),
        _ => Ok(()),
    }
}

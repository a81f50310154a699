//! SET_FILE: times, attributes, sizes, names.

use super::rules::SET;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{AttributeSet, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_smbwire::smb2::file::{access, attributes, share};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "set_file.times", "SET_FILE", "times that were set are kept" => times, by SET;
    "set_file.times_left", "SET_FILE", "a time of 0 leaves the value unchanged" => times_left, by SET;
    "set_file.attributes", "SET_FILE", "attributes that were set are kept" => kept, by SET;
    "set_file.shrink", "SET_FILE", "a smaller size truncates the file" => shrink, by SET;
    "set_file.grow", "SET_FILE", "a larger size extends the file with zeros" => grow, by SET;
    "set_file.rename", "SET_FILE", "a rename replaces the old name by the new one" => rename, by SET;
    "set_file.rename_over", "SET_FILE", "a rename to an existing name answers OBJECT_NAME_COLLISION" => rename_over, by SET;
    "set_file.rename_replace", "SET_FILE", "a rename replaces an existing file if that is requested" => rename_replace, by SET;
    "set_file.rename_shared", "SET_FILE", "a file that others do not share for removal cannot be renamed" => rename_shared, by SET;
}

/// 2001-02-03 04:05:06, and so many days later, in 100 ns since 1601.
const fn day(later: u64) -> u64 {
    126_256_395_060_000_000 + later * 864_000_000_000
}

fn times(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let wanted = [0, day(2), day(3), 0];
    b.smb
        .calls()
        .set(file, &AttributeSet::Basic(wanted, 0))
        .done("SET_FILE: times")?;
    let kept = |facts: crate::validate::session::Facts| (facts.times[1], facts.times[2]);
    let got = kept(b.facts(file)?);
    same("QUERY_FILE: read, written", (day(2), day(3)), got)?;
    b.smb.close(file).done("CLOSE")?;
    let path = b.path("file");
    let got = b.smb.calls().query_path(&path).done("QUERY_PATH")?;
    same("QUERY_PATH after the CLOSE: written", day(3), got.times[2])
}

fn times_left(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let first = AttributeSet::Basic([0, day(4), day(5), 0], 0);
    b.smb.calls().set(file, &first).done("SET_FILE: times")?;
    let before = b.facts(file)?;
    let second = AttributeSet::Basic([0, day(6), 0, 0], 0);
    b.smb
        .calls()
        .set(file, &second)
        .done("SET_FILE: one time")?;
    let after = b.facts(file)?;
    let wanted = (before.times[0], day(6), day(5));
    let got = (after.times[0], after.times[1], after.times[2]);
    same("QUERY_FILE: made, read, written", wanted, got)?;
    same(
        "QUERY_FILE: attributes",
        before.attributes,
        after.attributes,
    )
}

fn kept(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    for wanted in [
        attributes::READONLY,
        attributes::HIDDEN | attributes::ARCHIVE,
        attributes::NORMAL,
    ] {
        let set = AttributeSet::Basic([0; 4], wanted);
        b.smb.calls().set(file, &set).done("SET_FILE: attributes")?;
        let got = b.facts(file)?.attributes & 0x27;
        let meant = wanted & 0x27;
        if got != meant {
            b.note(format!(
                "attributes {meant:#x} were set, and {got:#x} are returned"
            ));
        }
    }
    Ok(())
}

fn shrink(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(10_000, 1);
    let file = b.make("file", &data)?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Size(3333))
        .done("SET_FILE: size")?;
    b.has_size(file, 3333)?;
    let got = b
        .smb
        .read(file, 0, 10_000)
        .done("READ across the new end")?;
    checks::same_bytes(0, data.get(..3333).unwrap_or_default(), &got)?;
    // What was cut off is not there when it grows again.
    b.smb
        .calls()
        .set(file, &AttributeSet::Size(4000))
        .done("SET_FILE: size")?;
    b.reads_back(file, 3333, &vec![0; 667])
}

fn grow(b: &mut Bench<'_>) -> Result<(), Stop> {
    const FAR: u64 = (5 << 30) + 7;
    let file = b.make("file", b"front")?;
    b.smb
        .calls()
        .set(file, &AttributeSet::Size(100_000))
        .done("SET_FILE: size")?;
    b.has_size(file, 100_000)?;
    b.reads_back(file, 0, b"front")?;
    b.reads_back(file, 5, &vec![0; 99_995])?;
    match b
        .smb
        .calls()
        .set(file, &AttributeSet::Size(FAR))
        .either("SET_FILE: size")?
    {
        Ok(()) => b.has_size(file, FAR),
        Err(status @ (status::DISK_FULL | status::QUOTA_EXCEEDED)) => {
            b.note(format!("a size of 5 GiB: {}", status::text(status)));
            Ok(())
        }
        Err(status) => Err(Stop::fail(
            "SET_FILE: a size of 5 GiB",
            status::text(status),
        )),
    }
}

/// Renames an open file of the check's directory.
fn named(
    b: &mut Bench<'_>,
    file: filermark_smbwire::smb2::FileId,
    name: &str,
    replace: bool,
) -> Result<(), crate::client::Failure> {
    let dir = b.dir.clone();
    let set = AttributeSet::Rename {
        dir: &dir,
        name,
        replace,
    };
    b.smb.calls().set(file, &set)
}

fn holds(b: &mut Bench<'_>, name: &str, data: &[u8]) -> Result<(), Stop> {
    let file = b.open(name)?.file;
    b.reads_back(file, 0, data)?;
    b.smb.close(file).done("CLOSE")
}

fn rename(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("old", b"its data")?;
    named(b, file, "new", false).done("SET_FILE: name")?;
    b.reads_back(file, 0, b"its data")?;
    b.smb.close(file).done("CLOSE")?;
    same("the old name is there", false, b.is_there("old")?)?;
    holds(b, "new", b"its data")?;
    // The same name in other letters.
    let file = b.open("new")?.file;
    named(b, file, "NEW", false).done("SET_FILE: name in capitals")?;
    b.smb.close(file).done("CLOSE")?;
    let dir = b.dir.clone();
    let (found, _) = b.smb.calls().find(&dir, "*", 32 << 10).done("FIND")?;
    let names: Vec<_> = found
        .iter()
        .map(|f| f.name.as_str())
        .filter(|n| !n.starts_with('.'))
        .collect();
    same("FIND: names", vec!["NEW"], names)
}

fn rename_over(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("taken", b"stays")?;
    let file = b.make("file", b"its data")?;
    let wanted = [status::OBJECT_NAME_COLLISION];
    named(b, file, "taken", false).refused("SET_FILE: a name that is taken", &wanted)?;
    b.smb.close(file).done("CLOSE")?;
    holds(b, "taken", b"stays")?;
    holds(b, "file", b"its data")
}

fn rename_replace(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("taken", b"goes away")?;
    let file = b.make("file", b"its data")?;
    named(b, file, "taken", true).done("SET_FILE: a name that is taken, replacing")?;
    b.smb.close(file).done("CLOSE")?;
    same("the old name is there", false, b.is_there("file")?)?;
    holds(b, "taken", b"its data")
}

fn rename_shared(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"its data")?;
    let path = b.path("file");
    let open = Open::file(&path)
        .rights(access::READ_DATA | access::READ_ATTRIBUTES)
        .shared(share::READ | share::WRITE);
    // Who has the right to delete open cannot be joined by one who does not share that.
    b.smb.close(file).done("CLOSE")?;
    b.other()?
        .open(&open)
        .done("OPEN that does not share removal")?;
    let rights = access::READ_ATTRIBUTES | access::SYNCHRONIZE | access::DELETE;
    let wanted = [status::SHARING_VIOLATION];
    let renaming = Open::file(&path).rights(rights);
    b.smb
        .open(&renaming)
        .refused("OPEN to rename it", &wanted)
        .map(drop)
}

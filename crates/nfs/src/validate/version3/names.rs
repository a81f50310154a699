//! Unusual names.

use super::ops::{Bench, Check, Outcome};
use crate::validate::bench::Refusal;
use crate::validate::text::shown;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;

const SECTION: &str = "RFC 1813 section 3.2";

checks! { CHECKS: Check =>
    "names.plain", Procedure::Create, "blanks, dashes, dots and quotes in names" => plain, by SECTION;
    "names.utf8", Procedure::Create, "UTF-8 names, byte by byte" => utf8, by SECTION;
    "names.bytes", Procedure::Create, "control characters and bytes that are not UTF-8" => bytes, by SECTION;
    "names.slash", Procedure::Create, "a slash in a name does not lead to another directory" => slash, by SECTION;
}

/// Creates a file of this name, finds it by LOOKUP and READDIR, and removes it. Returns the
/// status if the server refuses the name.
fn round_trip(b: &mut Bench<'_>, name: &[u8]) -> Result<Option<Nfsstat3>, Stop> {
    let dir = b.dir;
    let what = format!("CREATE of {}", shown(name));
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    if let Err(status) = b.either(&what, |nfs| nfs.create(&dir, name, how))? {
        return Ok(Some(status));
    }
    b.find(&dir, name)?;
    let names: Vec<_> = b.list(&dir)?.iter().map(|e| shown(&e.name)).collect();
    b.equal("the name as listed", vec![shown(name)], names)?;
    b.done(&format!("REMOVE of {}", shown(name)), |nfs| {
        nfs.remove(&dir, name)
    })?;
    b.absent(&dir, name)?;
    Ok(None)
}

fn plain(b: &mut Bench<'_>) -> Outcome {
    for name in [
        &b"with blanks in it"[..],
        b" leading and trailing ",
        b".hidden",
        b"-rf",
        b"...",
        b"it's \"quoted\"",
        b"semi;colon&more|*?",
    ] {
        if let Some(status) = round_trip(b, name)? {
            odd(b, name, status)?;
        }
    }
    Ok(())
}

fn utf8(b: &mut Bench<'_>) -> Outcome {
    for name in [
        "Gr\u{fc}\u{df}e",
        "\u{65e5}\u{672c}\u{8a9e}",
        "e\u{301}",
        "\u{1f4be}",
    ] {
        if let Some(status) = round_trip(b, name.as_bytes())? {
            odd(b, name.as_bytes(), status)?;
        }
    }
    Ok(())
}

fn bytes(b: &mut Bench<'_>) -> Outcome {
    for name in [
        &b"\x01\x02\x7f"[..],
        b"new\nline",
        b"latin\xfc1",
        b"\xff\xfe",
        b"back\\slash",
    ] {
        if let Some(status) = round_trip(b, name)? {
            odd(b, name, status)?;
        }
    }
    Ok(())
}

/// Servers need not accept every character (section 3.2: NFS3ERR_ACCES), but must refuse it
/// with a status that a client can show.
fn odd(b: &mut Bench<'_>, name: &[u8], status: Nfsstat3) -> Outcome {
    match status {
        Nfsstat3::Acces | Nfsstat3::Inval | Nfsstat3::Nametoolong => {
            b.note(format!("{} is not accepted: {status}", shown(name)));
            Ok(())
        }
        _ => Err(Stop::fail(
            format!("CREATE of {}: NFS3_OK or NFS3ERR_ACCES", shown(name)),
            status,
        )),
    }
}

/// The protocol has only names, no paths, but the RFC does not define the handling of a slash
/// in a name.
fn slash(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file(b"sibling")?;
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    let made = b.either_odd("CREATE of 'below/file'", |nfs| {
        nfs.create(&dir, b"below/file", how)
    })?;
    let inside = b.list(&below)?.len();
    match made {
        Err(Refusal::Status(Nfsstat3::Acces | Nfsstat3::Inval)) => {}
        Err(refusal) => b.note(format!("CREATE of 'below/file': {refusal}")),
        Ok(_) if inside > 0 => {
            b.note("names are used as paths: CREATE of 'below/file' created a file in 'below'");
        }
        Ok(_) => b.note("a name may contain a slash"),
    }
    let up = b.either_odd("LOOKUP of '../sibling'", |nfs| {
        nfs.lookup(&below, b"../sibling")
    })?;
    if up.is_ok() {
        b.note("names are used as paths: LOOKUP of '../sibling' leaves the directory");
    }
    Ok(())
}

//! GETATTR, SETATTR, VERIFY, NVERIFY and access control lists.

use super::client::{Opened, Opening, of_mode, putfh};
use super::ops::{Bench, Check, OF_ALL, Outcome, Subject, V41};
use crate::validate::shared::attributes::{dir, file, fileid_stable, size_after_writes, stale};
use crate::validate::shared::ops::Common;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs4::*;

const GETATTR: Subject = Subject::Op(Operation::Getattr);
const SETATTR: Subject = Subject::Op(Operation::Setattr);
const PUTFH: Subject = Subject::Op(Operation::Putfh);
const REQUIRED: &str = "RFC 8881 section 5.6";
const WRITE_ONLY: &str = "RFC 8881 section 5.5";
const CHANGE: &str = "RFC 8881 section 5.8.1.4";
const ACL: &str = "RFC 8881 section 6.2.1";

checks! { CHECKS: Check =>
    "putfh.bad_handle", PUTFH, "an invalid handle is refused" => bad_handle;
    "getattr.file", GETATTR, "type, mode, size and links of a new file" => file;
    "getattr.dir", GETATTR, "type and mode of a new directory" => dir;
    "getattr.size", GETATTR, "the size follows writes" => size;
    "getattr.fileid_stable", GETATTR, "fileid and fsid are stable, and no two files share a fileid" => fileid_stable;
    "getattr.stale", GETATTR, "the handle of a removed file is stale" => stale;
    "getattr.required", GETATTR, "the required attributes are supported" => required, by REQUIRED;
    "getattr.only_asked", GETATTR, "returns those attributes that were asked for and are supported" => only_asked;
    "getattr.filehandle", GETATTR, "the attribute filehandle is that of GETFH" => filehandle;
    "getattr.write_only", GETATTR, "an attribute that can only be set answers NFS4ERR_INVAL" => write_only, by WRITE_ONLY;
    "change.data", GETATTR, "change differs after WRITE and SETATTR" => change, by CHANGE;
    "setattr.mode", SETATTR, "sets the mode, and says so" => mode;
    "setattr.truncate", SETATTR, "a smaller size truncates the file" => truncate;
    "setattr.extend", SETATTR, "a larger size extends the file with zeros" => extend;
    "setattr.openmode", SETATTR, "the size of a file that is open for reading answers NFS4ERR_OPENMODE" => openmode;
    "setattr.read_only", SETATTR, "an attribute that cannot be set answers NFS4ERR_INVAL" => read_only, by WRITE_ONLY;
    "setattr.times", SETATTR, "sets the client's time and the server's" => times;
    "setattr.stale", SETATTR, "a removed file is stale" => setattr_stale;
    "verify.same", Subject::Op(Operation::Verify), "equal attributes succeed, others answer NFS4ERR_NOT_SAME" => verify;
    "nverify.differ", Subject::Op(Operation::Nverify), "other attributes succeed, equal ones answer NFS4ERR_SAME" => nverify;
    "acl.same", SETATTR, "a list that was read can be set again" => acl, by ACL;
}

fn bad_handle(b: &mut Bench<'_>) -> Outcome {
    let Some(invented) = Fh4::new(&[0xa5; 32]) else {
        return Err(Stop::skip("no handle of 32 bytes"));
    };
    let usual = [Nfsstat4::Badhandle, Nfsstat4::Stale];
    b.refused_somehow("PUTFH of an invented handle", &usual, |client| {
        V41::getattr(client, &invented)
    })
}

fn size(b: &mut Bench<'_>) -> Outcome {
    size_after_writes(b).map(drop)
}

fn supported(b: &mut Bench<'_>) -> Result<Bitmap4, Stop> {
    let dir = b.dir;
    b.get_attributes(&dir, &[Attribute::SupportedAttrs], |a| a.supported_attrs)
}

fn names_of(set: Bitmap4) -> String {
    let names: Vec<String> = set
        .bits()
        .map(|bit| match Attribute::from_u32(bit) {
            Some(attribute) => attribute.name().to_owned(),
            None => bit.to_string(),
        })
        .collect();
    names.join(", ")
}

fn required(b: &mut Bench<'_>) -> Outcome {
    // The last one is new in version 4.1.
    let count = OF_ALL.len() - usize::from(b.minor() == 0);
    let lacking = Bitmap4::of(&OF_ALL[..count]).without(supported(b)?);
    b.holds(
        lacking.is_empty(),
        "supported_attrs with all required attributes",
        format!("without {}", names_of(lacking)),
    )
}

/// The attributes that are asked for are those whose values can be decoded.
fn only_asked(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let asked = Attributes::KNOWN.without(Attributes::NOT_IN_GETATTR);
    let supported = supported(b)?;
    let few = Bitmap4::of(&[
        Attribute::Type,
        Attribute::Size,
        Attribute::Fileid,
        Attribute::System,
    ]);
    let one = |bit| Bitmap4::EMPTY.with_bit(bit);
    // Those behind it are of minor version 2.
    let known = asked
        .bits()
        .filter(|bit| *bit <= Attribute::FsCharsetCap.to_u32());
    let mut less = Bitmap4::EMPTY;
    for asked in [few, Bitmap4::EMPTY].into_iter().chain(known.map(one)) {
        let what = format!("GETATTR of {}", names_of(asked));
        let returned = b.done(&what, |client| {
            client.on(
                &dir,
                &GetattrArgs {
                    attr_request: asked,
                },
                |res| Ok(res?.obj_attributes.attrmask()),
            )
        })?;
        let more = returned.without(asked);
        b.holds(
            more.is_empty(),
            &format!("{what}: no attribute that was not asked for"),
            names_of(more),
        )?;
        let lacking = asked.and(supported).without(returned);
        less = lacking.bits().fold(less, Bitmap4::with_bit);
    }
    if !less.is_empty() {
        b.note(format!(
            "supported attributes that a directory does not have: {}",
            names_of(less)
        ));
    }
    Ok(())
}

fn filehandle(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let stated = b.get_attributes(&file, &[Attribute::Filehandle], |a| {
        Some(a.filehandle?.to_fh())
    })?;
    b.same_object("the attribute filehandle", &file, &stated)
}

/// Skips the check if the server does not support an attribute.
fn needs(b: &mut Bench<'_>, attribute: Attribute) -> Outcome {
    if supported(b)?.has(attribute) {
        return Ok(());
    }
    let name = attribute.name();
    Err(Stop::skip(format!("the server does not support {name}")))
}

fn write_only(b: &mut Bench<'_>) -> Outcome {
    needs(b, Attribute::TimeModifySet)?;
    let dir = b.dir;
    let attr_request = Bitmap4::of(&[Attribute::TimeModifySet]);
    let wanted = [Nfsstat4::Inval];
    b.refused("GETATTR of time_modify_set", &wanted, |client| {
        client.on(&dir, &GetattrArgs { attr_request }, |res| res.map(drop))
    })
    .map(drop)
}

fn change(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let mut last = b.change(&opened.file)?;
    for data in [&b"one"[..], b"two"] {
        b.writes(&opened, data)?;
        let now = b.change(&opened.file)?;
        b.holds(now != last, "another value of change after WRITE", now)?;
        last = now;
    }
    sets(b, &opened.file, &of_mode(0o600))?;
    let now = b.change(&opened.file)?;
    b.holds(now != last, "another value of change after SETATTR", now)
}

/// SETATTR without an open, which must succeed. Returns what was set.
fn sets(b: &mut Bench<'_>, file: &Fh4, values: &Attributes<'_>) -> Result<Bitmap4, Stop> {
    b.done("SETATTR", |client| {
        client.setattr(file, Stateid4::ANONYMOUS, values)
    })
}

fn mode(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    for mode in [0o600, 0o751, 0o444, 0o644] {
        let set = sets(b, &file, &of_mode(mode))?;
        b.holds(
            set.has(Attribute::Mode),
            "attrsset with mode in it",
            format!("{set:?}"),
        )?;
        let is = b.facts(&file)?.mode & 0o7777;
        b.equal("mode", mode, is)?;
    }
    Ok(())
}

fn of_size(size: u64) -> Attributes<'static> {
    Attributes {
        size: Some(size),
        ..Attributes::default()
    }
}

/// The size of an open file.
fn set_size(b: &mut Bench<'_>, opened: &Opened, size: u64) -> Outcome {
    let Opened { file, stateid, .. } = *opened;
    let what = format!("SETATTR of size {size}");
    b.done(&what, |client| {
        client.setattr(&file, stateid, &of_size(size))
    })?;
    let is = b.facts(&file)?.size;
    b.equal("size", size, is)
}

fn truncate(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(1000, 20);
    b.file_with(b"file", &data)?;
    let opened = b.opens(&Opening::of(b"file", share::BOTH))?;
    set_size(b, &opened, 300)?;
    let read = b.get(&opened.file, 0, 2000)?;
    same_bytes(0, data.get(..300).unwrap_or_default(), &read)
}

fn extend(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(100, 21);
    b.file_with(b"file", &data)?;
    let opened = b.opens(&Opening::of(b"file", share::BOTH))?;
    // What was cut off must not come back.
    set_size(b, &opened, 50)?;
    set_size(b, &opened, 5000)?;
    let mut wanted = data.get(..50).unwrap_or_default().to_vec();
    wanted.resize(5000, 0);
    b.begins_with(&opened.file, &wanted)
}

fn openmode(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    let opened = b.opens(&Opening::of(b"file", share::READ))?;
    let what = "SETATTR of the size of a file that is open for reading";
    b.refused(what, &[Nfsstat4::Openmode], |client| {
        client.setattr(&file, opened.stateid, &of_size(0))
    })?;
    b.begins_with(&file, b"data")
}

fn read_only(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let lease = Attributes {
        lease_time: Some(1),
        ..Attributes::default()
    };
    let links = Attributes {
        link_support: Some(false),
        ..Attributes::default()
    };
    for (name, values) in [("lease_time", lease), ("link_support", links)] {
        let what = format!("SETATTR of {name}");
        b.refused(&what, &[Nfsstat4::Inval], |client| {
            client.setattr(&file, Stateid4::ANONYMOUS, &values)
        })?;
    }
    Ok(())
}

fn times(b: &mut Bench<'_>) -> Outcome {
    const WANTED: Nfstime4 = Nfstime4 {
        seconds: 1_000_000_000,
        nseconds: 0,
    };
    needs(b, Attribute::TimeModifySet)?;
    let file = b.file(b"file")?;
    let modified = [Attribute::TimeModify];
    let by_client = Attributes {
        time_modify_set: Some(Settime4::ClientTime(WANTED)),
        ..Attributes::default()
    };
    let before = b.get_attributes(&file, &modified, |a| a.time_modify)?;
    sets(b, &file, &by_client)?;
    let is = b.get_attributes(&file, &modified, |a| a.time_modify)?;
    b.equal("time_modify, in s", WANTED.seconds, is.seconds)?;
    let by_server = Attributes {
        time_modify_set: Some(Settime4::ServerTime),
        ..Attributes::default()
    };
    sets(b, &file, &by_server)?;
    let is = b.get_attributes(&file, &modified, |a| a.time_modify)?;
    let expected = format!("time_modify of {} s or later", before.seconds);
    b.holds(is.seconds >= before.seconds, &expected, is.seconds)
}

fn setattr_stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    let values = of_mode(0o600);
    b.becomes_stale("SETATTR of a removed file", |client| {
        client.setattr(&file, Stateid4::ANONYMOUS, &values)
    })
}

/// VERIFY or NVERIFY of the size of a file of 4 bytes, followed by GETFH.
fn compare(b: &mut Bench<'_>, file: &Fh4, size: u64, is_verify: bool) -> Result<Nfsstat4, Stop> {
    let values = of_size(size);
    let obj_attributes = Fattr4::new(&values);
    let name = if is_verify { "VERIFY" } else { "NVERIFY" };
    let answer = b.raw()?.call(name, false, |compound| {
        compound.op(&putfh(file));
        match is_verify {
            true => compound.op(&VerifyArgs { obj_attributes }),
            false => compound.op(&NverifyArgs { obj_attributes }),
        };
        compound.op(&GetfhArgs {});
    })?;
    Ok(answer.status)
}

fn verify(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    for (size, wanted) in [(4, Nfsstat4::Ok), (5, Nfsstat4::NotSame)] {
        let status = compare(b, &file, size, true)?;
        b.equal(
            &format!("VERIFY of size {size} of a file of 4 bytes"),
            wanted,
            status,
        )?;
    }
    Ok(())
}

fn nverify(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    for (size, wanted) in [(5, Nfsstat4::Ok), (4, Nfsstat4::Same)] {
        let status = compare(b, &file, size, false)?;
        b.equal(
            &format!("NVERIFY of size {size} of a file of 4 bytes"),
            wanted,
            status,
        )?;
    }
    Ok(())
}

/// A list in memory: entries with kind, flags, rights and user.
type Aces = Vec<(u32, u32, u32, Vec<u8>)>;

fn read_acl(b: &mut Bench<'_>, file: &Fh4) -> Result<Aces, Stop> {
    b.get_attributes(file, &[Attribute::Acl], |a| {
        let acl = a.acl?;
        let owned = |ace: Nfsace4<'_>| (ace.acetype, ace.flag, ace.access_mask, ace.who.to_vec());
        Some(acl.iter().map(owned).collect())
    })
}

/// The list may be returned in another form: a server stores what has the same effect
/// (RFC 8881 section 6.2.1).
fn acl(b: &mut Bench<'_>) -> Outcome {
    needs(b, Attribute::Acl)?;
    let file = b.file(b"file")?;
    let mode = b.facts(&file)?.mode & 0o777;
    let before = read_acl(b, &file)?;
    let aces: Vec<Nfsace4<'_>> = before
        .iter()
        .map(|(acetype, flag, access_mask, who)| Nfsace4 {
            acetype: *acetype,
            flag: *flag,
            access_mask: *access_mask,
            who,
        })
        .collect();
    let values = Attributes {
        acl: Acl4::new(&aces),
        ..Attributes::default()
    };
    let set = b.either("SETATTR of acl", |client| {
        client.setattr(&file, Stateid4::ANONYMOUS, &values)
    })?;
    match set {
        Ok(_) => {}
        Err(status @ (Nfsstat4::Attrnotsupp | Nfsstat4::Notsupp)) => {
            return Err(Stop::skip(format!("SETATTR of acl: {status}")));
        }
        Err(status) => {
            return Err(Stop::fail(
                format!("SETATTR of acl: {}", Nfsstat4::Ok),
                status,
            ));
        }
    }
    let after = read_acl(b, &file)?;
    if before != after {
        b.note(format!(
            "the list that was read has {} entries, after SETATTR of it {}, and they differ",
            before.len(),
            after.len()
        ));
    }
    let is = b.facts(&file)?.mode & 0o777;
    b.equal("mode after SETATTR of the acl that was read", mode, is)
}

//! Extended attributes (RFC 8276).

use crate::validate::version41::client::Client;
use crate::validate::version41::ops::{Bench, Check, Outcome, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const GETXATTR: Subject = Subject::Op(Operation::Getxattr);
const SETXATTR: Subject = Subject::Op(Operation::Setxattr);
const LISTXATTRS: Subject = Subject::Op(Operation::Listxattrs);
const REMOVEXATTR: Subject = Subject::Op(Operation::Removexattr);

checks! { CHECKS: Check =>
    "getxattr.back", GETXATTR, "returns the value that was set, also an empty one and one with any bytes" => back;
    "getxattr.none", GETXATTR, "an unknown name answers NFS4ERR_NOXATTR" => none;
    "setxattr.create", SETXATTR, "SETXATTR4_CREATE answers NFS4ERR_EXIST if the name exists" => create;
    "setxattr.replace", SETXATTR, "SETXATTR4_REPLACE answers NFS4ERR_NOXATTR if it does not" => replace;
    "setxattr.either", SETXATTR, "SETXATTR4_EITHER creates and replaces" => either;
    "setxattr.cinfo", SETXATTR, "changes the change attribute of the file, and says so" => cinfo;
    "listxattrs.all", LISTXATTRS, "lists each name once, over several calls" => list;
    "listxattrs.too_small", LISTXATTRS, "a maxcount without space for a name answers NFS4ERR_TOOSMALL" => too_small;
    "removexattr.gone", REMOVEXATTR, "a removed name is gone" => gone;
    "removexattr.none", REMOVEXATTR, "an unknown name answers NFS4ERR_NOXATTR" => remove_none;
}

fn file(b: &mut Bench<'_>) -> Result<Fh4, Stop> {
    b.file_with(b"file", b"data")
}

fn set<'a>(
    client: &mut Client,
    file: &Fh4,
    (name, value): (&'a [u8], &'a [u8]),
    option: SetxattrOption4,
) -> crate::client::Reply4<ChangeInfo4> {
    let args = SetxattrArgs {
        option,
        name,
        value,
    };
    client.on(file, &args, |res| res.map(|ok| ok.cinfo))
}

fn sets(b: &mut Bench<'_>, file: &Fh4, name: &[u8], value: &[u8]) -> Result<ChangeInfo4, Stop> {
    b.offered("SETXATTR", |client| {
        set(client, file, (name, value), SetxattrOption4::Either)
    })
}

fn gets(b: &mut Bench<'_>, file: &Fh4, name: &[u8]) -> Result<Vec<u8>, Stop> {
    b.offered("GETXATTR", |client| {
        client.on(file, &GetxattrArgs { name }, |res| {
            res.map(|ok| ok.value.to_vec())
        })
    })
}

fn none_of(b: &mut Bench<'_>, file: &Fh4, name: &[u8]) -> Outcome {
    b.refused_if_offered("GETXATTR", &[Nfsstat4::Noxattr], |client| {
        client.on(file, &GetxattrArgs { name }, |res| res.map(drop))
    })
}

fn back(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    let any: Vec<u8> = (0..=255).collect();
    for (name, value) in [
        (&b"text"[..], &b"value"[..]),
        (b"empty", b""),
        (b"any", &any),
    ] {
        sets(b, &file, name, value)?;
        let got = gets(b, &file, name)?;
        b.equal("value", value, &got[..])?;
    }
    Ok(())
}

fn none(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    none_of(b, &file, b"none")
}

fn create(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    let option = SetxattrOption4::Create;
    b.offered("SETXATTR of a new name", |client| {
        set(client, &file, (b"name", b"first"), option)
    })?;
    b.refused_if_offered("SETXATTR again", &[Nfsstat4::Exist], |client| {
        set(client, &file, (b"name", b"second"), option)
    })?;
    let got = gets(b, &file, b"name")?;
    b.equal("value", &b"first"[..], &got[..])
}

fn replace(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    let option = SetxattrOption4::Replace;
    b.refused_if_offered("SETXATTR of a new name", &[Nfsstat4::Noxattr], |client| {
        set(client, &file, (b"name", b"first"), option)
    })?;
    none_of(b, &file, b"name")?;
    sets(b, &file, b"name", b"first")?;
    b.offered("SETXATTR of a name that exists", |client| {
        set(client, &file, (b"name", b"second"), option)
    })?;
    let got = gets(b, &file, b"name")?;
    b.equal("value", &b"second"[..], &got[..])
}

fn either(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    for value in [&b"first"[..], b"a longer second"] {
        sets(b, &file, b"name", value)?;
        let got = gets(b, &file, b"name")?;
        b.equal("value", value, &got[..])?;
    }
    Ok(())
}

fn cinfo(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    let wanted = [Attribute::Change];
    let before = b.get_attributes(&file, &wanted, |a| a.change)?;
    let cinfo = sets(b, &file, b"name", b"value")?;
    let after = b.get_attributes(&file, &wanted, |a| a.change)?;
    b.holds(before != after, "another change attribute", after)?;
    match cinfo.atomic {
        true => b.equal("change_info4", (before, after), (cinfo.before, cinfo.after)),
        false => Ok(()),
    }
}

/// The names, and how many calls it took.
fn lists(b: &mut Bench<'_>, file: &Fh4, maxcount: u32) -> Result<(Vec<Vec<u8>>, u32), Stop> {
    let (mut names, mut cookie, mut calls) = (Vec::new(), 0, 0);
    loop {
        let args = ListxattrsArgs { cookie, maxcount };
        let (next, part, eof) = b.offered("LISTXATTRS", |client| {
            client.on(file, &args, |res| {
                res.map(|ok| {
                    let names: Vec<Vec<u8>> = ok.names.iter().map(|name| name.0.to_vec()).collect();
                    (ok.cookie, names, ok.eof)
                })
            })
        })?;
        calls += 1;
        let is_empty = part.is_empty();
        names.extend(part);
        if eof {
            return Ok((names, calls));
        }
        if is_empty || names.len() > 1_000 {
            return Err(Stop::fail("LISTXATTRS: names, or eof", "neither"));
        }
        cookie = next;
    }
}

fn list(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    let mut wanted: Vec<Vec<u8>> = (0..20)
        .map(|n| format!("name-{n:02}").into_bytes())
        .collect();
    for name in &wanted {
        sets(b, &file, name, b"value")?;
    }
    wanted.sort();
    for maxcount in [8_192, 200] {
        let (mut names, _) = lists(b, &file, maxcount)?;
        names.sort();
        b.equal("names", &wanted, &names)?;
    }
    Ok(())
}

fn too_small(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    sets(b, &file, &[b'a'; 100], b"value")?;
    let args = ListxattrsArgs {
        cookie: 0,
        maxcount: 24,
    };
    b.refused_if_offered("LISTXATTRS", &[Nfsstat4::Toosmall], |client| {
        client.on(&file, &args, |res| res.map(drop))
    })
}

fn gone(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    sets(b, &file, b"name", b"value")?;
    sets(b, &file, b"other", b"value")?;
    b.offered("REMOVEXATTR", |client| {
        client.on(&file, &RemovexattrArgs { name: b"name" }, |res| {
            res.map(drop)
        })
    })?;
    none_of(b, &file, b"name")?;
    let (names, _) = lists(b, &file, 8_192)?;
    b.equal("names", vec![b"other".to_vec()], names)
}

fn remove_none(b: &mut Bench<'_>) -> Outcome {
    let file = file(b)?;
    b.refused_if_offered("REMOVEXATTR", &[Nfsstat4::Noxattr], |client| {
        client.on(&file, &RemovexattrArgs { name: b"none" }, |res| {
            res.map(drop)
        })
    })
}

//! CREATE and MKDIR.

use super::ops::{Asked, Common};
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, Stop};

pub(in crate::validate) fn create_notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("CREATE in a file", &[V::NOTDIR], |nfs| {
        V::create(nfs, &file, b"x")
    })
    .map(drop)
}

/// A call that creates something in a removed directory: a stale handle, and never a success.
fn in_removed<V: Common, O>(
    b: &mut Bench<'_, V>,
    what: &str,
    call: impl Fn(&mut V::Client, &V::Handle) -> Asked<V, O>,
) -> Outcome {
    let gone = b.removed_dir()?;
    match b.either(what, |nfs| call(nfs, &gone))? {
        Err(status) if V::is_gone(status) => Ok(()),
        Err(status) if status == V::NOENT => {
            b.note(format!("{what}: {status}; {} is usual", V::STALE));
            Ok(())
        }
        other => {
            let got = other.err().unwrap_or(V::OK);
            Err(Stop::fail(format!("{what}: {}", V::STALE), got))
        }
    }
}

pub(in crate::validate) fn stale<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    in_removed(b, "CREATE in a removed directory", |nfs, gone| {
        V::create(nfs, gone, b"x")
    })
}

pub(in crate::validate) fn mkdir_stale<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    in_removed(b, "MKDIR in a removed directory", |nfs, gone| {
        V::mkdir(nfs, gone, b"x")
    })
}

pub(in crate::validate) fn dot<V: Common>(b: &mut Bench<'_, V>, usual: &[V::Status]) -> Outcome {
    let dir = b.dir;
    for name in [&b"."[..], b".."] {
        let what = format!("CREATE of '{}'", name.escape_ascii());
        b.refused_somehow(&what, usual, |nfs| V::create(nfs, &dir, name))?;
        let what = format!("MKDIR of '{}'", name.escape_ascii());
        b.refused_somehow(&what, usual, |nfs| V::mkdir(nfs, &dir, name))?;
    }
    Ok(())
}

pub(in crate::validate) fn empty_name<V: Common>(
    b: &mut Bench<'_, V>,
    usual: &[V::Status],
) -> Outcome {
    let dir = b.dir;
    b.refused_somehow("CREATE of ''", usual, |nfs| V::create(nfs, &dir, b""))
}

pub(in crate::validate) fn mkdir_exist<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"dir")?;
    b.file(b"file")?;
    for name in [&b"dir"[..], b"file"] {
        b.refused("MKDIR over a name", &[V::EXIST], |nfs| {
            V::mkdir(nfs, &dir, name)
        })?;
    }
    Ok(())
}

pub(in crate::validate) fn mkdir_notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("MKDIR in a file", &[V::NOTDIR], |nfs| {
        V::mkdir(nfs, &file, b"x")
    })
    .map(drop)
}

//! FIND: every name once, by patterns, over many answers.

use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{DirEntry, Open};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_smbwire::smb2::file::attributes;
use filermark_smbwire::status;
use std::collections::BTreeSet;

const FIND: super::rules::Rule = (
    "MS-CIFS 2.2.6.2, 2.2.6.3",
    "MS-SMB2 3.3.5.18, MS-FSA 2.1.5.5.3",
);

checks! { CHECKS: Check =>
    "find.all_once", "FIND", "320 names, each once, over many small answers" => all_once, by FIND;
    "find.empty", "FIND", "an empty directory lists '.' and '..' at most" => empty, by FIND;
    "find.facts", "FIND", "sizes, times and attributes are those of the files" => facts, by FIND;
    "find.star", "FIND", "'*' matches any characters" => star, by FIND;
    "find.question", "FIND", "'?' matches one character" => question, by FIND;
    "find.name", "FIND", "a name matches itself in any case" => name, by FIND;
    "find.none", "FIND", "a pattern without a match answers NO_SUCH_FILE" => none, by FIND;
    "find.no_way", "FIND", "a missing directory answers like OPEN" => no_way, by FIND;
    "find.while_removing", "FIND", "remaining names are found while others are removed" => while_removing, by FIND;
}

/// Space for a few dozen entries.
const SMALL: u32 = 4096;
const LARGE: u32 = 32 << 10;

fn is_dot(found: &DirEntry) -> bool {
    matches!(found.name.as_str(), "." | "..")
}

/// Names that a pattern finds in the check's directory, sorted, each once.
fn find(b: &mut Bench<'_>, pattern: &str, most: u32) -> Result<(Vec<String>, u32), Stop> {
    let dir = b.dir.clone();
    let what = format!("FIND of {pattern}");
    let (found, answers) = b.smb.calls().find(&dir, pattern, most).done(&what)?;
    let mut names: Vec<String> = found
        .into_iter()
        .filter(|f| !is_dot(f))
        .map(|f| f.name)
        .collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    if let Some(pair) = twice {
        return Err(Stop::fail(
            format!("{what}: each name once"),
            format!("{} twice", pair[0]),
        ));
    }
    Ok((names, answers))
}

fn make_all<'n>(b: &mut Bench<'_>, names: impl IntoIterator<Item = &'n str>) -> Result<(), Stop> {
    for name in names {
        b.put(name, &[])?;
    }
    Ok(())
}

fn finds(b: &mut Bench<'_>, pattern: &str, wanted: &[&str]) -> Result<(), Stop> {
    let (names, _) = find(b, pattern, LARGE)?;
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    same(&format!("FIND of {pattern}"), wanted, names)
}

fn all_once(b: &mut Bench<'_>) -> Result<(), Stop> {
    let wanted: Vec<String> = (0..320)
        .map(|n| format!("entry-{n:04}-with-a-longer-name"))
        .collect();
    make_all(b, wanted.iter().map(String::as_str))?;
    let (names, answers) = find(b, "*", SMALL)?;
    missing_of(&wanted, &names)?;
    same("FIND: names", wanted.len(), names.len())?;
    match answers {
        0..=2 => Err(Stop::fail(
            "FIND: answers of 4096 bytes at most",
            format!("{answers} answers for 320 names"),
        )),
        _ => Ok(()),
    }
}

/// The first of these names that was not found is a failure.
fn missing_of(wanted: &[String], found: &[String]) -> Result<(), Stop> {
    let found: BTreeSet<&String> = found.iter().collect();
    match wanted.iter().find(|name| !found.contains(name)) {
        Some(name) => Err(Stop::fail(
            format!("FIND: {} names", wanted.len()),
            format!("{name} is not among them"),
        )),
        None => Ok(()),
    }
}

fn empty(b: &mut Bench<'_>) -> Result<(), Stop> {
    let dir = b.dir.clone();
    let found = b
        .smb
        .calls()
        .find(&dir, "*", LARGE)
        .either("FIND in an empty directory")?;
    match found {
        Ok((found, _)) => {
            let others: Vec<_> = found.into_iter().filter(|f| !is_dot(f)).collect();
            same(
                "FIND in an empty directory: names but '.' and '..'",
                Vec::new(),
                others,
            )
        }
        Err(status::NO_SUCH_FILE | status::NO_MORE_FILES) => Ok(()),
        Err(status) => Err(Stop::fail(
            "FIND in an empty directory",
            status::text(status),
        )),
    }
}

fn facts(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &pattern(4567, 1))?;
    b.smb.close(file).done("CLOSE")?;
    let path = b.path("below");
    let below = b
        .smb
        .open(&Open::new_dir(&path))
        .done("OPEN of a new directory")?;
    b.smb.close(below.file).done("CLOSE")?;
    let dir = b.dir.clone();
    let (found, _) = b.smb.calls().find(&dir, "*", LARGE).done("FIND")?;
    for (name, size, is_dir) in [("file", Some(4567), false), ("below", None, true)] {
        let path = b.path(name);
        let queried = b.smb.calls().query_path(&path).done("QUERY_PATH")?;
        let Some(entry) = found.iter().find(|entry| entry.name == name) else {
            return Err(Stop::fail(
                format!("FIND: {name}"),
                "it is not among the names",
            ));
        };
        same(
            "FIND: attribute of a directory",
            is_dir,
            entry.attributes & attributes::DIRECTORY != 0,
        )?;
        same("FIND: attributes", queried.attributes, entry.attributes)?;
        same(
            "FIND: the time of the last write",
            queried.times[2],
            entry.written,
        )?;
        if let Some(size) = size {
            same("FIND: size", size, entry.size)?;
        }
    }
    Ok(())
}

const NAMES: [&str; 6] = [
    "abc.dat", "abc.txt", "abd.txt", "b.txt", "plain", "x.tar.gz",
];

fn star(b: &mut Bench<'_>) -> Result<(), Stop> {
    make_all(b, NAMES)?;
    finds(b, "*", &NAMES)?;
    finds(b, "*.txt", &["abc.txt", "abd.txt", "b.txt"])?;
    finds(b, "abc*", &["abc.dat", "abc.txt"])?;
    finds(b, "a*t", &["abc.dat", "abc.txt", "abd.txt"])?;
    finds(b, "*.tar.*", &["x.tar.gz"])
}

fn question(b: &mut Bench<'_>) -> Result<(), Stop> {
    make_all(b, NAMES)?;
    finds(b, "ab?.txt", &["abc.txt", "abd.txt"])?;
    finds(b, "?.txt", &["b.txt"])?;
    finds(b, "pl?in", &["plain"])
}

fn name(b: &mut Bench<'_>) -> Result<(), Stop> {
    make_all(b, NAMES)?;
    finds(b, "plain", &["plain"])?;
    finds(b, "PLAIN", &["plain"])?;
    finds(b, "ABC.*", &["abc.dat", "abc.txt"])
}

fn none(b: &mut Bench<'_>) -> Result<(), Stop> {
    make_all(b, NAMES)?;
    let dir = b.dir.clone();
    let wanted: &[u32] = match b.is_smb1() {
        // MS-CIFS 2.2.6.2.2 has the one, the servers have the other as well.
        true => &[
            status::NO_SUCH_FILE,
            status::NO_MORE_FILES,
            status::OBJECT_NAME_NOT_FOUND,
        ],
        false => &[status::NO_SUCH_FILE],
    };
    for pattern in ["nothing", "*.none"] {
        let found = b.smb.calls().find(&dir, pattern, LARGE);
        found.refused(&format!("FIND of {pattern}"), wanted)?;
    }
    Ok(())
}

fn no_way(b: &mut Bench<'_>) -> Result<(), Stop> {
    let dir = b.path("nothing");
    let wanted = [
        status::OBJECT_NAME_NOT_FOUND,
        status::OBJECT_PATH_NOT_FOUND,
        status::NO_SUCH_FILE,
    ];
    let found = b.smb.calls().find(&dir, "*", LARGE);
    found
        .refused("FIND in a missing directory", &wanted)
        .map(drop)
}

fn while_removing(b: &mut Bench<'_>) -> Result<(), Stop> {
    let stays: Vec<String> = (0..100).map(|n| format!("stays-{n:03}")).collect();
    make_all(b, stays.iter().map(String::as_str))?;
    let goes: Vec<String> = (0..100).map(|n| format!("goes-{n:03}")).collect();
    make_all(b, goes.iter().map(String::as_str))?;
    let dir = b.dir.clone();
    let failed = "FIND while names are removed";
    let files = b.smb.client().files();
    let mut listing = files.begin_list(&dir).done(failed)?;
    let mut names = Vec::new();
    let mut left = goes.iter().map(|name| format!(r"{dir}\{name}"));
    loop {
        let files = b.smb.client().files();
        let Some(entries) = files.next_entries(&mut listing).done(failed)? else {
            break;
        };
        names.extend(entries.into_iter().map(|entry| entry.name));
        let some: Vec<String> = left.by_ref().take(20).collect();
        files
            .remove_each(crate::client::RemoveTarget::File, &some)
            .done("removing")?;
    }
    b.smb.client().files().end_list(listing).done(failed)?;
    missing_of(&stays, &names)
}

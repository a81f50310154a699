//! Share modes: what a second open may do while the first one is there.

use super::rules::OPEN;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_smbwire::smb2::file::{access, share};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "share.first", "OPEN", "an access that the first open does not share answers SHARING_VIOLATION" => first, by OPEN;
    "share.second", "OPEN", "a second open must share the access of the first" => second, by OPEN;
    "share.attributes", "OPEN", "an open for attributes alone never conflicts with share modes" => looking, by OPEN;
    "share.ends", "OPEN", "a close ends its share mode" => ends, by OPEN;
    "share.dir", "OPEN", "an open directory that is not shared is not removed" => dir, by OPEN;
}

/// A right, the share mode that grants it to others, and its name.
const KINDS: [(u32, u32, &str); 3] = [
    (access::READ_DATA, share::READ, "read"),
    (access::WRITE_DATA, share::WRITE, "write"),
    (access::DELETE, share::DELETE, "delete"),
];

const LOOK: u32 = access::READ_ATTRIBUTES | access::SYNCHRONIZE;

/// Two opens of the same file: rights and share mode of each, and whether the second one
/// has to be refused.
struct Case {
    name: String,
    first: (u32, u32),
    second: (u32, u32),
    refused: bool,
}

/// Opens all pairs, the second ones by another session and all at once: some servers wait
/// a second before they refuse.
fn all(b: &mut Bench<'_>, cases: &[Case]) -> Result<(), Stop> {
    let paths: Vec<String> = (0..cases.len())
        .map(|n| b.path(&format!("file-{n}")))
        .collect();
    for (n, (case, path)) in cases.iter().zip(&paths).enumerate() {
        b.put(&format!("file-{n}"), &[])?;
        let (rights, shared) = case.first;
        let open = Open::file(path).rights(LOOK | rights).shared(shared);
        b.smb.open(&open).done("the first OPEN")?;
    }
    let other = b.other()?;
    let mut tickets = Vec::new();
    for (case, path) in cases.iter().zip(&paths) {
        let (rights, shared) = case.second;
        let open = Open::file(path).rights(LOOK | rights).shared(shared);
        tickets.push(other.calls().send_open(&open).done("the second OPEN")?);
    }
    let limit = other.limit();
    let mut failed = Vec::new();
    for (case, ticket) in cases.iter().zip(tickets) {
        let opened = other.wait_open(ticket, limit).either("the second OPEN")?;
        let got = match opened {
            Ok(Some(_)) => status::SUCCESS,
            Ok(None) => return Err(Stop::fail(format!("{}: an answer", case.name), "none")),
            Err(status) => status,
        };
        let wanted = match case.refused {
            true => status::SHARING_VIOLATION,
            false => status::SUCCESS,
        };
        if got != wanted {
            failed.push(format!("{}: {}", case.name, status::text(got)));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Stop::fail(
            "STATUS_SHARING_VIOLATION where it is not shared, else STATUS_SUCCESS",
            failed.join("; "),
        )),
    }
}

fn first(b: &mut Bench<'_>) -> Result<(), Stop> {
    let mut cases = Vec::new();
    for (_, kept, kept_name) in KINDS {
        for (wanted, bit, name) in KINDS {
            cases.push(Case {
                name: format!("not shared for {kept_name}, opened to {name}"),
                first: (access::READ_DATA, share::ALL & !kept),
                second: (wanted, share::ALL),
                refused: kept == bit,
            });
        }
    }
    all(b, &cases)
}

fn second(b: &mut Bench<'_>) -> Result<(), Stop> {
    let mut cases = Vec::new();
    for (has, bit, name) in KINDS {
        for (_, kept, kept_name) in KINDS {
            cases.push(Case {
                name: format!("opened to {name}, then not shared for {kept_name}"),
                first: (has, share::ALL),
                second: (access::READ_DATA, share::ALL & !kept),
                refused: kept == bit,
            });
        }
    }
    all(b, &cases)
}

fn looking(b: &mut Bench<'_>) -> Result<(), Stop> {
    let everything = access::READ_DATA | access::WRITE_DATA | access::DELETE;
    let cases = [
        Case {
            name: "nothing shared, opened for attributes".into(),
            first: (everything, 0),
            second: (0, 0),
            refused: false,
        },
        Case {
            name: "opened for attributes and nothing shared, then for everything".into(),
            first: (0, 0),
            second: (everything, 0),
            refused: false,
        },
    ];
    all(b, &cases)
}

fn ends(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("file", &[])?;
    let path = b.path("file");
    let alone = Open::file(&path).shared(0);
    let file = b.smb.open(&alone).done("OPEN that shares nothing")?.file;
    let wanted = [status::SHARING_VIOLATION];
    b.other()?
        .open(&alone)
        .refused("the second OPEN", &wanted)?;
    b.smb.close(file).done("CLOSE")?;
    b.other()?
        .open(&alone)
        .done("OPEN after the CLOSE")
        .map(drop)
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("below");
    let make = Open::new_dir(&path).shared(share::READ | share::WRITE);
    b.smb.open(&make).done("OPEN of a new directory")?;
    let remove = Open::dir(&path).rights(LOOK | access::DELETE);
    let wanted = [status::SHARING_VIOLATION];
    let other = b.other()?;
    other
        .open(&remove)
        .refused("OPEN to remove it", &wanted)
        .map(drop)
}

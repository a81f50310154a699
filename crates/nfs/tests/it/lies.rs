//! What a wrong server of NFSv2 and MOUNT version 1 may say.

use crate::proxy::{ReplacedReply, ReplyEditor, SeenCall};
use filermark_onc::nfs2::{self, Entry, MAXDATA, Nfsstat, Procedure, ReaddirRes};
use filermark_onc::nfs3::DirListWriter;
use filermark_onc::rpc::{AcceptStat, AuthFlavor};
use filermark_onc::{mount, mount1, xdr};

/// A lie about the results of a procedure of NFSv2.
pub fn about_results(
    lie: impl Fn(Procedure, &[u8], &[u8]) -> Option<Vec<u8>> + Send + 'static,
) -> ReplyEditor {
    Box::new(move |call, results| {
        let results = results.filter(|results| !is_claim(call, results))?;
        lie(procedure(call)?, &call.args, results).map(ReplacedReply::Results)
    })
}

fn procedure(call: &SeenCall) -> Option<Procedure> {
    let ours = call.prog == nfs2::PROGRAM && call.vers == nfs2::VERSION;
    Procedure::from_u32(call.proc).filter(|_| ours)
}

/// Without its directory and marker there would be nothing to validate in.
fn is_claim(call: &SeenCall, results: &[u8]) -> bool {
    let ours = |bytes: &[u8]| {
        let front = bytes.get(..300).unwrap_or(bytes);
        front.windows(8).any(|name| name == b"ilermark")
    };
    ours(&call.args) || ours(results)
}

fn status(results: &[u8]) -> Option<Nfsstat> {
    let word = results.first_chunk()?;
    Some(Nfsstat::from_u32(u32::from_be_bytes(*word)))
}

/// A status alone: a failure has nothing else.
fn failed(status: Nfsstat) -> Vec<u8> {
    status.to_u32().to_be_bytes().to_vec()
}

/// Where the attributes begin, in the results of success.
fn attributes_at(procedure: Procedure, results: &[u8]) -> Option<usize> {
    use Procedure::*;
    (status(results)? == Nfsstat::Ok).then_some(())?;
    match procedure {
        Getattr | Setattr | Write | Read => Some(4),
        Lookup | Create | Mkdir => Some(36),
        _ => None,
    }
}

/// Fields of `fattr`, by their place in it.
const TYPE: usize = 0;
const MODE: usize = 4;
const NLINK: usize = 8;
const SIZE: usize = 20;
const FSID: usize = 36;
const FILEID: usize = 40;
const MTIME: usize = 52;
const CTIME: usize = 60;

fn with_word(results: &[u8], at: usize, change: impl Fn(u32) -> u32) -> Option<Vec<u8>> {
    let mut out = results.to_vec();
    let word: &mut [u8; 4] = out.get_mut(at..at + 4)?.try_into().ok()?;
    *word = change(u32::from_be_bytes(*word)).to_be_bytes();
    Some(out)
}

/// A field of the attributes is wrong in the answers of some procedures.
fn wrong_field(
    of: &'static [Procedure],
    field: usize,
    change: impl Fn(u32) -> u32 + Copy + Send + 'static,
) -> ReplyEditor {
    about_results(move |procedure, _, results| {
        let at = attributes_at(procedure, results).filter(|_| of.contains(&procedure))?;
        with_word(results, at + field, change)
    })
}

/// A time is always the same.
fn no_time(field: usize, seconds: u32) -> ReplyEditor {
    about_results(move |procedure, _, results| {
        let at = attributes_at(procedure, results)? + field;
        let results = with_word(results, at, |_| seconds)?;
        with_word(&results, at + 4, |_| 0)
    })
}

/// Results of a success that never was.
fn made_up(procedure: Procedure) -> Vec<u8> {
    use Procedure::*;
    let words = match procedure {
        Null | Root | Writecache => 0,
        Remove | Rename | Link | Symlink | Rmdir => 1,
        Getattr | Setattr | Write => 1 + 17,
        Lookup | Create | Mkdir => 1 + 8 + 17,
        Read => 1 + 17 + 1,
        Readlink => 2,
        Readdir => 1 + 2,
        Statfs => 1 + 5,
    };
    vec![0; words * 4]
}

pub fn one_wrong_byte() -> ReplyEditor {
    about_results(|procedure, _, results| {
        let has_data = procedure == Procedure::Read && results.len() > 4 + 68 + 4;
        let data = 4 + 68 + 4;
        with_word(results, data, |word| word ^ 0x0100_0000).filter(|_| has_data)
    })
}

/// Another list of the same directory, but for what is done to its entries.
fn relisted(
    results: &[u8],
    limit: u32,
    eof: impl Fn(bool) -> bool,
    change: impl for<'e> Fn(Entry<'e>, &mut dyn FnMut(Entry<'e>)),
) -> Option<Vec<u8>> {
    let list: ReaddirRes<'_> = xdr::decode(results).ok()?;
    let mut entries = list.as_ref().ok()?.reply.iter();
    let all: Vec<_> = entries.by_ref().collect::<Result<_, _>>().ok()?;
    let mut out = Vec::new();
    let mut writer = DirListWriter::begin_v2(&mut out, limit);
    for entry in all {
        change(entry, &mut |entry| assert!(writer.push(&entry)));
    }
    writer.finish(eof(entries.eof()?));
    Some(out)
}

fn list_lie(
    eof: impl Fn(bool) -> bool + Copy + Send + 'static,
    change: impl for<'e> Fn(Entry<'e>, &mut dyn FnMut(Entry<'e>)) + Copy + Send + 'static,
) -> ReplyEditor {
    about_results(move |procedure, _, results| {
        (procedure == Procedure::Readdir).then_some(())?;
        relisted(results, 1 << 20, eof, change)
    })
}

/// Only in small answers, so that the directory can be cleaned up.
pub fn hidden_entry() -> ReplyEditor {
    about_results(|procedure, args, results| {
        let small = procedure == Procedure::Readdir && args.ends_with(&512u32.to_be_bytes());
        small.then_some(())?;
        relisted(
            results,
            512,
            |eof| eof,
            |entry, push| {
                if !entry.name.starts_with(b"entry-0207") {
                    push(entry);
                }
            },
        )
    })
}

pub fn odd_range() -> ReplyEditor {
    Box::new(|call, _| {
        let asked = call.prog == nfs2::PROGRAM && call.vers == 1;
        asked.then_some(ReplacedReply::Accepted(AcceptStat::ProgMismatch {
            low: 1,
            high: 3,
        }))
    })
}

pub fn notempty_as_io() -> ReplyEditor {
    about_results(|procedure, _, results| {
        let full = procedure == Procedure::Rmdir && status(results)? == Nfsstat::Notempty;
        full.then(|| failed(Nfsstat::Io))
    })
}

pub fn no_permissions() -> ReplyEditor {
    about_results(|procedure, _, results| {
        (status(results)? == Nfsstat::Acces).then(|| made_up(procedure))
    })
}

/// Procedures that only say that they are done.
fn sloth(of: &'static [Procedure]) -> ReplyEditor {
    about_results(move |procedure, _, results| {
        let failed = status(results)? != Nfsstat::Ok;
        // What is stale is waited for, for seconds: another lie shows that.
        let odd = failed && status(results)? != Nfsstat::Stale;
        (odd && of.contains(&procedure)).then(|| made_up(procedure))
    })
}

/// Whatever is done after the first call of a kind fails.
fn second_fails(prog: u32, proc: u32, results: Vec<u8>) -> ReplyEditor {
    let mut calls = 0;
    Box::new(move |call, _| {
        (call.prog == prog && call.proc == proc).then_some(())?;
        calls += 1;
        (calls > 1).then(|| ReplacedReply::Results(results.clone()))
    })
}

/// All lies, each with a name.
pub fn all() -> Vec<(&'static str, ReplyEditor)> {
    use Procedure::*;
    const WITH_ATTRIBUTES: &[Procedure] = &[Getattr, Setattr, Write, Read, Lookup, Create, Mkdir];
    vec![
        (
            "every refusal is an I/O error",
            about_results(|_, _, results| {
                let odd = !results.is_empty() && status(results)? != Nfsstat::Ok;
                odd.then(|| failed(Nfsstat::Io))
            }),
        ),
        ("refusals are successes", sloth(Procedure::ALL)),
        (
            "void is something",
            Box::new(|_, results| {
                results?
                    .is_empty()
                    .then_some(ReplacedReply::Results(vec![0; 4]))
            }),
        ),
        (
            "RPC refuses nothing",
            Box::new(|_, results| {
                results
                    .is_none()
                    .then_some(ReplacedReply::Results(vec![0; 4]))
            }),
        ),
        ("odd range", odd_range()),
        ("no permissions", no_permissions()),
        ("wrong byte", one_wrong_byte()),
        (
            "larger sizes by GETATTR",
            wrong_field(&[Getattr], SIZE, |size| size + 1),
        ),
        (
            "no type bits",
            wrong_field(WITH_ATTRIBUTES, MODE, |mode| mode & 0o7777),
        ),
        (
            "another mode",
            wrong_field(WITH_ATTRIBUTES, MODE, |mode| mode ^ 0o022),
        ),
        ("one kind", wrong_field(WITH_ATTRIBUTES, TYPE, |_| 1)),
        ("one fileid", wrong_field(WITH_ATTRIBUTES, FILEID, |_| 7)),
        ("one link", wrong_field(WITH_ATTRIBUTES, NLINK, |_| 1)),
        (
            "more links",
            wrong_field(&[Getattr], NLINK, |links| links * 2),
        ),
        ("the ctime stands still", no_time(CTIME, 1)),
        ("the mtime stands still", no_time(MTIME, 1_000_000_000)),
        (
            "microseconds",
            wrong_field(WITH_ATTRIBUTES, MTIME + 4, |_| 2_000_000),
        ),
        ("fsid", wrong_field(&[Lookup, Mkdir], FSID, |fsid| fsid + 1)),
        (
            "GETATTR fails",
            about_results(|procedure, _, _| (procedure == Getattr).then(|| failed(Nfsstat::Io))),
        ),
        (
            "callers without credentials get other fileids",
            Box::new(|call, results| {
                let at = procedure(call).and_then(|p| attributes_at(p, results?))?;
                let none = call.flavor == AuthFlavor::None;
                with_word(results?, at + FILEID, |id| id + 1)
                    .filter(|_| none)
                    .map(ReplacedReply::Results)
            }),
        ),
        (
            "a byte more",
            about_results(|procedure, args, results| {
                let at = 4 + 68;
                let read = procedure == Read && status(results)? == Nfsstat::Ok;
                let small = args.get(36..40)? == [0; 4] || results.len() == at + 4;
                let more = with_word(results, at, |len| len + 1)?;
                (read && small).then(|| [&more[..], &[1; 4]].concat())
            }),
        ),
        (
            "READ gives nothing",
            about_results(|procedure, _, results| {
                let read = procedure == Read && status(results)? == Nfsstat::Ok;
                let empty = with_word(results, 4 + 68, |_| 0)?;
                read.then(|| empty.get(..4 + 68 + 4).map(<[u8]>::to_vec))?
            }),
        ),
        (
            "links lead elsewhere",
            about_results(|procedure, _, results| {
                let link = procedure == Readlink && status(results)? == Nfsstat::Ok;
                with_word(results, 8, |word| word ^ 0x0100_0000).filter(|_| link)
            }),
        ),
        ("a hidden entry", hidden_entry()),
        (
            "entries twice",
            list_lie(
                |eof| eof,
                |entry, push| {
                    push(entry);
                    push(entry);
                },
            ),
        ),
        (
            "other fileids in lists",
            list_lie(
                |eof| eof,
                |entry, push| {
                    push(Entry {
                        fileid: entry.fileid + 1,
                        ..entry
                    });
                },
            ),
        ),
        (
            "an end too early",
            about_results(|procedure, args, _| {
                let count = u32::from_be_bytes(*args.get(36..40)?.first_chunk()?);
                let small = procedure == Readdir && count < 100;
                small.then(|| [&[0; 11][..], &[1]].concat())
            }),
        ),
        (
            "one name is another",
            list_lie(
                |eof| eof,
                |entry, push| {
                    let odd = entry.name.starts_with(b".hid");
                    push(Entry {
                        name: if odd { b".hidd" } else { entry.name },
                        ..entry
                    });
                },
            ),
        ),
        (
            "more free than there is",
            about_results(|procedure, _, results| {
                (procedure == Statfs).then_some(())?;
                with_word(results, 4 + 12, |free| {
                    free.wrapping_mul(4).max(u32::MAX - 1)
                })
            }),
        ),
        (
            "a file system of many sizes",
            Box::new(|call, results| {
                let statfs = procedure(call) == Some(Statfs);
                let xid = call.xid;
                with_word(results?, 12, |blocks| blocks.wrapping_add(xid))
                    .filter(|_| statfs)
                    .map(ReplacedReply::Results)
            }),
        ),
        (
            "no second MNT",
            second_fails(
                mount::PROGRAM,
                mount::Procedure::Mnt.to_u32(),
                vec![0, 0, 0, 5],
            ),
        ),
        (
            "everything is exported",
            Box::new(|call, results| {
                let mnt = call.prog == mount::PROGRAM && call.vers == mount1::VERSION;
                let mnt = mnt && call.proc == mount::Procedure::Mnt.to_u32();
                let failed = status(results?)? != Nfsstat::Ok;
                (mnt && failed).then(|| ReplacedReply::Results(vec![0; 36]))
            }),
        ),
        (
            "lists without end",
            Box::new(|call, _| {
                use mount::Procedure::{Dump, Export};
                let list = [Dump.to_u32(), Export.to_u32()].contains(&call.proc);
                (call.prog == mount::PROGRAM && list)
                    .then(|| ReplacedReply::Results(vec![0, 0, 0, 1, 0, 0, 0, 99]))
            }),
        ),
        (
            "no WRITE of 8192 bytes",
            about_results(|procedure, args, _| {
                let len = procedure == Write && args.len() > MAXDATA;
                len.then(|| failed(Nfsstat::Io))
            }),
        ),
    ]
}

//! OPEN and CLOSE: how files are created, and what cannot be opened.

use super::client::{Opened, Opening, of_mode, putfh};
use super::ops::{Bench, Check, Outcome, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;

const OPEN: Subject = Subject::Op(Operation::Open);
const CURRENT: &str = "RFC 8881 section 16.2.3.1.2";

checks! { CHECKS: Check =>
    "open.noent", OPEN, "an unknown name answers NFS4ERR_NOENT" => noent;
    "open.unchecked", OPEN, "UNCHECKED4 creates a file" => unchecked;
    "open.unchecked_existing", OPEN, "UNCHECKED4 takes a file that exists, and sets nothing but a size of 0" => unchecked_existing;
    "open.guarded", OPEN, "GUARDED4 answers NFS4ERR_EXIST if the name exists" => guarded;
    "open.exclusive", OPEN, "EXCLUSIVE4_1 (4.0: EXCLUSIVE4) succeeds again with the same verifier alone" => exclusive;
    "open.attributes", OPEN, "sets the requested mode, and says so" => attributes;
    "open.cinfo", OPEN, "a new file changes the directory's change attribute" => cinfo;
    "open.by_handle", OPEN, "CLAIM_FH opens the current file" => by_handle, from MinorVersion::V1;
    "open.current_stateid", OPEN, "WRITE and CLOSE of one COMPOUND use the stateid of its OPEN" => current_stateid, by CURRENT, from MinorVersion::V1;
    "open.dir", OPEN, "a directory answers NFS4ERR_ISDIR" => of_dir;
    "open.symlink", OPEN, "a symbolic link answers NFS4ERR_SYMLINK" => of_symlink;
    "open.notdir", OPEN, "a name in a file answers NFS4ERR_NOTDIR" => notdir;
    "open.empty_name", OPEN, "an empty name answers NFS4ERR_INVAL" => empty_name;
    "open.no_access", OPEN, "share_access of 0 answers NFS4ERR_INVAL" => no_access;
}

impl Bench<'_> {
    /// OPEN in the check's directory, which must succeed.
    pub(super) fn opens(&mut self, opening: &Opening<'_>) -> Result<Opened, Stop> {
        let dir = self.dir;
        self.done("OPEN", |client| client.open(&dir, opening))
    }

    /// A new file, open for reading and writing.
    pub(super) fn open_new(&mut self, name: &[u8]) -> Result<Opened, Stop> {
        let mode = of_mode(0o644);
        self.opens(&Opening::new_file(
            name,
            Createhow4::Guarded(Fattr4::new(&mode)),
        ))
    }

    /// OPEN in the check's directory, which must be refused with one of these.
    pub(super) fn open_refused(
        &mut self,
        what: &str,
        wanted: &[Nfsstat4],
        opening: &Opening<'_>,
    ) -> Outcome {
        let dir = self.dir;
        self.refused(what, wanted, |client| client.open(&dir, opening))
            .map(drop)
    }

    /// CLOSE, which must succeed.
    pub(super) fn closes(&mut self, opened: &Opened) -> Outcome {
        let Opened { file, stateid, .. } = *opened;
        self.done("CLOSE", |client| client.close(&file, stateid))
            .map(drop)
    }

    /// WRITE with FILE_SYNC of a few bytes, which must succeed.
    pub(super) fn writes(&mut self, opened: &Opened, data: &[u8]) -> Outcome {
        let Opened { file, stateid, .. } = *opened;
        let sync = StableHow::FileSync;
        let what = format!("WRITE of {} bytes", data.len());
        let ok = self.done(&what, |client| client.write(&file, stateid, 0, data, sync))?;
        self.wrote_all(&what, data.len(), ok.count)
    }
}

fn noent(b: &mut Bench<'_>) -> Outcome {
    let opening = Opening::of(b"none", share::READ);
    b.open_refused("OPEN of nothing", &[Nfsstat4::Noent], &opening)
}

fn unchecked(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o640));
    let how = Createhow4::Unchecked(Fattr4::new(&mode));
    let opened = b.opens(&Opening::new_file(b"file", how))?;
    b.writes(&opened, b"data")?;
    b.closes(&opened)?;
    let found = b.find(&dir, b"file")?;
    b.begins_with(&found, b"data")
}

fn unchecked_existing(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"twelve bytes")?;
    let mode = of_mode(0o600);
    let how = Createhow4::Unchecked(Fattr4::new(&mode));
    let opened = b.opens(&Opening::new_file(b"file", how))?;
    b.same_object("OPEN of a file that exists", &file, &opened.file)?;
    b.closes(&opened)?;
    let is = b.facts(&file)?;
    b.equal("size and mode", (12, 0o644), (is.size, is.mode & 0o777))?;
    let empty = Attributes {
        size: Some(0),
        ..Attributes::default()
    };
    let how = Createhow4::Unchecked(Fattr4::new(&empty));
    let opened = b.opens(&Opening::new_file(b"file", how))?;
    b.closes(&opened)?;
    let is = b.facts(&file)?;
    b.equal("size after UNCHECKED4 with a size of 0", 0, is.size)
}

fn guarded(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    let mode = of_mode(0o644);
    let opening = Opening::new_file(b"file", Createhow4::Guarded(Fattr4::new(&mode)));
    b.open_refused("OPEN with GUARDED4 of a file", &[Nfsstat4::Exist], &opening)?;
    b.begins_with(&file, b"data")
}

fn exclusive(b: &mut Bench<'_>) -> Outcome {
    let none = Attributes::default();
    let is_minor0 = b.minor() == 0;
    let how = |verf| match is_minor0 {
        true => Createhow4::Exclusive(verf),
        false => Createhow4::Exclusive41(Creatverfattr {
            verf,
            attrs: Fattr4::new(&none),
        }),
    };
    let first = b.opens(&Opening::new_file(b"file", how(*b"verifier")))?;
    let again = b.opens(&Opening::new_file(b"file", how(*b"verifier")))?;
    b.same_object("OPEN with the same verifier", &first.file, &again.file)?;
    let opening = Opening::new_file(b"file", how(*b"another!"));
    b.open_refused("OPEN with another verifier", &[Nfsstat4::Exist], &opening)
}

fn attributes(b: &mut Bench<'_>) -> Outcome {
    let mode = of_mode(0o604);
    let how = Createhow4::Guarded(Fattr4::new(&mode));
    let opened = b.opens(&Opening::new_file(b"file", how))?;
    b.closes(&opened)?;
    let is = b.facts(&opened.file)?;
    b.equal("mode (octal 604 is 388)", 0o604, is.mode & 0o7777)?;
    b.holds(
        opened.attrset.has(Attribute::Mode),
        "attrset with mode in it",
        format!("{:?}", opened.attrset),
    )
}

fn cinfo(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let before = b.change_before(&dir)?;
    let opened = b.open_new(b"file")?;
    let after = b.change(&dir)?;
    b.changed(opened.cinfo, before, after)
}

fn by_handle(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    let opening = Opening {
        claim: OpenClaim4::Fh,
        ..Opening::of(b"", share::READ)
    };
    let opened = b.done("OPEN with CLAIM_FH", |client| client.open(&file, &opening))?;
    let read = b.done("READ", |client| client.read(&file, opened.stateid, 0, 4))?;
    b.equal("data", &b"data"[..], &read.1[..])
}

fn current_stateid(b: &mut Bench<'_>) -> Outcome {
    let (dir, mode) = (b.dir, of_mode(0o644));
    let opening = Opening::new_file(b"file", Createhow4::Unchecked(Fattr4::new(&mode)));
    let what = "OPEN, WRITE and CLOSE with the current stateid";
    let mut raw = b.raw()?;
    let answer = raw.call(what, true, |compound| {
        compound.op(&putfh(&dir)).op(&opening.args());
        compound.op(&WriteArgs {
            stateid: Stateid4::CURRENT,
            offset: 0,
            stable: StableHow::FileSync,
            data: b"data",
        });
        compound.op(&CloseArgs {
            seqid: 0,
            open_stateid: Stateid4::CURRENT,
        });
    })?;
    let stateid = answer.result::<OpenArgs<'_>, _>(2, |result| Some(result.ok()?.stateid));
    if let Some(stateid) = stateid.filter(|_| answer.status != Nfsstat4::Ok) {
        raw.also_closes(b.find(&dir, b"file")?, stateid);
    }
    answer.must_be(what, &[Nfsstat4::Ok])?;
    let found = b.find(&dir, b"file")?;
    b.begins_with(&found, b"data")
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    b.mkdir(b"dir")?;
    let opening = Opening::of(b"dir", share::READ);
    b.open_refused("OPEN of a directory", &[Nfsstat4::Isdir], &opening)
}

fn of_symlink(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    b.symlink(b"link", b"file")?;
    let opening = Opening::of(b"link", share::READ);
    b.open_refused("OPEN of a symbolic link", &[Nfsstat4::Symlink], &opening)
}

fn notdir(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let opening = Opening::of(b"x", share::READ);
    b.refused("OPEN in a file", &[Nfsstat4::Notdir], |client| {
        client.open(&file, &opening)
    })
    .map(drop)
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    let opening = Opening::of(b"", share::READ);
    b.open_refused("OPEN of ''", &[Nfsstat4::Inval], &opening)
}

fn no_access(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let opening = Opening::of(b"file", 0);
    let what = "OPEN with share_access 0";
    b.refused_somehow(what, &[Nfsstat4::Inval], |client| {
        client.open(&dir, &opening)
    })
}

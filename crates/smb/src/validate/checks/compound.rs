//! Compounds: several requests in one frame.

use crate::client::ClientError;
use crate::client::raw::{RawSmb2, ReplySmb2};
use crate::validate::bench::Bench;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::{
    CloseRequest, CreateRequest, CreateResponse, EchoRequest, FileClass, FileId, FlushRequest,
    OutputResponse, Query, QueryInfoRequest, ReadRequest, ReadResponse, RequestedOplock,
};
use filermark_smbwire::status;

const COMPOUND: super::rules::Rule = ("", "MS-SMB2 3.3.5.2.7");

checks! { CHECKS: Check =>
    "compound.related", "COMPOUND", "open, query, read and close in one compound" => related, by COMPOUND, from Dialect::V202;
    "compound.failing", "COMPOUND", "requests related to a failed open fail with its status" => failing, by COMPOUND, from Dialect::V202;
    "compound.unrelated", "COMPOUND", "a failed request does not affect unrelated ones" => unrelated, by COMPOUND, from Dialect::V202;
    "compound.many", "COMPOUND", "many compounds in flight get one answer each" => many, by COMPOUND, from Dialect::V202;
    "compound.first_related", "COMPOUND", "a related request without a predecessor answers INVALID_PARAMETER" => first_related, by COMPOUND, from Dialect::V202;
}

const FILE: FileId = FileId::RELATED;
const CLOSE: CloseRequest = CloseRequest {
    file: FILE,
    facts: false,
};
const LOOK: QueryInfoRequest = QueryInfoRequest {
    file: FILE,
    query: Query::File(FileClass::Standard),
    max_output: 1024,
};

const fn open(path: &str) -> CreateRequest<'_> {
    CreateRequest {
        path,
        access: access::READ_DATA | access::READ_ATTRIBUTES | access::SYNCHRONIZE,
        attributes: attributes::NORMAL,
        share: share::ALL,
        disposition: disposition::OPEN,
        options: options::NON_DIRECTORY_FILE,
        oplock: RequestedOplock::None,
        maximal_access: false,
    }
}

const fn read(length: u32) -> ReadRequest {
    ReadRequest {
        file: FILE,
        offset: 0,
        length,
        minimum: 0,
    }
}

fn smb2<'b>(b: &'b mut Bench<'_>) -> Result<&'b mut RawSmb2, Stop> {
    let smb2 = b.smb.smb2();
    smb2.ok_or_else(|| Stop::skip("there is no session by SMB2"))
}

fn lost(error: impl std::fmt::Display) -> Stop {
    Stop::fail("a compound: an answer to each", error)
}

fn statuses(replies: &[ReplySmb2]) -> Vec<String> {
    replies
        .iter()
        .map(|reply| status::text(reply.status()))
        .collect()
}

fn texts<const N: usize>(wanted: [u32; N]) -> Vec<String> {
    wanted.map(status::text).into()
}

fn related(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(3000, 1);
    b.put("file", &data)?;
    let path = b.path("file");
    let raw = smb2(b)?;
    let compound = raw.compound().add(&open(&path)).related(&LOOK);
    let replies = compound.related(&read(3000)).related(&CLOSE).call();
    let replies = replies.map_err(lost)?;
    same(
        "open, query, read, close",
        texts([status::SUCCESS; 4]),
        statuses(&replies),
    )?;
    let [opened, looked, got, _] = &replies[..] else {
        return Err(lost("another number of answers"));
    };
    let size = opened
        .decode::<CreateResponse<'_>>()
        .map_err(lost)?
        .facts
        .end_of_file;
    same("the size in the answer to the open", 3000, size)?;
    let output = looked.decode::<OutputResponse<'_>>().map_err(lost)?.output;
    same("bytes of FileStandardInformation", 24, output.len())?;
    let got = got.decode::<ReadResponse<'_>>().map_err(lost)?.data;
    checks::same_bytes(0, &data, got)
}

fn failing(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.path("nothing");
    let raw = smb2(b)?;
    let compound = raw.compound().add(&open(&path)).related(&LOOK);
    let replies = compound.related(&CLOSE).call().map_err(lost)?;
    let wanted = texts([status::OBJECT_NAME_NOT_FOUND; 3]);
    same(
        "open of a missing file, query, close",
        wanted,
        statuses(&replies),
    )
}

fn unrelated(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let nothing = b.path("nothing");
    let raw = smb2(b)?;
    let compound = raw
        .compound()
        .add(&FlushRequest { file })
        .add(&open(&nothing));
    let replies = compound.add(&EchoRequest).call().map_err(lost)?;
    let wanted = texts([
        status::SUCCESS,
        status::OBJECT_NAME_NOT_FOUND,
        status::SUCCESS,
    ]);
    same(
        "flush, open of a missing file, echo",
        wanted,
        statuses(&replies),
    )
}

fn many(b: &mut Bench<'_>) -> Result<(), Stop> {
    const MANY: usize = 20;
    let data = pattern(2000, 2);
    b.put("file", &data)?;
    let path = b.path("file");
    let raw = smb2(b)?;
    let before = raw.strays();
    let mut sent = Vec::new();
    for _ in 0..MANY {
        let compound = raw.compound().add(&open(&path)).related(&read(2000));
        sent.push(compound.related(&CLOSE).send().map_err(lost)?);
    }
    for ids in sent {
        for id in ids {
            let reply = raw.wait(id).map_err(lost)?;
            same(
                "a status",
                status::text(status::SUCCESS),
                status::text(reply.status()),
            )?;
            if let Ok(got) = reply.decode::<ReadResponse<'_>>() {
                checks::same_bytes(0, &data, got.data)?;
            }
        }
    }
    raw.call(&EchoRequest).map_err(lost)?;
    same("unexpected answers", before, raw.strays())
}

fn first_related(b: &mut Bench<'_>) -> Result<(), Stop> {
    let raw = smb2(b)?;
    let limit = raw.limit();
    let sent = raw.send_built(1, |session, id, out| {
        session.related(out, id, &FlushRequest { file: FILE });
    });
    let what = "FLUSH, related, alone";
    let wanted = status::text(status::INVALID_PARAMETER);
    match sent.and_then(|id| raw.wait_within(id, limit)) {
        Ok(Some(reply)) => same(what, wanted, status::text(reply.status())),
        Ok(None) => Err(Stop::fail(format!("{what}: {wanted}"), "no answer")),
        // It is refused before the server looks whose it is, and so without protection.
        Err(ClientError::Garbage { source, .. }) => {
            raw.call(&EchoRequest).map_err(lost)?;
            b.note(format!(
                "{what}: the refusal is not protected as the session is ({source})"
            ));
            Ok(())
        }
        Err(error) => Err(lost(error)),
    }
}

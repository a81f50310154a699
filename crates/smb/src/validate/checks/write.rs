//! WRITE: changes what it should, and nothing beside.

use super::rules::WRITE;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb1::WriteAndx;
use filermark_smbwire::smb2::{WriteRequest, WriteResponse};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "write.overwrite", "WRITE", "changes the given range only" => overwrite, by WRITE;
    "write.hole", "WRITE", "a hole reads as zeros" => hole, by WRITE;
    "write.nothing", "WRITE", "0 bytes change nothing" => nothing, by WRITE;
    "write.many", "WRITE", "many writes in flight at once all arrive" => many, by WRITE;
    "write.seen", "WRITE", "another session reads the data at once" => seen, by WRITE;
    "write.through", "WRITE", "a write with write-through works" => through, by WRITE;
    "write.time", "WRITE", "changes the time of the last write" => time, by WRITE;
    "write.too_large", "WRITE", "more than the largest transfer answers INVALID_PARAMETER" => too_large, by WRITE, from Dialect::V202;
    "write.dir", "WRITE", "a directory is refused" => dir, by WRITE;
}

fn overwrite(b: &mut Bench<'_>) -> Result<(), Stop> {
    let mut data = pattern(50_000, 1);
    let file = b.make("file", &data)?;
    let new = pattern(7777, 2);
    b.write(file, 12_345, &new)?;
    data.splice(12_345..12_345 + new.len(), new);
    b.reads_back(file, 0, &data)?;
    b.has_size(file, 50_000)
}

fn hole(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"front")?;
    b.write(file, 100_001, b"back")?;
    b.has_size(file, 100_005)?;
    b.reads_back(file, 5, &vec![0; 99_996])?;
    b.reads_back(file, 100_001, b"back")
}

fn nothing(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let count = b.smb.write(file, 1000, &[]).done("WRITE of 0 bytes")?;
    same("WRITE: bytes written", 0, count)?;
    b.has_size(file, 4)?;
    b.reads_back(file, 0, b"some")
}

fn many(b: &mut Bench<'_>) -> Result<(), Stop> {
    const PARTS: usize = 32;
    const LENGTH: usize = 10_007;
    let data = pattern(PARTS * LENGTH, 3);
    let file = b.make("file", &[])?;
    let mut tickets = Vec::new();
    for (n, part) in data.chunks(LENGTH).enumerate().rev() {
        let at = (n * LENGTH) as u64;
        let sent = b.smb.calls().send_write(file, at, part);
        tickets.push(sent.done("WRITE")?);
    }
    for ticket in tickets {
        let count = b.smb.calls().wait_write(ticket).done("WRITE")?;
        same("WRITE: bytes written", LENGTH as u32, count)?;
    }
    b.reads_back(file, 0, &data)
}

fn seen(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(3000, 4);
    let file = b.make("file", &data)?;
    let path = b.path("file");
    let other = b.other()?;
    let there = other
        .open(&Open::file(&path))
        .done("OPEN by another session")?;
    same("OPEN by another session: size", 3000, there.size)?;
    let got = other
        .read(there.file, 0, 3000)
        .done("READ by another session")?;
    checks::same_bytes(0, &data, &got)?;
    b.write(file, 1000, b"changed")?;
    let got = b
        .other()?
        .read(there.file, 1000, 7)
        .done("READ by another session")?;
    checks::same_bytes(1000, b"changed", &got)
}

fn through(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(9000, 5);
    let file = b.make("file", &[])?;
    let what = "WRITE, write-through";
    let lost = |error| Stop::fail(format!("{what}: an answer"), error);
    let dialect = b.dialect;
    let (status, count) = if let Some(smb1) = b.smb.smb1() {
        let request = WriteAndx {
            fid: file.volatile as u16,
            offset: 0,
            write_through: true,
        };
        let sent = smb1.send_write(&request, &data);
        let reply = sent.and_then(|mid| smb1.wait(mid)).map_err(lost)?;
        (reply.status(), data.len() as u32)
    } else if let Some(smb2) = b.smb.smb2().filter(|_| dialect >= Dialect::V210) {
        let request = WriteRequest {
            file,
            offset: 0,
            write_through: true,
        };
        let sent = smb2.send_write(&request, &data);
        let reply = sent.and_then(|id| smb2.wait(id)).map_err(lost)?;
        let count = reply.decode::<WriteResponse>().map(|r| r.count);
        (reply.status(), count.unwrap_or_default())
    } else {
        return Err(Stop::skip("2.0.2 does not have it"));
    };
    if status != status::SUCCESS {
        return Err(Stop::fail(
            format!("{what}: STATUS_SUCCESS"),
            status::text(status),
        ));
    }
    same("WRITE: bytes written", data.len() as u32, count)?;
    b.reads_back(file, 0, &data)
}

fn time(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    b.smb.close(file).done("CLOSE")?;
    let path = b.path("file");
    let before = b.smb.calls().query_path(&path).done("QUERY_PATH")?.times[2];
    std::thread::sleep(std::time::Duration::from_millis(30));
    let file = b.open("file")?.file;
    b.write(file, 0, b"more")?;
    b.smb.close(file).done("CLOSE")?;
    let after = b.smb.calls().query_path(&path).done("QUERY_PATH")?.times[2];
    match after {
        after if after > before => Ok(()),
        // Some file systems know nothing finer than two seconds.
        after if after == before => {
            b.note(
                "the time of the last write is too coarse to distinguish two writes within 30 ms",
            );
            Ok(())
        }
        after => Err(Stop::fail(
            format!("a time of the last write after {before}"),
            after,
        )),
    }
}

fn too_large(b: &mut Bench<'_>) -> Result<(), Stop> {
    let most = b.smb.limits().write_max;
    let file = b.make("file", b"some")?;
    let Some(smb2) = b.smb.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    let charge = smb2.session().charge(most + 1);
    if smb2.session().credits.available < charge.into() {
        return Err(Stop::skip(
            "the server grants too few credits to send so much",
        ));
    }
    let wanted = [status::INVALID_PARAMETER];
    let answer = b.smb.write(file, 0, &vec![1; most as usize + 1]);
    answer.refused(&format!("WRITE of {} bytes", most + 1), &wanted)?;
    b.has_size(file, 4)
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.dir.clone();
    let file = b
        .smb
        .open(&Open::dir(&path))
        .done("OPEN of a directory")?
        .file;
    let answer = b.smb.write(file, 0, b"no").either("WRITE to a directory")?;
    match answer {
        Err(_) => Ok(()),
        Ok(count) => Err(Stop::fail(
            "WRITE to a directory: a refusal",
            format!("{count} bytes written"),
        )),
    }
}

//! READ: what was written comes back, wherever it is, and nothing else.

use super::rules::READ;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same, same_bytes};
use filermark_model::smb::Dialect;
use filermark_smbwire::smb2::{ReadRequest, header};
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "read.back", "READ", "returns the written data, at odd offsets and lengths" => back, by READ;
    "read.largest", "READ", "the largest transfer works in both directions" => largest, by READ;
    "read.several", "READ", "a range of several transfers in flight at once" => several, by READ;
    "read.short", "READ", "a read across the end returns the bytes before it" => short, by READ;
    "read.end", "READ", "a read at or after the end answers END_OF_FILE" => end, by READ;
    "read.minimum", "READ", "fewer bytes than the minimum count answer END_OF_FILE" => minimum, by READ, from Dialect::V202;
    "read.beyond_4gib", "READ", "offsets have 64 bits" => beyond, by READ;
    "read.too_large", "READ", "more than the largest transfer answers INVALID_PARAMETER" => too_large, by READ, from Dialect::V202;
    "read.credit_charge", "READ", "more than the credit charge covers answers INVALID_PARAMETER" => charge, by ("", "MS-SMB2 3.3.5.2.5"), from Dialect::V210;
    "read.dir", "READ", "a directory is refused" => dir, by READ;
}

/// STATUS_SMB_BAD_FID and its like are what SMB1 has for it.
const NO_FILE: [u32; 5] = [
    status::INVALID_DEVICE_REQUEST,
    status::FILE_IS_A_DIRECTORY,
    status::INVALID_HANDLE,
    status::ACCESS_DENIED,
    0x0006_0001,
];

fn back(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(200_000, 1);
    let file = b.make("file", &data)?;
    let part = |at: usize, len: usize| data.get(at..at + len).unwrap_or_default();
    for (at, len) in [
        (0, 1),
        (1, 4095),
        (4097, 33_333),
        (65_535, 65_537),
        (199_999, 1),
    ] {
        b.reads_back(file, at as u64, part(at, len))?;
    }
    b.reads_back(file, 0, &data)
}

fn largest(b: &mut Bench<'_>) -> Result<(), Stop> {
    let limits = b.smb.limits();
    let most = limits.read_max.max(limits.write_max);
    let data = pattern(most as usize, 2);
    let file = b.make("file", &data)?;
    let first = limits.write_max as usize;
    let count = b.smb.write(file, 0, data.get(..first).unwrap_or(&data));
    same(
        "WRITE: bytes of the largest",
        first.min(data.len()) as u32,
        count.done("WRITE")?,
    )?;
    let got = b.smb.read(file, 0, limits.read_max).done("READ")?;
    let wanted = data.get(..limits.read_max as usize).unwrap_or(&data);
    same_bytes(0, wanted, &got)
}

fn several(b: &mut Bench<'_>) -> Result<(), Stop> {
    const PARTS: usize = 24;
    const LENGTH: usize = 20_011;
    let data = pattern(PARTS * LENGTH, 3);
    let file = b.make("file", &data)?;
    let mut tickets = Vec::new();
    for n in 0..PARTS {
        let at = (n * LENGTH) as u64;
        let sent = b.smb.calls().send_read(file, at, LENGTH as u32);
        tickets.push((at, sent.done("READ")?));
    }
    for ((at, ticket), wanted) in tickets.into_iter().zip(data.chunks(LENGTH)).rev() {
        let got = b.smb.calls().wait_read(ticket).done("READ")?;
        same_bytes(at, wanted, &got)?;
    }
    Ok(())
}

fn short(b: &mut Bench<'_>) -> Result<(), Stop> {
    let data = pattern(1000, 4);
    let file = b.make("file", &data)?;
    let got = b.smb.read(file, 900, 4096).done("READ across the end")?;
    same_bytes(900, data.get(900..).unwrap_or_default(), &got)
}

fn end(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &pattern(1000, 5))?;
    for at in [1000, 5000, 1 << 40] {
        let what = format!("READ at {at} of 1000 bytes");
        match b.smb.read(file, at, 100).either(&what)? {
            Err(status::END_OF_FILE) => {}
            // SMB1 has no word for it: no bytes (MS-CIFS 2.2.4.42.2).
            Ok(data) if data.is_empty() && b.is_smb1() => {}
            Ok(data) => {
                return Err(Stop::fail(
                    format!("{what}: STATUS_END_OF_FILE"),
                    format!("{} bytes", data.len()),
                ));
            }
            Err(status) => {
                return Err(Stop::fail(
                    format!("{what}: STATUS_END_OF_FILE"),
                    status::text(status),
                ));
            }
        }
    }
    Ok(())
}

fn minimum(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &pattern(1000, 6))?;
    let Some(smb2) = b.smb.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    let least = |minimum| ReadRequest {
        file,
        offset: 900,
        length: 4096,
        minimum,
    };
    smb2.ask(&least(100))
        .map(drop)
        .done("READ of 100 bytes at least")?;
    let answer = smb2.ask(&least(101)).map(drop);
    answer
        .refused(
            "READ of 101 bytes at least where there are 100",
            &[status::END_OF_FILE],
        )
        .map(drop)
}

fn beyond(b: &mut Bench<'_>) -> Result<(), Stop> {
    const FAR: u64 = (1 << 32) + 12_345;
    let file = b.make("file", b"the front")?;
    let data = pattern(5000, 7);
    match b.smb.write(file, FAR, &data).either("WRITE beyond 4 GiB")? {
        Ok(count) => same("WRITE: bytes written", data.len() as u32, count)?,
        Err(status @ (status::DISK_FULL | status::QUOTA_EXCEEDED)) => {
            return Err(Stop::skip(format!(
                "no sparse files: {}",
                status::text(status)
            )));
        }
        Err(status) => return Err(Stop::fail("WRITE beyond 4 GiB", status::text(status))),
    }
    b.has_size(file, FAR + 5000)?;
    b.reads_back(file, FAR, &data)?;
    // What was cut to 32 bits would be here.
    b.reads_back(file, 12_345, &vec![0; 5000])?;
    b.reads_back(file, 0, b"the front")
}

fn too_large(b: &mut Bench<'_>) -> Result<(), Stop> {
    let most = b.smb.limits().read_max;
    let file = b.make("file", b"some")?;
    let Some(smb2) = b.smb.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    let request = ReadRequest {
        file,
        offset: 0,
        length: most + 1,
        minimum: 0,
    };
    let charge = smb2.session().charge(most + 1);
    if smb2.session().credits.available < charge.into() {
        return Err(Stop::skip(
            "the server grants too few credits to ask for so much",
        ));
    }
    let answer = smb2.ask(&request).map(drop);
    let what = format!("READ of {} bytes", most + 1);
    answer
        .refused(&what, &[status::INVALID_PARAMETER])
        .map(drop)
}

fn charge(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", b"some")?;
    let limit = b.smb.limit();
    let Some(smb2) = b
        .smb
        .smb2()
        .filter(|smb2| smb2.session().has_multi_credit())
    else {
        return Err(Stop::skip(
            "the server has no transfers of more than 64 KiB",
        ));
    };
    let request = ReadRequest {
        file,
        offset: 0,
        length: 128 << 10,
        minimum: 0,
    };
    let sent = smb2.send_built(1, |session, id, out| {
        let header = session.header(header::Command::Read, id, 1);
        header::append(out, &header, &request);
    });
    let waited = sent.and_then(|id| smb2.wait_within(id, limit));
    let what = "READ of 128 KiB for one credit";
    match waited {
        Ok(Some(reply)) if reply.status() == status::INVALID_PARAMETER => Ok(()),
        Ok(Some(reply)) => Err(Stop::fail(
            format!("{what}: STATUS_INVALID_PARAMETER"),
            status::text(reply.status()),
        )),
        Ok(None) => Err(Stop::fail(format!("{what}: an answer"), "none")),
        Err(error) => Err(Stop::fail(format!("{what}: an answer"), error)),
    }
}

fn dir(b: &mut Bench<'_>) -> Result<(), Stop> {
    let path = b.dir.clone();
    let file = b
        .smb
        .open(&Open::dir(&path))
        .done("OPEN of a directory")?
        .file;
    let wanted: &[u32] = match b.is_smb1() {
        true => &NO_FILE,
        false => &NO_FILE[..1],
    };
    b.smb
        .read(file, 0, 100)
        .refused("READ of a directory", wanted)
        .map(drop)
}

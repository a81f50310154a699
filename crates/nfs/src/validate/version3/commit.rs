//! COMMIT, and the write verifier that it shares with WRITE.

use super::ops::{Bench, Check, Outcome};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::pattern;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "commit.all", Procedure::Commit, "the whole file (count 0)" => all;
    "commit.range", Procedure::Commit, "a range" => range;
    "commit.verifier", Procedure::Commit, "one verifier for all WRITEs and COMMITs while the server runs" => verifier;
    "commit.stale", Procedure::Commit, "of a removed file answers NFS3ERR_STALE" => stale;
}

fn all(b: &mut Bench<'_>) -> Outcome {
    committed(b, 0, 0)
}

fn range(b: &mut Bench<'_>) -> Outcome {
    committed(b, 4096, 8192)
}

fn committed(b: &mut Bench<'_>, offset: u64, count: u32) -> Outcome {
    let data = pattern(20_000, 21);
    let file = b.file(b"file")?;
    b.done("WRITE UNSTABLE", |nfs| {
        nfs.write(&file, 0, StableHow::Unstable, &data)
    })?;
    b.done("COMMIT", |nfs| nfs.commit(&file, offset, count))?;
    b.contains(&file, 0, &data)
}

fn verifier(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(3000, 22);
    let (one, two) = (b.file(b"one")?, b.file(b"two")?);
    let mut seen: Vec<(&str, Verf)> = Vec::new();
    for file in [one, two] {
        for offset in [0, 3000] {
            let wrote = b.done("WRITE UNSTABLE", |nfs| {
                nfs.write(&file, offset, StableHow::Unstable, &data)
            })?;
            seen.push(("WRITE", wrote.verf));
        }
        let done = b.done("COMMIT", |nfs| nfs.commit(&file, 0, 0))?;
        seen.push(("COMMIT", done.verf));
    }
    let sync = b.done("WRITE FILE_SYNC", |nfs| {
        nfs.write(&one, 0, StableHow::FileSync, &data)
    })?;
    // The verifier of stable data has no effect.
    if seen.iter().any(|(_, verf)| *verf != sync.verf) {
        b.note("WRITE FILE_SYNC has a different verifier than WRITE UNSTABLE");
    }
    let first = seen.first().copied().unwrap_or_default();
    for (what, verf) in seen {
        b.equal(
            &format!("verifier of {what}, as of the first WRITE"),
            first.1,
            verf,
        )?;
    }
    Ok(())
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("COMMIT of a removed file", |nfs| nfs.commit(&file, 0, 0))
}

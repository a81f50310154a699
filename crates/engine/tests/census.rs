//! What compressors and deduplication find in file contents, by third-party
//! programs (Debian's zstd and lz4). The drivers' own tests show that they write these
//! contents and no others.

use filermark_engine::data::{BLOCK, DataSource, SECTOR, VerifyLevel};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: usize = 1 << 20;
/// Files of a census; all are written once, parts of them twice.
const FILES: u64 = 8;

/// So many bytes as a workload writes them: files in records of this length, some of
/// them written again.
fn written(data: &DataSource, bytes: usize, record: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes);
    let per_file = bytes / FILES as usize / 5 * 4 / record * record;
    for file in 0..FILES {
        for (generation, range) in [(1 + file, 0..per_file), (100 + file, 0..per_file / 4)] {
            for offset in range.step_by(record) {
                data.append(file, offset as u64, generation, record, &mut out);
            }
        }
    }
    out
}

/// The length of the output of a program for these bytes.
fn packed(program: &str, options: &[&str], bytes: &[u8]) -> usize {
    let mut child = Command::new(program)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("start {program}: {e} (Debian package {program})"));
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let count = std::thread::scope(|scope| {
        scope.spawn(move || to.write_all(bytes).expect("taken"));
        std::io::copy(&mut from, &mut std::io::sink()).expect("given")
    });
    assert!(child.wait().expect("ended").success());
    count as usize
}

/// Percent of the blocks of a size that are equal to an earlier one.
fn duplicates_pcnt(bytes: &[u8], block: usize) -> f64 {
    let blocks = bytes.chunks_exact(block);
    let count = blocks.len();
    let distinct: HashSet<&[u8]> = blocks.collect();
    100.0 * (count - distinct.len()) as f64 / count as f64
}

#[test]
fn what_is_declared_incompressible_is_and_no_sector_repeats() {
    let data = DataSource::new(7, VerifyLevel::Sample);
    let bytes = written(&data, 256 * MIB, 64 << 10);
    let left = packed("zstd", &["-q", "-3", "--long=27", "-c"], &bytes);
    let left_pcnt = 100.0 * left as f64 / bytes.len() as f64;
    assert!(left_pcnt >= 99.0, "{left_pcnt}");
    let duplicates = duplicates_pcnt(&bytes, SECTOR);
    assert!(duplicates < 0.1, "{duplicates}");
}

/// Percent that remains of records of a length, each compressed alone.
fn left_pcnt(dir: &Path, program: &str, options: &[&str], data: &DataSource, record: usize) -> f64 {
    let count = (2 * MIB / record).clamp(2, 64);
    let names: Vec<_> = (0..count).map(|n| dir.join(format!("{n}"))).collect();
    for (name, file) in names.iter().zip(0..) {
        let mut bytes = vec![0; record];
        data.fill(file, 0, 1, &mut bytes);
        std::fs::write(name, bytes).expect("written");
    }
    let all = Command::new(program).args(options).args(&names).output();
    let all = all.unwrap_or_else(|e| panic!("start {program}: {e} (Debian package {program})"));
    assert!(all.status.success(), "{all:?}");
    let mut left = 0;
    for name in &names {
        let packed = name.with_extension(program.replace("zstd", "zst"));
        let mut bytes = Vec::new();
        let mut file = std::fs::File::open(&packed).expect("packed");
        left += file.read_to_end(&mut bytes).expect("read");
        std::fs::remove_file(packed).expect("removed");
    }
    100.0 * left as f64 / (count * record) as f64
}

#[test]
fn declared_compressibility_is_met_at_every_record_size() {
    let dir = tempfile::tempdir().expect("tempdir");
    for compress_pcnt in [10.0, 30.0, 50.0, 80.0, 95.0] {
        let data = DataSource::new(7, VerifyLevel::Sample).shaped(compress_pcnt, 0.0);
        for record in [4 << 10, 64 << 10, MIB] {
            for (program, options) in [("zstd", ["-q", "-3"]), ("lz4", ["-q", "-m"])] {
                let left = left_pcnt(dir.path(), program, &options, &data, record);
                let wanted = 100.0 - compress_pcnt;
                assert!(
                    (left - wanted).abs() <= 2.0,
                    "{program}, {record} bytes: {left:.2} % are left, {wanted} wanted"
                );
            }
        }
        let bytes = written(&data, 16 * MIB, 64 << 10);
        let duplicates = duplicates_pcnt(&bytes, SECTOR);
        assert!(duplicates < 0.1, "{compress_pcnt}: {duplicates}");
    }
}

#[test]
fn declared_duplicate_shares_are_met() {
    for dedupe_pcnt in [25.0, 60.0] {
        let data = DataSource::new(7, VerifyLevel::Sample).shaped(0.0, dedupe_pcnt);
        let mut bytes = vec![0; 64 * MIB];
        for (file, part) in (0..).zip(bytes.chunks_mut(8 * MIB)) {
            data.fill(file, 0, 1 + file, part);
        }
        let found = duplicates_pcnt(&bytes, BLOCK);
        assert!(
            (found - dedupe_pcnt).abs() <= 1.0,
            "{found} of {dedupe_pcnt}"
        );
    }
}

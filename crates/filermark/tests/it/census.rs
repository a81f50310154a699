//! The files on the servers' disks after a run: an independent program checks how far a server
//! with deduplication or compression could reduce them.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, serve};
use crate::smb::{ProtocolCase, samba, sweep};
use crate::sweep::Sweep;
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, Samba, SambaOptions, available};
use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const SECTOR: usize = 512;
/// Fewest bytes that each run has to leave, so that the shares are meaningful.
const LEAST: usize = 2 << 20;

/// The contents of all files below a directory of the host, except owner files.
fn contents_below(dir: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("list").flatten() {
        let kind = entry.file_type().expect("its type");
        let is_owner = entry
            .file_name()
            .to_string_lossy()
            .starts_with(".filermark");
        if kind.is_dir() {
            found.extend(contents_below(&entry.path()));
        } else if kind.is_file() && !is_owner {
            found.push(std::fs::read(entry.path()).expect("read"));
        }
    }
    found
}

/// The length of these files, concatenated and compressed with `zstd -3 --long=27`.
fn packed(files: &[Vec<u8>]) -> usize {
    let child = Command::new("zstd")
        .args(["-q", "-3", "--long=27", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|e| panic!("start zstd: {e} (Debian package zstd)"));
    let mut to = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for file in files {
                to.write_all(file).expect("taken");
            }
        });
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success());
        output.stdout.len()
    })
}

/// Asserts that the stored data does not repeat and cannot be compressed.
#[track_caller]
fn assert_solid(server: &str, files: &[Vec<u8>]) {
    let bytes: usize = files.iter().map(Vec::len).sum();
    assert!(bytes >= LEAST, "{server}: only {bytes} bytes");
    let blocks = || files.iter().flat_map(|file| file.chunks_exact(SECTOR));
    let count = blocks().count();
    let distinct = blocks().collect::<HashSet<_>>().len();
    let repeated = count - distinct;
    let left_pcnt = 100.0 * packed(files) as f64 / bytes as f64;
    println!(
        "{server}: {bytes} bytes, {repeated} of {count} blocks repeat, zstd leaves {left_pcnt:.3} %"
    );
    assert!(repeated * 1_000 < count, "{server}: {repeated} of {count}");
    assert!(left_pcnt >= 99.0, "{server}: {left_pcnt}");
}

fn kept(sweep: Sweep) -> Sweep {
    sweep
        .set("KEEP", "on")
        .set("RUNTIME", 2)
        .set("FILESET_MB_PER_OP", 0.1)
}

#[test]
fn what_the_embedded_server_has_stored_neither_repeats_nor_compresses() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    kept(Sweep::on(&server)).succeed();
    let mut peek = Peek::into(&server);
    let names = peek.tree("");
    let files = names
        .iter()
        .filter(|name| !name.ends_with('/') && !name.contains("/."));
    // Symbolic links are shorter.
    let files: Vec<_> = files
        .filter(|name| peek.size(name).is_some_and(|size| size >= SECTOR as u64))
        .cloned()
        .collect();
    let files: Vec<_> = files.iter().map(|name| peek.read(name)).collect();
    assert_solid("embedded", &files);
}

#[test]
fn what_ganesha_has_stored_neither_repeats_nor_compresses() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    kept(Sweep::inside(ganesha.sandbox(), ganesha.export())).succeed();
    let files = ganesha.files().expect("a vfs export has files");
    assert_solid("ganesha", &contents_below(&files));
}

#[test]
fn what_samba_has_stored_neither_repeats_nor_compresses() {
    let _turn = beside_others();
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    kept(sweep(&samba, Samba::DATA, ProtocolCase::Smb311)).succeed();
    assert_solid("Samba", &contents_below(&samba.files(Samba::DATA)));
}

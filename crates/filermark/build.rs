//! Names the sources that the program is made from, and whether it is optimized: prime and agents
//! are compared by this name, whatever system each is built for.
//!
//! The name is the beginning of a SHA-256 over the profile, and the paths and the contents of the
//! workspace's sources and `Cargo.lock`. The profile is `debug` or `release`; `dist`, which
//! inherits `release`, counts as that. Line ends do not count, since Git may convert them. The commit is
//! information only: a source archive has none.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hexadecimal digits of the name.
const DIGITS: usize = 16;
/// Crates that are not part of the program.
const OTHER_CRATES: &[&str] = &["bench", "testbed"];
/// Directories of a crate that are not part of the program.
const OTHER_DIRS: &[&str] = &[
    "tests",
    "examples",
    "scripts",
    "proptest-regressions",
    "target",
];
/// Levels of directories below `crates` that are read.
const DEPTH_MAX: usize = 16;

fn main() {
    let crate_dir = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    let root = Path::new(&crate_dir).join("../..");
    println!("cargo:rerun-if-changed=build.rs");
    let of_target = |name: &str| std::env::var(name).expect("Cargo sets it");
    let sources = name_of_sources(&root, &of_target("PROFILE")).unwrap_or_else(|e| {
        panic!("the sources below {} cannot be read: {e}", root.display());
    });
    println!("cargo:rustc-env=FILERMARK_SOURCES={sources}");
    let commit = commit(&root).unwrap_or_default();
    println!("cargo:rustc-env=FILERMARK_COMMIT={commit}");
    let (os, arch) = (
        of_target("CARGO_CFG_TARGET_OS"),
        of_target("CARGO_CFG_TARGET_ARCH"),
    );
    println!("cargo:rustc-env=FILERMARK_SYSTEM={os}-{arch}");
}

fn name_of_sources(root: &Path, profile: &str) -> io::Result<String> {
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    for dir in crates_below(&root.join("crates"))? {
        add_crate(&dir, &mut files)?;
    }
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|file| (name_below(root, &file), file))
        .collect();
    named.sort();
    let mut hash = Sha256::new();
    hash.update(format!("{profile}\n"));
    for (name, file) in named {
        let bytes = without_carriage_returns(&fs::read(file)?);
        hash.update(format!("{name}\n{}\n", bytes.len()));
        hash.update(bytes);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let text: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    Ok(text[..DIGITS].to_owned())
}

/// The directories of crates: those with a `Cargo.toml`, also below another crate.
fn crates_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (name, path) in entries(dir)? {
        if !path.is_dir() || OTHER_CRATES.contains(&name.as_str()) {
            continue;
        }
        if path.join("Cargo.toml").is_file() {
            found.push(path.clone());
        }
        for (_, inner) in entries(&path)? {
            if inner.join("Cargo.toml").is_file() {
                found.push(inner);
            }
        }
    }
    Ok(found)
}

/// The files of a crate, without those of the crates below it.
fn add_crate(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for (name, path) in entries(dir)? {
        let is_part = match path.is_dir() {
            true => !OTHER_DIRS.contains(&name.as_str()) && !path.join("Cargo.toml").exists(),
            false => name.ends_with(".toml") || name.ends_with(".rs"),
        };
        if is_part {
            println!("cargo:rerun-if-changed={}", path.display());
            add_below(&path, 0, files)?;
        }
    }
    Ok(())
}

fn add_below(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if depth == DEPTH_MAX {
        return Err(io::Error::other(format!(
            "more than {DEPTH_MAX} levels of directories at {}",
            path.display()
        )));
    }
    for (_, inner) in entries(path)? {
        add_below(&inner, depth + 1, files)?;
    }
    Ok(())
}

/// The entries of a directory, without hidden files and those that editors leave.
fn entries(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !name.ends_with('~') {
            all.push((name, entry.path()));
        }
    }
    Ok(all)
}

/// The path below the root, the same on every system.
fn name_below(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    let parts = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            kept.push(*byte);
        }
    }
    kept
}

/// The commit of a Git checkout, with `+` if the sources differ from it; `None`: it is no
/// checkout, or Git is not installed.
fn commit(root: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(args)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // The sources may be unpacked inside of another project's checkout.
    let top = fs::canonicalize(git(&["rev-parse", "--show-toplevel"])?).ok()?;
    if top != fs::canonicalize(root).ok()? {
        return None;
    }
    // Each commit and each checkout adds a line to it.
    let log = root.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.is_file() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&[
        "status",
        "--porcelain",
        "--",
        "crates",
        "Cargo.lock",
        "Cargo.toml",
    ])?;
    let mark = if changes.is_empty() { "" } else { "+" };
    Some(format!("{commit}{mark}"))
}

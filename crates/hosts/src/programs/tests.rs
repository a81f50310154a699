//! Programs for other systems: names, formats, builds.

use super::*;
use filermark_link::build::{BUILD_MARK, MARK};

/// A build's name.
const BUILD: &str = "0123456789abcdef";

/// The first bytes of a program for a system.
fn head(system: &str) -> Vec<u8> {
    let mut head = vec![0; 256];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    match system {
        "linux-x86_64" | "linux-aarch64" | "freebsd-x86_64" => {
            put(0, b"\x7fELF\x02\x01\x01");
            put(7, &[if system.starts_with("freebsd") { 9 } else { 0 }]);
            put(18, &[if system.ends_with("aarch64") { 183 } else { 62 }, 0]);
        }
        "windows-x86_64" => {
            put(0, b"MZ");
            put(0x3c, &[0x80]);
            put(0x80, b"PE\0\0\x64\x86");
        }
        "macos-aarch64" => {
            put(0, &[0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1]);
        }
        _ => {}
    }
    head
}

/// Writes a program for a system, of a build.
pub(crate) fn write_program(path: &Path, system: &str, build: &str) {
    let mut bytes = head(system);
    let mark = format!("\n# {MARK}\n{BUILD_MARK}{build}; 0.2.0; {system}; abc123;\n");
    bytes.extend_from_slice(mark.as_bytes());
    std::fs::write(path, bytes).unwrap();
}

fn platform(os: &str, processor: &str) -> Platform {
    Platform {
        os: os.into(),
        processor: processor.into(),
    }
}

fn programs(dir: &Path) -> Programs {
    let path = dir.join("own");
    write_program(&path, "linux-x86_64", BUILD);
    Programs::new(Program::read(path).unwrap(), Some(dir))
}

#[test]
fn systems_have_one_name_in_all_spellings() {
    for (os, processor, name) in [
        ("Linux", "x86_64", "filermark-linux-x86_64"),
        ("Linux", "aarch64", "filermark-linux-aarch64"),
        ("Windows_NT", "AMD64", "filermark-windows-x86_64.exe"),
        ("Windows", "x86_64", "filermark-windows-x86_64.exe"),
        ("Darwin", "arm64", "filermark-macos-aarch64"),
        ("FreeBSD", "amd64", "filermark-freebsd-x86_64"),
        ("Linux", "riscv64", "filermark-linux-riscv64"),
    ] {
        assert_eq!(SystemName::of(&platform(os, processor)).file_name(), name);
    }
    let name = build_dir(BUILD, &platform("Linux", "x86_64"));
    assert_eq!(name, "0123456789abcdef-linux-x86_64");
    let name = build_dir("b", &platform("a/b", "c$d"));
    assert_eq!(name, "b-a-b-c-d");
}

#[test]
fn a_build_for_windows_has_one_directory_in_all_spellings() {
    // As cmd.exe states it to a prime elsewhere, and as a prime with Windows knows itself.
    for (os, processor) in [
        ("Windows_NT", "AMD64"),
        ("Windows", "AMD64"),
        ("Windows", "x86_64"),
    ] {
        let name = build_dir(BUILD, &platform(os, processor));
        assert_eq!(name, "0123456789abcdef-windows-x86_64");
    }
    let name = build_dir(BUILD, &platform("Windows", "ARM64"));
    assert_eq!(name, "0123456789abcdef-windows-aarch64");
}

#[test]
fn formats_are_recognized() {
    for system in [
        "linux-x86_64",
        "linux-aarch64",
        "freebsd-x86_64",
        "windows-x86_64",
        "macos-aarch64",
    ] {
        let found = system_in(&head(system)).map(|name| name.to_string());
        assert_eq!(found.as_deref(), Some(system));
        for len in 0..140 {
            let _ = system_in(&head(system)[..len]);
        }
    }
    assert_eq!(system_in(b"#!/bin/sh\n"), None);
    let mut far = head("windows-x86_64");
    far[0x3c..0x40].copy_from_slice(&[0xff; 4]);
    assert_eq!(system_in(&far), None);
}

#[test]
fn the_right_program_is_found_and_others_are_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let programs = programs(dir.path());
    let arm = platform("Linux", "aarch64");
    let why = programs.of(&arm).unwrap_err();
    assert!(why.contains("filermark-linux-aarch64 is missing"), "{why}");

    let refused = |system: &str, build: &str| {
        write_program(
            &dir.path().join("filermark-windows-x86_64.exe"),
            system,
            build,
        );
        let path = dir.path().join("own");
        let programs = Programs::new(Program::read(path).unwrap(), Some(dir.path()));
        programs.of(&platform("Windows_NT", "AMD64"))
    };
    let why = refused("linux-x86_64", BUILD).unwrap_err();
    assert!(
        why.contains("for linux-x86_64, not for windows-x86_64"),
        "{why}"
    );
    let why = refused("none", BUILD).unwrap_err();
    assert!(why.contains("is no program for windows-x86_64"), "{why}");
    let other = "fedcba9876543210";
    let why = refused("windows-x86_64", other).unwrap_err();
    assert!(
        why.contains(other) && why.contains(BUILD),
        "both are named: {why}"
    );
    assert!(why.contains("commit abc123"), "{why}");
    let program = refused("windows-x86_64", BUILD).unwrap();
    assert_eq!(program.build(), BUILD);
    let path = dir.path().join("filermark-windows-x86_64.exe");
    std::fs::write(&path, head("windows-x86_64")).unwrap();
    let again = Programs::new(
        Program::read(dir.path().join("own")).unwrap(),
        Some(dir.path()),
    );
    let why = again.of(&platform("Windows_NT", "AMD64")).unwrap_err();
    assert!(why.contains("is not Filermark"), "{why}");
}

#[test]
fn without_a_directory_only_hosts_like_this_one_have_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own");
    write_program(&path, "linux-x86_64", BUILD);
    let programs = Programs::new(Program::read(path).unwrap(), None);
    assert!(programs.of(&filermark_system::platform()).is_ok());
    let why = programs.of(&platform("Linux", "riscv64")).unwrap_err();
    assert!(
        why.contains("AGENTS_DIR") && why.contains("filermark-linux-riscv64"),
        "{why}"
    );
}

#[test]
fn paths_of_windows_are_recognized() {
    for (path, expected) in [
        (r"C:\Program Files\filermark.exe", true),
        ("d:/tools/filermark", true),
        ("~/bin/Filermark.EXE", true),
        ("/opt/filermark", false),
        ("~/c:/x", false),
    ] {
        let mut host = HostPlan::local("h".into());
        host.program = Some(path.into());
        assert_eq!(has_windows_path(&host), expected, "{path}");
    }
}

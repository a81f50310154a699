//! The shipped examples (examples/submission, from the list of manual M, 5.1.3) are what the
//! program makes from the shipped inputs. UPDATE_GOLDEN=1 makes them again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/submission")
}

/// Runs the program in `dir` at a fixed time.
fn filermark(dir: &Path, args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .args(args)
        .current_dir(dir)
        .env("SOURCE_DATE_EPOCH", "1795300000")
        .env("TZ", "UTC")
        .output()
        .expect("the program");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {output_text}");
}

#[test]
fn the_shipped_examples_are_what_the_program_makes() {
    for (name, rc, form, record) in [
        ("example", "example_rc", "example.xml", "example.run.jsonl"),
        (
            "example.cifs",
            "example_cifs_rc",
            "example.cifs.xml",
            "cifs.example.run.jsonl",
        ),
    ] {
        let dir = TempDir::new().expect("a directory");
        let at = |file: &str| dir.path().join(file);
        let summary = match name {
            "example" => "sfssum.example",
            _ => "sfssum.cifs.example",
        };
        for file in [rc, form, record, summary, "example_config.png"] {
            fs::copy(shipped().join(file), at(file)).expect(file);
        }
        filermark(
            dir.path(),
            &["subedit", "-b", "-o", "sub.xml", "-i", form, summary, rc],
        );
        // The pages are those of the submission alone: small, as those of the seed.
        fs::remove_file(at(record)).expect(record);
        let mut made = vec![
            (format!("{name}.txt"), vec!["-f", "text"]),
            (format!("{name}.html"), vec!["-f", "html"]),
        ];
        if name == "example" {
            made.push(("example_review.txt".into(), vec!["-f", "text", "-r"]));
            made.push(("example_review.html".into(), vec!["-f", "html", "-r"]));
        }
        for (file, form) in &made {
            let args = [&["report", "-o", file][..], form, &["sub.xml"]].concat();
            filermark(dir.path(), &args);
        }
        let charts = made.iter().filter(|(file, _)| file.ends_with(".html"));
        let charts: Vec<String> = charts
            .map(|(file, _)| file.replace(".html", ".png"))
            .collect();
        for file in made.iter().map(|(file, _)| file).chain(&charts) {
            let new = fs::read(at(file)).expect(file);
            let path = shipped().join(file);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &new).expect(file);
            }
            let old = fs::read(&path).unwrap_or_default();
            assert!(
                old == new,
                "{file} differs; make it anew with UPDATE_GOLDEN=1 and look at git diff"
            );
        }
    }
}

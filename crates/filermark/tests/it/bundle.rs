//! Archives of real runs: packed, checked with other tools, and manipulated.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::{Ended, Sweep};
use crate::{filermark, stderr_text};
use filermark_archive::{SCHEMA, verify};
use filermark_server::ServerOptions;
use rustix::termios::LocalModes;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The files of a short run in a separate folder, with its rc file.
fn run_files() -> TempDir {
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).suffix("mine").set("LOAD", "100 200");
    let sweep = sweep.into_rc();
    let ended: Ended = sweep.succeed();
    let dir = tempfile::tempdir().expect("a folder");
    let result = sweep.result("mine.run.jsonl");
    let from = result.parent().expect("the result folder");
    for entry in fs::read_dir(from).expect("the result folder").flatten() {
        fs::copy(entry.path(), dir.path().join(entry.file_name())).expect("a copy");
    }
    fs::copy(sweep.dir().join("sfs_rc"), dir.path().join("sfs_rc")).expect("the rc file");
    assert!(ended.stderr.contains("mine.html"), "{}", ended.stderr);
    dir
}

fn tool(dir: &Path, program: &str, args: &[&str]) -> Output {
    let output = Command::new(program).args(args).current_dir(dir).output();
    output.unwrap_or_else(|e| panic!("{program}: {e}; see ci/apt-packages"))
}

fn assert_schema(schema: &str, value: &Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    compiler
        .add_resource("mem://schema.json", schema)
        .expect("the schema is taken");
    let index = compiler
        .compile("mem://schema.json", &mut schemas)
        .expect("a sound schema");
    if let Err(e) = schemas.validate(value, index) {
        panic!("{value}\n{e:#}");
    }
}

/// The archive unpacked by unzip.
fn unpacked(dir: &Path, zip: &str) -> PathBuf {
    let to = dir.join("unpacked");
    let _ = fs::remove_dir_all(&to);
    let output = tool(dir, "unzip", &["-q", zip, "-d", "unpacked"]);
    assert!(output.status.success(), "{output:?}");
    to
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_bundle_is_sound_to_unzip_and_sha256sum_and_verifies() {
    let _turn = beside_others();
    let dir = run_files();
    let dir = dir.path();
    let packed = filermark(dir, &["bundle", "mine.run.jsonl"]);
    assert!(packed.status.success(), "{}", stderr_text(&packed));
    assert_eq!(output_text(&packed), "Saved mine.zip\n");
    for name in [
        "mine.html",
        "sfssum.mine",
        "sfsc0001.mine",
        "mine.csv",
        "sfs_rc",
    ] {
        assert!(
            stderr_text(&packed).contains(name),
            "{name}: {}",
            stderr_text(&packed)
        );
    }
    let sound = tool(dir, "unzip", &["-t", "mine.zip"]);
    assert!(sound.status.success() && output_text(&sound).contains("No errors detected"));
    let folder = unpacked(dir, "mine.zip");
    let sums = tool(&folder, "sha256sum", &["--strict", "-c", "MANIFEST.sha256"]);
    assert!(sums.status.success(), "{sums:?}");
    assert_eq!(
        output_text(&sums).matches(": OK").count(),
        9,
        "{}",
        output_text(&sums)
    );
    let manifest = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    assert_schema(SCHEMA, &serde_json::from_str(&manifest).expect("JSON"));
    assert!(manifest.contains("not a SPEC result"));

    let ended = filermark(dir, &["verify", "mine.zip"]);
    assert_eq!(ended.status.code(), Some(0), "{}", output_text(&ended));
    assert!(
        output_text(&ended).contains("ok    mine.html: as mine.run.jsonl makes it"),
        "{}",
        output_text(&ended)
    );
    for what in ["unpacked", "mine.run.jsonl"] {
        let actual = filermark(dir, &["verify", what, "--json"]);
        assert_eq!(
            actual.status.code(),
            Some(0),
            "{what}: {}",
            output_text(&actual)
        );
        let json: Value = serde_json::from_slice(&actual.stdout).expect("JSON");
        assert_schema(verify::SCHEMA, &json);
        assert_eq!(json["ok"], true);
        assert_eq!(json["runs"][0]["suffix"], "mine");
    }

    // The reviewers' edition is made again, too.
    let page = folder.join("mine.html");
    let public = fs::read(&page).expect("the report");
    let path = page.to_str().expect("a plain path");
    let made = filermark(
        dir,
        &["report", "-r", "-f", "html", "-o", path, "mine.run.jsonl"],
    );
    assert!(made.status.success(), "{}", stderr_text(&made));
    assert_ne!(fs::read(&page).expect("the report"), public);
    let outcome = filermark(dir, &["verify", "unpacked"]);
    assert!(
        output_text(&outcome).contains("ok    mine.html: as mine.run.jsonl makes it"),
        "{}",
        output_text(&outcome)
    );
    fs::write(&page, public).expect("as it was");

    // Packed again: the archive is replaced, and has the same bytes if the time is the same.
    let again = |name: &str| {
        let packed = Command::new(env!("CARGO_BIN_EXE_filermark"))
            .args(["bundle", "-o", name, "mine.run.jsonl"])
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .current_dir(dir)
            .output()
            .expect("the program starts");
        assert!(packed.status.success(), "{}", stderr_text(&packed));
        fs::read(dir.join(name)).expect("the archive")
    };
    assert_eq!(again("a.zip"), again("b.zip"));
    assert_eq!(again("mine.zip"), again("b.zip"));
    forgeries(dir, &folder);
}

/// Changes one digit in each file with figures; each change is found, by checksum and by figure.
fn forgeries(dir: &Path, folder: &Path) {
    let names = [
        "mine.run.jsonl",
        "sfssum.mine",
        "sfslog.mine",
        "sfsres.mine",
        "mine.csv",
        "sfsc0001.mine",
        "mine.html",
    ];
    for name in names {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).expect("a text");
        let at = match name {
            "mine.run.jsonl" => text.rfind("\"success_count\":").expect("a count") + 16,
            _ => {
                text.len() / 2
                    + text[text.len() / 2..]
                        .find(|c: char| c.is_ascii_digit())
                        .unwrap_or(0)
            }
        };
        let mut forged = text.clone().into_bytes();
        forged[at] = b'0' + (forged[at] - b'0' + 1) % 10;
        fs::write(&path, &forged).expect("forged");
        let output = filermark(dir, &["verify", "unpacked"]);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{name}: {}",
            output_text(&output)
        );
        assert!(
            output_text(&output).contains(&format!("FAIL  MANIFEST.sha256: {name} was changed"))
        );
        // Without the manifests the figures still show the change.
        for manifest in ["MANIFEST.sha256", "manifest.json"] {
            fs::rename(folder.join(manifest), dir.join(manifest)).expect("away");
        }
        let result = filermark(dir, &["verify", "unpacked"]);
        assert_eq!(
            result.status.code(),
            Some(1),
            "{name}: {}",
            output_text(&result)
        );
        for manifest in ["MANIFEST.sha256", "manifest.json"] {
            fs::rename(dir.join(manifest), folder.join(manifest)).expect("back");
        }
        fs::write(&path, text).expect("as it was");
    }
    fs::write(folder.join("more"), "x").expect("one more");
    let ended = filermark(dir, &["verify", "unpacked"]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        output_text(&ended).contains("FAIL  MANIFEST.sha256: more was added"),
        "{}",
        output_text(&ended)
    );
    fs::remove_file(folder.join("more")).expect("gone");
    fs::remove_file(folder.join("sfsres.mine")).expect("gone");
    let actual = filermark(dir, &["verify", "unpacked"]);
    assert!(
        output_text(&actual).contains("sfsres.mine was removed"),
        "{}",
        output_text(&actual)
    );
}

#[test]
fn what_cannot_be_packed_or_read_is_reported() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    fs::copy(golden, dir.join("x.toml")).expect("a copy");
    let record = filermark_results::testing::lines();
    let json = |line: &_| serde_json::to_string(line).expect("JSON") + "\n";
    let whole: String = record.iter().map(json).collect();
    fs::write(dir.join("mine.run.jsonl"), &whole).expect("a record");
    fs::write(dir.join("rc"), "LOAD=1\nPASSWORD=geheim\n").expect("an rc file");

    let packed = filermark(dir, &["bundle", "--rc", "rc", "mine.run.jsonl"]);
    assert_eq!(packed.status.code(), Some(1));
    assert!(
        stderr_text(&packed).contains("rc:2: PASSWORD has a value"),
        "{}",
        stderr_text(&packed)
    );
    assert!(!stderr_text(&packed).contains("geheim") && !dir.join("mine.zip").exists());
    let packed = filermark(
        dir,
        &["bundle", "--rc", "rc", "--with-secrets", "mine.run.jsonl"],
    );
    assert!(packed.status.success(), "{}", stderr_text(&packed));
    assert!(
        stderr_text(&packed).contains("sfssum.mine: missing"),
        "{}",
        stderr_text(&packed)
    );
    // An archive may be replaced, but not a foreign zip file.
    let ours = fs::read(dir.join("mine.zip")).expect("the archive");
    let empty = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    fs::write(dir.join("mine.zip"), &empty).expect("another zip file");
    let packed = filermark(
        dir,
        &["bundle", "--rc", "rc", "--with-secrets", "mine.run.jsonl"],
    );
    assert_eq!(packed.status.code(), Some(2), "{}", stderr_text(&packed));
    assert!(stderr_text(&packed).contains("so it is not replaced"));
    assert_eq!(fs::read(dir.join("mine.zip")).expect("there"), empty);
    fs::write(dir.join("mine.zip"), ours).expect("as it was");
    // A record is never overwritten.
    let packed = filermark(dir, &["bundle", "-o", "mine.run.jsonl", "mine.run.jsonl"]);
    assert_eq!(packed.status.code(), Some(2), "{}", stderr_text(&packed));
    assert_eq!(
        fs::read_to_string(dir.join("mine.run.jsonl")).expect("there"),
        whole
    );

    for (what, words) in [
        ("x.toml", "neither a run record"),
        (
            "nothing.zip",
            "there is no such file; give an archive (ZIP)",
        ),
    ] {
        let output = filermark(dir, &["verify", what]);
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert!(
            stderr_text(&output).contains(words),
            "{what}: {}",
            stderr_text(&output)
        );
    }
    let mut zip = fs::read(dir.join("mine.zip")).expect("the archive");
    zip.truncate(zip.len() - 30);
    fs::write(dir.join("cut.zip"), zip).expect("cut");
    let result = filermark(dir, &["verify", "cut.zip"]);
    assert_eq!(result.status.code(), Some(2));
    assert!(
        stderr_text(&result).contains("not a zip file, or a damaged one"),
        "{}",
        stderr_text(&result)
    );
    let newer = whole.replacen("\"schema\":1", "\"schema\":9", 1);
    fs::write(dir.join("new.run.jsonl"), newer).expect("a newer one");
    let ended = filermark(dir, &["verify", "new.run.jsonl"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(
        stderr_text(&ended).contains("has schema version 9"),
        "{}",
        stderr_text(&ended)
    );
    fs::write(dir.join("cut.run.jsonl"), &whole[..whole.len() - 30]).expect("a cut one");
    let actual = filermark(dir, &["verify", "cut.run.jsonl"]);
    assert_eq!(actual.status.code(), Some(1), "{}", output_text(&actual));
    assert!(
        output_text(&actual).contains("was cut and is left out"),
        "{}",
        output_text(&actual)
    );
}

/// A run from a real rc file with a mix file: the folder of the results, and the rc file.
fn run_with_rc() -> (Sweep, PathBuf) {
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).suffix("mine").set("LOAD", "100");
    let sweep = sweep.into_rc();
    sweep.succeed();
    let record = sweep.result("mine.run.jsonl");
    (sweep, record)
}

#[test]
fn the_record_knows_its_rc_file_and_no_other_is_taken_for_it() {
    let _turn = beside_others();
    let (_sweep, record) = run_with_rc();
    let result = record.parent().expect("the result folder");
    let text = fs::read_to_string(&record).expect("the record");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let input = &first["inputs"][0];
    assert_eq!(
        (&input["option"], &input["name"]),
        (&"-r".into(), &"sfs_rc".into())
    );
    let rc = [result.join("sfs_rc"), result.join("../sfs_rc")];
    let rc = rc
        .into_iter()
        .find(|path| path.is_file())
        .expect("the rc file");
    let summed = tool(result, "sha256sum", &[rc.to_str().expect("a path")]);
    assert_eq!(
        output_text(&summed)[..64],
        *input["sha256"].as_str().expect("a sum")
    );

    let packed = filermark(result, &["bundle", "mine.run.jsonl"]);
    assert!(packed.status.success(), "{}", stderr_text(&packed));
    let output = filermark(result, &["verify", "mine.zip"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let line = "ok    sfs_rc: as mine.run.jsonl read it (-r)";
    assert!(
        output_text(&output).contains(line),
        "{}",
        output_text(&output)
    );

    // The rc file of the next run.
    let old = fs::read_to_string(&rc).expect("the rc file");
    fs::write(&rc, format!("{old}RUNTIME=7\n")).expect("changed");
    let packed = filermark(result, &["bundle", "-o", "b.zip", "mine.run.jsonl"]);
    assert_eq!(packed.status.code(), Some(1), "{}", stderr_text(&packed));
    let why = stderr_text(&packed);
    assert!(
        why.contains("sfs_rc: not the file that the run read"),
        "{why}"
    );
    assert!(why.contains("give it as it was"), "{why}");
    let rc = rc.to_str().expect("a path");
    let values = crate::subedit::examples();
    let values = values.path().join("example.xml");
    let values = values.to_str().expect("a path");
    let args = [
        "subedit",
        "-z",
        "-o",
        "s.zip",
        "-i",
        values,
        "mine.run.jsonl",
        rc,
    ];
    let refused = filermark(result, &args);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr_text(&refused));
    let why = stderr_text(&refused);
    assert!(
        why.contains("this is not the rc file of the run: its SHA-256"),
        "{why}"
    );
    let packed = filermark(
        result,
        &["bundle", "--force", "-o", "b.zip", "mine.run.jsonl"],
    );
    assert!(packed.status.success(), "{}", stderr_text(&packed));
    let ended = filermark(result, &["verify", "b.zip"]);
    assert!(
        output_text(&ended).contains("sfs_rc, which it read (-r), is missing"),
        "{}",
        output_text(&ended)
    );
}

/// Keys and signatures of Debian's minisign and of Filermark, in both directions.
#[test]
fn archives_are_signed_and_checked_as_minisign_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let json = |line: &_| serde_json::to_string(line).expect("JSON") + "\n";
    let whole: String = filermark_results::testing::lines()
        .iter()
        .map(json)
        .collect();
    fs::write(dir.join("mine.run.jsonl"), whole).expect("a record");
    for name in ["plain", "other"] {
        let (public, secret) = (format!("{name}.pub"), format!("{name}.key"));
        let made = tool(dir, "minisign", &["-G", "-W", "-p", &public, "-s", &secret]);
        assert!(made.status.success(), "{made:?}");
    }
    let bundle = ["bundle", "--sign", "plain.key", "mine.run.jsonl"];
    let packed = filermark(dir, &bundle);
    assert!(packed.status.success(), "{}", stderr_text(&packed));
    assert_eq!(
        output_text(&packed),
        "Saved mine.zip\nSaved mine.zip.minisig\n"
    );
    let theirs = tool(
        dir,
        "minisign",
        &["-V", "-H", "-p", "plain.pub", "-m", "mine.zip"],
    );
    assert!(theirs.status.success(), "{theirs:?}");

    let verify = |args: &[&str]| {
        let output = filermark(dir, &[&["verify"], args].concat());
        (
            output.status.code(),
            output_text(&output) + &stderr_text(&output),
        )
    };
    let (code, text) = verify(&["--key", "plain.pub", "mine.zip"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("ok    mine.zip.minisig: the archive is unchanged since it was signed"),
        "{text}"
    );
    let (code, text) = verify(&["mine.zip"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("skip  mine.zip.minisig: a signature"),
        "{text}"
    );
    let (code, text) = verify(&["--key", "other.pub", "mine.zip"]);
    assert!(
        code == Some(1) && text.contains("signed with another key"),
        "{text}"
    );
    let (code, text) = verify(&["--key", "plain.key", "mine.zip"]);
    assert!(
        code == Some(2) && text.contains("not a public key"),
        "{text}"
    );
    let (code, text) = verify(&["--key", "plain.pub", "mine.run.jsonl"]);
    assert!(
        code == Some(2) && text.contains("only an archive"),
        "{text}"
    );

    // Signed by the other program; the key is an argument.
    fs::remove_file(dir.join("mine.zip.minisig")).expect("away");
    let (code, text) = verify(&["--key", "plain.pub", "mine.zip"]);
    assert!(
        code == Some(1) && text.contains("FAIL  mine.zip.minisig: missing"),
        "{text}"
    );
    let signed = tool(
        dir,
        "minisign",
        &["-S", "-s", "plain.key", "-m", "mine.zip"],
    );
    assert!(signed.status.success(), "{signed:?}");
    let key = fs::read_to_string(dir.join("plain.pub")).expect("the key");
    let (code, text) = verify(&["--key", key.lines().nth(1).expect("a word"), "mine.zip"]);
    assert_eq!(code, Some(0), "{text}");

    // One byte that readers of zip files ignore.
    let mut zip = fs::read(dir.join("mine.zip")).expect("the archive");
    zip[10] ^= 1;
    fs::write(dir.join("mine.zip"), zip).expect("changed");
    let (code, text) = verify(&["--key", "plain.pub", "mine.zip"]);
    assert!(code != Some(0), "{text}");

    // When it is packed again without a key, the old signature is reported.
    fs::remove_file(dir.join("mine.zip")).expect("away");
    let packed = filermark(dir, &["bundle", "mine.run.jsonl"]);
    assert!(
        stderr_text(&packed).contains("is the signature of an earlier archive"),
        "{}",
        stderr_text(&packed)
    );
    fs::write(dir.join("mine.zip.minisig"), "my notes").expect("a file");
    let packed = filermark(dir, &bundle);
    assert_eq!(packed.status.code(), Some(2), "{}", stderr_text(&packed));
}

/// A key with a password: from a file, from the environment, at the terminal.
#[test]
fn slow_the_password_of_a_key_is_asked_for_and_never_shown() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let json = |line: &_| serde_json::to_string(line).expect("JSON") + "\n";
    let whole: String = filermark_results::testing::lines()
        .iter()
        .map(json)
        .collect();
    fs::write(dir.join("mine.run.jsonl"), whole).expect("a record");
    let pair = minisign::KeyPair::generate_encrypted_keypair(Some("geheim".into())).expect("keys");
    let public = pair.pk.to_box().expect("a public key").into_string();
    let secret = pair.sk.to_box(None).expect("a secret key").into_string();
    fs::write(dir.join("k.pub"), public).expect("written");
    fs::write(dir.join("k.key"), secret).expect("written");
    fs::write(dir.join("good"), "geheim\nmore\n").expect("written");
    fs::write(dir.join("bad"), "geheym\n").expect("written");
    let sign = |key: &str, more: &[&str], variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_filermark"));
        command
            .args(["bundle", "--sign", key, "mine.run.jsonl"])
            .args(more);
        command
            .current_dir(dir)
            .env_remove("FILERMARK_SIGN_PASSWORD");
        if let Some(word) = variable {
            command.env("FILERMARK_SIGN_PASSWORD", word);
        }
        command
    };
    let run = |mut command: Command| {
        let _ = fs::remove_file(dir.join("mine.zip"));
        let output = command.output().expect("the program starts");
        let text = output_text(&output) + &stderr_text(&output);
        assert!(
            !text.contains("geheim") && !text.contains("geheym"),
            "{text}"
        );
        (output.status.code(), text)
    };
    let is_signed = || {
        let result = filermark(dir, &["verify", "--key", "k.pub", "mine.zip"]);
        assert_eq!(result.status.code(), Some(0), "{}", output_text(&result));
    };
    let (code, text) = run(sign("k.key", &["--password-file", "good"], Some("geheym")));
    assert_eq!(code, Some(0), "{text}");
    is_signed();
    let (code, text) = run(sign("k.key", &[], Some("geheim")));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(sign("k.key", &["--password-file", "bad"], None));
    assert!(code == Some(2) && text.contains("Wrong password"), "{text}");
    assert!(
        !dir.join("mine.zip").exists(),
        "nothing is packed before the key is read"
    );

    let command = sign("k.key", &[], None);
    let mut terminal = crate::terminal::Terminal::of(&command, 120, &[]);
    terminal.wait_until("a prompt", |lines| {
        lines.iter().any(|line| line.contains("Password of k.key:"))
    });
    // The prompt is printed before the echo is turned off.
    let began = std::time::Instant::now();
    while terminal.settings().local_modes.contains(LocalModes::ECHO) {
        assert!(began.elapsed().as_secs() < 60, "the echo stays on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    terminal.type_keys("geheim\n");
    assert!(terminal.wait().success(), "{:#?}", terminal.lines());
    assert!(!terminal.sent().contains("geheim"), "{}", terminal.sent());
    is_signed();

    // The key of the other program, whose key derivation is slower.
    let mut made = Command::new("minisign");
    made.args(["-G", "-p", "d.pub", "-s", "d.key"])
        .current_dir(dir);
    let made = made
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null());
    let mut made = made.spawn().expect("minisign; see ci/apt-packages");
    let mut keys = made.stdin.take().expect("its input");
    std::io::Write::write_all(&mut keys, b"geheim\ngeheim\n").expect("typed");
    drop(keys);
    assert!(made.wait().expect("it ends").success());
    let (code, text) = run(sign("d.key", &[], Some("geheim")));
    assert_eq!(code, Some(0), "{text}");
    let theirs = tool(dir, "minisign", &["-V", "-p", "d.pub", "-m", "mine.zip"]);
    assert!(theirs.status.success(), "{theirs:?}");
}

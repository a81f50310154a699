//! `verify`: checks an archive, a folder or a run record.

use super::sign::verifying_key;
use crate::cli::VerifyArgs;
use crate::refused::refused;
use crate::stdout;
use filermark_archive::kind::TO_VERIFY;
use filermark_archive::sign::{self, SIGNATURE_END, VerifyingKey, signature_path};
use filermark_archive::verify::{CheckStatus, Verification, check_zip};
use filermark_archive::{Bundle, CollectOptions, Options, gather, is_zip};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

/// Checks, and prints a line for every check.
pub fn verify(args: &VerifyArgs) -> CommandResult {
    let key = args.key.as_deref().map(verifying_key).transpose();
    let key = key.map_err(|why| CommandError::Usage(vec![why]))?;
    let verification = verify_input(&args.what, key.as_ref())
        .map_err(|why| refused(&args.what, &TO_VERIFY, why))?;
    match args.json {
        true => stdout::print_json(&serde_json::to_value(&verification).map_err(CommandError::of)?),
        false => stdout::print_folded(&text(&verification)),
    }
    Ok(ExitCode::from(u8::from(!verification.ok)))
}

/// Reads the input by its kind.
fn verify_input(path: &Path, key: Option<&VerifyingKey>) -> Result<Verification, String> {
    let options = Options {
        needs_manifest: false,
        reports: filermark_report::OUTPUTS,
    };
    if key.is_some() && (path.is_dir() || !begins_as_zip(path)?) {
        return Err(format!(
            "{}: only an archive (FILE.zip) has a signature for --key to check; give the archive",
            path.display()
        ));
    }
    if path.is_dir() {
        let bundle = Bundle::read_dir(path).map_err(|e| e.to_string())?;
        if bundle.is_empty() {
            return Err(format!(
                "{}: the directory has no files; give {}",
                path.display(),
                TO_VERIFY.what
            ));
        }
        return Ok(filermark_archive::verify(&bundle, &options));
    }
    if begins_as_zip(path)? {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let bundle = Bundle::from_bytes(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        let options = Options {
            needs_manifest: true,
            ..options
        };
        let mut verification = filermark_archive::verify(&bundle, &options);
        check_zip(&bundle, &bytes, &mut verification);
        check_signature(path, &bytes, key, &mut verification);
        return Ok(verification);
    }
    let all = CollectOptions {
        no_rc: true,
        with_secrets: true,
        force: true,
        reports: filermark_report::OUTPUTS,
        wanted: Some(&TO_VERIFY),
        ..CollectOptions::default()
    };
    let found = gather(&[path.to_owned()], &all).map_err(|faults| faults.join("; "))?;
    Ok(filermark_archive::verify(&found.bundle, &options))
}

/// The signature of an archive. Without a key only its presence is reported.
fn check_signature(
    path: &Path,
    archive: &[u8],
    key: Option<&VerifyingKey>,
    verification: &mut Verification,
) {
    let at = signature_path(path);
    let is_there = std::fs::symlink_metadata(&at).is_ok();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match key {
        Some(key) => {
            // The user named the archive; where both are links, both are followed.
            let signature = sign::read_signature(&std::fs::canonicalize(&at).unwrap_or(at));
            sign::check(archive, &name, &signature, key, verification);
        }
        None if is_there => verification.push(
            CheckStatus::Skip,
            format!("{name}{SIGNATURE_END}"),
            "a signature, which is not checked without the public key: --key PUBKEY",
        ),
        None => {}
    }
}

fn begins_as_zip(path: &Path) -> Result<bool, String> {
    let shown = path.display();
    let size = std::fs::metadata(path)
        .map_err(|e| format!("{shown}: cannot be read: {e}"))?
        .len();
    if size > filermark_archive::TOTAL_LEN_MAX {
        return Err(format!("{shown}: larger than 2 GiB"));
    }
    let file = std::fs::File::open(path).map_err(|e| format!("{shown}: cannot be read: {e}"))?;
    let mut front = Vec::new();
    file.take(4)
        .read_to_end(&mut front)
        .map_err(|e| format!("{shown}: cannot be read: {e}"))?;
    let is_named = path.extension().is_some_and(|end| end == "zip");
    Ok(is_zip(&front) || is_named)
}

fn text(verification: &Verification) -> String {
    let lines = verification.checks.iter().map(|check| format!("{check}\n"));
    let (ok, failed, skipped) = (
        verification.count(CheckStatus::Ok),
        verification.count(CheckStatus::Fail),
        verification.count(CheckStatus::Skip),
    );
    let end = match verification.ok {
        true => "passed",
        false => "failed",
    };
    let lines: String = lines.collect();
    format!("{lines}{end}: {ok} ok, {failed} FAIL, {skipped} skip\n")
}

//! `bundle`: packs the files of a run or a submission.

use super::sign::signing_key;
use crate::cli::BundleArgs;
use crate::stdout;
use filermark_archive::kind::{TO_PACK, refusal};
use filermark_archive::sign::{SigningKey, is_signature, read_signature, signature_path};
use filermark_archive::{Bundle, CollectOptions, gather};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::write_whole;
use filermark_results::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Sets the time stamps of the archive, for identical bytes each time
/// (reproducible-builds.org).
const EPOCH_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Collects the files, packs them, and lists the contents.
pub fn bundle(args: &BundleArgs) -> CommandResult {
    let options = CollectOptions {
        rc: args.rc.clone(),
        no_rc: false,
        add: args.add.clone(),
        with_secrets: args.with_secrets,
        force: args.force,
        reports: filermark_report::OUTPUTS,
        wanted: None,
    };
    let sign = args.sign.as_deref();
    let key = sign.map(|path| signing_key(path, args.password_file.as_deref()));
    let key = key
        .transpose()
        .map_err(|why| CommandError::Usage(vec![why]))?;
    let found = gather(&args.what, &options).map_err(|faults| {
        for fault in &faults {
            filermark_cli_kit::stderr_line!("filermark: {fault}");
        }
        let why = "nothing was packed".to_owned();
        let is_wrong_kind = |path: &PathBuf| refusal(path, &TO_PACK).is_some();
        match args.what.iter().any(is_wrong_kind) {
            true => CommandError::Usage(vec![why]),
            false => CommandError::Failed(why),
        }
    })?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => beside(&found.place),
    };
    let bundle = found.bundle.made_at(now()).made_by("bundle");
    let refused = |why| CommandError::Usage(vec![why]);
    bundle.check_place(&path).map_err(refused)?;
    let signature = signature_path(&path);
    let is_old = fs::symlink_metadata(&signature).is_ok();
    if key.is_some() {
        may_sign_at(&signature).map_err(refused)?;
    }
    let bytes = bundle.to_bytes().map_err(CommandError::of)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let sign = |key: SigningKey| key.sign(&bytes, &name, now());
    let signed = key.map(sign).transpose().map_err(CommandError::of)?;
    write_whole(&path, &bytes).map_err(CommandError::Failed)?;
    print(&bundle, &found.remarks);
    stdout::print(&format!("Saved {}\n", path.display()));
    match (signed, is_old) {
        (Some(text), _) => {
            write_whole(&signature, text.as_bytes()).map_err(CommandError::Failed)?;
            stdout::print(&format!("Saved {}\n", signature.display()));
        }
        (None, true) => filermark_cli_kit::stderr_line!(
            "note: {}: is the signature of an earlier archive, and not of this one; --sign KEY signs it",
            signature.display()
        ),
        (None, false) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to replace a file that is not a signature.
fn may_sign_at(path: &Path) -> Result<(), String> {
    let away = "so it is not replaced; choose another name (-o FILE.zip), or move it away";
    match read_signature(path) {
        Err(why) => Err(format!("{why}, {away}")),
        Ok(Some(bytes)) if !is_signature(&bytes) => Err(format!(
            "{}: exists and is not a signature, {away}",
            path.display()
        )),
        Ok(_) => Ok(()),
    }
}

/// `result/mine` as `result/mine.zip`.
fn beside(place: &Path) -> PathBuf {
    let mut path = place.as_os_str().to_owned();
    path.push(".zip");
    let path = PathBuf::from(path);
    path.strip_prefix(".")
        .map(Path::to_path_buf)
        .unwrap_or(path)
}

/// When an archive is made, by the clock or by SOURCE_DATE_EPOCH.
pub fn now() -> Timestamp {
    let epoch = std::env::var(EPOCH_VARIABLE)
        .ok()
        .and_then(|s| s.parse::<u32>().ok());
    epoch.map_or_else(Timestamp::now, |s| {
        Timestamp::from_unix_seconds(f64::from(s))
    })
}

fn print(bundle: &Bundle, remarks: &[String]) {
    for (name, member) in bundle.members() {
        filermark_cli_kit::stderr_line!("{:10}  {:>10}  {name}", member.role, member.bytes.len());
    }
    for remark in remarks {
        filermark_cli_kit::stderr_line!("note: {remark}");
    }
}

//! `bundle`: packs what belongs to a run or a submission.

use crate::cli::BundleArgs;
use crate::exit::{Ended, Failure};
use crate::files::write_whole;
use crate::product;
use filermark_archive::{Bundle, GatherOptions, gather};
use filermark_results::Timestamp;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Says when "now" is to whoever wants the same bytes every time
/// (reproducible-builds.org).
const EPOCH_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Gathers, packs, and tells what is in it.
pub fn bundle(args: &BundleArgs) -> Ended {
    let options = GatherOptions {
        rc: args.rc.clone(),
        no_rc: false,
        add: args.add.clone(),
        with_secrets: args.with_secrets,
        force: args.force,
    };
    let found = gather(&args.what, &options).map_err(|faults| {
        for fault in &faults {
            eprintln!("filermark: {fault}");
        }
        Failure::of("nothing was packed")
    })?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => beside(&found.place),
    };
    let bundle = found.bundle.made_at(now()).made_by("bundle");
    let refused = |why| Failure::Usage(vec![why]);
    bundle.check_place(&path).map_err(refused)?;
    let bytes = bundle.to_bytes().map_err(Failure::of)?;
    write_whole(&path, &bytes).map_err(Failure::Failed)?;
    tell(&bundle, &found.remarks);
    product::print(&format!("Saved {}\n", path.display()));
    Ok(ExitCode::SUCCESS)
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

fn tell(bundle: &Bundle, remarks: &[String]) {
    for (name, member) in bundle.members() {
        eprintln!("{:10}  {:>10}  {name}", member.role, member.bytes.len());
    }
    for remark in remarks {
        eprintln!("note: {remark}");
    }
}

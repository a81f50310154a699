//! Compares the manifest with the files.

use super::types::{CheckStatus, Verification};
use crate::bundle::Bundle;
use crate::manifest::{MANIFEST_JSON, MANIFEST_SUMS, Manifest, SCHEMA_VERSION, parse_sums};
use crate::sha256;
use filermark_model::NOT_A_SPEC_RESULT;
use std::collections::BTreeMap;

pub(super) fn check(bundle: &Bundle, needed: bool, verification: &mut Verification) {
    match (bundle.manifest_sums(), bundle.manifest_json()) {
        (None, None) if !needed => {
            let text = "missing: changed, removed or added files cannot be detected";
            verification.push(CheckStatus::Skip, "manifest", text);
        }
        (sums, json) => {
            check_sums(bundle, sums, verification);
            check_json(bundle, json, verification);
        }
    }
}

fn check_sums(bundle: &Bundle, sums: Option<&[u8]>, verification: &mut Verification) {
    let Some(sums) = sums else {
        return verification.push(CheckStatus::Fail, MANIFEST_SUMS, "missing");
    };
    let mut sums = match parse_sums(sums) {
        Ok(sums) => sums,
        Err(why) => return verification.push(CheckStatus::Fail, MANIFEST_SUMS, why),
    };
    let json = bundle
        .manifest_json()
        .map(|json| (MANIFEST_JSON, sha256(json)));
    let files = bundle.members().map(|(name, m)| (name, m.sha256()));
    let mut faults = Vec::new();
    let mut count = 0;
    for (name, sum) in files.chain(json) {
        count += 1;
        match sums.remove(name) {
            Some(listed) if listed == sum => {}
            Some(_) => faults.push(format!("{name} was changed: its SHA-256 is {sum}")),
            None => faults.push(format!("{name} was added: it has no sum here")),
        }
    }
    faults.extend(
        sums.keys()
            .map(|name| format!("{name} was removed: it has a sum, but is missing")),
    );
    let good = format!("{count} files have their SHA-256 sums");
    verification.conclude(MANIFEST_SUMS, good, faults);
}

fn check_json(bundle: &Bundle, json: Option<&[u8]>, verification: &mut Verification) {
    let Some(json) = json else {
        return verification.push(CheckStatus::Fail, MANIFEST_JSON, "missing");
    };
    let version = serde_json::from_slice::<serde_json::Value>(json).map(|v| v["schema"].clone());
    if let Ok(version) = version
        && version != SCHEMA_VERSION
    {
        let text = format!(
            "has schema version {version}, and this program reads version {SCHEMA_VERSION}; verify it with the Filermark version that packed it"
        );
        return verification.push(CheckStatus::Fail, MANIFEST_JSON, text);
    }
    let listed: Manifest = match serde_json::from_slice(json) {
        Ok(listed) => listed,
        Err(e) => {
            return verification.push(
                CheckStatus::Fail,
                MANIFEST_JSON,
                format!("is not a manifest: {e}"),
            );
        }
    };
    let mut faults = Vec::new();
    let is = bundle.manifest();
    let mut files: BTreeMap<&str, _> = is.files.iter().map(|f| (f.name.as_str(), f)).collect();
    for file in &listed.files {
        match files.remove(file.name.as_str()) {
            None => faults.push(format!(
                "{} is listed but missing, or listed twice",
                file.name
            )),
            Some(is) if is.size != file.size => faults.push(format!(
                "{} has {} bytes, but {} in the manifest",
                file.name, is.size, file.size
            )),
            Some(is) if is.sha256 != file.sha256 => {
                faults.push(format!(
                    "{} has another SHA-256 than in the manifest",
                    file.name
                ));
            }
            Some(is) if is.role != file.role => faults.push(format!(
                "{} is a {} by its name and content, but a {} in the manifest",
                file.name, is.role, file.role
            )),
            Some(_) => {}
        }
    }
    faults.extend(files.keys().map(|name| format!("{name} is not listed")));
    if listed.runs != is.runs {
        faults.push("its runs are not those of the records".into());
    }
    if listed.notice != NOT_A_SPEC_RESULT {
        faults.push("the notice that this is no SPEC result was changed".into());
    }
    let good = format!("lists all files and {}", runs(listed.runs.len()));
    verification.conclude(MANIFEST_JSON, good, faults);
}

fn runs(count: usize) -> String {
    filermark_model::units::counted(count as u64, "run")
}

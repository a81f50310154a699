//! Compares an archive with its run records: everything that can be computed again is
//! computed again and compared.
//!
//! A record is not signed. A forgery is not detected if all sums in the record and all
//! other files were changed to match: keep the sum of the archive in another place.

mod figures;
mod findings;
mod inputs;
mod outcome;
mod pages;
mod renderings;
mod submission;
mod sums;
mod types;

pub use types::{Check, CheckStatus, Options, RunFigures, Verification};

use crate::bundle::{Bundle, Member, read_record};
use crate::role::is_made_of_record;
use filermark_results::files::renderings;
use filermark_results::output::OutputTable;
use filermark_results::{Role, outputs};
use std::collections::BTreeSet;
use types::Run;

/// The JSON Schema of [`Verification`] as JSON.
pub const SCHEMA: &str = include_str!("../schema/verification-v1.json");

/// Checks an archive.
pub fn verify(bundle: &Bundle, options: &Options) -> Verification {
    let mut verification = Verification {
        schema: 1,
        ok: true,
        ..Verification::default()
    };
    sums::check(bundle, options.needs_manifest, &mut verification);
    let mut runs = Vec::new();
    for (name, member) in bundle.members().filter(|(_, m)| m.role == Role::Record) {
        match read_record(name, member) {
            Ok(record) => runs.push(Run::of(name, record, member)),
            Err(why) => {
                let why = why
                    .strip_prefix(name)
                    .unwrap_or(&why)
                    .trim_start_matches(": ");
                verification.push(CheckStatus::Fail, name, format!("cannot be checked: {why}"));
            }
        }
    }
    for run in &runs {
        figures::check(run, &mut verification);
        findings::check(run, &mut verification);
        let figures = outcome::check(run, &mut verification);
        verification.runs.push(figures);
    }
    let rows = [outputs::OUTPUTS, options.reports];
    let table = OutputTable(&rows);
    let mut checked =
        BTreeSet::from_iter(renderings::check(bundle, &runs, table, &mut verification));
    checked.extend(pages::check(bundle, &runs, table, &mut verification));
    checked.extend(submission::check(bundle, &runs, &mut verification));
    checked.extend(inputs::check(bundle, &runs, &mut verification));
    if runs.is_empty() {
        let text = "no run record in the archive: nothing could be computed again";
        verification.push(CheckStatus::Fail, "run record", text);
    }
    for (name, member) in bundle.members() {
        let is_known = member.role == Role::Record || checked.contains(name);
        if !is_known && is_made_of_record(name, member.role) {
            check_stray(name, member, &runs, table, &mut verification);
        } else if !is_known {
            let why = match member.role {
                Role::Rc => {
                    "the run record is of version 0.1 and does not name the rc file that the run read; its sum is checked"
                }
                _ => "nothing in it can be computed from a record; its sum is checked",
            };
            let why = match bundle.manifest_sums() {
                Some(_) => why,
                None => why.split(';').next().unwrap_or(why),
            };
            verification.push(CheckStatus::Skip, name, why);
        }
    }
    verification
}

/// Checks a file with figures whose name is not that of a file of a run: it must be a copy of
/// such a file.
fn check_stray(
    name: &str,
    member: &Member,
    runs: &[Run<'_>],
    table: OutputTable<'_>,
    verification: &mut Verification,
) {
    let makes = |run: &&Run<'_>| {
        let made = renderings(&run.record, table).unwrap_or_default();
        made.iter().any(|file| file.text.as_bytes() == member.bytes)
    };
    match runs.iter().find(makes) {
        Some(run) => verification.push(CheckStatus::Ok, name, format!("as {} makes it", run.name)),
        None => {
            let text = format!("a {} that no run record in the archive makes", member.role);
            verification.push(CheckStatus::Fail, name, text);
        }
    }
}

/// Checks whether a zip file is, byte for byte, what this program packs.
pub fn check_zip(bundle: &Bundle, bytes: &[u8], verification: &mut Verification) {
    let count = bundle.members().count();
    verification.push(
        CheckStatus::Ok,
        "zip",
        format!("well-formed: {count} files and the manifest"),
    );
    let same = bundle.packed_again().is_ok_and(|again| again == bytes);
    match same {
        true => verification.push(CheckStatus::Ok, "zip", "byte for byte as this program packs these files"),
        false => verification.push(
            CheckStatus::Skip,
            "zip",
            "packed by another program or version, or changed between its files; the files themselves are checked",
        ),
    }
}

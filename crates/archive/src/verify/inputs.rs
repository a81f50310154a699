//! Checks the files that the runs read, as named in their records.

use super::types::{CheckStatus, Run, Verification};
use crate::bundle::Bundle;
use crate::inputs::is_named;
use filermark_model::InputFile;
use filermark_results::Role;

/// Returns the names of the files that were checked.
pub(super) fn check(
    bundle: &Bundle,
    runs: &[Run<'_>],
    verification: &mut Verification,
) -> Vec<String> {
    let mut checked = Vec::new();
    let known = || runs.iter().filter_map(|run| run.record.run.inputs.as_ref());
    let is_input = |bytes: &[u8]| known().flatten().any(|input| input.is_of(bytes));
    for run in runs {
        for input in run.record.run.inputs.iter().flatten() {
            check_input(bundle, run, input, &is_input, &mut checked, verification);
        }
    }
    let all_known = !runs.is_empty() && known().count() == runs.len();
    for (name, member) in bundle.members() {
        let is_stray = member.role == Role::Rc && !checked.iter().any(|c| c == name);
        if is_stray && all_known {
            checked.push(name.to_owned());
            match is_input(&member.bytes) {
                true => verification.push(CheckStatus::Ok, name, "as a run in the archive read it"),
                false => verification.push(
                    CheckStatus::Fail,
                    name,
                    "no run in the archive read this rc file",
                ),
            }
        }
    }
    checked
}

/// Checks one input and other files with its name; adds the names of these files to
/// `checked`.
fn check_input(
    bundle: &Bundle,
    run: &Run<'_>,
    input: &InputFile,
    is_input: &dyn Fn(&[u8]) -> bool,
    checked: &mut Vec<String>,
    verification: &mut Verification,
) {
    let mut members = bundle.members();
    let right = members.find(|(_, member)| input.is_of(&member.bytes));
    if let Some((name, _)) = right {
        let left_out = match input.secret_line_count {
            0 => String::new(),
            n => format!("; lines with secrets ({n}) are not in its sum"),
        };
        let text = format!("as {} read it ({}){left_out}", run.name, input.option);
        verification.push(CheckStatus::Ok, name, text);
        checked.push(name.to_owned());
    }
    let members = bundle.members();
    let others = members.filter(|(name, m)| is_named(name, &input.name) && !is_input(&m.bytes));
    let others: Vec<_> = others.collect();
    for (name, member) in &others {
        if checked.iter().any(|c| c == name) {
            continue;
        }
        let why = input.difference(&member.bytes);
        let text = format!("not the file that {} read: {why}", run.name);
        verification.push(CheckStatus::Fail, *name, text);
        checked.push((*name).to_owned());
    }
    if right.is_none() && others.is_empty() {
        let text = format!(
            "{}, which it read ({}), is missing",
            input.name, input.option
        );
        verification.push(CheckStatus::Skip, run.name, text);
    }
}

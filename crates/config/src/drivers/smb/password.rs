//! Where the password comes from. No message shows any part of it.

use super::parameters;
use crate::error::{SourceLocation, quoted};
use crate::given::Values;
use crate::params::{self, Parameter};
use crate::reading::Reading;
use crate::sources::read_text;
use filermark_model::secret::{PASSWORD_VARIABLE, Secret};
use filermark_model::{Rule, Severity};
use std::path::Path;
use zeroize::Zeroizing;

/// The longest password that is accepted, in characters.
const CHARS_MAX: usize = 256;

/// The parameters that give one, as far as they are set.
pub(super) fn given(values: &Values) -> impl Iterator<Item = &'static Parameter> {
    let parameters: [&Parameter; 2] = [&parameters::PASSWORD_FILE, &params::PASSWORD];
    let parameters = parameters.into_iter();
    parameters.filter(|parameter| values.given(parameter).is_some())
}

/// Whether one was given and is wrong, as has been reported.
pub(super) fn is_bad(values: &Values) -> bool {
    values.is_bad(&parameters::PASSWORD_FILE) || values.is_bad(&params::PASSWORD)
}

/// PASSWORD_FILE, PASSWORD or the environment, in this order.
pub(super) fn find(r: &mut Reading<'_>) -> Secret {
    let (values, sources) = (r.values, r.sources);
    let mut note = |severity, text: String| {
        r.reports.note(Rule::SecretExposed, severity, text);
    };
    let rc = sources.rc.as_ref().filter(|rc| rc.others_can_read);
    if let (Some(rc), true) = (rc, values.given(&params::PASSWORD).is_some()) {
        let text = format!(
            "PASSWORD is in {}, which others can read: chmod 600 it, or set PASSWORD_FILE",
            quoted(&rc.name)
        );
        note(Severity::Warning, text);
    }
    if let Some(name) = values.get(&parameters::PASSWORD_FILE) {
        if values.given(&params::PASSWORD).is_some() {
            let text = "PASSWORD has no effect: PASSWORD_FILE is set as well";
            note(Severity::Note, text.to_owned());
        }
        let path = sources.folder().join(&name);
        if filermark_system::others_may_read(&path) {
            let text = format!(
                "others can read PASSWORD_FILE={}: chmod 600 it",
                quoted(&name)
            );
            note(Severity::Warning, text);
        }
        return of_file(r, &name, &path);
    }
    if let Some(word) = values.get(&params::PASSWORD).map(Zeroizing::new) {
        return checked(r, &word, &params::PASSWORD);
    }
    match sources.host.password.reveal() {
        Some(word) if !is_bad(values) => {
            checked_of(r, word, PASSWORD_VARIABLE, SourceLocation::Missing)
        }
        _ => Secret::NONE,
    }
}

/// The first line of a file.
fn of_file(r: &mut Reading<'_>, name: &str, path: &Path) -> Secret {
    let mut wrong = |what: &str, hint: &str| {
        let message = format!("PASSWORD_FILE={} {what}", quoted(name));
        r.refuse(&parameters::PASSWORD_FILE, message, hint);
        Secret::NONE
    };
    let text = match read_text(path) {
        Ok(text) => Zeroizing::new(text),
        Err(why) => return wrong(&why, "write the password to the first line of a file"),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.lines().next() {
        Some(line) if !line.is_empty() => checked(r, line, &parameters::PASSWORD_FILE),
        _ => wrong("has an empty first line", "write the password there"),
    }
}

/// The password of a parameter, if it is valid.
fn checked(r: &mut Reading<'_>, word: &str, from: &Parameter) -> Secret {
    let place = r.values.place(from);
    checked_of(r, word, from.name, place)
}

/// A password, if it is valid.
fn checked_of(r: &mut Reading<'_>, word: &str, from: &str, place: SourceLocation) -> Secret {
    let what = match () {
        () if word.chars().any(char::is_control) => "a control character",
        () if word.chars().count() > CHARS_MAX => "more than 256 characters",
        () => return Secret::new(word),
    };
    r.reports.refuse(
        place,
        format!("the password of {from} has {what}"),
        "check that it is the right one",
    );
    Secret::NONE
}

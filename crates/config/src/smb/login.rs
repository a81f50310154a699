//! Who logs in: SMB_AUTH, USERNAME, DOMAIN, and whether there is a password to it.

use super::password;
use crate::error::ConfigError;
use crate::given::Values;
use crate::sources::Sources;
use filermark_model::secret::Secret;
use filermark_model::smb::{Auth, Encryption, Signing};
use filermark_model::{Finding, Rule, Severity};

/// The longest user name and domain that are taken for meant, in characters.
const NAME_CHARS_MAX: usize = 255;

/// How the user gets in.
pub(super) struct Login {
    pub auth: Auth,
    pub password: Secret,
}

/// Reads the parameters; whoever needs no password gets none, even where one is there.
pub(super) fn login(
    values: &Values,
    sources: &Sources,
    findings: &mut Vec<Finding>,
    errors: &mut Vec<ConfigError>,
) -> Login {
    let username = name(values, "USERNAME", errors);
    let domain = name(values, "DOMAIN", errors);
    let auth = match values.word("SMB_AUTH") {
        "guest" => Auth::Guest,
        "anonymous" => Auth::Anonymous,
        "kerberos" => Auth::Kerberos { username, domain },
        _ => Auth::Ntlm { username, domain },
    };
    match &auth {
        Auth::Guest | Auth::Anonymous => {
            nobody(values, findings, errors);
            let password = Secret::NONE;
            Login { auth, password }
        }
        Auth::Ntlm { username, .. } => {
            let password = password::find(values, sources, findings, errors);
            needed(values, username, &password, errors);
            Login { auth, password }
        }
        Auth::Kerberos { username, .. } => {
            let mut password = password::find(values, sources, findings, errors);
            if username.is_empty() && !values.is_bad("USERNAME") {
                for given in password::given(values) {
                    let message = format!("{given} is set, and USERNAME is not");
                    let hint = "set USERNAME, or leave both out: kinit's tickets are used then";
                    errors.push(ConfigError::new(values.place(given), message, hint));
                }
                password = Secret::NONE;
            }
            Login { auth, password }
        }
    }
}

/// A name as it is, or empty.
fn name(values: &Values, parameter: &str, errors: &mut Vec<ConfigError>) -> String {
    let name = values.text(parameter).unwrap_or_default();
    let (what, hint) = match () {
        () if name.contains('\\') && parameter == "USERNAME" => (
            "has a backslash in it",
            "write the part before it to DOMAIN, and only the name to USERNAME",
        ),
        () if name.contains(['\\', '/', '"']) => ("cannot be a name", "write it without quotes"),
        () if name.chars().count() > NAME_CHARS_MAX => {
            ("is too long", "give 255 characters at most")
        }
        () => return name,
    };
    let shown = values.given(parameter).map(|g| g.shown());
    let message = format!("{} {what}", shown.unwrap_or_default());
    errors.push(ConfigError::new(values.place(parameter), message, hint));
    name
}

/// What NTLM cannot do without.
fn needed(values: &Values, username: &str, password: &Secret, errors: &mut Vec<ConfigError>) {
    if username.is_empty() && !values.is_bad("USERNAME") {
        errors.push(ConfigError::new(
            values.place("SMB_AUTH"),
            "USERNAME is not set, and NTLM wants one",
            "set USERNAME, and PASSWORD_FILE with its password; or SMB_AUTH=kerberos, guest or anonymous",
        ));
    }
    let told = password::given(values).next().is_some() || password::is_bad(values);
    if !username.is_empty() && !password.is_given() && !told {
        errors.push(ConfigError::new(
            values.place("USERNAME"),
            "USERNAME has no password",
            "write it to the first line of a file and set PASSWORD_FILE, or set PASSWORD in the rc \
             file, or FILERMARK_PASSWORD in the environment",
        ));
    }
}

/// Names and passwords of somebody who is nobody.
fn nobody(values: &Values, findings: &mut Vec<Finding>, errors: &mut Vec<ConfigError>) {
    let how = values.word("SMB_AUTH");
    let given = ["USERNAME"].into_iter().chain(password::given(values));
    for name in given.filter(|name| values.given(name).is_some()) {
        errors.push(ConfigError::new(
            values.place(name),
            format!("{name} is set, and SMB_AUTH={how} logs in without"),
            format!("leave {name} or SMB_AUTH out"),
        ));
    }
    if let Some(domain) = values.given("DOMAIN") {
        let text = format!("{} has no effect with SMB_AUTH={how}", domain.shown());
        findings.push(Finding::new(Rule::NotStandard, Severity::Note, text));
    }
}

/// Sessions of guests and of nobody have no key (MS-SMB2 3.2.5.3.1).
pub(super) fn without_key(
    values: &Values,
    auth: &Auth,
    signing: Signing,
    encryption: Encryption,
    errors: &mut Vec<ConfigError>,
) {
    if !matches!(auth, Auth::Guest | Auth::Anonymous) {
        return;
    }
    let signed = !matches!(signing, Signing::Auto | Signing::Off);
    let encrypted = !matches!(encryption, Encryption::Auto | Encryption::Off);
    for (is_wanted, name) in [(signed, "SMB_SIGNING"), (encrypted, "SMB_ENCRYPTION")] {
        if is_wanted {
            let shown = values.given(name).map(|g| g.shown());
            let message = format!(
                "{} cannot be had with SMB_AUTH={}: such a session has no key",
                shown.unwrap_or_default(),
                values.word("SMB_AUTH")
            );
            let hint = format!("leave {name} out, or log in as a user");
            errors.push(ConfigError::new(values.place(name), message, hint));
        }
    }
}

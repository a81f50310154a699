//! The login: SMB_AUTH, USERNAME, DOMAIN, and whether a password is given.

use super::parameters::{self, AuthMethod};
use super::password;
use crate::params::{self, Param, Parameter};
use crate::reading::Reading;
use filermark_model::secret::Secret;
use filermark_model::smb::{Auth, Encryption, Signing};
use filermark_model::{Rule, Severity};

/// The longest user name and domain that are accepted, in characters.
const NAME_CHARS_MAX: usize = 255;

/// How the user logs in.
pub(super) struct Login {
    pub auth: Auth,
    pub password: Secret,
}

/// Reads the parameters. A login without a password gets none, even where one is given.
pub(super) fn login(r: &mut Reading<'_>) -> Login {
    let values = r.values;
    let username = name(r, &params::USERNAME);
    let domain = name(r, &params::DOMAIN);
    let auth = match values.get(&parameters::SMB_AUTH) {
        AuthMethod::Guest => Auth::Guest,
        AuthMethod::Anonymous => Auth::Anonymous,
        AuthMethod::Kerberos => Auth::Kerberos { username, domain },
        AuthMethod::Ntlm => Auth::Ntlm { username, domain },
    };
    match &auth {
        Auth::Guest | Auth::Anonymous => {
            refuse_credentials(r);
            let password = Secret::NONE;
            Login { auth, password }
        }
        Auth::Ntlm { username, .. } => {
            let password = password::find(r);
            needed(r, username, &password);
            Login { auth, password }
        }
        Auth::Kerberos { username, .. } => {
            let mut password = password::find(r);
            if username.is_empty() && !values.is_bad(&params::USERNAME) {
                for given in password::given(values) {
                    let message = format!("{} is set, and USERNAME is not", given.name);
                    let hint = "set USERNAME, or leave both out: kinit's tickets are used then";
                    r.reports.refuse(values.place(given), message, hint);
                }
                password = Secret::NONE;
            }
            Login { auth, password }
        }
    }
}

/// A name as it is, or empty.
fn name(r: &mut Reading<'_>, parameter: &Param<Option<String>>) -> String {
    let values = r.values;
    let name = values.get(parameter).unwrap_or_default();
    let (what, hint) = match () {
        () if name.contains('\\') && parameter.is(&params::USERNAME) => (
            "contains a backslash",
            "write the part before it to DOMAIN, and only the name to USERNAME",
        ),
        () if name.contains(['\\', '/', '"']) => ("is not a valid name", "write it without quotes"),
        () if name.chars().count() > NAME_CHARS_MAX => {
            ("is too long", "give 255 characters at most")
        }
        () => return name,
    };
    let shown = values.given(parameter).map(|g| g.shown());
    let message = format!("{} {what}", shown.unwrap_or_default());
    r.refuse(parameter, message, hint);
    name
}

/// Refuses a login that lacks what NTLM needs.
fn needed(r: &mut Reading<'_>, username: &str, password: &Secret) {
    let values = r.values;
    if username.is_empty() && !values.is_bad(&params::USERNAME) {
        r.refuse(&parameters::SMB_AUTH,
            "USERNAME is not set, and NTLM needs one",
            "set USERNAME, and PASSWORD_FILE with its password; or SMB_AUTH=kerberos, guest or anonymous",
        );
    }
    let was_given = password::given(values).next().is_some() || password::is_bad(values);
    if !username.is_empty() && !password.is_given() && !was_given {
        r.refuse(
            &params::USERNAME,
            "USERNAME has no password",
            "write it to the first line of a file and set PASSWORD_FILE, or set PASSWORD in the rc \
             file, or FILERMARK_PASSWORD in the environment",
        );
    }
}

/// Refuses names and passwords for guests and anonymous sessions.
fn refuse_credentials(r: &mut Reading<'_>) {
    let values = r.values;
    let how = values.get(&parameters::SMB_AUTH).name();
    let user: &'static Parameter = &params::USERNAME;
    let given = std::iter::once(user).chain(password::given(values));
    for parameter in given.filter(|p| values.given(p).is_some()) {
        let name = parameter.name;
        r.refuse(
            parameter,
            format!("{name} is set, and SMB_AUTH={how} logs in without it"),
            format!("leave {name} or SMB_AUTH out"),
        );
    }
    if let Some(domain) = values.given(&params::DOMAIN) {
        let text = format!("{} has no effect with SMB_AUTH={how}", domain.shown());
        r.reports.note(Rule::NotStandard, Severity::Note, text);
    }
}

/// Sessions of guests and anonymous sessions have no key (MS-SMB2 3.2.5.3.1).
pub(super) fn without_key(
    r: &mut Reading<'_>,
    auth: &Auth,
    signing: Signing,
    encryption: Encryption,
) {
    let values = r.values;
    if !matches!(auth, Auth::Guest | Auth::Anonymous) {
        return;
    }
    let signed = !matches!(signing, Signing::Auto | Signing::Off);
    let encrypted = !matches!(encryption, Encryption::Auto | Encryption::Off);
    let wanted: [(bool, &Parameter); 2] = [
        (signed, &parameters::SMB_SIGNING),
        (encrypted, &parameters::SMB_ENCRYPTION),
    ];
    for (is_wanted, parameter) in wanted {
        if is_wanted {
            let shown = values.given(parameter).map(|g| g.shown());
            let message = format!(
                "{} is not available with SMB_AUTH={}: such a session has no key",
                shown.unwrap_or_default(),
                values.get(&parameters::SMB_AUTH).name()
            );
            let hint = format!("leave {} out, or log in as a user", parameter.name);
            r.refuse(parameter, message, hint);
        }
    }
}

//! Users and programs on client hosts: texts that are used on a command line of ssh, whose
//! remote end is a shell.

use super::HostWordError;

/// No login name is longer; Linux allows 32, directories of users more.
const USER_BYTES_MAX: usize = 256;
/// Linux's PATH_MAX.
const PATH_BYTES_MAX: usize = 4_095;

/// Checks a user on a client: `spec`, `DOMAIN\spec`, `spec@domain`.
///
/// # Errors
/// (what is wrong, what to try).
pub(crate) fn check_user(user: &str) -> Result<(), HostWordError> {
    let hint = "give a login name: letters, digits and . _ - @ + \\";
    let wrong = |what: &str| Err((what.to_owned(), hint.to_owned()));
    if user.starts_with('-') {
        return wrong("begins with '-', as options do");
    }
    let ok = |c: char| c.is_alphanumeric() || "._-@+\\".contains(c);
    // A backslash at the end would quote what follows on the remote side.
    if user.is_empty()
        || user.len() > USER_BYTES_MAX
        || !user.chars().all(ok)
        || user.ends_with('\\')
    {
        return wrong("is not a valid user name");
    }
    Ok(())
}

/// Checks the path of a program on a client.
///
/// # Errors
/// (what is wrong, what to try).
pub(crate) fn check_program(path: &str) -> Result<(), HostWordError> {
    let hint = "give a path of letters, digits and / . _ - + @ % : , (~/ at its beginning is the user's home)";
    let wrong = |what: &str| Err((what.to_owned(), hint.to_owned()));
    let wrong_windows = |what: &str| {
        let hint = "begin the path with a drive and its root, as C:\\dir, or with ~/";
        Err((what.to_owned(), hint.to_owned()))
    };
    if path.starts_with('-') {
        return wrong("begins with '-', as options do");
    }
    let is_directory = || wrong("is a directory, not a program");
    if let [drive, b':', rest @ ..] = path.as_bytes()
        && drive.is_ascii_alphabetic()
    {
        // A path of Windows: it is between quotes in every command line.
        let ok = |c: char| c.is_alphanumeric() || "/\\._-+@,()[]{}=~#$ ".contains(c);
        if !rest.starts_with(b"/") && !rest.starts_with(b"\\") {
            return wrong_windows("has a drive, but no directory");
        }
        if path.len() > PATH_BYTES_MAX || !path[2..].chars().all(ok) {
            return wrong("has a character that cmd.exe may replace");
        }
        return match path.ends_with(['/', '\\']) {
            true => is_directory(),
            false => Ok(()),
        };
    }
    // Nor =: before a slash it would be an assignment.
    let below_home = path.strip_prefix("~/").unwrap_or(path);
    let ok = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if below_home.is_empty() || path.len() > PATH_BYTES_MAX || !below_home.chars().all(ok) {
        return wrong("has a character that is special to the shell of the client");
    }
    if path.ends_with('/') {
        return is_directory();
    }
    if path.to_ascii_lowercase().ends_with(".exe") && !path.starts_with("~/") {
        return wrong_windows("is a program of Windows without a drive");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_that_can_be() {
        for user in [
            "root",
            "spec_1",
            "DOMAIN\\administrator",
            "me@dom.org",
            "jürgen",
        ] {
            assert_eq!(check_user(user), Ok(()), "{user}");
        }
        let long = "x".repeat(257);
        for user in [
            "",
            "-l",
            "-oProxyCommand=x",
            "a b",
            "a\tb",
            "a\n",
            "a;b",
            "$(id)",
            "a`b",
            "a'b",
            "a\"",
            "a|b",
            "a&b",
            "a>b",
            "{a}",
            "x\\",
            "a\0b",
            &long,
        ] {
            assert!(check_user(user).is_err(), "{user:?}");
        }
    }

    #[test]
    fn programs_that_can_be() {
        for path in [
            "/tmp/netmist",
            "~/bin/filermark",
            "filermark",
            "bin/x-1.2",
            "/a,b:c/d%e",
            "C:\\Program Files (x86)\\filermark.exe",
            "d:/x",
            "~/bin/filermark.exe",
        ] {
            assert_eq!(check_program(path), Ok(()), "{path}");
        }
        let long = format!("/{}", "x".repeat(5000));
        for path in [
            "",
            "-x",
            "/a b",
            "/a;b",
            "/a$b",
            "/a`b`",
            "/a'b",
            "/a\"b",
            "/a|b",
            "/a&b",
            "/a>b",
            "/a<b",
            "/a*b",
            "/a?b",
            "/a[b]",
            "/a(b)",
            "/a{b}",
            "/a!b",
            "/a#b",
            "/a\\b",
            "/a\nb",
            "/a\0b",
            "LD_PRELOAD=/x",
            "~root/x",
            "/a~",
            "/tmp/",
            "~/",
            "C:",
            "C:filermark.exe",
            "C:\\",
            "C:\\bin\\",
            "C:\\%OS%\\x",
            "C:\\a&b",
            "C:\\a\"b",
            "/bin/filermark.exe",
            "bin/filermark.EXE",
            &long,
        ] {
            assert!(check_program(path).is_err(), "{path:?}");
        }
    }
}

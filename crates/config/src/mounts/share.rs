//! SMB shares in MNT_POINTS: `\\server\share\directory`, also with slashes, and
//! `smb://server:port/share/directory`.

use super::{MountWord, check_server, percent_decoded, split_authority};
use crate::error::quoted;
use filermark_model::plan::MountPoint;

/// MS-FSCC 2.1.6: characters of a share's name.
const SHARE_CHARS_MAX: usize = 80;
/// MS-FSCC 2.1.6: characters that no share's name has, in addition to control characters.
const SHARE_FORBIDDEN: &str = "\"/\\[]:|<>+=;,*?";
/// MS-FSCC 2.1.5.2: UTF-16 units of a name in a path.
const NAME_UNITS_MAX: usize = 255;
/// MS-FSCC 2.1.5.2: characters that no name has, in addition to control characters.
const NAME_FORBIDDEN: &str = "\"\\/:|<>*?";
/// UTF-16 units of the directory; the names that we create in it need space as well.
const DIRECTORY_UNITS_MAX: usize = 1024;
/// Shares that have no files of a file server.
const NO_FILES: [&str; 2] = ["IPC$", "ADMIN$"];

/// What to try when nothing better is known.
const FORM: &str = r"write \\server\share or \\server\share\directory";

/// What is wrong, and what to try.
type ShareError = (&'static str, &'static str);

/// Reads `\\server\share[\directory]`, `//server/share` or `smb://server[:port]/share`.
///
/// # Errors
/// (what is wrong, what to try).
pub fn parse_share(word: &str) -> Result<MountWord, (String, String)> {
    let with_word = |(what, hint): ShareError| {
        let message = format!("mount point '{}' {what}", shown(word));
        (message, hint.to_owned())
    };
    let (host, port, path) = split(word).map_err(with_word)?;
    let path = checked_path(&path).map_err(with_word)?;
    let mount = MountPoint {
        host: host.to_owned(),
        path,
    };
    Ok(MountWord { mount, port })
}

/// A word as messages may show it: a URL may contain a password.
pub(super) fn shown(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://") {
        let authority = rest.split(['/', '\\']).next().unwrap_or_default();
        if authority.contains('@') || rest.contains('@') {
            let after = rest.rsplit('@').next().unwrap_or_default();
            return quoted(&format!("{scheme}://...@{after}"));
        }
    }
    quoted(word)
}

/// Server, port and the rest, which begins with a separator or is empty.
fn split(word: &str) -> Result<(&str, Option<u16>, String), ShareError> {
    const URL: &str = "write smb://server/share or smb://server:port/share";
    for scheme in ["smb://", "cifs://"] {
        let Some(rest) = word.strip_prefix(scheme) else {
            continue;
        };
        if rest.contains('@') {
            let hint = "set USERNAME and PASSWORD_FILE instead; write '@' in a directory as %40";
            return Err(("names a user", hint));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_authority(authority).map_err(|what| (what, URL))?;
        check_server(host).map_err(|what| (what, URL))?;
        let path = percent_decoded(path).ok_or(("has a wrong %-escape in its path", URL))?;
        return Ok((host, port, path));
    }
    let rest = word.strip_prefix(r"\\").or(word.strip_prefix("//"));
    let Some(rest) = rest else {
        return Err(match word.starts_with('\\') {
            true => ("begins with one backslash", FORM),
            false => (
                "is not a share of an SMB server, and SMB is to be measured",
                r"write \\server\share; for NFS set FS_PROTOCOL=nfs",
            ),
        });
    };
    if rest.starts_with(r"\\") {
        let hint = r"write \\server\share: nothing is to be escaped, neither in quotes nor without";
        return Err(("has its backslashes doubled", hint));
    }
    let (host, path) = match rest.strip_prefix('[') {
        Some(inner) => {
            let (host, path) = inner
                .split_once(']')
                .ok_or(("has no closing bracket", FORM))?;
            if !host.contains(':') {
                return Err(("has no IPv6 address in its brackets", FORM));
            }
            (host, path)
        }
        None => rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len())),
    };
    let bracketed = rest.starts_with('[');
    match host.matches(':').count() {
        1 if !bracketed => {
            let hint = "write smb://server:port/share, or set SMB_PORT";
            return Err(("has a port after the server", hint));
        }
        2.. if !bracketed => {
            let hint = r"write \\[address]\share";
            return Err(("has an IPv6 address without brackets", hint));
        }
        _ => check_server(host).map_err(|what| (what, FORM))?,
    }
    if !path.is_empty() && !path.starts_with(['/', '\\']) {
        return Err(("has something between the bracket and the share", FORM));
    }
    Ok((host, None, path.to_owned()))
}

/// The share and the directory as `\share\directory`.
fn checked_path(path: &str) -> Result<String, ShareError> {
    let path = path.replace('/', r"\");
    let parts: Vec<&str> = path.trim_matches('\\').split('\\').collect();
    let Some((share, directory)) = parts.split_first().filter(|(share, _)| !share.is_empty())
    else {
        return Err(("names no share", FORM));
    };
    check_share(share)?;
    for name in directory {
        check_name(name)?;
    }
    let joined = directory.join("\\");
    if joined.encode_utf16().count() > DIRECTORY_UNITS_MAX {
        let hint = "a directory has 1024 characters at most: choose one nearer to the share";
        return Err(("has too long a directory", hint));
    }
    Ok(format!(r"\{}", parts.join("\\")))
}

fn check_share(share: &str) -> Result<(), ShareError> {
    if NO_FILES.iter().any(|name| name.eq_ignore_ascii_case(share)) {
        let hint = "name a share with space for the file set";
        return Err(("names a share for administration, not for files", hint));
    }
    let forbidden = |c: char| c.is_control() || SHARE_FORBIDDEN.contains(c);
    match share.chars().count() > SHARE_CHARS_MAX || share.contains(forbidden) {
        true => Err((
            "has an invalid share name",
            "a share's name has 80 characters at most and none of \" [ ] : | < > + = ; , * ?",
        )),
        false => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), ShareError> {
    if name.is_empty() {
        return Err(("has an empty part in its path", FORM));
    }
    let forbidden = |c: char| c.is_control() || NAME_FORBIDDEN.contains(c);
    // Servers remove blanks and dots at the end, so the name would be another one.
    let is_dropped = name.ends_with(['.', ' ']);
    match name.encode_utf16().count() > NAME_UNITS_MAX || name.contains(forbidden) || is_dropped {
        true => Err((
            "has a directory name that is not possible with SMB",
            "a name has 255 characters at most, none of \" : | < > * ?, and no dot or blank at its end",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as(word: &str) -> String {
        match parse_share(word) {
            Ok(m) => match m.port {
                Some(port) => format!("{} {port}", m.mount),
                None => m.mount.to_string(),
            },
            Err((message, hint)) => format!("{message}; {hint}"),
        }
    }

    #[test]
    fn shares_of_every_form() {
        let cases = [
            (r"\\testsys\test1", r"\\testsys\test1"),
            (r"\\testsys\test1\", r"\\testsys\test1"),
            (r"\\10.0.0.1\a\b\c", r"\\10.0.0.1\a\b\c"),
            ("//server/share", r"\\server\share"),
            ("//server/share/dir/", r"\\server\share\dir"),
            (r"\\[::1]\share\d", r"\\[::1]\share\d"),
            ("//[fe80::1%eth0]/share", r"\\[fe80::1%eth0]\share"),
            ("smb://server/share", r"\\server\share"),
            (
                "smb://server:4450/my%20share/d",
                r"\\server\my share\d 4450",
            ),
            ("smb://[::1]:4450/share", r"\\[::1]\share 4450"),
            ("cifs://server/share", r"\\server\share"),
            (r"\\server\C$", r"\\server\C$"),
            (r"\\server\größe\ü", r"\\server\größe\ü"),
        ];
        for (word, want) in cases {
            assert_eq!(shown_as(word), want);
            let mount = parse_share(word).unwrap().mount;
            assert!(mount.is_share() && mount.path.starts_with('\\'), "{word}");
        }
    }

    #[test]
    fn what_cannot_be_a_share() {
        let long = format!(r"\\s\{}", "x".repeat(81));
        let deep = format!(r"\\s\x{}", r"\1234567".repeat(140));
        let wide = format!(r"\\s\x\{}", "ü".repeat(256));
        let bad = [
            ("server:/export", "is not a share of an SMB server"),
            ("[::1]:/export", "is not a share of an SMB server"),
            ("nfs://server/x", "set FS_PROTOCOL=nfs"),
            (r"\server\share", "begins with one backslash"),
            (r"\\\\server\\share", "has its backslashes doubled"),
            (r"\\server", "names no share"),
            (r"\\server\", "names no share"),
            ("smb://server", "names no share"),
            (r"\\\share", "no valid host name"),
            (r"\\ser ver\share", "no valid host name"),
            (
                r"\\server:4450\share",
                "smb://server:port/share, or set SMB_PORT",
            ),
            (r"\\::1\share", "without brackets"),
            (r"\\[::1\share", "closing bracket"),
            (r"\\[host]\share", "no IPv6 address"),
            (r"\\[zz::1]\share", "no IPv6 address"),
            (r"\\[::1]x\share", "between the bracket"),
            (r"\\s\ipc$", "for administration"),
            (r"\\s\ADMIN$\x", "for administration"),
            (r"\\s\a:b", "invalid share name"),
            (&long, "invalid share name"),
            (r"\\s\x\a?", "not possible with SMB"),
            (r"\\s\x\..\y", "not possible with SMB"),
            (r"\\s\x\a\\b", "an empty part"),
            (&deep, "too long a directory"),
            (&wide, "not possible with SMB"),
            ("smb://s:0/x", "has a port"),
            ("smb://::1/x", "without brackets"),
            ("smb://s/%zz", "%-escape"),
            ("smb://s/a%00b", "invalid share name"),
        ];
        for (word, want) in bad {
            let got = shown_as(word);
            assert!(got.contains(want), "{word}: {got}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        for word in [
            "smb://me:geheim@server/share",
            "smb://me:geh/eim@server/share",
            "smb://dom;me:geheim@server:445/share",
        ] {
            let got = shown_as(word);
            assert!(
                got.contains("names a user") && !got.contains("eim"),
                "{got}"
            );
            let (got, _) = super::super::parse_mount(word).unwrap_err();
            assert!(!got.contains("eim"), "{got}");
        }
    }
}

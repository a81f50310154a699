//! CLIENT_MOUNTPOINTS: which client works in which directory.

use crate::error::{ConfigError, SourceLocation, quoted};
use crate::given::Values;
use crate::hosts::{CLIENTS_MAX, ClientNames, HostWordError, key, split_words};
use crate::params::{self, PROCS_MAX, Parameter};
use crate::reading::Reading;
use std::collections::HashSet;

/// Linux's PATH_MAX, less what the names below the mount point take.
const PATH_BYTES_MAX: usize = 3_000;
/// The most mistakes that are reported.
const ERRORS_MAX: usize = 50;

/// What is wrong with `C:` and `C:dir`.
const DRIVE_RELATIVE: &str = "begins at the current directory of the drive";

/// A client and a directory on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientMount {
    /// The client's name or address, without brackets.
    pub client: String,
    /// The directory.
    pub path: String,
}

/// Splits `client:/path`, `client:C:\path` or `client:\\server\share`; an IPv6 address is in
/// brackets, which it keeps, and a client may be a range.
fn split_client_mount(word: &str) -> Result<(&str, &str), HostWordError> {
    let wrong = |what: &str, hint: &str| {
        let message = format!("client mount point '{}' {what}", quoted(word));
        Err((message, hint.to_owned()))
    };
    let write = match looks_like_windows(word) {
        true => {
            "write client:C:\\dir or client:\\\\server\\share; a drive needs its backslash, as in C:\\"
        }
        false => "write client:/path, or [address]:/path for IPv6",
    };
    let (client, path) = if word.starts_with('[') {
        let Some(end) = word.find(']') else {
            return wrong("has no closing bracket", write);
        };
        match word[end + 1..].strip_prefix(':') {
            Some(path) => (&word[..=end], path),
            None => return wrong("has no ':' after the bracket", write),
        }
    } else {
        let Some(end) = client_end(word) else {
            return wrong("is not client:/path", write);
        };
        let client = &word[..end];
        if client.contains(':') {
            return wrong("has an IPv6 address without brackets", write);
        }
        (client, &word[end + 1..])
    };
    check_path(path).map_err(|(what, hint)| (format!("'{}' {what}", quoted(word)), hint))?;
    Ok((client, path))
}

/// Where the ':' is that ends the client: the first one with a whole path behind it.
fn client_end(word: &str) -> Option<usize> {
    let mut colons = word.match_indices(':').map(|(at, _)| at);
    colons.find(|at| is_rooted(&word[at + 1..]))
}

/// Whether a path begins at a root: `/`, a drive (`C:\` or `C:/`) or a share (`\\server\share`).
/// Which of them a client takes depends on its system, which is not known here.
fn is_rooted(path: &str) -> bool {
    let of_drive = || {
        let mut chars = path.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic())
            && chars.next() == Some(':')
            && matches!(chars.next(), Some('\\' | '/'))
    };
    path.starts_with('/') || path.starts_with("\\\\") || of_drive()
}

/// Whether a mount point that is wrong was meant for Windows: it has a backslash or a drive.
fn looks_like_windows(word: &str) -> bool {
    let after_client = word.split_once(':').map_or("", |(_, path)| path);
    word.contains('\\') || is_drive_relative(after_client) || is_drive_relative(word)
}

/// Whether a path of Windows begins at the current directory of a drive: `C:`, `C:dir`.
pub fn is_drive_relative(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && !matches!(chars.next(), Some('\\' | '/'))
}

/// Whether a text can be the directory to work in.
pub(crate) fn check_path(path: &str) -> Result<(), HostWordError> {
    if is_drive_relative(path) {
        return Err((DRIVE_RELATIVE.into(), format!("write {}:\\", &path[..1])));
    }
    if path.starts_with("\\\\?\\") || path.starts_with("\\\\.\\") {
        return Err((
            "begins with \\\\?\\ or \\\\.\\, which Filermark adds itself where it is needed".into(),
            "write C:\\dir or \\\\server\\share".into(),
        ));
    }
    if !is_rooted(path) {
        return Err((
            "has a path that does not begin with /".into(),
            "give the directory from / on; on Windows clients C:\\dir or \\\\server\\share".into(),
        ));
    }
    let share = path.strip_prefix("\\\\").map(|path| path.split_once('\\'));
    if matches!(share, Some(None | Some(("", _) | (_, "")))) {
        return Err((
            "names no share".into(),
            "write \\\\server\\share or \\\\server\\share\\dir".into(),
        ));
    }
    if path.len() > PATH_BYTES_MAX || path.chars().any(char::is_control) {
        return Err((
            "has an invalid path".into(),
            format!("a path has {PATH_BYTES_MAX} bytes at most and no control characters"),
        ));
    }
    Ok(())
}

/// The mount points found so far, and whether they are too many.
struct MountProblems<'a> {
    naming: &'a ClientNames,
    mounts: Vec<ClientMount>,
    clients: HashSet<String>,
}

impl MountProblems<'_> {
    /// Adds the clients of a word, each with these paths.
    fn take(&mut self, clients: &str, paths: &[&str]) -> Result<(), HostWordError> {
        let names = self
            .naming
            .names(clients)
            .map_err(|(what, hint)| (format!("'{}' {what}", quoted(clients)), hint))?;
        self.clients.extend(names.iter().map(|name| key(name)));
        let count = names.len().saturating_mul(paths.len());
        let all = (self.mounts.len() as u64).saturating_add(count as u64);
        if self.clients.len() > CLIENTS_MAX || all > PROCS_MAX {
            return Err((
                "there are too many client mount points".into(),
                format!("{CLIENTS_MAX} clients and {PROCS_MAX} mount points are the most"),
            ));
        }
        for name in &names {
            let mount = |path: &&str| ClientMount {
                client: name.clone(),
                path: (*path).to_owned(),
            };
            self.mounts.extend(paths.iter().map(mount));
        }
        Ok(())
    }
}

/// Reads lines `client path [path ...]`; `#` begins a comment. A client may have
/// several lines, and a line several clients, as a range.
fn parse_file(
    file: &str,
    text: &str,
    found: &mut MountProblems<'_>,
    errors: &mut Vec<ConfigError>,
) {
    let before = errors.len();
    for (i, line) in text.lines().enumerate() {
        if errors.len() - before >= ERRORS_MAX {
            break;
        }
        let mut words = line.split_whitespace().take_while(|w| !w.starts_with('#'));
        let Some(client) = words.next() else { continue };
        let place = SourceLocation::line(file, i + 1, 1);
        let mut report = |(message, hint): HostWordError| {
            errors.push(ConfigError::new(place.clone(), message, hint));
        };
        // Words in the form of CLIENT_MOUNTPOINTS itself are accepted, too.
        if client_end(client).is_some() {
            for word in std::iter::once(client).chain(words) {
                let taken =
                    split_client_mount(word).and_then(|(client, path)| found.take(client, &[path]));
                if let Err(wrong) = taken {
                    report(wrong);
                }
            }
            continue;
        }
        let mut paths = Vec::new();
        let mut any = false;
        for path in words {
            any = true;
            match check_path(path) {
                Ok(()) => paths.push(path),
                Err((what, hint)) => report((format!("'{}' {what}", quoted(path)), hint)),
            }
        }
        if let Err(wrong) = found.take(client, &paths) {
            report(wrong);
        }
        if !any {
            let message = format!("client {} has no directory", quoted(client));
            report((message, "write: client path [path ...]".into()));
        }
    }
}

/// Resolves CLIENT_MOUNTPOINTS: all of its directories in their order; `None`:
/// something is wrong, which is reported.
pub(crate) fn client_mounts(r: &mut Reading<'_>) -> Option<Vec<ClientMount>> {
    let (values, sources) = (r.values, r.sources);
    let place = values.place(&params::CLIENT_MOUNTPOINTS);
    let text = values.get(&params::CLIENT_MOUNTPOINTS).join(" ");
    let words = split_words(&text);
    let before = r.reports.errors.len();
    let naming = ClientNames::new(values, sources.host.slurm_nodes.as_deref());
    let mut found = MountProblems {
        naming: &naming,
        mounts: Vec::new(),
        clients: HashSet::new(),
    };
    match words.as_slice() {
        [] => {
            if !values.is_bad(&params::CLIENT_MOUNTPOINTS) {
                r.reports.refuse(
                    SourceLocation::Missing,
                    "CLIENT_MOUNTPOINTS is not set",
                    missing_hint(values),
                );
            }
            return None;
        }
        [file] if client_end(file).is_none() && !file.contains('[') => {
            match sources.read_beside("CLIENT_MOUNTPOINTS", file, &[sources.folder()]) {
                Ok((path, text)) => {
                    parse_file(&path, &text, &mut found, &mut r.reports.errors);
                    if found.mounts.is_empty() && r.reports.errors.len() == before {
                        let hint = "write lines: client path [path ...]";
                        let message = "there is no client in it";
                        r.reports.refuse(SourceLocation::File(path), message, hint);
                    }
                }
                Err(why) => {
                    let message = format!(
                        "CLIENT_MOUNTPOINTS={} is not client:/path, and a file of that name {why}",
                        quoted(file)
                    );
                    let form = match looks_like_windows(file) {
                        true => r"client:C:\dir or client:\\server\share",
                        false => "client:/path",
                    };
                    let hint = format!("write {form}, or name a file with 'client path ...' lines");
                    r.reports.refuse(place, message, hint);
                }
            }
        }
        words => {
            for word in words {
                let taken =
                    split_client_mount(word).and_then(|(client, path)| found.take(client, &[path]));
                if let Err((message, hint)) = taken {
                    r.reports.refuse(place.clone(), message, hint);
                }
                if r.reports.errors.len() - before >= ERRORS_MAX {
                    break;
                }
            }
        }
    }
    (r.reports.errors.len() == before).then_some(found.mounts)
}

fn missing_hint(values: &Values) -> &'static str {
    let set = |parameter: &Parameter| values.given(parameter).is_some();
    match set(&params::UNIX_CLIENT_MOUNTPOINTS) {
        true => "copy UNIX_CLIENT_MOUNTPOINTS to it",
        false if set(&params::MNT_POINTS) => {
            "MNT_POINTS is for classical benchmarks; mount the export and name the directory, \
             e.g. CLIENT_MOUNTPOINTS=localhost:/mnt/test"
        }
        false => "name the mounted directory, e.g. CLIENT_MOUNTPOINTS=localhost:/mnt/test",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(launcher: &str, nodes: Option<&str>) -> ClientNames {
        let mut values = Values::default();
        let launcher = crate::rc::parse_rc("t", &format!("LAUNCHER={launcher}"));
        values.take(&launcher.assignments, &mut Vec::new());
        ClientNames::new(&values, nodes)
    }

    fn taken(word: &str, naming: &ClientNames) -> Result<String, HostWordError> {
        let mut found = MountProblems {
            naming,
            mounts: Vec::new(),
            clients: HashSet::new(),
        };
        let (client, path) = split_client_mount(word)?;
        found.take(client, &[path])?;
        let text = |m: &ClientMount| format!("{} {}", m.client, m.path);
        Ok(found.mounts.iter().map(text).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn what_looks_like_windows_gets_advice_for_it() {
        let hint = |word: &str| split_client_mount(word).unwrap_err().1;
        let windows = [
            r"C:\bench",
            r"\\server\share",
            "w1:D:",
            "w1:D:dir",
            r"w1:\dir",
        ];
        for word in windows {
            let hint = hint(word);
            assert!(
                hint.contains(r"client:C:\dir or client:\\server\share"),
                "{word}: {hint}"
            );
        }
        assert!(hint("localhost:mnt").starts_with("write client:/path"));
        for prefix in [r"w1:\\?\C:\dir", r"w1:\\.\C:\dir"] {
            let (message, hint) = split_client_mount(prefix).unwrap_err();
            assert!(message.contains(r"begins with \\?\ or \\.\"), "{message}");
            assert!(hint.starts_with(r"write C:\dir"), "{hint}");
        }
    }

    #[test]
    fn the_current_directory_of_a_drive_is_no_mount_point() {
        for path in ["C:", "d:", "C:dir"] {
            assert!(is_drive_relative(path), "{path}");
            let (message, hint) = check_path(path).unwrap_err();
            assert_eq!(message, DRIVE_RELATIVE);
            assert_eq!(hint, format!("write {}:\\", &path[..1]));
        }
        for path in [r"C:\", "C:/", r"\\s\a", "/mnt", "", ":", "nas:/vol"] {
            assert!(!is_drive_relative(path), "{path}");
        }
    }

    #[test]
    fn words_of_every_form() {
        let auto = naming("auto", Some("n[1-2]"));
        let good = [
            ("localhost:/mnt/test", "localhost /mnt/test"),
            ("a.b-c_d:/", "a.b-c_d /"),
            ("h:/a:/b", "h /a:/b"),
            ("[::1]:/mnt", "::1 /mnt"),
            ("[fe80::1%eth0]:/mnt", "fe80::1%eth0 /mnt"),
            ("nv[09-10]:/m[1]", "nv09 /m[1], nv10 /m[1]"),
            ("slurm:/m", "slurm /m"),
            (r"w1:C:\bench", r"w1 C:\bench"),
            ("w1:d:/bench", "w1 d:/bench"),
            (r"c:\\server\share", r"c \\server\share"),
            (r"w[1-2]:\\s\a\b", r"w1 \\s\a\b, w2 \\s\a\b"),
            (r"[::1]:C:\bench", r"::1 C:\bench"),
            ("c:/mnt", "c /mnt"),
        ];
        for (word, want) in good {
            assert_eq!(taken(word, &auto).unwrap(), want);
        }
        let slurm = naming("slurm", Some("n[1-2]"));
        assert_eq!(taken("slurm:/m", &slurm).unwrap(), "n1 /m, n2 /m");
        assert!(taken("slurm:/m", &naming("slurm", None)).is_err());
        let bad = [
            ("localhost", "is not client:/path"),
            ("localhost:mnt", "is not client:/path"),
            (":/mnt", "has an invalid client name"),
            ("a b:/mnt", "has an invalid client name"),
            ("-a:/mnt", "begins with '-'"),
            ("::1:/mnt", "without brackets"),
            ("[::1:/mnt", "closing bracket"),
            ("[host]:/mnt", "no IPv6 address"),
            ("[::1]/mnt", "no ':' after"),
            ("[::1]:mnt", "begin with /"),
            ("c[1-3:/mnt", "closing bracket"),
            ("c[1-20000]:/mnt", "stands for 20000 hosts"),
            (r"\\server\share", "is not client:/path"),
            (r"C:\bench", "is not client:/path"),
            (r"w1:C:bench", "is not client:/path"),
            (r"w1:\\server", "names no share"),
            (r"w1:\\\share", "names no share"),
        ];
        for (word, want) in bad {
            let (message, _) = taken(word, &auto).unwrap_err();
            assert!(message.contains(want), "{word}: {message}");
        }
        assert!(taken(&format!("h:/{}", "x".repeat(9999)), &auto).is_err());
    }

    #[test]
    fn mistakes_in_a_file_of_clients_have_their_line() {
        let auto = naming("auto", None);
        let mut found = MountProblems {
            naming: &auto,
            mounts: Vec::new(),
            clients: HashSet::new(),
        };
        let mut errors = Vec::new();
        let text = "# c\r\nlocalhost /a /b # x\r\n\nlocalhost /c\n[::1] /d\nc[1-2] /e /f\n";
        parse_file("f", text, &mut found, &mut errors);
        assert_eq!(errors, []);
        let text = |m: &ClientMount| format!("{}{}", m.client, m.path);
        let texts: Vec<_> = found.mounts.iter().map(text).collect();
        assert_eq!(
            texts.join(" "),
            "localhost/a localhost/b localhost/c ::1/d c1/e c1/f c2/e c2/f"
        );
        found.mounts.clear();
        parse_file("f", "c1:/a [::1]:/b\nc2:/a\n", &mut found, &mut errors);
        let texts: Vec<_> = found.mounts.iter().map(text).collect();
        assert_eq!(texts.join(" "), "c1/a ::1/b c2/a");
        let text = "localhost\nlocalhost x\n-nv3 /mnt\nc[1-3 /x\n";
        parse_file("f", text, &mut found, &mut errors);
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(messages[0].starts_with("f:1:1: client localhost has no directory"));
        assert!(messages[1].starts_with("f:2:1: 'x' has a path that does not begin"));
        assert!(messages[2].starts_with("f:3:1: '-nv3' has a client name that begins with '-'"));
        assert!(messages[3].starts_with("f:4:1: 'c[1-3' has no closing bracket"));
    }

    #[test]
    fn too_many_mount_points_are_refused_before_they_are_made() {
        let auto = naming("auto", None);
        let mut found = MountProblems {
            naming: &auto,
            mounts: Vec::new(),
            clients: HashSet::new(),
        };
        found.take("a[1-9999]", &["/x"; 10]).unwrap();
        let (message, _) = found.take("a[1-11]", &["/x"]).unwrap_err();
        assert!(message.contains("too many"), "{message}");
        found.mounts.clear();
        assert!(found.take("b[1-2]", &["/x"]).is_err(), "10001 clients");
    }
}

//! CLIENT_MOUNTPOINTS: which client works in which directory.

use crate::error::{ConfigError, Place, quoted};
use crate::sources::{Host, Sources, read_beside};
use crate::values::Values;
use std::net::Ipv6Addr;

/// Linux's PATH_MAX, less what the names below the mount point take.
const PATH_BYTES_MAX: usize = 3_000;
/// RFC 1035, section 2.3.4.
const HOST_BYTES_MAX: usize = 255;

/// A client and a directory on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientMount {
    /// The client's name or address, without brackets.
    pub client: String,
    /// The directory.
    pub path: String,
}

/// A word or line that is no mount point: (what is wrong, what to try).
type Wrong = (String, String);

/// Reads `client:/path` or `[address]:/path`.
///
/// # Errors
/// (what is wrong, what to try).
pub fn parse_client_mount(word: &str) -> Result<ClientMount, Wrong> {
    let wrong = |what: &str, hint: &str| {
        let message = format!("client mount point '{}' {what}", quoted(word));
        Err((message, hint.to_owned()))
    };
    let write = "write client:/path, or [address]:/path for IPv6";
    if word.contains(":\\\\") || word.starts_with("\\\\") {
        return wrong(
            "is a Windows share; Windows clients are not built yet",
            "mount it here and write client:/path",
        );
    }
    let (client, path) = if let Some(rest) = word.strip_prefix('[') {
        let Some((address, rest)) = rest.split_once(']') else {
            return wrong("has no closing bracket", write);
        };
        let bare = address.split('%').next().unwrap_or_default();
        if bare.parse::<Ipv6Addr>().is_err() {
            return wrong("has no IPv6 address in its brackets", write);
        }
        match rest.strip_prefix(':') {
            Some(path) => (address, path),
            None => return wrong("has no ':' after the bracket", write),
        }
    } else {
        let Some((client, _)) = word.split_once(":/") else {
            return wrong("is not client:/path", write);
        };
        if client.contains(':') {
            return wrong("has an IPv6 address without brackets", write);
        }
        (client, &word[client.len() + 1..])
    };
    check_client(client)
        .map_err(|what| (format!("'{}' {what}", quoted(word)), write.to_owned()))?;
    check_path(path).map_err(|(what, hint)| (format!("'{}' {what}", quoted(word)), hint))?;
    Ok(ClientMount {
        client: client.to_owned(),
        path: path.to_owned(),
    })
}

/// Whether a text can be a client's name.
pub(crate) fn check_client(client: &str) -> Result<(), &'static str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
    match client.is_empty() || client.len() > HOST_BYTES_MAX || !client.chars().all(is_name) {
        true => Err("has no client name that can be"),
        false => Ok(()),
    }
}

/// Whether a text can be the directory to work in.
pub(crate) fn check_path(path: &str) -> Result<(), Wrong> {
    if path.starts_with("\\\\") {
        return Err((
            "is a Windows share; Windows clients are not built yet".into(),
            "mount it here and give the directory".into(),
        ));
    }
    if !path.starts_with('/') {
        return Err((
            "has a path that does not begin with /".into(),
            "give the directory from / on".into(),
        ));
    }
    if path.len() > PATH_BYTES_MAX || path.chars().any(char::is_control) {
        return Err((
            "has a path that cannot be".into(),
            format!("a path has {PATH_BYTES_MAX} bytes at most and no control characters"),
        ));
    }
    Ok(())
}

/// Reads lines `client path [path ...]`; `#` begins a comment. A client may have
/// several lines.
fn parse_file(
    file: &str,
    text: &str,
    host: &Host,
    errors: &mut Vec<ConfigError>,
) -> Vec<ClientMount> {
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace().take_while(|w| !w.starts_with('#'));
        let Some(client) = words.next() else { continue };
        let place = Place::line(file, i + 1, 1);
        let mut complain = |message: String, hint: &str| {
            errors.push(ConfigError::new(place.clone(), message, hint));
        };
        let client = client.trim_start_matches('[').trim_end_matches(']');
        let whole = "write: client path [path ...]";
        if let Err(what) = check_client(client) {
            complain(format!("'{}' {what}", quoted(client)), whole);
            continue;
        }
        if !host.is_me(client) {
            complain(elsewhere(client, host), START_THERE);
        }
        let mut any = false;
        for path in words {
            any = true;
            match check_path(path) {
                Ok(()) => found.push(ClientMount {
                    client: client.to_owned(),
                    path: path.to_owned(),
                }),
                Err((what, hint)) => complain(format!("'{}' {what}", quoted(path)), &hint),
            }
        }
        if !any {
            let message = format!("client {} has no directory", quoted(client));
            complain(message, whole);
        }
    }
    found
}

/// What to do about a client that is elsewhere.
pub(crate) const START_THERE: &str =
    "name this host (localhost), or start Filermark there; other hosts are not built yet";

/// The sentence on a client that is elsewhere.
pub(crate) fn elsewhere(client: &str, host: &Host) -> String {
    format!(
        "client '{}' is not this host ({}), and load is made on this host only",
        quoted(client),
        quoted(&host.name)
    )
}

/// Resolves CLIENT_MOUNTPOINTS: all of its directories in their order; `None`:
/// something is wrong, which is told.
pub(crate) fn client_mounts(
    values: &Values,
    sources: &Sources,
    errors: &mut Vec<ConfigError>,
) -> Option<Vec<ClientMount>> {
    let place = values.place("CLIENT_MOUNTPOINTS");
    let text = values.list("CLIENT_MOUNTPOINTS").join(" ");
    let words: Vec<&str> = text.split([' ', ',']).filter(|w| !w.is_empty()).collect();
    let before = errors.len();
    let found = match words.as_slice() {
        [] => {
            if !values.is_bad("CLIENT_MOUNTPOINTS") {
                errors.push(ConfigError::new(
                    Place::Missing,
                    "CLIENT_MOUNTPOINTS is not set",
                    missing_hint(values),
                ));
            }
            return None;
        }
        [file] if !file.contains(":/") && !file.contains(['[', '\\']) => {
            match read_beside(file, &[sources.folder()]) {
                Ok((path, text)) => {
                    let found = parse_file(&path, &text, &sources.host, errors);
                    if found.is_empty() && errors.len() == before {
                        let hint = "write lines: client path [path ...]";
                        let message = "there is no client in it";
                        errors.push(ConfigError::new(Place::File(path), message, hint));
                    }
                    found
                }
                Err(why) => {
                    let message = format!(
                        "CLIENT_MOUNTPOINTS={} is no client:/path, and a file of that name {why}",
                        quoted(file)
                    );
                    let hint = "write client:/path, or name a file with 'client path ...' lines";
                    errors.push(ConfigError::new(place, message, hint));
                    Vec::new()
                }
            }
        }
        words => from_words(words, &sources.host, &place, errors),
    };
    (errors.len() == before).then_some(found)
}

fn from_words(
    words: &[&str],
    host: &Host,
    place: &Place,
    errors: &mut Vec<ConfigError>,
) -> Vec<ClientMount> {
    let mut found = Vec::new();
    let mut strangers: Vec<String> = Vec::new();
    for word in words {
        match parse_client_mount(word) {
            Ok(mount) => {
                let known = strangers.contains(&mount.client);
                if !known && !host.is_me(&mount.client) {
                    let message = elsewhere(&mount.client, host);
                    errors.push(ConfigError::new(place.clone(), message, START_THERE));
                    strangers.push(mount.client.clone());
                }
                found.push(mount);
            }
            Err((message, hint)) => errors.push(ConfigError::new(place.clone(), message, hint)),
        }
    }
    found
}

fn missing_hint(values: &Values) -> &'static str {
    let set = |name: &str| values.given(name).is_some();
    match set("UNIX_CLIENT_MOUNTPOINTS") {
        true => "copy UNIX_CLIENT_MOUNTPOINTS to it",
        false if set("MNT_POINTS") => {
            "MNT_POINTS is for classical benchmarks; mount the export and name the directory, \
             e.g. CLIENT_MOUNTPOINTS=localhost:/mnt/test"
        }
        false => "name the mounted directory, e.g. CLIENT_MOUNTPOINTS=localhost:/mnt/test",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_form() {
        let good = [
            ("localhost:/mnt/test", "localhost /mnt/test"),
            ("a.b-c_d:/", "a.b-c_d /"),
            ("h:/a:/b", "h /a:/b"),
            ("[::1]:/mnt", "::1 /mnt"),
            ("[fe80::1%eth0]:/mnt", "fe80::1%eth0 /mnt"),
        ];
        for (word, want) in good {
            let m = parse_client_mount(word).unwrap();
            assert_eq!(format!("{} {}", m.client, m.path), want);
        }
        let bad = [
            ("localhost", "is not client:/path"),
            ("localhost:mnt", "is not client:/path"),
            (":/mnt", "has no client name"),
            ("a b:/mnt", "has no client name"),
            ("::1:/mnt", "without brackets"),
            ("[::1:/mnt", "closing bracket"),
            ("[host]:/mnt", "no IPv6 address"),
            ("[::1]/mnt", "no ':' after"),
            ("[::1]:mnt", "begin with /"),
            (r"host:\\server\share", "Windows clients are not built"),
            (r"\\server\share", "Windows clients are not built"),
        ];
        for (word, want) in bad {
            let (message, _) = parse_client_mount(word).unwrap_err();
            assert!(message.contains(want), "{word}: {message}");
        }
        assert!(parse_client_mount(&format!("h:/{}", "x".repeat(9999))).is_err());
    }

    #[test]
    fn a_file_of_clients_is_told_by_line() {
        let host = Host {
            name: "here".into(),
            uid: 0,
            gid: 0,
            mem_bytes: None,
        };
        let mut errors = Vec::new();
        let text = "# c\r\nlocalhost /a /b # x\r\n\nlocalhost /c\n[::1] /d\n";
        let found = parse_file("f", text, &host, &mut errors);
        assert_eq!(errors, []);
        let paths: Vec<_> = found.iter().map(|m| m.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b", "/c", "/d"]);
        parse_file(
            "f",
            "localhost\nlocalhost x\nnv3 /mnt\n",
            &host,
            &mut errors,
        );
        let said: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(said[0].starts_with("f:1:1: client localhost has no directory"));
        assert!(said[1].starts_with("f:2:1: 'x' has a path that does not begin"));
        assert!(said[2].starts_with("f:3:1: client 'nv3' is not this host (here)"));
    }
}

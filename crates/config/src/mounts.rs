//! MNT_POINTS: the three classical forms, of NFS exports and SMB shares, and which proc
//! gets which.

mod file;
mod share;

pub(crate) use file::parse_mount_file;
pub use share::parse_share;

use filermark_model::plan::{ClientPlan, MountPoint};

/// RFC 1813, section 5.1.1: MNTPATHLEN.
const PATH_BYTES_MAX: usize = 1024;
/// RFC 1035, section 2.3.4.
const HOST_BYTES_MAX: usize = 255;

/// One word of MNT_POINTS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountWord {
    /// The server and the path.
    pub mount: MountPoint,
    /// The port, where an nfs:// or smb:// URL names one.
    pub port: Option<u16>,
}

/// How mount points of classical benchmarks are written.
#[derive(Debug)]
pub(crate) struct MountSyntax {
    /// Reads a word of MNT_POINTS; the error is (what is wrong, what to try).
    pub parse: fn(&str) -> Result<MountWord, (String, String)>,
    /// A mount point, for templates and messages.
    pub example: &'static str,
    /// What a mount point is, in messages.
    pub noun: &'static str,
    /// How it is written, in messages.
    pub form: &'static str,
}

/// `host:/path`
pub(crate) static EXPORTS: MountSyntax = MountSyntax {
    parse: parse_mount,
    example: "server:/export",
    noun: "export",
    form: "host:/path",
};

/// `\\host\share`
pub(crate) static SHARES: MountSyntax = MountSyntax {
    parse: parse_share,
    example: r"\\server\share",
    noun: "share",
    form: r"\\host\share",
};

/// Whether a word looks like a file name rather than a mount point.
pub(crate) fn looks_like_file(word: &str) -> bool {
    !word.contains(':') && !looks_like_share(word)
}

/// Whether a word looks like a share of an SMB server.
fn looks_like_share(word: &str) -> bool {
    let starts = [r"\", "//", "smb://", "cifs://"];
    starts.into_iter().any(|start| word.starts_with(start))
}

/// Reads `host:/path`, `[address]:/path` or `nfs://host[:port]/path`.
///
/// # Errors
/// (what is wrong, what to try).
pub fn parse_mount(word: &str) -> Result<MountWord, (String, String)> {
    let shown = share::shown(word);
    let wrong =
        |what: &str, hint: &str| Err((format!("mount point '{shown}' {what}"), hint.to_owned()));
    if looks_like_share(word) {
        return wrong(
            "is a share of an SMB server, and NFS is to be measured",
            "set FS_PROTOCOL=smb (SMB 2 and 3) or cifs (SMB1), or name an NFS export as host:/path",
        );
    }
    let (host, port, path) = match word.strip_prefix("nfs://") {
        Some(url) => match split_url(url) {
            Ok(parts) => parts,
            Err(what) => return wrong(what, "write nfs://host/path or nfs://host:port/path"),
        },
        None => match split_classical(word) {
            Ok((host, path)) => (host, None, path.to_owned()),
            Err(what) => return wrong(what, "write host:/path, or [address]:/path for IPv6"),
        },
    };
    if let Err(what) = check_server(host) {
        let hint = match host.contains(':') {
            true => "write [::1]:/export",
            false => "write host:/path",
        };
        return wrong(what, hint);
    }
    if path.len() > PATH_BYTES_MAX || path.chars().any(char::is_control) {
        return wrong(
            "has a path that is not possible with NFS",
            "a path has 1024 bytes at most and no control characters",
        );
    }
    let mount = MountPoint {
        host: host.to_owned(),
        path,
    };
    Ok(MountWord { mount, port })
}

/// Checks a server's name or address (without brackets); the error is what is wrong.
fn check_server(host: &str) -> Result<(), &'static str> {
    let address = host.split('%').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if host.contains(':') {
        return match address.parse::<std::net::Ipv6Addr>() {
            Ok(_) => Ok(()),
            Err(_) => Err("has no IPv6 address in its brackets"),
        };
    }
    match host.is_empty() || host.len() > HOST_BYTES_MAX || !host.chars().all(is_name) {
        true => Err("has no valid host name"),
        false => Ok(()),
    }
}

fn split_classical(word: &str) -> Result<(&str, &str), &'static str> {
    if let Some(rest) = word.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("has no closing bracket")?;
        if !host.contains(':') {
            return Err("has no IPv6 address in its brackets");
        }
        let path = rest
            .strip_prefix(':')
            .ok_or("has no ':' after the bracket")?;
        return match path.starts_with('/') {
            true => Ok((host, path)),
            false => Err("has a path that does not begin with /"),
        };
    }
    let Some((host, _)) = word.split_once(":/") else {
        return Err("is not host:/path");
    };
    if host.contains(':') {
        return Err("has an IPv6 address without brackets");
    }
    Ok((host, &word[host.len() + 1..]))
}

/// RFC 2224's URL, the path taken as absolute.
fn split_url(url: &str) -> Result<(&str, Option<u16>, String), &'static str> {
    let at = url.find('/').ok_or("has no path")?;
    let (authority, path) = url.split_at(at);
    let (host, port) = split_authority(authority)?;
    let path = percent_decoded(path).ok_or("has a wrong %-escape in its path")?;
    Ok((host, port, format!("/{}", path.trim_start_matches('/'))))
}

/// The host of a URL, without brackets, and its port.
fn split_authority(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("has no closing bracket")?;
            if !host.contains(':') {
                return Err("has no IPv6 address in its brackets");
            }
            match rest {
                "" => (host, None),
                _ => (
                    host,
                    Some(rest.strip_prefix(':').ok_or("has no ':' before its port")?),
                ),
            }
        }
        None => match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("has an IPv6 address without brackets");
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => return Err("has a port that is not 1 to 65535"),
    };
    Ok((host, port))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

/// Divides a list among the clients (manual M, section 3.3, NUM_PROCS).
///
/// # Errors
/// The rule with its three numbers, when the list is neither PROCS long, nor
/// PROCS times the clients, nor a single one.
pub fn deal(
    mounts: &[MountPoint],
    clients: &[String],
    procs: u32,
) -> Result<Vec<ClientPlan>, String> {
    let per_client = procs as usize;
    let all = per_client.saturating_mul(clients.len());
    let take = |i: usize| -> Vec<MountPoint> {
        match mounts {
            [one] => vec![one.clone(); per_client],
            _ if mounts.len() == per_client => mounts.to_vec(),
            _ => mounts[i * per_client..(i + 1) * per_client].to_vec(),
        }
    };
    if ![1, per_client, all].contains(&mounts.len()) {
        return Err(format!(
            "MNT_POINTS lists {} mount points, PROCS is {procs} and CLIENTS names {}: \
             the list must have {per_client} (PROCS){}, or a single one for all",
            mounts.len(),
            clients.len(),
            if all == per_client {
                String::new()
            } else {
                format!(" or {all} (PROCS x CLIENTS)")
            },
        ));
    }
    let plan = |(i, name): (usize, &String)| ClientPlan {
        name: name.clone(),
        mounts: take(i),
    };
    Ok(clients.iter().enumerate().map(plan).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(word: &str) -> String {
        match parse_mount(word) {
            Ok(m) => match m.port {
                Some(port) => format!("{} {port}", m.mount),
                None => m.mount.to_string(),
            },
            Err((message, _)) => message,
        }
    }

    #[test]
    fn mount_points_of_every_form() {
        let cases = [
            ("server:/export", "server:/export"),
            ("server:/", "server:/"),
            ("10.0.0.1:/a/b:/c", "10.0.0.1:/a/b:/c"),
            ("[::1]:/export", "[::1]:/export"),
            ("[fe80::1%eth0]:/x", "[fe80::1%eth0]:/x"),
            ("nfs://server/export", "server:/export"),
            ("nfs://server:2050//a%20b", "server:/a b 2050"),
            ("nfs://[::1]:2050/x", "[::1]:/x 2050"),
        ];
        for (word, want) in cases {
            assert_eq!(shown(word), want);
        }
        let bad = [
            (r"\\server\share", "is a share of an SMB server"),
            ("smb://server/share", "is a share of an SMB server"),
            ("server", "is not host:/path"),
            ("server:export", "is not host:/path"),
            (":/export", "has no valid host name"),
            ("::1:/export", "without brackets"),
            ("[::1:/export", "closing bracket"),
            ("[host]:/export", "no IPv6 address"),
            ("[zz::1]:/export", "no IPv6 address"),
            ("[::1]/export", "no ':' after the bracket"),
            ("[::1]:export", "begin with /"),
            ("ser ver:/export", "has no valid host name"),
            ("nfs://server", "has no path"),
            ("nfs://server:0/x", "has a port"),
            ("nfs://server:99999/x", "has a port"),
            ("nfs://::1/x", "without brackets"),
            ("nfs://server/%zz", "%-escape"),
            ("nfs://server/%f", "%-escape"),
        ];
        for (word, want) in bad {
            let got = shown(word);
            assert!(got.contains(want), "{word}: {got}");
        }
        assert!(shown(&format!("h:/{}", "x".repeat(2000))).contains("not possible with NFS"));
    }

    fn mounts(n: usize) -> Vec<MountPoint> {
        (0..n)
            .map(|i| parse_mount(&format!("s:/{i}")).unwrap().mount)
            .collect()
    }

    #[test]
    fn dealing_follows_the_rule_of_three_numbers() {
        let clients = ["a".to_owned(), "b".to_owned()];
        let paths = |plans: &[ClientPlan]| -> Vec<String> {
            let path = |c: &ClientPlan| c.mounts.iter().map(|m| m.path.as_str()).collect();
            plans.iter().map(path).collect()
        };
        let same = deal(&mounts(3), &clients, 3).unwrap();
        assert_eq!(paths(&same), ["/0/1/2", "/0/1/2"]);
        let each = deal(&mounts(6), &clients, 3).unwrap();
        assert_eq!(paths(&each), ["/0/1/2", "/3/4/5"]);
        let one = deal(&mounts(1), &clients, 3).unwrap();
        assert_eq!(paths(&one), ["/0/0/0", "/0/0/0"]);
        let error = deal(&mounts(4), &clients, 3).unwrap_err();
        assert!(
            error.contains("lists 4") && error.contains("PROCS is 3"),
            "{error}"
        );
        assert!(
            error.contains("names 2") && error.contains("6 (PROCS x CLIENTS)"),
            "{error}"
        );
    }
}

//! What `quick` measures: a directory, an NFS export or an SMB share.

use filermark_cli_kit::exit::CommandError;
use filermark_config::is_drive_relative;
use filermark_model::text::{one_line, quoted};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The forms of a target, for messages.
const FORMS: &str =
    r"give a directory, host:/export, nfs://host/export, \\host\share or smb://host/share";

/// A target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A directory of a mounted or local file system.
    Directory(PathBuf),
    /// An NFS export, as MNT_POINTS has it.
    Nfs(String),
    /// An SMB share.
    Smb {
        /// As MNT_POINTS has it.
        share: String,
        /// The user that the URL names.
        user: Option<String>,
    },
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        let usage = |sentence: String| Err(CommandError::Usage(vec![sentence]));
        if cfg!(windows) && is_drive_relative(text) {
            return usage(format!(
                "{}: this begins at the current directory of the drive; write {}:\\",
                quoted(text),
                &text[..1]
            ));
        }
        let path = Path::new(text);
        let is_directory = path.is_dir();
        if !is_directory && has_password(text) {
            return usage(PASSWORD.into());
        }
        if let Some((scheme, rest)) = text.split_once("://").filter(|_| !is_directory) {
            return match scheme.to_ascii_lowercase().as_str() {
                "nfs" => Ok(Self::Nfs(format!("nfs://{rest}"))),
                "smb" | "cifs" => Ok(share_of_url(rest)),
                _ => usage(format!("{}:// is not known; {FORMS}", quoted(scheme))),
            };
        }
        if text.starts_with(r"\\") || (text.starts_with("//") && (cfg!(windows) || !is_directory)) {
            return Ok(Self::Smb {
                share: text.to_owned(),
                user: None,
            });
        }
        if path.is_dir() {
            let path = std::path::absolute(path).map_err(CommandError::of)?;
            // Rc files separate mount points by these.
            let shown = path
                .to_str()
                .filter(|p| !p.contains([' ', '\t', '\n', '\r', ',', '\'', '"']));
            return match shown {
                Some(_) => Ok(Self::Directory(path)),
                None => usage(format!(
                    "{}: the path has a blank, comma, quote, line end or a character that is not \
                     UTF-8, which rc files cannot hold; make a link or a bind mount with another \
                     name, and give that",
                    one_line(&path.to_string_lossy())
                )),
            };
        }
        if path.exists() {
            return usage(format!("{text} is not a directory; {FORMS}"));
        }
        match text.split_once(":/") {
            // One letter is a drive of Windows.
            Some((host, _)) if !host.is_empty() && !host.contains('/') && !is_drive(host) => {
                Ok(Self::Nfs(text.to_owned()))
            }
            _ => usage(format!("{text}: there is no such directory; {FORMS}")),
        }
    }

    /// The protocol in words; `options` are names and values of parameters.
    pub fn protocol(&self, options: &[(String, String)]) -> String {
        match self {
            Self::Directory(_) => "file system".to_owned(),
            Self::Nfs(_) => {
                let mut versions = options.iter().rev();
                let version = versions.find(|(name, _)| name == "NFS_VERSION");
                format!(
                    "NFSv{}",
                    version.map_or("3", |(_, version)| version.as_str())
                )
            }
            Self::Smb { .. } => "SMB".to_owned(),
        }
    }

    /// As messages show it.
    pub fn name(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Nfs(export) => export.clone(),
            Self::Smb { share, .. } => share.clone(),
        }
    }
}

/// Whether the text before a colon is a drive, on a system that has drives.
fn is_drive(before_colon: &str) -> bool {
    cfg!(windows) && before_colon.len() == 1
}

/// What is stated about a password in a target.
const PASSWORD: &str = "the target has a password, which other users could read in the list of \
                        processes: set FILERMARK_PASSWORD, or give -o PASSWORD_FILE=FILE";

/// Whether a target that is no directory has `user:password@`, also where the password has slashes.
/// An `@` in the path of an export or a share is no such thing: `nas:/vol/@home`.
fn has_password(text: &str) -> bool {
    let (is_url, rest) = match text.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, text),
    };
    let begin = rest.trim_start_matches(['\\', '/']);
    if !is_url && begin.len() == rest.len() {
        return false;
    }
    let Some((user, _)) = begin.rsplit_once('@') else {
        return false;
    };
    let Some((_, after)) = user.split_once(':') else {
        return false;
    };
    // A port, and the path behind it; addresses in brackets have colons of their own.
    let digits = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port = after.len() > digits.len() && digits.starts_with(['/', '\\']);
    !is_port && !user.starts_with('[')
}

/// The rest of an SMB URL, which may name a user.
fn share_of_url(rest: &str) -> Target {
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        None => Target::Smb {
            share: format!("smb://{rest}"),
            user: None,
        },
        Some((user, _)) => Target::Smb {
            share: format!("smb://{}", &rest[user.len() + 1..]),
            user: Some(user.to_owned()),
        },
    }
}

/// How long a portmapper may take to accept a connection.
const PORTMAPPER_LIMIT: Duration = Duration::from_secs(2);
const PORTMAPPER_PORT: u16 = 111;

impl Target {
    /// The port that an NFS URL names, if the host has no portmapper: MOUNT is then served on
    /// the same port, as user-space servers do.
    pub fn mount_port(&self) -> Option<u16> {
        let Self::Nfs(export) = self else { return None };
        let authority = export.strip_prefix("nfs://")?.split('/').next()?;
        let (host, port) = authority.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let mut found = (host, PORTMAPPER_PORT).to_socket_addrs().ok()?;
        let answers = |at| TcpStream::connect_timeout(&at, PORTMAPPER_LIMIT).is_ok();
        (!found.any(answers)).then_some(port)
    }
}

/// The free space of a directory's file system for this user, in bytes.
///
/// # Errors
/// It cannot be read.
pub fn free_bytes(dir: &Path) -> Result<u64, CommandError> {
    let free = filermark_system::free_bytes(dir);
    free.map_err(|e| CommandError::Failed(format!("{}: {e}", dir.display())))
}

/// Whether files of a directory can be opened for direct I/O. Creates a file for a moment.
///
/// # Errors
/// No file can be created there.
pub fn takes_direct(dir: &Path) -> Result<bool, CommandError> {
    filermark_drivers::takes_direct(dir).map_err(|e| {
        let place = dir.display();
        CommandError::Failed(format!(
            "no file can be created in {place}: {e}; give a directory that you may write to"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_target_is_recognized() {
        let dir = tempfile::tempdir().expect("a directory");
        let name = dir.path().display().to_string();
        assert_eq!(
            Target::parse(&name).unwrap(),
            Target::Directory(dir.path().to_owned())
        );
        for nfs in [
            "nas:/export",
            "[::1]:/e",
            "nfs://nas:2049/e",
            "10.0.0.1:/",
            "nas:/vol/@home",
            "nfs://nas:2049/vol/@home",
            "nfs://[fe80::1]:2049/a@b",
            "[fe80::1]:/a@b",
        ] {
            assert_eq!(Target::parse(nfs).unwrap(), Target::Nfs(nfs.into()));
        }
        let smb = |text: &str| match Target::parse(text).unwrap() {
            Target::Smb { share, user } => (share, user),
            other => panic!("{other:?}"),
        };
        assert_eq!(smb(r"\\nas\share"), (r"\\nas\share".into(), None));
        assert_eq!(smb("//nas/share"), ("//nas/share".into(), None));
        assert_eq!(
            smb("smb://me@nas:445/share/dir"),
            ("smb://nas:445/share/dir".into(), Some("me".into()))
        );
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let file = file.path().display().to_string();
        for (bad, words) in [
            (file.as_str(), "is not a directory"),
            ("/no/such/directory", "no such directory"),
            ("", "no such directory"),
            ("nas", "no such directory"),
            ("smb://me:secret@nas/share", "has a password"),
            ("SMB://me:secret@nas/share", "has a password"),
            ("smb://me:se/cret@nas/share", "has a password"),
            ("//me:secret@nas/share", "has a password"),
            (r"\\me:secret@nas\share", "has a password"),
            ("nfs://me:secret@nas/export", "has a password"),
            ("http://nas/export", "http:// is not known"),
        ] {
            let Err(CommandError::Usage(sentences)) = Target::parse(bad) else {
                panic!("{bad}");
            };
            assert!(sentences[0].contains(words), "{bad}: {sentences:?}");
            assert!(!sentences[0].contains("secret"), "{bad}: {sentences:?}");
        }
    }

    #[test]
    fn a_directory_that_rc_files_cannot_hold_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a b", "it's", "a,b", "a\nb"] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).expect("a directory");
            let Err(CommandError::Usage(sentences)) = Target::parse(&path.to_string_lossy()) else {
                panic!("{name}");
            };
            assert!(
                sentences[0].contains("rc files cannot hold"),
                "{sentences:?}"
            );
        }
        let at = dir.path().join("a@b:c");
        std::fs::create_dir(&at).expect("a directory");
        assert!(Target::parse(&at.to_string_lossy()).is_ok());
    }

    #[test]
    fn the_probe_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        takes_direct(dir.path()).expect("a probe");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a list").count(), 0);
        assert!(free_bytes(dir.path()).expect("a size") > 0);
        assert!(takes_direct(Path::new("/no/such")).is_err());
    }
}

//! A server's sessions, shares and open files, from smbstatus.

use crate::{Error, Result};
use serde_json::Value;

/// The output of smbstatus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SmbStatus {
    /// Sessions; one connection may have several.
    pub sessions: Vec<SmbSession>,
    /// Shares in use.
    pub trees: Vec<SmbTree>,
    /// Open files and directories, one entry for each open.
    pub files: Vec<SmbOpenFile>,
}

/// A user's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbSession {
    /// The pid, in smbd's namespace, of the child that serves the connection; for
    /// [`super::Samba::kill_connection`] and similar functions.
    pub pid: u32,
    /// The user to which the client was mapped.
    pub user: String,
    /// `NT1`, `SMB2_02`, `SMB2_10`, `SMB3_00`, `SMB3_02`, `SMB3_11`.
    pub dialect: String,
    /// The client's address and port, in smbd's form (`ipv4:127.0.0.1:40000`).
    pub client: String,
    /// How messages are signed.
    pub signing: SmbProtection,
    /// How messages are encrypted.
    pub encryption: SmbProtection,
}

/// A share that a session uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbTree {
    /// The pid of smbd's child, in smbd's namespace.
    pub pid: u32,
    /// Name of the share.
    pub share: String,
    /// Signing of this share beyond the session's.
    pub signing: SmbProtection,
    /// Encryption of this share beyond the session's.
    pub encryption: SmbProtection,
}

/// Signing or encryption, with smbstatus's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbProtection {
    /// `AES-128-GCM`, `HMAC-SHA256` ...; `-` for none.
    pub cipher: String,
    /// `full`: every message since the session was set up; `partial`: some (those of the
    /// login, or because the client requested what the server did not require); `none`.
    pub degree: String,
}

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbOpenFile {
    /// The pid of smbd's child, in smbd's namespace.
    pub pid: u32,
    /// The file's path within the share, with slashes; `.` is the share itself.
    pub name: String,
    /// The access that other opens may have: letters of `RWD`, empty for none.
    pub shared: String,
    /// The oplock, such as `EXCLUSIVE` or `BATCH`, or a lease's letters of `RWH`, or
    /// empty.
    pub caching: String,
}

impl SmbStatus {
    /// Reads the output of `smbstatus --json`.
    pub(super) fn read(text: &str) -> Result<SmbStatus> {
        let bad = |why: &str| Error::failed("smbstatus --json", why, text);
        let value: Value = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
        let all = |list: &Value| -> Vec<Value> {
            let entries = list.as_object().map(|map| map.values().cloned().collect());
            entries.unwrap_or_default()
        };
        let read = || -> Option<SmbStatus> {
            let sessions = all(&value["sessions"]);
            let trees = all(&value["tcons"]);
            let mut files = Vec::new();
            for file in all(&value["open_files"]) {
                for open in all(&file["opens"]) {
                    files.push(open_file(&file, &open)?);
                }
            }
            Some(SmbStatus {
                sessions: sessions.iter().map(session).collect::<Option<_>>()?,
                trees: trees.iter().map(tree).collect::<Option<_>>()?,
                files,
            })
        };
        read().ok_or_else(|| bad("an entry without a required field"))
    }
}

fn session(entry: &Value) -> Option<SmbSession> {
    Some(SmbSession {
        pid: pid(entry)?,
        user: text(&entry["username"])?,
        dialect: text(&entry["session_dialect"])?,
        client: text(&entry["hostname"])?,
        signing: protection(&entry["signing"])?,
        encryption: protection(&entry["encryption"])?,
    })
}

fn tree(entry: &Value) -> Option<SmbTree> {
    Some(SmbTree {
        pid: pid(entry)?,
        share: text(&entry["service"])?,
        signing: protection(&entry["signing"])?,
        encryption: protection(&entry["encryption"])?,
    })
}

fn open_file(file: &Value, open: &Value) -> Option<SmbOpenFile> {
    let lease = text(&open["lease"]["text"]);
    let oplock = text(&open["oplock"]["text"]);
    Some(SmbOpenFile {
        pid: pid(open)?,
        name: text(&file["filename"])?,
        shared: ["READ", "WRITE", "DELETE"]
            .iter()
            .filter(|right| open["sharemode"][*right] == true)
            .filter_map(|right| right.chars().next())
            .collect(),
        caching: lease.or(oplock).unwrap_or_default(),
    })
}

fn pid(entry: &Value) -> Option<u32> {
    entry["server_id"]["pid"].as_str()?.parse().ok()
}

fn protection(value: &Value) -> Option<SmbProtection> {
    Some(SmbProtection {
        cipher: text(&value["cipher"])?,
        degree: text(&value["degree"])?,
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

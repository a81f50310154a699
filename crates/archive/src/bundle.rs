//! An archive: files by name, packed with a manifest and read back.

use crate::manifest::{
    MANIFEST_JSON, MANIFEST_SUMS, Manifest, ManifestFile, ManifestRun, SCHEMA_VERSION, sums_text,
};
use crate::name::{check_name, shown};
use crate::role;
use crate::{
    ArchiveError, ArchiveResult, FILE_COUNT_MAX, FILE_LEN_MAX, TOTAL_LEN_MAX, sha256, zipfile,
};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::{Role, RunRecord, Timestamp};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Maximum depth of folders below a folder that is read as an archive.
const DEPTH_MAX: usize = 4;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its role.
    pub role: Role,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Member {
    /// Its text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// Its SHA-256 in hexadecimal.
    pub fn sha256(&self) -> String {
        sha256(&self.bytes)
    }
}

/// Files by name, to be packed into a zip with its manifest, or read from one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    members: BTreeMap<String, Member>,
    /// Size of all members, in bytes.
    total: u64,
    made: Option<String>,
    command: Option<String>,
    /// `manifest.json` and `MANIFEST.sha256` as they were read.
    manifests: [Option<Vec<u8>>; 2],
}

impl Bundle {
    /// An empty bundle. Without [`Bundle::made_at`] the same files give the same bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time of packing in the manifest.
    #[must_use]
    pub fn made_at(mut self, when: Timestamp) -> Self {
        self.made = Some(when.to_string());
        self
    }

    /// Sets the subcommand that packed it in the manifest.
    #[must_use]
    pub fn made_by(mut self, command: &str) -> Self {
        self.command = Some(command.to_owned());
        self
    }

    /// Adds a file. Adding the same file again changes nothing. `role` is used if name
    /// and content do not determine the role.
    ///
    /// # Errors
    /// The name is not allowed in an archive or belongs to a file with other contents, or
    /// a limit is reached.
    pub fn add(&mut self, name: &str, bytes: impl Into<Vec<u8>>, role: Role) -> ArchiveResult {
        let bytes = bytes.into();
        let refused = |why: &str| Err(ArchiveError(format!("\"{}\": {why}", shown(name))));
        if let Err(why) = check_name(name) {
            return refused(why);
        }
        if [MANIFEST_JSON, MANIFEST_SUMS].contains(&name) {
            return refused("the archive's own manifest has this name; rename the file");
        }
        if let Some(there) = self.members.get(name) {
            return match there.bytes == bytes {
                true => Ok(()),
                false => refused("two files of this name have different contents; rename one"),
            };
        }
        // A name cannot be both a file and a folder.
        let prefix = format!("{name}/");
        let is_folder = self.members.range(prefix.clone()..).next();
        let slashes = name.match_indices('/');
        let above = slashes
            .into_iter()
            .any(|(at, _)| self.members.contains_key(&name[..at]));
        if above || is_folder.is_some_and(|(k, _)| k.starts_with(&prefix)) {
            return refused("a file and a folder have this name; rename one");
        }
        let total = self.total.saturating_add(bytes.len() as u64);
        if bytes.len() as u64 > FILE_LEN_MAX || total > TOTAL_LEN_MAX {
            return refused("too large: the limit is 1 GiB for a file and 2 GiB for an archive");
        }
        if self.members.len() + 2 >= FILE_COUNT_MAX {
            return refused("too many files: the limit is 60000");
        }
        self.total = total;
        let role = role::certain(name, &bytes).unwrap_or(role);
        self.members.insert(name.to_owned(), Member { role, bytes });
        Ok(())
    }

    /// Adds the file at `path` under this name.
    ///
    /// # Errors
    /// It is not a regular file or cannot be read, or [`Bundle::add`] fails.
    pub fn add_path(&mut self, name: &str, path: &Path, role: Role) -> ArchiveResult {
        self.add(name, read_file(path)?, role)
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(member) = self.members.remove(name) {
            self.total = self.total.saturating_sub(member.bytes.len() as u64);
        }
    }

    /// The files, by name; without the manifests.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Member)> {
        self.members
            .iter()
            .map(|(name, member)| (name.as_str(), member))
    }

    /// The file of this name.
    pub fn get(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// Whether it has no files.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Size of all files, in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.total
    }

    /// `manifest.json` as it was read.
    pub(crate) fn manifest_json(&self) -> Option<&[u8]> {
        self.manifests[0].as_deref()
    }

    /// `MANIFEST.sha256` as it was read.
    pub(crate) fn manifest_sums(&self) -> Option<&[u8]> {
        self.manifests[1].as_deref()
    }

    /// The manifest for packing it.
    pub fn manifest(&self) -> Manifest {
        let records = self.members().filter(|(_, m)| m.role == Role::Record);
        let runs = records.filter_map(|(name, member)| {
            let run = read_record(name, member).ok()?.run;
            Some(ManifestRun {
                record: name.to_owned(),
                suffix: run.suffix,
                started: run.started.to_string(),
                fingerprint: run.fingerprint,
            })
        });
        let files = self.members().map(|(name, member)| ManifestFile {
            name: name.to_owned(),
            role: member.role,
            size: member.bytes.len() as u64,
            sha256: member.sha256(),
        });
        Manifest {
            schema: SCHEMA_VERSION,
            program: "filermark".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            made: self.made.clone(),
            command: self.command.clone(),
            notice: NOT_A_SPEC_RESULT.into(),
            runs: runs.collect(),
            files: files.collect(),
        }
    }

    /// The zip file.
    ///
    /// # Errors
    /// It cannot be packed.
    pub fn to_bytes(&self) -> ArchiveResult<Vec<u8>> {
        let manifest = self.manifest();
        let mut json = serde_json::to_vec_pretty(&manifest)
            .map_err(|e| ArchiveError(format!("{MANIFEST_JSON}: {e}")))?;
        json.push(b'\n');
        let mut sums: BTreeMap<&str, String> = manifest
            .files
            .iter()
            .map(|file| (file.name.as_str(), file.sha256.clone()))
            .collect();
        sums.insert(MANIFEST_JSON, sha256(&json));
        let sums = sums_text(sums);
        pack_all(&self.members, Some(&json), Some(sums.as_bytes()))
    }

    /// The zip file as this program packs it, with the manifests as they were read.
    pub(crate) fn packed_again(&self) -> ArchiveResult<Vec<u8>> {
        pack_all(&self.members, self.manifest_json(), self.manifest_sums())
    }

    /// Reads a zip file.
    ///
    /// # Errors
    /// It cannot be read, is not a valid zip file, or an entry is refused.
    pub fn read(path: &Path) -> ArchiveResult<Self> {
        Self::from_bytes(&read_file(path)?).map_err(|e| ArchiveError::at(path, e))
    }

    /// Reads a zip file from memory.
    ///
    /// # Errors
    /// As [`Bundle::read`], without the path.
    pub fn from_bytes(bytes: &[u8]) -> ArchiveResult<Self> {
        Ok(Self::of_files(zipfile::unpack(bytes)?))
    }

    /// Reads a folder as an unpacked archive.
    ///
    /// # Errors
    /// It cannot be read, or a file in it is not allowed in an archive.
    pub fn read_dir(path: &Path) -> ArchiveResult<Self> {
        let mut files = zipfile::Files::new();
        read_dir_into(path, "", 0, &mut 0, &mut files)?;
        Ok(Self::of_files(files))
    }

    pub(crate) fn of_files(mut files: zipfile::Files) -> Self {
        let manifests = [files.remove(MANIFEST_JSON), files.remove(MANIFEST_SUMS)];
        let json = manifests[0].as_deref().unwrap_or_default();
        let manifest: Option<Manifest> = serde_json::from_slice(json).ok();
        let roles: BTreeMap<String, Role> = manifest
            .iter()
            .flat_map(|m| m.files.iter().map(|f| (f.name.clone(), f.role)))
            .collect();
        let total = files.values().map(|bytes| bytes.len() as u64).sum();
        let members = files.into_iter().map(|(name, bytes)| {
            let in_manifest = || roles.get(&name).copied();
            let role = role::certain(&name, &bytes).or_else(in_manifest);
            let role = role.unwrap_or_else(|| role::guess(&name, &[]));
            (name, Member { role, bytes })
        });
        Self {
            members: members.collect(),
            total,
            made: manifest.as_ref().and_then(|m| m.made.clone()),
            command: manifest.and_then(|m| m.command),
            manifests,
        }
    }
}

fn pack_all(
    members: &BTreeMap<String, Member>,
    json: Option<&[u8]>,
    sums: Option<&[u8]>,
) -> ArchiveResult<Vec<u8>> {
    let own = [(MANIFEST_JSON, json), (MANIFEST_SUMS, sums)];
    let own = own
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, bytes?)));
    let files = members
        .iter()
        .map(|(name, m)| (name.as_str(), m.bytes.as_slice()));
    let all: BTreeMap<&str, &[u8]> = files.chain(own).collect();
    zipfile::pack(all)
}

/// Reads the run record of a member.
pub(crate) fn read_record(name: &str, member: &Member) -> Result<RunRecord, String> {
    filermark_results::reader::read_from(member.bytes.as_slice(), Path::new(name))
        .map_err(|e| e.to_string())
}

/// Reads a regular file of at most [`TOTAL_LEN_MAX`] bytes.
pub(crate) fn read_file(path: &Path) -> ArchiveResult<Vec<u8>> {
    let failed = |e: std::io::Error| ArchiveError::at(path, format_args!("cannot be read: {e}"));
    let kind = fs::metadata(path).map_err(failed)?;
    if !kind.is_file() {
        return Err(ArchiveError::at(path, "not a regular file"));
    }
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let limit = TOTAL_LEN_MAX.saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > TOTAL_LEN_MAX {
        true => Err(ArchiveError::at(path, "larger than 2 GiB")),
        false => Ok(bytes),
    }
}

fn read_dir_into(
    path: &Path,
    prefix: &str,
    depth: usize,
    total: &mut u64,
    files: &mut zipfile::Files,
) -> ArchiveResult {
    let failed = |e: std::io::Error| ArchiveError::at(path, format_args!("cannot be read: {e}"));
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let at = entry.path();
        let Ok(name) = entry.file_name().into_string() else {
            return Err(ArchiveError::at(&at, "the name is not UTF-8"));
        };
        let name = format!("{prefix}{name}");
        check_name(&name).map_err(|why| ArchiveError::at(&at, why))?;
        // Links are not followed: their targets are outside of the folder.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if depth >= DEPTH_MAX {
                return Err(ArchiveError::at(
                    &at,
                    "folders are nested too deep for an archive",
                ));
            }
            read_dir_into(&at, &format!("{name}/"), depth + 1, total, files)?;
        } else if kind.is_file() {
            let bytes = read_file(&at)?;
            *total = total.saturating_add(bytes.len() as u64);
            if files.len() >= FILE_COUNT_MAX || *total > TOTAL_LEN_MAX {
                return Err(ArchiveError::at(
                    path,
                    "too many or too large files for an archive",
                ));
            }
            files.insert(name, bytes);
        } else {
            return Err(ArchiveError::at(
                &at,
                "neither a file nor a folder; links are not followed",
            ));
        }
    }
    Ok(())
}

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

/// How deep folders may lie in a folder that is read as an archive.
const DEPTH_MAX: usize = 4;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it is for.
    pub role: Role,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Member {
    /// Its text, where it is UTF-8.
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
    /// Bytes of all of them.
    total: u64,
    made: Option<String>,
    command: Option<String>,
    /// `manifest.json` and `MANIFEST.sha256` as they were read.
    manifests: [Option<Vec<u8>>; 2],
}

impl Bundle {
    /// An empty one. Without [`Bundle::made_at`] the same files give the same bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says in the manifest when it was packed.
    #[must_use]
    pub fn made_at(mut self, when: Timestamp) -> Self {
        self.made = Some(when.to_string());
        self
    }

    /// Says in the manifest which subcommand packed it.
    #[must_use]
    pub fn made_by(mut self, command: &str) -> Self {
        self.command = Some(command.to_owned());
        self
    }

    /// Adds a file. The same file again does no harm. The role is for files whose name
    /// and content do not tell it.
    ///
    /// # Errors
    /// The name cannot stand in an archive, is taken by another content, or a limit is
    /// reached.
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
        // A name cannot be a file's and a folder's.
        let prefix = format!("{name}/");
        let is_folder = self.members.range(prefix.clone()..).next();
        let slashes = name.match_indices('/');
        let above = slashes
            .into_iter()
            .any(|(at, _)| self.members.contains_key(&name[..at]));
        if above || is_folder.is_some_and(|(k, _)| k.starts_with(&prefix)) {
            return refused("a file and a folder of this name");
        }
        let total = self.total.saturating_add(bytes.len() as u64);
        if bytes.len() as u64 > FILE_LEN_MAX || total > TOTAL_LEN_MAX {
            return refused("a file may have 1 GiB, all together 2 GiB");
        }
        if self.members.len() + 2 >= FILE_COUNT_MAX {
            return refused("an archive has 60000 files at most");
        }
        self.total = total;
        let role = role::certain(name, &bytes).unwrap_or(role);
        self.members.insert(name.to_owned(), Member { role, bytes });
        Ok(())
    }

    /// Adds the file at `path` under this name.
    ///
    /// # Errors
    /// It is no regular file or cannot be read, or as [`Bundle::add`].
    pub fn add_path(&mut self, name: &str, path: &Path, role: Role) -> ArchiveResult {
        self.add(name, read_file(path)?, role)
    }

    /// Takes a file out again.
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

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Bytes of all files together.
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

    /// The manifest that it gets when it is packed.
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

    /// The bytes that this program would have packed, manifests as they were read.
    pub(crate) fn packed_again(&self) -> ArchiveResult<Vec<u8>> {
        pack_all(&self.members, self.manifest_json(), self.manifest_sums())
    }

    /// Reads a zip file.
    ///
    /// # Errors
    /// It cannot be read, is no sound zip file, or something in it is refused.
    pub fn read(path: &Path) -> ArchiveResult<Self> {
        Self::from_bytes(&read_file(path)?).map_err(|e| ArchiveError::at(path, e))
    }

    /// Reads a zip file from memory.
    ///
    /// # Errors
    /// As [`Bundle::read`]; the path is not told.
    pub fn from_bytes(bytes: &[u8]) -> ArchiveResult<Self> {
        Ok(Self::of_files(zipfile::unpack(bytes)?))
    }

    /// Reads a folder as if it were an archive that somebody has unpacked.
    ///
    /// # Errors
    /// It cannot be read, or something in it cannot be in an archive.
    pub fn read_dir(path: &Path) -> ArchiveResult<Self> {
        let mut files = zipfile::Files::new();
        read_dir_into(path, "", 0, &mut 0, &mut files)?;
        Ok(Self::of_files(files))
    }

    pub(crate) fn of_files(mut files: zipfile::Files) -> Self {
        let manifests = [files.remove(MANIFEST_JSON), files.remove(MANIFEST_SUMS)];
        let json = manifests[0].as_deref().unwrap_or_default();
        let said: Option<Manifest> = serde_json::from_slice(json).ok();
        let roles: BTreeMap<String, Role> = said
            .iter()
            .flat_map(|m| m.files.iter().map(|f| (f.name.clone(), f.role)))
            .collect();
        let total = files.values().map(|bytes| bytes.len() as u64).sum();
        let members = files.into_iter().map(|(name, bytes)| {
            let said = || roles.get(&name).copied();
            let role = role::certain(&name, &bytes).or_else(said);
            let role = role.unwrap_or_else(|| role::guess(&name, &[]));
            (name, Member { role, bytes })
        });
        Self {
            members: members.collect(),
            total,
            made: said.as_ref().and_then(|m| m.made.clone()),
            command: said.and_then(|m| m.command),
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

/// The run record of a member.
pub(crate) fn read_record(name: &str, member: &Member) -> Result<RunRecord, String> {
    filermark_results::reader::read_from(member.bytes.as_slice(), Path::new(name))
        .map_err(|e| e.to_string())
}

/// A regular file within the limits.
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
    front: &str,
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
        let name = format!("{front}{name}");
        check_name(&name).map_err(|why| ArchiveError::at(&at, why))?;
        // Not followed: what a link leads to is not in the folder.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if depth >= DEPTH_MAX {
                return Err(ArchiveError::at(&at, "folders lie too deep for an archive"));
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

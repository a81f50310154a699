//! Whether an archive may replace an existing file: only an earlier archive of the same
//! runs and submissions.

use crate::bundle::Bundle;
use crate::manifest::{Manifest, ManifestFile};
use filermark_results::Role;
use std::collections::BTreeSet;
use std::path::Path;

impl Bundle {
    /// Checks that this archive may be written to `path`: there is no file, or an archive
    /// that the same subcommand made of the same runs and submissions.
    ///
    /// # Errors
    /// Which other file is there.
    pub fn check_place(&self, path: &Path) -> Result<(), String> {
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            _ => {}
        }
        self.replaces(path).map_err(|what| {
            format!(
                "{}: exists and is {what}, so it is not replaced; choose another name (-o FILE.zip), or move it away",
                path.display()
            )
        })
    }

    fn replaces(&self, path: &Path) -> Result<(), &'static str> {
        let there = Self::read(path).map_err(|_| "not a readable archive")?;
        let json = there.manifest_json().unwrap_or_default();
        let there: Manifest =
            serde_json::from_slice(json).map_err(|_| "a zip file of another program")?;
        let own = self.manifest();
        if there.program != own.program || there.command != own.command {
            return Err("a zip file that was not made by `bundle`");
        }
        let same = there.runs == own.runs && submissions(&there) == submissions(&own);
        same.then_some(())
            .ok_or("an archive of other runs or submissions")
    }
}

fn submissions(manifest: &Manifest) -> BTreeSet<&str> {
    let is_one = |file: &&ManifestFile| file.role == Role::Submission;
    let files = manifest.files.iter().filter(is_one);
    files.map(|file| file.name.as_str()).collect()
}

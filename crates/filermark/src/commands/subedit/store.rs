//! Saves documents: complete files or none, and never over their input files.

use super::inputs::{FILE_LEN_MAX, Inputs, Source};
use crate::commands::bundle::now;
use filermark_archive::{Bundle, Role, role_of_name, secrets};
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::{folder_of, read_limited, read_named, write_whole};
use filermark_submission::{Document, ResultFile, XML_LEN_MAX, write_xml};
use std::fs;
use std::path::{Path, PathBuf};

/// Saves documents.
#[derive(Debug)]
pub struct Store {
    inputs: Inputs,
    /// Where pictures are looked for.
    folders: Vec<PathBuf>,
}

impl Store {
    /// For a submission of these runs; pictures are in the directory of the output, or of the
    /// submission that the values come from.
    ///
    /// # Errors
    /// The output is one of the run's own files, or its folder does not exist.
    pub fn new(inputs: Inputs, input: Option<&Path>, output: &Path) -> Result<Self, CommandError> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in [Some(output), input].into_iter().flatten() {
            let folder = folder_of(path);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        let folder = folder_of(output);
        if !folder.is_dir() {
            return Err(CommandError::Usage(vec![format!(
                "{}: there is no folder {}; make it first",
                output.display(),
                folder.display()
            )]));
        }
        let store = Self { inputs, folders };
        store
            .check_target(output)
            .map_err(|why| CommandError::Usage(vec![why]))?;
        Ok(store)
    }

    /// Adds the values of the runs to a document.
    pub fn fill(&self, document: &mut Document) {
        self.inputs.fill(document);
    }

    /// Saves by the ending of the name: `.zip` with all files, otherwise the XML.
    ///
    /// # Errors
    /// What is missing, or why it cannot be written.
    pub fn save(&self, document: &Document, path: &Path) -> Result<(), String> {
        let end = path.extension().unwrap_or_default();
        match end.eq_ignore_ascii_case("zip") {
            true => self.save_zip(document, path),
            false => self.save_xml(document, path),
        }
    }

    /// Saves the XML.
    pub fn save_xml(&self, document: &Document, path: &Path) -> Result<(), String> {
        self.check_target(path)?;
        write_whole(path, &xml_of(document)?)
    }

    /// Saves a zip with the XML and every file that belongs to it.
    pub fn save_zip(&self, document: &Document, path: &Path) -> Result<(), String> {
        self.check_target(path)?;
        if self.inputs.sources().next().is_none() {
            return Err("a zip contains the run's files: start subedit with RESULT and RC".into());
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut bundle = Bundle::new().made_at(now());
        let xml = format!("{stem}.xml");
        add(&mut bundle, &xml, xml_of(document)?, Role::Submission)?;
        for (source, is_rc) in self.inputs.sources() {
            let content = unchanged(source)?;
            if is_rc {
                refuse_password(&source.path, &content)?;
            }
            let role = match is_rc {
                true => Role::Rc,
                false => role_of_name(&source.file.name),
            };
            add(&mut bundle, &source.file.name, content, role)?;
        }
        for name in document.diagram_files() {
            add(&mut bundle, name, self.diagram(name)?, Role::Diagram)?;
        }
        let archive = bundle
            .to_bytes()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        write_whole(path, &archive)
    }

    fn diagram(&self, name: &str) -> Result<Vec<u8>, String> {
        let mut candidates = self.folders.iter();
        let Some(folder) = candidates.find(|folder| folder.join(name).exists()) else {
            let folders = self.folders.iter().map(|f| f.display().to_string());
            let folders: Vec<String> = folders.collect();
            return Err(format!(
                "the diagram {name} of productInfo.configDiagrams is missing; put it into {}, or remove its item",
                folders.join(" or ")
            ));
        };
        read_named(folder, name, FILE_LEN_MAX)
    }

    fn check_target(&self, path: &Path) -> Result<(), String> {
        let Ok(target) = fs::canonicalize(path) else {
            return Ok(());
        };
        let own = self.inputs.sources().find(|(source, _)| {
            fs::canonicalize(&source.path).is_ok_and(|source| source == target)
        });
        match own {
            Some(_) => Err(format!(
                "{}: this is one of the run's own files; choose another name for the submission",
                path.display()
            )),
            None => Ok(()),
        }
    }
}

/// The XML, if it is not too large to be read again.
fn xml_of(document: &Document) -> Result<Vec<u8>, String> {
    let xml = write_xml(document).into_bytes();
    match xml.len() > XML_LEN_MAX {
        true => Err(format!(
            "the submission is larger than {} MiB, which is more than can be read again; shorten its texts",
            XML_LEN_MAX >> 20
        )),
        false => Ok(xml),
    }
}

fn add(bundle: &mut Bundle, name: &str, content: Vec<u8>, role: Role) -> Result<(), String> {
    match bundle.get(name) {
        None => bundle.add(name, content, role).map_err(|e| e.to_string()),
        Some(known) if known.bytes == content => Ok(()),
        Some(_) => Err(format!(
            "two files of the name {name} belong to the submission; give one of them another name"
        )),
    }
}

/// The content of a file, if it is unchanged since it was read.
fn unchanged(source: &Source) -> Result<Vec<u8>, String> {
    let content = read_limited(&source.path, FILE_LEN_MAX)?;
    match ResultFile::new(source.file.name.as_str(), &content) == source.file {
        true => Ok(content),
        false => Err(format!(
            "{}: has changed since subedit began; start it again",
            source.path.display()
        )),
    }
}

/// A zip must not contain a password, since it is sent to others.
fn refuse_password(path: &Path, content: &[u8]) -> Result<(), String> {
    match secrets(&String::from_utf8_lossy(content)).first() {
        Some((line, name)) => Err(format!(
            "{}:{line}: {name} is in this rc file, and the zip would disclose it; remove it (use PASSWORD_FILE or FILERMARK_PASSWORD)",
            path.display()
        )),
        None => Ok(()),
    }
}

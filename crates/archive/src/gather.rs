//! Finds the files that belong to a run record, a submission or a folder of them.

use crate::bundle::{Bundle, Member, read_file, read_record};
use crate::inputs::{Inputs, is_named};
use crate::kind::{FileKind, TO_PACK, Wanted, refusal};
use crate::name::{SIGNATURE_END, check_name};
use crate::page::is_of_other;
use crate::role::{RC_NAME, guess};
use crate::submission_file::{looks_like_submission, parse_submission};
use crate::{ArchiveError, ArchiveResult, sha256};
use filermark_model::InputFile;
use filermark_model::secret_text::{secret_files, secrets};
use filermark_results::files::{proc_log_dir, proc_log_files, renderings, suffix_is_plain};
use filermark_results::output::{Make, Output, OutputTable};
use filermark_results::outputs::{OUTPUTS, RECORD};
use filermark_results::{Role, RunRecord};
use filermark_submission::{Document, Element};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Options of [`gather`].
#[derive(Clone, Debug, Default)]
pub struct CollectOptions {
    /// The rc file.
    pub rc: Option<PathBuf>,
    /// Do not look for an rc file.
    pub no_rc: bool,
    /// Further files.
    pub add: Vec<PathBuf>,
    /// Also take files that contain passwords.
    pub with_secrets: bool,
    /// Continue although files that a submission names are missing or have changed.
    pub force: bool,
    /// Further rows of the table of outputs: the reports, which another crate makes.
    pub reports: &'static [Output],
    /// The input of the command, for messages; without it that of `bundle`.
    pub wanted: Option<&'static Wanted>,
}

/// The result of [`gather`].
#[derive(Clone, Debug, Default)]
pub struct CollectedFiles {
    /// The files.
    pub bundle: Bundle,
    /// The path of the archive, without `.zip`.
    pub place: PathBuf,
    /// Notices to the user: missing files, files that were chosen by their name.
    pub remarks: Vec<String>,
}

/// Finds the files that belong to records, submissions and folders.
///
/// # Errors
/// A file cannot be read, is missing though a submission names it, or contains a
/// password: all faults, as sentences.
pub fn gather(what: &[PathBuf], options: &CollectOptions) -> Result<CollectedFiles, Vec<String>> {
    let mut collector = FileCollector {
        options,
        found: CollectedFiles::default(),
        faults: Vec::new(),
        folders: what.iter().map(|path| folder_of(path)).collect(),
        by_name: paths_from_user(what, options),
        rendered: BTreeSet::new(),
        secret_files: Vec::new(),
        inputs: Inputs::default(),
        has_rc: options.no_rc || options.rc.is_some(),
    };
    if let Some(rc) = &options.rc {
        collector.add_or_fault(rc, None, Role::Rc);
    }
    for path in what {
        collector.collect_argument(path);
    }
    for path in &options.add {
        collector.add_or_fault(path, None, Role::Other);
    }
    collector.find_inputs();
    collector.find_rc();
    collector.refuse_changed_inputs();
    collector.find_secrets();
    match collector.faults.is_empty() {
        true => Ok(collector.found),
        false => Err(collector.faults),
    }
}

struct FileCollector<'a> {
    options: &'a CollectOptions,
    found: CollectedFiles,
    faults: Vec<String>,
    /// Where to look for files that are named without a folder.
    folders: Vec<PathBuf>,
    /// Files that the user named: only these may be links.
    by_name: Vec<PathBuf>,
    /// Files that are identical to what their record makes.
    rendered: BTreeSet<String>,
    secret_files: Vec<String>,
    /// The files that the runs read.
    inputs: Inputs,
    has_rc: bool,
}

fn paths_from_user(what: &[PathBuf], options: &CollectOptions) -> Vec<PathBuf> {
    let all = what.iter().chain(&options.add).chain(&options.rc);
    all.cloned().collect()
}

impl FileCollector<'_> {
    fn fault(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.faults.contains(&what) {
            self.faults.push(what);
        }
    }

    /// A fault, or with `--force` a remark.
    fn forceable_fault(&mut self, what: String) {
        match self.options.force {
            true => self.found.remarks.push(what),
            false => self.fault(format!("{what}; --force packs the archive anyway")),
        }
    }

    fn collect_argument(&mut self, path: &Path) {
        let found = match path.is_dir() {
            true => self.add_folder(path),
            false if is_record(path) => self.add_record(path),
            false => self.add_submission(path),
        };
        if let Err(e) = found {
            let wanted = self.options.wanted.unwrap_or(&TO_PACK);
            let refusal = refusal(path, wanted);
            self.fault(refusal.map_or_else(|| e.to_string(), |refusal| refusal.to_string()));
        }
    }

    /// Whether a file or a folder above it is a link that the user did not name. Its target
    /// may be private.
    fn is_link(&self, folder: &Path, name: &str) -> bool {
        let mut path = folder.to_owned();
        let is_named = self.by_name.contains(&folder.join(name));
        !is_named
            && name.split('/').any(|step| {
                path.push(step);
                fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_symlink())
            })
    }

    /// As [`Self::is_link`], with a remark for the user.
    fn skips_link(&mut self, folder: &Path, name: &str) -> bool {
        let is_link = self.is_link(folder, name);
        if is_link {
            self.found.remarks.push(format!(
                "{}: a link, which is not followed; --add packs its target",
                path_in(folder, name).display()
            ));
        }
        is_link
    }

    /// Sets the path of the archive, unless an earlier argument has set it.
    fn set_place(&mut self, folder: &Path, name: &str) {
        if self.found.place.as_os_str().is_empty() {
            self.found.place = folder.join(name);
        }
    }

    /// Adds all records and submissions of a folder.
    fn add_folder(&mut self, path: &Path) -> ArchiveResult {
        let names = names_in(path)?;
        let mut count = 0;
        for name in &names {
            let file = path.join(name);
            let is_wanted = is_record(&file) || name.ends_with(".xml");
            if !is_wanted || self.skips_link(path, name) {
                continue;
            }
            if is_record(&file) {
                self.add_record(&file)?;
                count += 1;
            } else if is_submission(&file) {
                self.add_submission(&file)?;
                count += 1;
            }
        }
        match count {
            0 => Err(ArchiveError::at(
                path,
                format_args!(
                    "no run record ({}) and no submission in this folder",
                    RECORD.name("SUFFIX")
                ),
            )),
            _ => Ok(()),
        }
    }

    fn add_record(&mut self, path: &Path) -> ArchiveResult {
        let name = base_name(path)?;
        let member = Member {
            role: Role::Record,
            bytes: read_file(path)?,
        };
        let record = read_record(&path.display().to_string(), &member).map_err(ArchiveError)?;
        if let Some(cut) = &record.cut {
            self.found
                .remarks
                .push(format!("{}: {cut}", path.display()));
        }
        let folder = folder_of(path);
        let suffix = record.run.suffix.clone();
        if !suffix_is_plain(&suffix) {
            return Err(ArchiveError::at(
                path,
                "its suffix cannot be part of a file name",
            ));
        }
        self.set_place(&folder, &suffix);
        self.found.bundle.add(&name, member.bytes, Role::Record)?;
        self.inputs.add(&record);
        self.add_files_of_run(&record, &folder)
    }

    /// Adds the files of a run: those that it writes, and all others with its suffix.
    fn add_files_of_run(&mut self, record: &RunRecord, folder: &Path) -> ArchiveResult {
        let suffix = &record.run.suffix;
        let rows = [OUTPUTS, self.options.reports];
        let made = renderings(record, OutputTable(&rows));
        let made = made.map_err(|e| ArchiveError(e.to_string()))?;
        let names = names_in(folder)?;
        for file in made.iter().filter(|file| !names.contains(&file.name)) {
            self.found.remarks.push(format!(
                "{}: missing; `filermark report` makes it again from the record",
                path_in(folder, &file.name).display()
            ));
        }
        let others = suffixes_with(&names, suffix);
        for name in &names {
            let of_other = others.iter().any(|other| has_suffix(name, other));
            let known = made.iter().any(|file| file.name == *name);
            let is_ours = known || (has_suffix(name, suffix) && !of_other);
            if is_ours && !self.skips_link(folder, name) {
                let path = folder.join(name);
                match path.is_dir() {
                    true if *name == proc_log_dir(suffix) => self.add_proc_logs(&path, name)?,
                    true => {}
                    false if self.is_page_of_other(&path, name, record) => {
                        self.found.remarks.push(format!(
                            "{}: a report on something else; it is left out",
                            path.display()
                        ));
                    }
                    false => self.add_file_of_run(&path, name)?,
                }
            }
        }
        let prefix = format!("{}/", proc_log_dir(suffix));
        let has_logs = self
            .found
            .bundle
            .members()
            .any(|(name, _)| name.starts_with(&prefix));
        let logs = has_logs.then(|| proc_log_files(record));
        let logs = logs
            .into_iter()
            .flatten()
            .flatten()
            .map(|(name, text)| (format!("{prefix}{name}"), text));
        let made = made.into_iter().map(|file| (file.name, file.text));
        for (name, text) in made.chain(logs) {
            let there = self.found.bundle.get(&name);
            if there.is_some_and(|m| m.bytes == text.as_bytes()) {
                self.rendered.insert(name);
            }
        }
        Ok(())
    }

    fn add_file_of_run(&mut self, path: &Path, name: &str) -> ArchiveResult {
        let others = [".zip", SIGNATURE_END, ".tmp"];
        if RECORD.is_name(name) || others.iter().any(|end| name.ends_with(end)) {
            return Ok(());
        }
        match guess(name, self.options.reports) {
            Role::Submission if is_submission(path) => self.add_submission(path),
            Role::Submission => self.found.bundle.add_path(name, path, Role::Report),
            role => self.found.bundle.add_path(name, path, role),
        }
    }

    /// Whether a page with the suffix in its name, as `mine.smb.html` of the suffix `mine`, is
    /// a report on something else.
    fn is_page_of_other(&self, path: &Path, name: &str, record: &RunRecord) -> bool {
        let mut rows = self.options.reports.iter();
        let is_page = rows.any(|row| {
            let is_page = matches!(row.make, Make::Page(_));
            is_page && row.is_name(name) && name != row.name(&record.run.suffix)
        });
        is_page
            && read_file(path)
                .is_ok_and(|bytes| is_of_other(&String::from_utf8_lossy(&bytes), record))
    }

    fn add_proc_logs(&mut self, folder: &Path, name: &str) -> ArchiveResult {
        for file in names_in(folder)? {
            if self.skips_link(folder, &file) {
                continue;
            }
            let path = folder.join(&file);
            let name = format!("{name}/{file}");
            self.found.bundle.add_path(&name, &path, Role::ClientLog)?;
        }
        Ok(())
    }

    fn add_submission(&mut self, path: &Path) -> ArchiveResult {
        let name = base_name(path)?;
        let bytes = read_file(path)?;
        let known = self
            .found
            .bundle
            .get(&name)
            .is_some_and(|m| m.bytes == bytes);
        if known {
            return Ok(());
        }
        let document = parse_submission(&bytes).map_err(|e| {
            let record = RECORD.name("SUFFIX");
            let what = match FileKind::of_bytes(&bytes) {
                FileKind::Record => format!(
                    "this is a run record, but its name does not end in .run.jsonl; rename it to {record}"
                ),
                _ => format!("neither a run record ({record}) nor a submission: {e}"),
            };
            ArchiveError::at(path, what)
        })?;
        let folder = folder_of(path);
        // subedit makes `SUB.zip` of it.
        let stem = name.strip_suffix(".xml").unwrap_or(&name);
        self.set_place(&folder, &format!("{stem}.bundle"));
        self.found.bundle.add(&name, bytes, Role::Submission)?;
        self.add_diagrams(&document, &folder, path);
        let results = document.root().get("results");
        for result in results.into_iter().flat_map(Element::items) {
            self.add_named_files(result, &folder, path)?;
        }
        Ok(())
    }

    fn add_diagrams(&mut self, document: &Document, folder: &Path, of: &Path) {
        let product = document.root().get("productInfo");
        let list = product.and_then(|p| p.get("configDiagrams"));
        for diagram in list.into_iter().flat_map(Element::items) {
            let name = diagram.value("file");
            if name.is_empty() {
                continue;
            }
            if let Err(why) = check_name(name) {
                self.fault(format!("{}: the diagram \"{name}\": {why}", of.display()));
            } else if self.is_link(folder, name) {
                self.forceable_fault(format!(
                    "{}: the diagram {name} is a link, which is not followed; replace it by the file itself",
                    of.display()
                ));
            } else if folder.join(name).is_file() {
                self.add_or_fault(&folder.join(name), Some(name), Role::Diagram);
            } else {
                self.forceable_fault(format!(
                    "{}: names the diagram {name}, which is not in {}",
                    of.display(),
                    folder.display()
                ));
            }
        }
    }

    /// Adds the record, the summary and the rc file that a result names, and checks their sums.
    fn add_named_files(&mut self, result: &Element, folder: &Path, of: &Path) -> ArchiveResult {
        let kinds = [
            ("record", Role::Record),
            ("summary", Role::Summary),
            ("rc", Role::Rc),
        ];
        for (kind, role) in kinds {
            let name = result.value(&format!("runFiles.{kind}File"));
            let sum = result.value(&format!("runFiles.{kind}Sha256"));
            if name.is_empty() {
                continue;
            }
            if role == Role::Rc {
                self.has_rc = true;
            }
            if let Err(why) = check_name(name) {
                self.fault(format!("{}: the file \"{name}\": {why}", of.display()));
                continue;
            }
            let Some(path) = self.find_named(name, folder, sum) else {
                self.forceable_fault(format!(
                    "{}: names {name}, which was not found in {} (links are not followed)",
                    of.display(),
                    folder.display()
                ));
                continue;
            };
            let bytes = read_file(&path)?;
            if !sum.is_empty() && sha256(&bytes) != sum {
                self.forceable_fault(format!(
                    "{}: {} has changed since the submission was made; make the submission again with subedit",
                    of.display(),
                    path.display()
                ));
            }
            match role {
                Role::Record => self.add_record(&path)?,
                _ => self.found.bundle.add(name, bytes, role)?,
            }
        }
        Ok(())
    }

    /// Finds a file that is named without a folder: one with this sum, or else the first.
    fn find_named(&self, name: &str, folder: &Path, sum: &str) -> Option<PathBuf> {
        let own = [folder.to_owned(), folder.join("result")];
        let rc = self
            .options
            .rc
            .iter()
            .filter(|rc| rc.file_name().is_some_and(|n| n == name));
        let folders = own.iter().chain(&self.folders);
        let folders = folders
            .filter(|folder| !self.is_link(folder, name))
            .map(|folder| folder.join(name));
        let all: Vec<PathBuf> = folders.chain(rc.cloned()).filter(|p| p.is_file()).collect();
        let right = all
            .iter()
            .find(|p| read_file(p).is_ok_and(|bytes| sha256(&bytes) == sum));
        right.or(all.first()).cloned()
    }

    /// Adds a file under its own name or another; an error becomes a fault.
    fn add_or_fault(&mut self, path: &Path, name: Option<&str>, role: Role) {
        let done = base_name(path).and_then(|base| {
            let name = name.unwrap_or(&base);
            self.found.bundle.add_path(name, path, role)
        });
        if let Err(e) = done {
            self.fault(e.to_string());
        }
    }

    /// Adds the files that the runs read, by name and sum. They are looked for in the folder
    /// of the record, the folder above it and the folder of the rc file.
    fn find_inputs(&mut self) {
        if self.options.no_rc {
            return;
        }
        let place = folder_of(&self.found.place);
        let above = above(&place);
        let rc = self.options.rc.iter().map(|rc| folder_of(rc));
        let folders: Vec<PathBuf> = [place, above].into_iter().chain(rc).collect();
        for input in self.inputs.files().to_vec() {
            let bundle = &self.found.bundle;
            let is_packed = bundle.members().any(|(_, m)| input.is_of(&m.bytes));
            let is_taken = bundle
                .members()
                .any(|(name, _)| is_named(name, &input.name));
            match is_taken {
                _ if is_packed => {}
                true => self.found.remarks.push(format!(
                    "{}, which the run read ({}): not packed, another file has this name",
                    input.name, input.option
                )),
                false => self.find_input(&input, &folders),
            }
        }
    }

    fn find_input(&mut self, input: &InputFile, folders: &[PathBuf]) {
        let what = format!("{}, which the run read ({})", input.name, input.option);
        if check_name(&input.name).is_err() {
            self.found.remarks.push(format!(
                "{what}: not packed, its name is not allowed in an archive"
            ));
            return;
        }
        let folders = folders.iter().filter(|f| !self.is_link(f, &input.name));
        let there: Vec<PathBuf> = folders
            .map(|folder| path_in(folder, &input.name))
            .filter(|path| path.is_file())
            .collect();
        let same = |path: &&PathBuf| read_file(path).is_ok_and(|bytes| input.is_of(&bytes));
        let remark = match (there.iter().find(same), there.first()) {
            // The user decides whether to remove the secrets.
            (Some(path), _) if input.secret_line_count > 0 && !input.is_rc() => format!(
                "{}: has lines with secrets and is left out; remove them and add it: --add FILE",
                path.display()
            ),
            (Some(path), _) => {
                let role = match input.is_rc() {
                    true => Role::Rc,
                    false => Role::Other,
                };
                return self.add_or_fault(path, None, role);
            }
            (None, Some(path)) => match read_file(path) {
                Ok(bytes) if !self.inputs.has(&bytes) => {
                    let why = input.difference(&bytes);
                    return self.refuse_input(&path.display().to_string(), &why);
                }
                _ => format!(
                    "{what}: not found with the contents that the run read; give the file as it was: --add FILE"
                ),
            },
            (None, None) => {
                format!("{what}: not found; give its path: --rc or --add FILE")
            }
        };
        self.found.remarks.push(remark);
    }

    /// A fault: this file is not the one that the run read.
    fn refuse_input(&mut self, what: &str, why: &str) {
        self.forceable_fault(format!(
            "{what}: not the file that the run read: {why}; give it as it was (--rc or --add FILE)"
        ));
    }

    /// Removes files that have the name or the role of a file that a run read, and other
    /// contents.
    fn refuse_changed_inputs(&mut self) {
        if self.options.no_rc {
            return;
        }
        let members = self.found.bundle.members();
        let others: Vec<(String, String)> = members
            .filter_map(|(name, m)| Some((name.to_owned(), self.inputs.refusal(name, m)?)))
            .collect();
        for (name, why) in others {
            self.refuse_input(&name, &why);
            self.found.bundle.remove(&name);
        }
    }

    /// Adds an rc file from the record's folder or the folder above it, if neither the user
    /// nor the record names one.
    fn find_rc(&mut self) {
        if self.inputs.are_all_known()
            || self.has_rc
            || self.found.bundle.members().any(|(_, m)| m.role == Role::Rc)
        {
            return;
        }
        let folder = folder_of(&self.found.place);
        let folders = [folder.clone(), above(&folder)];
        let mut found = None;
        for folder in &folders {
            let path = path_in(folder, RC_NAME);
            if found.is_none() && path.is_file() && !self.skips_link(folder, RC_NAME) {
                found = Some(path);
            }
        }
        match found {
            Some(path) => {
                self.found.remarks.push(format!(
                    "{}: taken as the rc file because of its name; no run record names the rc file; --rc FILE sets it",
                    path.display()
                ));
                self.add_or_fault(&path, None, Role::Rc);
            }
            None => self.found.remarks.push(
                "no rc file: not found next to the record; give its path: --rc FILE (the record has its parameters)".into(),
            ),
        }
    }

    /// Reports passwords in texts that are not made from a record, and files that hold
    /// only a secret.
    fn find_secrets(&mut self) {
        if self.options.with_secrets {
            return;
        }
        let is_users_text = |name: &str, m: &Member| {
            m.role != Role::Record && !self.rendered.contains(name) && is_text(&m.bytes)
        };
        let mut faults = Vec::new();
        let all = self.found.bundle.members();
        for (name, member) in all.filter(|(name, m)| is_users_text(name, m)) {
            let text = String::from_utf8_lossy(&member.bytes);
            for (line, secret) in secrets(&text) {
                faults.push(format!(
                    "{name}:{line}: {secret} has a value here, and all who get the archive could read it; remove it (PASSWORD_FILE keeps it in a separate file), or use --with-secrets"
                ));
            }
            if member.role == Role::Rc {
                self.secret_files.extend(secret_files(&text));
            }
        }
        for path in &self.secret_files {
            let base = path.rsplit('/').next().unwrap_or(path);
            let taken = self
                .found
                .bundle
                .members()
                .any(|(name, m)| name == base && is_users_text(name, m));
            if taken {
                faults.push(format!(
                    "{base}: the rc file names it as the file of a secret; leave it out, or use --with-secrets"
                ));
            }
        }
        self.faults.extend(faults);
    }
}

/// Whether it is a text: images have zero bytes.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && !bytes.starts_with(b"%PDF-")
}

fn is_record(path: &Path) -> bool {
    RECORD.is_name(&path.to_string_lossy())
}

fn is_submission(path: &Path) -> bool {
    let bytes = read_file(path).unwrap_or_default();
    looks_like_submission(&bytes)
}

/// Whether a file belongs to the run of this suffix, by its name.
fn has_suffix(name: &str, suffix: &str) -> bool {
    let is_in_middle = |end: &str| {
        let middle = ["_", "."].map(|point| format!("{point}{suffix}.{end}"));
        middle.iter().any(|middle| name.ends_with(middle))
    };
    name.strip_prefix(suffix)
        .is_some_and(|rest| rest.starts_with('.'))
        || name
            .strip_suffix(suffix)
            .is_some_and(|rest| rest.ends_with('.'))
        || ["txt", "xml", "log"].into_iter().any(is_in_middle)
}

/// Suffixes of other runs in the same folder whose names contain this one.
fn suffixes_with<'a>(names: &'a [String], suffix: &str) -> Vec<&'a str> {
    let all = names.iter().filter_map(|name| RECORD.suffix_in(name));
    all.filter(|other| *other != suffix && other.contains(suffix))
        .collect()
}

fn folder_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    folder_of_name(path)
}

/// The folder above a folder, without `..` where possible: `a` for `a/b`, `.` for `b`.
pub(crate) fn above(folder: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink());
    match folder.components().next_back() {
        // Only `..` gives the folder above the target of a link.
        Some(Component::Normal(_)) if !is_link => folder_of_name(folder),
        Some(Component::CurDir) => PathBuf::from(".."),
        _ => folder.join(".."),
    }
}

/// The folder that a name is in.
fn folder_of_name(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new(".")).to_owned()
}

/// The path of a name in a folder, without a leading `./`.
pub(crate) fn path_in(folder: &Path, name: &str) -> PathBuf {
    match folder == Path::new(".") {
        true => PathBuf::from(name),
        false => folder.join(name),
    }
}

fn base_name(path: &Path) -> ArchiveResult<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| ArchiveError::at(path, "the name is not UTF-8"))?;
    Ok(name.to_owned())
}

/// The names in a folder, sorted. Names that are not UTF-8 are left out: no run writes them.
fn names_in(path: &Path) -> ArchiveResult<Vec<String>> {
    let failed = |e: std::io::Error| ArchiveError::at(path, format_args!("cannot be read: {e}"));
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.into_string().ok());
    }
    names.sort();
    Ok(names)
}

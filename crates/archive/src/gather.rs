//! Finds what belongs to a run record, a submission or a folder of them.

use crate::bundle::{Bundle, Member, read_file, read_record};
use crate::inputs::{Inputs, is_named};
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

/// How to gather.
#[derive(Clone, Debug, Default)]
pub struct CollectOptions {
    /// The rc file.
    pub rc: Option<PathBuf>,
    /// Do not look for an rc file.
    pub no_rc: bool,
    /// Further files.
    pub add: Vec<PathBuf>,
    /// Take files with passwords in them too.
    pub with_secrets: bool,
    /// Go on without files that a submission names and that are not there, or are others.
    pub force: bool,
    /// Further rows of the table of outputs: reports, which this crate cannot make.
    pub reports: &'static [Output],
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct CollectedFiles {
    /// The files.
    pub bundle: Bundle,
    /// The name that the archive gets, without `.zip`, and its folder.
    pub place: PathBuf,
    /// What the user should know: missing files, files that were chosen by their name.
    pub remarks: Vec<String>,
}

/// Finds what belongs to records, submissions and folders.
///
/// # Errors
/// Something cannot be read, is missing though a submission names it, or holds a
/// password: all that is wrong, in sentences.
pub fn gather(what: &[PathBuf], options: &CollectOptions) -> Result<CollectedFiles, Vec<String>> {
    let mut gatherer = FileCollector {
        options,
        found: CollectedFiles::default(),
        faults: Vec::new(),
        folders: what.iter().map(|path| folder_of(path)).collect(),
        by_name: named(what, options),
        rendered: BTreeSet::new(),
        secret_files: Vec::new(),
        inputs: Inputs::default(),
        has_rc: options.no_rc || options.rc.is_some(),
    };
    if let Some(rc) = &options.rc {
        gatherer.take(rc, None, Role::Rc);
    }
    for path in what {
        gatherer.argument(path);
    }
    for path in &options.add {
        gatherer.take(path, None, Role::Other);
    }
    gatherer.find_inputs();
    gatherer.find_rc();
    gatherer.refuse_other_inputs();
    gatherer.find_secrets();
    match gatherer.faults.is_empty() {
        true => Ok(gatherer.found),
        false => Err(gatherer.faults),
    }
}

struct FileCollector<'a> {
    options: &'a CollectOptions,
    found: CollectedFiles,
    faults: Vec<String>,
    /// Where files that are named without a folder are looked for.
    folders: Vec<PathBuf>,
    /// Files that the user named: these alone may be links.
    by_name: Vec<PathBuf>,
    /// Files that are as their record makes them.
    rendered: BTreeSet<String>,
    secret_files: Vec<String>,
    /// What the runs read.
    inputs: Inputs,
    has_rc: bool,
}

fn named(what: &[PathBuf], options: &CollectOptions) -> Vec<PathBuf> {
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

    /// What can be gone without with `--force`.
    fn wanting(&mut self, what: String) {
        match self.options.force {
            true => self.found.remarks.push(what),
            false => self.fault(format!("{what}; --force packs without")),
        }
    }

    fn argument(&mut self, path: &Path) {
        let found = match fs::metadata(path) {
            Err(e) => Err(ArchiveError::at(path, format_args!("cannot be read: {e}"))),
            Ok(kind) if kind.is_dir() => self.folder(path),
            Ok(_) if is_record(path) => self.record(path),
            Ok(_) => self.submission(path),
        };
        if let Err(e) = found {
            self.fault(e.to_string());
        }
    }

    /// Whether a file that was found leads elsewhere: what it leads to was never meant
    /// to be given away.
    fn is_link(&self, folder: &Path, name: &str) -> bool {
        let mut path = folder.to_owned();
        let is_named = self.by_name.contains(&folder.join(name));
        !is_named
            && name.split('/').any(|step| {
                path.push(step);
                fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_symlink())
            })
    }

    /// The same, and the user is told.
    fn leaves_link(&mut self, folder: &Path, name: &str) -> bool {
        let is_link = self.is_link(folder, name);
        if is_link {
            self.found.remarks.push(format!(
                "{}: a link, which is not followed; --add packs what it leads to",
                path_in(folder, name).display()
            ));
        }
        is_link
    }

    /// Remembers the first thing as what the archive is named after.
    fn name_after(&mut self, folder: &Path, name: &str) {
        if self.found.place.as_os_str().is_empty() {
            self.found.place = folder.join(name);
        }
    }

    /// All records and submissions of a folder.
    fn folder(&mut self, path: &Path) -> ArchiveResult {
        let names = names_in(path)?;
        let mut count = 0;
        for name in &names {
            let file = path.join(name);
            let is_wanted = is_record(&file) || name.ends_with(".xml");
            if !is_wanted || self.leaves_link(path, name) {
                continue;
            }
            if is_record(&file) {
                self.record(&file)?;
                count += 1;
            } else if is_submission(&file) {
                self.submission(&file)?;
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

    fn record(&mut self, path: &Path) -> ArchiveResult {
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
        self.name_after(&folder, &suffix);
        self.found.bundle.add(&name, member.bytes, Role::Record)?;
        self.inputs.take(&record);
        self.files_of_run(&record, &folder)
    }

    /// The files of a run: those that it writes, and whatever bears its suffix.
    fn files_of_run(&mut self, record: &RunRecord, folder: &Path) -> ArchiveResult {
        let suffix = &record.run.suffix;
        let rows = [OUTPUTS, self.options.reports];
        let made = renderings(record, OutputTable(&rows));
        let made = made.map_err(|e| ArchiveError(e.to_string()))?;
        let names = names_in(folder)?;
        for file in made.iter().filter(|file| !names.contains(&file.name)) {
            self.found.remarks.push(format!(
                "{}: not there; `filermark report` makes it again from the record",
                path_in(folder, &file.name).display()
            ));
        }
        let others = others_suffixes(&names, suffix);
        for name in &names {
            let of_other = others.iter().any(|other| bears(name, other));
            let known = made.iter().any(|file| file.name == *name);
            let is_ours = known || (bears(name, suffix) && !of_other);
            if is_ours && !self.leaves_link(folder, name) {
                let path = folder.join(name);
                match path.is_dir() {
                    true if *name == proc_log_dir(suffix) => self.proc_logs(&path, name)?,
                    true => {}
                    false if self.is_page_of_other(&path, name, record) => {
                        self.found.remarks.push(format!(
                            "{}: a report of something else; it is left out",
                            path.display()
                        ));
                    }
                    false => self.one_of_run(&path, name)?,
                }
            }
        }
        let front = format!("{}/", proc_log_dir(suffix));
        let has_logs = self
            .found
            .bundle
            .members()
            .any(|(name, _)| name.starts_with(&front));
        let logs = has_logs.then(|| proc_log_files(record));
        let logs = logs
            .into_iter()
            .flatten()
            .flatten()
            .map(|(name, text)| (format!("{front}{name}"), text));
        let made = made.into_iter().map(|file| (file.name, file.text));
        for (name, text) in made.chain(logs) {
            let there = self.found.bundle.get(&name);
            if there.is_some_and(|m| m.bytes == text.as_bytes()) {
                self.rendered.insert(name);
            }
        }
        Ok(())
    }

    fn one_of_run(&mut self, path: &Path, name: &str) -> ArchiveResult {
        let others = [".zip", SIGNATURE_END, ".tmp"];
        if RECORD.is_name(name) || others.iter().any(|end| name.ends_with(end)) {
            return Ok(());
        }
        match guess(name, self.options.reports) {
            Role::Submission if is_submission(path) => self.submission(path),
            Role::Submission => self.found.bundle.add_path(name, path, Role::Report),
            role => self.found.bundle.add_path(name, path, role),
        }
    }

    /// `mine.smb.html` bears the suffix `mine`, and can be about something else.
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

    fn proc_logs(&mut self, folder: &Path, name: &str) -> ArchiveResult {
        for file in names_in(folder)? {
            if self.leaves_link(folder, &file) {
                continue;
            }
            let path = folder.join(&file);
            let name = format!("{name}/{file}");
            self.found.bundle.add_path(&name, &path, Role::ClientLog)?;
        }
        Ok(())
    }

    fn submission(&mut self, path: &Path) -> ArchiveResult {
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
            ArchiveError::at(
                path,
                format_args!(
                    "neither a run record ({}) nor a submission: {e}",
                    RECORD.name("SUFFIX")
                ),
            )
        })?;
        let folder = folder_of(path);
        // `SUB.zip` is what subedit makes of it.
        let stem = name.strip_suffix(".xml").unwrap_or(&name);
        self.name_after(&folder, &format!("{stem}.bundle"));
        self.found.bundle.add(&name, bytes, Role::Submission)?;
        self.diagrams(&document, &folder, path);
        let results = document.root().get("results");
        for result in results.into_iter().flat_map(Element::items) {
            self.named_files(result, &folder, path)?;
        }
        Ok(())
    }

    fn diagrams(&mut self, document: &Document, folder: &Path, of: &Path) {
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
                self.wanting(format!(
                    "{}: the diagram {name} is a link, which is not followed; put the file itself there",
                    of.display()
                ));
            } else if folder.join(name).is_file() {
                self.take(&folder.join(name), Some(name), Role::Diagram);
            } else {
                self.wanting(format!(
                    "{}: names the diagram {name}, which is not in {}",
                    of.display(),
                    folder.display()
                ));
            }
        }
    }

    /// Record, summary and rc file that a result names, with the sums that it gives.
    fn named_files(&mut self, result: &Element, folder: &Path, of: &Path) -> ArchiveResult {
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
            let Some(path) = self.look_for(name, folder, sum) else {
                self.wanting(format!(
                    "{}: names {name}, which is not beside it (links are not followed)",
                    of.display()
                ));
                continue;
            };
            let bytes = read_file(&path)?;
            if !sum.is_empty() && sha256(&bytes) != sum {
                self.wanting(format!(
                    "{}: {} has other contents than when the submission was made; make it again with subedit",
                    of.display(),
                    path.display()
                ));
            }
            match role {
                Role::Record => self.record(&path)?,
                _ => self.found.bundle.add(name, bytes, role)?,
            }
        }
        Ok(())
    }

    /// A file that is named without a folder: with the right sum, or else the first.
    fn look_for(&self, name: &str, folder: &Path, sum: &str) -> Option<PathBuf> {
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

    /// Takes a file in under its own name or another.
    fn take(&mut self, path: &Path, name: Option<&str>, role: Role) {
        let done = base_name(path).and_then(|base| {
            let name = name.unwrap_or(&base);
            self.found.bundle.add_path(name, path, role)
        });
        if let Err(e) = done {
            self.fault(e.to_string());
        }
    }

    /// The files that the runs read, where they lie beside the record, in the folder
    /// above it, or beside the rc file, by name and sum.
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
            let is_there = bundle.members().any(|(_, m)| input.is_of(&m.bytes));
            let is_taken = bundle
                .members()
                .any(|(name, _)| is_named(name, &input.name));
            match is_taken {
                _ if is_there => {}
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
                "{what}: a file of this name cannot be in an archive"
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
            // Who gives it away decides on what stands in it.
            (Some(path), _) if input.secret_line_count > 0 && !input.is_rc() => format!(
                "{}: has lines with secrets and is left out; take them out and name it: --add FILE",
                path.display()
            ),
            (Some(path), _) => {
                let role = match input.is_rc() {
                    true => Role::Rc,
                    false => Role::Other,
                };
                return self.take(path, None, role);
            }
            (None, Some(path)) => match read_file(path) {
                Ok(bytes) if !self.inputs.has(&bytes) => {
                    let why = input.difference(&bytes);
                    return self.other_input(&path.display().to_string(), &why);
                }
                _ => format!("{what}: not there as it was; --add FILE says where it is"),
            },
            (None, None) => {
                format!("{what}: not there; --rc or --add FILE says where it is")
            }
        };
        self.found.remarks.push(remark);
    }

    /// A file that was changed since the run, or is another one.
    fn other_input(&mut self, what: &str, why: &str) {
        self.wanting(format!(
            "{what}: not the file that the run read: {why}; give it as it was (--rc or --add FILE)"
        ));
    }

    /// Nothing else is packed for what a run read.
    fn refuse_other_inputs(&mut self) {
        if self.options.no_rc {
            return;
        }
        let members = self.found.bundle.members();
        let others: Vec<(String, String)> = members
            .filter_map(|(name, m)| Some((name.to_owned(), self.inputs.refusal(name, m)?)))
            .collect();
        for (name, why) in others {
            self.other_input(&name, &why);
            self.found.bundle.remove(&name);
        }
    }

    /// An rc file beside the record, where neither the user nor the record says which.
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
            if found.is_none() && path.is_file() && !self.leaves_link(folder, RC_NAME) {
                found = Some(path);
            }
        }
        match found {
            Some(path) => {
                self.found.remarks.push(format!(
                    "{}: taken as the rc file by its name, since no run record says which it was; --rc FILE says it",
                    path.display()
                ));
                self.take(&path, None, Role::Rc);
            }
            None => self.found.remarks.push(
                "no rc file: none lies beside; --rc FILE says where it is (the record has its parameters)".into(),
            ),
        }
    }

    /// Passwords in every text that is not as a record makes it, and files that are
    /// nothing but one.
    fn find_secrets(&mut self) {
        if self.options.with_secrets {
            return;
        }
        let by_hand = |name: &str, m: &Member| {
            m.role != Role::Record && !self.rendered.contains(name) && is_text(&m.bytes)
        };
        let mut faults = Vec::new();
        let all = self.found.bundle.members();
        for (name, member) in all.filter(|(name, m)| by_hand(name, m)) {
            let text = String::from_utf8_lossy(&member.bytes);
            for (line, secret) in secrets(&text) {
                faults.push(format!(
                    "{name}:{line}: {secret} has a value here, and everybody who gets the archive could read it; remove it (PASSWORD_FILE keeps it in a file of its own), or say --with-secrets"
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
                .any(|(name, m)| name == base && by_hand(name, m));
            if taken {
                faults.push(format!(
                    "{base}: the rc file names it as the place of a secret; leave it out, or say --with-secrets"
                ));
            }
        }
        self.faults.extend(faults);
    }
}

/// Pictures and the like have zero bytes.
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
fn bears(name: &str, suffix: &str) -> bool {
    let in_the_middle = |end: &str| {
        let middle = ["_", "."].map(|point| format!("{point}{suffix}.{end}"));
        middle.iter().any(|middle| name.ends_with(middle))
    };
    name.strip_prefix(suffix)
        .is_some_and(|rest| rest.starts_with('.'))
        || name
            .strip_suffix(suffix)
            .is_some_and(|rest| rest.ends_with('.'))
        || ["txt", "xml", "log"].into_iter().any(in_the_middle)
}

/// Suffixes of other runs in the same folder whose names contain this one.
fn others_suffixes<'a>(names: &'a [String], suffix: &str) -> Vec<&'a str> {
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

/// The folder above one, written as people do where that is the same: `a` for `a/b`, `.`
/// for `b`.
pub(crate) fn above(folder: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink());
    match folder.components().next_back() {
        // What is above the folder that a link leads to, only `..` knows.
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

/// The path of a name in a folder, without a `./` in front.
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

/// The names of a folder, in order; those that are no UTF-8 are nobody's of ours.
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

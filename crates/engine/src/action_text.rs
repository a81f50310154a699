//! Text for people: a task of INIT or CLEANUP as its procedure and the object that it
//! works on, as a path below the run's directory.

use crate::action::{Action, DirRef, ObjectId, PROC_DIR};
use crate::file_action::{DIR_DIGITS, FILE_DIGITS, FileAction, FileRef};
use crate::name::{Name, NameKind};
use crate::proc::Proc;
use crate::session_action::SessionAction;
use crate::slice::Slice;

/// `SYMLINK p000001/l000003`, for a task of this proc.
pub(crate) fn describe(action: &Action, proc: &Proc) -> String {
    let top = text(Name::new(NameKind::ProcDir, proc.number));
    let at = |dir: ObjectId, name: Name| format!("{}/{}", dir_path(&top, dir, proc), text(name));
    if let Action::File(action) = action {
        return in_tree(action, proc.number);
    }
    if let Action::Session(SessionAction::Truncate { place, .. }) = action {
        let dir = dir_path(&top, place.dir, proc);
        let name = place.name.map(|name| format!("/{}", text(name)));
        return format!("SET_INFO (size) {dir}{}", name.unwrap_or_default());
    }
    if let Action::Session(SessionAction::Close { .. }) = action {
        return format!("CLOSE a file in {top}");
    }
    let Some(subject) = action.subject() else {
        return format!("an operation in {top}");
    };
    let mut procedure = subject.op.op().name().to_uppercase();
    if let Action::Fill { size: 1.., .. } = action {
        procedure += " and WRITE";
    } else if let Action::Setattr { size: Some(_), .. } = action {
        procedure += " (size)";
    }
    let object = match subject.name {
        Some((DirRef::RunDir, name)) => text(name),
        Some((DirRef::Object(dir), name)) => at(dir, name),
        None => format!("a file in {top}"),
    };
    format!("{procedure} {object}")
}

fn text(name: Name) -> String {
    String::from_utf8_lossy(name.text().as_bytes()).into_owned()
}

/// The numbers of directories follow that of the proc's own directory.
fn dir_path(top: &str, dir: ObjectId, proc: &Proc) -> String {
    let dirs = match &proc.slice {
        Slice::Classic(set, _) => set.layout.dirs,
        Slice::Tree(_) => 0,
    };
    match dir {
        PROC_DIR => top.to_owned(),
        ObjectId(number) if number <= dirs => {
            format!("{top}/{}", text(Name::new(NameKind::Dir, number - 1)))
        }
        ObjectId(_) => format!("{top}/?"),
    }
}

fn in_tree(action: &FileAction, proc: u32) -> String {
    let dir_text = |dir: u32| format!("d{dir:0DIR_DIGITS$}");
    let file_text = |file: &FileRef| {
        format!(
            "{}/b{:02}/{}{:0FILE_DIGITS$}",
            dir_text(file.dir),
            file.bucket.number(),
            file.kind.letter() as char,
            file.file
        )
    };
    let (call, object) = match action {
        FileAction::MakeTree => ("mkdir", "its top directory".to_owned()),
        FileAction::RemoveTree => ("rmdir", "its top directory".to_owned()),
        FileAction::MakeDirs { dir } => ("mkdir", dir_text(*dir)),
        FileAction::RemoveDirs { dir } => ("unlink and rmdir", dir_text(*dir)),
        FileAction::Fill { file, size: 0, .. } => ("create", file_text(file)),
        FileAction::Fill { file, .. } => ("create and write", file_text(file)),
        FileAction::Truncate { file, .. } => ("truncate", file_text(file)),
        FileAction::Read { file, .. }
        | FileAction::ReadFile { file, .. }
        | FileAction::MmapRead { file, .. }
        | FileAction::Write { file, .. }
        | FileAction::WriteFile { file, .. }
        | FileAction::MmapWrite { file, .. }
        | FileAction::Rmw { file, .. }
        | FileAction::Lock { file, .. }
        | FileAction::Access { file }
        | FileAction::Stat { file }
        | FileAction::Chmod { file, .. }
        | FileAction::Statfs { file }
        | FileAction::Pathconf { file }
        | FileAction::Copy { from: file, .. }
        | FileAction::Rename { from: file, .. }
        | FileAction::Mkdir { file }
        | FileAction::Rmdir { file }
        | FileAction::Create { file }
        | FileAction::Unlink { file }
        | FileAction::Custom { file, .. } => ("an operation on", file_text(file)),
        FileAction::Readdir { dir, .. } => ("an operation on", dir_text(*dir)),
    };
    format!("{call} {object} in the tree of proc {proc}")
}

//! A task of INIT or CLEANUP for people: the procedure, and the object that it works on,
//! as a path below the run's directory.

use crate::driver::{Action, ObjectId, PROC_DIR};
use crate::file_action::{DIR_DIGITS, FILE_DIGITS, FileAction, FileRef};
use crate::name::{Name, NameKind};
use crate::proc::Proc;
use crate::session_action::SessionAction;
use crate::slice::Slice;

/// `SYMLINK p000001/l000003`, for a task of this proc.
pub(crate) fn describe(action: &Action, proc: &Proc) -> String {
    let top = text(Name::new(NameKind::ProcDir, proc.number));
    let at = |dir: ObjectId, name: Name| format!("{}/{}", dir_path(&top, dir, proc), text(name));
    let (procedure, object) = match *action {
        Action::MakeProcDir { name } => ("MKDIR", text(name)),
        Action::RemoveProcDir { name } => ("RMDIR", text(name)),
        Action::Mkdir { dir, name, .. } => ("MKDIR", at(dir, name)),
        Action::Symlink { dir, name, .. } => ("SYMLINK", at(dir, name)),
        Action::Remove { dir, name } => ("REMOVE", at(dir, name)),
        Action::Rmdir { dir, name } => ("RMDIR", at(dir, name)),
        Action::Fill {
            dir, name, size: 0, ..
        } => ("CREATE", at(dir, name)),
        Action::Fill { dir, name, .. } => ("CREATE and WRITE", at(dir, name)),
        Action::Setattr { .. } => ("SETATTR (size)", format!("a file in {top}")),
        Action::Session(SessionAction::Truncate { place, .. }) => {
            let dir = dir_path(&top, place.dir, proc);
            let name = place
                .name
                .map_or_else(String::new, |n| format!("/{}", text(n)));
            ("SET_INFO (size)", format!("{dir}{name}"))
        }
        Action::Session(SessionAction::Close { .. }) => ("CLOSE", format!("a file in {top}")),
        Action::File(action) => return in_tree(&action, proc.number),
        _ => ("an operation", format!("in {top}")),
    };
    format!("{procedure} {object}")
}

fn text(name: Name) -> String {
    String::from_utf8_lossy(name.text().as_bytes()).into_owned()
}

/// Directories have the numbers behind the proc's own directory.
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
        _ => ("an operation", "a file".to_owned()),
    };
    format!("{call} {object} in the tree of proc {proc}")
}

//! Text for people: a task of INIT or CLEANUP as its procedure and the object that it
//! works on, as a path below the run's directory.

use crate::action::{Action, DirRef, ObjectId, PROC_DIR};
use crate::file_action::{DIR_DIGITS, FILE_DIGITS, FileAction, FileKind, FileRef};
use crate::name::{Name, NameKind};
use crate::proc::Proc;
use crate::session_action::SessionAction;
use crate::slice::Slice;
use filermark_model::Bucket;

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
    FileCall::of(action).text(proc)
}

/// A call on a file or directory of a proc's tree, small enough for two words that another thread
/// reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileCall {
    /// Its place in [`CALLS`].
    call: u8,
    dir: u32,
    file: Option<FileRef>,
}

/// What the calls are called. The first two are on the top directory, the next three on one of
/// the tree's.
const CALLS: [&str; 26] = [
    "mkdir",
    "rmdir",
    "mkdir",
    "unlink and rmdir",
    "readdir",
    "create",
    "create and write",
    "truncate",
    "read",
    "read_file",
    "mmap_read",
    "write",
    "write_file",
    "mmap_write",
    "rmw",
    "lock",
    "access",
    "stat",
    "chmod",
    "statfs",
    "pathconf",
    "copyfile",
    "rename",
    "unlink",
    "custom1",
    "custom2",
];

impl FileCall {
    #[inline]
    pub(crate) fn of(action: &FileAction) -> Self {
        use FileAction as A;
        let (call, dir, file) = match *action {
            A::MakeTree => (0, 0, None),
            A::RemoveTree => (1, 0, None),
            A::MakeDirs { dir } => (2, dir, None),
            A::RemoveDirs { dir } => (3, dir, None),
            A::Readdir { dir, .. } => (4, dir, None),
            A::Fill { file, size: 0, .. } | A::Create { file } => (5, 0, Some(file)),
            A::Fill { file, .. } => (6, 0, Some(file)),
            A::Truncate { file, .. } => (7, 0, Some(file)),
            A::Read { file, .. } => (8, 0, Some(file)),
            A::ReadFile { file, .. } => (9, 0, Some(file)),
            A::MmapRead { file, .. } => (10, 0, Some(file)),
            A::Write { file, .. } => (11, 0, Some(file)),
            A::WriteFile { file, .. } => (12, 0, Some(file)),
            A::MmapWrite { file, .. } => (13, 0, Some(file)),
            A::Rmw { file, .. } => (14, 0, Some(file)),
            A::Lock { file, .. } => (15, 0, Some(file)),
            A::Access { file } => (16, 0, Some(file)),
            A::Stat { file } => (17, 0, Some(file)),
            A::Chmod { file, .. } => (18, 0, Some(file)),
            A::Statfs { file } => (19, 0, Some(file)),
            A::Pathconf { file } => (20, 0, Some(file)),
            A::Copy { from, .. } => (21, 0, Some(from)),
            A::Rename { from, .. } => (22, 0, Some(from)),
            A::Mkdir { file } => (2, 0, Some(file)),
            A::Rmdir { file } => (1, 0, Some(file)),
            A::Unlink { file } => (23, 0, Some(file)),
            A::Custom { which: 0, file } => (24, 0, Some(file)),
            A::Custom { file, .. } => (25, 0, Some(file)),
        };
        Self { call, dir, file }
    }

    /// In two words; the first is not 0.
    #[inline]
    pub(crate) fn pack(self) -> [u64; 2] {
        let call = u64::from(self.call) + 1;
        match self.file {
            None => [call | u64::from(self.dir) << 32, 0],
            Some(file) => [
                call | u64::from(file.bucket.number()) << 8
                    | u64::from(file.kind.letter()) << 16
                    | u64::from(file.dir) << 32,
                u64::from(file.file),
            ],
        }
    }

    /// `None`: the words are no call.
    pub(crate) fn unpack([first, second]: [u64; 2]) -> Option<Self> {
        let call = (first as u8).checked_sub(1)?;
        let dir = (first >> 32) as u32;
        let letter = (first >> 16) as u8;
        let kind = FileKind::ALL.into_iter().find(|k| k.letter() == letter);
        let file = match kind {
            None => None,
            Some(kind) => Some(FileRef {
                dir,
                bucket: Bucket::new((first >> 8) as u8)?,
                kind,
                file: second as u32,
            }),
        };
        let dir = if file.is_some() { 0 } else { dir };
        usize::from(call)
            .lt(&CALLS.len())
            .then_some(Self { call, dir, file })
    }

    /// `read d0000/b04/f0000003 in the tree of proc 5`.
    pub(crate) fn text(self, proc: u32) -> String {
        let call = CALLS
            .get(usize::from(self.call))
            .unwrap_or(&"an operation on");
        let object = match self.file {
            Some(file) => format!(
                "d{:0DIR_DIGITS$}/b{:02}/{}{:0FILE_DIGITS$}",
                file.dir,
                file.bucket.number(),
                file.kind.letter() as char,
                file.file
            ),
            None if self.call < 2 => "its top directory".to_owned(),
            None => format!("d{:0DIR_DIGITS$}", self.dir),
        };
        format!("{call} {object} in the tree of proc {proc}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_the_same_after_it_was_two_words() {
        let file = FileRef {
            dir: 9_998,
            bucket: Bucket::new(23).expect("bucket"),
            kind: FileKind::Renamed,
            file: 9_999_998,
        };
        for (action, text) in [
            (FileAction::Unlink { file }, "unlink d9998/b23/r9999998"),
            (FileAction::Mkdir { file }, "mkdir d9998/b23/r9999998"),
            (
                FileAction::Custom { which: 1, file },
                "custom2 d9998/b23/r9999998",
            ),
            (FileAction::RemoveDirs { dir: 7 }, "unlink and rmdir d0007"),
            (FileAction::MakeTree, "mkdir its top directory"),
        ] {
            let call = FileCall::unpack(FileCall::of(&action).pack()).expect("a call");
            assert_eq!(call, FileCall::of(&action));
            assert_eq!(call.text(5), format!("{text} in the tree of proc 5"));
        }
        assert_eq!(FileCall::unpack([0, 0]), None);
        assert_eq!(FileCall::unpack([u64::MAX, u64::MAX]), None);
    }
}
